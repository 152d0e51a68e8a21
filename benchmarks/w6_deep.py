"""W6: one chain, 10³ to 10⁶ nodes deep, at the default recursion limit: bytes and nanoseconds a node.

Each measurement has a process of its own. Times are medians of a few runs; the bytes are those of the graph
after the forward pass, by `tracemalloc` (what Python asked for) and by the growth of the process. Python's cycle
collector visits all living nodes again and again while a graph grows; its share is told apart.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from benchmarks import harness
from benchmarks.harness import US

DEPTHS = (10**3, 10**4, 10**5, 10**6)


def leaf_maker(name: str) -> Callable[[float], Any]:
    if name == US:
        from autograd import Value

        return Value
    if name == "micrograd":
        from micrograd.engine import Value as MicrogradValue

        return MicrogradValue
    import torch

    torch.set_num_threads(1)
    return lambda a: torch.tensor(a, dtype=torch.float64, requires_grad=True)


def chain(x: Any, factor: Any, depth: int) -> Any:
    for _ in range(depth // 2):
        x = x * factor + factor
    return x


def measure(name: str, depth: int) -> dict[str, float]:
    """Nanoseconds and bytes a node, in this process; nothing if it stops with a RecursionError."""
    leaf = leaf_maker(name)
    x, factor = leaf(0.5), leaf(0.5)
    before = harness.memory_now("VmRSS")
    root = chain(x, factor, depth)
    given = harness.memory_now("VmRSS") - before
    try:
        root.backward()
    except RecursionError:
        return {}
    del root
    laps = [lap(x, factor, depth) for _ in range(max(3, min(15, 10**6 // depth)))]
    forward, collector, backward, free = (statistics.median(column) / depth * 1e9 for column in zip(*laps))
    tracemalloc.start()
    root = chain(x, factor, depth)
    asked, _ = tracemalloc.get_traced_memory()
    root.backward()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {
        "forward": forward,
        "collector": collector,
        "backward": backward,
        "free": free,
        "asked": asked / depth,
        "peak": peak / depth,
        "given": given / depth,
    }


def lap(x: Any, factor: Any, depth: int) -> tuple[float, float, float, float]:
    """Seconds to build the chain, those of them spent in the cycle collector, to go back, and to free it all."""
    gc.collect()
    with Collector() as collector:
        begin = time.process_time()
        root = chain(x, factor, depth)
        built = time.process_time()
    root.backward()
    back = time.process_time()
    del root
    return built - begin, collector.seconds, back - built, time.process_time() - back


class Collector:
    """How long Python's cycle collector ran inside a `with` block."""

    def __enter__(self) -> Collector:
        self.seconds = 0.0
        gc.callbacks.append(self.notice)
        return self

    def __exit__(self, *_: object) -> None:
        gc.callbacks.remove(self.notice)

    def notice(self, phase: str, _: dict[str, int]) -> None:
        self.seconds += time.process_time() * (1 if phase == "stop" else -1)


def main() -> None:
    harness.pin()
    harness.heading("W6: a chain 10³ to 10⁶ deep, default recursion limit")
    rows = []
    ours = {}
    for name in harness.those_installed([US, "torch", "micrograd"]):
        for depth in DEPTHS:
            row = harness.call_process("benchmarks.w6_deep", name, str(depth))
            if name == US:
                ours[depth] = row
            if not row:
                rows.append((name, f"{depth:,}", "RecursionError", "", "", "", "", ""))
                break
            rows.append((name, f"{depth:,}", *(f"{row[key]:.0f}" for key in KEYS)))
    harness.table(("contender", "depth", *KEYS.values()), rows)
    deepest = ours[DEPTHS[-1]]
    harness.aim("bytes a node at 10⁶", deepest["asked"], at_most=160)
    harness.aim("ns a node backward at 10⁶", deepest["backward"], at_most=600)
    shallow = ours[10**4]
    for way in ("forward", "backward"):
        harness.aim(f"{way} time a node, 10⁶ against 10⁴", deepest[way] / shallow[way], at_most=1.3)
    alone, once = (row["forward"] - row["collector"] for row in (deepest, shallow))
    harness.aim("the same forward, less the collector's share", alone / once, at_most=1.3)


KEYS = {
    "forward": "forward, ns a node",
    "collector": "of it Python's collector",
    "backward": "backward, ns",
    "free": "freeing, ns",
    "asked": "bytes a node",
    "peak": "peak in backward",
    "given": "process growth",
}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
    else:
        main()
