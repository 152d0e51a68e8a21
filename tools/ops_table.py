"""The page `docs/ops.md`: every op of the table, how it reads, its rule as it prints, and its definition.

    python -m tools.ops_table          writes the page again (`make docs` does too)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from autograd import Value
from autograd.expr import Expr, rule
from autograd.expr.rules import own_names
from autograd.op import OPS, Op
from tools.reference import PARTS, part_of

PAGE = Path(__file__).parents[1] / "docs" / "ops.md"
LONGEST = 160  # characters of a formula in a cell

OPENING = """\
# The table of ops

Written from the table (`autograd/ops/`) by `python -m tools.ops_table`; a test holds the page to it.

A rule says what an op sends to each of its inputs in a backward pass. In it `g` is the gradient that arrives at the
result, and `out` is the result. `name = ...;` is a step that the rule names. Where a rule depends on shapes or
settings, the page shows it for the op's first sample. A definition computes the same result from simpler ops: tests
hold the op to it, and readers open the op by it.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([OPENING, *_sections()]) + "\n"


def _sections() -> Iterator[str]:
    families: dict[str, list[Op]] = {}
    for op in OPS.values():
        if not getattr(op, "custom", False):
            families.setdefault(PARTS[part_of(op)], []).append(op)
    for title in dict.fromkeys(PARTS.values()):
        if title in families:
            yield f"## {title.removeprefix('Ops: ').capitalize()}\n"
            yield "| op | reads | its rule, input by input | its definition |\n| --- | --- | --- | --- |"
            yield from (row(op) for op in families[title])
            yield ""


def row(op: Op) -> str:
    """One line of the page."""
    node = _first_sample(op)
    return f"| {op.name} | {_code(op.reads)} | {_rule(op, node)} | {_definition(op, node)} |"


def _first_sample(op: Op) -> Any:
    f, inputs = op.on(op.samples[0])
    return f(*(Value(x) if np.asarray(x).dtype.kind == "f" else x for x in inputs))


def _rule(op: Op, node: Any) -> str:
    if not op.differentiable:
        return "no gradient flows"
    values = tuple(x.data if isinstance(x, Value) else x for x in node.inputs)
    gradients = rule(op, values) if op.normalize is None else rule(node)
    return ", ".join("none" if gradient is None else _code(str(gradient)) for gradient in gradients)


def _definition(op: Op, node: Any) -> str:
    if op.definition is None:
        return ""
    values = [x.data if isinstance(x, Value) else x for x in node.inputs]
    named = zip(own_names(op, len(values)), values, strict=True)
    inputs = [x if x is None else Expr(name, x) for name, x in named]
    return _code(str(op.definition(*inputs, **node.op.settings)))


def _code(text: str) -> str:
    """Text as code in a cell; a long one is only begun."""
    short = text if len(text) <= LONGEST else text[: LONGEST - 2].rsplit(" ", 1)[0] + " …"
    return "`" + short.replace("|", "\\|") + "`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
