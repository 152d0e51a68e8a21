"""The table from JAX's primitives (lax) to our ops: one short function each, over Values and plain arrays.

A rule is called with the primitive's operands, a Value for each that a gradient flows through, and its parameters. It
returns a Value. JAX itself is not imported here.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

import numpy as np

import autograd as ag
from autograd.engine import Value
from autograd.op import rank_of, shape_of

LAX: dict[str, Callable[..., Any]] = {}

SAME = {  # JAX's functions of numbers, and ours
    **{name: name for name in ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
                               "erf", "abs", "neg", "add", "sub", "mul", "div")},
    "add_any": "add", "pow": "power", "min": "minimum", "logistic": "sigmoid",
}  # fmt: skip
for _lax, _ours in SAME.items():
    LAX[_lax] = lambda *xs, op=ag.OPS[_ours], **_: op(*xs)
for _name in ("sum", "max", "min", "prod"):
    LAX[f"reduce_{_name}"] = lambda x, axes, op=ag.OPS[_name], **_: op(x, axis=tuple(axes))
LAX.update({
    "integer_pow": lambda x, y, **_: x**y,
    "square": lambda x, **_: x**2,
    "rsqrt": lambda x, **_: x**-0.5,
    "exp2": lambda x, **_: ag.power(2.0, x),
    "reshape": lambda x, new_sizes, **_: ag.reshape(x, tuple(new_sizes)),
    "expand_dims": lambda x, dimensions: ag.expand_dims(x, tuple(dimensions)),
    "transpose": lambda x, permutation: ag.transpose(x, tuple(permutation)),
    "concatenate": lambda *xs, dimension: ag.concatenate(list(xs), axis=dimension),
    "rev": lambda x, dimensions: ag.flip(x, axis=tuple(dimensions)),
})


def lax(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a rule under JAX's names."""

    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            LAX[name] = rule
        return rule

    return enter


@lax("max")
def maximum(x, y, **_):
    """With a limit that is nowhere the larger, x itself: `max(-inf, x)` stands in every softmax."""
    for limit, other in ((x, y), (y, x)):
        if not isinstance(limit, Value) and isinstance(other, Value) and np.all(np.asarray(limit) == -np.inf):
            return other
    return ag.maximum(x, y)


@lax("select_n")
def select(which, *cases, **_):
    if len(cases) != 2:
        raise NotImplementedError
    return ag.where(np.asarray(which, bool), cases[1], cases[0])


@lax("clamp")
def clamp(low, x, high, **_):
    if not isinstance(x, Value) or isinstance(low, Value) or isinstance(high, Value):
        raise NotImplementedError
    return ag.where((x.data > low) & (x.data < high), x, np.clip(x.data, low, high))


@lax("convert_element_type")
def convert(x, new_dtype, **_):
    return x if np.dtype(new_dtype).kind in "fV" else ag.astype(x, np.dtype(new_dtype).name)


@lax("copy", "copy_p", "reduce_precision", "optimization_barrier")
def same(x, **_):
    return x


# --- shapes -------------------------------------------------------------------------------------------------


@lax("broadcast_in_dim")
def broadcast_in_dim(x, *_, shape, broadcast_dimensions, **__):
    """x with its axes at these places of the shape, repeated along the others."""
    spread = [1] * len(shape)
    for n, axis in zip(shape_of(x), broadcast_dimensions, strict=True):
        spread[axis] = n
    x = x if tuple(spread) == shape_of(x) else ag.reshape(x, tuple(spread))
    return x if tuple(spread) == tuple(shape) else ag.broadcast_to(x, tuple(shape))


@lax("squeeze")
def squeeze(x, dimensions):
    return ag.squeeze(x, axis=tuple(dimensions)) if dimensions else x


@lax("slice")
def slice_(x, start_indices, limit_indices, strides):
    strides = strides or (1,) * len(start_indices)
    return x[tuple(slice(a, b, s) for a, b, s in zip(start_indices, limit_indices, strides, strict=True))]


@lax("pad")
def pad(x, value, padding_config):
    if isinstance(value, Value) or any(low < 0 or high < 0 or inner for low, high, inner in padding_config):
        raise NotImplementedError
    return ag.pad(x, tuple((low, high) for low, high, _ in padding_config), constant_values=float(value))


# --- sums and products --------------------------------------------------------------------------------------


