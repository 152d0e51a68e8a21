"""Passes: programs in, programs out, each with the same results.

    opening.py   fused ops as the core ops they are made of; forward and backward then share what they both compute
    simplify.py  powers with a small exponent as products and roots; ops that do nothing left out; a sum of parts, each
                 in its own slice of zeros, as one concatenation
    sharing.py   the same op on the same registers, once; what depends on constants alone, computed beforehand; what
                 no result needs, left out
    core.py      the ops that are left for a backend
    reroll.py    scalar code as array ops, which read them by the views that `views.py` finds

`open_fused` computes on an example of the inputs, since a lowering runs on Values as rules do; it changes the last
digits of a result. So may `simplify`. The others keep every bit.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ..program import Program
from .opening import Keeps, open_fused
from .sharing import drop_dead, fold, share
from .simplify import simplify


def optimised(program: Program, example: Sequence[Any], keeps: Keeps | None = None) -> Program:
    """All passes, in the order in which each finds most to do."""
    opened = functools.partial(open_fused, example=example, keeps=keeps)
    for change in (drop_dead, opened, fold, simplify, share, drop_dead):
        program = change(program)
    return program
