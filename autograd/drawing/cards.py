"""Cards made from Values: one node, a folded module, a plain operand.

A small array is shown entry by entry, one of rank 3 or 4 as its slices; a larger one by its shape and range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.errors import counted
from autograd.formula.names import Names
from autograd.formula.numbers import (
    DIGITS,
    DRAWN,
    LIMITS,
    UNKNOWN,
    Cell,
    NumberTable,
    Window,
    cell,
    count,
    dimensions,
    full,
    norm,
    notation,
    rough,
    short,
    shows_entries,
    span,
    table,
)

from .folding.rows import ends, size_text
from .groups import Group
from .options import Options
from .scene import WIDEST_NUMBER, Block, Card, Row

FAR_SIZE, FAR_RATIO = 5e3, 1e3  # an entry so large, and so many times as large as all smaller ones, is written apart
MOSTLY = 0.01  # of a number: what its short form may be off
MOST_ENTRIES = 100  # of an array that a tooltip shows in full
WIDEST_BESIDE = 3  # columns of slices up to which the gradient stands beside the value
NORM = "‖grad‖"
MOST_BARS = 40


# --- kinds of cards -----------------------------------------------------------------------------------------


def value_card(key: str, node: Value, names: Names, role: str, options: Options, tooltips: bool) -> Card:
    """The card of one node; `tooltips`: with what a screen reader says, and what the page adds."""
    name, expression = names.own_name(node), names.expression(node)
    if node.op is None and not name:
        name = short(node.data, options.digits) if not np.ndim(node.data) else f"array {dimensions(node.shape)}"
    bad = not finite(node)
    rows: tuple[Row, ...] = ()
    blocks: tuple[Block, ...] = ()
    if _is_view(node, options) and role == "result" and not bad:
        pass  # it has the numbers of its operand: a pill is enough
    elif options.detail == "brief":
        rows = (brief_row(node),)
    elif not np.ndim(node.data):
        rows = _scalar_rows(node, options.digits, 0 if role == "input" else WIDEST_NUMBER)
    elif node.size and (options.stepping or shows_entries(node.shape, DRAWN)):
        blocks = _tables(node, options.digits)
    else:
        rows = _summary_rows(node)
    return Card(
        key,
        "output" if role == "loss" else role,
        name,
        expression,
        "" if role == "result" else role,
        rows,
        blocks,
        options.beside and _stands_beside(node.shape, options),
        bad=bad,
        **(_spoken_parts(name, expression, role, node, options.digits) if tooltips else {}),
        tooltip=tooltip(node) if tooltips else {},
        made_up=names.is_made_up(node),
    )


def _is_view(node: Value, options: Options) -> bool:
    """Does a node show numbers of its operand again? While stepping, all of them: a picked row is a result."""
    if node.op is None or not node.op.view or node.name:
        return False
    return not options.stepping or node.size == node.parents[0].size


def _stands_beside(shape: tuple[int, ...], options: Options) -> bool:
    """Are the tables narrow enough for the gradient to stand beside the value?"""
    most = WIDEST_BESIDE if len(shape) > 2 else DRAWN.columns
    return not shape or shape[-1] <= most or (len(shape) < 3 and not options.stepping)


def plain_card(key: str, operand: Any, names: Names, options: Options, part: str = "") -> Card:
    """A plain array (not a Value), as the small dashed card of a constant; `part` is what its op calls it."""
    array = np.asarray(operand)
    name, shown = names.own_name(operand), _shape_text(array)
    blocks: tuple[Block, ...] = ()
    limits = LIMITS if options.stepping else DRAWN
    if array.ndim == 1 and 0 < array.size <= DRAWN.vector:
        shown = str(table(array, options.digits))
    elif array.ndim > 1 and shows_entries(array.shape, limits) and options.detail != "brief":
        blocks = (entries_block(array, options.digits, "value", "value"),)
        name, shown = name or part or "array", ""
    elif part and not name:
        shown = f"{part} {shown}"
    says, numbers = f"{name or part or 'array'}, constant", f"{dimensions(array.shape)} {array.dtype}"
    word = "constant" if blocks else ""
    tooltip = {"value": _in_full(array)}
    return Card(
        key, "constant", name, shown, word, (), blocks, options.beside, says=says, says_value=numbers, tooltip=tooltip
    )


def module_card(
    group: Group, parameters_of: Callable[[Group], Sequence[Value]], options: Options, times: int | None = None
) -> Card:
    """A folded module: how many parameters, what comes out, how large a gradient is. The gradient is that of its
    parameters; while stepping, or if it has none, that of its outputs."""
    kind = group.scope.kind if group.scope is not None and group.scope.kind != group.name else ""
    parameters = parameters_of(group)
    numbers = sum(np.size(leaf.data) for leaf in parameters)
    each = len(group.copies) if group.title and times is None and len(group.copies) > 1 else 1
    own = {sum(np.size(leaf.data) for leaf in parameters_of(copy)) for copy in group.copies} if each > 1 else set()
    rows = []
    if parameters:
        rows = [Row("parameters", f"{count(min(own))} each" if len(own) == 1 else count(numbers), "info")]
    if options.detail != "brief":
        shown = group.copies[0].outputs if each > 1 else group.outputs
        rows.append(Row("out", _shapes_text(shown) + " each" * (each > 1), "info"))
        rows += _range_rows(group.outputs)
    rows.append(_module_norm_row(group, parameters_of if parameters and not options.stepping else None))
    nodes = [*group.members, *group.absorbed]
    bad = not all(finite(node) for node in nodes)
    repeated = f" times {len(group.copies)}" if group.copies else ""
    says, told = f"{group.name} {kind}, module{repeated}", ", ".join(f"{row.caption} {row.text}" for row in rows)
    tooltip = {"holds": f"{count(len(nodes))} nodes"}
    copies = times or (1 if group.title else max(1, len(group.copies)))
    return Card(
        group.key, "module", group.name, kind, rows=tuple(rows), copies=copies, bad=bad, says=says, says_value=told,
        tooltip=tooltip,
    )  # fmt: skip


def rest_card(group: Group) -> Card:
    """What a drawing left out."""
    text = f"{count(len(group.members))} nodes not shown"
    return Card(group.key, "module", "…", text, says=text)


# --- what a card shows of a node ----------------------------------------------------------------------------


def entries_block(array: Any, digits: int, caption: str, kind: str) -> Block:
    """A small array entry by entry, of a larger one a window. Slices of one of rank 3 and up share their decimals and
    their power of ten."""
    array = np.asarray(array)
    if not shows_entries(array.shape):
        window = Window(array.shape)
        numbers = table(window.of(array), digits, notation(array, digits))
        down = tuple(map(str, window.rows)) if array.ndim > 1 else ()
        return Block(f"{caption} {dimensions(array.shape)} {numbers.power}".strip(), numbers, kind, rows=down,
                     columns=tuple(map(str, window.columns)), foot=window.note)  # fmt: skip
    slices = [f"[{', '.join(map(str, index))}]" for index in np.ndindex(array.shape[:-2])] if array.ndim > 2 else []
    flat = array.reshape(-1, array.shape[-1]) if slices else array
    far = far_off(flat)
    if far is None:
        numbers = table(flat, digits)
    else:
        plain = table(np.where(far, 0.0, flat), digits, notation(flat[~far], digits))
        rows = zip(plain.rows, np.atleast_2d(flat).tolist(), np.atleast_2d(far).tolist())
        cells = tuple(tuple(_far_cell(x, digits) if is_far else one for one, x, is_far in zip(*row)) for row in rows)
        numbers = replace(plain, rows=cells)
    return Block(f"{caption} {numbers.power}".strip(), numbers, kind, tuple(slices))


@np.errstate(all="ignore")
def far_off(data: Any) -> Any:
    """Which entries are so much larger than the others that they would take all of their digits, as the −10⁹ of a mask
    would; None if there are none."""
    array = np.asarray(data)
    if array.dtype.kind != "f" or array.size < 2:
        return None
    sizes = np.abs(array)
    ordered = np.sort(sizes[np.isfinite(sizes) & (sizes > 0)])
    jumps = np.flatnonzero((ordered[1:] >= FAR_SIZE) & (ordered[1:] / ordered[:-1] >= FAR_RATIO))
    return np.isfinite(sizes) & (sizes > ordered[jumps[-1]]) if len(jumps) else None


def _far_cell(number: float, digits: int) -> Cell:
    """Such an entry by its power of ten, `−10⁹`, where that is nearly it; a negative one as quiet as a zero, for it is
    a mask's."""
    step = 10.0 ** math.floor(math.log10(abs(number)) + MOSTLY)
    is_round = abs(number / step - round(number / step)) < MOSTLY * abs(number / step)
    text = cell(round(number / step) * step if is_round else number, digits).text.replace("1×", "")
    return Cell(text, "zero" if number < 0 else "number")


