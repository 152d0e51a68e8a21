"""Everything that reads a graph reads a captured one: draw, step, explain, zoom, checks, sheets, compile."""

import functools

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)")

from torch import nn  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

import autograd as ag  # noqa: E402
from tests.autograd.capturing.gpt import GPT, tokens  # noqa: E402
from tests.autograd.capturing.models import MODELS  # noqa: E402

MAKE = {
    "GPT": lambda: (GPT(layers=2), *tokens()),
    "encoder layer": lambda: (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), torch.randn(2, 5, 8)),
    **{name: MODELS[name] for name in ("Llama block", "LSTM", "GRU", "CNN", "ResNet", "VAE", "ViT",
                                       "mixture of experts")},
}  # fmt: skip
QUICK = ("CNN", "VAE")
ALL = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in MAKE]
every_model = pytest.mark.parametrize("name", ALL)


@functools.cache
def captured(name):
    """One run that ends in a number, and torch's gradient of each parameter and input by name."""
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    model, *inputs = MAKE[name]()

    def loss(*inputs):
        return sum(y.square().mean() if y.ndim else y for y in tree_leaves(model(*inputs)) if y.is_floating_point())

    torch.manual_seed(1)
    run = ag.capture(loss, *inputs)
    torch.manual_seed(1)
    model.zero_grad()
    real = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    state = {k: v.clone() for k, v in model.state_dict().items()}
    loss(*(x.clone() for x in real)).backward()
    model.load_state_dict(state)
    theirs = {name: p.grad for name, p in model.named_parameters()}
    given = [x.grad for x in real if x.is_floating_point()]
    torch.set_default_dtype(torch.float32)
    return run, theirs | dict(zip(run.inputs, given, strict=True))


def assert_torchs(grads, theirs):
    for name, gradient in theirs.items():
        expected = gradient.numpy()
        scale = max(float(np.abs(expected).max(initial=0.0)), 1e-3)
        np.testing.assert_allclose(grads[name], expected, rtol=0, atol=1e-10 * scale, err_msg=name)


@every_model
def test_it_is_drawn(name):
    run, theirs = captured(name)
    folded, opened = ag.draw(run.loss, collapse=1), ag.draw(run.loss, collapse=False, max_nodes=1000)
    for drawing in (folded, opened):
        cards = drawing.scene.cards
        assert not [card.name for card in cards if card.trouble or card.bad]  # masked scores are no trouble
        assert drawing.svg.startswith("<svg")
    assert {card.name for card in opened.scene.cards} >= set(theirs)
    width, height = opened.placement.width, opened.placement.height
    assert width < 1.2 * max(height, 5000)  # longer than wide, as pages are
    assert len(folded.scene.cards) < len(opened.scene.cards) or name in ("LSTM", "GRU")  # one module: nothing to fold


@every_model
def test_it_is_stepped_and_each_gradient_is_torchs(name):
    run, theirs = captured(name)
    stepper = ag.step(run.loss)
    totals = {id(c.parent): c.total for step in stepper if step.kind == "backward" for c in step.contributions}
    leaves = {**run.parameters, **run.inputs}
    assert_torchs({n: totals.get(id(v), np.zeros(v.shape)) for n, v in leaves.items()}, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["CNN", "encoder layer"])
def test_its_steps_are_a_page(name):
    html = ag.step(captured(name)[0].loss).html()
    assert "window.handgrad" in html


@every_model
def test_a_gradient_is_explained(name):
    run, _ = captured(name)
    leaf = next(v for v in run.parameters.values() if v.requires_grad)
    said = str(ag.explain(leaf, run.loss))
    assert leaf.name in said
    assert "∂L/∂" in said or "gradient" in said


@every_model
def test_small_steps_are_zoomed_into(name):
    run, _ = captured(name)
    small = [n for n in run.nodes if n.op is not None and 0 < n.size <= 8 and all(x.size <= 16 for x in n.parents)]
    for node in small[:4]:
        assert ag.zoom(node).svg


@every_model
def test_finite_differences_agree(name):
    report = captured(name)[0].check()
    assert report.verdict in ("pass", "kink"), report


@every_model
def test_it_compiles(name):
    run, theirs = captured(name)
    program = ag.compile(run.function)
    value, (parameters, inputs) = program(*run.arguments)
    assert value == pytest.approx(float(run.loss.data), rel=1e-12)
    assert_torchs(parameters | inputs, theirs)
    assert "d_" in program.source


def test_the_recorded_function_takes_other_numbers():
    run, _ = captured("CNN")
    parameters, inputs = run.arguments
    moved = parameters | {"fc.bias": parameters["fc.bias"] + 0.5}
    slope = ag.grad(run.function)(parameters, inputs)["fc.bias"]
    change = run.function(moved, inputs) - float(run.loss.data)
    assert abs(change - 0.5 * slope.sum()) < 0.5
    assert float(run.function({}, {}).data) == pytest.approx(float(run.loss.data), rel=1e-14)
    with pytest.raises(KeyError, match=r"no parameter 'fc\.bais'; it has 'conv1\.weight'"):
        run.function({"fc.bais": 1.0}, {})


def test_constants_that_a_folded_module_uses_fold_with_it():
    run, _ = captured("GPT")
    whole = ag.draw(run.loss, collapse=1)
    plain = [card for card in whole.scene.cards if card.role == "constant"]
    assert all("int" in card.expression or "[0, 1" in card.expression for card in plain)  # ids and places, no mask


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x, y):
        h = torch.tanh(self.fc(x))
        e = h.sum(1) - y
        L = (e * e).mean()
        return L


def test_a_small_model_makes_a_sheet_that_is_marked():
    torch.manual_seed(0)
    model = Small().double()
    run = ag.capture(model, torch.tensor([[1.0, -0.5], [0.25, 2.0]]).double(), torch.tensor([0.5, -1.0]).double())
    sheet = ag.worksheet(run.loss)
    key = {blank.id: blank.answer for blank in sheet.blanks}
    assert {"L", "dL/dfc.weight[0][1]", "dL/dx[1][0]"} <= set(key)
    (model(torch.tensor(run.inputs["x"].data), torch.tensor(run.inputs["y"].data))).backward()
    assert float(key["dL/dfc.weight[0][1]"]) == pytest.approx(float(model.fc.weight.grad[0, 1]), rel=1e-3)
    assert ag.grade(sheet, key).score == 1.0
    marks = ag.grade(sheet, key | {"dL/dfc.weight[0][1]": float(key["dL/dfc.weight[0][1]"]) + 1.0})
    assert marks.first_wrong == "dL/dfc.weight[0][1]"


def test_an_opaque_step_is_stepped_checked_and_refused_by_compile():
    run = ag.capture(lambda x: torch.special.i1e(x).sum(), torch.randn(3).double())
    assert run.opaque == ["special_i1e"]
    assert run.check().ok
    assert "special_i1e" in str(ag.step(run.loss))
    assert "special_i1e" in ag.draw(run.loss).dot
