"""capture of a torch model: one real run recorded, and torch's own backward pass over it."""
