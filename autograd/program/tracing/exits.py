"""Exits: the ways in which a number can leave a call that is traced, and what becomes of each.

    x.data          an op: `x.detach()` for Python's arithmetic, a `Number` that holds no number (numbers.py)
    if x > 0:       a guard: the program computes the condition at each call, and it must come out as it did here
    math.exp(x)     a refusal that names the line: a guard on a float would never hold again
    print(x)        text, made once, while tracing; `g.notes` says where

`EXITS` is the whole table. What it does not list is refused.
"""

from __future__ import annotations

import ast
import functools
import keyword
import linecache
import os
import re
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from autograd.arrays.plain import as_data
from autograd.callers import OURS, user_line
from autograd.engine import Value, counter, new, reach
from autograd.errors import ShapeError, TraceError
from autograd.modes import modes, open_tracers
from autograd.op import OPS

EXITS = {
    # read as plain numbers: an op
    ".data": "number", ".numpy()": "array", ".tolist()": "numbers", "item()": "float", "detach()": "detached",
    "copy": "detached",
    # decided in Python: a guard
    "bool(v)": "truth", "in": "truth", "int(v)": "integer", "an index": "index",
    # made into text: once
    "text": "text",
    # refused, each with what to write instead
    "float(v)": "Write ops for arithmetic: ag.exp(x), not math.exp(x); x.data, not float(x.data)",
    "np.asarray(v)": "Write ops for arithmetic; where(mask, a, b) in place of arr[mask] = v",
    "an array of places": "Write ag.take(x, ids, axis=1), or x[ids] for rows",
    "an index of an array": "Write ag.take(table, ids, axis=0) for table[ids], where table is a plain array",
    "mask": "How many entries a mask picks depends on the numbers. Write where(mask, x, 0.0)",
    "np.nonzero": "How many places there are depends on the numbers. Write where(condition, a, b)",
    "text that is read": "The text is made once, while tracing, to be shown. Compare and compute with the number",
    "hash": "A set or dict of numbers depends on them. Compare with ==, or write where(a == b, c, d)",
    "pickle": "Save what the compiled function returned",
    "backward()": "compile(f) gives the gradients already; inside of f write grad(g)(x)",
    "edit": "Write where(condition, a, b), or concatenate parts, for a new Value",
}  # fmt: skip


def refusal(how: str, instead: str = "") -> TraceError:
    """The error for a line of the user's through which a number would leave. The tracer keeps it, as code that catches
    it (`except Exception`) would go on and decide otherwise than in an ordinary call.
    """
    line = user_line() or "unknown line"
    instead = instead or EXITS.get(how, "Write it with ops of handgrad, or give what decides as an input")
    error = TraceError(
        f"{line}\nturns a number that depends on the inputs into a plain one ({how}), which a program cannot compute "
        f"again. {instead}."
    )
    for tracer in [modes.tracer] if modes.tracer is not None else open_tracers:
        tracer.refused.append(error)
    return error


class Text(str):
    """The text of a number of a trace, which is there to be shown: to read it while f is traced is an exit."""

    __slots__ = ()

    def __float__(self) -> float:
        return float(self[:])

    def __int__(self) -> int:
        return int(self[:])


def _reads(name: str) -> Callable[..., Any]:
    usual = getattr(str, name)

    def method(self: Text, *args: Any) -> Any:
        if modes.tracer is not None:
            raise refusal("text that is read")
        return usual(self, *args)

    return method


for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__len__", "__contains__",
              "__getitem__", "__iter__", "startswith", "endswith", "find", "index", "count"):  # fmt: skip
    setattr(Text, _name, _reads(_name))


class Guard(NamedTuple):
    """A decision of Python's: what it was made by, how it came out, and the line that made it."""

    value: Value
    outcome: Any
    line: str


