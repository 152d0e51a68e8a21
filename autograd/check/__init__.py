"""Gradient checks that say why: verdicts, the entry, both numbers, and the op at fault."""

from .formula import check_formula as check_formula
from .grads import assert_grads as assert_grads
from .grads import check_grads as check_grads
from .report import Entry as Entry
from .report import Report as Report

__all__ = ["Entry", "Report", "assert_grads", "check_formula", "check_grads"]
