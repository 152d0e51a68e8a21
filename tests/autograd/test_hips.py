"""Code for HIPS autograd runs as it is: their import paths and names, judged by differences and closed forms."""

import importlib.util

import numpy as onp
import pytest

import autograd as ag
import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import Value, elementwise_grad, extend, grad, make_jvp, make_vjp
from autograd.builtins import isinstance as holds
from autograd.errors import BackwardError
from autograd.extend import defvjp, primitive
from autograd.misc import flatten
from autograd.misc.optimizers import adam, rmsprop, sgd
from autograd.test_util import check_grads, combo_check
from autograd.tracer import getval, isbox
from tests.sweep import sweep

scipy = pytest.mark.skipif(importlib.util.find_spec("scipy") is None, reason="SciPy is not installed")
A, B = onp.array([1.0, -2.0, 3.0]), onp.array([0.5, 0.3, -0.7])
M = onp.array([[2.0, 0.3, 0.1], [0.4, 3.0, 0.2], [0.1, 0.5, 2.5]])


def cubes(x, y):
    return np.sum(x**3 * y)


DERIVATIVES = {
    "grad by argnum": lambda: (grad(cubes, 1)(A, B), A**3),
    "grad by argnum=": lambda: (grad(cubes, argnum=1)(A, B), A**3),
    "grad by argnums=": lambda: (grad(cubes, argnums=[0, 1])(A, B)[1], A**3),
    "grad of two": lambda: (grad(cubes, (0, 1))(A, B)[0], 3 * A**2 * B),
    "grad_named": lambda: (ag.grad_named(cubes, "y")(A, B), A**3),
    "value_and_grad": lambda: (ag.value_and_grad(cubes, 1)(A, B)[1], A**3),
    "elementwise_grad": lambda: (elementwise_grad(np.tanh)(A), 1 - onp.tanh(A) ** 2),
    "elementwise_grad twice": lambda: (elementwise_grad(elementwise_grad(np.exp))(A), onp.exp(A)),
    "deriv": lambda: (ag.deriv(lambda x: x**3)(2.0), 12.0),
    "jacobian": lambda: (ag.jacobian(lambda x, y: x * y, 1)(A, B), onp.diag(A)),
    "hessian": lambda: (ag.hessian(cubes)(A, B), onp.diag(6 * A * B)),
    "hessian_vector_product": lambda: (ag.hessian_vector_product(cubes)(A, B, A), 6 * A * B * A),
    "make_vjp": lambda: (make_vjp(lambda x: x**2)(A)[0](B), 2 * A * B),
    "make_jvp": lambda: (make_jvp(lambda x: x**2)(A)(B)[1], 2 * A * B),
    "make_jvp of two": lambda: (make_jvp(lambda x, y: x * y, (0, 1))(A, B)((B, A))[1], B * B + A * A),
    "make_hvp": lambda: (ag.make_hvp(cubes)(A, B)[0](A), 6 * A * B * A),
    "make_ggnvp": lambda: (ag.make_ggnvp(lambda x: M @ x)(A)(B), M.T @ M @ B),
    "vector_jacobian_product": lambda: (ag.vector_jacobian_product(lambda x: M @ x)(A, B), M.T @ B),
    "grad_and_aux": lambda: (ag.grad_and_aux(lambda x: (np.sum(x**2), x))(A)[0], 2 * A),
    "multigrad_dict": lambda: (ag.multigrad_dict(lambda x, k=3.0: np.sum(k * x))(A)["k"], A.sum()),
    "checkpoint": lambda: (grad(ag.checkpoint(lambda x: np.sum(np.sin(x) ** 2)))(A), onp.sin(2 * A)),
    "grad of a dict": lambda: (grad(lambda p: np.sum(p["a"] * p["b"]))({"a": A, "b": B})["a"], B),
}


@sweep("name", DERIVATIVES)
def test_a_derivative_by_their_name(name):
    found, right = DERIVATIVES[name]()
    onp.testing.assert_allclose(found, right, rtol=1e-12)


