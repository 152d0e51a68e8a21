"""What a function reads from outside that a program holds fixed: plain numbers, texts, modules, other functions.

They are part of the key of a program: at another number the function is traced anew. Looked at are the cells and global
names that the function reads, the attributes that it reads of them (`config.rate`), and the functions of the same file
that it calls; of a method also the attributes of its object. Of an array and a Value it matters which one it is, as its
numbers are read at each call; of a list, dict or set, what is in it, up to `MOST` entries. So it is for an array that
comes to no op as a whole: `table.sum()` is a plain number in the program.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..engine import Value
from .inputs import FIXED, Names, Snapshot, fixed, is_module, take_apart, unchanged

PLAIN = (*FIXED, float, np.generic)
_WRITES = frozenset(("add", "append", "extend", "insert", "update"))  # methods that put into a list, dict or set
_CONTAINERS = (list, tuple, dict, set)
MOST = 1000  # entries of a list or dict that are compared at each call


class _Places:
    """The places outside of a function that it reads."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self._cells: dict[int, Any] = {}  # by their ids: to compare them would be to compare what they hold
        self._names: dict[tuple[int, str], Any] = {}  # of a namespace and a name in it, the namespace
        self._owners: set[int] = set()  # objects of which attributes are read
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
        cells = {name: cell for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()) if name not in stored}
        for name, *attributes in sorted(loaded):
            if attributes[:1] and attributes[0] in _WRITES:  # a log, say
                continue
            if name in cells:
                self._cells[id(cells[name])] = cells[name]
                x = _content(cells[name])
            elif name in f.__globals__ and name not in stored:
                self._names[id(f.__globals__), name] = f.__globals__
                x = f.__globals__[name]
            else:
                continue
            x = self._follow(x, attributes)
            if isinstance(x, FunctionType) and x.__globals__ is f.__globals__:
                self._find(x)

    def _follow(self, x: Any, attributes: list[str]) -> Any:
        """Take down the attributes that are read of an object, as far as they are its own; what the last one holds."""
        for name in attributes:
            own = getattr(x, "__dict__", {})
            if isinstance(x, Value) or is_module(x) or name not in own:
                return None
            self._owners.add(id(x))
            self._names[id(own) if isinstance(own, dict) else id(x), name] = own
            x = own[name]
        return x

    def watched(self) -> Iterator[tuple[Any, str, Any]]:
        """Each place that holds something fixed, how code reads it, and what it holds now."""
        for cell in self._cells.values():
            if self._is_watched(x := _content(cell)):
                yield cell, "{}.cell_contents", x
        for (_, name), at in self._names.items():
            if self._is_watched(x := at.get(name)):
                yield at, f"{{}}.get({name!r})", x

    def _is_watched(self, x: Any) -> bool:
        if isinstance(x, _CONTAINERS):
            return not _is_long(x)
        owner = id(x) in self._owners and not isinstance(x, (ModuleType, type))
        watched = isinstance(x, (*PLAIN, FunctionType, np.ndarray, Value)) or owner
        return watched or is_module(x)


class Outside:
    """What a function reads from outside."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self._f = f
        self._whole: dict[int, Any] = {}  # arrays that programs read at each call, by their ids

    def reads_again(self, arrays: Iterable[Any]) -> None:
        """Be told of arrays that a program reads at each call."""
        self._whole |= {id(array): array for array in arrays}

    def _is_compared(self, x: Any) -> bool:
        """Whether its entries are fixed, too."""
        array = isinstance(x, np.ndarray) and x.size <= MOST and id(x) not in self._whole
        return isinstance(x, _CONTAINERS) or array

    def key(self) -> tuple[Any, ...]:
        """What it is now: equal keys fit the same program."""
        held = [x for _, _, x in _Places(self._f).watched()]
        if is_module(self._f):
            held.append(self._f)
        entries = [x.tobytes() for x in held if isinstance(x, np.ndarray) and self._is_compared(x)]
        return (*map(_key, held), *entries)

    def lines(self, names: Names) -> Iterator[str]:
        """Lines that return None if it is not what it is now."""
        for at, how, x in _Places(self._f).watched():
            here, known = how.format(names.of(at)), names.of(x)
            if isinstance(x, PLAIN):
                other = f"({here}.__class__ is not {known}.__class__ or {here} != {known})"
                yield f"if {here} is not {known} and {other}: return None"
                continue
            if not isinstance(x, _CONTAINERS):
                yield f"if {here} is not {known}: return None"
            if self._is_compared(x):
                yield f"if {names.of(Snapshot(x))}.differs_from({here}): return None"
            elif is_module(x):
                yield from unchanged(x, names)
        if is_module(self._f):
            yield from unchanged(self._f, names)


class _Same:
    """An object in a key, equal to itself alone; as long as the key is kept, no other object has its id."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.x is other.x

    def __hash__(self) -> int:
        return id(self.x)


def _key(x: Any) -> Any:
    if isinstance(x, PLAIN):
        return x.__class__, x
    if isinstance(x, _CONTAINERS):
        return fixed(x)
    return take_apart([x])[1] if isinstance(x, FunctionType) or is_module(x) else _Same(x)


def _is_long(x: Any) -> bool:
    """Whether there are more than MOST entries in nested lists, tuples, dicts and sets."""
    waiting, count = [x], 0
    while waiting and count <= MOST:
        parts = waiting.pop()
        count += len(parts)
        if count <= MOST:
            parts = parts.values() if isinstance(parts, dict) else parts
            waiting += [part for part in parts if isinstance(part, _CONTAINERS)]
    return count > MOST


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing is in it yet
        return None


@functools.cache
def _names_in(code: CodeType) -> tuple[set[tuple[str, ...]], set[str]]:
    """What some code reads from outside of it, ("config", "rate") for `config.rate`, and the names outside of it that
    it sets, with all code inside of it."""
    loaded: set[tuple[str, ...]] = set()
    stored: set[str] = set()
    path: tuple[str, ...] = ()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and path:
            path = (*path, instruction.argval)
            continue
        loaded |= {path} - {()}
        path = (instruction.argval,) if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF") else ()
        if instruction.opname in ("STORE_GLOBAL", "STORE_DEREF"):
            stored.add(instruction.argval)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more = _names_in(inner)
            loaded, stored = loaded | more[0], stored | more[1]
    return loaded, stored
