"""What is known to have bitten engines of this kind: one test each, in the order of the design's list."""

import copy
import gc
import math
import operator
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import autograd
from autograd import Value, draw, grad, micrograd, no_grad, where
from autograd.errors import BackwardError
from autograd.graph import topological
from tests.autograd.judges import assert_close, numeric_gradients, uneven

DEEP = 100_000


def alone(program, **environment):
    """Run a program in a process of its own, with the packages under test."""
    root = os.path.dirname(os.path.dirname(autograd.__file__))
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, **environment, "PYTHONPATH": root})  # fmt: skip


@pytest.fixture(scope="module")
def deep():
    """A chain of 10⁵ nodes, under the default recursion limit."""
    assert sys.getrecursionlimit() <= 1000
    leaf = Value(1.0, name="start")
    node = leaf
    for _ in range(DEEP):
        node = node * 1.00001
    return leaf, node


# --- graphs ---------------------------------------------------------------------------------------------------


def test_a_diamond_adds_both_paths():
    a = Value(2.0)
    b, c = a * 3, a * 5
    (b * c).backward()
    assert a.grad == 2 * 15 * 2.0


def test_the_same_operand_twice():
    for f, expected in [(lambda a: a * a, 6.0), (lambda a: a + a, 2.0), (lambda a: a - a, 0.0), (lambda a: a / a, 0.0),
                        (lambda a: a**a, 27 * (1 + math.log(3))), (lambda a: where(True, a, a), 1.0),
                        (lambda a: autograd.stack([a, a, a]).sum(), 3.0), (lambda a: autograd.maximum(a, a), 1.0),
                        (lambda a: autograd.dot([a, a], [a, a], a), 13.0)]:  # fmt: skip
        a = Value(3.0)
        f(a).backward()
        assert a.grad == pytest.approx(expected, rel=1e-15)


@pytest.mark.slow
def test_deep_chains_backward(deep):
    leaf, node = deep
    leaf.grad = None
    node.backward()
    assert leaf.grad == pytest.approx(1.00001**DEEP, rel=1e-9)


@pytest.mark.slow
def test_deep_chains_repr(deep):
    assert len(repr(deep[1])) < 100


@pytest.mark.slow
def test_deep_chains_copy(deep):
    assert len(topological(copy.deepcopy(deep[1]))) == DEEP + 1
    assert len(topological(pickle.loads(pickle.dumps(deep[1])))) == DEEP + 1
    assert copy.copy(deep[1]).parents == deep[1].parents


@pytest.mark.slow
def test_deep_chains_draw(deep):
    drawing = draw(deep[1])
    assert len(drawing.dot) < 1_000_000  # it shows the ends and says how much it left out


@pytest.mark.slow
def test_deep_chains_are_freed():
    """10⁶ nodes, in a process of its own, since a fault would be a crash of the interpreter; in a thread too."""
    program = """
import threading
from autograd import Value
def work():
    for link in (lambda v: v * 1.0, lambda v: v.tanh()):
        node = Value(1.0)
        for _ in range(250_000):
            node = link(node)
        del node
work()
thread = threading.Thread(target=work)
thread.start()
thread.join()
print("freed")
"""
    done = alone(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "freed\n", "")


def test_stacked_diamonds_are_linear():
    """2**1000 paths through 2,000 nodes; every derivative of it too."""

    def f(a):
        for _ in range(1000):
            a = a * 0.5 + a * 0.5
        return a

    assert grad(f)(3.0) == 1.0
    assert grad(grad(f))(3.0) == 0.0


def test_two_roots_that_share_a_part():
    a = Value(2.0)
    shared = a.exp()
    one, two = shared * 3, shared.log()
    one.backward()
    two.backward()
    assert a.grad == pytest.approx(3 * math.exp(2) + 1)
    assert shared.grad == pytest.approx(math.exp(-2))


# --- operators ------------------------------------------------------------------------------------------------


LEFT = [np.ones((2, 3)), np.ones(3), np.float64(2), np.float32(2), np.int64(2), np.array(2.0)]


@pytest.mark.parametrize("left", LEFT, ids=lambda x: f"{type(x).__name__}{np.shape(x)}")
def test_numpy_on_the_left(left):
    """NumPy must hand over, not make an object array of Values."""
    v = Value(np.full((2, 3), 2.0))
    for out in (left + v, left - v, left * v, left / v, left**v, left < v):
        assert type(out) is Value
        assert out.shape == (2, 3)
    (left * v).sum().backward()
    np.testing.assert_array_equal(v.grad, np.broadcast_to(left, (2, 3)))


