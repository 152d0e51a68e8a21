"""Passes: programs in, programs out, each with the same results.

    open_fused   fused ops as the core ops they are made of; forward and backward then share what they both compute
    fold         what depends on constants alone, computed beforehand
    simplify     powers with a small exponent as products and roots; ops that do nothing left out
    share        the same op on the same registers, once
    join         a sum of parts, each in its own slice of zeros, as one concatenation
    drop_dead    what no result needs, left out

`open_fused` computes on an example of the inputs, since a lowering runs on Values as rules do; it changes the last
digits of a result. So may `simplify`. The others keep every bit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from autograd.arrays.plain import as_plain
from autograd.engine import Value
from autograd.graph import made_from
from autograd.modes import enable_grad
from autograd.op import OPS, Op, apply

from .program import Instruction, Program, Type, constant_key, is_weak, renumbered, settings_key, type_of
from .trace import leaf

Keeps = Callable[[Op, Sequence[Any]], bool]  # whether a backend runs an op on this data by its own forward function


def optimised(program: Program, example: Sequence[Any], keeps: Keeps | None = None) -> Program:
    """All passes, in the order in which each finds most to do."""
    opened = functools.partial(open_fused, example=example, keeps=keeps)
    for change in (drop_dead, opened, fold, simplify, share, join, drop_dead):
        program = change(program)
    return program


# --- open -----------------------------------------------------------------------------------------------------------


Lowering = Callable[[Op], Callable[..., Any] | None]  # how an op reads in simpler ones; None: as it is


@np.errstate(all="ignore")
def open_fused(
    program: Program, example: Sequence[Any], lowering: Lowering = attrgetter("lower"), keeps: Keeps | None = None
) -> Program:  # fmt: skip
    """Every op that has a lowering replaced by it. `example` is data for the inputs of the program."""
    builder = Builder(program)
    data: dict[int, Any] = dict((*program.constants.items(), *zip(program.inputs, example, strict=True)))
    last = {r: place for place, i in enumerate(program.code) for r in i.inputs}
    with enable_grad():
        for place, i in enumerate(program.code):
            i = builder.of_reals(i, data)
            inputs = [data[r] for r in i.inputs]
            constant = builder.constants.keys() >= set(i.inputs)  # which `fold` computes
            if lowering(i.op) is None or constant or (keeps is not None and keeps(i.op, inputs)):
                data[i.out] = i.op.compute(*inputs)
                builder.add(i)
            else:
                data[i.out] = builder.add_lowered(i, inputs, lowering)
            for r in i.inputs:
                if last.get(r) == place:
                    data[r] = None  # a large graph has hundreds of arrays, and few are read for long
    return builder.program()


class Builder:
    """A copy of a program in the making, in which an instruction may become several."""

    def __init__(self, program: Program) -> None:
        self.source = program
        self.constants = dict(program.constants)
        self.types: list[Type] = list(program.types)
        self.code: list[Instruction] = []
        self.names, self.slopes = dict(program.names), dict(program.slopes)
        self.made: dict[int, Instruction] = {}
        self.becomes: dict[int, int] = {}  # registers of the source that another now stands for
        self.scalars = {constant_key(c): r for r, c in program.constants.items() if not isinstance(c, np.ndarray)}

    def add(self, i: Instruction) -> None:
        inputs = tuple([self.becomes.get(r, r) for r in i.inputs])
        i = i if inputs == i.inputs else i._replace(inputs=inputs)
        self.code.append(i)
        self.made[i.out] = i

    def stand_for(self, old: int, new: int) -> None:
        """Let `new` be read wherever `old` was; it takes over its name, if it has none."""
        self.becomes[old] = new
        _inherit(self.names, old, new)
        _inherit(self.slopes, old, new)

    def constant(self, data: Any) -> int:
        key = constant_key(data) if not isinstance(data, np.ndarray) else None
        if key is not None and key in self.scalars:
            return self.scalars[key]
        r = self.fresh(data)
        self.constants[r] = data
        if key is not None:
            self.scalars[key] = r
        return r

    def fresh(self, data: Any) -> int:
        self.types.append(type_of(data))
        return len(self.types) - 1

    def of_reals(self, i: Instruction, data: dict[int, Any]) -> Instruction:
        """An instruction that makes real numbers of truths or integers alone, with these as reals first: a lowering,
        and NumPy's own functions, may know reals only.
        """
        dtype = self.types[i.out][1]
        arrays = [r for r in i.inputs if r not in self.constants]
        kinds = {self.types[r][1].kind for r in i.inputs if data[r] is not None}
        if dtype.kind != "f" or not arrays or not kinds <= {"b", "i", "u"} or i.op.base.name in ("astype", "one_hot"):
            return i
        inputs = list(i.inputs)
        for place, r in enumerate(inputs):
            if r in arrays:
                real = as_plain(np.asarray(data[r], dtype))
                inputs[place] = self.fresh(real)
                data[inputs[place]] = real
                op = OPS["astype"].bind({"dtype": dtype.name})
                self.add(Instruction(op, (r,), inputs[place], i.of, i.part, i.scope))
        return i._replace(inputs=tuple(inputs))

    def add_lowered(self, i: Instruction, inputs: list[Any], lowering: Lowering) -> Any:
        """Record the lowering of one instruction on Values; the data of its result."""
        plain = {r for r, x in zip(i.inputs, inputs) if x is None or (r in self.constants and is_weak(x))}
        given = {r: leaf(x) for r, x in zip(i.inputs, inputs) if r not in plain}
        operands = [given.get(r, x) for r, x in zip(i.inputs, inputs)]
        result = lowered(i.op, operands, lowering)
        dtype = self.types[i.out][1]
        if isinstance(result, Value) and result.dtype != dtype:  # 7 // 2, which is whole, by a quotient, which is not
            result = apply(OPS["astype"].bind({"dtype": dtype.name}), (result,))
        register = {value: self.becomes.get(r, r) for r, value in given.items()}
        for node in made_from([result], register):
            sources = tuple(self._read(x, register) for x in node.inputs)
            register[node] = out = i.out if node is result else self.fresh(node._data)
            self.code.append(Instruction(node.op, sources, out, i.of, i.part or i.op.name, i.scope))  # type: ignore[arg-type]
        if not isinstance(result, Value) or register[result] != i.out:  # the lowering gave an input or a constant back
            self.stand_for(i.out, self._read(result, register))
        return result._data if isinstance(result, Value) else result

    def _read(self, x: Any, register: dict[Value, int]) -> int:
        if isinstance(x, Value):
            return register[x] if x in register else self.constant(x._data)
        return self.constant(x)

    def program(self) -> Program:
        outputs = [self.becomes.get(r, r) for r in self.source.outputs]
        code = [i._replace(of=self.becomes[i.of]) if i.of in self.becomes else i for i in self.code]
        slopes = {r: self.becomes.get(of, of) for r, of in self.slopes.items()}
        return renumbered(self.source.inputs, self.constants, code, outputs, self.types, self.names, slopes)


def _inherit(known: dict[int, Any], old: int, new: int) -> None:
    """What is known of a register goes to the one that stands for it, unless that has its own."""
    if old in known:
        known.setdefault(new, known[old])


def lowered(op: Op, operands: Sequence[Any], lowering: Lowering) -> Any:
    """The result of an op's lowering on Values, itself lowered until only ops without one are left."""
    lower = lowering(op)
    assert callable(lower)
    result = lower(*operands, **op.settings)
    if not isinstance(result, Value):
        return result
    done: dict[Any, Any] = {x: x for x in operands if isinstance(x, Value)}
    for node in made_from([result], done):
        inputs = [done.get(x, x) if isinstance(x, Value) else x for x in node.inputs]
        assert node.op is not None
        if lowering(node.op) is not None:
            done[node] = lowered(node.op, inputs, lowering)
        elif all(new is old for new, old in zip(inputs, node.inputs)):
            done[node] = node
        else:
            done[node] = apply(node.op, tuple(inputs))
    return done[result]


