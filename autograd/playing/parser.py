"""A formula that somebody types, read into ops of the table. It is never run as code.

    >>> [str(part) for part in parse("2x + tanh(y)^2").parts]
    ['2', 'x', 'mul', 'y', 'tanh', '2', 'power', 'add']

What can be called is what the table of ops has.

    comparison  =  sum [ "<" sum ]
    sum         =  product { ("+" | "-") product }
    product     =  unary { ("*" | "/" | "@" | nothing) unary }         2x is 2 * x
    unary       =  ("-" | "+") unary  |  power
    power       =  postfix [ ("**" | "^") unary ]
    postfix     =  atom { ".T"  |  "." name "(" arguments ")"  |  "[" integer, ... "]" }
    atom        =  number  |  name  |  name "(" arguments ")"  |  "(" comparison ")"  |  "[" comparison, ... "]"
    arguments   =  { comparison | text | name "=" literal }, separated by commas
"""

from __future__ import annotations

import difflib
import keyword
import math
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from autograd.formula.grammar import ALSO, COMPARISONS, CONSTANTS, POWERS, PRODUCTS, SUMS, SUPERSCRIPTS
from autograd.op import OPERATORS, OPS, Op

from .formula import Apply, Formula, FormulaError, Listed, Name, Number, Part, Text

LONGEST = 2000  # characters of a formula
DEEPEST = 50  # brackets and powers within one another
LARGEST_WHOLE = 10**6  # beyond it a number is a float

ELSEWHERE = {"ln": "log", "lg": "log10", "ld": "log2", "tg": "tan", "arctg": "arctan", "sgn": "sign"}  # in maths books
LITERALS = {"True": True, "False": False, "None": None}

TOKEN = re.compile(
    rf"""\s*(?:
    (?P<number> (?: [0-9]+ (?: \.(?![^\W\d]) [0-9]* )? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? )
  | (?P<raised> [{SUPERSCRIPTS}]+ )
  | (?P<name>   [^\W\d]\w* )
  | (?P<text>   "[^"\\]*" | '[^'\\]*' )
  | (?P<symbol> \*\* | <= | >= | [-+*/@^<>=().,\[\]×·⋅÷−≤≥] )
  | (?P<end>    \Z )
    )""",
    re.VERBOSE,
)


# --- tokens ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Token:
    kind: str  # number, name, text, raised, symbol, end
    text: str
    at: int

    @property
    def end(self) -> int:
        return self.at + len(self.text)


def tokens(text: str) -> list[Token]:
    """The words of a formula; the last one is its end."""
    found: list[Token] = []
    at = 0
    while not found or found[-1].kind != "end":
        word = _token_at(text, at)
        if word is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            instead = "; write abs(x) for |x|" if text[at] == "|" else ""
            raise FormulaError(f"cannot use {text[at]!r} in a formula{instead}", at)
        found.append(word)
        at = word.end
    return found


def _token_at(text: str, at: int) -> Token | None:
    match = TOKEN.match(text, at)
    if match is None or match.lastgroup is None:
        return None
    kind, word = match.lastgroup, match[match.lastgroup]
    while kind == "name" and word and not word.isidentifier():  # x² is the name x and a power
        word = word[:-1]
    return Token(kind, word, match.start(kind)) if word or kind == "end" else None


# --- the parser -----------------------------------------------------------------------------------------------------


def parse(text: str, given: Iterable[str] = ()) -> Formula:
    """Read a formula. `given` are names that stand for numbers even where a constant or a function is called so."""
    if len(text) > LONGEST:
        raise FormulaError(f"a formula of {len(text)} characters is too long (at most {LONGEST})", LONGEST, len(text))
    return Formula(text, tuple(_Parser(text, frozenset(given)).parse()))


