"""What a node carries besides its numbers: a name, a module call, a source line, hooks; and copies that keep them.

    v = Value(2.0, name="v")
    copy.deepcopy(v * v)        # a graph of any depth is copied, and pickled, node by node, oldest first
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from copy import deepcopy
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from autograd.arrays.plain import copy_array

from .op import Op, naming

if TYPE_CHECKING:
    from .engine import Value
    from .modes import Scope

by_stamp = attrgetter("stamp")
counter = itertools.count(1)  # creation stamps: reverse creation order is a topological order


class edits:
    """When a leaf's data was last edited, anywhere: a graph older than this must look for stale inputs."""

    last = 0


class Attached:
    """What is known about a node: its name, the module call and source line that made it, hooks on its gradient.

    Nodes made in one module call share one; a node that gets a name or a hook gets one of its own.
    """

    __slots__ = ("hooks", "line", "name", "scope")

    def __init__(
        self,
        name: str | None = None,
        scope: Scope | None = None,
        line: str | None = None,
        hooks: tuple[Callable[[Any], Any], ...] = (),
    ) -> None:
        self.name, self.scope, self.line, self.hooks = name, scope, line, hooks

    def but(self, **changes: Any) -> Attached:
        """A copy with some fields changed."""
        return Attached(**{"name": self.name, "scope": self.scope, "line": self.line, "hooks": self.hooks} | changes)


def _exit(node: Node, how: str) -> Any:
    """What a call that is traced for a program gets in place of a copy of this node; else None."""
    from .modes import modes_in_use, notice_read

    return notice_read(node, how) if modes_in_use else None


class Node:
    """The slots of a Value; the part of it that reads and sets what is attached, and that copies."""

    __slots__ = ("_data", "_note", "grad", "inputs", "op", "requires_grad", "stamp")

    _data: Any
    _note: Attached | None
    grad: Any
    inputs: tuple[Any, ...]
    op: Op | None
    requires_grad: bool
    stamp: int

    @property
    def name(self) -> str | None:
        """The name people know it by, or None."""
        return None if self._note is None else self._note.name

    @name.setter
    def name(self, name: str | None) -> None:
        if name is not None:
            check_name(name)
        self._note = (self._note or Attached()).but(name=name)

    @property
    def scope(self) -> Scope | None:
        """The module call that made this node, or None."""
        return None if self._note is None else self._note.scope

    @property
    def line(self) -> str | None:
        """The source line that made this node, if `record_lines()` was on."""
        return None if self._note is None else self._note.line

    @property
    def parents(self) -> tuple[Value, ...]:
        """The Values the op was applied to, in order: `(a, a)` for `a * a`, `()` for a leaf."""
        return tuple(x for x in self.inputs if isinstance(x, Node))  # type: ignore[misc]

    def touch(self) -> None:
        """Note that the data was edited now, so that a graph which already used it refuses backward."""
        self.stamp = edits.last = next(counter)

    def zero_grad(self) -> None:
        """Forget the gradient: `grad` is None until the next backward pass."""
        self.grad = None

    def hook(self, f: Callable[[Any], Any]) -> Callable[[], None]:
        """Call `f(gradient)` when this node's gradient is complete; what it returns (if not None) takes its place.

        Returns a function that removes the hook.
        """
        self._note = (self._note or Attached()).but(hooks=(*(self._note.hooks if self._note else ()), f))

        def remove() -> None:
            if self._note is not None and f in self._note.hooks:
                hooks = list(self._note.hooks)
                hooks.remove(f)  # one of them: the same function may be there twice
                self._note = self._note.but(hooks=tuple(hooks))

        return remove

    def _called(self) -> str:
        """How a message refers to this node."""
        return f"Value {self.name!r}" if self.name else "this Value"

    def __let__(self, name: str, says: str) -> Any:
        """A step of an op's definition: it has its name where the op is opened for a reader (see `let`)."""
        if naming.get() and self.op is not None and self.name is None:
            self.name = name
        return self

    def __copy__(self) -> Any:
        """A leaf's copy is a new leaf; a result's copy is another node with the same parents."""
        if self.op is None and (traced := _exit(self, "copy")) is not None:
            return traced
        twin = object.__new__(type(self))
        for slot in Node.__slots__:
            setattr(twin, slot, getattr(self, slot))
        twin._data, twin.grad = copy_array(self._data), copy_array(self.grad)
        twin.stamp = next(counter)
        give(twin, extras(self))
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A copy of the whole graph behind a node; `memo` keeps what is shared with other copies shared."""
        from .graph import topological

        if (traced := _exit(self, "copy")) is not None:
            return traced
        for node in topological(cast("Value", self)):  # oldest first: a copy's inputs are there already
            if id(node) not in memo:
                twin = memo[id(node)] = node.__copy__()
                give(twin, deepcopy(extras(node), memo))
                twin.inputs = tuple(memo[id(x)] if isinstance(x, Node) else copy_array(x) for x in node.inputs)
        for leaf in edited_since(self):
            memo[id(leaf)].touch()
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """What pickle stores of a node: a leaf alone; a result with its graph, in which each leaf stays an object."""
        from .graph import topological

        _exit(self, "pickle")
        if self.op is None:
            return _leaf, _fields(self)
        nodes = topological(cast("Value", self))
        row: dict[Any, _Row] = {node: _Row(i) for i, node in enumerate(nodes)}
        rows = [
            node
            if node.op is None
            else (*_fields(node), node.op, tuple(row[x] if isinstance(x, Node) else x for x in node.inputs))
            for node in nodes
        ]
        return _graph, (rows, edited_since(self))


def check_name(name: Any) -> None:
    """A name is text: `Value(1.0, 2.0)` is a slip."""
    if not isinstance(name, str):
        raise TypeError(f"a Value's name is text; got {name!r}. For several numbers write Value([1.0, 2.0]).")


def name_or_label(name: str | None, label: str) -> str | None:
    """The name of a new Value, also by micrograd's word for it; None without one."""
    if label != "":
        if name is not None:
            raise TypeError(f"label is micrograd's word for name; give one of name={name!r} and label={label!r}")
        name = label
    if name is not None:
        check_name(name)
    return name