# --- simplify -------------------------------------------------------------------------------------------------------


def simplify(program: Program) -> Program:
    """`x ** 2` as `x * x`, `x ** 0.5` as a root; what gives back what it gets (`1 * x`, a reshape to the same shape)
    left out.
    """
    builder = Builder(program)
    for i in program.code:
        _SIMPLER.get(i.op.base.name, _as_it_is)(builder, i)
    return builder.program()


def _as_it_is(builder: Builder, i: Instruction) -> None:
    builder.add(i)


def _simpler_power(builder: Builder, i: Instruction) -> None:
    x, y = (builder.becomes.get(r, r) for r in i.inputs)
    exponent = builder.constants.get(y)
    if not is_weak(exponent) or x in builder.constants:
        builder.add(i)
    elif exponent == 2:
        builder.code.append(i._replace(op=OPS["mul"], inputs=(x, x)))
    elif exponent == 1:
        builder.stand_for(i.out, x)
    elif exponent == 0.5:
        builder.code.append(i._replace(op=OPS["sqrt"], inputs=(x,)))
    elif exponent == -0.5:
        builder.types.append(builder.types[i.out])
        root = len(builder.types) - 1
        builder.code.append(i._replace(op=OPS["sqrt"], inputs=(x,), out=root))
        builder.code.append(i._replace(op=OPS["div"], inputs=(builder.constant(1.0), root)))
    elif exponent == -1:
        builder.code.append(i._replace(op=OPS["div"], inputs=(builder.constant(1.0), x)))
    else:
        builder.add(i)


