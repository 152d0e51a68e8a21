"""Gradient checks in pytest: a fixture and a marker, both called `gradcheck`.

    def test_my_layer(gradcheck):                       # the fixture: as assert_grads, with the run's seed
        gradcheck(my_layer, np.ones((2, 3)), order=2)

    @pytest.mark.gradcheck(2.0, np.ones(3))             # the marker: the test is the function to check
    def test_product(x, y):
        return (x * y).sum()

    @pytest.mark.gradcheck(order=2)                     # without inputs: at the defaults
    def test_cube(x=2.0):
        return x**3

Several markers with inputs are several tests. Fixtures and parametrized arguments are held; a marker without inputs
on a class, a module, or a test that takes the fixture sets options. `pytest --gradcheck-seed=7` changes the random
weights on the results (or `random`); the seed of a failure is printed with it.
"""

from __future__ import annotations

import functools
import inspect
import secrets
import traceback
from collections.abc import Callable
from typing import Any

import pytest

MARKER = "gradcheck"
OPTIONS = ("order", "step", "seed", "mode", "rtol", "atol", "allow", "points", "entries", "digits")
CHECK = "_gradcheck_mark"  # the parameter of a test item that says which of its markers it is for
INPUT = object()  # stands in the place of an argument that a marker gives


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("gradcheck", "gradient checks").addoption(
        "--gradcheck-seed",
        default="0",
        metavar="N",
        help="seed of gradient checks: an integer, or random (default: 0)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}(*inputs, order=1, rtol=None, atol=None, allow=(), points=1, entries=None, …): check the gradient "
        "of the test itself, as a function, at these inputs, or at its defaults; for a test that takes the fixture, "
        "set its options",
    )
    said = config.getoption("--gradcheck-seed")
    if said == "random":
        config.option.gradcheck_seed = str(secrets.randbelow(2**31))
    elif not said.isdecimal():
        raise pytest.UsageError(f"--gradcheck-seed is an integer or the word random; got {said!r}")


def pytest_report_header(config: pytest.Config) -> str | None:
    seed = config.getoption("--gradcheck-seed")
    return None if seed == "0" else f"gradcheck: seed {seed} (again with --gradcheck-seed={seed})"


