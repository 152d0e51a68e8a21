"""The JAX backend: a program jitted as one XLA computation, on one device or with its batch split over many.

Most core ops have a function in jax.numpy with the name that they have in NumPy, which the op's block gives. Linear
algebra, series and ops that people wrote themselves are left to NumPy, so that eigenvectors have the same signs and
results the same digits. Nothing is differentiated by JAX: the backward pass is part of the program.

With `devices`, the arrays of the batch are split along their first axis and all others are copied to each device; XLA
then runs the same computation on every part and adds up the gradients where the program sums over the batch. Integers
are checked on the host, before the call: XLA has no errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograd.arrays.numpy_calls import called
from autograd.arrays.plain import as_plain
from autograd.errors import DataError
from autograd.op import OPS, Op

from ..passes import drop_dead
from ..program import Instruction, Program, Type, common_dtype
from . import Runner, interpreter


def build(program: Program, devices: Any = None, split: Sequence[bool] = ()) -> Runner:
    """A jitted function of the inputs. `split` says which of them are cut along their first axis over the devices."""
    try:
        import jax
    except ImportError:
        raise ImportError("backend='jax' needs JAX: pip install 'handgrad[jax]', or backend='numpy'") from None
    check = checks(program)
    jitted = _on_one_device(jax, program) if devices is None else _on_many(jax, program, devices, split)

    def run(inputs: Sequence[Any]) -> list[Any]:
        if check is not None:
            interpreter.run(check, inputs)
        with jax.enable_x64(True):
            return jitted(inputs)

    return run


def _on_one_device(jax: Any, program: Program) -> Runner:
    """Small arrays of one dtype go to the device, and come back, as one vector: each transfer takes a few µs."""
    import jax.numpy as jnp

    given, results = _Packing(program, program.inputs), _Packing(program, program.outputs)

    def computed(vectors: Sequence[Any]) -> list[Any]:
        return results.packed(run_in_jax(program, given.unpacked(vectors)), jnp.concatenate)

    with jax.enable_x64(True):
        jitted = jax.jit(computed)
    return lambda inputs: results.copied(jitted(given.packed(inputs, np.concatenate)))


class _Packing:
    """Some registers as vectors: those of few numbers share one with others of their dtype, the rest are alone."""

    FEW = 1 << 12  # numbers

    def __init__(self, program: Program, registers: Sequence[int]) -> None:
        together: dict[Any, list[int]] = {}
        for place, r in enumerate(registers):
            shape, dtype = program.types[r]
            together.setdefault((dtype, place if math.prod(shape) > self.FEW else None), []).append(place)
        self.groups = list(together.values())
        self.parts: list[Any] = [None] * len(registers)  # of each array: which vector, which part, what shape
        for n, group in enumerate(self.groups):
            end = 0
            for place in group:
                shape = program.types[registers[place]][0]
                start, end = end, end + math.prod(shape)
                self.parts[place] = n, slice(start, end) if len(group) > 1 else ..., shape

    def packed(self, arrays: Sequence[Any], join: Callable[..., Any]) -> list[Any]:
        """The vectors; an array that is alone stays as it is."""
        return [
            arrays[group[0]] if len(group) == 1 else join([arrays[place] for place in group], axis=None)
            for group in self.groups
        ]  # fmt: skip

    def unpacked(self, vectors: Sequence[Any]) -> list[Any]:
        """The arrays again, as parts of the vectors."""
        return [vectors[n][part].reshape(shape) for n, part, shape in self.parts]

    def copied(self, vectors: Sequence[Any]) -> list[Any]:
        """The arrays, each with memory of its own."""
        plain = [np.asarray(vector) for vector in vectors]
        return [plain[n][part].reshape(shape).copy() for n, part, shape in self.parts]


def _on_many(jax: Any, program: Program, devices: Any, split: Sequence[bool]) -> Runner:
    place, whole = _placement(jax, program, devices, split)
    with jax.enable_x64(True):
        jitted = jax.jit(lambda xs: run_in_jax(program, xs), out_shardings=whole)  # every host can read them
    return lambda inputs: [np.array(out) for out in jitted(place(inputs))]


def _placement(
    jax: Any, program: Program, devices: Any, split: Sequence[bool]
) -> tuple[Callable[[Sequence[Any]], Any], Any]:
    """What puts the inputs where they belong, and the sharding of a result that is whole on every device."""
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    chosen = jax.devices()[:devices] if isinstance(devices, int) else list(devices)
    if isinstance(devices, int) and len(chosen) < devices:
        raise DataError(
            f"devices={devices}, but JAX sees {len(chosen)}. On a CPU it simulates more: set the environment variable "
            f"XLA_FLAGS=--xla_force_host_platform_device_count={devices} before JAX is imported."
        )
    mesh = Mesh(np.array(chosen), ("batch",))
    for cut, r in zip(split, program.inputs):
        shape = program.types[r][0]
        if cut and (not shape or shape[0] % len(chosen)):
            raise DataError(
                f"{program.names.get(r, 'an input')} of shape {shape} cannot be split over {len(chosen)} devices: its "
                "first axis must be a multiple of their number. Choose such a batch, or name in batch= what is split."
            )
    parts, whole = NamedSharding(mesh, PartitionSpec("batch")), NamedSharding(mesh, PartitionSpec())
    shardings = [parts if cut else whole for cut in split]
    return (lambda inputs: jax.device_put(list(inputs), shardings)), whole


# --- a program in jax.numpy -----------------------------------------------------------------------------------------


def run_in_jax(program: Program, inputs: Sequence[Any]) -> list[Any]:
    """The results of a program for inputs that JAX traces."""
    import jax.numpy as jnp

    program = with_casts(program)
    types = program.types
    registers = {r: None if data is None else jnp.asarray(data, types[r][1]) for r, data in program.constants.items()}
    registers |= {r: jnp.asarray(x, types[r][1]) for r, x in zip(program.inputs, inputs)}
    for i in program.code:
        read = [registers[r] for r in i.inputs]
        registers[i.out] = jnp.asarray(_computed(i, read, types[i.out]), types[i.out][1])
    return [registers[r] for r in program.outputs]


def _computed(i: Instruction, read: list[Any], out: Type) -> Any:
    """The result of an instruction: by an own word of JAX, by its function of NumPy's name, or by NumPy on the host."""
    import jax

    function = _OWN.get(i.op.base.name) or _of_numpys_name(i.op.base)
    if function is not None:
        return function(*read, **i.op.settings)

    @np.errstate(all="ignore")
    def on_host(*inputs: Any) -> Any:
        return np.asarray(i.op.compute(*[as_plain(np.asarray(x)) for x in inputs]), out[1])

    return jax.pure_callback(on_host, jax.ShapeDtypeStruct(*out), *read)


