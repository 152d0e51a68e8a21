"""Op: an operation and its derivative, declared once, in one block; and OPS, the table of them all.

    mul = Op("mul", "x * y",
             forward=operator.mul,
             vjp=lambda g, out, x, y: (g * y, g * x),
             samples=BINARY)

`vjp` is the rule: plain Python over `g` (the gradient of the result), `out` (the result) and the inputs, giving
one gradient per input. It never asks what its arguments are, so the one block serves every *carrier*:

    float, ndarray    numbers: the gradient itself
    Value             a gradient that is again a graph: second order and up
    Expr              text: the label in a drawing, the line in a stepper

Everything else reads this table: operators and methods of Value, NumPy dispatch, tests, drawings, steps.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import types
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

import numpy as np

from autograd.arrays.plain import as_array, as_plain

from .about import About
from .op_errors import miscounted, misused, recover
from .samples import Sample

OPS: dict[str, Op] = {}

# Python's operators, by the middle of their methods' names (`__add__`, `__radd__`), and the ops that they mean.
OPERATORS = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "power", "matmul": "matmul",
             "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}  # fmt: skip

_CACHE_LIMIT = 512  # bound variants kept per op; shapes and axes repeat, so a real program needs a few


class Op:
    """One operation: how it reads, its forward function, its rule, and where to test it. See `custom_op` for your own.

    forward     plain floats or arrays in, plain data out; settings (`axis`, `shape`) are keyword-only
    vjp         the rule: one callable giving a tuple (None: no gradient flows to that input), or, where a gradient
                costs more than a product, a tuple of callables, one per input, so that only those wanted run
    normalize   turns a user's call into (inputs, settings): axes made negative, shapes made tuples
    definition  the same result in simpler ops; a fused op is tested against it and opened up by it
    lower       the same result in core ops, with no digits lost, for a compiled program; True: the definition;
                None: it is a core op itself
    written     its function in NumPy, as text, for printed programs; without it, NumPy's function in `numpy` or of
                the same name is written
    c           the same number by number in C, in the names of its inputs; functions as C's math.h has them for doubles
    samples     where it is tested; a differentiable op without samples fails the suite
    numpy       the NumPy functions that become this op when they meet a Value
    batch       how a replay runs it with one more axis in front: "align" (line up the ranks, run forward), a function
                of (op, n, inputs that all have that axis) giving the result, or None: the replay loops
    pack        how a flat list of inputs is called, where that is not op(*inputs): `concatenate(xs)`
    pairwise    of a reduction, the op of two inputs that it repeats: `maximum` for `max`
    view        True for an op that only moves numbers: each entry of the result is an entry of its input
    loss        True for an op whose result is there to be made small
    inner       True for an op that rules and programs call, and people do not: it is no name of the package
    unfolds     of an op that exists for speed or safety: readers see its definition instead, in "rules" only, or also
                in place of its node ("graph")
    unpack      of an op whose first input packs several results of a linear layer side by side: which columns are
                what, by their number and the settings; its definition also takes these in the place of that input
    look        how formulas show it, if not as it reads: "root", "transpose", "placed" ..., or another expression,
                "x @ weight + bias"
    about       what a learner should know about it
    """

    def __init__(
        self,
        name: str,
        reads: str | None = None,
        *,
        forward: Callable[..., Any],
        vjp: Callable[..., Any] | tuple[Callable[..., Any] | None, ...],
        normalize: Callable[..., tuple[tuple[Any, ...], dict[str, Any]]] | None = None,
        definition: Callable[..., Any] | None = None,
        lower: Callable[..., Any] | bool | None = None,
        written: str = "",
        c: str = "",
        samples: Iterable[Sample] = (),
        numpy: Any = (),
        batch: str | Callable[..., Any] | None = None,
        pack: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None = None,
        pairwise: Op | None = None,
        view: bool = False,
        loss: bool = False,
        inner: bool = False,
        unfolds: str = "",
        unpack: Callable[..., dict[str, slice]] | None = None,
        look: str = "",
        about: About | None = None,
        doc: str = "",
        register: bool = True,
    ) -> None:
        self.name = name
        self.forward = forward
        self.vjp = vjp
        self.normalize = normalize
        self.definition = definition
        self.lower = definition if lower is True else lower or None
        self.written = written
        self.c = c
        self.samples = tuple(samples)
        self.numpy = numpy if isinstance(numpy, tuple) else (numpy,)
        self.batch = batch
        self.pack = pack
        self.pairwise, self.view, self.loss, self.inner = pairwise, view, loss, inner
        self.unfolds, self.unpack = unfolds, unpack
        self.look = look
        self.about = about or About()
        self.pointwise = False  # works on each number alone; `ops/__init__.py` marks those families
        self.settings: dict[str, Any] = {}
        self.base = self
        self.names, self.variadic = _input_names(vjp, reads)
        self.reads = reads or f"{name}({', '.join(('*' if self.variadic else '') + n for n in self.names)})"
        self.__doc__ = doc or f"`{self.reads}`"
        self.__name__ = name
        self._bound: dict[Any, Op] = {}
        if register:
            OPS[name] = self

    def __call__(self, *args: Any, **settings: Any) -> Any:
        """Apply the op to whatever carries the numbers: floats and arrays, Values, or Exprs."""
        op = self
        inputs = args
        if self.normalize is not None:
            try:
                inputs, settings = self.normalize(*args, **settings) if settings else self.normalize(*args)
            except TypeError as error:
                from .names import renamed

                again = renamed(self.name, inspect.signature(self.normalize).parameters, settings)
                if again is None:
                    raise misused(self, error) from None
                return self(*args, **again)
            if settings:
                op = self.bind(settings)
        elif settings:
            raise TypeError(f"{self.name}() takes no setting named {', '.join(map(repr, settings))}")
        elif len(args) != len(self.names) and not self.variadic:
            raise miscounted(self, args)  # a ufunc would take one more as the array to write into
        return apply(op, inputs)

    @property
    def differentiable(self) -> bool:
        """Whether a gradient can flow through it at all."""
        return self.base.vjp is not nothing

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As an attribute of a class, an op is a method: `Value.exp = exp` makes `v.exp()`."""
        return self if instance is None else types.MethodType(self, instance)

    def bind(self, settings: dict[str, Any]) -> Op:
        """This op with its settings filled in: one cached object for `softmax` with `axis=(-1,)`."""
        if not settings:
            return self
        try:
            key = tuple(settings.items())
            bound = self._bound.get(key)
        except TypeError:  # an index made of slices or arrays cannot be a key
            return BoundOp(self, settings)
        if bound is None:
            if len(self._bound) >= _CACHE_LIMIT:
                self._bound.clear()
            bound = self._bound[key] = BoundOp(self, settings)
        return bound

    def on(self, sample: Sample) -> tuple[Callable[..., Any], list[Any]]:
        """A function of inputs alone that applies this op with a sample's settings; and the sample's inputs."""

        def f(*inputs: Any) -> Any:
            return self(*(self.pack(inputs) if self.pack else inputs), **sample.settings)

        return f, sample.inputs(self.name)

    @functools.cached_property
    def defaults(self) -> dict[str, Any]:
        """The settings a caller may leave out, and what they then are."""
        if self.normalize is None:
            return {}
        parameters = inspect.signature(self.normalize).parameters.values()
        return {p.name: p.default for p in parameters if p.default is not p.empty}

    def compute(self, *inputs: Any) -> Any:
        """The forward function on plain data, with Python's float exceptions turned into NumPy's infinities."""
        try:
            data = self.forward(*inputs)
        except Exception as error:
            data = recover(self, error, inputs)
        if data.__class__ is float or (data.__class__ is np.ndarray and data.ndim):
            return data
        return as_plain(data)

    def __repr__(self) -> str:
        settings = ", ".join(f"{k}={v!r}" for k, v in self.settings.items())
        return f"<op {self.name}{': ' + settings if settings else ''}>"

    def __reduce__(self) -> Any:
        if OPS.get(self.name) is not self.base:
            raise TypeError(f"op {self.name!r} is not in the table, so it cannot be pickled; make it with custom_op")
        return _restore, (self.name, self.settings)


