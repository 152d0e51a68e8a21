"""What the workloads share: contenders that take turns, answers held against each other, Markdown tables.

Absolute times do not carry from one machine to another, so every figure of merit is a ratio: contenders take
turns, a ratio is taken within each round, and the median of these ratios is what a table shows. Seconds are those of
the processor: every contender has one thread on one core, so that is its time on an idle machine too.
"""

from __future__ import annotations

import gc
import importlib.metadata
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

US = "handgrad"
PEERS = ("micrograd", "torch", "jax", "mygrad")


class Timings:
    """Seconds by contender, one entry a round; and those of the very first step, where it was timed."""

    def __init__(self, seconds: Mapping[str, Sequence[float]], first: Mapping[str, float] | None = None) -> None:
        self.seconds = seconds
        self.first = {} if first is None else first

    def __contains__(self, name: str) -> bool:
        return name in self.seconds

    def median(self, name: str) -> float:
        return statistics.median(self.seconds[name])

    def ratio(self, name: str, to: str) -> float:
        """How many times as long `name` takes as `to`: the median of the ratios within each round."""
        return statistics.median(a / b for a, b in zip(self.seconds[name], self.seconds[to], strict=True))

    def fastest(self, names: Iterable[str]) -> str:
        return min((n for n in names if n in self.seconds), key=self.median)


def pin() -> None:
    """Keep this process, and those it starts, on one core."""
    if hasattr(os, "sched_setaffinity"):  # Linux; elsewhere the scheduler has its way
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def take_turns(contenders: Mapping[str, Callable[[], Any]], rounds: int = 15, turn: float = 0.03) -> Timings:
    """Time the contenders in one process, turn by turn; a turn repeats the call for about `turn` seconds."""
    gc.collect()
    gc.freeze()  # what the imports left is nobody's garbage; the collector need not visit it at each turn
    repeats = {name: max(1, round(turn / _warm_up(call))) for name, call in contenders.items()}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, call in contenders.items():
            gc.collect()  # nobody pays for another's garbage; one's own is collected as in real use
            begin = time.process_time()
            for _ in range(repeats[name]):
                call()
            seconds[name].append((time.process_time() - begin) / repeats[name])
    return Timings(seconds)


def _warm_up(call: Callable[[], Any]) -> float:
    """Seconds of one call, once caches are filled and code is specialised."""
    spent = []
    while sum(spent) < 0.05 or len(spent) < 3:
        begin = time.process_time()
        call()
        spent.append(time.process_time() - begin)
    return min(spent)


def take_turns_in_processes(
    module: str, names: Sequence[str], *arguments: str, rounds: int = 5
) -> tuple[Timings, dict[str, Any]]:
    """Time training steps, one contender a process, processes taking turns; `report_steps` is the other end.

    For engines that leave garbage to the cycle collector: in one process the others would pay for it.
    """
    seconds: dict[str, list[float]] = {name: [] for name in names}
    first: dict[str, list[float]] = {name: [] for name in names}
    answers = {}
    for _ in range(rounds):
        for name in names:
            report = call_process(module, name, *arguments)
            seconds[name].append(report["seconds"])
            first[name].append(report["first"])
            answers[name] = report["answer"]
    return Timings(seconds, {name: statistics.median(times) for name, times in first.items()}), answers


def report_steps(step: Callable[[], Any], answer: Callable[[], Any], *, at_least: int = 5) -> None:
    """Print, as JSON, the answer after three steps, the seconds of the first and the median of those that follow."""
    first = first_step(step)[0]
    for _ in range(2):
        step()
    after_three = answer()
    seconds: list[float] = []
    while len(seconds) < at_least or sum(seconds) < 0.3:
        begin = time.process_time()
        step()
        seconds.append(time.process_time() - begin)
    print(json.dumps({"seconds": statistics.median(seconds), "first": first, "answer": after_three}))