def gradient_block(gradient: Any, digits: int = DIGITS, caption: str = "grad") -> Block:
    """A small array's gradient, or the place it will have."""
    return Block(caption, None, "unknown") if gradient is None else entries_block(gradient, digits, caption, "grad")


def gradient_row(number: Cell | None, caption: str = "grad") -> Row:
    """A scalar's gradient, or the place it will have."""
    if number is None:
        return Row(caption, UNKNOWN, "unknown", strong=True)
    return Row(caption, number.text, "grad", strong=True, bad=number.kind == "bad")


def _wants_gradient(node: Value) -> bool:
    return node.requires_grad or node.grad is not None


def _scalar_rows(node: Value, digits: int, room: int) -> tuple[Row, ...]:
    value, gradient = cell(node.data, digits), node.grad
    rows = (Row("value", value.text, strong=True, bad=value.kind == "bad", roomy=room),)
    if not _wants_gradient(node):
        return rows
    return (*rows, replace(gradient_row(None if gradient is None else cell(gradient, digits)), roomy=room))


def _tables(node: Value, digits: int) -> tuple[Block, ...]:
    value = entries_block(node.data, digits, "value", "value")
    if is_masked(node) and value.table is not None:
        value = replace(value, table=_without_alarm(value.table))
    return (value, gradient_block(node.grad, digits)) if _wants_gradient(node) else (value,)


