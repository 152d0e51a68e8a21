"""Formulas as mathematics: MathML for pages, LaTeX for notebooks. Fractions, indices, transposes; no tables."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from autograd.formula.formula import Formula
from autograd.formula.numbers import MINUS
from autograd.formula.text import clipped, xml
from autograd.formula.valued import Operand, operand_of
from autograd.formula.writers import ATOM, POWER, PRODUCT, SIGN, SIMPLE_NAME, Writer, product_sign

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η", "theta": "θ", "kappa": "κ",
    "lambda": "λ", "mu": "μ", "nu": "ν", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "omega": "ω",
}  # fmt: skip
LONGEST_SYMBOL = 20  # characters of a name in a formula; the heading above it has room for all of it
LONG = 52  # characters of a formula that would not fit a panel at its usual size
TWO_LETTERS = re.compile(r"([A-Za-z])_?([A-Z]|\d+|(?<=[A-Z])[a-z])")  # WK, x1, Wh: a letter and its index
PATH = re.compile(r"(?:[\w#]+\.)+?([^\W\d][\w#]*(?:\.\d+)*)")  # attention.query.weight, and its last word
WORD_INDEX = re.compile(r"([A-Za-z])_(\w+)")  # W_out


class MathML(Writer):
    """A formula as the inside of a `<math>` element."""

    def join(self, *parts: str) -> str:
        return "".join(parts)

    def sign(self, text: str) -> str:
        return f"<mo>{xml(text.strip())}</mo>"

    def setting(self, text: str) -> str:
        if text.strip() in ("(", ")", "[", "]", ","):
            return f'<mo stretchy="false">{text.strip()}</mo>'
        if re.fullmatch(r"[\d.]+", text):
            return f"<mn>{text}</mn>"
        padded = re.sub(r"^ | $", "\u00a0", text)  # MathML drops plain spaces at the ends
        return f"<mtext>{xml(padded)}</mtext>"

    def function(self, name: str) -> str:
        return f'<mi mathvariant="normal">{xml(name)}</mi>'

    def operand(self, operand: Operand) -> tuple[int, str]:
        if operand.of is not None:
            return SIGN, slope_mathml(after_d(_top_of(operand)), self.after_d(operand.of))
        if operand.nested is not None:
            return self.unbracketed(operand.nested)
        return ATOM, symbol_mathml(self.shortest(operand.symbol))

    def shortest(self, name: str) -> str:
        """The last word of a path, `weight`, unless another operand of the formula ends in the same."""
        marks = (part.id for part in ast.walk(self.formula.tree) if isinstance(part, ast.Name))
        names = {self.formula.operands[mark].symbol for mark in marks if mark in self.formula.operands}
        return name if any(last_word(other) == last_word(name) for other in names - {name}) else last_word(name)

    def after_d(self, operand: Operand) -> str:
        """What follows the ∂ below a slope: a name, or an expression in brackets."""
        if operand.nested is None:
            return after_d(operand.symbol)
        return str(self.bracketed(self.write(operand.nested)))

    def times(self, left: ast.expr, op: ast.operator, right: ast.expr) -> str:
        sign = product_sign(self.formula, left, op, right).strip()
        return f"<mo>{'·' if sign == '×' else sign}</mo>"

    def quotient(self, left: ast.expr, right: ast.expr) -> tuple[int, str]:
        above, below = (f'<mrow displaystyle="true">{self.write(side)}</mrow>' for side in (left, right))
        return PRODUCT, f"<mfrac>{above}{below}</mfrac>"  # at full size: a slope above the line stays readable

    def power(self, base: ast.expr, exponent: ast.expr) -> tuple[int, str]:
        return POWER, f"<msup>{row(self.write(base, ATOM))}{row(self.write(exponent))}</msup>"

    def view(self, inner: ast.expr, view: str) -> tuple[int, str]:
        base = self.write(inner, ATOM)
        if base.startswith("<msub>") and base.count("<msub>") == 1 and base.endswith("</msub>"):
            return POWER, f"<msubsup>{base[6:-7]}<mi>⊤</mi></msubsup>"
        return POWER, f"<msup>{row(base)}<mi>⊤</mi></msup>"

    def call(self, name: str, tree: ast.Call) -> tuple[int, str]:
        if name == "sqrt" and len(tree.args) == 1:
            return ATOM, f"<msqrt>{self.write(tree.args[0])}</msqrt>"
        if name == "abs":
            return ATOM, f'<mo stretchy="false">|</mo>{self.write(tree.args[0])}<mo stretchy="false">|</mo>'
        if name in ("sum", "mean"):
            sign = "<mo>∑</mo>" if name == "sum" else '<mi mathvariant="normal">mean</mi>'
            axis = next((keyword for keyword in tree.keywords if keyword.arg == "axis"), None)
            over = _axis_word(self.keyword(tree, axis), self.formula.ndim(tree.args[0])) if axis is not None else ""
            head = f"<munder>{sign}<mtext>{over}</mtext></munder>" if over else sign
            return SIGN, f"{head}{self.bracketed(self.write(tree.args[0]))}"
        return super().call(name, tree)


def _axis_word(axis: str, rank: int) -> str:
    """Over what a sum runs: each row, each column, or an axis by number."""
    if rank == 2 and axis in ("0", "1"):
        return "each row" if axis == "1" else "each column"
    return "" if rank <= 1 else f"axis {axis}"


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


def written_after_d(symbol: Formula) -> str:
    """The same of a node's symbol, which may be an expression."""
    operand = operand_of(symbol, symbol.tree)
    assert operand is not None
    return MathML(symbol).after_d(operand)


