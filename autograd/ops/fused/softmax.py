"""Softmax, its logarithm, and the losses made of them: stabler and faster as one node than as their parts."""

import numpy as np

from autograd.about import About, Slip, other_factor, probabilities
from autograd.arrays.plain import as_array
from autograd.errors import DataError, ShapeError
from autograd.modes import plain_data
from autograd.op import Op, let, nothing, rank_of, shape_of
from autograd.samples import Sample

from .._axes import negative_axes
from ..arithmetic import equal, not_equal
from ..elementwise import exp, log, log1p, maximum, where
from ..indexing.rows import as_value, is_whole, within
from ..matrices.linear import flat, matmul, outer, product
from ..reduce import REDUCED, check_not_empty, max_, mean, reduction, spread, sum_
from ..shape import astype, expand_dims, squeeze, sum_to
from ._rows import are_small, column_sums, limits, row_tops, row_totals, tall

ROWS = [Sample("3"), Sample("2,3"), Sample("2,3", axis=0), Sample("2,2,3"), Sample("2,3,2", axis=(0, 2))]


def inner(op, *inputs, **settings):
    """An op within a rule: on arrays straight to its forward function, settings being regular already."""
    return op.forward(*inputs, **settings) if inputs[0].__class__ is np.ndarray else op(*inputs, **settings)


# --- softmax ------------------------------------------------------------------------------------------------


def along(who):
    """The arguments of softmax, log_softmax and logsumexp; the axis is the last one by default."""
    return lambda x, axis=-1: ((x,), {"axis": negative_axes(who, x, axis)})


def _softmax(x, *, axis):
    x = np.asarray(x)
    rows = axis == (-1,) and x.ndim > 1
    if are_small(x):
        out = np.exp(x)
        total = row_totals(out) if rows else np.add.reduce(out, axis=axis, keepdims=True)
    else:
        # The two limits change nothing in an ordinary row, and make a row of -inf (all masked) zeros, not NaN.
        least, tiny = limits(x.dtype)
        top = row_tops(x, least) if rows else np.maximum.reduce(x, axis=axis, keepdims=True, initial=least)
        out = np.asarray(x - top)
        np.exp(out, out=out)
        total = row_totals(out) if rows else np.add.reduce(out, axis=axis, keepdims=True)
        total += tiny
    out /= total
    return out


def _softmax_defined(x, axis=-1):
    """By hand: subtract the largest, take exponentials, divide by their sum."""
    m = let("m", max_(x, axis=axis, keepdims=True), "largest")
    e = let("e", exp(x - m))
    z = let("z", sum_(e, axis=axis, keepdims=True), "sum of the row")
    return e / z


def _softmax_lowered(x, axis):
    least, tiny = limits(x.dtype)
    exponentials = exp(x - maximum(max_(x, axis=axis, keepdims=True), least.item())) if np.size(x) else x
    return exponentials / (sum_(exponentials, axis=axis, keepdims=True) + tiny.item())


softmax = Op("softmax", "softmax(x, axis=axis)", normalize=along("softmax"),
             forward=_softmax,
             vjp=lambda g, out, x, *, axis: (softmax_pull(g, out, axis=axis),),
             definition=_softmax_defined, lower=_softmax_lowered,
             samples=ROWS, batch="align",
             about=About(rule="Probabilities share one total: each entry gets its own gradient minus the row's "
                              "average gradient, times its probability.",
                         derived=("p_j = exp(x_j) / Σ_k exp(x_k), so ∂p_j/∂x_i = p_j ([i = j] − p_i), [i = j] 1 or 0.",
                                  "∂L/∂x_i = Σ_j g_j ∂p_j/∂x_i = g_i p_i − Σ_j g_j p_j p_i",
                                  "= p_i (g_i − Σ_j g_j p_j)"),
                         small=probabilities, total=1.0, slope_total=0.0, slips=(
                             Slip("softmax's diagonal only",
                                  "Every probability depends on every score: the others' gradients come in through the "
                                  "sum of g · p.",
                                  lambda g, out, x, axis: g * out * (1 - out)),
                             Slip("softmax's own gradient left out",
                                  "Each entry gets its own gradient minus the row's average. Under −log P[target] that "
                                  "is P − 1 at the target, and P elsewhere.",
                                  lambda g, out, x, axis: -out * _dot_along(g, out, axis)))),
             doc="exp(x) / sum(exp(x)) along an axis, without overflow; a row of -inf gives zeros.")