def _without_alarm(numbers: NumberTable) -> NumberTable:
    """The table with the −∞ of a mask painted as a zero is, not as an error."""
    rows = tuple(tuple(replace(one, kind="zero") if one.text == "−∞" else one for one in row) for row in numbers.rows)
    return replace(numbers, rows=rows)


def _summary_rows(node: Value) -> tuple[Row, ...]:
    norms = [_norm_row([node.grad])] if _wants_gradient(node) else []
    return (Row("shape", _shape_text(node.data), "info"), *_range_rows([node]), *norms)


def brief_row(node: Value) -> Row:
    """One line of numbers."""
    what = size_text(node) if np.ndim(node.data) else short(node.data, 3)
    if not _wants_gradient(node):
        return Row(what, "", "info")
    gradient, word = node.grad, "‖g‖" if np.ndim(node.data) else "g"
    if gradient is None:
        return Row(what, f"{word} {UNKNOWN}", "unknown")
    size = norm(gradient) if np.ndim(node.data) else float(gradient)
    return Row(what, f"{word} {rough(size)}", "grad", bad=not math.isfinite(size), plain_caption=True)


def _range_rows(nodes: Sequence[Value]) -> list[Row]:
    """The smallest and the largest of all entries, without those that a mask hides."""
    shown = [np.ravel(_unmasked(node)) for node in nodes]
    entries = np.concatenate(shown) if shown else np.empty(0)
    if not entries.size:
        return []
    low, high = float(np.min(entries)), float(np.max(entries))
    bad = not (math.isfinite(low) and math.isfinite(high))
    if entries.size == 1:
        return [Row("value", rough(low), "info", bad=bad)]
    caption = "range, unmasked" if len(entries) < sum(np.size(node.data) for node in nodes) else "range"
    return [Row(caption, span(low, high), "info", bad=bad)]


def is_masked(node: Value) -> bool:
    """Is −∞ there on purpose: does a plain operand hold it, as `where(mask, scores, -inf)` does?"""
    return any(not isinstance(x, Value) and x is not None and bool(np.any(np.isneginf(x))) for x in node.inputs)


def _unmasked(node: Value) -> Any:
    """A node's numbers, without those of a mask: −∞ on purpose, or far below all others."""
    if node.data.__class__ is float:
        return node.data
    shown = node.data[~np.isneginf(node.data)] if is_masked(node) else node.data
    far = far_off(shown)
    return shown if far is None or np.any(shown[far] > 0) else shown[~far]


# --- norms --------------------------------------------------------------------------------------------------


def _norm_row(gradients: Sequence[Any], whose: str = "") -> Row:
    """The norm of these gradients together, of those that are known."""
    size = _joint_norm(gradients)
    caption = f"{NORM} {whose}".strip()
    if size is None:
        return Row(caption, UNKNOWN, "unknown")
    return Row(caption, rough(size), "grad", bad=not math.isfinite(size))


def _joint_norm(gradients: Sequence[Any]) -> float | None:
    known = [norm(gradient) for gradient in gradients if gradient is not None]
    return math.hypot(*known) if known else None


