"""Reductions: many numbers to one, over one axis, several, or all."""

import functools
import math
import operator

import numpy as np

from autograd.about import About, chosen
from autograd.arrays.numpy_calls import answers
from autograd.errors import ShapeError
from autograd.expr.rules import by_definition
from autograd.op import Op, let, nothing, rank_of, shape_of
from autograd.samples import Sample

from ._axes import negative_axes, negative_axis, plain_number
from ._functions import function
from .arithmetic import NONZERO, equal, not_equal
from .arrange import diagonal, flip, pad, sort
from .elementwise import maximum, minimum, where
from .indexing.join import concatenate, stack
from .shape import broadcast_to, expand_dims, getitem, ravel, reshape, transpose

REDUCED = (
    Sample("2,3"), Sample("."), Sample("4"), Sample("2,3", axis=0), Sample("2,3", axis=-1, keepdims=True),
    Sample("2,3,4", axis=(0, 2)), Sample("2,3,4", axis=(1, -1), keepdims=True),
)  # fmt: skip


def reduction(who):
    """What every reduction takes: axis None (all), one, or several; keepdims leaves axes of size 1."""

    def take(x, axis=None, keepdims=False):
        if hasattr(axis, "__apply__"):
            raise TypeError(f"{who} takes one Value and an axis; of two, write maximum(x, y), minimum(x, y), x + y")
        return (x,), {"axis": negative_axes(who, x, axis), "keepdims": kept(who, keepdims)}

    return take


def kept(who, keepdims):
    """Whether reduced axes stay, as axes of size 1."""
    if keepdims.__class__ is bool:
        return keepdims
    if isinstance(keepdims, int | np.integer | np.bool_) and keepdims in (0, 1):
        return bool(keepdims)
    raise TypeError(f"{who}: keepdims is True or False; got {keepdims!r}. For another dtype write "
                    f"{who}(x.astype(dtype)).")


def spread(g, x, axis, keepdims):
    """A reduction's gradient, back in the shape of what was reduced."""
    if x.__class__ is np.ndarray and isinstance(g, np.ndarray | float):
        if not keepdims and isinstance(g, np.ndarray):
            g = g.reshape([1 if i - x.ndim in axis else n for i, n in enumerate(x.shape)])
        return broadcast_to.forward(g, shape=x.shape)
    if not keepdims and rank_of(g):
        g = expand_dims(g, axis)
    return broadcast_to(g, shape_of(x)) if shape_of(g) != shape_of(x) else g


def count(x, axis):
    """How many numbers each result was made of."""
    shape = shape_of(x)
    return math.prod([shape[a] for a in axis])


def check_not_empty(who, x, axis):
    """An empty reduction has no mean, maximum or logarithm."""
    if count(x, axis) == 0:
        raise ShapeError(f"{who} of no numbers: an array of shape {shape_of(x)} has none to take it of. Check that the "
                         "data, or a mask that picked from it, is not empty; sum and prod of no numbers are 0 and 1.")


sum_ = Op("sum", "sum(x, axis=axis, keepdims=keepdims)", normalize=reduction("sum"),
          forward=lambda x, *, axis, keepdims: np.add.reduce(x, axis=axis, keepdims=keepdims),
          vjp=lambda g, out, x, *, axis, keepdims: (spread(g, x, axis, keepdims),),
          samples=(*REDUCED, Sample("0,3", axis=0)), batch="align", look="sum",
          about=About(rule="A sum hands the same gradient to every number that was added."),
          doc="The sum over an axis, several, or all.")


def _mean(x, *, axis, keepdims):
    check_not_empty("mean", x, axis)
    return np.add.reduce(x, axis=axis, keepdims=keepdims) / count(x, axis)


mean = Op("mean", "mean(x, axis=axis, keepdims=keepdims)", normalize=reduction("mean"),
          forward=_mean,
          vjp=lambda g, out, x, *, axis, keepdims: (spread(g / count(x, axis), x, axis, keepdims),),
          definition=lambda x, axis=None, keepdims=False: (
              sum_(x, axis, keepdims) / count(x, negative_axes("mean", x, axis))), lower=True, look="mean",
          samples=REDUCED, batch="align",
          about=About(rule="A mean hands every number an equal share of the gradient.", opens=False),
          doc="The mean over an axis, several, or all.")


