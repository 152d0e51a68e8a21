"""What has gone wrong before: precision, masks, ignored targets; what is put back; and what stays outside."""

import inspect
import random

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import autograd as ag  # noqa: E402
from autograd.errors import BackwardError, DataError  # noqa: E402
from tests.autograd.capturing.against_torch import assert_same_run, captured  # noqa: E402
from tests.autograd.capturing.gpt import GPT, tokens  # noqa: E402
from tests.autograd.capturing.models import ResNet  # noqa: E402
from tests.autograd.capturing.test_compare import Norm, RowNorm  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_float64")


# --- numbers ------------------------------------------------------------------------------------------------


def test_a_cast_to_float32_inside_a_float64_model():
    def f(x, w):
        narrow = (x.float() * w.float()).softmax(-1)
        return (narrow.double() * x).sum()

    run = assert_same_run(f, torch.randn(3, 4), torch.randn(4), forward=1e-6, backward=1e-6)
    assert run.compare().ok
    narrow = next(n for n in run.nodes if n.name == "narrow")
    assert np.array_equal(narrow.data, narrow.data.astype(np.float32))  # torch's numbers, as they were rounded


@pytest.mark.parametrize("queries, keys", [(2, 5), (5, 2), (4, 4)])
def test_a_causal_mask_counts_places_from_the_start(queries, keys):
    def f(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    q, k, v = (torch.randn(1, 2, n, 3) for n in (queries, keys, keys))
    run = assert_same_run(f, q, k, v)
    assert "attention" in {n.op.name for n in run.nodes if n.op}


@pytest.mark.parametrize("settings", [{"scale": 0.3}, {"attn_mask": torch.tensor([[True, False], [True, True]])},
                                      {"attn_mask": torch.randn(2, 2, dtype=torch.float64)}])  # fmt: skip
def test_attention_with_settings(settings):
    assert_same_run(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **settings), *torch.randn(3, 1, 2, 2, 4))


def test_grouped_heads():
    q, k, v = torch.randn(1, 4, 3, 2), torch.randn(1, 2, 3, 2), torch.randn(1, 2, 3, 2)
    assert_same_run(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), q, k, v)


def test_a_cross_entropy_of_ignored_targets_alone_is_nan_as_in_torch():
    run = captured(lambda x: F.cross_entropy(x, torch.tensor([-100, -100])), torch.randn(2, 3))
    assert np.isnan(run.result.data)
    run.result.backward()
    assert np.isnan(run.inputs["x"].grad).any()


@pytest.mark.parametrize("settings", [
    {"reduction": "sum"}, {"reduction": "none"}, {"label_smoothing": 0.1}, {"weight": torch.tensor([1.0, 2.0, 0.5])},
    {"ignore_index": 1}, {"ignore_index": 1, "weight": torch.tensor([1.0, 2.0, 0.5])},
])  # fmt: skip
def test_cross_entropy_with_settings(settings):
    targets = torch.tensor([[0, 1], [2, 1]])
    settings = {k: v.double() if isinstance(v, torch.Tensor) else v for k, v in settings.items()}
    assert_same_run(lambda x: F.cross_entropy(x, targets, **settings), torch.randn(2, 3, 2))


def test_soft_targets():
    assert_same_run(lambda x: F.cross_entropy(x, torch.softmax(torch.arange(6.0).view(2, 3), 1)), torch.randn(2, 3))


