"""Which nodes share a card: modules that collapse, pieces that repeat, and what is left out.

`fold(nodes, options, keep, rung)` gives a `Folded`: every node's card key, and the groups among them. Nothing here
knows how a card looks.
"""

from __future__ import annotations

import fnmatch
import functools
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autograd.engine import Value
from autograd.formula.numbers import count
from autograd.modes import Scope
from autograd.repeats import Fold, Repeat, Structure

if TYPE_CHECKING:
    from .options import Options

SUBSCRIPTS = {"i": "ᵢ", "j": "ⱼ", "k": "ₖ", "l": "ₗ", "m": "ₘ", "n": "ₙ"}

Spelling = Callable[[str, Any], str]  # an option and its value (None: any) as the caller types them
Collapse = Any  # None, a depth, a name or pattern, several of these, or a predicate on scopes


@dataclass
class Group:
    """Nodes that share one card. `kind`: "module", "expr" (the last node is the result, written with the others in it)
    or "rest" (left out)."""

    key: str
    kind: str
    members: list[Value]
    scope: Scope | None = None
    outputs: list[Value] = field(default_factory=list)  # of a module: members that others use, or the root
    absorbed: list[Value] = field(default_factory=list)  # leaves used nowhere else
    copies: list[Group] = field(default_factory=list)  # the modules that repeat, in order
    title: str = ""  # in place of its module's name

    @property
    def result(self) -> Value:
        return self.members[-1]

    @property
    def page_key(self) -> str:
        """Its key where every module has one: a run of copies has another than its first copy."""
        return f"x{self.key[1:]}" if self.copies else self.key

    @property
    def name(self) -> str:
        return self.title or (self.scope.path or self.scope.kind if self.scope is not None else "")


def in_python(option: str, value: Any) -> str:
    return f"{option}={'…' if value is None else json.dumps(value) if isinstance(value, str) else value}"


@dataclass(frozen=True)
class FoldNote:
    """Says that the drawing folded on its own, and which `options` together show all: (option, value)."""

    nodes: int
    shown: int = 0  # cards; 0 if nodes are left out
    hidden: int = 0  # nodes that are left out
    options: tuple[tuple[str, Any], ...] = ()

    def text(self, spelled: Spelling = in_python) -> str:
        did = f"{count(self.hidden)} of them left out" if self.hidden else f"shown folded to {count(self.shown)}"
        helps = " with ".join(spelled(option, value) for option, value in self.options)
        return f"{count(self.nodes)} nodes, {did}; {helps} {'draws' if self.hidden else 'opens'} them all"


def what_opens(nodes: int, options: Options) -> tuple[tuple[str, Any], ...]:
    """The options that give each of so many nodes a card of its own."""
    folds: list[tuple[str, Any]] = [("collapse", False)] if options.collapse is not False else []
    return (*folds, ("max_nodes", nodes)) if nodes > options.max_nodes else tuple(folds)


@dataclass
class Folded:
    """The outcome: `key_of` every node, the `groups` by key, and a note when the drawing folded on its own. `users` are
    the nodes made from each node. Where pieces are folded, `fold` says which node stands for which, and `times` how
    often a card stands for a whole piece."""

    nodes: list[Value]
    users: dict[Value, list[Value]]
    key_of: dict[Value, str]
    fold: Fold
    groups: dict[str, Group] = field(default_factory=dict)
    note: FoldNote | None = None
    times: dict[str, int] = field(default_factory=dict)

    def stands(self, node: Value) -> bool:
        """Is it drawn, for itself or for others too?"""
        return self.fold.representative[node] is node

    def members(self, node: Value) -> list[Value]:
        """All that a node stands for, in order."""
        return self.fold.members[self.fold.representative[node]]

    def count_times(self, runs: Iterable[Repeat]) -> None:
        """Which cards stand for all of a piece, and for how many: not one that holds more than a piece, such as an
        attention with its three projections."""
        self.times.clear()
        drawn: dict[str, set[Value]] = defaultdict(set)
        for node in self.nodes:
            if node.op is not None and self.stands(node):
                drawn[self.key_of[node]].add(node)
        for key, group in self.groups.items():
            if group.kind == "module":
                drawn[key] = set((group.copies or [group])[0].members)
        for run in runs:
            key = self.key_of[run.rows[0][0]]
            if drawn[key] and drawn[key].issubset(run.rows[0]) and all(self.key_of[x] == key for x in run.rows[0]):
                self.times[key] = self.times.get(key, 1) * len(run)

    def group(self, key: str, members: list[Value], title: str) -> Group:
        """Nodes as a module of that title."""
        return Group(key, "module", members, outputs=outputs_of(members, self.users), title=title)

    def runs(self) -> list[Repeat]:
        return self.fold.runs

    def runs_around(self, node: Value) -> list[Repeat]:
        """The folded repeats that a node stands in, outer first."""
        return self._around.get(node, [])

    @functools.cached_property
    def _around(self) -> dict[Value, list[Repeat]]:
        around: dict[Value, list[Repeat]] = defaultdict(list)
        for run in self.runs():
            for node in run.rows[0]:
                around[node].append(run)
        return around

    def shows(self, node: Value) -> bool:
        """Does the node have a card that spells its expression out?"""
        group = self.groups.get(self.key_of[node])
        return self.stands(node) if group is None else group.kind == "expr" and node is group.result

    def stand_ins(self) -> dict[Value, str]:
        """How other expressions refer to a result hidden in a module, or to an unnamed one that is left out."""
        found = {}
        for group in self.groups.values():
            for node in group.members if group.kind != "expr" else ():
                if group.kind == "module" or not node.name:
                    found[node] = group.name or "…"
        return found

    @property
    def size(self) -> int:
        return len(set(self.key_of.values()))


