"""The report of a comparison: verdict, place, numbers and what is left out, as a page, a picture and text."""

import html
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)")

from torch import nn  # noqa: E402

import autograd as ag  # noqa: E402
from autograd.capturing.page import as_sum  # noqa: E402
from tests.autograd.capturing.gpt import GPT, tokens  # noqa: E402
from tests.autograd.capturing.test_compare import GoodRowNorm, Linear, Norm, RowNorm, line_of  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_float64")


def compared(*layers, inputs=3):
    model = nn.Sequential(nn.Linear(inputs, 3), *layers, nn.Tanh(), nn.Linear(3, 1))
    return ag.capture(lambda x: model(x).square().mean(), torch.randn(2, inputs)).compare()


@pytest.fixture
def found():
    return compared(Norm(RowNorm))


@pytest.fixture
def in_a_gpt():
    model = GPT()
    model.transformer.h[0].ln_2 = Norm(RowNorm)
    return ag.capture(model, *tokens()).compare()


def words(page):
    """What a reader sees."""
    page = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))


def test_the_page_says_the_verdict_first(found):
    text = words(found.html())
    order = ["torch's backward of RowNorm is wrong.", "handgrad's gradient agrees with finite differences",
             "first differs", "module 1", "test_compare.py:", "return g / s # the wrong line",
             "computed by", "what line"]  # fmt: skip
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_the_numbers_are_those_of_the_comparison(found):
    text = words(found.html())
    at = np.unravel_index(np.argmax(np.abs(found.first.ours - found.first.theirs)), found.first.ours.shape)
    assert f"entry {''.join(f'[{i}]' for i in at)}" in text
    shown = [float(n.replace("−", "-")) for n in re.findall(r"finite differences (\S+) handgrad (\S+)", text)[0]]
    np.testing.assert_allclose(shown, found.first.ours[at], rtol=1e-3)


def test_what_is_left_out_adds_up(found):
    terms = found.first.left_out.terms
    assert [term.through for term in terms] == ["var(Linear_0, axis=1)", "mean(Linear_0, axis=1)"]
    np.testing.assert_allclose(found.first.theirs + sum(t.missing for t in terms), found.first.ours, atol=1e-15)
    rows = re.search(r"what line.*?torch (\S+) .*?= handgrad (\S+)", words(found.html()))
    numbers = [float(n.replace("−", "-")) for n in re.findall(r"−?\d+\.\d+(?= (?:\+|=|Under))", rows[0] + " Under")]
    assert len(numbers) == 4
    assert abs(sum(numbers[:-1]) - numbers[-1]) < 1e-9
    assert "must sum to 0" in str(found)


class Centred(torch.autograd.Function):
    """(x - mean) / sqrt(mean square) with a slip of each kind in its backward."""

    @staticmethod
    def forward(ctx, x, slip):
        c = x - x.mean(-1, keepdim=True)
        s = torch.sqrt((c * c).mean(-1, keepdim=True) + 0.1)
        ctx.save_for_backward(c, s)
        ctx.slip = slip
        return c / s

    @staticmethod
    def backward(ctx, g):
        c, s = ctx.saved_tensors
        ds = -(g * c).sum(-1, keepdim=True) / s**2
        dc = g / s + {"sign": -1, "cut": 0, "twice": 2, "none": 1}[ctx.slip] * c * ds / (s * c.shape[-1])
        return dc - dc.mean(-1, keepdim=True), None


@pytest.mark.parametrize("slip, says", [("cut", "leaves out"), ("sign", "wrong sign"), ("twice", "counts twice")])
def test_a_term_deep_inside_of_a_call_is_found(slip, says):
    first = ag.capture(lambda x: Centred.apply(x, slip).exp().sum(), torch.randn(2, 4)).compare().first
    assert says in first.left_out.sentence
    np.testing.assert_allclose(first.theirs + first.left_out.terms[0].missing, first.ours, atol=1e-12)
    assert ag.capture(lambda x: Centred.apply(x, "none").exp().sum(), torch.randn(2, 4)).compare().ok


def test_a_factor_is_no_missing_term():
    model = GPT()
    old = model.transformer.h[0].mlp.c_fc
    model.transformer.h[0].mlp.c_fc = Linear(old.in_features, old.out_features)
    found = ag.capture(model, *tokens()).compare()
    assert found.first.left_out is None
    assert "transformer.h.0.mlp.c_fc.weight: twice too large" in words(found.html())


