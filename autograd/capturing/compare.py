"""A second opinion: our backward pass compared with torch's, node by node, and a verdict on the first that differs.

Both passes start from the same gradient of the result. A gradient depends only on those of the results its tensor went
into, so in backward order the first that differs comes from one call whose results still agree: that call is named, and
finite differences of it alone say whose gradient is wrong.
"""

from __future__ import annotations

import ast
import inspect
import math
import os
import textwrap
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from tqdm import tqdm

from ..check import Report, check_formula, check_grads
from ..check.subject import cotangents
from ..engine import Value, reach, walk
from ..errors import DataError
from ..graph import reach_from
from ..ops.elementwise import where
from .left_out import LeftOut, left_out
from .places import Place, libraries
from .replaying import replay
from .run import Call, Run

if TYPE_CHECKING:
    from ..drawing import Drawing

Array = np.ndarray[Any, Any]
AGREES_ALONE = "where each call by itself agrees: a hook changes a gradient, or a saved tensor was changed"
CUTS = {"torch": "a detach(), .data, .item() or no_grad()", "jax": "a stop_gradient"}  # what ends a gradient's way
MOST_NAMED = 8  # leaves in a note
HANDGRAD, BOTH, UNCLEAR = "handgrad", "both", "unclear"


class Passed(NamedTuple):
    """A Value that backward passes before the first difference. What one call of the library computes inside of it has
    no gradient there, and is not compared."""

    value: Value
    grad: Any  # ours
    compared: bool


@dataclass(eq=False)
class Difference:
    """The first gradient that differs: of `value`, through the call `op`."""

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
    report: Report | None = field(default=None, repr=False)
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
    gap: float  # the largest relative difference among the gradients that agree
    first: Difference | None = None
    agreed: int = 0  # gradients before the first that differs
    differ: int = 0
    forward_gap: float = 0.0
    notes: list[str] = field(default_factory=list)
    run: Run | None = field(default=None, repr=False)

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


def compare(run: Run) -> Comparison:
    """Compare all gradients of a run, and find the first that differs."""
    seeds = starting_gradients(run)
    ours = our_gradients(seeds)
    recorder = run._recorder
    theirs = recorder.gradients(run.roots, seeds)
    alike = Alike(run, ours)
    users = users_of(recorder.calls)
    order = sorted(theirs, key=lambda v: users[v][0][0] if v in users else math.inf, reverse=True)
    order = [v for v in order if v in ours or theirs[v] is not None]
    differing = [v for v in order if not alike(v, ours.get(v), theirs[v])]
    found = Comparison(run.title, recorder.library, len(order), alike.gap, differ=len(differing), forward_gap=run.gap)
    found.notes += [*run.notes, *unreached(run, ours, theirs)]
    found.run = run
    if differing:
        found.agreed = next(i for i, v in enumerate(order) if v is differing[0])
        found.first = located(differing[0], users, ours, theirs, alike)
    if found.first is None and recorder.compiled:
        for call in tqdm(recorder.compiled[::-1], desc="compile", unit=" modules", leave=False, disable=None):
            if found.first is None:
                compare_compiled(call, found, ours, theirs, alike)
    return found


def unreached(run: Run, ours: dict[Value, Any], theirs: dict[Value, Any]) -> list[str]:
    """A sentence about leaves that neither pass reaches: their gradients agree, and are often not what was meant."""
    leaves = {name: v for name, v in {**run.parameters, **run.inputs}.items() if v in theirs and v not in ours}
    names = [name for name, v in leaves.items() if theirs[v] is None or not np.any(theirs[v])]
    if not names:
        return []
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return [f"no gradient reaches {', '.join(names[:MOST_NAMED])}{more}, in either pass. If one should: is it used, "
            f"and is there {CUTS[run._recorder.library]} on its way to the result?"]  # fmt: skip


def compare_compiled(
    call: Call, found: Comparison, ours: dict[Value, Any], theirs: dict[Value, Any], alike: Alike
) -> None:
    """Run a compiled module by itself, as compiled, and compare what it sends to each of its inputs and parameters."""
    for value in dict.fromkeys(call.inputs):
        sent, returned = pulled_through(call, value, ours), their_pull(call, value, theirs)
        if returned is None:
            found.notes.append(f"{call.name} gave other results when it was run again: it was not compared")
            return
        found.compared += 1
        if not alike(value, sent, returned):
            found.first = described(call, value, sent, returned)
            found.agreed, found.differ = found.compared - 1, 1
            judge(found.first, call, ours, theirs)
            return


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


