"""A wrong backward planted at every call of a GPT, in five ways: each is named by module, line and input."""

import functools
import inspect

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)")

from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.utils._pytree import tree_flatten, tree_unflatten  # noqa: E402

import autograd as ag  # noqa: E402
from tests.autograd.capturing.gpt import GPT, tokens  # noqa: E402

SLIPS = {
    "scale": lambda g: 1.5 * g,
    "sign": lambda g: -g,
    "a term is missing": lambda g: torch.where(g.abs() < g.abs().max(), g, 0.0),
    "turned": lambda g: g.flip(-1) if g.shape[-1:] != (1,) else 2 * g,
    "detached": lambda g: torch.zeros_like(g),
}


class Wrong(torch.autograd.Function):
    """Any function of tensors, with a slip in what its backward sends to the first of them."""

    @staticmethod
    def forward(ctx, function, slip, *tensors):
        ctx.function, ctx.slip = function, slip
        ctx.save_for_backward(*tensors)
        return function(*tensors).clone()

    @staticmethod
    def backward(ctx, g):
        with torch.enable_grad():
            leaves = [x.detach().requires_grad_() for x in ctx.saved_tensors]
            first, *others = torch.autograd.grad(ctx.function(*leaves), leaves, g)
        return None, None, SLIPS[ctx.slip](first), *others  # the wrong line


class Plant(TorchFunctionMode):
    """Routes one call of a run through Wrong, and notes which calls are steps of the backward pass."""

    def __init__(self, place, slip):
        super().__init__()
        self.place, self.slip, self.count, self.steps, self.planted = place, slip, 0, {}, None

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        flat, structure = tree_flatten((args, kwargs))
        real = [i for i, x in enumerate(flat) if isinstance(x, torch.Tensor) and x.requires_grad]
        self.count += 1
        if self.count != self.place:
            out = func(*args, **kwargs)
            if real and isinstance(out, torch.Tensor) and out.requires_grad:
                self.steps[self.count] = func.__name__
            return out

        def function(*tensors):
            filled = list(flat)
            for i, x in zip(real, tensors, strict=True):
                filled[i] = x
            args, kwargs = tree_unflatten(filled, structure)
            return func(*args, **kwargs)

        self.planted = flat[real[0]].detach().numpy().copy()
        return Wrong.apply(function, self.slip, *(flat[i] for i in real))


@functools.cache
def model(layers):
    torch.manual_seed(0)
    return GPT(layers=layers, d=4, dropout=0.0).double()


def run(plant, layers):
    gpt, ids = model(layers), tokens(time=4)

    def loss():
        with plant:
            return gpt(*ids)[1]

    return ag.capture(loss)


@functools.cache
def calls(layers=1):
    """Where a slip can be planted, in the order of the run: the number of the call, and its name."""
    plant = Plant(0, "sign")
    run(plant, layers)
    return plant.steps


def a_call(name):
    return next(place for place, called in calls().items() if called == name)


WRONG_LINE = next(
    start + i
    for lines, start in [inspect.getsourcelines(Wrong)]
    for i, line in enumerate(lines)
    if "the wrong line" in line
)


def assert_named(place, slip, layers=1):
    plant = Plant(place, slip)
    first = run(plant, layers).compare().first
    assert first is not None, f"{calls(layers)[place]} ({slip}) was not noticed"
    assert (first.op, first.file, first.line, first.wrong) == ("Wrong", __file__, WRONG_LINE, "torch")
    np.testing.assert_allclose(first.value.data, plant.planted, rtol=0, atol=1e-12)
    return first


def test_the_calls_of_a_gpt_are_many():
    assert len(calls(2)) > 40
    assert {"embedding", "layer_norm", "linear", "matmul", "softmax", "masked_fill", "gelu", "cross_entropy"} <= {
        name.strip("_") for name in calls().values()
    }


@pytest.mark.slow
def test_every_call_with_one_slip_each():
    """At each call another slip, so that all five meet all kinds of ops somewhere."""
    modules = set()
    for number, place in enumerate(calls(2)):
        first = assert_named(place, list(SLIPS)[number % len(SLIPS)], layers=2)
        modules.add(first.module)
    parts = ("", ".ln_1", ".attn", ".attn.c_attn", ".ln_2", ".mlp.c_fc", ".mlp.gelu", ".mlp.c_proj")
    blocks = {f"transformer.h.{i}{part}" for i in (0, 1) for part in parts}
    assert blocks <= modules


@pytest.mark.parametrize("slip", SLIPS)
def test_each_slip_at_a_matrix_product(slip):
    assert_named(a_call("matmul"), slip)


@pytest.mark.slow
@pytest.mark.parametrize("slip", SLIPS)
def test_each_slip_at_each_kind_of_op(slip):
    for name in dict.fromkeys(calls().values()):
        assert_named(a_call(name), slip)