def test_the_picture_has_the_card_that_differs_its_neighbour_and_ticks(in_a_gpt):
    first, neighbour, *ticks, more, end = in_a_gpt.drawing.scene.cards
    assert (first.mark, first.word, first.name) == ("wrong", "differs first here", "x")
    assert [block.kind for block in first.blocks] == ["value", "grad", "wrong"]
    assert any(one.kind == "differs" for row in first.blocks[-1].table.rows for one in row)
    assert (neighbour.name, neighbour.mark) == ("h", "agrees")
    assert [(card.word, card.is_pill) for card in ticks] == [("✓ agrees", True)] * 2
    assert more.expression == f"{in_a_gpt.agreed - 4} more, all ✓"
    assert (end.name, end.role) == ("loss", "output")
    assert [edge.style for edge in in_a_gpt.drawing.scene.edges] == ["wrong", "done", "done", "done", "done"]


def test_a_step_that_only_handgrad_has_gets_no_tick():
    """torch computes the mean of squares in one call: it has no gradient of the difference and of its square."""
    target = torch.zeros(2, 3)
    found = ag.capture(lambda x: nn.functional.mse_loss(Norm(RowNorm)(x), target), torch.randn(2, 3)).compare()
    assert [(passed.value.op.name, passed.compared) for passed in found.first.way][-3:] == [
        ("sub", False), ("power", False), ("mean", True)]  # fmt: skip
    assert [card.word for card in found.drawing.scene.cards] == ["differs first here", "✓ agrees", "loss"]


def test_the_shown_part_of_a_large_array_holds_the_entry_that_differs_most(in_a_gpt):
    worst = in_a_gpt.first.theirs.flat[np.argmax(np.abs(in_a_gpt.first.ours - in_a_gpt.first.theirs))]
    block = in_a_gpt.drawing.scene.cards[0].blocks[-1]
    assert re.fullmatch(r"adds to grad \[\d, \d:\d, \d:\d\], torch", block.caption)
    shown = [float(one.text.replace("−", "-")) for row in block.table.rows for one in row]
    assert min(abs(x - worst) for x in shown) < 1e-4 * abs(worst) + 1e-5


def test_a_model_that_agrees():
    found = compared(Norm(GoodRowNorm))
    text = words(found.html())
    assert "torch's backward agrees with handgrad's." in text
    assert f"{found.compared} gradients" in text
    assert found.run.parameters["0.weight"].grad is None  # drawn with gradients, but left as it was
    assert any(row.kind == "grad" for card in found.drawing.scene.cards for row in card.rows)


def test_it_is_written_whole_in_each_form(found, tmp_path):
    for name in ("report.html", "report.txt", "report.svg"):
        path = found.save(tmp_path / name)
        assert path == tmp_path / name
        assert "RowNorm" in path.read_text()
    assert (tmp_path / "report.txt").read_text() == f"{found}\n"
    with pytest.raises(ValueError, match=r"is written as \.html.*got 'report.doc'"):
        found.save(tmp_path / "report.doc")
    with pytest.raises(FileNotFoundError, match="make it first"):
        found.save(tmp_path / "nowhere" / "report.html")


def test_a_notebook_gets_it_without_script(found):
    page = found._repr_html_()
    assert "<script" not in page
    assert "torch's backward of RowNorm is wrong." in words(page)


def test_names_cannot_break_out_of_the_page():
    model = nn.Sequential()
    model.add_module("<script>alert(1)</script>", nn.Sequential(nn.Linear(3, 3), Norm(RowNorm)))
    found = ag.capture(lambda x: model(x).square().sum(), torch.randn(2, 3)).compare()
    assert found.first.module.startswith("<script>")
    assert "<script>alert" not in found.html()


def test_it_fits_its_window_and_stays_silent(found, in_a_gpt, browser, tmp_path):
    """At 1280 and 390 pixels, light and dark: nothing runs off the side, nothing is asked of a network."""
    for name, one in (("small", found), ("gpt", in_a_gpt)):
        path = one.save(tmp_path / f"{name}.html")
        browser.errors.clear()
        browser.requests.clear()
        for width, dark in ((1280, False), (1280, True), (390, False), (390, True)):
            browser.open(path.as_uri(), width=width, height=800, dark=dark)
            assert browser.js("document.documentElement.scrollWidth") <= width
            light = browser.js("getComputedStyle(document.body).backgroundColor")
            assert light == ("rgb(21, 24, 29)" if dark else "rgb(255, 255, 255)")
        browser.click("#hg-theme")
        assert browser.js("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        browser.click("#hg-copy")
        browser.wait("document.getElementById('hg-copy').textContent === 'copied'")
        assert not browser.errors
        assert [r for r in browser.requests if not r.startswith("file:")] == []


def test_the_line_of_the_report_is_the_line_of_the_mistake(found):
    assert f"test_compare.py:{line_of('the wrong line', RowNorm)}" in words(found.html())


def test_a_sum_of_small_numbers_has_each_power_of_ten_once():
    assert as_sum([1.5e-4, 2.5e-4, 4e-4]) == ("=", ["1.5×10⁻⁴", "2.5×10⁻⁴", "4×10⁻⁴"])
