"""Work in a child process: what changes the interpreter, or may crash it, the parent outlives."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from typing import Any


def in_a_child(work: Callable[[], Any], limit: int = 120) -> Any:
    """Run something in a forked process; its answer, which must be JSON, or None if it crashed or took too long."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        signal.alarm(limit)
        try:
            text = json.dumps(work())
            with os.fdopen(write, "w") as pipe:
                pipe.write(text)
        finally:  # whatever happens: the parent's own code must not go on here
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None
