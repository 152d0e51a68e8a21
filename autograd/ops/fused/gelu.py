"""gelu: the exact form x Φ(x), and the tanh form that GPT-2 uses; and their derivative, an op of its own."""

import math

import numpy as np

from autograd.about import About
from autograd.expr.rules import by_definition
from autograd.op import Op, let
from autograd.samples import samples

from ..elementwise import UNARY, erf, exp, tanh
from ._blocks import in_blocks
from ._stash import Stash

_SQRT2, _PHI0, _TANH = math.sqrt(2.0), 1 / math.sqrt(2 * math.pi), math.sqrt(2 / math.pi)


_parts = Stash()


def _gelu(x, *, approximate):
    if approximate == "none":
        return 0.5 * x * (1.0 + erf.compute(x / _SQRT2))
    if isinstance(x, np.ndarray) and x.dtype.kind == "f":
        out, part = _gelu_and_part(x)
        _parts.keep(out, part)
        return out
    return 0.5 * x * (1.0 + tanh.compute(_TANH * (x + 0.044715 * x * x * x)))


@np.errstate(over="ignore")  # far below zero exp is infinite, and what gets through is x / inf = 0
def _gelu_and_part(x):
    part = np.empty_like(x)
    return in_blocks(_gelu_block, x, part), part


def _gelu_block(x, part, out):
    """out = x / part, where part = 1 + exp(-2z), z = √(2/π) (x + 0.044715 x³): (1 + tanh z) / 2 is 1 / part."""
    np.multiply(x, x, out=part)
    part *= -2 * 0.044715 * _TANH
    part -= 2 * _TANH
    part *= x
    np.exp(part, out=part)
    part += 1.0
    np.divide(x, part, out=out)


def _gelu_slope(x, *, approximate):
    if approximate == "none":
        return 0.5 * (1.0 + erf.compute(x / _SQRT2)) + _PHI0 * x * exp.compute(-0.5 * x * x)
    gate = 0.5 * (1.0 + tanh.compute(_TANH * (x + 0.044715 * x * x * x)))
    return gate * (1.0 + (1.0 - gate) * 2 * _TANH * x * (1.0 + 3 * 0.044715 * x * x))


def _gelu_pull_block(g, x, part, y, out, passed, rest):
    """out = g times the slope, which is (1 + 2√(2/π) (1 + 3 · 0.044715 x²) (x - y)) / part, y being gelu(x)."""
    np.divide(g, part, out=passed)  # first: where nothing passes, what follows may be large
    np.multiply(x, x, out=out)
    out *= 6 * 0.044715 * _TANH
    out += 2 * _TANH
    out *= passed
    np.subtract(x, y, out=rest)
    out *= rest
    out += passed


def _gelu_vjp(g, out, x, *, approximate):
    if approximate == "tanh" and g.__class__ is np.ndarray and g.dtype == x.dtype and g.dtype.kind == "f":
        part = _parts.take(out, lambda: _gelu_and_part(x)[1])
        return (in_blocks(_gelu_pull_block, g, x, part, out, spares=2),)
    return (g * gelu_slope(x, approximate=approximate),)


def _gelu_defined(x, approximate="none"):
    share = erf(x / _SQRT2) if approximate == "none" else tanh(_TANH * (x + 0.044715 * x**3))
    return x * let("Φ", 0.5 * (1 + share), "share of the normal distribution below x")


def _gelu_slope_defined(x, approximate="none"):
    if approximate == "tanh":
        t = let("t", tanh(_TANH * (x + 0.044715 * x**3)))
        r = let("r", _TANH * (1 + 3 * 0.044715 * x**2), "slope of what tanh is taken of")
        return 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * r
    share = let("Φ", 0.5 * (1 + erf(x / _SQRT2)), "share of the normal distribution below x")
    density = let("φ", exp(-0.5 * x**2) * _PHI0, "its slope")
    return share + x * density


def _gelu_part_in_ops(x):
    """What x is divided by: see `_gelu_block`."""
    return 1.0 + exp(x * (x * x * (-2 * 0.044715 * _TANH) - 2 * _TANH))


def _gelu_lowered(x, approximate="none"):
    return x / _gelu_part_in_ops(x) if approximate == "tanh" else 0.5 * x * (1 + erf(x / _SQRT2))


def _gelu_slope_lowered(x, approximate="none"):
    if approximate == "none":
        return _gelu_slope_defined(x)
    part = _gelu_part_in_ops(x)
    return (1.0 + (x * x * (6 * 0.044715 * _TANH) + 2 * _TANH) * (x - x / part)) / part


def _normalize_gelu(x, approximate="none"):
    if approximate not in ("none", "tanh"):
        raise ValueError(f'gelu: approximate is "none" (exact) or "tanh"; got {approximate!r}')
    return (x,), {"approximate": approximate}


GELU = (*UNARY, *samples(".", "2,3", approximate="tanh"))

gelu = Op("gelu", "gelu(x, approximate=approximate)", normalize=_normalize_gelu,
          forward=_gelu,
          vjp=_gelu_vjp,
          definition=_gelu_defined, lower=_gelu_lowered,
          samples=GELU, batch="align",
          about=About(rule="gelu has a slope near 1 for large inputs and near 0 for very negative ones."),
          doc='x times the normal distribution function; approximate="tanh" as in GPT-2.')

gelu_slope = Op("gelu_slope", "gelu_slope(x, approximate=approximate)", normalize=_normalize_gelu,
                forward=_gelu_slope,
                vjp=by_definition(_gelu_slope_defined),
                definition=_gelu_slope_defined, lower=_gelu_slope_lowered, unfolds="graph",
                samples=GELU, batch="align", doc="The derivative of gelu.", inner=True)
