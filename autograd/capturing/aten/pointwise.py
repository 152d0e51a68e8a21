"""Operators that work on each number on its own, and losses made of them."""

from __future__ import annotations

import numpy as np

import autograd as ag
from autograd.op import Op

from .table import ATEN, aten, operands, plain, rank_of, unless

SAME = {  # torch's functions of one number, and ours
    "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "sqrt": "sqrt", "sin": "sin", "cos": "cos",
    "tan": "tan", "atan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "sigmoid": "sigmoid",
    "silu": "silu", "relu": "relu", "erf": "erf", "erfc": "erfc", "abs": "abs", "neg": "neg", "asin": "arcsin",
    "acos": "arccos", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "log2": "log2", "log10": "log10",
    "exp2": "exp2", "lgamma": "gammaln", "digamma": "digamma", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "fix": "trunc", "logical_not": "logical_not", "sign": "sign", "sgn": "sign", "sinc": "sinc", "special_sinc": "sinc",
}  # fmt: skip
OF_TWO = {
    "mul": "mul", "multiply": "mul", "pow": "power", "xlogy": "xlogy", "logaddexp": "logaddexp", "atan2": "arctan2",
    "hypot": "hypot", "fmod": "fmod", "remainder": "mod", "maximum": "maximum", "max.other": "maximum",
    "fmax": "maximum", "minimum": "minimum", "min.other": "minimum", "fmin": "minimum",
    "gt": "greater", "ge": "greater_equal", "lt": "less", "le": "less_equal", "eq": "equal", "ne": "not_equal",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor",
}  # fmt: skip
for _torch, _ours in SAME.items():
    ATEN[_torch] = ag.OPS[_ours]
for _torch, _ours in OF_TWO.items():
    ATEN[_torch] = lambda x, y, op=ag.OPS[_ours]: op(*operands(x, y))

for _torch in ("and", "or", "xor", "not"):
    ATEN[f"bitwise_{_torch}"] = ATEN[f"__{_torch}__"] = lambda *xs, op=ag.OPS[f"logical_{_torch}"]: of_truths(op, xs)

ATEN.update({
    "square": lambda x: x**2,
    "reciprocal": lambda x: ag.div(1.0, x),
    "rsqrt": lambda x: x**-0.5,
    "rsub": lambda x, y, alpha=1: sub(y, x, alpha),
    "mish": lambda x: x * ag.tanh(ag.softplus(x)),
    "log_sigmoid": lambda x: -ag.softplus(-x),
    "selu": lambda x: elu(x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946),
    "celu": lambda x, alpha=1.0: elu(x, alpha, 1.0, 1.0 / alpha),
    "hardtanh": lambda x, low=-1.0, high=1.0: _open_clip(x, low, high),
    "relu6": lambda x: _open_clip(x, 0.0, 6.0),
    "hardsigmoid": lambda x: _open_clip(x / 6.0 + 0.5, 0.0, 1.0),
    "hardswish": lambda x: x * _open_clip(x / 6.0 + 0.5, 0.0, 1.0),
    "clamp_min": lambda x, low: clamp(x, min=low),
    "clamp_max": lambda x, high: clamp(x, max=high),
})

# --- arithmetic ---------------------------------------------------------------------------------------------


@aten("add")
def add(x, y, alpha=1):
    x, y = operands(x, y)
    return ag.add(x, y if alpha == 1 else ag.mul(alpha, y))


@aten("sub", "subtract")
def sub(x, y, alpha=1):
    x, y = operands(x, y)
    return ag.sub(x, y if alpha == 1 else ag.mul(alpha, y))


@aten("div", "divide", "true_divide")
def div(x, y, rounding_mode=None):
    quotient = ag.div(*operands(x, y))
    return quotient if rounding_mode is None else ag.OPS[rounding_mode](quotient)


@aten("lerp")
def lerp(start, end, weight):
    start, end, weight = operands(start, end, weight)
    return start + weight * (end - start)


@aten("addcmul")
def addcmul(x, a, b, value=1):
    x, a, b = operands(x, a, b)
    return x + value * (a * b)


@aten("addcdiv")
def addcdiv(x, a, b, value=1):
    x, a, b = operands(x, a, b)
    return x + value * (a / b)


# --- activations --------------------------------------------------------------------------------------------


@aten("gelu")
def gelu(x, approximate="none"):
    return ag.gelu(x, approximate=approximate)


@aten("leaky_relu")
def leaky_relu(x, negative_slope=0.01):
    return ag.leaky_relu(x, slope=negative_slope)


@aten("prelu", "_prelu_kernel")
def prelu(x, weight):
    if rank_of(weight) == 1 and x.ndim > 2:
        weight = ag.reshape(weight, (-1, *(1,) * (x.ndim - 2)))
    return ag.where(x > 0, x, weight * x)


@aten("softplus")
def softplus(x, beta=1, threshold=20):
    """torch returns x itself above the threshold, where the two agree to the last digits but for 2e-9."""
    scaled = x if beta == 1 else beta * x
    soft = ag.softplus(scaled) if beta == 1 else ag.softplus(scaled) / beta
    return ag.where(scaled > threshold, x, soft) if np.any(scaled.data > threshold) else soft


