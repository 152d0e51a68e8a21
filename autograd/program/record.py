"""A recorded graph as a program: what `compile` optimises and `check_grads` runs again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.graph import made_from
from autograd.op import Op

from .program import Instruction, Program, constant_key, type_of

new = tuple.__new__  # an Instruction, at half the price of calling it
Written = Mapping[Value, list[tuple[int, Any]]]
NOTHING = (None, "", "")  # to say of an instruction: of, part, scope


class Recorded:
    """What was recorded between some sources and some results, ready to become a program.

    code       the instructions; `nodes` has the node of each
    constants  register → a plain number, an array, or None
    outputs    the registers of the results
    register   the register of each source, node and captured Value
    captured   the Values made before the call: inputs of the program, after the sources
    data       what each register held
    """

    def __init__(
        self, inputs: list[int], constants: dict[int, Any], code: list[Instruction], outputs: list[int],
        nodes: list[Value], register: dict[Any, int], captured: list[Value], data: list[Any],
    ) -> None:  # fmt: skip
        self.inputs, self.constants, self.code, self.outputs = inputs, constants, code, outputs
        self.nodes, self.register, self.captured, self.data = nodes, register, captured, data

    def forget(self) -> None:
        """Let go of the nodes and of what was computed: a comparison needs the results alone."""
        kept = set(self.outputs)
        self.data = [data if r in kept else None for r, data in enumerate(self.data)]
        self.nodes, self.register = [], {}

    def program(self) -> Program:
        types = tuple(map(type_of, self.data))
        return Program(tuple(self.inputs), self.constants, tuple(self.code), tuple(self.outputs), types)


def record(
    outs: Sequence[Any], sources: Sequence[Any], since: int = 0,
    about: Callable[[Value], tuple[Any, ...]] | None = None, written: Written | None = None,
) -> Recorded:  # fmt: skip
    """The graph between some sources and some results.

    since  a stamp: a Value made before it is captured, an input of the program; if left out, a leaf that is no source
           is a constant
    about  what else there is to say of a node's instruction: of, part, scope
    written  Values whose data was set on the way, at these stamps, to these: who reads them later reads that
    """
    register: dict[Any, int] = {}
    data: list[Any] = []
    for x in sources:
        if isinstance(x, Value):
            register.setdefault(x, len(data))
            x = x._data
        data.append(x)
    inputs, captured = list(range(len(data))), []
    constants: dict[int, Any] = {}
    known: dict[Any, int] = {}  # constants that are in a register already

    def capture(x: Value) -> None:
        register[x] = r = len(data)
        data.append(x._data)
        inputs.append(r)
        captured.append(x)

    def read(x: Any) -> int:
        if not isinstance(x, Value):
            return constant(x)
        if x not in register:
            if x.stamp < since:  # a parameter, say, that the function knows from outside
                capture(x)
            else:
                register[x] = constant(x._data)
        return register[x]

    def constant(x: Any) -> int:
        key = ("array", id(x)) if isinstance(x, np.ndarray) else (x.__class__, x) if x else constant_key(x)
        if key not in known:
            known[key] = r = len(data)
            data.append(x)
            constants[r] = x
        return known[key]

    code: list[Instruction] = []
    nodes = made_from([*outs, *(it for sets in (written or {}).values() for _, it in sets)], register, since)
    for node in nodes:
        if node.stamp < since:  # computed before the call: what it is now, it stays
            capture(node)
            continue
        inputs_then = [_now(x, node.stamp, written) for x in node.inputs] if written else node.inputs
        read_from = tuple([read(x) for x in inputs_then])
        register[node] = out = len(data)
        data.append(node._data)
        code.append(new(Instruction, (node.op, read_from, out) + (about(node) if about is not None else NOTHING)))
    outputs = [read(out if not written else _now(out, math.inf, written)) for out in outs]
    if captured:
        nodes = [node for node in nodes if node.stamp >= since]
    return Recorded(inputs, constants, code, outputs, nodes, register, captured, data)


def _now(x: Any, stamp: float, written: Written) -> Any:
    """What a node made at this stamp read when it read x."""
    for at, new in reversed(written.get(x, ()) if isinstance(x, Value) else ()):
        if at < stamp:
            return _now(new, at, written)
    return x


def difference_of(first: Recorded, other: Recorded, constants: dict[int, Any]) -> str | None:
    """What two calls did differently, in words; None if they did the same. `constants` are copies of those of the
    first: a function may edit what it closes over.
    """
    for i, j in zip(first.code, other.code):
        if i.op is not j.op and not _same_op(i.op, j.op):
            return f"once it computes {i.op!r}, once {j.op!r}"
        if i.inputs != j.inputs:
            return f"{i.op.name} is given something else"
    if len(first.code) != len(other.code):
        return f"once it computes {len(first.code)} ops, once {len(other.code)}"
    for r, data in constants.items():
        if r not in other.constants or not same(data, other.constants[r]):
            user = next((i.op.name for i in first.code if r in i.inputs), "the result")
            shown = f"{_shown(data)}, {_shown(other.constants.get(r))}"
            return f"a number or array that goes into {user} is another one ({shown})"
    if first.outputs != other.outputs or first.inputs != other.inputs:
        return "its results or inputs differ"
    if any(type_of(first.data[r]) != type_of(other.data[r]) for r in first.outputs):
        return "its results have other shapes or dtypes"
    return None


def _same_op(one: Op, other: Op) -> bool:
    return one.base is other.base and one.settings.keys() == other.settings.keys() and all(
        same(value, other.settings[key]) for key, value in one.settings.items()
    )  # fmt: skip


def same(a: Any, b: Any) -> bool:
    """Whether two constants or settings are equal: numbers, arrays, texts, slices, and tuples of them."""
    if a.__class__ is not b.__class__:
        return False
    if isinstance(a, np.ndarray):  # to the bit: then NaN is itself, and it takes a fifth of the time
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b or (a != a and b != b))


def _shown(data: Any) -> str:
    return f"shape {data.shape}" if isinstance(data, np.ndarray) and data.ndim else f"{data!r:.30}"
