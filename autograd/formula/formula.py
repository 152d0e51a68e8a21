"""A formula with its numbers: a rule or an expression as a syntax tree over operands that have values.

One tree is written in several ways: in symbols (`∂L/∂K @ WK.T`), in numbers (`0.5 × 3`), and for one entry alone
(`0 × 0.1 + 2 × 0.3`).
"""

from __future__ import annotations

from typing import Any

from autograd.formula.numbers import agree, equals
from autograd.formula.pieces import Number, Piece, has_numbers, merged, plain_text, read_off
from autograd.formula.valued import AsPrinted, NoNumbers, Valued, operand_of
from autograd.formula.writers import Numbers, Symbols


class Formula(Valued):
    """A tree and its operands. `text` is its symbols; `pieces()` its numbers; `entry(index)` one entry's."""

    @property
    def text(self) -> str:
        """In symbols, on one line."""
        return Symbols(self).write(self.tree)

    @property
    def in_terms_of_g(self) -> str:
        """In symbols, with `g` for the gradient that arrives."""
        return Symbols(self, gradient="g").write(self.tree)

    @property
    def is_operand(self) -> bool:
        """Is it one operand, unchanged?"""
        return operand_of(self, self.tree) is not None

    def pieces(self) -> list[Piece]:
        """In numbers: texts, and operands with their values."""
        return merged(Numbers(self).write(self.tree))

    def numbers(self) -> str:
        """In numbers, on one line."""
        return plain_text(self.pieces())

    def equation(self, result: Any, is_gradient: bool = False) -> list[Piece]:
        """In numbers, with what they come to."""
        return [*self.pieces(), f" {self.equals(result)} ", Number(result, is_gradient)]

    def equals(self, result: Any) -> str:
        """The sign before the result: `=` where what is printed of it follows from the printed numbers, else `≈`.

        A reader who works the line out by hand gets exactly what stands after an `=`.
        """
        if not has_numbers(result):
            return "="
        try:
            return equals(AsPrinted(self.tree, self.operands).value(), read_off(result))
        except (NoNumbers, TypeError, ValueError):
            printed = [piece.value for piece in (*self.pieces(), Number(result)) if isinstance(piece, Number)]
            return "=" if all(agree(read_off(value), value) for value in printed) else "≈"

    def entry(self, index: tuple[int, ...]) -> Formula | None:
        """The arithmetic of one entry, as a formula of scalars; None where it cannot be spelled out."""
        from autograd.formula.entries import Entries

        try:
            return Entries(self).at(index)
        except (NoNumbers, IndexError):
            return None
