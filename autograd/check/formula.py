"""check_formula: a gradient derived by hand, compared with the engine's and with differences."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..derivatives import check_function, note_lists
from ..engine import Value
from ..errors import DataError, counted
from ..ops.shape import sum_to
from ..tree import flatten, unflatten
from .grads import check_subject
from .report import Report
from .subject import Array, Subject, cotangents, gives_back


def check_formula(
    f: Callable[..., Any], my_gradient: Callable[..., Any], *inputs: Any, step: float | None = None, seed: int = 0
) -> Report:
    """Compare a hand-written gradient of `f` with the engine's and with finite differences, entry by entry.

    `my_gradient` is called with the same inputs as plain numbers and arrays, and returns one gradient, or a tuple of
    them for several inputs, None where none flows. It may use NumPy, plain Python, or torch (it gets tensors if it
    cannot take arrays). A gradient has the shape of its input. If `f` has an array as its result, `my_gradient` returns
    the Jacobian, of shape (*result, *input), also where `f` works entry by entry; let `f` end in `.sum()` to be spared.

    >>> report = check_formula(lambda x: (x**3).sum(), lambda x: 2 * x**2, np.array([1.0, 2.0]))
    >>> report.verdict, report.entries[0].ratio
    ('wrong', 0.666666...)
    """
    for function in (f, my_gradient):
        check_function("check_formula", function, "check_formula(f, my_gradient, x)")
    give_back = gives_back(inputs)
    try:
        with Subject(f, inputs) as subject:
            return _checked(subject, my_gradient, step, seed)
    finally:
        give_back()


def _checked(subject: Subject, my_gradient: Callable[..., Any], step: float | None, seed: int) -> Report:
    shapes = [np.shape(r) for r in subject.results if r is not None]
    if len(shapes) != 1 or len(subject.results) != 1:
        raise DataError(
            f"check_formula takes a function with one result; {subject.title} gave {len(subject.results)}. Let it "
            "return one of them, or their sum"
        )
    weights = (1.0,) if shapes[0] == () else cotangents(seed, (shapes[0],))
    answers = _answers(subject, _call(my_gradient, subject), weights[0])
    engine = np.errstate(all="ignore")(subject.gradients)(weights)  # stands in for an answer that cannot be compared
    given = [own if answer.gradient is None else answer.gradient for answer, own in zip(answers, engine)]
    report = check_subject(subject, step, seed, "reverse", given=given, weights=weights)
    if report.verdict == "nondeterministic":
        return report
    report.parts = [part for part, answer in zip(report.parts, answers) if answer.gradient is not None]
    complaints = [answer.complaint for answer in answers if answer.complaint]
    if complaints:
        report.verdict = "wrong"
    report.function = f"{getattr(my_gradient, '__name__', 'the formula')} as the gradient of {subject.title}"
    report.diagnosis = complaints + report.diagnosis
    report.notes = [answer.note for answer in answers if answer.note] + report.notes
    return report


def _call(my_gradient: Callable[..., Any], subject: Subject) -> Any:
    """What the formula returns for the inputs as plain data."""
    returned = _answer(my_gradient, subject)
    if returned is None:
        raise DataError("the formula returned None; did you forget `return`?")
    flat, structure = flatten(returned)
    if (torch := sys.modules.get("torch")) is not None:
        flat = [g.numpy(force=True) if isinstance(g, torch.Tensor) else g for g in flat]
    return unflatten(structure, [g._data if isinstance(g, Value) else g for g in flat])


def _answer(my_gradient: Callable[..., Any], subject: Subject) -> Any:
    """The formula called with plain data; if it cannot take that, with torch's tensors, where torch is in use."""
    errors: list[Exception] = []
    for carrier in _carriers():
        try:
            return my_gradient(*subject.arguments([carrier(_plain(leaf)) for leaf in subject.leaves]))
        except Exception as error:  # what a function says of a carrier that is not its own is not for us to guess
            errors.append(error)
    first, *others = errors
    note_lists(first, subject.arguments(subject.leaves))
    for said in dict.fromkeys(f"{type(error).__name__}: {error}" for error in others):
        first.add_note(f"Given tensors of torch in place of arrays, the formula raised {said}")
    raise first


