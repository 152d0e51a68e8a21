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
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd.engine import Value
from autograd.formula.numbers import count
from autograd.modes import Scope
from autograd.repeats import Fold, Repeat

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
        if self.scope is None or self.title:
            return self.title
        if not self.copies:
            return self.scope.path or self.scope.kind
        first, last = (_numbered(copy.scope) for copy in (self.copies[0], self.copies[-1]))
        return f"{first[0]}[{first[1]}…{last[1]}]"


def in_python(option: str, value: Any) -> str:
    return f"{option}={'…' if value is None else json.dumps(value) if isinstance(value, str) else value}"


@dataclass(frozen=True)
class FoldNote:
    """Says that the drawing folded on its own, and which options show more: (option, value, what it does)."""

    nodes: int
    shown: int = 0  # cards; 0 if nodes are left out
    hidden: int = 0  # nodes that are left out
    options: tuple[tuple[str, Any, str], ...] = ()

    def text(self, spelled: Spelling = in_python) -> str:
        did = f"{count(self.hidden)} of them left out" if self.hidden else f"shown folded to {count(self.shown)}"
        helps = ", ".join(f"{spelled(option, value)} {what}" for option, value, what in self.options)
        return f"{count(self.nodes)} nodes, {did}; {helps}"


@dataclass
class Folded:
    """The outcome: `key_of` every node, the `groups` by key, and a note when the drawing folded on its own. `users` are
    the nodes made from each node. Where pieces are folded, `fold` says which node stands for which, and `times` how
    often a card stands for a whole piece."""

    nodes: list[Value]
    users: dict[Value, list[Value]]
    key_of: dict[Value, str]
    groups: dict[str, Group] = field(default_factory=dict)
    note: FoldNote | None = None
    fold: Fold | None = None
    times: dict[str, int] = field(default_factory=dict)

    def stands(self, node: Value) -> bool:
        """Is it drawn, for itself or for others too?"""
        return self.fold is None or self.fold.representative[node] is node

    def members(self, node: Value) -> list[Value]:
        """All that a node stands for, in order."""
        return [node] if self.fold is None else self.fold.members[self.fold.representative[node]]

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
        return Group(key, "module", members, outputs=_outputs(members, self.users), title=title)

    def runs(self) -> list[Repeat]:
        return [] if self.fold is None else self.fold.runs

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


def fold(nodes: list[Value], options: Options, keep: Callable[[Value], bool], rung: Rung, found: Fold | None) -> Folded:
    """The cards of a graph, oldest node first. Leaves for which `keep` holds stay visible."""
    chosen = chooser(rung.collapse if options.collapse is None else options.collapse)
    if rung.repeats and found is not None:
        folded = _quotient(nodes, found, chosen, keep)
    else:
        folded = _collapse(nodes, _users(nodes), chosen, keep, repeats=not options.stepping)
    most = min(options.max_nodes, rung.ends or options.max_nodes)
    if (rung.ends or options.collapse is not None) and folded.size > most and (hidden := _leave_out(folded, most)):
        folded.note = FoldNote(len(nodes), hidden=hidden, options=(("max_nodes", len(nodes), "draws them all"),))
    return folded


def every_module(nodes: list[Value], keep: Callable[[Value], bool]) -> list[Group]:
    """A group for each call that could fold, at any depth, and one (key `x…`) for each run of copies."""
    users = _users(nodes)
    found: list[Group] = []
    for depth in range(1, deepest(nodes) + 1):
        for group in _collapse(nodes, users, chooser(depth), keep).groups.values():
            found += [replace(group, key=group.page_key), *group.copies]
    return found


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


def _collapse(
    nodes: list[Value], users: dict[Value, list[Value]], chosen: Callable[[Scope], bool], keep: Callable[[Value], bool],
    repeats: bool = True,
) -> Folded:  # fmt: skip
    """One group per chosen call; the outermost chosen call wins. Leaves used by one group alone go into it. Without
    `repeats`, copies of a module keep a card each, and leaves that only they share go into the first."""
    folded = Folded(nodes, users, {node: f"n{index}" for index, node in enumerate(nodes)})
    groups, key_of = folded.groups, folded.key_of
    calls: dict[int, Scope | None] = {}
    numbers = _call_numbers(nodes)

    def call_of(scope: Scope) -> Scope | None:
        if scope.serial not in calls:
            calls[scope.serial] = next((one for one in reversed(list(scope.chain())) if chosen(one)), None)
        return calls[scope.serial]

    for node in nodes:
        call = call_of(node.scope) if node.scope is not None and node.op is not None else None
        if call is not None:
            key = f"m{numbers[call.serial]}"
            groups.setdefault(key, Group(key, "module", [], call)).members.append(node)
            key_of[node] = key
    for leaf in nodes:
        if leaf.op is None and users[leaf] and not keep(leaf):
            first, *others = dict.fromkeys(key_of[user] for user in users[leaf])
            if first in groups and (not others or (not repeats and groups.keys() >= set(others))):
                groups[first].absorbed.append(leaf)
                key_of[leaf] = first
    for group in groups.values():
        group.outputs = _outputs(group.members, users)
    if repeats:
        _fold_repeats(folded)
    return folded