class Tracer:
    """What watches a call that is traced: exits, random draws, and edits of Values from outside."""

    def __init__(self, gradients: bool = True) -> None:
        self.gradients = gradients  # whether the program gives those of its inputs
        self.inputs: set[Value] = set()
        self.draws: list[tuple[Value, Callable[[Any], Any], Any]] = []
        self.guards: list[Guard] = []
        self.texts: list[str] = []
        self.refused: list[TraceError] = []
        self.failed: list[str] = []  # lines of ops that raised
        self.compared: list[Value] = []  # of which the largest was taken: none may be NaN
        self.written: dict[Value, list[tuple[int, Any]]] = {}  # a Value from outside → when its data was set, to what
        self.constants: dict[str, None] = {}
        self.start = next(counter)
        self._computed: set[Value] = set()  # that are known to depend on what a program reads
        self._detached: dict[Value, Value] = {}
        self._decided: dict[Value, Any] = {}
        self._before: dict[int, tuple[Any, str, Any]] = {}  # generators and Values that were changed, as they were

    # --- random draws ---------------------------------------------------------------------------------------

    def drawn(self, draw: Callable[[Any], Any], generator: Any) -> Value:
        """Random numbers, as an input of the program; the generator is set back when the trace is done."""
        self._keep(generator.bit_generator, "state")
        value = leaf(draw(generator), requires_grad=False)
        self.draws.append((value, draw, generator))
        self.inputs.add(value)
        return value

    def _keep(self, x: Any, name: str) -> None:
        self._before.setdefault(id(x), (x, name, getattr(x, name)))

    def set_back(self) -> None:
        """Give every generator, and every Value whose data was set, what it had before."""
        for x, name, before in self._before.values():
            setattr(x, name, before)

    @property
    def drawn_values(self) -> list[Value]:
        return [value for value, _, _ in self.draws]

    # --- exits ----------------------------------------------------------------------------------------------

    def follows(self, value: Value) -> bool:
        """Whether a program computes or reads it at each call: all but what f made of plain numbers."""
        return value.op is not None or value.stamp < self.start or value in self.inputs

    def computes(self, out: Any) -> bool:
        """Whether a result depends on something that a program reads at each call."""
        waiting, seen = [out], set()
        while waiting:
            x = waiting.pop()
            if not isinstance(x, Value) or x in seen:
                continue
            if x in self._computed or (x.op is None and self.follows(x)):
                self._computed.add(out)
                return True
            seen.add(x)
            waiting += x.inputs
        return False

    def differentiates(self, out: Value) -> bool:
        """Whether the gradient of an input flows through it."""
        reached = {out, *(x for node in reach(out) for x in node.parents)}
        return self.gradients and any(x.requires_grad for x in reached & self.inputs)

    def plain(self, value: Value) -> Any:
        """What is plain data in an ordinary call: a Number, or data that is the same at each call."""
        return self._number(value) if self.computes(value) else value._data

    def leave(self, value: Value, how: str) -> Any:
        """What somebody gets who reads a Value in this way; None: the plain numbers, which no program computes."""
        if not self.follows(value):
            return None
        kind = EXITS.get(how, "")
        return _KINDS[kind](self, value) if kind in _KINDS else self._refuse(how)

    def fails(self, error: Exception) -> None:
        """Note an error that numbers cause, such as a matrix without an inverse: f may catch it, and so decide."""
        if not isinstance(error, ShapeError):
            self.failed.append(user_line() or "unknown line")

    def check_caught(self) -> None:
        """Refuse a function that caught an error that numbers cause."""
        if self.failed:
            raise TraceError(
                f"{self.failed[0]}\nraises an error at these inputs, and the function catches it. A program cannot "
                "decide by an error: write where(condition, a, b), or catch it around the compiled function."
            )

    def _refuse(self, how: str) -> Any:
        raise refusal(how)

    def _number(self, value: Value) -> Any:
        from .numbers import Number

        return Number(self.detached(value), weak=value._data.__class__ in (float, bool))

    def _array(self, value: Value) -> Any:
        from .numbers import Number

        return Number(self.detached(value))

    def _float(self, value: Value) -> Any:
        number = self._array(value).reshape(()) if value.shape else self._array(value)
        return (number if number.dtype == np.float64 else number.astype(np.float64)).item()

    def _numbers(self, value: Value) -> Any:
        return self._number(value).tolist()

    def detached(self, value: Value) -> Value:
        """The same number without its gradient; one node for all who read it."""
        if not value.requires_grad and value.op is not None:
            return value
        if value not in self._detached or value in self.written:
            self._detached[value] = OPS["detached"](value)
        return self._detached[value]

    @staticmethod
    def new_leaf(value: Value) -> Value:
        """What `Value(number)` is in a program: a node of its own, of real numbers, to which a gradient is taken."""
        value = value if value.dtype.kind == "f" else OPS["astype"](value, np.float64)
        source = OPS["alias"](value)
        source.requires_grad = True
        return source

    def _truth(self, value: Value) -> bool:
        truth = value if value.dtype.kind == "b" else OPS["not_equal"](value, 0)
        return self.decide(truth, bool(np.asarray(truth._data).item()))

    def _integer(self, value: Value) -> int:
        whole = value if value.dtype.kind in "iub" else OPS["trunc"](self.detached(value))
        try:
            return self.decide(whole, int(np.asarray(whole._data).item()))
        except (OverflowError, ValueError) as error:  # infinite, or NaN
            self.fails(error)
            raise

    def _index(self, value: Value) -> int:
        return self._integer(value) if value.dtype.kind in "iu" else self._refuse("an index that is no integer")

    def decide(self, value: Value, outcome: Any) -> Any:
        """Make a guard of a decision."""
        if value not in self._decided:
            self._decided[value] = outcome
            self.guards.append(Guard(value, outcome, user_line() or "unknown line"))
        return outcome

    def finish(self) -> None:
        """One guard for all numbers that were compared by `max`, `min` and `sorted`: none of them is NaN."""
        from .numbers import largest_of

        if self.compared:
            largest = largest_of(self.compared)
            self.decide(OPS["equal"](largest, largest), True)

    def _text(self, value: Value) -> type[Text]:
        self.texts.append(user_line() or "unknown line")
        return Text

    # --- edits ----------------------------------------------------------------------------------------------

    def write(self, value: Value, data: Any) -> bool:
        """`v.data = ...` of a Value from outside: from here on it is that, and the program writes it after a call."""
        from .numbers import Number

        if value.op is not None or (not self.follows(value) and not isinstance(data, Number)):
            return False  # which the setter refuses, or a Value that f made of plain numbers
        if value.stamp >= self.start or value.requires_grad:
            raise refusal("edit")
        node = data.value if isinstance(data, Number) else leaf(as_data(data), requires_grad=False)
        if node.shape != value.shape:
            raise refusal("edit", f"Data of shape {node.shape} cannot take the place of {value.shape}")
        if node.dtype != value.dtype:
            node = OPS["astype"].bind({"dtype": value.dtype.name})(node)
        self._keep(value, "_data")
        self.written.setdefault(value, []).append((next(counter), node))
        value._data = node._data
        return True

    # --- other threads, NumPy, names ------------------------------------------------------------------------

    def check_stranger(self, value: Value, how: str) -> None:
        """Refuse an exit in a thread that f started, which has no tracer: only this thread's decisions are seen."""
        if how in ("detach()", "copy", "text"):
            return
        waiting, seen = [value], set()
        while waiting:
            x = waiting.pop()
            if x in self.inputs:
                raise refusal(f"{how} in another thread", "Read it in the thread that calls the function")
            if x.op is not None and x.stamp > self.start and x not in seen:
                seen.add(x)
                waiting += x.parents

    @classmethod
    def leaf_of(cls, data: Any) -> tuple[Any, Any, tuple[Any, ...]] | None:
        """Data, op and inputs of the leaf `Value(number)`, where the number is one of the program's; else None."""
        value = getattr(data, "value", None) if hasattr(data, "__apply__") and not isinstance(data, Value) else None
        if value is None:
            return None
        leaf = cls.new_leaf(value)
        return leaf._data, leaf.op, leaf.inputs

    def call_numpy(self, function: Any, args: Any, options: Any) -> Any:
        """A function of NumPy about numbers (`np.isnan`) that met a Value."""
        from .numbers import call_numpy

        return call_numpy(function, args, options)

    def made(self, node: Value) -> None:
        """Take note of a new node, while source lines are recorded: what numbers from outside does it read?"""
        for x in node.inputs:
            if type(x) in (float, int) or issubclass(type(x), np.generic):
                text = outside_number(x)
                if text:
                    self.constants.setdefault(text)