@pytest.fixture
def gradcheck(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`gradcheck(f, *inputs, order=1, rtol=None, allow=(), …)`: fail the test if a gradient is wrong.

    Its options are those of `check_grads`; gradcheck.formula and gradcheck.layer are check_formula and check_layer.
    """
    settings = _settings(request.node)

    def door(how: str, given: int) -> Any:
        def check(*args: Any, **options: Any) -> Any:
            __tracebackhide__ = True  # the failure is shown at the line that called
            mine = {k: v for k, v in settings.items() if how == "check_grads" or k not in ("order", "mode")}
            return _check(request.config, args[:given], args[given:], {**mine, **options}, pytrace=True, how=how)

        return check

    check = door("check_grads", 1)
    check.formula, check.layer = door("check_formula", 2), door("check_layer", 1)
    return check


def _check(
    config: pytest.Config, functions: tuple[Any, ...], inputs: tuple[Any, ...], options: dict[str, Any], pytrace: bool,
    how: str = "check_grads",
) -> Any:  # fmt: skip
    """Check, and fail with the report alone: a traceback through the checker would tell nothing."""
    __tracebackhide__ = True
    from . import check as checks
    from .errors import HandgradError

    unknown = options.keys() - set(OPTIONS)
    if unknown:
        pytest.fail(f"gradcheck takes the options {', '.join(OPTIONS)}; got {', '.join(sorted(unknown))}", pytrace)
    seed = options.get("seed")
    seed = int(config.getoption("--gradcheck-seed")) if seed is None else seed
    try:
        report = getattr(checks, how)(*functions, *inputs, **{**options, "seed": seed})
        trouble = "" if report.ok else str(report) + (f"\n  - again with --gradcheck-seed={seed}" if seed else "")
    except HandgradError as error:
        if any(_was_called(f, error) for f in functions if callable(f)):
            raise  # its own frames tell where
        trouble = f"{type(error).__name__}: {error}"
    if trouble:
        pytest.fail(trouble, pytrace)
    return report


def _was_called(f: Callable[..., Any], error: Exception) -> bool:
    """Whether an error came out of the function, and not out of the check of its arguments."""
    code = getattr(inspect.unwrap(f), "__code__", None)
    return any(frame.f_code is code for frame, _ in traceback.walk_tb(error.__traceback__))


# --- the marker: a test that is itself the function ---------------------------------------------------------


def _settings(item: Any) -> dict[str, Any]:
    """The options that markers without inputs set, the closest last."""
    settings: dict[str, Any] = {}
    for mark in reversed(list(item.iter_markers(MARKER))):
        if not mark.args:
            settings |= mark.kwargs
    return settings


def _checks(item: Any) -> list[pytest.Mark]:
    """The markers that ask for a check of the test itself, in the order in which they are written.

    Those are the ones that give inputs; else its own one, unless it is there for the fixture.
    """
    with_inputs = [mark for mark in item.iter_markers(MARKER) if mark.args]
    own = [mark for mark in item.own_markers if mark.name == MARKER]
    return with_inputs[::-1] or ([] if MARKER in item.fixturenames else own[:1])


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """An item for each check. Arguments that nothing else gives are inputs: pytest must not look for such fixtures."""
    checks = _checks(metafunc.definition)
    info = metafunc.definition._fixtureinfo
    inputs = [name for name in info.argnames if name not in info.name2fixturedefs]
    if not inputs and not any(mark.args for mark in checks):
        return
    ids = [MARKER] if len(checks) == 1 else [f"{MARKER}{i + 1}" for i in range(len(checks))]
    given = [pytest.param(mark, *[INPUT] * len(inputs), id=name) for mark, name in zip(checks, ids)]
    if given:
        metafunc.fixturenames.append(CHECK)
        metafunc.parametrize([CHECK, *inputs], given)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    checks = _checks(pyfuncitem)
    if not checks:
        return None
    callspec = getattr(pyfuncitem, "callspec", None)
    mark = checks[0] if callspec is None else callspec.params.get(CHECK, checks[0])
    test = _Test(pyfuncitem)
    inputs, trouble = test.inputs(mark)
    if trouble:
        pytest.fail(trouble, pytrace=False)
    _check(pyfuncitem.config, (test,), inputs, {**_settings(pyfuncitem), **mark.kwargs}, pytrace=False)
    return True


class _Test:
    """A test as a function of the arguments that are inputs; fixtures and parametrized arguments are held."""

    __name__: str
    __signature__: inspect.Signature

    def __init__(self, item: pytest.Function) -> None:
        functools.update_wrapper(self, item.obj)
        arguments = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}
        self._held = {name: argument for name, argument in arguments.items() if argument is not INPUT}
        signature = inspect.signature(item.obj)
        mine = [p for p in signature.parameters.values() if p.name not in self._held]
        self.__signature__ = signature.replace(parameters=mine)
        self.names = [p.name for p in mine if p.kind is p.POSITIONAL_OR_KEYWORD]  # what a report calls the inputs

    def __call__(self, *inputs: Any) -> Any:
        return self.__wrapped__(**dict(zip(self.names, inputs)), **self._held)  # type: ignore[attr-defined]

    def inputs(self, mark: pytest.Mark) -> tuple[tuple[Any, ...], str]:
        """What a marker gives, or the defaults; and what is to be said if they do not fit."""
        from autograd.check.subjects.inputs import NoInputs, inputs_of

        from .errors import counted

        try:
            inputs = mark.args or inputs_of(self)
        except NoInputs as unsaid:
            give = f"Give inputs, @pytest.mark.gradcheck(2.0), or defaults, def {self.__name__}(x=2.0)"
            return (), f"{self.__name__} cannot be checked: {unsaid}. {give}"
        try:
            self.__signature__.bind(*inputs)
        except TypeError:
            takes = f"{self.__name__} takes {counted(len(self.names), 'input')} ({', '.join(self.names)})"
            return (), f"{takes}; @pytest.mark.gradcheck gives {counted(len(inputs), 'input')}"
        return inputs, ""