@lax("cumsum")
def cumsum(x, axis, reverse):
    return ag.flip(ag.cumsum(ag.flip(x, axis), axis=axis), axis) if reverse else ag.cumsum(x, axis=axis)


@lax("cumlogsumexp")
def cumlogsumexp(x, axis, reverse):
    return (ag.flip(ag.logcumsumexp(ag.flip(x, axis), axis=axis), axis) if reverse
            else ag.logcumsumexp(x, axis=axis))  # fmt: skip


@lax("dot_general")
def dot_general(x, y, dimension_numbers, **_):
    """A matrix product where it is one, else the sum as einsum writes it: batch, then what is left of x, then of y."""
    (left, right), (left_batch, right_batch) = dimension_numbers
    rank_x, rank_y = rank_of(x), rank_of(y)
    batch = tuple(range(len(left_batch)))
    whole = (tuple(left_batch), tuple(right_batch)) == (batch, batch) and len(left) == 1 and rank_y == len(batch) + 2
    if whole and left[0] == rank_x - 1 and right[0] == len(batch) and (rank_x == rank_y or not batch):
        return ag.matmul(x, y)
    letters = iter(string.ascii_letters)
    first = [next(letters) for _ in range(rank_x)]
    second = [""] * rank_y
    for a, b in (*zip(left, right, strict=True), *zip(left_batch, right_batch, strict=True)):
        second[b] = first[a]
    second = [letter or next(letters) for letter in second]
    kept_x = [c for i, c in enumerate(first) if i not in left and i not in left_batch]
    kept_y = [c for i, c in enumerate(second) if i not in right and i not in right_batch]
    result = [first[i] for i in left_batch] + kept_x + kept_y
    return ag.einsum(f"{''.join(first)},{''.join(second)}->{''.join(result)}", x, y)


@lax("conv_general_dilated")
def conv(x, weight, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, feature_group_count,
         batch_group_count, **_):  # fmt: skip
    """Images with channels in second place or last, as the dimension numbers say."""
    places = dimension_numbers
    if any(n != 1 for n in lhs_dilation) or batch_group_count != 1 or any(a != b for a, b in padding):
        raise NotImplementedError
    x, weight = ag.transpose(x, tuple(places.lhs_spec)), ag.transpose(weight, tuple(places.rhs_spec))
    out = ag.conv(x, weight, None, tuple(window_strides), tuple(a for a, _ in padding), tuple(rhs_dilation),
                  feature_group_count)  # fmt: skip
    return ag.transpose(out, tuple(int(i) for i in np.argsort(places.out_spec)))


def _reduce_window(pool: Callable[..., Any], beyond: float) -> Callable[..., Any]:
    """Windows along some axes: those go last, after a single channel; `beyond` is what lies past the edges."""

    def reduce_window(x, window_dimensions, window_strides, padding, base_dilation, window_dilation):
        axes = [i for i, w in enumerate(window_dimensions) if w > 1 or window_strides[i] > 1]
        if not 1 <= len(axes) <= 3 or any(n != 1 for n in (*base_dilation, *window_dilation)):
            raise NotImplementedError
        window, strides = (tuple(int(each[i]) for i in axes) for each in (window_dimensions, window_strides))
        kept = [i for i in range(x.ndim) if i not in axes]
        x = ag.transpose(ag.pad(x, tuple(padding), constant_values=beyond), (*kept, *axes))
        out = pool(ag.reshape(x, (-1, 1, *x.shape[len(kept) :])), window, strides)
        out = ag.reshape(out, (*x.shape[: len(kept)], *out.shape[2:]))
        return ag.transpose(out, tuple(int(i) for i in np.argsort([*kept, *axes])))

    return reduce_window


LAX["reduce_window_max"] = _reduce_window(lambda x, window, strides: ag.max_pool(x, window, strides, 0), -np.inf)
LAX["reduce_window_sum"] = _reduce_window(
    lambda x, window, strides: ag.avg_pool(x, window, strides, 0) * float(np.prod(window)), 0.0
)


# --- linear algebra -----------------------------------------------------------------------------------------


@lax("triangular_solve")
def triangular_solve(a, b, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
    if unit_diagonal or isinstance(a, np.ndarray) or not left_side:
        raise NotImplementedError
    a = ag.tril(a) if lower else ag.triu(a)
    return ag.solve(ag.swapaxes(a, -1, -2) if transpose_a else a, b)
