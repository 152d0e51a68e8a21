"""The core: the ops without a lowering. Every other op becomes these, and a backend has to know no others.

An op belongs here if no formula in simpler ops is as exact, as fast and as easy to read.
"""

from __future__ import annotations

from autograd.op import OPS, Op
from autograd.ops import POINTWISE, arrange, reduce, shape, special
from autograd.ops.indexing import join, rows
from autograd.ops.matrices import eigen, linalg, linear

FAMILIES = {  # by the files that their blocks stand in
    "each number on its own": tuple(file for file in POINTWISE if file is not special),
    "views, copies, joins": (shape, join), "rows by ids, orders": (rows, arrange),
    "reductions, running sums": (reduce,), "products": (linear,),
    "series and decompositions": (special, linalg, eigen),
}  # fmt: skip


def is_core(op: Op) -> bool:
    """Whether an op has no lowering."""
    return op.lower is None


def core() -> dict[str, list[str]]:
    """The names of the core ops, by family. Those of the last are left to a library: LAPACK, Python's own functions."""
    family_of: dict[int, str] = {}
    for family, files in FAMILIES.items():
        for file in files:
            for x in vars(file).values():
                family_of.setdefault(id(x), family)  # a file also has names of earlier ones
    return {f: [name for name, op in OPS.items() if is_core(op) and family_of[id(op)] == f] for f in FAMILIES}
