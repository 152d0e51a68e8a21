"""Numbers that traced code reads through `.data`: a program follows them back, also through `max` and `min`.

`x * y.data` multiplies by y without its gradient, and `max(s.data for s in scores)` is the largest of the scores: both
are computed anew at each call of the program. Where Python decides by such a number, as in `if x.data > 100`, it is
refused, and so is what Python or NumPy computed from it when it comes to an op. Arrays are not followed back: they can
be looked at. What is out of sight here (`math.exp(x.data)`, `x.data.tolist()`) is refused if other inputs change it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..callers import user_line
from ..engine import Value
from ..errors import TraceError
from ..modes import modes
from ..op import OPS, Op


def refusal(how: str) -> TraceError:
    """The error for a line of the user's that decides something by a number. The tracer keeps it, as code that catches
    it (`except Exception`) would go on and decide otherwise than in an ordinary call.
    """
    line = user_line() or "unknown line"
    error = TraceError(
        f"{line}\nreads a number that depends on the inputs ({how}). What Python decides by it is decided once, "
        "when the call is traced. Write where(condition, a, b) for a branch, ops for arithmetic; or give what "
        "decides as a Python int or bool: each one is traced anew."
    )
    if modes.tracer is not None:
        modes.tracer.refused.append(error)
    return error


class Read(float):
    """The number of a Value; if it came out of `max` or `min`, that of all the Values that it was compared with.

    Python's `max` goes through its numbers once: each is compared with the largest so far, and what has lost is not
    looked at again. What was compared with others in another way (sorted, say) is a plain number.
    """

    of: set[Value]
    kind: str  # "maximum", "minimum", or "" as long as it was not compared
    plain: bool  # it has lost a comparison, or was compared in another way
    known: dict[Any, Value]  # what was made of reads already, for all of one trace

    def traced(self) -> Any:
        """The Value that a program computes in its place; the number itself once the trace is over."""
        if modes.tracer is None:  # somebody kept it
            return float(self)
        if self.plain:
            raise refusal("a number computed from .data")
        values = sorted(self.of, key=lambda value: value.stamp)
        key = (self.kind, *values)
        if key not in self.known:
            while len(values) > 1:  # by pairs: a tree, since scalar code is brought together level by level
                op = OPS[self.kind]
                pairs = [values[i : i + 2] for i in range(0, len(values), 2)]
                values = [op(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
            self.known[key] = OPS["detached"](values[0])
        return self.known[key]

    @staticmethod
    def __apply__(op: Op, inputs: tuple[Any, ...]) -> Any:
        return op(*[x.traced() if isinstance(x, Read) else x for x in inputs], **op.settings)


    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _by_numpy(getattr(ufunc, method), inputs, options)


class ReadArray(np.ndarray):
    """The numbers of an array Value, and what NumPy computes from them. To decide by them, or give them to an op, is
    refused.
    """

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _by_numpy(getattr(ufunc, method), inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        found = _by_numpy(function, args, options)
        return _plain(found) if function in _SHAPES else found

    def __getitem__(self, index: Any) -> Any:
        return _marked(_plain(self)[_plain(index)])

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self)))

    def __repr__(self) -> str:
        return repr(_plain(self))

    def __str__(self) -> str:
        return str(_plain(self))

    def __format__(self, how: str) -> str:
        return format(_plain(self)[()], how)

    def check_as_operand(self) -> None:
        if modes.tracer is not None:
            raise refusal("numbers of .data in an op")


_SHAPES = (np.zeros_like, np.ones_like, np.empty_like, np.full_like)  # of which only the shape is that of their input


def _by_numpy(function: Any, args: Any, options: Any) -> Any:
    """What NumPy gives for these, marked as read; NotImplemented if a Value is among them, which NumPy asks then."""
    if any(isinstance(x, Value) for x in args):
        return NotImplemented
    return _marked(function(*_plain(args), **_plain(options)))


def _plain(x: Any) -> Any:
    if isinstance(x, (tuple, list)) and not hasattr(x, "_fields"):
        return type(x)(map(_plain, x))
    if isinstance(x, dict):
        return {key: _plain(part) for key, part in x.items()}
    return x.view(np.ndarray) if isinstance(x, ReadArray) else float(x) if isinstance(x, Read) else x


def _marked(x: Any) -> Any:
    if isinstance(x, (tuple, list)) and not hasattr(x, "_fields"):
        return type(x)(map(_marked, x))
    return np.asarray(x).view(ReadArray) if isinstance(x, (np.ndarray, np.generic)) else x


def read_array(value: Value, copy: bool) -> ReadArray:
    """The numbers of an array Value; if they are no copy, nobody can edit them, as they may be the caller's."""
    read = np.array(value._data, copy=copy or None, subok=False).view(ReadArray)
    read.flags.writeable = copy
    return read


