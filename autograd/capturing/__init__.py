"""capture: hand it a torch or JAX model, and see, step and judge its backward pass.

    run = autograd.capture(model, x)
    print(run.compare())        # is my backward right, and where not?

run             Run: what was recorded, and what can be asked of it; `replaying`: the run as a function
torch           a torch model: its parameters and inputs named, one run recorded, everything put back (`state`)
  recorder      each operator as torch calls it, beside our own ops for it
  aten/         the table from torch's operators to our ops; `opaque`: an op for those that it lacks
  memory        which Value each tensor stands for, also where tensors share memory; `followed`: masks, detached ones
  hooks         calls of modules and of autograd.Functions; `calls`: one call, which can be made again
  tensors       small questions to torch; `torch_backward`: its own gradients
jax             a JAX function: `jaxpr` (its steps), `lax` (the table of primitives), `recognise` (softmax as one op)
compare         our gradients beside the library's, and the first that differs; `left_out`: which terms it lacks
  report        what a comparison says, as text; `page`, `picture`: as HTML and as a drawing
places          the user's lines, and the names that they give to results
"""

from __future__ import annotations

import sys
from typing import Any

from ..errors import DataError
from .run import Run

__all__ = ["Run", "capture"]


def capture(model: Any, *inputs: Any, **keywords: Any) -> Run:
    """Run a torch module or function, or a JAX function, once, for real, and record the run as a graph of Values.

    The graph can be drawn, stepped, explained and checked as any other; `run.compare()` compares our backward pass
    with the library's own and names the first node that differs, by op, module, file and line. `run.result` is what the
    model returned, `run.parameters` and `run.inputs` are Values by name. Buffers, random numbers, training mode and
    flags are afterwards as they were.
    """
    if not callable(model) or isinstance(model, type):
        instead = f". Make one first: {model.__name__}(...)" if callable(model) else ""
        raise DataError(f"capture takes a module or a function, and its inputs; got {model!r:.60}{instead}")
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if torch is not None and hasattr(torch, "nn") and (jax is None or is_torch(torch, model, (inputs, keywords))):
        from .torch.record import record

        return record(model, inputs, keywords)
    if jax is not None:
        from .jax.record import record as record_jax

        return record_jax(model, inputs, keywords)
    raise DataError(
        "capture follows models of torch and functions of JAX; neither is imported here. Write `import torch` and make "
        "the model, or `import jax`."
    )


def is_torch(torch: Any, model: Any, given: Any) -> bool:
    """Whether a model is torch's rather than JAX's: it is a module, uses one, or is given tensors."""
    from ..tree import flatten

    if isinstance(model, torch.nn.Module) or isinstance(getattr(model, "__self__", None), torch.nn.Module):
        return True
    if any(isinstance(x, torch.Tensor) for x in flatten(given)[0]):
        return True
    from .torch.record import modules_of

    return any(True for _ in modules_of(model))
