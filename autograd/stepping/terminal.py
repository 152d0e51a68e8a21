"""The terminal face: a step as plain text, tables written out side by side. `player` adds the keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from autograd.formula.arithmetic import Number, Piece
from autograd.formula.text import columns
from autograd.stepping.columns import beside, flowed

if TYPE_CHECKING:
    from autograd.formula.digits import Line
    from autograd.stepping.walk import Contribution, Step

WIDTH = 100  # columns of a text that goes to no terminal in particular
INDENT = "    "


def describe(step: Step, colour: bool = False, width: int = WIDTH) -> str:
    """A whole step as text, in lines of at most `width` columns as far as its tables allow."""
    paint = Paint(colour)
    made_at = f"   {step.node.line}" if step.node.line else ""
    lines = fitted([(step.title, paint.bold), (f"  {step.reading}", str), (made_at, paint.dim)], width)
    if step.kind == "forward":
        lines += forward_lines(step, width)
        return "\n".join(lines)
    arrives = Number(step.arrives.value, True, written=step.digits.written(step.arrives))
    lines += indented([f"arrives  {step.arrives.name} = ", arrives], width)
    lines += named_lines(step, step.lines[: len(step.lines) - len(step.contributions)], paint, width)
    for contribution in step.contributions:
        lines += contribution_lines(contribution, paint, width)
    if not step.contributions:
        lines.append(f"{INDENT}sends nothing on: no input asks for a gradient")
    return "\n".join(lines)


def forward_lines(step: Step, width: int) -> list[str]:
    """`Q = X @ WQ = …` in numbers; the named steps of a longer op before it."""
    lines = named_lines(step, step.lines[:-1], Paint(False), width)
    return [*lines, *indented([f"{step.name} = ", *step.pieces()], width)]


def named_lines(step: Step, named: Iterable[Line], paint: Paint, width: int) -> list[str]:
    """The steps that a rule or a definition names: in symbols, then in numbers."""
    lines = []
    for line in named:
        symbols = f"{line.result.name} = {step.words.names.written(line.formula)}"
        says = f"   {line.says}" if line.says else ""
        lines += [INDENT + text for text in flowed([symbols], width - len(INDENT))]
        lines[-1] += paint.dim(says)
        lines += indented(step.in_numbers(line), width, 2)
    return lines


def contribution_lines(contribution: Contribution, paint: Paint, width: int) -> list[str]:
    words = contribution.step.words
    paths = f"path {contribution.path} of {contribution.paths}" if contribution.paths > 1 else "only path"
    name = words.name(contribution.parent)
    head = f"{INDENT}to {paint.bold(name)}"
    symbols = contribution.own_symbols
    if columns(f"{INDENT}to {name}   {symbols}   {paths}") <= width:
        lines = [f"{head}   {paint.grad(symbols)}   {paint.dim(paths)}"]
    else:  # the rule below
        lines = [f"{head}   {paint.dim(paths)}"]
        lines += [INDENT * 2 + paint.grad(line) for line in flowed([symbols], width - 2 * len(INDENT))]
    lines += indented(contribution.pieces(), width, 2)
    if contribution.previous is not None:
        before, total = (
            Number(quantity.value, True, written=contribution.step.digits.written(quantity))
            for quantity in (contribution.previous.summed, contribution.summed)
        )
        lines += indented(["now ", before, " → ", total], width, 2)
    return lines


def indented(pieces: list[Piece], width: int, times: int = 1) -> list[str]:
    return [INDENT * times + line for line in beside(pieces, width - times * len(INDENT))]


def fitted(parts: list[tuple[str, Callable[[str], str]]], width: int) -> list[str]:
    """Parts of a headline, each with its colour: on one line, or on as many as it takes."""
    lines, used = [""], 0
    for text, painted in parts:
        if used and used + columns(text) > width:
            lines.append("")
            text, used = INDENT + text.strip(), 0
        lines[-1] += painted(text) if text else ""
        used += columns(text)
    return lines


class Paint:
    """Colours on a terminal that has them."""

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def _styled(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    def bold(self, text: str) -> str:
        return self._styled("1", text)

    def dim(self, text: str) -> str:
        return self._styled("2", text)

    def grad(self, text: str) -> str:
        return self._styled("33", text)
