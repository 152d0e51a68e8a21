"""The torch backend: a program as calls of torch's functions, op by op, on torch's default device.

torch knows the ops and nothing else: it differentiates nothing, and builds no graph of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import interpret
from ..program import Program, Type
from . import Runner
from .arrays import Library, checks, runner


def build(program: Program) -> Runner:
    """A function of the inputs that calls torch for each op."""
    try:
        import torch
    except ImportError:
        raise ImportError("backend='torch' needs PyTorch: pip install 'handgrad[torch]', or backend='numpy'") from None
    check, compute = checks(program), runner(program, _torch())

    def run(inputs: Sequence[Any]) -> list[Any]:
        if check is not None:
            interpret.run(check, inputs)
        with torch.inference_mode():
            return [out.cpu().numpy().copy() for out in compute(inputs)]  # it may be an input, or part of one

    return run


def _torch() -> Library:
    import torch

    def array(x: Any, dtype: np.dtype[Any]) -> Any:
        if isinstance(x, torch.Tensor):
            return x if x.dtype is dtypes[dtype] else x.to(dtypes[dtype])
        return torch.as_tensor(np.require(x, dtype, ["C", "W"]))  # of a read-only array torch would warn

    def on_host(compute: Callable[..., Any], out: Type) -> Callable[..., Any]:
        @np.errstate(all="ignore")
        def called(*inputs: Any) -> Any:
            return array(np.array(compute(*(x.cpu().numpy() for x in inputs))), out[1])

        return called

    hardly = ["uint16", "uint32", "uint64"]
    known = ["float16", "float32", "float64", "bool", "int8", "int16", "int32", "int64", "uint8", *hardly]
    dtypes = {np.dtype(name): getattr(torch, name) for name in known}
    return Library(torch, array, _words(torch), on_host, frozenset(map(np.dtype, hardly)))


def _words(torch: Any) -> dict[str, Callable[..., Any]]:
    """What is not called in torch as it is in NumPy, or does something else there."""

    def getitem(x: Any, index: Any) -> Any:
        if _is_simple(index):
            return x[index]
        return x.reshape(-1)[torch.as_tensor(_places(x.shape, index), device=x.device)]

    def scatter(x: Any, index: Any, shape: Any) -> Any:
        out = torch.zeros(math.prod(shape), dtype=x.dtype, device=x.device)
        if _is_simple(index):
            out.reshape(shape)[index] = x
        else:
            places = torch.as_tensor(_places(shape, index), device=x.device)
            out.index_add_(0, places.reshape(-1), x.broadcast_to(places.shape).reshape(-1))
        return out.reshape(shape)

    def put_rows(x: Any, ids: Any, rows: int) -> Any:
        row = x.shape[ids.ndim :]
        out = torch.zeros(rows, *row, dtype=x.dtype, device=x.device)
        return out.index_add_(0, ids.reshape(-1).long(), x.reshape(-1, *row))

    def product(x: Any, axis: Any, keepdims: bool) -> Any:
        for a in sorted(axis):  # counted from the end: what is left of one may go
            x = torch.prod(x, a, keepdim=keepdims)
        return x

    return {
        "getitem": getitem, "scatter": scatter, "put_rows": put_rows, "take_rows": lambda x, ids: x[ids.long()],
        "broadcast_to": lambda x, shape: x.broadcast_to(shape), "transpose": lambda x, axes: x.permute(axes),
         "concatenate": lambda *xs, axis: torch.concatenate(xs, axis),
        "power": torch.pow, "equal": torch.eq, "rint": torch.round, "erf": torch.erf,
        "sign": lambda x: torch.where(torch.isnan(x), x, torch.sign(x)),  # torch's sign of NaN is 0
        "sum": lambda x, axis, keepdims: torch.sum(x, axis, keepdims) if axis else x,  # of no axis, torch's is of all
        "max": lambda x, axis, keepdims: torch.amax(x, axis, keepdims) if axis else x,
        "min": lambda x, axis, keepdims: torch.amin(x, axis, keepdims) if axis else x,
        "prod": product, "argsort": lambda x, axis, kind: torch.argsort(x, dim=axis, stable=True),
    }  # fmt: skip


def _is_simple(index: tuple[Any, ...]) -> bool:
    """Whether torch reads an index as NumPy does: no arrays in it, and no step back, which torch does not know."""
    return all(
        part is None or part is Ellipsis or (isinstance(part, slice) and (part.step or 1) > 0)
        or (isinstance(part, int | np.integer) and not isinstance(part, bool))
        for part in index
    )  # fmt: skip


def _places(shape: Sequence[int], index: Any) -> Any:
    """Where the entries that an index picks lie in an array of this shape, laid out flat."""
    return np.arange(math.prod(shape)).reshape(tuple(shape))[index].copy()