def _without_idle(builder: Builder, i: Instruction) -> None:
    """An op that gives back what it gets, left out: a reshape to the same shape, a transpose of a transpose."""
    (x,) = (builder.becomes.get(r, r) for r in i.inputs)
    i = i._replace(inputs=(x,))
    before = builder.made.get(x)
    if before is not None and before.op.base is i.op.base and i.op.base.name in ("reshape", "transpose"):
        (x,) = before.inputs  # two in a row are one
        if i.op.base.name == "transpose":
            order = before.op.settings["axes"]
            i = i._replace(op=i.op.base.bind({"axes": tuple(order[a] for a in i.op.settings["axes"])}))
        i = i._replace(inputs=(x,))
    idle = builder.types[x] == builder.types[i.out]
    if i.op.base.name == "transpose":
        axes = i.op.settings["axes"]
        idle = tuple(axes) == tuple(range(-len(axes), 0))
    if i.op.base.name == "sum":
        idle = idle and not i.op.settings["axis"]
    if idle:
        builder.stand_for(i.out, x)
    else:
        builder.add(i)


def _without_factor_1(builder: Builder, i: Instruction) -> None:
    """`1 * x` and `x * 1`, also with an array of ones, where x has the type of the result."""
    inputs = [builder.becomes.get(r, r) for r in i.inputs]
    for x, other in (inputs, inputs[::-1]):
        ones = builder.constants.get(x)
        if ones is not None and np.all(np.equal(ones, 1)) and builder.types[other] == builder.types[i.out]:
            return builder.stand_for(i.out, other)
    builder.add(i)


_SIMPLER = {
    "power": _simpler_power, "mul": _without_factor_1, "reshape": _without_idle, "broadcast_to": _without_idle,
    "astype": _without_idle, "transpose": _without_idle, "sum": _without_idle,
}  # fmt: skip


# --- join -----------------------------------------------------------------------------------------------------------


def join(program: Program) -> Program:
    """A sum of parts, each in its own slice of zeros, as the parts side by side: what `split` sends back."""
    readers = program.readers()
    made = {i.out: i for i in program.code}
    builder = Builder(program)
    whole = _sums_of_scatters(program, made, readers)
    for i in program.code:
        parts = _parts_of(program, i, made, readers) if i.out in whole else None
        if parts is None:
            builder.add(i)
        else:
            axis, registers = parts
            op = OPS["concatenate"].bind({"axis": axis})
            builder.add(i._replace(op=op, inputs=registers, part=i.part or "split"))
    return builder.program()


def _sums_of_scatters(program: Program, made: dict[int, Instruction], readers: list[int]) -> set[int]:
    """The sums whose terms are all scatters; of one inside another the outer one."""
    sums: set[int] = set()
    inner: set[int] = set()
    for i in program.code:
        if i.op.base.name == "add":
            own = [r for r in i.inputs if r in sums and readers[r] == 1]
            if all(r in own or (r in made and made[r].op.base.name == "scatter") for r in i.inputs):
                sums.add(i.out)
                inner.update(own)
    return sums - inner


