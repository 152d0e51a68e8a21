"""The carrier of 90 digits: judged by mpmath, by float64, and every rule of the table by its own differences."""

import math
import zlib
from decimal import Decimal

import mpmath
import numpy as np
import pytest

from autograd import OPS, custom_op
from autograd.digits import Digit, Digits, NoDigits, apply_digits, digits, float64, pull, ties
from autograd.digits.functions import FUNCTIONS
from tests.autograd.judges import cases, is_real
from tests.sweep import sweep

NUMBERS = [1e-40, 1e-12, 0.001, 0.3, 0.99, 1.0, 2.5, 7.3, 45.5, 100.25, 1e6, -1e-12, -0.3, -2.5, -20.5]
JUDGES = {
    "log2": lambda x: mpmath.log(x, 2), "exp2": lambda x: mpmath.mpf(2) ** x, "arctan": mpmath.atan,
    "arcsin": mpmath.asin, "arccos": mpmath.acos, "arcsinh": mpmath.asinh, "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh, "gammaln": lambda x: mpmath.log(abs(mpmath.gamma(x))), "polygamma": mpmath.digamma,
    "reciprocal": lambda x: 1 / x, "square": lambda x: x * x,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
}  # fmt: skip
OF_TWO = {"power", "arctan2", "hypot", "fmod"}
NO_DIGITS = {"eigenvalues", "eigenvectors", "singular_values", "left_singular_vectors", "right_singular_vectors"}


def judged(name, x):
    """mpmath's answer in 300 digits; None where it is complex, infinite, or too small for an exponent."""
    with mpmath.workdps(300):
        try:
            out = JUDGES.get(name, getattr(mpmath, name, None))(mpmath.mpf(x))
        except (ValueError, ZeroDivisionError):
            return None
        small = not isinstance(out, mpmath.mpc) and 0 < abs(out) < mpmath.mpf(10) ** -900000
        return None if isinstance(out, mpmath.mpc) or small or not mpmath.isfinite(out) else out


@sweep("name", sorted(FUNCTIONS.keys() - OF_TWO))
def test_functions_have_all_their_digits(name):
    for x in NUMBERS:
        expected = judged(name, x)
        if expected is None:
            continue
        got = FUNCTIONS[name](Decimal(x))
        with mpmath.workdps(120):
            gap = abs(mpmath.mpf(str(got)) - expected)
            assert gap <= max(abs(expected), mpmath.mpf(10) ** -25) * mpmath.mpf(10) ** -88, (x, got)


def test_functions_of_two_numbers_have_all_their_digits():
    with mpmath.workdps(120):
        for x, y in [(0.3, 2.5), (2.5, -0.7), (1e-9, 3.0), (7.25, 0.5), (100.5, 3.25)]:
            judges = {"power": mpmath.power, "arctan2": mpmath.atan2, "hypot": mpmath.hypot, "fmod": mpmath.fmod}
            for name, judge in judges.items():
                got, expected = FUNCTIONS[name](Decimal(x), Decimal(y)), judge(mpmath.mpf(x), mpmath.mpf(y))
                if name != "fmod" or y > 0:
                    assert abs(mpmath.mpf(str(got)) - expected) <= abs(expected) * mpmath.mpf(10) ** -88, (name, x, y)


def test_no_function_leaves_the_context():
    """Python's own operators on Decimals round to 28 digits."""
    x = digits(math.pi) / 7
    for name in ("sin", "tanh", "erf", "arctan", "gammaln"):
        assert len(getattr(x, name)().d.as_tuple().digits) > 85, name


# --- a Digit is careful ---------------------------------------------------------------------------------------


def test_a_digit_refuses_to_become_a_float():
    x = digits(2.0)
    for convert in (float, int, complex, math.exp, lambda x: [1, 2, 3][x], lambda x: np.zeros(1).fill(x)):
        with pytest.raises((NoDigits, TypeError, ValueError)):
            convert(x)
    out = np.zeros(2)
    with pytest.raises((NoDigits, TypeError, ValueError)):
        out[:] = digits(np.ones(2))


def test_ties_are_noticed_and_only_those():
    x = digits(np.array([1.0, 2.0]))
    with ties() as seen:
        _ = np.maximum(x, 0.0), np.abs(x), np.where(x > 1.5, x, 0.0), np.floor(x + 0.5), x.max()
        assert not seen
        _ = np.maximum(x, 1.0)
    assert seen == ["a comparison of two equal numbers"]
    for kinked in (lambda x: np.abs(x - 1), np.floor, lambda x: np.sort(x - x), lambda x: np.mod(x, 1.0)):
        with ties() as seen:
            kinked(x)
        assert seen


def test_special_numbers():
    x = digits(np.array([0.0, math.inf, -math.inf, math.nan]))
    np.testing.assert_array_equal(float64(np.exp(x)), [1.0, math.inf, 0.0, math.nan])
    np.testing.assert_array_equal(float64(1 / x), [math.inf, 0.0, 0.0, math.nan])
    np.testing.assert_array_equal(np.isfinite(x), [True, False, False, False])
    assert not (x > 0)[3] and not (x == x)[3] and (x != x)[3]
    assert float64(digits(-1.0) ** 0.5) != float64(digits(-1.0) ** 0.5)
    assert float64(digits(0.0) ** 0.0) == 1.0 and float64(digits(1e300) * 1e300) == math.inf


