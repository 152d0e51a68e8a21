"""grad, value_and_grad, vjp, jvp, jacobian, hessian, hvp: any order, any nest, inside one another."""

import math
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import autograd
from autograd import Value, exp, grad, hessian, hvp, jacobian, jvp, no_grad, sin, softmax, value_and_grad, vjp
from autograd.errors import BackwardError, DataError, LostGradientWarning, ShapeError
from tests.autograd.judges import assert_close, numeric_gradients


def rosenbrock(x):
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


POINT = np.array([0.3, -0.7, 1.1])


class TestGrad:
    def test_plain_in_plain_out(self):
        assert grad(lambda x: x**3)(2.0) == 12.0
        assert type(grad(lambda x: x**3)(2.0)) is float
        assert type(grad(lambda x: x**3)(2)) is float
        assert type(grad(lambda x: (x**3).sum())(np.ones(2))) is np.ndarray

    def test_values_in_values_out(self):
        x = Value(2.0)
        g = grad(lambda x: x**3)(x)
        assert isinstance(g, Value)
        g.backward()
        assert (g.data, x.grad) == (12.0, 12.0)

    def test_the_inputs_are_left_alone(self):
        x, mine = Value(2.0), np.ones(2)
        grad(lambda x: x**3)(x)
        grad(lambda x: (x * x).sum())(mine)[0] = 99
        assert x.grad is None
        assert mine.tolist() == [1, 1]

    def test_wrt(self):
        f = lambda x, y: x * x * y  # noqa: E731
        assert grad(f)(3.0, 5.0) == 30.0
        assert grad(f, 1)(3.0, 5.0) == 9.0
        assert grad(f, -1)(3.0, 5.0) == 9.0
        assert grad(f, (0, 1))(3.0, 5.0) == (30.0, 9.0)
        assert value_and_grad(f, (1,))(3.0, 5.0) == (45.0, (9.0,))

    def test_wrt_outside_the_arguments(self):
        with pytest.raises(TypeError, match=r"wrt=2, but <lambda> was called with 1 argument"):
            grad(lambda x: x, 2)(1.0)

    def test_what_is_not_differentiated_stays_plain(self):
        def f(x, n, mode, *, power):
            assert type(n) is int
            assert mode == "twice"
            return x**power * n

        assert grad(f)(2.0, 3, "twice", power=2) == 12.0

    def test_no_path_gives_zeros(self):
        assert grad(lambda x, y: x * 2, 1)(1.0, 2.0) == 0.0
        assert grad(lambda x: 5.0)(1.0) == 0.0
        assert grad(lambda x, y: x.sum(), 1)(np.ones(2), np.ones((2, 3))).tolist() == np.zeros((2, 3)).tolist()

    def test_float32(self):
        g = grad(lambda x: (x * x).sum())(np.ones(2, np.float32))
        assert g.dtype == np.float32

    def test_a_result_that_is_no_scalar_is_refused(self):
        with pytest.raises(BackwardError, match=r"one scalar result; this one gave shapes \[\(2,\)\].*jacobian or vjp"):
            grad(lambda x: x * 2)(np.ones(2))
        with pytest.raises(BackwardError, match="one scalar result"):
            grad(lambda x: (x, x))(1.0)

    def test_a_forgotten_return_is_noticed(self):
        def f(x):
            x * 2

        with pytest.raises(BackwardError, match="f returned None; did you forget `return`"):
            grad(f)(1.0)

    @pytest.mark.parametrize("result", ["no", 1j, object(), np.array(["a"]), (np.ones(2), None)])
    def test_a_result_that_is_no_number_is_refused(self, result):
        with pytest.raises(BackwardError, match=r"returned .*(must return a Value or real numbers|did you forget)"):
            grad(lambda x: result)(1.0)

    def test_an_argument_that_is_no_number_is_refused(self):
        with pytest.raises(DataError):
            grad(lambda x: x)("one")

    def test_name_and_doc_stay(self):
        def cubed(x):
            """x³"""
            return x**3

        assert (grad(cubed).__name__, grad(cubed).__doc__) == ("cubed", "x³")

    def test_branches_and_loops_of_python(self):
        def f(x):
            while x < 100:
                x = x * x if x > 3 else x + 1
            return x

        assert grad(f)(1.5) == pytest.approx(4 * 3.5**3)