ARRAYS = {
    "array": lambda v: np.array([v[0] * v[1], 1.0, v[2]]),
    "array of rows": lambda v: np.array([[v[0], 1.0], [2.0, v[1]]]) @ np.array([v[0], v[2]]),
    "array of an array": lambda v: np.array(v) * 2,
    "array ndmin": lambda v: np.array([v[0], v[1]], ndmin=2).T,
    "asarray": lambda v: np.asarray([v[0], 3.0]),
    "full": lambda v: np.full((2, 2), v[0]),
    "mean of a list": lambda v: np.mean([v[0], v[1] * v[2]]),
    "sum of a list": lambda v: np.sum([v[0] ** 2, v[1]]),
    "norm of a list": lambda v: np.linalg.norm([v[0], v[1] + 2.5]),
    "append": lambda v: np.append([v[0], 1.0], v[1] * v[2]),
    "r_": lambda v: np.r_[v[0], v[1:], 0:2],
    "c_": lambda v: np.c_[v, v**2],
    "make_diagonal": lambda v: np.make_diagonal(v, axis1=-1, axis2=-2) @ M,
    "gradient": lambda v: np.gradient(v**2, 0.5),
    "rollaxis": lambda v: np.rollaxis(np.outer(v, v**2), 1),
    "partition": lambda v: np.partition(v**2, 1) * B,
    "solve": lambda v: np.linalg.solve(M + np.outer(v, v), B),
}


@sweep("name", ARRAYS)
def test_an_array_of_values(name):
    check_grads(ARRAYS[name], order=1)(A)


@primitive
def scaled(x, factor=1.0, *, power=2):
    return onp.asarray(factor * x**power)


defvjp(
    scaled,
    lambda ans, x, factor=1.0, *, power=2: lambda g: g * factor * power * x ** (power - 1),
    lambda ans, x, factor=1.0, *, power=2: lambda g: np.sum(g * ans) / factor,
)


def test_a_primitive_has_the_rule_that_it_was_given():
    check_grads(scaled, (0, 1))(A, 1.7)
    check_grads(lambda x: scaled(x, 2.0, power=3))(A)
    assert scaled(2.0) == 4.0 and not isbox(scaled(A)) and isbox(scaled(Value(A)))
    with pytest.raises(NotImplementedError, match="no rule yet"):
        grad(primitive(lambda x: x))(1.0)


def test_rules_for_any_argument_and_forwards():
    total = primitive(lambda *xs: sum(xs))
    extend.defvjp_argnum(total, lambda argnum, ans, args, kwargs: lambda g: g)
    assert grad(lambda x: total(x, 2 * x, 3.0))(1.0) == 3.0
    product = primitive(lambda x, y: x * y)
    extend.defvjp_argnums(product, lambda argnums, ans, args, kwargs: lambda g: [g * args[1 - n] for n in argnums])
    check_grads(product, (0, 1))(A, B)
    forwards, twice = primitive(onp.sinh), primitive(lambda x: 2.0 * x)
    extend.defjvp(forwards, lambda g, ans, x: g * np.cosh(x))
    extend.def_linear(twice)
    check_grads(lambda x: forwards(twice(x)))(A)
    picks = primitive(lambda parts, i: parts[i] ** 2)
    defvjp(picks, lambda ans, parts, i: lambda g: [2 * g * p if n == i else 0.0 * p for n, p in enumerate(parts)])
    assert grad(lambda x: picks([x, 3 * x], 1))(2.0) == 36.0


def test_a_rule_for_a_function_of_numpy_itself():
    from autograd.arrays.numpy_calls import BY_NUMPY

    try:
        defvjp(onp.interp, lambda ans, x, xs, ys: lambda g: g * np.interp(x + 0.5, xs, ys) - g * ans)
        assert grad(lambda x: np.interp(x, [0.0, 1.0, 2.0], [0.0, 1.0, 5.0]))(1.2) == pytest.approx(2.0)
    finally:
        del BY_NUMPY[onp.interp]


