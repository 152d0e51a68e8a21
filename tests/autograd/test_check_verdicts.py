"""Verdicts that follow from what was measured: right gradients pass, kinks are kinks, planted errors are wrong."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import autograd as ag
from autograd import OPS, Value, assert_grads, check_formula, check_grads, check_layer, custom_op
from autograd.cli import main
from autograd.errors import DataError, GradientError
from tests.sweep import sweep

RNG = np.random.default_rng(0)


def draw(*shape):
    return RNG.normal(size=shape)


def hilbert(n):
    return 1.0 / (np.arange(n)[:, None] + np.arange(n) + 1.0)


def logistic(steps):
    def f(x):
        for _ in range(steps):
            x = 3.9 * x * (1 - x)
        return x

    return f


def huber(x):
    return ag.where(np.abs(x) < 1, 0.5 * x * x, np.abs(x) - 0.5).sum()


@pytest.fixture
def op():
    made = []

    def make(rule, forward=lambda x: x * x, name="planted_here"):
        made.append(name)
        return custom_op(name, forward=forward, vjp=rule)

    yield make
    for name in made:
        OPS.pop(name, None)


# --- right gradients that were called wrong, kink or precision ---------------------------------------------------

RIGHT = {
    **{f"inverse of Hilbert {n}": (lambda x: np.linalg.inv(x).sum(), hilbert(n)) for n in (7, 8, 9, 10, 11)},
    **{f"slogdet of Hilbert {n}": (lambda x: np.linalg.slogdet(x)[1], hilbert(n)) for n in (8, 9)},
    "solve Hilbert 9": (lambda x: np.linalg.solve(x, np.ones(9)).sum(), hilbert(9)),
    **{f"logistic map, {n} steps": (logistic(n), 0.3) for n in (30, 40, 45)},
    "beside a kink": (lambda x: np.abs(x - 1), 1 + 1e-8),
    "Huber at 0": (huber, np.zeros(3)), "x|x| at 0": (lambda x: (x * np.abs(x)).sum(), np.zeros(3)),
    "a square at 0": (lambda x: (x * x).sum(), np.zeros(3)), "a cube at 0": (lambda x: x**3, 0.0),
    "exp(700)": (np.exp, 700.0), "an integer": (lambda x: x * x, 3), "integers": (lambda x: (x**2).sum(), np.arange(3)),
    "1e-100": (lambda x: 1e-100 * x * x, 1.5), "all zero": (lambda x: (x - x).sum(), np.ones(3)),
    "tanh of 20": (np.tanh, 20.0), "near the edge": (lambda p: np.log(1 - p), 1 - 1e-11),
    "saturated beside 1": (lambda x: ag.sigmoid(x).sum(), np.array([153.0, -104.0])),
    "a step that rounding decides": (lambda x: np.floor(ag.erf(x)) + 0.0 * x, 10.7),
    "what cancels to 0": (lambda x: np.abs(np.var(ag.logsumexp(x) + 0 * x)), np.array([-0.018, -0.76, -0.756])),
    "a median of two": (lambda x: (x - np.median(x)).sum(), np.array([-0.13272985, 0.02949488])),
    "a residue": (lambda x: np.max(ag.logsumexp(ag.erf(x)) + 0 * x) - (ag.logsumexp(ag.erf(x)) + 0 * x),
                  np.array([-0.45761576, -1.90122274, -1.28953774])),
    "cancels, squared": (lambda x: np.var(np.exp(np.exp((x - np.mean(x)) ** 3))), 1e-7 + 1e-10 * np.arange(4.0)),
    "lost in float64": (lambda x: (x + 1e17) - 1e17, 0.3), "a step at 1e-12": (lambda x: np.sqrt(x * x + 1e-24), 1e-12),
}  # fmt: skip


@sweep("name", RIGHT)
def test_right_gradients_pass(name):
    f, x = RIGHT[name]
    report = check_grads(f, x)
    assert report.verdict == "pass", report


def test_what_turns_too_fast_for_any_step_is_neither_wrong_nor_a_kink():
    x = np.array([-1.12e12, -1.3e12, 1.45e12, -3.8e11])
    assert check_grads(lambda x: ag.erf(np.sin(x + np.prod(x))), x).verdict == "precision"


def test_a_slope_that_is_not_zero_is_not_called_so():
    report = check_grads(logistic(30), 0.3)
    assert "zero" not in str(report) and report.worst > 0


def test_what_is_ill_conditioned_says_so():
    assert "ill conditioned: off by" in str(check_grads(RIGHT["inverse of Hilbert 10"][0], hilbert(10)))


def test_a_right_op_of_the_user_s_passes_at_zeros(op):
    assert check_grads(op(lambda g, out, x: (2 * g * x,)), np.zeros(3)).ok


# --- kinks --------------------------------------------------------------------------------------------------------

KINKS = {
    "abs + (x - 3)²": (lambda x: np.abs(x) + (x - 3) ** 2, -7.0, -5.0),
    "abs + sin": (lambda x: np.abs(x) + np.sin(x + 100), np.cos(100) - 1, np.cos(100) + 1),
    "0.3 abs + (x - 3)²": (lambda x: 0.3 * np.abs(x) + (x - 3) ** 2, -6.3, -5.7),
    "relu": (ag.relu, 0.0, 1.0), "max with 0": (lambda x: np.maximum(x, 0.0), 0.0, 1.0),
    "clip": (lambda x: np.clip(x, 0.0, 1.0), 0.0, 1.0), "where": (lambda x: ag.where(x > 0, 2 * x, x), 1.0, 2.0),
    "sign": (np.sign, np.inf, np.inf),
}  # fmt: skip


@sweep("name", KINKS)
def test_kinks_are_kinks_with_both_slopes(name):
    f, left, right = KINKS[name]
    report = check_grads(f, 0.0)
    assert report.verdict == "kink", report
    assert (report.entries[0].left, report.entries[0].right) == pytest.approx((left, right))
    assert "is at a breakpoint, used in test_check_verdicts.py" in str(report) and "_ufunc_config" not in str(report)


def lasso(seed):
    rng = np.random.default_rng(seed)
    n, m, weight = rng.integers(2, 8), rng.integers(3, 10), rng.uniform(0.01, 2.0)
    a, b, w, zero = rng.normal(size=(m, n)), rng.normal(size=m), rng.normal(size=n), rng.integers(n)
    w[zero] = 0.0
    return check_grads(lambda w: ((a @ w - b) ** 2).sum() + weight * np.abs(w).sum(), w), int(zero)


@pytest.mark.slow
def test_lasso_has_its_kink_at_the_weight_that_is_zero():
    for seed in range(200):
        report, zero = lasso(seed)
        assert [e.index for e in report.failures] == [(zero,)] and report.verdict == "kink", report


def test_a_tie_of_many_is_found_at_each():
    assert [e.verdict for e in check_grads(np.max, np.array([1.0, 1.0, 0.0])).entries] == ["kink", "kink", "pass"]
    assert check_grads(np.median, np.ones(3)).verdict == "kink"


def test_an_accepted_kink_excuses_no_gradient_outside_of_its_slopes():
    x = np.array([1.0, 0.0, -3.0])
    report = check_formula(lambda v: np.abs(v).sum(), lambda v: np.sign(v) + 5 * (v == 0), x, allow=("kink",))
    assert report.verdict == "wrong" and [e.where for e in report.failures] == ["v[1]"]
    assert check_formula(lambda v: np.abs(v).sum(), lambda v: np.sign(v) + 0.9 * (v == 0), x, allow="kink").ok
    assert check_grads(np.sign, 0.0, allow="kink").ok


def test_a_hundred_kinks_and_more_are_kinks():
    report = check_grads(ag.relu, np.zeros(150), allow="kink")
    assert report.ok and {e.verdict for e in report.entries} == {"kink"}


def test_kinks_that_the_search_had_no_time_for_are_found_by_steps(monkeypatch):
    monkeypatch.setattr("autograd.check.verdict.SEARCHED", 0.0)
    report = check_grads(lambda x: np.abs(x).sum(), np.zeros(60))
    assert [e.verdict for e in report.entries] == ["kink"] * 60


def test_an_accepted_kink_excuses_only_itself(op):
    report = check_grads(lambda x: np.abs(x).sum(), np.array([0.0, 1.0]), allow=("kink",))
    assert report.ok and report.verdict == "kink" and "kink, as allowed" in str(report)
    wrong = op(lambda g, out, x: (3 * g * x,))
    assert check_grads(lambda x: np.abs(x[0]) + wrong(x[1]), np.array([0.0, 1.0]), allow="kink").verdict == "wrong"


# --- each op of the table -------------------------------------------------------------------------------------------


def real(x):
    return isinstance(x, float) or (isinstance(x, np.ndarray) and x.dtype.kind == "f")


def variants(op):
    """The op's samples; and its first one at zero, at other scales, in float32."""
    for sample in op.samples:
        yield "as it is", *op.on(sample)
    f, xs = op.on(op.samples[0])
    for name, change in (("zero", lambda x: x * 0), ("tiny", lambda x: x * 1e-12), ("large", lambda x: x * 1e12)):
        yield name, f, [change(x) if real(x) else x for x in xs]
    if any(isinstance(x, np.ndarray) and real(x) for x in xs):
        yield "float32", f, [x.astype(np.float32) if isinstance(x, np.ndarray) and real(x) else x for x in xs]


