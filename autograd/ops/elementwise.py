"""Functions of each number on its own."""

import math

import numpy as np

from autograd.about import About, Slip, chosen, dead, saturated
from autograd.arrays.numpy_calls import answers
from autograd.arrays.plain import ndarray
from autograd.errors import ShapeError
from autograd.modes import plain_data
from autograd.op import Op, nothing
from autograd.samples import Sample, samples

from ._axes import plain_number
from ._functions import function
from .arithmetic import NONZERO, equal
from .fused._erf import erf_of

UNARY = samples(".", "3", "2,3", "0,2")
POSITIVE = samples(".", "3", "2,3", low=0.3, high=2.5)
BINARY = samples(". .", "2,3 2,3", "2,3 3", "2,1 1,3", ". 2,3")


BOOL = np.dtype(bool)


def on_numbers(function):
    """NumPy's function of real numbers. It would compute truths in float16; a Value's become float64 (`is_mask`)."""

    def forward(*inputs, **settings):
        if np.result_type(*inputs) is BOOL:
            raise TypeError("real numbers are expected, not truths")
        return function(*inputs, **settings)

    return forward


def by_kind(on_float, on_array):
    """Python's function for floats, which is ten times faster there, and NumPy's for arrays."""
    on_others = on_numbers(on_array)

    def forward(x):
        if x.__class__ is float:
            return on_float(x)
        return on_array(x) if x.__class__ is ndarray and x.dtype is not BOOL else on_others(x)

    return forward


exp = Op("exp", forward=by_kind(math.exp, np.exp),
         vjp=lambda g, out, x: (g * out,),
         c="quick_exp(x)", samples=UNARY, numpy=np.exp, batch="align",
         about=About(rule="exp is its own slope: the gradient times the result.",
                     bad="Keep its input below 700, or use softmax or logsumexp, which subtract the largest first."),
         doc="e to the power x.")

expm1 = Op("expm1", forward=by_kind(math.expm1, np.expm1),
           vjp=lambda g, out, x: (g * (out + 1),),
           definition=lambda x: exp(x) - 1,
           c="expm1(x)",
           samples=UNARY, numpy=np.expm1, batch="align",
           about=About(opens=False), doc="`exp(x) - 1`, with all digits also where x is near 0.")

log = Op("log", forward=by_kind(math.log, np.log),
         vjp=lambda g, out, x: (g / x,),
         c="log(x)", samples=POSITIVE, numpy=np.log, batch="align",
         about=About(rule="log has the slope 1 / x: the smaller x, the larger the gradient.",
                     bad="Keep its input above 0: log(x + 1e-12), or log_softmax instead of log(softmax(x))."),
         doc="The natural logarithm; -inf at 0, NaN below.")


LEAST = math.exp(-100.0)  # losses take the logarithm of nothing smaller, so that 0 costs 100

bounded_log = Op("bounded_log", "log(x)", forward=lambda x: log.compute(np.maximum(x, LEAST)),
                 vjp=lambda g, out, x: (bounded_log_pull(g, x),),
                 definition=lambda x: log(x), lower=lambda x: log(maximum(x, LEAST)),
                 samples=POSITIVE, batch="align",
                 about=About(rule="log has the slope 1 / x: the smaller x, the larger the gradient.", opens=False),
                 doc="The natural logarithm; -100 where it would be less, as at 0.", inner=True)

bounded_log_pull = Op("bounded_log_pull", "d / x",
                      forward=lambda d, x: np.where(x > LEAST, d, 0.0) / np.maximum(x, LEAST),
                      vjp=lambda g, out, d, x: (bounded_log_pull(g, x), -bounded_log_pull(g * out, x)),
                      definition=lambda d, x: d / x, unfolds="graph",
                      lower=lambda d, x: where(x > LEAST, d, 0.0) / maximum(x, LEAST),
                      samples=[Sample("3 3", low=0.3, high=2.5), Sample(". .", low=0.3, high=2.5)], batch="align",
                      doc="What bounded_log sends back: d is the gradient that arrives.", inner=True)


def _xlogy(x, y):
    """x * log(y), and 0 where x is 0, whatever y is."""
    none = np.equal(x, 0)
    return np.where(none, 0.0, x * np.log(np.where(none, 1.0, y)))


LN2, LN10 = math.log(2), math.log(10)

