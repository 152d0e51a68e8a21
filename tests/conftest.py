"""What every test shares: one thread, the hypothesis profiles, and the browser."""

import gc
import os
import random

# Before anything imports NumPy: sums in a fixed order, and no fight among test workers.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

from tests.order import dealt
from tests.price import Prices
from tests.sweep import answer_keywords

# HYPOTHESIS_PROFILE chooses: `dev` while working, `ci`, `intense` overnight. Each draws other examples every time, by a
# seed that is printed.
SLOW_IS_FINE = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=10, **SLOW_IS_FINE)
settings.register_profile("ci", max_examples=60, print_blob=True, **SLOW_IS_FINE)
settings.register_profile("intense", max_examples=2000, **SLOW_IS_FINE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Prices(), "prices")
    if config.option.hypothesis_seed is None:  # workers get that of the process that starts them
        config.option.hypothesis_seed = random.randrange(2**32)


def pytest_report_header(config: pytest.Config) -> str:
    return f"random examples by --hypothesis-seed={config.option.hypothesis_seed}"


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    if terminalreporter.stats.get("failed"):
        terminalreporter.write_line(pytest_report_header(config))


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Whoever looks for doctests goes through every function of a module: only where there is one."""
    found = yield
    if file_path.suffix == ".py" and ">>>" not in file_path.read_text(encoding="utf-8"):
        return [each for each in found if not isinstance(each, DoctestModule)]
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Whatever drives a browser is a `page` test; `-k` also finds the cases of a sweep; `nightly` tests wait for
    `make nightly` or `-m nightly`."""
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker("page")
    if not os.environ.get("HANDGRAD_NIGHTLY") and "nightly" not in config.option.markexpr:
        nightly = [item for item in items if item.get_closest_marker("nightly")]
        config.hook.pytest_deselected(items=nightly)
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]
    if config.option.keyword:
        answer_keywords(items, config.option.keyword)


@pytest.hookimpl(specname="pytest_collection_modifyitems", trylast=True)
def pytest_deal_items(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Those that were not left out."""
    items[:] = dealt(items, getattr(config, "workerinput", {"workercount": 1})["workercount"])


def pytest_collection_finish() -> None:
    let_it_stay()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is None or nextitem.path != item.path:
        let_it_stay()


def let_it_stay() -> None:
    """What was collected and what a file's tests have cached: each full garbage collection of a later test would walk
    through all of it."""
    gc.collect()
    gc.freeze()


gc.set_threshold(10_000, 20, 20)  # fewer collections than usual; tests that look at memory make their own


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium to drive; without one the test is skipped and the summary says so."""
    from autograd.saving.browser import find_chromium

    path = find_chromium()
    if path is None:
        pytest.skip("NOT TESTED: no Chromium on this machine (on Debian: apt install chromium)")
    return path


@pytest.fixture(scope="session")
def prices(pytestconfig):
    """Where to bill what several tests share."""
    return pytestconfig.pluginmanager.getplugin("prices")


@pytest.fixture(scope="session")
def browser(chromium, prices):
    """One tab in one Chromium for all the tests of a worker: it takes longer to start than most tests take."""
    from tests.browser import Browser  # which needs a package that not every machine has

    one = Browser(chromium)
    yield one
    with prices.bill("the browser", one.spent_beside()):
        one.close()
