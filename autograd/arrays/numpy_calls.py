"""NumPy's functions on Values: a call in NumPy's own names and order, handed to the op that answers it.

`np.swapaxes(v, axis1=0, axis2=1)` is read by NumPy's own signature, `swapaxes(a, axis1, axis2)`, and not by ours,
`swapaxes(x, a, b)`. Then, for every function alike:

- what our function must be given pairs with NumPy's first parameters, in order: x is a, a is axis1, b is axis2;
- everything else goes by name: `axis` to `axis`;
- `dtype`, where ours has none, casts the inputs first, which is what NumPy does;
- what is left must be at its default. Anything else is refused by name: no argument is ignored or taken for another.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from autograd.modes import modes, notice_read
from autograd.op import OPS, Op

BY_NUMPY: dict[Any, Answer] = {}  # NumPy's function → what answers it
BY_SCIPY: dict[str, Callable[..., Any]] = {}  # the same for scipy.special, by name: SciPy is not imported here

# NumPy 2.0 to 2.3 do not say what these take, because they are written in C.
_IN_C: dict[str, Any] = {
    "concatenate": lambda arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind": ...,
    "where": lambda condition, x=None, y=None, /: ...,
    "dot": lambda a, b, out=None: ...,
    "inner": lambda a, b, /: ...,
    "vdot": lambda a, b, /: ...,
    "result_type": lambda *arrays_and_dtypes: ...,
    "empty_like": lambda prototype, /, dtype=None, order="K", subok=True, shape=None, *, device=None: ...,
}
_UFUNC = {"out": None, "where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True,
          "signature": None}  # fmt: skip

# These change where a result is stored or which casts are allowed, never its numbers.
_OF_STORAGE = {"casting", "subok", "copy", "device", "optimize"}

_INSTEAD = {
    "out": "A Value is never written into an array, because its gradient would be lost: use the result, y = {name}(v).",
    "where": "Select in the result: autograd.where(mask, {name}(v), v), with what the others should be in place of v.",
}


class Answer:
    """One NumPy function on Values: `by` is an op, or a function of ops, that gives its numbers and a gradient."""

    def __init__(self, function: Any, by: Callable[..., Any]) -> None:
        self.function, self.by = function, by
        self.name = called(function)
        self.signature = signature_of(function)
        required, self.options = _taken(by)
        parameters = self.signature.parameters.values()
        self.listed = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)  # *arrays
        places = [p.name for p in parameters]
        self.paired = places[:required] if self.listed is None else places[: places.index(self.listed) + 1]
        self.says_truth = any(kind.endswith("d->?") for kind in getattr(function, "types", ()))  # np.less

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Answer a call that NumPy was given."""
        if not kwargs and isinstance(self.function, np.ufunc):  # `array + v`: often met, and there is nothing to read
            return self.by(*args)
        inputs, options = self.read(args, kwargs)
        return self.by(*inputs, **options)

    def read(self, args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
        """A call in NumPy's terms as one in ours: what must be given, in order, and the options by name."""
        given = self.signature.bind(*args, **kwargs).arguments
        for parameter in self.signature.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                given |= given.pop(parameter.name, {})
        inputs: list[Any] = []
        for name in self.paired:
            if name in given:
                inputs.extend(given.pop(name) if name == self.listed else [given.pop(name)])
        options = {}
        for name, value in given.items():
            if name in self.options:
                if value is not np._NoValue:
                    options[name] = value
            elif name == "dtype" and not self.says_truth:
                inputs = [cast(x, value) for x in inputs]
            elif not self.at_rest(name, value):
                raise self.refused(name, value)
        return inputs, options

    def at_rest(self, name: str, value: Any) -> bool:
        """Whether an argument changes nothing: it is at its default, or says where to store the result."""
        parameter = self.signature.parameters.get(name)
        default = _UFUNC.get(name) if parameter is None else parameter.default
        if value is default or value is np._NoValue or name in _OF_STORAGE:
            return True
        if not isinstance(value, bool | int | float | str):
            return False
        return value in {"where": (True,), "order": ("K", "C", "F", "A")}.get(name, (default,))

    def refused(self, name: str, value: Any) -> TypeError:
        """The error for an argument that our op does not have."""
        instead = _INSTEAD.get(name, "Leave it out, or use v.data for plain numbers.")
        got = " ".join(repr(value).split())
        return TypeError(f"{self.name} of a Value takes no {name}; got {got:.40}. {instead.format(name=self.name)}")


def answers(*functions: Any) -> Callable[[Any], Any]:
    """Make an op, or a function of ops, the answer to NumPy's functions."""

    def register(by: Any) -> Any:
        for function in functions:
            BY_NUMPY[function] = Answer(function, by)
        return by

    return register


def answers_scipy(*names: str) -> Callable[[Any], Any]:
    """Make an op, or a function of ops, the answer to functions of scipy.special."""

    def register(by: Any) -> Any:
        BY_SCIPY.update(dict.fromkeys(names, by))
        return by

    return register


def answer_to(function: Any) -> Answer | None:
    """What answers a function of NumPy, or of scipy.special, if that is imported."""
    return BY_NUMPY.get(function) or _of_scipy(function)


@functools.cache
def _of_scipy(function: Any) -> Answer | None:
    special = sys.modules.get("scipy.special")
    for name, by in BY_SCIPY.items():
        if special is not None and getattr(special, name, None) is function:
            return Answer(function, by)
    return None


def called(function: Any) -> str:
    """What people call a function: np.exp, np.linalg.norm, scipy.special.expit."""
    name = function.__name__
    special = sys.modules.get("scipy.special")
    if isinstance(function, np.ufunc):
        return f"np.{name}" if hasattr(np, name) or not hasattr(special, name) else f"scipy.special.{name}"
    return f"np.{'linalg.' * function.__module__.endswith('linalg')}{name}"


class OnData(Answer):
    """A NumPy function about numbers or shapes: NumPy itself answers, on the data, and no gradient flows."""

    def __init__(self, function: Any, reads: bool) -> None:
        super().__init__(function, function)
        self.reads = reads  # numbers, and not shapes alone
        self.options = set(self.signature.parameters)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for name in kwargs.keys() & {"out", "where"}:
            if not self.at_rest(name, kwargs[name]):
                raise self.refused(name, kwargs[name])
        if self.reads and modes.tracer is not None:
            return modes.tracer.call_numpy(self.function, args, kwargs)
        for x in args if self.reads else ():
            if hasattr(x, "_data"):
                notice_read(x, self.name)
        return self.function(*map(data_of, args), **{name: data_of(x) for name, x in kwargs.items()})


def on_data(*functions: Any, reads: bool = True) -> None:
    """Let NumPy itself answer these, on the data; `reads` says whether they read numbers, or a shape alone."""
    for function in functions:
        BY_NUMPY[function] = OnData(function, reads)


def data_of(x: Any) -> Any:
    """A caller's argument with the data of Values in place of them, also in lists."""
    if isinstance(x, list | tuple):
        return type(x)(map(data_of, x))
    return getattr(x, "_data", x)


def cast(x: Any, dtype: Any) -> Any:
    """Numbers in another precision, also those of a list; one that they have already changes nothing."""
    if dtype is None or isinstance(x, bool | int | float | str):
        return x
    if isinstance(x, list | tuple):
        return [cast(part, dtype) for part in x]
    return x if getattr(x, "dtype", None) == dtype else OPS["astype"](x, dtype)


@functools.cache
def signature_of(function: Any) -> inspect.Signature:
    """What a NumPy function takes, in its own words."""
    if isinstance(function, np.ufunc):
        inputs = [f"x{i + 1}" for i in range(function.nin)] if function.nin > 1 else ["x"]
        kind = inspect.Parameter
        return inspect.Signature(
            [kind(name, kind.POSITIONAL_ONLY) for name in inputs]
            + [kind(name, kind.KEYWORD_ONLY, default=default) for name, default in _UFUNC.items()]
        )
    try:
        return inspect.signature(function)
    except ValueError:
        return inspect.signature(_IN_C[function.__name__])


def _taken(by: Any) -> tuple[int, set[str]]:
    """How many arguments a function must be given, and the names of those that it may be."""
    if isinstance(by, Op) and by.normalize is None:
        return len(by.names), set()
    parameters = signature_of(by.normalize if isinstance(by, Op) else by).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p.name for p in positional if p.default is p.empty]
    return len(required), {p.name for p in parameters if p.name not in required and p.kind is not p.VAR_POSITIONAL}