def _quotient(
    nodes: list[Value], found: Fold, chosen: Callable[[Scope], bool], keep: Callable[[Value], bool]
) -> Folded:
    """Every node on the card of the one that stands for it; calls that are chosen, in one group with their copies."""
    key_of = {node: f"n{index}" for index, node in enumerate(nodes)}
    folded = Folded(nodes, _users(nodes), key_of, fold=found)
    groups, numbers = folded.groups, _call_numbers(nodes)
    copies: dict[str, dict[int, Group]] = defaultdict(dict)
    for node in nodes:
        first = found.representative[node]
        if node.op is None or first.scope is None or node.scope is None:
            key_of[node] = key_of[first]
            continue
        around, its = (list(reversed(list(one.scope.chain()))) for one in (first, node) if one.scope is not None)
        depth = next((depth for depth, scope in enumerate(around) if chosen(scope)), None)
        if depth is None:
            key_of[node] = key_of[first]
            continue
        key = key_of[node] = f"m{numbers[around[depth].serial]}"
        groups.setdefault(key, Group(key, "module", [], around[depth])).members.append(node)
        copy = copies[key].setdefault(its[depth].serial, Group(key, "module", [], its[depth]))
        copy.members.append(node)
    for leaf in nodes:
        keys = {key_of[user] for member in found.members[found.representative[leaf]] for user in folded.users[member]} \
            if leaf.op is None and not keep(leaf) else ()  # fmt: skip
        if len(keys) == 1 and (only := next(iter(keys))) in groups:
            groups[only].absorbed.append(leaf)
            key_of[leaf] = only
    for key, group in groups.items():
        group.outputs = _outputs(group.members, folded.users)
        if len(copies[key]) > 1:
            group.copies = list(copies[key].values())
    folded.count_times(found.runs)
    for key, group in groups.items():
        if group.copies:
            group.title = class_name([copy.scope.path for copy in group.copies if copy.scope], folded.times.get(key, 1))
        for copy in group.copies:
            copy.outputs = _outputs(copy.members, folded.users)
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


def _outputs(members: list[Value], users: dict[Value, list[Value]]) -> list[Value]:
    inside = set(members)
    return [node for node in members if not users[node] or any(user not in inside for user in users[node])]


# --- repeated modules -------------------------------------------------------------------------------------


def _numbered(scope: Scope | None) -> tuple[str, int]:
    """`blocks.2` as ("blocks", 2); a number of -1 says that the name has none."""
    found = re.fullmatch(r"(.*?)\.?\[?(\d+)\]?", scope.path if scope else "")
    return (found[1], int(found[2])) if found else ("", -1)


def _signature(group: Group) -> Any:
    """What two calls must share to be copies of each other."""
    scope = group.scope
    assert scope is not None
    ops = tuple(node.op.name for node in group.members if node.op)
    sizes = tuple(sorted(np.shape(leaf.data) for leaf in group.absorbed))
    outer = scope.parent.serial if scope.parent else -1
    return outer, scope.kind, _numbered(scope)[0], ops, sizes, group.result.shape


def _fold_repeats(folded: Folded) -> None:
    """Copies that follow one another, or stand side by side on the same inputs, become one card."""
    before, after = _neighbours(folded)
    runs: list[list[Group]] = []
    for group in folded.groups.values():
        last = runs[-1][-1] if runs else None
        if (
            last is not None
            and _is_next_copy(group, last)
            and (after[last.key] == {group.key} or before[last.key] == before[group.key])
        ):
            runs[-1].append(group)
        else:
            runs.append([group])
    for run in runs:
        if len(run) > 1:
            _merge(folded, run)


def _is_next_copy(group: Group, last: Group) -> bool:
    number = _numbered(group.scope)[1]
    return number >= 0 and number == _numbered(last.scope)[1] + 1 and _signature(group) == _signature(last)


def _neighbours(folded: Folded) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    before, after = defaultdict(set), defaultdict(set)
    for node in folded.nodes:
        head = folded.key_of[node]
        for x in node.parents:
            tail = folded.key_of[x]
            if tail != head:
                before[head].add(tail)
                after[tail].add(head)
    return before, after


def _merge(folded: Folded, run: list[Group]) -> None:
    members = [node for group in run for node in group.members]
    absorbed = [leaf for group in run for leaf in group.absorbed]
    whole = Group(run[0].key, "module", members, run[0].scope, _outputs(members, folded.users), absorbed, run)
    for group in run:
        del folded.groups[group.key]
    folded.groups[whole.key] = whole
    folded.key_of.update(dict.fromkeys((*members, *absorbed), whole.key))


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