def _of_numpys_name(op: Op) -> Callable[..., Any] | None:
    """JAX's function of the name that a core op has in NumPy."""
    import jax.numpy as jnp

    left_to_numpy = op.written or (op.numpy and called(op.numpy[0]).startswith("np.linalg."))
    if left_to_numpy or op is not OPS.get(op.name):
        return None
    name = op.numpy[0].__name__ if op.numpy else op.name
    return getattr(jnp, name, None) if hasattr(np, name) else None


def _erf(x: Any) -> Any:
    import jax

    return jax.scipy.special.erf(x)


def _scatter(x: Any, index: Any, shape: Any) -> Any:
    import jax.numpy as jnp

    return jnp.zeros(shape, x.dtype).at[index].add(x)


def _concatenate(*xs: Any, axis: int) -> Any:
    import jax.numpy as jnp

    return jnp.concatenate(xs, axis=axis)


_OWN: dict[str, Callable[..., Any]] = {
    "getitem": lambda x, index: x[index], "take_rows": lambda x, ids: x[ids], "scatter": _scatter, "erf": _erf,
    "put_rows": lambda x, ids, rows: _scatter(x, ids, (rows, *x.shape[ids.ndim :])),
    "transpose": lambda x, axes: x.transpose(tuple(a + x.ndim for a in axes)),
    "concatenate": _concatenate,
    "within": lambda ids, **settings: ids,  # checked before: see `checks`
    "astype": lambda x, dtype: x,  # every result is cast to its type
}  # fmt: skip


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


def checks(program: Program) -> Program | None:
    """The part of a program that computes the ids, which `within` and `take_rows` check when NumPy runs it: XLA takes a
    negative id for a place counted from the end.
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
