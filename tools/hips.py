"""Run the public tests of a checkout of HIPS autograd on our package: `python -m tools.hips PATH [pytest's arguments]`.

    git clone https://github.com/HIPS/autograd /tmp/hips
    python -m tools.hips /tmp/hips -q

Only PATH/tests is read: `import autograd` finds ours. Most checks of theirs run at real and at complex numbers; here at
the real ones. What is left of complex numbers, and tests of their internals, fails: docs/hips.md.
"""

import functools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def pytest_configure() -> None:
    """As a plugin of pytest: leave out complex numbers where a check runs over lists of inputs."""
    import numpy as np

    from autograd import test_util
    from autograd.tree import flatten

    def real(choices: Any) -> Any:
        return [x for x in choices if not any(map(np.iscomplexobj, flatten(x)[0]))]

    combo_check = test_util.combo_check

    @functools.wraps(combo_check)
    def of_real_ones(*given: Any, **settings: Any) -> Any:
        check = combo_check(*given, **settings)
        return lambda *lists, **named: check(*map(real, lists), **named)

    test_util.combo_check = of_real_ones


def main() -> int:
    """Run them, and end as pytest does."""
    if len(sys.argv) < 2 or not (tests := Path(sys.argv[1]).resolve() / "tests").is_dir():
        print(__doc__)
        return 2
    plugins = ["-p", "tools.hips", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *plugins, "-c", os.devnull, "--rootdir", str(tests)]
    return subprocess.run(
        [*command, str(tests), *sys.argv[2:]], cwd=tests, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False
    ).returncode


if __name__ == "__main__":
    raise SystemExit(main())
