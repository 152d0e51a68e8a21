"""What each card says it is: input, parameter, constant, result, output, and loss only for what is made small."""

import numpy as np
import pytest

import autograd
import nn
from autograd import Value, draw, step
from examples import EXAMPLES, find


def words(drawing):
    """The word on every card that has a name, and of unnamed roots under their expression."""
    return {card.name or card.expression: card.word for card in drawing.scene.cards if card.word}


def scalar(name=None):
    a, b = Value(2.0, name="a"), Value(-3.0, name="b", requires_grad=False)
    root = a * b + a
    root.name = name
    return root


def test_leaves_of_plain_values():
    assert words(draw(scalar("L"))) == {"a": "parameter", "b": "input", "L": "loss"}
    assert words(draw(scalar("L"), inputs="a"))["a"] == "input"


def test_the_leaves_that_move_are_said_by_name_by_value_or_by_whoever_moves_them():
    a, b, c = (Value(float(number), name=name) for number, name in enumerate("abc", 1))
    root = a * b + c
    assert [words(draw(root))[name] for name in "abc"] == ["parameter"] * 3
    for parameters in ("a", ["a"], a, [a], nn.optim.SGD([("a", a)], lr=0.1)):
        assert [words(draw(root, parameters=parameters))[name] for name in "abc"] == ["parameter", "input", "input"]
    assert words(draw(root, parameters=["a", "b"], inputs="b"))["b"] == "input"
    assert words(draw(root, parameters=[]))["a"] == "input"
    model = nn.Linear(2, 1, rng=0)
    hidden = model(Value([[1.0, 2.0]], name="x")) * a  # a model's parameters and a stray leaf
    assert words(draw(hidden))["a"] == "input" and words(draw(hidden, parameters=[a]))["weight"] == "input"
    assert words(draw(hidden, parameters=model))["weight"] == "parameter"


def test_a_parameter_that_is_none_is_refused():
    with pytest.raises(ValueError, match="parameters='w': no leaf is called that; there are a, b"):
        draw(scalar(), parameters="w")
    with pytest.raises(TypeError, match=r"parameters: expected leaves or their names; got 3 \(int\)"):
        draw(scalar(), parameters=3)


def test_in_a_model_only_what_nn_made_is_a_parameter():
    x = Value([[1.0, 2.0]], name="x")
    twice = np.array([[2.0]])
    root = (nn.Linear(2, 1, rng=0)(x) * twice).sum()
    root.name = "y"
    assert words(draw(root, names={"twice": twice})) == {"x": "input", "weight": "parameter", "bias": "parameter",
                                                         "twice": "constant", "y": "output"}  # fmt: skip


@pytest.mark.parametrize("name", ["L", "loss", "Loss", "L_mean", "L1", "total_loss", "model.loss", "cost"])
def test_a_number_named_as_a_loss_is_one(name):
    assert next(card for card in draw(scalar(name)).scene.cards if card.role == "output").word == "loss"


@pytest.mark.parametrize("name", ["P(C)", "P(L)", "Lambda", "glossy", "y", None])
@pytest.mark.parametrize("backward", [False, True])
def test_any_other_number_is_an_output_even_after_backward(name, backward):
    root = scalar(name)
    if backward:
        root.backward()
    assert words(draw(root))[name or "a * b + a"] == "output"


def test_cross_entropy_is_a_loss_by_its_op_and_an_array_never_is_one():
    logits = Value([[1.0, 2.0], [0.5, 0.0]], name="logits")
    losses = autograd.cross_entropy(logits, np.array([0, 1]), reduction="none")
    assert draw(autograd.cross_entropy(logits, np.array([0, 1]))).scene.cards[-2].word == "loss"
    assert draw(losses).scene.cards[-2].word == "output"
    losses.name = "losses"
    assert words(draw(losses))["losses"] == "output"


def test_only_the_root_is_a_loss():
    part = scalar("loss")
    assert words(draw(part * 2.0)) == {"a": "parameter", "b": "input", "loss * 2": "output"}


ROOTS = {"example1": ("P", "output"), "example5": ("sum final", "output"), "example4": ("L_mean", "loss")}
INPUTS = {"example4": {"X1", "X2", "X3"}, "example6": set(), "cat_sleeps": {"X", "y"}}


@pytest.mark.parametrize("name", [example.name for example in EXAMPLES])
def test_the_worked_examples(name):
    root = find(name).module.graph()
    drawing = draw(root, collapse=False)
    told = words(drawing)
    top, word = ROOTS.get(name, ("L", "loss"))
    assert told.pop(top) == word
    assert {one for one, said in told.items() if said == "input"} == INPUTS.get(name, {"X"})
    assert all(
        one.startswith(("W", "embedding", "blocks.", "head.")) for one, said in told.items() if said == "parameter"
    )


def test_the_probability_that_is_stepped_is_an_output():
    root = find("example1").module.stepped()
    assert words(draw(root))["P(C)"] == "output"
    page = step(root).html()
    assert "P(C) = P[2], output" in page and "P(C) = P[2], loss" not in page