class TestPowers:
    """x**0, 0**0, 0**0.5 and negative bases: floats and arrays alike, and no complex number."""

    @pytest.mark.parametrize("x, n, value, first, second", [
        (3.0, 0, 1.0, 0.0, 0.0), (0.0, 0, 1.0, 0.0, 0.0), (0.0, 1, 0.0, 1.0, 0.0), (0.0, 2, 0.0, 0.0, 2.0),
        (-2.0, 3, -8.0, 12.0, -12.0), (-2.0, 2, 4.0, -4.0, 2.0), (-2.0, -1, -0.5, -0.25, -0.25),
        (0.0, 3, 0.0, 0.0, 0.0), (0.0, 2.5, 0.0, 0.0, 0.0),
    ])  # fmt: skip
    def test_whole_exponents_at_awkward_bases(self, x, n, value, first, second):
        f = lambda x: x**n  # noqa: E731
        assert (f(Value(x)).data, grad(f)(x), grad(grad(f))(x)) == (value, first, second)
        many = np.array([x, 1.0])
        total = lambda x: (x**n).sum()  # noqa: E731
        assert f(Value(many)).data[0] == value
        assert grad(total)(many)[0] == first
        assert grad(lambda x: grad(total)(x).sum())(many)[0] == second

    def test_a_root_at_zero_has_an_infinite_slope(self):
        with np.errstate(divide="ignore"):
            assert grad(lambda x: x**0.5)(0.0) == math.inf
            assert grad(lambda x: (x**0.5).sum())(np.array([0.0, 4.0])).tolist() == [math.inf, 0.25]

    def test_a_negative_base_with_a_fraction_is_nan(self):
        with np.errstate(invalid="ignore"):
            for out in ((Value(-2.0) ** 0.5).data, (Value(-2.0) ** Value(0.5)).data, (-2.0) ** Value(0.5),
                        (Value(np.array([-2.0])) ** 0.5).data[0]):  # fmt: skip
                assert math.isnan(out)
                assert not isinstance(getattr(out, "data", out), complex)

    def test_a_value_as_exponent(self):
        for x, y in [(2.0, 3.0), (0.5, -1.5), (0.0, 2.0)]:
            assert grad(lambda x, y: x**y, 1)(x, y) == pytest.approx(x**y * math.log(x) if x else 0.0)
        assert grad(lambda y: 2**y)(3.0) == pytest.approx(8 * math.log(2))


def test_sum_starts_at_int_zero():
    xs = [Value(1.0), Value(2.0)]
    total = sum(xs)
    total.backward()
    assert (total.data, [x.grad for x in xs]) == (3.0, [1.0, 1.0])
    assert sum(x * x for x in xs).data == 5.0


# --- where, softmax, attention --------------------------------------------------------------------------------


def test_where_does_not_leak_from_the_branch_not_taken():
    y = Value(np.array([1.0, 2.0]))
    where(np.array([True, False]), y, 1.0).backward(np.array([3.0, np.inf]))
    assert y.grad.tolist() == [3.0, 0.0]
    z = Value(np.array([np.nan, 2.0]))
    where(np.array([False, True]), z, 0.0).sum().backward()
    assert z.grad.tolist() == [0.0, 1.0]


def test_where_with_a_guarded_input_is_safe_to_any_order():
    def safe_sqrt(x):
        positive = x > 0
        return where(positive, where(positive, x, 1.0).sqrt(), 0.0).sum()

    x = np.array([0.0, 4.0])
    assert grad(safe_sqrt)(x).tolist() == [0.0, 0.25]
    assert grad(lambda x: grad(safe_sqrt)(x).sum())(x).tolist() == [0.0, -1 / 32]


def test_a_masked_softmax_row():
    """-inf masks an entry; a row of nothing but -inf gives zeros, forward and backward, not NaN."""
    x = Value(np.array([[1.0, -np.inf, 2.0], [-np.inf, -np.inf, -np.inf]]))
    p = x.softmax()
    p.backward(uneven((2, 3)))
    assert p.data[0, 1] == 0.0
    assert p.data[1].tolist() == [0.0, 0.0, 0.0]
    assert np.isfinite(x.grad).all()
    assert x.grad[1].tolist() == [0.0, 0.0, 0.0]


