"""What tests of captured torch models share."""

import pytest


@pytest.fixture
def in_float64():
    """torch in double precision, from one seed."""
    import torch

    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)