exp2 = Op("exp2", forward=by_kind(lambda x: 2.0**x, np.exp2),
          vjp=lambda g, out, x: (g * out * LN2,), lower=lambda x: 2.0**x,
          samples=UNARY, numpy=np.exp2, batch="align", doc="2 to the power x.")

log2 = Op("log2", forward=by_kind(math.log2, np.log2),
          vjp=lambda g, out, x: (g / (x * LN2),), lower=lambda x: log(x) / LN2,
          samples=POSITIVE, numpy=np.log2, batch="align", doc="The logarithm to the base 2; -inf at 0, NaN below.")

log10 = Op("log10", forward=by_kind(math.log10, np.log10),
           vjp=lambda g, out, x: (g / (x * LN10),), lower=lambda x: log(x) / LN10,
           samples=POSITIVE, numpy=np.log10, batch="align", doc="The logarithm to the base 10; -inf at 0, NaN below.")

xlogy = Op("xlogy", "xlogy(x, y)",
           forward=_xlogy,
           vjp=(lambda g, out, x, y: g * log(y),
                lambda g, out, x, y: g * x / y),
           definition=lambda x, y: x * log(y), unfolds="rules",
           lower=lambda x, y: where(equal(x, 0), 0.0, x * log(where(equal(x, 0), 1.0, y))),
           samples=NONZERO, batch="align",
           about=About(bad="Keep y above 0.", opens=False),
           doc="`x * log(y)`, and 0 where x is 0.")

log1p = Op("log1p", forward=by_kind(math.log1p, np.log1p),
           vjp=lambda g, out, x: (g / (1 + x),),
           definition=lambda x: log(1 + x),
           c="log1p(x)",
           samples=POSITIVE, numpy=np.log1p, batch="align",
           about=About(opens=False), doc="`log(1 + x)`, with all digits also where x is near 0.")

sqrt = Op("sqrt", forward=by_kind(math.sqrt, np.sqrt),
          vjp=lambda g, out, x: (g / (2 * out),),
          c="sqrt(x)", samples=POSITIVE, numpy=np.sqrt, batch="align", look="root",
          about=About(rule="A root has the slope 1 / (2 · result).",
                      bad="At 0 the slope of sqrt is infinite: sqrt(x + 1e-12)."),
          doc="The square root; NaN below 0, and its derivative at 0 is infinite.")

sin = Op("sin", forward=by_kind(math.sin, np.sin),
         vjp=lambda g, out, x: (g * cos(x),),
         c="sin(x)", samples=UNARY, numpy=np.sin, batch="align",
         about=About(rule="sin has the slope cos."),
         doc="The sine of an angle in radians.")

cos = Op("cos", forward=by_kind(math.cos, np.cos),
         vjp=lambda g, out, x: (-g * sin(x),),
         c="cos(x)", samples=UNARY, numpy=np.cos, batch="align",
         about=About(rule="cos has the slope −sin."),
         doc="The cosine of an angle in radians.")

tan = Op("tan", forward=by_kind(math.tan, np.tan),
         vjp=lambda g, out, x: (g * (1 + out**2),),
         definition=lambda x: sin(x) / cos(x), lower=True,
         samples=samples(".", "2,3", low=-1.2, high=1.2), numpy=np.tan, batch="align",
         about=About(opens=False), doc="The tangent of an angle in radians.")

arctan = Op("arctan", forward=by_kind(math.atan, np.arctan),
            vjp=lambda g, out, x: (g / (1 + x**2),),
            c="atan(x)",
            samples=UNARY, numpy=np.arctan, batch="align", doc="The angle, from -π/2 to π/2, whose tangent is x.")

sinh = Op("sinh", forward=by_kind(math.sinh, np.sinh),
          vjp=lambda g, out, x: (g * cosh(x),),
          definition=lambda x: (exp(x) - exp(-x)) / 2,
          lower=lambda x: (expm1(x) - expm1(-x)) / 2,
          samples=UNARY, numpy=np.sinh, batch="align",
          about=About(opens=False), doc="The hyperbolic sine, `(exp(x) - exp(-x)) / 2`.")

cosh = Op("cosh", forward=by_kind(math.cosh, np.cosh),
          vjp=lambda g, out, x: (g * sinh(x),),
          definition=lambda x: (exp(x) + exp(-x)) / 2, lower=True,
          samples=UNARY, numpy=np.cosh, batch="align",
          about=About(opens=False), doc="The hyperbolic cosine, `(exp(x) + exp(-x)) / 2`.")

