"""Linear algebra: inverses, solutions, determinants, triangles. All work on matrices and on batches of them."""

from collections import namedtuple

import numpy as np

from autograd.arrays.numpy_calls import answers
from autograd.errors import DataError, ShapeError
from autograd.expr.rules import by_definition
from autograd.op import Op, nothing, rank_of, shape_of
from autograd.samples import Sample

from .._functions import function
from ..arrange import tril
from ..elementwise import abs_, exp, log, sqrt
from ..indexing.join import stack
from ..reduce import product_of_others
from ..shape import expand_dims, getitem, squeeze

# Matrices that are far from singular, and whose eigenvalues and singular values are far apart.
A = np.array([[2.0, 0.3, -0.4], [0.1, -1.5, 0.2], [0.6, -0.3, 1.1]])
BATCH = np.stack([A, A.T + np.eye(3)])
_S = np.array([[2.0, 0.5, -0.3], [0.5, 1.2, 0.4], [-0.3, 0.4, 3.1]])

SQUARE = (Sample(A), Sample(BATCH), Sample(A[:1, :1]))
SYMMETRIC = (Sample(_S), Sample(np.stack([_S, _S[::-1, ::-1] + np.diag([0.0, 0.7, 1.9])])), Sample(_S[:1, :1]))


def square(who):
    """What takes square matrices."""

    def normalize(x):
        shape = shape_of(x)
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise ShapeError(f"{who}: needs a square matrix, or a batch of them; got shape {shape}")
        return (x,), {}

    return normalize


def lapack(who, f, x, *more):
    """NumPy's function on these matrices; a failure is explained in our own error.

    A matrix with a NaN or an infinity gives NaN and never reaches LAPACK, which may fail on it, or not come back.
    """
    if np.asarray(x).dtype == object:  # scalar Values, to be drawn one by one
        raise DataError(f"{who} is found by iteration, not by a formula")
    usual = np.isfinite(x).all(axis=(-2, -1), keepdims=True)
    try:
        if usual.all():
            return f(x, *more)
        out = f(np.where(usual, x, np.eye(*x.shape[-2:], dtype=x.dtype)), *more)
    except np.linalg.LinAlgError as error:
        raise DataError(f"{who}: {str(error).rstrip('.')}. Check the matrix; add a little to its diagonal if it should "
                        "not be singular.") from None
    return _with_nans(out, usual) if isinstance(out, np.ndarray) else tuple(_with_nans(part, usual) for part in out)


def _with_nans(out, usual):
    """Results of a batch, NaN for the matrices that are not usual; some have one axis less than their matrix."""
    axes = out.ndim - (usual.ndim - 2)
    usual = usual.reshape(usual.shape[:-2] + (1,) * axes) if axes >= 0 else usual
    return np.where(usual, out, np.asarray(np.nan, out.dtype))


# --- inverses -----------------------------------------------------------------------------------------------

inv = Op("inv", normalize=square("inv"),
         forward=lambda x: lapack("inv", np.linalg.inv, x),
         vjp=(lambda g, out, x: -out.mT @ g @ out.mT,),
         definition=lambda x: cofactors(x).mT / expand_dims(det(x), (-2, -1)),
         lower=lambda x: solve(x, np.eye(shape_of(x)[-1], dtype=x.dtype)),
         samples=SQUARE[:2], numpy=np.linalg.inv, batch="align",
         doc="The inverse of a matrix: `x @ inv(x)` is the identity.")


def _normalize_solve(a, b):
    square("solve")(a)
    rows = shape_of(b)[0] if rank_of(b) == 1 else shape_of(b)[-2] if rank_of(b) else None
    if rows != shape_of(a)[-1]:
        raise ShapeError(f"solve: a of shape {shape_of(a)} needs a b with {shape_of(a)[-1]} rows; got {shape_of(b)}")
    return (a, b), {}