def normalize_spread(who):
    """What var and std take: as every reduction; ddof (also called correction) is taken from the number of numbers."""

    def take(x, axis=None, ddof=0, keepdims=False, correction=None):
        ddof = ddof if correction is None else correction
        inputs, settings = reduction(who)(x, axis, keepdims)
        check_not_empty(who, x, settings["axis"])
        if count(x, settings["axis"]) <= ddof:
            raise ShapeError(f"{who} with ddof={ddof} needs more than {ddof} numbers; shape {shape_of(x)} has too few")
        return inputs, settings | {"ddof": ddof if ddof.__class__ is int else plain_number(who, "ddof", ddof)}

    return take


def _var(x, *, axis, keepdims, ddof):
    centred = x - _mean(x, axis=axis, keepdims=True)
    return np.add.reduce(centred * centred, axis=axis, keepdims=keepdims) / (count(x, axis) - ddof)


def centred(x, axis):
    return x - mean(x, axis=axis, keepdims=True)


def _var_defined(x, axis=None, ddof=0, keepdims=False):
    axis = negative_axes("var", x, axis)
    return sum_(centred(x, axis) ** 2, axis, keepdims) / (count(x, axis) - ddof)


VARIED = (*REDUCED, Sample("2,3", axis=-1, ddof=1))

var = Op("var", "var(x, axis=axis, ddof=ddof, keepdims=keepdims)", normalize=normalize_spread("var"),
         forward=_var,
         vjp=lambda g, out, x, *, axis, keepdims, ddof: (
             spread(2 * g / (count(x, axis) - ddof), x, axis, keepdims) * centred(x, axis),),
         definition=_var_defined, lower=True,
         samples=VARIED, batch="align",
         doc="The mean squared distance from the mean; `ddof` is taken from the number that it divides by.")

std = Op("std", "std(x, axis=axis, ddof=ddof, keepdims=keepdims)", normalize=normalize_spread("std"),
         forward=lambda x, *, axis, keepdims, ddof: np.sqrt(_var(x, axis=axis, keepdims=keepdims, ddof=ddof)),
         vjp=lambda g, out, x, *, axis, keepdims, ddof: (
             spread(over(g, out) / (count(x, axis) - ddof), x, axis, keepdims) * centred(x, axis),),
         definition=lambda x, axis=None, ddof=0, keepdims=False: _var_defined(x, axis, ddof, keepdims) ** 0.5,
         lower=True, samples=[s for s in VARIED if s.parts != ["."]], batch="align",
         doc="The square root of var; its derivative is 0 where all numbers are equal.")


def _over(x, y):
    flat = np.equal(y, 0)
    return np.where(flat, 0.0, x) / np.where(flat, 1.0, y)


def _over_defined(x, y):
    flat = equal(y, 0)
    return where(flat, 0.0, x) / where(flat, 1.0, y)


over = Op("over", "x / y",
          forward=_over,
          vjp=(lambda g, out, x, y: over(g, y),
               lambda g, out, x, y: -over(g * out, y)),
          definition=_over_defined, lower=True,
          samples=NONZERO, batch="align",
          doc="`x / y`, and 0 where y is 0: the flat choice at the tip of a cone.", inner=True)


norm = Op("norm", "norm(x, axis=axis, keepdims=keepdims)", normalize=reduction("norm"),
          forward=lambda x, *, axis, keepdims: np.sqrt(np.add.reduce(x * x, axis=axis, keepdims=keepdims)),
          vjp=lambda g, out, x, *, axis, keepdims: (spread(over(g, out), x, axis, keepdims) * x,),
          definition=lambda x, axis=None, keepdims=False: sum_(x**2, axis, keepdims) ** 0.5, lower=True,
          samples=REDUCED, batch="align",
          doc="The Euclidean norm; its derivative at the zero vector is 0.")


# --- products -----------------------------------------------------------------------------------------------