ACTIVATIONS = ["relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "mish", "softplus", "hardswish",
               "hardtanh", "logsigmoid", "tanhshrink", "softsign", "softshrink", "hardshrink", "glu",
               "sigmoid", "tanh", "normalize"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation(name):
    run = assert_same_run(getattr(F, name), torch.randn(3, 4) * 3)
    assert run.compare().ok


def test_torch_rounds_a_sixth_to_float32():
    """hardsigmoid's backward in float64 is off by 3e-8: torch keeps its 1/6 as a float."""
    found = captured(F.hardsigmoid, torch.randn(3, 4)).compare()
    assert found.ok
    assert any("hardsigmoid" in note and "has 8 digits" in note for note in found.notes)


LOSSES = ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "binary_cross_entropy_with_logits",
          "poisson_nll_loss", "cosine_similarity", "pairwise_distance"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.filterwarnings("ignore:reduction")
def test_a_loss(name):
    run = assert_same_run(getattr(F, name), torch.rand(3, 4), torch.rand(3, 4))
    assert run.compare().ok


SLOTS = torch.tensor([[0, 0], [1, 1], [3, 3]])


def square(x):
    """A positive definite matrix."""
    return x[:, :3] @ x[:, :3].T + 3 * torch.eye(3)


FUNCTIONS = {
    "gather": lambda x: x.gather(1, torch.tensor([[0, 2], [1, 1], [3, 0]])),
    "scatter": lambda x: torch.zeros(3, 4).scatter(1, torch.tensor([[0, 2], [1, 3], [3, 0]]), x[:, :2]),
    "scatter_add": lambda x: torch.ones(3, 4).scatter_add(1, torch.tensor([[0, 0], [1, 1], [3, 3]]), x[:, :2]),
    "index_add": lambda x: x.index_add(0, torch.tensor([0, 2, 2]), x * 2, alpha=3),
    "index_select": lambda x: x.index_select(1, torch.tensor([3, 0, 0])),
    "masked_select": lambda x: x.masked_select(torch.tensor([True, False, True, True])),
    "sort": lambda x: x.sort(dim=0, descending=True).values * torch.arange(12.0).view(3, 4),
    "topk": lambda x: x.topk(2, dim=1).values,
    "max along": lambda x: x.max(dim=1).values,
    "median": lambda x: x.median(dim=1).values,
    "var_mean": lambda x: torch.stack(torch.var_mean(x, dim=1)),
    "std": lambda x: x.std(),
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "cumprod": lambda x: x.cumprod(1),
    "prod": lambda x: x.prod(1),
    "roll": lambda x: x.roll((1, -1), (0, 1)) * x,
    "repeat": lambda x: x.repeat(2, 1, 2) * torch.arange(96.0).view(2, 3, 16)[:, :, :8],
    "repeat_interleave": lambda x: x.repeat_interleave(2, dim=1) * torch.arange(24.0).view(3, 8),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "tril": lambda x: x.tril(1) + x.triu(-1),
    "diagonal": lambda x: x.diagonal(1),
    "pad": lambda x: F.pad(x, (1, 2, -1, 1), value=0.5),
    "reflect": lambda x: F.pad(x[None], (1, 1), mode="reflect"),
    "unfold": lambda x: x.unfold(1, 2, 1),
    "unfold a view": lambda x: x.view(-1).unfold(0, 4, 2),
    "unfold twice": lambda x: x.unfold(-1, 3, 1).unfold(0, 2, 1).unfold(1, 2, 1),
    "strides of a view": lambda x: torch.as_strided(x.T, (2, 2), (4, 1), 1),
    "norm": lambda x: x.norm(dim=1) + torch.linalg.vector_norm(x, ord=1, dim=1),
    "cdist": lambda x: torch.cdist(x, x + 1) + torch.cdist(x, 2 * x, p=1),
    "logsumexp": lambda x: x.logsumexp(1),
    "lerp": lambda x: torch.lerp(x, x**2, 0.3),
    "addcmul": lambda x: torch.addcmul(x, x, x, value=0.5),
    "clamp": lambda x: x.clamp(-0.5, 0.5) + x.clamp(min=torch.zeros(4)),
    "where": lambda x: torch.where(x > 0, x * 2, x.exp()),
    "split": lambda x: torch.cat([b * i for i, b in enumerate(x.split([1, 3], dim=1))], dim=1),
    "unbind": lambda x: sum(i * row for i, row in enumerate(x.unbind(1))),
    "outer": lambda x: torch.outer(x[0], x[1]),
    "baddbmm": lambda x: torch.baddbmm(x[None], x[None, :, :3], x[None], beta=0.5, alpha=2),
    "one number": lambda x: x[1, 2] * x.mean(),
    "rms_norm": lambda x: F.rms_norm(x, (4,)),
    "embedding": lambda x: F.embedding(torch.tensor([0, 2, 2]), x, padding_idx=2),
    "conv same": lambda x: F.conv1d(x[None], torch.ones(2, 3, 3), padding="same"),
    "adaptive pool": lambda x: F.adaptive_avg_pool1d(x[None], 2) + F.adaptive_max_pool1d(x[None], 2),
    "upsample": lambda x: F.interpolate(x[None], size=7, mode="linear", align_corners=True),
    "bicubic": lambda x: F.interpolate(x[None, None], size=(5, 7), mode="bicubic"),
    "nearest": lambda x: F.interpolate(x[None], scale_factor=1.5),
    "pixel shuffle": lambda x: F.pixel_shuffle(x.view(1, 4, 1, 3), 2),
    "trace": lambda x: torch.trace(x[:, :3]),
    "atan2": lambda x: torch.atan2(x, x + 3),
    "meshgrid": lambda x: torch.stack(torch.meshgrid(x[0], x[1], indexing="ij")).prod(0),
    "scatter_reduce, sum": lambda x: x.scatter_reduce(1, SLOTS, 2 * x[:, :2], "sum"),
    "scatter_reduce, mean": lambda x: x.scatter_reduce(1, SLOTS, 2 * x[:, :2], "mean", include_self=False),
    "scatter_reduce, largest": lambda x: x.scatter_reduce(1, SLOTS, 2 * x[:, :2], "amax"),
    "scatter_reduce, tie": lambda x: torch.zeros(3, 4).scatter_reduce(1, SLOTS, x[:, [1, 1]], "amin"),
    "bags": lambda x: F.embedding_bag(torch.tensor([0, 1, 2, 2]), x, torch.tensor([0, 3])),
    "weighted bags": lambda x: F.embedding_bag(
        torch.tensor([0, 1, 2, 2]), x, torch.tensor([0, 3]), mode="sum", per_sample_weights=x[0]),
    "packed": lambda x: torch.nn.utils.rnn.pack_padded_sequence(x[..., None], torch.tensor([4, 2, 1]), True).data,
    "solve": lambda x: torch.linalg.solve(square(x), x) + torch.linalg.inv(square(x)) @ x,
    "triangular": lambda x: torch.linalg.solve_triangular(square(x), x, upper=True),
    "triangular, right": lambda x: torch.linalg.solve_triangular(square(x), x.T, upper=False, left=False),
    "cholesky": lambda x: torch.linalg.cholesky(square(x)) + torch.linalg.cholesky(square(x), upper=True),
    "determinants": lambda x: torch.linalg.det(square(x)) + torch.logdet(square(x)) + torch.slogdet(-square(x))[1],
    "pinv": lambda x: torch.linalg.pinv(x),
    "running largest": lambda x: x.cummax(1).values - x.cummin(0).values,
    "kth": lambda x: x.kthvalue(2, dim=1).values + x.median(),
    "rounded": lambda x: x - x.floor() + x * x.sign() + torch.div(x, 0.3, rounding_mode="trunc"),
    "remainders": lambda x: torch.remainder(x, x.abs() + 0.3) + torch.fmod(x, 0.7),
    "gamma": lambda x: torch.lgamma(x.abs() + 1),
    "bilinear": lambda x: F.bilinear(x, 2 * x, torch.arange(32.0).view(2, 4, 4)),
    "addbmm": lambda x: torch.addbmm(x[:, :3], x[None, :, :3], x[None, :, :3], beta=2),
    "mean without pads": lambda x: F.avg_pool1d(x[None], 3, 2, 1, count_include_pad=False),
    "rrelu": lambda x: F.rrelu(x, training=True),
    "kron": lambda x: torch.kron(x[:2, :2], x[1:, 2:]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function(name):
    run = captured(FUNCTIONS[name], torch.randn(3, 4))
    assert_same_run(FUNCTIONS[name], torch.randn(3, 4), opaque=sorted(set(run.opaque)))
    assert run.compare().ok
    assert set(run.opaque) <= {"rrelu_with_noise"}


def test_a_gradient_taken_inside_of_the_model():
    def penalty(x, w):
        y = (torch.tanh(x @ w) ** 3).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        return (g.norm(dim=1) - 1).square().mean()

    run = assert_same_run(penalty, torch.randn(2, 3), torch.randn(3, 3))
    assert run.compare().ok


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("padding", [None, 0, 2, -1])
def test_bags_leave_the_padding_out(mode, padding):
    ids = torch.tensor([[1, 0, 2], [3, 3, 0], [0, 0, 0]])
    assert assert_same_run(nn.EmbeddingBag(4, 2, mode=mode, padding_idx=padding), ids).compare().ok
    scales = {"per_sample_weights": torch.rand(3, 3)} if mode == "sum" else {}
    assert_same_run(nn.EmbeddingBag(4, 2, mode=mode, padding_idx=padding), ids, **scales)


@pytest.mark.parametrize("shapes", [((2, 3), (4, 3)), ((3,), (3,)), ((2, 1, 3), (2, 4, 3)), ((), (2, 3))])
def test_inner_products_of_rows(shapes):
    assert assert_same_run(torch.inner, *map(torch.randn, shapes)).compare().ok


def test_a_symmetric_matrix_does_not_hide_which_axis_is_summed():
    weights = torch.tensor([1.0, 5.0])
    run = assert_same_run(lambda x, w: (torch.inner(x, w) * weights).sum(), torch.randn(1, 2), torch.eye(2))
    assert run.compare().ok


AT_A_KINK = {  # where a formula in simple steps has 0 times infinity
    "probabilities that round to 1": (
        lambda z: F.binary_cross_entropy(torch.sigmoid(z), torch.tensor([1.0, 1.0, 0.0, 0.25])),
        [[40.0, 1.0, 40.0, -800.0]]),
    "small probabilities": (lambda p, y: F.binary_cross_entropy(p, y, reduction="sum"), [[1e-13, 0.5], [1.0, 0.25]]),
    "sinc": (lambda x: torch.sinc(x).sum(), [[0.0, 1.0, 0.3]]),
    "a zero row, order 3": (lambda x: torch.linalg.vector_norm(x, 3, dim=1).sum(), [[[0.0, 0.0], [1.0, -2.0]]]),
    "of order 1.5": (lambda x: torch.linalg.vector_norm(x, 1.5, dim=1).sum(), [[[0.0, 0.0], [0.0, -2.0]]]),
}  # fmt: skip


@pytest.mark.parametrize("name", AT_A_KINK)
def test_gradients_are_finite_where_torchs_are(name):
    f, numbers = AT_A_KINK[name]
    run = assert_same_run(f, *map(torch.tensor, numbers))
    assert run.compare().ok
    assert all(np.isfinite(v.grad).all() for v in run.inputs.values())


def test_targets_of_probabilities_that_round_to_1_have_torchs_gradient():
    """It is infinite there: torch cuts the logarithms of the loss, and of this gradient it does not."""
    z, y = torch.tensor([40.0, -800.0]), torch.rand(2)
    assert captured(lambda z, y: F.binary_cross_entropy(torch.sigmoid(z), y), z, y).compare().ok


# --- what is put back ---------------------------------------------------------------------------------------


def state_of(model):
    return ({n: t.clone() for n, t in model.state_dict().items()}, [p.requires_grad for p in model.parameters()],
            [m.training for m in model.modules()], torch.get_rng_state(), random.getstate())  # fmt: skip


def assert_unchanged(model, before):
    now = state_of(model)
    assert all(torch.equal(now[0][n], t) for n, t in before[0].items())
    assert now[1:3] == before[1:3]
    assert torch.equal(now[3], before[3])
    assert now[4] == before[4]


class Restless(nn.Module):
    """Changes everything it can reach, then perhaps raises."""

    def __init__(self, fail):
        super().__init__()
        self.net, self.fail = ResNet(), fail
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        out = self.net(x)
        self.count += 1
        self.net.fc.requires_grad_(False)
        self.net.eval()
        with torch.no_grad():
            self.net.fc.weight.mul_(2)
        torch.rand(3), random.random()
        if self.fail:
            out = out * torch.ones(7, 7)  # does not fit
        return out


@pytest.mark.parametrize("fail", [False, True])
def test_everything_is_as_before(fail):
    model, x = Restless(fail), torch.randn(2, 3, 16, 16)
    before = state_of(model)
    if fail:
        with pytest.raises(RuntimeError, match="must match"):
            ag.capture(model, x)
    else:
        ag.capture(model, x)
    assert_unchanged(model, before)
    assert "apply" not in vars(torch.autograd.function._SingleLevelFunction)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_gradients_of_parameters_are_left_alone():
    model = GPT()
    model(*tokens())[1].backward()
    before = {n: p.grad.clone() for n, p in model.named_parameters()}
    ag.capture(model, *tokens()).compare()
    assert all(torch.equal(p.grad, before[n]) for n, p in model.named_parameters())


def test_what_was_recorded_before_an_error_can_be_drawn():
    with pytest.raises(RuntimeError) as caught:
        ag.capture(Restless(True), torch.randn(2, 3, 16, 16))
    run = caught.value.run
    assert run.place.text == "out = out * torch.ones(7, 7)  # does not fit"
    assert "test_traps.py" in caught.value.__notes__[0]
    assert "fc.weight" in ag.draw(run.result, collapse=False).dot
    assert "stopped by RuntimeError" in str(run)


def test_what_is_drawn_after_an_error_is_the_last_whole_result():
    def f(x):
        h = torch.relu(x)
        out = F.linear(h, torch.ones(2, 5, requires_grad=True))
        return out

    with pytest.raises(RuntimeError) as caught:
        ag.capture(f, torch.randn(2, 3))
    run = caught.value.run
    assert run.result.name == "h"
    assert str(run).startswith("f: 1 node, 0 parameters, 1 real input")
    assert run.notes == []


def test_the_callers_input_is_not_written_to():
    x = torch.randn(3)
    ag.capture(lambda x: F.relu_(x) * 2, x.clone())
    y = x.clone()
    ag.capture(lambda x: F.relu_(x) * 2, y)
    assert torch.equal(x, y)
    assert not y.requires_grad


# --- checkpoints, compiled modules, functions of one's own ----------------------------------------------------


class Checkpointed(nn.Module):
    def __init__(self, inner, reentrant):
        super().__init__()
        self.inner, self.reentrant = inner, reentrant

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=self.reentrant)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpointed_block(reentrant):
    model = GPT()
    model.transformer.h[0] = Checkpointed(model.transformer.h[0], reentrant)
    before = {n: p.grad for n, p in model.named_parameters()}
    found = captured(model, *tokens()).compare()
    assert found.ok, found
    assert found.compared > 60
    assert before == {n: p.grad for n, p in model.named_parameters()}


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_wrong_function_in_a_checkpointed_block(reentrant):
    model = GPT()
    model.transformer.h[0].ln_2 = Norm(RowNorm)
    model.transformer.h[0] = Checkpointed(model.transformer.h[0], reentrant)
    found = captured(model, *tokens()).compare()
    first = found.first
    assert (first.op, first.wrong) == ("RowNorm", "torch")
    assert first.module == ("transformer.h.0.ln_2" if reentrant else "transformer.h.0.inner.ln_2")
    assert first.left_out.says == "leaves out what flows back through"
    assert "RowNorm" in found.html()


def compiled_with_a_wrong_backward(module):
    torch._dynamo.reset()
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    def backward(graph, inputs):
        return make_boxed_func(lambda *args: [g if g is None else 1.5 * g for g in graph(*args)])

    backend = aot_autograd(fw_compiler=lambda graph, _: make_boxed_func(graph.forward), bw_compiler=backward)
    return torch.compile(module, backend=backend)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_compiled_module():
    model = GPT(dropout=0.0)
    model.transformer.h[0] = torch.compile(model.transformer.h[0], backend="aot_eager")
    run = captured(model, *tokens())
    assert "transformer.h.0.attn.c_attn.weight" in run.parameters
    found = run.compare()
    assert found.ok, found
    assert not found.notes  # such as that it could not be compared


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_compiled_module_with_a_wrong_backward():
    model = GPT(dropout=0.0)
    model.transformer.h[1].mlp = compiled_with_a_wrong_backward(model.transformer.h[1].mlp)
    first = captured(model, *tokens()).compare().first
    assert (first.op, first.module, first.wrong) == ("compile(MLP)", "transformer.h.1.mlp", "torch")
    np.testing.assert_allclose(first.theirs, 1.5 * first.ours)


def test_a_compiled_function_runs_as_it_was_written_and_says_so():
    double = torch.compile(lambda x: 2 * x, backend="eager")
    run = captured(lambda x: double(x).sum(), torch.randn(3))
    assert run.compare().ok
    assert "double is compiled: it ran as it was written" in str(run.compare())


SYMMETRIC = torch.tensor([[3.0, 1.0, 0.5], [1.0, 2.0, -0.3], [0.5, -0.3, 4.0]]).double()
NO_LONGER_OPAQUE = {
    "cholesky_solve": lambda x: torch.cholesky_solve(x, torch.linalg.cholesky(SYMMETRIC + x @ x.T)),
    "cholesky_solve, upper": lambda x: torch.cholesky_solve(x, SYMMETRIC.triu(), upper=True),
    "cholesky_inverse": lambda x: torch.cholesky_inverse(torch.linalg.cholesky(SYMMETRIC + x @ x.T)),
    "avg_pool over the edge": lambda x: F.avg_pool2d(x[None], 2, ceil_mode=True) ** 2,
    "avg_pool, padded": lambda x: F.avg_pool2d(x[None], 3, 2, 1, ceil_mode=True, count_include_pad=False) ** 2,
    "avg_pool, divided": lambda x: F.avg_pool2d(x[None], 2, divisor_override=3) ** 2,
    "avg_pool of a row": lambda x: F.avg_pool1d(x, 3, 2, 1, ceil_mode=True) ** 2,
}


@pytest.mark.parametrize("name", NO_LONGER_OPAQUE)
def test_it_has_a_rule(name):
    assert assert_same_run(NO_LONGER_OPAQUE[name], torch.randn(3, 4)).compare().ok


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16], ids=str)
def test_experts_on_groups_of_rows(kind):
    experts = lambda x, w: F.grouped_mm(x, w, offs=torch.tensor([3, 3, 8], dtype=torch.int32)).square().sum()  # noqa: E731
    run = ag.capture(experts, torch.randn(8, 16).to(kind), torch.randn(3, 16, 8).to(kind))
    assert not run.opaque
    assert run.compare().ok


