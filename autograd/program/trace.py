"""Tracing: one call of a function on Values, and what it recorded as a program.

The rules run on Values, so the backward pass is recorded in the same way as the forward pass: the call, then a walk
back from its result, give one graph of ops. `program_of` turns that graph into instructions.
"""

from __future__ import annotations

import bisect
import contextlib
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..backprop import contributions, cotangent_for, reach_from, run_hooks
from ..errors import BackwardError, TraceError
from ..graph import by_stamp
from ..graph import leaves as leaves_of
from ..recording import _user_line, enable_grad, record_lines, trace_with
from ..tree import LEAF, flatten
from ..value import Value, counter, new
from .inputs import leaf_names, rebuild
from .program import Instruction, Program, Type, constant_key, renumbered, type_of

LOOKS = (".data", ".numpy()", "np.")  # reads that may ask for a shape only; all others decide something


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
    take: Callable[[Any], Any] | None = None

    def fetch(self, leaves: Sequence[Any]) -> Any:
        """The data of this input for a call with these leaves."""
        if self.kind == "given":
            return leaves[self.place]
        if self.kind == "packed":
            return self.pack(leaves)
        if self.kind == "drawn":
            return self.draw(self.held)  # type: ignore[misc]
        return self.held._data if isinstance(self.held, Value) else self.held


    def pack(self, leaves: Sequence[Any]) -> Any:
        """One vector of several scalars."""
        if self.take is None:
            self.take = lambda leaves: [origin.fetch(leaves) for origin in self.held]
            if len(self.held) > 1 and all(origin.kind == "given" for origin in self.held):
                self.take = operator.itemgetter(*(origin.place for origin in self.held))
        return np.array(self.take(leaves), np.float64)


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
        self.start = next(counter)
        self._states: list[tuple[Any, Any]] = []

    def drawn(self, draw: Callable[[Any], Any], generator: Any) -> Value:
        """Random numbers, as an input of the program; the generator is set back when the trace is done."""
        if not any(known is generator for known, _ in self._states):
            self._states.append((generator, generator.bit_generator.state))
        value = leaf(draw(generator), requires_grad=False)
        self.draws.append((value, draw, generator))
        return value

    def set_back(self) -> None:
        """Give every generator the state it had before this trace."""
        for generator, state in self._states:
            generator.bit_generator.state = state

    def read(self, value: Value, how: str) -> None:
        """Numbers are read by Python code. What it does with them, no program can see."""
        if not self._depends(value):
            return
        line = _user_line() or "unknown line"
        if how.startswith(LOOKS):
            self.looked.append(f"{line} ({how})")
            return
        raise TraceError(
            f"{line}\nreads a number that depends on the inputs ({how}). What Python decides by it is decided once, "
            "when the call is traced. Write where(condition, a, b) for a branch, ops for arithmetic; or give what "
            "decides as a Python int or bool: each one is traced anew."
        )

    def _depends(self, value: Value) -> bool:
        sources = {*self.inputs, *(mask for mask, _, _ in self.draws)}
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
    value.op = value._a = value._b = value._note = None
    value.stamp, value.requires_grad = next(counter), requires_grad
    if name is not None:
        value.name = name
    return value