def _solve_db(g, out, a, b):
    if rank_of(b) > 1:
        return solve(a.mT, g)
    return squeeze(solve(a.mT, expand_dims(g, -1)), -1)


def _solve_da(g, out, a, b):
    if rank_of(b) > 1:
        return -solve(a.mT, g) @ out.mT
    return -solve(a.mT, expand_dims(g, -1)) @ expand_dims(out, -2)


def _batched_solve(op, n, a, b):
    """With a batch axis in front a vector becomes a column, and the ranks are lined up behind that axis."""
    vector = b.ndim == 2
    b = b[..., None] if vector else b
    rank = max(a.ndim, b.ndim)
    a, b = (x.reshape(n, *(1,) * (rank - x.ndim), *x.shape[1:]) for x in (a, b))
    out = np.linalg.solve(a, b)
    return out[..., 0] if vector else out


solve = Op("solve", "solve(a, b)", normalize=_normalize_solve,
           forward=lambda a, b: lapack("solve", np.linalg.solve, a, b),
           vjp=(_solve_da, _solve_db),
           definition=lambda a, b: inv(a) @ b,
           samples=[Sample(A, "3"), Sample(A, "3,2"), Sample(BATCH, "2,3,2"), Sample(BATCH, "3"),
                    Sample(A, "2,3,1")],
           numpy=np.linalg.solve, batch=_batched_solve,
           doc="The x for which `a @ x` is b: `inv(a) @ b`, but quicker and with more digits.")

pinv = Op("pinv", "pinv(x)",
          normalize=lambda x: ((x,), {}),
          forward=lambda x: lapack("pinv", np.linalg.pinv, x),
          vjp=(lambda g, out, x: (-out.mT @ g @ out.mT + (g.mT - x @ (out @ g.mT)) @ (out @ out.mT)
                                  + (out.mT @ out) @ (g.mT - (g.mT @ out) @ x)),),
          written="def pinv(x):\n    return np.linalg.pinv(x)",
          samples=(Sample(A), Sample(A[:, :2]), Sample(A[:2]), Sample(BATCH)), batch="align",
          doc="The pseudoinverse: the inverse where there is one, else what comes nearest to it; x keeps its rank.")


@answers(np.linalg.pinv)
def _numpy_pinv(a):
    return pinv(a)


# --- determinants -------------------------------------------------------------------------------------------

det = Op("det", normalize=square("det"),
         forward=np.linalg.det,
         vjp=(lambda g, out, x: expand_dims(g, (-2, -1)) * cofactors(x),),
         definition=lambda x: _by_first_row(x), lower=lambda x: signdet(x) * exp(logabsdet(x)),
         samples=SQUARE, numpy=np.linalg.det, batch="align",
         doc="The determinant: by how much the matrix stretches volumes.")


def _minor(x, i, j):
    """x without row i and column j."""
    rows = [r for r in range(shape_of(x)[-1]) if r != i]
    columns = [c for c in range(shape_of(x)[-1]) if c != j]
    return getitem(getitem(x, (..., np.array(rows, int), slice(None))), (..., np.array(columns, int)))


def _by_first_row(x):
    """Each number of the first row times the determinant without its row and column, in turn added and taken away."""
    n = shape_of(x)[-1]
    if n == 1:
        return getitem(x, (..., 0, 0))
    terms = [(-1.0) ** j * getitem(x, (..., 0, j)) * _by_first_row(_minor(x, 0, j)) for j in range(n)]
    return sum(terms[1:], terms[0])


def _cofactors(x):
    """From singular values, so that a singular matrix has them too: all but one of the values are multiplied."""
    u, s, vh = lapack("cofactors", np.linalg.svd, x)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    others = product_of_others.forward(s, axis=(-1,)) if s.shape[-1] else s
    return sign[..., None, None] * ((u * others[..., None, :]) @ vh)


def _cofactors_defined(x):
    n = shape_of(x)[-1]
    if n == 1:
        return 0.0 * x + 1.0
    entries = [[(-1.0) ** (i + j) * det(_minor(x, i, j)) for j in range(n)] for i in range(n)]
    return stack([stack(row, axis=-1) for row in entries], axis=-2)


