"""check_formula: a derivation of one's own against the engine and against differences."""

import math

import numpy as np
import pytest

import autograd as ag
from autograd import check_formula
from autograd.errors import DataError

X, W = np.random.default_rng(0).normal(size=(2, 3)), np.random.default_rng(1).normal(size=(3, 2))


def test_a_right_formula_passes():
    report = check_formula(lambda x: (x**3).sum(), lambda x: 3 * x**2, X)
    assert report.ok and len(report.entries) == 6


def test_a_tuple_for_several_inputs():
    f = lambda x, w: ag.tanh(x @ w).sum()  # noqa: E731

    def mine(x, w):
        d = 1 - np.tanh(x @ w) ** 2
        return d @ w.T, x.T @ d

    assert check_formula(f, mine, X, W).ok
    report = check_formula(f, lambda x, w: (mine(x, w)[0], 2 * mine(x, w)[1]), X, W)
    assert report.verdict == "wrong"
    assert {e.input for e in report.failures} == {"w"}
    assert "w: twice too large" in str(report)
    assert "yours" in str(report) and "handgrad" not in str(report)


def test_plain_python():
    assert check_formula(lambda x: x**2, lambda x: 2 * x, 3.0).ok
    report = check_formula(lambda x: x**2, lambda x: x, 3.0)
    assert (report.verdict, report.entries[0].ratio) == ("wrong", pytest.approx(0.5))


def test_softmax_cross_entropy_by_hand():
    target = 1

    def mine(z):
        p = np.exp(z) / np.exp(z).sum()
        return p - np.eye(3)[target]

    assert check_formula(lambda z: -ag.log_softmax(z)[target], mine, X[0]).ok
    assert check_formula(lambda z: -ag.log_softmax(z)[target], lambda z: -mine(z), X[0]).verdict == "wrong"


def test_a_jacobian_for_an_array():
    def jacobian(x):
        p = np.exp(x) / np.exp(x).sum()
        return np.diag(p) - np.outer(p, p)

    assert check_formula(ag.softmax, jacobian, X[0]).ok
    diagonal_only = check_formula(ag.softmax, lambda x: np.diag(np.diag(jacobian(x))), X[0])
    assert diagonal_only.verdict == "wrong"


class TestShape:
    """What is said of a gradient in a shape that it must not have; nothing is printed that the formula never gave."""

    V = np.array([0.5, 1.0, 2.0])

    def test_a_jacobian_is_asked_for_also_of_an_elementwise_function(self):
        report = check_formula(lambda x: x**2, lambda x: 2 * x, self.V)
        assert report.verdict == "wrong" and report.entries == []
        assert "has shape (3,); it must have (3, 3), the Jacobian of a result of shape (3,)" in report.diagnosis[0]
        assert "or let f end in .sum() and return the gradient of the sum, of shape (3,)" in report.diagnosis[0]
        assert check_formula(lambda x: x**2, lambda x: np.diag(2 * x), self.V).ok
        assert check_formula(lambda x: (x**2).sum(), lambda x: 2 * x, self.V).ok

    def test_a_transposed_jacobian(self):
        assert check_formula(lambda x: x @ W, lambda x: W.T, self.V).ok
        report = check_formula(lambda x: x @ W, lambda x: W, self.V)
        assert report.verdict == "wrong" and report.failures == []
        assert report.diagnosis == ["the formula's gradient for x has shape (3, 2); it must have (2, 3): transposed?"]

    @pytest.mark.parametrize("mine, shape", [(lambda x: 2 * x[:2], "(2,)"), (lambda x: 2 * x[:, None], "(3, 1)")])
    def test_no_rows_of_what_cannot_be_compared(self, mine, shape):
        report = check_formula(lambda x: (x * x).sum(), mine, self.V)
        assert report.verdict == "wrong" and report.entries == []
        assert report.diagnosis == [f"the formula's gradient for x has shape {shape}; it must have (3,)"]
        assert "nan" not in str(report)

    def test_the_other_inputs_are_compared(self):
        report = check_formula(lambda x, y: (x * y).sum(), lambda x, y: (y[:2], 2 * x), self.V, self.V + 1)
        assert {e.input for e in report.entries} == {"y"}
        assert "y: twice too large" in str(report)

    def test_none_is_zero(self):
        report = check_formula(lambda x, y: (x * y).sum(), lambda x, y: (y, None), self.V, self.V + 1)
        assert {(e.input, e.gradient) for e in report.failures} == {("y", 0.0)}
        assert "the formula gave None for y: that counts as zero everywhere" in report.notes
        assert "y: no gradient arrives, yet the result depends on it" in report.diagnosis
        assert check_formula(lambda x, y: (x * x).sum(), lambda x, y: (2 * x, None), self.V, self.V + 1).ok


def test_a_missing_broadcast_sum_is_said():
    report = check_formula(lambda x, b: ((x + b) ** 2).sum(), lambda x, b: (2 * (x + b), 2 * (x + b)), X, W.T[0])
    assert report.verdict == "wrong"
    assert "the sum over what b was broadcast to is missing" in str(report)


def test_a_transposed_answer_is_said():
    report = check_formula(lambda x: (x * x).sum(), lambda x: 2 * x.T, X)
    assert report.verdict == "wrong" and "transposed?" in str(report)


def test_a_kink_is_a_kink_for_a_formula_too():
    report = check_formula(lambda x: ag.relu(x).sum(), lambda x: (x > 0) * 1.0, np.array([0.0, 1.0]))
    assert report.verdict == "kink"


def test_plain_python_is_taken_as_it_is():
    report = check_formula(lambda x: math.sin(x), math.cos, 0.3)
    assert report.ok and not report.notes


