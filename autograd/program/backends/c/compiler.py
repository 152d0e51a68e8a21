"""A C file as a loaded library: built once, kept in the user's cache folder by its content."""

from __future__ import annotations

import atexit
import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from autograd.errors import CompilerError

# No -ffast-math: NaNs, infinities and the order of operations are those of the program. What is allowed: to forget
# errno and floating-point traps, which nobody reads, and to reorder the sums that `omp simd` marks.
FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-w", "-fopenmp-simd", "-ffp-contract=off", "-fno-math-errno",
         "-fno-trapping-math", "-fwrapv", "-fvisibility=hidden")  # fmt: skip
NATIVE = "-march=native"
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


@functools.cache
def compiler(named: str | None) -> tuple[str, ...]:
    """The command of a C compiler: that in the variable CC, the system's, or the one of the package ziglang."""
    if named:
        command = tuple(shlex.split(named))
        if shutil.which(command[0]) is None:
            raise CompilerError(f"backend='c': CC is {named!r}, and there is no such program. {_ADVICE}")
        return command
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return (name,)
    if find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "cc")
    raise CompilerError(f"backend='c' needs a C compiler, and there is no cc, gcc or clang on PATH. {_ADVICE}")


def is_here() -> bool:
    """Whether there is a C compiler."""
    try:
        return bool(compiler(os.environ.get("CC")))
    except CompilerError:
        return False


_ADVICE = (
    "Install one (apt install gcc, xcode-select --install), or pip install 'handgrad[native]', which brings one; "
    "backend='numpy' needs none."
)


def loaded(text: str) -> ctypes.PyDLL:
    """The library of a C file, from the cache or built now."""
    command = compiler(os.environ.get("CC"))
    key = hashlib.sha256("\0".join([text, *command, _version(command), *FLAGS, _processor()]).encode()).hexdigest()
    for folder in filter(None, (cache_folder(), _own_folder())):
        library = _found(folder, key) or _built(folder, key, command, text)
        if library is not None:
            return _opened(library, command)
    raise CompilerError(
        "backend='c': no folder to build in; set XDG_CACHE_HOME or TMPDIR to one that can be written to"
    )


def _opened(library: Path, command: tuple[str, ...]) -> ctypes.PyDLL:
    try:
        return ctypes.PyDLL(str(library))
    except OSError as error:
        library.unlink(missing_ok=True)
        built = f"backend='c': what {' '.join(command)} built cannot be loaded"
        raise CompilerError(f"{built}: {error}\n{_ADVICE}") from None


def cache_folder() -> Path:
    """Where libraries are kept between runs."""
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin" and not os.environ.get("XDG_CACHE_HOME"):
        home = Path.home() / "Library" / "Caches"
    else:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "handgrad"


@functools.cache
def _own_folder() -> Path:
    """A folder of this process, for when the cache cannot be written to."""
    folder = tempfile.mkdtemp(prefix="handgrad-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _found(folder: Path, key: str) -> Path | None:
    """A library that was built before. Its name says what its bytes must be, so that a damaged one is not loaded."""
    try:
        for path in folder.glob(f"{key}-*{SUFFIX}"):
            if path.name == _name(key, path.read_bytes()):
                return path
    except OSError:
        pass
    return None


def _name(key: str, content: bytes) -> str:
    return f"{key}-{hashlib.sha256(content).hexdigest()[:16]}{SUFFIX}"


def _built(folder: Path, key: str, command: tuple[str, ...], text: str) -> Path | None:
    """Build in a folder of its own beside the cache and move the result in at once, so that nobody sees half a file.

    None if the folder cannot be written to.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix="build-") as place:
            source, library = Path(place) / "program.c", Path(place) / f"program{SUFFIX}"
            source.write_text(text)
            _compile(command, source, library)
            final = folder / _name(key, library.read_bytes())
            os.replace(library, final)
            return final
    except OSError:
        return None


def _compile(command: tuple[str, ...], source: Path, library: Path) -> None:
    """Run the compiler; without flags for this very processor if it does not know them."""
    said = ""
    for extra in ((NATIVE,), ()):
        line = [*command, *FLAGS, *extra, "-o", str(library), str(source), "-lm"]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode == 0 and library.exists():
            return
        said = said or done.stderr.strip() or f"it ended with status {done.returncode} and wrote no library"
    raise CompilerError(f"backend='c': {' '.join(command)} failed: {said[:2000]}\n{_ADVICE}")


@functools.cache
def _version(command: tuple[str, ...]) -> str:
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    return done.stdout


@functools.cache
def _processor() -> str:
    """What -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = [line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))]
        return "\n".join(sorted(set(model)))
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