def test_a_fully_masked_attention_row_gives_zeros():
    rng = np.random.default_rng(0)
    q, k, v = (Value(rng.normal(size=(2, 3))) for _ in range(3))
    mask = np.array([[True, False], [False, False]])
    out = autograd.attention(q, k, v, mask)
    out.sum().backward()
    assert out.data[1].tolist() == [0.0, 0.0, 0.0]
    for x in (q, k, v):
        assert np.isfinite(x.grad).all()
    assert q.grad[1].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("shift", [-1000.0, 1000.0, 1e6])
@pytest.mark.parametrize("f", [autograd.softmax, autograd.log_softmax,
                               lambda x: autograd.cross_entropy(x, np.array([1, 0])),
                               lambda x: autograd.logsumexp(x, axis=-1)])  # fmt: skip
def test_shift_invariance_and_huge_logits(f, shift):
    x = np.array([[0.5, -1.0, 2.0], [0.0, 0.25, -0.5]])
    _, pull = autograd.vjp(f, x)
    out, shifted_pull = autograd.vjp(f, x + shift)
    u = uneven(np.shape(out))
    assert np.isfinite(out).all()
    assert_close(shifted_pull(u)[0], pull(u)[0], tolerance=1e-9)  # 1e6 itself has ten digits left for the rest


def test_saturated_logits():
    x = Value(np.array([1000.0, -1000.0, 0.0]))
    p = x.softmax()
    assert p.data.tolist() == [1.0, 0.0, 0.0]
    assert autograd.cross_entropy(x, np.array(1)).data == 2000.0
    assert autograd.log_softmax(x).data.tolist() == [0.0, -2000.0, -1000.0]
    for f in (autograd.sigmoid, autograd.tanh, autograd.softplus, autograd.silu, autograd.gelu):
        y = Value(np.array([-1000.0, 1000.0]))
        f(y).sum().backward()
        assert np.isfinite(y.grad).all()
        for end in (-1000.0, 1000.0):
            assert math.isfinite(grad(f)(end))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_tanh_form_of_gelu_far_from_zero(dtype):
    """Its exponential overflows there, and nothing else may."""
    x = np.array([-1e12, -1e4, -100.0, 100.0, 1e4, 1e12], dtype)
    out, pull = autograd.vjp(lambda x: autograd.gelu(x, approximate="tanh"), x)
    np.testing.assert_array_equal(out, np.maximum(x, 0.0))
    np.testing.assert_array_equal(pull(np.ones_like(x))[0], x > 0)


@pytest.mark.parametrize("size", [1.0, 100.0, 1e4])
def test_attention_to_many_tokens_with_scores_of_any_size(size):
    """Small scores need no shift, and large ones do."""
    qkv = np.random.default_rng(0).normal(size=(2, 40, 24)) * np.sqrt(size)
    settings = {"heads": 4, "causal": True}
    op = autograd.OPS["self_attention"]
    out, pull = autograd.vjp(lambda x: op(x, **settings), qkv)
    expected, pull_in_steps = autograd.vjp(lambda x: op.definition(x, **settings), qkv)
    assert_close(out, expected, tolerance=1e-11)
    u = uneven(out.shape)
    assert_close(pull(u)[0], pull_in_steps(u)[0], tolerance=1e-10)


# --- indices and sharing --------------------------------------------------------------------------------------


def test_repeated_indices_add_up():
    table = Value(np.arange(6.0).reshape(3, 2))
    rows = table.take([0, 2, 0, 0], axis=0)
    rows.backward(np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]]))
    assert table.grad.tolist() == [[8.0, 80.0], [0.0, 0.0], [2.0, 20.0]]
    table.grad = None
    table[np.array([1, 1]), np.array([0, 0])].sum().backward()
    assert table.grad.tolist() == [[0, 0], [2, 0], [0, 0]]


def test_weight_tying():
    """One table as embedding and as output weights: both paths count."""
    rng = np.random.default_rng(1)
    tokens, targets = np.array([0, 2, 1]), np.array([2, 1, 0])

    def loss(table):
        return autograd.cross_entropy(autograd.take(table, tokens, axis=0) @ table.T, targets)

    table = rng.normal(size=(3, 4))
    assert_close(grad(loss)(table), numeric_gradients(loss, [table], 1.0)[0])


