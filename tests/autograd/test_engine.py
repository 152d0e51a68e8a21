"""The backward walk: sums over paths, what it writes where, stale data, threads."""

import gc
import threading

import numpy as np
import pytest

from autograd import OPS, Op, Value, backward, custom_op, no_grad, stack, where
from autograd.engine import contributions, reach, walk
from autograd.errors import BackwardError, ShapeError, StaleDataError
from tests.autograd.judges import assert_close


def mixed_graph(seed=0):
    """Scalars and arrays, shared nodes, many-input ops, broadcasting: every branch of the walk."""
    rng = np.random.default_rng(seed)
    a, b = Value(rng.normal(), name="a"), Value(rng.normal(), name="b")
    m, v = Value(rng.normal(size=(3, 4)), name="m"), Value(rng.normal(size=4), name="v")
    s = a * b + a.tanh() * (b - a) / (b * b + 2.0) + (a * a + 1.0) ** 0.5
    h = (m * s + v).tanh() @ m.mT
    h = h.softmax() + where(h > 0, h, h * 0.1) + stack([h[0], h[1], v[:3] * a]) * m.sum() + h.layer_norm()
    return (a, b, m, v), (h * h).mean() + s.exp() + (v @ v)


class TestSums:
    def test_the_same_operand_twice(self):
        a = Value(3.0)
        (a * a).backward()
        assert a.grad == 6.0

    def test_a_diamond(self):
        a = Value(2.0)
        b = a * 3
        (b * b + b).backward()
        assert (b.grad, a.grad) == (13.0, 39.0)

    def test_only_what_leads_to_the_root_gets_a_gradient(self):
        a, b = Value(2.0), Value(3.0)
        used, aside = a * 2, a * b
        used.backward()
        assert (a.grad, b.grad, aside.grad) == (2.0, None, None)

    def test_a_gradient_through_an_op_without_one_is_none(self):
        a = Value(2.0)
        b = a * 2
        ((b > 1) * 3.0 + a).backward()
        assert (a.grad, b.grad) == (1.0, None)

    def test_root_and_leaf_in_one(self):
        a = Value(5.0)
        a.backward()
        a.backward(2.0)
        assert a.grad == 3.0


class TestWhatIsWritten:
    @pytest.mark.parametrize("bad, named", [
        (Value(1.0), "a Value"), ("x", "a str"), (np.ones(3), r"an array of shape \(3,\)"), ([1.0, 2.0], "a list"),
    ])  # fmt: skip
    def test_a_gradient_that_cannot_be_added_to_is_refused_and_nothing_is_changed(self, bad, named):
        v, w = Value([1.0, 2.0], name="v"), Value([3.0, 4.0])
        v.grad = bad
        with pytest.raises(BackwardError, match=f"the .grad of Value 'v' was set to {named}; .* v.grad = None"):
            (v * w).sum().backward()
        assert v.grad is bad and w.grad is None

    def test_leaves_add_up_exactly_and_results_hold_the_latest_pass(self):
        leaves, out = mixed_graph()
        out.backward()
        once = [leaf.grad for leaf in leaves]
        between = [node.grad for node in reach(out)]
        out.backward()
        for leaf, g in zip(leaves, once, strict=True):
            np.testing.assert_array_equal(leaf.grad, 2 * np.asarray(g))
        for node, g in zip(reach(out), between, strict=True):
            np.testing.assert_array_equal(node.grad, g)

    def test_a_node_that_the_latest_pass_did_not_reach_keeps_its_gradient(self):
        a = Value(2.0)
        b, c = a * 3, a * 5
        b.backward()
        c.backward()
        assert (b.grad, c.grad, a.grad) == (1.0, 1.0, 8.0)

    def test_two_roots_that_share_a_part(self):
        a = Value(2.0)
        shared = a * a
        first, second = shared * 3, shared * shared
        first.backward()
        assert shared.grad == 3.0
        second.backward()
        assert shared.grad == 8.0
        assert a.grad == 3 * 4 + 8 * 4

    def test_grad_can_be_set(self):
        a = Value(2.0)
        (a * 3).backward()
        a.grad = 0  # as micrograd does
        (a * 3).backward()
        assert a.grad == 3.0
        a.zero_grad()
        assert a.grad is None

    def test_every_leaf_owns_its_gradient(self):
        x, y = Value(np.ones(2)), Value(np.ones(2))
        cotangent = np.array([1.0, 2.0])
        (x + y).backward(cotangent)
        x.grad += 100
        assert y.grad.tolist() == [1.0, 2.0]
        assert cotangent.tolist() == [1.0, 2.0]

    def test_a_gradient_that_is_a_view_is_copied(self):
        x = Value(np.ones(4))
        out = x.reshape(2, 2)
        out.backward(np.ones((2, 2)))
        x.grad += 1
        assert out.grad.tolist() == [[1, 1], [1, 1]]

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_shape_and_dtype_are_those_of_the_owner(self, dtype):
        w = Value(np.ones((3, 2), dtype))
        b = Value(np.ones(2, dtype))
        s = Value(dtype(2))
        out = ((np.ones((5, 3)) @ w + b) * s).sum()
        out.backward()
        for leaf in (w, b, s):
            assert np.shape(leaf.grad) == leaf.shape
            assert np.asarray(leaf.grad).dtype == dtype
            assert type(leaf.grad) is type(leaf.data)

    def test_no_gradient_for_what_needs_none(self):
        data, w = Value(np.ones((2, 3)), requires_grad=False), Value(np.ones((3, 2)))
        (data @ w).sum().backward()
        assert data.grad is None
        assert w.grad is not None

    def test_an_unwanted_gradient_is_not_computed(self, monkeypatch):
        computed = []
        dx, dy = OPS["matmul"].vjp
        monkeypatch.setattr(OPS["matmul"], "vjp", (lambda *a: computed.append("x") or dx(*a),
                                                   lambda *a: computed.append("y") or dy(*a)))  # fmt: skip
        (np.ones((2, 3)) @ Value(np.ones((3, 2)))).sum().backward()
        assert computed == ["y"]


