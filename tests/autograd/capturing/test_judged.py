"""Each call is judged alone: no drift between two forward passes raises an alarm, and no large gradient hides a bug."""

import inspect

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import autograd as ag  # noqa: E402
from tests.autograd.capturing.gpt import GPT, tokens  # noqa: E402

KINDS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


@pytest.fixture(autouse=True)
def one_seed():
    torch.manual_seed(0)


def rows_that_sum_to_0():
    x = torch.randn(16, 1000)
    for i in range(8):
        r = torch.randn(500)
        x[i] = torch.cat([r, -r[torch.randperm(500)]])
    return lambda x: torch.relu(x.sum(1)).sum(), x


def norm_of_constant_rows():
    model = nn.Sequential(nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 2))
    return model, torch.full((4, 8), 3.3)


def norm_of_a_constant_image():
    return nn.Sequential(nn.InstanceNorm2d(3), nn.ReLU()), torch.full((2, 3, 5, 5), 0.7)


def deviations():
    return lambda x: (x - x.mean(1, keepdim=True)).abs().sum(), torch.randn(5, 7).round()


def turned_and_back():
    q = torch.linalg.qr(torch.randn(20, 20))[0]
    return lambda x: F.l1_loss(x @ q.to(x.dtype) @ q.to(x.dtype).t(), x), torch.randn(6, 20)


def many_norms():
    layers = [layer for _ in range(12) for layer in (nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())]
    return nn.Sequential(*layers), torch.randn(2, 4, 6, 6)


def a_gpt():
    model = GPT(dropout=0.1)
    model.scale = nn.Parameter(torch.ones(()))
    return model, None


DRIFTING = [rows_that_sum_to_0, norm_of_constant_rows, norm_of_a_constant_image, deviations, turned_and_back,
            many_norms, a_gpt]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("make", DRIFTING, ids=lambda make: make.__name__)
def test_right_models_agree_in_every_precision(make, kind):
    model, x = make()
    model = model.to(kind) if isinstance(model, nn.Module) else model
    run = ag.capture(model, *(tokens() if x is None else [x.to(kind)]))
    found = run.compare()
    assert found.ok, found
    assert not run.opaque


def test_autocast():
    model = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3))

    def loss(x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return F.cross_entropy(model(x), y)

    run = ag.capture(loss, torch.randn(5, 6), torch.tensor([0, 1, 2, 0, 1]))
    assert run.compare().ok, run.compare()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = ag.capture(lambda x: model(x).float().sum(), torch.randn(5, 6)).compare()
    assert found.ok, found


def test_a_constant_in_bfloat16():
    model = nn.Linear(3, 5)
    assert ag.capture(lambda x: (model(x) * torch.ones(5, dtype=torch.bfloat16)).sum(), torch.randn(2, 3)).compare().ok


# --- bugs that a large gradient elsewhere used to hide ---------------------------------------------------------


class Neg(torch.autograd.Function):
    """The identity, with its gradient turned round."""

    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, g):
        return -g


class Norm(torch.autograd.Function):
    """Layer norm without weights, with a factor on its gradient."""

    factor = 1.0

    @staticmethod
    def forward(ctx, x):
        s = torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5)
        h = (x - x.mean(-1, keepdim=True)) / s
        ctx.save_for_backward(h, s)
        return h

    @staticmethod
    def backward(ctx, g):
        h, s = ctx.saved_tensors
        dx = (g - g.mean(-1, keepdim=True) - h * (g * h).mean(-1, keepdim=True)) / s
        dx = Norm.factor * dx  # the wrong line
        return dx


class NormLayer(nn.Module):
    def forward(self, x):
        return Norm.apply(x)


def line_of(comment, inside):
    lines, start = inspect.getsourcelines(inside)
    return start + next(i for i, line in enumerate(lines) if comment in line)


def test_a_flipped_sign_under_a_mean_of_many_numbers():
    first = ag.capture(lambda x: Neg.apply(x.sin()).mean(), torch.randn(100_000)).compare().first
    assert (first.op, first.wrong) == ("Neg", "torch")
    np.testing.assert_allclose(first.theirs, -first.ours, rtol=1e-6)


