"""Steps folded and opened: a module's call as one step; what one step does inside, as a stepper of its own.

Of what repeats (`autograd/repeats.py`: neurons, samples, steps of a loop) the first piece is stepped through, and the
others are one step: they become a call of their own, a `Rest`, that closes like a module's.
"""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd.attached import Attached
from autograd.drawing.groups import chooser, class_name, depth_of
from autograd.engine import Value
from autograd.graph import calls_around, leaves
from autograd.modes import Scope, enable_grad
from autograd.op import apply
from autograd.repeats import Repeat, Structure, pattern

from .steps import BACKWARD, Contribution, Step, numbered

if TYPE_CHECKING:
    from .stepper import Stepper

MOST_OPEN = 100  # nodes; beyond them what repeats is one step
MOST_STEPS = 1000  # and beyond so many, modules close

Closed = Callable[[Scope], bool]


class Rest(Scope):
    """All pieces of what repeats but the first, as one call. Its serial is the same when the graph is computed anew."""

    __slots__ = ()


def closed_by_default(steps: list[Step]) -> Closed:
    """What must close for the steps to become few enough: what repeats; then modules, the innermost first."""
    if steps and _Shown(steps[0].words.nodes).left > MOST_OPEN:
        _enclose_repeats(steps[0].words.nodes, steps[0].words.names.own_name)
    depth = max((depth_of(step.twin.scope) for step in steps if step.twin.scope is not None), default=0) + 1
    while depth > 1 and len(folded(steps, _deeper(depth))) > MOST_STEPS:
        depth -= 1
    return _deeper(depth)


def _deeper(depth: int) -> Closed:
    too_deep = chooser(depth)
    return lambda scope: isinstance(scope, Rest) or too_deep(scope)


def _enclose_repeats(nodes: list[Value], own_name: Callable[[Any], str]) -> None:
    """Make calls of what repeats, until few nodes are left: repeats of one kind together, what saves most first."""
    kinds: dict[int, list[Repeat]] = {}
    for repeat in Structure(nodes).every_repeat():
        kinds.setdefault(repeat.code, []).append(repeat)
    shown, closed, calls = _Shown(nodes), set[Value](), itertools.count(1)
    for kind in sorted(kinds.values(), key=lambda kind: shown.left - shown.hidden_by(_others(kind))):
        if shown.left <= MOST_OPEN:
            break
        for repeat in kind:
            if closed.isdisjoint(repeat.rows[0]):
                _enclose(repeat, -next(calls), own_name)
                closed |= (others := _others([repeat]) - closed)
                shown.close(others)


class _Shown:
    """How many nodes are shown, with the leaves that they use."""

    def __init__(self, nodes: Iterable[Value]) -> None:
        self.uses = self._leaves_of(nodes)
        self.left = sum(node.op is not None for node in nodes) + len(self.uses)

    @staticmethod
    def _leaves_of(nodes: Iterable[Value]) -> Counter[Value]:
        return Counter(x for node in nodes for x in set(node.parents) if x.op is None)

    def hidden_by(self, closed: set[Value]) -> int:
        """How many fewer are shown without these: a leaf that they alone use goes with them."""
        leaves = self._leaves_of(closed)
        return sum(node.op is not None for node in closed) + sum(n == self.uses[x] for x, n in leaves.items())

    def close(self, nodes: set[Value]) -> None:
        """Show these no longer."""
        self.left -= self.hidden_by(nodes)
        self.uses -= self._leaves_of(nodes)


def _others(repeats: Iterable[Repeat]) -> set[Value]:
    """The nodes of all pieces but the first."""
    return {node for repeat in repeats for row in repeat.rows[1:] for node in row}


def _enclose(repeat: Repeat, serial: int, own_name: Callable[[Any], str]) -> None:
    """Put all pieces but the first in a call of their own."""
    around = [calls_around(row[0])[::-1] for row in repeat.rows]
    depth = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] is pair[1], zip(*around[:2])))
    parent = around[0][depth - 1] if depth else None
    calls = [chain[depth] for chain in around if len(chain) > depth]
    columns = ([own_name(node) for node in column] for column in list(zip(*repeat.rows))[::-1])
    names = [call.name for call in calls] if len(calls) == len(around) else next(filter(all, columns), [])
    if len(set(map(pattern, names))) == 1 and names[0]:
        name, kind = class_name(names[1:], len(names)), f"×{len(around) - 1}"
    else:
        name, kind = f"{len(around) - 1} more", f"{calls[0].kind} alike" if calls else "alike"
    rest = Rest(name, kind.strip(), parent)
    rest.serial = serial
    moved: dict[Scope | None, Scope] = {parent: rest}

    def within(scope: Scope | None) -> Scope:
        if scope not in moved:
            assert scope is not None
            moved[scope] = type(scope)(scope.name, scope.kind, within(scope.parent), scope.module)
            moved[scope].serial = scope.serial
        return moved[scope]

    for node in itertools.chain(*repeat.rows[1:]):
        node._note = (node._note or Attached()).but(scope=within(node.scope))


