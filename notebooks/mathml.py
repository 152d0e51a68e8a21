"""LaTeX as MathML, as far as the lessons write it: pages then show their formulas without fetching anything."""

from __future__ import annotations

import re
from html import escape

SIGNS = {
    "cdot": "·", "partial": "∂", "sum": "∑", "top": "⊤", "leftarrow": "←", "approx": "≈", "odot": "⊙", "times": "×",
    "eta": "η", "lambda": "λ", "mu": "μ", "sigma": "σ", "gamma": "γ", "beta": "β", "to": "→",
    "le": "≤", "ge": "≥", "ne": "≠", "infty": "∞", "epsilon": "ε", "varphi": "φ", "Phi": "Φ",
}  # fmt: skip
WORDS = {"log", "exp", "sin", "cos", "tanh", "max", "min"}
SPACES = {"qquad": "2em", "quad": "1em", ",": "0.17em", " ": "0.25em"}
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[A-Za-z]|\d+(?:\.\d+)?|\S|\s+")
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$", re.S)


class UnknownLatex(ValueError):
    """A command that no lesson has used so far; teach it here."""


def mathml(latex: str, display: bool = False) -> str:
    """One formula.

    >>> mathml("x_1^2")
    '<math><msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup></math>'
    """
    tokens = [token for token in TOKEN.findall(latex) if not token.isspace()]
    style = ' display="block"' if display else ""
    return f"<math{style}>{''.join(_Parser(tokens).row())}</math>"


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0

    def row(self, *ends: str) -> list[str]:
        """Atoms up to one of the ends, which is taken too."""
        found: list[str] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token in ends:
                self.at += 1
                break
            found.append(self.scripted())
        return found

    def scripted(self) -> str:
        """An atom with its index and exponent."""
        base, below, above = self.atom(), "", ""
        while self.at < len(self.tokens) and self.tokens[self.at] in "_^":
            kind = self.tokens[self.at]
            self.at += 1
            script = self.atom()
            below, above = (script, above) if kind == "_" else (below, script)
        if below and above:
            return f"<msubsup>{base}{below}{above}</msubsup>"
        return f"<msub>{base}{below}</msub>" if below else f"<msup>{base}{above}</msup>" if above else base

    def atom(self, stretched: bool = False) -> str:
        token = self.tokens[self.at]
        self.at += 1
        if token == "{":
            return self.group("}")
        if token.startswith("\\"):
            return self.command(token[1:])
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        sign = escape({"-": "−", "*": "·"}.get(token, token))
        plain = token in "()[]|" and not stretched
        return f'<mo stretchy="false">{sign}</mo>' if plain else f"<mo>{sign}</mo>"

    def group(self, end: str) -> str:
        inside = self.row(end)
        return inside[0] if len(inside) == 1 else f"<mrow>{''.join(inside)}</mrow>"

    def command(self, name: str) -> str:
        if name in SIGNS:
            return f"<mo>{SIGNS[name]}</mo>" if not SIGNS[name].isalpha() else f"<mi>{SIGNS[name]}</mi>"
        if name in WORDS:
            return f"<mi>{name}</mi>"
        if name in SPACES:
            return f'<mspace width="{SPACES[name]}"/>'
        if name in ("left", "right"):  # a bracket as tall as what it holds
            return self.atom(stretched=True)
        if name == "hat":
            return f"<mover>{self.atom()}<mo>^</mo></mover>"
        if name == "frac":
            return f"<mfrac>{self.atom()}{self.atom()}</mfrac>"
        if name == "sqrt":
            return f"<msqrt>{self.atom()}</msqrt>"
        if name in ("text", "mathrm"):
            return f"<mtext>{escape(self.words())}</mtext>"
        if name == "begin":
            return self.table(self.words())
        raise UnknownLatex(f"\\{name} in {' '.join(self.tokens)}")

    def words(self) -> str:
        """The letters of a group, as text."""
        end = self.tokens.index("}", self.at)
        text = "".join(self.tokens[self.at + 1 : end])
        self.at = end + 1
        return text

    def table(self, kind: str) -> str:
        rows: list[list[str]] = [[]]
        cell: list[str] = []
        while True:
            token = self.tokens[self.at]
            if token in ("&", "\\\\", "\\end"):
                self.at += 1
                rows[-1].append(f"<mtd>{''.join(cell)}</mtd>")
                cell = []
                if token == "\\\\":
                    rows.append([])
                elif token == "\\end":
                    self.words()
                    break
            else:
                cell.append(self.scripted())
        body = "".join(f"<mtr>{''.join(row)}</mtr>" for row in rows)
        left, right = {"pmatrix": "()", "bmatrix": "[]"}.get(kind, ("", ""))
        return f"<mrow><mo>{left}</mo><mtable>{body}</mtable><mo>{right}</mo></mrow>"