def written(x):
    """What a course's NumPy does: copies, writes in place, masks, statistics."""
    y = x.copy()
    y[y < 0] = 0
    out = np.zeros_like(x)
    out[:] = np.exp(y - np.max(y, axis=1, keepdims=True))
    out /= out.sum(axis=1, keepdims=True)
    centred = x - x.mean(axis=0)
    loss = -np.log(out[np.arange(3), [0, 1, 2]]).sum()
    return np.mean((centred / np.sqrt(x.var(axis=0) + 1e-5)) ** 3) + loss + x.std()


NUMPY = {
    "a course's": written, "in place": lambda x: (lambda y: (y.__imul__(2), y.sum())[1])(x.copy()),
    "partition": lambda x: np.partition(x, 2, axis=1)[:, 2], "sort": lambda x: np.sort(x, axis=0),
    "products": lambda x: x @ x.T + np.einsum("ij,kj->ik", x, x) + np.dot(x, x.T) + np.tensordot(x, x.T, axes=1),
    "inverse": lambda x: np.linalg.inv(x[:, :3] + 3 * np.eye(3)), "determinant": lambda x: np.linalg.det(x[:, :3]),
    "norm": np.linalg.norm, "joined": lambda x: np.concatenate([np.pad(x, 1), np.stack([x[0], x[1]]).repeat(3, 0)[:, :1]
                                                                * np.ones((6, 6))]),
    "median": np.median, "percentile": lambda x: np.percentile(x, 30), "clip": lambda x: np.clip(x, -0.5, 0.5),
    "logaddexp": lambda x: np.logaddexp(x, 0.0), "where": lambda x: np.exp(np.where(x > 0, x, 0.0)),
    "remainder": lambda x: np.mod(x, 0.7) + x // 0.7, "rounded": lambda x: np.round(x, 1) + np.floor(x) + np.sign(x),
    "angles": lambda x: np.arctan2(x, 1 + x**2) + np.hypot(x, 2.0) + np.tanh(x) + np.log1p(np.abs(x)),
    "python": lambda x: sum(max(v, 0.1) ** 2 for row in x.tolist() for v in row), "cast": lambda x: x.astype(float) * 2,
    "running": lambda x: np.cumsum(x, axis=1) + np.cumprod(x, axis=1), "unlike": lambda x: np.zeros_like(x) + x.size,
}  # fmt: skip


@sweep("name", NUMPY)
def test_plain_numpy_runs_in_digits(name):
    x = np.random.default_rng(0).normal(size=(3, 4))
    got = NUMPY[name](digits(x))
    assert isinstance(got, Digit | Digits)
    np.testing.assert_allclose(float64(got), NUMPY[name](x), rtol=1e-12)


# --- the table ------------------------------------------------------------------------------------------------


def drawn(rng, x):
    """A random number for each of x, not near 0."""
    return digits(rng.uniform(0.5, 1.5, np.shape(x))) if np.ndim(x) else digits(float(rng.uniform(0.5, 1.5)))


def total(x):
    return np.sum(np.asarray(x, dtype=object))


@sweep("op, sample", cases(lambda op: op.differentiable and op.name not in NO_DIGITS),
       ids=lambda case: getattr(case, "name", ""), slow=lambda op, sample: sample is not op.samples[0])  # fmt: skip
def test_every_rule_is_right_to_13_digits(op, sample):
    """Along a random line, by differences in 90 digits: no truncation, no rounding, no tolerance to tune."""
    rng = np.random.default_rng(zlib.crc32(op.name.encode()))
    inputs, settings = op.on(sample)[1], sample.settings
    if op.normalize is not None:
        inputs, settings = op.normalize(*(op.pack(tuple(inputs)) if op.pack else inputs), **settings)
    bound = op.bind(settings)
    xs = [digits(x) for x in inputs]
    out, plain = apply_digits(bound, xs), bound.compute(*inputs)
    np.testing.assert_allclose(float64(out), plain, rtol=1e-9, atol=1e-12)
    u = drawn(rng, plain)
    along = [drawn(rng, x) if is_real(x) else None for x in inputs]
    pairs = [(g, v) for g, v in zip(pull(bound, u, out, xs), along, strict=True) if g is not None and v is not None]
    h = digits(1e-30)
    ends = [apply_digits(bound, [x if v is None else x + s * h * v for x, v in zip(xs, along, strict=True)])
            for s in (1, -1)]  # fmt: skip
    gap = total(u * (ends[0] - ends[1])) / (2 * h) - sum((total(g * v) for g, v in pairs), digits(0.0))
    size = sum((total(abs(g * v)) for g, v in pairs), digits(0.0))
    assert float64(abs(gap)) <= 1e-13 * float64(size), float64(gap)


def test_what_has_no_digits_says_so():
    for name in NO_DIGITS:
        with pytest.raises(NoDigits, match=name):
            apply_digits(OPS[name], [digits(np.eye(2))])


def test_a_user_s_op_runs_if_its_numpy_does():
    cube = custom_op("cube_digits", forward=lambda x: x**3, vjp=lambda g, out, x: (3 * g * x**2,))
    assert float64(apply_digits(cube, (digits(2.0),))) == 8.0
    assert float64(pull(cube, digits(1.0), digits(8.0), [digits(2.0)])[0]) == 12.0
    leaves = custom_op("float_digits", forward=lambda x: float(x) ** 3, vjp=lambda g, out, x: (3 * g * x**2,))
    with pytest.raises(NoDigits):
        apply_digits(leaves, (digits(2.0),))