def closed_call(node: Value, closed: Closed) -> Scope | None:
    """The outermost closed call that a node was made in."""
    return next(filter(closed, reversed(calls_around(node))), None)


def folded(steps: list[Step], closed: Closed) -> list[Step]:
    """The steps with each closed call as one. A call's steps follow one another: it was computed in one go."""
    result: list[Step] = []
    for (_, call), run in itertools.groupby(steps, key=lambda step: (step.kind, closed_call(step.twin, closed))):
        members = list(run)
        result += members if call is None else [_module_step(members, call)]
    return numbered(result)


def _module_step(members: list[Step], call: Scope) -> Step:
    """One step for a whole call: what arrives at its result, and what leaves it for inputs and parameters."""
    twins = tuple(member.twin for member in members)
    first = members[0]
    result = first.twin if first.kind == BACKWARD else members[-1].twin
    step = Step(first.words, first.kind, result, first.incoming, call, twins, first.noise)
    leaving = set(step.exits)
    step.arrivals = [member.arrives for member in members if member.twin in leaving] if step.kind == BACKWARD else []
    step.starts_hooked = first.starts_hooked
    inside = set(twins)
    sent: dict[Value, list[Contribution]] = {}
    for member in members:
        for contribution in member.contributions:
            if contribution.twin not in inside:
                sent.setdefault(contribution.twin, []).append(contribution)
    step.contributions = tuple(_joined(step, parent, parts) for parent, parts in sent.items())
    return step


def _joined(step: Step, parent: Value, parts: list[Contribution]) -> Contribution:
    value = parts[0].value
    for part in parts[1:]:
        value = value + part.value
    noise = sum(part.noise[0] for part in parts), parts[-1].noise[1]
    return Contribution(step, parent, value, parts[-1].sum, noise, parts[-1].left)


# --- steps opened up ------------------------------------------------------------------------------------------------


def inside(step: Step) -> Stepper | None:
    """The stepper of what a step does inside, on copies: gradients start at what arrives at the step. It shows a fused
    op by its definition, a closed module by its own nodes; None where nothing smaller is inside."""
    from .stepper import Stepper

    if not _can_open(step):
        return None
    originals: dict[Value, Value] = {}
    root = _opened(step, originals)
    if not isinstance(root, Value) or root.op is None or not root.requires_grad:
        return None
    backward = step.incoming is not None
    grad = step.incoming if backward else None
    copies = [leaf for leaf in leaves(root) if type(leaf) is Value]
    title = f"inside {step.name}"
    opened = Stepper(root, grad=grad, backward=backward, inputs=copies, title=title, top=step.words.top,
                     noise=step.noise, stands_for=originals)  # fmt: skip
    return opened if len(opened) > (2 if backward else 1) else None


@np.errstate(all="ignore")
def _opened(step: Step, originals: dict[Value, Value]) -> Any:
    """The root of what a step does inside."""
    with enable_grad():
        return _replayed(step, originals) if step.module is not None else _defined(step)


def _can_open(step: Step) -> bool:
    if step.module is not None:
        return step.exits == [step.twin]
    op = step.twin.op
    return op is not None and op.definition is not None and op.about.opens


def _defined(step: Step) -> Any:
    op = step.twin.op
    assert op is not None and op.definition is not None
    result = op.definition(*(_leaf(step, x) for x in step.twin.inputs), **op.settings)
    if isinstance(result, Value):
        result.name = step.words.name(step.twin)
    return result


def _replayed(step: Step, originals: dict[Value, Value]) -> Any:
    """The module's nodes computed again, from leaves that stand for what came from outside; notes whose copy
    each is."""
    twins: dict[Value, Value] = {}
    nodes = sorted(step.twins, key=lambda node: node.stamp)
    members = set(nodes)
    for node in nodes:
        for x in node.parents:
            if x not in members and x not in twins:
                twins[x] = _leaf(step, x)
    for node in nodes:
        assert node.op is not None
        twin = apply(node.op, tuple(twins[x] if isinstance(x, Value) else x for x in node.inputs))
        if isinstance(twin, Value):
            twin._note = node._note
            twins[node] = twin
    originals.update((twin, node) for node, twin in twins.items())
    return twins.get(step.twin)


def _leaf(step: Step, x: Any) -> Any:
    """A fresh leaf with an operand's numbers and name."""
    if not isinstance(x, Value):
        return x
    if x.op is None:
        twin = copy.copy(x)
        twin.grad = None
        return twin
    return Value(x.data, name=step.words.name(x), requires_grad=x.requires_grad)