def _top_of(gradient: Operand) -> str:
    """The L of ∂L/∂K."""
    return gradient.symbol.partition("/")[0].removeprefix("∂")


def last_word(name: str) -> str:
    """`weight` of `attention.query.weight`: a formula has no room for paths, and its heading says them in full."""
    found = None if name.endswith(".T") else PATH.fullmatch(name)
    return found[1] if found else name


def symbol_mathml(name: str) -> str:
    """A name as mathematicians write it: `WK` with an index, `gamma` as γ, a word upright."""
    found = TWO_LETTERS.fullmatch(name)
    if found:
        index = f"<mn>{found[2]}</mn>" if found[2].isdigit() else f"<mi>{found[2]}</mi>"
        return f"<msub><mi>{found[1]}</mi>{index}</msub>"
    found = WORD_INDEX.fullmatch(name)
    if found:
        return f'<msub><mi>{found[1]}</mi><mi mathvariant="normal">{xml(found[2])}</mi></msub>'
    if name.endswith(".T") and SIMPLE_NAME.fullmatch(name[:-2]):
        return f"<msup>{row(symbol_mathml(name[:-2]))}<mi>⊤</mi></msup>"
    if name in GREEK:
        return f"<mi>{GREEK[name]}</mi>"
    if len(name) == 1 and name.isalpha():
        return f"<mi>{name}</mi>"
    if name.startswith("√") and name[1:].isdigit():
        return f"<msqrt><mn>{name[1:]}</mn></msqrt>"
    return f'<mi mathvariant="normal">{xml(clipped(name, LONGEST_SYMBOL))}</mi>'


def math(content: str, spoken: str) -> str:
    """The element round it, with a text for screen readers that know no MathML. MathML has no line breaks, so what is
    long is set smaller."""
    long = ' class="hg-long"' if len(re.sub(r"<[^>]+>", "", content)) > LONG else ""
    return f'<math displaystyle="true"{long} aria-label="{xml(spoken)}">{row(content)}</math>'


class Latex(Writer):
    """A formula as LaTeX."""

    def join(self, *parts: str) -> str:
        return "".join(parts)

    def sign(self, text: str) -> str:
        return {MINUS: "-", "≤": r" \le ", "≥": r" \ge "}.get(text.strip(), text.strip()).join(("", " "))

    def setting(self, text: str) -> str:
        return text if text.strip() in ("(", ")", "[", "]", ",") or re.fullmatch(r"[\d.]+", text) else latex_text(text)

    def function(self, name: str) -> str:
        return rf"\operatorname{{{latex_escaped(name)}}}"

    def operand(self, operand: Operand) -> tuple[int, str]:
        if operand.of is not None:
            nested = operand.of.nested
            below = latex_after_d(operand.of.symbol) if nested is None else self.bracketed(self.write(nested))
            return SIGN, rf"\frac{{\partial {latex_after_d(_top_of(operand))}}}{{\partial {below}}}"
        if operand.nested is not None:
            return self.unbracketed(operand.nested)
        return ATOM, latex_symbol(operand.symbol)

    def times(self, left: ast.expr, op: ast.operator, right: ast.expr) -> str:
        return {"⊙": r" \odot ", "·": " ", "×": r" \cdot "}[product_sign(self.formula, left, op, right).strip()]

    def quotient(self, left: ast.expr, right: ast.expr) -> tuple[int, str]:
        return PRODUCT, rf"\frac{{{self.write(left)}}}{{{self.write(right)}}}"

    def power(self, base: ast.expr, exponent: ast.expr) -> tuple[int, str]:
        return POWER, f"{{{self.write(base, ATOM)}}}^{{{self.write(exponent)}}}"

    def view(self, inner: ast.expr, view: str) -> tuple[int, str]:
        return POWER, rf"{{{self.write(inner, ATOM)}}}^\top"

    def bracketed(self, written: str) -> str:
        return rf"\left({written}\right)"


def latex_after_d(name: str) -> str:
    """A name after ∂; in brackets if it is more than a word."""
    return latex_symbol(name) if SIMPLE_NAME.fullmatch(name) else rf"\left({latex_symbol(name)}\right)"


def latex_symbol(name: str) -> str:
    found = TWO_LETTERS.fullmatch(name)
    if found:
        return f"{found[1]}_{{{found[2]}}}"
    if name in GREEK:
        return rf"\{name}"
    if len(name) == 1 and name.isalpha():
        return name
    if name.startswith("√") and name[1:].isdigit():
        return rf"\sqrt{{{name[1:]}}}"
    return latex_text(name)


def latex_text(text: str) -> str:
    return rf"\text{{{latex_escaped(text)}}}"


def latex_escaped(text: str) -> str:
    """User text that LaTeX cannot take for a command."""
    special: dict[str, str] = {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"}
    return "".join(special.get(c, f"\\{c}" if c in "{}$&#_%" else c) for c in text)


def written(formula: Formula, writer: Callable[[Formula], Any] = MathML) -> str:
    """A formula by one of the writers above."""
    return str(writer(formula).write(formula.tree))
