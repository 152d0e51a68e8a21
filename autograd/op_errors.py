"""What is said where an op fails: the number of inputs, a setting, what came, and whose shapes do not fit.

exp(Value(1.0), Value(2.0))     # TypeError: exp takes 1 input, as in exp(x); got 2
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import DataError, HandgradError, ShapeError

if TYPE_CHECKING:
    from .op import Op


def miscounted(op: Op, inputs: Sequence[Any]) -> TypeError:
    """The error of a call with too few or too many inputs."""
    wanted = f"{len(op.names)} input{'s' * (len(op.names) > 1)}, as in {op.reads}"
    return TypeError(f"{op.name} takes {wanted}; got {len(inputs)}")


def misused(op: Op, error: TypeError) -> TypeError:
    """An error of a call that does not fit `normalize`, in the op's own name."""
    own, arrow, rest = str(error).partition("() ")
    if not arrow or own.split(".")[-1] != op.normalize.__name__:  # type: ignore[union-attr]
        return error
    return TypeError(f"{op.name}{inspect.signature(op.normalize)}: {rest}")  # type: ignore[arg-type]


def recover(op: Op, error: Exception, inputs: Sequence[Any], given: Sequence[Any] = ()) -> Any:
    """The result of an op that failed on these inputs, where there is one; else an error that explains itself."""
    try:
        return _recovered(op, error, inputs, given)
    except Exception as explained:
        from .modes import modes  # which names nodes, and so imports `op`

        if modes.tracer is not None:
            modes.tracer.fails(explained)
        raise


def _recovered(op: Op, error: Exception, inputs: Sequence[Any], given: Sequence[Any]) -> Any:
    """Where Python floats raise (`1.0 / 0.0`, `exp(1000.0)`) or integers do not fit, compute with NumPy's floats;
    else explain the error. `given` are the inputs as they came, which may have names.
    """
    if isinstance(error, HandgradError):
        raise type(error)(f"{error}{_who(op, given)}") from error.__cause__
    if isinstance(error, Warning | FloatingPointError):  # the caller asked NumPy to raise them
        raise error
    if not isinstance(error, ArithmeticError | ValueError | TypeError | LookupError | AttributeError):
        raise error  # not caused by the inputs: MemoryError, or an exception of a signal handler
    if op.normalize is None and not op.variadic and len(inputs) != len(op.names):
        raise miscounted(op, inputs) from None
    if isinstance(error, ArithmeticError | ValueError) and all(isinstance(x, int | float) for x in inputs):
        with contextlib.suppress(OverflowError):  # an int of more than 308 digits
            return op.forward(*map(np.float64, inputs))
    if inputs and np.asarray(inputs[0]).dtype.kind in "iub":  # the others (targets, say) may be integers on purpose
        with contextlib.suppress(TypeError, ValueError, IndexError):
            return op.forward(np.asarray(inputs[0], dtype=np.float64), *inputs[1:])
    raise _explained(op, error, inputs, given) from error


def _explained(op: Op, error: Exception, inputs: Sequence[Any], given: Sequence[Any]) -> HandgradError:
    """What was expected and what came, where a forward function failed."""
    who = _who(op, given)
    if isinstance(error, TypeError):
        for x in inputs:
            if np.asarray(x).dtype.kind not in "fiub":
                came = f"{x!r:.60} ({type(x).__name__})"
                return DataError(f"{op.name}: expected real numbers, as in {op.reads}; got {came}.{who}")
    if isinstance(error, OverflowError):
        return DataError(f"{op.name}: a number is too large for a float: {error}.{who}")
    shapes = " and ".join(str(np.shape(x)) for x in inputs)
    if "broadcast" in str(error):
        return ShapeError(
            f"{op.name}: shapes {shapes} do not broadcast; aligned at the right, two sizes must be equal or "
            f"one of them 1. Write reshape or expand_dims to line them up, or .mT to transpose.{who}"
        )
    return ShapeError(f"{op.name}: inputs of shape {shapes} do not fit together: {error}.{who}")


def _who(op: Op, given: Sequence[Any]) -> str:
    """The names of the Values among the inputs, for a message: " Here x is 'q'." """
    names = [f"{n} is {v.name!r}" for n, v in zip(op.names, given, strict=False) if getattr(v, "name", None)]
    return f" Here {', '.join(names)}." if names else ""