# --- copies ---------------------------------------------------------------------------------------------------


def extras(node: Node) -> dict[str, Any]:
    """The attributes that a subclass of Value added, in its `__dict__` or in slots of its own."""
    found = dict(getattr(node, "__dict__", ()))
    for cls in type(node).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        if "_data" in slots:  # Value itself
            break
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and hasattr(node, slot):
                found[slot] = getattr(node, slot)
    return found


def give(node: Node, extra: dict[str, Any]) -> None:
    """Set such attributes of a copy."""
    for name, attribute in extra.items():
        object.__setattr__(node, name, attribute)


def edited_since(root: Any) -> list[Value]:
    """The leaves that were edited after this graph had used them: their copies are stale in its copy too."""
    from .gradients import edited_inputs
    from .graph import topological

    return list(dict.fromkeys(x for node in topological(root) for x in edited_inputs(node)))


def _fields(node: Node) -> tuple[Any, ...]:
    note = node._note and node._note.but(scope=None, hooks=())
    return type(node), node._data, node.grad, note, node.requires_grad, extras(node)


class _Row(int):
    """A row number in a pickled graph."""


def _leaf(
    cls: type[Node], data: Any, grad: Any, note: Attached | None, requires_grad: bool, extra: dict[str, Any]
) -> Any:
    node = object.__new__(cls)
    node._data, node.grad, node._note, node.requires_grad = data, grad, note, requires_grad
    node.op, node.inputs = None, ()
    node.stamp = next(counter)
    give(node, extra)
    return node


def _graph(rows: list[Any], edited: list[Value]) -> Any:
    nodes: list[Any] = []
    for row in rows:
        if isinstance(row, Node):
            nodes.append(row)
            continue
        *fields, op, inputs = row
        node = _leaf(*fields)
        node.op = op
        node.inputs = tuple(nodes[x] if isinstance(x, _Row) else x for x in inputs)
        nodes.append(node)
    for leaf in edited:
        leaf.touch()
    return nodes[-1]
