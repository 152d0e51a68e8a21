"""Formulas as a teacher writes them on a board, in plain characters: `Xᵀ · ∂L/∂Q`, `the largest of each row of scores`.

`·` is the product of two matrices, `⊙` that of two tables entry by entry.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.expr import UNKNOWN, Expr
from autograd.formula.lines import Derivation
from autograd.formula.numbers import SUPERSCRIPTS
from autograd.formula.writers.python import nested
from autograd.formula.writers.settings import over, turned_once, without_dots
from autograd.formula.writers.symbols import Symbols
from autograd.formula.writers.writer import ATOM, COMPARED, POWER, PRODUCT, SAID, SIGN, SUM, Side, times_sign

from .parts import as_slope

SLOPE = re.compile(r"∂\w+/∂|\bd\w+/d")
COMPARING = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")


class Mathematics(Symbols):
    """One line of text, written like mathematics: `g ⊙ (1 − tanh(x)²)`."""

    def __init__(self, words: Derivation | None = None) -> None:
        super().__init__(array_name=words.names.own_name if words else None)
        self.words = words

    def symbol(self, e: Expr) -> tuple[int, str]:
        node = e.node
        is_result = isinstance(node, Value) and node.op is not None and not e.is_gradient
        if self.words and is_result and not self.words.names.own_name(node):
            return self.unbracketed(self.words.formula(node))  # K.T, h[:, −1]
        tightness, written = super().symbol(e)
        return (ATOM, as_slope(written)) if SLOPE.match(written) else (tightness, written)

    def unbracketed(self, e: Expr) -> tuple[int, str]:
        if e.op is not None and e.op.name == "outer":
            x, y = (self.write(part, ATOM) for part in e.args)
            return PRODUCT, f"{x}[i] × {y}[j]"
        if e.op is not None and e.op.name == "relu":
            return SAID, f"the larger of {self.write(e.args[0])} and 0"
        return super().unbracketed(e)

    def added_up(self, e: Expr) -> tuple[int, str]:
        tightness, written = super().added_up(e)
        return tightness, written.replace(" + −", " − ")

    # --- operators ---------------------------------------------------------------------------------------------------

    def times(self, op: ast.operator, left: Side, right: Side) -> str:
        return times_sign(op, left, right)

    def infix(self, op: ast.operator, left: Side, right: Side) -> tuple[int, str]:
        condition = right.formula
        if isinstance(op, ast.Mult) and condition is not None and condition.op is not None \
                and condition.op.name in COMPARING:
            return SAID, f"{left.write(COMPARED)} where {right.write(SAID)}, else 0"
        return super().infix(op, left, right)

    def quotient(self, left: Side, right: Side) -> tuple[int, str]:
        above = left.write(PRODUCT)
        if left.formula is not None and left.formula.is_constant:
            above = above.strip("()")
        return PRODUCT, f"{above} / {right.write(SIGN)}"

    def power(self, base: Side, exponent: Side) -> tuple[int, str]:
        raised = exponent.write(SAID).strip("()").replace("−", "-")
        if re.fullmatch(r"-?\d+", raised):
            return POWER, f"{base.write(ATOM)}{raised.translate(SUPERSCRIPTS)}"
        return POWER, f"{base.write(ATOM)}^{exponent.write(ATOM)}"

    def look_root(self, e: Expr) -> tuple[int, str]:
        return ATOM, f"√{self.write(e.args[0], ATOM)}"

    def look_bars(self, e: Expr) -> tuple[int, str]:
        return ATOM, f"|{self.write(e.args[0])}|"

    def look_transpose(self, e: Expr) -> tuple[int, str] | None:
        inner, view = turned_once(e)
        if not view:
            return None if inner is e else self.unbracketed(inner)
        text = transposed(self.write(inner))
        return (PRODUCT if " " in text else ATOM), text

    def keyword_text(self, e: Expr, name: str, setting: Any) -> str:
        """`each row` for `axis=1`."""
        along = over(e) if name == "axis" and setting is not None else ""
        return along or super().keyword_text(e, name, setting)

    # --- what is said in words ---------------------------------------------------------------------------------------

    def reduced(self, word: str, e: Expr) -> tuple[int, str]:
        along = over(e)
        return SAID, f"the {word} of {f'{along} of ' if along else ''}{self.write(e.args[0])}"

    def look_sum(self, e: Expr) -> tuple[int, str]:
        return self.reduced("sum", e) if over(e) else (SUM, f"Σ {self.write(e.args[0], PRODUCT)}")

    def look_mean(self, e: Expr) -> tuple[int, str]:
        return self.reduced("mean", e)

    def look_largest(self, e: Expr) -> tuple[int, str]:
        return self.reduced("largest", e)

    def look_smallest(self, e: Expr) -> tuple[int, str]:
        return self.reduced("smallest", e)

    def look_max(self, e: Expr) -> tuple[int, str]:
        return SAID, f"the largest of {in_words(map(self.write, nested(e)))}"

    def look_min(self, e: Expr) -> tuple[int, str]:
        return SAID, f"the smallest of {in_words(map(self.write, nested(e)))}"

    def look_reshaped(self, e: Expr) -> tuple[int, str]:
        return SAID, f"{self.write(e.args[0], ATOM)} as {'×'.join(map(str, e.settings['shape']))}"

    def look_placed(self, e: Expr) -> tuple[int, str]:
        where = place(e.settings["index"], e) or f"place {self.setting_text(e, 'index', e.settings['index'])}"
        word = "in" if where.startswith(("row", "column")) else "at"
        return SAID, f"{self.write(e.args[0], PRODUCT)} {word} {where}, 0 elsewhere"

    def filled(self, reads: ast.expr, e: Expr, bound: Any) -> tuple[int, str]:
        if isinstance(reads, ast.Subscript) and e.op is not None and e.op.name == "getitem":
            x, index = e.args[0], e.settings["index"]
            if (where := place(index, x)) and not where.startswith("entry"):
                return SAID, f"{where} of {self.write(x, ATOM)}"
            return ATOM, f"{self.write(x, ATOM)}[{self.setting_text(e, 'index', counted_from_the_front(index, x))}]"
        return super().filled(reads, e, bound)


def counted_from_the_front(index: Any, x: Expr) -> Any:
    """An index without negative numbers, where the shape is known."""
    if x.value is UNKNOWN or any(part is Ellipsis or part is None for part in as_tuple(index)):
        return index
    return tuple(
        int(part) + size if isinstance(part, int | np.integer) and part < 0 else part
        for part, size in zip(as_tuple(index), x.shape, strict=False)
    )


def as_tuple(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def place(index: Any, x: Expr) -> str:
    """`row 1`, `columns 0 to 3`, `rows 0 and 1`: what an index takes of one of the last two axes, and all of the
    others; else nothing."""
    index = as_tuple(counted_from_the_front(without_dots(index, x), x))
    if x.value is UNKNOWN or any(part is Ellipsis or part is None for part in index):
        return ""
    parts = [(axis, part) for axis, part in enumerate(index) if not is_whole(part, x.shape[axis])]
    if len(parts) != 1 or parts[0][0] < x.ndim - 2:
        return ""
    axis, part = parts[0]
    word = "entry" if x.ndim == 1 else "row" if axis == x.ndim - 2 else "column"
    words = "entries" if word == "entry" else f"{word}s"
    if isinstance(part, int | np.integer):
        return f"{word} {part}"
    if isinstance(part, slice):
        numbers = range(x.shape[axis])[part]
        return f"{words} {numbers[0]} to {numbers[-1]}" if len(numbers) > 1 and numbers.step == 1 else ""
    few = np.ravel(part).tolist()
    return f"{words} {in_words(map(str, few))}" if np.asarray(part).dtype.kind in "iu" and len(few) <= 8 else ""


def is_whole(part: Any, size: int) -> bool:
    return isinstance(part, slice) and part.indices(size) == (0, size, 1)


def in_words(names: Iterable[str]) -> str:
    """`a, b and c`."""
    *few, last = names
    return f"{', '.join(few)} and {last}" if few else last


def transposed(text: str) -> str:
    """A written formula, turned: of a product of two its factors, turned, in the other order.

    >>> transposed("Qᵀ · G")
    'Gᵀ · Q'
    """
    if product := re.fullmatch(r"(\S+) · (\S+)", text):
        return f"{transposed(product[2])} · {transposed(product[1])}"
    return text.removesuffix("ᵀ") if text.endswith("ᵀ") else f"({text})ᵀ" if " " in text else f"{text}ᵀ"
