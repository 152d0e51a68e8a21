"""The ops of the table, and recorded graphs of them, in 90 digits: forward functions and rules."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.expr.rules import pulled
from autograd.graph import made_from
from autograd.op import Op

from .functions import ONE, ZERO
from .number import Digit, Digits, NoDigits, bare, digits, each, each_pair, float64, to_digit


def apply_digits(op: Op, inputs: tuple[Any, ...]) -> Any:
    """Run an op of the table, or a user's own, in 90 digits; NoDigits if it cannot."""
    own = CORE.get(op.base.name) if not getattr(op.base, "custom", False) else op.forward
    try:
        if own is not None:
            settings = {} if own is op.forward else op.settings
            return digits(own(*map(digits, inputs), **settings))
        if op.lower is not None:
            return op.lower(*inputs, **op.settings)
    except NoDigits:
        raise
    except (TypeError, AttributeError, ValueError, NotImplementedError) as error:
        raise NoDigits(f"{op.name}: {error}") from error
    raise NoDigits(f"{op.name} is not known in 90 digits")


def pull(op: Op, g: Any, out: Any, inputs: list[Any]) -> tuple[Any, ...]:
    """The op's rule in 90 digits: one gradient for each input, in its shape; None where none flows."""
    found = []
    for x, dx in zip(inputs, pulled(op, g, out, inputs), strict=True):
        found.append(None if dx is None or not isinstance(x, Digit | Digits) else sum_to_shape(digits(dx), x.shape))
    return tuple(found)


def pull_definition(
    definition: Callable[..., Any], g: Any, inputs: tuple[Any, ...], settings: dict[str, Any]
) -> tuple[Any, ...]:
    """Where a rule differentiates a definition: its graph, recorded on float64, in 90 digits."""
    leaves = [Value(float64(x)) if isinstance(x, Digit | Digits) else x for x in inputs]
    result = definition(*leaves, **settings)
    sources = [x for x in leaves if isinstance(x, Value)]
    nodes = made_from([result], stop=sources)
    known = run_graph(nodes, {v: x for v, x in zip(leaves, inputs, strict=True) if isinstance(v, Value)})
    grads = pull_graph(nodes, known, {result: g})
    return tuple(grads.get(x) if isinstance(x, Value) else None for x in leaves)


# --- recorded graphs ------------------------------------------------------------------------------------------------


def run_graph(nodes: list[Value], known: dict[Value, Any]) -> dict[Value, Any]:
    """Recorded nodes, oldest first, in 90 digits: the number of each; `known` holds those of the sources.

    What does not depend on the sources stays what it was in float64.
    """
    known = dict(known)
    for node in nodes:
        inputs = [known.get(x, x._data) if isinstance(x, Value) else x for x in node.inputs]
        if any(isinstance(x, Value) and x in known for x in node.inputs):
            assert node.op is not None
            known[node] = apply_digits(node.op, tuple(inputs))
    return known


def pull_graph(nodes: list[Value], known: dict[Value, Any], grads: dict[Value, Any]) -> dict[Value, Any]:
    """Gradients in 90 digits, from those of the results, `grads`: the ops' own rules along recorded nodes."""
    grads = dict(grads)
    for node in reversed(nodes):
        g = grads.pop(node, None)
        if g is None or node not in known or not node.requires_grad:
            continue
        inputs = [known.get(x, x._data) if isinstance(x, Value) else x for x in node.inputs]
        assert node.op is not None
        for x, dx in zip(node.inputs, pull(node.op, g, known[node], inputs), strict=True):
            if dx is not None and isinstance(x, Value) and x.requires_grad:
                grads[x] = grads[x] + dx if x in grads else dx
    return grads