# --- layer norm -----------------------------------------------------------------------------------------------


def test_layer_norm_at_rank_three():
    rng = np.random.default_rng(2)
    xs = [rng.normal(size=(2, 3, 4)), rng.normal(size=4), rng.normal(size=4)]
    out, pull = autograd.vjp(autograd.layer_norm, *xs)
    u = uneven(out.shape)
    for got, expected in zip(pull(u), numeric_gradients(autograd.layer_norm, xs, u), strict=True):
        assert_close(got, expected)


@pytest.mark.parametrize("x", [np.full((2, 3), 5.0), np.zeros((2, 3)), np.array([[7.0]]), np.ones((2, 1))],
                         ids=["constant rows", "zeros", "one feature", "one feature, two rows"])  # fmt: skip
def test_layer_norm_of_rows_without_spread(x):
    gamma, beta = np.full(x.shape[-1], 2.0), np.full(x.shape[-1], 0.5)
    out, pull = autograd.vjp(autograd.layer_norm, x, gamma, beta)
    assert np.allclose(out, 0.5)
    u = uneven(x.shape)
    dx, dgamma, dbeta = pull(u)
    scale = 2.0 / math.sqrt(1e-5)
    np.testing.assert_allclose(dx, scale * (u - u.mean(axis=-1, keepdims=True)), atol=1e-9)
    np.testing.assert_allclose(dgamma, 0.0, atol=1e-12)
    np.testing.assert_allclose(dbeta, u.sum(axis=0))


# --- shapes and dtypes ----------------------------------------------------------------------------------------


def test_size_zero_arrays():
    x = Value(np.ones((0, 3)))
    out = ((x * 2).exp() @ np.ones((3, 2))).sum() + x.sum(axis=0).sum() + x.reshape(3, 0).sum() + x.softmax().sum()
    out.backward()
    assert out.data == 0.0
    assert x.grad.shape == (0, 3)
    assert autograd.concatenate([x, np.ones((1, 3))]).shape == (1, 3)
    assert x[np.array([], int)].shape == (0, 3)


def test_zero_dimensional_arrays():
    x = Value(np.array(3.0))
    assert type(x.data) is float
    (x * np.array(2.0)).backward()
    assert type(x.grad) is float
    assert x.grad == 2.0
    f = Value(np.array(3.0, np.float32))
    (f * np.array(2.0, np.float32)).backward()
    assert type(f.grad) is np.float32


def test_float32_in_float32_out():
    x = Value(np.ones((2, 3), np.float32))
    w = Value(np.ones((3, 2), np.float32))
    out = (2.0 * (x @ w).softmax() + 1).layer_norm().mean() * 0.5
    out.backward()
    assert {v.dtype for v in topological(out)} == {np.dtype(np.float32)}
    assert x.grad.dtype == w.grad.dtype == np.float32


# --- training -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_optimizer_steps_do_not_grow_the_graph():
    w = Value(np.ones(2))
    velocity = np.zeros(2)
    sizes = []
    for _ in range(4):
        loss = (w * w).sum()
        sizes.append(len(topological(loss)))
        loss.backward()
        velocity = 0.9 * velocity + w.grad
        w.data -= 0.1 * velocity
        w.grad = None
    assert sizes == [3, 3, 3, 3]
    gc.collect()
    alive = sum(issubclass(type(x), Value) for x in gc.get_objects())
    for _ in range(50):
        (w * w).sum().backward()
        w.data = w.data - 0.1 * w.grad
        w.grad = None
    assert sum(issubclass(type(x), Value) for x in gc.get_objects()) == alive


@pytest.mark.slow
def test_results_do_not_depend_on_id_or_hash_order():
    """The same program in three processes with other hash seeds gives the same bits."""
    program = """
import numpy as np
from autograd import Value, stack
junk = [object() for _ in range(hash("seed") % 1000)]
xs = [Value(0.1 * i) for i in range(30)]
out = stack([x.tanh() * y for x in xs for y in xs[::7]]).softmax().log().sum() + sum(x * x for x in xs)
out.backward()
print([x.grad.hex() for x in xs])
"""
    runs = [alone(program, PYTHONHASHSEED=seed) for seed in ("1", "2", "3")]
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert runs[0].stdout == runs[1].stdout == runs[2].stdout
    assert runs[0].stdout.count("0x") == 30


