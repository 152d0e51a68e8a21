"""Tracing: one call of a function on Values, and what it recorded as a program.

The rules run on Values, so the backward pass is recorded in the same way as the forward pass: the call, then a walk
back from its result, give one graph of ops. `program_of` turns that graph into instructions.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..callers import user_line
from ..derivatives import check_returned
from ..engine import Value, contributions, counter, new
from ..errors import BackwardError, TraceError
from ..gradients import cotangent_for, run_hooks
from ..graph import leaves as leaves_of
from ..graph import made_from, reach_from
from ..modes import enable_grad, record_lines, trace_with
from ..tree import LEAF, flatten
from .inputs import rebuild
from .leaf_names import leaf_names
from .program import Program, renumbered
from .reads import read_array, read_of, refusal
from .record import NOTHING, Recorded, record

LOOKS = (".data", ".numpy()", ".tolist()", "np.")  # reads that may ask for a shape only; all others decide something


@dataclass
class Origin:
    """Where an input of a program comes from at each call.

    given     the leaf of the arguments at this place
    captured  a leaf Value or an array that the function reaches from outside: read again at each call
    drawn     random numbers: `draw(generator)` at each call
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
        return self.held._data if isinstance(self.held, Value) else self.held


@dataclass
class Traced:
    """A program, where its inputs come from, and how its results are nested."""

    program: Program
    origins: list[Origin]
    structure: Any  # of the value
    differentiated: list[bool]  # for each leaf, whether a gradient of it is among the results
    looked: list[str]  # the source lines that read numbers


@dataclass
class Walked:
    """What the walk back did: the stamp at which each node's rule began, and which Value is whose gradient."""

    rules: list[tuple[int, Value]] = field(default_factory=list)
    slopes: dict[Any, Value] = field(default_factory=dict)


class Tracer:
    """What watches a call that is traced: reads of numbers, and random draws."""

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.draws: list[tuple[Value, Callable[[Any], Any], Any]] = []
        self.looked: list[str] = []
        self.refused: list[TraceError] = []
        self.start = next(counter)
        self._drawn_from: list[tuple[Any, Any]] = []  # generators, and the state that each had before this trace
        self._reads: dict[Any, Value] = {}

    def drawn(self, draw: Callable[[Any], Any], generator: Any) -> Value:
        """Random numbers, as an input of the program; the generator is set back when the trace is done."""
        if not any(known is generator.bit_generator for known, _ in self._drawn_from):
            self._drawn_from.append((generator.bit_generator, generator.bit_generator.state))
        value = leaf(draw(generator), requires_grad=False)
        self.draws.append((value, draw, generator))
        return value

    def set_back(self) -> None:
        """Give every generator the state that it had before this trace."""
        for generator, state in self._drawn_from:
            generator.state = state

    @property
    def drawn_values(self) -> list[Value]:
        return [value for value, _, _ in self.draws]

    def read(self, value: Value, how: str) -> Any:
        """Numbers are read by Python code. What it does with them, no program can see, but for a scalar's `.data`. An
        array can be looked at; it is an input of the caller's, perhaps, and code that edits it must not go on.
        """
        if not self._depends(value):
            return None
        if not how.startswith(LOOKS):
            raise refusal(how)
        self.looked.append(f"{user_line() or 'unknown line'} ({how})")
        if how == ".data" and value._data.__class__ is float:
            return read_of(value, self._reads)
        return read_array(value, copy=how == ".numpy()") if how in (".data", ".numpy()") else None

    def _depends(self, value: Value) -> bool:
        sources = {*self.inputs, *self.drawn_values}
        seen, waiting = set(), [value]
        while waiting:
            x = waiting.pop()
            if x in sources:
                return True
            if x.op is not None and x.stamp > self.start and x not in seen:
                seen.add(x)
                waiting += x.parents
        return False


def leaf(data: Any, name: str | None = None, requires_grad: bool = True) -> Value:
    """A leaf Value of any dtype, whole numbers too, that holds the data itself and no copy."""
    value: Value = new(Value)
    value._data, value.grad = data, None
    value.op, value.inputs, value._note = None, (), None
    value.stamp, value.requires_grad = next(counter), requires_grad
    if name is not None:
        value.name = name
    return value


