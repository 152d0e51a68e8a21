"""Program: one recorded call as a list of instructions.

An instruction is an op of the table, bound to its settings, with the registers it reads and the one it writes. Each
register is written once, so that the order of the code is the only order there is. What is known of a register before
a run is its type: a shape and a dtype.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from autograd.op import Op

Type = tuple[tuple[int, ...], np.dtype[Any]]


class Instruction(NamedTuple):
    """One line of a program: `out = op(*inputs)`.

    of      in the backward pass, the register of the forward result whose rule this is part of; else None
    part    the op that was opened into this line and others, as it read; "" for a line that was recorded as it is
    scope   the dotted name of the module that was being called; "" outside
    """

    op: Op
    inputs: tuple[int, ...]
    out: int
    of: int | None = None
    part: str = ""
    scope: str = ""


@dataclass(frozen=True)
class Program:
    """Instructions, and what goes in and comes out.

    inputs     the registers that a call fills, in order: numbers given, then captured and drawn ones (`trace.Origin`)
    constants  register → a plain number (weak: it takes the dtype of what it meets), an array, or None
    code       the instructions, each after those it reads from
    outputs    the registers of the results, in order; one may stand there twice, or be an input or a constant
    types      the type of each register; a constant None has the type of nothing, ((), bool)
    names      register → what people call it
    slopes     register → the register that it is the complete gradient of
    """

    inputs: tuple[int, ...]
    constants: dict[int, Any]
    code: tuple[Instruction, ...]
    outputs: tuple[int, ...]
    types: tuple[Type, ...]
    names: dict[int, str] = field(default_factory=dict)
    slopes: dict[int, int] = field(default_factory=dict)

    def but(self, **changes: Any) -> Program:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def __len__(self) -> int:
        return len(self.code)

    def __repr__(self) -> str:
        return f"<program: {len(self.inputs)} inputs, {len(self.code)} instructions, {len(self.outputs)} results>"

    def readers(self) -> list[int]:
        """How many times each register is read, by the code and as a result."""
        count = [0] * len(self.types)
        for instruction in self.code:
            for r in instruction.inputs:
                count[r] += 1
        for r in self.outputs:
            count[r] += 1
        return count

    def check(self) -> None:
        """Raise if the program is not well formed: for tests and for those who write passes."""
        known = {*self.inputs, *self.constants}
        assert len(known) == len(self.inputs) + len(self.constants), "a register is filled twice before the code runs"
        for place, instruction in enumerate(self.code):
            missing = [r for r in instruction.inputs if r not in known]
            assert not missing, f"instruction {place}, {instruction.op.name}, reads {missing} before they are written"
            assert instruction.out not in known, f"instruction {place} writes register {instruction.out} again"
            known.add(instruction.out)
        assert known.issuperset(self.outputs), "a result is never computed"
        assert max(known, default=-1) < len(self.types), "a register has no type"


def type_of(data: Any) -> Type:
    """The type of plain data as the engine keeps it."""
    if data.__class__ is float:
        return (), _FLOAT
    if data is None:
        return (), _BOOL
    if data.__class__ is np.ndarray:
        return data.shape, data.dtype
    array = np.asarray(data)
    return array.shape, array.dtype


_FLOAT, _BOOL = np.dtype(np.float64), np.dtype(bool)


def is_weak(data: Any) -> bool:
    """Whether a constant is a plain Python number, which takes the dtype of what it meets."""
    return isinstance(data, (bool, int, float)) and not isinstance(data, np.generic)


def common_dtype(program: Program, i: Instruction) -> np.dtype[Any]:
    """The dtype in which the operands of an op on single numbers meet, as in NumPy: that of the result; of a
    comparison, one that holds them all. Plain numbers, and float64 scalars, which are Python floats in the engine, take
    that of the others.
    """
    result = program.types[i.out][1]
    if result.kind != "b":
        return result
    met: list[Any] = []
    for r in i.inputs:
        data = program.constants.get(r)
        scalar = program.types[r] == ((), _FLOAT)
        met.append(data if is_weak(data) else 0.0 if scalar else program.types[r][1])
    common = np.result_type(*met)
    for number in met:  # NumPy compares an int8 with 300, which is none, all the same
        if number.__class__ is int and common.kind in "iu" and not _fits(number, common):
            common = np.promote_types(common, np.min_scalar_type(number) if abs(number) < 2**63 else np.float64)
    return common


def _fits(number: int, dtype: np.dtype[Any]) -> bool:
    return np.iinfo(dtype).min <= number <= np.iinfo(dtype).max


def settings_key(op: Op) -> Any:
    """An op with its settings, as something that can be hashed: equal keys compute the same.

    The op itself, not its name: ops around another library's functions, and a `custom_op` that was defined again, have
    the name in common and nothing else.
    """
    return (op.base, *((name, _key(value)) for name, value in op.settings.items()))


def _key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ("array", value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, slice):
        return ("slice", value.start, value.stop, value.step)
    if isinstance(value, (tuple, list)):
        return tuple(map(_key, value))
    return (type(value), repr(value)) if isinstance(value, float) else (type(value), value)


def constant_key(data: Any) -> Any:
    """A constant as something that can be hashed, to the bit."""
    if isinstance(data, np.ndarray):
        return ("array", data.shape, data.dtype.str, data.tobytes())
    if isinstance(data, np.generic):
        return (type(data), data.tobytes())
    return (type(data), repr(data))


def renumbered(
    inputs: Iterable[int], constants: dict[int, Any], code: Iterable[Instruction], outputs: Iterable[int],
    types: tuple[Type, ...] | list[Type], names: dict[int, str], slopes: dict[int, int],
) -> Program:  # fmt: skip
    """A program whose registers are numbered from 0 without gaps: inputs, constants, results in order."""
    inputs, code = tuple(inputs), tuple(code)
    order = [*inputs, *constants, *[instruction.out for instruction in code]]
    if order == list(range(len(types))):  # so it is
        return Program(inputs, constants, code, tuple(outputs), tuple(types), names, slopes)
    place = {r: i for i, r in enumerate(order)}
    return Program(
        inputs=tuple(place[r] for r in inputs),
        constants={place[r]: data for r, data in constants.items()},
        code=tuple([
            Instruction(op, tuple([place[r] for r in read]), place[out], place.get(of), part, scope)  # type: ignore[arg-type]
            for op, read, out, of, part, scope in code
        ]),
        outputs=tuple(place[r] for r in outputs),
        types=tuple(types[r] for r in place),
        names={place[r]: name for r, name in names.items() if r in place},
        slopes={place[r]: place[of] for r, of in slopes.items() if r in place and of in place},
    )