def _carriers() -> Iterator[Callable[[Any], Any]]:
    """The forms in which a formula may expect its inputs, the likeliest first."""
    yield lambda x: x
    if (torch := sys.modules.get("torch")) is not None:

        def tensor(x: Any) -> Any:
            return torch.tensor(np.asarray(x)) if _is_real(x) or isinstance(x, np.ndarray) else x

        yield tensor  # for torch.func.grad, or a formula that calls requires_grad_() itself
        yield lambda x: tensor(x).requires_grad_() if _is_real(x) else tensor(x)  # for torch.autograd.grad


def _plain(leaf: Any) -> Any:
    data = leaf._data if isinstance(leaf, Value) else leaf
    return data.copy() if isinstance(data, np.ndarray) else data


def _is_real(x: Any) -> bool:
    return isinstance(x, float | np.floating) or (isinstance(x, np.ndarray) and x.dtype.kind == "f")


@dataclass
class _Answer:
    """What the formula gave for one input, as the gradient of the weighted results; None: nothing to compare."""

    gradient: Array | None
    complaint: str = ""
    note: str = ""


def _answers(subject: Subject, returned: Any, weights: Any) -> list[_Answer]:
    """The formula's answers, one per source; those in another shape than they must have with a complaint."""
    given = _one_per_source(subject, returned, np.shape(weights))
    return [_answered(name, source.shape, g, weights) for name, source, g in zip(subject.names, subject.sources, given)]


def _answered(name: str, shape: tuple[int, ...], g: Any, weights: Any) -> _Answer:
    out = np.shape(weights)
    if g is None:
        return _Answer(np.zeros(shape), note=f"the formula gave None for {name}: that counts as zero everywhere")
    try:
        g = np.asarray(g, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"the formula's gradient for {name} is not an array of numbers: {g!r:.60}") from None
    expected = out + shape
    nearest = g if g.shape == expected else _in_shape(g, shape, out)
    complaint = "" if g.shape == expected else _wrong_shape(name, g.shape, shape, out)
    return _Answer(None if nearest is None else np.tensordot(weights, nearest, axes=len(out)), complaint)


def _one_per_source(subject: Subject, returned: Any, out: tuple[int, ...]) -> list[Any]:
    """The gradients in order. A list of numbers may be one gradient (plain Python) or several: its form decides."""
    sources = subject.sources
    whole = [returned] if len(sources) == 1 else list(returned) if isinstance(returned, tuple | list) else []
    if len(whole) == len(sources) and all(
        _form(g) in (s.shape, out + s.shape) for g, s in zip(whole, sources, strict=True)
    ):
        return whole
    flat = flatten(returned)[0]
    if len(flat) != len(sources):
        raise DataError(
            f"the formula returned {counted(len(flat), 'gradient')} for {len(sources)} "
            f"inputs ({', '.join(subject.names)}); return a tuple with one per input, in order"
        )
    return flat


def _form(g: Any) -> tuple[int, ...] | None:
    try:
        return np.shape(g)
    except ValueError:  # rows of different lengths
        return None


def _wrong_shape(name: str, got: tuple[int, ...], shape: tuple[int, ...], out: tuple[int, ...]) -> str:
    said = f"the formula's gradient for {name} has shape {got}; it must have {out + shape}"
    if got == (out + shape)[::-1]:
        return said + ": transposed?"
    if out:
        return (
            f"{said}, the Jacobian of a result of shape {out}. Return that, or let f end in .sum() and return the "
            f"gradient of the sum, of shape {shape}"
        )
    try:
        np.broadcast_shapes(got, shape)
    except ValueError:
        return said
    if np.prod(got) > np.prod(shape):
        return f"{said}: the sum over what {name} was broadcast to is missing"
    return f"{said}: a sum too many?" if np.prod(got) < np.prod(shape) else said


def _in_shape(g: Array, shape: tuple[int, ...], out: tuple[int, ...]) -> Array | None:
    """The nearest thing in the right shape, so that entries can still be compared; None if there is none."""
    if g.shape == (out + shape)[::-1]:
        return g.T
    if out:
        return None
    try:
        return np.reshape(sum_to(g, shape), shape) if g.ndim >= len(shape) else np.broadcast_to(g, shape)
    except ValueError:
        return None
