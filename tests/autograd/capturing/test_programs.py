"""A captured run as a program: compiled by each backend, it gives the numbers and the gradients that torch gives."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)")

from torch.nn import functional as F  # noqa: E402

import autograd as ag  # noqa: E402
from autograd.program.backends import BACKENDS  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_float64")


def assert_program_as_torch(f, *inputs, backend="numpy"):
    """The compiled run gives torch's number, and torch's gradient of every input."""
    run = ag.capture(f, *inputs)
    value, (_, grads) = ag.compile(run.function, backend)(*run.arguments)
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    out = f(*leaves)
    np.testing.assert_allclose(value, out.item(), rtol=1e-9)
    for grad, theirs in zip(grads.values(), torch.autograd.grad(out, leaves), strict=True):
        np.testing.assert_allclose(grad, theirs.numpy(), rtol=1e-7, atol=1e-12)
    return run


def repeated(x):
    """Several numbers written to one place: torch's own scatter, while one of our core ops has that name."""
    return (torch.zeros(2, 4).scatter(0, torch.zeros(3, 4, dtype=torch.int64), x) * torch.arange(4.0)).sum()


OF_ONE_NAME = {  # calls that stay opaque, of one name and on the same inputs
    "both results of a qr": (lambda x: (lambda q, r: (q * r).sum())(*torch.linalg.qr(x)), (3, 3)),
    "two polygammas": (lambda x: (torch.polygamma(1, x) * torch.polygamma(2, x)).sum(), (3,)),
    "two divisors": (lambda x: (F.avg_pool2d(x, 2, divisor_override=1) * F.avg_pool2d(x, 2, divisor_override=5)).sum(),
                     (1, 1, 4, 4)),
    "two inputs": (lambda x: torch.copysign(x[0], x[1]).sum(), (2, 3)),
    "least squares": (lambda x: torch.linalg.lstsq(x[0], x[1]).solution.square().sum(), (2, 2, 2)),
    "a name of ours": (repeated, (3, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_ONE_NAME)
def test_opaque_ops_of_one_name_are_not_merged(name):
    f, shape = OF_ONE_NAME[name]
    assert assert_program_as_torch(f, torch.rand(shape) + 0.5).opaque


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_keeps_the_gradient_of_an_opaque_op(backend):
    if backend == "jax":
        pytest.importorskip("jax", reason="NOT TESTED: jax is not installed")
    f, _ = OF_ONE_NAME["two inputs"]
    assert_program_as_torch(lambda x: f(x) + torch.erfinv(x / 9).sum(), torch.randn(2, 3), backend=backend)
