"""Functions of ops, and ops that take many kinds of arguments: NumPy judges the numbers, differences the gradients."""

import subprocess
import sys

import numpy as np
import pytest

import autograd
from autograd import Value, assert_grads
from autograd.errors import DataError, ShapeError
from tests.sweep import sweep

RNG = np.random.default_rng(1)
A = RNG.normal(size=(2, 3))  # entries are far enough apart that no difference step meets a tie
B = RNG.normal(size=(2, 3))
C = RNG.normal(size=(2, 3, 4))
U, V = RNG.normal(size=3), RNG.normal(size=3)
S = 0.7
M = np.array([[2.0, 0.3, -0.4], [0.1, -1.5, 0.2], [0.6, -0.3, 1.1]])

# Calls as they are written, in the names above; each is run on plain arrays and on Values.
CALLS = [
    # joining and cutting
    "np.vstack([A, U])", "np.vstack([U, V])", "np.vstack(A)", "np.hstack([A, B])", "np.hstack([U, V])",
    "np.hstack([S, U])",
    "np.dstack([A, B])", "np.dstack([U, V])", "np.column_stack([U, V])", "np.column_stack([U, A.T])",
    "np.linspace(S, U, 4)", "np.linspace(U, V, 3, axis=1)", "np.linspace(S, 2.0, 4, endpoint=False)",
    "np.append(A, B)", "np.append(A, B, axis=0)", "np.append(U, S)",
    "np.atleast_1d(S)", "np.atleast_2d(U)", "np.atleast_3d(U)", "np.atleast_3d(A)", "np.atleast_2d(S, U, A)[1]",
    "np.array_split(C, 3, axis=2)[0]", "np.array_split(U, [1])[1]", "np.array_split(U, 5)[4]", "np.hsplit(A, [1])[1]",
    "np.hsplit(U, 3)[1]", "np.vsplit(A, 2)[1]", "np.dsplit(C, 2)[1]", "np.split(C, [-1, 2], axis=2)[2]",
    # arranging
    "np.fliplr(A)", "np.flipud(U)", "np.rot90(A)", "np.rot90(A, 2)", "np.rot90(A, -1)", "np.rot90(C, 1, (2, 0))",
    "np.rot90(A, 4)",
    "np.roll(A, 2)", "np.roll(A, -1, axis=1)", "np.roll(C, (1, 2), axis=(0, 2))", "np.roll(A, (1, 2), axis=1)",
    "np.repeat(A, 2)", "np.repeat(A, 2, axis=0)", "np.repeat(A, [1, 0, 2], axis=1)", "np.repeat(S, 3)",
    "np.tile(A, 2)", "np.tile(A, (2, 1, 3))", "np.tile(C, (2, 1))", "np.tile(S, 2)", "np.tile(A, 0)",
    "np.diagonal(A)", "np.diagonal(A, 1)", "np.diagonal(C, -1, 1, 2)", "np.diagonal(C, 0, 2, 0)", "np.diagonal(A, 7)",
    "np.diag(U)", "np.diag(U, 1)", "np.diag(U, -2)", "np.diag(A)", "np.diag(A, -1)", "np.trace(A)",
    "np.trace(C, 1, 2, 1)",
    "np.diff(A)", "np.diff(A, 2)", "np.diff(A, axis=0)", "np.diff(U, prepend=S)", "np.diff(A, prepend=0.5, append=B)",
    "np.diff(U, 0)", "np.sort(A)", "np.sort(A, axis=0)", "np.sort(A, axis=None)", "np.sort(C, 1, stable=True)",
    "np.take_along_axis(A, np.argsort(B, axis=0), axis=0)",
    "np.take_along_axis(A, np.array([[2, 2, 0]]), 1)",
    *(f"np.pad(A, ((1, 2), (2, 1)), mode='{mode}')" for mode in ("edge", "symmetric", "wrap")),
    "np.pad(A, ((0, 1), (2, 2)), mode='reflect')", "np.pad(U, 7, mode='wrap')", "np.pad(A, 1, constant_values=2.0)",
    # running and weighted
    "np.cumprod(U)", "np.cumprod(A)", "np.cumprod(C, axis=-2)", "np.cumprod(C, 2)", "np.average(A, weights=B**2 + 1)",
    "np.average(A, 0, weights=np.array([1.0, 3.0]))", "np.average(A, axis=1, keepdims=True)", "np.ptp(A, axis=1)",
    "np.average(C, axis=(2, 0), weights=np.array([[1.0, 3.0], [2.0, 5.0], [0.5, 1.0], [4.0, 2.0]]))",
    "np.nansum(A, axis=0)", "np.nanmean(A)", "np.nanmax(A, axis=1)", "np.nanmin(A)",
    # of selected numbers, from a start
    "np.sum(A, where=B > 0)", "np.sum(A, axis=1, where=B > 0, initial=2.0)", "np.sum(A, 0, keepdims=True, initial=S)",
    "np.sum(A, where=[True, False, True])", "np.prod(A, axis=0, where=B > 0, initial=1.5)", "np.prod(A, initial=S)",
    "np.mean(A, where=B > 0)", "np.mean(C, axis=(0, 2), where=C > -1.0)", "np.mean(A, 0, keepdims=True, where=B > -9)",
    "np.max(A, axis=0, initial=0.1)", "np.max(A, axis=1, initial=-9.0, where=B > 0)",
    "np.min(A, initial=9.0, where=B > 0)",
    "np.min(A, axis=0, initial=-0.2)", "np.max(C[:, :0], axis=1, initial=2.0) + C[:, 0]", "np.var(A, where=B > -0.9)",
    "np.var(C, axis=2, ddof=1, where=C > -1.0)", "np.std(C, axis=-1, keepdims=True, where=C > -1.0)",
    "np.std(A, axis=1, correction=1, where=A > -9)", "np.nansum(A, axis=1, where=B > 0, initial=1.0)",
    "np.nanmean(A, where=B > 0)", "np.nanmax(A, initial=0.1, where=B > 0)", "np.nanmin(A, 0, initial=0.5)",
    "np.sum(A, 1)", "np.prod(A, 0)", "np.mean(A, 0)", "np.max(A, axis=1)", "np.min(A)", "np.var(A)",
    "np.var(A, 1, ddof=1)", "np.var(A, axis=0, keepdims=True, correction=1)", "np.std(A, axis=1, ddof=1)",
    "np.std(C, (0, 2), keepdims=True)",
    "np.median(A, axis=1)", "np.median(C, axis=(0, 2), keepdims=True)", "np.median(A)", "np.trapezoid(A, axis=0)",
    "np.trapezoid(A, U)", "np.trapezoid(A, B, axis=0)",
    # products
    "np.convolve(U, V)", "np.convolve(U, V[:2], 'valid')", "np.convolve(V[:2], U, 'same')",
    "np.dot(C.transpose(0, 2, 1), A.T)", "np.dot(A, C)", "np.inner(A, B)", "np.inner(U, C.transpose(0, 2, 1))",
    "np.inner(S, A)",
    "np.vdot(A, B)", "np.tensordot(A, B)", "np.tensordot(A, C, axes=([0, 1], [0, 1]))", "np.tensordot(U, V, axes=0)",
    "np.tensordot(A, C, axes=(1, 1))", "np.kron(U, V)", "np.kron(A, U)", "np.kron(S, A)", "np.kron(A, B)",
    "np.cross(U, V)",
    "np.cross(A, U)", "np.cross(A, B, axisc=0)", "np.cross(A.T, B.T, axis=0)", "np.outer(A, U)",
    # linear algebra
    "np.linalg.inv(M)", "np.linalg.solve(M, U)", "np.linalg.solve(M, A.T)", "np.linalg.det(M)",
    "np.linalg.slogdet(M)[1]",
    "np.linalg.cholesky(M @ M.T + np.eye(3))", "np.linalg.cholesky(M @ M.T + np.eye(3), upper=True)",
    "np.linalg.pinv(A)",
    "np.linalg.eigvalsh(M + M.T)", "np.linalg.eigh(M + M.T)[1] ** 2", "np.linalg.svd(A, full_matrices=False)[0] ** 2",
    "np.linalg.svd(A, compute_uv=False)", "np.linalg.svd(M)[2] ** 2",
    *(f"np.linalg.norm(A, {ord!r})" for ord in (1, -1, 2, -2, "fro", "nuc")), "np.linalg.norm(A, np.inf)",
    "np.linalg.norm(A, -np.inf)",
    "np.linalg.norm(U, np.inf)", "np.linalg.norm(U, -np.inf)", "np.linalg.norm(A, 1, axis=0)",
    "np.linalg.norm(A, 3, axis=1)",
    "np.linalg.norm(C, 'nuc', axis=(2, 0), keepdims=True)", "np.linalg.norm(C, 1, axis=(0, 2))",
    "np.linalg.norm(U, 2.5)",
    # remainders
    "np.mod(A, 0.7)", "np.mod(A, B)", "np.remainder(7.5, A)", "np.fmod(A, B)", "A % 0.4", "3.0 % A", "U % A",
    # elementwise
    "np.degrees(A)", "np.radians(S)", "np.logaddexp2(A, B)", "np.clip(A, B - 0.5, B + 0.5)", "np.clip(A, -0.5, B + 1)",
    "np.clip(A, None, B)", "np.clip(A, B, None)", "np.select([A > 0.5, A < 0], [A, B], default=U)",
    "np.select([A > 0], [A])",
]  # fmt: skip


