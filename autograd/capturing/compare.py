"""A second opinion: the library's backward pass compared with ours, call by call, and what its paths add up to.

    found = capture(model, x).compare()
    found.ok, found.first, found.calls      # whether all agree; the wrong call nearest the loss; all that are wrong

Calls are judged alone (`calls_judged`), then the sums at each place (`sums_judged`). Here both become Differences: with
the module, the file and the line, and which argument of an autograd.Function it is.
"""

from __future__ import annotations

import fnmatch
import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from tqdm import tqdm

from autograd.check import Report, check_grads
from autograd.check.subjects.subject import cotangents
from autograd.engine import Value, reach
from autograd.errors import DataError, counted

from .calls_judged import BOTH, DIGITS, HANDGRAD, KINK, LATER, UNCLEAR, Finding, pulled
from .left_out import LeftOut, digits_alike, left_out, pattern
from .places import Place, argument_of
from .replaying import replay
from .run import Call, Cut, Run
from .sums_judged import Gap, Pass

if TYPE_CHECKING:
    from autograd.drawing import Drawing

Array = np.ndarray[Any, Any]
CUTS = {"torch": "a detach(), .data, .item() or no_grad()", "jax": "a stop_gradient"}  # what ends a gradient's way
MOST_NAMED = 8  # leaves in a note
AGREES_ALONE = "made on its own, this call agrees: what it saved was changed, or was drawn again at random"
HARMLESS = (KINK, DIGITS)  # verdicts that a note tells
HOOK = "hook"  # what a difference of a sum is called by


class Passed(NamedTuple):
    """A Value that backward passes before the first difference. What one call of the library computes inside of it has
    no gradient there, and is not compared."""

    value: Value
    grad: Any
    compared: bool


@dataclass(eq=False)
class Difference:
    """A gradient that differs: what the call `op` sends to `value`; of a hook, what arrives there."""

    op: str
    module: str
    file: str | None
    line: int | None
    ours: Any
    theirs: Any
    value: Value = field(repr=False)
    call: Place | None = None  # where the model calls it; file and line are those of backward, if it has one
    path: str = ""
    wrong: str = UNCLEAR  # whose gradient differs from finite differences: "handgrad", "torch" or "jax", "both"
    argument: str | None = None  # of an autograd.Function: which argument of forward gets the wrong gradient
    opaque: bool = False  # we have no rule for the call: finite differences alone speak
    slopes: dict[tuple[int, ...], float] = field(default_factory=dict, repr=False)  # finite differences, by entry
    pattern: list[str] = field(default_factory=list, repr=False)  # what the numbers look like
    left_out: LeftOut | None = None  # the terms that the wrong backward lacks, where it can be said
    way: list[Passed] = field(default_factory=list, repr=False)  # from the call's result on to L

    @property
    def name(self) -> str:
        """What the value is called, as in ∂L/∂name."""
        return self.value.name or "input"


