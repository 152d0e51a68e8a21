"""What is recorded while a graph is built: no_grad, scopes, source lines, the first NaN."""

import threading

import numpy as np
import pytest

import autograd
from autograd import Value, detect_nan, grad, jvp, no_grad, record_lines
from autograd.errors import BackwardError, NonFiniteError
from autograd.graph import scope
from autograd.modes import USUAL, enable_grad, modes, modes_in_use


@pytest.fixture(autouse=True)
def modes_are_closed():
    """A test that leaves a mode open fails here and not in its neighbour."""
    yield
    assert modes.now is USUAL and not modes_in_use
    assert (modes.recording, modes.note, modes.lines, modes.finite) == (True, None, False, False)


class TestNoGrad:
    def test_results_have_no_parents(self):
        a = Value(3.0)
        with no_grad():
            b = a * 2
        assert (b.data, b.parents, b.inputs, b.op, b.requires_grad) == (6.0, (), (), None, False)
        assert (a * 2).parents == (a,)

    def test_it_survives_an_exception(self):
        with pytest.raises(ZeroDivisionError), no_grad():
            raise ZeroDivisionError
        assert (Value(1.0) * 2).requires_grad

    def test_it_nests(self):
        a = Value(1.0)
        with no_grad():
            with no_grad():
                pass
            assert not (a * 2).requires_grad
            with enable_grad():
                assert (a * 2).requires_grad
            assert not (a * 2).requires_grad

    def test_leaves_may_be_made_inside(self):
        with no_grad():
            a = Value(2.0)
        (a * 3).backward()
        assert a.grad == 3.0

    @pytest.mark.parametrize("view", [
        lambda p: p.T, lambda p: p.reshape(-1), lambda p: p[0], lambda p: p[:, ::-1], lambda p: p.astype(float),
        lambda p: np.copy(p), lambda p: p.squeeze(), lambda p: p.split(2)[0], lambda p: p.swapaxes(0, 1).reshape(3, 2),
    ])  # fmt: skip
    def test_a_result_owns_its_numbers(self, view):
        p = Value(np.ones((2, 3)))
        with no_grad():
            q = view(p)
        q.data -= 1.0
        assert p.data.tolist() == np.ones((2, 3)).tolist()
        p.data -= 5.0
        assert not q.data.any()

    def test_it_belongs_to_its_thread(self):
        a = Value(1.0)
        inside, done = threading.Event(), threading.Event()
        seen = {}

        def other():
            inside.wait()
            seen["recorded"] = (a * 2).requires_grad
            with no_grad():
                seen["quiet"] = (a * 2).requires_grad
            done.set()

        thread = threading.Thread(target=other)
        thread.start()
        with no_grad():
            inside.set()
            done.wait()
            assert not (a * 2).requires_grad
        thread.join()
        assert seen == {"recorded": True, "quiet": False}

    def test_derivatives_record_even_inside(self):
        with no_grad():
            assert grad(lambda x: x**3)(2.0) == 12.0
            assert grad(grad(lambda x: x**3))(2.0) == 12.0
            assert jvp(lambda x: x**3, (2.0,), (1.0,)) == (8.0, 12.0)
            assert not (Value(1.0) * 2).requires_grad

    def test_backward_from_such_a_result_says_why(self):
        with no_grad():
            b = Value(1.0) * 2
        with pytest.raises(BackwardError, match=r"nothing to differentiate.*outside no_grad\(\)"):
            b.backward()


class TestScopes:
    def test_nodes_know_the_call_that_made_them(self):
        a = Value(1.0)
        with scope("blocks.0", kind="Block") as outer:
            b = a * 2
            with scope("attention", kind="Attention") as inner:
                c = b * 2
            d = c * 2
        assert (a.scope, b.scope, c.scope, d.scope) == (None, outer, inner, outer)
        assert (inner.path, inner.parent, inner.kind) == ("blocks.0.attention", outer, "Attention")
        assert (a * 2).scope is None

    def test_each_call_is_another(self):
        with scope("layer") as first:
            pass
        with scope("layer") as second:
            pass
        assert first is not second
        assert first.serial < second.serial

    def test_an_exception_closes_it(self):
        with pytest.raises(ValueError), scope("layer"):
            raise ValueError
        assert (Value(1.0) * 2).scope is None

    def test_a_name_keeps_the_scope(self):
        with scope("layer") as here:
            b = Value(1.0) * 2
        b.name = "b"
        assert (b.name, b.scope) == ("b", here)


