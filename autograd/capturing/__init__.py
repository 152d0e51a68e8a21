"""capture: hand it a torch or JAX model, and see, step and judge its backward pass.

    run = autograd.capture(model, x)
    print(run.compare())        # is my backward right, and where not?

run             Run: what was recorded, and what can be asked of it; `replaying`: the run as a function
calls_judged    what one call sends back, compared with our rule at the library's own numbers
sums_judged     the library's gradients followed through the graph, and what their paths add up to
compare         Comparison: both as differences with module, line and argument; `left_out`: which terms are wrong
report          what a comparison says, as text; `page`, `picture`: as HTML and as a drawing
places          the user's lines, and the names that they give to results
aten/           the table from torch's operators to our ops
torch/          one run of a torch model: `record`, `recorder`, and torch's own pass, `backward`
jax/            a JAX function: `record`, its steps (`jaxpr`), the table (`lax`), softmax as one op (`recognise`)
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autograd.errors import DataError, GradientError

from .run import Run

if TYPE_CHECKING:
    from .compare import Comparison

__all__ = ["Run", "assert_backward", "capture"]


def capture(model: Any, *inputs: Any, **keywords: Any) -> Run:
    """Run a torch module or function, or a JAX function, once, for real, and record the run as a graph of Values.

    The graph can be drawn, stepped, explained and checked as any other; `run.compare()` compares the library's
    backward pass with ours, call by call, and names what differs by op, module, file and line. `run.result` is what the
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


def assert_backward(model: Any, *inputs: Any, allow: Sequence[str] = (), **keywords: Any) -> Comparison:
    """Capture one call of a model and compare; raise GradientError, with the report, unless every gradient agrees.

    For a test, or now and then in a training loop: `assert_backward(model, batch, allow=["RoundThrough"])`. `allow`
    names modules, ops or autograd.Functions whose gradients are meant to differ from the derivative.
    """
    found = capture(model, *inputs, **keywords).compare(allow=allow)
    if not found.ok:
        raise GradientError(str(found), found)
    return found


def is_torch(torch: Any, model: Any, given: Any) -> bool:
    """Whether a model is torch's rather than JAX's: it is a module, uses one, or is given tensors."""
    from autograd.tree import flatten

    if isinstance(model, torch.nn.Module) or isinstance(getattr(model, "__self__", None), torch.nn.Module):
        return True
    if any(isinstance(x, torch.Tensor) for x in flatten(given)[0]):
        return True
    from .torch.record import modules_of

    return any(True for _ in modules_of(model))