class TestCotangents:
    def test_one_of_the_roots_shape(self):
        x = Value(np.array([1.0, 2.0]))
        (x * x).backward(np.array([1.0, 10.0]))
        assert x.grad.tolist() == [2.0, 40.0]
        (x * x).backward([1, 0])
        assert x.grad.tolist() == [4.0, 40.0]

    def test_one_number_stands_for_all(self):
        x = Value(np.array([1.0, 2.0]))
        (x * x).backward(3.0)
        assert x.grad.tolist() == [6.0, 12.0]

    def test_a_root_of_one_number_needs_none(self):
        x = Value([[2.0]])
        (x * x).backward()
        assert x.grad.tolist() == [[4.0]]

    def test_a_value_counts_as_its_data(self):
        x = Value(2.0)
        (x * x).backward(Value(0.5))
        assert x.grad == 2.0
        assert type(x.grad) is float

    def test_a_missing_one_is_refused_with_the_sentence_to_write(self):
        x = Value(np.ones((2, 3)), name="x")
        out = x * 2
        out.name = "out"
        with pytest.raises(BackwardError) as error:
            out.backward()
        assert str(error.value) == (
            "Value 'out' is not a scalar (shape (2, 3)). Write .sum().backward() or .mean().backward(), or give a "
            "cotangent: .backward(grad=np.ones((2, 3)))"
        )
        assert (x.grad, out.grad) == (None, None)

    @pytest.mark.parametrize("cotangent", [np.ones(3), np.ones((3, 2)), [1, 2]])
    def test_one_of_another_shape_is_refused(self, cotangent):
        x = Value(np.ones((2, 3)))
        with pytest.raises(ShapeError, match=r"needs \(2, 3\)"):
            (x * 2).backward(cotangent)
        assert x.grad is None

    def test_constants_are_refused(self):
        with pytest.raises(BackwardError, match="nothing to differentiate"):
            (Value(1.0, requires_grad=False) * 2).backward()
        with pytest.raises(BackwardError, match="only a Value has gradients; got float"):
            backward(3.0)


class TestStaleData:
    def test_an_edit_between_forward_and_backward_is_refused_by_name(self):
        w = Value(2.0, name="w")
        out = w * w
        w.data = 3.0
        with pytest.raises(StaleDataError, match=r"Value 'w' was edited after the forward pass used it \(in mul\)"):
            out.backward()
        assert (w.grad, out.grad) == (None, None)
        (w * w).backward()
        assert w.grad == 6.0

    def test_an_edit_in_place_through_the_attribute_too(self):
        w = Value(np.ones(2), name="w")
        out = (w * w).sum()
        w.data -= 0.1
        with pytest.raises(StaleDataError, match="'w'"):
            out.backward()

    def test_a_constant_that_was_edited_too(self):
        w, c = Value(2.0), Value(5.0, name="c", requires_grad=False)
        out = w * c
        c.data = 6.0
        with pytest.raises(StaleDataError, match="'c'"):
            out.backward()

    def test_an_edit_of_a_leaf_of_another_graph_is_no_matter(self):
        a, b = Value(2.0), Value(3.0)
        out = a * a
        b.data = 4.0
        out.backward()
        assert a.grad == 4.0

    def test_an_edit_before_the_forward_pass_is_no_matter(self):
        a = Value(2.0)
        a.data = 3.0
        out = a * a
        out.backward()
        out.backward()
        assert a.grad == 12.0

    def test_functions_of_a_trace_refuse_too(self):
        from autograd import vjp

        w = Value(2.0, name="w")
        _, pull = vjp(lambda x: x * w, Value(1.0))
        w.data = 3.0
        with pytest.raises(StaleDataError, match="'w'"):
            pull(1.0)

    def test_touch_says_that_data_was_edited_in_place(self):
        w = Value(np.ones(2), name="w")
        out = (w * w).sum()
        w.data[0] = 5.0
        w.touch()
        with pytest.raises(StaleDataError):
            out.backward()


