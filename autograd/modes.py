"""Modes: what is recorded while a graph is built. Nothing (`no_grad`), module scopes, source lines, the first NaN.

    with no_grad(), record_lines():
        y = f(x)

Each mode belongs to its thread and ends with its `with` block. An ordinary node only looks at `modes_in_use`;
`apply_modes` runs only while some thread has a block open.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .attached import Attached
from .callers import user_line
from .errors import DataError, NonFiniteError

if TYPE_CHECKING:
    from .engine import Value


class Scope:
    """One call of a module: where in the model a node was made. `path` is the dotted name."""

    __slots__ = ("kind", "module", "name", "parent", "serial")
    _serials = itertools.count()

    def __init__(self, name: str, kind: str = "", parent: Scope | None = None, module: Any = None) -> None:
        self.name, self.kind, self.parent, self.module = name, kind, parent, module
        self.serial = next(Scope._serials)

    @property
    def path(self) -> str:
        """The names from the outermost scope to this one, dotted."""
        return ".".join(s.name for s in reversed(list(self.chain())) if s.name)

    def chain(self) -> Iterator[Scope]:
        """This scope, the one around it, and so on outwards."""
        here: Scope | None = self
        while here is not None:
            yield here
            here = here.parent

    def __repr__(self) -> str:
        return f"<scope {self.path or '(root)'}: {self.kind}>"


class Modes(NamedTuple):
    """What is checked and recorded for each new node, and what is attached to it."""

    recording: bool = True
    lines: bool = False
    finite: bool = False
    tracer: Any = None  # what watches a call that is being compiled
    note: Attached | None = None


USUAL = Modes()


class _Thread(threading.local):
    """The modes of this thread."""

    now = USUAL

    recording = property(lambda self: self.now.recording)
    lines = property(lambda self: self.now.lines)
    finite = property(lambda self: self.now.finite)
    tracer = property(lambda self: self.now.tracer)
    note = property(lambda self: self.now.note)

    def change(self, new: Modes) -> None:
        """Put other modes in force."""
        self.now = new
        if new is USUAL:
            modes_in_use.discard(threading.get_ident())
        else:
            modes_in_use.add(threading.get_ident())


modes = _Thread()
modes_in_use: set[int] = set()  # the threads that have a block open


class ModeBlock:
    """A `with` block that changes the modes. Also a decorator: `@no_grad()` above a function."""

    around: Modes | None = None  # while the block is open: the modes outside

    def __init__(self, **changes: Any) -> None:
        self.changes = changes

    def __enter__(self) -> Any:
        if self.around is not None:
            raise RuntimeError("this block is open already; make a new one to enter it again: no_grad(), scope(name)")
        self.around = modes.now
        modes.change(self.inside(self.around))
        return modes.note and modes.note.scope

    def __exit__(self, *error: object) -> None:
        around, self.around = self.around, None
        modes.change(around or USUAL)

    def inside(self, around: Modes) -> Modes:
        """The modes in force inside."""
        return around._replace(**self.changes)

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with ModeBlock(**self.changes):
                return f(*args, **kwargs)

        return wrapped


def no_grad() -> ModeBlock:
    """Compute without recording: results have no parents. For evaluation and for updates.

    >>> from autograd import Value, no_grad
    >>> a = Value(3.0)
    >>> with no_grad():
    ...     b = a * 2
    >>> b.parents
    ()
    """
    return ModeBlock(recording=False)


def enable_grad() -> ModeBlock:
    """Record again, also inside `no_grad`."""
    return ModeBlock(recording=True)


def detect_nan() -> ModeBlock:
    """Stop at the first NaN or infinity, forward or backward, and name the op and its inputs.

    >>> from autograd import Value, detect_nan
    >>> x = Value(1e200, name="x")
    >>> with detect_nan():
    ...     y = x * x
    Traceback (most recent call last):
        ...
    autograd.errors.NonFiniteError: mul made inf from x = 1e+200, x = 1e+200. Look at these inputs: ...
    """
    return ModeBlock(finite=True)


def record_lines() -> ModeBlock:
    """Remember the source line that made each node, for drawings and the stepper.

    >>> from autograd import Value, record_lines
    >>> a = Value(3.0)
    >>> with record_lines():
    ...     b = a * 2
    >>> b.line
    '...:2: b = a * 2'
    """
    return ModeBlock(lines=True)


class scope(ModeBlock):
    """Mark every node made inside as belonging to one call of a module, so that drawings can fold it.

    >>> from autograd import Value, scope
    >>> a = Value(3.0)
    >>> with scope("head", kind="Attention"), scope("scores"):
    ...     b = a * 2
    >>> b.scope.path, b.scope.parent.kind
    ('head.scores', 'Attention')
    """

    def __init__(self, name: str, kind: str = "", module: Any = None) -> None:
        self.about = name, kind, module

    def inside(self, around: Modes) -> Modes:
        name, kind, module = self.about
        here = Scope(name, kind, None if around.note is None else around.note.scope, module)
        return around._replace(note=Attached(None, here))

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        raise TypeError("a scope is a with block, not a decorator")


def trace_with(tracer: Any) -> ModeBlock:
    """Let a tracer (`program/trace.py`) see which numbers are read and which are drawn at random."""
    return ModeBlock(tracer=tracer)


def drawn(draw: Callable[[Any], Any], generator: Any) -> Any:
    """`draw(generator)`: random numbers that a compiled program draws at each call."""
    return draw(generator) if modes.tracer is None else modes.tracer.drawn(draw, generator)


open_tracers: list[Any] = []  # of all threads: one that f starts has none of its own


def notice_read(value: Any, how: str) -> Any:
    """Note that a Value's numbers are read as plain ones: a derivative ends there.

    Returns what a call that is traced for a program gets in their place (`program/exits.py`); else None.
    """
    if how not in ("text", "detach()", "copy"):
        for run in list(running.values()):
            run.note(value, how)
    tracer = modes.tracer
    if tracer is None:
        for other in open_tracers:
            other.check_stranger(value, how)
        return None
    return tracer.leave(value, how)


def plain_data(x: Any, how: str) -> Any:
    """The data of a Value where plain numbers are wanted; anything else as it is."""
    if not hasattr(x, "_data"):
        return x
    traced = notice_read(x, how)
    return x._data if traced is None else traced


def apply_modes(node: Value) -> None:
    """Finish a new node according to the modes of this thread."""
    here = modes.now
    node._note = here.note
    if here.finite:
        _check_finite(node)
    if here.lines:
        node._note = (here.note or Attached()).but(line=user_line())
        if here.tracer is not None:
            here.tracer.made(node)
    if not here.recording and (here.tracer is not None or open_tracers):  # a program computes it again
        node.requires_grad = False
    elif not here.recording:
        if _shares(node):  # a view such as p.T: as a leaf it may be edited, and p must not be
            node._data = node._data.copy()
        node.op, node.inputs = None, ()
        node.requires_grad = False


class Running:
    """A function that is being differentiated: its sources, and where Values were turned into plain numbers."""

    MOST = 8  # places that are remembered

    def __init__(self, sources: list[Value]) -> None:
        self.sources = sources
        self.left: list[tuple[Value, str]] = []

    def note(self, value: Value, how: str) -> None:
        if len(self.left) < self.MOST and value.requires_grad and how not in ("bool(v)", "in"):  # decisions
            self.left.append((value, f"{how} in {user_line()}"))


def check_attached(value: Any) -> None:
    """Refuse `float(v)` while a function is differentiated and v depends on its inputs: the gradient would be lost."""
    sources = {source for run in list(running.values()) for source in run.sources}
    if not sources:
        return
    from .graph import topological

    if not sources.isdisjoint(topological(value)):
        raise DataError(
            f"float(v) while a function is differentiated: the gradient of {value._called()} would be lost silently. "
            "Write autograd.sin(v) for math.sin(v), stack([...]) for an array filled entry by entry, and v.data for "
            "the number alone."
        )


running: dict[int, Running] = {}  # in any thread: a function may hand its work to others


def _shares(node: Value) -> bool:
    """Whether a node's array may be the memory of one of its inputs."""
    data = node._data
    if data.__class__ is not np.ndarray:
        return False
    return data.base is not None or any(data is getattr(x, "_data", x) for x in node.inputs)


