"""Small questions to torch: what a call is named, writes to and returns, and a tensor's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_flatten

from ..aten import rule_for

COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd


def as_array(tensor: Any) -> Any:
    """A tensor's numbers, copied; real ones in float64, where those of every precision are exact."""
    kind = torch.float64 if tensor.is_floating_point() else tensor.dtype
    copy = tensor.detach().to(kind, copy=True, memory_format=torch.contiguous_format)
    return torch._C.TensorBase.numpy(copy, force=True)  # torch.Tensor's own is watched during a run


def in_precision(x: Any, kind: Any) -> Any:
    """An argument of a call in another precision (None: its own): a copy of a real tensor, or the precision's name."""
    if isinstance(x, torch.Tensor):
        return x.detach().to(kind or x.dtype, copy=True) if x.is_floating_point() else x
    return kind if kind is not None and isinstance(x, torch.dtype) and x.is_floating_point else x


def unit_of(kind: Any) -> float:
    """The rounding unit of a precision: half the gap between 1 and the next number."""
    return torch.finfo(kind).eps / 2


def as_tensor(x: Any) -> Any:
    """Plain numbers as a tensor that shares no memory with them."""
    return torch.from_numpy(np.array(x, dtype=getattr(x, "dtype", np.float64)))


def name_of(func: Any) -> str:
    """ "add.Tensor" for aten.add.Tensor; the default overload has no name of its own."""
    name = func.__name__
    return name.removesuffix(".default")


def storage_of(tensor: Any) -> int:
    """A number for the memory that a tensor looks at."""
    return tensor.untyped_storage()._cdata if tensor.layout is torch.strided else id(tensor)


def edge_of(tensor: Any) -> Any:
    """Where torch's graph has the gradient of a tensor."""
    if tensor.grad_fn is None:
        return torch.autograd.graph.get_gradient_edge(tensor)
    return torch.autograd.graph.GradientEdge(tensor.grad_fn, tensor.output_nr)


def composite(func: Any) -> bool:
    """Whether torch defines an operator by calling others, whose gradients are its own."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), COMPOSITE)


def needs_results(func: Any) -> bool:
    """Whether our rule looks at what torch drew at random."""
    return func.namespace == "aten" and getattr(rule_for(name_of(func)), "needs_results", False)


def written_tensors(func: Any, args: Any, kwargs: Any) -> list[Any]:
    """The tensors that a call writes to, by its schema."""
    if not func._schema.is_mutable:
        return []
    found = []
    for i, argument in enumerate(func._schema.arguments):
        if argument.is_write:
            given = args[i] if i < len(args) else kwargs.get(argument.name)
            found += [x for x in tree_flatten(given)[0] if isinstance(x, torch.Tensor)]
    return found


def functional_twin(func: Any) -> Any:
    """For an operator that works in place, the one that does not; else itself."""
    name, _, overload = func.__name__.partition(".")
    if not func._schema.is_mutable or not name.endswith("_"):
        return func
    packet = getattr(torch.ops.aten, name[:-1], None)
    return getattr(packet, overload or "default", func)


def result_number(function: Any, i: int, *tensors: Any) -> Any:
    """One of the tensors that a function returns."""
    return tensors_in(function(*tensors))[i]


def seeded(function: Any, state: Any, *tensors: Any) -> Any:
    """A function called with the random numbers that it had before."""
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(state)
        return function(*tensors)


def tensors_in(out: Any) -> list[Any]:
    """The tensors that a call returned."""
    return [x for x in (out if isinstance(out, tuple | list) else (out,)) if isinstance(x, torch.Tensor)]
