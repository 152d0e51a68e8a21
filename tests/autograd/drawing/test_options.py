"""Names that a caller picks by: modules to fold, leaves to show as inputs."""

import numpy as np
import pytest

import autograd as ag
import nn
from autograd import Value


def model_graph():
    rng = np.random.default_rng(0)
    x = Value(rng.normal(size=(2, 3)), name="x")
    model = nn.Sequential(nn.Linear(3, 4, rng=rng), nn.Linear(4, 2, rng=rng))
    return model(x).sum()


@pytest.mark.parametrize("show", [ag.draw, ag.step])
def test_a_name_that_picks_nothing_is_refused(show):
    loss = model_graph()
    modules = r"layers\.0, layers\.1 \(kinds: Sequential, Linear\)"
    with pytest.raises(ValueError, match=rf"collapse='blocks\.\*': folds no module of this graph; there are {modules}"):
        show(loss, collapse="blocks.*")
    with pytest.raises(ValueError, match="collapse='Linaer': folds no module"):
        show(loss, collapse=[1, ["Linear", "Linaer"]])
    with pytest.raises(ValueError, match=r"inputs='y': no leaf is called that; there are x, layers\.0\.weight"):
        show(loss, inputs=["x", "y"])
    with pytest.raises(ValueError, match=r"is not in this graph; its leaves are x, layers\.0\.weight"):
        show(loss, inputs=[Value(1.0, name="stranger")])
    with pytest.raises(ValueError, match="it has none"):
        show(Value(2.0, name="a") * 3.0, collapse="Linear")


@pytest.mark.parametrize("show", [ag.draw, ag.step])
def test_choices_that_are_fine(show):
    loss = model_graph()
    for collapse in (None, False, True, 1, 9, "Linear", "layers.0", ["layers.1", "Seq*"], lambda scope: False):
        show(loss, collapse=collapse)
    show(Value(2.0, name="a") * 3.0, collapse=1)  # no modules, so there is none to fold
    show(loss, inputs="x")  # one alone needs no list


def test_a_long_list_of_names_is_cut():
    total = sum(Value(1.0, name=f"x{i}") for i in range(20))
    with pytest.raises(ValueError, match=r"there are x0, .* and 8 more"):
        ag.draw(total, inputs=["x99"])


@pytest.mark.parametrize("show", [ag.draw, ag.step])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": 3}, r"names: expected a mapping .*; got 3 \(int\)\. Write names=locals\(\)"),
        ({"names": ["a", "b"]}, r"names: expected a mapping .*; got \['a', 'b'\] \(list\)"),
        ({"names": 0}, r"names: expected a mapping .*; got 0 \(int\)"),
        ({"inputs": 3}, r"inputs: expected leaves or their names; got 3 \(int\)\. Write inputs=\['x'\]"),
    ],
)
def test_names_and_inputs_of_another_kind_are_refused(show, options, message):
    with pytest.raises(TypeError, match=message):
        show(Value(2.0, name="a") * 3.0, **options)


class Neuron:
    """As people write one for micrograd: no module, only attributes."""

    def __init__(self, n):
        self.w, self.b = [Value(0.5) for _ in range(n)], Value(0.1)
        self.itself = self

    def __call__(self, xs):
        return sum((w * x for w, x in zip(self.w, xs)), self.b).tanh()


def test_names_reach_weights_inside_objects():
    layer, inputs = [Neuron(2)], [Value(1.0), Value(2.0)]
    bias, out = layer[0].b, layer[0](inputs)
    stepper = ag.step(out)  # holds the same nodes, and gives none of them a name
    drawn = ag.draw(out, names={"stepper": stepper, "layer": layer, "inputs": inputs, "bias": bias}).svg
    assert all(f">{name}<" in drawn for name in ("layer[0].w[0]", "layer[0].w[1]", "inputs[0]", "bias"))
    assert "stepper" not in drawn