def our_gradients(seeds: dict[Value, Any]) -> dict[Value, Any]:
    """The gradient of every node that one reaches."""
    nodes = {node for root in seeds for node in reach(root)}
    order = sorted(nodes, key=lambda node: node.stamp, reverse=True)
    grads: dict[Value, Any] = {v: float(g) if v.data.__class__ is float else g for v, g in seeds.items()}
    shown: Any = tqdm(order, desc="backward", unit=" nodes", delay=2.0, leave=False, disable=None)
    walked = dict(zip(order, walk(shown, grads)))
    return {**grads, **{node: g for node, g in walked.items() if g is not None}}


class Alike:
    """Whether two gradients are the same but for rounding."""

    def __init__(self, run: Run, ours: dict[Value, Any]) -> None:
        kinds = {v.dtype for v in ours if v.dtype.kind == "f"}
        eps = max((float(np.finfo(kind).eps) for kind in kinds), default=2.0**-52)
        self.relative = math.sqrt(eps)
        largest = max((float(np.max(np.abs(g), initial=0.0)) for g in ours.values()), default=0.0)
        self.noise = 256 * eps * (largest if math.isfinite(largest) else 0.0)  # where terms cancel, rounding is left
        self.gap = 0.0

    def __call__(self, value: Value, ours: Any, theirs: Any) -> bool:
        a, b = (np.zeros(value.shape) if g is None else np.asarray(g, dtype=np.float64) for g in (ours, theirs))
        finite = np.isfinite(a) & np.isfinite(b)
        if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
            return False
        a, b = a[finite], b[finite]
        apart = float(np.max(np.abs(a - b), initial=0.0))
        scale = float(np.max(np.abs(a), initial=0.0)), float(np.max(np.abs(b), initial=0.0))
        same = apart <= self.relative * max(scale) or apart <= self.noise
        if same and apart > self.noise:
            self.gap = max(self.gap, apart / max(scale))
        return same


def users_of(calls: list[Any]) -> dict[Value, list[tuple[int, Any]]]:
    """The calls that each Value went into, the oldest first, with their places in the run."""
    users: dict[Value, list[tuple[int, Any]]] = {}
    for place, call in enumerate(calls):
        for value in dict.fromkeys(call.inputs):
            users.setdefault(value, []).append((place, call))
    return users


# --- the first that differs -----------------------------------------------------------------------------------


def located(
    value: Value, users: dict[Value, Any], ours: dict[Value, Any], theirs: dict[Value, Any], alike: Alike
) -> Difference:
    """Which of the calls that a Value went into sends the gradient that differs, and whose gradient is wrong."""
    calls = [call for _, call in reversed(users.get(value, []))]
    untried = []
    for number, call in enumerate(calls, 1):
        sent, returned = pulled_through(call, value, ours), their_pull(call, value, theirs)
        if returned is None:
            untried.append(call)
        elif not alike(value, sent, returned):
            found = described(call, value, sent, returned)
            found.path = f"path {number} of {len(calls)}" if len(calls) > 1 else ""
            judge(found, call, ours, theirs)
            return inside_checkpoint(call, found)
    suspects = untried or calls or [None]
    found = described(suspects[0], value, ours.get(value), theirs[value])
    if not untried:
        found.path = AGREES_ALONE
    elif len(calls) == 1:
        judge(found, calls[0], ours, theirs)
        found = inside_checkpoint(calls[0], found)
    return found


def inside_checkpoint(call: Call, found: Difference) -> Difference:
    """Where in a reentrant checkpoint a gradient goes wrong: what it runs, captured and compared by itself."""
    if call.checkpointed is None:
        return found
    from . import capture

    function, inputs = call.checkpointed
    try:
        inner = capture(function, *inputs).compare().first
    except Exception:  # what cannot be run by itself is named as a whole
        return found
    if inner is None:
        return found
    around = call.scope.path if call.scope is not None else ""
    inner.module = ".".join(part for part in (around, inner.module) if part)
    inner.path = ", ".join(part for part in (inner.path, "inside of a checkpoint") if part)
    return inner


def described(call: Call | None, value: Value, sent: Any, returned: Any) -> Difference:
    sent = np.zeros(value.shape) if sent is None else sent
    returned = np.zeros(value.shape) if returned is None else returned
    if call is None:
        return Difference("result", "", None, None, sent, returned, value)
    place = backward_place(call.function) or call.place
    module = call.scope.path if call.scope is not None else ""
    file, line = (None, None) if place is None else (place.file, place.line)
    op = call.name if call.parameters else call.name.partition(".")[0]
    return Difference(op, module, file, line, sent, returned, value, call.place)


