"""Files written whole or not at all, in the form that their ending names: drawings, pages, sheets, models."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import secrets
import stat
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

HOST = f"{zlib.crc32(platform.node().encode()):08x}"


def save_by_ending(path: Path, contents: Mapping[str, Callable[[], str | bytes]], what: str) -> Path:
    """Write the content that belongs to the ending of `path`. It is computed once the path is known to be good."""
    kind = check_ending(path, contents, what)
    check_folder(path)
    content = contents[kind]()
    write_whole(path, content.encode() if isinstance(content, str) else content)
    return path


def check_ending(path: Path, endings: Iterable[str], what: str) -> str:
    """The ending of `path`, in lower case; an error if `what` is not written in that form."""
    kind = path.suffix.lower()
    if kind not in endings:
        raise ValueError(f"{what} is written as {', '.join(endings)}; got {path.name!r}")
    return kind


def check_folder(path: Path) -> None:
    """A file can be written there: its folder exists, and it is no folder itself."""
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; give the name of a file")
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(folder)!r} for {path.name!r}; make it first (mkdir -p {folder})"
        )


def write_whole(path: Path, content: bytes) -> None:
    """Write a file as a whole: a reader sees the old file or the new one, never half of it.

    It keeps its mode, and a link stays a link: what it leads to is written. A device or a pipe is written to directly.
    """
    check_folder(path)
    try:
        mode: int | None = path.stat().st_mode
    except OSError:
        mode = None
    is_file = mode is None or stat.S_ISREG(mode)
    if not is_file or path.parts[1:2] in (("dev",), ("proc",)):  # /dev/stdout, a named pipe
        path.write_bytes(content)
        return
    target = Path(os.path.realpath(path))
    remove_dead(target)
    temporary = target.with_name(f"{_stem(target)}{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))
        os.replace(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        if error.errno is None:
            raise
        raise type(error)(error.errno, f"{error.strerror}; nothing was written", str(path)) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def remove_dead(target: Path) -> None:
    """Remove the temporary files of processes that were killed while they wrote this file."""
    stem = _stem(target)
    for name in os.listdir(target.parent):
        found = name.startswith(stem) and re.fullmatch(r"(\d+)-[0-9a-f]{8}", name[len(stem) :])
        if found and not _is_alive(int(found[1])):
            with contextlib.suppress(OSError):
                target.with_name(name).unlink()


def _stem(target: Path) -> str:
    """How the names of its temporary files begin: with its own name, and that of this machine."""
    return f".{target.name[:40]}.{HOST}-"


def _is_alive(process: int) -> bool:
    """Whether a process of this machine is running."""
    if os.name == "nt":  # where `os.kill` would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True