_KINDS: dict[str, Callable[[Tracer, Value], Any]] = {
    "number": Tracer._number, "array": Tracer._array, "float": Tracer._float, "numbers": Tracer._numbers,
    "detached": Tracer.detached, "truth": Tracer._truth, "integer": Tracer._integer,
    "index": Tracer._index,
    "text": Tracer._text,
}  # fmt: skip


def leaf(data: Any, name: str | None = None, requires_grad: bool = True) -> Value:
    """A leaf Value of any dtype, integers too, that holds the data itself and no copy."""
    value: Value = new(Value)
    value._data, value.grad = data, None
    value.op, value.inputs, value._note = None, (), None
    value.stamp, value.requires_grad = next(counter), requires_grad
    if name is not None:
        value.name = name
    return value


# --- constants --------------------------------------------------------------------------------------------------------


def outside_number(x: Any) -> str:
    """How the line of the user's that is running reads a number that is no literal of it: "config.rate = 0.1,
    train.py:12"; "" for a literal, for sizes, and for what our own code computes.
    """
    frame, inside = _frame_of_user()
    if frame is None:
        return ""
    source = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    where = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
    for text, path in _paths(source):
        try:
            found = _at(path, {**frame.f_globals, **frame.f_locals})
        except Exception:  # a name that is not there now, or a property that fails
            continue
        is_number = type(found) in (float, int, bool) or issubclass(type(found), np.generic)
        if is_number and (found == x or (found != found and x != x)):
            return f"{text} = {x!r}, {where}"
    if inside or x in _literals(frame.f_code) or _SIZES.search(source):
        return ""
    return f"{x!r} in `{source}`, {where}"


