"""What tests of captured models share."""

import pytest


@pytest.fixture
def in_float64():
    """torch in double precision, from one seed."""
    import torch

    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def jax_in_float64():
    """JAX in double precision."""
    import jax

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)
