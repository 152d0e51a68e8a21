"""custom_op: your own op, declared in one block like those of the table."""

from __future__ import annotations

import ast
import functools
import inspect
import keyword
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from autograd.arrays.plain import copy_array

from .errors import BackwardError, DataError, counted
from .op import OPS, Op, template
from .samples import Sample

__all__ = ["custom_op"]

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def custom_op(
    name: str,
    *,
    forward: Callable[..., Any],
    vjp: Callable[..., Any],
    reads: str | None = None,
    samples: Iterable[Any] = (),
    doc: str = "",
) -> Op:
    """Make an op: what it computes, and the rule that pulls a gradient back. It is then drawn, stepped and checked.

    forward   plain numbers or arrays in, one number or array out; keyword-only parameters are settings
    vjp       `vjp(g, out, *inputs)`: a tuple with one gradient per input, None where none flows; plain Python
              over its arguments, so that it also prints itself and can be differentiated again
    reads     how it looks in formulas, in the rule's own names: "x ** 3"; else "cube(x)"
    samples   inputs to check it on at once, each a tuple: GradientError if the rule is wrong there

    >>> cube = custom_op("cube", forward=lambda x: x**3, vjp=lambda g, out, x: (3 * g * x**2,), samples=[(2.0,)])
    >>> from autograd import grad
    >>> grad(cube)(2.0), grad(grad(cube))(2.0)
    (12.0, 12.0)
    """
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise DataError(f"an op's name is a Python name, such as cube; got {name!r}")
    known = OPS.get(name)
    if known is not None and not getattr(known, "custom", False):
        raise DataError(f"{name} is an op of the table already; choose another name")
    if not callable(vjp) or isinstance(vjp, np.ufunc):
        raise DataError(f"{name}: vjp is a Python function (g, out, *inputs); got {vjp!r:.60}. Wrap it in a lambda")
    rule = inspect.signature(vjp, follow_wrapped=False)
    inputs, settings = _parameters(name, forward, rule)
    op = Op(
        name, reads, forward=_real(name, forward), vjp=_checked(name, vjp, _signature(name, rule, inputs)),
        normalize=_normalize(name, inputs, settings) if settings else None,
        samples=[_sample(s) for s in samples], doc=doc or (inspect.getdoc(forward) or ""), register=False,
    )  # fmt: skip
    op.custom = True  # type: ignore[attr-defined]
    _check_reading(op, settings)
    for sample in op.samples:
        from .check import assert_grads

        f, at = op.on(sample)
        f.__name__ = name
        assert_grads(f, *at)
    OPS[name] = op  # only now: a rule that fails its samples leaves no op behind
    return op


def _parameters(
    name: str, forward: Callable[..., Any], rule: inspect.Signature
) -> tuple[list[str] | None, dict[str, Any]]:
    """The inputs that forward takes (None: any number), and its keyword-only settings with their defaults.

    A parameter with a default, as in `lambda x, k=k: k * x`, is an input where the rule needs it.
    """
    if isinstance(forward, np.ufunc):
        return ["x", "y", "z"][: forward.nin], {}  # its signature also has `out`, `where` and others that are no inputs
    try:
        parameters = inspect.signature(forward).parameters.values()
    except (TypeError, ValueError):  # a function written in C may not say
        return None, {}
    positional = [p.name for p in parameters if p.kind in POSITIONAL]
    inputs = max(_needed(parameters), _needed(rule.parameters.values()) - 2)
    settings = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        raise DataError(f"{name}: forward names its settings one by one, as `*, axis=-1`; it cannot take **settings")
    return None if any(p.kind is p.VAR_POSITIONAL for p in parameters) else positional[:inputs], settings


def _needed(parameters: Iterable[inspect.Parameter]) -> int:
    """How many of them are positional and have no default."""
    return sum(p.kind in POSITIONAL and p.default is p.empty for p in parameters)


def _signature(name: str, whole: inspect.Signature, inputs: list[str] | None) -> inspect.Signature:
    """The rule's own, `whole`, by its names: g, out and then as many inputs as forward, whatever it calls them."""
    parameters = list(whole.parameters.values())
    positional = [p for p in parameters if p.kind in POSITIONAL]
    if inputs is None:
        return whole
    needed, most = _needed(parameters), len(positional)
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        most = max(most, len(inputs) + 2)
    if not needed <= len(inputs) + 2 <= most:
        got = ", ".join(p.name for p in positional)
        raise DataError(
            f"{name}: forward takes {counted(len(inputs), 'input')}, so the rule is vjp(g, out, and these); got "
            f"vjp({got})"
        )
    names = [p.name for p in positional][: len(inputs) + 2]
    names += ["g", "out", *inputs][len(names) :]
    if len(set(names)) < len(names):  # such as vjp(x, *others), for an input that forward calls x
        names = ["g", "out", *inputs] if not {"g", "out"} & {*inputs} else ["g_", "out_", *inputs]
    return inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]
                             + [p for p in parameters if p.kind is p.KEYWORD_ONLY])  # fmt: skip


