"""What the worksheet tests share: each example's `run()`, once, and the table of verdicts at the end of the run."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest

from examples import find
from examples.checking import verdict
from examples.checking.sheet import names

PROPERTY = "worksheet verdict"      # the property under which a test reports the number it looked at


@pytest.fixture(scope="session")
def quantities() -> Any:
    """`quantities(name)`: what `run()` of an example returns with no argument."""
    return cache(lambda name: find(name).module.run())


@pytest.fixture(scope="session")
def findings(quantities: Any) -> Any:
    """`findings(name)`: the findings of one worksheet, by entry."""
    return cache(lambda name: {finding.entry.id: finding for finding in verdict.check(name, quantities(name))})


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The verdicts on the printed numbers that this run looked at; reports come from every worker."""
    tallies: dict[str, Counter[str]] = {name: Counter() for name in names()}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            for key, value in getattr(report, "user_properties", ()):
                if key == PROPERTY and getattr(report, "when", "") == "call":
                    sheet_name, kind = value
                    tallies[sheet_name][kind if outcome == "passed" else verdict.FAILED] += 1
    tallies = {name: counts for name, counts in tallies.items() if counts}
    if tallies:
        terminalreporter.section("printed worksheets")
        terminalreporter.write_line(verdict.table(tallies))
        terminalreporter.write_line(verdict.summary(tallies))