@dataclass(frozen=True)
class Rung:
    """How far a drawing is folded: repeats; modules, by depth; operands and parameters written into the cards that use
    them; the ends of the computation alone."""

    repeats: bool = False
    collapse: Collapse = None
    tucked: bool = False
    ends: int = 0


OPEN = Rung()


def fold(
    nodes: list[Value], options: Options, keep: Callable[[Value], bool], rung: Rung, structure: Callable[[], Structure]
) -> Folded:
    """The cards of a graph, oldest node first. Leaves for which `keep` holds stay visible. Without `rung.repeats`, of
    what repeats only the calls fold that are closed."""
    collapse = rung.collapse if options.collapse is None else options.collapse
    chosen = chooser(collapse)
    if rung.repeats:
        found = structure().folded()
    elif options.stepping or collapse is None or collapse is False:
        found = _alone(nodes)
    else:
        found = structure().folded(lambda run: run.call is not None and chosen(run.call))
    folded = _grouped(nodes, found, chosen, keep, shared=options.stepping)
    most = min(options.max_nodes, rung.ends or options.max_nodes)
    if (rung.ends or options.collapse is not None) and folded.size > most and (hidden := _leave_out(folded, most)):
        folded.note = FoldNote(len(nodes), hidden=hidden, options=what_opens(len(nodes), options))
    return folded


def every_module(nodes: list[Value], keep: Callable[[Value], bool]) -> list[Group]:
    """A group for each call that could fold, at any depth."""
    found, depths = _alone(nodes), range(1, deepest(nodes) + 1)
    return [group for depth in depths for group in _grouped(nodes, found, chooser(depth), keep).groups.values()]


def _alone(nodes: list[Value]) -> Fold:
    """Nothing folded."""
    return Fold({node: node for node in nodes}, {node: [node] for node in nodes})


def depth_of(scope: Scope) -> int:
    """1 for a module called by hand, or by a model (which has no name of its own and counts 0)."""
    return sum(1 for one in scope.chain() if one.name)


def _users(nodes: Iterable[Value]) -> dict[Value, list[Value]]:
    users: dict[Value, list[Value]] = defaultdict(list)
    for node in nodes:
        for x in node.parents:
            users[x].append(node)
    return users


def chooser(collapse: Collapse) -> Callable[[Scope], bool]:
    """The caller's `collapse` as a predicate: is this call one card?"""
    if collapse is None or collapse is False:
        return lambda scope: False
    if collapse is True:
        return lambda scope: True
    if isinstance(collapse, int):
        if collapse < 0:
            raise ValueError(f"collapse={collapse}: a depth counts from outside, 1 for every outermost module")
        return lambda scope: depth_of(scope) >= collapse
    if isinstance(collapse, str):
        return lambda scope: any(fnmatch.fnmatchcase(text, collapse) for text in (scope.path, scope.name, scope.kind))
    if callable(collapse):
        return lambda scope: bool(collapse(scope))
    if isinstance(collapse, Iterable):
        choosers = [chooser(part) for part in collapse]
        return lambda scope: any(chooser(scope) for chooser in choosers)
    raise TypeError(
        "collapse: expected a depth (1 folds every outermost module), a name or pattern such as 'blocks.*', "
        f"a list of these, or a function of a scope; got {collapse!r}"
    )


def deepest(nodes: Iterable[Value]) -> int:
    scopes = {id(node.scope): node.scope for node in nodes if node.scope is not None}
    return max((depth_of(scope) for scope in scopes.values()), default=0)


