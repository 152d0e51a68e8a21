"""Formulas as mathematics: MathML for pages. Fractions, indices, transposes; no tables. (LaTeX: see `latex`.)"""

from __future__ import annotations

import ast
import re
from typing import Any

from autograd.expr import Expr
from autograd.formula.operands import literal
from autograd.formula.text import clipped, xml
from autograd.formula.writer import (
    ATOM,
    POWER,
    PRODUCT,
    SIGN,
    Side,
    Writer,
    axis_words,
    from_the_front,
    times_sign,
)

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η", "theta": "θ", "kappa": "κ",
    "lambda": "λ", "mu": "μ", "nu": "ν", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "omega": "ω",
}  # fmt: skip
LONGEST_SYMBOL = 20  # characters of a name in a formula; the heading above it has room for all of it
LONGEST_PART = 16  # characters above or below a fraction line, and under a root
SIMPLE_NAME = re.compile(r"[\w.#]+")  # needs no brackets in ∂L/∂x
TWO_LETTERS = re.compile(r"([A-Za-z])_?([A-Z]|\d+|(?<=[A-Z])[a-z])")  # WK, x1, Wh: a letter and its index
PATH = re.compile(r"(?:[\w#]+\.)+?([^\W\d][\w#]*(?:\.\d+)*)")  # attention.query.weight, and its last word
WORD_INDEX = re.compile(r"([A-Za-z])_(\w+)")  # W_out
HATS = {"x̂": "x", "ĝ": "g"}
SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")

BREAK = "\ue000"  # a place where a line may end: MathML has none, so a formula is cut there into several


class MathML(Writer):
    """A formula as the inside of `<math>` elements, with `BREAK` where a line may end.

    `symbol_of` gives a node's own symbol, for what stands below the line of ∂L/∂K. Of a path only the last word is
    shown, where no other symbol of the formula ends in the same.
    """

    def __init__(self, top: str = "L", symbol_of: Any = None) -> None:
        self.top, self.symbol_of = top, symbol_of

    def write_formula(self, e: Expr) -> str:
        names = {symbol.name for symbol in e.symbols()}
        self.clashing = {n for n in names if any(last_word(o) == last_word(n) for o in names - {n})}
        return str(self.write(e))

    clashing: set[str] = frozenset()  # type: ignore[assignment]

    def sign(self, text: str) -> str:
        return f"{BREAK}<mo>{xml(text.strip())}</mo>" if text.startswith(" ") else f"<mo>{xml(text.strip())}</mo>"

    def setting(self, text: str) -> str:
        if text.strip() in ("(", ")", "[", "]", ","):
            return f'<mo stretchy="false">{text.strip()}</mo>{BREAK if text.strip() == "," else ""}'
        if re.fullmatch(r"[\d.]+", text):
            return f"<mn>{text}</mn>"
        padded = re.sub(r"^ | $", "\u00a0", text)  # MathML drops plain spaces at the ends
        cut = BREAK if text.startswith((" ", ",")) else ""
        return f"{cut}<mtext>{xml(padded)}</mtext>"

    def function(self, name: str) -> str:
        return f'<mi mathvariant="normal">{xml(name)}</mi>'

    def number(self, value: Any) -> tuple[int, str]:
        text = literal(value)
        if text.startswith("√"):
            return ATOM, f"<msqrt><mn>{text[1:]}</mn></msqrt>"
        return ATOM, f"<mn>{xml(text)}</mn>" if re.fullmatch(r"[\d.]+", text) else self.setting(text)

    def symbol(self, e: Expr) -> tuple[int, str]:
        if e.is_gradient and e.node is not None and self.symbol_of is not None:
            return SIGN, slope_mathml(after_d(self.top), self.below(e.node))
        if e.inline and e.formula is not None:
            return self.unbracketed(e.formula)
        return ATOM, symbol_mathml(e.name if e.name in self.clashing else last_word(e.name))

    def below(self, node: Any) -> str:
        """What follows the ∂ below a slope: a name, or an expression in brackets."""
        of = self.symbol_of(node)
        if of.inline:
            return whole(self.bracketed(self.write(of.formula)))
        return after_d(of.name)

    def times(self, op: ast.operator, left: Side, right: Side) -> str:
        sign = times_sign(op, left, right)
        return " · " if sign == " × " else sign

    def quotient(self, left: Side, right: Side) -> tuple[int, str]:
        above, below = (whole(side.write(0)) for side in (left, right))
        if max(length(above), length(below)) > LONGEST_PART:
            return super().quotient(left, right)
        rows = (f'<mrow displaystyle="true">{side}</mrow>' for side in (above, below))
        return PRODUCT, f"<mfrac>{''.join(rows)}</mfrac>"  # at full size: a slope above the line stays readable

    def power(self, base: Side, exponent: Side) -> tuple[int, str]:
        below = whole(base.write(ATOM))
        return POWER, f"<msup>{row(below)}{row(whole(exponent.write(0)))}</msup>"

    def view(self, inner: Expr, view: str) -> tuple[int, str]:
        base = whole(self.write(inner, ATOM))
        if base.startswith("<msub>") and base.count("<msub>") == 1 and base.endswith("</msub>"):
            return POWER, f"<msubsup>{base[6:-7]}<mi>⊤</mi></msubsup>"
        return POWER, f"<msup>{row(base)}<mi>⊤</mi></msup>"

    def look_root(self, e: Expr) -> tuple[int, str] | None:
        inside = whole(self.write(e.args[0]))
        return (ATOM, f"<msqrt>{inside}</msqrt>") if length(inside) <= LONGEST_PART else None

    def look_bars(self, e: Expr) -> tuple[int, str]:
        return ATOM, f'<mo stretchy="false">|</mo>{self.write(e.args[0])}<mo stretchy="false">|</mo>'

    def look_exponential(self, e: Expr) -> tuple[int, str] | None:
        above = whole(self.write(e.args[0]))
        return (POWER, f"<msup><mi>e</mi>{row(above)}</msup>") if length(above) <= LONGEST_PART else None

    def look_sum(self, e: Expr) -> tuple[int, str]:
        return self._over("<mo>∑</mo>", e)

    def look_mean(self, e: Expr) -> tuple[int, str]:
        return self._over('<mi mathvariant="normal">mean</mi>', e)

    def _over(self, sign: str, e: Expr) -> tuple[int, str]:
        """A sum or a mean, and over what it runs: each row, each column, or an axis by number."""
        assert e.op is not None
        axes = from_the_front(e, e.op.settings["axis"])
        over = axis_words(axes, e.args[0].ndim)
        head = f"<munder>{sign}<mtext>{over}</mtext></munder>" if over else sign
        inside = self.write(e.args[0])
        alone = e.args[0].is_symbol and not e.args[0].inline
        return SIGN, f"{head}{inside if alone else self.bracketed(inside)}"


