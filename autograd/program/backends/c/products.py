"""Matrix products: large ones by the BLAS that NumPy brings, small ones by a loop of our own."""

from __future__ import annotations

import numpy as np

from ...program import Instruction
from .places import Place, whole
from .steps import Call, Steps, Writer

LARGE = 40_000  # multiplications in one product, from which on a call of BLAS is worth its cost
FEW = 4  # columns, up to which dot products are faster than sums of rows


def matmul(s: Steps, i: Instruction) -> None:
    """Loops over a batch, and one product in them."""
    dtype = s.dtype(i.out)
    a, b = (s.in_memory(r, dtype) for r in i.inputs)
    c = s.made(i.out)
    if len(b.shape) == 1:
        b, c = b.at((..., None)), c.at((..., None))
    if len(a.shape) == 1:
        a, c = a.at((None,)), c.at((..., None, slice(None)))
    batch = c.shape[:-2]
    a, b, c = _tall(a.broadcast((*batch, *a.shape[-2:])), b.broadcast((*batch, *b.shape[-2:])), c)
    (m, k), n = a.shape[-2:], c.shape[-1]
    large = s.has_blas and m * k * n >= LARGE and min(m, n) > 1
    if large:
        a, b = (x if _lead(x) else s.copied(x, dtype, x.shape) for x in (a, b))
    scratch = []
    if not large and n > FEW and b.strides[-1] != 1:  # to lay its columns side by side
        scratch = [whole(s.fresh((k, n), dtype), (k, n))]
    real, suffix = ("float", "f") if dtype == np.float32 else ("double", "")
    body = _gemm(a, b, c, suffix) if large else _own(a, b, c, suffix)
    body = _over_batch(a, b, c, real, body)

    def lines(writer: Writer) -> list[str]:
        names = [f"const {real} *a", f"const {real} *b", f"{real} *c", *[f"{real} *columns"] * len(scratch)]
        pointers = ", ".join(map(writer.pointer, (a, b, c, *scratch)))
        return [f"{writer.function(names, body)}({pointers});"]

    s.steps.append(Call(lines, (a, b), (i.out, *(x.root for x in scratch))))


def _tall(a: Place, b: Place, c: Place) -> tuple[Place, Place, Place]:
    """A batch of matrices that all meet the same one as a single tall matrix; axes of length 1 left out."""
    while len(c.shape) > 2:
        axis = len(c.shape) - 3
        first = (*(slice(None),) * axis, 0)
        if c.shape[axis] == 1:
            a, b, c = a.at(first), b.at(first), c.at(first)
            continue
        tall_a, tall_c = (x.reshaped((*x.shape[:axis], x.shape[axis] * x.shape[-2], x.shape[-1])) for x in (a, c))
        if b.strides[axis] or tall_a is None or tall_c is None:
            break
        a, b, c = tall_a, b.at(first), tall_c
    return a, b, c


def _lead(x: Place) -> tuple[int, int] | None:
    """How BLAS reads a matrix: by rows (111) or by columns (112), and how far apart these are. None if it cannot."""
    (rows, columns), (down, along) = x.shape[-2:], x.strides[-2:]
    if (along == 1 or columns == 1) and (down >= columns or rows == 1):
        return 111, max(down, columns)
    if (down == 1 or rows == 1) and (along >= rows or columns == 1):
        return 112, max(along, rows)
    return None


def _gemm(a: Place, b: Place, c: Place, suffix: str) -> list[str]:
    (m, k), n = a.shape[-2:], c.shape[-1]
    (how_a, step_a), (how_b, step_b) = _lead(a), _lead(b)  # type: ignore[misc]
    sizes = f"101, {how_a}, {how_b}, {m}, {n}, {k}, 1"
    return [f"given.gemm{suffix}({sizes}, x, {step_a}, y, {step_b}, 0, z, {max(c.strides[-2], n)});"]


def _own(a: Place, b: Place, c: Place, suffix: str) -> list[str]:
    (m, k), n = a.shape[-2:], c.shape[-1]
    (ai, ak), (bk, bj), (ci, cj) = a.strides[-2:], b.strides[-2:], c.strides[-2:]
    if n <= FEW:
        return [f"dots{suffix}(x, {ai}, {ak}, y, {bk}, {bj}, z, {ci}, {cj}, {m}, {k}, {n});"]
    if bj != 1:
        laid = f"lay_rows{suffix}(y, {bk}, {bj}, columns, {k}, {n});"
        return [laid, f"product{suffix}(x, {ai}, {ak}, columns, {n}, z, {ci}, {m}, {k}, {n});"]
    return [f"product{suffix}(x, {ai}, {ak}, y, {bk}, z, {ci}, {m}, {k}, {n});"]


def _over_batch(a: Place, b: Place, c: Place, real: str, body: list[str]) -> list[str]:
    """The loops over a batch, in which the three pointers move."""
    batch = c.shape[:-2]
    loops = [f"for (i64 i{n} = 0; i{n} < {size}; i{n}++)" for n, size in enumerate(batch)]
    x, y, z = (
        " + ".join([name, *(f"i{n} * {place.strides[n]}" for n in range(len(batch)) if place.strides[n])])
        for name, place in zip("abc", (a, b, c))
    )
    return [*loops, "{", f"const {real} *x = {x}, *y = {y};", f"{real} *z = {z};", *body, "}"]