def _module_norm_row(group: Group, parameters_of: Callable[[Group], Sequence[Value]] | None) -> Row:
    """The norm of a module's gradient, and whose it is; one bar per copy when the module repeats."""

    def owners(one: Group) -> Sequence[Value]:
        return parameters_of(one) if parameters_of else one.outputs

    its = "its " if not group.copies else ""
    whose = f"of {its}{'parameters' if parameters_of else 'output'}"
    if not group.copies:
        return _norm_row([node.grad for node in owners(group)], whose)
    apart = {tuple(nodes): None for nodes in map(owners, group.copies or [group])}  # calls may share their parameters
    sizes = [_joint_norm([node.grad for node in nodes]) for nodes in apart]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return _norm_row([], whose)
    text = ends(known, in_a_row=False, sizes=True)
    bars = _bars(known) if min(known) != max(known) and len(known) <= MOST_BARS else ()
    return Row(f"{NORM} {whose}", text, "grad", bad=not all(map(math.isfinite, known)), bars=bars)


def _bars(sizes: list[float]) -> tuple[float, ...]:
    """Heights on a log scale from the decade below the smallest."""
    if not all(math.isfinite(size) and size > 0 for size in sizes):
        return tuple(1.0 if size > 0 else 0.0 for size in sizes)
    floor = math.ceil(math.log10(min(sizes))) - 1
    whole = math.log10(max(sizes)) - floor
    return tuple(round((math.log10(size) - floor) / whole, 3) for size in sizes)


# --- words --------------------------------------------------------------------------------------------------


def tooltip(node: Value) -> dict[str, str]:
    """What the interactive page says about a node when you point at its card: caption, text."""
    gradient = node.grad
    lines = {"value": _in_full(node.data), "grad": "None" if gradient is None else _in_full(gradient)}
    if np.ndim(node.data):
        lines["shape"] = _shape_text(node.data)
    if node.op is not None:
        lines["op"] = node.op.name
    if node.line:
        lines["line"] = node.line
    if node.scope is not None and node.scope.path:
        lines["module"] = node.scope.path
    return lines


def _shape_text(data: Any) -> str:
    """The shape, and the dtype unless it is the usual one."""
    array = np.asarray(data)
    if array.dtype == np.float64:
        return dimensions(array.shape)
    kind = {"i": "int", "u": "int", "b": "bool"}.get(array.dtype.kind, str(array.dtype))
    return f"{dimensions(array.shape)} {kind}"


def _shapes_text(nodes: Sequence[Value]) -> str:
    """The shape of a module's output; `3 numbers` if it gives a list of scalars."""
    if not any(node.shape for node in nodes):
        return counted(len(nodes), "number")
    shapes = dict.fromkeys(_shape_text(node.data) for node in nodes)
    return next(iter(shapes)) if len(nodes) == 1 else f"{count(len(nodes))} arrays {' and '.join(shapes)}"


def _finite(data: Any) -> bool:
    if data is None or data.__class__ is bool:
        return True
    if data.__class__ is float:
        return math.isfinite(data)
    return _all_finite(data)


def finite(node: Value) -> bool:
    """Are its value and its gradient finite, but for a mask?"""
    return _finite(_unmasked(node)) and _finite(node.grad)


@np.errstate(all="ignore")
def _all_finite(data: Any) -> bool:
    # One NaN or infinity makes the sum so; only a sum that overflowed has to be looked at in full.
    return bool(np.isfinite(np.sum(data)) or np.all(np.isfinite(data)))


def _in_full(data: Any) -> str:
    """Every digit of a small array; of a large one how it begins."""
    if np.size(data) <= MOST_ENTRIES:
        return full(data)
    first = ", ".join(full(entry) for entry in np.ravel(data)[:8])
    return f"[{first}, …] ({count(np.size(data))} numbers)"


def _spoken_parts(name: str, expression: str, role: str, node: Value, digits: int) -> dict[str, Any]:
    """What a screen reader says of a card: what it is, its value, its gradient."""
    what = " = ".join(part for part in (name, expression) if part)
    in_full, gradient = shows_entries(node.shape), node.grad
    value = f"value {_spoken(node.data, digits)}" if in_full else f"shape {_shape_text(node.data)}"
    if gradient is None:
        sent = "gradient none yet" if node.requires_grad else "no gradient asked for"
    else:
        sent = f"gradient {_spoken(gradient, digits)}" if in_full else f"gradient norm {rough(norm(gradient))}"
    return {"says": f"{what}, {role}", "says_value": value, "says_gradient": sent}


def _spoken(array: Any, digits: int) -> str:
    if not np.ndim(array):
        return short(array, digits)
    block = entries_block(array, digits, "", "value")
    assert block.table is not None
    rows = [", ".join(one.text for one in row) for row in block.table.rows]
    each = len(rows) // max(1, len(block.slices))
    for number, label in enumerate(block.slices):
        rows[number * each] = f"{label} {rows[number * each]}"
    return f"{'rows ' if len(rows) > 1 else ''}{'; '.join(rows)}{block.table.power}"
