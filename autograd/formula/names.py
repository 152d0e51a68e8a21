"""What each node is called, and how its expression and its rule read with those names.

Names come from the Values themselves, from `names=` (such as `locals()`), and from the modules that own a
parameter. Two nodes of one name become `h#1` and `h#2`, visibly. An unnamed operand stands inside its user's
expression (`d * f − a`) while that stays short; otherwise it gets a name of its own, `t1`.
"""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from autograd.expr import Expr, rule_or_its_name
from autograd.formula.brief import in_brief, is_readable
from autograd.formula.name_sources import module_results, named_in, parameter_paths
from autograd.formula.numbers import MINUS, dimensions
from autograd.formula.operands import arrays_in, literal, operands_of, part_played, plain
from autograd.formula.tidy import (
    COUNTED_IN_RESULT,
    Ranked,
    counted_from_the_front,
    in_matrix_terms,
    tidied,
    tidy,
    with_rank,
)
from autograd.op import BoundOp, Op, template
from autograd.value import Value

NESTED_MOST = 18  # characters of an unnamed operand's expression before it gets a name
NESTED_LEVELS = 3  # of unnamed operands in one another
SPELLED_MOST = 36  # characters of a rule that spells out a result without a name
LARGEST_WHOLE = 1000  # of the plain numbers that a rule is worked out with
GRADIENT_WORDS = ("g", "grad", "gradient")  # what a rule calls the gradient that arrives: the first no node is named
PRIME = "′"  # after the name of an op whose rule is too long to write: layer_norm′(g)
RESULT_WORDS = ("out", "result", "output")  # and the result's own value, if it has no name

# Names travel through Python's unparser as private characters: no text in a name is taken for code.
_FIRST_MARK = 0xF0000
_RESULT = chr(0x10FFFD)  # the mark of the result itself in its rule