def _check_finite(node: Value) -> None:
    if not np.all(np.isfinite(node._data)):
        inputs = ", ".join(describe(x) for x in node.inputs)
        for x in node.inputs:
            given = np.asarray(getattr(x, "_data", x))
            if given.dtype.kind == "f" and np.isnan(given).any():
                raise NonFiniteError(
                    f"{node.op and node.op.name} was given {_first_bad(given)} in {describe(x)}. "
                    "Look at where that comes from: the data, or what was computed without detect_nan()."
                )
        raise NonFiniteError(
            f"{node.op and node.op.name} made {_first_bad(node._data)} from {inputs}. "
            "Look at these inputs: a log or division of 0, an exp of a large number, an overflow."
        )


def check_finite_gradient(node: Value, gradient: Any, parent: Value) -> None:
    """The backward half of `detect_nan`: a gradient sent from `node` to `parent` must be finite."""
    gradient = getattr(gradient, "_data", gradient)  # a Value, where derivatives are nested
    if gradient is not None and not np.all(np.isfinite(gradient)):
        inputs = ", ".join(describe(x) for x in node.inputs)
        raise NonFiniteError(
            f"the rule of {node.op and node.op.name} sent {_first_bad(gradient)} to {describe(parent)}; "
            f"its inputs were {inputs}"
        )


def _first_bad(data: Any) -> str:
    """The first entry that is not finite, and where."""
    data = np.asarray(data)
    where = tuple(int(i) for i in np.argwhere(~np.isfinite(data))[0])
    return f"{data[where]} at {list(where)}" if where else f"{data[()]}"


def describe(x: Any) -> str:
    """An operand in a message: its name and value if it is small, else its shape."""
    name = getattr(x, "name", None)
    data = getattr(x, "_data", x)
    shown = repr(data) if np.ndim(data) == 0 else f"shape {np.shape(data)}"
    return f"{name} = {shown}" if name else shown
