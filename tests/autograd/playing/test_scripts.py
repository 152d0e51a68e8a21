"""The JavaScript of the playground, of the first page and of the lessons: as plain as the stepper's."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.autograd.stepping.test_page_scripts import FORBIDDEN, without_comments

HOME = Path(__file__).resolve().parents[3]
SCRIPTS = [
    *HOME.glob("autograd/playing/assets/*.js"),
    *HOME.glob("examples/assets/*.js"),
    *HOME.glob("notebooks/assets/*.js"),
]
IDS = [path.name for path in SCRIPTS]


@pytest.mark.parametrize("path", SCRIPTS, ids=IDS)
def test_scripts_are_plain(path):
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert lines[0] == '"use strict";' and lines[1].startswith("// ")
    assert len(lines) < 250 and max(map(len, lines)) <= 140
    found = {word for pattern, word in FORBIDDEN.items() if re.search(pattern, without_comments(text), re.M)}
    assert found == ({"the network"} if path.name == "play.js" else set())  # it asks the server on this computer


@pytest.mark.skipif(shutil.which("node") is None, reason="NOT TESTED: no node on this machine")
@pytest.mark.parametrize("path", SCRIPTS, ids=IDS)
def test_scripts_parse(path):
    done = subprocess.run(["node", "--check", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_there_are_scripts():
    assert {"bridge.js", "sliders.js", "play.js", "first.js", "lesson.js"} <= set(IDS)
