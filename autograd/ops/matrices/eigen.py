"""Eigenvalues, singular values, and norms made of them. All work on matrices and on batches of them.

Eigenvectors and singular vectors are only fixed up to a sign (their *gauge*): LAPACK chooses it, and a derivative keeps
that choice. What does not depend on the signs has a true gradient; what does, has the one for LAPACK's choice. Where
two eigenvalues or singular values are equal the vectors are not fixed at all, and their gradient is infinite or NaN.
"""

from collections import namedtuple

import numpy as np

from autograd.errors import ShapeError
from autograd.op import Op, dtype_of, rank_of, shape_of
from autograd.samples import Sample

from .._axes import negative_axes, negative_axis
from .._functions import function
from ..arithmetic import equal, not_equal
from ..elementwise import abs_, where
from ..reduce import max_, min_, sum_
from ..reduce import norm as euclidean
from ..shape import astype, expand_dims, moveaxis, squeeze
from .linalg import BATCH, SYMMETRIC, A, lapack, square, symmetric

# --- eigenvalues of symmetric matrices ----------------------------------------------------------------------


def _identity(x):
    """The identity matrix as large as the rows of x are long, in its precision."""
    return np.eye(shape_of(x)[-1], dtype=getattr(x, "dtype", None))


def _one_over_gaps(values):
    """1 / (values[j] - values[i]) at [i, j], and 0 on the diagonal."""
    gaps = expand_dims(values, -2) - expand_dims(values, -1)
    return 1 / (gaps + _identity(values)) - _identity(values)


eigenvalues = Op("eigenvalues", normalize=square("eigenvalues"),
                 forward=lambda x: lapack("eigenvalues", np.linalg.eigh, symmetric(x))[0],
                 vjp=(lambda g, out, x: (eigenvectors(x) * expand_dims(g, -2)) @ eigenvectors(x).mT,),
                 written="def eigenvalues(x):\n    return np.linalg.eigh((x + np.matrix_transpose(x)) / 2)[0]",
                 samples=SYMMETRIC, batch="align",
                 doc="The eigenvalues of a symmetric matrix, the smallest first; of x its symmetric part is taken.")


def _eigenvectors_vjp(g, out, x):
    inside = _one_over_gaps(eigenvalues(x)) * (out.mT @ g)
    return symmetric(out @ inside @ out.mT)


eigenvectors = Op("eigenvectors", normalize=square("eigenvectors"),
                  forward=lambda x: lapack("eigenvectors", np.linalg.eigh, symmetric(x))[1],
                  vjp=(_eigenvectors_vjp,),
                  written="def eigenvectors(x):\n    return np.linalg.eigh((x + np.matrix_transpose(x)) / 2)[1]",
                  samples=SYMMETRIC, batch="align",
                  doc="The eigenvectors of a symmetric matrix, as columns of length 1, with the signs of LAPACK.")

EighResult = namedtuple("EighResult", "eigenvalues eigenvectors")


@function(np.linalg.eigh)
def eigh(x, UPLO="L"):
    """The eigenvalues of a symmetric matrix, the smallest first, and its eigenvectors, as columns.

    Of x its symmetric part is taken, so UPLO ("L" or "U", which triangle NumPy reads) changes nothing. The sign of each
    eigenvector is LAPACK's choice; a gradient through one is the one for that sign.
    """
    _check_triangle(UPLO)
    return EighResult(eigenvalues(x), eigenvectors(x))


@function(np.linalg.eigvalsh)
def eigvalsh(x, UPLO="L"):
    """The eigenvalues of a symmetric matrix, the smallest first; see `eigh`."""
    _check_triangle(UPLO)
    return eigenvalues(x)


def _check_triangle(triangle):
    if triangle not in ("L", "U", "l", "u"):
        raise ValueError(f'eigh: UPLO is "L" or "U"; got {triangle!r}')


# --- singular values ----------------------------------------------------------------------------------------


def _matrix(who):
    def normalize(x):
        if rank_of(x) < 2:
            raise ShapeError(f"{who}: needs a matrix, or a batch of them; got shape {shape_of(x)}")
        return (x,), {}

    return normalize


def _svd(x):
    return lapack("svd", lambda x: np.linalg.svd(x, full_matrices=False), x)


_TALL = np.array([[2.0, 0.3], [0.1, -1.0], [0.6, -0.4]])
MATRICES = (Sample(A), Sample(_TALL), Sample(_TALL.T.copy()), Sample(BATCH))

singular_values = Op("singular_values", normalize=_matrix("singular_values"),
                     forward=lambda x: _svd(x)[1],
                     vjp=(lambda g, out, x: (
                         (left_singular_vectors(x) * expand_dims(g, -2)) @ right_singular_vectors(x).mT),),
                     written="def singular_values(x):\n    return np.linalg.svd(x, full_matrices=False)[1]",
                     samples=MATRICES, batch="align",
                     doc="By how much a matrix stretches its singular vectors, the largest first.")


def _left_vjp(g, out, x):
    values, right = singular_values(x), right_singular_vectors(x)
    inside = _one_over_gaps(values**2) * (out.mT @ g)
    turned = (out @ ((inside + inside.mT) * expand_dims(values, -2))) @ right.mT
    return turned + ((g - out @ (out.mT @ g)) / expand_dims(values, -2)) @ right.mT