def test_what_a_value_holds_can_be_asked():
    seen = []
    grad(lambda x: seen.append((getval(x), holds(x, float), isbox(x))) or x * x)(3.0)
    assert seen == [(3.0, True, True)]
    assert grad(lambda x: x * extend.notrace_primitive(float)(x))(3.0) == 3.0
    assert grad(lambda v: np.sum(v[np.floor(v**2).astype(int)]))(B[:2]).tolist() == [2.0, 0.0]
    space = extend.vspace({"a": A, "b": 1.0})
    assert space.size == 4 and space == extend.vspace(space.randn()) != extend.vspace(A) and space.zeros()["b"] == 0.0
    assert space.add(space.ones(), space.ones())["a"].tolist() == [2.0, 2.0, 2.0]


def test_flatten_goes_both_ways_and_carries_gradients():
    tree = {"b": (A, 2.0), "a": [M]}
    flat, unflatten = flatten(tree)
    assert flat.shape == (13,) and flat[:9].tolist() == M.ravel().tolist() and unflatten(flat)["b"][1] == 2.0
    assert grad(lambda t: np.sum(flatten(t)[0] ** 2))(tree)["b"][1] == 4.0


@sweep("optimize", [sgd, rmsprop, adam])
def test_an_optimizer_finds_the_minimum(optimize):
    seen = []
    loss = lambda p, i: np.sum((p["x"] - 2.0) ** 2) + (p["y"] + 1.0) ** 2  # noqa: E731
    found = optimize(grad(loss), {"x": A, "y": 0.5}, lambda p, i, g: seen.append(i), num_iters=400, step_size=0.05)
    assert onp.allclose(found["x"], 2.0, atol=0.06) and abs(found["y"] + 1.0) < 0.06 and seen == list(range(400))


def test_a_fixed_point_has_gradients_of_any_order():
    from autograd.misc.fixed_points import fixed_point

    def sqrt(a):
        return fixed_point(lambda a: lambda x: 0.5 * (x + a / x) + 0.1 * (a - x * x), a, 1.0, lambda x, y: abs(x - y),
                           1e-13)  # fmt: skip

    assert abs(sqrt(2.0) - 2**0.5) < 1e-12
    assert abs(grad(sqrt)(2.0) - 0.5 * 2**-0.5) < 1e-10
    assert abs(grad(grad(sqrt))(2.0) + 0.25 * 2**-1.5) < 1e-8


def test_what_is_complex_is_refused():
    with pytest.raises(BackwardError, match="complex"):
        ag.holomorphic_grad(lambda x: x)
    with pytest.raises(TypeError, match=r"np\.fft of a Value"):
        grad(lambda x: np.sum(np.abs(np.fft.fft(x))))(A)
    assert np.fft.fft(A).shape == (3,) and npr.RandomState(0).randn(2).shape == (2,)


def test_a_wrong_gradient_is_found():
    wrong = primitive(onp.sin)
    defvjp(wrong, lambda ans, x: lambda g: g * np.sin(x))
    for check in (check_grads(wrong, modes=["rev"], order=1), lambda x: combo_check(wrong, modes=["rev"])([x])):
        with pytest.raises(AssertionError, match="wrong"):
            check(0.5)


def test_a_pendulum_learns_as_in_their_readme():
    def f(params, x):
        (w1, b1), (w2, b2) = params
        return np.dot(np.tanh(np.dot(x, w1) + b1), w2) + b2

    rs = npr.RandomState(0)
    params = [(rs.randn(1, 8), np.zeros(8)), (rs.randn(8, 1) * 0.3, np.zeros(1))]
    x = np.linspace(-2, 2, 20)[:, None]
    loss = lambda p, i: np.mean((f(p, x) - np.sin(x)) ** 2)  # noqa: E731
    assert loss(adam(grad(loss), params, step_size=0.05, num_iters=200), 0) < 0.01 < loss(params, 0)


