"""A captured run as a program: compiled by each backend, it gives the numbers and the gradients that torch gives."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)")

from torch.nn import functional as F  # noqa: E402

import autograd as ag  # noqa: E402
from autograd.program.backends import BACKENDS  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_float64")


def assert_program_as_torch(f, *inputs, backend="numpy", at=None):
    """The compiled run gives torch's number, and torch's gradient of every input; also at other inputs."""
    run = ag.capture(f, *inputs)
    at = inputs if at is None else at
    named = dict(zip(run.inputs, (x.numpy() for x in at), strict=True))
    value, (_, grads) = ag.compile(run.function, backend)({}, named)
    leaves = [x.detach().clone().requires_grad_() for x in at]
    out = f(*leaves)
    np.testing.assert_allclose(value, out.item(), rtol=1e-9)
    for grad, theirs in zip(grads.values(), torch.autograd.grad(out, leaves), strict=True):
        np.testing.assert_allclose(grad, theirs.numpy(), rtol=1e-7, atol=1e-12)
    return run


def repeated(x):
    """Several numbers written to one place: torch's own scatter, while one of our core ops has that name."""
    return (torch.zeros(2, 4).scatter(0, torch.zeros(3, 4, dtype=torch.int64), x) * torch.arange(4.0)).sum()


def shrunk(x, align_corners):
    return F.interpolate(x, (3, 3), mode="bicubic", antialias=True, align_corners=align_corners)


OF_ONE_NAME = {  # calls that stay opaque, of one name and on the same inputs
    "both results of a qr": (lambda x: (lambda q, r: (q * r).sum())(*torch.linalg.qr(x)), (3, 3)),
    "two polygammas": (lambda x: (torch.polygamma(1, x) * torch.polygamma(2, x)).sum(), (3,)),
    "two ways to shrink": (lambda x: (shrunk(x, True) * shrunk(x, False)).sum(), (1, 1, 5, 5)),
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


class Straight(torch.autograd.Function):
    """A threshold, whose gradient is that of x within 1."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x.abs() <= 1, x, x.sign())

    @staticmethod
    def backward(ctx, g):
        return g * (ctx.saved_tensors[0].abs() <= 1)


def overwritten(x):
    h = x * 2
    h[h > 0] = 0.5
    return h


def scaled(x):
    with torch.no_grad():
        size = x.abs().amax(1, keepdim=True)
    return x / size


CHOOSING = {  # which way they go depends on the numbers
    "relu6": F.relu6, "hardtanh": F.hardtanh, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid,
    "softshrink": F.softshrink, "hardshrink": F.hardshrink, "threshold": lambda x: F.threshold(x, 0.1, 0.0),
    "smooth_l1": lambda x: F.smooth_l1_loss(x, torch.ones_like(x)), "huber": lambda x: F.huber_loss(x, -x * 0.5),
    "max": lambda x: x.max(1)[0], "min": lambda x: x.min(1, keepdim=True)[0], "median": lambda x: x.median(1)[0],
    "sort": lambda x: x.sort(1)[0] * torch.arange(6.0), "descending": lambda x: x.sort(0, True)[0] ** 3,
    "topk": lambda x: x.topk(2, 1)[0] * torch.tensor([1.0, 3.0]), "kthvalue": lambda x: x.kthvalue(2, 1)[0],
    "quantile": lambda x: x.quantile(0.3, dim=1), "softplus": lambda x: F.softplus(x * 20),
    "bounds": lambda x: x.clamp(min=torch.tensor(-0.5), max=torch.linspace(0.1, 1.0, 6)),
    "max_pool": lambda x: F.max_pool1d(x, 4, ceil_mode=True), "where": lambda x: torch.where(x > 0, x, 0.1 * x),
    "a mask": lambda x: x * (x > 0), "two masks": lambda x: x * ((x > -1) & ~(x > 1)).double(),
    "masked_fill": lambda x: x.masked_fill((x < 0).logical_or(x > 2), 0.3), "overwritten": overwritten,
    "detach": lambda x: x * x.detach().exp(), "no_grad": scaled, "Function": Straight.apply,
}  # fmt: skip


@pytest.mark.parametrize("name", CHOOSING)
def test_a_run_chooses_anew_at_other_numbers(name):
    draw = torch.Generator().manual_seed(0)
    x, other = torch.randn(4, 6, generator=draw), 3 * torch.randn(4, 6, generator=draw)
    f = CHOOSING[name]
    assert_program_as_torch(lambda x: f(x).sum(), x, at=(other,))
