"""Answer sheets of all sorts, drawn at random: what pupils write, and what nobody should."""

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal

from autograd.worksheets.marking.intervals import CannotJudge, Interval, evaluate
from autograd.worksheets.marking.slips import Alternatives
from tools.marker import written

ODD = ("", "  ", "abc", "3 cm", "25%", "=1/3", "1,234", "0,25", "1/0", "1/3", "-2/7", "nan", "1e9999", "1.2.3", "−0.5",
       "1.5×10⁻³", "2*10^-4", ".5", "5.", "+1", "1e-3", "00.10", "0.0000", "1e300", "-1e300", "7" * 61, "7" * 50,
       "0.1" + "0" * 45 + "1", "'0.5'", "<b>", "½", "١", "x10", "12x10^2")  # fmt: skip


def random_answers(sheet, rng):
    """One pupil: careful or not, with slips, gaps, own spellings; each line from their own numbers before it."""
    own = dict(sheet.numbers)
    carelessness = rng.choice([0.0, 0.05, 0.3, 0.9])
    digits = int(rng.integers(2, 7))
    rounding = ROUND_DOWN if rng.random() < 0.3 else ROUND_HALF_EVEN
    comma = rng.random() < 0.1
    decimals = sheet.digits if rng.random() < 0.3 else None
    filler = str(rng.choice(["0", "1", "0.5", "0.50"])) if rng.random() < 0.05 else None
    found = {}
    for blank in sheet.blanks:
        formula, text = blank.expr, None
        if rng.random() < carelessness:
            way = rng.integers(6)
            slips = list(Alternatives(sheet, blank).all()) if way < 2 else []
            if slips:
                formula = slips[rng.integers(len(slips))][1]
            elif way == 2:
                continue
            elif way == 3:
                text = str(rng.choice(ODD))
        try:
            exact = evaluate(formula, own, lambda x: Interval.exactly(repr(+x)))
        except (CannotJudge, KeyError):
            continue
        x = Decimal(0) if exact.low <= 0 <= exact.high else exact.middle
        if text is None:
            text = filler or written(x, digits if rng.random() < 0.9 else int(rng.integers(1, 15)), rounding)
            if decimals and not filler:
                text = f"{x:.{decimals}f}"
        if rng.random() < carelessness * 0.3:
            text = _spoiled(text, rng)
        found[blank.id] = text.replace(".", ",") if comma else text
        try:
            own[blank.id] = Interval.exactly(Decimal(text))
        except ArithmeticError:
            own[blank.id] = Interval.exactly(x)
        if not own[blank.id].low.is_finite() or abs(own[blank.id].low) > 1000:
            own[blank.id] = Interval.exactly(x)
    return found


def _spoiled(text, rng):
    """A slip of the pen."""
    way = rng.integers(4)
    if way == 0:
        return text.removeprefix("-") if text.startswith("-") else f"-{text}"
    if way == 1 and len(text) > 3:
        i = int(rng.integers(len(text) - 1))
        return text[:i] + text[i + 1] + text[i] + text[i + 2 :]
    if way == 2:
        return f"≈ {text}0"
    return f"{text}{rng.integers(10)}"
