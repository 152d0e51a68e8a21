"""Cards made from Values: one node, a folded module, a plain operand."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.drawing.groups import Group
from autograd.drawing.scene import Block, Card, Row
from autograd.formula.names import Names
from autograd.formula.numbers import (
    DIGITS,
    UNKNOWN,
    Cell,
    cell,
    count,
    dimensions,
    full,
    rough,
    short,
    span,
    table,
)
from autograd.value import Value

LARGEST_TABLE = (4, 4)  # rows, columns shown in full
LONGEST_VECTOR = 6
MOST_ENTRIES = 100  # of an array told in full by the interactive page
SPELLED_TERMS = 3  # of a folded sum


@dataclass(frozen=True)
class Style:
    """What a caller of `draw` may choose about every card."""

    detail: str = "full"  # or "brief"
    digits: int = DIGITS
    beside: bool = True
    told: bool = True  # titles and facts, for screen readers and the page


def role_of(node: Value, root: Value, has_parameters: bool, inputs: Iterable[Value] = ()) -> str:
    """Parameter, input, constant, result or output.

    A leaf is a parameter if `nn` made it one. In a graph without such parameters every leaf that asks for a
    gradient is one; other leaves are inputs.
    """
    if node is root and node.op is not None:
        return "output"
    if node.op is not None:
        return "result"
    if any(node is one for one in inputs):
        return "input"
    if has_parameters:
        return "parameter" if is_parameter(node) else "input"
    return "parameter" if node.requires_grad else "input"


def is_parameter(node: Value) -> bool:
    """Made by `nn`, which is not imported for asking: a subclass of Value called Parameter."""
    return any(cls.__name__ == "Parameter" for cls in type(node).__mro__)


def value_card(key: str, node: Value, names: Names, role: str, style: Style) -> Card:
    """The card of one node."""
    name, expression = names.name(node), names.expression(node)
    if node.op is None and not name:
        name = short(node.data, style.digits) if not np.ndim(node.data) else f"array {dimensions(node.shape)}"
    word = {"parameter": "parameter", "input": "input"}.get(role, "")
    if role == "output":
        # A loss is where the gradient starts, with 1.
        word = "loss" if not np.ndim(node.data) and (node.grad is None or node.grad == 1) else "output"
    bad = not _finite(node.data) or not _finite(node.grad)
    rows: tuple[Row, ...] = ()
    blocks: tuple[Block, ...] = ()
    if node.op is not None and node.op.view and not node.name and role == "result" and not bad:
        pass  # the same numbers again: a pill says it
    elif style.detail == "brief":
        rows = (_brief(node),)
    elif not np.ndim(node.data):
        rows = _scalar_rows(node, style.digits)
    elif is_small(node.shape):
        blocks = _tables(node, style.digits)
    else:
        rows = _summary_rows(node)
    return Card(
        key,
        role,
        name,
        expression,
        word,
        rows,
        blocks,
        style.beside,
        bad=bad,
        title=_sentence(name, expression, role, node, style.digits) if style.told else "",
        facts=facts(node) if style.told else {},
        made_up=names.is_made_up(node),
    )


def is_small(shape: tuple[int, ...]) -> bool:
    """Shown entry by entry?"""
    if 0 in shape or len(shape) > 2:
        return False
    if len(shape) == 1:
        return shape[0] <= LONGEST_VECTOR
    return shape[0] <= LARGEST_TABLE[0] and shape[1] <= LARGEST_TABLE[1]


def plain_card(key: str, operand: Any, names: Names, style: Style, part: str = "") -> Card:
    """An array that is no Value, as the small dashed card of a constant; `part` is what its op calls it."""
    array = np.asarray(operand)
    name = names.name(operand)
    shown = dimensions(array.shape) + (f" {_kind(array)}" if _kind(array) else "")
    blocks: tuple[Block, ...] = ()
    if array.ndim == 1 and 0 < array.size <= LONGEST_VECTOR:
        shown = str(table(array, style.digits))
    elif array.ndim == 2 and is_small(array.shape) and style.detail == "full":
        blocks = (Block("value", table(array, style.digits)),)
        name, shown = name or part or "array", ""
    elif part and not name:
        shown = f"{part} {shown}"
    title = f"{name or part or 'array'}, constant; {dimensions(array.shape)} {array.dtype}"
    return Card(
        key,
        "constant",
        name,
        shown,
        "constant" if blocks else "",
        (),
        blocks,
        style.beside,
        title=title,
        facts={"value": _in_full(array)},
    )


def module_card(group: Group, parameters: list[Value], style: Style) -> Card:
    """A folded module: how many parameters, what comes out, how large its gradient is."""
    scope = group.scope
    assert scope is not None
    result = group.result
    kind = scope.kind if scope.kind != group.name else ""
    rows = [Row("parameters", count(sum(np.size(leaf.data) for leaf in parameters)), "info")] if parameters else []
    if style.detail == "full":
        rows.append(Row("out", _shape_text(result), "info"))
        if np.size(result.data):
            rows.append(_range_row(result.data))
    rows.append(_norms_row(group, parameters))
    nodes = [*group.members, *group.absorbed]
    bad = not all(_finite(node.data) and _finite(node.grad) for node in nodes)
    title = f"{group.name} {kind}, module{f' times {len(group.copies)}' if group.copies else ''}; " + ", ".join(
        f"{row.caption} {row.text}" for row in rows
    )
    return Card(
        group.key,
        "module",
        group.name,
        kind,
        "",
        tuple(rows),
        copies=max(1, len(group.copies)),
        bad=bad,
        title=title,
        facts={"holds": f"{count(len(nodes))} nodes"},
    )


def sum_card(group: Group, names: Names, role: str, style: Style) -> Card:
    """A folded chain of additions: its last node, with the terms spelled out as far as they fit."""
    whole = value_card(group.key, group.result, names, role, style)
    terms = _terms(group, names)
    if len(terms) > SPELLED_TERMS + 1:
        terms = [*terms[: SPELLED_TERMS - 1], "…", terms[-1]]
    expression = " + ".join(terms)
    return Card(
        whole.key,
        whole.role,
        whole.name,
        expression,
        whole.word,
        whole.rows,
        whole.blocks,
        whole.beside,
        bad=whole.bad,
        made_up=whole.made_up,
        title=f"{whole.name or 'sum'} = {' + '.join(_terms(group, names))}",
        facts={**whole.facts, "folded": f"{count(len(group.members))} nodes of a sum"},
    )


def rest_card(group: Group, style: Style) -> Card:
    """What a drawing left out."""
    text = f"{count(len(group.members))} nodes not shown"
    return Card(group.key, "module", "…", text, title=text)


def facts(node: Value) -> dict[str, str]:
    """What the interactive page tells about a node, in full."""
    told = {"value": _in_full(node.data), "grad": "None" if node.grad is None else _in_full(node.grad)}
    if np.ndim(node.data):
        told["shape"] = f"{dimensions(node.shape)} {node.dtype}"
    if node.op is not None:
        told["op"] = node.op.name
    if node.line:
        told["line"] = node.line
    if node.scope is not None and node.scope.path:
        told["module"] = node.scope.path
    return told


def grad_caption(text: str = "grad", power: str = "") -> str:
    return f"{text} {power}".strip()


def _scalar_rows(node: Value, digits: int) -> tuple[Row, ...]:
    value = cell(node.data, digits)
    rows = [Row("value", value.text, strong=True, bad=value.kind == "bad")]
    if node.requires_grad or node.grad is not None:
        rows.append(gradient_row(None if node.grad is None else cell(node.grad, digits)))
    return tuple(rows)


def gradient_row(number: Cell | None, caption: str = "grad") -> Row:
    """A scalar's gradient, or the place it will have."""
    if number is None:
        return Row(caption, UNKNOWN, "unknown", strong=True)
    return Row(caption, number.text, "grad", strong=True, bad=number.kind == "bad")