@pytest.mark.parametrize(
    "answer, message",
    [
        (lambda x, w: x, "returned 1 gradient for 2 inputs"),
        (lambda x, w: (x, w, x), "returned 3 gradients for 2 inputs"),
        (lambda x, w: (x, "text"), "not an array of numbers"),
    ],
)
def test_what_is_no_gradient_is_refused(answer, message):
    with pytest.raises(DataError, match=message):
        check_formula(lambda x, w: (x @ w).sum(), answer, X, W)


def test_several_results_are_refused():
    with pytest.raises(DataError, match="one result"):
        check_formula(lambda x: (x, x), lambda x: x, 1.0)


def test_the_formula_cannot_change_the_inputs():
    x = X.copy()

    def careless(x):
        x *= 2
        return x

    assert check_formula(lambda x: (x * x).sum(), careless, x).ok
    np.testing.assert_array_equal(x, X)


def test_a_leaf_can_be_written_to_afterwards():
    leaf = ag.Value(X)
    check_formula(lambda x: (x * x).sum(), lambda x: 2 * x, leaf)
    assert leaf.data.flags.writeable


class TestTorch:
    """The same gradient by every way that people write it in torch."""

    f = staticmethod(lambda x, w: ag.tanh(x @ w).sum())

    def with_autograd(torch, x, w):
        return torch.autograd.grad(torch.tanh(x @ w).sum(), (x, w))

    def with_backward(torch, x, w):
        torch.tanh(x @ w).sum().backward()
        return x.grad, w.grad

    def with_leaves_of_its_own(torch, x, w):
        x, w = x.clone().requires_grad_(True), w.clone().requires_grad_(True)
        torch.tanh(x @ w).sum().backward()
        return x.grad, w.grad

    def with_func(torch, x, w):
        return torch.func.grad(lambda x, w: torch.tanh(x @ w).sum(), argnums=(0, 1))(x, w)

    def by_hand(torch, x, w):
        d = 1 - torch.tanh(x @ w) ** 2
        return d @ w.T, x.T @ d

    @pytest.mark.parametrize("way", [with_autograd, with_backward, with_leaves_of_its_own, with_func, by_hand])
    def test_every_way(self, way):
        torch = pytest.importorskip("torch")
        report = check_formula(self.f, lambda x, w: way(torch, x, w), X, W)
        assert report.ok and report.worst < 1e-9

    def test_a_number_keeps_its_digits(self):
        torch = pytest.importorskip("torch")
        report = check_formula(lambda x: ag.exp(x), torch.func.grad(torch.exp), 0.3)
        assert report.entries[0].gradient == pytest.approx(math.exp(0.3), rel=1e-15)

    def test_a_wrong_one_is_wrong(self):
        torch = pytest.importorskip("torch")
        twice = lambda x, w: [2 * g for g in TestTorch.by_hand(torch, x, w)]  # noqa: E731
        assert "twice too large" in str(check_formula(self.f, twice, X, W))

    def test_a_formula_that_fails_either_way_says_both(self):
        torch = pytest.importorskip("torch")

        def mine(x):
            return torch.tanh(x).no_such_thing()

        with pytest.raises(TypeError, match="must be Tensor") as caught:
            check_formula(lambda x: ag.tanh(x).sum(), mine, X)
        assert caught.value.__notes__ == [
            "Given tensors of torch in place of arrays, it raised "
            "AttributeError: 'Tensor' object has no attribute 'no_such_thing'"
        ]

    def test_an_error_of_a_numpy_formula_is_the_one_raised(self):
        with pytest.raises(ValueError, match="not aligned"):
            check_formula(lambda x: (x * x).sum(), lambda x: np.dot(x, x), X)


class TestPlainPython:
    """A gradient written without NumPy is a list of numbers; its form says whether it is one gradient or several."""

    def test_a_list_for_one_vector(self):
        assert check_formula(lambda x: (x**3).sum(), lambda x: [3 * xi**2 for xi in x], np.array([1.0, 2.0])).ok
        assert check_formula(lambda x: (x**3).sum(), lambda x: [3 * x[0] ** 2], np.array([2.0])).ok
        wrong = check_formula(lambda x: (x**3).sum(), lambda x: [2 * xi**2 for xi in x], np.array([1.0, 2.0]))
        assert wrong.verdict == "wrong"

    def test_rows_for_a_matrix_and_for_a_jacobian(self):
        x = np.array([[1.0, 2.0], [3.0, 4.0]])
        assert check_formula(lambda x: (x * x).sum(), lambda x: [[2 * v for v in row] for row in x], x).ok
        assert check_formula(lambda x: x * x, lambda x: [[2 * x[0], 0], [0, 2 * x[1]]], x[0]).ok

    def test_a_list_for_each_of_several_inputs(self):
        x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
        assert check_formula(lambda x, y: (x * y).sum(), lambda x, y: (list(y), list(x)), x, y).ok
        assert check_formula(lambda p: (p[0] * p[1]).sum(), lambda p: [p[1], p[0]], [x, y]).ok

    @pytest.mark.parametrize("f, mine", [
        (lambda x: (x**2).sum(), lambda x: 2 * x), (lambda x: x[0] ** 2 + x[1] ** 2, lambda x: x**1),
    ])  # fmt: skip
    def test_a_list_that_was_meant_as_a_vector(self, f, mine):
        with pytest.raises(TypeError) as caught:
            check_formula(f, mine, [1.0, 2.0])
        assert "write np.array([...])" in caught.value.__notes__[0]

    def test_a_forgotten_return_is_said(self):
        with pytest.raises(DataError, match="the formula returned None; did you forget `return`"):
            check_formula(lambda x: x * x, lambda x: None, 2.0)