class BoundOp(Op):
    """An op with its settings filled in. It looks its rule up in the table each time, so a replaced rule counts."""

    def __init__(self, base: Op, settings: dict[str, Any]) -> None:
        self.__dict__.update(base.__dict__)  # what it is called, how it reads, where it is tested
        del self.__dict__["vjp"]
        self.base = base
        self.settings = settings
        self.forward = with_settings(base.forward, settings)
        self._rule_of: Any = None

    def __call__(self, *inputs: Any, **settings: Any) -> Any:
        """Apply it again with the settings it has, `v.op(*v.inputs)`; given others, call the op itself."""
        return self.base(*inputs, **settings) if settings else apply(self, inputs)

    @property
    def vjp(self) -> Any:  # type: ignore[override]
        rule = self.base.vjp
        if self._rule_of is not rule:
            if isinstance(rule, tuple):
                self._rule: Any = tuple(r and with_settings(r, self.settings) for r in rule)
            else:
                self._rule = with_settings(rule, self.settings)
            self._rule_of = rule  # assigned last, so that an interrupt leaves the old rule
        return self._rule


def with_settings(f: Callable[..., Any], settings: dict[str, Any]) -> Callable[..., Any]:
    """f with its keyword-only settings filled in, as a function that costs no more to call than f (a partial: 3×)."""
    if not isinstance(f, types.FunctionType) or f.__code__.co_flags & inspect.CO_VARKEYWORDS:
        return functools.partial(f, **settings)  # **settings must be passed
    twin = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    twin.__kwdefaults__ = {**(f.__kwdefaults__ or {}), **settings}
    return twin


