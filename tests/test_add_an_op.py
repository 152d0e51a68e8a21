"""CONTRIBUTING's "Add an op" is done exactly as written, on a copy of the tree: one block, no other edit."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def blocks() -> tuple[str, str, str]:
    """The block to add, the file it goes into, and the session that uses it."""
    section = (ROOT / "CONTRIBUTING.md").read_text().split("## Add an op")[1].split("\n## ")[0]
    block, session = re.findall(r"```python no-run\n(.*?)```", section, re.DOTALL)
    (home,) = re.findall(r"at the end of `(.*?)`", section)
    return block, home, session


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the packages and the op tests, with the block added."""
    for folder in ("autograd", "nn", "tests/autograd"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (ROOT / "tests").glob("*.py"):  # conftest.py, and what tests share
        shutil.copy(file, tmp_path / "tests")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    block, home, _ = blocks()
    with (tmp_path / home).open("a") as file:
        file.write("\n" + block)
    return tmp_path


def run(tree: Path, *arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_new_op_is_tested_because_it_exists(tree: Path) -> None:
    said = run(tree, "-m", "pytest", "tests/autograd/test_ops.py", "-q", "-k", "cbrt", "-p", "no:cacheprovider")
    assert int(re.search(r"(\d+) passed", said)[1]) >= 5  # type: ignore[index]


@pytest.mark.slow
def test_the_new_op_prints_and_differentiates_twice(tree: Path) -> None:
    session = blocks()[2]
    run(tree, "-c", "import doctest, sys; t = doctest.DocTestParser().get_doctest(sys.argv[1], {}, 's', 's', 0); "
        "sys.exit(bool(doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(t).failed))", session)  # fmt: skip
