"""Files are written whole or not at all; modes and links are kept; what killed processes leave is removed."""

import os
import signal
import stat
import subprocess
import sys

import pytest

import nn
from autograd import Value, draw, step
from autograd.saving import files

WRITERS = {
    "bytes": lambda path: files.write_whole(path, b"new"),
    "model": lambda path: nn.save(nn.Linear(1, 1, rng=0), path),
    "drawing": lambda path: draw(Value(2.0) * 3.0).save(path),
    "stepper": lambda path: step(Value(2.0) * 3.0).save(path),
}
NAMES = {"drawing": "file.svg", "stepper": "file.html"}
posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes, links and signals")


@posix
@pytest.mark.parametrize("what", WRITERS)
@pytest.mark.parametrize("mode", [0o600, 0o664, 0o444])
def test_a_file_keeps_its_mode(what, mode, tmp_path):
    path = tmp_path / NAMES.get(what, "file")
    path.write_bytes(b"old")
    path.chmod(mode)
    WRITERS[what](path)
    assert path.read_bytes() != b"old" and stat.S_IMODE(path.stat().st_mode) == mode


@posix
def test_a_new_file_has_ordinary_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        files.write_whole(tmp_path / "file", b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


@posix
@pytest.mark.parametrize("what", WRITERS)
def test_a_link_stays_a_link(what, tmp_path):
    name = NAMES.get(what, "file")
    (tmp_path / "store").mkdir()
    target, link = tmp_path / "store" / name, tmp_path / name
    link.symlink_to(os.path.join("store", name))
    for _ in range(2):  # it leads nowhere at first
        WRITERS[what](link)
        assert link.is_symlink() and target.is_file() and not target.is_symlink()
    assert sorted(os.listdir(tmp_path)) == sorted([name, "store"]) and os.listdir(target.parent) == [name]


@posix
def test_a_device_is_written_to_and_stays(tmp_path):
    command = "from pathlib import Path; from autograd.saving.files import *; write_whole(Path('/dev/stdout'), b'yes')"
    answer = subprocess.run([sys.executable, "-c", command], capture_output=True, timeout=60)
    assert (answer.stdout, answer.stderr) == (b"yes", b"")
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    files.write_whole(tmp_path / "pipe", b"through")
    assert reader.communicate(timeout=60)[0] == b"through" and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


KILLED = """
import os, signal, sys
from pathlib import Path
from autograd.saving import files
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
files.write_whole(Path(sys.argv[1]), b"half")
"""


@pytest.mark.slow
@posix
def test_what_a_killed_process_left_is_removed_by_the_next_write(tmp_path):
    path, other = tmp_path / "model", tmp_path / "other"
    path.write_bytes(b"old")
    for target in (path, other):
        ended = subprocess.run([sys.executable, "-c", KILLED, target], timeout=60)
        assert ended.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old" and len(os.listdir(tmp_path)) == 3
    alive = tmp_path / f".model.{files.HOST}-{os.getpid()}-01234567"
    elsewhere = tmp_path / ".model.another0-999999999-01234567"
    for kept in (alive, elsewhere):  # of a process that is still writing, and of another machine
        kept.write_bytes(b"")
    files.write_whole(path, b"new")
    left = [name for name in os.listdir(tmp_path) if name not in (alive.name, elsewhere.name)]
    assert path.read_bytes() == b"new" and len(left) == 2 and "model" in left
    files.write_whole(other, b"new")
    assert sorted(os.listdir(tmp_path)) == sorted([alive.name, elsewhere.name, "model", "other"])


def test_a_name_as_long_as_a_name_may_be(tmp_path):
    path = tmp_path / ("n" * 250)
    files.write_whole(path, b"new")
    assert os.listdir(tmp_path) == [path.name]


def test_a_folder_and_a_missing_folder_are_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        files.write_whole(tmp_path, b"")
    with pytest.raises(FileNotFoundError, match="mkdir -p"):
        files.write_whole(tmp_path / "no" / "file", b"")
    assert os.listdir(tmp_path) == []
