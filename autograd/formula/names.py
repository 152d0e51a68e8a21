"""What each node is called, and how its expression and its rule read with those names.

Names come from the Values themselves, from `names=` (such as `locals()`), and from the modules that own a
parameter. Two nodes of one name become `h#1` and `h#2`, visibly. An unnamed operand stands inside its user's
expression (`d * f − a`) while that stays short; otherwise it gets a name of its own, `t1`.
"""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from autograd.engine import Value
from autograd.expr import UNKNOWN, Expr
from autograd.expr.expr import in_one_line, lines_of
from autograd.expr.rules import rule_or_its_name
from autograd.op import shape_of

from .name_sources import module_results, name_in_op, named_in, operands_of, parameter_paths
from .numbers import literal
from .text import ELLIPSIS, PRIME, abridged
from .writers.symbols import Edge, Symbols
from .writers.writer import ATOM, SAID, hold_of_name

NESTED_MOST = 18  # characters of an unnamed operand's expression before it gets a name
NESTED_LEVELS = 3  # of unnamed operands within one another
SPELLED_MOST = 36  # characters of a rule that spells out a result without a name
LONGEST_LABEL = 48  # characters of a rule on an edge
LARGEST_WHOLE = 1000  # a plain integer below this stays a number in a rule, which can then be simplified
GRADIENT_WORDS = ("g", "grad", "gradient")  # for the gradient that arrives in a rule: the first that is no node's name
WHOLE_MOST = 20  # characters of a name that is written whole inside its own module, `head.weight`
RESULT_WORDS = ("out", "result", "output")  # for the result, if it has no name: the same

_FIRST_MARK = 0xF0000  # private characters, which stand for operands in the text of a rule that is kept
_RESULT = chr(0x10FFFD)  # and for the result


class Label(NamedTuple):
    """The text on an edge. `says_result`: it calls the result `out`; `is_named`: it only names the op, `f′(g)`."""

    text: str
    says_result: bool = False
    is_named: bool = False