@dataclass
class Call:
    """One call of a function on Values: what it was given, what it returned, and what was watched meanwhile."""

    f: Callable[..., Any]
    names: list[str]
    values: list[Any]  # one for each leaf of the arguments
    tracer: Tracer
    outs: list[Any]
    structure: Any

    @functools.cached_property
    def recorded(self) -> Recorded:
        """What it computed."""
        return record(self.outs, [*self.values, *self.tracer.drawn_values], self.tracer.start, _scope)

    @property
    def compared(self) -> Recorded:
        """The same, for a comparison: without what else there is to say of each instruction."""
        return record(self.outs, [*self.values, *self.tracer.drawn_values], self.tracer.start)

    def traced(self, gradients: bool) -> Traced:
        """What it computed and, if asked, the gradient of each leaf, as a program."""
        outs, walked = self.outs, Walked()
        differentiated = [gradients and isinstance(x, Value) and x.requires_grad for x in self.values]
        if gradients:
            sources = [x for x, wanted in zip(self.values, differentiated) if wanted]
            with enable_grad(), trace_with(self.tracer):
                outs = [*outs, *gradients_of(self.f, outs, sources, walked)]
        recorded = None if gradients else self.recorded
        program, origins = program_of(outs, self.values, self.names, self.tracer, walked, recorded)
        return Traced(program, origins, self.structure, differentiated, self.tracer.looked)


def call(
    f: Callable[..., Any], args: Sequence[Any], leaves: Sequence[Any], *, whole: bool = True, lines: bool = False
) -> Call:
    """Call f on Values with the data in `leaves`. Generators that it draws from are set back.

    whole   False: whole numbers reach f as plain arrays, as they do in an ordinary call; for comparison
    lines   record source lines, so that results have the names that they are assigned to there
    """
    tracer = Tracer()
    names = leaf_names(f, args)
    values, given = _around(args, leaves, names, whole)
    tracer.inputs = [x for x in values if isinstance(x, Value)]
    try:
        with enable_grad(), trace_with(tracer), record_lines() if lines else contextlib.nullcontext():
            returned = f(*given)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise TraceError(
            f"{user_line(error)}\nedits the numbers of a Value in place, which a program would not do again. Write "
            "where(condition, a, b), or concatenate parts."
        ) from error
    finally:
        tracer.set_back()
    if tracer.refused:  # and somebody caught it
        raise tracer.refused[0]
    outs, structure = flatten(returned)
    check_returned(f, returned, outs)
    return Call(f, names, values, tracer, outs, structure)


def trace(
    f: Callable[..., Any], args: Sequence[Any], leaves: Sequence[Any], gradients: bool = True, *, lines: bool = False
) -> Traced:
    """Call f on Values with the data in `leaves`, and record it: its value and, if asked, the gradient of each leaf."""
    return call(f, args, leaves, lines=lines).traced(gradients)


def _called(f: Any) -> str:
    return getattr(f, "__name__", None) or type(f).__name__


def _around(
    args: Sequence[Any], leaves: Sequence[Any], names: Sequence[str], whole: bool
) -> tuple[list[Any], list[Any]]:
    """The Values that stand for the leaves, and the arguments with them in place."""
    values: list[Any] = []

    def made(x: Any) -> Any:
        data = leaves[len(values)]
        real = np.asarray(data).dtype.kind == "f"
        value = leaf(data, names[len(values)], requires_grad=real) if real or whole else data
        values.append(value)
        return value

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
    whole = np.size(root._data) == 1  # of several numbers there is no one gradient: the forward pass alone
    with enable_grad():
        outs = [root, *(gradients_of(root, [root], inputs, walked) if whole else ())]
    names = [x.name or f"x{n}" for n, x in enumerate(inputs, 1)]
    program, origins = program_of(outs, inputs, names, tracer, walked)
    return Traced(program, origins, LEAF, [whole] * len(inputs), []), inputs


def program_of(
    outs: Sequence[Any], values: Sequence[Any], names_of_values: Sequence[str], tracer: Tracer, walked: Walked,
    recorded: Recorded | None = None,
) -> tuple[Program, list[Origin]]:  # fmt: skip
    """The graph behind some results as a program whose inputs are `values`, what was drawn, and what is captured."""
    drawn = tracer.drawn_values
    stamps = [stamp for stamp, _ in walked.rules]

    def about(node: Value) -> tuple[Any, ...]:
        place = bisect.bisect(stamps, node.stamp) - 1
        return walked.rules[place][1] if place >= 0 else None, *_scope(node)[1:]

    recorded = recorded or record(outs, [*values, *drawn], tracer.start, about)
    program, register = recorded.program(), recorded.register
    code = [i._replace(of=register.get(i.of)) if i.of is not None else i for i in program.code]
    assigned = assigned_names(recorded.nodes)
    named = {register[x]: x.name or assigned.get(x) for x in (*drawn, *recorded.captured, *recorded.nodes)}
    names = {r: name for r, name in (*named.items(), *enumerate(names_of_values)) if name}
    slopes = {register[g]: register[of] for g, of in walked.slopes.items() if g in register and of in register}
    origins = [
        *(Origin("given", i) for i in range(len(values))),
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
