"""From a graph of Values to a Scene: the cards, edges and frames of a drawing.

All numbers are read at once, so a drawing keeps those of the moment it was made.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograd.engine import Value, contributions
from autograd.formula.name_sources import operands_of
from autograd.formula.names import Names
from autograd.formula.numbers import DRAWN, count, norm, shows_entries
from autograd.formula.text import clipped
from autograd.formula.unfolding import Unfolded
from autograd.gradients import edited_inputs
from autograd.graph import calls_around, topological
from autograd.modes import Scope, enable_grad
from autograd.op import Op, apply
from autograd.repeats import Repeat, Structure, pattern

from .cards import brief_row, finite, module_card, plain_card, rest_card, value_card
from .edges import Edges
from .folding.rows import ends, fold_rows, parameter_row
from .folding.tuck import MOST_ROWS, row_of, tuck
from .folding.words import accumulates, call_classes, is_summed, spell_dots
from .groups import OPEN, Collapse, Folded, Group, Rung, Spelling, class_name, every_module, fold
from .groups import chooser as chooser
from .groups import in_python as in_python
from .layout.arrange import GRAPHVIZ_MOST
from .options import Options, refuse_unknown
from .roles import Roles
from .scene import Card, Frame, Row, Scene

NESTED_UP_TO = 2000  # nodes up to which unnamed operands stand inside expressions
TOLD_UP_TO = 1000  # cards that say on hover what they show; beyond it a file gets too large
LONGEST_TITLE = 60
DESCRIBED = 60  # cards that the picture's description reads out
GRADIENTS = ("grad", "unknown")  # kinds of rows and blocks
EDITED = "edited since"  # on the card of a leaf whose data is newer than the results
NAMED_IN_NOTE = 3  # leaves that a note names
SUMMED_UP_TO = 300, 100_000  # nodes and numbers of a graph whose leaves' gradients are added up again
NOISE = 1e-3  # of what was added up: a smaller difference may be rounding, also in float16


class Reader:
    """One graph, read for a drawing: `scene()` gives the picture; the interactive page uses the other attributes too.

    Fused ops are opened where a card will show them; with `thorough`, in folded modules too.
    """

    def __init__(
        self, root: Value | Sequence[Value], options: Options, names: Names | None = None, thorough: bool = False,
        rung: Rung = OPEN, base: Reader | None = None,
    ) -> None:  # fmt: skip
        self.source, self.rung = root, rung
        self.options = replace(options, detail="brief") if rung.tucked else options
        if base is not None and base.rung.collapse == rung.collapse:
            for attribute in ("nodes", "roots", "edited", "role", "_own_names"):
                setattr(self, attribute, getattr(base, attribute))
            self._base: Reader = base
        else:
            self._base = self
            self._read(root, names, thorough)

    def _read(self, root: Value | Sequence[Value], names: Names | None, thorough: bool) -> None:
        """The graph itself: its nodes, with fused ops opened, and what they are called."""
        options = self.options
        collapse = self.rung.collapse if options.collapse is None else options.collapse
        several = [root] if isinstance(root, Value) else list(_checked(root))
        with enable_grad():
            joint = several[0] if len(several) == 1 else apply(_JOINT, tuple(several))
        opened = Unfolded(joint, _folded_by(collapse) if not thorough else lambda node: False).root
        self.nodes = topological(opened)
        self.roots = [opened]
        if len(several) > 1:
            self.nodes.pop()
            self.roots = list(dict.fromkeys(opened.parents))
        self._own_names = names or Names(self.nodes, options.names, nest=len(self.nodes) <= NESTED_UP_TO)
        refuse_unknown(self.nodes, self._own_names, options.collapse, options.inputs, options.parameters)
        self.edited = {leaf: None for node in self.nodes for leaf in edited_inputs(node)}  # in order of use
        self.role = Roles(self.nodes, self._own_names, options.inputs, options.parameters, self.roots)

    @functools.cached_property
    def structure(self) -> Structure:
        """What repeats in the graph, found once for all rungs."""
        return Structure(self.nodes, self._label) if self._base is self else self._base.structure

    @functools.cached_property
    def folded(self) -> Folded:
        """Which nodes share a card."""
        return fold(self.nodes, self.options, self._stays, self.rung, lambda: self.structure)

    @functools.cached_property
    def _words(self) -> tuple[Names, dict[Value, list[tuple[str, list[float]]]]]:
        """What the cards are called, and the plain numbers that differ behind one card. Short operands and parameters
        then go into the cards that use them, if they are to."""
        folded, names = self.folded, self._own_names if self.options.stepping else self._own_names.anew()
        names.stand_in(folded.stand_ins())
        varying = call_classes(folded, names, self.role)
        if not self.options.stepping:
            spell_dots(folded, names)
        names.read(filter(folded.shows, self.nodes))
        if self.rung.tucked:
            tuck(folded, names, self.role, set(self.roots))
        return names, varying

    @property
    def names(self) -> Names:
        return self._words[0]

    def _label(self, node: Value) -> str:
        """What tells nodes apart that must not fold together: names without their numbers, and the roles of leaves."""
        name = pattern(self._own_names.own_name(node))
        return f"{self.role(node)} {name}" if node.op is None and name else name

    def scene(self) -> Scene:
        """The picture as data."""
        names = self.names
        tooltips = self.folded.size <= TOLD_UP_TO
        tables = self._shows_tables()
        edges = self.edges = Edges(self.nodes, self.folded, names, self.options, tooltips)
        cards = self._cards(tooltips)
        direction = self.options.direction or ("TB" if tables else "LR")
        cards += [
            plain_card(key, array, self.names, self.options, edges.parts[key]) for key, array in edges.arrays.items()
        ]
        return Scene(
            tuple(_mark_first_trouble(cards)),
            tuple(edges.edges),
            tuple(self._frames()),
            tuple(self._rows()) if len(cards) <= GRAPHVIZ_MOST else (),
            direction,
            self.options.title or self._title(),
            _description(cards),
            self.notes(),
            edges.legend,
        )

    def notes(self, spelled: Spelling = in_python) -> tuple[str, ...]:
        """What the picture says about itself, with options `spelled` as the caller types them."""
        folding = (self.folded.note.text(spelled),) if self.folded.note else ()
        return (*folding, *self._edited_notes(), *self._summed_notes, *self.edges.notes)

    def _shows_tables(self) -> bool:
        """Will a card show an array entry by entry? Tables are wide, so they go below one another."""
        return self.options.detail != "brief" and any(
            node.data.__class__ is not float and np.ndim(node.data) and shows_entries(node.shape, DRAWN)
            for node in self.nodes
            if self.folded.shows(node)
        )

    def rules(self) -> dict[str, str]:
        """By card, what its node sends back: the op's own rule, one line an operand."""
        found = {}
        for node in self.nodes:
            if node.op is not None and node.requires_grad and self.folded.shows(node):
                parts = zip(node.inputs, self.names.rule(node))
                lines = [f"to {self.names.name(x)}: {part}" for x, part in parts
                         if part is not None and isinstance(x, Value)]  # fmt: skip
                found[self.folded.key_of[node]] = "\n".join(lines)
        return found

    def modules(self, repeats: bool) -> list[Group]:
        """What a page may close: every module call, at any depth, and a run of calls as one; with `repeats` also what
        repeats without a module, and each of its pieces."""
        calls = every_module(self.nodes, self._stays)
        found: list[Group] = []
        call_of = {group.scope.serial: group for group in calls if group.scope is not None}
        for index, run in enumerate(self.structure.every_repeat()):
            members = [node for row in run.rows for node in row]
            if run.call is None and repeats:
                name = self._run_name(run)
                pieces = [self.folded.group(f"r{index}p{number}", row, f"{name.rstrip('ᵢ')}[{number}]")
                          for number, row in enumerate(run.rows)]  # fmt: skip
                found += [replace(self.folded.group(f"r{index}", members, name), copies=pieces), *pieces]
            elif run.call is not None and run.call.serial in call_of:
                copies = [call_of[piece[0].scope.serial] for piece in run.pieces]
                name = class_name([copy.name for copy in copies], times=len(copies))
                whole = self.folded.group(f"x{copies[0].key[1:]}", members, name)
                found.append(replace(whole, scope=copies[0].scope, copies=copies))
        return [*found, *calls]

    # --- cards --------------------------------------------------------------------------------------------

    def _stays(self, leaf: Value) -> bool:
        """An input of the model keeps a card of its own when the module that uses it is folded."""
        return self.role(leaf) == "input"

    def _cards(self, tooltips: bool) -> list[Card]:
        cards: dict[str, Card] = {}
        for node in self.nodes:
            key = self.folded.key_of[node]
            if key not in cards and self.folded.stands(node):
                cards[key] = self._card(key, node, tooltips)
        return list(cards.values())

    def _card(self, key: str, node: Value, tooltips: bool) -> Card:
        card = self._whole_card(key, node, tooltips)
        return card if self.options.backward else _without_gradient(card)

    def _whole_card(self, key: str, node: Value, tooltips: bool) -> Card:
        group = self.folded.groups.get(key)
        if group is None:
            card = value_card(key, node, self.names, self._role_of(node), self.options, tooltips)
            card = _marked_edited(card) if node in self.edited else card
            return card if len(self.folded.members(node)) == 1 else self._fold_card(card, node)
        if group.kind == "expr":
            return self._tucked_card(key, group, tooltips)
        if group.kind == "rest":
            return rest_card(group)
        return self.module_card(group)

    def _role_of(self, node: Value) -> str:
        """Its role, or that of a root that it stands for."""
        members = set(self.folded.members(node))
        return next((self.role(root) for root in self.roots if root in members), self.role(node))

    def _fold_card(self, card: Card, node: Value) -> Card:
        """The card of a node that stands for several: their numbers, and how many they are."""
        members = self.folded.members(node)
        runs = self.folded.runs_around(node if node.op is not None else self._user(node))
        in_a_row = len(runs) == 1 and len(runs[0]) == len(members) and self._is_in_a_row(runs[0])
        brief = self.options.detail == "brief"
        totals = members[len(runs[-1]) - 1 :: len(runs[-1])] if accumulates(self.folded, members) is not None else []
        asks = any(member.requires_grad or member.grad is not None for member in members)
        rows = fold_rows(members, in_a_row, totals, brief, asks)
        rows += [Row(name, ends(numbers, False), "info") for name, numbers in self._words[1].get(node, ())]
        times = self.folded.times.get(card.key, len(members) if node.op is None else 1)
        bad = any(row.bad for row in rows)
        how = "in a row" if in_a_row and times > 1 else card.word
        says = f"{card.name or card.expression}, {count(len(members))} of them{' in a row' if in_a_row else ''}"
        numbers = ", ".join(f"{row.caption} {row.text}".strip() for row in rows)
        tooltip = {"holds": f"{count(len(members))} nodes"}
        return replace(card, rows=tuple(rows), blocks=(), copies=times, bad=bad, word=card.word or how, says=says,
                       says_value=numbers, says_gradient="", tooltip=tooltip)  # fmt: skip

    def _user(self, leaf: Value) -> Value:
        """The card that a leaf goes into first."""
        return self.folded.fold.representative[self.folded.users[leaf][0]]

    def _tucked_card(self, key: str, group: Group, tooltips: bool) -> Card:
        """A card with its parameters as rows, and one line of numbers."""
        node = group.members[-1]
        whole = value_card(key, node, self.names, self._role_of(node), self.options, tooltips)
        if len(self.folded.members(node)) > 1:
            whole = self._fold_card(whole, node)
        parameters = [parameter_row(leaves, name) for name, leaves in self.parameter_rows(group)]
        bad = whole.bad or any(not finite(member) for part in group.members for member in self.folded.members(part))
        return replace(whole, rows=(*parameters, *(whole.rows or (brief_row(node),))), bad=bad)

    def parameter_rows(self, group: Group) -> list[tuple[str, list[Value]]]:
        """The parameters in a card by row, each with its name: if they are many, those that are alike in one."""
        rows: dict[Any, list[Value]] = {}
        for leaf in group.absorbed:
            rows.setdefault(row_of(leaf, self.names) if len(group.absorbed) > MOST_ROWS else leaf, []).append(leaf)
        return [
            (class_name([self.names.name(leaf) for leaf in leaves], times=len(leaves)),
             [member for leaf in leaves for member in self.folded.members(leaf)])
            for leaves in rows.values()
        ]  # fmt: skip

    def module_card(self, group: Group, times: int | None = None) -> Card:
        return module_card(group, self.parameters_of, self.options, times or self.folded.times.get(group.key))

    def parameters_of(self, group: Group) -> list[Value]:
        """The parameters a module uses, also those it shares."""
        used = {
            leaf: None
            for node in group.members
            for leaf in node.parents
            if leaf.op is None and self.role(leaf) == "parameter"
        }
        return list(used)

    def _edited_notes(self) -> tuple[str, ...]:
        """Which leaves are newer than the results, and what the picture leaves out because of it."""
        if not self.edited:
            return ()
        listed = self._listed(self.edited)
        note = (
            f"{listed} was edited after this graph was computed: its value is newer than the results"
            if len(self.edited) == 1
            else f"{listed} were edited after this graph was computed: their values are newer than the results"
        )
        left_out = "edges that would need the old values show no numbers: compute the result again to see them"
        return (note, left_out) if self.options.wants_numbers and self.has_backward else (note,)

    @property
    def has_backward(self) -> bool:
        """Has a backward pass started at a root?"""
        return any(root.grad is not None for root in self.roots)

    @functools.cached_property
    def _summed_notes(self) -> tuple[str, ...]:
        """Which leaves have another gradient than this graph's own pass gives them. The nodes between keep that of the
        last pass, so the numbers of the picture do not fit together."""
        most_nodes, most_numbers = SUMMED_UP_TO
        if self.edited or not self.has_backward or len(self.nodes) > most_nodes:
            return ()
        if sum(np.size(node.data) for node in self.nodes) > most_numbers:
            return ()
        times = {leaf: n for leaf, one in _one_pass(self.nodes).items() if (n := _times(leaf.grad, one)) != 1}
        if not times:
            return ()
        they = f"the gradient{'s' * (len(times) > 1)} of {self._listed(times)} {'are' if len(times) > 1 else 'is'}"
        if len(multiples := set(times.values())) == 1 and None not in multiples:
            return (f"{they} {multiples.pop()} times what one backward pass gives: backward() adds to what is there",)
        why = "other passes and other uses add to the gradient of a leaf, clipping and hooks change it"
        return (f"{they} not what the other cards give: {why}",)

    def _listed(self, leaves: Collection[Value]) -> str:
        """`w0, w1, w2 and 2 more`"""
        names = [self.names.name(leaf) for leaf in itertools.islice(leaves, NAMED_IN_NOTE)]
        if (more := len(leaves) - NAMED_IN_NOTE) > 0:
            names.append(f"{count(more)} more")
        return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)

    # --- frames and rows ----------------------------------------------------------------------------------

    def _frames(self) -> list[Frame]:
        """A frame for every open call that made two cards or more: round one op it would say nothing."""
        members: dict[int, dict[str, None]] = {}
        scopes = {}
        for node in filter(self.folded.stands, self.nodes):
            key = self.folded.key_of[node]
            for one in self._open_calls(node, key):
                scopes[one.serial] = one
                members.setdefault(one.serial, {})[key] = None
        members = {serial: keys for serial, keys in members.items() if scopes[serial].name and len(keys) > 1}
        runs = self._run_frames()
        self._add_leaves(members, {})
        self._add_leaves(dict(enumerate(runs.values())), dict(enumerate(runs)))
        repeated = [
            Frame(f"r{index}", self._run_name(run), self._run_kind(run), tuple(keys), len(run), self._order_of(run))
            for index, (run, keys) in enumerate(runs.items())
        ]
        known = {run.call.serial for run in runs if run.call is not None}
        return repeated + [Frame(f"s{serial}", scopes[serial].path, scopes[serial].kind, tuple(keys))
                           for serial, keys in members.items() if serial not in known]  # fmt: skip

    def _run_frames(self) -> dict[Repeat, dict[str, None]]:
        """The cards of the first piece of each folded repeat that is more than one card."""
        found = {}
        for run in self.folded.runs():
            keys = dict.fromkeys(self.folded.key_of[node] for node in run.rows[0])
            if len(keys) > 1:
                found[run] = keys
        return found

    def _run_name(self, run: Repeat) -> str:
        """What a piece is: the call it is made of, or the last result in it that has a name."""
        if run.call is not None:
            return class_name([one.scope.path for (one,) in run.pieces])
        own = self._own_names.own_name
        named = [place for place, node in enumerate(run.rows[0]) if any(map(own, self.folded.members(node)))]
        if not named:
            return "step" if self._is_in_a_row(run) else "each"
        return class_name([name for row in run.rows if (name := self.names.own_name(row[named[-1]]))])

    def _order_of(self, run: Repeat) -> str:
        """How its pieces follow one another."""
        if not run.carried:
            return "side by side"
        return "in a row" if self._is_in_a_row(run) else "summed"

    def _is_in_a_row(self, run: Repeat) -> bool:
        """Does a piece depend on the one before, but for a running sum?"""
        return bool(run.carried) and not is_summed(self.folded, run)

    def _run_kind(self, run: Repeat) -> str:
        return run.call.kind if run.call is not None else ""

    def _open_calls(self, node: Value, key: str) -> list[Scope]:
        """The calls around a card that are not folded into it, innermost first."""
        group = self.folded.groups.get(key)
        if group is None:
            return calls_around(node)
        return list(group.scope.parent.chain()) if group.scope is not None and group.scope.parent is not None else []

    def _add_leaves(self, members: dict[int, dict[str, None]], runs: dict[int, Repeat]) -> None:
        """A parameter or plain array used inside one call only stands inside its frame; of a repeat's, also an input,
        unless the first piece alone uses it, such as the state that a loop starts from."""
        users: dict[str, set[str]] = {}
        for node in filter(self.folded.stands, self.nodes):
            for x in operands_of(node):
                tail = self.edges.tail(node, x)
                if tail is not None and (not isinstance(x, Value) or (x.op is None and (runs or not self._stays(x)))):
                    users.setdefault(tail, set()).add(self.folded.key_of[node])
        for serial, keys in members.items():
            inside = set(keys)
            starts = self._starts(runs[serial]) if serial in runs else set()
            keys.update(dict.fromkeys(tail for tail, heads in users.items() if heads <= inside and tail not in starts))

    def _starts(self, run: Repeat) -> set[str]:
        """The cards of leaves that only the first piece reads."""
        first, later = ({self.folded.key_of[x] for row in rows for node in row for x in node.parents if x.op is None}
                        for rows in (run.rows[:1], run.rows[1:]))  # fmt: skip
        return first - later

    def _rows(self) -> list[tuple[str, ...]]:
        """Results of the same op on the same input, equally far from the leaves, share a rank: Q, K, V."""
        rank: dict[Value, int] = {}
        alike: dict[tuple[str, int, int], list[str]] = {}
        for node in filter(self.folded.stands, self.nodes):
            rank[node] = 1 + max((rank.get(x, -1) for x in node.parents), default=-1)
            key = self.folded.key_of[node]
            if node.op is not None and key not in self.folded.groups and len(node.parents) > 1:
                alike.setdefault((node.op.name, id(node.inputs[0]), rank[node]), []).append(key)
        return [tuple(keys) for keys in alike.values() if len(keys) > 1]

    def _title(self) -> str:
        named = [self.names.own_name(root) or self.names.expression(root) or "a value" for root in self.roots]
        what = " and ".join(named)
        return f"computation graph of {clipped(what, LONGEST_TITLE)}"


