"""The exceptions. Each message says what was expected, what came, and what to write instead.

    HandgradError
    ├── DataError          (TypeError)        data that is not real numbers
    ├── ShapeError         (ValueError)       shapes that do not broadcast, chain or fit
    ├── AxisError          (ValueError, IndexError)   an axis or index that is not there
    ├── BackwardError      (RuntimeError)     a backward pass that cannot start or go on
    │   └── StaleDataError                    data edited between the forward pass and backward
    ├── NonFiniteError     (ArithmeticError)  detect_nan() met a NaN or an infinity
    ├── TraceError         (TypeError)        a function that cannot be compiled
    ├── CompilerError      (RuntimeError)     no C compiler, or one that failed
    ├── StepError          (IndexError)       a step or a name that a stepper does not have
    ├── GradientError      (AssertionError)   a gradient that failed its check
    └── ClashError         (ImportError)      another package called `autograd` is in the way

and one warning, LostGradientWarning (UserWarning): a derivative is 0 because its function left the graph.
"""

import re

__all__ = [
    "AxisError", "BackwardError", "ClashError", "CompilerError", "DataError", "GradientError", "HandgradError",
    "LostGradientWarning", "NonFiniteError", "ShapeError", "StaleDataError", "StepError", "TraceError",
]  # fmt: skip


class HandgradError(Exception):
    """The root of every exception this library raises on purpose."""

    def __str__(self) -> str:
        return printable(super().__str__())


class DataError(HandgradError, TypeError):
    """Data that is not real numbers: text, objects, complex numbers, a NaN used as an index."""


class ShapeError(HandgradError, ValueError):
    """Shapes that do not broadcast, chain or fit."""


class AxisError(HandgradError, ValueError, IndexError):
    """An axis or an index outside the array."""


class BackwardError(HandgradError, RuntimeError):
    """A backward pass that cannot start, or a rule that gave something that is no gradient."""


class StaleDataError(BackwardError):
    """A leaf's data was edited after the forward pass used it."""


class NonFiniteError(HandgradError, ArithmeticError):
    """A NaN or an infinity, met under `detect_nan()`."""


class TraceError(HandgradError, TypeError):
    """A function that cannot be compiled: it branches on numbers, reads them or draws them outside the graph."""


class CompilerError(HandgradError, RuntimeError):
    """No C compiler for `compile(f, "c")`, or one that failed; with what to install, or what it said."""


class StepError(HandgradError, IndexError):
    """A step before the first or after the last, or a name that no step has."""


class GradientError(HandgradError, AssertionError):
    """A gradient that failed its check; `.report` holds the details.

    >>> from autograd import GradientError, assert_grads
    >>> try:
    ...     assert_grads(abs, 0.0)
    ... except GradientError as error:
    ...     error.report.verdict
    'kink'
    """

    def __init__(self, message: str, report: object = None) -> None:
        super().__init__(message)
        self.report = report


class ClashError(HandgradError, ImportError):
    """Another package that is imported as `autograd` stands where ours should."""


class LostGradientWarning(UserWarning):
    """A derivative is 0 because the function turned its input into a plain number: `float(x) ** 2`."""


def counted(number: int, what: str, plural: str = "") -> str:
    """`1 step`, `1,200 steps`, `2 entries`.

    >>> counted(1, "step"), counted(1200, "step"), counted(2, "entry", "entries")
    ('1 step', '1,200 steps', '2 entries')
    """
    return f"{number:,} {what if number == 1 else plural or what + 's'}"


def printable(text: str) -> str:
    r"""The text with control characters spelled out: in a name, they could be commands to a terminal.

    >>> printable("red" + chr(27))
    'red\\x1b'
    """
    return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and newline