def _restore(name: str, settings: dict[str, Any]) -> Op:
    return OPS[name].bind(settings)


def apply(op: Op, inputs: tuple[Any, ...]) -> Any:
    """Run an op on the carrier its inputs belong to; on plain data, just compute."""
    for x in inputs:
        carrier = getattr(x, "__apply__", None)
        if carrier is not None:
            return carrier(op, inputs)
    return op.compute(*map(as_array, inputs))


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of any carrier; `np.shape` of a Value would take the long way through NumPy's dispatch."""
    try:
        return x.shape
    except AttributeError:  # a Python number, or a list of the caller's
        return np.shape(x)


def rank_of(x: Any) -> int:
    """The number of axes of any carrier."""
    try:
        return x.ndim
    except AttributeError:
        return np.ndim(x)


def dtype_of(x: Any) -> np.dtype[Any]:
    """The dtype of any carrier."""
    return x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype


# Whether `let` names nodes: on while an op is opened into the steps of its definition.
naming: ContextVar[bool] = ContextVar("naming", default=False)


def let(name: str, x: Any, says: str = "") -> Any:
    """Name what a rule or a definition computes on the way: `dot = let("dot", sum(g * out))`.

    The number itself on numbers; a line of its own on text; the name of a node where an op is opened into its steps.
    """
    named = getattr(x, "__let__", None)
    return x if named is None else named(name, says)


def nothing(g: Any, out: Any, *inputs: Any, **settings: Any) -> tuple[None, ...]:
    """The rule of an op through which no gradient flows: comparisons, sign, argmax."""
    return (None,) * len(inputs)


def _input_names(vjp: Any, reads: str | None) -> tuple[tuple[str, ...], bool]:
    """The inputs' names, read off the rule's own signature: those after the gradient and the result."""
    if vjp is nothing:  # it has no names of its own; take those in "x < y", and leave out settings, "axis=axis"
        return tuple(dict.fromkeys(re.findall(r"(?<![=\w])[a-z]+\b(?![(=])", reads or "x"))), False
    rule = next(r for r in vjp if r is not None) if isinstance(vjp, tuple) else vjp
    if definition := getattr(rule, "of", None):  # made by `rules.by_definition`: it takes the inputs alone
        parameters = list(inspect.signature(definition).parameters.values())
    else:
        parameters = list(inspect.signature(rule).parameters.values())[2:]
    inputs = [p for p in parameters if p.kind is not p.KEYWORD_ONLY and p.default is p.empty]
    return tuple(p.name for p in inputs), any(p.kind is p.VAR_POSITIONAL for p in inputs)


@functools.cache
def template(reads: str) -> ast.expr:
    """The syntax tree of how an op reads, for a carrier that is text."""
    return ast.parse(reads, mode="eval").body
