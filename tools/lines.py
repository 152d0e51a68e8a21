"""How many lines each room has, and how many it may have: `python -m tools.lines`.

Nothing else stops growth. A budget is raised on purpose, in a commit that says what for, and lowered when it can be.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUDGET = {  # lines of Python; program's with its C, stepping's with the scripts and styles of its pages
    "core": 4_300,
    "arrays": 600,
    "capturing": 6_500,
    "check": 3_600,
    "cli": 1_950,
    "digits": 1_000,
    "drawing": 5_350,
    "expr": 600,
    "formula": 4_450,
    "misc": 200,
    "numpy": 150,
    "ops": 6_500,
    "playing": 1_250,
    "program": 8_200,
    "saving": 200,
    "scipy": 550,
    "stepping": 8_500,
    "worksheets": 4_200,
    "nn": 5_850,
}
ENDINGS = {"program": (".py", ".c", ".h"), "stepping": (".py", ".js", ".css", ".html")}


def lines(room: str) -> int:
    """The lines of a room: a package of `autograd/`, or (`core`) the modules beside them, or `nn`."""
    folder = ROOT / ("nn" if room == "nn" else "autograd" if room == "core" else f"autograd/{room}")
    files = folder.glob("*.py") if room == "core" else folder.rglob("*.*")
    endings = ENDINGS.get(room, (".py",))
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files if file.suffix in endings)


def rooms() -> list[str]:
    packages = sorted(folder.parent.name for folder in (ROOT / "autograd").glob("*/__init__.py"))
    return ["core", *packages, "nn"]


def table() -> tuple[str, bool]:
    """The lines of every room beside its budget, and whether all are within."""
    rows, kept = [f"{'lines of':<12} {'are':>6} {'may be':>7}"], True
    for room in rooms():
        have, most = lines(room), BUDGET.get(room, 0)
        over = "  over its budget" if have > most else ""
        kept = kept and not over
        rows.append(f"{room:<12} {have:>6,} {most:>7,}{over}")
    python = sum(len(f.read_text(encoding="utf-8").splitlines()) for f in (ROOT / "autograd").rglob("*.py"))
    return "\n".join([*rows, f"autograd/ has {python:,} lines of Python."]), kept


def main() -> int:
    said, kept = table()
    print(said)
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
