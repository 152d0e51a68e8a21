"""Functions with a rule of their own, as HIPS autograd has them: the function first, its rule afterwards.

    @primitive
    def cube(x):
        return x**3

    defvjp(cube, lambda ans, x: lambda g: g * 3 * x**2)
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from autograd.arrays.numpy_calls import BY_NUMPY

from .engine import Value
from .modes import notice_read
from .op import OPS, BoundOp, Op, apply
from .tree import flatten, leaves_like, unflatten

Box = Value  # their name for what carries a number
__all__ = [
    "Box", "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defvjp", "defvjp_argnum", "defvjp_argnums", "getval",
    "isbox", "notrace_primitive", "primitive", "vspace",
]  # fmt: skip


class Primitive:
    """A function as one op of the graph. Its rule is given afterwards, by `defvjp` or `defjvp`."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.__name__ = "function"
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.pull: Callable[..., Any] | None = None  # (argnums, ans, args, settings) -> g -> gradients
        self.push: Callable[..., Any] | None = None  # (argnum, g, ans, args, settings) -> tangent
        name = self.__name__ if self.__name__.isidentifier() else "function"  # "<lambda>" is no name
        self.op = Op(name, forward=self._forward, vjp=self._rule, register=False)

    def __call__(self, *args: Any, **settings: Any) -> Any:
        leaves, structure = flatten(args)
        if not any(isinstance(x, Value) for x in leaves):
            return self.fun(*args, **settings)
        call = Call(structure, leaves, settings)
        return apply(BoundOp(self.op, {"call": call}), call.inputs)

    def _forward(self, *inputs: Any, call: Call) -> Any:
        return self.fun(*call.filled(inputs), **call.settings)

    def _rule(self, g: Any, out: Any, *inputs: Any, call: Call) -> tuple[Any, ...]:
        args = call.filled(inputs)
        if self.pull is not None:
            given = self.pull(call.argnums, out, args, call.settings)(g)
        elif self.push is not None:
            given = [self._by_basis(argnum, g, out, args, call.settings) for argnum in call.argnums]
        else:
            raise NotImplementedError(f"{self.__name__} has no rule yet: write defvjp({self.__name__}, ...)")
        return call.leaves_of(given)

    def _by_basis(self, argnum: int, g: Any, out: Any, args: Any, settings: Any) -> Any:
        """g · Jacobian, one tangent of the argument at a time: for a function that has only a rule forwards."""
        shape = np.shape(args[argnum])
        units = np.eye(int(np.prod(shape))).reshape(-1, *shape)
        slopes = [OPS["sum"](g * self.push(argnum, unit, out, args, settings)) for unit in units]  # type: ignore[misc]
        return OPS["reshape"](OPS["stack"](slopes), shape)


