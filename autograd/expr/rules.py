"""Rules written down: an op's vjp run on Exprs, summed to the shapes of its inputs, and simplified.

`expr.rule` is the public function; drawings, steps and sheets use `rule_as_text`. Where an op has a definition in
simpler ops, `by_definition` makes a rule from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.errors import DataError
from autograd.op import OPS, Op, dtype_of

from .expr import UNKNOWN, Expr


def rule_of_op(op: Op, values: tuple[Any, ...] | None, g: Any, out: Any) -> tuple[Expr | None, ...]:
    """The rule of an op in its own names of the inputs; see `expr.rule`."""
    if missing := _missing_settings(op):
        raise _not_as_text(op, "settings", ", ".join(missing))
    names = own_names(op, len(op.names) if values is None else len(values))
    gradient, result = _arriving(names)
    data = (UNKNOWN,) * len(names) if values is None else values
    inputs = [None if x is None else Expr(name, x) for name, x in zip(names, data, strict=False)]
    if values is not None:
        out = op.compute(*values) if out is UNKNOWN else out
        g = np.ones(np.shape(out)) if g is UNKNOWN else g
        return rule_as_text(op, Expr(gradient, g), Expr(result, out), inputs)
    try:
        return rule_as_text(op, Expr(gradient, g), Expr(result, out), inputs)
    except DataError as error:  # without shapes, a rule that reads them fails
        raise _not_as_text(op, "the shapes of its inputs", ", ".join(op.names)) from error


def rule_of_node(node: Value, g: Any) -> tuple[Expr | None, ...]:
    """The rule of the op that made a node, in the names of the node's inputs; see `expr.rule`."""
    if not isinstance(node, Value) or node.op is None:
        raise DataError(f"rule takes an op, as in rule(OPS['mul']), or a Value that an op made; got {node!r:.60}")
    inputs = [
        x if x is None or isinstance(x, int | float) else Expr(name, x.data if isinstance(x, Value) else x)
        for x, name in zip(node.inputs, _names_of_inputs(node), strict=True)
    ]
    g = np.ones(node.shape) if g is UNKNOWN else g
    gradient, result = _arriving([x.name for x in inputs if isinstance(x, Expr)])
    parts = rule_as_text(node.op, Expr(gradient, g), Expr(result, node.data), inputs)
    return tuple(part if isinstance(x, Value) else None for part, x in zip(parts, node.inputs, strict=True))


# --- names of inputs ------------------------------------------------------------------------------------------------


def own_names(op: Op, count: int) -> tuple[str, ...]:
    """What an op calls its inputs; of a list, at least two: `xs[0]`, `xs[1]`."""
    if not op.variadic:
        return op.names
    fixed = len(op.names) - 1
    return (*op.names[:fixed], *(f"{op.names[-1]}[{i}]" for i in range(max(count, fixed + 2) - fixed)))


def _names_of_inputs(node: Value) -> tuple[str, ...]:
    """The names of a node's inputs, the op's own for those without one; all the op's own if two would clash."""
    assert node.op is not None
    own = own_names(node.op, len(node.inputs))[: len(node.inputs)]
    names = [_readable(getattr(x, "name", None)) or name for x, name in zip(node.inputs, own, strict=True)]
    called: dict[str, Any] = {"g": UNKNOWN, "out": UNKNOWN}  # the other names in a rule
    clash = any(called.setdefault(name, x) is not x for name, x in zip(names, node.inputs, strict=True))
    return own if clash else tuple(names)


def _arriving(inputs: Sequence[str]) -> tuple[str, str]:
    """What a rule calls the gradient that arrives and the result: `g` and `out`, unless an op's input has that name."""
    words = ("g", "grad", "gradient"), ("out", "result", "output")
    gradient, result = (next(word for word in group if word not in inputs) for group in words)
    return gradient, result


def _readable(name: str | None) -> str | None:
    """A name that can stand in a formula, such as `w` or `layer.weight`; None for another."""
    return name if name and all(part.isidentifier() for part in name.split(".")) else None


def _missing_settings(op: Op) -> list[str]:
    """The settings that the rule needs and that this op has not been given."""
    rules = op.vjp if isinstance(op.vjp, tuple) else (op.vjp,)
    parameters = [p for r in rules if r is not None for p in inspect.signature(r).parameters.values()]
    return list(dict.fromkeys(p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty))


def _not_as_text(op: Op, needed: str, which: str) -> DataError:
    return DataError(
        f"the rule of {op.name} depends on {needed} ({which}), so the op alone does not print it. Give the "
        f"node: rule(node), where node = {op.reads} was computed from Values"
    )


# --- running a rule on formulas ---------------------------------------------------------------------------------------


def pulled(op: Op, g: Any, out: Any, inputs: Any) -> tuple[Any, ...]:
    """Run an op's rule on any carrier, for all inputs."""
    vjp: Any = op.vjp
    if isinstance(vjp, tuple):
        return tuple(r and r(g, out, *inputs) for r in vjp)
    return tuple(vjp(g, out, *inputs))


def rule_as_text(op: Op, g: Expr, out: Expr, inputs: Sequence[Any]) -> tuple[Expr | None, ...]:
    """An op's rule run on Exprs, each part summed to the shape of its input and simplified.

    DataError for a rule that only runs on numbers: one that branches, or calls NumPy itself.
    """
    simplify = Simplifier()
    return tuple(None if part is None else simplify(part) for part in _summed_parts(op, g, out, inputs))


