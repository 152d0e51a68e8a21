"""A number of 90 digits, and arrays of them, as NumPy and rules use them: `Digit` and `Digits`."""

from __future__ import annotations

import decimal
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from typing import Any

import numpy as np

from autograd.op import Op

from .functions import EXACT, FUNCTIONS, ZERO

FLOAT64 = np.dtype(np.float64)
_sum: Any = np.add.reduce


class NoDigits(TypeError):
    """What cannot run on this carrier; the message names the op or function."""


# What stood at a breakpoint, in words, while `ties()` collects.
_ties: ContextVar[list[str] | None] = ContextVar("ties", default=None)


@contextmanager
def ties() -> Iterator[list[str]]:
    """Collect the comparisons that met two equal numbers."""
    found: list[str] = []
    token = _ties.set(found)
    try:
        yield found
    finally:
        _ties.reset(token)


def _tie(what: str) -> None:
    found = _ties.get()
    if found is not None and what not in found:
        found.append(what)


# --- one number -----------------------------------------------------------------------------------------------------


class Digit:
    """A number of 90 digits. It refuses `float()`, which would silently keep 16 of them.

    >>> digits(2.0) / 3 * 3 - 2
    Digit(0E-89)
    >>> float(digits(2.0))
    Traceback (most recent call last):
        ...
    autograd.digits.number.NoDigits: a number of 90 digits does not become a float
    """

    __slots__ = ("d",)

    def __init__(self, d: Decimal) -> None:
        self.d = d

    def __repr__(self) -> str:
        return f"Digit({self.d})"

    def __hash__(self) -> int:
        return hash(self.d)

    def __float__(self) -> float:
        raise NoDigits("a number of 90 digits does not become a float")

    def __int__(self) -> int:
        raise NoDigits("a number of 90 digits does not become an integer")

    __complex__ = __index__ = __int__

    def __bool__(self) -> bool:
        return bool(self.__ne__(0))

    @staticmethod
    def __apply__(op: Op, inputs: tuple[Any, ...]) -> Any:
        from .ops import apply_digits

        return apply_digits(op, inputs)

    @staticmethod
    def __pull__(definition: Any, g: Any, inputs: tuple[Any, ...], settings: dict[str, Any]) -> tuple[Any, ...]:
        from .ops import pull_definition

        return pull_definition(definition, g, inputs, settings)

    # --- what NumPy and rules ask of a number ---------------------------------------------------------------------

    shape: tuple[int, ...] = ()
    ndim, size = 0, 1
    dtype = FLOAT64

    @property
    def T(self) -> Digit:
        return self

    mT = real = T

    def __getitem__(self, index: Any) -> Any:
        return digits(np.array(self, dtype=object)[index])

    def conjugate(self) -> Digit:
        return self

    def item(self) -> Digit:
        return self

    # --- arithmetic -----------------------------------------------------------------------------------------------

    def __neg__(self) -> Digit:
        return Digit(self.d.copy_negate())

    def __pos__(self) -> Digit:
        return self

    def __abs__(self) -> Digit:
        if not self.d:
            _tie("abs at 0")
        return Digit(self.d.copy_abs())

    def _whole(self, rounding: str) -> Digit:
        if not self.d.is_finite():
            return self
        out = self.d.to_integral_value(rounding)
        if rounding == decimal.ROUND_HALF_EVEN:
            if EXACT.subtract(self.d, out).copy_abs() == Decimal("0.5"):
                _tie("rint halfway between two integers")
        elif out == self.d:
            _tie("floor, ceil or trunc of an integer")
        return Digit(out)

    def __floor__(self) -> Digit:
        return self._whole(decimal.ROUND_FLOOR)

    def __ceil__(self) -> Digit:
        return self._whole(decimal.ROUND_CEILING)

    def __trunc__(self) -> Digit:
        return self._whole(decimal.ROUND_DOWN)

    def rint(self) -> Digit:
        return self._whole(decimal.ROUND_HALF_EVEN)

    floor, ceil, trunc, fabs = __floor__, __ceil__, __trunc__, __abs__


