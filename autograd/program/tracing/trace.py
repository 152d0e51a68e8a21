"""Tracing: one call of a function on Values, and what it recorded as a program.

The rules run on Values, so the backward pass is recorded in the same way as the forward pass: the call, then a walk
back from its result, give one graph of ops. `program_of` turns that graph into instructions.
"""

from __future__ import annotations

import bisect
import builtins
import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograd.derivatives import check_returned
from autograd.engine import Value, contributions, counter
from autograd.errors import BackwardError
from autograd.gradients import cotangent_for, run_hooks
from autograd.graph import leaves as leaves_of
from autograd.graph import made_from, reach_from
from autograd.modes import enable_grad, open_tracers, record_lines, trace_with
from autograd.tree import LEAF, flatten

from ..program import Program, renumbered
from ..record import NOTHING, Recorded, record
from .exits import Tracer, leaf
from .inputs import rebuild
from .leaf_names import leaf_names
from .numbers import BUILTINS, PYTHON, Number, unwrapped


@dataclass
class Origin:
    """Where an input of a program comes from at each call.

    given     the leaf of the arguments at this place
    captured  a leaf Value or an array that the function reaches from outside: read again at each call
    drawn     random numbers: `draw(generator)` at each call
    state     a number or an array that f itself changes, at a place outside (`outside.py`)
    packed    several scalars as one vector (`reroll.py`): `held` are their own origins
    """

    kind: str
    place: int = -1
    held: Any = None
    draw: Callable[[Any], Any] | None = None

    def fetch(self, leaves: Sequence[Any]) -> Any:
        """The data of this input for a call with these leaves."""
        if self.kind == "given":
            return leaves[self.place]
        if self.kind == "packed":
            return np.array([origin.fetch(leaves) for origin in self.held], np.float64)
        if self.kind == "drawn":
            return self.draw(self.held)  # type: ignore[misc]
        if self.kind == "state":
            return self.held.read()
        return self.held._data if isinstance(self.held, Value) else self.held


def fetched_aside(origins: Sequence[Origin], leaves: Sequence[Any]) -> list[Any]:
    """The data of all inputs for one call; generators that were drawn from are set back."""
    before = states_of(origins)
    try:
        return [origin.fetch(leaves) for origin in origins]
    finally:
        for generator, state in before:
            generator.state = state


def states_of(origins: Sequence[Origin]) -> list[tuple[Any, Any]]:
    """The generators that are drawn from, each with the state that it has now."""
    generators = {id(o.held): o.held.bit_generator for o in origins if o.kind == "drawn"}
    return [(generator, generator.state) for generator in generators.values()]


@dataclass
class Traced:
    """A program, where its inputs come from, and how its results are nested.

    Its results are those of the function, the gradients, what it leaves outside, and the guards.
    """

    program: Program
    origins: list[Origin]
    structure: Any  # of the value
    differentiated: list[bool]  # for each leaf, whether a gradient of it is among the results
    left: int = 0  # how many results are written outside after a call
    outcomes: tuple[Any, ...] = ()  # of the guards, the last results
    lines: tuple[str, ...] = ()  # of the guards


@dataclass
class Walked:
    """What the walk back did: the stamp at which each node's rule began, and which Value is whose gradient."""

    rules: list[tuple[int, Value]] = field(default_factory=list)
    slopes: dict[Any, Value] = field(default_factory=dict)


@dataclass
class Call:
    """One call of a function on Values: what it was given, what it returned, and what was watched while it ran."""

    f: Callable[..., Any]
    names: list[str]
    values: list[Any]  # one for each leaf of the arguments
    tracer: Tracer
    outs: list[Any]
    structure: Any
    places: Sequence[Any] = ()  # outside, that it changes (`outside.Place`)
    states: Sequence[Any] = ()  # the Value at each of them before the call, or None
    left: Sequence[Any] = ()  # the Value or plain number at each of them after it

    @functools.cached_property
    def after(self) -> list[Any]:
        """What a program gives besides the results: what is left outside, then the guards."""
        return [*self.left, *(guard.value for guard in self.tracer.guards)]

    def sources(self) -> list[Any]:
        return [*self.values, *(x for x in self.states if x is not None), *self.tracer.drawn_values]

    @functools.cached_property
    def recorded(self) -> Recorded:
        """What it computed."""
        return record([*self.outs, *self.after], self.sources(), self.tracer.start, _scope, self.tracer.written)

    @property
    def compared(self) -> Recorded:
        """The same, for a comparison: without what else there is to say of each instruction."""
        return record([*self.outs, *self.after], self.sources(), self.tracer.start, None, self.tracer.written)

    def traced(self, gradients: bool) -> Traced:
        """What it computed and, if asked, the gradient of each leaf, as a program."""
        outs, walked = self.outs, Walked()
        differentiated = [gradients and isinstance(x, Value) and x.requires_grad for x in self.values]
        if gradients:
            sources = [x for x, wanted in zip(self.values, differentiated) if wanted]
            with _open(self.tracer, lines=False):
                outs = [*outs, *gradients_of(self.f, outs, sources, walked)]
        recorded = None if gradients else self.recorded
        program, origins = program_of([*outs, *self.after], self, walked, recorded)
        outcomes = tuple(guard.outcome for guard in self.tracer.guards)
        lines = tuple(guard.line for guard in self.tracer.guards)
        return Traced(program, origins, self.structure, differentiated, len(self.left), outcomes, lines)


