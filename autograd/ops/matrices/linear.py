"""Products of vectors and matrices."""

import functools
import itertools
import math
import operator
import string

import numpy as np

from autograd.about import About, other_factor
from autograd.arrays.numpy_calls import answers
from autograd.errors import ShapeError
from autograd.op import Op, dtype_of, rank_of, shape_of
from autograd.samples import Sample

from .._axes import negative_axis
from .._functions import function
from ..fused._rows import LARGE, tall
from ..indexing.join import concatenate
from ..reduce import sum_
from ..shape import broadcast_to, expand_dims, getitem, moveaxis, ravel, reshape, transpose

ndarray = np.ndarray


def product(x, y):
    """`x @ y` on any carrier. With a matrix on the right, all rows of a batch are one tall matrix."""
    if x.__class__ is ndarray and y.__class__ is ndarray and y.ndim == 2:
        if x.ndim == 2:  # `dot` is quicker to call, but fills its result with zeros before it computes it
            return x.dot(y) if x.size < LARGE else np.matmul(x, y)
        if x.ndim > 2:
            return product(tall(x), y).reshape(*x.shape[:-1], y.shape[1])
    return x @ y


def _matmul(x, y):
    try:
        return product(x, y)
    except (ValueError, TypeError):
        raise ShapeError(_unchained(shape_of(x), shape_of(y))) from None


def _unchained(a, b):
    if not a or not b:
        return f"matmul: shapes {a} and {b}; a scalar has no matrix product. Did you mean x * y?"
    inner = b[-2] if len(b) > 1 else b[0]
    hint = ""
    if len(b) > 1 and a[-1] == b[-1]:
        hint = " Did you mean x @ y.mT?"
    elif len(a) > 1 and a[-2] == inner:
        hint = " Did you mean x.mT @ y?"
    if a[-1] == inner:
        return f"matmul: the batch axes of {a} and {b} do not broadcast"
    return f"matmul: shapes {a} and {b} do not chain; {a[-1]} must equal {inner}.{hint}"


def flat(x):
    """All axes but the last as one: a batch of matrices as one tall matrix."""
    *rows, columns = shape_of(x)
    return x if len(rows) == 1 else reshape(x, (math.prod(rows), columns))  # -1 has no answer in an empty array


def _matmul_dx(g, out, x, y):
    if rank_of(y) == 1:  # each row of x met y
        if rank_of(x) == 1:
            return g * y
        return outer(g, y) if rank_of(x) == 2 else expand_dims(g, -1) * y
    if rank_of(x) == 1 and rank_of(y) > 2:  # x met each column of every matrix
        return sum_(y * expand_dims(g, -2), axis=-1)
    return product(g, y.mT)


def _matmul_dy(g, out, x, y):
    if rank_of(x) > 2 and rank_of(y) == 2:  # one matrix shared by a batch: one product does the sum over it
        return product(flat(x).mT, flat(g))
    if rank_of(x) > 1 and rank_of(y) > 1:
        return product(x.mT, g)
    if rank_of(x) == 1:
        if rank_of(y) == 1:
            return g * x
        return outer(x, g) if rank_of(y) == 2 else expand_dims(x, -1) * expand_dims(g, -2)
    return product(x.mT, g) if rank_of(x) == 2 else sum_(x * expand_dims(g, -1), axis=-2)


def _batched_matmul(op, n, x, y):
    """With a batch axis in front, vectors become one-row and one-column matrices."""
    if x.ndim == y.ndim > 2:
        return np.matmul(x, y)
    row, column = x.ndim == 2, y.ndim == 2
    x, y = x[:, None, :] if row else x, y[:, :, None] if column else y
    rank = max(x.ndim, y.ndim)
    x, y = (a.reshape(n, *(1,) * (rank - a.ndim), *a.shape[1:]) for a in (x, y))
    out = np.matmul(x, y)
    if column:
        out = out[..., 0]
    return np.squeeze(out, -1 if column else -2) if row else out