def _decimal(x: Any) -> Decimal | None:
    """A plain number as a Decimal, exactly; None for what is no number."""
    if x.__class__ is float or isinstance(x, int | float):
        return Decimal(x)
    if isinstance(x, np.ndarray) and x.ndim == 0:
        x = x[()]
        return x.d if isinstance(x, Digit) else _decimal(x)
    if isinstance(x, np.floating | np.integer | np.bool_):
        return Decimal(x.item() if not isinstance(x, np.longdouble) else str(x))
    return x if isinstance(x, Decimal) else None


def _floor_divide(x: Decimal, y: Decimal) -> Decimal:
    return EXACT.divide(EXACT.subtract(x, _mod(x, y)), y).to_integral_value()


def _mod(x: Decimal, y: Decimal) -> Decimal:
    """What is left, with the sign of y, as Python's `%` has it."""
    rest = EXACT.remainder(x, y)
    if not rest:
        _tie("a remainder of 0")
    return EXACT.add(rest, y) if rest and (rest < 0) != (y < 0) else rest


def _binary(f: Callable[[Decimal, Decimal], Decimal]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def forward(self: Digit, other: Any) -> Any:
        o = other.d if other.__class__ is Digit else _decimal(other)
        return NotImplemented if o is None else Digit(f(self.d, o))

    def reflected(self: Digit, other: Any) -> Any:
        o = other.d if other.__class__ is Digit else _decimal(other)
        return NotImplemented if o is None else Digit(f(o, self.d))

    return forward, reflected


def _compared(holds: Callable[[Decimal, Decimal], bool], unordered: bool) -> Callable[..., Any]:
    def compare(self: Digit, other: Any) -> Any:
        o = other.d if other.__class__ is Digit else _decimal(other)
        if o is None:
            return NotImplemented
        if self.d.is_nan() or o.is_nan():
            return unordered
        if self.d == o:
            _tie("a comparison of two equal numbers")
        return holds(self.d, o)

    return compare


# Where functions bend that compare nothing.
_BENDS: dict[str, Callable[..., bool]] = {
    **dict.fromkeys(("sqrt", "cbrt"), lambda x: not x), "hypot": lambda x, y: not x and not y,
    "power": lambda x, y: not x and y != y.to_integral_value(), "arctan2": lambda y, x: not y and x <= 0,
    "fmod": lambda x, y: not EXACT.remainder(x, y),
}  # fmt: skip


def _watched(name: str, f: Callable[..., Decimal]) -> Callable[..., Decimal]:
    """The function, which notes where it bends."""
    bends = _BENDS.get(name)
    if bends is None:
        return f

    def run(*xs: Decimal) -> Decimal:
        if bends(*xs):
            _tie(f"{name} at 0")
        return f(*xs)

    return run


for _name, _f in {
    "add": EXACT.add, "sub": EXACT.subtract, "mul": EXACT.multiply, "truediv": EXACT.divide, "mod": _mod,
    "floordiv": _floor_divide, "pow": _watched("power", FUNCTIONS["power"]),
}.items():  # fmt: skip
    _forward, _reflected = _binary(_f)
    setattr(Digit, f"__{_name}__", _forward)
    setattr(Digit, f"__r{_name}__", _reflected)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Digit, f"__{_name}__", _compared(getattr(operator, _name), _name == "ne"))
for _name, _f in FUNCTIONS.items():  # np.exp of an array of objects calls x.exp()
    _f = _watched(_name, _f)
    if _name in ("arctan2", "hypot", "power", "fmod"):
        setattr(Digit, _name, _binary(_f)[0])
    else:
        setattr(Digit, _name, lambda self, *more, f=_f: Digit(f(self.d, *more)))


# --- arrays of them -------------------------------------------------------------------------------------------------