class NumpySine(torch.autograd.Function):
    """Its forward leaves torch, so that nobody but finite differences can judge its backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(np.sin(x.detach().numpy()))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * g * x.cos()


def test_a_function_that_leaves_torch_is_opaque_and_finite_differences_judge_it():
    run = captured(lambda x: NumpySine.apply(x).sum(), torch.randn(3))
    assert run.opaque == ["NumpySine"]
    found = run.compare()
    assert (found.first.op, found.first.wrong, found.first.argument) == ("NumpySine", "torch", "x")
    assert found.first.file == __file__
    assert "handgrad has no rule for NumpySine" in str(found)
    assert not found.cuts
    assert run.check().verdict == "wrong"


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("factor", [1.0, 0.9])
def test_an_operator_registered_with_torch(factor, kind):
    """`torch.library` makes a Function of it, whose forward nobody but torch sees."""

    def swish(x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(x)

    def keep(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        dx = factor * g * s * (1 + x * (1 - s))  # the registered line
        return dx

    name = f"handgrad_tests::swish_{len(str(factor))}_{str(kind)[6:]}_{int(10 * factor)}"
    operator = torch.library.custom_op(name, swish, mutates_args=())
    operator.register_autograd(backward, setup_context=keep)
    found = captured(lambda x: operator(x.sin()).square().mean(), torch.randn(50).to(kind)).compare()
    if factor == 1.0 or kind is torch.bfloat16:  # too coarse for differences
        assert found.ok, found
        return
    assert found.first.op == name.replace("::", "_")
    lines, start = inspect.getsourcelines(backward)
    assert found.first.line == start + next(i for i, line in enumerate(lines) if "the registered line" in line)


def kernel(x, out, n):
    """As a Triton kernel would: a program for each row, written into a buffer."""
    for row in range(n):
        out[row] = x[row] * torch.sigmoid(x[row])


def kernel_backward(g, x, dx, n):
    for row in range(n):
        s = torch.sigmoid(x[row])
        dx[row] = g[row] * s * (1 + x[row] * (1 + s))  # the wrong sign


class TritonStyle(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        kernel(x, out, len(x))
        ctx.save_for_backward(x)
        return out

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        dx = torch.empty_like(x)
        kernel_backward(g, x, dx, len(x))
        return dx


def test_an_lstm_in_float32_is_shown_as_its_arithmetic():
    """oneDNN would run it as one operator, which takes no float64 either."""
    torch.manual_seed(0)
    before = torch._C._get_mkldnn_enabled()
    run = ag.capture(nn.LSTM(3, 4, dtype=torch.float32), torch.randn(2, 3, 3, dtype=torch.float32))
    assert list(run.opaque) == [] and torch._C._get_mkldnn_enabled() == before
    assert run.compare().ok and run.check().ok


def test_a_kernel_that_writes_into_a_buffer():
    first = captured(lambda x: TritonStyle.apply(x * 2).sum(), torch.randn(3, 4)).compare().first
    assert (first.op, first.wrong) == ("TritonStyle", "torch")
    assert not captured(lambda x: TritonStyle.apply(x * 2).sum(), torch.randn(3, 4)).opaque


class RunningMean(nn.Module):
    """Updates its buffer, then uses it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("m", torch.ones(3))

    def forward(self, x):
        self.m.mul_(0.9).add_(0.1 * x.detach().mean(0))
        return (x * self.m).sum()