def first_step(step: Callable[[], Any]) -> tuple[float, Any]:
    """The processor seconds of a first call, a C compiler that it starts included, and what it gives.

    Libraries that were built before do not count: the cache is an empty folder.
    """
    kept = os.environ.get("XDG_CACHE_HOME")
    try:
        with tempfile.TemporaryDirectory() as empty:
            os.environ["XDG_CACHE_HOME"] = empty
            begin = time.process_time() + sum(os.times()[2:4])
            result = step()
            seconds = time.process_time() + sum(os.times()[2:4]) - begin
    finally:
        os.environ.pop("XDG_CACHE_HOME", None)
        if kept is not None:
            os.environ["XDG_CACHE_HOME"] = kept
    return seconds, result


def call_process(module: str, *arguments: str) -> Any:
    """Run `python -m module arguments` and read the JSON it prints."""
    command = [sys.executable, "-m", module, *arguments]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def memory_now(what: str) -> int:
    """Bytes this process holds now ("VmRSS") or held at most ("VmHWM"), where the system tells (Linux); else 0."""
    try:
        with open("/proc/self/status") as lines:
            return next(1024 * int(line.split()[1]) for line in lines if line.startswith(what))
    except FileNotFoundError:
        return 0


def assert_same(answers: Mapping[str, Any], tolerance: float = 1e-9) -> None:
    """Insist that all contenders computed the same numbers (lists of floats or arrays)."""
    first, *others = answers
    expected = _flat(answers[first])
    for name in others:
        got = _flat(answers[name])
        worst = np.max(np.abs(got - expected)) if got.shape == expected.shape else np.inf
        if not worst <= tolerance * max(1.0, np.max(np.abs(expected))):
            raise AssertionError(f"{name} and {first} do not agree: the largest difference is {worst:.3g}")


def _flat(answer: Any) -> np.ndarray:
    return np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in answer])


def those_installed(names: Iterable[str]) -> list[str]:
    """The contenders whose library is here; a contender's name begins with its library's. Says which are not."""
    libraries = {name: name.split(",")[0] for name in names}
    missing = {lib for lib in libraries.values() if lib in PEERS and importlib.util.find_spec(lib) is None}
    for library in sorted(missing):
        print(f"({library} is not installed; its rows are left out.)\n")
    return [name for name, library in libraries.items() if library not in missing]


def backends() -> list[str]:
    """What can run a compiled program here."""
    from autograd.program.backends.c.compiler import is_here

    return ["numpy", *(["c"] if is_here() else []), *(["jax"] if importlib.util.find_spec("jax") else [])]


# --- printing -----------------------------------------------------------------------------------------------


def heading(title: str) -> None:
    print(f"### {title}\n", flush=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a Markdown table; numbers are aligned right."""
    print("| " + " | ".join(columns) + " |")
    print("| --- |" + " ---: |" * (len(columns) - 1))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)


def standing(timings: Timings, *, of: str, calls: int = 1) -> list[tuple[str, ...]]:
    """A row for each contender: its name, its time (over `calls`), its time as a multiple of that of `of`, and the time
    of its first step, set-up included, where that was timed."""
    return [
        (
            name, show_time(timings.median(name) / calls), f"{timings.ratio(name, to=of):.3g}",
            *([show_time(timings.first[name])] if name in timings.first else []),
        )
        for name in timings.seconds
    ]  # fmt: skip


def show_time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def aim(what: str, reached: float, *, at_least: float | None = None, at_most: float | None = None) -> None:
    """One line that says what was aimed at, and what was reached."""
    if at_least is not None:
        met, wanted = reached >= at_least, f"≥ {at_least:g}"
    else:
        assert at_most is not None
        met, wanted = reached <= at_most, f"≤ {at_most:g}"
    print(f"- {what}: **{reached:.3g}** (aim {wanted}: {'met' if met else 'missed'})", flush=True)


def machine() -> str:
    """The machine and the versions, for the top of a page of tables."""
    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as lines:
            model = next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), model)
    found = []
    for name in ("numpy", *PEERS):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"no {name}")
    return f"{model}, one core; Python {platform.python_version()}; {', '.join(found)}"
