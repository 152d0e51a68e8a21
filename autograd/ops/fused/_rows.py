"""Fast row sums, column sums and maxima, and when a softmax needs no shift. Plain arrays.

The limits say from where on another way is the faster one; tests set them to zero to try the ways for large arrays.
"""

import functools
import math

import numpy as np

SMALL = 512  # numbers, up to which a call costs more than its arithmetic
SHORT = 16  # numbers in a row, up to which a loop over rows costs more than its arithmetic
LARGE = 4096  # numbers, from which on a temporary array costs more than a call
MANY = 512  # rows, from which on rounding grows if they are added one after another


@functools.lru_cache(maxsize=256)
def ones(n, dtype):
    """A vector of ones, to sum rows with; not to be written to."""
    vector = np.ones(n, dtype)
    vector.flags.writeable = False
    return vector


@functools.lru_cache(maxsize=256)
def row_tools(n, dtype, columns=1):
    """To sum rows of n numbers by a product: ones, to average them: 1/n, each in so many equal columns; and n itself.

    A product takes half the time of a reduction, and an operand without axes half that of a Python number.
    """
    _check_fractions(dtype)
    tools = np.ones((n, columns), dtype), np.full((n, columns), 1.0 / max(n, 1), dtype), np.array(n, dtype)
    for array in tools:
        array.flags.writeable = False
    return tools


def tools_for(x):
    """The `row_tools` of a matrix. If it is small or its rows are short, a row's sum stands in every column: then what
    follows is free of broadcasting, which doubles the time of a small operation and of one on many short rows.
    """
    n = x.shape[1]
    return row_tools(n, x.dtype, n if x.size <= SMALL or n <= SHORT else 1)


@functools.lru_cache(maxsize=256)
def number(value, dtype):
    """A number as an operand without axes, in a given dtype."""
    _check_fractions(dtype)
    array = np.array(value, dtype)
    array.flags.writeable = False
    return array


def _check_fractions(dtype):
    """Integers cannot hold 1/n; the op then tries again with floats (`op_errors.recover`)."""
    if dtype.kind not in "fc":
        raise TypeError(f"expected real numbers, got {dtype}")


@functools.cache
def limits(dtype):
    """The least number, and the smallest above 0: they begin a maximum and a sum that may have nothing in them."""
    _check_fractions(dtype)
    info = np.finfo(dtype)
    return number(info.min, dtype), number(info.tiny, dtype)


def tall(x):
    """All axes but the last as one: a batch of matrices as one tall matrix. Plain arrays."""
    if x.ndim == 2:
        return x
    *rows, columns = x.shape
    return x.reshape(math.prod(rows), columns)  # -1 has no answer in an empty array


def row_sums(x):
    """The sum over the last axis, kept as an axis of one."""
    if x.ndim == 2:
        return x.dot(row_tools(x.shape[1], x.dtype)[0])
    return tall(x).dot(row_tools(x.shape[-1], x.dtype)[0]).reshape(*x.shape[:-1], 1)


def column_sums(x):
    """The sum of the rows of a matrix, by products. Many rows are added in pieces, and then the pieces: the error
    grows with the logarithm of their number, and not with the number.
    """
    n = len(x)
    if n <= MANY:
        return ones(n, x.dtype).dot(x)
    whole = n - n % MANY
    pieces = np.matmul(ones(MANY, x.dtype), x[:whole].reshape(-1, MANY, x.shape[1]))
    total = column_sums(pieces)
    return total if whole == n else total + ones(n - whole, x.dtype).dot(x[whole:])


def row_totals(x):
    """The sums over the last axis, in one column or in all: what the rows are to be divided by."""
    if x.ndim == 2:
        return x.dot(tools_for(x)[0])
    totals = row_totals(tall(x))
    return totals.reshape(*x.shape[:-1], totals.shape[1])


def mean_products(x, y):
    """The mean of x * y over each row of two matrices, in one column or all; of large ones without a temporary."""
    _, average, n = tools_for(x)
    if x.size < LARGE or x.dtype.kind == "c":  # vecdot would conjugate
        return (x * y).dot(average)
    means = np.vecdot(x, y)[:, None]
    means /= n
    return means


def are_small(x):
    """Whether all numbers are so near to 0 that their exponentials, and sums of them, neither overflow nor vanish.

    Then a softmax need not find the largest of each row. Most often the sum of the squares is enough to know, and of
    many numbers the extremes; of few, these would take as long as the largest of each row.
    """
    size = x.size
    bound = _bound_of_exponents(x.dtype, size)
    if not bound:
        return False
    if size < 4 * LARGE and np.vdot(x, x) < bound * bound:  # vdot: it may overflow in silence
        return True
    return size >= LARGE and np.maximum.reduce(x, axis=None) < bound and np.minimum.reduce(x, axis=None) > -bound


@functools.lru_cache(maxsize=256)
def _bound_of_exponents(dtype, n):
    """What n numbers, and their negatives, may be for the sum of their exponentials; 0 for a dtype that holds few."""
    if dtype.kind != "f" or dtype.itemsize < 4:  # in float16 a sum of few would overflow
        return 0.0
    _check_fractions(dtype)
    info = np.finfo(dtype)
    return min(math.log(info.max), -math.log(info.tiny)) - math.log(n + 1) - 1  # 1: whatever rounding does to a bound


def row_tops(x, least):
    """The largest along the last axis (or `least`), kept as an axis of one. Many short rows are faster as columns."""
    n = x.shape[-1]
    if 1 < n <= 32 and 512 <= x.size <= 1 << 15:
        return np.maximum.reduce(tall(x).T.copy(), axis=0, initial=least).reshape(*x.shape[:-1], 1)
    return np.maximum.reduce(x, axis=-1, keepdims=True, initial=least)