class TestNests:
    def test_arguments_may_be_nested(self):
        params = {"layers": [{"w": np.array([[1.0, 2.0]]), "b": 3.0}, {"w": np.ones((2, 1)), "b": np.zeros(1)}],
                  "scale": (2.0,)}  # fmt: skip

        def loss(params, x):
            h = (x @ params["layers"][0]["w"] + params["layers"][0]["b"]).tanh()
            return ((h @ params["layers"][1]["w"] + params["layers"][1]["b"]) * params["scale"][0]).sum()

        x = np.array([[0.5], [-0.2]])
        value, grads = value_and_grad(loss)(params, x)
        assert type(value) is float
        assert type(grads["scale"]) is tuple
        assert grads["layers"][0]["w"].shape == (1, 2)
        assert type(grads["layers"][0]["b"]) is float
        assert grads["layers"][1]["b"].tolist() == [4.0]
        assert grads["scale"][0] == pytest.approx(value / 2)

    def test_a_list_of_numbers_is_a_nest(self):
        assert grad(lambda xs: xs[0] * xs[1])([2.0, 3.0]) == [3.0, 2.0]

    def test_results_may_be_nested(self):
        out, pull = vjp(lambda x: {"double": 2 * x, "parts": [x * x, 7.0]}, 3.0)
        assert out == {"double": 6.0, "parts": [9.0, 7.0]}
        assert pull({"double": 1.0, "parts": [10.0, 99.0]}) == (62.0,)
        out, tangent = jvp(lambda x: (2 * x, [x * x]), (3.0,), (1.0,))
        assert (out, tangent) == ((6.0, [9.0]), (2.0, [6.0]))

    def test_a_result_named_twice_counts_twice(self):
        def f(x):
            y = x * 3
            return y, y

        assert vjp(f, 2.0)[1]((1.0, 10.0)) == (33.0,)

    def test_the_argument_itself_as_a_result(self):
        out, pull = vjp(lambda x: (x, x), 2.0)
        assert (out, pull((1.0, 10.0))) == ((2.0, 2.0), (11.0,))
        assert jvp(lambda x: x, (2.0,), (5.0,)) == (2.0, 5.0)


