"""The C backend: a program as C that the system's compiler builds once.

    ops.py       each op as steps: loops over numbers, and calls (steps.py); views are places (places.py)
    groups.py    loops over the same numbers, together
    kernels.py   a group as the text of a function; products.py: matrix products; tape.py: very many single numbers
    source.py    the text of a whole library, and where each array lies; prelude.c and real.c are its fixed part
    compiler.py  the compiler, and the cache of what it built
    library.py   calling it; NumPy's own matrix product
    cut.py       what C cannot do, left to NumPy

Nothing of a program but its ops, its shapes and its plain numbers comes into the text: no name that anybody gave.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...program import Program
from .. import Runner
from .cut import cut, joined
from .library import library_of


def build(program: Program) -> Runner:
    """A function from inputs to results, for any thread."""
    return built([program])[0]


def built(programs: Sequence[Program]) -> list[Runner]:
    """One runner a program, from one library, since each call of a compiler costs a fraction of a second."""
    parts = [cut(program) for program in programs]
    in_c = [part.program for of_one in parts for part in of_one if part.in_c]
    runners = iter(library_of(in_c))
    return [joined(program, of_one, runners) for program, of_one in zip(programs, parts)]