def _checked(roots: Any) -> Sequence[Value]:
    """Several roots, all of them Values; at least one."""
    for root in roots if isinstance(roots, list | tuple) and roots else [roots]:
        if not isinstance(root, Value):
            raise TypeError(
                f"draw: expected a Value, the root of a graph; got {root!r:.80} ({type(root).__name__}). "
                "Compute something with Values first, such as draw(Value(2.0) * 3)"
            )
    return roots


# Joins several roots while their graph is read.
_JOINT = Op("roots", "[*xs]", forward=lambda *xs: 0.0, vjp=lambda g, out, *xs: (None,) * len(xs), register=False)


def _without_gradient(card: Card) -> Card:
    """The card of a drawing of values alone."""
    rows = tuple(row for row in card.rows if row.kind not in GRADIENTS)
    blocks = tuple(block for block in card.blocks if block.kind not in GRADIENTS)
    tooltip = {caption: text for caption, text in card.tooltip.items() if caption != "grad"}
    return replace(card, rows=rows, blocks=blocks, says_gradient="", tooltip=tooltip)


def _folded_by(collapse: Collapse) -> Callable[[Value], bool]:
    """Is a node in a module that the caller folds? Its steps are then not shown."""
    chosen = chooser(collapse)
    return lambda node: any(map(chosen, calls_around(node)))


