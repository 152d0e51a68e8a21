"""Numbers that traced code reads through `.data`: a program follows them back, also through `max` and `min`.

`x * y.data` multiplies by y without its gradient, and `max(s.data for s in scores)` is the largest of the scores: both
are computed anew at each call of the program. Where Python decides by such a number, as in `if x.data > 100`, it is
refused. Whatever else is done with it makes a plain number of it, which is refused if it is another at other inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import TraceError
from ..op import OPS, Op
from ..recording import _user_line
from ..value import Value


def refusal(how: str) -> TraceError:
    """The error for a line of the user's that decides something by a number."""
    line = _user_line() or "unknown line"
    return TraceError(
        f"{line}\nreads a number that depends on the inputs ({how}). What Python decides by it is decided once, "
        "when the call is traced. Write where(condition, a, b) for a branch, ops for arithmetic; or give what "
        "decides as a Python int or bool: each one is traced anew."
    )


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
        """The Value that a program computes in its place; the number itself if it cannot."""
        if self.plain:
            return float(self)
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


def read_of(value: Value, known: dict[Any, Value]) -> Read:
    """The number of a scalar Value."""
    read = Read(value._data)
    read.of, read.kind, read.plain, read.known = {value}, "", False, known
    return read


def _compares(kind: str, larger: Callable[[float, float], bool]) -> Callable[[Read, Any], bool]:
    def method(self: Read, other: Any) -> bool:
        won = larger(self, other)
        if not isinstance(other, Read):
            raise refusal(f".data compared with {other!r:.40}")
        winner, loser = (self, other) if won else (other, self)
        if winner.plain or loser.plain or winner.kind not in ("", kind) or loser.kind not in ("", kind):
            winner.plain = True
        winner.of |= loser.of
        winner.kind, loser.plain = kind, True
        return won

    return method


def _decides(sign: str) -> Callable[..., bool]:
    def method(self: Read, *other: Any) -> bool:
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


Read.__gt__ = _compares("maximum", float.__gt__)  # type: ignore[method-assign, assignment]
Read.__lt__ = _compares("minimum", float.__lt__)  # type: ignore[method-assign, assignment]
for _method, _sign in (("ge", ">="), ("le", "<="), ("eq", "=="), ("ne", "!="), ("bool", "as a truth")):
    setattr(Read, f"__{_method}__", _decides(_sign))
Read.__hash__ = float.__hash__  # type: ignore[method-assign]
for _method, _op in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("pow", "power")):
    setattr(Read, f"__{_method}__", _computes(f"__{_method}__"))
    setattr(Read, f"__r{_method}__", _meets(f"__r{_method}__", _op))
for _method in ("abs", "neg", "mod", "floordiv"):
    setattr(Read, f"__{_method}__", _computes(f"__{_method}__"))