def _softmax_pull(d, p, *, axis):
    out = d * p
    out -= p * (row_totals(out) if axis == (-1,) and out.ndim > 1 else np.add.reduce(out, axis=axis, keepdims=True))
    return out


def _dot_along(a, b, axis):
    return sum_(a * b, axis=axis, keepdims=True)


def _softmax_pull_defined(d, p, axis=-1):
    dot = let("dot", _dot_along(d, p, axis), "one number a row")
    u = let("u", d - dot)
    return p * u


softmax_pull = Op("softmax_pull", "softmax_pull(d, p, axis=axis)",
                  normalize=lambda d, p, axis=-1: ((d, p), {"axis": negative_axes("softmax_pull", p, axis)}),
                  forward=_softmax_pull,
                  vjp=lambda g, out, d, p, *, axis: (
                      softmax_pull(g, p, axis=axis),
                      g * (d - _dot_along(d, p, axis)) - d * _dot_along(g, p, axis)),
                  definition=_softmax_pull_defined, unfolds="graph",
                  lower=lambda d, p, axis: d * p - p * _dot_along(d, p, axis),
                  samples=[Sample("2,3 2,3"), Sample("2,3 2,3", axis=0)], batch="align",
                  doc="What softmax sends back: d is the gradient that arrives, p the probabilities.", inner=True)


def _log_softmax(x, *, axis):
    if not np.size(x):
        return np.array(x)
    out = x - np.maximum.reduce(x, axis=axis, keepdims=True)
    out -= np.log(np.add.reduce(np.exp(out), axis=axis, keepdims=True))
    return out


def _log_softmax_lowered(x, axis):
    if not np.size(x):
        return x * 1.0
    shifted = x - max_(x, axis=axis, keepdims=True)
    return shifted - log(sum_(exp(shifted), axis=axis, keepdims=True))


log_softmax = Op("log_softmax", "log_softmax(x, axis=axis)", normalize=along("log_softmax"),
                 forward=_log_softmax,
                 vjp=lambda g, out, x, *, axis: (g - exp(out) * sum_(g, axis=axis, keepdims=True),),
                 definition=lambda x, axis=-1: log(_softmax_defined(x, axis)), lower=_log_softmax_lowered,
                 samples=ROWS, batch="align",
                 about=About(rule="Each entry gets its gradient minus its probability's share of the row's total.",
                             derived=("y_j = x_j − log Σ_k exp(x_k), and the logarithm has the slope p = softmax(x).",
                                      "So ∂y_j/∂x_i is 1 − p_i if i = j, else −p_i.",
                                      "∂L/∂x_i = Σ_j g_j ∂y_j/∂x_i = g_i − p_i Σ_j g_j"),
                             small=probabilities, slope_total=0.0),
                 doc="log(softmax(x)), without overflow or loss of digits.")


@np.errstate(divide="ignore", invalid="ignore")  # a row of -inf: log 0 is the right answer
def _logsumexp(x, *, axis, keepdims):
    check_not_empty("logsumexp", x, axis)
    top = np.maximum.reduce(x, axis=axis, keepdims=True, initial=limits(getattr(x, "dtype", np.dtype(float)))[0])
    largest = x == top
    # The largest are counted, not summed: beside their 1 what the others add would lose its last digits.
    others = np.add.reduce(np.where(largest, 0.0, np.exp(x - top)), axis=axis, keepdims=True, dtype=top.dtype)
    out = np.log1p(others + (np.add.reduce(largest, axis=axis, keepdims=True, dtype=top.dtype) - 1)) + top
    return out if keepdims else np.squeeze(out, axis)


def _logsumexp_lowered(x, axis, keepdims):
    top = maximum(max_(x, axis=axis, keepdims=True), limits(x.dtype)[0].item())
    largest = equal(x, top)
    others = sum_(where(largest, 0.0, exp(x - top)), axis=axis, keepdims=True)
    ones = where(largest, np.ones((), x.dtype)[()], 0.0)
    out = log1p(others + (sum_(ones, axis=axis, keepdims=True) - 1.0)) + top
    return out if keepdims else squeeze(out, axis)