def _tables(node: Value, digits: int) -> tuple[Block, ...]:
    value = table(node.data, digits)
    blocks = [Block(grad_caption("value", value.power), value)]
    if node.requires_grad or node.grad is not None:
        blocks.append(gradient_block(node.grad, digits))
    return tuple(blocks)


def gradient_block(gradient: Any, digits: int = DIGITS, caption: str = "grad") -> Block:
    """A small array's gradient, or the place it will have."""
    if gradient is None:
        return Block(caption, None, "unknown")
    numbers = table(gradient, digits)
    return Block(grad_caption(caption, numbers.power), numbers, "grad")


def _summary_rows(node: Value) -> tuple[Row, ...]:
    rows = [Row("shape", _shape_text(node), "info")]
    if np.size(node.data):
        rows.append(_range_row(node.data))
    if node.requires_grad or node.grad is not None:
        rows.append(_norm_row(node.grad))
    return tuple(rows)


def _brief(node: Value) -> Row:
    what = dimensions(node.shape) if np.ndim(node.data) else short(node.data, 3)
    if not (node.requires_grad or node.grad is not None):
        return Row(what, "", "info")
    bars = "‖g‖" if np.ndim(node.data) else "g"
    if node.grad is None:
        return Row(what, f"{bars} {UNKNOWN}", "unknown")
    size = norm(node.grad) if np.ndim(node.data) else float(node.grad)
    return Row(what, f"{bars} {rough(size)}", "grad", bad=not math.isfinite(size), plain_caption=True)


def _norm_row(gradient: Any) -> Row:
    if gradient is None:
        return Row("‖grad‖", UNKNOWN, "unknown")
    size = norm(gradient)
    return Row("‖grad‖", rough(size), "grad", bad=not math.isfinite(size))


