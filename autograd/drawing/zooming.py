"""`zoom`: the scalar arithmetic inside one tensor op.

An op runs on yet another carrier, `Scalars`: arrays whose entries are scalar Values. What comes out is an
ordinary graph of additions and products, which is drawn, and held against the tensor op in value and in
gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd.backprop import contributions
from autograd.drawing.drawing import Drawing, draw
from autograd.errors import GradientError
from autograd.formula.names import Names
from autograd.formula.operands import plain
from autograd.op import OPS, Op, apply
from autograd.ops import OPERATORS, arithmetic, elementwise
from autograd.value import Value

MOST_ENTRIES = 64  # of one operand or of the result, beyond which a picture helps nobody
ONE_BY_ONE = {op.name for family in (arithmetic, elementwise) for op in vars(family).values() if isinstance(op, Op)}


# The last card of a picture: all entries of the result, in its shape.
_gather = Op(
    "gather",
    "[*xs]",
    forward=lambda *xs, shape: np.array(xs, dtype=np.float64).reshape(shape),
    vjp=lambda g, out, *xs, shape: tuple(np.ravel(g)[index] for index in range(len(xs))),
    register=False,
)


class Scalars:
    """An array whose entries are scalar Values (or plain numbers): the carrier that spells tensors out."""

    __array_ufunc__ = None

    def __init__(self, array: Any) -> None:
        self.array = _objects(array)

    shape = property(lambda self: self.array.shape)
    ndim = property(lambda self: self.array.ndim)
    size = property(lambda self: self.array.size)
    dtype = np.dtype(np.float64)
    T = property(lambda self: Scalars(self.array.T))
    mT = property(lambda self: Scalars(self.array.mT))

    @staticmethod
    def __apply__(op: Op, inputs: tuple[Any, ...]) -> Scalars:
        if op.name in ONE_BY_ONE:
            return Scalars(_one_by_one(op, inputs))
        if op.definition is not None:
            return op.definition(*inputs, **op.settings)
        arrays = [x.array if isinstance(x, Scalars) else x for x in inputs]
        if op.name in ("max", "min"):
            return Scalars(_extreme(op, arrays[0]))
        if op.name == "dot":  # it takes scalars, one by one
            arrays = [x.array.item() if isinstance(x, Scalars) else x for x in inputs]
        return Scalars(op.forward(*arrays))

    def __getitem__(self, index: Any) -> Scalars:
        return Scalars(self.array[index])


def _objects(x: Any) -> Any:
    """An array of objects; a Value alone is one without axes."""
    if isinstance(x, np.ndarray):
        return x.astype(object)
    array = np.empty((), dtype=object)
    array[()] = x
    return array


def zoom(value: Value, *, entry: Any = None, **options: Any) -> Drawing:
    """The scalar graph of the op that made `value`; `entry=(0, 1)` shows how one entry of it came about.

    Takes the options of `draw`. The scalar arithmetic is checked against the tensor op, in value and
    gradient.

    >>> x, w = Value([[1.0, 2.0]], name="x"), Value([[3.0], [4.0]], name="w")
    >>> [card.expression for card in zoom(x @ w, entry=(0, 0)).scene.cards if card.expression]
    ['x[0,0] * w[0,0]', 'x[0,1] * w[1,0]', 'x[0,0] * w[0,0] + x[0,1] * w[1,0]']
    """
    if not isinstance(value, Value):
        raise TypeError(f"zoom: expected a Value; got {value!r:.60} ({type(value).__name__})")
    if value.op is None:
        raise ValueError(f"zoom: {value._called()} is a leaf; no op made it, so there is nothing inside to show")
    for x in (value, *value.inputs):
        if np.size(plain(x)) > MOST_ENTRIES and entry is None:
            raise ValueError(
                f"zoom: {value.op.name} works on {np.size(plain(x))} numbers here; beyond {MOST_ENTRIES} a "
                "picture helps nobody. Give one entry of the result, such as entry=(0, 0)"
            )
    root = scalar_graph(value, entry)
    return draw(root, **{"direction": "LR", "chains": False, "title": f"inside {value.op.name}", **options})


def scalar_graph(value: Value, entry: Any = None) -> Value:
    """The same result from scalars: their graph's root, with gradients if `value` has one. Raises if it
    differs."""
    assert value.op is not None
    names = Names([*value.parents, value])
    seen: dict[int, Scalars] = {}
    inputs = tuple(_spelled(x, names, seen) for x in value.inputs)
    try:
        result = _opened(value.op, inputs).array
    except Exception as error:
        raise ValueError(f"zoom: {value.op.name} cannot be spelled out in scalars ({error})") from error
    if not any(isinstance(cell, Value) for cell in result.ravel()):
        raise ValueError(f"zoom: {value.op.name} of shape {value.shape} holds no arithmetic to spell out")
    name = names.name(value)
    if entry is not None:
        result = _objects(_picked(result, entry, value))
    root = _assembled(result, name, entry)
    _insist_equal(value, root, seen, entry)
    return root


def _spelled(x: Any, names: Names, seen: dict[int, Scalars]) -> Any:
    """A Value as an array of named scalars; the same Value twice is the same scalars."""
    if not isinstance(x, Value):
        return x
    if id(x) not in seen:
        name = names.name(x) or names.expression(x)
        if any(character in name for character in " ()"):
            name = f"({name})"
        cells = np.empty(x.shape, dtype=object)
        for index in np.ndindex(x.shape):
            at = f"[{','.join(map(str, index))}]" if index else ""
            cells[index] = Value(np.asarray(x.data)[index], name=name + at, requires_grad=x.requires_grad)
        seen[id(x)] = Scalars(cells)
    return seen[id(x)]


def _opened(op: Op, inputs: tuple[Any, ...]) -> Scalars:
    """The op's own insides: its definition if it has one and works on scalars, else entry by entry."""
    scalars = all(np.ndim(x) == 0 for x in inputs)
    if op.definition is not None and (scalars or op.name not in ONE_BY_ONE):
        opened = op.definition(*inputs, **op.settings)
        return opened if isinstance(opened, Scalars) else Scalars(opened)
    return Scalars.__apply__(op, inputs)


