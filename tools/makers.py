"""How operands and settings for an op are found among the nodes of a growing graph: one maker for each kind of op.

A maker gives the operands (numbers of nodes, or constants as tuples of one) and the settings; None where nothing fits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .graphs import Builder

Made = tuple[list[Any], dict[str, Any]] | None
MAKERS: dict[str, Callable[[Builder], Made]] = {}  # by the name of an op


def maker(*ops: str) -> Callable[[Any], Any]:
    """Let a function find operands for these ops; one of several ops takes the op's name too."""

    def register(make: Callable[..., Made]) -> Callable[..., Made]:
        for op in ops:
            MAKERS[op] = lambda b, op=op: make(b, op) if make.__code__.co_argcount == 2 else make(b)
        return make

    return register


DOMAIN: dict[str, Callable[[Any], Any]] = {
    "log": lambda x: x > 0.05, "sqrt": lambda x: x > 0.01, "log1p": lambda x: x > -0.9,
    "tan": lambda x: np.abs(x) < 1.3,
    "log2": lambda x: x > 0.05, "log10": lambda x: x > 0.05, "exp2": lambda x: x < 4, "arccosh": lambda x: x > 1.1,
    **dict.fromkeys(("arcsin", "arccos", "arctanh"), lambda x: np.abs(x) < 0.9),
    "erfc": lambda x: np.abs(x) < 4,
    "exp": lambda x: x < 4, "expm1": lambda x: x < 4, "sinh": lambda x: np.abs(x) < 4, "cosh": lambda x: np.abs(x) < 4,
}  # fmt: skip


@maker("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh", "sigmoid",
       "softplus", "silu", "relu", "erf", "abs", "neg", "sign", "copy",
       "exp2", "log2", "log10", "arcsin", "arccos", "arcsinh", "arccosh", "arctanh", "sinc", "nan_to_num",
       "erfc")  # fmt: skip
def unary(b: Builder, op: str) -> Made:
    i = b.pick(lambda x: bool(np.all(DOMAIN.get(op, np.isfinite)(x))))
    return None if i is None else ([i], {})


@maker("gelu")
def gelu(b: Builder) -> Made:
    i = b.pick()
    return None if i is None else ([i], {"approximate": str(b.rng.choice(["none", "tanh"]))})


@maker("leaky_relu")
def leaky_relu(b: Builder) -> Made:
    i = b.pick()
    return None if i is None else ([i], {"slope": float(b.rng.choice([0.01, 0.3, -0.5]))})


@maker("clip")
def clip(b: Builder) -> Made:
    i = b.pick()
    return None if i is None else ([i], {"low": -0.6, "high": float(b.rng.choice([0.7, 1.0]))})


def _pair(b: Builder) -> list[Any] | None:
    """Two nodes that broadcast, or a node and a constant, in either order; often the same node twice."""
    i = b.pick()
    if i is None:
        return None
    if b.rng.random() < 0.2:
        other: Any = (float(b.rng.choice([2.0, -1.5, 0.5, 3.0])),)
    elif b.rng.random() < 0.15:
        other = b.leaf(tuple(1 if b.rng.random() < 0.4 else n for n in b.shape(i))[int(b.rng.integers(0, 2)) :])
    else:
        other = b.pick(lambda x: _broadcasts(x.shape, b.shape(i)))
    return [i, other] if b.rng.random() < 0.5 else [other, i]


def _broadcasts(a: tuple[int, ...], c: tuple[int, ...]) -> bool:
    try:
        np.broadcast_shapes(a, c)
    except ValueError:
        return False
    return True


@maker("add", "sub", "mul", "maximum", "minimum", "fmax", "fmin", "logaddexp")
def binary(b: Builder) -> Made:
    pair = _pair(b)
    return None if pair is None else (pair, {})


@maker("outer")
def outer(b: Builder) -> Made:
    i, j = b.ranked(1, 1), b.ranked(1, 1)
    return None if i is None or j is None else ([i, j], {})


