"""Gradient checks that say why: a verdict, the entry, both numbers, the pattern, and the op at fault.

api.py          check_grads, assert_grads, check_formula, check_layer: how a check goes
options.py      what a check may be asked for
inputs.py       where a function says that it is to be checked
subject.py      the function under check: its inputs, one run, the engine's gradients; plain functions
formula.py      a gradient that the user derived
layers.py       layers with forward and backward
trust.py        whether a replay or a second call gives the same numbers, and whether rules are linear
breakpoints.py  where the recorded run bends or jumps; the same run with its choices kept
probe.py        how much the weighted sum of the results changes
differences.py  slopes from differences, each with a bound; random lines
exact.py        slopes and the gradient in 90 digits
verdict.py      from numbers to verdicts
second.py       the gradient of the gradient
diagnosis.py    why a wrong gradient is wrong
report.py       what is said
"""

from .api import assert_grads as assert_grads
from .api import check_formula as check_formula
from .api import check_grads as check_grads
from .api import check_layer as check_layer
from .report import Entry as Entry
from .report import Report as Report

__all__ = ["Entry", "Report", "assert_grads", "check_formula", "check_grads", "check_layer"]