@scipy
def test_scipy():
    from autograd.scipy import integrate, linalg, signal, special, stats
    from autograd.scipy.stats import multivariate_normal as mvn

    p, q = onp.array([1.3, 0.6, 2.2]), onp.array([0.3, 0.8, 0.45])
    cases = [
        (stats.norm.logpdf, A, B, p), (stats.norm.cdf, A, B, p), (stats.norm.logcdf, A, B, p), (stats.norm.sf, A, B, p),
        (stats.t.logpdf, A, p + 2, B, p), (lambda x, s: stats.t.cdf(x, 3.0, 0.1, s), A, p),
        (stats.gamma.logpdf, p, q),
        (lambda x: stats.gamma.cdf(x, 1.5), p), (stats.beta.pdf, q, p, p + 1),
        (lambda x: stats.beta.cdf(x, 2.0, 3.0), q),
        (lambda x: stats.chi2.cdf(x, 3.0), p), (lambda m: stats.poisson.logpmf(onp.arange(3), m), p),
        (lambda m: stats.poisson.cdf(2, m), p), (lambda a: stats.dirichlet.logpdf(q / q.sum(), a), p),
        (lambda x, m, c: mvn.logpdf(x, m, c @ c.T), A, B, M), (lambda c: mvn.entropy(B, c @ c.T), M),
        (special.gamma, p), (special.beta, p, q), (special.j1, p), (lambda x: special.iv(1.5, x), p),
        (special.erfinv, q), (lambda x: special.polygamma(1, x), p), (lambda x: special.multigammaln(x, 2), p),
        (lambda x: special.logsumexp(x, b=p), A), (lambda x: special.log_softmax(x), A), (special.softmax, A),
        (lambda x: linalg.sqrtm(x @ x.T), M), (lambda a, b: linalg.solve_triangular(a, b, lower=True), M, B),
        (linalg.solve_sylvester, M, M.T, M), (lambda x, b: linalg.solve_banded((1, 1), x, b), M, B),
        *((lambda a, b, m=m: signal.convolve(a, b, mode=m), M, M[:2, :2]) for m in ("full", "same", "valid")),
        (lambda y, t, k: integrate.odeint(lambda y, t, k: -k * y + t, y, t, (k,)), A, onp.array([0.0, 0.3, 0.5]), p),
    ]  # fmt: skip
    for f, *inputs in cases:
        check_grads(f, range(len(inputs)), modes=["rev"], order=1)(*inputs)


@scipy
def test_scipy_gives_scipys_numbers():
    import scipy.signal
    import scipy.stats

    from autograd.scipy import signal, stats

    for mode in ("full", "same", "valid"):
        for k in (M[:2, :2], M[:1, :2], M):
            onp.testing.assert_allclose(signal.convolve(M, k, mode=mode), scipy.signal.convolve(M, k, mode), atol=1e-12)
    x, spd = onp.array([[0.1, 0.4, -1.0], [1.0, 0.0, 2.0]]), M @ M.T
    ours, theirs = stats.multivariate_normal, scipy.stats.multivariate_normal
    onp.testing.assert_allclose(ours.logpdf(x, A, spd), theirs.logpdf(x, A, spd))
    onp.testing.assert_allclose(ours.entropy(A, spd), theirs.entropy(A, spd))
    flat = onp.diag([1.0, 2.0, 0.0])
    onp.testing.assert_allclose(ours.logpdf(x * [1, 1, 0], None, flat, allow_singular=True),
                                theirs.logpdf(x * [1, 1, 0], None, flat, allow_singular=True))  # fmt: skip
    for name, args in {"norm": (), "t": (3.0,), "gamma": (2.0,), "beta": (2.0, 3.0), "chi2": (3,)}.items():
        for kind in ("pdf", "cdf", "logpdf"):
            x = onp.array([0.2, 0.7])
            found, right = (getattr(getattr(lib, name), kind)(x, *args) for lib in (stats, scipy.stats))
            onp.testing.assert_allclose(found, right, rtol=1e-10)
