"""A program run by the functions of another array library: `jax.py` gives those of JAX.

Most core ops have a function there with the name that they have in NumPy, which the op's block gives. A library brings
its own words for the others; linear algebra, series and ops that people wrote themselves are left to NumPy, so that
eigenvectors have the same signs and results the same digits. Nothing is differentiated there: the backward pass is part
of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from autograd.arrays.numpy_calls import called
from autograd.arrays.plain import as_plain
from autograd.op import OPS, Op

from ..passes import drop_dead
from ..program import Instruction, Program, Type, common_dtype, is_weak


class Library(NamedTuple):
    """What a library has.

    module   where its functions stand that are called as NumPy's are
    array    NumPy's data, or an array of its own, as an array of its own in a dtype of NumPy's
    own      by op, what is called otherwise there
    on_host  makes a function of its arrays from one of NumPy's, for results of a type
    cannot   dtypes that it can keep and not compute with
    """

    module: Any
    array: Callable[[Any, np.dtype[Any]], Any]
    own: Mapping[str, Callable[..., Any]]
    on_host: Callable[[Callable[..., Any], Type], Callable[..., Any]]
    cannot: frozenset[np.dtype[Any]] = frozenset()


def runner(program: Program, library: Library) -> Callable[[Sequence[Any]], list[Any]]:
    """A function from a program's inputs to its results, both as arrays of the library."""
    program = with_casts(program)
    types = program.types
    constants: dict[int, Any] = {r: _constant(data, types[r], library) for r, data in program.constants.items()}
    steps = [(_function(program, i, library), i.inputs, i.out, types[i.out][1]) for i in program.code]
    last = {r: place for place, i in enumerate(program.code) for r in i.inputs}
    done: list[list[int]] = [[] for _ in steps]  # what is not needed after each of them
    for r, place in last.items():
        if r not in program.outputs:
            done[place].append(r)

    def run(inputs: Sequence[Any]) -> list[Any]:
        registers = dict(constants)
        for r, x in zip(program.inputs, inputs):
            registers[r] = library.array(x, types[r][1])
        for (function, read, out, dtype), forgotten in zip(steps, done):
            registers[out] = library.array(function(*[registers[r] for r in read]), dtype)
            for r in forgotten:
                del registers[r]
        return [registers[r] for r in program.outputs]

    return run


def with_casts(program: Program) -> Program:
    """The same, with the casts written out that NumPy makes on its own: all operands of an op have the dtype in which
    they meet, and constants the dtype of whoever reads them.
    """
    constants, types, code = dict(program.constants), list(program.types), list[Instruction]()
    made: dict[tuple[int, np.dtype[Any]], int] = {}

    def cast(r: int, dtype: np.dtype[Any] | None) -> int:
        data = program.constants.get(r, 0.0)
        if dtype is None or types[r][1] == dtype or data is None:
            return r
        if (r, dtype) not in made:
            made[r, dtype] = len(types)
            types.append((types[r][0], dtype))
            if r in program.constants:
                constants[len(types) - 1] = np.asarray(data).astype(dtype)
            else:
                code.append(Instruction(OPS["astype"].bind({"dtype": dtype}), (r,), len(types) - 1))
        return made[r, dtype]

    for i in program.code:
        kinds = [types[r][1].kind for r in i.inputs]
        if i.op.base.name == "mul" and sorted(kinds) == ["b", "f"]:  # XLA makes `where(mask, x, 0)` of it: no NaN
            mask, x = i.inputs if kinds[0] == "b" else i.inputs[::-1]
            zero, nothing = len(types), len(types) + 1
            types += [((), types[i.out][1]), types[x]]
            constants[zero] = np.zeros((), types[i.out][1])
            code.append(Instruction(i.op, (x, zero), nothing))
            i = i._replace(op=OPS["where"], inputs=(mask, x, nothing))
        read = tuple(cast(r, dtype) for r, dtype in zip(i.inputs, _dtypes(program, i)))
        code.append(i._replace(inputs=read))
    return program.but(constants=constants, code=tuple(code), types=tuple(types))


def _dtypes(program: Program, i: Instruction) -> list[np.dtype[Any] | None]:
    """The dtype in which an op needs each operand; None: as it is."""
    result = program.types[i.out][1]
    if i.op.base.name == "where":
        return [np.dtype(bool), result, result]
    if i.op.numpy and isinstance(i.op.numpy[0], np.ufunc):
        return [common_dtype(program, i)] * len(i.inputs)
    return [result if i.op.base.name == "concatenate" else None] * len(i.inputs)


def _constant(data: Any, kind: Type, library: Library) -> Any:
    return None if data is None else library.array(data if is_weak(data) else np.asarray(data), kind[1])


def _function(program: Program, i: Instruction, library: Library) -> Callable[..., Any]:
    """An instruction as a function of the library's arrays."""
    name, settings = i.op.base.name, i.op.settings
    function = library.own.get(name) or _OWN.get(name) or _of_numpys_name(i.op.base, library)
    if function is None or not library.cannot.isdisjoint(program.types[r][1] for r in (i.out, *i.inputs)):
        return library.on_host(lambda *inputs: i.op.compute(*map(as_plain, inputs)), program.types[i.out])
    return (lambda *inputs: function(*inputs, **settings)) if settings else function


def _of_numpys_name(op: Op, library: Library) -> Callable[..., Any] | None:
    """The library's function of the name that a core op has in NumPy."""
    left_to_numpy = op.written or (op.numpy and called(op.numpy[0]).startswith("np.linalg."))
    if left_to_numpy or op is not OPS.get(op.name):
        return None
    name = op.numpy[0].__name__ if op.numpy else op.name
    return getattr(library.module, name, None) if hasattr(np, name) else None


_OWN: dict[str, Callable[..., Any]] = {  # in the words of NumPy's arrays, which all libraries have taken over
    "getitem": lambda x, index: x[index],
    "take_rows": lambda x, ids: x[ids],
    "within": lambda ids, **settings: ids,  # checked before: see `checks`
    "astype": lambda x, dtype: x,  # the runner casts every result to its type
}


def checks(program: Program) -> Program | None:
    """The part of a program that computes the ids, which `within` and `take_rows` check when NumPy runs it: there are
    libraries without errors, and some take a negative id for a place counted from the end.
    """
    rows = {i.inputs[1]: i.inputs[0] for i in program.code if i.op.base.name == "take_rows"}
    if not rows and not any(i.op.base.name == "within" for i in program.code):
        return None
    types = list(program.types)
    code = [i for i in program.code if i.op.base.name != "take_rows"]
    for ids, table in rows.items():
        settings = {"low": 0, "high": types[table][0][0] - 1, "also": None}
        types.append(types[ids])
        code.append(Instruction(OPS["within"].bind(settings), (ids,), len(types) - 1))
    known = {*program.inputs, *program.constants}
    kept = []
    for i in code:  # without what depends on a row that was taken
        if known.issuperset(i.inputs):
            known.add(i.out)
            kept.append(i)
    return drop_dead(program.but(code=tuple(kept), outputs=(), types=tuple(types)))