matmul = Op("matmul", "x @ y",
            forward=_matmul,
            vjp=(_matmul_dx, _matmul_dy),
            samples=[Sample(s) for s in ("2,3 3,4", "3 3", "3 3,4", "2,3 3", "5,2,3 5,3,4", "5,2,3 3,4", "2,3 5,3,4",
                                         "3 5,3,4", "5,2,3 3", "1,2,3 5,3,4", "6,1,2,3 5,3,4", "0,3 3,2", "2,0 0,3")],
            numpy=np.matmul, batch=_batched_matmul,
            about=About(rule="A matrix product sends to each side the gradient times the other side, transposed: "
                             "every entry collects all the sums it took part in.",
                        small=other_factor),
            doc="The matrix product: vectors, matrices, and batches of them with broadcast batch axes.")


outer = Op("outer", "outer(x, y)",
           normalize=lambda x, y: ((x, y), {}) if rank_of(x) == rank_of(y) == 1 else (
               (reshape(x, (-1,)), reshape(y, (-1,))), {}),
           forward=lambda x, y: x[..., :, None] * y[..., None, :],
           vjp=lambda g, out, x, y: (g @ y, x @ g),
           definition=lambda x, y: expand_dims(x, -1) * expand_dims(y, -2), lower=True,
           samples=[Sample("3 4"), Sample("1 2"), Sample("2 2")], numpy=np.outer,
           batch=lambda op, n, x, y: op.forward(x, y),
           doc="The product of each number of x with each of y: a column times a row.")


@answers(np.dot)
def numpy_dot(x, y):
    """np.dot: a product of scalars, a matrix product, and of batches each matrix of one with each of the other."""
    if rank_of(x) == 0 or rank_of(y) == 0:
        return x * y
    return matmul(x, y) if rank_of(y) <= 2 else tensordot(x, y, (-1, -2))


