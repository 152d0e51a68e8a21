"""The JAX backend: a program jitted as one XLA computation, on one device or with its batch split over many.

Every core op has its counterpart in `jax.numpy`; JAX differentiates nothing here, since the backward pass is part of
the program. With `devices`, the arrays of the batch are split along their first axis and all others are copied to each
device; XLA then runs the same computation on every part and adds up the gradients where the program sums over the
batch. Whole numbers are checked on the host, before the call: XLA has no errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import DataError
from ...numpy_calls import called
from ...plain import as_plain
from .. import interpret
from ..passes import drop_dead
from ..program import Instruction, Program, common_dtype, is_weak
from . import Runner


def build(program: Program, devices: Any = None, split: Sequence[bool] = ()) -> Runner:
    """A jitted function of the inputs. `split` says which of them are cut along their first axis over the devices."""
    try:
        import jax
    except ImportError:
        raise ImportError("backend='jax' needs JAX: pip install 'handgrad[jax]', or backend='numpy'") from None
    check = _checks(program)
    jitted = _on_one_device(jax, program) if devices is None else _on_many(jax, program, devices, split)

    def run(inputs: Sequence[Any]) -> list[Any]:
        if check is not None:
            interpret.run(check, inputs)
        with jax.enable_x64(True):
            return jitted(inputs)

    return run


def _on_one_device(jax: Any, program: Program) -> Runner:
    """Small arrays of one dtype go to the device, and come back, as one vector: each transfer takes a few µs."""
    import jax.numpy as jnp

    given, results = _Packing(program, program.inputs), _Packing(program, program.outputs)

    def computed(vectors: Sequence[Any]) -> list[Any]:
        return results.packed(_computed(program, given.unpacked(vectors)), jnp.concatenate)

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
        jitted = jax.jit(lambda inputs: _computed(program, inputs), out_shardings=whole)  # every host can read them
    return lambda inputs: [np.array(out) for out in jitted(place(inputs))]


def _checks(program: Program) -> Program | None:
    """The part of a program that computes the ids, which `within` and `take_rows` check when NumPy runs it."""
    rows = {i.inputs[1]: i.inputs[0] for i in program.code if i.op.base.name == "take_rows"}
    if not rows and not any(i.op.base.name == "within" for i in program.code):
        return None
    from ...op import OPS

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


def _computed(program: Program, inputs: Sequence[Any]) -> list[Any]:
    """Run a program on JAX's arrays."""
    import jax.numpy as jnp

    registers: dict[int, Any] = {}
    for r, data in program.constants.items():
        registers[r] = data if is_weak(data) else jnp.asarray(data)
    for r, x in zip(program.inputs, inputs):
        registers[r] = jnp.asarray(x, program.types[r][1])
    for i in program.code:
        out_type = program.types[i.out]
        operands = [_narrowed(registers[r], program.types[r], out_type) for r in i.inputs]
        if out_type[1].kind == "b" and i.op.numpy and isinstance(i.op.numpy[0], np.ufunc):  # a comparison
            operands = [jnp.asarray(x, common_dtype(program, i)) for x in operands]
        out = _op(i, out_type)(*operands, **i.op.settings)
        registers[i.out] = out if out.dtype == out_type[1] else out.astype(out_type[1])
    return [jnp.asarray(registers[r], program.types[r][1]) for r in program.outputs]


def _narrowed(x: Any, kind: Any, out: Any) -> Any:
    """A float64 scalar beside float32 arrays is a plain number to the engine: it takes their dtype."""
    narrow = kind[0] == () and kind[1] == np.float64 and out[1].kind == "f" and out[1] != np.float64
    return x.astype(out[1]) if narrow and hasattr(x, "astype") else x


def _op(i: Instruction, out: Any) -> Callable[..., Any]:
    """The counterpart of a core op: an entry here, or JAX's function of the same name as NumPy's.

    Linear algebra and series are left to NumPy, so that eigenvectors have the same signs and results the same digits.
    """
    import jax.numpy as jnp

    own = _OWN.get(i.op.base.name)
    if own is not None:
        return own
    numpy = i.op.numpy[0].__name__ if i.op.numpy else i.op.base.name
    if i.op.written or (i.op.numpy and called(i.op.numpy[0]).startswith("np.linalg.")):
        return _on_host(i, out)
    function = getattr(jnp, numpy, None)
    if function is None or (not i.op.numpy and not hasattr(np, numpy)):
        raise DataError(f"{i.op.name} is not known to JAX: it is no core op and has no lowering; use backend='numpy'")
    return function


def _on_host(i: Instruction, out: Any) -> Callable[..., Any]:
    """The op as NumPy computes it, called by JAX on the host."""
    import jax

    def compute(*inputs: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(i.op.compute(*(as_plain(np.asarray(x)) for x in inputs)), out[1])

    kind = jax.ShapeDtypeStruct(out[0], out[1])
    return lambda *inputs, **settings: jax.pure_callback(compute, kind, *inputs)


def _scatter(x: Any, index: Any, shape: Any) -> Any:
    import jax.numpy as jnp

    return jnp.zeros(shape, jnp.asarray(x).dtype).at[index].add(x)


def _put_rows(x: Any, ids: Any, rows: int) -> Any:
    return _scatter(x, ids, (rows, *x.shape[ids.ndim :]))


def _erf(x: Any) -> Any:
    import jax

    return jax.scipy.special.erf(x)


def _transpose(x: Any, axes: Any) -> Any:
    return x.transpose(tuple(a + x.ndim for a in axes))


def _getitem(x: Any, index: Any) -> Any:
    return x[index]


_OWN: dict[str, Callable[..., Any]] = {
    "getitem": _getitem, "scatter": _scatter, "erf": _erf, "transpose": _transpose,
    "take_rows": lambda x, ids: x[ids], "put_rows": _put_rows, "within": lambda ids, **settings: ids,
    "astype": lambda x, dtype: x.astype(dtype), "concatenate": lambda *xs, axis: _joined(xs, axis),
}  # fmt: skip


def _joined(xs: Sequence[Any], axis: int) -> Any:
    import jax.numpy as jnp

    return jnp.concatenate(xs, axis=axis)