logsumexp = Op("logsumexp", "logsumexp(x, axis=axis, keepdims=keepdims)", normalize=reduction("logsumexp"),
               forward=_logsumexp,
               vjp=lambda g, out, x, *, axis, keepdims: (spread(g, x, axis, keepdims) * softmax(x, axis=axis),),
               definition=lambda x, axis=None, keepdims=False: log(sum_(exp(x), axis, keepdims)),
               lower=_logsumexp_lowered,
               samples=REDUCED, batch="align",
               about=About(rule="Each entry gets its softmax share of the gradient."),
               doc="`log(sum(exp(x)))`, without overflow.")

# --- linear -------------------------------------------------------------------------------------------------


def summed(g, vector):
    """The gradient of a vector that was added to (or multiplied with) every row: the sum of the rows."""
    if g.__class__ is not np.ndarray:
        return sum_to(g, shape_of(vector)) if rank_of(g) > rank_of(vector) else g
    return column_sums(tall(g))


def _linear(x, weight, bias):
    if weight.ndim != 2 or (bias is not None and bias.shape != weight.shape[1:]):
        raise _unfit(weight, bias)
    out = x.dot(weight) if x.ndim == 2 else matmul.forward(x, weight)
    if bias is not None:
        out += bias
    return out


def _unfit(weight, bias):
    if weight.ndim != 2:
        return ShapeError(f"linear: weight is a matrix (in, out); got shape {weight.shape}")
    return ShapeError(f"linear: weight of shape {weight.shape} needs a bias of shape {weight.shape[1:]}; "
                      f"got {shape_of(bias)}")


def _linear_dx(g, out, x, weight, bias):
    if g.__class__ is np.ndarray and g.ndim == 2:
        return g.dot(weight.T)
    return product(g, weight.mT)


def _linear_dweight(g, out, x, weight, bias):
    if g.__class__ is np.ndarray and g.ndim > 1:
        return x.T.dot(g) if g.ndim == 2 else product(tall(x).T, tall(g))
    return outer(x, g) if rank_of(x) == 1 else product(flat(x).mT, flat(g))


def _linear_dbias(g, out, x, weight, bias):
    if g.__class__ is np.ndarray and g.ndim == 2:
        return column_sums(g)
    return None if bias is None else summed(g, bias)


linear = Op("linear", "linear(x, weight, bias)", normalize=lambda x, weight, bias=None: ((x, weight, bias), {}),
            forward=_linear,
            vjp=(_linear_dx, _linear_dweight, _linear_dbias),
            definition=lambda x, weight, bias=None: x @ weight if bias is None else x @ weight + bias, lower=True,
            look="x @ weight + bias",
            samples=[Sample("2,3 3,4 4"), Sample("3 3,4 4"), Sample("5,2,3 3,4 4"), Sample("2,3 3,4", None)],
            batch=lambda op, n, x, weight, bias: None if weight.ndim > 3 else np.matmul(
                x.reshape(n, -1, x.shape[-1]), weight).reshape(*x.shape[:-1], -1) + (
                0.0 if bias is None else bias.reshape(n, *(1,) * (x.ndim - 2), -1)),
            about=About(rule="A linear layer sends the gradient back through its weights, and to the weights what "
                             "came in times it.",
                        small=other_factor, opens=False),
            doc="`x @ weight + bias`: weight is (in, out).")

# --- cross entropy ------------------------------------------------------------------------------------------


