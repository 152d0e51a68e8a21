"""Number: what `x.data` is while a function is traced. It can be computed with, and holds no number to look at.

    scale = x.data.max()            # a Number: its arithmetic, comparisons and NumPy functions are ops
    if scale > 3.0: ...             # a guard
    math.exp(scale)                 # a TraceError that names the line

Python's `max`, `min` and `sorted` of Numbers and Values are ops too, while the thread traces: by comparisons alone the
largest of 27 scores would be 27 guards.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from autograd.arrays.numpy_calls import BY_NUMPY, Answer, OnData, called
from autograd.callers import user_line
from autograd.engine import Value
from autograd.errors import TraceError
from autograd.modes import enable_grad, modes
from autograd.op import OPERATORS, OPS, Op, apply
from autograd.ops import rounding
from autograd.ops.indexing import rows

from .exits import leaf, refusal


class Number:
    """A number, or an array of them, without a gradient, that a program computes at each call.

    weak  whether it is a number of Python in an ordinary call: beside another it has no precision of its own
    """

    __slots__ = ("value", "weak")
    __array_priority__ = 2000.0

    def __init__(self, value: Value, weak: bool = False) -> None:
        self.value, self.weak = value, weak

    @staticmethod
    def __apply__(op: Op, inputs: tuple[Any, ...]) -> Any:
        return by_ops(functools.partial(_applied, op), inputs)

    # --- shapes and types: no exit --------------------------------------------------------------------------

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        if self.shape:
            return np.ndarray
        return _Float if self.weak and self.dtype == np.float64 else self.dtype.type

    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)
    dtype = property(lambda self: self.value.dtype)
    T = property(lambda self: _number(self.value.T))
    mT = property(lambda self: _number(self.value.mT))
    nbytes = property(lambda self: self.value.size * self.value.dtype.itemsize)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("object of type 'float' has no len()")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[n] for n in range(len(self)))

    # --- ops ------------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        return by_ops(rows.pick, (self, index))

    def __getattr__(self, name: str) -> Any:
        """A method of arrays and floats: that of Values."""
        if name.startswith("_") or not hasattr(self.__class__, name):
            raise AttributeError(name)
        method = getattr(Value, name, None)
        if name in _IN_PLACE or not callable(method):
            raise refusal(f".data.{name}")
        return lambda *args, **options: by_ops(method, (self, *args), options)

    def tolist(self) -> Any:
        return [part.tolist() for part in self] if self.shape else self.item()

    def item(self, *index: int) -> Any:
        """As Python's number: a float has 64 bits, also that of a float32."""
        number = self if index or not self.shape else self.reshape(())
        number = number[index] if len(index) > 1 else number.flatten()[index[0]] if index else number
        number = number.astype(np.float64) if number.dtype in (np.float32, np.float16) else number
        return Number(number.value, weak=True)

    def copy(self, order: str = "C") -> Any:
        return self

    __copy__ = __deepcopy__ = copy

    def astype(self, dtype: Any, **options: Any) -> Any:
        if np.dtype(dtype).kind == "b":
            return _number(OPS["not_equal"](self.value, 0))
        return _number(apply(OPS["astype"].bind({"dtype": np.dtype(dtype).name}), (self.value,)))

    def flatten(self, order: str = "C") -> Any:
        return _number(OPS["reshape"](self.value, (-1,)))

    def __round__(self, digits: int | None = None) -> Any:
        return Number(self.value.round(), weak=True) if digits is None else Number(self.value.round(digits), self.weak)

    def __neg__(self) -> Any:
        return Number(OPS["neg"](self.value), self.weak)

    def __abs__(self) -> Any:
        return Number(OPS["abs"](self.value), self.weak)

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return by_ops(rounding.BITWISE["invert"], (self,))

    def __floor__(self) -> Any:
        return Number(OPS["floor"](self.value), weak=True)

    def __ceil__(self) -> Any:
        return Number(OPS["ceil"](self.value), weak=True)

    def __trunc__(self) -> Any:
        return Number(OPS["trunc"](self.value), weak=True)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options.get("out") is not None:
            raise refusal(f"{called(ufunc)}.{method}" if method != "__call__" else "edit")
        return call_numpy(ufunc, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return call_numpy(function, args, options)

    # --- guards, refusals, text: the exits of the Value -------------------------------------------------------

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous")
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        if self.shape or self.dtype.kind == "b":
            raise refusal("mask" if self.dtype.kind == "b" else "an index of an array")
        if self.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __contains__(self, x: Any) -> bool:
        return bool(OPS["any"](OPS["equal"](self.value, unwrapped(x))))

    def __hash__(self) -> int:
        if modes.tracer is None:
            return hash(self.plain())
        raise refusal("hash")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if modes.tracer is None:
            return np.array(self.value._data, dtype)
        raise refusal("np.asarray(v)")

    def __setitem__(self, index: Any, new: Any) -> None:
        raise refusal("edit")

    def __reduce__(self) -> Any:
        raise refusal("pickle")

    def plain(self) -> Any:
        """The numbers, once the trace is over."""
        return self.value._data

    def __repr__(self) -> str:
        return self._shown(repr(self.value._data))

    def __format__(self, how: str) -> str:
        return self._shown(format(self.value._data, how))

    def _shown(self, text: str) -> str:
        return text if modes.tracer is None else (modes.tracer.leave(self.value, "text") or str)(text)


# What a Python float of a trace is to `isinstance`; not `float` itself, which our ops take for a plain number.
_Float = type("float", (float,), {})
_IN_PLACE = frozenset(("fill", "sort", "partition", "put", "resize", "setflags", "itemset", "byteswap"))


def _number(x: Any) -> Any:
    """What an op of Numbers alone gives, as Numbers."""
    if isinstance(x, Value):
        return Number(x)
    return type(x)(map(_number, x)) if x.__class__ in (tuple, list) else x


def unwrapped(x: Any) -> Any:
    """The Values of Numbers, also in lists, tuples and dicts."""
    if isinstance(x, Number):
        return x.value
    if x.__class__ in (tuple, list):
        return type(x)(map(unwrapped, x))
    return {key: unwrapped(part) for key, part in x.items()} if x.__class__ is dict else x


def _has_value(x: Any) -> bool:
    return isinstance(x, Value) or (x.__class__ in (tuple, list) and any(map(_has_value, x)))


def by_ops(function: Any, args: tuple[Any, ...], options: dict[str, Any] | None = None) -> Any:
    """A function of Values called with Numbers: Numbers come out, unless Values were among them."""
    if any(isinstance(x, Value) and x._data.__class__ is float for x in args):  # as `plain.as_wide` has it
        args = tuple([x.item() if isinstance(x, Number) and not x.shape else x for x in args])
    try:
        found = function(*unwrapped(args), **unwrapped(options or {}))
    except TraceError:
        raise
    except Exception:  # and an ordinary call, which asks NumPy, may raise none
        if modes.tracer is not None:
            modes.tracer.failed.append(user_line() or "unknown line")
        raise
    return found if any(map(_has_value, args)) else _number(found)


def _applied(op: Op, *inputs: Any) -> Any:
    return apply(op, inputs)


def is_weak(x: Any) -> bool:
    """Whether it is a number of Python, also one that the program computes."""
    return x.weak if isinstance(x, Number) else isinstance(x, (bool, int, float)) and not isinstance(x, np.generic)


def _in_one_precision(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands as NumPy takes them: a Python float takes the precision of what it meets; others go to the widest."""
    found = [x for x in args if getattr(x, "dtype", None) is not None and not isinstance(x, Value)]
    if len(found) < len(args) or not any(x.dtype in (np.float32, np.float16) for x in found):
        return args
    common = np.result_type(*[(0.0 if x.dtype.kind == "f" else 0) if is_weak(x) else x.dtype for x in found])
    return tuple(x if x.dtype == common else _as(x, common) for x in args)


def _as(x: Any, dtype: np.dtype[Any]) -> Any:
    x = x if isinstance(x, (Number, np.generic)) else Number(leaf(x, requires_grad=False))
    return x.astype(dtype)


def _with_number(name: str, reflected: bool = False) -> Callable[..., Any]:
    def method(self: Number, other: Any) -> Any:
        args = (other, self) if reflected else (self, other)
        return _weak_if_all(by_ops(OPS[name], _in_one_precision(args)), args)

    return method


def _weak_if_all(found: Any, args: Iterable[Any]) -> Any:
    """What was computed of numbers of Python alone is one."""
    if isinstance(found, Number):
        found.weak = not found.shape and all(map(is_weak, args))
    return found


for _method, _name in {**OPERATORS, "floordiv": "floor_divide", "mod": "mod", "eq": "equal", "ne": "not_equal"}.items():
    setattr(Number, f"__{_method}__", _with_number(_name))
    if _method not in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Number, f"__r{_method}__", _with_number(_name, reflected=True))
for _method in ("and", "or", "xor"):
    _bitwise = rounding.BITWISE[_method]
    setattr(Number, f"__{_method}__", lambda self, other, f=_bitwise: by_ops(f, (self, other)))
    setattr(Number, f"__r{_method}__", lambda self, other, f=_bitwise: by_ops(f, (other, self)))


# --- NumPy's functions ------------------------------------------------------------------------------------------------


def call_numpy(function: Any, args: Any, options: Any) -> Any:
    """A function of NumPy that met a Number, or one about numbers (`np.isnan`) that met a Value."""
    args, options = tuple(map(_stacked, args)), dict(options)
    own = NUMPY.get(function)
    if own is not None:
        try:
            return _as_numpys(_number(own(*unwrapped(args), **unwrapped(options))), function, args, options)
        except TypeError:  # it was given more than the function here takes
            raise refusal(called(function)) from None
    answer = BY_NUMPY.get(function)
    if isinstance(function, np.ufunc):
        args = _in_one_precision(args)
    if isinstance(answer, OnData) and not answer.reads:  # about shapes alone
        return answer(*unwrapped(args), **options)
    if not isinstance(answer, Answer) or isinstance(answer, OnData):
        raise refusal(called(function))
    return _as_numpys(by_ops(answer, args, options), function, args, options)


def _as_numpys(found: Any, function: Any, args: Any, options: Any) -> Any:
    """What ops made of NumPy's function, if it has the shape and kind of NumPy's own result; else it is refused: ops
    are for real numbers, and of integers and truths NumPy makes something else now and then (`np.reciprocal`; degrees
    of a truth have 16 bits).
    """
    if isinstance(found, Number) and not any(map(_has_value, args)):
        with np.errstate(all="ignore"):
            usual = np.asarray(function(*_plain(args), **_plain(options)))
        one_kind = usual.dtype.kind == found.dtype.kind != "f" or usual.dtype == found.dtype
        if usual.shape != found.shape or not one_kind:
            raise refusal(f"{called(function)} of {found.dtype}")
    return found


def _plain(x: Any) -> Any:
    """The data of Numbers, also in tuples, lists and dicts."""
    if isinstance(x, Number):
        return x.plain() if x.weak else np.asarray(x.plain())[()]
    if x.__class__ in (tuple, list):
        return type(x)(map(_plain, x))
    return {key: _plain(part) for key, part in x.items()} if x.__class__ is dict else x


def _stacked(x: Any) -> Any:
    """A list of numbers, some of which a program computes, as one array."""
    if x.__class__ is not list or not x:
        return x
    parts = [_stacked(part) for part in x]
    numbers = any(isinstance(part, Number) for part in parts)
    if not numbers or any(isinstance(part, Value) for part in parts) or len({np.shape(part) for part in parts}) > 1:
        return x
    return _number(OPS["stack"](unwrapped(parts)))


def _isinf(x: Any) -> Any:
    return OPS["equal"](OPS["abs"](x), np.inf)


def _isfinite(x: Any) -> Any:
    return OPS["less"](OPS["abs"](x), np.inf)


def _isnan(x: Any) -> Any:
    return OPS["not_equal"](x, x)


def _signbit(x: Any) -> Any:
    """Also that of -0.0, whose reciprocal is below 0; a NaN has the sign that the processor happens to give it."""
    if OPS["any"](_isnan(x)):  # a guard
        raise refusal("np.signbit of NaN")
    return OPS["where"](OPS["equal"](x, 0.0), 1.0 / x, x) < 0.0


def _isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    either, both = OPS["logical_or"], OPS["logical_and"]
    near = both(OPS["abs"](a - b) <= atol + rtol * OPS["abs"](b), _isfinite(b))
    near = either(near, OPS["equal"](a, b))
    return either(near, both(_isnan(a), _isnan(b))) if equal_nan else near


def _allclose(a: Any, b: Any, **options: Any) -> Any:
    return OPS["all"](_isclose(a, b, **options))


def _array_equal(a: Any, b: Any, equal_nan: bool = False) -> Any:
    if np.shape(a) != np.shape(b):
        return False
    same = OPS["equal"](a, b)
    return OPS["all"](OPS["logical_or"](same, OPS["logical_and"](_isnan(a), _isnan(b))) if equal_nan else same)


def _array_equiv(a: Any, b: Any) -> Any:
    try:
        np.broadcast_shapes(np.shape(a), np.shape(b))
    except ValueError:
        return False
    return OPS["all"](OPS["equal"](a, b))


def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """How many numbers of a sorted list are below v; NaN comes after all others."""
    if sorter is not None:
        raise refusal("np.searchsorted with sorter=")
    if np.ndim(a) != 1:
        raise ValueError("object too deep for desired array")
    if not OPS["all"](a[1:] >= a[:-1]):  # a guard, where the program computes a
        raise refusal("np.searchsorted of numbers in no order")
    v = OPS["expand_dims"](v, -1) if np.ndim(v) else v
    below = (a <= v) if side == "right" else (a < v)
    last = _isnan(v) if side == "right" else OPS["logical_and"](_isnan(v), OPS["equal"](a, a))
    return OPS["sum"](OPS["logical_or"](below, last), axis=-1)


def _digitize(x: Any, bins: Any, right: bool = False) -> Any:
    rising = np.asarray(bins)
    if (np.diff(rising) < 0).any():
        return len(rising) - _searchsorted(rising[::-1], x, "right" if right else "left")
    return _searchsorted(rising, x, "left" if right else "right")


def _full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True) -> Any:
    kind = a.dtype if dtype is None else np.dtype(dtype)
    full = OPS["broadcast_to"](OPS["detached"](fill_value), np.shape(a))
    return full if full.dtype == kind else apply(OPS["astype"].bind({"dtype": kind.name}), (full,))


NUMPY: dict[Any, Callable[..., Any]] = {
    np.isnan: _isnan, np.isinf: _isinf, np.isfinite: _isfinite, np.signbit: _signbit,
    np.isneginf: lambda x: OPS["equal"](x, -np.inf), np.isposinf: lambda x: OPS["equal"](x, np.inf),
    np.isreal: lambda x: np.ones(np.shape(x), bool), np.iscomplex: lambda x: np.zeros(np.shape(x), bool),
    np.isclose: _isclose, np.allclose: _allclose,
    np.array_equal: _array_equal, np.array_equiv: _array_equiv,
    np.searchsorted: _searchsorted, np.digitize: _digitize, np.full_like: _full_like,
}  # fmt: skip


# --- max, min, sorted -------------------------------------------------------------------------------------------------

PYTHON: dict[str, Any] = {"max": builtins.max, "min": builtins.min, "sorted": builtins.sorted}


def _is_scalar(x: Any) -> bool:
    return isinstance(x, (Number, Value)) and x.size == 1 and not x.shape


def _plain_or_scalar(x: Any) -> bool:
    return _is_scalar(x) or isinstance(x, (bool, int, float, np.generic))


def _can_be_ops(items: list[Any], keys: list[Any]) -> bool:
    """Whether ops can find the largest or sort: scalars of one precision, as Python gives the item itself."""
    both = [*items, *keys]
    if not all(map(_plain_or_scalar, both)) or not any(map(_is_scalar, keys)):
        return False
    precisions = {dtype for dtype in map(_dtype, both) if dtype.kind == "f"}
    return len(precisions) <= 1 and _ordered(keys)


def _dtype(x: Any) -> np.dtype[Any]:
    return x.dtype if hasattr(x, "dtype") else np.dtype(type(x))


def _extreme(name: str, *given: Any, key: Any = None, **options: Any) -> Any:
    """Python's max or min, as ops where numbers of a trace are compared."""
    usual = PYTHON[name]
    if modes.tracer is None or len(given) == 0:
        return usual(*given, key=key, **options) if key is not None else usual(*given, **options)
    items = list(given[0]) if len(given) == 1 else list(given)
    keys = items if key is None else [key(x) for x in items]
    if not _can_be_ops(items, keys):
        if key is not None and items:  # the keys are known
            found = usual(range(len(items)), key=keys.__getitem__)
            return items[found]
        return usual(items, **options)
    if key is None and not any(isinstance(x, Value) for x in items):
        best = _tree(OPS["maximum" if name == "max" else "minimum"], [_attached(unwrapped(x)) for x in items])
        return _weak_if_all(_number(OPS["detached"](best)), items)
    return _chosen(name, items, keys)


def _attached(x: Any) -> Any:
    """What a number was detached from: scalar code is brought together by what it computes."""
    return x.inputs[0] if isinstance(x, Value) and x.op is OPS["detached"] else x


def _ordered(keys: list[Any]) -> bool:
    """Whether none is NaN, with which Python's order is that of the list; the program makes sure that it stays so."""
    values = [_attached(unwrapped(x)) for x in keys if _is_scalar(x)]
    largest = largest_of(values)
    if np.isnan(largest._data):
        return modes.tracer._truth(OPS["equal"](largest, largest))
    modes.tracer.compared.append(largest)
    return True


def largest_of(values: list[Any]) -> Any:
    return OPS["detached"](_tree(OPS["maximum"], values))


def _tree(op: Any, values: list[Any]) -> Any:
    """By pairs: scalar code is brought together level by level."""
    while len(values) > 1:
        pairs = [values[n : n + 2] for n in range(0, len(values), 2)]
        values = [op(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return values[0]


def _chosen(name: str, items: list[Any], keys: list[Any]) -> Any:
    """The item with the largest or smallest key, of equal ones the first; its gradient is its own alone."""
    better = OPS["greater" if name == "max" else "less"]

    def of_two(one: Any, other: Any) -> Any:
        later = better(other[0], one[0])
        item = OPS["where"](later, other[1], one[1])
        return (item, item) if keys is items else (OPS["where"](later, other[0], one[0]), item)

    values = [(unwrapped(k), unwrapped(x)) for k, x in zip(keys, items)]
    with enable_grad():  # Python gives the item itself, under no_grad too
        found = _tree(of_two, values)[1]
    return found if any(isinstance(x, Value) for x in items) else _weak_if_all(_number(found), items)


def _sorted(iterable: Any, /, *, key: Any = None, reverse: bool = False) -> Any:
    """Python's sorted, as ops where numbers of a trace are put in order."""
    usual = PYTHON["sorted"]
    if modes.tracer is None:
        return usual(iterable, key=key, reverse=reverse)
    items = list(iterable)
    keys = items if key is None else [key(x) for x in items]
    if len(items) < 2 or not _can_be_ops(items, keys):
        places = usual(range(len(items)), key=keys.__getitem__, reverse=reverse)
        return [items[n] for n in places]
    with enable_grad():
        order = OPS["stack"]([unwrapped(k) for k in keys])
        order = OPS["argsort"](-order if reverse else order, kind="stable")
        table = OPS["stack"]([unwrapped(x) for x in items])
        found = [OPS["take_rows"](table, order[n]) for n in range(len(items))]
    return found if any(isinstance(x, Value) for x in items) else [_weak_if_all(_number(x), items) for x in found]


BUILTINS = {"max": functools.partial(_extreme, "max"), "min": functools.partial(_extreme, "min"), "sorted": _sorted}
