"""Marking: the key is right, honest pupils are never wrong, one error is found where it is and the rest follows."""

import functools
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal

import numpy as np
import pytest

from autograd import Value, cross_entropy, equal, exp, layer_norm, maximum, minimum, softmax, stack, where
from autograd.errors import DataError
from autograd.worksheets import grade, worksheet
from autograd.worksheets.marking import slips
from autograd.worksheets.marking.slips import WHICH
from examples import EXAMPLES
from tests.sweep import slow_but
from tools.marker import power, pupil, sheet_of, written

NAMES = [example.name for example in EXAMPLES]
SMALL = ("example1", "example2", "example3", "example5")
KINDS = ["full precision", "rounding", "truncating", "mixed"]


@pytest.mark.parametrize("name", NAMES)
def test_the_key_scores_everything(name):
    sheet = sheet_of(name)
    marks = grade(sheet, {blank.id: blank.answer for blank in sheet.blanks})
    assert marks.score == 1.0 and marks.first_wrong is None and marks.mistake is None
    assert marks.counts == {"right": len(sheet.blanks), "follows": 0, "wrong": 0, "missing": 0}
    as_printed = grade(sheet, {blank.id: written(blank.key, 4) for blank in sheet.blanks})
    assert as_printed.score == 1.0 and as_printed.counts["right"] == len(sheet.blanks)


TIES = {
    "relu at 0": lambda a, b, c: (a * b + c).relu(),
    "relu at 0, of fractions": lambda a, b, c: (0.3 - (a / b) * 0.45).relu() + c,
    "maximum of equals": lambda a, b, c: maximum(a * b, 6.0) * 1.5,
    "minimum of equals": lambda a, b, c: minimum(a * b, -c) * b,
    "where at its threshold": lambda a, b, c: np.where(a * b > -c, a, b),
    "where of equals": lambda a, b, c: where(equal(a * b, 6.0), a, b),
    "a maximum": lambda a, b, c: stack([a, b, c * -1]).max() * a,
    "a maximum of products": lambda a, b, c: (stack([a, b]) * 2).max(),
    "two maxima": lambda a, b, c: stack([a * b, -c, b]).max(),
    "clip at its bound": lambda a, b, c: np.clip(stack([a, b]) * 0.5, -1.0, 1.0).sum(),
    "not nan": lambda a, b, c: np.nansum(stack([a, b]) * 2) ** 2,
    "equal exponentials": lambda a, b, c: maximum(exp(a * 1.5), exp(b)) * a,
    "a maximum of exponentials": lambda a, b, c: exp(stack([a, b]) / 7).max(),
}


@pytest.mark.parametrize("graph", TIES.values(), ids=TIES)
def test_the_key_is_the_engines_where_numbers_are_equal(graph):
    """An interval cannot say which of two equal numbers is larger; half of this and half of that is no answer."""
    leaves = [Value(x, name=name) for x, name in ((2.0, "a"), (3.0, "b"), (-6.0, "c"))]
    loss = graph(*leaves)
    loss.backward()
    sheet = worksheet(loss)
    key = {blank.id: blank.answer for blank in sheet.blanks}
    assert key["L"] == pytest.approx(loss.data, rel=1e-15)
    for leaf in leaves:
        slope = 0.0 if leaf.grad is None else leaf.grad
        assert key.get(f"dL/d{leaf.name}", 0.0) == pytest.approx(slope, rel=1e-15)
        assert key.get(f"{leaf.name}_new", leaf.data) == pytest.approx(leaf.data - 0.1 * slope, rel=1e-15)
    marks = grade(sheet, {blank.id: written(blank.key, 4) for blank in sheet.blanks})
    assert marks.counts["right"] == len(sheet.blanks)
    texts = [sheet.key_text(blank) for blank in sheet.blanks]
    assert not any(text.rstrip("0").endswith(".") for text in texts), texts  # what is exact is written so: 2, not 2.000


def test_a_line_of_too_many_terms_is_refused():
    assert len(worksheet((Value(np.linspace(0.1, 1.0, 300), name="x") ** 2).sum(), backward=False)) == 301
    with pytest.raises(DataError, match="one line of 301 terms"):
        worksheet((Value(np.linspace(0.1, 1.0, 301), name="x") ** 2).sum())


