"""Tools from npm that tests of pages use: eslint and axe-core. `make test` installs them where npm is."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULES = ROOT / ".venv" / "node" / "node_modules"


def installed(path):
    """The file of a package; without it the test is skipped and the summary says so."""
    found = MODULES / path
    if not found.exists():
        package = path.partition("/")[0]
        pytest.skip(f"NOT TESTED: {package} is not installed (`make test` does it where npm is)")
    return found


def serious_faults(browser, rules=None):
    """What axe-core finds wrong with the open page, for people who cannot see it or use no mouse, by all rules or by
    these."""
    browser.js(installed("axe-core/axe.min.js").read_text(encoding="utf-8") + "; 0")
    chosen = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
    faults = browser.js(
        f"axe.run(document, {json.dumps(chosen)}).then(found => JSON.stringify(found.violations.map("
        "one => [one.impact, one.id, one.help, one.nodes.slice(0, 4).map(node => node.html.slice(0, 160))])))"
    )
    return [fault for fault in json.loads(faults) if fault[0] in ("serious", "critical")]


def in_node(code, *scripts):
    """What a piece of JavaScript comes to, after these files of the project were read; no browser is needed."""
    if shutil.which("node") is None:
        pytest.skip("NOT TESTED: no node on this machine")
    read = "".join(ROOT.joinpath(path).read_text(encoding="utf-8").replace('"use strict";', "") for path in scripts)
    told = f"const module = undefined;{read};process.stdout.write(JSON.stringify(await (async () => {{{code}}})()))"
    done = subprocess.run(["node", "--input-type=module", "-"], input=told, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