def _grouped(
    nodes: list[Value], found: Fold, chosen: Callable[[Scope], bool], keep: Callable[[Value], bool],
    shared: bool = False,
) -> Folded:  # fmt: skip
    """Every node on the card of the one that stands for it; calls that are chosen, the outermost of them, in one group
    with their copies. Leaves used by one group alone go into it; with `shared`, those of several groups into the first.
    """
    key_of = {node: f"n{index}" for index, node in enumerate(nodes)}
    folded = Folded(nodes, _users(nodes), key_of, found)
    groups, numbers = folded.groups, _call_numbers(nodes)
    copies: dict[str, dict[int, Group]] = defaultdict(dict)
    for node in nodes:
        first = found.representative[node]
        key_of[node] = key_of[first]
        if node.op is None or first.scope is None or node.scope is None:
            continue
        around, its = (list(reversed(list(one.scope.chain()))) for one in (first, node) if one.scope is not None)
        depth = next((depth for depth, scope in enumerate(around) if chosen(scope)), None)
        if depth is not None:
            key = key_of[node] = f"m{numbers[around[depth].serial]}"
            groups.setdefault(key, Group(key, "module", [], around[depth])).members.append(node)
            copy = copies[key].setdefault(its[depth].serial, Group(key, "module", [], its[depth]))
            copy.members.append(node)
    readers: dict[Value, list[str]] = {}  # the cards that use a leaf or one of its like
    for leaf in nodes:
        if leaf.op is None and not keep(leaf):
            alike = folded.members(leaf)
            if alike[0] not in readers:
                users = [user for member in alike for user in folded.users[member]]
                readers[alike[0]] = list(dict.fromkeys(key_of[user] for user in users))
            keys = readers[alike[0]]
            if keys and groups.keys() >= set(keys) and (len(keys) == 1 or shared):
                groups[keys[0]].absorbed.append(leaf)
                key_of[leaf] = keys[0]
    for key, group in groups.items():
        group.outputs = outputs_of(group.members, folded.users)
        if len(copies[key]) > 1:
            group.copies = list(copies[key].values())
    folded.count_times(found.runs)
    for key, group in groups.items():
        if group.copies:
            group.title = class_name([copy.scope.path for copy in group.copies if copy.scope], folded.times.get(key, 1))
        for copy in group.copies:
            copy.outputs = outputs_of(copy.members, folded.users)
    return folded


def class_name(names: Sequence[str], times: int = 1) -> str:
    """One name for several that differ in their numbers: `xᵢ` for x0 and x1, `blocks[i].norm` for blocks.0.norm and its
    like; with `times` the last number as a range, `neurons[0…15]`."""
    parts = [re.split(r"(\d+)", name) for name in dict.fromkeys(names)]
    first = parts[0]
    if len(parts) == 1 or len({len(part) for part in parts}) > 1:
        return "".join(first)
    varying = [at for at in range(1, len(first), 2) if len({part[at] for part in parts}) > 1]
    letters = iter("ijklmn")
    for at in varying:
        numbers = sorted({int(part[at]) for part in parts})
        is_range = times > 1 and at == varying[-1]
        text = f"{numbers[0]}…{numbers[-1]}" if is_range else next(letters, "n")
        before = first[at - 1]
        if not before or before.endswith("."):
            first[at - 1], text = before[:-1], f"[{text}]"
        elif before.endswith("#"):  # the numbers that tell equal names apart
            first[at - 1], text = before[:-1], SUBSCRIPTS.get(text, f"[{text}]")
        elif not before.endswith("["):
            first[at - 1] = before.rstrip("_") or before
            text = f"[{text}]" if is_range else SUBSCRIPTS.get(text, text)
        first[at] = text
    return "".join(first)


def _call_numbers(nodes: Iterable[Value]) -> dict[int, int]:
    """The calls of a graph by their serials, numbered in order: equal graphs have equal keys."""
    numbers: dict[int, int] = {}
    for scope in dict.fromkeys(node.scope for node in nodes if node.scope is not None):
        for one in reversed(list(scope.chain())):
            numbers.setdefault(one.serial, len(numbers))
    return numbers


def outputs_of(members: list[Value], users: dict[Value, list[Value]]) -> list[Value]:
    inside = set(members)
    return [node for node in members if not users[node] or any(user not in inside for user in users[node])]


# --- what is left out -------------------------------------------------------------------------------------


def _leave_out(folded: Folded, max_nodes: int) -> int:
    """Keeps both ends of the computation; the rest becomes one card. Returns how many nodes it hides."""
    made = list(dict.fromkeys(folded.key_of[node] for node in folded.nodes if node.op is not None))
    end = max(1, max_nodes // 4)
    middle = set(made[end : len(made) - end])
    if not middle:
        return 0

    def is_hidden(node: Value) -> bool:
        if node.op is not None or folded.key_of[node] in folded.groups:
            return folded.key_of[node] in middle
        users = folded.users[node]
        return bool(users) and all(folded.key_of[user] in middle for user in users)

    hidden = [node for node in folded.nodes if is_hidden(node)]
    for key in middle:
        folded.groups.pop(key, None)
    folded.groups["rest"] = Group("rest", "rest", hidden)
    folded.key_of.update(dict.fromkeys(hidden, "rest"))
    return len(hidden)