def sum_to_shape(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum what broadcasting had spread."""
    lead = np.ndim(g) - len(shape)
    axes = tuple(i for i, n in enumerate(np.shape(g)) if i < lead or (shape[i - lead] == 1 and n != 1))
    if axes:
        g = digits(np.add.reduce(g, axis=axes, keepdims=True))
    if np.shape(g) != shape:
        g = np.broadcast_to(bare(g), shape) if np.size(g) == 1 and not axes else np.reshape(g, shape)
    return digits(g)


def _chosen(condition: Any, x: Any, y: Any) -> Any:
    return np.where(np.asarray(bare(condition), dtype=bool), bare(x), bare(y))


def _largest(x: Any, axis: Any) -> Any:
    """The largest along an axis, to be subtracted; 0 for a row of -inf, which is masked."""
    top = np.maximum.reduce(x, axis=axis, keepdims=True)
    return _chosen(np.asarray(top) == -math.inf, 0.0, top)


def _softmax(x: Any, *, axis: Any) -> Any:
    e = np.exp(digits(x - _largest(x, axis)))
    total = np.add.reduce(e, axis=axis, keepdims=True)
    return e / _chosen(np.asarray(total) == 0, 1.0, total)


def _logsumexp(x: Any, *, axis: Any, keepdims: bool) -> Any:
    top = digits(_largest(x, axis))
    out = np.log(np.add.reduce(np.exp(x - top), axis=axis, keepdims=True)) + top
    return out if keepdims else np.squeeze(out, axis)


def _scattered(g: Any, *, index: Any, shape: tuple[int, ...]) -> Any:
    out = np.zeros(shape, dtype=object)
    np.add.at(out, index, bare(g))
    return out


def _put_rows(x: Any, ids: Any, *, rows: int) -> Any:
    return _scattered(x, index=(np.asarray(ids),), shape=(rows, *np.shape(x)[np.ndim(ids) :]))


def _broadcast(x: Any, *, shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(np.asarray(bare(x), dtype=object), shape).copy()


def _transposed(x: Any, *, axes: tuple[int, ...]) -> Any:
    lead = np.ndim(x) - len(axes)
    return np.transpose(x, (*range(lead), *(lead + a % len(axes) for a in axes)))


def _matmul(x: Any, y: Any) -> Any:
    return np.matmul(bare(x), bare(y))


# --- matrices, by elimination ---------------------------------------------------------------------------------------


def _eliminated(a: Any, b: Any) -> tuple[Any, Any]:
    """The solution of `a @ x = b` for one matrix and one matrix of columns, and the determinant of a."""
    a, b, n, det = np.array(bare(a)), np.array(bare(b)), len(a), Digit(ONE)
    for j in range(n):
        p = max(range(j, n), key=lambda i: a[i, j].d.copy_abs())
        if not a[p, j].d:
            return np.full(b.shape, Digit(Decimal("NaN")), dtype=object), Digit(ZERO)
        if p != j:
            a[[j, p]], b[[j, p]], det = a[[p, j]], b[[p, j]], -det
        det = det * a[j, j]
        for i in range(n):
            if i != j and a[i, j].d:
                factor = a[i, j] / a[j, j]
                a[i, j:] = a[i, j:] - factor * a[j, j:]
                b[i] = b[i] - factor * b[j]
    return b / np.diagonal(a)[:, None], det


def _solve(a: Any, b: Any) -> Any:
    vector = np.ndim(b) == 1
    a, b = np.asarray(bare(digits(a))), np.asarray(bare(digits(b)))
    b = b[:, None] if vector else b
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    left = np.broadcast_to(a, lead + a.shape[-2:]).reshape(-1, *a.shape[-2:])
    right = np.broadcast_to(b, lead + b.shape[-2:]).reshape(-1, *b.shape[-2:])
    every = [_eliminated(m, c)[0] for m, c in zip(left, right, strict=True)]
    out = np.array(every, dtype=object).reshape(lead + b.shape[-2:])
    return out[..., 0] if vector else out


def _inv(x: Any) -> Any:
    return _solve(x, np.broadcast_to(np.eye(x.shape[-1]), x.shape))


def _det(x: Any) -> Any:
    flat = np.asarray(bare(x)).reshape(-1, *x.shape[-2:])
    out = np.empty(len(flat), dtype=object)
    for i, m in enumerate(flat):
        out[i] = _eliminated(m, np.empty((len(m), 0), dtype=object))[1]
    return out.reshape(x.shape[:-2])[()]


def _cofactors(x: Any) -> Any:
    """The determinant times the inverse, transposed; of a singular matrix, from the minors."""
    det = digits(np.asarray(_det(x), dtype=object))
    if np.all(det != 0):
        return np.asarray(bare(det))[..., None, None] * np.swapaxes(_inv(x), -1, -2)
    n = x.shape[-1]
    out = np.empty(x.shape, dtype=object)
    for i in range(n):
        for j in range(n):
            minor = np.delete(np.delete(bare(x), i, -2), j, -1)
            out[..., i, j] = (-1) ** (i + j) * _det(minor) if n > 1 else Digit(ONE)
    return out


def _pinv(x: Any) -> Any:
    """Of a matrix of full rank."""
    turned = np.swapaxes(bare(x), -1, -2)
    tall = x.shape[-2] >= x.shape[-1]
    return _matmul(_inv(_matmul(turned, x)), turned) if tall else _matmul(turned, _inv(_matmul(x, turned)))


def _cholesky(x: Any) -> Any:
    """Column by column, of the symmetric part of x."""
    x = (bare(x) + np.swapaxes(bare(x), -1, -2)) / 2
    out = np.full(x.shape, Digit(ZERO), dtype=object)
    for j in range(x.shape[-1]):
        for i in range(j, x.shape[-1]):
            left = x[..., i, j] - np.add.reduce(out[..., i, :j] * out[..., j, :j], axis=-1)
            out[..., i, j] = each("sqrt")(left) if i == j else left / out[..., j, j]
    return out


def _arg(pick: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *, axis, keepdims: pick(bare(x), axis=axis, keepdims=keepdims)


def _reduced(ufunc: Any) -> Callable[..., Any]:
    return lambda x, *, axis, keepdims: ufunc.reduce(np.asarray(bare(x)), axis=axis, keepdims=keepdims)


def _truth(f: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda *xs: f(*(np.asarray(bare(x)) != 0 for x in xs))


# How the ops of the core run here, and those whose lowering reads a dtype.
CORE: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "neg": operator.neg,
    "power": each_pair("power"), "less": operator.lt, "less_equal": operator.le, "greater": operator.gt,
    "greater_equal": operator.ge, "equal": operator.eq, "not_equal": operator.ne,
    **{name: each(name) for name in (
        "exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "arctan", "tanh", "sinh", "cosh", "arcsin",
        "arccos", "erf", "erfc", "gammaln", "floor", "ceil", "trunc", "rint", "log2", "log10", "exp2")},
    "digamma": lambda x, *, order: np.frompyfunc(lambda e: to_digit(e).polygamma(order), 1, 1)(bare(x)),
    "abs": abs, "sign": lambda x: np.sign(np.asarray(bare(x))), "arctan2": each_pair("arctan2"),
    "maximum": np.maximum, "minimum": np.minimum, "fmod": each_pair("fmod"), "where": _chosen,
    "logical_and": _truth(np.logical_and), "logical_or": _truth(np.logical_or),
    "logical_xor": _truth(np.logical_xor), "logical_not": _truth(np.logical_not),
    "alias": lambda x: x, "detached": lambda x: x, "copy": lambda x: x, "astype": lambda x, *, dtype: x,
    "nan_to_num": lambda x, **settings: x, "within": lambda ids, **settings: ids,
    "reshape": lambda x, *, shape: np.reshape(x, shape), "transpose": _transposed, "broadcast_to": _broadcast,
    "getitem": lambda x, *, index: np.asarray(bare(x))[index], "scatter": _scattered, "put_rows": _put_rows,
    "take_rows": lambda x, ids: np.asarray(bare(x))[np.asarray(ids)],
    "argsort": lambda x, *, axis, kind: np.argsort(bare(x), axis=axis, kind="stable"),
    "concatenate": lambda *xs, axis: np.concatenate([bare(x) for x in xs], axis=axis),
    "sum": _reduced(np.add), "prod": _reduced(np.multiply), "max": _reduced(np.maximum), "min": _reduced(np.minimum),
    "argmax": _arg(np.argmax), "argmin": _arg(np.argmin),
    "cumsum": lambda x, *, axis: np.add.accumulate(np.asarray(bare(x)), axis=axis), "matmul": _matmul,
    "softmax": _softmax, "logsumexp": _logsumexp, "solve": _solve, "inv": _inv, "det": _det, "cofactors": _cofactors,
    "signdet": lambda x: np.sign(np.asarray(_det(x), dtype=object)), "pinv": _pinv, "cholesky": _cholesky,
    "logabsdet": lambda x: each("log")(abs(np.asarray(_det(x), dtype=object))[()]),
}  # fmt: skip