@maker("arctan2", "hypot")
def away_from_zero(b: Builder) -> Made:
    pair = _pair(b)
    ok = pair is not None and np.all(np.hypot(_of(b, pair[0]), _of(b, pair[1])) > 0.1)
    return (pair, {}) if ok else None  # type: ignore[return-value]


@maker("div")
def div(b: Builder) -> Made:
    pair = _pair(b)
    ok = pair is not None and np.all(np.abs(_of(b, pair[1])) > 0.2)
    return (pair, {}) if ok else None  # type: ignore[return-value]


@maker("power")
def power(b: Builder) -> Made:
    if b.rng.random() < 0.5:
        i = b.pick()
        return None if i is None else ([i, (int(b.rng.choice([0, 1, 2, 3])),)], {})
    pair = _pair(b)
    ok = (
        pair is not None
        and np.all(np.asarray(_of(b, pair[0])) > 0.2)
        and np.all(np.abs(_of(b, pair[1])) < 3)
        and np.all(np.asarray(_of(b, pair[1])) != 0)  # torch drops a term of the second derivative there
    )
    return (pair, {}) if ok else None  # type: ignore[return-value]


@maker("mod", "fmod")
def remainder(b: Builder) -> Made:
    pair = _pair(b)
    if pair is None or not np.all(np.abs(_of(b, pair[1])) > 0.2):
        return None
    quotient = np.asarray(_of(b, pair[0])) / _of(b, pair[1])
    return (pair, {}) if np.all(np.abs(quotient - np.rint(quotient)) > 1e-3) else None  # away from the jumps


@maker("xlogy")
def xlogy(b: Builder) -> Made:
    pair = _pair(b)
    ok = pair is not None and np.all(np.asarray(_of(b, pair[1])) > 0.2)
    return (pair, {}) if ok else None  # type: ignore[return-value]


def _of(b: Builder, i: Any) -> Any:
    return b.values[i] if isinstance(i, int) else i[0]


@maker("less", "less_equal", "greater", "greater_equal")
def compare(b: Builder) -> Made:
    pair = _pair(b)
    return None if pair is None else (pair, {})


@maker("where")
def where(b: Builder) -> Made:
    masks = [i for i, x in enumerate(b.values) if isinstance(x, np.ndarray) and x.dtype.kind == "b"]
    if not masks:
        return None
    condition = int(b.rng.choice(masks))
    i = b.pick(lambda x: _broadcasts(x.shape, b.shape(condition)))
    if i is None:
        return None
    shape = np.broadcast_shapes(b.shape(i), b.shape(condition))
    j = b.pick(lambda x: _broadcasts(x.shape, shape))
    return ([condition, i, j], {}) if j is not None else ([condition, i, (0.0,)], {})


@maker("sum", "mean", "prod", "logsumexp", "max", "min", "norm")
def reduction(b: Builder) -> Made:
    i = b.ranked(0)
    return None if i is None else ([i], {"axis": b.axes(i), "keepdims": bool(b.rng.random() < 0.4)})


@maker("var", "std")
def spread(b: Builder) -> Made:
    i = b.ranked(1)
    return None if i is None else ([i], {"axis": b.axes(i), "keepdims": bool(b.rng.random() < 0.4)})


@maker("roll")
def roll(b: Builder) -> Made:
    i = b.ranked(1)
    return None if i is None else ([i], {"shift": int(b.rng.integers(-3, 4)), "axis": b.axis(i)})


@maker("cumsum", "flip", "softmax", "log_softmax")
def along(b: Builder) -> Made:
    i = b.ranked(1)
    return None if i is None else ([i], {"axis": b.axis(i)})


