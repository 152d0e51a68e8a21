"""Keep the memory of one training step for the next.

When the graph of a step is freed, glibc gives its memory back to the system, and the next step gets it again page by
page: up to a quarter of a step's time, spent in the kernel. Told to keep what was freed, it does not. Elsewhere (other
C libraries, other systems) nothing is done.
"""

from __future__ import annotations

import ctypes
import functools
import sys

KEPT = 256 << 20  # bytes that stay with the process after they were freed
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # the names of malloc.h
LARGEST_ON_HEAP = 32 << 20  # the most that glibc accepts: larger arrays are mapped and unmapped one by one


@functools.cache
def keep_freed_memory() -> bool:
    """Ask the C library, once, to hold on to freed memory; whether it agreed."""
    if sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, LARGEST_ON_HEAP) and mallopt(M_TRIM_THRESHOLD, KEPT))