@contextlib.contextmanager
def _open(tracer: Tracer, lines: bool) -> Iterator[None]:
    """While this runs, this thread's exits are the tracer's, and Python's `max`, `min` and `sorted` may be ops."""
    try:
        open_tracers.append(tracer)
        vars(builtins).update(BUILTINS)
        with enable_grad(), trace_with(tracer), record_lines() if lines else contextlib.nullcontext():
            yield
    finally:
        open_tracers.remove(tracer)
        if not open_tracers:
            vars(builtins).update(PYTHON)


def call(
    f: Callable[..., Any], args: Sequence[Any], leaves: Sequence[Any], *, lines: bool = False,
    places: Sequence[Any] = (), gradients: bool = True,
) -> Call:  # fmt: skip
    """Call f on Values with the data in `leaves`. Generators that it draws from, and Values whose data it sets, are set
    back.

    lines   record source lines, so that results have the names that they are assigned to there
    places  outside, that f changes: their numbers are Values too, and what f leaves there is part of the program
    gradients  whether the program gives gradients of its inputs: then a derivative in f that depends on one is a Value
    """
    tracer = Tracer(gradients)
    names = leaf_names(f, args)
    values, given = _around(args, leaves, names)
    tracer.inputs.update(x for x in values if isinstance(x, Value))
    states = [place.put_value(tracer) for place in places]
    try:
        with _open(tracer, lines):
            returned = f(*given)
            tracer.check_caught()
            left = [place.found(tracer) for place in places]
            tracer.finish()
    except Exception as error:
        if tracer.refused:
            raise tracer.refused[0] from error
        raise
    finally:
        tracer.set_back()
    if tracer.refused:  # and somebody caught it
        raise tracer.refused[0]
    outs, structure = flatten(returned)
    outs = [np.asarray(out) if isinstance(out, memoryview) else unwrapped(out) for out in outs]  # an array's .data
    check_returned(f, returned, outs)
    return Call(f, names, values, tracer, outs, structure, places, states, left)


def trace(
    f: Callable[..., Any], args: Sequence[Any], leaves: Sequence[Any], gradients: bool = True, *, lines: bool = False
) -> Traced:
    """Call f on Values with the data in `leaves`, and record it: its value and, if asked, the gradient of each leaf."""
    return call(f, args, leaves, lines=lines, gradients=gradients).traced(gradients)


def _called(f: Any) -> str:
    return getattr(f, "__name__", None) or type(f).__name__


def _around(args: Sequence[Any], leaves: Sequence[Any], names: Sequence[str]) -> tuple[list[Any], list[Any]]:
    """The Values that stand for the leaves, and the arguments with them in place."""
    values: list[Any] = []

    def made(x: Any) -> Any:
        data = leaves[len(values)]
        real = np.asarray(data).dtype.kind == "f"
        value = leaf(data, names[len(values)], requires_grad=real)
        values.append(value)
        return value if real else Number(value)  # integers are plain arrays in an ordinary call

    def module(x: Any) -> None:
        values.extend(parameter for _, parameter in x.named_parameters())

    return values, [rebuild(x, made, module) for x in args]


def gradients_of(f: Any, outs: list[Any], sources: list[Value], walked: Walked) -> list[Any]:
    """The walk back from a scalar result, on Values: one gradient a source, zeros where no path leads."""
    if len(outs) != 1 or np.size(getattr(outs[0], "_data", outs[0])) != 1:
        shapes = [np.shape(getattr(out, "_data", out)) for out in outs]
        raise BackwardError(
            f"compile differentiates a function with one scalar result; {_called(f)} gave shapes {shapes}. Sum it, or "
            "write compile(f, gradients=False) for its value alone."
        )
    if not sources:
        raise BackwardError(
            f"{_called(f)} has no real input to differentiate. Write 3.0 for 3, or x.astype(float); or "
            "compile(f, gradients=False) for its value alone."
        )
    root = outs[0]
    grads: dict[Value, Any] = {}
    if isinstance(root, Value) and root.requires_grad:
        seed = leaf(cotangent_for(root, None), requires_grad=False)
        grads[root] = seed
        order, wanted = reach_from([root], sources)
        for node in order:
            g = grads.pop(node, None)
            if g is None:
                continue
            if node._note is not None and node._note.hooks:
                g = run_hooks(node, g)
            walked.rules.append((next(counter), node))
            walked.slopes[g] = node
            begun, used = next(counter), [g]
            for x, dx in contributions(node, g, wanted, taped=True):
                total = grads.get(x)
                grads[x] = dx if total is None else total + dx
                used += [dx] if total is None else [total, grads[x]]
            if np.size(g._data) >= LARGE and not (node._note is not None and node._note.hooks):
                _let_go(used, begun, grads, root)
        for x in sources:
            if x in grads and x._note is not None and x._note.hooks:
                grads[x] = run_hooks(x, grads[x])
    walked.slopes |= {grads[s]: s for s in sources if s in grads}
    return [grads.get(s, np.zeros(s.shape, s.dtype) if s.ndim else s.dtype.type(0)) for s in sources]


