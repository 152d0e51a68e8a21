"""Long chains of array arithmetic, done piece by piece so that the pieces stay in the processor's cache.

A formula of ten operations on a large array reads and writes memory ten times. Cut into blocks, it does so once.
"""

import numpy as np

BLOCK = 1 << 16  # numbers in a block: three of float64 fit into a second-level cache, and the calls are few enough


def in_blocks(f, x, spares):
    """f(x, out, *spares) run on blocks of a contiguous array x; f fills out, the spares are working space."""
    if x.size <= BLOCK or not x.flags.c_contiguous:
        out = np.empty_like(x)
        f(x, out, *(np.empty_like(x) for _ in range(spares)))
        return out
    out = np.empty_like(x)
    flat_x, flat_out = x.reshape(-1), out.reshape(-1)
    working = np.empty((spares, BLOCK), x.dtype)
    for start in range(0, x.size, BLOCK):
        piece = flat_x[start : start + BLOCK]
        f(piece, flat_out[start : start + BLOCK], *working[:, : piece.size])
    return out
