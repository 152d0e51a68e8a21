"""What a test costs, in processor time: other work on the machine does not count.

After `make quick` and `make test` come the total, the dearest files, and each test that costs more than `LISTED`
seconds: make it cheaper, or mark it `slow` to leave it out of the first. In `make quick` one that costs more than
`REFUSED` fails the run, so that the inner loop stays short as tests are added.
"""

import os
from collections import Counter

import pytest

LISTED = {"quick": 2.5, "all": 8.0}
REFUSED = 5.0
BUDGET = {"quick": 50, "all": 400}  # with the start of two workers, under 30 s and 4 minutes on 2 cores
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
        too_much = max(self.spent.values(), default=0.0) > REFUSED
        if too_much and session.exitstatus == 0 and which_run(session.config) == "quick":
            session.exitstatus = 1

    def pytest_terminal_summary(self, terminalreporter, config):
        run = which_run(config)
        if run is not None:
            terminalreporter.section("processor time")
            for line in summary(self.spent, run):
                terminalreporter.write_line(line)


def which_run(config):
    """ "quick" or "all" for those two; None where only some files or tests were asked for."""
    if config.args_source is not config.ArgsSource.TESTPATHS or config.option.keyword:
        return None
    return {"": "all", "not slow and not page": "quick"}.get(config.option.markexpr)


def summary(spent, run):
    """Lines: what all tests cost, the dearest files, and which tests cost too much."""
    yield f"{len(spent)} tests took {sum(spent.values()):.0f} s of processor time; the budget is {BUDGET[run]} s"
    files = Counter()
    for name, seconds in spent.items():
        files[name.partition("::")[0]] += seconds
    yield "dearest files: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in files.most_common(12))
    for name, seconds in sorted(spent.items(), key=lambda item: -item[1]):
        if seconds > LISTED[run]:
            refused = run == "quick" and seconds > REFUSED
            yield f"{seconds:5.1f} s  {name}: {'FAILED, ' * refused}make it cheaper or mark it slow (CONTRIBUTING.md)"