tanh = Op("tanh", forward=by_kind(math.tanh, np.tanh),
          vjp=lambda g, out, x: (g * (1 - out**2),),
          definition=lambda x: (exp(x) - exp(-x)) / (exp(x) + exp(-x)),
          c="quick_tanh(x)", samples=UNARY, numpy=np.tanh, batch="align",
          about=About(rule="tanh has the slope 1 − result²: 1 near zero, almost 0 far from it.",
                      small=saturated("1 − out²", "near ±1"), opens=False),
          doc="The hyperbolic tangent, `sinh(x) / cosh(x)`: any number, squashed into -1 to 1.")


def _sigmoid(x):
    """1 / (1 + exp(-x)), without overflow: only exp of a negative number is taken."""
    small = exp.compute(-abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small) if isinstance(x, np.ndarray) else (
        (1.0 if x >= 0 else small) / (1.0 + small))


sigmoid = Op("sigmoid", forward=_sigmoid,
             vjp=lambda g, out, x: (g * out * (1 - out),),
             definition=lambda x: 1 / (1 + exp(-x)),
             lower=lambda x: where(x >= 0, 1.0, exp(-abs_(x))) / (1.0 + exp(-abs_(x))),
             samples=UNARY, batch="align",
             about=About(rule="sigmoid has the slope result · (1 − result), at most a quarter.",
                         small=saturated("out (1 − out)", "near 0 or 1"), opens=False),
             doc="`1 / (1 + exp(-x))`, without overflow: any number, squashed into 0 to 1.")

on_logaddexp = on_numbers(np.logaddexp)

softplus = Op("softplus", forward=lambda x: on_logaddexp(x, x.dtype.type(0) if isinstance(x, np.ndarray) else 0.0),
              vjp=lambda g, out, x: (g * sigmoid(x),),
              definition=lambda x: log(1 + exp(x)),
              lower=lambda x: maximum(x, 0.0) + log1p(exp(-abs_(x))),
              samples=UNARY, batch="align", doc="`log(1 + exp(x))`, without overflow.")


def _logaddexp_lowered(x, y):
    """The larger, and what the other adds to it; equals apart, since inf - inf is NaN."""
    return where(equal(x, y), x + LN2, maximum(x, y) + log1p(exp(-abs_(x - y))))


logaddexp = Op("logaddexp", forward=on_logaddexp,
               vjp=lambda g, out, x, y: (g * sigmoid(x - y), g * sigmoid(y - x)),
               definition=lambda x, y: log(exp(x) + exp(y)), lower=_logaddexp_lowered,
               samples=BINARY, numpy=np.logaddexp, batch="align", doc="`log(exp(x) + exp(y))`, without overflow.")


@answers(np.logaddexp2)
def _logaddexp2(x, y):
    return logaddexp(x * LN2, y * LN2) * (1 / LN2)


silu = Op("silu", forward=lambda x: x * _sigmoid(x),
          vjp=lambda g, out, x: (g * sigmoid(x) * (1 + x * (1 - sigmoid(x))),),  # nothing cancels, at 1e17 neither
          definition=lambda x: x * sigmoid(x), lower=True,
          samples=UNARY, batch="align", about=About(opens=False), doc="`x * sigmoid(x)`, also called swish.")

relu = Op("relu", forward=lambda x: (0.0 if x <= 0 else x) if x.__class__ is float else np.maximum(x, 0.0),
          vjp=lambda g, out, x: (g * (x > 0),),
          lower=lambda x: maximum(x, 0.0),
          samples=UNARY, batch="align",
          about=About(rule="relu passes the gradient where its input is above 0, and stops it elsewhere.",
                      small=dead, slips=(
                          Slip("relu's mask taken from the gradient",
                               "Whether the gradient passes is decided by the input's sign.",
                               lambda g, out, x: g * (g > 0)),)),
          doc="`max(x, 0)`; its derivative at 0 is 0.")

