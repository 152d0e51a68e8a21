"""W9: the page of some 800 steps in a browser: how long it takes to open, and to follow a changed number."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from autograd import step
from autograd.graph import leaves
from autograd.saving.browser import find_chromium
from benchmarks import harness
from benchmarks.w8_draw import graph

VALUES = 640  # of a scalar network: 400 ops, so 800 steps
ROUNDS = 7
EDIT = """(() => {
  const times = [];
  for (let i = 0; i < 9; i++) {
    const start = performance.now();
    handgrad.set("w1", 0.1 * i);
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[4];
})()"""


def write(path: Path) -> int:
    """The page, and how many steps it has."""
    root = graph(VALUES)
    for number, leaf in enumerate(leaves(root)):
        leaf.name = f"w{number}"
    stepper = step(root, collapse=False)
    stepper.save(path)
    return len(stepper)


def main() -> None:
    harness.pin()
    harness.heading("W9: a page of 800 steps in Chromium")
    chromium = find_chromium()
    if chromium is None:
        print("NOT MEASURED: no Chromium on this machine")
        return
    from tests.browser import Browser  # drives it through the DevTools protocol

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "steps.html")
        steps = write(path)
        browser = Browser(chromium)
        opened, followed = [], []
        try:
            for _ in range(ROUNDS):
                browser.open("about:blank")
                browser.open(path.as_uri())
                browser.wait("!!window.handgrad")
                opened.append(browser.js("performance.getEntriesByType('navigation')[0].loadEventEnd"))
                browser.js(f"handgrad.goto({3 * steps // 4})")
                followed.append(browser.js(EDIT))
        finally:
            browser.close()
        size = path.stat().st_size
    times = [f"{statistics.median(spent):.0f} ms" for spent in (opened, followed)]
    row = (f"{steps:,}", f"{size / 1e6:.1f} MB", *times)
    harness.table(("steps", "size", "opens in", "follows a change in"), [row])
    harness.aim("seconds to open", min(opened) / 1000, at_most=1.0)
    harness.aim("milliseconds to follow a change", min(followed), at_most=50.0)


if __name__ == "__main__":
    main()
