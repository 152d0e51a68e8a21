"""`make versions`: the quick tests under every Python that is here, and under the lowest versions we say we support.

    python -m tools.versions                  all of them
    python -m tools.versions 3.12 lowest      some of them
    python -m tools.versions --tests tests/nn/test_io.py
    python -m tools.versions torch            the tests of `capture` under each torch that it is known to work with

Each gets an environment of its own below `out/versions/`, made again when `pyproject.toml` changes. `lowest` is the
oldest Python with every requirement in `pyproject.toml` at the lowest version that it allows.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "out" / "versions"
NEWEST = 14  # of Python 3: the newest that is looked for
LOWEST = "lowest"
TORCH = {f"torch-2.{minor}": f"torch==2.{minor}.*" for minor in range(11, 16)}  # the versions that `capture` names
BESIDE_TORCH = ("expecttest", "filelock", "fsspec", "jinja2", "networkx", "sympy", "typing-extensions")
CAPTURING = ("tests/autograd/capturing", "-m", "not page")
EXTRAS = "dev,images"
QUICK = ("-m", "not slow and not page")


@dataclass
class Outcome:
    """What came of one environment."""

    name: str
    python: str  # its version, or ""
    verdict: str  # "pass", "fail" or "not here"
    detail: str
    seconds: float = 0.0


def main(arguments: list[str] | None = None) -> int:
    """Try the versions asked for; 1 if the tests fail under one of them."""
    parser = argparse.ArgumentParser(prog="tools.versions", description=__doc__.partition("\n")[0])
    parser.add_argument("versions", nargs="*", metavar="VERSION", help=f"3.12, or {LOWEST} (default: all)")
    parser.add_argument("--tests", nargs="*", default=[], metavar="PATH", help="these tests (default: all quick ones)")
    parser.add_argument("--jobs", default="2", help="test processes (default: 2)")
    chosen = parser.parse_args(arguments)
    known = [*pythons(), LOWEST]
    chosen.versions = [name for given in chosen.versions for name in (TORCH if given == "torch" else [given])]
    if unknown := [name for name in chosen.versions if name not in (*known, *TORCH)]:
        parser.error(f"there is no version {unknown[0]!r}; choose from {', '.join(known)}")
    outcomes = []
    for name in chosen.versions or known:
        outcomes.append(tried(name, chosen.tests, chosen.jobs))
        print(line(outcomes[-1]), flush=True)
    print(summary(outcomes))
    return int(any(outcome.verdict == "fail" for outcome in outcomes))


def line(outcome: Outcome) -> str:
    """One outcome in columns."""
    took = f"{outcome.seconds:5.0f} s" if outcome.seconds else ""
    return f"{outcome.name:<10}  {outcome.python:<8}  {outcome.verdict:<8}  {took:<7}  {outcome.detail}".rstrip()


def summary(outcomes: list[Outcome]) -> str:
    """What was tried, and what was not because it is not here."""
    by = {
        verdict: [outcome.name for outcome in outcomes if outcome.verdict == verdict]
        for verdict in ("pass", "fail", "not here")
    }
    parts = [f"{verdict}: {', '.join(names)}" for verdict, names in by.items() if names]
    return f"\n{'; '.join(parts)}."


# --- interpreters -------------------------------------------------------------------------------------------------


def pyproject() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pythons() -> list[str]:
    """The versions of Python that `pyproject.toml` allows, as far as they are known: 3.11, 3.12, …"""
    oldest = re.fullmatch(r">=3\.(\d+)", pyproject()["project"]["requires-python"])
    assert oldest is not None, "requires-python is written as >=3.N"
    return [f"3.{minor}" for minor in range(int(oldest[1]), NEWEST + 1)]


def interpreter(version: str) -> Path | None:
    """A Python of this version that runs: this one, one on PATH, or one of pyenv's, the newest first."""
    for candidate in candidates(version):
        asked = "import sys; print('%d.%d' % sys.version_info[:2])"
        answer = subprocess.run([candidate, "-c", asked], capture_output=True, text=True)
        if answer.returncode == 0 and answer.stdout.strip() == version:
            return candidate
    return None


