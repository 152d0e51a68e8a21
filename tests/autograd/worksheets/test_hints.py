"""How each table is computed, in symbols: with names that stand on the sheet before they are used, and truly."""

import re

import numpy as np
import pytest

from autograd import Value
from autograd.worksheets import worksheet
from nn.functional import softmax
from tests.autograd.worksheets.test_marking import NAMES
from tools.marker import sheet_of

SLOPE = re.compile(r"∂\w+/∂(?:\([^)]*\)|[\w.]*\w)")


def texts_of(sheet):
    return {part.name: part.symbols for step in sheet.steps for part in step.parts}


def graphs():
    rng = np.random.default_rng(0)
    x, w = (Value(rng.normal(size=shape).round(1), name=name) for name, shape in (("x", (3, 4)), ("w", (4, 2))))
    yield (x @ w).sum()
    yield -(x @ w).relu().mean()
    yield ((x @ w).tanh() @ Value(np.ones((2, 1)), name="v")).mean()
    logarithm = (x * x).sum().log()
    yield -logarithm - logarithm
    yield ((x * 2).sum(axis=0) * 3).sum()


def strangers(sheet):
    """Gradients that a text speaks of before the sheet has them."""
    known = {table.name for table in sheet.givens}
    for step in sheet.steps:
        for part in step.parts:
            for slope in SLOPE.findall(part.symbols):
                if "d" + re.sub(r"[()]", "", slope[1:]).replace("/∂", "/d") not in known:
                    yield step.number, part.name, part.symbols
            known.add(part.name)


@pytest.mark.parametrize("name", NAMES)
def test_examples_use_gradients_that_the_sheet_has(name):
    assert list(strangers(sheet_of(name))) == []


@pytest.mark.parametrize("level", ["steps", "ops"])
def test_gradients_that_are_mere_numbers_are_spelled_out(level):
    for root in graphs():
        assert list(strangers(worksheet(root, level=level))) == []


def test_an_outer_product_is_not_written_as_an_entrywise_one():
    x, w = Value([1.0, 2.0], name="x"), Value(np.ones((2, 3)), name="w")
    assert texts_of(worksheet(((x @ w).tanh() ** 2).sum()))["dL/dw"] == "outer(x, ∂L/∂t1)"


def test_names_may_look_like_entries():
    x, w = Value([1.0, 2.0], name="x[0]"), Value(np.ones((2, 3)), name="layers[0].w")
    texts = texts_of(worksheet((softmax(x @ w) ** 2).sum()))
    assert texts["dL/dlayers[0].w"] == "outer(x[0], ∂L/∂t1)" and texts["t2.e"] == "exp(t1 − m)", texts


def test_one_line_an_op_names_no_step_that_is_not_asked():
    x = Value([1.0, 2.0, 4.0], name="x")
    p = softmax(x)
    p.name = "p"
    texts = texts_of(worksheet((p**2).sum(), level="ops"))
    assert texts["p"] == "softmax(x)"
    assert texts["dL/dx"] == "p * u, where dot = sum(∂L/∂p * p); u = ∂L/∂p − dot"
