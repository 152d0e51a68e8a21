"""In which order tests run: the dearest files first, each as a whole on one worker, then all the others.

xdist gives each worker an equal part of the list, and one that is done takes over the end of another's part. So cheap
tests come last there: they even out what is left, and no file is cut in two whose tests share a page, a kernel or a
graph that took seconds to make.
"""

from itertools import groupby
from pathlib import Path

HERE = Path(__file__).parent
SECONDS = {  # of processor time, the browser's too, as `make test` tells them; others count as nothing
    "autograd/stepping/test_live_page.py": 57, "robustness/test_interrupts.py": 32, "notebooks/test_lessons.py": 24,
    "autograd/stepping/test_fit.py": 20, "worksheets/test_pages.py": 17, "notebooks/test_jupyterlab.py": 16,
    "autograd/worksheets/test_marking.py": 15, "autograd/formula/test_lines.py": 14, "autograd/program/test_c.py": 13,
    "autograd/playing/test_page.py": 13, "autograd/stepping/test_step_page.py": 13,
    "autograd/worksheets/test_page.py": 12, "test_access.py": 11, "nn/test_examples.py": 11,
    "autograd/program/test_backends.py": 11, "autograd/stepping/test_step_files.py": 10,
    "autograd/worksheets/test_every_blank.py": 10, "autograd/test_ops.py": 10,
    "autograd/stepping/test_every_layer.py": 9, "test_tools.py": 9, "autograd/stepping/test_step_data.py": 7,
    "worksheets/test_exercises.py": 7, "autograd/drawing/test_focus.py": 7, "autograd/test_pitfalls.py": 5,
    "autograd/drawing/test_page.py": 5,
}  # fmt: skip


def dealt(items, workers):
    """The items in the order that they are to run in."""
    files = {path: list(group) for path, group in groupby(items, lambda item: item.path)}
    hands = [[0, []] for _ in range(workers)]  # seconds, items
    for name, seconds in sorted(SECONDS.items(), key=lambda pair: pair[1], reverse=True):
        hand = min(hands, key=lambda one: one[0])
        if file := files.pop(HERE / name, None):
            hand[0] += seconds
            hand[1] += file
    rest = [item for file in files.values() for item in file]
    for number, (_, hand) in enumerate(hands):
        part = len(items) * (number + 1) // workers - len(items) * number // workers  # what this worker is given
        taken = max(0, part - len(hand))
        hand += rest[:taken]
        del rest[:taken]
    return [item for _, hand in hands for item in hand] + rest