class Tied(nn.Module):
    """Looking rows up makes them shorter, in the table itself, which is then used whole."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3, max_norm=0.5)

    def forward(self, ids):
        return (self.table(ids) @ self.table.weight.T).square().sum()


@pytest.mark.parametrize("make, given", [(RunningMean, [[1.0, 2.0, -1.0]]), (Tied, [1, 2])])
def test_state_that_is_written_and_then_used(make, given):
    """torch's backward reads what the run left in it, which was put back meanwhile."""
    model = make()
    before = state_of(model)
    run = ag.capture(model, torch.tensor(given))
    assert_unchanged(model, before)
    assert run.compare().ok, run.compare()
    assert_unchanged(model, before)
    for t in model.state_dict().values():
        t.data.mul_(2)  # what is done to it later stays
    later = state_of(model)
    assert run.compare().ok
    assert_unchanged(model, later)


# --- what stays outside -------------------------------------------------------------------------------------


def test_what_stays_outside_is_said_in_a_sentence():
    x = torch.randn(4)
    with pytest.raises(DataError, match="complex"):
        ag.capture(lambda x: torch.view_as_complex(x.view(2, 2)).abs().sum(), x)
    with pytest.raises(DataError, match="real numbers only") as caught:
        ag.capture(lambda x: (torch.view_as_complex(x.view(2, 2)) * torch.tensor(1j)).abs().sum(), x)
    assert "test_traps.py" in caught.value.__notes__[0]
    with pytest.raises(DataError, match="dense"):
        ag.capture(lambda x: x.to_sparse().sum(), x)
    with pytest.raises(DataError, match="module or a function"):
        ag.capture(3, x)


def test_a_backward_that_torch_refuses_is_told():
    def f(x):
        y = x.exp()
        y.add_(1)
        return y.sum()

    with pytest.raises(BackwardError, match="modified by an inplace operation"):
        ag.capture(f, torch.randn(3)).compare()
