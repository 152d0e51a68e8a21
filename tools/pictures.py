"""The pictures of the README: `python -m tools.pictures` writes docs/pictures/ again."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np

import nn
from autograd import Value, draw, step
from autograd.saving.browser import FLAGS, find_chromium
from examples import example3_full_backprop, gpt_graph

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
STEP = 24  # the page opens where the scores send gradients to queries and keys


def photograph(page: Path, picture: Path, width: int = 1366, height: int = 768) -> None:
    """A screenshot of a page, by whatever browser there is."""
    browser = find_chromium()
    if browser is None:
        raise SystemExit(f"{picture.name} needs a Chromium or Chrome; `handgrad doctor` tells how to get one")
    subprocess.run(
        [browser, *FLAGS, f"--user-data-dir={page.parent}/profile", f"--window-size={width},{height}",
         "--virtual-time-budget=3000", f"--screenshot={picture}", f"{page.as_uri()}#step={STEP}"],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip


def loop() -> Value:
    """50 steps of Euler's method."""
    k, y = Value(0.7, name="k"), Value(1.0, name="y0")
    for _ in range(50):
        y = y + 0.05 * (-k * y * y)
    y.name = "y"
    y.backward()
    return y


def neurons() -> Value:
    """An MLP of scalars on three samples."""
    model, samples = nn.MLP(2, [16, 16, 1], rng=0), np.random.default_rng(0).normal(size=(3, 2)).tolist()
    outs = [model([Value(x, requires_grad=False) for x in sample]) for sample in samples]
    loss: Value = sum(((out - (-1) ** i) ** 2 for i, out in enumerate(outs)), start=Value(0.0))
    loss.name = "loss"
    loss.backward()
    return loss


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    draw(gpt_graph.graph(), collapse=1).save(PICTURES / "gpt.svg")
    draw(loop()).save(PICTURES / "loop.svg")
    draw(neurons()).save(PICTURES / "neurons.svg")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "step.html")
        step(example3_full_backprop.graph(), title="One attention head").save(page)
        photograph(page, PICTURES / "stepper.png")
    print(f"written: {', '.join(sorted(p.name for p in PICTURES.iterdir()))}")


if __name__ == "__main__":
    main()