class TestVjpAndJvp:
    def test_a_pull_can_be_used_again(self):
        out, pull = vjp(lambda x, y: x * y, np.array([1.0, 2.0]), 3.0)
        assert out.tolist() == [3, 6]
        for u in ([1.0, 0.0], [0.0, 1.0]):
            dx, dy = pull(np.array(u))
            assert dx.tolist() == [3 * u[0], 3 * u[1]]
            assert dy == u[0] + 2 * u[1]

    def test_a_pull_on_values_gives_values(self):
        _, pull = vjp(lambda x: x * x, np.array([3.0, 4.0]))
        u = Value(np.array([1.0, 2.0]))
        (g,) = pull(u)
        assert isinstance(g, Value)
        g.sum().backward()
        assert u.grad.tolist() == [6.0, 8.0]

    def test_a_value_of_one_number_stands_for_all(self):
        _, pull = vjp(lambda x: x * 2.0, np.ones(3))
        (g,) = pull(Value(5.0))
        assert g.data.tolist() == [10.0] * 3

    def test_jvp_agrees_with_vjp(self):
        rng = np.random.default_rng(0)
        x, v = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
        f = lambda x: softmax(x @ x.mT).sum(axis=0) * exp(x).sum(axis=1)  # noqa: E731
        out, tangent = jvp(f, (x,), (v,))
        u = rng.normal(size=out.shape)
        (g,) = vjp(f, x)[1](u)
        assert np.sum(u * tangent) == pytest.approx(np.sum(g * v), rel=1e-13)

    def test_jvp_of_several_inputs(self):
        assert jvp(lambda a, b: a * b, (2.0, 3.0), (1.0, 10.0)) == (6.0, 23.0)
        assert jvp(lambda a, b: a * 2, (2.0, 3.0), (1.0, 10.0)) == (4.0, 2.0)

    def test_jvp_of_a_constant_is_zero(self):
        out, tangent = jvp(lambda x: np.ones(3), (1.0,), (1.0,))
        assert out.tolist() == [1, 1, 1]
        np.testing.assert_array_equal(tangent, 0.0)

    def test_jvp_refuses_what_does_not_fit(self):
        with pytest.raises(TypeError, match=r"jvp\(f, \(x, y\), \(dx, dy\)\)"):
            jvp(lambda x: x, 1.0, 1.0)
        with pytest.raises(ShapeError, match=r"a tangent has shape \(2,\); its input has \(3,\)"):
            jvp(lambda x: x.sum(), (np.ones(3),), (np.ones(2),))

    def test_a_cotangent_of_another_form_is_refused(self):
        _, pull = vjp(lambda x: (x, x * 2), 1.0)
        with pytest.raises(ShapeError, match=r"the cotangent of this result needs a tuple of 2 parts; got 1\.0"):
            pull(1.0)

    def test_a_constant_result_has_a_tangent_of_its_shape(self):
        _, tangent = jvp(lambda x: (x * 2.0, np.ones(3)), (1.0,), (1.0,))
        assert tangent[0] == 2.0
        assert tangent[1].tolist() == [0, 0, 0]


