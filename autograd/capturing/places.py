"""Where in the user's own files something happened, and what they call its result there."""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import os
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from autograd.attached import Attached
from autograd.engine import Value
from autograd.modes import ModeBlock, Modes, Scope

OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


LIBRARIES = ("torch", "jax", "jaxlib", "flax", "optax", "equinox", "contextlib", "functools")


def libraries() -> tuple[str, ...]:
    """The folders of the libraries whose frames are none of the user's."""
    found = [sys.modules.get(name) for name in LIBRARIES]
    files = [module.__file__ or "" for module in found if module is not None]
    return tuple(os.path.join(os.path.dirname(f), "") if f.endswith("__init__.py") else f for f in files)


@dataclass(frozen=True)
class Place:
    """One source line."""

    file: str
    line: int

    @property
    def text(self) -> str:
        """What stands there."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"


class Noted(ModeBlock):
    """A block in which every new node is recorded, also within `no_grad`, with this scope and line."""

    def __init__(self, scope: Scope | None, place: Place | None) -> None:
        super().__init__(recording=True)
        self.note = Attached(None, scope, None if place is None else f"{place}: {place.text}")

    def inside(self, around: Modes) -> Modes:
        """The modes in force inside."""
        return super().inside(around)._replace(note=self.note)


def argument_of(function: Any, number: int | None) -> str | None:
    """What a Function's `forward` calls its argument of this number; the first one, ctx, is not counted."""
    if number is None:
        return None
    forward = getattr(function, "forward", None)
    try:
        given = inspect.signature(forward).parameters.values()  # type: ignore[arg-type]
        names = [p.name for p in given if p.kind is p.POSITIONAL_OR_KEYWORD]
    except (TypeError, ValueError):
        return None
    names = names if "setup_context" in vars(function) else names[1:]
    return names[number] if number < len(names) else None


def returning_line(code: Any) -> Place:
    """The last line at which a function returns."""
    lines = [i.positions.lineno for i in dis.get_instructions(code) if i.opname == "RETURN_VALUE" and i.positions]
    return Place(code.co_filename, max((n for n in lines if n), default=code.co_firstlineno))


def assigning_lines(code: Any, number: int) -> list[range]:
    """The lines of each statement that sets the variable that a function returns in this place of its tuple."""
    try:
        lines, start = inspect.getsourcelines(code)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError):  # no source, or not a whole one
        return []
    nodes = sorted((n for n in ast.walk(tree) if isinstance(n, ast.stmt)), key=lambda n: n.lineno)
    given = [n.value.elts if isinstance(n.value, ast.Tuple) else [n.value] for n in nodes
             if isinstance(n, ast.Return) and n.value is not None]  # fmt: skip
    names = {x.id for elements in given for x in elements[number : number + 1] if isinstance(x, ast.Name)}
    return [range(n.lineno + start - 1, (n.end_lineno or n.lineno) + start) for n in nodes
            if not names.isdisjoint(_targets(n))]  # fmt: skip


def written_at(function: Any) -> Place | None:
    """The line where a function begins."""
    code = getattr(inspect.unwrap(getattr(function, "func", function)), "__code__", None)
    return None if code is None else Place(code.co_filename, code.co_firstlineno)


def argument_names(function: Any, count: int) -> list[str]:
    """What a function calls its first `count` arguments: those of `*xs` are xs_0, xs_1."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "input")
    return [*names[:count], *(f"{rest}_{i}" for i in range(count - len(names)))]


def user_frame(libraries: tuple[str, ...]) -> Any:
    """The innermost frame that belongs neither to us nor to one of these library folders."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((OURS, "<frozen", *libraries)):
            return frame
        frame = frame.f_back
    return None


def place_of(frame: Any) -> Place | None:
    """The line that a frame is at."""
    return None if frame is None else Place(frame.f_code.co_filename, frame.f_lineno)


def failing_place(error: BaseException, libraries: tuple[str, ...]) -> Place | None:
    """The innermost line of the user's own that an error passed through."""
    found, trace = None, error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith((OURS, "<frozen", *libraries)):
            found = Place(file, trace.tb_lineno)
        trace = trace.tb_next
    return found


@dataclass
class _Waiting:
    """A statement that is being executed, and the results of its latest call."""

    code: Any
    statement: ast.stmt | None
    scope: Scope | None
    values: Sequence[Value | None]


class Namer:
    """Names results after the variables they are assigned to: the last call of `std = …` makes `std`."""

    def __init__(self) -> None:
        self._statements: dict[str, dict[int, ast.stmt]] = {}
        self._waiting: dict[int, _Waiting] = {}
        self._used: dict[tuple[int | None, str], int] = {}

    def reserve(self, names: Iterable[str]) -> None:
        """Names that inputs have already."""
        self._used.update({(None, name): 1 for name in names})

    def note(self, frame: Any, scope: Scope | None, values: Sequence[Value | None]) -> None:
        """A call on this line gave these values: unless another call of the statement follows, they are its result."""
        if frame is None:
            return
        statement = self._statement(frame.f_code.co_filename, frame.f_lineno)
        before = self._waiting.get(id(frame))
        if before is not None and (before.statement is not statement or before.code is not frame.f_code):
            self._finish(before)
        self._waiting[id(frame)] = _Waiting(frame.f_code, statement, scope, values)

    def note_place(self, place: Place | None, scope: Scope | None, values: Sequence[Value | None]) -> None:
        """The same where only the line is known: what was made there last before another line has its name."""
        if place is None:
            return
        statement = self._statement(place.file, place.line)
        before = self._waiting.get(0)
        if before is not None and (before.statement is not statement or statement is None):
            self._finish(before)
        self._waiting[0] = _Waiting(None, statement, scope, values)

    def finish(self) -> None:
        """Name what is still waiting."""
        for waiting in self._waiting.values():
            self._finish(waiting)
        self._waiting.clear()

    def _finish(self, waiting: _Waiting) -> None:
        names = _targets(waiting.statement)
        if len(names) != len(waiting.values):
            return
        for name, value in zip(names, waiting.values):
            if name is not None and value is not None and value.name is None:
                value.name = self._unused(waiting.scope, name)

    def _unused(self, scope: Scope | None, name: str) -> str:
        """`x`, then `x_2`, `x_3`: a variable that is assigned again holds another value."""
        outer = scope is None or scope.parent is None
        key = (None if outer or scope is None else scope.serial, name)
        count = self._used[key] = self._used.get(key, 0) + 1
        return name if count == 1 else f"{name}_{count}"

    def _statement(self, file: str, line: int) -> ast.stmt | None:
        """The assignment that a line belongs to, if it is one."""
        if file not in self._statements:
            self._statements[file] = dict(_assignments(file))
        return self._statements[file].get(line)


def _assignments(file: str) -> Iterable[tuple[int, ast.stmt]]:
    """(line, statement) for every line of every assignment in a file."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):  # a notebook's magic, or no source at all
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                yield line, node


def _targets(statement: ast.stmt | None) -> list[str | None]:
    """The variables an assignment sets; None for a part that is no plain variable."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target: ast.expr = statement.targets[0]
    elif isinstance(statement, ast.AugAssign | ast.AnnAssign):
        target = statement.target
    else:
        return []
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return [part.id if isinstance(part, ast.Name) and part.id != "_" else None for part in parts]