def _check_reading(op: Op, settings: Iterable[str]) -> None:
    """How it reads is a Python expression of its inputs and settings; functions in it may be called anything."""
    try:
        parts = list(ast.walk(template(op.reads)))
    except SyntaxError:
        raise DataError(f"{op.name}: reads is a Python expression, such as {op.name}(x); got {op.reads!r}") from None
    called = {id(part.func) for part in parts if isinstance(part, ast.Call)}
    names = [part.id for part in parts if isinstance(part, ast.Name) and id(part) not in called]
    known = [*op.names, *settings]
    unknown = [name for name in dict.fromkeys(names) if name not in known]
    if unknown:
        raise DataError(
            f"{op.name}: reads={op.reads!r} names {', '.join(unknown)}; the rule calls its inputs and settings "
            f"{', '.join(known)}"
        )


def _real(name: str, forward: Callable[..., Any]) -> Callable[..., Any]:
    """The forward function on arrays that it may edit, with a check of its result: real numbers."""

    @functools.wraps(forward)
    def run(*inputs: Any, **settings: Any) -> Any:
        out = forward(*map(copy_array, inputs), **settings)
        if _is_complex(out):
            raise DataError(
                f"{name}: forward gave complex numbers, {out!r:.60}; a Value holds real ones. Return out.real, "
                "out.imag or abs(out), and write the rule for that"
            )
        return out

    return run


def _checked(name: str, vjp: Callable[..., Any], signature: inspect.Signature) -> Callable[..., tuple[Any, ...]]:
    """The rule on arrays that it may edit (others hold the same), with a check of its result: a tuple, one gradient per
    input, each of real numbers in a shape that fits.
    """

    @functools.wraps(vjp)
    def rule(g: Any, out: Any, *inputs: Any, **settings: Any) -> tuple[Any, ...]:
        grads = vjp(*map(copy_array, (g, out, *inputs)), **settings)
        if not isinstance(grads, tuple):
            raise BackwardError(
                f"the rule of {name} gave {type(grads).__name__}, not a tuple: write (..., ) with a comma, one "
                "gradient per input"
            )
        if len(grads) != len(inputs):
            raise BackwardError(
                f"the rule of {name} gave {len(grads)} gradients for {len(inputs)} inputs; None where none flows"
            )
        for i, (dx, x) in enumerate(zip(grads, inputs)):
            if dx is not None and not _fits(np.shape(dx), np.shape(x)):
                raise BackwardError(
                    f"the rule of {name} gave input {i} a gradient of shape {np.shape(dx)}; the input has {np.shape(x)}"
                )
            if _is_complex(dx):
                raise BackwardError(
                    f"the rule of {name} gave input {i} a complex gradient, {dx!r:.60}. Return its .real"
                )
        return grads

    rule.__signature__ = signature  # type: ignore[attr-defined]
    return rule


def _is_complex(x: Any) -> bool:
    return isinstance(x, complex | np.complexfloating) or (isinstance(x, np.ndarray) and x.dtype.kind == "c")


def _fits(gradient: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether a gradient has the input's shape, or one that the input was broadcast to."""
    try:
        return np.broadcast_shapes(gradient, shape) == gradient
    except ValueError:
        return False


def _normalize(
    name: str, inputs: list[str] | None, defaults: dict[str, Any]
) -> Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]:
    """The function that splits a call into inputs and settings."""

    def normalize(*args: Any, **settings: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        unknown = settings.keys() - defaults.keys()
        if unknown:
            raise TypeError(f"{name}() has no setting {', '.join(sorted(unknown))}; it has {', '.join(defaults)}")
        chosen = defaults | settings
        missing = [key for key, value in chosen.items() if value is inspect.Parameter.empty]
        if missing:
            raise TypeError(f"{name}() needs {', '.join(f'{m}=' for m in missing)}")
        if inputs is not None and len(args) != len(inputs):
            raise TypeError(f"{name}() takes {counted(len(inputs), 'input')}; got {len(args)}")
        return args, chosen

    return normalize


def _sample(sample: Any) -> Sample:
    """A Sample as it is; a tuple of inputs, or a single one, as a Sample."""
    if isinstance(sample, Sample):
        return sample
    return Sample(*(sample if isinstance(sample, tuple | list) else (sample,)))