class TestMatrices:
    def test_jacobian(self):
        jac = jacobian(lambda x: np.stack([x[0] * x[1], x[1] ** 2, sin(x[0])]))(np.array([2.0, 3.0]))
        np.testing.assert_allclose(jac, [[3, 2], [0, 6], [math.cos(2.0), 0]], rtol=1e-15)

    def test_jacobian_of_softmax_is_full(self):
        x = np.array([0.1, -0.4, 0.8])
        p = softmax(x)
        np.testing.assert_allclose(jacobian(softmax)(x), np.diag(p) - np.outer(p, p), atol=1e-16)

    @pytest.mark.parametrize("f, x, shape", [
        (lambda x: x.sum(), np.ones((2, 3)), (2, 3)), (lambda x: x * 2.0, np.ones((2, 3)), (2, 3, 2, 3)),
        (lambda x: x * np.ones(4), 2.0, (4,)), (lambda x: x * x, 3.0, ()), (lambda x: x[:0], np.ones(3), (0, 3)),
        (lambda x: x, np.ones((0, 2)), (0, 2, 0, 2)), (lambda x: np.ones(2), np.ones(3), (2, 3)),
    ])  # fmt: skip
    def test_the_shape_is_output_then_input(self, f, x, shape):
        assert np.shape(jacobian(f)(x)) == shape

    def test_hessian_of_rosenbrock(self):
        h = hessian(rosenbrock)(POINT)
        expected = np.stack([numeric_gradients(lambda x: grad(rosenbrock)(x), [POINT], row)[0] for row in np.eye(3)])
        assert_close(h, expected, "hessian", tolerance=1e-9)
        np.testing.assert_allclose(h, h.T, rtol=1e-15)

    def test_hvp_is_the_hessian_times_a_vector(self):
        v = np.array([1.0, -2.0, 0.5])
        np.testing.assert_allclose(hvp(rosenbrock, POINT, v), hessian(rosenbrock)(POINT) @ v, rtol=1e-13)

    def test_second_argument(self):
        f = lambda a, x: (a * x**3).sum()  # noqa: E731
        np.testing.assert_allclose(hessian(f, 1)(2.0, np.array([1.0, 2.0])), [[12, 0], [0, 24]])

    def test_a_nest_of_outputs_holds_the_nest_of_inputs(self):
        """Each block is the Jacobian of that output with respect to that input alone."""
        w, b = np.array([[0.2, -0.7], [1.1, 0.4], [0.3, 0.9]]), np.array([0.5, -0.1])

        def f(p):
            h = np.tanh(p["w"] @ p["b"][0])
            return {"h": h, "sums": (h.sum(), [p["b"][0] * 2.0])}

        blocks = jacobian(f)({"w": w, "b": [b]})
        for out, block in ((lambda w, b: f({"w": w, "b": [b]})["h"], blocks["h"]),
                           (lambda w, b: f({"w": w, "b": [b]})["sums"][0], blocks["sums"][0]),
                           (lambda w, b: f({"w": w, "b": [b]})["sums"][1][0], blocks["sums"][1][0])):  # fmt: skip
            assert_close(block["w"], jacobian(out)(w, b), "by w", tolerance=1e-15)
            assert_close(block["b"][0], jacobian(out, 1)(w, b), "by b", tolerance=1e-15)
        assert blocks["h"]["w"].shape == (3, 3, 2)
        assert not blocks["sums"][1][0]["w"].any()

    def test_several_arguments_give_a_tuple(self):
        by_x, by_y = jacobian(lambda x, y: x * y, wrt=(0, 1))(np.array([1.0, 2.0]), 3.0)
        assert by_x.tolist() == [[3, 0], [0, 3]]
        assert by_y.tolist() == [1, 2]

    def test_hessian_of_a_nest(self):
        """x²y + sin(x): every pair of inputs has its block; checked by the same function of one array."""
        h = hessian(lambda p: p["x"] ** 2 * p["y"] + sin(p["x"]))({"x": 2.0, "y": 3.0})
        flat = hessian(lambda v: v[0] ** 2 * v[1] + sin(v[0]))(np.array([2.0, 3.0]))
        assert [[h[a][b] for b in "xy"] for a in "xy"] == flat.tolist()

    def test_a_nested_jacobian_is_differentiable(self):
        f = lambda x: jacobian(lambda p: p["a"] * p["b"])({"a": x * x, "b": x})["a"]  # noqa: E731
        assert (f(3.0), grad(f)(3.0)) == (3.0, 1.0)

    def test_float32_stays(self):
        blocks = jacobian(lambda xs: xs[0] * xs[1])([np.ones(2, np.float32), np.ones(2, np.float32)])
        assert [block.dtype for block in blocks] == [np.float32, np.float32]

    @pytest.mark.parametrize("wrt", ["y", ["y"], (0, "y"), 1.0])
    def test_wrt_is_a_place(self, wrt):
        with pytest.raises(TypeError, match=r"wrt is the place of an argument, wrt=0, or a tuple.*got"):
            jacobian(lambda x, y: x * y, wrt)(1.0, 2.0)


