"""Formulas as mathematicians write them: what the writers of MathML (`html`) and LaTeX (`latex`) share."""

from __future__ import annotations

import re
from typing import Any

from autograd.expr import Expr

from ..text import PRIME
from .settings import over
from .writer import SIGN, Writer, hold_of_name

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
    "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "upsilon": "υ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
    "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Upsilon": "Υ",
    "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
HATS = {"x̂": "x", "ĝ": "g", "m̂": "m", "v̂": "v"}
SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
SIMPLE_NAME = re.compile(r"[\w.#]+")  # needs no brackets in ∂L/∂x
TOP_NAME = re.compile(r"[\w.#]+(?:\([\w.#]+\))?")  # nor does P(C) in ∂P(C)/∂x

_INDEX = re.compile(r"([A-Za-z])_?([A-Z]|\d+|(?<=[A-Z])[a-z])")  # WK, x1, Wh: a letter and its index
_WORD_INDEX = re.compile(r"([A-Za-z])_(\w+)")  # W_out
_WORD = r"[^\W\d][\w#]*(?:\.\d+)*"
_PATH = re.compile(rf"(?:[\w#]+\.)*?((?:{_WORD}\.)?(?:weight|bias)|{_WORD})")  # attention.query.weight


def parts_of_name(name: str) -> tuple[str, str, str]:
    """How a name is written: its kind, its letter or word, and its index.

    >>> parts_of_name("WK"), parts_of_name("W_out"), parts_of_name("gamma"), parts_of_name("scores")
    (('index', 'W', 'K'), ('word index', 'W', 'out'), ('letter', 'γ', ''), ('word', 'scores', ''))
    """
    if name[1:].endswith(PRIME):
        return "prime", name[:-1], ""
    if name in HATS:
        return "hat", HATS[name], ""
    if len(name) == 2 and name[1] == "²":
        return "square", name[0], ""
    if found := _INDEX.fullmatch(name.translate(SUBSCRIPTS)):
        return "index", found[1], found[2]
    if found := _WORD_INDEX.fullmatch(name):
        return "word index", found[1], found[2]
    name = GREEK.get(name, name)
    return ("letter" if len(name) == 1 and name.isalpha() else "word"), name, ""


def last_word(name: str) -> str:
    """`query.weight` of `attention.query.weight`: a formula has no room for paths; the heading has them."""
    found = None if name.endswith(".T") else _PATH.fullmatch(name)
    return found[1] if found else name


class Maths(Writer):
    """A formula with fractions, indices and transposes.

    `top` is what the gradients are of; `symbol_of` gives a node's symbol, for what stands below the line of ∂L/∂K.
    """

    def __init__(self, top: str = "L", symbol_of: Any = None) -> None:
        self.top, self.symbol_of = top, symbol_of

    def symbol(self, e: Expr) -> tuple[int, str]:
        if e.is_gradient and e.node is not None and self.symbol_of is not None:
            return SIGN, self.slope(e.node)
        if e.inline and e.formula is not None:
            return self.unbracketed(e.formula)
        return hold_of_name(e.name), self.name(e.name)

    def below(self, node: Any) -> str:
        """What follows the ∂ below a slope: a name, or an expression in brackets."""
        of = self.symbol_of(node)
        return str(self.bracketed(self.write(of.formula))) if of.inline else self.after_d(of.name)

    def look_sum(self, e: Expr) -> tuple[int, str]:
        return self.reduced("sum", e)

    def look_mean(self, e: Expr) -> tuple[int, str]:
        return self.reduced("mean", e)

    def look_largest(self, e: Expr) -> tuple[int, str] | None:
        return self.reduced("max", e) if over(e) else None

    def look_smallest(self, e: Expr) -> tuple[int, str] | None:
        return self.reduced("min", e) if over(e) else None

    # --- what a subclass writes ---------------------------------------------------------------------------------------

    def name(self, name: str) -> str:
        raise NotImplementedError

    def after_d(self, name: str) -> str:
        """A name after ∂: the last word of a path, in brackets if it is an expression."""
        raise NotImplementedError

    def slope(self, node: Any) -> str:
        """The gradient of the root by a node, ∂L/∂K."""
        raise NotImplementedError

    def reduced(self, word: str, e: Expr) -> tuple[int, str]:
        """A sum, a mean or an extreme, and over what it runs; in brackets beside a factor, which it would swallow."""
        raise NotImplementedError