_COMPOSED = (OURS[1], os.path.join(OURS[0], "ops", ""), os.path.join(OURS[0], "derivatives.py"))
_PATH = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.expr_context)
_SIZES = re.compile(r"\.shape|\.size|\.ndim|\blen\(|\brange\(|\bmean\(|\benumerate\(")


def _frame_of_user() -> tuple[Any, bool]:
    """The innermost frame outside of ours, and whether a layer or a function of ours that calls ops is in between."""
    frame: Any = sys._getframe(2)
    inside = False
    while frame is not None and frame.f_code.co_filename.startswith(OURS):
        inside = inside or frame.f_code.co_filename.startswith(_COMPOSED)
        frame = frame.f_back
    return frame, inside


@functools.cache
def _literals(code: CodeType) -> frozenset[Any]:
    """The numbers that stand in some code, also with a minus sign."""
    numbers = [x for x in code.co_consts if isinstance(x, (int, float))]
    return frozenset((*numbers, *(-x for x in numbers)))


@functools.cache
def _paths(source: str) -> tuple[tuple[str, ast.expr], ...]:
    """The names, attributes and entries that a line reads, the longest first: `config.rate`, `config`."""
    try:
        tree = ast.parse(source if not source.endswith(":") else f"{source} pass")
    except SyntaxError:  # a part of a longer statement
        found = re.findall(r"[A-Za-z_][\w.]*(?:\[[^\]()]*\])?", source)
        return tuple((text, ast.parse(text, mode="eval").body) for text in found if not keyword.iskeyword(text))
    parts = [x for x in ast.walk(tree) if isinstance(x, (ast.Name, ast.Attribute, ast.Subscript))]
    simple = [x for x in parts if all(isinstance(y, _PATH) for y in ast.walk(x))]
    return tuple(sorted({ast.unparse(x): x for x in simple}.items(), key=lambda pair: -len(pair[0])))


def _at(path: ast.expr, names: dict[str, Any]) -> Any:
    """What a path leads to; not through a Value, whose attributes are exits."""
    if isinstance(path, ast.Name):
        return names[path.id]
    if isinstance(path, ast.Constant):
        return path.value
    if not isinstance(path, (ast.Attribute, ast.Subscript)):
        raise LookupError
    x = _at(path.value, names)
    if hasattr(x, "__apply__"):
        raise LookupError
    return getattr(x, path.attr) if isinstance(path, ast.Attribute) else x[_at(path.slice, names)]
