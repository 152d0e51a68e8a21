"""Gradient checks in pytest: a fixture and a marker, both called `gradcheck`.

    def test_my_layer(gradcheck):                       # the fixture: as assert_grads, with the run's seed
        gradcheck(my_layer, np.ones((2, 3)), order=2)

    @pytest.mark.gradcheck(2.0, np.ones(3))             # the marker: the test is the function to check
    def test_product(x, y):
        return (x * y).sum()

`pytest --gradcheck-seed=7` changes the random weights on the results (or `random`); the seed of a failure is printed
with it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import pytest

MARKER = "gradcheck"
OPTIONS = ("order", "step", "seed", "mode")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("gradcheck", "gradient checks").addoption(
        "--gradcheck-seed",
        default="0",
        metavar="N",
        help="seed of gradient checks: a whole number, or random (default: 0)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}(*inputs, order=1, step=None, mode='reverse', seed=None): check the gradient of the test itself, as "
        "a function, at these inputs; without inputs, set the fixture's options",
    )
    said = config.getoption("--gradcheck-seed")
    if said == "random":
        config.option.gradcheck_seed = str(secrets.randbelow(2**31))
    elif not said.isdigit():
        raise pytest.UsageError(f"--gradcheck-seed is a whole number or the word random; got {said!r}")


def pytest_report_header(config: pytest.Config) -> str | None:
    seed = config.getoption("--gradcheck-seed")
    return None if seed == "0" else f"gradcheck: seed {seed} (again with --gradcheck-seed={seed})"


@pytest.fixture
def gradcheck(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`gradcheck(f, *inputs, order=1, step=None, mode="reverse", seed=None)`: fail the test if a gradient is wrong."""
    marker = request.node.get_closest_marker(MARKER)
    defaults = dict(marker.kwargs) if marker is not None else {}

    def check(f: Callable[..., Any], *inputs: Any, **options: Any) -> Any:
        return _check(request.config, f, inputs, {**defaults, **options})

    return check


def _check(config: pytest.Config, f: Callable[..., Any], inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Check, and fail with the report alone: a traceback through the checker would tell nothing."""
    __tracebackhide__ = True
    from autograd.check import check_grads

    seed = options.pop("seed", None)
    seed = int(config.getoption("--gradcheck-seed")) if seed is None else seed
    report = check_grads(f, *inputs, seed=seed, **options)
    if not report.ok:
        again = f"\n  - again with --gradcheck-seed={seed}" if seed else ""
        pytest.fail(f"{report}{again}", pytrace=False)
    return report


# --- the marker: a test that is itself the function ---------------------------------------------------------


def _own_inputs(item: Any) -> tuple[Any, ...]:
    marker = item.get_closest_marker(MARKER)
    return marker.args if marker is not None else ()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The marker's inputs are the test's arguments, so pytest must not look for fixtures of these names."""
    inputs = _own_inputs(metafunc.definition)
    if not inputs:
        return
    code = metafunc.function.__code__
    names = [n for n in code.co_varnames[: code.co_argcount] if n in metafunc.fixturenames]
    if len(names) != len(inputs):
        raise pytest.UsageError(
            f"{metafunc.function.__name__} takes {len(names)} arguments ({', '.join(names)}); @pytest.mark.gradcheck "
            f"gives {len(inputs)} inputs"
        )
    metafunc.parametrize(names, [pytest.param(*inputs, id="gradcheck")])


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    inputs = _own_inputs(pyfuncitem)
    if not inputs:
        return None
    marker = pyfuncitem.get_closest_marker(MARKER)
    assert marker is not None
    unknown = marker.kwargs.keys() - set(OPTIONS)
    if unknown:
        raise pytest.UsageError(f"@pytest.mark.gradcheck takes {', '.join(OPTIONS)}; got {', '.join(unknown)}")
    _check(pyfuncitem.config, pyfuncitem.obj, inputs, dict(marker.kwargs))
    return True