@function(np.inner, method=True)
def inner(x, y):
    """The sum of products over the last axes of x and y; of two vectors, their dot product.

    >>> inner(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    if rank_of(x) == 0 or rank_of(y) == 0:
        return x * y
    return tensordot(x, y, (-1, -1))


@function(np.vdot)
def vdot(x, y):
    """The sum of the products of all numbers of x and y, in order."""
    if math.prod(shape_of(x)) != math.prod(shape_of(y)):
        raise ShapeError(f"vdot: as many numbers in both; got shapes {shape_of(x)} and {shape_of(y)}")
    return sum_(ravel(x) * ravel(y))


@function(np.tensordot)
def tensordot(x, y, axes=2):
    """Products of x and y summed over some axes of each: the last n of x and the first n of y, or two lists of axes.

    >>> tensordot(np.ones((2, 3)), np.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    if np.ndim(axes) == 0:
        axes = (range(-int(axes), 0), range(int(axes)))
    ours, theirs = (list(a) if np.ndim(a) else [a] for a in axes)
    ours = [negative_axis("tensordot", rank_of(x), a) for a in ours]
    theirs = [negative_axis("tensordot", rank_of(y), a) for a in theirs]
    sizes = [shape_of(x)[a] for a in ours]
    if sizes != [shape_of(y)[a] for a in theirs]:
        raise ShapeError(f"tensordot: axes {ours} of shape {shape_of(x)} and {theirs} of shape {shape_of(y)} do not "
                         "pair up: the sizes must be equal")
    left = [a for a in range(-rank_of(x), 0) if a not in ours]
    right = [a for a in range(-rank_of(y), 0) if a not in theirs]
    rows, columns = [shape_of(x)[a] for a in left], [shape_of(y)[a] for a in right]
    summed = math.prod(sizes)
    out = matmul(reshape(transpose(x, (*left, *ours)) if rank_of(x) else x, (math.prod(rows), summed)),
                 reshape(transpose(y, (*theirs, *right)) if rank_of(y) else y, (summed, math.prod(columns))))
    return reshape(out, (*rows, *columns))


@function(np.kron)
def kron(x, y):
    """A copy of y for each number of x, times that number, in blocks.

    >>> kron(np.array([1.0, 10.0]), np.array([1.0, 2.0])).tolist()
    [1.0, 2.0, 10.0, 20.0]
    """
    rank = max(rank_of(x), rank_of(y))
    a, b = ((1,) * (rank - rank_of(z)) + shape_of(z) for z in (x, y))
    pairs = list(zip(a, b, strict=True))
    products = (reshape(x, tuple(n for size, _ in pairs for n in (size, 1)))
                * reshape(y, tuple(n for _, size in pairs for n in (1, size))))
    return reshape(products, tuple(n * m for n, m in pairs))


@function(np.convolve)
def convolve(x, y, mode="full"):
    """Each number of x times y, each moved one place on, and all added: the product of two polynomials.

    mode is "full", "same" (as long as the longer one) or "valid" (where the shorter one lies inside).

    >>> convolve(np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0])).tolist()
    [1.0, 12.0, 23.0, 30.0]
    """
    if rank_of(x) > 1 or rank_of(y) > 1 or not all(shape_of(x)) or not all(shape_of(y)):
        raise ShapeError(f"convolve: two lists of numbers, not empty; got shapes {shape_of(x)} and {shape_of(y)}")
    long, short = sorted((ravel(x), ravel(y)), key=lambda v: -shape_of(v)[0])
    n, m = shape_of(long)[0], shape_of(short)[0]
    parts = {"full": slice(None), "same": slice((m - 1) // 2, (m - 1) // 2 + n), "valid": slice(m - 1, n)}
    if mode not in parts:
        raise ValueError(f"convolve: mode is {', '.join(map(repr, parts))}; got {mode!r}")
    products = outer(short, long)
    moved = concatenate([products, np.zeros((m, m), dtype_of(products))], axis=1)  # each row begins a place later
    moved = reshape(getitem(ravel(moved), (slice(None, -m),)), (m, n + m - 1))
    return getitem(sum_(moved, axis=0), (parts[mode],))


@function(np.cross)
def cross(x, y, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """The cross product of vectors of three numbers.

    >>> cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])).tolist()
    [0.0, 0.0, 1.0]
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    if shape_of(x)[-1] != 3 or shape_of(y)[-1] != 3:
        raise ShapeError(f"cross: vectors of three numbers; got {shape_of(x)[-1]} and {shape_of(y)[-1]}")
    x, y = ([getitem(v, (..., slice(i, i + 1))) for i in range(3)] for v in (x, y))
    parts = [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
    out = concatenate(parts, axis=-1)
    return out if rank_of(out) == 1 else moveaxis(out, -1, axisc)


# --- dot: the weighted sum of a scalar graph as one node ----------------------------------------------------


def _normalize_dot(xs, ys, bias=None):
    xs, ys = tuple(xs), tuple(ys)
    if len(xs) != len(ys):
        raise ShapeError(f"dot: {len(xs)} numbers on the left, {len(ys)} on the right; they must pair up")
    return xs + ys + (() if bias is None else (bias,)), {}


def _dot(*xs):
    half = len(xs) // 2
    total = xs[-1] if len(xs) % 2 else 0.0
    for x, y in zip(xs[:half], xs[half : 2 * half], strict=True):
        total = total + x * y
    return total


def _dot_defined(*xs):
    half = len(xs) // 2
    products = [x * y for x, y in zip(xs[:half], xs[half : 2 * half], strict=True)]
    return functools.reduce(operator.add, [*products, *xs[2 * half :]])


def _dot_vjp(g, out, *xs):
    half = len(xs) // 2
    bias = (g,) if len(xs) % 2 else ()
    return (*[g * y for y in xs[half : 2 * half]], *[g * x for x in xs[:half]], *bias)


dot = Op("dot", "dot(*xs)", normalize=_normalize_dot,
         forward=_dot, vjp=_dot_vjp, lower=_dot,
         definition=_dot_defined,
         samples=[Sample(". . . ."), Sample(". . . . . . .")], batch="align",
         pack=lambda xs: (xs[: len(xs) // 2], xs[len(xs) // 2 : 2 * (len(xs) // 2)], *xs[2 * (len(xs) // 2) :]),
         doc="`dot([x1, x2], [y1, y2], bias)` is `x1*y1 + x2*y2 + bias`, for scalar graphs, as one node.")

# --- einsum -------------------------------------------------------------------------------------------------


def _normalize_einsum(*given, subscripts=None):
    """Subscripts without dots or repeated letters: "..." spelled out, a diagonal as a product with the identity."""
    operands = list(given)
    if subscripts is None:
        subscripts, *operands = operands if isinstance(operands[0], str) else _with_letters(operands)
    subscripts = subscripts.replace(" ", "")
    left, arrow, right = subscripts.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ShapeError(f"einsum: {subscripts!r} names {len(terms)} operands; got {len(operands)}")
    free = (c for c in string.ascii_letters if c not in subscripts)
    widest = max((rank_of(x) - len(t.replace("...", "")) for t, x in zip(terms, operands, strict=True) if "..." in t),
                 default=0)
    dots = "".join(itertools.islice(free, widest))
    for i, (term, x) in enumerate(zip(terms, operands, strict=True)):
        own = rank_of(x) - len(term.replace("...", ""))
        terms[i] = term.replace("...", dots[len(dots) - own :] if own > 0 else "")
        if len(terms[i]) != rank_of(x):
            raise ShapeError(f"einsum: {term!r} names {len(term)} axes, but that operand has shape {shape_of(x)}")
    if not arrow:  # as NumPy: the letters that stand once, in order
        every = "".join(terms)
        right = dots + "".join(sorted(c for c in set(every) if every.count(c) == 1 and c not in dots))
    if dots and "..." not in right and arrow:
        raise ShapeError(f"einsum: {subscripts!r} leaves out the axes of '...' behind the arrow. Write '...' there, or "
                         "sum over them in the result")
    right = right.replace("...", dots)
    for i, term in enumerate(terms):
        for position, c in enumerate(term):
            if c in term[:position]:
                sizes = shape_of(operands[i])
                if sizes[position] != sizes[term.index(c)]:
                    raise ShapeError(f"einsum: {c!r} stands twice in {term!r}, for axes of different sizes: {sizes}")
                twin = next(free)
                terms[i] = terms[i][:position] + twin + terms[i][position + 1 :]
                terms.append(c + twin)
                operands.append(np.eye(sizes[position], dtype=getattr(operands[i], "dtype", None)))
    return tuple(operands), {"subscripts": ",".join(terms) + "->" + right}


def _with_letters(given):
    """`einsum(x, [0, 1], [1, 0])`, where numbers name the axes, as subscripts and operands: "ab->ba" and x."""
    lists = given[1::2] + ([given[-1]] if len(given) % 2 else [])
    terms = ["".join("..." if i is Ellipsis else string.ascii_letters[i] for i in numbers) for numbers in lists]
    if len(given) % 2:
        terms[-2:] = [f"{terms[-2]}->{terms[-1]}"]
    return [",".join(terms), *given[: len(given) - 1 : 2]]


def _einsum(*xs, subscripts):
    try:
        return np.einsum(subscripts, *xs, optimize=len(xs) > 2)
    except ValueError as error:
        raise ShapeError(f"einsum {subscripts!r}: shapes {', '.join(str(shape_of(x)) for x in xs)}: {error}") from None


def _einsum_vjp(g, out, *xs, subscripts):
    left, _, right = subscripts.partition("->")
    terms = left.split(",")
    return tuple(_einsum_pull(g, i, xs, terms, right) for i in range(len(xs)))


def _einsum_pull(g, i, xs, terms, right):
    """The gradient of operand i: the same sum with g in its place; an axis that only it has is spread out."""
    others = [(t, x) for j, (t, x) in enumerate(zip(terms, xs, strict=True)) if j != i]
    known = set(right).union(*(t for t, _ in others))
    kept = "".join(c for c in terms[i] if c in known)
    subscripts = ",".join([right, *(t for t, _ in others)]) + "->" + kept
    dx = einsum(subscripts, g, *(x for _, x in others))
    missing = tuple(n for n, c in enumerate(terms[i]) if c not in known)
    dx = expand_dims(dx, missing) if missing else dx
    # An axis of size 1 in all others was spread to x's size; one of size 1 in x is summed by the walk.
    spread = tuple(size if n == 1 else n for n, size in zip(shape_of(dx), shape_of(xs[i])))
    return dx if shape_of(dx) == spread else broadcast_to(dx, spread)


def _einsum_lowered(*xs, subscripts):
    """Two operands at a time, each pair as one product of (batches of) matrices."""
    left, _, right = subscripts.partition("->")
    terms = left.split(",")
    term, x = terms[0], xs[0]
    for i, (other, y) in enumerate(zip(terms[1:], xs[1:], strict=True)):
        needed = set(right).union(*terms[i + 2 :])
        mine, theirs = dict(zip(term, shape_of(x))), dict(zip(other, shape_of(y)))
        x, term = _without_ones(x, term, theirs)
        y, other = _without_ones(y, other, mine)
        x, term = _summed_letters(x, term, needed.union(other))
        y, other = _summed_letters(y, other, needed.union(term))
        batch = [c for c in term if c in other and c in needed]
        inner = [c for c in term if c in other and c not in needed]
        rows, columns = ([c for c in mine if c not in batch and c not in inner] for mine in (term, other))
        sizes = dict(zip(term, shape_of(x))) | dict(zip(other, shape_of(y)))
        lead = [sizes[c] for c in batch]
        n, m, k = (math.prod(sizes[c] for c in part) for part in (rows, inner, columns))
        x = reshape(transpose(x, [term.index(c) for c in batch + rows + inner]), (*lead, n, m))
        y = reshape(transpose(y, [other.index(c) for c in batch + inner + columns]), (*lead, m, k))
        term = "".join(batch + rows + columns)
        x = reshape(x @ y, [sizes[c] for c in term])
    x, term = _summed_letters(x, term, set(right))
    return transpose(x, [term.index(c) for c in right]) if len(term) > 1 else x


def _without_ones(x, term, others):
    """x without the axes of size 1 that another operand has longer: there it is the same factor all along."""
    kept = [i for i, c in enumerate(term) if shape_of(x)[i] != 1 or others.get(c, 1) == 1]
    if len(kept) == len(term):
        return x, term
    return reshape(x, tuple(shape_of(x)[i] for i in kept)), "".join(term[i] for i in kept)


def _summed_letters(x, term, needed):
    """x summed over the letters that nothing else needs, and the letters that are left."""
    gone = tuple(i for i, c in enumerate(term) if c not in needed)
    return (sum_(x, gone) if gone else x), "".join(c for c in term if c in needed)


einsum = Op("einsum", "einsum(subscripts, *xs)", normalize=_normalize_einsum,
            forward=_einsum, vjp=_einsum_vjp, lower=_einsum_lowered,
            samples=[Sample(shapes, settings={"subscripts": s}) for shapes, s in [
                ("2,3 3,4", "ij,jk->ik"), ("2,3", "ij->j"), ("2,3", "ij->ji"), ("3,3", "ii->"), ("3,3", "ii->i"),
                ("2,3 2,3", "ij,ij->"), ("5,2,3 5,3,4", "bij,bjk->bik"), ("2,3 3 3", "ij,j,j->i"), ("2,3", "ij->"),
                ("5,2,3 3,4", "...ij,jk->...ik"), ("2,3 3,4", "ij,jk"), ("2,1 3,4", "ij,jk->ik"),
                ("2,3 1,4", "ij,jk->ik"), ("1,3 2,3", "ij,ij->j"), ("2,1 2,3", "ij,ij->"), ("3,0 0,2", "ij,jk->ik")]],
            numpy=np.einsum, doc="NumPy's einsum: products summed over the letters that are not in the result.")

