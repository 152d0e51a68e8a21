"""Gradient checks that say why: a verdict, the entry, both numbers, the pattern, and the op at fault.

grads.py         check_grads and assert_grads: how a check goes
formula.py       check_formula: a gradient that the user derived
inputs.py        where a function says that it is to be checked
subject.py       the function under check: its inputs, one recorded run, the engine's gradients
repeats.py       whether a replay of that run (program/replay.py), or a second call, gives the same numbers
probe.py         how much the weighted sum of the results changes: by replay, or by calls
differences.py   derivatives from differences, with error bounds; kinks
complex_step.py  derivatives without cancellation, where the ops allow
directions.py    large inputs, along random directions
linearity.py     whether rules are linear in the gradient that arrives
verdict.py       from numbers to verdicts
diagnosis.py     why a wrong gradient is wrong
report.py        what is said
"""

from .formula import check_formula as check_formula
from .grads import assert_grads as assert_grads
from .grads import check_grads as check_grads
from .report import Entry as Entry
from .report import Report as Report

__all__ = ["Entry", "Report", "assert_grads", "check_formula", "check_grads"]
