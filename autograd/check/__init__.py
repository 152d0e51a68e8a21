"""Gradient checks that say why: a verdict, the entry, both numbers, the pattern, and the op at fault.

api        check_grads, assert_grads, check_formula, check_layer: how a check goes
options    what a check may be asked for
subjects/  what is checked: functions, formulas, layers
slopes/    what it is held against: differences with their bounds, breakpoints, 90 digits
verdict    from numbers to verdicts
second     the gradient of the gradient
diagnosis  why a wrong gradient is wrong
report     what is said
"""

from .api import assert_grads as assert_grads
from .api import check_formula as check_formula
from .api import check_grads as check_grads
from .api import check_layer as check_layer
from .report import Entry as Entry
from .report import Report as Report

__all__ = ["Entry", "Report", "assert_grads", "check_formula", "check_grads", "check_layer"]