leaky_relu = Op("leaky_relu", "leaky_relu(x, slope=slope)",
                normalize=lambda x, slope=0.01: ((x,), {"slope": plain_number("leaky_relu", "slope", slope)}),
                forward=lambda x, *, slope: where.compute(x > 0, x, slope * x),
                vjp=lambda g, out, x, *, slope: (g * where(x > 0, 1.0, slope),),
                definition=lambda x, slope=0.01: where(x > 0, x, slope * x), lower=True,
                samples=(*UNARY, *samples("2,3", slope=0.3)), batch="align",
                about=About(opens=False), doc="x above 0, `slope * x` below.")

erf = Op("erf", forward=erf_of,
         vjp=lambda g, out, x: (g * (2 / math.sqrt(math.pi)) * exp(-(x**2)),),
         written="def erf(x):\n    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(np.asarray(x).dtype)",
         c="erf(x)", samples=UNARY, batch="align", doc="The error function, `2/√π ∫ exp(-t²) dt` from 0 to x.")

# --- kinks: where a derivative jumps, the rule takes a side or the middle -----------------------------------

sign = Op("sign", forward=lambda x: float((x > 0) - (x < 0)) if x.__class__ is float and x == x else np.sign(x),
          vjp=nothing,
          c="x > 0 ? 1 : x < 0 ? -1 : x",
          samples=UNARY, numpy=np.sign, batch="align", doc="1 above 0, -1 below, 0 at 0; no gradient flows.")

abs_ = Op("abs", forward=abs,
          vjp=lambda g, out, x: (g * sign(x),),
          c="fabs(x)", samples=UNARY, numpy=(np.abs, np.fabs), batch="align", look="bars",
          about=About(rule="The absolute value passes the gradient with the sign of its input."),
          doc="`|x|`; its derivative at 0 is 0.")

maximum = Op("maximum", forward=np.maximum,
             vjp=lambda g, out, x, y: (g * ((x > y) + 0.5 * equal(x, y)), g * ((y > x) + 0.5 * equal(x, y))),
             c="(x > y) | (x != x) ? x : y", samples=BINARY, numpy=np.maximum, batch="align", look="max",
             about=About(rule="The larger of the two gets the gradient; the other gets nothing.",
                         small=chosen),
             doc="The larger of two; equals share the gradient.")

minimum = Op("minimum", forward=np.minimum,
             vjp=lambda g, out, x, y: (g * ((x < y) + 0.5 * equal(x, y)), g * ((y < x) + 0.5 * equal(x, y))),
             c="(x < y) | (x != x) ? x : y", samples=BINARY, numpy=np.minimum, batch="align", look="min",
             about=About(rule="The smaller of the two gets the gradient; the other gets nothing.",
                         small=chosen),
             doc="The smaller of two; equals share the gradient.")

fmax = Op("fmax", forward=np.fmax,
          vjp=lambda g, out, x, y: (g * equal(x, out) * (1 - 0.5 * equal(x, y)),
                                    g * equal(y, out) * (1 - 0.5 * equal(x, y))),
          lower=lambda x, y: where(equal(x, x), where(equal(y, y), maximum(x, y), x), y),
          samples=BINARY, numpy=np.fmax, batch="align",
          doc="The larger of two, the other one where one is NaN; equals share the gradient.")

fmin = Op("fmin", forward=np.fmin,
          vjp=lambda g, out, x, y: (g * equal(x, out) * (1 - 0.5 * equal(x, y)),
                                    g * equal(y, out) * (1 - 0.5 * equal(x, y))),
          lower=lambda x, y: where(equal(x, x), where(equal(y, y), minimum(x, y), x), y),
          samples=BINARY, numpy=np.fmin, batch="align",
          doc="The smaller of two, the other one where one is NaN; equals share the gradient.")


def _where(condition, x, y):
    if condition.__class__ is bool and x.__class__ is float and y.__class__ is float:
        return x if condition else y
    return np.where(condition, x, y)  # in the dtype of both, also where it takes the one that has none of its own


_MASK = np.array([[True, False, True], [False, True, True]])

where = Op("where", forward=_where,
           vjp=lambda g, out, condition, x, y: (None, where(condition, g, 0.0), where(condition, 0.0, g)),
           c="condition ? x : y",
           samples=[Sample(_MASK, "2,3 2,3"), Sample(_MASK, "2,3 ."), Sample(_MASK[0], ". 2,3"), Sample(True, ". .")],
           batch="align",
           about=About(rule="Each entry's gradient goes to the side it was taken from.",
                       small="where took the other branch there, so nothing flows to this one."),
           doc="x where the condition holds, else y. It selects: what is not selected cannot leak a NaN.")


