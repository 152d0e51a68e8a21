"""What a function reads from outside, and what it changes there.

    config.rate, a cell, a default, a list    fixed; compared before each call: for another value f is traced again
    a Value, an array that reaches an op      read at each call
    self.mean = 0.9 * self.mean + ...         on a module: read before each call and written after it (`Place`)
    log.append(...)                           done while tracing, and `g.notes` says so; every other write is refused

`Outside` walks the values that a function can reach: its cells, defaults and globals, partial's parts, the objects they
hold, the functions they call. It does not read code, but for the names of globals.
"""

from __future__ import annotations

import dis
import functools
import itertools
import linecache
import operator
import os
import sys
import sysconfig
from collections import ChainMap, deque
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from autograd.arrays.plain import as_plain, copy_array
from autograd.callers import OURS
from autograd.engine import Value
from autograd.errors import TraceError
from autograd.op import Op

from .exits import Tracer, leaf
from .inputs import FIXED, Names, is_module
from .numbers import Number, is_weak

MOST = 2000  # objects that are walked; what lies further is constant
SMALL = 1000  # numbers of an array that are compared at each call, if it reaches no op itself
PLAIN = (*FIXED, float, np.generic)
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


class Holder(NamedTuple):
    """Something that holds things which may be replaced: a dict, a list, the cells of a function."""

    kind: str  # "dict", "list", "set", "cells", "class", "slots", "array"
    at: Any
    names: tuple[Any, ...] | None  # those that count; None: all
    but: frozenset[Any]  # those that do not
    path: str
    owned: bool  # by a module
    of: str  # the class of the object whose attributes it holds

    def contents(self) -> dict[Any, Any]:
        """What it holds now, by name or place."""
        if self.kind == "dict":
            if self.names is None:
                return {name: x for name, x in self.at.items() if name not in self.but} if self.but else dict(self.at)
            return {name: self.at[name] for name in self.names if name in self.at and name not in self.but}
        if self.kind == "list":
            return dict(enumerate(self.at))
        if self.kind == "set":
            return dict.fromkeys(self.at)
        if self.kind == "cells":
            return {name: _content(cell) for name, cell in self.at.items()}
        if self.kind == "class":
            return {n: x for n, x in vars(self.at).items() if not n.startswith("__") or n == "__call__"}
        if self.kind == "slots":
            return {name: getattr(self.at, name) for name in self.names or () if hasattr(self.at, name)}
        return {"": self.at.tobytes()}

    def put_back(self, before: dict[Any, Any], names: Iterable[Any]) -> None:
        """Give these what they held before."""
        for name in names:
            if self.kind == "set":
                (self.at.add if name in before else self.at.discard)(name)
            elif self.kind == "cells":
                self.at[name].cell_contents = before[name]
            elif self.kind == "class" and name not in before:
                delattr(self.at, name)
            elif self.kind in ("class", "slots"):
                setattr(self.at, name, before[name])
            elif self.kind == "array":
                self.at[...] = np.frombuffer(before[""], self.at.dtype).reshape(self.at.shape)
            elif self.kind == "list":
                self.at[:] = before.values()
                return
            elif name in before:
                self.at[name] = before[name]
            else:
                self.at.pop(name, None)