def rule_or_its_name(op: Op, g: Expr, out: Expr, inputs: Sequence[Any]) -> tuple[Expr | None, ...]:
    """An op's rule run on Exprs; a custom rule that needs numbers is written as a call, `backward_clip(g, x)`."""
    try:
        return rule_as_text(op, g, out, inputs)
    except DataError:
        names = ", ".join(["g", *(x.name or "…" for x in inputs if isinstance(x, Expr))])
        return tuple(None if x is None else Expr(f"backward_{op.name}({names})") for x in inputs)


def _summed_parts(op: Op, g: Expr, out: Expr, inputs: Sequence[Any]) -> list[Expr | None]:
    try:
        parts = pulled(op, g, out, inputs)
    except Exception as error:  # a user's rule may raise anything on what is no number
        raise DataError(f"the rule of {op.name} can only be run, not written as text: {error}") from error
    for part in parts:
        if not isinstance(part, Expr | float | int | None):
            raise DataError(f"the rule of {op.name} can only be run, not written as text: it gave {part!r:.60}")
    exprs = (part if isinstance(part, Expr | None) else Expr.number(part) for part in parts)
    return [None if part is None else _summed_to(part, x) for part, x in zip(exprs, inputs, strict=True)]


def _summed_to(part: Expr, x: Any) -> Expr:
    """A gradient summed over the axes that broadcasting added to the input x."""
    shape = x.shape if isinstance(x, Expr) else np.shape(x)
    if part.value is UNKNOWN or (isinstance(x, Expr) and x.value is UNKNOWN) or part.shape == shape:
        return part
    return OPS["sum_to"](part, shape)


class Simplifier:
    """Formulas as a person writes them: `2 * x` for `2 * x ** (2 - 1)`, no factor or divisor 1.

    Use one for all formulas that share lines: each line is simplified once, and stays one line for all of them.
    """

    def __init__(self) -> None:
        self._done: dict[int, tuple[Expr, Expr]] = {}  # by id; the formula is kept, so that no other gets its id

    def __call__(self, e: Expr) -> Expr:
        found = self._done.get(id(e))
        if found is None:
            found = self._done[id(e)] = (e, self._simplified(e))
        return found[1]

    def _simplified(self, e: Expr) -> Expr:
        if e.op is None:
            return e if e.formula is None or e.inline else self._line(e, self(e.formula))
        args = tuple(map(self, e.args))
        if len(args) == 2:
            name, first, last = e.op.name, _whole(args[0]), _whole(args[1])
            if name in ("add", "sub") and first is not None and last is not None:
                return Expr.number(first + last if name == "add" else first - last)
            if last == 1 and name in ("power", "mul", "div"):
                return args[0]
            if name == "mul" and first == 1 and args[1].shape == e.shape:
                return args[1]
        return e.with_args(args)

    def _line(self, line: Expr, formula: Expr) -> Expr:
        if formula is line.formula:
            return line
        return formula if formula.op is None else Expr(line.name, line.value, formula=formula, says=line.says)


def _whole(e: Expr) -> int | None:
    """The integer that a constant is; None for anything else."""
    return int(e.value) if e.is_number and float(e.value).is_integer() else None


# --- rules from definitions -------------------------------------------------------------------------------------------


def by_definition(definition: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """A rule that differentiates the op's definition: for helpers of fused rules, which only higher orders reach."""

    def rule(g: Any, out: Any, *inputs: Any, **settings: Any) -> tuple[Any, ...]:
        from autograd.derivatives import vjp  # the one place where a rule needs the backward walk itself

        if any(isinstance(x, Expr) for x in inputs):
            exprs = [x if isinstance(x, Expr) else Expr.number(x) for x in inputs]
            return pull_back(definition(*exprs, **settings), g, exprs)
        for x in inputs:
            if hasattr(x, "__pull__"):  # a carrier with a way of its own: `digits.py`
                return x.__pull__(definition, g, inputs, settings)
        real = [i for i, x in enumerate(inputs) if dtype_of(x).kind == "f"]

        def f(*xs: Any) -> Any:
            filled = dict(zip(real, xs, strict=True))
            return definition(*(filled.get(i, x) for i, x in enumerate(inputs)), **settings)

        grads = dict(zip(real, vjp(f, *(inputs[i] for i in real))[1](g), strict=True))
        return tuple(grads.get(i) for i in range(len(inputs)))

    rule.of = definition  # type: ignore[attr-defined]
    return rule


def pull_back(result: Expr, g: Expr, inputs: Sequence[Expr]) -> tuple[Expr | None, ...]:
    """Backpropagation through a formula: the gradients of `inputs`, as formulas, of a result computed from them.

    Lines keep their names, and the gradient of a line `k` is a line `dk`.
    """
    grads: dict[int, Expr] = {id(result): g}
    for part in reversed(_computed_parts(result)):
        arrived = grads.get(id(part))
        if arrived is None:
            continue
        if part.name:
            arrived = arrived.__let__(f"d{part.name}", "")
        source = part if part.op is not None else part.formula
        assert source is not None and source.op is not None
        for x, dx in zip(source.args, _summed_parts(source.op, arrived, part, source.args), strict=True):
            if dx is not None and (x.op is not None or x.name):
                before = grads.get(id(x))
                grads[id(x)] = dx if before is None else before + dx
    return tuple(grads.get(id(x)) for x in inputs)


def _computed_parts(result: Expr) -> list[Expr]:
    """The lines and ops that a formula is computed from, each before those that use it."""
    seen: dict[int, Expr] = {}

    def visit(e: Expr) -> None:
        source = e if e.op is not None else e.formula
        if source is not None and id(e) not in seen:
            for part in source.args:
                visit(part)
            seen[id(e)] = e

    visit(result)
    return list(seen.values())
