"""`handgrad doctor`: what is installed, what is missing, and what to do about it."""

import argparse
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Literal

from autograd.saving.browser import find_chromium
from autograd.version import __version__

from .. import Subparsers

State = Literal["ok", "missing", "broken"]
HOME = Path(__file__).resolve().parents[3]  # the folder that holds autograd/ and nn/
OLDEST_PYTHON = (3, 11)
OLDEST_NUMPY = 2
REINSTALL = "pip install --force-reinstall --no-deps handgrad"
OPENING = {"autograd": "handgrad", "nn": "nn"}  # the first word of each package's docstring
OPTIONAL = (
    # distribution, what it is for, how to get it
    ("torch", "capture, and a second opinion in the tests", "pip install 'handgrad[torch]'"),
    ("jax", "capture, compile(f, 'jax'), and a second opinion in the tests", "pip install 'handgrad[jax]'"),
    ("cairosvg", "PNG and PDF files without a browser", "pip install 'handgrad[images]'"),
    ("XlsxWriter", "worksheets as .xlsx", "pip install 'handgrad[sheets]'"),
    ("matplotlib", "plots", "pip install 'handgrad[plot]'"),
    ("jupyterlab", "the notebooks", "pip install 'handgrad[notebook]'"),
)


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's report. Only a `broken` one makes the doctor's exit status 1."""

    what: str
    state: State
    detail: str
    remedy: str = ""


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("doctor", help="say what is installed, what is missing and how to fix it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace | None) -> int:
    findings = list(examine())
    print(f"handgrad {__version__} in {HOME}\n")
    print(report(findings))
    return int(any(finding.state == "broken" for finding in findings))


def examine() -> Iterator[Finding]:
    """Every finding, the essential ones first."""
    for check in (check_python, check_numpy, check_names, check_graphviz, check_chromium):
        yield check()
    for distribution, purpose, remedy in OPTIONAL:
        yield check_optional(distribution, purpose, remedy)


def report(findings: list[Finding]) -> str:
    """The findings as an aligned table, each remedy under its line, and a verdict."""
    width = max(len(finding.what) for finding in findings)
    lines = []
    for finding in findings:
        lines.append(f"{finding.state:<7}  {finding.what:<{width}}  {finding.detail}")
        if finding.remedy:
            lines.append(f"{'':<7}  {'':<{width}}  -> {finding.remedy}")
    broken = [finding.what for finding in findings if finding.state == "broken"]
    missing = [finding.what for finding in findings if finding.state == "missing"]
    if broken:
        lines.append(f"\nhandgrad will not work until this is fixed: {', '.join(broken)}.")
    elif missing:
        lines.append(f"\nhandgrad works. Optional and not here: {', '.join(missing)}.")
    else:
        lines.append("\nhandgrad works, and everything optional is here too.")
    return "\n".join(lines)


# ---- the checks ------------------------------------------------------------------------------------------


def check_python() -> Finding:
    detail = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.version_info < OLDEST_PYTHON:
        remedy = "install Python {}.{} or newer and make a new environment".format(*OLDEST_PYTHON)
        return Finding("Python", "broken", detail, remedy)
    return Finding("Python", "ok", detail)


def check_numpy() -> Finding:
    version = _version("numpy")
    if version is None:
        return Finding("NumPy", "broken", "not installed", f"pip install 'numpy>={OLDEST_NUMPY}'")
    if int(version.split(".")[0]) < OLDEST_NUMPY:
        return Finding("NumPy", "broken", version, f"pip install --upgrade 'numpy>={OLDEST_NUMPY}'")
    return Finding("NumPy", "ok", version)


def check_names() -> Finding:
    """Whether `import autograd` and `import nn` can only mean ours."""
    what = "import names"
    if (foreign := _version("autograd")) is not None:
        remedy = f"pip uninstall autograd, then {REINSTALL}; or keep the two in two virtual environments"
        return Finding(what, "broken", f"PyPI's package `autograd` {foreign} (HIPS) has the same import name", remedy)
    for name in ("autograd", "nn"):
        spec = PathFinder.find_spec(name)  # on the path, whatever was imported under this name already
        if spec is None or spec.origin is None:
            return Finding(what, "broken", f"`{name}` has lost its __init__.py or is not there", REINSTALL)
        found = Path(spec.origin).resolve()
        if found.parents[1] != HOME:
            remedy = f"rename or remove it, or leave its folder out of PYTHONPATH; ours is under {HOME}"
            return Finding(what, "broken", f"`import {name}` finds {found}", remedy)
        if not found.read_text(encoding="utf-8").startswith(f'"""{OPENING[name]}: '):
            return Finding(what, "broken", f"another package was written over {found}", REINSTALL)
    return Finding(what, "ok", "`autograd` and `nn` are handgrad's")


def check_graphviz() -> Finding:
    """Graphviz lays out drawings: the one inside pygraphviz, else `dot` on PATH."""
    trouble = "no pygraphviz"
    if (version := _version("pygraphviz")) is not None:
        # In a process of its own: a broken shared library may end the process that loads it.
        trial = "import pygraphviz; pygraphviz.AGraph('digraph { a -> b }').draw(format='dot', prog='dot')"
        attempt = subprocess.run([sys.executable, "-c", trial], capture_output=True, text=True, timeout=60)
        if attempt.returncode == 0:
            return Finding("Graphviz", "ok", f"inside pygraphviz {version}")
        last_line = (attempt.stderr.strip().splitlines() or [f"status {attempt.returncode}"])[-1]
        trouble = f"pygraphviz {version} does not work: {last_line}"
    if (dot := shutil.which("dot")) is not None:
        return Finding("Graphviz", "ok", f"{dot} ({trouble})")
    remedy = "pip install 'pygraphviz>=2.0.4', or install Graphviz so that `dot` is on PATH"
    return Finding("Graphviz", "missing", f"{trouble}, no `dot`: drawings get a plain layout", remedy)


def check_chromium() -> Finding:
    path = find_chromium()
    if path is None:
        purpose = "not found; for our page tests, and for PNG and PDF where CairoSVG is missing"
        return Finding("Chromium", "missing", purpose, "on Debian: apt install chromium")
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return Finding("Chromium", "missing", f"{path} does not run ({error})", "reinstall it")
    return Finding("Chromium", "ok", f"{path} ({answer.stdout.strip()})")


def check_optional(distribution: str, purpose: str, remedy: str) -> Finding:
    version = _version(distribution)
    if version is None:
        return Finding(distribution, "missing", f"not installed; for {purpose}", remedy)
    return Finding(distribution, "ok", version)


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