@aten("elu")
def elu(x, alpha=1.0, scale=1.0, input_scale=1.0):
    """At 0 it has the slope of the part below, as in torch: 1 for elu."""
    above = x > 0
    out = ag.where(above, x, alpha * ag.expm1(input_scale * ag.where(above, 0.0, x)))
    return out if scale == 1.0 else scale * out


def _open_clip(x, low, high):
    """clip, but flat at the two corners themselves, as torch's hardtanh is."""
    return ag.where(x >= high, high, ag.where(x <= low, low, x))


@aten("softshrink")
def softshrink(x, lambd=0.5):
    return ag.where(x > lambd, x - lambd, ag.where(x < -lambd, x + lambd, 0.0))


@aten("hardshrink")
def hardshrink(x, lambd=0.5):
    return ag.where(ag.abs(x) > lambd, x, 0.0)


@aten("glu")
def glu(x, dim=-1):
    a, gate = ag.split(x, 2, axis=dim)
    return a * ag.sigmoid(gate)


def of_truths(op, xs):
    """`mask & other`, of masks; of integers it works on bits."""
    unless(any(np.result_type(x).kind != "b" for x in xs), "bits of integers")
    return op(*xs)


# --- choices ------------------------------------------------------------------------------------------------


@aten("clamp", "clip")
def clamp(x, min=None, max=None):
    if not all(bound is None or isinstance(bound, int | float) for bound in (min, max)):
        unless(not (plain(min) and plain(max)), "limits with a gradient")
        above_low = x if min is None else ag.where(x < min, *operands(min, x))
        return above_low if max is None else ag.where(above_low > max, *operands(max, above_low))
    return ag.clip(x, low=min, high=max)


@aten("where")
def where(condition, x, y):
    x, y = operands(x, y)
    return ag.where(condition, x, y)


@aten("masked_fill")
def masked_fill(x, mask, value):
    x, value = operands(x, value)
    return ag.where(mask, value, x)


# --- losses -------------------------------------------------------------------------------------------------


def reduced(losses, reduction):
    """torch counts its reductions: 0 none, 1 mean, 2 sum."""
    return losses if not reduction else ag.mean(losses) if reduction == 1 else ag.sum(losses)


@aten("mse_loss")
def mse_loss(x, y, reduction=1):
    x, y = operands(x, y)
    return reduced((x - y) ** 2, reduction)


@aten("l1_loss")
def l1_loss(x, y, reduction=1):
    x, y = operands(x, y)
    return reduced(ag.abs(x - y), reduction)


@aten("smooth_l1_loss")
def smooth_l1_loss(x, y, reduction=1, beta=1.0):
    x, y = operands(x, y)
    away = ag.abs(x - y)
    unless(beta == 0, "a smooth loss without a smooth part")
    return reduced(ag.where(away < beta, 0.5 * away**2 / beta, away - 0.5 * beta), reduction)


@aten("huber_loss")
def huber_loss(x, y, reduction=1, delta=1.0):
    x, y = operands(x, y)
    away = ag.abs(x - y)
    return reduced(ag.where(away < delta, 0.5 * away**2, delta * (away - 0.5 * delta)), reduction)


SMALLEST, LOWEST = float(np.float32(1e-12)), -100.0  # torch's bounds of what it divides by, and of a logarithm


def _logs(p, lowest):
    """log(p) and log(1 - p), and `lowest` in place of log(0)."""
    above, below = p > 0, p < 1
    return (ag.where(above, ag.log(ag.where(above, p, 1.0)), lowest),
            ag.where(below, ag.log1p(-ag.where(below, p, 0.0)), lowest))


def _cut_cross_entropy(p, y):
    of_one, of_zero = _logs(p, LOWEST)
    return -(y * ag.maximum(of_one, LOWEST) + (1 - y) * of_zero)


def _slope_in_target(p):
    """torch does not cut the logarithms of this one."""
    of_one, of_zero = _logs(p, -np.inf)
    return of_zero - of_one


cut_cross_entropy = Op(
    "cut_cross_entropy", forward=_cut_cross_entropy,
    vjp=(lambda g, out, p, y: g * (p - y) / ag.maximum(p * (1 - p), SMALLEST),
         lambda g, out, p, y: g * _slope_in_target(p)),
    register=False,
    doc="torch's cross entropy at probabilities that round to 0 or 1, with the gradient that it has there.",
)  # fmt: skip


@aten("binary_cross_entropy")
def binary_cross_entropy(p, y, weight=None, reduction=1):
    p, y = operands(p, y)
    at = p.data if isinstance(p, ag.Value) else p
    cut = np.any(at * (1 - at) < SMALLEST)
    losses = cut_cross_entropy(p, y) if cut else -(y * ag.log(p) + (1 - y) * ag.log1p(-p))
    return reduced(losses if weight is None else losses * weight, reduction)


@aten("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(z, y, weight=None, pos_weight=None, reduction=1):
    z, y = operands(z, y)
    if pos_weight is None:
        losses = ag.softplus(z) - y * z
    else:
        losses = (1 - y) * z + (1 + (pos_weight - 1) * y) * ag.softplus(-z)
    return reduced(losses if weight is None else losses * weight, reduction)


@aten("kl_div")
def kl_div(x, target, reduction=1, log_target=False):
    x, target = operands(x, target)
    if log_target:
        losses = ag.exp(target) * (target - x)
    else:
        losses = ag.xlogy(target, target) - target * x
    return reduced(losses, reduction)
