"""One piece of memory for all arrays of a run: each is there from its first use to its last."""

from __future__ import annotations

from typing import NamedTuple

ALIGN = 64  # bytes: a line of the cache


class Span(NamedTuple):
    """How many bytes are needed, from one group to another."""

    first: int
    last: int
    size: int


def arranged(spans: dict[int, Span]) -> tuple[dict[int, int], int]:
    """An offset for each span, so that no two overlap in time and place; and the bytes needed in all.

    The first line is left free: a failed check writes there.
    """
    offsets: dict[int, int] = {}
    live: list[tuple[int, int, int]] = []  # (offset, end, last group), by offset
    top = ALIGN
    for name, span in sorted(spans.items(), key=lambda item: (item[1].first, -item[1].size)):
        live = [piece for piece in live if piece[2] >= span.first]
        size = -(-span.size // ALIGN) * ALIGN
        best: tuple[int, int] | None = None  # (size of the gap, where it begins)
        at = ALIGN
        for offset, end, _ in live:
            if offset - at >= size and (best is None or offset - at < best[0]):
                best = offset - at, at
            at = max(at, end)
        offset = at if best is None else best[1]
        offsets[name] = offset
        live.append((offset, offset + size, span.last))
        live.sort()
        top = max(top, offset + size)
    return offsets, top