class TestRules:
    def test_a_rule_of_too_few_gradients_is_named(self):
        bad = Op("bad", forward=lambda x, y: x * y, vjp=lambda g, out, x, y: (g,), register=False)
        a, b = Value(1.0, name="a"), Value(2.0, name="b")
        for make in (lambda: bad(a, b), lambda: bad(Value(np.ones(2)), 1.0).sum()):
            with pytest.raises(BackwardError, match="rule of bad gave 1 gradients for 2 inputs; return a tuple"):
                make().backward()
        assert (a.grad, b.grad) == (None, None)

    def test_a_gradient_of_a_wrong_shape_is_named(self):
        bad = Op("bad", forward=lambda x: x.sum(axis=0), vjp=lambda g, out, x: (g,), register=False)
        x = Value(np.ones((2, 3)), name="x")
        with pytest.raises(BackwardError, match=r"gradient of shape \(3,\) came for Value 'x'.*is \(2, 3\)"):
            bad(x).sum().backward()
        assert x.grad is None

    def test_a_rule_that_raises_leaves_every_gradient_as_it_was(self):
        def broken(g, out, x):
            raise KeyError("broken")

        bad = Op("bad", forward=lambda x: x + 0.0, vjp=broken, register=False)
        a = Value(1.0)
        b = a * 2
        (b * 3).backward()
        out = bad(b) * b
        with pytest.raises(KeyError):
            out.backward()
        assert (a.grad, b.grad, out.grad) == (6.0, 3.0, None)

    def test_contributions_are_per_operand_in_order(self):
        a = Value(3.0)
        assert contributions(a * a, 1.0) == [(a, 3.0), (a, 3.0)]
        assert contributions(a - 2.0, 1.0) == [(a, 1.0)]


class TestEdits:
    """A hook or a rule that edits the gradient it is given changes no other node's."""

    def test_a_hook(self):
        a, b = Value(np.ones(2), name="a"), Value(np.ones(2), name="b")
        a.hook(lambda g: np.clip(g, -0.1, 0.1, out=g))
        out = a + b
        (out * 3.0).sum().backward()
        assert (a.grad.tolist(), b.grad.tolist(), out.grad.tolist()) == ([0.1, 0.1], [3.0, 3.0], [3.0, 3.0])

    def test_a_hook_of_a_result_that_returns_nothing(self):
        a, b = Value(np.ones(2)), Value(np.ones(2))
        h = a * 1.0

        def halve(g):
            g *= 0.5

        h.hook(halve)
        (h + b).sum().backward()
        assert (h.grad.tolist(), a.grad.tolist(), b.grad.tolist()) == ([0.5, 0.5], [0.5, 0.5], [1.0, 1.0])

    def test_a_rule(self):
        def rule(g, out, x):
            g *= 2.0
            return (g,)

        twice = custom_op("twice_in_place", forward=lambda x: 2.0 * x, vjp=rule)
        a, b = Value(np.ones(2)), Value(np.ones(2))
        h = twice(a)
        (h + b).sum().backward()
        assert (a.grad.tolist(), b.grad.tolist(), h.grad.tolist()) == ([2.0, 2.0], [1.0, 1.0], [1.0, 1.0])