class TestHigherOrders:
    @pytest.mark.parametrize("order", range(1, 7))
    def test_derivatives_of_a_power(self, order):
        f = lambda x: x**6  # noqa: E731
        for _ in range(order):
            f = grad(f)
        assert f(1.5) == pytest.approx(math.factorial(6) / math.factorial(6 - order) * 1.5 ** (6 - order))

    def test_derivatives_of_sin_go_round(self):
        f = sin
        for expected in (math.cos(0.3), -math.sin(0.3), -math.cos(0.3), math.sin(0.3)):
            f = grad(f)
            assert f(0.3) == pytest.approx(expected, rel=1e-15)

    def test_third_order_through_fused_ops(self):
        """Against the same in simple ops, by another path through the table."""
        w = np.array([0.7, -1.2, 0.4])
        x = np.array([0.2, -0.5, 0.9])

        def fused(x):
            return (softmax(x.layer_norm()) * w).sum()

        def simple(x):
            centred = x - x.sum() / 3
            e = exp(centred * ((centred * centred).sum() / 3 + 1e-5) ** -0.5)
            return (e / e.sum() * w).sum()

        def third(f):
            directional = lambda x: (grad(f)(x) * w).sum()  # noqa: E731
            return grad(lambda x: (grad(directional)(x) * w).sum())(x)

        assert_close(third(fused), third(simple), tolerance=1e-12)

    def test_float32_beside_float64_to_second_order(self):
        w = np.array([1.0, 2.0])
        x = np.array([0.5, 0.25], np.float32)
        f = lambda x: (w * x**3).sum()  # noqa: E731
        second = grad(lambda x: grad(f)(x).sum())(x)
        assert second.dtype == np.float32
        np.testing.assert_allclose(second, 6 * w * x)

    def test_forward_over_reverse_over_forward(self):
        f = lambda x: exp(x * x)  # noqa: E731
        along = lambda x: jvp(f, (x,), (1.0,))[1]  # noqa: E731
        third = jvp(grad(along), (0.5,), (1.0,))[1]
        x = 0.5
        assert third == pytest.approx((12 * x + 8 * x**3) * math.exp(x * x), rel=1e-14)

    def test_a_gradient_in_a_loss(self):
        """A gradient penalty: backward through a gradient, to the weights."""
        w = Value(np.array([1.0, 2.0]))
        penalty = (grad(lambda x: ((x * w).tanh()).sum())(Value(np.array([0.3, 0.4]))) ** 2).sum()
        penalty.backward()

        def by_hand(w):
            x = np.array([0.3, 0.4])
            return np.sum((w * (1 - np.tanh(x * w) ** 2)) ** 2)

        assert_close(w.grad, numeric_gradients(by_hand, [w.data], 1.0)[0])


class TestNesting:
    """Perturbation confusion: an inner derivative must not mix with the one around it."""

    def test_the_classic(self):
        assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(2.0) == 1.0

    def test_an_inner_gradient_that_depends_on_the_outer_variable(self):
        assert grad(lambda x: x * grad(lambda y: x * y)(1.0))(2.0) == 4.0
        assert grad(lambda x: x * grad(lambda y: x * y * y)(3.0))(2.0) == 24.0

    def test_three_deep(self):
        f = grad(lambda x: grad(lambda y: grad(lambda z: x * y * z * z)(2.0))(3.0))
        assert f(5.0) == 4.0

    def test_with_values_of_the_outer_function_as_arguments(self):
        assert grad(lambda x: grad(lambda y: x * y * y)(x))(3.0) == 12.0

    def test_vjp_jvp_and_jacobian_inside(self):
        assert grad(lambda x: vjp(lambda y: x * y, 5.0)[1](1.0)[0] * x)(3.0) == 6.0
        assert grad(lambda x: vjp(lambda y: x * y, 5.0)[0])(3.0) == 5.0
        assert grad(lambda x: jvp(lambda y: x * x * y, (5.0,), (1.0,))[1])(3.0) == 6.0
        inner = lambda x: jacobian(lambda y: y * x)(np.ones(2)).sum()  # noqa: E731
        assert grad(inner)(3.0) == 2.0
        assert jvp(lambda x: grad(lambda y: x * y * y)(3.0), (2.0,), (1.0,)) == (12.0, 6.0)

    def test_jvp_tangents_may_be_values(self):
        x, v = Value(3.0), Value(2.0)
        _, tangent = jvp(lambda x: x * x, (x,), (v,))
        tangent.backward()
        assert (tangent.data, v.grad, x.grad) == (12.0, 6.0, 4.0)

    def test_a_closed_over_leaf_is_no_outer_variable(self):
        """Outside any derivative, plain arguments give plain results, whatever the function closes over."""
        w = Value(3.0)
        assert type(grad(lambda x: x * x * w)(2.0)) is float
        assert w.grad is None

    def test_an_inner_derivative_that_fails_leaves_no_trace(self):
        def f(x):
            with pytest.raises(BackwardError):
                grad(lambda y: np.ones(2) * y)(1.0)
            return x * x

        assert grad(f)(3.0) == 6.0
        assert type(grad(lambda x: x)(1.0)) is float

    def test_under_no_grad(self):
        with no_grad():
            assert grad(lambda x: x * grad(lambda y: x * y)(1.0))(2.0) == 4.0

    def test_a_worker_thread_knows_the_outer_variable(self):
        with ThreadPoolExecutor(1) as pool:
            outer = grad(lambda x: x * pool.submit(lambda: grad(lambda y: x * y * y)(1.0)).result())
            assert outer(3.0) == 12.0  # d(x · 2x)/dx

    def test_threads_do_not_see_each_other(self):
        kinds = []

        def other():
            kinds.append(type(grad(lambda y: y * y)(3.0)))

        def f(x):
            t = threading.Thread(target=other)
            t.start()
            t.join()
            return x

        grad(f)(1.0)
        assert kinds == [float]