class Names:
    """What the nodes of one graph, oldest first, are called, and how they read. Four questions:

    own_name      the name that it has, given or made up: `a`; "" for one without
    name          what a text says for it: its own name, its expression if that is short, or a name made up for it
    operand_name  the same inside an expression: `.weight` in its own module, `targets` for an array that its op names
    expression    how it was made; "" for a leaf

    >>> a, b = Value(2.0, name="a"), Value(3.0, name="b")
    >>> product = a * b
    >>> long = (product - a) * (product + a)
    >>> names = Names([a, b, product, long])
    >>> [names.own_name(x) for x in (a, product, long)]
    ['a', '', '']
    >>> [names.name(x) for x in (a, product, long, 0.5)]
    ['a', 'a * b', 't1', '0.5']
    >>> [names.expression(x) for x in (a, product, long)]
    ['', 'a * b', '(a * b − a) * (a * b + a)']

    Of a graph that is a copy, `twin(x)` is the copy of what a caller or a module named.

    `Derivation` (lines.py) says the same for steps: there the root is `L`, long names are shortened, ∂L/∂a is a symbol.
    """

    def __init__(
        self, nodes: Iterable[Value], given: Mapping[str, Any] | None = None, nest: bool = True,
        twin: Callable[[Any], Any] = lambda x: x,
    ) -> None:  # fmt: skip
        self._nest = nest
        self._names: dict[int, str] = {}  # by id: arrays are named too
        self._kept: list[Any] = []  # keeps them alive, so that no other object gets their ids
        self._texts: dict[int, str] = {}
        self._stand_ins: dict[int, str] = {}
        self._made_up = (f"t{number}" for number in itertools.count(1))
        self._invented: set[int] = set()  # ids of the nodes that have such a name
        self._numbered: set[int] = set()  # ids of the plain arrays that are told apart by a number
        self._patterns: dict[Any, Any] = {}
        self._spelled: set[int] = set()  # ids of nodes whose expression somebody else wrote
        self._called: dict[tuple[int, int], str] = {}  # operands that have another name there, by node and place
        self._paths: dict[int, str] = {}  # of the calls around nodes that stand for several
        self._collect(list(nodes), {} if given is None else given, twin)

    # --- names -------------------------------------------------------------------------------------------------

    def own_name(self, x: Any) -> str:
        """The name of a node or plain array; "" if it has none."""
        return self._names.get(id(x), "")

    def is_made_up(self, x: Any) -> bool:
        """Was its name made up here, `t1`, `array1`?"""
        return id(x) in self._invented or id(x) in self._numbered

    def name(self, x: Any) -> str:
        """What a text says for it: its own name, its expression if that is short, or a name made up for it; a plain
        number is called on its own."""
        name = self._stand_ins.get(id(x), "") or self.own_name(x)
        if name or not isinstance(x, Value):
            return name or literal(x)
        return self.expression(x) if self.nestable(x) else self._make_up(x)

    def named(self, x: Value) -> str:
        """Its own name, or one that is made up for it."""
        return self.own_name(x) or self._make_up(x)

    def result_name(self, x: Value) -> str:
        """The path of the module call whose result it is; "" if it is none."""
        return self._results.get(id(x), "")

    def stand_in(self, texts: Mapping[Value, str]) -> None:
        """Call results by these texts that are hidden inside something else, such as a folded module."""
        for node, text in texts.items():
            self._stand_ins.setdefault(id(node), text)

    def anew(self) -> Names:
        """The same names, with nothing read and no name made up yet."""
        twin = copy.copy(self)
        twin._names = {key: name for key, name in self._names.items() if key not in self._invented}
        twin._texts, twin._stand_ins, twin._invented, twin._patterns, twin._called = {}, {}, set(), {}, {}
        twin._spelled, twin._paths = set(), {}
        twin._made_up = (f"t{number}" for number in itertools.count(1))
        twin._taken = set(self._given)
        return twin

    def call(self, x: Value, name: str, made_up: bool = False) -> None:
        """Give a node a name, in place of its own."""
        self._names[id(x)] = name
        self._taken.add(name)
        if made_up:
            self._invented.add(id(x))

    def spell(self, node: Value, text: str) -> None:
        """Write a node's expression in these words, where it stands for several."""
        self._texts[id(node)] = text
        self._spelled.add(id(node))

    def call_path(self, node: Value, path: str) -> None:
        """Give the call around a node that stands for several a path that is true of all."""
        self._paths[id(node)] = path

    def call_operand(self, node: Value, place: int, name: str) -> None:
        """Give an operand a name where one formula stands for several nodes, whose operands differ there."""
        self._called[id(node), place] = name

    @property
    def in_use(self) -> frozenset[str]:
        """All names that something has."""
        return frozenset(self._taken)

    def read(self, nodes: Iterable[Value]) -> None:
        """Read all nodes that will be shown, in order: unnamed ones get their names before the first is written."""
        for node in nodes:
            self.expression(node)

    @property
    def gradient_word(self) -> str:
        """What rules call the gradient that arrives."""
        return next(word for word in GRADIENT_WORDS if word not in self._given)

    @property
    def result_word(self) -> str:
        """What rules call the value of a result that has neither a name nor a short expression."""
        return next(word for word in RESULT_WORDS if word not in self._given)

    def step_name(self, name: str) -> str:
        """What a step inside an op is called: softmax's sum is z, and z′ if a node is called z."""
        while name in self._given:
            name += PRIME
        return name

    # --- formulas ----------------------------------------------------------------------------------------------

    def expression(self, node: Value) -> str:
        """How the node was made, in its operands' names; "" for a leaf."""
        if node.op is None:
            return ""
        text = self._texts.get(id(node))
        if text is None:
            text = self._texts[id(node)] = self.written(self.formula(node), as_rule=False)
            self._kept.append(node)
        return text

    def formula(self, node: Value) -> Expr:
        """How the node was made, as a formula of its operands."""
        assert node.op is not None
        return Expr.applied(node.op, [self.operand_at(node, place) for place in range(len(node.inputs))], node.data)

    def operand_at(self, node: Value, place: int) -> Expr:
        """The same of a node that may stand for several, whose operands at this place differ."""
        name, x = self._called.get((id(node), place)), node.inputs[place]
        return Expr(name, getattr(x, "_data", x)) if name else self.operand(x, node)

    def operand(self, x: Any, node: Value) -> Expr:
        """An operand of `node` in a formula: a symbol, a short formula in its place, or a plain number."""
        if isinstance(x, Value):
            if self.nestable(x):
                if id(x) in self._spelled:
                    return Expr(self.expression(x), x.data, node=x)
                return Expr(self.expression(x), x.data, node=x, formula=self.formula(x), inline=True)
            return Expr(self.operand_name(x, node), x.data, node=x)
        if isinstance(x, np.ndarray) and x.ndim:
            return Expr(self.operand_name(x, node), x, node=x)
        return Expr.number(x)

    def written(self, formula: Expr, gradient: str = "", as_rule: bool = True, outer: int = SAID) -> str:
        """A formula in symbols; arrays among an op's settings by their names."""
        return Symbols(gradient, self.own_name, as_rule).write(formula, outer)

    def rule(self, node: Value) -> tuple[str | None, ...]:
        """The op's own rule with the operands' names, one text per input; `g` is the node's gradient.

        The result stands in it under its own name, or its expression where that is short.
        """
        return tuple(text and text[0] for text in self._rule(node))

    def rule_on_edges(self, node: Value) -> tuple[Label | None, ...]:
        """The rule in its shortest form; `f′(g)` where that is still too long for an edge."""
        assert node.op is not None
        named = Label(f"{node.op.name}{PRIME}({self.gradient_word})", is_named=True)
        parts = [None if texts is None else texts[1] for texts in self._rule(node)]
        return tuple(part if part is None or _is_readable(part.text) else named for part in parts)

    def _rule(self, node: Value) -> tuple[tuple[str, Label] | None, ...]:
        """For each input the rule in full and on an edge."""
        assert node.op is not None
        called = any((id(node), place) in self._called for place in range(len(node.inputs)))
        nested = called or any(
            self.nestable(x) or hold_of_name(self.operand_name(x, node)) < ATOM for x in node.inputs
        )
        whole = tuple(x if _is_whole(x) else None for x in node.inputs)
        absent = tuple(x is None for x in node.inputs)
        # Otherwise the text depends only on the op and on shapes, and a rule on large arrays takes a while.
        key = id(node) if nested else (id(node.op), tuple(map(shape_of, node.inputs)), absent, whole)
        texts = self._patterns.get(key)
        if texts is None:
            inputs = [self._in_rule(node, place, nested) for place in range(len(node.inputs))]
            texts = self._patterns[key] = self._pulled(node, inputs)
            self._kept.append(node)
        names = {} if nested else {_FIRST_MARK + i: self.operand_name(x, node) for i, x in enumerate(node.inputs)}

        def finished(text: str) -> Label:
            return self._with_result(text.translate(names), node)

        return tuple(text and (finished(text[0]).text, finished(text[1])) for text in texts)

    def _in_rule(self, node: Value, place: int, nested: bool) -> Any:
        """An operand as the rule gets it; an integer stays a number, so that the rule can be simplified."""
        x = node.inputs[place]
        if x is None:
            return None
        if _is_whole(x) and (id(node), place) not in self._called:
            return int(x)
        return self.operand_at(node, place) if nested else Expr(chr(_FIRST_MARK + place), getattr(x, "_data", x))

    @np.errstate(all="ignore")  # the text is needed for every input, also where its number is not
    def _pulled(self, node: Value, inputs: list[Any]) -> tuple[tuple[str, str] | None, ...]:
        assert node.op is not None
        g, out = Expr(self.gradient_word, node.data), Expr(_RESULT, node.data)
        parts = rule_or_its_name(node.op, g, out, inputs)
        return tuple(None if part is None else (self._full(part), self._short(part)) for part in parts)

    def _full(self, part: Expr) -> str:
        """A rule after the lines that it uses."""
        lines = lines_of(part)
        for line in lines:
            line.name = self.step_name(line.name)
        steps = [f"{line.name} = {self.written(line.formula)}" for line in lines]  # type: ignore[arg-type]
        return "; ".join([*steps, self.written(part)])

    def _short(self, part: Expr) -> str:
        """A rule on an edge, in one line; "…" for one that can only be run."""
        return ELLIPSIS if part.value is UNKNOWN else Edge("", self.own_name).write(in_one_line(part))

    def _with_result(self, text: str, node: Value) -> Label:
        """A rule with the result's name, expression or `out` in place of its mark."""
        assert node.op is not None
        if _RESULT not in text or self.own_name(node):
            name = self.own_name(node)
            return Label(text.replace(_RESULT, name if hold_of_name(name) == ATOM else f"({name})"))
        expression = self.expression(node)
        spelled = text.replace(_RESULT, expression if expression.endswith((")", "]")) else f"({expression})")
        if len(spelled) <= SPELLED_MOST:
            return Label(spelled)
        return Label(text.replace(_RESULT, self.result_word), says_result=True)

    # --- which names --------------------------------------------------------------------------------------------

    def _collect(self, nodes: list[Value], given: Mapping[str, Any], twin: Callable[[Any], Any]) -> None:
        found: list[tuple[Any, str]] = []
        named: set[int] = set()
        own = ((node, node.name) for node in nodes if node.name)
        for x, name in (*parameter_paths(nodes), *own, *named_in(given)):
            x = twin(x)
            if id(x) not in named:
                named.add(id(x))
                found.append((x, name))
        here = {id(node) for node in nodes} | {id(x) for node in nodes for x in operands_of(node)}
        found = [(x, name) for x, name in found if id(x) in here]
        total, seen = Counter(name for _, name in found), Counter[str]()
        order = {id(node): index for index, node in enumerate(nodes)}
        for x, name in sorted(found, key=lambda pair: order.get(id(pair[0]), -1)):
            seen[name] += 1
            self._names[id(x)] = f"{name}#{seen[name]}" if total[name] > 1 else name
            self._kept.append(x)
        self._number_arrays(nodes)
        self._given = frozenset(self._names.values())
        self._taken = set(self._given)
        self._results = {id(node): path for node, path in module_results(nodes)}

    def _number_arrays(self, nodes: list[Value]) -> None:
        """Plain arrays that would read alike, `array(2)`, are `array1`, `array2`."""
        found = [(x, node) for node in nodes for x in node.inputs if isinstance(x, np.ndarray) and x.ndim]
        alike = {id(x): x for x, node in found if not (self.own_name(x) or name_in_op(node, x)) and "(" in literal(x)}
        taken = set(self._names.values())
        free = (name for name in (f"array{number}" for number in itertools.count(1)) if name not in taken)
        if len(alike) > 1:
            self._numbered = set(alike)
            self._names |= dict(zip(alike, free))
            self._kept += alike.values()

    def _make_up(self, node: Value) -> str:
        """A module's result is called by the module's path, anything else by a number."""
        name = self.result_name(node)
        if not name or name in self._taken:
            name = next(name for name in self._made_up if name not in self._taken)
            self._invented.add(id(node))
        self._taken.add(name)
        self._names[id(node)] = name
        self._kept.append(node)
        return name

    def operand_name(self, x: Any, node: Value) -> str:
        """An operand as code inside the node's module would write it: the module's own `weight` is `.weight` where
        its whole name is long, or stands for several.

        A plain array without a name is what the op calls it, as on its card: `targets`.
        """
        if isinstance(x, np.ndarray) and x.ndim and not self.own_name(x):
            part = name_in_op(node, x)
            if part and part not in self._given:
                return part
        name = self.name(x)
        path = self._paths.get(id(node)) or (node.scope.path if node.scope is not None else "")
        is_long = len(name) > WHOLE_MOST or id(node) in self._paths
        own = path and isinstance(x, Value) and name.startswith(f"{path}.") and is_long
        return name[len(path) :] if own else name

    def nestable(self, x: Any) -> bool:
        """Is it an unnamed result short enough to stand inside another expression: `−log(P[2])`?"""
        return self._nest and self._is_shallow(x, NESTED_LEVELS) and len(self.expression(x)) <= NESTED_MOST

    def _is_shallow(self, x: Any, levels: int) -> bool:
        """Is it an unnamed result, made in a few levels from named values?"""
        if levels == 0 or not self._is_anonymous(x):
            return False
        return all(self._is_shallow(y, levels - 1) for y in x.inputs if self._is_anonymous(y))

    def _is_anonymous(self, x: Any) -> bool:
        has_name = self.own_name(x) or id(x) in self._stand_ins or id(x) in self._results
        return isinstance(x, Value) and x.op is not None and not has_name


def _is_whole(x: Any) -> bool:
    """Is it a plain small integer?"""
    is_number = isinstance(x, int | float | np.number) and not isinstance(x, bool)
    return is_number and 0 <= x < LARGEST_WHOLE and int(x) == x


def _is_readable(label: str) -> bool:
    """Does most of the text remain when it is shortened to fit an edge?"""
    return label != ELLIPSIS and 2 * len(abridged(label, LONGEST_LABEL)) >= len(label)