def _normalize_cross_entropy(logits, targets, reduction="mean", ignore_index=None, label_smoothing=0.0):
    given = as_value(as_array(targets))
    targets = np.asarray(given._data if is_whole(given) else plain_data(given, "np.asarray(v)"))
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'cross_entropy: reduction is "mean", "sum" or "none"; got {reduction!r}')
    if targets.dtype.kind == "f" and np.all(targets == np.floor(targets)) and np.isfinite(targets).all():
        targets = targets.astype(int)
    if targets.dtype.kind not in "iu":
        raise DataError(f"cross_entropy: targets are integers (class indices); got {targets.dtype}")
    if rank_of(logits) < 1 or targets.shape != shape_of(logits)[:-1]:
        raise ShapeError(f"cross_entropy: logits of shape {shape_of(logits)} need targets of shape "
                         f"{shape_of(logits)[:-1]}; got {targets.shape}")
    classes = shape_of(logits)[-1]
    counted = targets if ignore_index is None else targets[targets != ignore_index]
    if counted.size and (counted.min() < 0 or counted.max() >= classes):
        raise ShapeError(f"cross_entropy: targets run from {counted.min()} to {counted.max()}, but there are {classes} "
                         f"classes (0 to {classes - 1})")
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"cross_entropy: label_smoothing is between 0 and 1; got {label_smoothing!r}")
    settings = {"reduction": reduction, "ignore_index": ignore_index, "label_smoothing": float(label_smoothing)}
    return (logits, given if is_whole(given) else targets), settings


def _places(targets, ignore_index):
    """The target of each row; of one that is ignored, some place that exists."""
    return targets if ignore_index is None else np.where(targets == ignore_index, 0, targets)


def _one_hot(targets, *, classes, ignore_index, label_smoothing, dtype="float64"):
    rest = label_smoothing / classes
    goal = np.full((*targets.shape, classes), rest, dtype)
    np.put_along_axis(goal, _places(targets, ignore_index)[..., None], 1.0 - label_smoothing + rest, -1)
    return goal


one_hot = Op("one_hot", "one_hot(targets, classes=classes, ignore_index=ignore_index, label_smoothing=label_smoothing)",
             normalize=lambda targets, classes, ignore_index=None, label_smoothing=0.0, dtype="float64": ((targets,), {
                 "classes": int(classes), "ignore_index": ignore_index, "label_smoothing": float(label_smoothing),
                 "dtype": np.dtype(dtype).name}),
             forward=_one_hot, vjp=nothing,
             lower=lambda *targets, **settings: _one_hot_lowered(*targets, **settings),
             samples=[Sample(np.array([2, 0]), classes=3)],
             doc="A row for each target: 1 at its place, 0 elsewhere; softened if asked.")


of_target = Op("of_target", "p[targets]", normalize=lambda p, targets: ((p, targets), {}),
               forward=lambda p, targets: np.take_along_axis(p, np.asarray(targets)[..., None], -1)[..., 0],
               vjp=lambda g, out, p, targets: (
                   one_hot(targets, shape_of(p)[-1]) * (expand_dims(g, -1) if rank_of(g) else g), None),
               lower=lambda p, targets: sum_(where(_is_target(targets, shape_of(p)[-1], None), p, 0.0), axis=-1),
               samples=[Sample("2,3", np.array([2, 0]))],
               doc="Of each row the entry that its target names.", inner=True)


def shares(targets, reduction, ignore_index):
    """The weight of each row in the loss: 1, or 0 where ignored; for a mean, over their number."""
    if ignore_index is None:
        return 1.0 if reduction != "mean" else 1.0 / max(np.size(targets), 1)
    counted = not_equal(targets, ignore_index) * 1.0
    return counted / maximum(sum_(counted), 1.0) if reduction == "mean" else counted


def _reduced(losses, targets, reduction, ignore_index):
    if ignore_index is not None:  # selected, not multiplied: 0 * inf would be NaN
        losses = where(not_equal(targets, ignore_index), losses, 0.0)
    losses = losses * shares(targets, reduction, ignore_index)
    return losses if reduction == "none" else sum_(losses)


def _cross_entropy(logits, targets, *, reduction, ignore_index, label_smoothing):
    logs = _log_softmax(logits, axis=(-1,))
    if label_smoothing:
        goal = _one_hot(targets, classes=logits.shape[-1], ignore_index=ignore_index, label_smoothing=label_smoothing)
        losses = -np.add.reduce(goal.astype(logs.dtype) * logs, axis=-1)
    else:
        losses = -np.take_along_axis(logs, _places(targets, ignore_index)[..., None], -1)[..., 0]
    losses = _reduced(losses, targets, reduction, ignore_index)
    return losses.astype(logits.dtype) if isinstance(losses, np.ndarray) else logits.dtype.type(losses)


