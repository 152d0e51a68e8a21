"""What a function reads from outside that a program holds fixed: plain numbers, texts, modules, other functions.

They are part of the key of a program: at another number the function is traced anew. Looked at are the cells and global
names that the function reads, and the functions of the same file that it calls; of a method also the attributes of its
object. Numbers inside lists, dicts and other objects are not.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from .inputs import FIXED, Names, take_apart, unchanged

PLAIN = (*FIXED, float, np.generic)


class Outside:
    """The places outside of a function that it reads."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self._f = f
        self._cells: dict[int, Any] = {}  # by their ids: to compare them would be to compare what they hold
        self._names: dict[tuple[int, str], dict[str, Any]] = {}  # of a namespace and a name in it, the namespace
        self._seen: set[int] = set()
        self._find(f)

    def _find(self, f: Any) -> None:
        if isinstance(f, functools.partial):
            return self._find(f.func)
        if isinstance(f, MethodType):
            attributes = getattr(f.__self__, "__dict__", {})
            self._names |= {(id(attributes), name): attributes for name in attributes}
            return self._find(f.__func__)
        f = getattr(f, "__wrapped__", f)  # grad(f) looks like f
        if not isinstance(f, FunctionType) or id(f) in self._seen:
            return
        self._seen.add(id(f))
        loaded, stored = _names_in(f.__code__)
        cells = [cell for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()) if name not in stored]
        names = [name for name in sorted(loaded - stored) if name in f.__globals__]
        self._cells |= {id(cell): cell for cell in cells}
        self._names |= {(id(f.__globals__), name): f.__globals__ for name in names}
        for x in (*map(_content, cells), *(f.__globals__[name] for name in names)):
            if isinstance(x, FunctionType) and x.__globals__ is f.__globals__:
                self._find(x)

    def _held(self) -> Iterator[tuple[Any, str, Any]]:
        """Each place, how code reads it, and what it holds now."""
        for cell in self._cells.values():
            yield cell, "{}.cell_contents", _content(cell)
        for (_, name), at in self._names.items():
            yield at, f"{{}}.get({name!r})", at.get(name)

    def key(self) -> tuple[Any, ...]:
        """What they hold: equal keys fit the same program."""
        held = [x for _, _, x in self._held() if _is_watched(x)]
        if hasattr(self._f, "named_parameters"):
            held.append(self._f)
        return tuple((x.__class__, x) if isinstance(x, PLAIN) else take_apart([x])[1] for x in held)

    def lines(self, names: Names) -> Iterator[str]:
        """Lines that return None if one of them holds something else than now."""
        for at, how, x in self._held():
            here = how.format(names.of(at))
            if isinstance(x, PLAIN):
                known = names.of(x)
                other = f"({here}.__class__ is not {known}.__class__ or {here} != {known})"
                yield f"if {here} is not {known} and {other}: return None"
            elif _is_watched(x):
                yield f"if {here} is not {names.of(x)}: return None"
                yield from unchanged(x, names) if hasattr(x, "named_parameters") else ()
        if hasattr(self._f, "named_parameters"):
            yield from unchanged(self._f, names)


def _is_watched(x: Any) -> bool:
    return isinstance(x, (*PLAIN, FunctionType)) or (hasattr(x, "named_parameters") and not isinstance(x, type))


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing is in it yet
        return None


def _names_in(code: CodeType) -> tuple[set[str], set[str]]:
    """The global names that some code reads, and the names outside of it that it sets, with all code inside of it."""
    loaded, stored = set(), set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            loaded.add(instruction.argval)
        elif instruction.opname in ("STORE_GLOBAL", "STORE_DEREF"):
            stored.add(instruction.argval)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more = _names_in(inner)
            loaded, stored = loaded | more[0], stored | more[1]
    return loaded, stored