@answers(np.where)
def _numpy_where(condition, x=None, y=None):
    if x is None and y is None:  # the places where the condition holds
        return np.nonzero(plain_data(condition, "np.nonzero"))
    if x is None or y is None:
        raise ValueError("np.where: give both x and y, or neither for the places where the condition holds")
    return where(condition, x, y)


clip_ = Op("clip", "clip(x, low=low, high=high)",
           normalize=lambda x, low=None, high=None: ((x,), {
               "low": -math.inf if low is None else plain_number("clip", "low", low),
               "high": math.inf if high is None else plain_number("clip", "high", high)}),
           forward=lambda x, *, low, high: np.clip(x, low, high),
           vjp=lambda g, out, x, *, low, high: (g * (x >= low) * (x <= high),),
           definition=lambda x, low=-math.inf, high=math.inf: minimum(maximum(x, low), high), lower=True,
           samples=[Sample(".", settings={"low": -1, "high": 1}), Sample("3,4", settings={"low": -1}),
                    Sample("3,4", settings={"low": -0.5, "high": 0.7})],
           batch="align",
           about=About(opens=False),
           doc="x, but no less than `low` and no more than `high`; outside, no gradient flows.")


@function(method=True)
def clip(x, low=None, high=None, *, min=None, max=None):
    """x, but no less than `low` and no more than `high`, which may be arrays or Values: then they get gradients too.

    `min` and `max` are NumPy's words for the two.

    >>> clip(np.array([-3.0, 0.5, 3.0]), -1, np.array([1.0, 0.0, 2.0])).tolist()
    [-1.0, 0.0, 2.0]
    """
    if (low is not None and min is not None) or (high is not None and max is not None):
        raise ValueError("clip: give each bound once: clip(x, low, high) or clip(x, min=..., max=...)")
    low, high = (min if low is None else low), (max if high is None else high)
    if all(bound is None or (np.ndim(bound) == 0 and not hasattr(bound, "__apply__")) for bound in (low, high)):
        return clip_(x, low, high)
    x = x if low is None else where(x < low, low, x)
    return x if high is None else where(x > high, high, x)


@answers(np.clip)
def _numpy_clip(a, a_min=None, a_max=None, min=None, max=None):
    return clip(a, a_min, a_max, min=min, max=max)


# --- selecting ----------------------------------------------------------------------------------------------


@function(np.select)
def select(conditions, choices, default=0.0):
    """For each place the first of the choices whose condition holds there, else the default.

    >>> x = np.array([-2.0, 0.5, 3.0])
    >>> select([x < 0, x > 1], [-x, x**2], default=1.0).tolist()
    [2.0, 1.0, 9.0]
    """
    if len(conditions) != len(choices):
        raise ShapeError(f"select: one choice for each condition; got {len(conditions)} conditions and {len(choices)} "
                         "choices")
    out = default
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        out = where(condition, choice, out)
    return out



def _nan_to_num_lowered(x, nan, posinf, neginf):
    if x.dtype.kind != "f":
        return x
    limits = np.finfo(x.dtype)
    out = where(equal(x, math.inf), float(limits.max) if posinf is None else posinf, x)
    out = where(equal(x, -math.inf), float(limits.min) if neginf is None else neginf, out)
    return where(equal(x, x), out, nan)


nan_to_num = Op("nan_to_num", "nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)",
                normalize=lambda x, nan=0.0, posinf=None, neginf=None: ((x,), {
                    "nan": plain_number("nan_to_num", "nan", nan),
                    "posinf": posinf if posinf is None else plain_number("nan_to_num", "posinf", posinf),
                    "neginf": neginf if neginf is None else plain_number("nan_to_num", "neginf", neginf)}),
                forward=lambda x, *, nan, posinf, neginf: np.nan_to_num(x, True, nan, posinf, neginf),
                vjp=lambda g, out, x, *, nan, posinf, neginf: (where(equal(x, out), g, 0.0),),
                lower=_nan_to_num_lowered,
                samples=[Sample("."), Sample("2,3"), Sample("3", nan=1.0, posinf=2.0)], numpy=np.nan_to_num,
                batch="align", doc="x with numbers in place of NaN and infinities, to which no gradient flows.")