def defined(f, xs):
    """Whether the function and the engine's gradient are numbers there: else no verdict is owed."""
    with np.errstate(all="ignore"):
        try:
            leaves = [Value(x) if real(x) else x for x in xs]
            out = ag.sum(f(*leaves) * 1.0)
            out.backward()
        except Exception:
            return False
    grads = [x.grad for x in leaves if isinstance(x, Value) and x.grad is not None]
    return np.isfinite(out.data) and all(np.isfinite(g).all() for g in grads)


@sweep("op", [op for op in OPS.values() if op.differentiable], ids=lambda op: op.name,
       slow=lambda op: len(op.samples) > 3)  # fmt: skip
def test_no_right_rule_has_a_false_verdict(op):
    """Some 1,000 right functions: at zero there may be a kink, or the edge of a domain."""
    for name, f, xs in variants(op):
        if not any(map(real, xs)) or not defined(f, xs):
            continue
        report = check_grads(f, *xs)
        allowed = {"pass", "kink", "precision"} if name == "zero" else {"pass"}
        assert report.verdict in allowed, f"{name}: {report}"


def test_random_nets_pass_in_every_dtype():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, m = rng.integers(1, 6, 2)
        dtype = (np.float64, np.float32)[seed % 2]
        w, v, x = (rng.normal(size=s).astype(dtype) for s in ((n, m), (m, 3), (2, n)))
        scale = 10.0 ** rng.integers(-6, 7)
        activation = (ag.relu, ag.tanh, ag.gelu, ag.softplus, ag.sigmoid)[seed % 5]

        def net(w, v, x, activation=activation, scale=scale):
            return ag.logsumexp(activation(x @ w) @ v, axis=-1).sum() * scale

        report = check_grads(lambda w, v, x, net=net: net(w, v, x), w, v, x)
        assert report.ok, (seed, report)


