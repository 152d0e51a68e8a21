"""What the tests cost, in processor time: other work on the machine does not count.

After `make quick` and `make test` come the total, the dearest files, and each test that costs more than `LISTED`
seconds: make it cheaper, or mark it `slow` to leave it out of the first. In `make quick` one that costs more than
`REFUSED` fails the run, so that the inner loop stays short as tests are added. The budget of a whole run is only said:
a slow machine is no reason to fail.

A child is counted when it ends, so a browser or a kernel that several tests share is billed apart, when it is closed.
"""

import contextlib
import time
from collections import Counter

import pytest

try:
    import resource
except ImportError:  # Windows: children are not counted
    resource = None

LISTED = {"quick": 2.0, "all": 6.0}
REFUSED = 5.0
BUDGET = {"quick": 50, "all": 400}  # on 2 cores: under 30 s and 4 minutes, with lint and types
KEY, APART = "processor time", "processor time apart"  # in a report


def processor_time():
    """Seconds that this process and its ended children have computed."""
    if resource is None:
        return time.process_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Prices:
    """A plugin: workers write prices into the last report of a test; the summary reads them there."""

    def __init__(self):
        self.spent, self.apart = Counter(), Counter()
        self.start, self.unsaid = 0.0, Counter()  # when the test began; what to bill apart with its report

    @contextlib.contextmanager
    def bill(self, name, unseen=0.0):
        """What is computed in this block belongs to no test; nor do seconds `unseen` by the system."""
        begin = processor_time()
        yield
        spent = processor_time() - begin
        self.unsaid[name] += spent + unseen
        self.start += spent

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self):
        self.unsaid["imports and collection"] = processor_time()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.start = processor_time()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.when == "teardown":
            prices = [(KEY, processor_time() - self.start), (APART, dict(self.unsaid))]
            report.user_properties = [*report.user_properties, *prices]
            self.unsaid.clear()
        return report

    def pytest_runtest_logreport(self, report):
        found = dict(report.user_properties)
        if KEY in found:
            self.spent[report.nodeid] = found[KEY]
            self.apart.update(found[APART])

    def pytest_sessionfinish(self, session):
        too_much = max(self.spent.values(), default=0.0) > REFUSED
        if too_much and session.exitstatus == 0 and which_run(session.config) == "quick":
            session.exitstatus = 1

    def pytest_terminal_summary(self, terminalreporter, config):
        run = which_run(config)
        if run is not None:
            terminalreporter.section("processor time")
            for line in summary(self.spent, self.apart, run):
                terminalreporter.write_line(line)


def which_run(config):
    """ "quick" or "all" for those two; None where only some files or tests were asked for."""
    if config.args_source is not config.ArgsSource.TESTPATHS or config.option.keyword:
        return None
    return {"": "all", "not slow and not page": "quick"}.get(config.option.markexpr)


def summary(spent, apart, run):
    """Lines: what all tests cost, the dearest files, and which tests cost too much."""
    extra = "".join(f", {name} {seconds:.0f} s" for name, seconds in apart.items())
    yield (
        f"{spent.total() + apart.total():.0f} s of processor time, of a budget of {BUDGET[run]} s: "
        f"{len(spent)} tests {spent.total():.0f} s{extra}"
    )
    files = Counter()
    for name, seconds in spent.items():
        files[name.partition("::")[0]] += seconds
    yield "dearest files: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in files.most_common(12))
    for name, seconds in spent.most_common():
        if seconds > LISTED[run]:
            refused = run == "quick" and seconds > REFUSED
            yield f"{seconds:5.1f} s  {name}: {'FAILED, ' * refused}make it cheaper or mark it slow (CONTRIBUTING.md)"