cofactors = Op("cofactors", normalize=square("cofactors"),
               forward=_cofactors,
               vjp=by_definition(_cofactors_defined),
               definition=_cofactors_defined,
               written="def cofactors(x):\n    u, s, vh = np.linalg.svd(x)\n"
                       "    others = np.stack([np.delete(s, i, -1).prod(-1) for i in range(s.shape[-1])], -1)\n"
                       "    sign = np.linalg.det(u) * np.linalg.det(vh)\n"
                       "    return sign[..., None, None] * ((u * others[..., None, :]) @ vh)",
               samples=SQUARE, batch="align",
               doc="For each number, the signed determinant without its row and column: the derivative of det.",
               inner=True)

logabsdet = Op("logabsdet", normalize=square("logabsdet"),
               forward=lambda x: np.linalg.slogdet(x)[1],
               vjp=(lambda g, out, x: expand_dims(g, (-2, -1)) * inv(x).mT,),
               definition=lambda x: log(abs_(det(x))),
               written="def logabsdet(x):\n    return np.linalg.slogdet(x)[1]",
               samples=SQUARE, batch="align", doc="`log(abs(det(x)))`, without overflow.", inner=True)

signdet = Op("signdet", "signdet(x)", normalize=square("signdet"),
             forward=lambda x: np.linalg.slogdet(x)[0],
             vjp=nothing, written="def signdet(x):\n    return np.linalg.slogdet(x)[0]",
             samples=SQUARE, batch="align", doc="The sign of the determinant; no gradient flows.", inner=True)

SlogdetResult = namedtuple("SlogdetResult", "sign logabsdet")


@function(np.linalg.slogdet)
def slogdet(x):
    """The sign of the determinant, and the logarithm of its size."""
    return SlogdetResult(signdet(x), logabsdet(x))


# --- Cholesky -----------------------------------------------------------------------------------------------


def symmetric(x):
    """The symmetric part of a matrix."""
    return (x + x.mT) / 2


def _cholesky_vjp(g, out, x):
    """Half of the diagonal of out.mT @ g belongs to each side."""
    low = tril(out.mT @ g)
    half = low - low * (np.eye(shape_of(x)[-1], dtype=getattr(out, "dtype", None)) / 2)
    back = inv(out).mT @ half @ inv(out)
    return (back + back.mT) / 2


def _cholesky_defined(x):
    """Column by column: the root of what is left on the diagonal, and what is left below it divided by that root."""
    x = symmetric(x)
    n = shape_of(x)[-1]
    entry = [[0.0 * getitem(x, (..., i, j)) for j in range(n)] for i in range(n)]
    for j in range(n):
        for i in range(j, n):
            left = getitem(x, (..., i, j))
            for k in range(j):
                left = left - entry[i][k] * entry[j][k]
            entry[i][j] = sqrt(left) if i == j else left / entry[j][j]
    return stack([stack(row, axis=-1) for row in entry], axis=-2)


cholesky_ = Op("cholesky", normalize=square("cholesky"),
               forward=lambda x: lapack("cholesky", np.linalg.cholesky, symmetric(x)),
               vjp=(_cholesky_vjp,),
               definition=_cholesky_defined,
               written="def cholesky(x):\n    return np.linalg.cholesky((x + np.matrix_transpose(x)) / 2)",
               samples=SYMMETRIC, batch="align",
               doc="The lower triangle L for which `L @ L.mT` is x, a symmetric matrix with positive eigenvalues.")


@function(np.linalg.cholesky)
def cholesky(x, upper=False):
    """The lower triangle L for which `L @ L.mT` is x, a symmetric matrix with positive eigenvalues; or upper, `L.mT`.

    Of x its symmetric part is taken, so that the gradient is symmetric too.
    """
    return cholesky_(x).mT if upper else cholesky_(x)