class Call:
    """What a primitive was called with: which arguments hold Values, and all the rest."""

    def __init__(self, structure: Any, leaves: list[Any], settings: dict[str, Any]) -> None:
        self.structure, self.leaves, self.settings = structure, leaves, settings
        self.at = [i for i, x in enumerate(leaves) if isinstance(x, Value)]
        self.inputs = tuple(leaves[i] for i in self.at)
        self.leaves = [None if isinstance(x, Value) else x for x in leaves]
        of_leaf = [n for n, part in enumerate(structure) for _ in range(_size(part))]
        self.argnums = sorted({of_leaf[i] for i in self.at})

    def filled(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments, with these in place of the Values."""
        leaves = list(self.leaves)
        for i, x in zip(self.at, inputs, strict=True):
            leaves[i] = x
        args: tuple[Any, ...] = unflatten(self.structure, leaves)
        return args

    def leaves_of(self, given: Iterable[Any]) -> tuple[Any, ...]:
        """One gradient for each Value, out of one for each argument that holds some."""
        by_argument = dict(zip(self.argnums, given, strict=True))
        flat: list[Any] = []
        for n, part in enumerate(self.structure):
            one = by_argument.get(n)
            flat += [None] * _size(part) if one is None else leaves_like(one, part, "a gradient")
        return tuple(flat[i] for i in self.at)


def _size(structure: Any) -> int:
    """How many leaves a structure has."""
    if not isinstance(structure, (dict, list, tuple)):
        return 1
    return sum(map(_size, structure.values() if isinstance(structure, dict) else structure))


def primitive(fun: Callable[..., Any]) -> Primitive:
    """A function as one op: on plain numbers it runs as it is, on Values it is recorded. Then say its `defvjp`.

    >>> from autograd import grad
    >>> cube = primitive(lambda x: x**3)
    >>> defvjp(cube, lambda ans, x: lambda g: g * 3 * x**2)
    >>> grad(cube)(2.0), grad(grad(cube))(2.0)
    (12.0, 12.0)
    """
    return Primitive(fun)


def notrace_primitive(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is given plain numbers in place of Values: no gradient flows through it."""
    return lambda *args, **settings: fun(*map(getval, args), **{name: getval(x) for name, x in settings.items()})


def _of(fun: Any) -> Primitive:
    """The primitive that a rule is meant for: NumPy's own function becomes one, too."""
    if isinstance(fun, Primitive):
        return fun
    if not callable(fun):
        raise TypeError(f"a rule belongs to a function made with primitive(f); got {fun!r:.60}")
    table: dict[Any, Any] = BY_NUMPY
    if not isinstance(table.get(fun), Primitive):
        table[fun] = Primitive(fun)
    made: Primitive = table[fun]
    return made


def defvjp(fun: Any, *makers: Any, argnums: Iterable[int] | None = None) -> None:
    """Give each argument of a primitive its rule: `lambda ans, *args: lambda g: gradient`; None: no gradient flows."""
    by_place = dict(zip(itertools.count() if argnums is None else argnums, makers))

    def maker(argnum: int, ans: Any, args: Any, settings: Any) -> Any:
        if argnum not in by_place:
            raise NotImplementedError(f"{fun.__name__} has no rule for its argument {argnum}: give defvjp one more")
        rule = by_place[argnum]
        return (lambda g: None) if rule is None else rule(ans, *args, **settings)

    defvjp_argnum(fun, maker)


def defvjp_argnum(fun: Any, maker: Callable[..., Any]) -> None:
    """Give a primitive one rule for any argument: `maker(argnum, ans, args, kwargs)(g)`."""

    def all_of(argnums: list[int], ans: Any, args: Any, settings: Any) -> Any:
        pulls = [maker(argnum, ans, args, settings) for argnum in argnums]
        return lambda g: [pull(g) for pull in pulls]

    defvjp_argnums(fun, all_of)


def defvjp_argnums(fun: Any, maker: Callable[..., Any]) -> None:
    """Give a primitive one rule for several arguments at once: `maker(argnums, ans, args, kwargs)(g)`, a tuple."""
    _of(fun).pull = maker


def defjvp(fun: Any, *makers: Any, argnums: Iterable[int] | None = None) -> None:
    """Give each argument its rule forwards: `lambda g, ans, *args: tangent`; "same": fun itself, which is linear in it.

    It is used where there is no `defvjp`, with one call for each number of the argument.
    """
    by_place = dict(zip(itertools.count() if argnums is None else argnums, makers))

    def push(argnum: int, g: Any, ans: Any, args: Any, settings: Any) -> Any:
        rule = by_place[argnum]
        if rule is None:
            return 0.0 * ans
        if rule == "same":
            return _of(fun).fun(*args[:argnum], g, *args[argnum + 1 :], **settings)
        return rule(g, ans, *args, **settings)

    _of(fun).push = push


def defjvp_argnum(fun: Any, maker: Callable[..., Any]) -> None:
    """Give a primitive one rule forwards for any argument: `maker(argnum, g, ans, args, kwargs)`."""
    _of(fun).push = maker


def def_linear(fun: Any) -> None:
    """Say that a primitive is linear in each of its arguments."""
    defjvp_argnum(fun, lambda n, g, ans, args, settings: _of(fun).fun(*args[:n], g, *args[n + 1 :], **settings))


def getval(x: Any) -> Any:
    """The plain number or array of a Value; anything else as it is."""
    if not isinstance(x, Value):
        return x
    traced = notice_read(x, "getval(v)")
    return x._data if traced is None else traced


def isbox(x: Any) -> bool:
    """Whether it is a Value."""
    return isinstance(x, Value)


class VSpace:
    """The numbers like x, in its nest: `vspace(x).zeros()`, `.ones()`, `.randn()`, `.size`."""

    def __init__(self, x: Any) -> None:
        leaves, self._structure = flatten(x)
        self.shapes = [np.shape(leaf) for leaf in leaves]
        self.shape: Any = self.shapes[0] if len(leaves) == 1 else unflatten(self._structure, self.shapes)
        self.size = sum(int(np.prod(shape)) for shape in self.shapes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VSpace) and (self._structure, self.shapes) == (other._structure, other.shapes)

    __hash__ = None  # type: ignore[assignment]

    def _each(self, made: Callable[..., Any]) -> Any:
        return unflatten(self._structure, [made(shape) if shape else float(made(())) for shape in self.shapes])

    def zeros(self) -> Any:
        """All of them 0."""
        return self._each(np.zeros)

    def ones(self) -> Any:
        """All of them 1."""
        return self._each(np.ones)

    def randn(self) -> Any:
        """Drawn at random."""
        return self._each(np.random.default_rng().standard_normal)

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two of them."""
        pairs = zip(flatten(x)[0], leaves_like(y, self._structure), strict=True)
        return unflatten(self._structure, [a + b for a, b in pairs])


def vspace(x: Any) -> VSpace:
    """The numbers like x."""
    return VSpace(x)