class TestLines:
    def test_a_node_remembers_the_users_line(self):
        a = Value(1.0)
        with record_lines():
            b = a * 2  # the line
            c = autograd.softmax(autograd.stack([a, b]))
        assert b.line.startswith("test_modes.py:")
        assert b.line.endswith("b = a * 2  # the line")
        assert c.line.endswith("c = autograd.softmax(autograd.stack([a, b]))")
        assert (a * 2).line is None


class TestDetectNan:
    def test_forward_names_the_op_and_its_inputs(self):
        x = Value(-1.0, name="x")
        expected = pytest.raises(NonFiniteError, match=r"log made nan from x = -1.0")
        with np.errstate(invalid="ignore"), detect_nan(), expected:
            x.log()

    def test_forward_says_where_in_an_array(self):
        x, y = Value([1.0, 2.0], name="x"), Value([1.0, 0.0], name="y")
        expected = pytest.raises(NonFiniteError, match=r"div made inf at \[1\] from x = shape \(2,\), y = shape \(2,\)")
        with np.errstate(divide="ignore"), detect_nan(), expected:
            x / y

    def test_backward_names_the_rule(self):
        x = Value(0.0, name="x")
        with np.errstate(divide="ignore"), detect_nan():
            out = x.sqrt()
            with pytest.raises(NonFiniteError, match=r"rule of sqrt sent inf to x = 0.0"):
                out.backward()
        assert (x.grad, out.grad) == (None, None)

    def test_a_sound_pass_gives_the_usual_gradients(self):
        x = Value(np.array([1.0, 2.0]))
        y = x * x
        with detect_nan():
            y.sum().backward()
        assert x.grad.tolist() == [2.0, 4.0]
        assert y.grad.tolist() == [1.0, 1.0]

    def test_inside_nested_derivatives(self):
        with detect_nan():
            assert grad(grad(lambda x: x**3))(2.0) == 12.0
            assert jvp(lambda x: x * x, (3.0,), (1.0,)) == (9.0, 6.0)
            with np.errstate(divide="ignore"), pytest.raises(NonFiniteError):
                grad(grad(lambda x: x**1.5))(0.0)

    def test_without_it_nothing_stops(self):
        with np.errstate(invalid="ignore"):
            assert np.isnan(Value(-1.0).log().data)


class TestHooks:
    def test_a_hook_sees_the_complete_gradient(self):
        a = Value(3.0)
        seen = []
        a.hook(seen.append)
        (a * a + a).backward()
        assert seen == [7.0]
        assert a.grad == 7.0

    def test_what_it_returns_takes_the_gradients_place(self):
        a = Value(2.0)
        b = a * 3
        b.hook(lambda g: 10 * g)
        (b * 1.0).backward()
        assert (b.grad, a.grad) == (10.0, 30.0)

    def test_a_clipping_hook_on_a_leaf_counts_per_pass(self):
        a = Value(np.array([1.0, 5.0]))
        a.hook(lambda g: np.clip(g, -1, 1))
        for _ in range(2):
            (a * a).sum().backward()
        assert a.grad.tolist() == [2.0, 2.0]

    def test_several_run_in_order_and_one_can_leave(self):
        a = Value(1.0)
        a.hook(lambda g: g + 1)
        remove = a.hook(lambda g: g * 10)
        (a * 1.0).backward()
        assert a.grad == 20.0
        remove()
        remove()  # twice does no harm
        a.grad = None
        (a * 1.0).backward()
        assert a.grad == 2.0

    def test_one_of_a_wrong_shape_is_refused(self):
        a = Value(np.ones(3), name="a")
        a.hook(lambda g: np.ones(2))
        with pytest.raises(BackwardError, match=r"gradient of shape \(2,\) came for Value 'a'.*\(3,\)"):
            (a * 1.0).sum().backward()
        assert a.grad is None

    def test_a_hook_that_raises_leaves_every_gradient_as_it_was(self):
        a, b = Value(1.0), Value(2.0)
        b.hook(lambda g: 1 / 0)
        (a * 5).backward()
        out = a * b
        with pytest.raises(ZeroDivisionError):
            out.backward()
        assert (a.grad, b.grad, out.grad) == (5.0, None, None)

    def test_hooks_run_on_the_way_to_a_derivative_of_derivatives(self):
        def f(x):
            y = x * x
            y.hook(lambda g: 2 * g)
            return y * 1.0

        assert grad(f)(3.0) == 12.0
        assert grad(grad(f))(3.0) == 4.0