class TestLostGradients:
    """A function of plain numbers has the derivative 0; a warning names the line that left the graph."""

    @pytest.mark.parametrize("f, how", [
        (lambda x: x.item() ** 2, "item()"), (lambda x: (x * 2).data, ".data"), (lambda x: int(x) ** 2, "int(v)"),
        (lambda x: Value(2.0) * x.item(), "item()"),
    ])  # fmt: skip
    def test_the_line_is_named(self, f, how):
        with pytest.warns(LostGradientWarning, match=f"became one by {re.escape(how)} in test_derivatives.py:") as seen:
            assert grad(f)(3.0) == 0.0
        assert seen[0].filename == __file__ and len(seen) == 1

    def test_once_a_jacobian(self):
        with pytest.warns(LostGradientWarning) as seen:
            jacobian(lambda x: x.numpy() * 2)(np.ones(3))
        assert len(seen) == 1

    @pytest.mark.parametrize("f", [
        lambda x: 3.0, lambda x: x * x.item(), lambda x: 1.0 if x > 0 else 0.0, lambda x: x.detach() * 2,
        lambda x: x if x else 0.0, lambda x: x > float(x.detach()),
    ])  # fmt: skip
    def test_no_warning_where_nothing_was_lost(self, f):
        grad(f)(3.0)


class TestFloatsInsideADerivative:
    """`float(v)` of what depends on the inputs raises; so do the calls that Python and NumPy make of it."""

    @staticmethod
    def filled(x):
        out = np.empty((2, 2))
        out[0, 0] = x * x
        out[0, 1] = out[1, 0] = 1.0
        out[1, 1] = x
        return np.trace(out) * x

    @staticmethod
    def by_method(x):
        out = np.empty(2)
        out.fill(x)
        return out.sum() * x

    LOSSES = (lambda x: float(x) * x, lambda x: math.sin(x) * x, lambda x: np.fromiter([x, x], float).sum() * x,
              filled, by_method)  # fmt: skip

    @pytest.mark.parametrize("ask", [
        lambda f: grad(f)(3.0), lambda f: value_and_grad(f)(3.0), lambda f: vjp(f, 3.0),
        lambda f: jvp(f, (3.0,), (1.0,)), lambda f: jacobian(f)(3.0), lambda f: hessian(f)(3.0),
        lambda f: autograd.check_grads(f, 3.0), lambda f: autograd.compile(f)(3.0),
    ])  # fmt: skip
    def test_it_raises(self, ask):
        for f in self.LOSSES:
            f = getattr(f, "__func__", f)
            with pytest.raises((TypeError, ValueError)) as caught:
                ask(f)
            said = str(caught.value)
            assert "would be lost silently" in said or "float(v)" in said

    def test_what_does_not_depend_on_the_inputs_may_be_read(self):
        weight = Value(2.0)
        assert grad(lambda x: x * float(weight * 3))(1.0) == 6.0
        assert grad(lambda x: x * x * len(f"{x:.3f} {x}"))(1.0) == 2 * len("1.000 Value(1.0)")
        assert grad(lambda x: autograd.stack([x * x, x]).sum() * x)(3.0) == 33.0
        assert float(weight) == 2.0