class Outside:
    """What can be reached from a function and from modules, as it is now."""

    def __init__(
        self, roots: Sequence[Any], ignore: Iterable[tuple[int, Any]] = (), whole: Iterable[int] = (),
        largest: float = SMALL,
    ) -> None:  # fmt: skip
        self._ignore, self._whole, self._largest = set(ignore), set(whole), largest
        self.holders: list[Holder] = []
        self._codes: list[CodeType] = []
        self.unseen: list[str] = []  # what is not looked at, in words
        self._walk(roots)
        self.known = [holder.contents() for holder in self.holders]

    # --- the walk -------------------------------------------------------------------------------------------

    def _walk(self, roots: Sequence[Any]) -> None:
        waiting: deque[tuple[Any, str, bool]] = deque((root, "", False) for root in roots)
        seen: dict[int, Any] = {}
        while waiting:
            x, path, owned = waiting.popleft()
            if isinstance(x, FunctionType) and _is_users(x.__code__.co_filename):
                self._codes.append(x.__code__)
            if id(x) in seen or isinstance(x, (*PLAIN, Value, Op, Number)):
                continue
            if len(seen) >= MOST:
                self.unseen.append(f"more than {MOST:,} objects outside, of which changes are not seen")
                return
            seen[id(x)] = x
            for kind, at, names, own in _holders(x, path):
                of = "" if at is x or isinstance(x, FunctionType) else type(x).__name__
                holder = Holder(kind, at, names, self._but(x, at), own, owned or is_module(x), of)
                if id(at) in self._whole or (kind == "array" and x.size > self._largest):
                    continue
                if kind in ("dict", "list", "set") and names is None and len(at) > MOST:
                    self.unseen.append(f"{own or kind}: {len(at):,} entries, of which changes are not seen")
                    continue
                self.holders.append(holder)
                for name, part in holder.contents().items() if kind not in ("array", "set") else ():
                    waiting.append((part, _joined(own, kind, name), holder.owned))
            waiting.extend((part, path, owned) for part in _parts(x))
            if isinstance(x, FunctionType):
                waiting.extend((part, name, owned) for name, part in _defaults(x))

    def _but(self, x: Any, at: Any) -> frozenset[Any]:
        ignored = [name for holder, name in self._ignore if holder == id(at)]
        return frozenset((*ignored, *getattr(x, "beside", ()))) if is_module(x) else frozenset(ignored)

    # --- whether it is as it was ----------------------------------------------------------------------------

    def _differs(self, n: int) -> bool:
        now, known = self.holders[n].contents(), self.known[n]
        if now.keys() != known.keys() or any(not _equal(now[name], x) for name, x in known.items()):
            return True
        if self.holders[n].kind != "array":
            known |= now  # equal, and another object: found at once the next time
        return False

    def lines(self, names: Names) -> Iterator[str]:
        """Lines that return None if something is not as it is now."""
        differs = names.of(self._differs)
        names.known["is_not"] = operator.is_not
        for n, (holder, known) in enumerate(zip(self.holders, self.known)):
            if holder.kind == "class":
                now = f"map({names.of(vars(holder.at))}.get, {names.of(known.keys())})"
            elif holder.kind == "dict":
                at = names.of(holder.at)
                whole = holder.names is None and not holder.but
                now = f"{at}.values()" if whole else f"map({at}.get, {names.of(known.keys())})"
                if holder.names is None:
                    beside = "".join(f" - ({names.of(name)} in {at})" for name in holder.but)
                    yield f"if len({at}){beside} != {len(known)}: return None"
            elif holder.kind == "list":
                now = at = names.of(holder.at)
                yield f"if len({at}) != {len(known)}: return None"
            else:
                yield f"if {differs}({n}): return None"
                continue
            if known:
                yield f"if any(map(is_not, {now}, {names.of(known)}.values())) and {differs}({n}): return None"

    # --- what a call changed --------------------------------------------------------------------------------

    def only_adds(self, path: str) -> bool:
        """Whether code uses what it knows by this name for nothing but to add to it: `log.append(...)`."""
        uses = [adds for code in self._codes for adds in _uses(code, path.rpartition(".")[2])]
        return bool(uses) and all(uses)

    def line_that_changes(self, holder: Holder, name: Any) -> str:
        """Where code sets this name, or changes what it knows by the holder's; "" if that cannot be told."""
        attribute = name if isinstance(name, str) and (holder.of or holder.kind in ("cells", "class")) else ""
        known = holder.path.rpartition(".")[2]
        found = (line for code in self._codes for line in _changes(code, attribute or name, known))
        return next(found, "")

    def put_back(self) -> None:
        """Undo what a call changed."""
        for holder, before, names in self.changed():
            holder.put_back(before, names)

    def changed(self) -> list[tuple[Holder, dict[Any, Any], list[Any]]]:
        """The holders of which a call changed something, what they held before, and under which names; put back."""
        found = []
        for holder, before in zip(self.holders, self.known):
            now = holder.contents()
            names = [name for name in {**before, **now} if not _is_as_before(now, before, name)]
            if names:
                found.append((holder, before, names))
        return found


def _is_as_before(now: dict[Any, Any], before: dict[Any, Any], name: Any) -> bool:
    if name not in now or name not in before:
        return False
    return now[name] is before[name] or (isinstance(now[name], PLAIN) and _equal(now[name], before[name]))


