"""keep_freed_memory: a process-wide setting of the C library, for long trainings of large models."""

from __future__ import annotations

import ctypes
import functools
import sys

KEPT = 256 << 20  # bytes that stay with the process after they were freed
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # the names of malloc.h
LARGEST_ON_HEAP = 32 << 20  # the most that glibc accepts: larger arrays are mapped and unmapped one by one


@functools.cache
def keep_freed_memory() -> bool:
    """Ask the C library to keep up to 256 MiB of freed memory for this process; gives whether it agreed.

    When the graph of a training step is freed, glibc returns its memory to the system, and the next step gets it again
    page by page: up to a quarter of the time of a step on large arrays. This changes the whole process, so it is never
    done unasked: call it once, before the training. Elsewhere than on Linux with glibc it does nothing.
    """
    if sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, LARGEST_ON_HEAP) and mallopt(M_TRIM_THRESHOLD, KEPT))
