"""A second opinion on torch's backward pass: a wrong autograd.Function is named by op, module, file and line."""

import inspect

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)")

from torch import nn  # noqa: E402

import autograd as ag  # noqa: E402
from tests.autograd.capturing.gpt import GPT, tokens  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_float64")


class RowNorm(torch.autograd.Function):
    """Layer norm without weights; its backward forgets the two means."""

    @staticmethod
    def forward(ctx, x):
        s = torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5)
        h = (x - x.mean(-1, keepdim=True)) / s
        ctx.save_for_backward(h, s)
        return h

    @staticmethod
    def backward(ctx, g):
        _, s = ctx.saved_tensors
        return g / s  # the wrong line


class GoodRowNorm(RowNorm):
    @staticmethod
    def backward(ctx, g):
        h, s = ctx.saved_tensors
        return (g - g.mean(-1, keepdim=True) - h * (g * h).mean(-1, keepdim=True)) / s


class HalfLinear(torch.autograd.Function):
    """A product whose gradient of the weight is twice too large; that of x is right."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.T

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        dw = 2 * g.flatten(0, -2).T @ x.flatten(0, -2)  # the wrong factor
        return g @ weight, dw


class Norm(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        h = self.function.apply(x)
        return h


class Linear(nn.Linear):
    def forward(self, x):
        return HalfLinear.apply(x, self.weight) + self.bias


def line_of(comment, inside):
    lines, start = inspect.getsourcelines(inside)
    return start + next(i for i, line in enumerate(lines) if comment in line)


def test_a_right_model_agrees():
    found = ag.capture(GPT(), *tokens()).compare()
    assert found.ok
    assert found.first is None
    assert found.compared > 80
    assert "all agree" in str(found)


PLACES = [f"transformer.h.{i}.{part}" for i in (0, 1) for part in ("ln_1", "ln_2")] + ["transformer.ln_f"]


@pytest.mark.parametrize("place", PLACES)
def test_a_wrong_norm_anywhere_in_a_gpt_is_named_by_line(place):
    model = GPT()
    model.set_submodule(place, Norm(RowNorm))
    first = ag.capture(model, *tokens()).compare().first
    assert first.op == "RowNorm"
    assert first.module == place
    assert first.file == __file__
    assert first.line == line_of("the wrong line", RowNorm)
    assert first.call.text == "h = self.function.apply(x)"
    assert first.wrong == "torch"
    assert first.ours.shape == first.theirs.shape == (2, 6, 8)
    assert not np.allclose(first.ours, first.theirs)
    if place != "transformer.ln_f":
        assert first.path == "path 2 of 2"


EARLY = RowNorm.apply  # as many write it, once, beside the class


def test_a_function_looked_up_before_the_capture():
    first = ag.capture(lambda x: (EARLY(x) * x).sum(), torch.randn(2, 3)).compare().first
    assert (first.op, first.wrong) == ("RowNorm", "torch")
    assert ag.capture(EARLY, torch.randn(2, 3)).compare().first.op == "RowNorm"


def test_a_right_function_agrees():
    model = GPT()
    model.transformer.h[0].ln_2 = Norm(GoodRowNorm)
    assert ag.capture(model, *tokens()).compare().ok


@pytest.mark.parametrize("place", ["transformer.h.0.mlp.c_fc", "transformer.h.1.attn.c_proj"])
def test_a_wrong_gradient_of_a_weight_alone_is_named(place):
    model = GPT()
    old = model.get_submodule(place)
    model.set_submodule(place, Linear(old.in_features, old.out_features))
    found = ag.capture(model, *tokens()).compare()
    assert found.first.op == "HalfLinear"
    assert found.first.name == f"{place}.weight"
    assert found.first.line == line_of("the wrong factor", HalfLinear)  # the line that computed it, not the return
    assert found.first.argument == "weight"
    assert found.differ == 1
    np.testing.assert_allclose(found.first.theirs, 2 * found.first.ours)
    assert "twice too large" in str(found)


def test_the_report_reads_as_a_person_would_say_it():
    model = GPT()
    model.transformer.h[1].ln_2 = Norm(RowNorm)
    text = str(ag.capture(model, *tokens()).compare())
    assert text.startswith("GPT: torch's backward of RowNorm is wrong.\n  handgrad's gradient agrees with finite")
    assert "module         transformer.h.1.ln_2" in text
    assert "return g / s  # the wrong line" in text
    assert "finite differences" in text


def test_our_own_wrong_rule_is_owned_up_to(monkeypatch):
    gelu = ag.OPS["gelu"]
    right = gelu.vjp

    def wrong(g, out, x, *, approximate):
        return (1.5 * right(g, out, x, approximate=approximate)[0],)

    monkeypatch.setattr(gelu, "vjp", wrong)
    first = ag.capture(GPT(), *tokens()).compare().first
    assert first.op == "gelu"
    assert first.module == "transformer.h.1.mlp.gelu"
    assert first.wrong == "handgrad"


class Reversal(torch.autograd.Function):
    """The identity, with its gradient turned round on purpose."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return -g


def test_a_function_that_returns_its_input_is_a_step_too():
    first = ag.capture(lambda x: (Reversal.apply(x) * x).sum(), torch.randn(3)).compare().first
    assert (first.op, first.name, first.wrong) == ("Reversal", "x", "torch")
    np.testing.assert_allclose(first.theirs, -first.ours)


def test_a_hook_that_changes_a_gradient_is_noticed():
    def f(x, w):
        h = x * w
        h.register_hook(lambda g: 3 * g)
        return h.exp().sum()

    first = ag.capture(f, torch.randn(3), torch.randn(3)).compare().first
    assert (first.name, first.op) == ("h", "hook")
    assert (first.file, first.call.text) == (__file__, "h.register_hook(lambda g: 3 * g)")
    np.testing.assert_allclose(first.theirs, 3 * first.ours)


class Cut(nn.Module):
    """Its first layer is cut off by a detach, and a layer is not used at all."""

    def __init__(self):
        super().__init__()
        self.first, self.last, self.unused = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(2, 2)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)).detach()).mean()


def test_what_no_gradient_reaches_is_named_and_not_counted():
    found = ag.capture(Cut(), torch.ones(2, 3)).compare()
    assert found.ok
    (note,) = found.notes
    assert "first.weight, first.bias, unused.weight, unused.bias, x, in either pass" in note
    assert "detach()" in note
    assert note in str(found)
    assert found.compared == 4  # last.weight, last.bias, the layer's result and its mean


def test_where_every_gradient_arrives_nothing_is_said():
    assert not ag.capture(GPT(), *tokens()).compare().notes


def test_a_result_without_a_gradient_cannot_be_compared():
    model = Cut()
    run = ag.capture(lambda x: model(x).detach(), torch.ones(2, 3))
    for ask in (run.compare, run.check):
        with pytest.raises(ag.errors.DataError, match=r"no result of <lambda> has a gradient.*detach\(\)"):
            ask()


def test_a_class_is_not_a_model():
    with pytest.raises(ag.errors.DataError, match=r"got <class .*Make one first: Cut\("):
        ag.capture(Cut, torch.ones(2, 3))
