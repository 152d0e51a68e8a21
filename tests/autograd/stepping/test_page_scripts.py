"""The page's JavaScript: small files, no framework, nothing that runs text; and it parses where there is a node."""

import os
import re
import shutil
import subprocess
from importlib.resources import files

import pytest

from autograd.stepping.page.document import SCRIPTS
from tests.node import ROOT, installed

ASSETS = files("autograd.stepping.page").joinpath("assets")
FORBIDDEN = {
    r"\beval\s*\(": "eval", r"new\s+Function\b": "new Function", r"\bvar\s": "var", r"[^=!]==[^=]": "==",
    r"!=[^=]": "!=", r"\bdocument\.write\b": "document.write",
    r"\bfetch\s*\(|XMLHttpRequest|import\s*\(": "the network",
    r"https?://(?!www\.w3\.org)": "an address", r"\bconsole\.": "console", r"\t": "a tab", r" +$": "spaces at the end",
    r"set(?:Timeout|Interval)\(\s*[\"'`]": "a timer that runs text",
}  # fmt: skip


def without_comments(text):
    return re.sub(r"(?m) *//(?!www).*$", "", text)


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_plain(name):
    text = ASSETS.joinpath(name).read_text(encoding="utf-8")
    lines = text.splitlines()
    assert lines[0] == '"use strict";' and lines[1].startswith("// ")
    assert len(lines) < 480 and max(map(len, lines)) <= 140
    found = [word for pattern, word in FORBIDDEN.items() if re.search(pattern, without_comments(text), re.M)]
    assert found == []


@pytest.mark.skipif(shutil.which("node") is None, reason="NOT TESTED: no node on this machine")
@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_parse(name):
    done = subprocess.run(["node", "--check", str(ASSETS.joinpath(name))], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_every_page_script_is_without_faults():
    """All pages of the project, by eslint."""
    eslint = installed("eslint/bin/eslint.js")
    if shutil.which("node") is None:
        pytest.skip("NOT TESTED: no node on this machine")
    scripts = sorted(path for folder in ("autograd", "examples", "notebooks") for path in (ROOT / folder).rglob("*.js"))
    assert len(scripts) > 10
    declared = re.compile(r"^(?:const|let|function|class) (?:\{ ?([^}]*)\}|(\w+))", re.M)
    shared = {name for path in scripts for found in declared.finditer(path.read_text(encoding="utf-8"))
              for name in re.findall(r"\w+", found[1] or found[2])} | {"lessons", "limits"}  # fmt: skip  # by Python
    done = subprocess.run(
        ["node", eslint, "--no-config-lookup", "-c", ROOT / "tests" / "eslint.config.mjs", *scripts],
        capture_output=True, text=True, cwd=ROOT, env=os.environ | {"HANDGRAD_SHARED": " ".join(sorted(shared))},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_script_is_used():
    here = {path.name for path in ASSETS.iterdir() if path.name.endswith(".js")}
    assert here == {*SCRIPTS, "deck.js", "step_widget.js", "in_notebook.js"}


def test_underlines_are_written_for_safari_too():
    """It drops all of `text-decoration: underline dashed red`: a style and a colour are properties of their own."""
    sheets = [path for folder in ("autograd", "examples", "notebooks") for path in ROOT.glob(f"{folder}/**/*.css")]
    assert len(sheets) > 4
    for path in sheets:
        lines = re.findall(r"text-decoration: *([\w -]*)", path.read_text(encoding="utf-8"))
        assert set(map(str.strip, lines)) <= {"none", "underline", "line-through"}, path.name