def whole(written: str) -> str:
    """A part of a formula in which no line ends."""
    return written.replace(BREAK, "")


def length(written: str) -> int:
    """How many characters it shows."""
    return len(re.sub(r"<[^>]+>|&[a-z]+;", "", whole(written)))


def row(written: str) -> str:
    return f"<mrow>{written}</mrow>"


def slope_mathml(above: str, below: str) -> str:
    """∂L over ∂K, of two symbols as `after_d` writes them."""
    return f"<mfrac><mrow><mo>∂</mo>{above}</mrow><mrow><mo>∂</mo>{below}</mrow></mfrac>"


def after_d(name: str) -> str:
    """A name after ∂, of a path its last word; in brackets if it is more than that."""
    symbol = symbol_mathml(last_word(name))
    if SIMPLE_NAME.fullmatch(name):
        return symbol
    return f'<mo stretchy="false">(</mo>{symbol}<mo stretchy="false">)</mo>'


def last_word(name: str) -> str:
    """`weight` of `attention.query.weight`: a formula has no room for paths, and its heading says them in full."""
    found = None if name.endswith(".T") else PATH.fullmatch(name)
    return found[1] if found else name


def symbol_mathml(name: str) -> str:
    """A name as mathematicians write it: `WK` with an index, `gamma` as γ, a word upright."""
    if name in HATS:
        return f"<mover><mi>{HATS[name]}</mi><mo>^</mo></mover>"
    if name[-1:] == "²" and len(name) == 2:
        return f"<msup><mi>{name[0]}</mi><mn>2</mn></msup>"
    found = TWO_LETTERS.fullmatch(name.translate(SUBSCRIPTS))
    if found:
        index = f"<mn>{found[2]}</mn>" if found[2].isdigit() else f"<mi>{found[2]}</mi>"
        return f"<msub><mi>{found[1]}</mi>{index}</msub>"
    found = WORD_INDEX.fullmatch(name)
    if found:
        return f'<msub><mi>{found[1]}</mi><mi mathvariant="normal">{xml(clipped(found[2], LONGEST_SYMBOL))}</mi></msub>'
    if name in GREEK:
        return f"<mi>{GREEK[name]}</mi>"
    if len(name) == 1 and name.isalpha():
        return f"<mi>{name}</mi>"
    return f'<mi mathvariant="normal">{xml(clipped(name, LONGEST_SYMBOL))}</mi>'


def math(content: str, spoken: str) -> str:
    """The elements round it, one for each piece between the places where a line may end; the first has a text for
    screen readers that know no MathML."""
    first, *rest = [piece for piece in content.split(BREAK) if piece]
    pieces = [f'<math displaystyle="true" aria-label="{xml(spoken)}">{row(first)}</math>']
    pieces += [f'<math displaystyle="true" aria-hidden="true">{row(piece)}</math>' for piece in rest]
    return f'<span class="hg-math">{"".join(pieces)}</span>'
