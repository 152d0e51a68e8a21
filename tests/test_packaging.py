"""The wheel, built and used as a stranger would: in an empty environment, outside the clone."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import numpy
import pytest
from packaging.requirements import Requirement

from autograd.version import __version__

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
pytestmark = pytest.mark.slow


def output(*command: str | Path, cwd: Path) -> str:
    """What a command prints; nothing of this process's Python settings reaches it."""
    surroundings = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    answer = subprocess.run(command, cwd=cwd, env=surroundings, capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, f"{command} failed:\n{answer.stdout}\n{answer.stderr}"
    return answer.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built without a network: the build tool is part of the `dev` extra."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    output(*pip, "--wheel-dir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory) -> Path:
    """An empty environment with the wheel; its dependencies are borrowed from this one, without a network."""
    home = tmp_path_factory.mktemp("environment")
    output(sys.executable, "-m", "venv", "--without-pip", home, cwd=home)
    python = home / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index")
    output(*pip, wheel, cwd=home)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(output(python, "-c", where, cwd=home).strip())
    # A line of a .pth file is a folder to search last; the .pth files inside that folder are not followed,
    # so an editable handgrad in this environment stays out of sight.
    (packages / "borrowed.pth").write_text(f"{Path(numpy.__file__).parents[1]}\n")
    return home


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(wheel):
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    outside = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == outside
    assert {"autograd/py.typed", "nn/py.typed"} <= inside


@pytest.mark.parametrize(
    ("sys_platform", "machine", "version", "has_wheel"),
    [
        ("linux", "x86_64", "#1 SMP PREEMPT_DYNAMIC Debian", True),
        ("linux", "aarch64", "#45-Ubuntu SMP", True),
        ("linux", "x86_64", "#1-Alpine SMP PREEMPT_DYNAMIC", False),
        ("linux", "riscv64", "#1 SMP", False),
        ("darwin", "arm64", "Darwin Kernel Version 24.0.0", True),
        ("darwin", "x86_64", "Darwin Kernel Version 23.0.0", True),
        ("win32", "AMD64", "10.0.22631", True),
        ("win32", "ARM64", "10.0.22631", False),
    ],
)
def test_pygraphviz_is_asked_for_only_where_it_has_a_wheel(sys_platform, machine, version, has_wheel):
    (line,) = (line for line in PYPROJECT["project"]["dependencies"] if line.startswith("pygraphviz"))
    platform = {"sys_platform": sys_platform, "platform_machine": machine, "platform_version": version}
    assert Requirement(line).marker.evaluate(platform) == has_wheel


def test_the_command_is_installed(environment):
    command = environment / "bin" / "handgrad"
    assert output(command, "--version", cwd=environment) == f"handgrad {__version__}\n"
    assert "handgrad's" in output(command, "doctor", cwd=environment)


def test_a_gradient_is_computed_outside_the_clone(environment):
    code = "\n".join([
        "import autograd, nn",
        "from autograd import Value",
        "x, y = Value(3.0), Value(4.0)",
        "(x * y + x ** 2).backward()",
        "print(autograd.__file__, nn.__file__, x.grad, y.grad, sep='\\n')",
    ])  # fmt: skip
    *homes, x_grad, y_grad = output(environment / "bin" / "python", "-c", code, cwd=environment).split()
    assert all(Path(home).is_relative_to(environment) for home in homes)
    assert (float(x_grad), float(y_grad)) == (4.0 + 2 * 3.0, 3.0)
