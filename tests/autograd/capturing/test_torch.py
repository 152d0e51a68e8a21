"""Captured torch models: the same results and gradients, under names that people know."""

import time

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import autograd as ag  # noqa: E402
from tests.autograd.capturing.against_torch import assert_same_run, captured  # noqa: E402
from tests.autograd.capturing.gpt import GPT, tokens  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_float64")


class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 5)
        self.fc2 = nn.Linear(5, 1)

    def forward(self, x, y):
        h = torch.tanh(self.fc1(x))
        out = self.fc2(h)
        return F.mse_loss(out, y)


def test_an_mlp():
    run = assert_same_run(Regression(), torch.randn(4, 3), torch.randn(4, 1))
    assert list(run.parameters) == ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
    assert list(run.inputs) == ["x", "y"]
    assert run.result.shape == ()


@pytest.mark.parametrize("flash", [False, True])
def test_a_gpt_in_training_with_dropout(flash):
    run = assert_same_run(GPT(flash=flash), *tokens())
    assert "transformer.h.0.attn.c_attn.weight" in run.parameters
    assert run.loss is run.result[1]


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_transformer_encoder_layer(norm_first):
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first)
    assert_same_run(layer, torch.randn(2, 5, 8))


def test_results_have_the_names_lines_and_modules_they_were_made_with():
    run = captured(GPT(), *tokens())
    by_name = {(n.name, n.scope.path): n for n in run.nodes if n.op is not None and n.name}
    att = by_name["att", "transformer.h.1.attn"]
    assert att.op.name == "mul"
    assert by_name["att_3", "transformer.h.1.attn"].op.name == "softmax"
    assert att.line.endswith("att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))")
    assert att.line.startswith("gpt.py:")
    assert {"q", "k", "v"} <= {name for name, _ in by_name}
    assert att.scope.kind == "CausalSelfAttention"
    assert [s.name for s in att.scope.chain()] == ["attn", "transformer.h.1", ""]
    assert run.result[1].name == "loss"


def test_a_run_says_how_large_and_how_near_it_is():
    run = captured(Regression(), torch.randn(4, 3), torch.randn(4, 1))
    text = str(run)
    assert text.startswith("Regression: 6 nodes, 4 parameters, 2 real inputs")
    assert "0 opaque" in text
    assert run.gap < 1e-14


def test_a_function_around_a_model():
    model = nn.Linear(3, 2)
    run = ag.capture(lambda x: model(x).square().sum(), torch.randn(4, 3))
    run.result.backward()
    model(torch.tensor(run.inputs["x"].data)).square().sum().backward()
    np.testing.assert_allclose(run.parameters["weight"].grad, model.weight.grad.numpy(), rtol=1e-12)


def test_a_tensor_from_outside_keeps_its_name():
    scale = torch.randn(3, requires_grad=True)
    run = ag.capture(lambda x: (scale * x).sum(), torch.randn(3))
    run.result.backward()
    leaf = next(v for v in run.nodes if v.name == "scale")
    np.testing.assert_allclose(leaf.grad, run.inputs["x"].data)


def test_frozen_parameters_are_there_and_get_no_gradient():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    model[0].requires_grad_(False)
    run = ag.capture(lambda x: model(x).sum(), torch.randn(2, 3))
    run.result.backward()
    assert not run.parameters["0.weight"].requires_grad
    assert run.parameters["0.weight"].grad is None
    assert run.parameters["2.weight"].grad is not None


def test_what_torch_has_and_we_have_not_is_opaque_and_has_its_gradient():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.rand(3, 3) + torch.eye(3) * 3)

        def forward(self, x):
            return torch.linalg.matrix_exp(self.w / 9).sum() * x.sum() + torch.special.i1e(x).sum()

    run = assert_same_run(Model(), torch.randn(4), opaque=["linalg_matrix_exp", "special_i1e"])
    assert run.compare().ok
    assert run.check().ok


def test_finite_differences_of_the_whole_run():
    report = captured(Regression(), torch.randn(4, 3), torch.randn(4, 1)).check()
    assert report.ok
    assert report.count == 42


@pytest.mark.slow
def test_recording_costs_little_beside_the_run_itself():
    """At most 20 times the forward pass of a GPT of 13 million parameters, in float32 on one thread."""
    torch.set_default_dtype(torch.float32)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        model = GPT(vocabulary=1000, length=128, d=512, heads=8, layers=4, dropout=0.0)
        ids = tokens(batch=2, time=128, vocabulary=1000)
        model(*ids)
        forward = min(seconds(model, *ids) for _ in range(3))
        assert min(seconds(ag.capture, model, *ids) for _ in range(2)) < 20 * forward
    finally:
        torch.set_num_threads(threads)


def seconds(f, *args):
    start = time.perf_counter()
    f(*args)
    return time.perf_counter() - start


def test_everything_is_drawn_and_stepped():
    run = captured(Regression(), torch.randn(2, 3), torch.randn(2, 1))
    assert "fc1.weight" in ag.draw(run.result).dot
    assert len(ag.step(run.result)) > 6