def test_one_pattern_may_be_given_as_text():
    a, b = Value(2.0, name="a"), Value(3.0, name="b")
    assert [blank.id for blank in worksheet((a * b).tanh(), only="dL/da").blanks] == ["dL/da"]


def in_decimals(x, decimals):
    """A number as f"{x:.4f}" writes it; one that would be 0, in significant digits."""
    return f"{x:.{decimals}f}" if round(x, decimals) else written(x, decimals)


def honest(sheet, kind, seed):
    """The four honest pupils of the design, and one who counts decimals, not digits; he keeps what he does not write if
    the seed is odd. Of two kinds the first three write the same number of digits throughout."""
    if kind == "decimals":
        return pupil(sheet, lambda i, x: in_decimals(x, sheet.digits), seed % 2 == 1)
    mixed = np.random.default_rng(seed).integers(sheet.digits, 7, len(sheet.blanks)).tolist()
    if kind in ("rounding", "truncating") and seed < 3:
        mixed = [sheet.digits + seed] * len(sheet.blanks)
    ways = {"mixed": [ROUND_HALF_EVEN, ROUND_DOWN], "truncating": [ROUND_DOWN]}.get(kind, [ROUND_HALF_EVEN])
    return pupil(sheet, lambda i, x: written(x, mixed[i], ways[i % len(ways)]), kind == "full precision")


@pytest.mark.parametrize("digits", [2, 4])
@pytest.mark.parametrize("kind", [*KINDS, "decimals"])
@pytest.mark.parametrize("name", slow_but(NAMES, ["example1", "example2"]))
def test_honest_pupils_are_never_called_wrong(name, kind, digits):
    sheet = sheet_of(name, digits)
    marks = grade(sheet, honest(sheet, kind, 0))
    assert marks.first_wrong is None, (marks.first_wrong, marks.entries[marks.first_wrong])
    assert marks.score == 1.0


def drawn_graph(seed):
    """A small graph with random short numbers; one in four has two rows, one in three trains W too."""
    rng = np.random.default_rng(seed)

    def numbers(*shape):
        return np.round(rng.uniform(-1, 1, shape), 1)

    rows, width = 1 + (seed % 4 == 0), 2 + seed % 2
    x = Value(numbers(rows, 2), name="X", requires_grad=False)
    w, v = Value(numbers(2, width), name="W", requires_grad=seed % 3 == 1), Value(numbers(width, 3), name="V")
    h = ((x @ w).tanh() if seed % 5 < 3 else (x @ w).relu()) @ v
    h.name = "H"
    return cross_entropy(h, np.array([0, 2])[:rows]) if seed % 7 < 5 else (softmax(h)[:, 1] ** 2).sum()