def _holders(x: Any, path: str) -> Iterator[tuple[str, Any, tuple[Any, ...] | None, str]]:
    """The places that an object has for others: kind, where, which names (None: all), how it is called."""
    if isinstance(x, dict):
        yield "dict", x, None, path
    elif isinstance(x, (list, deque)):
        yield "list", x, None, path
    elif isinstance(x, set):
        yield "set", x, None, path
    elif isinstance(x, np.ndarray):
        if x.dtype != object:
            yield "array", x, None, path
    elif isinstance(x, FunctionType):
        if x.__closure__:
            yield "cells", dict(zip(x.__code__.co_freevars, x.__closure__)), None, ""
        if _is_users(x.__code__.co_filename):
            read = tuple(sorted(name for name in _names_in(x.__code__) if name in x.__globals__))
            if read:
                yield "dict", x.__globals__, read, ""
            for own in (x.__kwdefaults__, vars(x)):
                if own is not None:
                    yield "dict", own, None, ""
            yield from _of_modules(x)
    elif isinstance(x, type):
        if _is_users_class(x):
            yield "class", x, None, x.__name__
    elif _is_users_class(type(x)) or isinstance(x, SimpleNamespace) or is_module(x):
        if hasattr(x, "__dict__"):
            yield "dict", vars(x), None, path
        slots = tuple(n for cls in type(x).__mro__ for n in _slots(cls) if n != "__dict__" and hasattr(x, n))
        if slots:
            yield "slots", x, slots, path


def _of_modules(f: FunctionType) -> Iterator[tuple[str, Any, tuple[Any, ...] | None, str]]:
    """What code reads of other files of the user's: `settings.rate`, where `settings` is a module of Python's."""
    names = _names_in(f.__code__)
    for name in names:
        x = f.__globals__.get(name)
        if isinstance(x, ModuleType) and _is_users(getattr(x, "__file__", None) or sysconfig.__file__):
            yield "dict", vars(x), tuple(sorted(n for n in names if n in vars(x))), name


def _parts(x: Any) -> list[Any]:
    """What an object always has."""
    if isinstance(x, (tuple, frozenset)):
        return list(x)
    if isinstance(x, ChainMap):
        return [x.maps]
    if isinstance(x, functools.partial):
        return [x.func, x.args, x.keywords]
    if isinstance(x, MethodType):
        return [x.__self__, x.__func__]
    if isinstance(x, (staticmethod, classmethod)):
        return [x.__func__]
    if isinstance(x, property):
        return [x.fget]
    if isinstance(x, type):
        return [base for base in x.__mro__[1:] if _is_users_class(base)]
    own = getattr(x, "f", None) if type(x).__name__ == "Compiled" else None
    return [*([type(x)] if _is_users_class(type(x)) else []), *([own] if own is not None else [])]


def _defaults(f: FunctionType) -> Iterator[tuple[str, Any]]:
    """The parameters that have defaults, with them."""
    given = f.__defaults__ or ()
    names = f.__code__.co_varnames[: f.__code__.co_argcount]
    return zip(names[len(names) - len(given) :], given)


def _slots(cls: type) -> tuple[str, ...]:
    names = vars(cls).get("__slots__", ()) if _is_users_class(cls) else ()
    return (names,) if isinstance(names, str) else tuple(names)


@functools.cache
def _names_in(code: CodeType) -> frozenset[str]:
    """All names that some code, and code inside of it, mentions."""
    inner = [_names_in(part) for part in code.co_consts if isinstance(part, CodeType)]
    return frozenset(code.co_names).union(*inner)


@functools.cache
def _uses(code: CodeType, name: str) -> tuple[bool, ...]:
    """For each place where some code reads a name, whether it only adds to what is there."""
    found = []
    lines = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "PRECALL")]
    for i, following in itertools.pairwise(lines):
        if i.opname.startswith("LOAD_") and i.argval == name and i.opname != "LOAD_CLOSURE":
            adds = following.opname in ("LOAD_METHOD", "LOAD_ATTR") and following.argval in _ADDS
            found.append(adds or (following.opname == "LOAD_CONST" and f"{name} += " in _line(code, i)))
    inner = [use for part in code.co_consts if isinstance(part, CodeType) for use in _uses(part, name)]
    return (*found, *inner)