def _parts_of(
    program: Program, i: Instruction, made: dict[int, Instruction], readers: list[int]
) -> tuple[int, tuple[int, ...]] | None:
    """The axis and the registers that a sum of scatters joins, if they tile the result along one axis."""
    terms: list[int] = []
    waiting = [i.out]
    while waiting:
        r = waiting.pop()
        term = made.get(r)
        if term is not None and term.op.base.name == "add" and (r == i.out or readers[r] == 1):
            waiting += term.inputs[::-1]
        elif term is None or term.op.base.name != "scatter":
            return None
        else:
            terms.append(r)
    shape = program.types[i.out][0]
    if len(terms) < 2 or any(program.types[r] != program.types[i.out] for r in terms):
        return None
    slices = [_one_slice(made[r].op.settings["index"], shape) for r in terms]
    if any(found is None for found in slices) or len({found[0] for found in slices if found}) != 1:
        return None
    placed = sorted((start, stop, r) for (_, start, stop), r in zip(filter(None, slices), terms))
    edges = [0, *(stop for _, stop, _ in placed)]
    axis = slices[0][0]  # type: ignore[index]
    if [start for start, _, _ in placed] != edges[:-1] or edges[-1] != shape[axis]:
        return None
    return axis, tuple(made[r].inputs[0] for _, _, r in placed)


def _one_slice(index: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[int, int, int] | None:
    """(axis from the end, start, stop) of an index that cuts along one axis only; None if it does anything else."""
    if not all(part is Ellipsis or isinstance(part, slice) for part in index):
        return None
    if Ellipsis in index:
        place = index.index(Ellipsis)
        index = (*index[:place], *(slice(None),) * (len(shape) - len(index) + 1), *index[place + 1 :])
    index = (*index, *(slice(None),) * (len(shape) - len(index)))
    cuts = [(a, *part.indices(n)) for a, (part, n) in enumerate(zip(index, shape)) if part.indices(n) != (0, n, 1)]
    if len(cuts) != 1 or cuts[0][3] != 1:
        return None
    axis, start, stop, _ = cuts[0]
    return axis - len(shape), start, stop


# --- share, fold, drop ----------------------------------------------------------------------------------------------


def share(program: Program) -> Program:
    """Each result computed once: the first of several equal instructions stands for all, and so with constants."""
    stands: dict[int, int] = {}
    first: dict[Any, int] = {}
    for r, data in program.constants.items():
        stands[r] = first.setdefault(constant_key(data), r)
    settings: dict[int, Any] = {}
    code, names, slopes = [], dict(program.names), dict(program.slopes)
    for i in program.code:
        inputs = tuple([stands.get(r, r) for r in i.inputs])
        if id(i.op) not in settings:
            settings[id(i.op)] = settings_key(i.op)
        key = (settings[id(i.op)], inputs)
        if key in first:
            stands[i.out] = first[key]
            _inherit(names, i.out, first[key])
            _inherit(slopes, i.out, first[key])
        else:
            first[key] = i.out
            code.append(i._replace(inputs=inputs, of=None if i.of is None else stands.get(i.of, i.of)))
    constants = {r: data for r, data in program.constants.items() if stands[r] == r}
    outputs = [stands.get(r, r) for r in program.outputs]
    slopes = {r: stands.get(of, of) for r, of in slopes.items()}
    return renumbered(program.inputs, constants, code, outputs, program.types, names, slopes)


@np.errstate(all="ignore")
def fold(program: Program, largest: int = 1 << 16) -> Program:
    """What depends on constants alone, computed now; unless it is large and a constant is not."""
    constants = dict(program.constants)
    code = []
    for i in program.code:
        if i.inputs and all([r in constants for r in i.inputs]) and math.prod(program.types[i.out][0]) <= largest:
            data = i.op.compute(*(constants[r] for r in i.inputs))
            is_array = isinstance(data, np.ndarray)  # of its type, where a plain number had a wider one
            constants[i.out] = data.astype(program.types[i.out][1]) if is_array else data
        else:
            code.append(i)
    outputs, types = program.outputs, program.types
    return renumbered(program.inputs, constants, code, outputs, types, program.names, program.slopes)


def drop_dead(program: Program) -> Program:
    """Without the instructions and constants that no result needs. The inputs stay: a call still gives them."""
    needed = set(program.outputs)
    code = []
    for i in reversed(program.code):
        if i.out in needed or i.op.base.name == "within":  # whose use is the error that it raises
            needed.update(i.inputs)
            code.append(i)
    constants = {r: data for r, data in program.constants.items() if r in needed}
    outputs, types = program.outputs, program.types
    return renumbered(program.inputs, constants, reversed(code), outputs, types, program.names, program.slopes)