def gradient_values(root: Value, sources: Sequence[Value]) -> list[Any]:
    """The gradients of a scalar as Values, for a function that computes with them while it is traced."""
    return gradients_of(None, [root], list(sources), Walked())


LARGE = 4096  # numbers in a gradient, from which on it is worth while to let it go


def _let_go(used: Sequence[Any], begun: int, grads: dict[Value, Any], root: Value) -> None:
    """Let go of the numbers of gradients that no rule reads any more; a program needs their shapes and dtypes alone.

    They are what one rule was given and what it made since `begun`, but for those that other rules wait for.
    """
    waiting = {x for x in grads.values() if isinstance(x, Value)}
    for x in (*used, *made_from(used, (), begun)):
        of_walk = x.op is not None and x.stamp > root.stamp  # and not of the function, which may keep it
        if of_walk and x not in waiting and x._data.__class__ is np.ndarray:
            x._data = np.broadcast_to(np.zeros((), x._data.dtype), x._data.shape)


def trace_graph(root: Value) -> tuple[Traced, list[Value]]:
    """A graph that is recorded already, and the walk back from a scalar, as a program of its leaves; and these."""
    inputs = [x for x in leaves_of(root) if x.requires_grad]
    tracer, walked = Tracer(), Walked()
    tracer.start = 0
    one = Call(lambda: root, [], inputs, tracer, [root], LEAF)
    whole = np.size(root._data) == 1  # of several numbers there is no one gradient: the forward pass alone
    with enable_grad():
        outs = [root, *(gradients_of(root, [root], inputs, walked) if whole else ())]
    one.names = [x.name or f"x{n}" for n, x in enumerate(inputs, 1)]
    program, origins = program_of(outs, one, walked)
    return Traced(program, origins, LEAF, [whole] * len(inputs)), inputs


def program_of(
    outs: Sequence[Any], one: Call, walked: Walked, recorded: Recorded | None = None
) -> tuple[Program, list[Origin]]:
    """The graph behind some results of a call as a program: its inputs are the leaves of the arguments, the numbers
    that f changes outside, what was drawn, and what is captured.
    """
    drawn, tracer = one.tracer.drawn_values, one.tracer
    stamps = [stamp for stamp, _ in walked.rules]

    def about(node: Value) -> tuple[Any, ...]:
        place = bisect.bisect(stamps, node.stamp) - 1
        return walked.rules[place][1] if place >= 0 else None, *_scope(node)[1:]

    recorded = recorded or record(outs, one.sources(), tracer.start, about, tracer.written)
    program, register = recorded.program(), recorded.register
    code = [i._replace(of=register.get(i.of)) if i.of is not None else i for i in program.code]
    assigned = assigned_names(recorded.nodes)
    named = {register[x]: x.name or assigned.get(x) for x in (*drawn, *recorded.captured, *recorded.nodes)}
    names = {r: name for r, name in (*named.items(), *enumerate(one.names)) if name}
    slopes = {register[g]: register[of] for g, of in walked.slopes.items() if g in register and of in register}
    origins = [
        *(Origin("given", i) for i in range(len(one.values))),
        *(Origin("state", held=place) for place, x in zip(one.places, one.states) if x is not None),
        *(Origin("drawn", held=generator, draw=draw) for _, draw, generator in tracer.draws),
        *(Origin("captured", held=x) for x in recorded.captured),
    ]  # fmt: skip
    return renumbered(program.inputs, program.constants, code, program.outputs, program.types, names, slopes), origins


def _scope(node: Value) -> tuple[Any, ...]:
    note = node._note  # not `node.scope`: a graph may have a million nodes
    return NOTHING if note is None or note.scope is None else (None, "", note.scope.path)


def assigned_names(nodes: Sequence[Value]) -> dict[Value, str]:
    """The names that source lines give to results: of the nodes made by `h = relu(x @ w)`, the last is h."""
    found = {}
    for node, following in zip(nodes, [*nodes[1:], None]):
        if node.line is not None and (following is None or following.line != node.line):
            target = _ASSIGNMENT.match(node.line)
            if target and "lambda" not in node.line:  # `g = compile(lambda x: ...)` names the function
                found[node] = target[1]
    return found


_ASSIGNMENT = re.compile(r"[^:]*:\d+: ([A-Za-z]\w*) = ")