def trace(
    f: Callable[..., Any], args: Sequence[Any], leaves: Sequence[Any], gradients: bool = True, *,
    whole: bool = True, lines: bool = False,
) -> Traced:  # fmt: skip
    """Call f on Values with the data in `leaves`, and record it: its value and, if asked, the gradient of each leaf.

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
        outs, structure = flatten(returned)
        if any(out is None for out in outs):
            raise BackwardError(f"{_called(f)} returned {returned!r:.60}; did you forget `return`?")
        walked = Walked()
        differentiated = [gradients and isinstance(x, Value) and x.requires_grad for x in values]
        if gradients:
            sources = [x for x, wanted in zip(values, differentiated) if wanted]
            with enable_grad(), trace_with(tracer):
                outs = [*outs, *gradients_of(f, outs, sources, walked)]
        program, origins = program_of(outs, values, names, tracer, walked)
    finally:
        tracer.set_back()
    return Traced(program, origins, structure, differentiated, tracer.looked)


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


def gradients_of(
    f: Any, outs: list[Any], sources: list[Value], walked: Walked
) -> list[Any]:
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
            for x, dx in contributions(node, g, wanted, taped=True):
                total = grads.get(x)
                grads[x] = dx if total is None else total + dx
        for x in sources:
            if x in grads and x._note is not None and x._note.hooks:
                grads[x] = run_hooks(x, grads[x])
    walked.slopes |= {grads[s]: s for s in sources if s in grads}
    return [grads.get(s, np.zeros(s.shape, s.dtype) if s.ndim else s.dtype.type(0)) for s in sources]


def trace_graph(root: Value) -> tuple[Traced, list[Value]]:
    """A graph that is recorded already, and the walk back from it, as a program of its leaves; and these leaves."""
    inputs = [x for x in leaves_of(root) if x.requires_grad]
    tracer, walked = Tracer(), Walked()
    tracer.start = 0
    with enable_grad():
        outs = [root, *gradients_of(root, [root], inputs, walked)]
    names = [x.name or f"x{n}" for n, x in enumerate(inputs, 1)]
    program, origins = program_of(outs, inputs, names, tracer, walked)
    return Traced(program, origins, LEAF, [True] * len(inputs), []), inputs


def program_of(
    outs: Sequence[Any], values: Sequence[Any], names_of_values: Sequence[str], tracer: Tracer, walked: Walked
) -> tuple[Program, list[Origin]]:
    """The graph behind some results as a program whose inputs are `values`, what was drawn, and what is captured."""
    register: dict[Any, int] = {}
    types: list[Type] = []
    names: dict[int, str] = {}
    constants: dict[int, Any] = {}
    known: dict[Any, int] = {}  # constants that are in a register already
    origins: list[Origin] = []
    inputs: list[int] = []

    def fresh(data: Any, name: str | None = None) -> int:
        types.append(type_of(data))
        if name:
            names[len(types) - 1] = name
        return len(types) - 1

    def as_input(x: Any, origin: Origin, name: str | None = None) -> int:
        r = fresh(x._data if isinstance(x, Value) else x, name or getattr(x, "name", None))
        inputs.append(r)
        origins.append(origin)
        return r

    for i, value in enumerate(values):
        r = as_input(value, Origin("given", i), names_of_values[i])
        if isinstance(value, Value):
            register.setdefault(value, r)
    for value, draw, generator in tracer.draws:
        register[value] = as_input(value, Origin("drawn", held=generator, draw=draw))

    def read(x: Any) -> int:
        if isinstance(x, Value):
            if x in register:
                return register[x]
            if x.stamp < tracer.start:  # made before the call: a parameter that the function knows from outside
                register[x] = as_input(x, Origin("captured", held=x))
                return register[x]
            register[x] = r = read(x._data)
            return r
        key = ("array", id(x)) if isinstance(x, np.ndarray) else constant_key(x)
        if key not in known:
            known[key] = r = fresh(x)
            constants[r] = x
        return known[key]

    nodes = _made_from(outs, register, tracer.start)
    stamps = [stamp for stamp, _ in walked.rules]
    assigned = assigned_names(nodes)
    code = []
    for node in nodes:
        if node.stamp < tracer.start:  # computed before the call: what it is now, it stays
            register[node] = as_input(node, Origin("captured", held=node))
            continue
        place = bisect.bisect(stamps, node.stamp) - 1
        of = register.get(walked.rules[place][1]) if place >= 0 else None
        scope = node.scope
        sources = tuple(read(x) for x in node.inputs)
        register[node] = out = fresh(node._data, node.name or assigned.get(node))
        assert node.op is not None
        code.append(Instruction(node.op, sources, out, of, "", "" if scope is None else scope.path))
    outputs = [read(out) for out in outs]
    slopes = {register[g]: register[of] for g, of in walked.slopes.items() if g in register and of in register}
    return renumbered(inputs, constants, code, outputs, types, names, slopes), origins


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


def _made_from(outs: Sequence[Any], stop: dict[Any, int], start: int) -> list[Value]:
    """The nodes that were computed on the way to `outs`, oldest first, back to the first made before `start`."""
    seen = set(stop)
    made = []
    waiting = list(outs)
    while waiting:
        x = waiting.pop()
        if isinstance(x, Value) and x.op is not None and x not in seen:
            seen.add(x)
            made.append(x)
            if x.stamp > start:
                waiting += x.inputs
    made.sort(key=by_stamp)
    return made
