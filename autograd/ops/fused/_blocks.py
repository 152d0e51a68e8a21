"""Long chains of array arithmetic, done piece by piece so that the pieces stay in the processor's cache.

A formula of ten operations on a large array reads and writes memory ten times. Cut into blocks, it does so once.
"""

import numpy as np

BLOCK = 1 << 18  # bytes of an array: several such blocks fit into a second-level cache, and the calls are few enough


def pieces(n, size):
    """Slices of n things of so many bytes each: a block's worth at a time."""
    count = max(1, BLOCK // max(size, 1))
    return [slice(start, start + count) for start in range(0, n, count)]


def in_blocks(f, *arrays, spares=0):
    """A new array, filled by f(*arrays, out, *spares) block by block; the spares are working space.

    The arrays have one shape and dtype; f may write to them too.
    """
    out = np.empty_like(arrays[0])
    if out.nbytes <= BLOCK or not all(array.flags.c_contiguous for array in arrays):
        f(*arrays, out, *(np.empty_like(out) for _ in range(spares)))
        return out
    flat = [array.reshape(-1) for array in (*arrays, out)]
    working = np.empty((spares, BLOCK // out.itemsize), out.dtype)
    for piece in pieces(out.size, out.itemsize):
        parts = [array[piece] for array in flat]
        f(*parts, *working[:, : parts[0].size])
    return out