@np.errstate(all="ignore")
def _one_pass(nodes: list[Value]) -> dict[Value, tuple[Any, float]]:
    """What each leaf gets from the nodes that use it, whose gradients are known; and how much was added up."""
    sums: dict[Value, tuple[Any, float]] = {}
    unknown: set[Value] = set()
    for node in nodes:
        if node.op is None or not any(x.op is None and x.grad is not None for x in node.parents):
            continue
        if node.requires_grad and node.grad is None:
            unknown.update(node.parents)
        for x, part in contributions(node, node.grad) if node.grad is not None else ():
            if x.op is None and x.grad is not None:
                so_far, size = sums.get(x, (0.0, 0.0))
                sums[x] = so_far + part, size + norm(part)
    return {leaf: found for leaf, found in sums.items() if leaf not in unknown}


def _times(gradient: Any, one: tuple[Any, float]) -> int | None:
    """How many times the gradient of one pass a gradient is; None if it is no such multiple."""
    expected, size = one
    if not math.isfinite(size + norm(gradient)) or norm(gradient - expected) <= NOISE * size:
        return 1  # or nothing can be said
    multiple = round(norm(gradient) / norm(expected)) if norm(expected) > NOISE * size else 0
    return multiple if norm(gradient - multiple * expected) <= NOISE * multiple * size else None


def _marked_edited(card: Card) -> Card:
    value = card.says_value and f"{card.says_value}; {EDITED} the results were computed"
    return replace(card, word=EDITED, says_value=value)


def _mark_first_trouble(cards: list[Card]) -> list[Card]:
    """The first card in forward order whose value went bad says so."""
    for index, card in enumerate(cards):
        tables = [block.table for block in card.blocks if block.table and block.kind == "value"]
        shown = [cell.text for table in tables for row in table.rows for cell in row if cell.kind == "bad"]
        shown += [row.text for row in card.rows if row.bad and row.kind != "grad"]
        if shown:
            word = "first NaN" if any("NaN" in text for text in shown) else "first ∞"
            return [*cards[:index], replace(card, trouble=word), *cards[index + 1 :]]
    return cards


def _description(cards: Iterable[Card]) -> str:
    """The computation read out in order."""
    sentences = [card.says or card.name or card.expression for card in cards]
    more = f"; and {count(len(sentences) - DESCRIBED)} more" if len(sentences) > DESCRIBED else ""
    return "; ".join(sentences[:DESCRIBED]) + more + "."
