"""The JAX backend: a program jitted as one XLA computation, on one device or with its batch split over many.

With `devices`, the arrays of the batch are split along their first axis and all others are copied to each device; XLA
then runs the same computation on every part and adds up the gradients where the program sums over the batch. Whole
numbers are checked on the host, before the call: XLA has no errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograd.errors import DataError

from ..program import Program, Type
from . import Runner, interpreter
from .arrays import Library, checks, runner


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
        return results.packed(runner(program, _jax())(given.unpacked(vectors)), jnp.concatenate)

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
        jitted = jax.jit(lambda xs: runner(program, _jax())(xs), out_shardings=whole)  # every host can read them
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


def _jax() -> Library:
    import jax
    import jax.numpy as jnp

    def on_host(compute: Callable[..., Any], out: Type) -> Callable[..., Any]:
        @np.errstate(all="ignore")
        def called(*inputs: Any) -> Any:
            return np.asarray(compute(*map(np.asarray, inputs)), out[1])

        return lambda *inputs: jax.pure_callback(called, jax.ShapeDtypeStruct(*out), *inputs)

    def scatter(x: Any, index: Any, shape: Any) -> Any:
        return jnp.zeros(shape, x.dtype).at[index].add(x)

    own = {
        "scatter": scatter, "put_rows": lambda x, ids, rows: scatter(x, ids, (rows, *x.shape[ids.ndim :])),
        "erf": jax.scipy.special.erf, "transpose": lambda x, axes: x.transpose(tuple(a + x.ndim for a in axes)),
        "concatenate": lambda *xs, axis: jnp.concatenate(xs, axis=axis),
    }  # fmt: skip
    return Library(jnp, jnp.asarray, own, on_host)