def names(values):
    return {"np": np, **dict(zip(NAMES, values, strict=True))}


NAMES, ARRAYS = "ABCUVSM", [A, B, C, U, V, S, M]


def as_function(call):
    """A call as a function of the arrays that it names, and these arrays."""
    used = [i for i, name in enumerate(NAMES) if name in call.replace("np.", "").replace("None", "")]

    def f(*xs):
        filled = [xs[used.index(i)] if i in used else x for i, x in enumerate(ARRAYS)]
        return eval(call, names(filled))

    return f, [ARRAYS[i] for i in used]


@sweep("call", CALLS)
def test_the_numbers_are_numpys(call):
    expected = eval(call, names(ARRAYS))
    got = eval(call, names([Value(x) for x in ARRAYS]))
    assert isinstance(got, Value)
    assert got.shape == np.shape(expected)
    np.testing.assert_allclose(got.data, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.slow
@sweep("call", CALLS)
def test_the_gradients_are_right_to_second_order(call):
    f, xs = as_function(call)
    assert_grads(f, *xs, order=2)


@pytest.mark.parametrize("x", [0.0, 1e-9, 1e-3, 0.2, -1.0, 3.5])
def test_sinc_has_every_derivative_also_at_zero(x):
    """Against the integral of cos(πxt) over t from 0 to 1, differentiated under the sign, by Gauss's rule."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    t = (nodes + 1) / 2
    for order in range(5):
        expected = np.sum(weights / 2 * (np.pi * t) ** order * np.cos(np.pi * x * t + order * np.pi / 2))
        assert autograd.sinc(x, order=order) == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_a_nan_loses_to_any_number_in_fmax():
    x, y = Value(np.array([np.nan, 1.0, 2.0])), Value(np.array([1.0, np.nan, 2.0]))
    np.fmax(x, y).sum().backward()
    assert x.grad.tolist() == [0, 1, 0.5]
    assert y.grad.tolist() == [1, 0, 0.5]


def test_what_nan_to_num_replaced_gets_no_gradient():
    x = Value(np.array([np.nan, 1.0, np.inf, -np.inf]))
    np.nan_to_num(x, posinf=5.0).sum().backward()
    assert x.grad.tolist() == [0, 1, 0, 0]


def test_a_bound_of_clip_gets_the_gradient_where_it_is_met():
    x, low = Value(np.array([0.0, 1.0, 2.0])), Value(1.0)
    np.clip(x, low, None).sum().backward()
    assert x.grad.tolist() == [0, 1, 1]  # at the bound itself x passes, as with plain bounds
    assert low.grad == 1


def test_hypot_is_flat_at_its_tip():
    x = Value(0.0)
    np.hypot(x, 0.0).backward()
    assert x.grad == 0


def test_running_products_are_right_where_numbers_are_zero():
    x = np.array([2.0, 0.0, 3.0, 0.0, 5.0])
    assert_grads(lambda x: np.cumprod(x) + np.cumprod(np.flip(x)), x, order=2)


def test_nans_get_no_gradient_where_they_are_left_out():
    x = Value(np.array([1.0, np.nan, 3.0]))
    (np.nansum(x) + np.nanmean(x) + np.nanmax(x)).backward()
    assert x.grad.tolist() == [1.5, 0.0, 2.5]


def test_a_row_of_nans_has_no_largest_number():
    x = np.array([[np.nan, np.nan], [1.0, np.nan]])
    for largest in (np.nanmax, np.nanmin):
        assert np.array_equal(largest(Value(x), axis=1).data, [np.nan, 1.0], equal_nan=True)
        assert np.array_equal(largest(Value(x), axis=1, initial=1.0).data, [1.0, 1.0])


STEPS = ["np.floor(A)", "np.ceil(A)", "np.trunc(A)", "np.fix(A)", "np.rint(A)", "np.round(A, 1)", "A.round(1)",
         "np.floor_divide(A, B)", "A // 0.4", "3.0 // A", "round(S, 1)", "np.sign(A)", "np.any(A > 0, axis=0)",
         "np.all(A > 0)",
         "(A > 0).any()", "(A > 0).all(axis=1)", "np.logical_and(A, A > 0)", "(A > 0) & (B > 0)",
         "(A > 0) | (B.data > 0)",
         "(B.data > 0) | (A > 0)", "(A > 0) ^ (B > 0)", "~(A > 0)", "True & (A > 0)", "np.logical_not(A)",
         "np.count_nonzero(A > 0, axis=1)",
         "np.argsort(A, axis=0)", "np.logical_xor(A > 0, B)", "np.invert(A > 0)",
         "np.logical_or(A, 0.0)", "np.any(A, axis=0, where=B > 0)", "np.all(A > 0, axis=1, where=B > 0)"]


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")
@sweep("call", STEPS)
def test_steps_are_numpys_and_send_nothing_back(call):
    expected = eval(call.replace(".data", ""), names(ARRAYS))
    got = eval(call, names([Value(x) for x in ARRAYS]))
    assert isinstance(got, Value) and not got.requires_grad
    np.testing.assert_array_equal(got.data, expected)


def test_places_are_plain():
    v = Value(np.array([[0.0, 2.0], [3.0, 0.0]]))
    for got, expected in [(np.nonzero(v), np.nonzero(v.data)), (v.nonzero(), np.nonzero(v.data)),
                          (np.where(v > 0), np.nonzero(v.data)), (np.argwhere(v), np.argwhere(v.data))]:
        np.testing.assert_array_equal(got, expected)
    assert np.searchsorted(Value([1.0, 2.0, 3.0]), 2.5) == 2
    assert np.searchsorted(np.arange(3), Value(0.5)) == 1


@pytest.mark.parametrize("wrong", [lambda v: v & v, lambda v: v | True, lambda v: ~v, lambda v: (v > 0) ^ 1.0])
def test_a_truth_is_no_number(wrong):
    with pytest.raises(DataError, match=r"is for truths, as in .*Mind the brackets"):
        wrong(Value(A))


def test_methods_that_arrays_have():
    v = Value(A)
    assert v.ravel().shape == v.flatten().shape == (6,)
    assert v.tolist() == A.tolist()
    assert Value(2.0).tolist() == 2.0
    assert v.copy().data is not v.data
    assert v.repeat(2, axis=0).shape == (4, 3)
    assert v.trace().data == pytest.approx(np.trace(A))
    assert v.sort().data.tolist() == np.sort(A).tolist()
    assert v.argsort().data.tolist() == np.argsort(A).tolist()
    assert v.flatten(order="F").data.tolist() == A.flatten(order="F").tolist()


def test_a_determinant_has_a_gradient_also_where_it_is_zero():
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    x = Value(singular)
    np.linalg.det(x).backward()
    np.testing.assert_allclose(x.grad, [[4.0, -2.0], [-2.0, 1.0]], atol=1e-14)
    assert_grads(np.linalg.det, np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.5], [5.0, 7.0, 9.5]]), order=2)


def test_results_have_the_names_that_numpy_gives_them():
    m = Value(M @ M.T)
    assert np.linalg.slogdet(m).logabsdet.data == pytest.approx(np.linalg.slogdet(m.data).logabsdet)
    assert np.linalg.slogdet(m).sign.data == 1
    assert np.linalg.eigh(m).eigenvalues.shape == (3,)
    u, s, vh = np.linalg.svd(m)
    np.testing.assert_allclose((u * s @ vh).data, m.data, rtol=1e-12)


def test_the_gradient_of_eigenvectors_is_the_one_for_the_sign_that_came():
    """A sum of one column turns its sign with LAPACK's choice; the square of it does not."""
    m = M + M.T
    assert_grads(lambda x: np.linalg.eigh(x)[1][:, 0].sum() ** 2, m, order=2)
    vectors = np.linalg.eigh(m)[1]
    x = Value(m)
    np.linalg.eigh(x).eigenvectors[:, 0].sum().backward()
    moved = np.linalg.eigh(m + 1e-6 * np.eye(3)[0][:, None] * np.eye(3)[0])[1][:, 0].sum()
    assert x.grad[0, 0] == pytest.approx((moved - vectors[:, 0].sum()) / 1e-6, rel=1e-4)


@pytest.mark.parametrize("wrong, said", [
    (lambda: np.linalg.inv(Value(np.ones((2, 2)))), "inv: Singular matrix. Check the matrix"),
    (lambda: np.linalg.inv(Value(A)), r"inv: needs a square matrix, .*got shape \(2, 3\)"),
    (lambda: np.linalg.cholesky(Value(-np.eye(2))), "cholesky: Matrix is not positive definite"),
    (lambda: np.linalg.svd(Value(A)), "full_matrices=False"),
    (lambda: np.linalg.solve(Value(M), Value(np.ones(2))), "solve: a of shape .* needs a b with 3 rows"),
    (lambda: np.linalg.norm(Value(C), 1), r"Say which: axis=-1"),
    (lambda: np.linalg.norm(Value(U), "fro"), "is for matrices"),
    (lambda: np.cross(Value(np.ones(2)), np.ones(2)), "cross: vectors of three numbers; got 2 and 2"),
    (lambda: np.tensordot(Value(A), A, 1), r"tensordot: axes .* do not pair up"),
])  # fmt: skip
def test_what_has_no_answer_says_why(wrong, said):
    with pytest.raises((ValueError, DataError), match=said):
        wrong()


class TestScipy:
    """scipy.special's functions ask a Value as NumPy's do."""

    NAMES = ["expit", "erf", "erfc", "gammaln", "digamma", "psi", "logit", "log_expit", "ndtr", "entr"]
    PAIRS = ["xlogy", "xlog1py", "rel_entr", "kl_div", "betaln"]

    @pytest.mark.parametrize("name", [*NAMES, *PAIRS])
    def test_the_numbers_and_gradients_are_scipys(self, name):
        special = pytest.importorskip("scipy.special", reason="NOT TESTED: SciPy is not installed")
        xs = [np.array([0.2, 0.5, 0.9]), np.array([0.7, 0.3, 0.1])][: 1 + (name in self.PAIRS)]
        f = getattr(special, name)
        np.testing.assert_allclose(f(*map(Value, xs)).data, f(*xs), rtol=1e-13)
        assert_grads(f, *xs, order=2)

    def test_every_answer_is_tried(self):
        from autograd.arrays.numpy_calls import BY_SCIPY

        assert {*self.NAMES, *self.PAIRS} == BY_SCIPY.keys()

    def test_one_without_an_answer_is_refused_by_its_own_name(self):
        special = pytest.importorskip("scipy.special", reason="NOT TESTED: SciPy is not installed")
        with pytest.raises(TypeError, match=r"scipy\.special\.j0 of a Value has no gradient here"):
            special.j0(Value(1.0))

    def test_tails_keep_their_digits(self):
        assert autograd.erfc(10.0) == pytest.approx(2.088487583762545e-45, rel=1e-13)  # 1 - erf(10) is 0
        x = Value(0.5)
        autograd.gammaln(x).backward()
        assert x.grad == pytest.approx(-np.euler_gamma - 2 * np.log(2), rel=1e-14)

    @pytest.mark.parametrize("order", range(5))
    def test_digamma_is_scipys_polygamma(self, order):
        special = pytest.importorskip("scipy.special", reason="NOT TESTED: SciPy is not installed")
        x = np.concatenate([np.linspace(0.01, 40, 300), np.linspace(-9.95, -0.05, 60) + 1e-3])
        expected = special.polygamma(order, x)
        np.testing.assert_allclose(autograd.digamma(x, order=order), expected, rtol=1e-12, atol=1e-14)

    def test_scipy_is_not_imported_by_us(self):
        code = "import sys, numpy as np, autograd; np.exp(autograd.Value(1.0)); sys.exit('scipy' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- reductions of selected numbers -----------------------------------------------------------------------------------


def test_selected_numbers_alone_get_a_gradient():
    v = Value(A)
    np.max(v, axis=1, initial=-9.0, where=A < 0).sum().backward()
    assert (v.grad[A >= 0] == 0).all() and v.grad.sum() == (A < 0).any(axis=1).sum()


def test_where_may_be_a_comparison_of_values_and_initial_a_value():
    v, start = Value(A), Value(0.5)
    np.sum(v, where=v > 0, initial=start).backward()
    assert start.grad == 1.0 and (v.grad == (A > 0)).all()
    assert v.sum(where=v > 0).data == autograd.sum(A, where=A > 0) == pytest.approx(A[A > 0].sum())


def test_float32_stays_float32_where_numbers_are_selected():
    v = Value(A.astype(np.float32))
    for f in (np.sum, np.mean, np.var, np.std, np.prod):
        assert f(v, axis=0, where=B > -9).dtype == f(v, where=B > 0).dtype == np.float32


@pytest.mark.parametrize("wrong, kind, said", [
    (lambda v: np.sum(v, where=[1, 0, 1]), TypeError, "sum: where is True or False for each number"),
    (lambda v: np.sum(v, where=[True, False]), ShapeError, r"where has shape \(2,\), which does not broadcast"),
    (lambda v: np.max(v, where=v > 0), ValueError, "max: with where .* initial=-inf"),
    (lambda v: np.mean(v, axis=0, where=False), ShapeError, "mean: where selects too few numbers"),
    (lambda v: np.var(v, ddof=6, where=A > -99), ShapeError, "var: where selects too few numbers .* more than 6"),
])  # fmt: skip
def test_a_selection_that_makes_no_sense_is_refused(wrong, kind, said):
    with pytest.raises(kind, match=said):
        wrong(Value(A))