@pytest.mark.parametrize("kind", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("factor", [0.9, 0.99, 1.0])
def test_a_norm_that_is_off_by_a_hundredth(factor, kind, monkeypatch):
    monkeypatch.setattr(Norm, "factor", factor)
    model = GPT(layers=3, dropout=0.0)
    model.transformer.h[1].ln_2 = NormLayer()
    found = ag.capture(model.to(kind), *tokens()).compare()
    if factor == 1.0:
        assert found.ok, found
        return
    assert [(d.op, d.module) for d in found.calls] == [("Norm", "transformer.h.1.ln_2")]  # it alone, not its neighbours
    assert found.first.line == line_of("the wrong line", Norm)
    assert (found.first.argument, found.differ) == ("x", 1)


def test_one_coarse_node_does_not_loosen_the_others(monkeypatch):
    monkeypatch.setattr(Norm, "factor", 1 + 1e-6)
    found = ag.capture(lambda x: Norm.apply(x).exp().sum() + x.float().sum().double() * 1e6,
                       torch.randn(3, 4).double()).compare()  # fmt: skip
    assert [d.op for d in found.calls] == ["Norm"]


def test_every_wrong_call_is_found_in_one_run(monkeypatch):
    monkeypatch.setattr(Norm, "factor", 1.5)
    model = GPT(layers=3, dropout=0.0).double()
    for block in model.transformer.h:
        block.ln_1 = NormLayer()
    found = ag.capture(model, *tokens()).compare()
    assert [d.module for d in found.calls] == [f"transformer.h.{i}.ln_1" for i in (2, 1, 0)]  # nearest the loss first
    assert found.first is found.calls[0]
    assert "also wrong" in str(found)


def test_allowed_differences_and_chosen_modules(monkeypatch):
    monkeypatch.setattr(Norm, "factor", 1.5)
    model = GPT(layers=2, dropout=0.0).double()
    model.transformer.h[0].ln_1 = NormLayer()
    run = ag.capture(model, *tokens())
    for name in ("Norm", "transformer.h.0.ln_1", "transformer.h.0", "NormLayer", "*.ln_1"):
        found = run.compare(allow=[name])
        assert found.ok and any("allowed: Norm" in note for note in found.notes)
    assert not run.compare(allow=["transformer.h.1", "Neg"]).ok
    assert run.compare(modules="transformer.h.1").ok
    assert not run.compare(modules=["transformer.h.0"]).ok


class HalfPrecision(torch.autograd.Function):
    """A product whose backward works in float32."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        dx = (g.float() @ w.float().T).double()  # the coarse line
        dw = x.T @ g
        return dx, dw


def test_a_backward_in_float32_shows_numbers_that_differ():
    found = ag.capture(lambda x, w: HalfPrecision.apply(x, w).sum(), *torch.randn(2, 3, 3).double()).compare()
    assert (found.first.op, found.first.argument) == ("HalfPrecision", "x")
    assert found.first.line == line_of("the coarse line", HalfPrecision)
    text = str(found)
    shown = [line.split()[-1] for line in text.splitlines() if line.split()[:1] in (["handgrad"], ["torch"])]
    assert len(set(shown)) == 2
    assert "0 differ" not in text and "coarser precision" in text


# --- ties and kinks ------------------------------------------------------------------------------------------


TIES = {
    "elu": (F.elu, [[0.0, 1.0, -1.0]]),
    "celu": (lambda x: F.celu(x, 2.0), [[0.0, 1.0, -1.0]]),
    "atan2": (torch.atan2, [[0.0, 1.0], [0.0, 1.0]]),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x.view(1, 4, 4), 2) ** 2, [[1.0] * 16]),
    "kthvalue": (lambda x: x.kthvalue(2).values, [[1.0, 1.0, 1.0, 0.0]]),
    "median": (torch.median, [[1.0, 1.0, 1.0, 0.0]]),
    "fmax": (torch.fmax, [[1.0, 1.0], [1.0, 2.0]]),
    "max": (torch.max, [[1.0, 1.0, 0.0]]),
    "norm": (torch.linalg.vector_norm, [[0.0, 0.0]]),
    "topk": (lambda x: x.topk(2).values * torch.tensor([1.0, 2.0]), [[1.0, 1.0, 1.0, 0.0]]),
}


@pytest.mark.parametrize("name", TIES)
def test_at_a_tie_both_are_right(name):
    f, numbers = TIES[name]
    found = ag.capture(lambda *xs: f(*xs).sum(), *(torch.tensor(n).double() for n in numbers)).compare()
    assert found.ok, found


def test_elu_has_slope_1_at_0():
    run = ag.capture(lambda x: F.elu(x).sum(), torch.zeros(2).double())
    run.loss.backward()
    np.testing.assert_array_equal(run.inputs["x"].grad, [1.0, 1.0])
    assert not run.compare().notes


# --- a gradient inside of the model; what happens outside of calls ---------------------------------------------


def test_a_gradient_penalty():
    critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1)).double()

    def loss(x):
        x = x * 1.0
        score = critic(x)
        (g,) = torch.autograd.grad(score.sum(), x, create_graph=True)
        return score.mean() + 10 * ((g.norm(dim=1) - 1) ** 2).mean()

    found = ag.capture(loss, torch.randn(5, 3).double()).compare()
    assert found.ok, found


def test_hooks_are_named_with_their_line():
    layer = nn.Linear(3, 3).double()
    layer.register_full_backward_hook(lambda module, sent, received: (2 * sent[0],))  # on the module
    first = ag.capture(lambda x: layer(x).sin().sum(), torch.randn(2, 3).double()).compare().first
    assert (first.op, first.line) == ("hook", line_of("# on the module", test_hooks_are_named_with_their_line))
    layer = nn.Linear(3, 3).double()
    layer.weight.register_hook(lambda g: g * 0.5)  # on the weight
    found = ag.capture(lambda x: layer(x).sin().sum(), torch.randn(2, 3).double()).compare()
    assert (found.first.op, found.first.name) == ("hook", "weight")
    assert found.first.line == line_of("# on the weight", test_hooks_are_named_with_their_line)
    assert "a hook changes ∂L/∂weight" in str(found)
    assert found.differ == 1


def test_a_saved_tensor_that_is_written_to():
    def f(x, w):
        h = x @ w
        y = h.exp().sum()
        w.data.mul_(2)  # the write
        return y

    first = ag.capture(f, *torch.randn(2, 3, 3).double()).compare().first
    assert (first.op, first.call.text) == ("matmul", "h = x @ w")
    assert first.line == line_of("# the write", test_a_saved_tensor_that_is_written_to)


@pytest.mark.parametrize("kept", [True, False])
def test_a_checkpoint_that_draws_other_masks(kept):
    model = nn.Sequential(nn.Linear(3, 30), nn.Dropout(0.5), nn.Linear(30, 1)).double()
    run = ag.capture(lambda x: checkpoint(model, x, use_reentrant=False, preserve_rng_state=kept).sum(),
                     torch.randn(2, 3).double())  # fmt: skip
    assert run.compare().ok == kept


class Cutting(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        h = torch.tanh(self.a(x))
        y = h.data + self.b(h)  # .data
        z = y * h.detach()  # detach()
        with torch.no_grad():
            scale = h.abs().mean()  # no_grad
        unused = h.detach() * 2  # not on the way
        places = (x[:, 0] > 0).long() + (10 * h[:, 0]).long()  # a cast to int64
        return (z * scale).sum() + 0 * places.sum() + 0 * unused.numel()


def test_where_a_gradient_ends():
    found = ag.capture(Cutting(), torch.randn(2, 3)).compare()
    assert found.ok
    ends = {(cut.how, cut.line) for cut in found.cuts}
    assert ends == {(how, line_of(f"# {how}", Cutting.forward))
                    for how in (".data", "detach()", "no_grad", "a cast to int64")}  # fmt: skip
    assert all(cut.file == __file__ for cut in found.cuts)
    assert "a gradient ends  .data at test_judged.py:" in str(found)
    assert any("the loss moves by" in note for note in found.notes)
    assert not any("the loss moves by" in note for note in ag.capture(NoCut(), torch.randn(2, 3)).compare().notes)


class NoCut(nn.Module):
    """What is detached has no part in the result."""

    def forward(self, x):
        return (x.detach() * 0 + x * x).sum()


def test_asserting():
    with pytest.raises(ag.GradientError, match="torch's backward of Neg is wrong") as caught:
        ag.assert_backward(lambda x: Neg.apply(x).sum(), torch.randn(3))
    assert caught.value.report.first.op == "Neg"
    assert ag.assert_backward(lambda x: Neg.apply(x).sum(), torch.randn(3), allow=["Neg"]).ok
    model = GPT()
    before = {name: p.clone() for name, p in model.state_dict().items()}
    assert ag.assert_backward(model, *tokens()).ok
    assert all(torch.equal(p, before[name]) for name, p in model.state_dict().items())


def test_zeros_of_a_causal_mask_are_no_difference():
    """The first query sees one key: its gradient is 0, of which torch has a rounding error."""
    attend = torch.nn.functional.scaled_dot_product_attention
    for kind in KINDS:
        for seed in range(8):
            torch.manual_seed(seed)
            q, k, v = torch.randn(3, 2, 4, 5, 2).to(kind)
            found = ag.capture(lambda q, k, v: attend(q, k, v, is_causal=True).sin().sum(), q, k, v).compare()
            assert found.ok, found


# --- calls that torch rounds by itself; casts; leaves made on the way --------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_where_only_the_first_query_has_a_gradient(kind):
    """It sees one key: its gradient is 0 for us, and torch's own rounding for torch; nothing else says how large."""
    q, k, v = torch.randn(3, 2, 4, 5, 8).to(kind)
    attended = lambda *qkv: F.scaled_dot_product_attention(*qkv, is_causal=True)[:, :, 0].sin().sum()  # noqa: E731
    found = ag.capture(attended, q, k, v).compare()
    assert found.ok, found


def test_batch_norm_over_two_samples_rounds_much():
    model = nn.Sequential(nn.Conv2d(3, 64, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.Flatten())
    for seed in range(5):
        torch.manual_seed(seed)
        x = torch.randn(2, 3, 1, 1)
        found = ag.capture(lambda x: model(x).logsumexp(-1).sum(), torch.cat([x[:1], x[:1] + 1e-3])).compare()
        assert found.ok, found


def test_a_cast_rounds_also_where_the_numbers_fit():
    """A model made in float32, then `.double()`: its norm's cast to float32 changes no number, but a gradient."""
    embedding = nn.Embedding(7, 8).double()

    def loss(ids):
        h = embedding(ids)
        low = h.float()
        return (h + (low * torch.rsqrt(low.pow(2).mean(-1, keepdim=True) + 1e-6)).double()).sin().sum()

    found = ag.capture(loss, torch.tensor([[1, 2, 3]])).compare()
    assert found.ok, found


class Rounded(torch.autograd.Function):
    """A sixth of x, whose backward has it to thirteen digits."""

    @staticmethod
    def forward(ctx, x):
        return x / 6

    @staticmethod
    def backward(ctx, g):
        return g * 0.1666666666667


def test_a_constant_of_thirteen_digits_is_no_mistake():
    found = ag.capture(lambda x: Rounded.apply(x.sin()).exp().sum(), torch.randn(2, 3).double()).compare()
    assert found.ok, found
    assert "has 13 digits: a constant in its backward is rounded" in str(found)


def test_a_leaf_made_inside_of_the_model():
    layer = nn.Linear(4, 4)

    def loss(x):
        x.requires_grad = True
        h = layer(x)
        d = h.detach().requires_grad_()  # cut
        (g,) = torch.autograd.grad(d.pow(3).sum(), d, create_graph=True)
        return g.square().sum() + h.sin().sum()

    found = ag.capture(loss, torch.randn(2, 4)).compare()
    assert found.ok, found
    assert [(cut.how, cut.line) for cut in found.cuts] == [
        ("detach()", line_of("# cut", test_a_leaf_made_inside_of_the_model))]  # fmt: skip


def test_dropout_in_place_is_no_opaque_op():
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.4, inplace=True), nn.Linear(8, 1))
    run = ag.capture(model, torch.randn(5, 3))
    assert not run.opaque
    assert run.compare().ok
