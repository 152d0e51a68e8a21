"""What a card is called that stands for several: `xᵢ`, `x * cᵢ`, `E[i]`, `Σ wᵢ * xᵢ`."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.formula.names import Names
from autograd.formula.numbers import MINUS
from autograd.formula.text import ELLIPSIS
from autograd.formula.writers.writer import ATOM, SUM
from autograd.repeats import Repeat

from ..groups import Folded, class_name

LETTERS = {"parameter": "wvuabc", "input": "xzspqr"}  # for leaves without names, by their role
CARRIED = "hsruvyz"  # for values without names that go round
NUMBERS = "cdefghmnopq"  # for plain numbers that differ
INDICES = "ijklmnpqrst"
SHORTEST_DOT = 4  # operands of a weighted sum that is written with a Σ
SUBSCRIPT = re.compile(r"([ᵢⱼₖₗₘₙ])|\[([i-n])\]")  # in a name that is true of several
SUBSCRIPT_DIGITS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
NUMBERED = re.compile(r"[.\[]?(\d+|[i-n])\]?[ᵢⱼₖₗₘₙ]?$")  # the end of a name that others share
TWO_FACTORS = re.compile(r"^\(([^()\s]+ \* [^()\s]+)\)$")
ATOMIC = re.compile(r"[\w.]+").fullmatch


def call_classes(
    folded: Folded, names: Names, role: Callable[[Value], str]
) -> dict[Value, list[tuple[str, list[float]]]]:
    """Gives every node that stands for several a name or a formula that is true of all. Returns, by
    node, the plain numbers that differ between them, with their name."""
    letters = {kind: _free_letters(text, names) for kind, text in {**LETTERS, "": NUMBERS}.items()}
    several = {first: members for first, members in folded.fold.members.items() if len(members) > 1}
    taken: set[str] = set()
    for first, members in several.items():
        own = [name for name in map(names.own_name, members) if name]
        results = [name for name in map(names.result_name, members) if name]
        if first.op is None and len(own) < len(members):
            names.call(first, f"{next(letters[role(first)])}ᵢ", made_up=True)
        elif own:
            name = class_name(own)
            spellings = (name.replace("ᵢ", letter) for letter in "ᵢⱼₖₗₘ")
            names.call(first, next((spelling for spelling in spellings if spelling not in taken), name))
            taken.add(names.own_name(first))
        elif len(results) == len(members):
            names.call(first, class_name(results))
        if first.scope is not None:
            names.call_path(first, class_name([node.scope.path for node in members if node.scope is not None]))
    _call_carried(folded, names)
    varying: dict[Value, list[tuple[str, list[float]]]] = defaultdict(list)
    called: dict[tuple[float, ...], str] = defaultdict(lambda: f"{next(letters[''])}ᵢ")  # one name for the same numbers
    free = _free_letters(INDICES, names)
    indices: dict[str, str] = defaultdict(lambda: next(free))  # and the same indices the same letter
    for first, members in several.items():
        for place, x in enumerate(first.inputs):
            plain = [node.inputs[place] for node in members]
            if x is not None and not any(isinstance(one, Value) or np.ndim(one) for one in plain):
                numbers = [float(one) for one in plain]
                if min(numbers) != max(numbers):
                    names.call_operand(first, place, called[tuple(numbers)])
                    varying[first].append((called[tuple(numbers)], numbers))
    for node in filter(folded.stands, folded.nodes):
        for x in node.parents:
            if not folded.stands(x) and folded.key_of[x] not in folded.groups:
                names.stand_in({x: _as_piece(x, folded, names)})
        members = folded.members(node)
        if len(members) > 1 and (text := _index(node, members, names, indices) or _sum(folded, node, members, names)):
            names.spell(node, text)
    return varying


def _free_letters(text: str, names: Names) -> Iterator[str]:
    """Those that begin no name in use but for its numbers; when they run out, twice, and so on."""
    for times in itertools.count(1):
        for letter in text:
            if letter * times not in map(_stem, names.in_use):
                yield letter * times


def _stem(name: str) -> str:
    """A name without what tells it from others like it: `x` of `x0`, `x[1]` and `xᵢ`."""
    return re.sub(r"[\W\dᵢⱼₖₗₘₙ]+$", "", name)


def _call_carried(folded: Folded, names: Names) -> None:
    """Names every value that a later piece reads, and calls it there as that of a piece before: `xᵢ = xᵢ₋₁ − t1`. The
    first piece, whose formulas are shown, reads in its place where the loop starts: a leaf, or a plain 0."""
    letters = _free_letters(CARRIED, names)
    read: dict[Value, list[tuple[Value, int, int, int]]] = defaultdict(list)  # node, place, how far back, which index
    for run in folded.runs():
        pieces = {node: number for number, row in enumerate(run.rows) for node in row} if run.carried else {}
        for first, last in zip(run.rows[0], run.rows[-1]) if pieces else ():
            for place, x in enumerate(last.inputs) if folded.stands(first) else ():
                back = len(run) - 1 - pieces.get(x, len(run) - 1) if isinstance(x, Value) else 0
                source = folded.fold.representative[x] if back else first
                is_sum = source is first and accumulates(folded, folded.members(first)) is not None
                if back and not is_sum:
                    read[source].append((first, place, back, folded.runs_around(source).index(run)))
    for source, readers in read.items():
        group = folded.groups.get(folded.key_of[source])
        if group is None and not (names.own_name(source) or names.result_name(source)):
            starts = {names.own_name(node.inputs[place]) for node, place, _, _ in readers}
            names.call(source, f"{_stem_of(starts, names.in_use) or next(letters)}ᵢ", made_up=True)
        for node, place, back, index in readers:
            earlier = _earlier(names.named(source), back, index) if group is None else group.name or ELLIPSIS
            names.call_operand(node, place, earlier)


def _stem_of(starts: Collection[str], in_use: Collection[str]) -> str:
    """What a value is called that starts from `x0` or `x`: x, if no other name begins so."""
    start, *others = starts
    stem = _stem(start)
    is_taken = any(_stem(name) == stem and name != start for name in in_use)
    return stem if stem.isidentifier() and start in (stem, f"{stem}0") and not others and not is_taken else ""


def _earlier(name: str, back: int, index: int) -> str:
    """The name of an earlier one: `xᵢ₋₁`, `blocks[i−1]`, `l[i−1].n[j]`; `yᵢ₋₁` where the last is called y."""
    found = list(SUBSCRIPT.finditer(name))
    if not found:
        return f"{name}ᵢ₋{_subscript(back)}"
    one = found[min(index, len(found) - 1)]
    letter = f"{one[1]}₋{_subscript(back)}" if one[1] else f"[{one[2]}{MINUS}{back}]"
    return name[: one.start()] + letter + name[one.end() :]


def _subscript(number: int) -> str:
    return str(number).translate(SUBSCRIPT_DIGITS)


def _as_piece(x: Value, folded: Folded, names: Names) -> str:
    """How a formula refers to what another stands for: the last of a chain by that one's name, any other by its place,
    `t2[1]`; a carried one that has its name from here by its number, `x₅`."""
    first = folded.fold.representative[x]
    if x.op is None:
        return names.own_name(first).replace("ᵢ", "ⱼ")  # another than the first piece's first
    own = names.own_name(x) or names.result_name(x)
    if own or not folded.runs_around(first):
        return own or names.named(first)
    run = folded.runs_around(first)[-1]
    place = next(place for place, node in enumerate(run.rows[0]) if node is first)
    pieces = [row[place] for row in run.rows]
    is_last = run.carried and x is pieces[-1]
    if is_last and is_summed(folded, run):
        return names.name(first)
    name, is_here = names.named(first), any(node is x for node in pieces)
    number = next(number for number, node in enumerate(pieces if is_here else folded.members(x)) if node is x)
    if is_here and names.is_made_up(first) and name.endswith("ᵢ"):
        return name[:-1] + _subscript(number + 1)  # x₀ is where the loop starts
    return name if is_last else f"{name}[{number}]"


def is_summed(folded: Folded, run: Repeat) -> bool:
    """Is all that its pieces hand on a running sum?"""
    return all(accumulates(folded, folded.members(run.rows[0][place])) is not None for place in run.carried)


def accumulates(folded: Folded, members: list[Value]) -> int | None:
    """The place of the operand that a running sum adds or subtracts, `loss + part`; None if these nodes are none, or
    are read by more than the next of them."""
    if len(members) < 2 or members[1].op is None or members[1].op.name not in ("add", "sub"):
        return None
    inside = set(members)
    for node in members:
        users = folded.users[node]
        if any(user in inside for user in users) and len(users) > 1:
            return None
    where = [place for place, x in enumerate(members[1].inputs) if x is members[0]]
    is_sum = len(where) == 1 and (members[1].op.name == "add" or where[0] == 0)
    return 1 - where[0] if is_sum else None


def _sum(folded: Folded, first: Value, members: list[Value], names: Names) -> str:
    """`b + Σ wᵢ * xᵢ`: the Σ comes last, and what it sums is in brackets unless it is a name or two factors."""
    place = accumulates(folded, members)
    if place is None or first.op is None:
        return ""
    sign = "" if first.op.name == "add" else MINUS
    term = names.written(names.operand_at(first, place), as_rule=False, outer=ATOM)
    terms = "Σ " + TWO_FACTORS.sub(r"\1", term)
    start = first.inputs[1 - place]
    if not isinstance(start, Value) and not np.any(start):
        return sign + terms
    return f"{names.written(names.operand_at(first, 1 - place), as_rule=False, outer=SUM)} {sign or '+'} {terms}"


def spell_dots(folded: Folded, names: Names) -> None:
    """Writes weighted sums as `.b + Σ .w * layers.0.neurons`: each list by the name that its entries share."""
    for node in filter(folded.stands, folded.nodes):
        if node.op is not None and node.op.name == "dot" and len(node.inputs) >= SHORTEST_DOT:
            if node.scope is not None and folded.members(node) == [node]:
                names.call_path(node, node.scope.path)
            half = len(node.inputs) // 2
            parts = node.inputs[:half], node.inputs[half : 2 * half], node.inputs[2 * half :]
            left, right, rest = ([names.operand_name(x, node).strip("()") for x in part] for part in parts)
            names.spell(node, " + ".join([*rest, f"Σ {_shared(left)} * {_shared(right)}"]))


def _shared(called: list[str]) -> str:
    """What the names of a list share, else all of them."""
    stems = {NUMBERED.sub("", name) for name in called}
    return stems.pop() if len(stems) == 1 and all(stems) else f"[{', '.join(called)}]"


def _index(first: Value, members: list[Value], names: Names, letters: dict[str, str]) -> str:
    """`E[i]` where each reads another entry."""
    if first.op is None or "index" not in first.op.settings:
        return ""
    indices: list[Any] = [node.op.settings["index"] for node in members if node.op is not None]
    if all(repr(index) == repr(indices[0]) for index in indices):
        return ""
    name = names.operand_name(first.inputs[0], first)
    letter = letters[repr(indices)]
    return f"{name if ATOMIC(name) else f'({name})'}[{letter if len(indices[0]) == 1 else f'{letter}, …'}]"
