"""Value: a number or an array that remembers how it was made.

The class is data, a gradient and two links backwards; operators and methods are bound from the op table in
`ops/__init__.py`. Nodes hold no closures and no cycles: a graph dies by reference count.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .array_like import ArrayLike, ndarray
from .errors import BackwardError, ShapeError
from .op import OPS, Op, naming, nothing
from .plain import as_data, as_operand, as_plain, as_wide, copy_array
from .recording import Note, Scope, apply_modes, modes, modes_in_use, notice_read

counter = itertools.count(1)  # creation stamps: reverse creation order is a topological order


class edits:
    """When a leaf's data was last edited, anywhere: a graph older than this must look for stale inputs."""

    last = 0


class Value(ArrayLike):
    """A node of the computation graph: a float or an array, its gradient, and the op and inputs that made it.

    grad           a plain float or array; None until a backward pass reaches it
    op             the op that made it, bound to its settings; None for a leaf
    requires_grad  whether gradients flow to it

    >>> a, b = Value(2.0, name="a"), Value(-3.0, name="b")
    >>> loss = a * b + a**2
    >>> loss.backward()
    >>> a.grad, b.grad
    (1.0, 2.0)
    """

    # One slot each for the first two inputs: a tuple per node would double the memory of a scalar graph.
    # With three or more inputs, `_a` is the tuple of them all, and `_b` the list of their plain data.
    __slots__ = ("_a", "_b", "_data", "_note", "grad", "op", "requires_grad", "stamp")

    _a: Any
    _b: Any
    _data: Any
    grad: Any
    _note: Note | None
    op: Op | None
    requires_grad: bool
    stamp: int

    if TYPE_CHECKING:
        # Not written here: `ops/__init__.py` makes each operator and method from its op. The rule is in the op's block,
        # in the file named behind it; `fast.py` has the lines that run for `a * b` and for `backward()`.

        def __getattr__(self, name: str) -> Any: ...  # v.exp(), v.sum(): a method for every op of the table
        def backward(self, grad: Any = None) -> None: ...  # fast.py; explained in backprop.py
        def __neg__(self) -> Value: ...  # ops/arithmetic.py: neg
        def __abs__(self) -> Value: ...  # ops/elementwise.py: abs
        def __add__(self, other: Any) -> Value: ...  # ops/arithmetic.py: add
        def __sub__(self, other: Any) -> Value: ...  # ops/arithmetic.py: sub
        def __mul__(self, other: Any) -> Value: ...  # ops/arithmetic.py: mul
        def __truediv__(self, other: Any) -> Value: ...  # ops/arithmetic.py: div
        def __pow__(self, other: Any) -> Value: ...  # ops/arithmetic.py: power
        def __matmul__(self, other: Any) -> Value: ...  # ops/linear.py: matmul
        def __floordiv__(self, other: Any) -> Value: ...  # ops/rounding.py: floor_divide
        def __mod__(self, other: Any) -> Value: ...  # ops/rounding.py: mod
        def __lt__(self, other: Any) -> Value: ...  # ops/arithmetic.py: less
        def __le__(self, other: Any) -> Value: ...  # ops/arithmetic.py: less_equal
        def __gt__(self, other: Any) -> Value: ...  # ops/arithmetic.py: greater
        def __ge__(self, other: Any) -> Value: ...  # ops/arithmetic.py: greater_equal
        def __eq__(self, other: Any) -> Any: ...  # ops/arithmetic.py: equal; False beside None or a string
        def __ne__(self, other: Any) -> Any: ...  # ops/arithmetic.py: not_equal
        def __getitem__(self, index: Any) -> Value: ...  # ops/shape.py: getitem
        def __pos__(self) -> Value: ...  # v itself
        def __and__(self, other: Any) -> Value: ...  # truths: BITWISE in ops/rounding.py
        def __or__(self, other: Any) -> Value: ...  # truths: BITWISE in ops/rounding.py
        def __xor__(self, other: Any) -> Value: ...  # truths: BITWISE in ops/rounding.py
        def __invert__(self) -> Value: ...  # truths: BITWISE in ops/rounding.py
        # the same with a number or an array on the left, `2 * v`
        def __radd__(self, other: Any) -> Value: ...
        def __rsub__(self, other: Any) -> Value: ...
        def __rmul__(self, other: Any) -> Value: ...
        def __rtruediv__(self, other: Any) -> Value: ...
        def __rpow__(self, other: Any) -> Value: ...
        def __rmatmul__(self, other: Any) -> Value: ...

    def __init__(self, data: Any, name: str | None = None, requires_grad: bool = True, *, label: str = "") -> None:
        if label != "":
            if name is not None:
                raise TypeError(f"label is micrograd's word for name; give one of name={name!r} and label={label!r}")
            name = label
        if name is not None:
            check_name(name)
        if not isinstance(requires_grad, (bool, np.bool_)):
            raise TypeError(f"requires_grad is True or False; got {requires_grad!r}")
        self._data = as_data(data)
        self.grad = None
        self.op = self._a = self._b = None
        self.stamp = next(counter)
        self._note = None if name is None else Note(name)
        self.requires_grad = requires_grad

    # --- what it holds --------------------------------------------------------------------------------------

    @property
    def data(self) -> Any:
        """The number: a Python float or a NumPy array. A leaf's may be set, to data of its own shape."""
        if modes_in_use and (traced := notice_read(self, ".data")) is not None:
            return traced
        return self._data

    @data.setter
    def data(self, new: Any) -> None:
        if self.op is not None:
            raise BackwardError(
                f"{self._called()} is the result of {self.op.name}; only a leaf's data may be set. "
                "Set the leaves and compute again, or write detach() to get a leaf."
            )
        if new.__class__ is float and self._data.__class__ is float:
            self._data = new
        elif new is not self._data:  # `v.data -= step` hands back the array it edited in place
            new = as_data(new)
            if np.shape(new) != np.shape(self._data):
                raise ShapeError(
                    f"{self._called()} has shape {self.shape}; data of shape {np.shape(new)} cannot take its "
                    "place. Make a new Value instead."
                )
            if getattr(self._data, "dtype", np.float64) != getattr(new, "dtype", np.float64):
                new = as_plain(np.asarray(new, dtype=self.dtype))
            self._data = new
        self.touch()

    def touch(self) -> None:
        """Note that the data was edited now, so that a graph which already used it refuses backward."""
        self.stamp = edits.last = next(counter)

    @property
    def name(self) -> str | None:
        """The name people know it by, or None."""
        return None if self._note is None else self._note.name

    @name.setter
    def name(self, name: str | None) -> None:
        if name is not None:
            check_name(name)
        self._note = (self._note or Note()).but(name=name)

    @property
    def label(self) -> str:
        """micrograd's word for `name`: "" where there is none."""
        return self.name or ""

    @label.setter
    def label(self, label: str) -> None:
        self.name = None if label == "" else label

    @property
    def scope(self) -> Scope | None:
        """The module call that made this node, or None."""
        return None if self._note is None else self._note.scope

    @property
    def line(self) -> str | None:
        """The source line that made this node, if `record_lines()` was on."""
        return None if self._note is None else self._note.line

    @property
    def inputs(self) -> tuple[Any, ...]:
        """Everything the op was applied to, in order: Values, and plain numbers and arrays."""
        if self.op is None:
            return ()
        if self._a.__class__ is tuple:
            return self._a
        return (self._a,) if self._b is None else (self._a, self._b)

    @property
    def parents(self) -> tuple[Value, ...]:
        """The Values the op was applied to, in order: `(a, a)` for `a * a`, `()` for a leaf."""
        return tuple(x for x in self.inputs if isinstance(x, Value))

    @property
    def _prev(self) -> tuple[Value, ...]:
        """micrograd's name for `parents`."""
        return self.parents

    @property
    def _op(self) -> str:
        """micrograd's name for the op, as text: "" for a leaf, "+" for a sum."""
        if self.op is None:
            return ""
        sign = self.op.reads.replace("x", "").replace("y", "").strip()
        return sign if sign in ("+", "-", "*", "/", "**", "@") else self.op.name

    # --- what it does ---------------------------------------------------------------------------------------

    def detach(self) -> Value:
        """A leaf with a copy of the data, through which no gradient flows."""
        if modes_in_use and modes.tracer is not None:
            return OPS["detached"](self)  # a program computes it anew
        return Value(self._data, name=self.name, requires_grad=False)

    def zero_grad(self) -> None:
        """Forget the gradient: `grad` is None until the next backward pass."""
        self.grad = None

    def hook(self, f: Callable[[Any], Any]) -> Callable[[], None]:
        """Call `f(gradient)` when this node's gradient is complete; what it returns (if not None) takes its place.

        Returns a function that removes the hook.
        """
        self._note = (self._note or Note()).but(hooks=(*(self._note.hooks if self._note else ()), f))

        def remove() -> None:
            if self._note is not None and f in self._note.hooks:
                hooks = list(self._note.hooks)
                hooks.remove(f)  # one of them: the same function may be there twice
                self._note = self._note.but(hooks=tuple(hooks))

        return remove

    def _refuse_descent(self, other: Any) -> Any:
        """`v += other` and its like make a new Value, by way of `v + other`. Where a gradient step was meant, refuse:
        the new Value would be forgotten, or every step would make the graph longer."""
        if self.op is None and self.grad is not None and not isinstance(other, Value) and np.any(self.grad):
            raise BackwardError(
                f"{self._called()} is a leaf, which +=, -=, *= and /= do not change: they make another Value. To move "
                "it, write v.data -= step; for another Value, v = v - step."
            )
        return NotImplemented

    __iadd__ = __isub__ = __imul__ = __itruediv__ = _refuse_descent

    __hash__ = object.__hash__  # by identity: sets and dicts of nodes ask `is` first, and never `==`

    def _called(self) -> str:
        """How a message refers to this node."""
        return f"Value {self.name!r}" if self.name else "this Value"

    def __let__(self, name: str, says: str) -> Value:
        """A step of an op's definition: it has its name where the op is opened for a reader (see `let`)."""
        if naming.get() and self.op is not None and self.name is None:
            self.name = name
        return self

    # --- ops ------------------------------------------------------------------------------------------------

    @staticmethod
    def __apply__(op: Op, inputs: tuple[Any, ...]) -> Value:
        """Run an op on inputs some of which are Values, and record the result."""
        plain = []
        needs = False
        changed = None
        for i, x in enumerate(inputs):
            if isinstance(x, Value):
                plain.append(x._data)
                needs = needs or x.requires_grad
            elif x is None or x.__class__ is ndarray or x.__class__ is float:
                plain.append(x)
            else:
                plain.append(as_operand(x))
                changed = list(inputs) if changed is None else changed
                changed[i] = plain[i]
        if changed is not None:
            if any(isinstance(x, Value) and x._data.__class__ is float for x in inputs):
                changed = [*map(as_wide, changed)]
                plain = [x._data if isinstance(x, Value) else x for x in changed]
            inputs = tuple(changed)
        try:
            data = op.forward(*plain)
        except Exception as error:
            if isinstance(error, TypeError) and is_mask(inputs[0]):
                return op(OPS["astype"](inputs[0], np.float64), *inputs[1:])
            data = op.recover(error, plain, inputs)
        if data.__class__ is not float and (data.__class__ is not ndarray or not data.ndim):
            data = as_plain(data)
        a, b = (inputs, plain) if len(inputs) > 2 else _in_slots(inputs)
        return new_node(op, data, a, b, needs)

    # --- copies, of graphs of any depth ---------------------------------------------------------------------

    def __copy__(self) -> Value:
        """A leaf's copy is a new leaf; a result's copy is another node with the same parents."""
        twin: Value = new(type(self))
        for slot in Value.__slots__:
            setattr(twin, slot, getattr(self, slot))
        twin._data, twin.grad = copy_array(self._data), copy_array(self.grad)
        twin.stamp = next(counter)
        if type(self) is not Value:
            from .copying import extras, give

            give(twin, extras(self))
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Value:
        from .copying import deep_copy

        return deep_copy(self, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        from .copying import reduced

        return reduced(self)

    def _set_inputs(self, inputs: tuple[Any, ...]) -> None:
        self._a, self._b = _in_slots(inputs)


new = object.__new__


def new_node(op: Op, data: Any, a: Any, b: Any, needs: bool) -> Value:
    """The node of a result."""
    node: Value = new(Value)
    node._data = data
    node.grad = None
    node.op = op
    node._a = a
    node._b = b
    node.stamp = next(counter)
    node._note = None
    node.requires_grad = needs and op.base.vjp is not nothing
    if modes_in_use:
        apply_modes(node)
    return node


def is_mask(x: Any) -> bool:
    """Whether x holds truths: an op of real numbers takes them as 1.0 and 0.0, by `astype`."""
    return np.asarray(getattr(x, "_data", x)).dtype.kind == "b"


def _in_slots(inputs: tuple[Any, ...]) -> tuple[Any, Any]:
    """What the two slots for inputs hold: one or two as they are; more, or an absent second one, all in the first."""
    if len(inputs) > 2 or inputs[-1] is None:
        return inputs, [x._data if isinstance(x, Value) else x for x in inputs]
    return inputs if len(inputs) == 2 else (inputs[0], None)


def check_name(name: Any) -> None:
    """A name is text: `Value(1.0, 2.0)` is a slip."""
    if not isinstance(name, str):
        raise TypeError(f"a Value's name is text; got {name!r}. For several numbers write Value([1.0, 2.0]).")


def name(names: Mapping[str, Any]) -> None:
    """Name the Values in a mapping, as in `name(locals())`. A name that is there already stays.

    >>> x, y = Value(1.0), Value(2.0)
    >>> name({"x": x, "y": y})
    >>> x
    Value(1.0, name='x')
    """
    for key, value in names.items():
        if isinstance(value, Value) and value.name is None and not key.startswith("_"):
            value.name = key