# --- planted errors -------------------------------------------------------------------------------------------------

def test_digits_see_what_no_difference_sees(op):
    tiny = op(lambda g, out, x: (2 * g * x * (1 + 1e-11),))
    x = draw(5)
    assert check_grads(tiny, x).ok
    report = check_grads(tiny, x, digits="always")
    assert report.verdict == "wrong" and "seen in 90 digits" in str(report)
    assert check_grads(ag.tanh, x, digits="always").ok


def test_a_wrong_rule_at_a_tiny_scale(op):
    assert check_grads(op(lambda g, out, x: (4e-100 * g * x,), lambda x: 1e-100 * x * x), 1.5).verdict == "wrong"


@pytest.mark.parametrize("n", [300, 301, pytest.param(5000, marks=pytest.mark.slow)])
def test_one_wrong_entry_shows_at_every_size(n, op):
    factors = np.ones(n)
    factors[n // 3] = 1 + 1e-3
    f = op(lambda g, out, x: (2 * g * x * factors,))
    x = RNG.uniform(0.5, 1.5, n)
    assert [e.index for e in check_grads(lambda x: f(x).sum(), x).failures] == [(n // 3,)]


def test_the_one_wrong_entry_has_its_own_name():
    def gradient(x):
        return np.where(np.arange(x.size) == 417, 1.01, 1.0) * 3 * x**2

    report = check_formula(lambda x: (x**3).sum(), gradient, draw(900))
    assert [e.where for e in report.failures] == ["x[417]"] and "only x[417] is wrong" in str(report)


def test_a_costly_function_is_looked_at_along_lines(monkeypatch):
    monkeypatch.setattr("autograd.check.slopes.probe.AFFORDABLE", 100_000)
    x, w = draw(1000, 100), draw(100)
    report = check_grads(lambda w: np.tanh(x @ w).sum(), w)
    assert report.ok and report.count < 60 and "random lines" in str(report)
    spoilt = check_grads(lambda w: np.tanh(x @ w).sum() + 1e-3 * w[31].detach(), w)
    assert [e.where for e in spoilt.failures] == ["w[31]"]


def test_an_error_of_1e_6_in_one_entry_of_10_000_is_found():
    x = draw(10_000)
    spoilt = 3 * x**2 * (1 + 1e-6 * (np.arange(x.size) == 777))
    spoilt[777] += 1e-6
    report = check_formula(lambda x: (x**3).sum(), lambda x: spoilt, x)
    assert [e.where for e in report.failures] == ["x[777]"]


def test_lines_say_what_they_would_miss():
    report = check_grads(lambda x: ag.tanh(x).sum(), draw(5000))
    note = next(note for note in report.notes if "random lines" in note)
    assert float(note.partition("an error of ")[2].split()[0]) < 1e-4
    assert check_grads(lambda x: ag.tanh(x).sum(), draw(400), entries="all").count == 400
    assert check_grads(lambda x: ag.tanh(x).sum(), draw(4000), entries=20).count >= 20


# --- plain functions --------------------------------------------------------------------------------------------------


def in_place(x):
    x[x < 0] = 0
    return (x**2).sum()


def filled(x):
    out = np.zeros_like(x)
    out[:] = np.sort(x) ** 2 * np.arange(x.size)
    return out.sum()


PLAIN = {
    "in place": (in_place, lambda x: 2 * np.maximum(x, 0)),
    "out[:]": (filled, lambda x: 2 * x * np.argsort(np.argsort(x))),
    "partition": (lambda x: np.partition(x, 2)[2], lambda x: (x == np.partition(x, 2)[2]) * 1.0),
    "python": (lambda x: sum(float(v) ** 2 for v in x), lambda x: [2 * v for v in x]),
    "qr": (lambda x: np.abs(np.linalg.qr(x.reshape(2, 3).T)[1][0, 0]),
           lambda x: np.r_[x[:3] / np.linalg.norm(x[:3]), 0, 0, 0]),
    "fft": (lambda x: (np.abs(np.fft.fft(x)) ** 2).sum(), lambda x: 12 * x),
}  # fmt: skip


@sweep("name", PLAIN)
def test_plain_functions_are_taken_as_they_are(name):
    f, gradient = PLAIN[name]
    x = np.random.default_rng(3).normal(size=6)
    before = x.copy()
    report = check_formula(f, gradient, x)
    assert report.ok and "handgrad" not in str(report), report
    np.testing.assert_array_equal(x, before)
    assert check_formula(f, lambda x: 1.0001 * np.asarray(gradient(x)), x).verdict == "wrong"


def test_gradients_in_a_dict_belong_to_their_keys():
    point = {"w": draw(3), "b": draw(3)}
    assert check_formula(lambda p: (p["w"] ** 2).sum() + 3 * p["b"].sum(),
                         lambda p: {"b": 3 * np.ones(3), "w": 2 * p["w"]}, point).ok  # fmt: skip


def test_a_jump_has_no_slope_between():
    (entry,) = check_formula(np.floor, lambda x: 0.0, 2.0).entries
    assert (entry.verdict, entry.difference) == ("kink", np.inf)


@pytest.mark.slow
def test_tensors_and_jax_arrays_are_inputs():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    x = torch.tensor([0.5, -1.2, 2.0], dtype=torch.float64, requires_grad=True)
    assert check_formula(lambda x: x.std(), lambda x: (x - x.mean()) / (2 * x.std()), x).ok
    assert check_formula(lambda x: jax.numpy.sin(x).sum(), jax.numpy.cos, jax.numpy.ones(3)).ok


def test_a_passing_formula_says_nothing_of_the_engine():
    assert not check_formula(lambda x: (x.astype(int) * 0.0 + x**2).sum(), lambda x: 2 * x, draw(4)).notes


def test_reasons_speak_of_the_numbers_of_the_table():
    def forgets_eps(x):
        n = (x - x.mean()) / x.std()
        g = np.arange(4.0)
        return (g - g.mean() - n * (g * n).mean()) / x.std()

    report = check_formula(lambda x: (x - x.mean()) / np.sqrt(x.var() + 1e-5) @ np.arange(4.0), forgets_eps, draw(4))
    assert report.verdict == "wrong"
    assert "same factor" not in str(report) and "slope 1.99" not in str(report)
    said = str(check_formula(lambda x: (x**3).sum(), lambda x: 3 * x**2 * (1 + 3e-6), np.array([1.0, 2.0])))
    assert "1.000003" in said and "the same factor 1.000003" in said


def test_the_reason_uses_the_table_s_cotangent(op):
    f = op(lambda g, out, x: (g * x,))
    report = check_grads(f, np.array([1.0, 2.0]), seed=3)
    worst = report.failures[0]
    said = f"gives {worst.gradient:.6g} for {worst.where}; differences give {worst.difference:.6g}"
    assert said in report.diagnosis[-1]
    assert "results weighted with [" in str(report).splitlines()[0]


def test_a_rule_that_uses_g_is_not_said_to_forget_it(op):
    nearly = op(lambda g, out, x: (2 * g * x * (1 + 2e-6),))
    report = check_grads(nearly, 3.0)
    assert report.verdict == "wrong" and "forget" not in str(report)


# --- layers -----------------------------------------------------------------------------------------------------------


class Linear:
    def __init__(self, spoil=1.0):
        self.params = {"W": draw(3, 2), "b": draw(2)}
        self.grads, self.spoil = {}, spoil

    def forward(self, x):
        self.x = x
        return x @ self.params["W"] + self.params["b"]

    def backward(self, dout):
        self.grads = {"W": self.spoil * self.x.T @ dout, "b": dout.sum(axis=0)}
        return dout @ self.params["W"].T


class Scaled:
    def __init__(self):
        self.w = draw(3)

    def forward(self, x):
        self.x = x
        return x * self.w

    def backward(self, dout):
        self.w_grad = (dout * self.x).sum(axis=0)
        return dout * self.w


def test_layers_and_their_arrays_are_checked():
    x = draw(4, 3)
    report = check_layer(Linear(), x)
    assert report.ok and {e.input for e in report.entries} == {"x", "W", "b"}
    wrong = check_layer(Linear(1.01), x)
    assert wrong.verdict == "wrong" and {e.input for e in wrong.failures} == {"W"}
    assert check_layer(Scaled(), x).ok
    layer = Linear()
    before = {name: array.copy() for name, array in layer.params.items()}
    check_layer(layer, x)
    for name, array in before.items():
        np.testing.assert_array_equal(layer.params[name], array)
    with pytest.raises(TypeError, match="forward\\(x\\) and backward\\(dout\\)"):
        check_layer(object(), x)


class Adds:
    """Its gradients accumulate, as a framework's do."""

    def __init__(self):
        self.w, self.dw = draw(3), np.zeros(3)

    def __call__(self, x):
        self.x = x
        return x * self.w

    def backward(self, dout):
        self.dw += (dout * self.x).sum(axis=0)
        return dout * self.w


class Parameter:
    def __init__(self, data):
        self.data, self.grad = data, np.zeros_like(data)


class Holds(Scaled):
    """Its array is in an object, beside its gradient."""

    def __init__(self, spoil):
        self.p, self.spoil = Parameter(draw(3)), spoil

    w = property(lambda self: self.p.data)

    def backward(self, dout):
        self.p.grad = self.spoil * (dout * self.x).sum(axis=0)
        return dout * self.w


class Listed(Holds):
    """Its arrays are in a list, and their gradients in another."""

    def __init__(self, spoil):
        self.params, self.grads, self.spoil = [draw(3)], [None], spoil

    w = property(lambda self: self.params[0])

    def backward(self, dout):
        self.grads[0] = self.spoil * (dout * self.x).sum(axis=0)
        return dout * self.w


class Returned(Holds):
    """It returns the gradients of its arrays by name."""

    def backward(self, dout):
        return dout * self.w, {"p": self.spoil * (dout * self.x).sum(axis=0)}


class Net:
    def __init__(self, *layers):
        self.layers = list(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x) if callable(layer) else layer.forward(x)
        return x

    def backward(self, dout):
        for layer in reversed(self.layers):
            dout = layer.backward(dout)
        return dout


@pytest.mark.parametrize("make, name", [
    (Holds, "p"), (Listed, "params[0]"), (lambda s: Net(Adds(), Holds(s)), "layers[1].p"), (Returned, "p"),
])  # fmt: skip
def test_the_arrays_of_a_layer_are_found_wherever_they_are(make, name):
    assert check_layer(make(1.0), draw(4, 3)).ok
    report = check_layer(make(1.01), draw(4, 3))
    assert report.verdict == "wrong" and {e.input for e in report.failures} == {name}


def test_a_gradient_of_another_shape_is_a_complaint_and_compared_all_the_same():
    class Turned(Scaled):
        def backward(self, dout):
            self.dw = dout * self.x
            return (dout * self.w).T

    report = check_layer(Turned(), draw(4, 3))
    assert report.verdict == "wrong"
    assert "backward's gradient for x has shape (3, 4); it must have (4, 3): transposed?" in str(report)
    assert "it must have (3,): the sum over what w was broadcast to is missing" in str(report)


def test_what_the_passes_leave_behind_is_no_input():
    class Keeps(Scaled):
        def backward(self, dout):
            self.dw, self.dx = (dout * self.x).sum(axis=0), dout * self.w
            return self.dx

    layer = Keeps()
    layer.backward(layer.forward(draw(4, 3)))
    report = check_layer(layer, draw(4, 3))
    assert report.ok and {part.name for part in report.parts} == {"x", "w"}


def test_passes_that_return_nothing_and_leave_output_and_gradients():
    class Dense:
        def __init__(self):
            self.weights = draw(3, 2)

        def forward(self, inputs):
            self.inputs = inputs
            self.output = inputs @ self.weights

        def backward(self, dvalues):
            self.dweights = self.inputs.T @ dvalues
            self.dinputs = dvalues @ self.weights.T

    report = check_layer(Dense(), draw(4, 3))
    assert report.ok and report.count == 18

    class Learns(Dense):
        def backward(self, dvalues, learning_rate):
            self.weights -= learning_rate * self.inputs.T @ dvalues

    with pytest.raises(DataError, match=r"takes \(dvalues, learning_rate\)"):
        check_layer(Learns(), draw(4, 3))


def test_a_class_may_return_a_cache():
    class Cached(Scaled):
        def forward(self, x):
            return x * self.w, x

        def backward(self, dout, cache):
            self.dw = (dout * cache).sum(axis=0)
            return dout * self.w

    assert check_layer(Cached(), draw(4, 3)).ok


def test_an_array_without_a_gradient_is_named():
    class Forgets(Scaled):
        def backward(self, dout):
            return dout * self.w

    report = check_layer(Forgets(), draw(4, 3))
    assert report.ok and "w moves the result, but backward leaves no gradient for it" in str(report)


def test_forms_of_forward_and_backward():
    class Loss:
        def forward(self, x, target):
            self.d = x - target
            return (self.d**2).mean()

        def backward(self):
            return 2 * self.d / self.d.size

    report = check_layer(Loss(), draw(4, 3), draw(4, 3))
    assert report.ok and "no gradient for target, which stayed fixed" in str(report)

    class Two:
        def forward(self, x):
            self.x = x
            return x**2, x**3

        def backward(self, d, e):
            return 2 * d * self.x + 3 * e * self.x**2

    assert check_layer(Two(), draw(3)).ok and check_layer(Adds(), draw(4, 3)).ok
    by_name = (lambda x, w: (x * w, (x, w)), lambda d, c: {"w": (d * c[0]).sum(0), "x": d * c[1]})
    assert check_layer(by_name, draw(4, 3), draw(3)).ok
    assert check_layer((lambda x: 3 * x, lambda d: 3 * d), draw(3)).ok
    assert check_layer((lambda x, p: (x * p, p), lambda d, p: d * p), draw(3), 0.5).ok
    with pytest.raises(TypeError, match=r"give an object, Scaled"):
        check_layer(Scaled, draw(3))


@pytest.mark.parametrize("n", [1, 5, 50])
def test_a_function_that_rounds_inside_makes_no_right_gradient_wrong(n):
    x = np.random.default_rng(n).normal(size=n)
    for inside in (np.float32, lambda s: np.round(s, 3), lambda s: np.float32(s + 1e3)):
        report = check_formula(lambda x, inside=inside: float(inside((x**2).sum())), lambda x: 2 * x, x)
        assert report.verdict in ("pass", "precision"), report
    assert check_formula(lambda x: float(np.float32((x**2).sum())), lambda x: 2.2 * x, x).verdict == "wrong"


def test_what_rounding_chose_stays_chosen_in_digits():
    assert check_grads(lambda x: ag.where(1.0 + x > 1.0, x * x, 5 * x), 1e-20, digits="always").ok


def test_a_course_s_pair_of_functions():
    def forward(x, gamma, beta, eps=1e-5):
        std = np.sqrt(x.var(axis=0) + eps)
        hat = (x - x.mean(axis=0)) / std
        return gamma * hat + beta, (hat, gamma, std)

    def backward(dout, cache):
        hat, gamma, std = cache
        d = dout * gamma
        return (d - d.mean(0) - hat * (d * hat).mean(0)) / std, (dout * hat).sum(0), dout.sum(0)

    assert check_layer((forward, backward), draw(5, 4), draw(4), draw(4)).ok
    report = check_layer((forward, lambda d, c: (d * c[1] / c[2], *backward(d, c)[1:])), draw(5, 4), draw(4), draw(4))
    assert {e.input for e in report.failures} == {"x"}


@pytest.mark.slow
def test_a_torch_function():
    torch = pytest.importorskip("torch")

    def function(factor):
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx, g):
                return factor * g * ctx.saved_tensors[0] ** 2

        return Cube

    assert check_layer(function(3), draw(3)).ok
    assert check_layer(function(2), draw(3)).verdict == "wrong"


# --- order 2 ----------------------------------------------------------------------------------------------------------


def test_a_rule_that_detaches_g_is_wrong_at_order_2(op):
    def rule(g, out, x):
        return (2 * (g.detach() if isinstance(g, Value) else g) * x,)

    detached = op(rule)
    assert check_grads(detached, 3.0).ok
    report = check_grads(detached, 3.0, order=2)
    assert report.verdict == "wrong" and {e.input for e in report.failures} == {"cotangent"}
    assert report.culprit == "planted_here" and "whose rule has a wrong gradient of its own" in str(report)


def test_a_rule_in_plain_numpy_is_checked_by_its_differences(op):
    def rule(g, out, x):
        return (np.asarray(g) * 2 * np.asarray(x),)

    report = check_grads(op(rule), np.array([1.0, 2.0]), order=2)
    assert report.ok and "are symmetric" in str(report)
    assert "the rule of planted_here cannot be differentiated" in str(report) and "v.data" not in str(report)


# --- options, in all four ways to ask ---------------------------------------------------------------------------------


def test_tolerances_are_what_is_asked():
    f, nearly, x = lambda x: (x**3).sum(), lambda x: 3.003 * x**2, draw(4)
    assert check_formula(f, nearly, x).verdict == "wrong"
    report = check_formula(f, nearly, x, rtol=1e-2)
    assert report.ok and "within rtol=0.01, as asked" in str(report)
    assert not check_formula(f, nearly, x, rtol=1e-4).ok
    assert check_formula(f, nearly, x, atol=1.0).ok


def test_a_second_point_finds_what_the_first_hides(op):
    hides = op(lambda g, out, x: (2 * g,))
    assert check_grads(hides, np.ones(3)).ok
    report = check_grads(hides, np.ones(3), points=2)
    assert report.verdict == "wrong" and "at point 2" in str(report)
    assert "passes also at a random point" in str(check_grads(np.sin, draw(3), points=2))


def test_a_pass_says_what_would_not_show():
    assert "all entries of x are equal" in str(check_grads(lambda x: (x * x).sum(), np.ones(3)))
    assert "x is symmetric" in str(check_grads(lambda x: (x @ x).sum(), hilbert(3)))
    assert "a relu is off everywhere" in str(check_grads(lambda x: ag.relu(-(x**2) - 1).sum() + x.sum(), draw(3)))


def test_options_that_do_not_exist_are_refused():
    with pytest.raises(TypeError, match="no option rtoll"):
        check_grads(np.sin, 1.0, rtoll=1)
    for bad in ({"rtol": -1}, {"allow": "wrong"}, {"points": 0}, {"entries": "some"}, {"digits": 5}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            check_grads(np.sin, 1.0, **bad)


def test_a_report_shows_itself_in_a_notebook():
    page = check_formula(lambda x: (x**2).sum(), lambda x: x, np.array([1.0, 2.0]))._repr_html_()
    assert "<th" in page and "yours / measured" in page and "✗" in page
    ElementTree.fromstring(page)
    assert "✓" in check_grads(np.sin, 1.0)._repr_html_()


FILE = """
import numpy as np
def good(x=2.0): return x * x
def kinked(x=0.0): return np.abs(x)
"""


def test_the_command_writes_json_and_junit(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    files = [f"--json={tmp_path / 'a.json'}", f"--junit={tmp_path / 'a.xml'}"]
    assert main(["check", str(path), *files]) == 1
    outcome = json.loads((tmp_path / "a.json").read_text())
    assert [(c["name"], c["verdict"]) for c in outcome["checks"]] == [("good", "pass"), ("kinked", "kink")]
    assert outcome["checks"][1]["reports"][0]["failures"][0]["entry"] == "x" and not outcome["ok"]
    suite = ElementTree.parse(tmp_path / "a.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1") and "kink" in suite[1][0].text
    options = ["--allow=kink", "--rtol=1e-6", "--step=1e-5", "--mode=forward", "--points=2", "--entries=all"]
    assert main(["check", str(path), *options, *files]) == 0
    assert json.loads((tmp_path / "a.json").read_text())["ok"]


@pytest.mark.slow
def test_no_frame_of_ours_is_in_pytest_s_traceback(tmp_path):
    (tmp_path / "test_mine.py").write_text(
        "from autograd import assert_grads\ndef test_it():\n    assert_grads(lambda x: x * x.data, 3.0)\n"
        "def test_fixture(gradcheck):\n    gradcheck(abs, 0.0, allow='kink')\n"
        "    gradcheck.formula(lambda x: x * x, lambda x: 2.01 * x, 3.0, rtol=0.1)\n"
    )
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
                         capture_output=True, text=True, check=False)  # fmt: skip
    assert "1 failed, 1 passed" in run.stdout, run.stdout
    assert "api.py" not in run.stdout and "ensure_passed" not in run.stdout and "handgrad / measured" in run.stdout


def test_assert_grads_raises_the_report():
    with pytest.raises(GradientError) as caught:
        assert_grads(lambda x: x * x.data, 3.0)
    assert caught.value.report.verdict == "wrong"


def test_seeds_change_no_verdict():
    for seed in range(5):
        assert check_grads(RIGHT["Huber at 0"][0], np.zeros(3), seed=seed).ok
        assert check_grads(KINKS["relu"][0], 0.0, seed=seed).verdict == "kink"