@functools.cache
def drawn_sheet(seed):
    return worksheet(drawn_graph(seed), digits=2 + seed % 4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_honest_sheets(kind):
    """2,500 of each kind, on 100 sheets: never one called wrong."""
    for number in range(100):
        for seed in range(25):
            marks = grade(drawn_sheet(number), honest(drawn_sheet(number), kind, seed))
            assert marks.first_wrong is None, (number, seed, marks.first_wrong, marks.entries[marks.first_wrong])


@pytest.mark.slow
def test_the_marker_has_power():
    """Where a pupil wrote four digits everywhere else; `python -m tools.marker` prints the shares of all examples."""
    counts = [power(name) for name in SMALL]
    blanks = sum(count for count, _ in counts)
    for units, least in ((2, 0.6), (5, 0.9), (10, 0.95), (100, 1.0)):
        assert sum(found[units] for _, found in counts) / blanks >= least, (units, counts)


@pytest.mark.parametrize("number", ["0", "1", "0.0000"])
@pytest.mark.parametrize("name", SMALL)
def test_a_sheet_filled_with_one_number_earns_nothing(name, number):
    sheet = sheet_of(name)
    marks = grade(sheet, {blank.id: number for blank in sheet.blanks})
    assert marks.score == 0 and not any(entry.credit for entry in marks.entries.values())
    begun = {blank.id: blank.key_text(4) for step in sheet.steps[:2] for blank in step.blanks}
    marks = grade(sheet, {blank.id: number for blank in sheet.blanks} | begun)
    assert marks.score == pytest.approx(sum(sheet.weights[step.name] for step in sheet.steps[:2])
                                        / sum(sheet.weights.values()))  # fmt: skip


def tiny():
    a, b = Value(2.0, name="a"), Value(-0.7, name="b")
    c = (a * b).tanh()
    c.name = "c"
    return worksheet(c * c + a)


def test_steps_may_be_skipped():
    sheet = tiny()
    marks = grade(sheet, {"c": "-0.8854"})
    assert marks.entries["c"].verdict == "right" and marks.entries["t1"].verdict == "missing"
    assert grade(sheet, {}).score == 0.0 and grade(sheet, {}).first_wrong is None
    x = Value(0.5, name="x")
    y, z = x * 3.0, None
    y.name = "y"
    z = (y.exp() + 1.0).log()
    z.name = "z"
    marks = grade(worksheet(z * 2.0), {"y": "1.7", "z": f"{np.log(np.exp(1.7) + 1):.4f}"})
    assert marks.first_wrong == "y" and marks.entries["z"].verdict == "follows" and marks.entries["z"].used == ("y",)


def test_follows_says_from_which_numbers():
    sheet = tiny()
    marks = grade(sheet, {"t1": "1.4", "c": "0.8854"})
    assert marks.first_wrong == "t1" and marks.mistake == "a sign lost"
    assert marks.entries["c"].verdict == "follows" and marks.entries["c"].used == ("t1",)


def test_digits_count_as_they_were_written():
    x = Value(1.0, name="x")
    sheet = worksheet(x / 3.0)
    verdicts = {text: grade(sheet, {"L": text}).entries["L"] for text in
                ("0.3333", "0.33333", "0.33", "0.3334", "0.3332", "0.33330", "0.33333333333", "1/3")}  # fmt: skip
    right = {text for text, entry in verdicts.items() if entry.verdict == "right"}
    assert right == {"0.3333", "0.33333", "0.3334", "0.33333333333", "1/3"}
    assert verdicts["0.33"].verdict == "wrong" and "too few digits" in verdicts["0.33"].note
    exact = grade(worksheet(x / 4.0), {"L": "0.25"})
    assert exact.entries["L"].verdict == "right" and not exact.entries["L"].note


def test_as_many_decimals_as_digits_are_asked_for_will_do():
    """0.0540 is 0.05398 as f"{x:.4f}" writes it; 0.0539 is not, and 0 is never taken for a number that is not 0."""
    sheet = worksheet(Value(0.05398, name="x") * 1.0)
    found = {text: grade(sheet, {"L": text}).entries["L"] for text in
             ("0.05398", "0.0540", "0.054", 0.054, "0.0541", "0.0539", "0.05403", "0.05400", "0.05", "0")}  # fmt: skip
    assert [text for text, entry in found.items() if entry.verdict == "right"] == ["0.05398", "0.0540", "0.054", 0.054]
    assert found["0.0540"].note == "rounded to 4 decimals: the sheet asks for 4 significant digits"
    tiny_one = worksheet(Value(0.00003, name="x") * 1.0)
    assert grade(tiny_one, {"L": "0.0000"}).entries["L"].verdict == "wrong"
    large = grade(worksheet(Value(12.3456, name="x") * 1.0), {"L": "12.35"}).entries["L"]
    assert large.verdict == "right" and not large.note  # four digits are two decimals


@pytest.mark.parametrize("digits", [3, 4])
@pytest.mark.parametrize("keeps", [False, True])
def test_what_follows_from_an_error_may_be_written_in_decimals(keeps, digits):
    """One large error at a time; the pupil goes on from it with what he wrote, or with what his calculator holds."""
    sheet = sheet_of("example2", digits)
    for blank in sheet.blanks:
        wrong = {blank.id: blank.key * 2 + Decimal("1.37")}
        marks = grade(sheet, pupil(sheet, lambda i, x: in_decimals(x, digits), keeps, wrong))
        assert [name for name, entry in marks.entries.items() if entry.verdict == "wrong"] == [blank.id]


def test_a_slip_that_is_written_in_decimals_is_named():
    sheet = worksheet(Value(0.21, name="a") * Value(0.2571, name="b") - 0.0001)
    marks = grade(sheet, {"t1": "-0.0540"})
    assert marks.first_wrong == "t1" and marks.mistake == "a sign lost"


def test_numbers_of_a_machine_have_its_digits():
    """float32 holds seven digits, of which its sums spoil the last: six are read, however long its repr is."""
    w = Value(np.array([[0.3, -0.71]]), name="W")
    sheet = worksheet((w.tanh() ** 2).sum())
    for kind in (np.float32, np.float64, np.longdouble, Decimal, Value):
        marks = grade(sheet, {blank.id: kind(blank.answer) for blank in sheet.blanks})
        assert marks.score == 1.0 and set(marks.counts.values()) == {0, len(sheet.blanks)}, (kind, marks)
    h = np.tanh(np.float32([[0.3, -0.71]]))
    for table in (h, Value(h), [list(h[0])]):
        assert grade(sheet, {"t1": table}).counts["right"] == 2


def test_a_sheet_is_a_sheet():
    with pytest.raises(DataError, match=r"grade takes a sheet and its answers, as in .*; got 5"):
        grade(5, {})


def test_cutting_off_is_noted():
    sheet = worksheet(Value(2.0, name="x") / 3.0)
    entry = grade(sheet, {"L": "0.6666"}).entries["L"]
    assert entry.verdict == "right" and entry.note == "cut off, not rounded"


def test_numbers_that_are_too_coarse_are_flagged():
    x, y = Value(1.0, name="x"), Value(3.0, name="y")
    p, q = x / y, x * 0.3333
    p.name, q.name = "p", "q"
    sheet = worksheet(p - q, backward=False)
    entry = grade(sheet, {"p": "0.3335", "q": "0.3333", "L": "0.0002"}).entries["L"]
    assert entry.verdict == "follows" and "not checked" in entry.note


def test_answers_of_another_sheet_are_refused():
    with pytest.raises(DataError, match="none of the ids"):
        grade(tiny(), {"Q[0][0]": 1.0})


def test_a_step_counts_once_however_many_entries_it_has():
    x = Value(np.ones((1, 2)), name="x", requires_grad=False)
    w = Value(np.full((2, 5), 0.3), name="W")
    h = x @ w
    h.name = "h"
    sheet = worksheet(h.sum(), backward=False)
    answers = {blank.id: blank.answer for blank in sheet.blanks} | {"h[0][0]": 7.0}
    assert grade(sheet, answers).score < 1.0
    assert grade(sheet, {blank.id: blank.answer for blank in sheet.blanks if blank.id != "L"}).score == 0.5


# --- slips -----------------------------------------------------------------------------------------------------------


def slip(sheet, number, name):
    """What a pupil with one wrong number is told."""
    answers = pupil(sheet, lambda i, x: written(x, 6), True, wrong={name: Decimal(str(number))})
    marks = grade(sheet, answers)
    assert marks.first_wrong == name, (name, number, marks.entries[name])
    return marks.mistake


def attention():
    rng = np.random.default_rng(3)

    def leaf(name, *shape):
        return Value(np.round(rng.uniform(-1, 1, shape), 1), name=name)

    x = leaf("X", 2, 2)
    x.requires_grad = False
    q, k = x @ leaf("WQ", 2, 2), x @ leaf("WK", 2, 2)
    q.name, k.name = "Q", "K"
    s = (q @ k.T) / np.sqrt(2.0)
    s.name = "S"
    p = softmax(s)
    p.name = "P"
    out = p @ leaf("V", 2, 2)
    out.name = "out"
    return worksheet(cross_entropy(out, np.array([1, 0])))


def numbers_of(sheet):
    return {blank.id: float(blank.key) for blank in sheet.blanks} | {
        name: float(x.middle) for name, x in sheet.numbers.items()}  # fmt: skip


def test_slips_are_named():
    sheet = attention()
    n = numbers_of(sheet)
    found = {
        "S[0][1]": (n["S[0][1]"] * 2**0.5, "1/√d forgotten"),
        "P[1][0]": (n["P.e[1][0]"], "not normalised"),
        "WQ_new[0][1]": (n["WQ[0][1]"] + 0.1 * n["dL/dWQ[0][1]"], "+ for − in the update"),
        "WQ_new[1][1]": (n["WQ[1][1]"] - n["dL/dWQ[1][1]"], "η forgotten"),
        "dL/dS[0][0]": (n["dL/dP[0][0]"] * n["P[0][0]"] * (1 - n["P[0][0]"]), "softmax's diagonal only"),
        "dL/dQ[0][1]": (-n["dL/dQ[0][1]"], "a sign lost"),
        "dL/dP[0][1]": (
            n["dL/dout[0][0]"] * n["V[0][1]"] + n["dL/dout[0][1]"] * n["V[1][1]"], "a transpose missing"),
        "dL/dout[0][0]": (
            (n["L.p[0][0]"] - 1) / 2, "the wrong target index"),
        "dL/dout[0][1]": (n["L.p[0][1]"] / 2, "the target not subtracted"),
    }  # fmt: skip
    for name, (number, expected) in found.items():
        told = slip(sheet, f"{number:.6g}", name)
        assert expected in told.names, (name, told)
        assert told.teaches
    assert slip(sheet, f"{n['L.p[0][1]'] / 2:.6g}", "dL/dout[0][1]") == "the target not subtracted"  # and nothing else


def test_of_several_slips_none_is_taught():
    """Where two slips give one number, the sentence is about neither of them."""
    told = slip(worksheet(Value(3.0, name="a") - Value(1.0, name="b")), "-2", "L")
    assert set(told.names) == {"the sign of a subtraction", "a sign lost"} and told.teaches == WHICH


def test_no_number_begins_with_a_zero_that_changed_places():
    """40 for 4 is a point one place off; nobody writes 04."""
    assert slip(worksheet(Value(3.0, name="a") + Value(1.0, name="b")), "40", "L") == "the decimal point one place off"


def test_slips_of_single_ops_and_paths():
    x, w = Value(np.array([0.3, -0.8, 0.5]), name="x"), Value(np.array([0.7, 0.2, -0.4]), name="w")
    h = x * w
    h.name = "h"
    sheet = worksheet((h.exp() * x + h.tanh()).sum())
    n = numbers_of(sheet)
    terms = [name for name in n if name.startswith("dL/dx:") and name.endswith("[0]")]
    assert len(terms) >= 1
    for term in terms:
        told = slip(sheet, f"{n['dL/dx[0]'] - n[term]:.6g}", "dL/dx[0]")
        assert "a path forgotten" in told.names
    y = layer_norm(Value(np.array([[0.5, -1.0, 2.0]]), name="x"), Value(np.array([1.5, 0.5, -1.0]), name="g"), 0.0)
    y.name = "y"
    sheet = worksheet((y * np.array([0.3, 0.1, -0.6])).sum())
    n = numbers_of(sheet)
    wrong = 0.3 * 1.5 / n["y.σ[0][0]"]
    assert "layer norm without its mean terms" in slip(sheet, f"{wrong:.6g}", "dL/dx[0][0]").names


def test_relu_and_swapped_digits_and_unknown_slips():
    x = Value(np.array([0.5, -0.8]), name="x")
    sheet = worksheet((x.relu() * np.array([-0.3, 0.4])).sum())
    assert "relu's mask taken from the gradient" in slip(sheet, "0.4", "dL/dx[1]").names
    sheet = worksheet(Value(2.0, name="a") * 0.6173)
    assert slip(sheet, "1.2436", "L") == "two digits swapped"
    assert slip(sheet, "5.5555", "L") == "no known slip"


@pytest.mark.parametrize(("terms", "looked_for"), [(8, 8), (slips.LONGEST_SUM + 1, 0)])
def test_a_forgotten_term_is_looked_for_in_sums_that_a_hand_adds_up(terms, looked_for):
    """In a long one some term fits nearly any number; and a page would carry the sum as often as it has terms."""
    x, y = (Value(np.linspace(0.1, last, terms), name=name) for last, name in ((1.0, "x"), (2.0, "y")))
    sheet = worksheet((x @ y).tanh(), backward=False)
    found = [slip for slip, _ in slips.Alternatives(sheet, sheet.blanks[0]).all()]
    assert found.count(slips.TERM) == looked_for


# --- what a teacher would defend -----------------------------------------------------------------------------------

EXAMPLE2 = sheet_of("example2")
KEY = {blank.id: blank.answer for blank in EXAMPLE2.blanks}
WO = {f"WO4[{i}][{j}]": 0.1 * ((i, j) in ((0, 0), (1, 2))) for i in range(2) for j in range(4)}
IDEAS_MISSED = {  # the numbers of one who misses an idea, and what the slip is called
    "softmax's own gradient left out": {"dL/dlogit[2]": KEY["P[2]"]},
    "1/√d forgotten": {f"scaled[{i}][{j}]": KEY[f"score[{i}][{j}]"] for i in (0, 1) for j in (0, 1)},
    "+ for − in the update": {
        name.replace("WO4", "WO4_new"): x + 0.1 * KEY[name.replace("WO4", "dL/dWO4")] for name, x in WO.items()},
}  # fmt: skip


@pytest.mark.parametrize("slip", IDEAS_MISSED)
def test_a_missed_idea_costs_its_step_and_what_follows_is_free(slip):
    wrong = {name: Decimal(written(Decimal(repr(x)), 4)) for name, x in IDEAS_MISSED[slip].items()}
    marks = grade(EXAMPLE2, pupil(EXAMPLE2, lambda i, x: written(x, 4), wrong=wrong))
    step = EXAMPLE2.by_id[next(iter(wrong))].part.step
    assert marks.mistake.names == (slip,) and marks.credits[step.name] == 0
    assert marks.score == pytest.approx(1 - EXAMPLE2.weights[step.name] / sum(EXAMPLE2.weights.values()))


def test_a_number_that_is_another_of_the_sheet_is_named():
    assert "You wrote P[2]." in grade(EXAMPLE2, KEY | {"dL/dlogit[2]": f"{KEY['P[2]']:.4f}"}).mistake.teaches


def test_one_slip_among_right_numbers_costs_its_own_share():
    marks = grade(EXAMPLE2, KEY | {"out[0][0]": f"{KEY['attn[0][0]'] * 0.1 * 2:.4f}"})
    assert 0.7 <= marks.credits["out"] < 1


def test_weights_are_the_teachers():
    answers = KEY | {"L": "7.7"}
    assert grade(EXAMPLE2, answers, weights={"L": 0}).score == 1.0
    assert grade(EXAMPLE2, answers, weights=dict.fromkeys(EXAMPLE2.weights, 0) | {"L": 2}).score == 0.0
    assert sum(EXAMPLE2.weights.values()) == pytest.approx(len({step.idea for step in EXAMPLE2.steps}))
    for weights in ({"M": 1}, {"L": -1}, {"L": float("nan")}, {"L": "2"}, dict.fromkeys(EXAMPLE2.weights, 0)):
        with pytest.raises(DataError):
            grade(EXAMPLE2, answers, weights=weights)


@pytest.mark.parametrize("full", [False, True])
def test_who_rounds_correctly_is_never_told_otherwise(full):
    for name in ("example2", "example3", "example4", "example5"):
        answers = pupil(sheet_of(name), lambda i, x: written(x, 4), keeps_full_precision=full)
        assert {entry.note for entry in grade(sheet_of(name), answers).entries.values()} == {""}, name


def test_digits_that_no_root_of_two_gives_are_wrong():
    sheet = sheet_of("example3")
    name = next(blank.id for blank in sheet.blanks if blank.id.startswith("dL/dscore") and "1.41" in blank.formula
                and blank.answer)  # fmt: skip
    exact, rounded = sheet[name].answer, sheet[name].answer * 2**0.5 / 1.414
    assert [grade(sheet, {name: text}).entries[name].verdict for text in
            (f"{exact:.4g}000", f"{exact:.8g}", f"{rounded:.8g}")] == ["wrong", "right", "follows"]  # fmt: skip


def test_a_number_far_behind_empty_steps_is_marked_at_once():
    """Every path through the empty steps was walked: days, where the steps were many."""
    sheet = sheet_of("example6")
    last = sheet.blanks[-1]
    assert grade(sheet, {last.id: "12345"}).entries[last.id].verdict == "wrong"