def _line(code: CodeType, i: dis.Instruction) -> str:
    return linecache.getline(code.co_filename, i.positions.lineno or 0) if i.positions else ""


@functools.cache
def _changes(code: CodeType, name: Any, known: str) -> tuple[str, ...]:
    """The lines of some code that store a name, or an entry of what is known by another, or call a method of that."""
    found = []
    read: dict[int, bool] = {}  # lines that read what is known by that name
    for i in dis.get_instructions(code):
        line = i.positions.lineno or 0 if i.positions else 0
        read[line] = read.get(line, False) or (i.opname.startswith("LOAD_") and bool(known) and i.argval == known)
        stores = i.opname in ("STORE_ATTR", "STORE_DEREF", "STORE_GLOBAL", "DELETE_ATTR") and i.argval == name
        entry = i.opname in ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE") and read[line]
        if stores or entry or (i.opname == "LOAD_METHOD" and read[line]):
            found.append(f"{os.path.basename(code.co_filename)}:{line}: {_line(code, i).strip()}")
    inner = [line for part in code.co_consts if isinstance(part, CodeType) for line in _changes(part, name, known)]
    return (*found, *inner)


_ADDS = frozenset(("add", "append", "extend", "insert", "update"))  # methods that put into a list, dict or set


@functools.cache
def _is_users(file: str) -> bool:
    return not file.startswith(OURS) and not file.startswith(_LIBRARIES)


def _is_users_class(cls: type) -> bool:
    module = sys.modules.get(cls.__module__)
    if cls.__module__ in ("builtins", "typing", "abc", "collections"):
        return False
    if cls.__module__ == "__main__":  # typed into a session: `__main__` may be the file of IPython or of pytest
        return True
    return _is_users(getattr(module, "__file__", None) or f"<{cls.__module__}>")


def _joined(path: str, kind: str, name: Any) -> str:
    if not path:
        return str(name)
    return f"{path}[{name!r}]" if kind == "list" or not isinstance(name, str) else f"{path}.{name}"


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing is in it yet
        return None


def _equal(x: Any, y: Any) -> bool:
    """The same object, or equal plain ones, floats to the bit."""
    if x is y:
        return True
    if type(x) is not type(y) or isinstance(x, Number):
        return False
    if isinstance(x, tuple):
        return len(x) == len(y) and all(map(_equal, x, y))
    if isinstance(x, MethodType):
        return x.__self__ is y.__self__ and x.__func__ is y.__func__
    return isinstance(x, PLAIN) and bool(x == y or x != x) and repr(x) == repr(y)


# --- what f changes ---------------------------------------------------------------------------------------------------


class Place:
    """A place on a module whose number f changes: read before a call and written after it."""

    def __init__(self, holder: Holder, name: Any) -> None:
        self.holder, self.name = holder, name
        self.path = _joined(holder.path, holder.kind, name)
        self.before = holder.contents().get(name)
        self.kind = kind_of(self.before)
        self.gives, self.weak = "number", False

    def again(self) -> Place:
        """The same place, with what it holds now."""
        return Place(self.holder, self.name)

    def id(self) -> tuple[int, Any]:
        return id(self.holder.at), self.name

    def now(self) -> Any:
        return self.holder.contents().get(self.name)

    def read(self) -> Any:
        """The number as an input of a program."""
        return _data(self.now())

    def put_value(self, tracer: Tracer) -> Value | None:
        """Let f find a Number there; its Value, or None if there is no number yet."""
        if self.kind is None:
            return None
        value = leaf(self.read(), self.path or None, requires_grad=False)
        tracer.inputs.add(value)
        is_value = isinstance(self.before, Value)
        self.holder.at[self.name] = value if is_value else Number(value, is_weak(self.before))
        return value

    def found(self, tracer: Tracer) -> Any:
        """What f left there, as a result of a program."""
        x = self.now()
        if isinstance(x, Number):
            self.gives, self.weak = "number", x.weak
            return x.value
        self.weak = is_weak(x)
        self.gives = "value" if isinstance(x, Value) else "plain"
        if isinstance(x, Value):
            return tracer.detached(x) if tracer.follows(x) else x
        if kind_of(x) is None:
            raise TraceError(f"{self.path} is set to {x!r:.40} at one call and to a number at another.")
        return x if isinstance(x, (np.ndarray, float)) else np.asarray(x)

    def write(self, data: Any) -> None:
        """Leave there what f would have left."""
        if self.gives == "value":
            data = leaf(data, requires_grad=False)
        elif not np.ndim(data):  # a buffer of one number stays an array
            data = np.asarray(data)
            data = data if isinstance(self.before, np.ndarray) else data.item() if self.weak else data[()]
        self.holder.at[self.name] = data

    def line(self, names: Names) -> str:
        return f"if {names.of(kind_of)}({names.of(self.now)}()) != {names.of(self.kind)}: return None"


