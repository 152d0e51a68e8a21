"""What a test costs, in processor time: other work on the machine does not count.

After `make quick` the total is printed, and each test that costs more than `LISTED` seconds: make it cheaper or mark it
`slow`. One that costs more than `REFUSED` fails the run, so that the inner loop stays short as tests are added.
"""

import os

import pytest

LISTED, REFUSED = 1.5, 4.0
BUDGET = 50  # seconds for all of them: with the start of two workers, under 30 s on 2 cores
KEY = "processor time"


def processor_time():
    """Seconds that this process and its ended children have computed."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


class Prices:
    """A plugin: workers write the price of a test into its last report; the summary reads it there."""

    def __init__(self):
        self.spent = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.start = processor_time()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.when == "teardown":
            report.user_properties = [*report.user_properties, (KEY, processor_time() - self.start)]
        return report

    def pytest_runtest_logreport(self, report):
        if KEY in dict(report.user_properties):
            self.spent[report.nodeid] = dict(report.user_properties)[KEY]

    def pytest_sessionfinish(self, session):
        if in_quick(session.config) and session.exitstatus == 0 and max(self.spent.values(), default=0.0) > REFUSED:
            session.exitstatus = 1

    def pytest_terminal_summary(self, terminalreporter, config):
        if in_quick(config):
            terminalreporter.section("processor time")
            for line in summary(self.spent):
                terminalreporter.write_line(line)


def in_quick(config):
    return "not slow" in config.option.markexpr


def summary(spent):
    """Lines: what all tests cost, and which ones cost too much."""
    yield f"{len(spent)} tests took {sum(spent.values()):.0f} s of processor time; {BUDGET} s is the budget"
    for name, seconds in sorted(spent.items(), key=lambda item: -item[1]):
        if seconds > LISTED:
            verdict = f"FAILED: more than {REFUSED:g} s" if seconds > REFUSED else f"more than {LISTED:g} s"
            yield f"{seconds:5.1f} s  {name}: {verdict}; make it cheaper or mark it slow (CONTRIBUTING.md)"