class TestWaysToWalk:
    """A pass that is watched, or recorded to be differentiated again, adds the same sums."""

    @pytest.mark.parametrize("seed", range(5))
    def test_a_watched_pass_agrees_to_the_bit(self, seed):
        leaves, out = mixed_graph(seed)
        leaves[0].hook(lambda g: 2 * g)
        out.parents[0].hook(lambda g: g + 1.0)
        grads, totals = {out: 1.0}, {}
        between = walk(reach(out), grads, watch=lambda node, g, x, dx, before, total: totals.update({x: total}))
        out.backward()
        for node, g in zip(reach(out), between, strict=True):
            assert (type(node.grad), np.asarray(node.grad).tobytes()) == (type(g), np.asarray(g).tobytes())
        for leaf in leaves[1:]:
            assert np.asarray(leaf.grad).tobytes() == np.asarray(grads[leaf]).tobytes()
            assert totals[leaf] is grads[leaf]

    def test_taped_agrees_too(self):
        leaves, out = mixed_graph()
        grads = {out: Value(1.0)}
        walk(reach(out), grads, taped=True)
        out.backward()
        for leaf in leaves:
            assert_close(grads[leaf], leaf.grad, leaf.name, tolerance=1e-13)


class TestThreads:
    def test_each_thread_has_its_own_pass(self):
        """Four threads differentiate the same graph's leaves at once; nothing is lost or mixed."""
        w = Value(np.ones(3))
        passes, workers = 200, 4
        failures = []

        def train():
            try:
                for _ in range(passes):
                    ((w * 2.0).tanh() * 0.0 + w).sum().backward()
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=train) for _ in range(workers)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not failures
        assert w.grad.tolist() == [passes * workers] * 3

    def test_one_graph_from_two_threads(self):
        a = Value(1.5)
        out = a
        for _ in range(300):
            out = out * 1.01 + a
        out.backward()
        expected, a.grad = a.grad, None
        threads = [threading.Thread(target=out.backward) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert a.grad == pytest.approx(8 * expected, rel=1e-15)

    def test_a_backward_pass_inside_a_hook(self):
        a, b = Value(2.0), Value(3.0)

        def inner(g):
            (b * b).backward()

        mid = a * a
        mid.hook(inner)
        (mid * 2).backward()
        assert (a.grad, b.grad, mid.grad) == (8.0, 6.0, 2.0)


class TestDepthAndMemory:
    @pytest.mark.slow
    def test_a_deep_chain(self):
        a = Value(1.0)
        out = a
        for _ in range(100_000):
            out = out * 1.00001
        out.backward()
        assert a.grad == pytest.approx(1.00001**100_000)

    def test_stacked_diamonds_take_linear_time(self):
        """2**500 paths."""
        a = Value(1.0)
        out = a
        for _ in range(500):
            out = out * 0.5 + out * 0.5
        out.backward()
        assert a.grad == 1.0

    @pytest.mark.slow
    @pytest.mark.parametrize("link", [lambda v: v * 1.0, lambda v: v.tanh(), lambda v: where(True, v, 0.0)],
                             ids=["two inputs", "one input", "a tuple of inputs"])  # fmt: skip
    def test_a_deep_graph_is_freed_without_recursion(self, link):
        """By reference count alone: no cycle, and no C stack that grows with depth."""
        gc.disable()
        try:
            before = sum(issubclass(type(x), Value) for x in gc.get_objects())
            node = Value(0.5)
            for _ in range(200_000):
                node = link(node)
            del node
            after = sum(issubclass(type(x), Value) for x in gc.get_objects())
        finally:
            gc.enable()
        assert after == before

    @pytest.mark.slow
    def test_a_training_loop_does_not_grow(self):
        w = Value(np.ones(3))
        gc.collect()
        counts = []
        for _ in range(5):
            loss = ((w * 2.0 - 1.0) ** 2).sum()
            loss.backward()
            w.data -= 0.01 * w.grad
            w.grad = None
            del loss
            counts.append(sum(issubclass(type(x), Value) for x in gc.get_objects()))
        assert len(set(counts)) == 1

    def test_updates_outside_no_grad_are_plain_numbers(self):
        """`p.data -= lr * p.grad` never records: data and gradients are no Values."""
        w = Value(1.0)
        (w * w).backward()
        w.data -= 0.1 * w.grad
        assert type(w.data) is type(w.grad) is float
        assert w.op is None

    def test_a_graph_without_gradient_is_not_kept(self):
        w = Value(np.ones(3))
        with no_grad():
            out = (w * 2).exp()
        assert out.parents == ()


def test_results_do_not_depend_on_the_order_of_sets():
    """The sums run in the order of creation, so a repetition gives the same bits."""
    runs = set()
    for _ in range(3):
        leaves, out = mixed_graph(11)
        out.backward()
        runs.add(b"".join(np.asarray(leaf.grad).tobytes() for leaf in leaves))
    assert len(runs) == 1


def test_a_value_has_no_hook_on_attributes():
    """With a `__getattr__` Python reads all attributes slowly: scalar graphs took 1.4 times as long."""
    assert "__getattr__" not in dir(Value) and Value.__getattribute__ is object.__getattribute__
