"""Run the workloads and print their tables as Markdown: `python -m benchmarks [w1 w5 import ...]`.

Each workload runs in a process of its own, so that none pays for the heap another left behind.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks import harness


def workloads(wanted: list[str]) -> list[str]:
    """The modules to run, in order: those whose first word is one of those wanted, or all."""
    here = Path(__file__).parent
    names = sorted((path.stem for path in here.glob("w[0-9]*.py")), key=lambda name: int(_word(name)[1:]))
    return [name for name in [*names, "import_time"] if not wanted or _word(name) in wanted]


def _word(name: str) -> str:
    return name.partition("_")[0]


def main(wanted: list[str]) -> int:
    chosen = workloads(wanted)
    if not chosen:
        there_are = ", ".join(workloads([]))
        print(f"no workload is called {' or '.join(wanted)}; there are: {there_are}", file=sys.stderr)
        return 2
    harness.pin()
    print(f"## Benchmarks\n\n{harness.machine()}\n", flush=True)
    failed = []
    for name in chosen:
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode:
            failed.append(name)
        print(flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
