"""TorchCall: one call of an operator or an autograd.Function, kept so that it can be made once more on its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from autograd.engine import Value

from ..run import Call, near
from .tensors import as_array, in_precision, tensors_in, unit_of


@dataclass(eq=False)
class TorchCall(Call):
    """One call of an operator, of an autograd.Function or of a compiled module; `again` is (function, args, kwargs)."""

    library = "torch"

    carried: list[int] = field(default_factory=list)  # which of the arguments, flattened, the inputs are
    numbers: list[int] = field(default_factory=list)  # which of the call's results each output is
    came: list[Any] = field(default_factory=list)  # torch's place of each carried argument, when the call was made
    went: list[Any] = field(default_factory=list)  # and of each output
    storages: set[int] = field(default_factory=set)  # the memory of its arguments and results
    since: int = -1  # nodes of torch's graph that this call made have larger numbers

    @property
    def checkpointed(self) -> tuple[Any, tuple[Any, ...]] | None:
        """Of a reentrant checkpoint, the function that it runs and its inputs; torch sees it as one call."""
        if getattr(self.function, "__module__", "") != "torch.utils.checkpoint":
            return None
        function, _, *inputs = self.again[1]
        return function, tuple(x.detach() if isinstance(x, torch.Tensor) else x for x in inputs)

    def alone(self, received: dict[Value, Any], precision: str | None = None) -> list[Any]:
        """What torch sends to each input when it makes this call on its own, at the numbers of the run.

        In another precision than in the run, it shows what rounding does. Raises where it is not the same call.
        """
        function, args, kwargs = self.again
        flat, structure = tree_flatten((args, kwargs))
        if self.parameters and precision is not None:
            raise NotImplementedError("the parameters of a compiled module keep their precision")
        kind = None if precision is None else getattr(torch, precision)
        flat = [in_precision(x, kind) for x in flat]
        leaves = {}
        for i, value in zip(self.carried, self.inputs):
            leaves[i] = torch.tensor(np.asarray(value.data), dtype=flat[i].dtype, requires_grad=True)
            flat[i] = leaves[i] if self.parameters else leaves[i].clone()  # an operator may write to it, not to a leaf
        args, kwargs = tree_unflatten(flat, structure)
        with torch.enable_grad():
            results = tensors_in(function(*args, **kwargs))
        pairs = [(results[n], v) for n, v in zip(self.numbers, self.outputs) if received.get(v) is not None]
        sizes = [v.data for v in self.inputs]
        unit = max(self.unit, unit_of(kind) if kind else 0.0)
        if not all(near(np.asarray(v.data), as_array(t), unit, sizes)[0] for t, v in pairs):
            raise ValueError("another result than in the run")
        sent = torch.autograd.grad(
            [t for t, _ in pairs], [*leaves.values(), *self.parameters],
            [torch.tensor(np.asarray(received[v]), dtype=t.dtype) for t, v in pairs], allow_unused=True,
        )  # fmt: skip
        return [np.zeros(v.shape) if g is None else as_array(g) for g, v in zip(sent, self.inputs)]


def as_function(function: Any, args: Any, kwargs: Any, recorder: Any) -> tuple[Any, list[Value]]:
    """A call as a function of its tensors with a gradient alone, in the precision they had, and their Values."""
    flat, structure = tree_flatten((args, kwargs))
    carried = [i for i, x in enumerate(flat) if isinstance(x, torch.Tensor) and recorder.carries(x)]
    held = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in flat]
    values = [recorder.value_of(flat[i]) for i in carried]

    def call(*tensors: Any) -> Any:
        filled = list(held)
        for i, tensor in zip(carried, tensors, strict=True):
            filled[i] = tensor.to(held[i].dtype)
        args, kwargs = tree_unflatten(filled, structure)
        return function(*args, **kwargs)

    return call, values


@contextlib.contextmanager
def methods_replaced(**replaced: Any) -> Iterator[None]:
    """Some methods of every autograd.Function, replaced for a while.

    torch asks the class for them at each call, however `apply` was looked up before (`norm = RowNorm.apply`).
    """
    kind = torch.autograd.function.FunctionMeta

    def find(cls: Any, name: str) -> Any:
        found = type.__getattribute__(cls, name)
        return replaced[name](cls, found) if name in replaced else found

    try:
        kind.__getattribute__ = find
        yield
    finally:
        del kind.__getattribute__