class Names:
    """The names and readings of one graph's nodes, oldest first.

    >>> a, b = Value(2.0, name="a"), Value(3.0, name="b")
    >>> product = a * b
    >>> names = Names([a, b, product, product - a])
    >>> names.expression(product), names.expression(product - a)
    ('a * b', 'a * b − a')
    """

    def __init__(self, nodes: Iterable[Value], given: Mapping[str, Any] | None = None, nest: bool = True) -> None:
        self._nest = nest
        self._names: dict[int, str] = {}  # by id: arrays are named too
        self._kept: list[Any] = []  # what those ids belong to stays alive
        self._texts: dict[int, str] = {}
        self._stand_ins: dict[int, str] = {}
        self._settings: dict[str, str] = {}
        self._marks: dict[str, str] = {}
        self._rules: dict[Any, tuple[str | None, ...]] = {}
        self._made_up = (f"t{number}" for number in itertools.count(1))
        self._invented: set[int] = set()  # ids of the nodes that have such a name
        self._patterns: dict[tuple[int, int, tuple[bool, ...]], str] = {}
        self._collect(list(nodes), {} if given is None else given)

    def name(self, x: Any) -> str:
        """The name of a node or plain array; "" if it has none."""
        return self._names.get(id(x), "")

    def is_made_up(self, x: Any) -> bool:
        """Is its name one of ours, `t1`, and nobody else's?"""
        return id(x) in self._invented

    def expression(self, node: Value) -> str:
        """How the node was made, in its operands' names; "" for a leaf."""
        if node.op is None:
            return ""
        text = self._texts.get(id(node))
        if text is None:
            text = self._texts[id(node)] = self._read(node)
            self._kept.append(node)
        return text

    def settle(self, nodes: Iterable[Value], stand_ins: Mapping[Value, str]) -> None:
        """Read the nodes that will be shown, so that every name made up on the way is known before the
        first card.

        `stand_ins` name results that are hidden inside something else, such as a folded module.
        """
        for node, text in stand_ins.items():
            self._stand_ins.setdefault(id(node), text)
        for node in nodes:
            self.expression(node)

    def call(self, x: Any) -> str:
        """How another expression refers to `x`: by its name, as a literal, or by a name made up for it."""
        name = self._stand_ins.get(id(x), "") or self.name(x)
        if name:
            return name
        if isinstance(x, Value):
            return self._make_up(x)
        return literal(x)

    def in_a_sentence(self, node: Value) -> str:
        """What a sentence calls a node: its name, its expression if that is short, or a name made up for it."""
        return self.expression(node) if self.nestable(node) else self.call(node)

    def rule(self, node: Value) -> tuple[str | None, ...]:
        """The op's own rule with the operands' names, one text per input; `g` is the node's gradient.

        The result stands in it under its own name, or its expression where that is short.
        """
        return tuple(text and self._with_result(text, node) for text in self._rule(node, brief=False))

    def rule_on_edges(self, node: Value) -> tuple[str | None, ...]:
        """The rule in brief; `f′(g)` where that is still too long for an edge, or cannot be read at all."""
        assert node.op is not None
        texts = (text and self._with_result(text, node) for text in self._rule(node, brief=True))
        long = f"{node.op.name}{PRIME}({self.gradient_word})"
        return tuple(text if text is None or is_readable(text) else long for text in texts)

    @property
    def gradient_word(self) -> str:
        """What rules call the gradient that arrives."""
        return next(word for word in GRADIENT_WORDS if word not in self._given)

    @property
    def result_word(self) -> str:
        """What rules call the value of a result that has neither a name nor a short expression."""
        return next(word for word in RESULT_WORDS if word not in self._given)

    def _with_result(self, text: str, node: Value) -> str:
        """A rule with the result's own words in the place of its mark."""
        assert node.op is not None
        if _RESULT not in text or self.name(node):
            return text.replace(_RESULT, self.name(node))
        expression = self.expression(node)
        atom = isinstance(template(node.op.reads), ast.Call | ast.Subscript | ast.Attribute)
        spelled = text.replace(_RESULT, expression if atom else f"({expression})")
        return spelled if len(spelled) <= SPELLED_MOST else text.replace(_RESULT, self.result_word)

    def _rule(self, node: Value, brief: bool) -> tuple[str | None, ...]:
        """The rule's texts, with a mark in the result's place."""
        assert node.op is not None
        if any(map(self.nestable, node.inputs)):
            inputs = [
                Ranked(self._tree(x).tree, x.data) if self.nestable(x) else _in_rule(x, self._mark(self._near(x, node)))
                for x in node.inputs
            ]
            return tuple(part and self._unmarked(part) for part in self._pulled(node, inputs, brief))
        # The text depends on the op and on shapes alone, and running a rule on large arrays takes a while.
        whole = tuple(x if _is_whole(x) else None for x in node.inputs)
        absent = tuple(x is None for x in node.inputs)
        key = id(node.op), tuple(np.shape(plain(x)) for x in node.inputs), absent, whole, brief
        if key not in self._rules:
            marks = [_in_rule(x, chr(_FIRST_MARK + index)) for index, x in enumerate(node.inputs)]
            texts = self._pulled(node, marks, brief)
            self._rules[key] = tuple(text and _on_screen(self._with_settings(text)) for text in texts)
            self._kept.append(node.op)
        names = {_FIRST_MARK + index: self._near(x, node) for index, x in enumerate(node.inputs)}
        return tuple(text and text.translate(names) for text in self._rules[key])

    def _pulled(self, node: Value, inputs: list[Ranked | None], brief: bool) -> list[str | None]:
        assert node.op is not None
        rank = max(np.ndim(plain(x)) for x in node.inputs)
        with np.errstate(all="ignore"):  # the text is wanted of every input, also where its number is not
            g = Ranked(ast.Name(self.gradient_word, ast.Load()), node.data)
            out = Ranked(ast.Name(_RESULT, ast.Load()), node.data)
            parts = rule_or_its_name(self._spoken(node.op), g, out, inputs)
        ranks = {ast.dump(tidied(x.tree, rank)): x.ndim for x in (g, out, *inputs) if x is not None}

        def ndim(tree: ast.expr) -> int:
            return ranks.get(ast.dump(tree), 0)

        def text(part: Expr) -> str:
            tree = in_matrix_terms(tidied(part.tree, rank), ndim)
            counted = tidied(counted_from_the_front(tree), rank, brief)
            return in_brief(counted, ndim) if brief else ast.unparse(counted)

        return [None if part is None else text(part) for part in parts]

    def _collect(self, nodes: list[Value], given: Mapping[str, Any]) -> None:
        found: list[tuple[Any, str]] = []
        named: set[int] = set()
        own = ((node, node.name) for node in nodes if node.name)
        for x, name in (*parameter_paths(nodes), *own, *named_in(given)):
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
        self._given = frozenset(self._names.values())
        self._taken = set(self._given)
        self._results = {id(node): path for node, path in module_results(nodes)}

    def _make_up(self, node: Value) -> str:
        """A module's result is called by the module's path, anything else by a number."""
        name = self._results.get(id(node), "")
        if not name or name in self._taken:
            name = next(name for name in self._made_up if name not in self._taken)
            self._invented.add(id(node))
        self._taken.add(name)
        self._names[id(node)] = name
        self._kept.append(node)
        return name

    def _read(self, node: Value) -> str:
        assert node.op is not None
        operands = node.inputs
        nested = [self.nestable(x) for x in operands]
        if any(nested):
            inputs = [self._tree(x) if inside else self._operand(x, node) for x, inside in zip(operands, nested)]
            return self._unmarked(tidy(self._applied(node, inputs), np.ndim(plain(operands[0]))))
        return self._fill(node)

    def _fill(self, node: Value) -> str:
        """Operands that are all names: fill them into the op's reading, unparsed once per op."""
        assert node.op is not None
        inputs = node.inputs
        rank = np.ndim(plain(inputs[0]))
        key = id(node.op), rank, tuple(x is None for x in inputs)
        pattern = self._patterns.get(key)
        if pattern is None:
            marks = [None if x is None else Expr(ast.Name(chr(_FIRST_MARK + index), ast.Load()))
                     for index, x in enumerate(inputs)]  # fmt: skip
            pattern = _on_screen(self._with_settings(tidy(self._applied(node, marks), rank)))
            self._patterns[key] = pattern
            self._kept.append(node.op)
        return pattern.translate({_FIRST_MARK + index: self._near(x, node) for index, x in enumerate(inputs)})

    def _near(self, x: Any, node: Value) -> str:
        """An operand as code inside the node's module would write it: the module's own `weight` is `.weight`.

        A plain array without a name is what the op calls it, as on its card: `targets`.
        """
        if isinstance(x, np.ndarray) and x.ndim and not self.name(x):
            part = part_played(node, x)
            if part and part not in self._given:
                return part
        name = self.call(x)
        path = node.scope.path if node.scope is not None else ""
        own = path and isinstance(x, Value) and x.op is None and name.startswith(f"{path}.")
        return name[len(path) :] if own else name

    def nestable(self, x: Any) -> bool:
        """An unnamed result short enough to stand inside another expression: `−log(P[2])`."""
        return self._nest and self._is_shallow(x, NESTED_LEVELS) and len(self.expression(x)) <= NESTED_MOST

    def _is_shallow(self, x: Any, levels: int) -> bool:
        """An unnamed result, a few unnamed results of named things at most."""
        return (
            self._is_anonymous(x)
            and levels > 0
            and all(self._is_shallow(y, levels - 1) for y in x.inputs if self._is_anonymous(y))
        )

    def _is_anonymous(self, x: Any) -> bool:
        return (
            isinstance(x, Value)
            and x.op is not None
            and not self.name(x)
            and id(x) not in self._stand_ins
            and id(x) not in self._results
        )

    def _tree(self, node: Value) -> Expr:
        assert node.op is not None
        operands = [self._tree(x) if self.nestable(x) else self._operand(x, node) for x in node.inputs]
        return self._applied(node, operands)

    def _applied(self, node: Value, inputs: list[Expr | None]) -> Expr:
        """The node's op written out, its axes counted from the front."""
        assert node.op is not None
        if node.op.pack:  # what `stack` does anyway depends on its operands' shapes
            inputs = [None if e is None else Expr(e.tree, plain(x)) for e, x in zip(inputs, node.inputs)]
        whole = Expr.__apply__(self._spoken(node.op), tuple(inputs))
        rank = node.ndim if node.op.name in COUNTED_IN_RESULT else np.ndim(plain(node.inputs[0]))
        return Expr(counted_from_the_front(with_rank(whole.tree, rank)), whole.value)

    def _operand(self, x: Any, node: Value) -> Expr | None:
        """An operand of `node` by its name; None, an input that was not given, stays None."""
        return None if x is None else Expr(ast.Name(self._mark(self._near(x, node)), ast.Load()))

    def _mark(self, text: str) -> str:
        return self._marks.setdefault(text, chr(_FIRST_MARK + len(self._marks)))

    def _unmarked(self, text: str) -> str:
        text = _on_screen(self._with_settings(text))
        return text.translate({ord(mark): name for name, mark in self._marks.items()})

    def _spoken(self, op: Op) -> Op:
        """The op with each array among its settings (an index, say) replaced by one that prints as its name."""
        if not any(True for _ in arrays_in(op.settings.values())):
            return op
        settings = {key: self._named_setting(setting) for key, setting in op.settings.items()}
        return BoundOp(op.base, settings)

    def _named_setting(self, setting: Any) -> Any:
        if isinstance(setting, tuple):
            return tuple(map(self._named_setting, setting))
        if not isinstance(setting, np.ndarray):
            return setting
        named = setting.view(_NamedArray)
        named.text = f"array(_hg_{len(self._settings)}_)"
        self._settings[f"array({named.text})"] = self.name(setting) or f"{dimensions(setting.shape)} array"
        return named

    def _with_settings(self, text: str) -> str:
        for printed, shown in self._settings.items():
            text = text.replace(printed, shown)
        return text


def _on_screen(code: str) -> str:
    """Code with a true minus; the arrow of `einsum('ij->ji', x)` stays one."""
    return code.replace("-", MINUS).replace(f"{MINUS}>", "->")


def _in_rule(x: Any, mark: str) -> Ranked | None:
    """An operand as its op's rule sees it: a mark; None if it was not given; a whole number as itself, so that the rule
    can be worked out (`x ** (3 − 1)` is `x ** 2`)."""
    if x is None:
        return None
    return Ranked(ast.Constant(int(x)) if _is_whole(x) else ast.Name(mark, ast.Load()), plain(x))


def _is_whole(x: Any) -> bool:
    """Is it a plain small whole number?"""
    is_number = isinstance(x, int | float | np.number) and not isinstance(x, bool)
    return is_number and 0 <= x < LARGEST_WHOLE and int(x) == x


class _NamedArray(np.ndarray):
    """An array that an Expr prints as a short text instead of its numbers."""

    text = ""

    def tolist(self) -> Any:
        return _Text(self.text)


class _Text(str):
    def __repr__(self) -> str:
        return str(self)