def candidates(version: str) -> Iterator[Path]:
    if version == f"3.{sys.version_info.minor}":
        yield Path(sys.executable)
    if found := shutil.which(f"python{version}"):
        yield Path(found)
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    installed = [path for path in versions.glob(f"{version}.*") if path.name.removeprefix(f"{version}.").isdigit()]
    for path in sorted(installed, key=lambda path: int(path.name.rpartition(".")[2]), reverse=True):
        yield path / "bin" / "python"


# --- environments -------------------------------------------------------------------------------------------------


def lowest() -> list[str]:
    """Every requirement of the package and of the extras at the lowest version that its bound allows: numpy==2."""
    project = pyproject()["project"]
    extras = project["optional-dependencies"]
    texts = [text for extra in ("plot", "images", "notebook", "dev") for text in extras[extra]]
    pins = []
    for requirement in map(Requirement, [*project["dependencies"], *texts]):
        if requirement.name == project["name"]:  # one extra that asks for another
            continue
        (bound,) = requirement.specifier
        assert bound.operator in (">=", "=="), f"{requirement}: a requirement is written as name>=version"
        pins.append(f"{requirement.name}=={bound.version}")
    return sorted(set(pins))


def environment(name: str, python: Path) -> Path:
    """The Python of an environment with everything that the tests need; made if it is not there, or out of date."""
    home = HOME / name
    stamp = home / "installed"
    wanted = (ROOT / "pyproject.toml").read_text(encoding="utf-8") + str(python)
    inside = home / "bin" / "python"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return inside
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run([python, "-m", "venv", home], check=True)
    pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if name == LOWEST:
        (home / "lowest.txt").write_text("\n".join(lowest()) + "\n", encoding="utf-8")
        pip += ["--constraint", home / "lowest.txt"]
    subprocess.run([*pip, "--editable", f"{ROOT}[{EXTRAS}]"], check=True)
    if name in TORCH:  # alone: what it needs of CUDA is gigabytes. So pip has to know an index of wheels for the CPU
        subprocess.run([*pip, *BESIDE_TORCH], check=True)
        subprocess.run([*pip, "--no-deps", TORCH[name]], check=True)
        subprocess.run([inside, "-c", "import torch"], check=True)
    stamp.write_text(wanted, encoding="utf-8")
    return inside


def tried(name: str, tests: list[str], jobs: str) -> Outcome:
    """Run the tests in one environment; what they print goes to a file beside it."""
    own = f"3.{sys.version_info.minor}"
    python = interpreter(pythons()[0] if name == LOWEST else own if name in TORCH else name)
    if python is None:
        return Outcome(name, "", "not here", "install it, or put it on PATH")
    begin = time.perf_counter()
    try:
        inside = environment(name, python)
    except subprocess.CalledProcessError as error:
        return Outcome(name, "", "fail", f"cannot be set up: {' '.join(map(str, error.cmd))}")
    about = "import platform, numpy; print(platform.python_version(), numpy.__version__)"
    answer = subprocess.run([inside, "-c", about], capture_output=True, text=True, check=True)
    version, numpy = answer.stdout.split()
    log = HOME / f"{name}.log"
    settings = {**os.environ, "HYPOTHESIS_PROFILE": "dev", "OPENBLAS_NUM_THREADS": "1"}
    with open(log, "w", encoding="utf-8") as file:
        chosen = tests or (CAPTURING if name in TORCH else QUICK)
        command = [inside, "-m", "pytest", "-q", "-n", jobs, "-p", "no:cacheprovider", *chosen]
        status = subprocess.run(command, cwd=ROOT, env=settings, stdout=file, stderr=subprocess.STDOUT).returncode
    last = (log.read_text(encoding="utf-8").strip().splitlines() or ["nothing was printed"])[-1]
    detail = f"NumPy {numpy}: {last}" + (f"; see {log.relative_to(ROOT)}" if status else "")
    return Outcome(name, version, "fail" if status else "pass", detail, time.perf_counter() - begin)


if __name__ == "__main__":
    sys.exit(main())