def _cross_entropy_vjp(g, out, logits, targets, *, reduction, ignore_index, label_smoothing):
    """Each row sends (what it said) - (what was true), times its share of the loss."""
    weight = g * shares(targets, reduction, ignore_index)
    weight = expand_dims(weight, -1) if rank_of(weight) else weight
    if logits.__class__ is np.ndarray and not label_smoothing:
        sent = np.ascontiguousarray(_softmax(logits, axis=(-1,)))  # so that its rows are a view
        rows = tall(sent)
        rows[np.arange(len(rows)), _places(targets, ignore_index).ravel()] -= 1.0
        sent *= weight
        return sent, None
    said = let("p", softmax(logits), "what the model said")
    goal = one_hot(targets, shape_of(logits)[-1], ignore_index, label_smoothing, logits.dtype)
    return (said - let("y", goal, "what was true")) * weight, None


def _cross_entropy_defined(logits, targets, reduction="mean", ignore_index=None, label_smoothing=0.0):
    if ignore_index is None and not label_smoothing:
        said = let("p", softmax(logits), "what the model said")
        losses = -log(let("t", of_target(said, targets), "of the right answers" if rank_of(logits) > 1 else ""))
        return losses if reduction == "none" or not rank_of(losses) else (sum_ if reduction == "sum" else mean)(losses)
    logs = let("l", log_softmax(logits), "logarithms of the probabilities")
    goal = let("y", one_hot(targets, shape_of(logits)[-1], ignore_index, label_smoothing), "what was true")
    return _reduced(-sum_(goal * logs, axis=-1), targets, reduction, ignore_index)


def _is_target(targets, classes, ignore_index):
    """True at the class that each row's target names; of a row that is ignored, somewhere."""
    targets = within(targets, 0, classes - 1, ignore_index)
    if ignore_index is not None:
        targets = where(equal(targets, ignore_index), 0, targets)
    return equal(expand_dims(targets, -1), np.arange(classes))


def _one_hot_lowered(targets, classes, ignore_index, label_smoothing, dtype):
    rest = label_smoothing / classes
    one, zero = (np.array(x, dtype)[()] for x in (1.0 - label_smoothing + rest, rest))
    return where(_is_target(targets, classes, ignore_index), one, zero)


def _cross_entropy_lowered(logits, targets, reduction, ignore_index, label_smoothing):
    logs, classes = log_softmax(logits), shape_of(logits)[-1]
    if label_smoothing:
        goal = one_hot(targets, classes, ignore_index, label_smoothing, logits.dtype)
        losses = -sum_(goal * logs, axis=-1)
    else:  # selected, not multiplied: 0 * inf would be NaN
        losses = -sum_(where(_is_target(targets, classes, ignore_index), logs, 0.0), axis=-1)
    loss = _reduced(losses, targets, reduction, ignore_index)
    return loss if loss.dtype == logits.dtype else astype(loss, logits.dtype)


_TARGETS = np.array([2, 0])

cross_entropy = Op("cross_entropy", "cross_entropy(logits, targets, reduction=reduction, ignore_index=ignore_index, "
                   "label_smoothing=label_smoothing)", normalize=_normalize_cross_entropy,
                   forward=_cross_entropy,
                   vjp=_cross_entropy_vjp,
                   definition=_cross_entropy_defined, lower=_cross_entropy_lowered,
                   samples=[Sample("2,3", _TARGETS), Sample("2,3", _TARGETS, reduction="sum"),
                            Sample("2,3", _TARGETS, reduction="none"), Sample("3", np.array(1)),
                            Sample("2,3", _TARGETS, ignore_index=0), Sample("2,3", _TARGETS, label_smoothing=0.2),
                            Sample("2,3", _TARGETS, reduction="sum", ignore_index=0)], loss=True,
                   about=About(rule="What the model said minus what was true: the probability, less 1 at the target.",
                               derived=("A row's loss is −log P_t = log Σ_k exp(x_k) − x_t, where t is its target.",
                                        "Its slope in x_i: exp(x_i) / Σ_k exp(x_k), which is P_i, less 1 if i = t.",
                                        "That is P − onehot(t); a mean of N rows divides it by N."),
                               slope_total=0.0),
                   doc="-log of the probability that softmax(logits) gives to the target class, averaged or summed.")
