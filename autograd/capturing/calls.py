"""TorchCall: one call of an operator or an autograd.Function, kept so that it can be made once more by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from ..engine import Value
from .run import SAME_NUMBERS, Call, gap_between
from .tensors import as_array, tensors_in


@dataclass(eq=False)
class TorchCall(Call):
    """One call of an operator, of an autograd.Function or of a compiled module; `again` is (function, args, kwargs)."""

    library = "torch"

    carried: list[int] = field(default_factory=list)  # which of the arguments, flattened, the inputs are
    numbers: list[int] = field(default_factory=list)  # which of the call's results each output is

    @property
    def checkpointed(self) -> tuple[Any, tuple[Any, ...]] | None:
        """Of a reentrant checkpoint, the function that it runs and its inputs; torch sees it as one call."""
        if getattr(self.function, "__module__", "") != "torch.utils.checkpoint":
            return None
        function, _, *inputs = self.again[1]
        return function, tuple(x.detach() if isinstance(x, torch.Tensor) else x for x in inputs)

    def pulled_again(self, value: Value, grads: dict[Value, Any]) -> Any:
        """What torch sends to an input for these gradients of the outputs, by making the call once more by itself."""
        function, args, kwargs = self.again
        flat, structure = tree_flatten((args, kwargs))
        leaves = {i: x.detach().clone().requires_grad_() for i, x in enumerate(flat) if i in self.carried}
        for i, leaf in leaves.items():
            flat[i] = leaf if self.parameters else leaf.clone()  # an operator may write to it, but not to a leaf
        args, kwargs = tree_unflatten(flat, structure)
        with torch.enable_grad():
            out = function(*args, **kwargs)
        results = tensors_in(out)
        pairs = [(results[n], v) for n, v in zip(self.numbers, self.outputs) if grads.get(v) is not None]
        for tensor, v in pairs:
            if not gap_between(np.asarray(v.data), as_array(tensor)) <= SAME_NUMBERS:
                raise ValueError("another result than in the run")
        sent = torch.autograd.grad(
            [t for t, _ in pairs], [*leaves.values(), *self.parameters],
            [torch.tensor(np.asarray(grads[v])) for _, v in pairs], allow_unused=True,
        )  # fmt: skip
        found = [g for g, v in zip(sent, self.inputs) if v is value and g is not None]
        return sum(g.numpy(force=True) for g in found) if found else np.zeros(value.shape)


def as_function(function: Any, args: Any, kwargs: Any, recorder: Any) -> tuple[Any, list[Value]]:
    """A call as a function of its tensors with a gradient alone, and their Values."""
    flat, structure = tree_flatten((args, kwargs))
    carried = [i for i, x in enumerate(flat) if isinstance(x, torch.Tensor) and recorder.carries(x)]
    held = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in flat]
    values = [recorder.value_of(flat[i]) for i in carried]

    def call(*tensors: Any) -> Any:
        filled = list(held)
        for i, tensor in zip(carried, tensors, strict=True):
            filled[i] = tensor
        args, kwargs = tree_unflatten(filled, structure)
        return function(*args, **kwargs)

    return call, values