def _right_vjp(g, out, x):
    values, left = singular_values(x), left_singular_vectors(x)
    inside = _one_over_gaps(values**2) * (out.mT @ g)
    turned = (left @ ((inside + inside.mT) * expand_dims(values, -1))) @ out.mT
    return turned + (left / expand_dims(values, -2)) @ (g - out @ (out.mT @ g)).mT


left_singular_vectors = Op("left_singular_vectors", normalize=_matrix("left_singular_vectors"),
                           forward=lambda x: _svd(x)[0],
                           vjp=(_left_vjp,),
                           written="def left_singular_vectors(x):\n    return np.linalg.svd(x, full_matrices=False)[0]",
                           samples=MATRICES, batch="align",
                           doc="The directions that a matrix stretches to, as columns, with the signs of LAPACK.",
                           inner=True)

right_singular_vectors = Op("right_singular_vectors", normalize=_matrix("right_singular_vectors"),
                            forward=lambda x: np.matrix_transpose(_svd(x)[2]),
                            vjp=(_right_vjp,),
                            written="def right_singular_vectors(x):\n"
                                    "    return np.matrix_transpose(np.linalg.svd(x, full_matrices=False)[2])",
                            samples=MATRICES, batch="align",
                            doc="The directions that a matrix stretches, as columns, with the signs of LAPACK.",
                            inner=True)

SVDResult = namedtuple("SVDResult", "U S Vh")


@function(np.linalg.svd)
def svd(x, full_matrices=True, compute_uv=True):
    """U, S and Vh, for which `U @ diag(S) @ Vh` is x; S alone with compute_uv=False.

    The sign of each pair of singular vectors is LAPACK's choice; a gradient through one is the one for that sign. For a
    matrix that is not square write full_matrices=False: the other columns are not fixed by x and have no gradient.
    """
    if not compute_uv:
        return singular_values(x)
    rows, columns = shape_of(x)[-2:] if rank_of(x) > 1 else (0, 0)
    if full_matrices and rows != columns:
        raise ShapeError(f"svd: of a matrix of shape {shape_of(x)} some columns of U or Vh are free, and have no "
                         "gradient. Write svd(x, full_matrices=False), or compute_uv=False for the singular values.")
    return SVDResult(left_singular_vectors(x), singular_values(x), right_singular_vectors(x).mT)


# --- norms --------------------------------------------------------------------------------------------------


@function(np.linalg.norm, method=True)
def norm(x, ord=None, axis=None, keepdims=False):
    """The size of a vector or a matrix: Euclidean unless `ord` says another, as in NumPy.

    Of vectors: 1, 2, another p, inf, -inf, 0. Of matrices (two axes): "fro", "nuc", 1, -1, inf, -inf, 2, -2.

    >>> norm(np.array([3.0, -4.0])), norm(np.array([3.0, -4.0]), ord=1)
    (5.0, 7.0)
    """
    if ord is None:
        return euclidean(x, axis=axis, keepdims=keepdims)
    axes = tuple(axis) if isinstance(axis, tuple | list) else tuple(range(rank_of(x))) if axis is None else (axis,)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, tuple(negative_axis("norm", rank_of(x), a) for a in axes), keepdims)
    raise ShapeError(f"norm: ord={ord!r} is for one axis (vectors) or two (matrices); got axes {axes} of shape "
                     f"{shape_of(x)}. Say which: axis=-1")


def _vector_norm(x, ord, axis, keepdims):
    size = abs_(x)
    if ord == 2:
        return euclidean(x, axis=axis, keepdims=keepdims)
    if ord in (np.inf, -np.inf):
        return (max_ if ord > 0 else min_)(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return sum_(astype(not_equal(x, 0), dtype_of(x)), axis=axis, keepdims=keepdims)
    if ord == 1:
        return sum_(size, axis=axis, keepdims=keepdims)
    if isinstance(ord, str):
        raise ValueError(f"norm: ord={ord!r} is for matrices, which have two axes; a vector takes a number")
    tip = equal(sum_(size, axis=axis, keepdims=True), 0)  # where all numbers are 0 the norm is taken to be flat
    out = where(tip, 0.0, sum_(where(tip, 1.0, size) ** ord, axis=axis, keepdims=True) ** (1 / ord))
    return out if keepdims else squeeze(out, axis)


def _matrix_norm(x, ord, axes, keepdims):
    row, column = axes
    if ord == "fro":
        return euclidean(x, axis=axes, keepdims=keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        first, second = (row, column) if abs(ord) == 1 else (column, row)
        sums = sum_(abs_(x), axis=first, keepdims=True)
        extreme = (max_ if ord > 0 else min_)(sums, axis=(second,), keepdims=True)
        return extreme if keepdims else sum_(extreme, axis=axes)
    if ord not in (2, -2, "nuc"):
        raise ValueError(f'norm: of a matrix ord is "fro", "nuc", 1, -1, 2, -2, inf or -inf; got {ord!r}')
    values = singular_values(moveaxis(x, axes, (-2, -1)))
    out = sum_(values, axis=-1) if ord == "nuc" else (max_ if ord == 2 else min_)(values, axis=-1)
    return expand_dims(out, negative_axes("norm", x, axes)) if keepdims else out