@dataclass(eq=False)
class Comparison:
    """What `run.compare()` found; `print` it."""

    title: str
    library: str  # "torch" or "jax"
    compared: int
    calls: list[Difference] = field(default_factory=list)  # all that differ, nearest the loss first
    agreed: int = 0  # gradients before the first that differs
    forward_gap: float = 0.0
    cuts: list[Cut] = field(default_factory=list)  # where the way of a gradient ends: file, line, how
    notes: list[str] = field(default_factory=list)
    run: Run | None = field(default=None, repr=False)

    @property
    def first(self) -> Difference | None:
        """The wrong call nearest the loss."""
        return self.calls[0] if self.calls else None

    @property
    def differ(self) -> int:
        """How many gradients differ."""
        return len({(d.value, d.op == HOOK) for d in self.calls})

    @property
    def ok(self) -> bool:
        """Whether every gradient agrees; `if comparison:` asks the same."""
        return self.first is None

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        from .report import comparison_text

        return comparison_text(self)

    __repr__ = __str__

    @property
    def drawing(self) -> Drawing:
        """The picture: the gradient that differs and the way to it; of a model that agrees, all of it."""
        from .picture import drawing

        return drawing(self)

    def html(self) -> str:
        """The report as one self-contained page."""
        from .page import page

        return page(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the report by extension: .html the page, .txt the text, .svg .png .pdf the picture."""
        from .page import save

        return save(self, Path(path))

    def _repr_html_(self) -> str:
        from .page import in_a_notebook

        return in_a_notebook(self)


def compare(run: Run, allow: Sequence[str] = (), modules: Sequence[str] | str | None = None) -> Comparison:
    """Judge the calls of a run one by one, then the sums; see `Run.compare`."""
    recorder = run._recorder
    chosen = [modules] if isinstance(modules, str) else modules
    allow = [allow] if isinstance(allow, str) else allow
    theirs = recorder.passed(run.roots, starting_gradients(run))
    went = Pass(run, theirs, lambda call: chosen is None or any(inside(call, name) for name in chosen)).go()
    found = Comparison(run.title, recorder.library, len(went.order), forward_gap=run.gap)
    found.run = run
    unused = unreached(run, theirs)
    found.notes += [*run.notes, *unused]
    found.cuts = cuts_of(run)
    alike: dict[tuple[str, str], list[str]] = {}  # notes on calls of one op
    for item in went.found:
        difference = gap_found(item, run) if isinstance(item, Gap) else call_found(item, theirs)
        if isinstance(item, Finding):
            went.call_of[difference] = item.call
        if isinstance(item, Finding) and item.wrong in HARMLESS:
            alike.setdefault((item.wrong, difference.op), []).append(harmless_note(difference, item, found.library))
        elif any(is_allowed(difference, item, name) for name in allow):
            found.notes.append(f"allowed: {difference.op} sends another gradient than the derivative"
                               f"{at_line(difference)}")  # fmt: skip
        else:
            found.calls.append(difference)
    for said, *more in alike.values():
        found.notes.append(said + (f"; so in {counted(len(more), 'more place')}" if more else ""))
    if not found.calls:
        compare_compiled(found, went, theirs)
    ends = not found.calls and not unused and (found.cuts or recorder.exits)
    if ends and (said := recorder.last_word(run, theirs)):
        found.notes.append(said)
        found.cuts += dict.fromkeys(recorder.exits)
    if found.first is not None:
        complete(found.first, went, theirs)
        found.calls[0] = inside_checkpoint(went.call_of.get(found.first), found.first)
        found.agreed = went.order.get(found.first.value, 0)
    return found


def inside(call: Call, name: str) -> bool:
    """Whether a call belongs to a module of this name, which may have stars in it, or to what is in it."""
    path = call.scope.path if call.scope is not None else ""
    return fnmatch.fnmatchcase(path, name) or fnmatch.fnmatchcase(path, f"{name}.*")


def is_allowed(difference: Difference, item: Finding | Gap, name: str) -> bool:
    """Whether `allow` names a difference: its op or Function, its module by path or by class."""
    if name in (difference.op, difference.name):
        return True
    if isinstance(item, Gap):
        return False
    scope = item.call.scope
    return (bool(name) and inside(item.call, name)) or (
        scope is not None and any(around.kind == name for around in scope.chain()))  # fmt: skip


def call_found(found: Finding, theirs: Any) -> Difference:
    """The words for a finding: module, lines, argument."""
    call = found.call
    number = argument_number(call, found.value)
    argument = argument_of(call.function, number)
    recorder = theirs.recorder
    is_hook, hook = recorder.hook_of(call)
    place = (hook if is_hook else theirs.line(call, number)) or call.place
    module = call.scope.path if call.scope is not None else ""
    op = HOOK if is_hook else call.name if call.parameters else call.name.partition(".")[0]
    file, line = (None, None) if place is None else (place.file, place.line)
    difference = Difference(op, module, file, line, found.ours, found.theirs, found.value, call.place,
                            argument=argument, slopes=found.slopes, opaque=call.opaque)  # fmt: skip
    difference.wrong = call.library if found.wrong == LATER else found.wrong
    if is_hook:
        difference.path = "a hook of the module changes the gradient"
    elif found.wrong == LATER:
        write = recorder.write_after(call)
        difference.path = (f"made on its own, this call agrees: what it saved was written to afterwards, at {write}"
                           if write else AGREES_ALONE)  # fmt: skip
        if write is not None:
            difference.file, difference.line = write.file, write.line
    elif difference.wrong in (call.library, BOTH, HANDGRAD) and not call.opaque:
        difference.pattern = pattern(difference.name, found.ours, found.theirs)
    return difference


def argument_number(call: Call, value: Value) -> int | None:
    """Which argument of a Function a Value is."""
    numbers = [n for n, x in zip(getattr(call, "carried", ()), call.inputs) if x is value]
    return numbers[0] if numbers else None


def gap_found(gap: Gap, run: Run) -> Difference:
    """A sum that is another one than that of what was sent: a hook changed it, or something wrote to it."""
    name, hook = gap.value.name or "input", run._recorder.hook_on(gap.value)
    scope = gap.value.scope
    difference = Difference(HOOK if hook else "sum", scope.path if scope else "", hook and hook.file,
                            hook and hook.line, gap.sent, gap.arrived, gap.value, hook)  # fmt: skip
    difference.path = ("a hook changes the gradient" if hook else
                       "every call that sends to it agrees: a hook, or a path that was not recorded")  # fmt: skip
    difference.pattern = pattern(name, gap.sent, gap.arrived)
    difference.wrong = run._recorder.library
    return difference


def at_line(difference: Difference) -> str:
    if difference.file is None:
        return ""
    return f" ({os.path.basename(difference.file)}:{difference.line})"


def harmless_note(difference: Difference, found: Finding, library: str) -> str:
    """At a tie or a kink both gradients are slopes, of one side or the other; and some constants are rounded."""
    where = f"{difference.op}{at_line(difference)}"
    if found.wrong == DIGITS:
        return (f"{library}'s gradient of {difference.name} through {where} has "
                f"{digits_alike(found.ours, found.theirs)} digits: a constant in its backward is rounded")  # fmt: skip
    return (f"{where} is at a tie or a kink for {difference.name}: {library} and handgrad "
            "take different sides, and both are right")  # fmt: skip


def complete(first: Difference, went: Pass, theirs: Any) -> None:
    """What is shown of the first difference alone: the way to the loss, which path it is, and the terms left out."""
    call = went.call_of.get(first)
    users = went.users.get(first.value, [])
    if call is not None and len(users) > 1 and not first.path:
        first.path = f"path {users.index(call) + 1} of {len(users)}"
    if call is None:
        return
    grads = {v: went.gradient(v) for v in call.outputs}
    first.way = way_on(call, went, theirs)
    if first.wrong == call.library and not first.path.startswith("made by"):
        first.left_out = left_out(call, first.value, {v: g for v, g in grads.items() if g is not None}, first.theirs)


def way_on(call: Call, went: Pass, theirs: Any) -> list[Passed]:
    """The shortest way from a result of a call on to where backward starts, both included."""
    nodes = {node for root in theirs.seeds for node in reach(root)}
    users: dict[Value, list[Value]] = {}
    for node in nodes:
        for x in node.parents:
            users.setdefault(x, []).append(node)
    results = [v for v in call.outputs if v in nodes]
    came_from: dict[Value, Value | None] = dict.fromkeys(results)
    waiting = deque(results)
    way: list[Value] = results[:1]
    while waiting:
        node = waiting.popleft()
        if node in theirs.seeds:
            way = [node]
            while (before := came_from[way[-1]]) is not None:
                way.append(before)
            way.reverse()
            break
        for user in users.get(node, ()):
            if user not in came_from:
                came_from[user] = node
                waiting.append(user)
    return [Passed(v, went.gradient(v), theirs.known(v)) for v in way]


def cuts_of(run: Run) -> list[Cut]:
    """Where a gradient ends on the way from the leaves to the results."""
    recorder, seen = run._recorder, set()
    waiting: list[Any] = [root for root, _ in run.roots]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += node.parents
    return list(dict.fromkeys([*(cut for node, cut in recorder.cuts.items() if node in seen), *recorder.casts]))


def unreached(run: Run, theirs: Any) -> list[str]:
    """A sentence about leaves that neither pass reaches: their gradients agree, and are often not what was meant."""
    reached = {x for root in theirs.seeds for node in reach(root) for x in (node, *node.parents)}
    leaves = {name: v for name, v in {**run.parameters, **run.inputs}.items() if v.requires_grad and v not in reached}
    names = [name for name, v in leaves.items() if (g := theirs.arrived(v)) is None or not np.any(g)]
    if not names:
        return []
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return [f"no gradient reaches {', '.join(names[:MOST_NAMED])}{more}, in either pass. If one should: is it used, "
            f"and is there {CUTS[run._recorder.library]} on its way to the result?"]  # fmt: skip


def compare_compiled(found: Comparison, went: Pass, theirs: Any) -> None:
    """Run each compiled module on its own, as compiled, and compare what it sends to its inputs and parameters."""
    compiled = found.run._recorder.compiled if found.run is not None else []
    for call in tqdm(compiled[::-1], desc="compile", unit=" modules", leave=False, disable=None):
        received = {v: theirs.arrived(v) for v in call.outputs}
        try:
            sent = call.alone(received)
        except Exception:
            found.notes.append(f"{call.name} gave other results when it was run again: it was not compared")
            continue
        ours = pulled(call, received)
        for value in dict.fromkeys(call.inputs):
            there = sum(g for g, x in zip(sent, call.inputs) if x is value)
            found.compared += 1
            one = went.judge.found(call, value, received, ours.get(value), there)
            if one is not None:
                found.calls.append(call_found(one, theirs))
                went.call_of[found.calls[-1]] = call
                return


def inside_checkpoint(call: Call | None, found: Difference) -> Difference:
    """Where in a reentrant checkpoint a gradient goes wrong: what it runs, captured and compared on its own."""
    if call is None or call.checkpointed is None:
        return found
    from . import capture

    function, inputs = call.checkpointed
    try:
        inner = capture(function, *inputs).compare().first
    except Exception:  # what cannot be run on its own is named as a whole
        return found
    if inner is None:
        return found
    around = call.scope.path if call.scope is not None else ""
    inner.module = ".".join(part for part in (around, inner.module) if part)
    inner.path = ", ".join(part for part in (inner.path, "inside of a checkpoint") if part)
    return inner


def starting_gradients(run: Run) -> dict[Value, Any]:
    """Where backward starts: from the one number among the results, else from all of them with random weights."""
    roots = list(dict.fromkeys(v for v, _ in run.roots if v.requires_grad))
    if not roots:
        raise DataError(
            f"no result of {run.title} has a gradient, so there is nothing to compare or to check. Is there "
            f"{CUTS[run._recorder.library]} on the way to it?"
        )
    scalars = [v for v in roots if v.size == 1]
    if len(scalars) == 1:
        return {scalars[0]: np.ones(scalars[0].shape, scalars[0].dtype)[()]}
    weights = cotangents(0, tuple(v.shape for v in roots))
    return {v: np.asarray(u, v.dtype)[()] for v, u in zip(roots, weights)}


# --- finite differences of everything -------------------------------------------------------------------------


def check(run: Run, seed: int = 0) -> Report:
    """check_grads of the recorded run as a function of all its leaves."""
    seeds = starting_gradients(run)
    leaves = [v for v in (*run.inputs.values(), *run.parameters.values()) if v.requires_grad]
    reached = {x for root in seeds for node in reach(root) for x in node.parents}
    leaves = [v for v in dict.fromkeys(leaves) if v in reached]
    again = replay(list(seeds), leaves)

    def f(*sources: Any) -> Any:
        return again(dict(zip(leaves, sources, strict=True)))

    f.__name__ = run.title
    return check_grads(f, *leaves, seed=seed)