@maker("reshape")
def reshape(b: Builder) -> Made:
    i = b.pick()
    if i is None:
        return None
    size = int(np.size(b.values[i]))
    divisors = [d for d in range(1, size + 1) if size and size % d == 0] or [1]
    d = int(b.rng.choice(divisors))
    choices: list[tuple[int, ...]] = [(-1,), (d, size // d), (1, size), (d, 1, size // d)] if size else [(0, 3)]
    return [i], {"shape": choices[int(b.rng.integers(len(choices)))]}


@maker("transpose")
def transpose(b: Builder) -> Made:
    i = b.pick(lambda x: x.ndim >= 1)
    return None if i is None else ([i], {"axes": tuple(int(a) for a in b.rng.permutation(np.ndim(b.values[i])))})


@maker("swapaxes")
def swapaxes(b: Builder) -> Made:
    i = b.pick(lambda x: x.ndim >= 1)
    return None if i is None else ([i], {"a": b.axis(i), "b": b.axis(i)})


@maker("moveaxis")
def moveaxis(b: Builder) -> Made:
    i = b.pick(lambda x: x.ndim >= 1)
    return None if i is None else ([i], {"source": b.axis(i), "destination": b.axis(i)})


@maker("expand_dims")
def expand_dims(b: Builder) -> Made:
    i = b.pick(lambda x: x.ndim < 4)
    return (
        None if i is None else ([i], {"axis": int(b.rng.integers(-np.ndim(b.values[i]) - 1, np.ndim(b.values[i]) + 1))})
    )


@maker("squeeze")
def squeeze(b: Builder) -> Made:
    i = b.pick(lambda x: 1 in x.shape)
    return None if i is None else ([i], {"axis": int(b.rng.choice([a for a, n in enumerate(b.shape(i)) if n == 1]))})


@maker("broadcast_to")
def broadcast_to(b: Builder) -> Made:
    i = b.pick(lambda x: x.ndim < 4)
    if i is None:
        return None
    lead = (int(b.rng.integers(1, 4)),) if b.rng.random() < 0.6 else ()
    return [i], {"shape": (*lead, *(int(b.rng.integers(1, 4)) if n == 1 else n for n in b.shape(i)))}


@maker("concatenate")
def concatenate(b: Builder) -> Made:
    i = b.pick(lambda x: x.ndim >= 1)
    if i is None:
        return None
    axis = b.axis(i)
    size = list(b.shape(i))
    size[axis] = int(b.rng.integers(1, 3))
    other = i if b.rng.random() < 0.3 else b.leaf(tuple(size))
    return [i, other], {"axis": axis}


@maker("stack")
def stack(b: Builder) -> Made:
    i = b.pick()
    if i is None:
        return None
    same = [b.pick(lambda x: x.shape == b.shape(i)) for _ in range(int(b.rng.integers(0, 3)))]
    return [i, *same], {"axis": int(b.rng.integers(-np.ndim(b.values[i]) - 1, np.ndim(b.values[i]) + 1))}


@maker("getitem")
def getitem(b: Builder) -> Made:
    i = b.ranked(1)
    if i is None:
        return None
    index: list[Any] = []
    arrays = 0
    for n in b.shape(i)[: int(b.rng.integers(1, np.ndim(b.values[i]) + 1))]:
        choice = b.rng.random()
        if choice < 0.25:
            index.append(int(b.rng.integers(-n, n)))
        elif choice < 0.5:
            index.append(slice(None, None, int(b.rng.choice([1, -1, 2, -2]))))
        elif choice < 0.65:
            index.append(slice(int(b.rng.integers(0, n)), None))
        elif choice < 0.75:
            index.append(slice(None))
        elif not arrays:
            arrays += 1
            index.append(b.rng.integers(-n, n, int(b.rng.integers(1, 5))))  # may repeat
        else:
            index.append(slice(None))
    if b.rng.random() < 0.15:
        index.insert(int(b.rng.integers(0, len(index) + 1)), None)
    return [i], {"index": tuple(index)}


@maker("pad")
def pad(b: Builder) -> Made:
    i = b.pick(lambda x: x.ndim >= 1)
    width = () if i is None else tuple((int(b.rng.integers(0, 3)), int(b.rng.integers(0, 3))) for _ in b.shape(i))
    return None if i is None else ([i], {"width": width})


@maker("tril", "triu")
def triangle(b: Builder) -> Made:
    i = b.pick(lambda x: x.ndim >= 2)
    return None if i is None else ([i], {"k": int(b.rng.integers(-1, 2))})


@maker("matmul")
def matmul(b: Builder) -> Made:
    i = b.ranked(1)
    if i is None:
        return None
    inner = b.shape(i)[-1]
    lead = b.shape(i)[:-2]
    fits = b.pick(lambda x: (x.ndim == 1 and x.shape[0] == inner) or (
        x.ndim >= 2 and x.shape[-2] == inner and _broadcasts(x.shape[:-2], lead)))  # fmt: skip
    if fits is None or b.rng.random() < 0.3:
        batch = lead if b.rng.random() < 0.4 else ()
        fits = b.leaf((inner,) if b.rng.random() < 0.2 else (*batch, inner, int(b.rng.integers(1, 4))))
    return [i, fits], {}


@maker("einsum")
def einsum(b: Builder) -> Made:
    i = b.pick(lambda x: x.ndim == 2)
    if i is None:
        return None
    rows, columns = b.shape(i)
    one = ["ij->ji", "ij->", "ij->i", "ij->j", *(["ii->i", "ii->"] if rows == columns else [])]
    two = [("ij,jk->ik", (columns, 2)), ("ij,ij->i", (rows, columns)), ("ij,j->ij", (columns,)), ("ij,k->ikj", (2,))]
    if b.rng.random() < 0.4:
        return [i], {"subscripts": str(b.rng.choice(one))}
    subscripts, shape = two[int(b.rng.integers(len(two)))]
    return [i, b.leaf(shape)], {"subscripts": subscripts}


@maker("linear")
def linear(b: Builder) -> Made:
    i = b.ranked(1)
    if i is None:
        return None
    width = int(b.rng.integers(1, 4))
    bias: Any = b.leaf((width,)) if b.rng.random() < 0.7 else (None,)
    return [i, b.leaf((b.shape(i)[-1], width)), bias], {}


@maker("layer_norm")
def layer_norm(b: Builder) -> Made:
    i = b.pick(lambda x: x.ndim >= 1 and x.size > 0 and x.shape[-1] > 1)
    return None if i is None else ([i, b.leaf((b.shape(i)[-1],)), b.leaf((b.shape(i)[-1],))], {"eps": 1e-2})


@maker("rms_norm")
def rms_norm(b: Builder) -> Made:
    i = b.ranked(1)
    return None if i is None else ([i, b.leaf((b.shape(i)[-1],))], {"eps": 1e-2})


@maker("attention")
def attention(b: Builder) -> Made:
    q = b.ranked(2, 3)
    if q is None:
        return None
    *lead, places, width = b.shape(q)
    causal = bool(b.rng.random() < 0.3)
    keys = places if causal else int(b.rng.integers(1, 4))
    k = q if b.rng.random() < 0.3 and keys == places else b.leaf((*lead, keys, width))
    v = b.leaf((*lead, b.shape(k)[-2], int(b.rng.integers(1, 4))))
    mask: Any = None
    if b.rng.random() < 0.3:
        mask = b.rng.random((places, b.shape(k)[-2])) < 0.6
    return [q, k, v, (mask,)], {"causal": causal and b.shape(k)[-2] == places}


@maker("cross_entropy")
def cross_entropy(b: Builder) -> Made:
    i = b.pick(lambda x: x.ndim >= 1 and x.size > 0 and x.shape[-1] > 1)
    if i is None:
        return None
    targets = np.asarray(b.rng.integers(0, b.shape(i)[-1], b.shape(i)[:-1]))
    return [i, (targets,)], {"reduction": str(b.rng.choice(["mean", "sum", "none"])),
                             "label_smoothing": float(b.rng.choice([0.0, 0.1]))}  # fmt: skip
