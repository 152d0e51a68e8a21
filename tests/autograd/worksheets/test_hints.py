"""How each table is computed, in symbols: with names that stand on the sheet before they are used, and truly."""

import re

import numpy as np
import pytest

from autograd import Value
from autograd.errors import DataError
from autograd.worksheets import worksheet
from nn.functional import softmax
from tests.autograd.worksheets.test_marking import NAMES
from tools.marker import sheet_of

SLOPE = re.compile(r"∂\w+/∂(?:\([^)]*\)|[\w.]*\w)(?::[\w.]*\w(?:#\d+)?)?")  # the second part: along which path


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
            for slope in SLOPE.findall(part.symbols.replace("ᵀ", "")):
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
    assert texts_of(worksheet(((x @ w).tanh() ** 2).sum()))["dL/dw"] == "x[i] × ∂L/∂t1[j]"


def test_names_may_look_like_entries():
    x, w = Value([1.0, 2.0], name="x[0]"), Value(np.ones((2, 3)), name="layers[0].w")
    texts = texts_of(worksheet((softmax(x @ w) ** 2).sum()))
    assert texts["dL/dlayers[0].w"] == "x[0][i] × ∂L/∂t1[j]" and texts["t2.e"] == "exp(t1 − m)", texts


def test_one_line_an_op_names_no_step_that_is_not_asked():
    x = Value([1.0, 2.0, 4.0], name="x")
    p = softmax(x)
    p.name = "p"
    texts = texts_of(worksheet((p**2).sum(), level="ops"))
    assert texts["p"] == "softmax(x)"
    assert texts["dL/dx"] == "p ⊙ u, where dot = Σ ∂L/∂p ⊙ p; u = ∂L/∂p − dot"


def two_paths():
    x, w, v = (Value(np.array(data), name=name) for name, data in (("x", [1.0, 2.0]), ("w", [3.0, 4.0]), ("v", 5.0)))
    q, k = x * w, x * v
    q.name, k.name = "q", "k"
    return worksheet((q * k).tanh().sum())


def test_a_gradient_of_several_paths_is_their_sum_by_name():
    assert texts_of(two_paths())["dL/dx"] == "∂L/∂x:k + ∂L/∂x:q"


def test_the_notation_of_a_path_is_explained_where_it_is_used():
    one_path = worksheet((Value([1.0, 2.0], name="x") * 3.0).tanh().sum())
    for shown, used in ((two_paths(), True), (one_path, False)):
        for text in (shown.html(), shown.markdown()):
            assert ("∂L/∂x:k is what reaches x through k" in text) == ("is what reaches" in text) == used


def test_an_unnamed_array_is_not_called_as_x_beside_an_X():
    X, y = Value([1.0, 2.0], name="X"), np.array([1.0, 0.5])
    assert [table.name for table in worksheet((X * y * (1 - y)).sum()).givens] == ["c", "c2", "X", "eta"]
    X.name = "W"
    assert [table.name for table in worksheet((X * y * (1 - y)).sum()).givens] == ["x", "x2", "W", "eta"]


def test_a_sheet_too_large_for_hands_is_refused_before_it_is_computed():
    w = Value(np.ones((200, 200)), name="w")
    with pytest.raises(DataError, match=r"40,000 blanks and more are too many for hands.*--only"):
        worksheet((w @ np.ones(200)).sum())


@pytest.mark.parametrize("name", NAMES)
def test_a_sheet_speaks_mathematics(name):
    """No word of Python on it: no @, *, **, axis=, .T, index from the end or slice."""
    sheet = sheet_of(name)
    for text in [*texts_of(sheet).values(), *(sheet.line_of(blank) for blank in sheet.blanks[::7])]:
        assert not re.search(r"@|\*|axis|axes|outer|reshape|\.m?T\b|\[[−:]|max\(|sum\(|mean\(|sqrt|==| - ", text), text


def test_places_and_transposes_are_said_as_on_a_board():
    X, W = Value(np.ones((2, 4)), name="X"), Value(np.full((4, 3), 0.5), name="W")
    h = X @ W
    h.name = "h"
    texts = texts_of(worksheet(((h[:, 1:] ** 2).sum(axis=1) * abs(h[-1, :2])).mean()))
    found = "; ".join(texts.values())
    assert texts_of(worksheet((X * 1.5).var(axis=1).sum(), level="ops"))["t2"] == "var(t1, each row)"
    assert "columns 1 to 2 of h" in found and "²" in found and "Xᵀ · ∂L/∂h" in found, found
