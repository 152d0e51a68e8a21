"""Fused ops as the core ops they are made of: softmax as exp, max and sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from autograd.arrays.plain import as_plain
from autograd.engine import Value
from autograd.graph import made_from
from autograd.modes import enable_grad
from autograd.op import OPS, Op, apply

from ..program import Instruction, Program, Type, constant_key, is_weak, renumbered, type_of
from ..tracing.exits import leaf

Keeps = Callable[[Op, Sequence[Any]], bool]  # whether a backend runs an op on this data by its own forward function
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
        inherit(self.names, old, new)
        inherit(self.slopes, old, new)

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


def inherit(known: dict[int, Any], old: int, new: int) -> None:
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