def _others(x, *, axis):
    """For each number, the product of the others along the axes, also where some are 0."""
    if rank_of(x) == 0:
        return 1.0
    lead = [a for a in range(-rank_of(x), 0) if a not in axis]
    moved = np.transpose(x, lead + list(axis))
    flat = moved.reshape(*moved.shape[: len(lead)], count(x, axis))
    ones = np.ones_like(flat[..., :1])
    before = np.cumprod(np.concatenate([ones, flat[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([ones, flat[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    return np.transpose((before * after).reshape(moved.shape), np.argsort(np.array(lead + list(axis)) % rank_of(x)))


def _others_defined(x, axis=None):
    axis = negative_axes("product_of_others", x, axis)
    if rank_of(x) == 0 or count(x, axis) == 0:
        return x * 0.0 + 1.0
    if count(x, axis) == 0:
        return x * 0.0  # there is no number, so nothing to say
    lead = [a for a in range(-rank_of(x), 0) if a not in axis]
    moved = transpose(x, lead + list(axis))
    shape = shape_of(moved)
    n = count(x, axis)
    flat = reshape(moved, (*shape[: len(lead)], n))
    every = [let(f"x{i}", getitem(flat, (..., i))) for i in range(n)]
    others = []
    for i in range(n):
        factors = [every[j] for j in range(n) if j != i] or [every[i] * 0.0 + 1.0]
        others.append(let(f"p{i}", functools.reduce(operator.mul, factors)))
    back = np.argsort(np.array(lead + list(axis)) % rank_of(x))
    return transpose(reshape(stack(others, axis=-1), shape), tuple(int(i) for i in back))


def _others_lowered(x, axis):
    """What comes before each number times what comes after it, by products of 1, 2, 4, ... neighbours."""
    if rank_of(x) == 0:
        return x.dtype.type(1)
    order = [a + rank_of(x) for a in range(-rank_of(x), 0) if a not in axis] + [a + rank_of(x) for a in axis]
    moved = transpose(x, order)
    lead, n = shape_of(moved)[: rank_of(x) - len(axis)], count(x, axis)
    flat = reshape(moved, (*lead, n))

    def later(y, by):  # y moved back along the last axis, ones in front
        return concatenate([np.ones((*lead, by), x.dtype), getitem(y, (..., slice(n - by)))], axis=-1)

    def before(y):
        y, by = later(y, 1), 1
        while by < n:
            y, by = y * later(y, by), 2 * by
        return y

    others = before(flat) * flip(before(flip(flat, -1)), -1) if n else flat
    return transpose(reshape(others, shape_of(moved)), tuple(int(i) for i in np.argsort(order)))


prod = Op("prod", "prod(x, axis=axis, keepdims=keepdims)", normalize=reduction("prod"),
          forward=lambda x, *, axis, keepdims: np.multiply.reduce(x, axis=axis, keepdims=keepdims),
          vjp=lambda g, out, x, *, axis, keepdims: (spread(g, x, axis, keepdims) * product_of_others(x, axis=axis),),
          samples=REDUCED, batch="align", doc="The product over an axis, several, or all.")

product_of_others = Op("product_of_others", "product_of_others(x, axis=axis)",
                 normalize=lambda x, axis=None: ((x,), {"axis": negative_axes("product_of_others", x, axis)}),
                 forward=_others,
                 vjp=by_definition(_others_defined),
                 definition=_others_defined, lower=_others_lowered,
                 samples=[Sample("4"), Sample("2,3", axis=0), Sample("2,3,2", axis=(0, 2)), Sample("2,3")],
                 batch="align",
                 doc="For each number, the product of all others: the derivative of prod, also at 0.", inner=True)

# --- extremes -----------------------------------------------------------------------------------------------


def _extreme(ufunc):
    def forward(x, *, axis, keepdims):
        check_not_empty(ufunc.__name__[:3], x, axis)  # max of maximum, min of minimum
        return ufunc.reduce(x, axis=axis, keepdims=keepdims)

    return forward


def _share(g, out, x, *, axis, keepdims):
    """Ties share the gradient evenly."""
    winners = let("w", equal(x, spread(out, x, axis, keepdims)) * 1.0, "1 where it is taken")
    return (spread(g, x, axis, keepdims) * winners / sum_(winners, axis=axis, keepdims=True),)


max_ = Op("max", "max(x, axis=axis, keepdims=keepdims)", normalize=reduction("max"),
          forward=_extreme(np.maximum), vjp=_share, pairwise=maximum,
          samples=REDUCED, batch="align", look="largest",
          about=About(rule="Only the largest entry gets the gradient.",
                      small=chosen),
          doc="The largest; ties share the gradient evenly.")

min_ = Op("min", "min(x, axis=axis, keepdims=keepdims)", normalize=reduction("min"),
          forward=_extreme(np.minimum), vjp=_share, pairwise=minimum,
          samples=REDUCED, batch="align", look="smallest",
          about=About(rule="Only the smallest entry gets the gradient.",
                      small=chosen),
          doc="The smallest; ties share the gradient evenly.")


def _normalize_arg(who):
    """What argmax and argmin take: one axis, or None for the place among all numbers in order."""

    def take(x, axis=None, keepdims=False):
        axis = None if axis is None else negative_axis(who, rank_of(x), axis)
        return (x,), {"axis": axis, "keepdims": kept(who, keepdims)}

    return take


argmax = Op("argmax", "argmax(x, axis=axis, keepdims=keepdims)", normalize=_normalize_arg("argmax"),
            forward=lambda x, *, axis, keepdims: np.argmax(x, axis=axis, keepdims=keepdims),
            vjp=nothing, samples=[Sample("2,3"), Sample("2,3", axis=0)], numpy=np.argmax,
            doc="Where the largest is; no gradient flows.")

argmin = Op("argmin", "argmin(x, axis=axis, keepdims=keepdims)", normalize=_normalize_arg("argmin"),
            forward=lambda x, *, axis, keepdims: np.argmin(x, axis=axis, keepdims=keepdims),
            vjp=nothing, samples=[Sample("2,3"), Sample("2,3", axis=0)], numpy=np.argmin,
            doc="Where the smallest is; no gradient flows.")

# --- truths -------------------------------------------------------------------------------------------------

any_ = Op("any", "any(x, axis=axis, keepdims=keepdims)", normalize=reduction("any"),
          forward=lambda x, *, axis, keepdims: np.any(x, axis=axis, keepdims=keepdims),
          vjp=nothing, lower=lambda x, axis, keepdims: count_nonzero(x, axis, keepdims) > 0,
          samples=REDUCED, batch="align", doc="Whether any number is true, that is not 0.")

all_ = Op("all", "all(x, axis=axis, keepdims=keepdims)", normalize=reduction("all"),
          forward=lambda x, *, axis, keepdims: np.all(x, axis=axis, keepdims=keepdims),
          vjp=nothing, lower=lambda x, axis, keepdims: equal(count_nonzero(equal(x, 0), axis, keepdims), 0),
          samples=REDUCED, batch="align", doc="Whether all numbers are true, that is not 0.")

count_nonzero = Op("count_nonzero", "count_nonzero(x, axis=axis, keepdims=keepdims)",
                   normalize=reduction("count_nonzero"),
                   forward=lambda x, *, axis, keepdims: np.count_nonzero(x, axis=axis, keepdims=keepdims),
                   vjp=nothing, lower=lambda x, axis, keepdims: sum_(not_equal(x, 0), axis, keepdims),
                   samples=REDUCED, numpy=np.count_nonzero, batch="align",
                   doc="How many numbers are not 0; no gradient flows.")

# --- running sums -------------------------------------------------------------------------------------------


def _normalize_cumsum(x, axis=None):
    if axis is None and rank_of(x) != 1:
        x = reshape(x, (-1,))
    return (x,), {"axis": negative_axis("cumsum", rank_of(x), -1 if axis is None else axis)}


cumsum = Op("cumsum", "cumsum(x, axis=axis)", normalize=_normalize_cumsum,
            forward=lambda x, *, axis: np.cumsum(x, axis=axis),
            vjp=lambda g, out, x, *, axis: (flip(cumsum(flip(g, axis), axis=axis), axis),),
            samples=[Sample("4"), Sample("2,3", axis=0), Sample("2,3", axis=1), Sample("2,3")], numpy=np.cumsum,
            batch="align", doc="Running sums along an axis; without one, over all numbers in order.")


@function(np.cumprod, method=True)
def cumprod(x, axis=None):
    """Running products along an axis; without one, over all numbers in order. Also right where some are 0.

    >>> cumprod(np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [1.0, 2.0, 6.0, 24.0]
    """
    if axis is None:
        x, axis = ravel(x), -1
    axis = negative_axis("cumprod", rank_of(x), axis)
    behind = (slice(None),) * (-axis - 1)
    step = 1
    while step < shape_of(x)[axis]:  # each number times the one `step` places before it: products of 2, of 4, of 8
        earlier = getitem(x, (..., slice(0, -step), *behind))
        border = [(0, 0)] * rank_of(x)
        border[axis] = (step, 0)
        x, step = x * pad(earlier, border, constant_values=1.0), 2 * step
    return x


@function(np.diff)
def diff(x, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours along an axis, taken n times; `prepend` and `append` join numbers to it before.

    >>> diff(np.array([1.0, 4.0, 9.0, 16.0])).tolist()
    [3.0, 5.0, 7.0]
    """
    if n < 0:
        raise ValueError(f"diff: n is how often differences are taken, 0 or more; got {n}")
    axis = negative_axis("diff", rank_of(x), axis)
    if n == 0:
        return x
    around = (_as_border(x, prepend, axis), x, _as_border(x, append, axis))
    parts = [part for part in around if part is not None]
    x = concatenate(parts, axis=axis) if len(parts) > 1 else x
    behind = (slice(None),) * (-axis - 1)
    for _ in range(n):
        x = getitem(x, (..., slice(1, None), *behind)) - getitem(x, (..., slice(None, -1), *behind))
    return x


@answers(np.gradient)
def gradient(f, *spacing, axis=None, edge_order=1):
    """Slopes along an axis, or a tuple of them, one for each axis: central differences, one-sided ones at both ends.

    `spacing` is the distance of neighbours: one number, or one for each axis.

    >>> gradient(np.array([1.0, 4.0, 9.0, 16.0])).tolist()
    [3.0, 4.0, 6.0, 7.0]
    """
    if edge_order != 1 or any(rank_of(step) for step in spacing):
        raise ValueError("gradient of a Value takes equal distances, gradient(f, 0.1), and edge_order=1")
    named = range(rank_of(f)) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    axes = [negative_axis("gradient", rank_of(f), a) for a in named]
    steps = spacing * len(axes) if len(spacing) == 1 else spacing or (1.0,) * len(axes)
    slopes = []
    for a, step in zip(axes, steps, strict=True):
        behind = (slice(None),) * (-a - 1)

        def part(start, stop):
            return getitem(f, (..., slice(start, stop), *behind))  # noqa: B023 (called before it changes)

        ends = part(1, 2) - part(0, 1), part(-1, None) - part(-2, -1)
        slopes.append(concatenate([ends[0], (part(2, None) - part(None, -2)) / 2.0, ends[1]], axis=a) / step)
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


@function(np.median)
def median(x, axis=None, keepdims=False):
    """The number in the middle, or the mean of the two in the middle; NaN where there is one.

    >>> median(np.array([3.0, 1.0, 2.0, 8.0]))
    2.5
    """
    axes = negative_axes("median", x, axis)
    check_not_empty("median", x, axes)
    sizes = dict(zip(range(-rank_of(x), 0), shape_of(x), strict=True))
    others = [a for a in sizes if a not in axes]
    n = math.prod(sizes[a] for a in axes)
    rows = sort(reshape(transpose(x, (*others, *axes)), (*(sizes[a] for a in others), n)))
    middle = getitem(rows, (..., (n - 1) // 2)) / 2 + getitem(rows, (..., n // 2)) / 2
    last = getitem(rows, (..., -1))  # a NaN, if there is one
    found = where(equal(last, last), middle, last)
    return reshape(found, tuple(1 if a in axes else size for a, size in sizes.items())) if keepdims else found


@function(np.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The area below the lines through points with heights y, at places x or `dx` apart, along an axis.

    >>> trapezoid(np.array([1.0, 2.0, 4.0]))
    4.5
    """
    axis = negative_axis("trapezoid", rank_of(y), axis)
    behind = (slice(None),) * (-axis - 1)
    if x is None:
        widths = dx
    elif rank_of(x) == 1:
        widths = expand_dims(diff(x), tuple(range(1, -axis))) if axis < -1 else diff(x)
    else:
        widths = diff(x, axis=axis)
    heights = getitem(y, (..., slice(1, None), *behind)) / 2 + getitem(y, (..., slice(None, -1), *behind)) / 2
    return sum_(widths * heights, axis=axis)


def _as_border(x, values, axis):
    """Numbers to join to x along an axis; a scalar becomes one slice of it."""
    if values is None or rank_of(values):
        return values
    shape = list(shape_of(x))
    shape[axis] = 1
    return broadcast_to(values, tuple(shape))


@function(np.trace, method=True)
def trace(x, offset=0, axis1=0, axis2=1):
    """The sum of the diagonal; see `diagonal`."""
    return sum_(diagonal(x, offset, axis1, axis2), axis=-1)
