"""Steps that run over the same numbers, as one loop.

A group has a domain: rows of some length. Its steps are of three kinds:

    wide      one number for each number of the domain
    row       one number for each row: a shape that ends in 1
    reduction over each row, which gives a row number; or over other axes, which is known when the group has run

A step joins a group if all that it reads is known by then, or comes from the group itself and lies at the same entry.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .places import Place, Shape
from .steps import Call, Loop

MOST = 64  # steps in a group, so that none grows beyond what a compiler likes
LOOK_BACK = 12  # groups of the same domain that a step tries to join


@dataclass
class Group:
    """Steps in order, and where they stand among the groups."""

    number: int
    domain: Shape
    steps: list[Loop] = field(default_factory=list)
    makers: dict[int, Loop] = field(default_factory=dict)  # root → the step in here that fills it
    call: Call | None = None


def is_row_reduction(step: Loop) -> bool:
    """Whether it reduces each row, and nothing else."""
    outer = [stride for n, stride in zip(step.domain[:-1], step.target.strides) if n != 1]
    return bool(step.reduce) and all(outer) and (not step.domain or step.domain[-1] == 1 or not step.target.strides[-1])


def grouped(steps: list[Loop | Call]) -> list[Group]:
    """All steps in groups, which run in order."""
    groups: list[Group] = []
    writers: dict[int, set[int]] = {}  # root → the groups that write it
    of_domain: dict[Shape, list[Group]] = {}
    for step in steps:
        group = None
        if isinstance(step, Loop):
            group = _joined(step, groups, of_domain, writers)
        if group is None:
            group = Group(len(groups), step.domain if isinstance(step, Loop) else ())
            groups.append(group)
            if isinstance(step, Loop):
                of_domain.setdefault(step.domain, []).append(group)
        if isinstance(step, Call):
            group.call = step
            written: tuple[int, ...] = step.writes
        else:
            group.steps.append(step)
            written = (step.target.root,)
            group.makers[step.target.root] = step
        for root in written:
            writers.setdefault(root, set()).add(group.number)
    return groups


def _joined(
    step: Loop, groups: list[Group], of_domain: dict[Shape, list[Group]], writers: dict[int, set[int]]
) -> Group | None:
    """The group that a step can join: one that it reads from, else the latest."""
    if writers.get(step.target.root):  # zeros came first, or other parts of it
        return None
    sources = {n for place in step.reads for n in writers.get(place.root, ())}
    near = [groups[n] for n in sorted(sources, reverse=True)]
    for group in (*near, *reversed(of_domain.get(step.domain, [])[-LOOK_BACK:])):
        small = len(group.steps) < MOST or not group.domain  # single numbers may become a tape
        if group.call is None and small and _fits(step, group, writers):
            return group
    return None


def _fits(step: Loop, group: Group, writers: dict[int, set[int]]) -> bool:
    row = step.domain and step.domain == (*group.domain[:-1], 1) and group.domain and not step.reduce
    if step.domain != group.domain and not row:
        return False
    for place in step.reads:
        for number in writers.get(place.root, ()):
            if number > group.number:
                return False
            if number == group.number and not _same_entry(place, group.makers[place.root], group, writers):
                return False
    return True


def _same_entry(place: Place, maker: Loop, group: Group, writers: dict[int, set[int]]) -> bool:
    """Whether a step of the group reads, at each entry, what another has just made there."""
    if maker.reduce and not (is_row_reduction(maker) and maker.domain == group.domain):
        return False
    alone = len(writers[place.root]) == 1
    return alone and place.offset == maker.target.offset and place.over(group.domain) == maker.target.over(group.domain)
