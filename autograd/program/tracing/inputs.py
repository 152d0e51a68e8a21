"""The inputs of a compiled function: taken apart into leaves, and put together again around Values or gradients.

A leaf is a number or an array; a module has its parameters for leaves. What is no
number (an integer of Python's, a truth, a text, None, a function) is fixed: another one is traced again.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from autograd.arrays.plain import as_plain, check_array_class
from autograd.engine import Value
from autograd.errors import DataError

FIXED = (bool, int, str, bytes, type(None), type(Ellipsis))


def take_apart(args: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...]]:
    """The data of every leaf, in order, and a key: equal keys fit the same program."""
    leaves: list[Any] = []
    key: list[Any] = []
    for x in args:
        _take(x, leaves, key)
    return leaves, tuple(key)


def _take(x: Any, leaves: list[Any], key: list[Any]) -> None:
    kind = x.__class__
    if kind is np.ndarray and x.ndim:
        if x.dtype.kind not in "fiub":
            raise DataError(f"an input is real numbers or integers; got an array of {x.dtype}: {x!r:.60}")
        leaves.append(x)
        key.append((x.shape, x.dtype))
    elif kind is float:
        leaves.append(x)
        key.append(float)
    elif kind is dict or isinstance(x, dict):
        key.append((kind, *x))
        for part in x.values():
            _take(part, leaves, key)
    elif isinstance(x, (list, tuple)):
        key.append((kind, len(x)))
        for part in x:
            _take(part, leaves, key)
    elif isinstance(x, FIXED):
        key.append((kind, x))
    elif isinstance(x, Value):
        _take(x._data, leaves, key)
    elif isinstance(x, np.ndarray) and x.ndim:  # of a subclass
        check_array_class(x)
        _take(np.asarray(x), leaves, key)
    elif isinstance(x, (np.ndarray, np.generic)):  # an array of no axes, a NumPy number
        _take_scalar(x, leaves, key)
    elif is_module(x):
        key.append(Same(x))
        for _, parameter in x.named_parameters():
            leaves.append(parameter._data)
            key.append((parameter.shape, parameter.dtype, parameter.requires_grad))
    elif callable(x):
        key.append(Same(x))
    else:
        raise DataError(
            f"an input is a number, an array, a module, or a list, tuple or dict of them; got {type(x).__name__}: "
            f"{x!r:.60}"
        )


def _take_scalar(x: Any, leaves: list[Any], key: list[Any]) -> None:
    if x.dtype.kind not in "fiub":
        raise DataError(f"an input is a real number or an integer; got {x!r:.60} ({x.dtype})")
    data = as_plain(x) if x.dtype.kind == "f" else np.asarray(x)
    leaves.append(data)
    key.append(float if data.__class__ is float else ((), x.dtype))


class Same:
    """An object in a key, equal to itself alone; as long as the key is kept, no other object has its id."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.x is other.x

    def __hash__(self) -> int:
        return id(self.x)


# --- around Values, at tracing ------------------------------------------------------------------------------


