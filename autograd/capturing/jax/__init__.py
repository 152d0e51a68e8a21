"""capture of a JAX function: its jaxpr, run once step by step with our ops beside JAX's own."""
