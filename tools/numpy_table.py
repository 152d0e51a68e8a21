"""The page `docs/numpy.md`: which functions of NumPy and SciPy a Value answers, read off the code.

    python -m tools.numpy_table          writes the page again
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from autograd.arrays.numpy_calls import BY_NUMPY, BY_SCIPY, Answer, OnData
from autograd.op import OPS, Op
from autograd.ops import rounding
from tools.reference import PARTS, part_of

PAGE = Path(__file__).parents[1] / "docs" / "numpy.md"

OPENING = """\
# NumPy's functions on Values

Written from the code (`autograd/arrays/numpy_calls.py`, `autograd/ops/`) by `python -m tools.numpy_table`; a test holds
the page to it.

Call NumPy's function on a Value and you get a Value, recorded like everything else: `np.sum(v, axis=0)`,
`np.linalg.inv(v)`, `np.where(v > 0, v, 0.0)`. A call is read by NumPy's own signature: its names and its order of
arguments hold. `dtype` casts the inputs first, as in NumPy; reductions take `where` and `initial`. `out` is not taken,
nor `where` in a function of each number, nor a function that is not here: the error says so by name, and what to write
instead.
"""

PLAIN = "About the numbers or their shape: the answer is plain"
CONSTANT = "Constant nearly everywhere: the result is a Value, and no gradient flows"


def page() -> str:
    """The whole page."""
    return "\n".join([OPENING, *_table(), *_scipy()]) + "\n"


def _table() -> Iterator[str]:
    rows: dict[str, list[str]] = {title: [] for title in (*PARTS.values(), CONSTANT, PLAIN)}
    for answer in BY_NUMPY.values():
        rows[_row(answer)].append(answer.name)
    yield f"{len(BY_NUMPY)} functions are answered, {_with_gradient()} of them with a gradient."
    yield ""
    yield from ("| | |", "| --- | --- |")
    for title, names in rows.items():
        if names:
            yield f"| {title.removeprefix('Ops: ')} | {', '.join(f'`{name}`' for name in sorted(names))} |"
    yield ""


def _row(answer: Answer) -> str:
    by = answer.by
    if isinstance(answer, OnData) or answer.name == "np.nonzero":
        return PLAIN
    op = by if isinstance(by, Op) else OPS.get(by.__name__)
    if (op is not None and not op.differentiable) or by in rounding.BITWISE.values():
        return CONSTANT
    return PARTS["ops.arithmetic" if getattr(by, "__module__", "") == "autograd.ops" else part_of(by)]


def _with_gradient() -> int:
    return sum(_row(answer) not in (PLAIN, CONSTANT) for answer in BY_NUMPY.values())


def _scipy() -> Iterator[str]:
    yield "And of `scipy.special`, where SciPy is in use: " + ", ".join(f"`{name}`" for name in sorted(BY_SCIPY)) + "."
    yield (
        "Its `logsumexp`, `softmax` and `log_softmax` turn what they get into plain arrays without asking, so a Value "
        "refuses them: write `autograd.logsumexp`, `autograd.softmax` and `autograd.log_softmax`."
    )


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE}: {len(BY_NUMPY)} functions of NumPy, {len(BY_SCIPY)} of scipy.special")


if __name__ == "__main__":
    main()