def rebuild(x: Any, leaf: Callable[[Any], Any], module: Callable[[Any], None]) -> Any:
    """The same nest with `leaf(number)` in place of each number and array; `module` is called with each module."""
    if isinstance(x, dict):
        return {key: rebuild(part, leaf, module) for key, part in x.items()}
    if isinstance(x, (list, tuple)):
        parts = [rebuild(part, leaf, module) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    if is_module(x):
        module(x)
        return x
    return leaf(x) if is_leaf(x) else x


def is_module(x: Any) -> bool:
    """Whether it has parts and parameters, as a module of `nn` has."""
    return hasattr(x, "named_modules") and hasattr(x, "named_parameters") and not isinstance(x, type)


def is_leaf(x: Any) -> bool:
    """Whether it is a number or an array, and not a Python int or bool, which is fixed."""
    return isinstance(x, (float, np.ndarray, np.generic, Value)) or hasattr(x, "__apply__")


class Names:
    """Things that generated code names: k0, k1, ..."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def of(self, x: Any) -> str:
        name = f"k{len(self.known)}"
        self.known[name] = x
        return name


def mirrored(x: Any, leaves: Iterator[str], text: Callable[[Any], str]) -> str:
    """The text of a nest like x with these texts in the places of its leaves, a module's by their dotted names.

    None stands at what is fixed. `text` writes keys of dicts and types of namedtuples.
    """
    if isinstance(x, dict):
        return "{" + ", ".join([f"{text(key)}: {mirrored(part, leaves, text)}" for key, part in x.items()]) + "}"
    if isinstance(x, (list, tuple)):
        texts = [mirrored(part, leaves, text) for part in x]
        if isinstance(x, list):
            return _slice(texts) or f"[{', '.join(texts)}]"
        named = text(type(x)) if hasattr(x, "_fields") else ""
        return f"{named}({', '.join(texts)}{',' * (len(x) == 1)})"
    if is_module(x):
        return "{" + ", ".join([f"{text(path)}: {next(leaves)}" for path, _ in x.named_parameters()]) + "}"
    return next(leaves) if is_leaf(x) else "None"


def _slice(texts: list[str]) -> str | None:
    """`l[3:6]` for l[3], l[4] and l[5]; None if that is not what these texts are."""
    found = [re.fullmatch(r"(\w+)\[(\d+)\]", text) for text in texts]
    if len(texts) < 2 or not all(found):
        return None
    of, start = found[0][1], int(found[0][2])  # type: ignore[index]
    in_order = texts == [f"{of}[{start + n}]" for n in range(len(texts))]
    return f"{of}[{start}:{start + len(texts)}]" if in_order else None


def quick_inputs(
    args: Sequence[Any], also: Callable[[Names], Iterator[str]], origins: Sequence[Any], reader: Reader | None = None
) -> Callable[[tuple[Any, ...]], list[Any] | None]:
    """A function from arguments like these to the inputs of a program, much faster than `take_apart` and
    `Origin.fetch`; it gives None if the arguments are not alike.

    also    more lines that return None if something else is not as it is now
    reader  from `reader(shapes)`, what reads lists of floats, nested as these shapes say; see `read_plainly`
    """
    names = Names()
    names.known |= {"ndarray": np.ndarray, "array": np.array}
    lines = list(also(names))
    leaves: list[str] = []  # a text each
    numbers: list[int] = []  # which of them are floats
    rows: list[str] = []  # these floats; `*a` for those in a list
    shapes: list[tuple[int, ...]] = []  # of the nests in `rows`
    in_vectors = any(origin.kind == "packed" for origin in origins)
    reader = reader if in_vectors else None

    def look(x: Any, at: str) -> bool:
        """Write the lines that check and take what is reached by `at`; whether that can be done."""
        here = f"a{len(lines)}"
        lines.append(f"{here} = {at}")
        shape = _nest_shape(x) if reader else None
        if shape is not None:
            take_numbers([here] * math.prod(shape), here, shape)
            return True
        if x.__class__ is np.ndarray and (x.ndim or x.dtype.kind in "iu"):  # a real one of no axes becomes a float
            checks = f"is not ndarray or {here}.shape != {x.shape} or {_other_dtype(here, x, names)}"
            leaves.append(here)
        elif x.__class__ is float:
            take_numbers([here], here, ())
            return True
        elif x.__class__ is dict:
            checks = f"is not {names.of(dict)} or [*{here}] != {names.of(list(x))}"  # in order: f may go through them
        elif x.__class__ in (list, tuple):
            checks = f"is not {names.of(x.__class__)} or len({here}) != {len(x)}"
        elif isinstance(x, FIXED):
            checks = f"is not {names.of(x.__class__)} or {here} != {names.of(x)}"
        elif is_module(x):
            lines.append(f"if {here} is not {names.of(x)}: return None")
            lines.extend(unchanged(x, names))
            leaves.extend(f"{names.of(parameter)}._data" for _, parameter in x.named_parameters())
            return True
        else:
            return False
        lines.append(f"if {here}.__class__ {checks}: return None")
        if x.__class__ is list and x and all(part.__class__ is float for part in x):
            take_numbers([f"{here}[{n}]" for n in range(len(x))], f"*{here}", (len(x),))
            return True
        if x.__class__ is dict:
            return all(look(part, f"{here}[{names.of(key)}]") for key, part in x.items())
        return x.__class__ not in (list, tuple) or all(look(part, f"{here}[{n}]") for n, part in enumerate(x))

    def take_numbers(texts: list[str], row: str, shape: tuple[int, ...]) -> None:
        numbers.extend(range(len(leaves), len(leaves) + len(texts)))
        leaves.extend(texts)
        rows.append(row)
        shapes.append(shape)

    if not look(tuple(args), "args"):
        return lambda args: None
    if numbers:
        lines.append(f"numbers = [{', '.join(rows)}]")
        if in_vectors:
            lines.append(f"numbers = {names.of((reader or read_plainly)(shapes))}(numbers)")
            lines.append("if numbers is None: return None")
        else:
            lines.append(f"if [*map(type, numbers)] != {names.of([float] * len(numbers))}: return None")
    place_of = {leaf: place for place, leaf in enumerate(numbers)}
    if [origin.place for origin in origins] == numbers:
        given = "numbers"
    else:
        given = f"[{', '.join(_given(origin, leaves, place_of, names) for origin in origins)}]"
    body = "\n    ".join([*lines, f"return {given}"])
    exec(f"def inputs(args):\n    {body}", names.known)
    return names.known["inputs"]


Read = Callable[[list[Any]], Any]
Reader = Callable[[Sequence[tuple[int, ...]]], Read]


def _nest_shape(x: Any) -> tuple[int, ...] | None:
    """The shape of a float, or of floats in lists, nested alike; None if it is something else."""
    if x.__class__ is float:
        return ()
    if x.__class__ is not list or not x:
        return None
    inner = _nest_shape(x[0])
    return None if inner is None or any(_nest_shape(part) != inner for part in x) else (len(x), *inner)


def _given(origin: Any, leaves: list[str], place_of: dict[int, int], names: Names) -> str:
    """The text of an input of a program; `place_of` says where a leaf stands among the numbers."""
    if origin.kind == "given":
        return f"numbers[{place_of[origin.place]}]" if origin.place in place_of else leaves[origin.place]
    if origin.kind != "packed":
        return f"{names.of(origin)}.fetch(())"
    places = [place_of.get(part.place, -1) for part in origin.held]
    if -1 in places:  # some are not among the numbers
        return f"array([{', '.join(_given(part, leaves, place_of, names) for part in origin.held)}], {names.of(float)})"
    if places == list(range(places[0], places[-1] + 1)):
        return f"numbers[{places[0]}:{places[-1] + 1}]"
    return f"numbers[{names.of(np.array(places))}]"


def read_plainly(shapes: Sequence[tuple[int, ...]]) -> Read:
    """A function from a list of floats to a vector of them; to None if there is anything else in the list.

    A backend's `reader` is given floats and lists, nested as the shapes say, checks these too, and reads them in order.
    """
    count = sum(map(math.prod, shapes))
    types, pack = [float] * count, struct.Struct(f"{count}d").pack
    return lambda numbers: np.frombuffer(pack(*numbers)) if [*map(type, numbers)] == types else None


def _other_dtype(here: str, x: Any, names: Names) -> str:
    """The text of whether an array has another dtype than x; most often it has the very same, but not from a pickle."""
    known = names.of(x.dtype)
    return f"({here}.dtype is not {known} and {here}.dtype != {known})"


def unchanged(module: Any, names: Names) -> Iterator[str]:
    """Lines that return None if a module's parameters have another type than now; `outside.py` looks at all else."""
    for _, p in module.named_parameters():
        yield f"if {other_type(p, names)} or {names.of(p)}.requires_grad is not {p.requires_grad}: return None"


def other_type(p: Any, names: Names) -> str:
    """The text of whether a Value has another type than now."""
    data = f"{names.of(p)}._data"
    kind = f"{data}.__class__ is not {names.of(p._data.__class__)}"
    if isinstance(p._data, np.ndarray):
        kind += f" or {data}.shape != {p.shape} or {_other_dtype(data, p, names)}"
    return kind