def test_no_grad_survives_an_exception():
    with pytest.raises(RuntimeError), no_grad():
        raise RuntimeError
    a = Value(2.0)
    (a * a).backward()
    assert a.grad == 4.0


# --- the fixed meanings of section 4 that are about derivatives -------------------------------------------------


class TestKinks:
    def test_relu_and_abs_at_zero(self):
        for f in (autograd.relu, autograd.abs):
            assert grad(f)(0.0) == 0.0
            assert grad(lambda x, f=f: f(x).sum())(np.array([0.0, 2.0, -2.0]))[0] == 0.0

    @pytest.mark.parametrize("f", [autograd.max, autograd.min])
    def test_ties_share_evenly(self, f):
        assert grad(f)(np.array([2.0, 2.0])).tolist() == [0.5, 0.5]
        assert grad(f)(np.full((3, 1), 1.0)).tolist() == [[1 / 3]] * 3
        x = Value(np.array([[1.0, 1.0, 1.0], [0.0, 3.0, 3.0], [0.0, 0.0, 3.0]]))
        f(x, axis=1).backward(np.array([3.0, 2.0, 2.0]))
        assert x.grad[0].tolist() == [1, 1, 1]
        assert x.grad[1:].tolist() == ([[0, 1, 1], [0, 0, 2]] if f is autograd.max else [[2, 0, 0], [1, 1, 0]])

    @pytest.mark.parametrize("f", [autograd.maximum, autograd.minimum])
    def test_ties_of_two_share_evenly(self, f):
        assert grad(f, (0, 1))(2.0, 2.0) == (0.5, 0.5)

    def test_norm_and_std_at_the_tip(self):
        assert grad(autograd.norm)(np.zeros(3)).tolist() == [0, 0, 0]
        assert grad(autograd.std)(np.ones(3)).tolist() == [0, 0, 0]


def test_the_graph_holds_what_the_user_wrote():
    """`-`, `/`, mean and softmax stay themselves; they are not rewritten as sums and powers."""
    a, b = Value(2.0), Value(4.0)
    assert [x.op.name for x in (a - b, a / b, -a, a**2)] == ["sub", "div", "neg", "power"]
    m = Value(np.ones((2, 2)))
    assert [x.op.name for x in (m.mean(), m.softmax(), m @ m, m.layer_norm())] == [
        "mean", "softmax", "matmul", "layer_norm"]  # fmt: skip


def test_erf_is_an_op_and_gelu_is_exact_unless_told():
    x = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(autograd.erf(x), [math.erf(t) for t in x], rtol=1e-15)
    exact = [0.5 * t * (1 + math.erf(t / math.sqrt(2))) for t in x]
    np.testing.assert_allclose(autograd.gelu(x), exact, rtol=1e-14, atol=1e-17)
    rough = [0.5 * t * (1 + math.tanh(math.sqrt(2 / math.pi) * (t + 0.044715 * t**3))) for t in x]
    np.testing.assert_allclose(autograd.gelu(x, approximate="tanh"), rough, rtol=1e-14, atol=1e-17)


class TestAStepWithoutData:
    """`p -= lr * p.grad` names another Value p, and the parameter stays where it is."""

    @pytest.mark.parametrize("start", [2.0, [1.0, 2.0]], ids=["float", "array"])
    @pytest.mark.parametrize("sign", ["iadd", "isub", "imul", "itruediv"])
    def test_it_is_refused_and_told_what_to_write(self, start, sign):
        p = Value(start, name="p")
        (p * p).sum().backward()
        with pytest.raises(BackwardError, match=r"Value 'p' is a leaf.*write v\.data -= step"):
            getattr(operator, sign)(p, 0.1 * p.grad)
        assert np.all(p.data == start)

    def test_a_total_that_starts_from_a_value_still_adds_up(self):
        a = Value(3.0)
        total = Value(0.0)
        total += a
        total += 1.0
        total -= a * 2
        total.backward()
        assert (total.data, a.grad) == (-2.0, -1.0)

    def test_a_sum_with_a_value_is_a_graph_also_after_a_pass(self):
        a, b = Value(3.0), Value(2.0)
        (a * b).backward()
        a += b
        assert a.parents[1] is b

    def test_micrograds_gradients_of_zero_are_no_pass(self):
        loss = micrograd.Value(0.0)
        loss += 1.0
        assert loss.data == 1.0
