"""The command `handgrad`, also as `python -m handgrad`. (The library is imported as `autograd` and `nn`.)

It stands outside the package `autograd`, whose name another package on PyPI has too. Where that one was installed over
ours, or is found first, `handgrad doctor` still runs and says what to do.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

AUTOGRAD = Path(__file__).resolve().parents[1] / "autograd"


def main() -> int:
    """Run the command line; with a foreign `autograd` in the way, the doctor alone."""
    trouble = why_not_ours()
    if trouble is None:
        from autograd.cli import main as run

        return run()
    if sys.argv[1:2] == ["doctor"]:
        stand_in()
        cli, doctor = import_module("autograd.cli"), import_module("autograd.cli.commands.doctor")
        cli.prepare()
        return int(cli.guarded("doctor", lambda: doctor.run(None)))
    print(f"handgrad cannot run: {trouble}. `handgrad doctor` says what to do.", file=sys.stderr)
    return 2


def why_not_ours() -> str | None:
    """What is wrong with `import autograd`, if it is not handgrad's: ours has a table of ops."""
    try:
        import autograd
    except Exception as error:  # whatever a foreign package raises
        return f"`import autograd` raises {type(error).__name__}: {error}"
    if hasattr(autograd, "OPS"):
        return None
    found = getattr(autograd, "__file__", None) or "a folder without __init__.py"
    return f"`import autograd` finds another package, {found}"


def stand_in() -> None:
    """Let `autograd` be an empty package in our folder, so that the doctor's module is found without the engine."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "autograd"]:
        del sys.modules[name]
    package = ModuleType("autograd")
    package.__path__ = [str(AUTOGRAD)]
    sys.modules["autograd"] = package