def test_every_entry_of_a_model_against_finite_differences():
    """One function through most of the engine, first order."""
    rng = np.random.default_rng(3)
    params = [rng.normal(size=s) for s in [(4, 6), (6,), (6, 3), (3,), (4,), (4,)]]
    x, targets = rng.normal(size=(5, 4)), np.array([0, 2, 1, 1, 0])

    def loss(w1, b1, w2, b2, gamma, beta):
        h = autograd.layer_norm(x, gamma, beta)
        h = autograd.gelu(h @ w1 + b1)
        return autograd.cross_entropy(h @ w2 + b2, targets)

    _, pull = vjp(loss, *params)
    for got, expected in zip(pull(1.0), numeric_gradients(loss, params, 1.0), strict=True):
        assert_close(got, expected)


@pytest.mark.parametrize(
    ("call", "usage"),
    [
        (grad, r"grad\(f\)\(x\)"),
        (value_and_grad, r"value_and_grad\(f\)\(x\)"),
        (jacobian, r"jacobian\(f\)\(x\)"),
        (hessian, r"hessian\(f\)\(x\)"),
        (lambda f: vjp(f, 1.0), r"vjp\(f, x\)"),
        (lambda f: jvp(f, (1.0,), (1.0,)), r"jvp\(f, \(x,\), \(v,\)\)"),
        (lambda f: hvp(f, 1.0, 1.0), r"hvp\(f, x, v\)"),
        (autograd.compile, r"compile\(f\)\(x\)"),
        (lambda f: autograd.check_grads(f, 1.0), r"check_grads\(f, x\)"),
        (lambda f: autograd.check_formula(f, abs, 1.0), r"check_formula\(f, my_gradient, x\)"),
        (lambda f: autograd.check_formula(abs, f, 1.0), r"check_formula\(f, my_gradient, x\)"),
    ],
)
def test_what_is_no_function_is_refused_at_once(call, usage):
    with pytest.raises(TypeError, match=rf"takes a function, as in {usage}; got 3 \(int\)$"):
        call(3)
    with pytest.raises(TypeError, match=r"got Value\(2\.0\) \(Value\)\. Give it the function that computes this"):
        call(Value(2.0))


class TestAListThatWasMeantAsAVector:
    @pytest.mark.parametrize("f", [
        lambda x: (x**2).sum(), lambda x: x.sum(), lambda x: 2.0 * x, lambda x: grad(lambda y: y**2)(x),
    ])  # fmt: skip
    @pytest.mark.parametrize("point", [[1.0, 2.0], (1.0, 2.0)])
    @pytest.mark.parametrize("ask", [lambda f, x: grad(f)(x), autograd.check_grads], ids=["grad", "check_grads"])
    def test_the_error_says_what_to_write(self, ask, f, point):
        with pytest.raises((TypeError, AttributeError)) as caught:
            ask(f, point)
        assert caught.value.__notes__ == [
            "A list of numbers reaches the function as a list, not as a vector; write np.array([...]) for a vector."
        ]

    @pytest.mark.parametrize("f, xs", [
        (lambda x: x[0] + "a", ([1.0, 2.0],)),  # of another making
        (lambda x: x**2, ([np.ones(2)],)),  # a list of arrays, on purpose
        (lambda x: [1.0] - [x], (2.0,)),  # no list was given
    ])  # fmt: skip
    def test_other_errors_stay_as_they_are(self, f, xs):
        with pytest.raises(TypeError) as caught:
            grad(f)(*xs)
        assert not hasattr(caught.value, "__notes__")
