"""Steps as LaTeX: their lines in symbols and in numbers, aligned at the signs of equality."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from autograd.expr import Expr
from autograd.formula.lines import Line
from autograd.formula.text import columns, visible
from autograd.formula.writers.latex import WIDEST, Latex, LatexNumbers, latex_escaped, latex_symbol, number_latex
from autograd.formula.writers.pieces import laid_out, row_text

from ..steps import BACKWARD, Contribution, Step

if TYPE_CHECKING:
    from ..stepper import Stepper

STEPS_AT_ONCE = 40  # in one `align*`, which LaTeX sets as a whole
STAY = " \\\\*\n"  # a new row, on the same page
EVERYTHING = 10**9  # characters: no line ends anywhere

DOCUMENT = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{amsmath}
\usepackage[margin=15mm]{geometry}
\allowdisplaybreaks
\begin{document}
%s
\end{document}
"""


BEAMER = r"""\documentclass{beamer}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{amsmath}
\setbeamertemplate{navigation symbols}{}
\setbeamerfont{frametitle}{size=\normalsize}
\title{%s}
\date{}
\begin{document}
\frame{\titlepage}
%s
\end{document}
"""


def beamer(stepper: Stepper) -> str:
    """A lecture: for each step a frame that asks, and one that answers."""
    from ..questions import question_of

    frames = []
    for step in stepper.steps:
        title = rf"{{{step.title}\quad {latex_escaped(visible(step.reading))}}}"
        arrives = next(_rows(step)) if step.kind == BACKWARD else ""
        known = f"\\begin{{align*}}\n{arrives}\n\\end{{align*}}\n" if arrives else ""
        frames.append(f"\\begin{{frame}}{title}\n{known}{latex_escaped(visible(question_of(step)))}\n\\end{{frame}}")
        rows = " \\\\\n".join(_rows(step))
        frames.append(f"\\begin{{frame}}[allowframebreaks]{title}\n\\small\n\\begin{{align*}}\n{rows}\n\\end{{align*}}\n"
                      "\\end{frame}")  # fmt: skip
    title = stepper.title or visible(stepper.words.reading(stepper.root))
    return BEAMER % (latex_escaped(title), "\n".join(frames))


def write(stepper: Stepper, document: bool) -> str:
    """Every step, as `align*` environments; as a document of its own if asked for."""
    blocks = [_block(stepper.steps[i : i + STEPS_AT_ONCE]) for i in range(0, len(stepper), STEPS_AT_ONCE)]
    text = "\n".join(filter(None, [latex_escaped(stepper.note) and f"{latex_escaped(stepper.note)}\n", *blocks]))
    return DOCUMENT % (text or "Nothing is computed.") if document else text


def _block(steps: list[Step]) -> str:
    rows = []
    for step in steps:
        heading = rf"\intertext{{\textbf{{{step.title}}}\quad {latex_escaped(visible(step.reading))}}}"
        rows.append(heading + "\n" + " \\\\\n".join(_rows(step)))
    body = " \\\\\n".join(rows)
    return f"\\begin{{align*}}\n{body}\n\\end{{align*}}"


def _rows(step: Step) -> Iterator[str]:
    """The rows of one step, each with one place to align at."""
    symbols = Latex(step.words.top, step.words.symbol)
    if step.kind != BACKWARD:
        if not step.lines:  # a folded module
            exits = {step.words.name(x): step.words.data(x) for x in step.exits}
            for name, value in exits.items() if len(exits) > 1 else [(step.name, step.value)]:
                yield rf"{latex_symbol(name)} &= {number_latex(value)}"
        for line in step.lines:
            is_last = line is step.lines[-1]
            name = symbols.write(step.words.symbol(step.twin)) if is_last else latex_symbol(line.result.name)
            yield _line(step, line, name, symbols)
        return
    arrives = "arrives, from a hook" if step.starts_hooked else "arrives"
    for e in step.arrivals or [step.arrives]:
        yield rf"{symbols.slope(e.node)} &= {_number(step, e)} \qquad\text{{{arrives}}}"
    own = {id(contribution.line.result) for contribution in step.contributions if contribution.line is not None}
    for line in step.lines:
        if id(line.result) not in own:
            yield _line(step, line, latex_symbol(line.result.name), symbols)
    for contribution in step.contributions:
        yield from _contribution(contribution, symbols)


def _contribution(contribution: Contribution, symbols: Latex) -> Iterator[str]:
    """What is added to one gradient; where several paths meet, the total so far."""
    step, slope = contribution.step, symbols.slope(contribution.twin)
    sign = "=" if contribution.paths == 1 else r"\mathrel{+}="
    if contribution.line is None:
        yield f"{slope} &{sign} {_number(step, contribution.added)}"
    else:
        yield _line(step, contribution.line, slope, symbols, sign)
    if contribution.paths > 1:
        *rows, last = _running_sum(contribution)
        yield from rows
        yield rf"{last} \qquad\text{{path {contribution.path} of {contribution.paths}}}"
    if contribution.left is not None:
        yield rf"&\to {number_latex(contribution.left, None)} \qquad\text{{a hook made this of it}}"


def _running_sum(contribution: Contribution) -> Iterator[str]:
    """The total so far: how it comes about, in as many rows as it takes."""
    step, line = contribution.step, contribution.sum_line
    if line is None or contribution.previous is None or not line.is_shown:  # of windows the digits do not add up
        yield rf"&\to {_number(step, contribution.summed)}"
    elif step.shows_arithmetic(line) and _widths(step, line)[0] > WIDEST:
        yield rf"&\to {_number(step, contribution.previous.summed)}"
        yield f"&+ {_number(step, contribution.added)}"
        yield f"&{_equals(step, line)} {_number(step, contribution.summed)}"
    else:
        yield from _in_numbers(step, line, r"\to")


def _line(step: Step, line: Line, name: str, symbols: Latex, sign: str = "=") -> str:
    """A line in symbols, then in numbers, on one page."""
    written = symbols.write(line.formula)
    return STAY.join([f"{name} &" if written == name else f"{name} &{sign} {written}", *_in_numbers(step, line)])


def _number(step: Step, quantity: Expr) -> str:
    return number_latex(quantity.value, step.digits.written(quantity))


def _in_numbers(step: Step, line: Line, sign: str = "=") -> Iterator[str]:
    """A line in numbers, after a sign."""
    result = _number(step, line.result)
    if not step.shows_arithmetic(line):
        yield f"&{sign} {result}"
        return
    equals, numbers = _equals(step, line), LatexNumbers(step.digits.written).line(line.formula)
    left, right = _widths(step, line)
    if left > WIDEST or numbers == result:  # no line of a paper is long enough; or it would say the same twice
        yield f"&{equals} {result}"
    elif left + right > WIDEST:
        yield f"&{sign} {numbers}"
        yield f"&{equals} {result}"
    else:
        yield f"&{sign} {numbers} {equals} {result}"


def _equals(step: Step, line: Line) -> str:
    return r"\approx" if step.digits.sign(line) == "≈" else "="


def _widths(step: Step, line: Line) -> tuple[int, int]:
    """How many characters a line in numbers takes, and its result."""
    *pieces, _, last = step.in_numbers(line)
    left, right = (max(columns(row_text(row)) for row in laid_out(side, EVERYTHING)) for side in (pieces, [last]))
    return left, right