class Digits(np.ndarray[Any, Any]):
    """An array of Digits. NumPy's own functions run on it; what they give is again Digits, or truths, or indices."""

    dtype = FLOAT64  # what rules and NumPy's own Python take it for; it holds objects

    @staticmethod
    def __apply__(op: Op, inputs: tuple[Any, ...]) -> Any:
        from .ops import apply_digits

        return apply_digits(op, inputs)

    @staticmethod
    def __pull__(definition: Any, g: Any, inputs: tuple[Any, ...], settings: dict[str, Any]) -> tuple[Any, ...]:
        from .ops import pull_definition

        return pull_definition(definition, g, inputs, settings)

    def mean(  # type: ignore[override]
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        total = _sum(self, axis=axis, keepdims=keepdims)
        return total / (self.size // max(np.size(total), 1))

    def var(  # type: ignore[override]
        self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False, **more: Any
    ) -> Any:
        centre = self.mean(axis, keepdims=True)
        total = _sum((self - centre) ** 2, axis=axis, keepdims=keepdims)
        return total / (self.size // max(np.size(centre), 1) - ddof)

    def std(self, *more: Any, **options: Any) -> Any:
        return np.sqrt(self.var(*more, **options))

    def astype(self, dtype: Any, *more: Any, **options: Any) -> Any:
        return self.copy() if np.dtype(dtype).kind in "fO" else bare(self).astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        plain = [bare(x) for x in inputs]
        if out is not None:
            options["out"] = tuple(bare(x) for x in out)
        own = _OWN_UFUNCS.get(ufunc)
        if own is not None and method == "__call__" and out is None:
            return digits(own(*plain))
        result = getattr(ufunc, method)(*plain, **options)
        return out[0] if out is not None and result is options["out"][0] else digits(result)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        try:
            result = super().__array_function__(func, types, args, kwargs)
        except (TypeError, np.linalg.LinAlgError) as error:
            from autograd.arrays.numpy_calls import BY_NUMPY  # such as np.linalg.inv, which NumPy has for floats alone

            if func not in BY_NUMPY or isinstance(error, NoDigits):
                raise
            return BY_NUMPY[func](*args, **kwargs)
        return _each_digits(result)


def bare(x: Any) -> Any:
    """An array of Digits as NumPy's own array of objects."""
    return x.view(np.ndarray) if x.__class__ is Digits else x


def _each_digits(result: Any) -> Any:
    return type(result)(map(digits, result)) if result.__class__ in (list, tuple) else digits(result)


def to_digit(x: Any) -> Any:
    if x.__class__ is Digit:
        return x
    d = ZERO if x is None else _decimal(x)  # what np.empty_like has in it
    if d is None:
        raise NoDigits(f"{type(x).__name__} is no real number")
    return Digit(d)


_every = np.frompyfunc(to_digit, 1, 1)


def digits(x: Any) -> Any:
    """A float or an array of floats (or of objects) on this carrier, exactly; truths and integers as they are.

    >>> digits(np.array([0.5, 0.25])).sum()
    Digit(0.75)
    """
    if x.__class__ is Digit or x is None or isinstance(x, bool | int):
        return x
    if isinstance(x, np.ndarray):
        if x.dtype.kind not in "fO":
            return x
        return _every(bare(x)).view(Digits) if x.ndim else to_digit(x[()])
    return to_digit(x) if isinstance(x, float | np.floating | Decimal) else x


def float64(x: Any) -> Any:
    """The nearest float64 numbers: a float for a Digit, an array for Digits.

    >>> float64(digits(np.array([1.0, 2.0])) / 4)
    array([0.25, 0.5 ])
    """
    if isinstance(x, Digit):
        return float(x.d)
    if isinstance(x, np.ndarray) and bare(x).dtype == object:
        flat = [float(e.d) if isinstance(e, Digit) else float(e) for e in x.ravel().tolist()]
        return np.array(flat, dtype=np.float64).reshape(x.shape)
    return x


def each(name: str) -> Callable[..., Any]:
    """A method of Digit, on each number of an array."""
    every = np.frompyfunc(lambda x: getattr(to_digit(x), name)(), 1, 1)
    return lambda x: every(bare(x))


def each_pair(name: str) -> Callable[..., Any]:
    """A method of Digit that takes another number, on each pair of two arrays."""
    every = np.frompyfunc(lambda x, y: getattr(to_digit(x), name)(y), 2, 1)
    return lambda x, y: every(bare(x), bare(y))


_OWN_UFUNCS: dict[Any, Callable[..., Any]] = {
    **{getattr(np, f"is{kind}"): lambda x, asks=f"is_{word}": np.asarray(
        np.frompyfunc(lambda e: getattr(to_digit(e).d, asks)(), 1, 1)(x), dtype=bool)
       for kind, word in (("nan", "nan"), ("inf", "infinite"), ("finite", "finite"))},
    np.logaddexp: lambda x, y: np.log(np.exp(digits(x)) + np.exp(digits(y))),
    np.sign: lambda x: np.sign(np.asarray(x)),
    **{getattr(np, name): each_pair(name) for name in ("power", "arctan2", "hypot")},
}  # fmt: skip
