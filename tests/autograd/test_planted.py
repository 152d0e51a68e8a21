"""The suite can fail: wrong rules of every kind are planted, and the generated tests and the check reject each."""

import numpy as np
import pytest

import autograd as ag
from autograd import OPS, check_grads
from autograd.ops.reduce import spread
from tests.autograd.judges import judge_first_order


def zero(x):
    return x * 0.0


def spoiled(name, spoil):
    """The op's own rule, with its gradients passed through `spoil`."""
    rule = OPS[name].vjp

    def planted(g, out, *inputs, **settings):
        right = (
            tuple(r and r(g, out, *inputs, **settings) for r in rule)
            if isinstance(rule, tuple)
            else rule(g, out, *inputs, **settings)
        )
        return spoil(g, out, inputs, right)

    return planted


def _mean_of_rows(gradient, out, bias):
    """The gradient of a bias as a mean over the rows in place of the sum."""
    return None if bias is None else gradient / max(np.size(out) // np.size(bias), 1)


# What is wrong, with which op, and the rule that is wrong in that way.
WRONG = {
    "lost path: x, of a product": ("mul", lambda g, out, x, y: (None, g * x)),
    "lost path: through the base of a power": ("power", (None, lambda g, out, x, y: g * out * ag.log(x))),
    "lost path: a scale left out": ("layer_norm", spoiled("layer_norm", lambda g, out, xs, d: (d[0], None, d[2]))),
    "double count: of a sum": ("add", lambda g, out, x, y: (2 * g, 2 * g)),
    "double count: one of the inputs": ("maximum", lambda g, out, x, y: (g * (x > y), 2 * g * (y > x))),
    "sign: of a difference": ("sub", lambda g, out, x, y: (g, g)),
    "sign: of cosine": ("cos", lambda g, out, x: (g * ag.sin(x),)),
    "sign: of a quotient": ("div", (lambda g, out, x, y: g / y, lambda g, out, x, y: g * out / y)),
    "missing broadcast sum: the mean in its place": (
        "add",
        lambda g, out, x, y: (g, g / (np.size(out) // max(np.size(y), 1) or 1)),
    ),
    "missing broadcast sum: one row for all": (
        "broadcast_to",
        lambda g, out, x, *, shape: (ag.OPS["sum_to"](zero(g), np.shape(x)) + ag.reshape(g, (-1,))[0],),
    ),
    "missing sum: over the batch of a bias": (
        "linear",
        spoiled("linear", lambda g, out, xs, d: (*d[:2], _mean_of_rows(d[2], out, xs[2]))),
    ),
    "transpose: of a matrix product": (
        "matmul",
        spoiled("matmul", lambda g, out, xs, d: (d[0], ag.reshape(ag.transpose(d[1]), np.shape(d[1])))),
    ),
    "transpose: of the result instead": ("transpose", lambda g, out, x, *, axes: (ag.reshape(g, np.shape(x)),)),
    "transpose: inverse of a permutation": (
        "moveaxis",
        lambda g, out, x, *, source, destination: (ag.reshape(ag.moveaxis(g, source, destination), np.shape(x)),),
    ),
    "softmax: only the diagonal": ("softmax", lambda g, out, x, *, axis: (g * out * (1 - out),)),
    "softmax: without its factor": (
        "softmax",
        lambda g, out, x, *, axis: (g - ag.sum(g * out, axis=axis, keepdims=True),),
    ),
    "log_softmax: as if it had no sum": ("log_softmax", lambda g, out, x, *, axis: (g,)),
    "layer norm: the mean's own gradient missing": (
        "norm_pull",
        lambda g, out, h, rows, scale, *, centre: (g * scale, None, None),
    ),
    "layer norm: only scaled": (
        "layer_norm",
        spoiled("layer_norm", lambda g, out, xs, d: (g * xs[1], *d[1:])),
    ),
    "mean: without 1/n": ("mean", lambda g, out, x, *, axis, keepdims: (spread(g, x, axis, keepdims),)),
    "var: the factor 2 forgotten": (
        "var",
        spoiled("var", lambda g, out, xs, d: (0.5 * d[0],)),
    ),
    "max: all get the gradient": ("max", lambda g, out, x, *, axis, keepdims: (spread(g, x, axis, keepdims),)),
    "relu: as if it were linear": ("relu", lambda g, out, x: (g,)),
    "tanh: out for out squared": ("tanh", lambda g, out, x: (g * (1 - out),)),
    "exp: the input for the output": ("exp", lambda g, out, x: (g * x,)),
    "sqrt: the factor 2 forgotten": ("sqrt", lambda g, out, x: (g / out,)),
    "where: multiplied by the condition's opposite": (
        "where",
        lambda g, out, condition, x, y: (None, ag.where(condition, 0.0, g), ag.where(condition, g, 0.0)),
    ),
    "cumsum: not reversed": ("cumsum", lambda g, out, x, *, axis: (ag.cumsum(g, axis=axis),)),
    "flip: not undone": ("flip", lambda g, out, x, *, axis: (g,)),
    "getitem: repeated indices counted once": ("getitem", lambda g, out, x, *, index: (_assigned(g, index, x),)),
    "concatenate: parts exchanged": ("concatenate", lambda g, out, *xs, axis: tuple(zero(x) + 1.0 for x in xs)),
    "prod: times the whole": (
        "prod",
        lambda g, out, x, *, axis, keepdims: (spread(g, x, axis, keepdims) * spread(out, x, axis, keepdims),),
    ),
    "cross entropy: without the targets": (
        "cross_entropy",
        lambda g, out, logits, targets, *, reduction, ignore_index, label_smoothing: (
            (ag.expand_dims(g, -1) if np.ndim(g) else g) * ag.softmax(logits), None),
    ),
    "attention: the scale forgotten": ("attention", spoiled("attention", lambda g, out, xs, d: (2 * d[0], *d[1:]))),
    "a constant added": ("sin", lambda g, out, x: (g * ag.cos(x) + 1e-4,)),
    "one part in a thousand": ("sin", lambda g, out, x: (1.001 * g * ag.cos(x),)),
    "everything NaN": ("sin", lambda g, out, x: (g * np.nan,)),
    "nothing at all": ("sin", lambda g, out, x: (None,)),
}  # fmt: skip


def _assigned(g, index, x):
    """What a beginner writes: `dx[index] = g` instead of adding."""
    dx = np.zeros(np.shape(x))
    dx[index] = getattr(g, "data", g) if not isinstance(g, np.ndarray) else g
    return dx


def rejects(judge, op):
    """Whether the judge rejects some sample of the op."""
    for sample in op.samples:
        try:
            with np.errstate(all="ignore"):
                judge(op, sample)
        except Exception:
            return True
    return False


@pytest.mark.parametrize("what", WRONG)
def test_the_generated_tests_reject_a_wrong_rule(what, monkeypatch):
    name, rule = WRONG[what]
    op = OPS[name]
    assert not rejects(judge_first_order, op)
    monkeypatch.setattr(op, "vjp", rule)
    assert rejects(judge_first_order, op)


@pytest.mark.slow
@pytest.mark.parametrize("what", WRONG)
def test_the_check_calls_a_wrong_rule_wrong_and_names_the_op(what, monkeypatch):
    name, rule = WRONG[what]
    op = OPS[name]
    monkeypatch.setattr(op, "vjp", rule)
    reports = []
    for sample in op.samples:
        f, inputs = op.on(sample)
        reports.append(check_grads(f, *inputs))
    verdicts = {report.verdict for report in reports}
    assert verdicts <= {"pass", "wrong"} and "wrong" in verdicts
    for report in reports:
        if report.verdict == "wrong":
            assert report.culprit == name, report


def test_every_kind_of_mistake_is_in_the_catalogue():
    kinds = {what.split(":")[0] for what in WRONG}
    assert {"lost path", "double count", "sign", "missing broadcast sum", "transpose", "softmax", "layer norm"} <= kinds