def backward_place(function: Any) -> Place | None:
    """The line of an autograd.Function that returns its gradients: the last `return` of `backward`."""
    if function is None:
        return None
    try:
        lines, start = inspect.getsourcelines(function.backward)
        tree = ast.parse(textwrap.dedent("".join(lines)))
        file = inspect.getsourcefile(function.backward)
    except SyntaxError:  # a lambda in the middle of a statement
        tree, file = ast.Module([], []), inspect.getsourcefile(function.backward)
    except (OSError, TypeError):  # typed at a prompt, or made in C
        return None
    if file is None or file.startswith(libraries()):
        return None
    returns = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Return)]
    return Place(file, start + max(returns, default=1) - 1)


def pulled_through(call: Call, value: Value, ours: dict[Value, Any]) -> Any:
    """What our rules send to a Value through one call."""
    given = set(call.inputs)
    seeds = {v: ours[v] for v in call.outputs if v in ours and v not in given}
    order, wanted = reach_from(seeds, call.inputs)
    grads = dict(seeds)
    walk(order, grads, wanted)
    return grads.get(value)


def their_pull(call: Call, value: Value, theirs: dict[Value, Any]) -> Any:
    """What the library sends to a Value through one call, made by itself; None if that is not the same call."""
    try:
        return call.pulled_again(value, theirs)
    except Exception:  # a call that cannot be made twice: its inputs have changed since, or it draws at random
        return None


def steps_of(call: Call, value: Value, theirs: dict[Value, Any]) -> Any:
    """The recorded steps of one call as a function of one of its inputs: Σ gradient · result.

    What gets no gradient is left out: a masked score is -inf, and 0 times that is NaN.
    """
    outputs = [v for v in dict.fromkeys(call.outputs) if theirs.get(v) is not None]
    again = replay(outputs, call.inputs)

    def f(x: Any) -> Any:
        total = 0.0
        for result, v in zip(again({value: x}), outputs):
            total = total + (where(theirs[v] != 0, result, 0.0) * theirs[v]).sum()
        return total

    f.__name__ = call.name
    return f


def judge(found: Difference, call: Call, ours: dict[Value, Any], theirs: dict[Value, Any]) -> None:
    """Ask finite differences of the call's own steps whose gradient is wrong, and what it leaves out."""
    found.way = [Passed(v, ours.get(v), theirs.get(v) is not None) for v in way_on(call, ours)]
    f = steps_of(call, found.value, theirs)
    data = Value(np.asarray(found.value.data, np.float64)[()], name=found.name)
    returned = np.asarray(found.theirs, np.float64)
    try:
        found.report = check_formula(f, lambda x: returned, data)
        own = check_grads(f, data)
    except Exception:  # the two runs differ: then neither is called wrong
        return
    theirs_wrong, ours_wrong = found.report.verdict == "wrong", own.verdict == "wrong"
    verdicts = {(True, True): BOTH, (True, False): call.library, (False, True): HANDGRAD}
    found.wrong = verdicts.get((theirs_wrong, ours_wrong), UNCLEAR)
    if found.wrong == call.library:
        found.left_out = left_out(call, found.value, ours, found.theirs)


def way_on(call: Call, ours: dict[Value, Any]) -> list[Value]:
    """The shortest way from a result of a call on to where backward starts, both included."""
    results = [v for v in call.outputs if v in ours]
    users: dict[Value, list[Value]] = {}
    for node in ours:
        for x in node.parents:
            users.setdefault(x, []).append(node)
    came_from: dict[Value, Value | None] = dict.fromkeys(results)
    waiting = deque(results)
    while waiting:
        node = waiting.popleft()
        if node not in users:
            way = [node]
            while (before := came_from[way[-1]]) is not None:
                way.append(before)
            return way[::-1]
        for user in users[node]:
            if user not in came_from:
                came_from[user] = node
                waiting.append(user)
    return results[:1]


# --- finite differences of everything -------------------------------------------------------------------------


def check(run: Run, seed: int = 0) -> Report:
    """check_grads of the recorded run as a function of all its leaves."""
    seeds = starting_gradients(run)
    leaves = [v for v in (*run.inputs.values(), *run.parameters.values()) if v.requires_grad]
    leaves = [v for v in dict.fromkeys(leaves) if v in our_gradients(seeds)]
    again = replay(list(seeds), leaves)

    def f(*sources: Any) -> Any:
        return again(dict(zip(leaves, sources, strict=True)))

    f.__name__ = run.title
    return check_grads(f, *leaves, seed=seed)
