"""Random graphs: ops of the table on operands that fit, grown one step at a time and computed as they grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograd import OPS
from autograd.errors import HandgradError

from .program import Leaf, Program, Step

LARGEST = 200  # numbers in one array
BOUND = 60.0  # sizes of numbers, so that both engines' rounding stays small
CLEARANCE = 1e-6  # how far a computed number keeps from a kink; a given one may sit right on it

EDGE_VALUES = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-310, -1e-310, 30.0, -30.0])


def apply(op: str, operands: list[Any], settings: dict[str, Any]) -> Any:
    """One op of our own table, on whatever carries the numbers."""
    ours = OPS[op]
    return ours(*(ours.pack(tuple(operands)) if ours.pack else operands), **settings)


class Builder:
    """A graph under construction: its nodes, and their values as plain numbers."""

    def __init__(self, seed: int, dtype: str) -> None:
        self.rng = np.random.default_rng(seed)
        self.seed = seed
        self.dtype = dtype
        self.nodes: list[Leaf | Step] = []
        self.values: list[Any] = []

    # --- what makers ask for --------------------------------------------------------------------------------

    def leaf(self, shape: tuple[int, ...] | None = None, positive: bool = False) -> int:
        """A new input, sometimes with edge values and ties."""
        rng = self.rng
        if shape is None:
            shape = tuple(int(n) for n in rng.choice([1, 2, 2, 3, 3, 4], rng.choice([0, 1, 2, 2, 3, 4])))
            if shape and rng.random() < 0.04:
                shape = (*shape[:-1], 0)
        kind = rng.random()
        data: Any = rng.normal(size=shape)
        if kind < 0.15:
            data = rng.integers(-2, 3, shape).astype(float)  # ties, and exact zeros
        elif kind < 0.25:
            data = rng.choice(EDGE_VALUES, shape)
        if positive:
            data = np.abs(data) + 0.3
        data = np.asarray(data, dtype=self.dtype)
        if shape and rng.random() < 0.1:
            data = np.asfortranarray(data)  # not contiguous
        self.nodes.append(Leaf(float(data) if not shape and self.dtype == "float64" else data if shape else data[()]))
        self.values.append(self.nodes[-1].data)
        return len(self.nodes) - 1

    def pick(self, fits: Callable[[Any], bool] = lambda x: True) -> int | None:
        """A random real node that fits."""
        found = [i for i, x in enumerate(self.values) if not _boolean(x) and fits(np.asarray(x))]
        return int(self.rng.choice(found)) if found else None

    def ranked(self, least: int, most: int = 9) -> int | None:
        """A node of enough axes, none of them empty."""
        return self.pick(lambda x: least <= x.ndim <= most and x.size > 0)

    def axis(self, i: int) -> int:
        ndim = np.ndim(self.values[i])
        return int(self.rng.integers(-ndim, ndim))

    def axes(self, i: int) -> Any:
        """None, one axis or several."""
        ndim = np.ndim(self.values[i])
        choice = self.rng.random()
        if ndim == 0 or choice < 0.3:
            return None
        if choice < 0.7:
            return self.axis(i)
        count = int(self.rng.integers(1, ndim + 1))
        return tuple(int(a) for a in self.rng.permutation(ndim)[:count])

    def shape(self, i: int) -> tuple[int, ...]:
        return np.shape(self.values[i])

    def given(self, i: Any) -> bool:
        """Whether an operand is a leaf or a constant: exactly what was written down, on any engine."""
        return not isinstance(i, int) or isinstance(self.nodes[i], Leaf)

    # --- growth ---------------------------------------------------------------------------------------------

    def grow(self, op: str) -> bool:
        """Add one step with this op, if operands for it are found and the numbers stay tame."""
        count = len(self.nodes)
        made = MAKERS[op](self)
        if made is not None:
            operands, settings = made
            step = Step(op, tuple(operands), tuple(settings.items()))
            plain = [self.values[i] if isinstance(i, int) else i[0] for i in operands]
            try:
                with np.errstate(all="ignore"):
                    value = apply(op, plain, settings)
            except HandgradError:
                value = None
            if value is not None and self._tame(value) and not self._at_kink(op, step, plain, value):
                self.nodes.append(step)
                self.values.append(value)
                return True
        del self.nodes[count:], self.values[count:]  # leaves made for nothing
        return False

    def _tame(self, value: Any) -> bool:
        x = np.asarray(value)
        return x.size <= LARGEST and bool(np.isfinite(x).all()) and (not x.size or float(np.abs(x).max()) < BOUND)

    def _at_kink(self, op: str, step: Step, plain: list[Any], value: Any) -> bool:
        """Whether engines could fall on different sides of a kink, for the rounding of what came before."""
        gap = KINKS.get(op)
        if op in UNDERFLOWS and any(np.any((np.abs(x) < 1e-150) & (np.asarray(x) != 0)) for x in plain):
            return True
        if gap is None or all(self.given(i) for i in step.operands):
            return False
        with np.errstate(all="ignore"):
            distance = np.asarray(gap(*plain, out=value, **dict(step.settings)))
        return bool(distance.size and np.min(np.abs(distance)) < CLEARANCE)


def build(seed: int, ops: list[str] | None = None) -> Program:
    """The random graph of this seed."""
    rng = np.random.default_rng((seed, 1))
    builder = Builder(seed, "float32" if rng.random() < 0.15 else "float64")
    for _ in range(int(rng.integers(1, 4))):
        builder.leaf()
    wanted = int(rng.integers(1, 13))
    names = ops or list(MAKERS)
    grown = tries = 0
    while grown < wanted and tries < 20 * wanted:
        grown += builder.grow(str(rng.choice(names)))
        tries += 1
    return Program(tuple(builder.nodes), seed)


# --- how operands for an op are found -----------------------------------------------------------------------

Made = tuple[list[Any], dict[str, Any]] | None
MAKERS: dict[str, Callable[[Builder], Made]] = {}


def maker(*ops: str) -> Callable[[Any], Any]:
    def register(make: Callable[..., Made]) -> Callable[..., Made]:
        for op in ops:
            MAKERS[op] = lambda b, op=op: make(b, op) if make.__code__.co_argcount == 2 else make(b)
        return make

    return register


def _boolean(x: Any) -> bool:
    return isinstance(x, bool) or np.asarray(x).dtype.kind == "b"


DOMAIN: dict[str, Callable[[Any], Any]] = {
    "log": lambda x: x > 0.05, "sqrt": lambda x: x > 0.01, "log1p": lambda x: x > -0.9,
    "tan": lambda x: np.abs(x) < 1.3,
    "exp": lambda x: x < 4, "expm1": lambda x: x < 4, "sinh": lambda x: np.abs(x) < 4, "cosh": lambda x: np.abs(x) < 4,
}  # fmt: skip


@maker("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh", "sigmoid",
       "softplus", "silu", "relu", "erf", "abs", "neg", "sign")  # fmt: skip
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


@maker("add", "sub", "mul", "maximum", "minimum")
def binary(b: Builder) -> Made:
    pair = _pair(b)
    return None if pair is None else (pair, {})


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


# --- kinks: how far the numbers are from one ----------------------------------------------------------------


def _second_place(x: Any, axis: Any) -> Any:
    """How far the largest number is ahead of the next, for each reduction."""
    x = np.asarray(x)
    axes = tuple(range(x.ndim)) if axis is None else tuple(a % x.ndim for a in np.atleast_1d(axis)) if x.ndim else ()
    kept = [a for a in range(x.ndim) if a not in axes]
    flat = np.transpose(x, (*kept, *axes)).reshape(*(x.shape[a] for a in kept), -1)
    if flat.shape[-1] < 2:
        return np.array(1.0)
    ordered = np.sort(flat, axis=-1)
    return ordered[..., -1] - ordered[..., -2]


UNDERFLOWS = {"norm", "std", "var", "prod"}  # products of denormals are 0, here as in NumPy; torch scales some of them

KINKS: dict[str, Callable[..., Any]] = {
    "relu": lambda x, out: x,
    "abs": lambda x, out: x,
    "sign": lambda x, out: x,
    "leaky_relu": lambda x, out, slope: x,
    "clip": lambda x, out, low, high: np.minimum(np.abs(np.subtract(x, low)), np.abs(np.subtract(x, high))),
    **dict.fromkeys(("maximum", "minimum", "less", "less_equal", "greater", "greater_equal"),
                    lambda x, y, out: np.subtract(x, y)),
    "max": lambda x, out, axis, keepdims: _second_place(x, axis),
    "min": lambda x, out, axis, keepdims: _second_place(np.negative(x), axis),
    "std": lambda x, out, axis, keepdims: np.asarray(out) * 1e-4,
    "norm": lambda x, out, axis, keepdims: np.asarray(out) * 1e-4,
    "power": lambda x, y, out: np.where(np.asarray(y) != np.round(y), x, 1.0),
}  # fmt: skip
