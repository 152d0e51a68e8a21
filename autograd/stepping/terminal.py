"""The terminal face: a step as plain text, tables written out side by side. `player` adds the keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from autograd.formula.pieces import Number, Piece
from autograd.formula.text import columns
from autograd.stepping.columns import beside, flowed

if TYPE_CHECKING:
    from autograd.stepping.walk import Contribution, Step

WIDTH = 100  # columns of a text that goes to no terminal in particular
INDENT = "    "


def describe(step: Step, colour: bool = False, width: int = WIDTH) -> str:
    """A whole step as text, in lines of at most `width` columns as far as its tables allow."""
    paint = Paint(colour)
    made_at = f"   {step.node.line}" if step.node.line else ""
    lines = fitted([(step.title, paint.bold), (f"  {step.reading}", str), (made_at, paint.dim)], width)
    if step.kind == "forward":
        lines += indented(forward_pieces(step), width)
        return "\n".join(lines)
    slope = step.words.slope(step.node)
    lines += indented([f"arrives  {slope} = ", Number(step.incoming, True)], width)
    for contribution in step.contributions:
        lines += contribution_lines(contribution, paint, width)
    if not step.contributions:
        lines.append(f"{INDENT}sends nothing on: no input asks for a gradient")
    return "\n".join(lines)


def forward_pieces(step: Step) -> list[Piece]:
    """`Q = X @ WQ = …` in numbers."""
    if step.formula is None or step.formula.is_operand:
        return [f"{step.name} = ", Number(step.value)]
    return [f"{step.name} = ", *step.formula.equation(step.value)]


def contribution_lines(contribution: Contribution, paint: Paint, width: int) -> list[str]:
    words = contribution.step.words
    paths = f"path {contribution.path} of {contribution.paths}" if contribution.paths > 1 else "only path"
    name = words.name(contribution.parent)
    head = f"{INDENT}to {paint.bold(name)}"
    if columns(f"{INDENT}to {name}   {contribution.symbols}   {paths}") <= width:
        lines = [f"{head}   {paint.grad(contribution.symbols)}   {paint.dim(paths)}"]
    else:  # the rule below, each of its named parts on a line of its own
        lines = [f"{head}   {paint.dim(paths)}"]
        for part in contribution.rule_and_parts:
            lines += [INDENT * 2 + paint.grad(line) for line in flowed([part], width - 2 * len(INDENT))]
    if contribution.formula is None or contribution.formula.is_operand:
        numbers: list[Piece] = [Number(contribution.value, True)]
    else:
        numbers = contribution.formula.equation(contribution.value, is_gradient=True)
    lines += indented(numbers, width, 2)
    if contribution.before is not None:
        running: list[Piece] = ["now ", Number(contribution.before, True), " → ", Number(contribution.total, True)]
        lines += indented(running, width, 2)
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
