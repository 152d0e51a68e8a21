"""The cost of `import autograd`, beside NumPy's own; bytecode cached, one fresh process a measurement."""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks import harness
from benchmarks.harness import US, Timings

TIMED = "import time; begin = time.perf_counter(); import {}; print(time.perf_counter() - begin)"
ROUNDS = 21
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def seconds(module: str) -> float:
    command = [sys.executable, "-c", TIMED.format(module)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=ENVIRONMENT).stdout)


def main() -> None:
    harness.pin()
    harness.heading("Import")
    modules = {"numpy": "numpy", US: "autograd", "torch": "torch", "jax": "jax"}
    names = harness.those_installed(modules)
    for name in names:
        seconds(modules[name])  # fills the bytecode caches
    rounds = {name: [seconds(modules[name]) for _ in range(3)] for name in names if name in ("torch", "jax")}
    rounds |= {"numpy": [], US: []}
    for _ in range(ROUNDS):
        for name in ("numpy", US):
            rounds[name].append(seconds(modules[name]))
    timings = Timings(rounds)
    harness.table(("import", "time"), [(name, harness.show_time(timings.median(name))) for name in names])
    more = 1e3 * (timings.median(US) - timings.median("numpy"))
    harness.aim("milliseconds beyond NumPy's own import", more, at_most=40)


if __name__ == "__main__":
    main()