def read_of(value: Value, known: dict[Any, Value]) -> Read:
    """The number of a scalar Value."""
    read = Read(value._data)
    read.of, read.kind, read.plain, read.known = {value}, "", False, known
    return read


def _compares(kind: str, larger: Callable[[float, float], bool]) -> Callable[[Read, Any], bool]:
    def method(self: Read, other: Any) -> bool:
        won = larger(self, other)
        if modes.tracer is None:
            return won
        if not isinstance(other, Read):
            raise refusal(f".data compared with {other!r:.40}")
        winner, loser = (self, other) if won else (other, self)
        if winner.plain or loser.plain or winner.kind not in ("", kind) or loser.kind not in ("", kind):
            winner.plain = True
        winner.of |= loser.of
        winner.kind, loser.plain = kind, True
        return won

    return method


def _decides(name: str, sign: str) -> Callable[..., bool]:
    def method(self: Any, *other: Any) -> bool:
        if modes.tracer is None:
            return getattr(_plain(self), name)(*map(_plain, other))
        raise refusal(f".data {sign}")

    return method


def _computes(name: str) -> Callable[..., Any]:
    """Python's own arithmetic: what comes out is a plain number, but one that nothing may be decided by."""
    usual = getattr(float, name)

    def method(self: Read, *others: Any) -> Any:
        found = usual(self, *others)
        if found.__class__ is not float:  # NotImplemented
            return found
        read = Read(found)
        read.of, read.kind, read.plain, read.known = set(), "", True, self.known
        return read

    return method


def _meets(name: str, op: str) -> Callable[[Read, Any], Any]:
    """An operator with a Value on its left is an op on what was read."""
    usual = _computes(name)

    def method(self: Read, other: Any) -> Any:
        return OPS[op](other, self.traced()) if isinstance(other, Value) else usual(self, other)

    return method


for _method, _sign in (("bool", "as a truth"), ("int", "as an int"), ("index", "as an index"), ("contains", "in")):
    setattr(ReadArray, f"__{_method}__", _decides(f"__{_method}__", _sign))
Read.__gt__ = _compares("maximum", float.__gt__)  # type: ignore[method-assign, assignment]
Read.__lt__ = _compares("minimum", float.__lt__)  # type: ignore[method-assign, assignment]
for _method, _sign in (("ge", ">="), ("le", "<="), ("eq", "=="), ("ne", "!="), ("bool", "as a truth")):
    setattr(Read, f"__{_method}__", _decides(f"__{_method}__", _sign))
Read.__hash__ = float.__hash__  # type: ignore[method-assign]
for _method, _op in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("pow", "power")):
    setattr(Read, f"__{_method}__", _computes(f"__{_method}__"))
    setattr(Read, f"__r{_method}__", _meets(f"__r{_method}__", _op))
for _method in ("abs", "neg", "mod", "floordiv"):
    setattr(Read, f"__{_method}__", _computes(f"__{_method}__"))