class EditedValue(Place):
    """A Value from outside of which f sets the data."""

    def __init__(self, value: Value) -> None:
        self.value, self.path, self.kind, self.before = value, value.name or "a Value", "value", None

    def id(self) -> tuple[int, Any]:
        return id(self.value), "data"

    def again(self) -> Place:
        return self

    def put_value(self, tracer: Tracer) -> Value | None:
        return None  # it is captured, as any Value from outside

    def found(self, tracer: Tracer) -> Any:
        sets = tracer.written.get(self.value)
        return sets[-1][1] if sets else self.value

    def write(self, data: Any) -> None:
        self.value._data = as_plain(data) if not np.ndim(data) else data
        self.value.touch()

    def line(self, names: Names) -> str:
        return ""


def kind_of(x: Any) -> Any:
    """The type of a number at a place; None for what is no number."""
    if isinstance(x, Value):
        return Value, x.shape, x.dtype
    if isinstance(x, Number):
        return None
    if isinstance(x, np.ndarray):
        return np.ndarray, x.shape, x.dtype
    return x.__class__ if isinstance(x, (bool, int, float, np.generic)) else None


def _data(x: Any) -> Any:
    data = x._data if isinstance(x, Value) else x
    return data if isinstance(data, (float, np.ndarray)) else as_plain(np.asarray(data)) if isinstance(
        data, np.floating) else np.asarray(data)


_WRITES = (
    "A program writes numbers, arrays and .data of Values on modules: {}. Give everything else back as a result of "
    "the function"
)


Grown = list[tuple[Holder, dict[Any, Any], list[Any]]]  # what holds more now, all that it holds, what is new


def places_changed(outside: Outside, tracer: Tracer, known: Sequence[Place]) -> tuple[list[Place], Grown]:
    """The places at which a call changed numbers, put back; and what it only added to, left as it is.

    Everything else that was changed is put back and refused.
    """
    places: list[Place] = [EditedValue(value) for value in tracer.written]
    grown: Grown = []
    refused: list[tuple[Holder, Any]] = []
    for holder, before, names in outside.changed():
        now = holder.contents()
        added = [name for name in names if name not in before]
        adds = len(added) == len(names) and holder.kind in ("list", "set", "dict") and holder.names is None
        counts = holder.kind in ("cells", "dict") and all(isinstance(now.get(n), int) for n in names)
        counts = counts and not holder.owned and all(isinstance(n, str) and outside.only_adds(n) for n in names)
        if counts or (adds and outside.only_adds(holder.path)):
            plain = {name: copy_array(x.plain()) if isinstance(x, Number) else x for name, x in now.items()}
            grown.append((holder, plain, added))
            continue
        holder.put_back(before, names)
        for name in names:
            number = kind_of(now.get(name)) is not None or isinstance(now.get(name), Number)
            fits = before.get(name) is None or kind_of(before[name]) is not None
            if holder.owned and holder.kind in ("dict", "list") and number and fits and name in now:
                places.append(Place(holder, name))
            else:
                refused.append((holder, name))
    if refused:
        raise _refusal(outside, *refused[0])
    ids = {place.id() for place in known}
    return [*known, *(place for place in places if place.id() not in ids)], grown


def _refusal(outside: Outside, holder: Holder, name: Any) -> TraceError:
    """The error for a change outside that a program cannot make."""
    path = holder.path if holder.kind == "array" else _joined(holder.path, holder.kind, name)
    line = outside.line_that_changes(holder, name)
    of = f" of class {holder.of}," if holder.of and holder.kind != "class" else ""
    writes = _WRITES.format(f"make {holder.of} an nn.Module" if of else "keep it on an nn.Module")
    return TraceError(f"{line}\nthe function changes {path},{of} which lies outside of it. {writes}.".lstrip("\n"))
