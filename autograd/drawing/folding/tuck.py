"""Operands written into the card that uses them: short unnamed results into its expression, parameters as its rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Any

from autograd.engine import Value
from autograd.formula.names import Names
from autograd.repeats import Repeat, pattern

from ..groups import Folded, Group
from .words import accumulates, is_summed

MOST_ROWS = 4  # of parameters on one card, before they keep cards of their own


def row_of(leaf: Value, names: Names) -> Any:
    """What parameters share that may stand in one row: scalars their name but for its numbers, `w[0…3]`."""
    name = names.own_name(leaf)
    return leaf if leaf.shape or not name else pattern(name)


def tuck(folded: Folded, names: Names, role: Callable[[Value], str], roots: Collection[Value]) -> None:
    """Changes `folded`: what only one card uses goes into that card, if it stands in the same frames."""
    drawn = [node for node in folded.nodes if folded.stands(node)]
    dissolved = [run for run in folded.runs() if _is_short_sum(folded, run, names)]
    hosts: dict[Value, Value] = {}
    rows: dict[Value, set[Any]] = defaultdict(set)  # of parameters in each card

    def frames(node: Value) -> list[Repeat]:
        return [run for run in folded.runs_around(node) if run not in dissolved]

    for node in reversed(drawn):
        user = None if any(member in roots for member in folded.members(node)) else _only_user(node, folded)
        if user is None or folded.key_of[user] in folded.groups or folded.key_of[node] in folded.groups:
            continue
        host = hosts.get(user, user)
        is_leaf = node.op is None
        same_frames = is_leaf or (frames(node) == frames(host) and node.scope is host.scope)
        if names.nestable(node) and same_frames:
            hosts[node] = host
        elif is_leaf and role(node) == "parameter" and len(rows[host] | {row_of(node, names)}) <= MOST_ROWS:
            hosts[node] = host
            rows[host].add(row_of(node, names))
    for node in reversed(hosts):
        host = hosts[node]
        key = folded.key_of[host]
        group = folded.groups.setdefault(key, Group(key, "expr", [host]))
        if node.op is None:
            group.absorbed.append(node)
        else:
            group.members.insert(-1, node)
        for member in folded.members(node):
            folded.key_of[member] = key
    folded.count_times([run for run in folded.runs() if run not in dissolved])


def _only_user(node: Value, folded: Folded) -> Value | None:
    """The one drawn node that uses it, in every piece, but for a running sum itself; None if a piece hands it on."""
    members = folded.members(node)
    users = {user for member in members for user in folded.users[member]}
    standing = {folded.fold.representative[user] for user in users}
    is_sum = accumulates(folded, members) is not None
    if len(standing) != 1 + is_sum:
        return None
    user = next((one for one in standing if one is not node), None)
    is_carried = any(node is run.rows[0][place] for run in folded.runs_around(node) for place in run.carried)
    return None if is_carried and not is_sum else user


def _is_short_sum(folded: Folded, run: Repeat, names: Names) -> bool:
    """Is it a sum whose terms are short, so that one expression says all of it?"""
    *terms, total = run.rows[0]
    return (
        run.carried == [len(terms)]
        and is_summed(folded, run)
        and names.nestable(total)
        and all(names.nestable(node) and _only_user(node, folded) is not None for node in terms)
    )