def _one_by_one(op: Op, inputs: tuple[Any, ...]) -> Any:
    arrays = [x.array if isinstance(x, Scalars) else np.asarray(x) for x in inputs]
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    spread = [np.broadcast_to(array, shape) for array in arrays]
    result = np.empty(shape, dtype=object)
    for index in np.ndindex(shape):
        result[index] = apply(op, tuple(_number(array[index]) for array in spread))
    return result


def _extreme(op: Op, array: Any) -> Any:
    """max and min as pairwise maximum and minimum."""
    pairwise = np.frompyfunc(lambda x, y: OPS[f"{op.name}imum"](x, y), 2, 1)
    for axis in op.settings["axis"]:
        array = pairwise.reduce(array, axis=axis, keepdims=True)
    return array if op.settings["keepdims"] else np.squeeze(array, op.settings["axis"])


def _number(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic) else x


def _picked(result: Any, entry: Any, value: Value) -> Any:
    try:
        picked = result[entry]
    except (IndexError, TypeError):
        raise IndexError(f"zoom: entry={entry!r} is not in a result of shape {value.shape}") from None
    if isinstance(picked, np.ndarray):
        raise IndexError(
            f"zoom: entry={entry!r} is a whole row of a result of shape {value.shape}; give {value.ndim} numbers"
        )
    return picked


def _assembled(result: Any, name: str, entry: Any) -> Value:
    """One root: the scalar itself, or a stack of all entries in the result's shape."""
    if result.ndim == 0:
        root: Value = result.item()
        if name and root.name is None:
            root.name = name + (f"[{','.join(map(str, np.atleast_1d(entry)))}]" if entry is not None else "")
        return root
    for index in np.ndindex(result.shape):
        cell = result[index]
        if name and isinstance(cell, Value) and cell.op is not None and cell.name is None:
            cell.name = f"{name}[{','.join(map(str, index))}]"
    root = apply(_gather.bind({"shape": result.shape}), tuple(result.ravel()))
    root.name = name or "result"
    return root


def _insist_equal(value: Value, root: Value, seen: dict[int, Scalars], entry: Any) -> None:
    """Holds the scalar graph against the tensor op; leaves its gradients in place if the op had one."""
    assert value.op is not None
    loose = 1e-4 if value.dtype == np.float32 else 1e-9
    expected = value.data if entry is None else np.asarray(value.data)[entry]
    if not np.allclose(root.data, expected, rtol=loose, atol=loose, equal_nan=True):
        raise GradientError(
            f"zoom: spelled out in scalars, {value.op.name} gives {root.data!r}; the op gives {expected!r}"
        )
    if not value.requires_grad:
        return
    known = value.grad is not None
    arriving = value.grad if known else np.random.default_rng(0).normal(size=value.shape)
    if entry is not None:
        only = np.zeros(value.shape)
        only[entry] = np.asarray(arriving)[entry]
        arriving = only
    root.backward(np.asarray(arriving) if entry is None else float(np.asarray(arriving)[entry]))
    sent: dict[int, Any] = {}
    for x, gradient in contributions(value, arriving if value.shape else float(np.asarray(arriving))):
        sent[id(x)] = sent[id(x)] + gradient if id(x) in sent else gradient
    for x in value.parents:
        cells = seen[id(x)].array
        spelled = np.array([0.0 if cell.grad is None else cell.grad for cell in cells.ravel()]).reshape(x.shape)
        if id(x) in sent and not np.allclose(spelled, sent[id(x)], rtol=loose, atol=loose, equal_nan=True):
            raise GradientError(
                f"zoom: spelled out in scalars, {value.op.name} sends {spelled!r} to {x.name or 'an input'}; "
                f"the op sends {sent[id(x)]!r}"
            )
    if not known:
        _forget_gradients(root)


def _forget_gradients(root: Value) -> None:
    from autograd.graph import topological

    for node in topological(root):
        node.grad = None


def _bind_operators() -> None:
    for method, name in OPERATORS.items():
        op = OPS[name]
        setattr(Scalars, f"__{method}__", lambda self, other, op=op: op(self, other))
        setattr(Scalars, f"__r{method}__", lambda self, other, op=op: op(other, self))
    setattr(Scalars, "__neg__", lambda self: OPS["neg"](self))  # noqa: B010


_bind_operators()