def _norms_row(group: Group, parameters: list[Value]) -> Row:
    """The norm of a module's gradient; one bar per copy when it repeats."""
    if not group.copies:
        return _total_norm_row(parameters)
    sizes = [_total_norm([leaf for leaf in copy.absorbed if leaf.requires_grad]) for copy in group.copies]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return Row("‖grad‖", UNKNOWN, "unknown")
    ends = span(min(known), max(known)) if min(known) != max(known) else rough(known[0])
    return Row("‖grad‖", ends, "grad", bad=not all(map(math.isfinite, known)), bars=_bars(known))


def _total_norm_row(parameters: list[Value]) -> Row:
    size = _total_norm(parameters)
    if size is None:
        return Row("‖grad‖", UNKNOWN, "unknown")
    return Row("‖grad‖", rough(size), "grad", bad=not math.isfinite(size))


def _total_norm(parameters: list[Value]) -> float | None:
    gradients = [leaf.grad for leaf in parameters if leaf.grad is not None]
    return math.hypot(*map(norm, gradients)) if gradients else None


def _bars(sizes: list[float]) -> tuple[float, ...]:
    """Heights on a log scale from the decade below the smallest."""
    if not all(math.isfinite(size) and size > 0 for size in sizes):
        return tuple(1.0 if size > 0 else 0.0 for size in sizes)
    floor = math.ceil(math.log10(min(sizes))) - 1
    whole = math.log10(max(sizes)) - floor
    return tuple(round((math.log10(size) - floor) / whole, 3) for size in sizes)


def _range_row(data: Any) -> Row:
    low, high = float(np.min(data)), float(np.max(data))
    return Row("range", span(low, high), "info", bad=not (math.isfinite(low) and math.isfinite(high)))


def norm(array: Any) -> float:
    """The Euclidean length of all entries, also where their squares are too large or too small for a float."""
    entries = np.ravel(array)
    with np.errstate(over="ignore", under="ignore"):
        size = float(np.linalg.norm(entries))
    if 0 < size < math.inf or not entries.size:
        return size
    largest = float(np.max(np.abs(entries)))
    return largest * float(np.linalg.norm(entries / largest)) if 0 < largest < math.inf else size


def _terms(group: Group, names: Names) -> list[str]:
    inside = set(group.members)
    terms = []
    for node in group.members:
        if node.op is not None and node.op.name == "add":
            for x in node.inputs:
                if not (isinstance(x, Value) and x in inside and x.op is not None and x.op.name == "add"):
                    product = isinstance(x, Value) and x in inside
                    terms.append(names.expression(x) if product else names.call(x))
    return terms


def _shape_text(node: Value) -> str:
    kind = _kind(np.asarray(node.data))
    return dimensions(node.shape) + (f" {kind}" if kind else "")


def _kind(array: np.ndarray[Any, Any]) -> str:
    """The dtype, unless it is the usual one."""
    if array.dtype == np.float64:
        return ""
    return {"i": "int", "u": "int", "b": "bool"}.get(array.dtype.kind, str(array.dtype))


def _finite(data: Any) -> bool:
    if data is None or data.__class__ is bool:
        return True
    if data.__class__ is float:
        return math.isfinite(data)
    # One NaN or infinity makes the sum so; only a sum that overflowed has to be looked at in full.
    with np.errstate(all="ignore"):
        return bool(np.isfinite(np.sum(data)) or np.all(np.isfinite(data)))


def _in_full(data: Any) -> str:
    """Every digit of a small array; of a large one how it begins."""
    if np.size(data) <= MOST_ENTRIES:
        return full(data)
    first = ", ".join(full(entry) for entry in np.ravel(data)[:8])
    return f"[{first}, …] ({count(np.size(data))} numbers)"


def _sentence(name: str, expression: str, role: str, node: Value, digits: int) -> str:
    """What a screen reader says of a card."""
    what = " = ".join(part for part in (name, expression) if part)
    if np.ndim(node.data) == 0:
        value = f"value {short(node.data, digits)}"
    elif is_small(node.shape):
        value = f"value {_spoken(node.data, digits)}"
    else:
        value = f"shape {_shape_text(node)}"
    if node.grad is None:
        gradient = "gradient none yet" if node.requires_grad else "no gradient asked for"
    elif np.ndim(node.grad) == 0:
        gradient = f"gradient {short(node.grad, digits)}"
    elif is_small(node.shape):
        gradient = f"gradient {_spoken(node.grad, digits)}"
    else:
        gradient = f"gradient norm {rough(norm(node.grad))}"
    return f"{what}, {role}; {value}; {gradient}"


def _spoken(array: Any, digits: int) -> str:
    numbers = table(array, digits)
    rows = "; ".join(", ".join(one.text for one in row) for row in numbers.rows)
    return f"{'rows ' if len(numbers.rows) > 1 else ''}{rows}{numbers.power}"