class _Parser:
    """Recursive descent: a method a rule of the grammar, each appending to `parts`."""

    def __init__(self, text: str, given: frozenset[str]) -> None:
        self.text, self.given = text, given
        self.tokens, self.place = tokens(text), 0
        self.parts: list[Part] = []
        self.open: list[Token] = []  # brackets
        self.depth = 0

    def parse(self) -> list[Part]:
        if self.next.kind == "end":
            raise FormulaError("it is empty; type one such as x*y + sin(x)", 0)
        self.comparison()
        if self.next.kind != "end":
            raise self.unexpected()
        return self.parts

    # --- tokens --------------------------------------------------------------------------------------------------

    @property
    def next(self) -> Token:
        return self.tokens[self.place]

    def take(self) -> Token:
        self.place += 1
        return self.tokens[self.place - 1]

    def symbol(self) -> str:
        """The next token's symbol in Python's spelling; empty if it is none."""
        return ALSO.get(self.next.text, self.next.text) if self.next.kind == "symbol" else ""

    def expect(self, symbol: str) -> None:
        if self.symbol() != symbol:
            raise self.unexpected()
        self.take()

    def unexpected(self) -> FormulaError:
        token = self.next
        if token.kind == "end":
            if self.open:
                bracket = self.open[-1]
                return FormulaError(f"{bracket.text!r} is never closed", bracket.at)
            last = self.tokens[self.place - 1]
            return FormulaError(f"something must follow {last.text!r}", last.at, last.end)
        if token.text in ")]":
            return FormulaError(f"unmatched {token.text!r}", token.at)
        if token.text == "=":
            return FormulaError("a formula has no '=': write only what stands to the right of it", token.at)
        if token.kind in ("number", "text") and self.place and self.tokens[self.place - 1].kind != "symbol":
            return FormulaError(f"an operator is missing before {token.text!r}", token.at, token.end)
        return FormulaError(f"did not expect {token.text!r} here", token.at, token.end)

    # --- rules of the grammar ------------------------------------------------------------------------------------

    def deeper(self, rule: Callable[[], None]) -> None:
        """A rule within itself; brackets beyond counting are refused before Python's own stack is full."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise FormulaError(f"nested too deeply: at most {DEEPEST} brackets or powers in one another", self.next.at)
        rule()
        self.depth -= 1

    def operator(self, symbols: dict[str, str], symbol: str, at: int) -> None:
        self.parts.append(Apply(OPERATORS[symbols[symbol]], 2, at, symbol))

    def comparison(self) -> None:
        self.sum()
        symbol, token = self.symbol(), self.next
        if symbol in COMPARISONS:
            self.take()
            self.sum()
            self.operator(COMPARISONS, symbol, token.at)
            if self.symbol() in COMPARISONS:
                raise FormulaError("compare two things at a time, as in x < y", self.next.at, self.next.end)

    def sum(self) -> None:
        self.product()
        while (symbol := self.symbol()) in SUMS:
            at = self.take().at
            self.product()
            self.operator(SUMS, symbol, at)

    def product(self) -> None:
        self.unary()
        divided = False  # by what stands just before
        while True:
            symbol, token = self.symbol(), self.next
            if symbol in PRODUCTS:
                self.take()
                divided = symbol == "/"
            elif token.kind == "name" or symbol == "(":  # 2x
                if divided:
                    two = "after / it can be read in two ways: write * before it, or brackets around the divisor"
                    raise FormulaError(two, token.at, token.end)
                symbol = "*"
            else:
                return
            self.unary()
            self.operator(PRODUCTS, symbol, token.at)

    def unary(self) -> None:
        signs = []
        while self.symbol() in SUMS:
            signs.append((self.symbol(), self.take().at))
        self.power()
        for sign, at in reversed(signs):
            if sign == "-":
                self.parts.append(Apply("neg", 1, at, "-"))

    def power(self) -> None:
        self.postfix()
        token = self.next
        if token.kind == "raised":  # x²
            self.take()
            plain = replace(token, text=unicodedata.normalize("NFKC", token.text))
            self.parts.append(Number(_number(plain), token.at))
        elif self.symbol() in POWERS:
            self.take()
            self.deeper(self.unary)
        else:
            return
        self.operator(POWERS, "**", token.at)

    def postfix(self) -> None:
        self.atom()
        while (symbol := self.symbol()) in (".", "["):
            if symbol == "[":
                self.index()
                continue
            dot, name = self.take(), self.next
            if name.kind == "name" and name.text == "T":
                self.take()
                self.parts.append(Apply("transpose", 1, dot.at, ".T"))
            elif name.kind == "name" and self.tokens[self.place + 1].text == "(":
                self.take()
                self.call(name, before=1)
            else:
                after = f"cannot use {self.text[dot.at : name.end]!r}: after a dot comes T, or a function with brackets"
                raise FormulaError(f"{after}, such as x.tanh()", dot.at, max(name.end, dot.end))

    def index(self) -> None:
        """`[1]` or `[0, -1]` after an array: one entry, or one row."""
        bracket = self.take()
        self.open.append(bracket)
        found: list[int] = []
        self.separated("]", lambda: found.append(self.integer()))
        if not found:
            raise FormulaError("which entry? Write its number, as in softmax(x)[1]", bracket.at)
        settings = {"index": tuple(found) if len(found) > 1 else found[0]}
        self.parts.append(Apply("getitem", 1, bracket.at, f"[{', '.join(map(str, found))}]", settings))

    def integer(self) -> int:
        sign = -1 if self.symbol() == "-" else 1
        if sign < 0:
            self.take()
        token = self.next
        if token.kind != "number" or not isinstance(number := _number(token), int):
            said = "an entry is picked by integers, as in softmax(x)[1]"
            raise FormulaError(said, token.at, max(token.end, token.at + 1))
        self.take()
        return sign * number

    def atom(self) -> None:
        token = self.next
        if token.kind == "number":
            self.parts.append(Number(_number(self.take()), token.at))
        elif token.kind == "name":
            self.take()
            if self.symbol() == "(":
                self.call(token)
            else:
                self.parts.append(self.name(token))
        elif token.text == "(":
            self.open.append(self.take())
            self.deeper(self.comparison)
            self.expect(")")
            self.open.pop()
        elif token.text == "[":
            self.open.append(self.take())
            count = self.separated("]", lambda: self.deeper(self.comparison))
            self.parts += [Listed(count, token.at), Apply("stack", 1, token.at)]  # [x, y] is an array
        else:
            raise self.unexpected()

    def name(self, token: Token) -> Part:
        name = unicodedata.normalize("NFKC", ALSO.get(token.text, token.text))
        if name in self.given:
            return Name(name, token.at)
        if name in CONSTANTS:
            return Number(CONSTANTS[name], token.at, name)
        if name in OPS:
            raise FormulaError(f"{name} is a function: write {name}(...)", token.at, token.end)
        if keyword.iskeyword(name):
            instead = "write where(x > 0, a, b)" if name in ("if", "else") else "choose another name"
            raise FormulaError(f"{name} is a word of Python: {instead}", token.at, token.end)
        return Name(name, token.at)

    def call(self, token: Token, before: int = 0) -> None:
        """`name(arguments)`; `before` arguments stand before a dot."""
        if token.text not in OPS:
            raise FormulaError(self.no_function(token.text), token.at, token.end)
        self.open.append(self.take())
        settings: dict[str, Any] = {}
        count = self.separated(")", lambda: self.argument(OPS[token.text], settings))
        if count + before == 0:
            raise FormulaError(f"{token.text}() needs an argument, as in {OPS[token.text].reads}", token.at, token.end)
        self.parts.append(Apply(token.text, count + before - len(settings), token.at, settings=settings))

    def no_function(self, name: str) -> str:
        near = [ELSEWHERE[name]] if name in ELSEWHERE else difflib.get_close_matches(name, OPS, n=3)
        if name in self.given or len(name) == 1:
            return f"there is no function {name!r}; to multiply, write {name} * (...)"
        return f"there is no function {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else "")

    def separated(self, closing: str, one: Callable[[], None]) -> int:
        """How many there are, with commas between them, up to a closing bracket."""
        count = 0
        while self.symbol() != closing:
            one()
            count += 1
            if self.symbol() != closing:
                self.expect(",")
        self.take()
        self.open.pop()
        return count

    def argument(self, op: Op, settings: dict[str, Any]) -> None:
        token = self.next
        if token.kind == "text":
            self.parts.append(Text(self.take().text[1:-1], token.at))
        elif token.kind == "name" and self.tokens[self.place + 1].text == "=":
            self.take()
            self.take()
            if token.text in settings:
                raise FormulaError(f"{token.text} is given twice", token.at, token.end)
            settings[token.text] = self.literal()
        elif settings:
            raise FormulaError("settings such as axis=0 come last", token.at, token.end)
        else:
            self.deeper(self.comparison)
            match self.parts[-2:]:
                case [Listed(at=there), Apply(op="stack", at=at)] if at == there and op.pack:
                    self.parts.pop()  # an op that takes a list, such as stack itself

    def literal(self) -> Any:
        """A setting: a plain number, text, True, False, None, or a list of them."""
        token, symbol = self.next, self.symbol()
        if token.kind == "number":
            return _number(self.take())
        if symbol == "-" and self.tokens[self.place + 1].kind == "number":
            self.take()
            return -_number(self.take())
        if token.kind == "text":
            return self.take().text[1:-1]
        if token.kind == "name" and token.text in LITERALS:
            return LITERALS[self.take().text]
        if symbol in ("(", "["):
            self.open.append(self.take())
            found: list[Any] = []
            self.separated(")" if symbol == "(" else "]", lambda: self.deeper(lambda: found.append(self.literal())))
            return tuple(found)
        raise FormulaError("a setting is a plain number, text or tuple", token.at, max(token.end, token.at + 1))


def _number(token: Token) -> int | float:
    value = float(token.text)
    if math.isinf(value):
        raise FormulaError("this number is too large; the largest float is 1.8e308", token.at, token.end)
    whole = token.text.isdigit() and value < LARGEST_WHOLE
    return int(token.text) if whole else value
