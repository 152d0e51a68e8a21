"""`zoom`: the scalar arithmetic inside one tensor op.

The op runs on `Entries`: arrays whose entries are scalar Values. The result is an ordinary graph of additions and
products. It is compared with the tensor op, value and gradient, and drawn.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autograd.engine import Value, contributions
from autograd.errors import GradientError
from autograd.formula.names import Names
from autograd.formula.scalars.formulas import Entries, object_array
from autograd.graph import topological
from autograd.op import Op, apply, shape_of

from .drawing import Drawing, draw

MOST_ENTRIES = 64  # of one operand or of the result, beyond which a picture is too crowded to read


# The last card of a picture: all entries of the result, in its shape.
_gather = Op(
    "gather",
    "[*xs]",
    forward=lambda *xs, shape: np.array(xs, dtype=np.float64).reshape(shape),
    vjp=lambda g, out, *xs, shape: tuple(np.ravel(g)[index] for index in range(len(xs))),
    register=False,
)


def zoom(value: Value, *, entry: Any = None, **options: Any) -> Drawing:
    """The scalar graph of the op that made `value`; `entry=(0, 1)` shows how one entry of it came about.

    Takes the options of `draw`. The scalar arithmetic is checked against the tensor op, in value and
    gradient.

    >>> x, w = Value([[1.0, 2.0]], name="x"), Value([[3.0], [4.0]], name="w")
    >>> [card.expression for card in zoom(x @ w, entry=(0, 0)).scene.cards if card.expression]
    ['x[0,0] * w[0,0]', 'x[0,1] * w[1,0]', 'x[0,0] * w[0,0] + x[0,1] * w[1,0]']
    """
    if not isinstance(value, Value):
        raise TypeError(f"zoom: expected a Value, such as zoom(x @ w); got {value!r:.60} ({type(value).__name__})")
    if value.op is None:
        raise ValueError(f"zoom: {value._called()} is a leaf, which no op made. Give a result, such as zoom(x @ w)")
    for x in (value, *value.inputs):
        if math.prod(shape_of(x)) > MOST_ENTRIES and entry is None:
            raise ValueError(
                f"zoom: {value.op.name} works on {math.prod(shape_of(x))} numbers here; a picture shows at most "
                f"{MOST_ENTRIES}. Give one entry of the result, such as entry=(0, 0)"
            )
    root = scalar_graph(value, entry)
    return draw(root, **{"direction": "LR", "collapse": False, "title": f"inside {value.op.name}", **options})


def scalar_graph(value: Value, entry: Any = None) -> Value:
    """The same result from scalars: their graph's root, with gradients if `value` has one. Raises if it
    differs."""
    assert value.op is not None
    names = Names([*value.parents, value])
    seen: dict[int, Entries] = {}
    inputs = tuple(_spelled(x, names, seen) for x in value.inputs)
    try:
        result = _opened(value.op, inputs).array
    except Exception as error:
        raise ValueError(f"zoom: {value.op.name} cannot be spelled out in scalars ({error})") from error
    if not any(isinstance(cell, Value) for cell in result.ravel()):
        raise ValueError(f"zoom: {value.op.name} of shape {value.shape} holds no arithmetic to spell out")
    name = names.own_name(value)
    if entry is not None:
        result = Entries(_picked(result, entry, value)).array
    root = _assembled(result, name, entry)
    _check_equal(value, root, seen, entry)
    return root


def _spelled(x: Any, names: Names, seen: dict[int, Entries]) -> Any:
    """A Value as an array of named scalars; the same Value twice is the same scalars."""
    if not isinstance(x, Value):
        return x
    if id(x) not in seen:
        name = names.own_name(x) or names.expression(x)
        if any(character in name for character in " ()"):
            name = f"({name})"
        data = np.asarray(x.data)
        seen[id(x)] = Entries(object_array(x.shape, lambda index: Value(
            data[index], name=_entry_name(name, index), requires_grad=x.requires_grad)))  # fmt: skip
    return seen[id(x)]


def _entry_name(name: str, index: tuple[int, ...]) -> str:
    """`x[0,1]`, as Python writes the entry"""
    return f"{name}[{','.join(map(str, index))}]" if index else name


def _opened(op: Op, inputs: tuple[Any, ...]) -> Entries:
    """The op's own insides: its definition if it has one and works on scalars, else entry by entry."""
    scalars = all(np.ndim(x) == 0 for x in inputs)
    if op.definition is not None and (scalars or not op.pointwise):
        opened = op.definition(*inputs, **op.settings)
        return opened if isinstance(opened, Entries) else Entries(opened)
    return Entries.__apply__(op, inputs)


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
            root.name = _entry_name(name, () if entry is None else tuple(np.atleast_1d(entry)))
        return root
    for index in np.ndindex(result.shape):
        cell = result[index]
        if name and isinstance(cell, Value) and cell.op is not None and cell.name is None:
            cell.name = _entry_name(name, index)
    root = apply(_gather.bind({"shape": result.shape}), tuple(result.ravel()))
    root.name = name or "result"
    return root


def _check_equal(value: Value, root: Value, seen: dict[int, Entries], entry: Any) -> None:
    """Compares the scalar graph with the tensor op; leaves its gradients in place if the op had one."""
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
    arriving = np.asarray(value.grad if known else np.random.default_rng(0).normal(size=value.shape))
    if entry is not None:
        whole, arriving = arriving, np.zeros(value.shape)
        arriving[entry] = whole[entry]
    root.backward(arriving if entry is None else float(arriving[entry]))
    sent: dict[int, Any] = {}
    for x, gradient in contributions(value, arriving if value.shape else float(arriving)):
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
        for node in topological(root):
            node.grad = None
