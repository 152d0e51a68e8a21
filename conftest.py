"""What holds for doctests too: which modules pytest leaves alone, since it imports all that it looks at and some need
an extra; and that each test finds the table of ops as it was.
"""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXTRAS = ("torch", "jax", "flax", "scipy")


def cannot_be_imported():
    """The modules that import a library that is not here, or such a module; tests say themselves why they skip."""
    lacking = [name for name in EXTRAS if find_spec(name) is None]
    folders = ("autograd/capturing", "autograd/scipy", "tests")
    sources = [path for folder in folders for path in HERE.glob(f"{folder}/**/*.py")]
    texts = {path: path.read_text(encoding="utf-8") for path in sources if not path.name.startswith("test_")}
    found: list[Path] = []
    while lacking:
        pattern = re.compile(rf"^(?:import|from) (?:{'|'.join(map(re.escape, lacking))})\b", re.MULTILINE)
        new = [path for path, text in texts.items() if path not in found and pattern.search(text)]
        found += new
        lacking = [
            name for path in new for name in (f".{path.stem}", ".".join(path.relative_to(HERE).with_suffix("").parts))
        ]
    return found


collect_ignore = cannot_be_imported()


@pytest.fixture(autouse=True)
def table_of_ops_stays():
    """A test or an example that makes an op of its own leaves the table as it was: other tests walk through it."""
    from autograd import OPS

    before = dict(OPS)
    yield
    if before != OPS:
        OPS.clear()
        OPS.update(before)
