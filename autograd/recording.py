"""What is recorded while a graph is built: nothing (`no_grad`), module scopes, source lines, the first NaN.

Each mode belongs to its thread and survives exceptions. Ordinary nodes pay one look at `opened`, the contexts open in
any thread; only when there are some does a new node `settle`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import NonFiniteError

if TYPE_CHECKING:
    from .value import Value

_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS = tuple(os.path.join(_HOME, package, "") for package in ("autograd", "nn"))


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


class Note:
    """What people know a node by: its name, the module call and source line that made it, hooks on its gradient.

    Nodes made in one module call share one Note; a node that gets a name or a hook gets a Note of its own.
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

    def but(self, **changes: Any) -> Note:
        """A copy with some fields changed."""
        return Note(**{"name": self.name, "scope": self.scope, "line": self.line, "hooks": self.hooks} | changes)


class _Modes(threading.local):
    """The modes in force in this thread."""

    recording = True
    note: Note | None = None
    lines = False
    finite = False
    tracer: Any = None  # what watches a call that is being compiled
    unusual = False  # whether one of them asks more of a node than a note


modes = _Modes()
opened: set[object] = set()  # a mark for each open context. Adding and removing one is atomic: no lock is needed


@contextlib.contextmanager
def _mode(**changes: Any) -> Iterator[None]:
    """Set some modes of this thread for the duration of a `with` block."""
    before = {key: getattr(modes, key) for key in (*changes, "unusual")}
    mark = object()
    try:
        opened.add(mark)
        vars(modes).update(changes)
        modes.unusual = not modes.recording or modes.lines or modes.finite
        yield
    finally:
        vars(modes).update(before)
        opened.discard(mark)


def no_grad() -> contextlib.AbstractContextManager[None]:
    """Compute without recording: results have no parents. For evaluation and for updates.

    >>> from autograd import Value, no_grad
    >>> a = Value(3.0)
    >>> with no_grad():
    ...     b = a * 2
    >>> b.parents
    ()
    """
    return _mode(recording=False)


def enable_grad() -> contextlib.AbstractContextManager[None]:
    """Record again, also inside `no_grad`."""
    return _mode(recording=True)


def detect_nan() -> contextlib.AbstractContextManager[None]:
    """Stop at the first NaN or infinity, forward or backward, and name the op and its inputs.

    >>> from autograd import Value, detect_nan
    >>> x = Value(1e200, name="x")
    >>> with detect_nan():
    ...     y = x * x
    Traceback (most recent call last):
        ...
    autograd.errors.NonFiniteError: mul made inf from x = 1e+200, x = 1e+200. Look at these inputs: ...
    """
    return _mode(finite=True)


def record_lines() -> contextlib.AbstractContextManager[None]:
    """Remember the source line that made each node, for drawings and the stepper.

    >>> from autograd import Value, record_lines
    >>> a = Value(3.0)
    >>> with record_lines():
    ...     b = a * 2
    >>> b.line
    '...:2: b = a * 2'
    """
    return _mode(lines=True)


class scope:  # a class, not a @contextmanager, so that one can be entered again
    """Mark every node made inside as belonging to one call of a module, so that drawings can fold it.

    >>> from autograd import Value, scope
    >>> a = Value(3.0)
    >>> with scope("head", kind="Attention"), scope("scores"):
    ...     b = a * 2
    >>> b.scope.path, b.scope.parent.kind
    ('head.scores', 'Attention')
    """

    __slots__ = ("_about", "_open")

    def __init__(self, name: str, kind: str = "", module: Any = None) -> None:
        self._about = name, kind, module
        self._open: list[tuple[Scope, Note | None]] = []  # one for each time it was entered

    def __enter__(self) -> Scope:
        name, kind, module = self._about
        around = modes.note
        here = Scope(name, kind, None if around is None else around.scope, module)
        self._open.append((here, around))
        opened.add(here)
        modes.note = Note(None, here)
        return here

    def __exit__(self, *error: object) -> None:
        here, modes.note = self._open.pop()
        opened.discard(here)


def trace_with(tracer: Any) -> contextlib.AbstractContextManager[None]:
    """Let a tracer (`program/trace.py`) see which numbers are read and which are drawn at random."""
    return _mode(tracer=tracer)


def drawn(draw: Callable[[Any], Any], generator: Any) -> Any:
    """`draw(generator)`: random numbers that a compiled program draws anew at each call."""
    return draw(generator) if modes.tracer is None else modes.tracer.drawn(draw, generator)


def notice_read(value: Value, how: str) -> None:
    """Tell the tracer, if a call is being compiled, that a Value's numbers are read: a program cannot see why."""
    if modes.tracer is not None:
        modes.tracer.read(value, how)


def settle(node: Value) -> None:
    """Finish a new node according to the modes of this thread."""
    node._note = modes.note
    if not modes.unusual:
        return
    if modes.finite:
        _check_finite(node)
    if modes.lines:
        node._note = (modes.note or Note()).but(line=_user_line())
    if not modes.recording:
        if _shares(node):  # a view such as p.T: now a leaf, it must not be a second door to p's numbers
            node._data = node._data.copy()
        node.op = node._a = node._b = None
        node.requires_grad = False


def _shares(node: Value) -> bool:
    """Whether a node's array may be the memory of one of its inputs."""
    data = node._data
    if data.__class__ is not np.ndarray:
        return False
    return data.base is not None or any(data is getattr(x, "_data", x) for x in node.inputs)


def _user_line() -> str | None:
    """The innermost source line outside autograd and nn, as "file.py:12: c = a * b"."""
    import linecache

    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    if frame is None:
        return None
    file, number = frame.f_code.co_filename, frame.f_lineno
    return f"{os.path.basename(file)}:{number}: {linecache.getline(file, number).strip()}"


def _check_finite(node: Value) -> None:
    if not np.all(np.isfinite(node._data)):
        inputs = ", ".join(describe(x) for x in node.inputs)
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
