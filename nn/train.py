"""fit: the training loop people expect.

The batch of step t depends on the seed and on t alone, and a checkpoint holds parameters, optimizer state, history and
the state of every dropout: a run that was stopped and resumed ends with the same bits as one that was not.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import os
import signal
import sys
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import autograd as ag
from autograd.errors import DataError, NonFiniteError

from ._steps import Step, compiled_step, parts_of
from .checkpoint import load_checkpoint, save_checkpoint
from .history import History
from .module import Module, evaluating, whole_number
from .optim import Optimizer

__all__ = ["Batches", "fit", "History", "load_checkpoint", "save_checkpoint"]

Batch = Any


class Batches:
    """Arrays with equally many rows, cut into batches; every epoch visits each row once, in a new order.

    >>> batches = Batches((np.arange(6), np.arange(6) * 10), batch_size=4, seed=0)
    >>> x, y = batches(0)
    >>> x.tolist(), y.tolist()
    ([3, 2, 5, 4], [30, 20, 50, 40])
    >>> batches(1)[0].tolist()
    [0, 1]
    """

    def __init__(self, arrays: Sequence[Any], batch_size: int | None = None, seed: int = 0) -> None:
        self.arrays = tuple(np.asarray(array) for array in arrays)
        rows = {len(array) for array in self.arrays if array.ndim}
        if len(rows) != 1 or not all(array.ndim for array in self.arrays):
            shapes = ", ".join(str(array.shape) for array in self.arrays) or "no array"
            raise DataError(f"training data are arrays with equally many rows, one row an example; got {shapes}")
        self.rows = rows.pop()
        if not self.rows:
            raise DataError("training data has no rows; one row is an example")
        if batch_size is None:
            batch_size = self.rows
        self.batch_size = min(whole_number("batch_size", batch_size, 1, ", or None for all rows at once"), self.rows)
        self.seed = seed
        self._shuffled: Any = (None, None)  # which order was needed last, and the order: an epoch has many batches

    def __len__(self) -> int:
        """Batches in one epoch."""
        return math.ceil(self.rows / self.batch_size)

    def fingerprint(self) -> int:
        """A number that differs, but for an accident, where the arrays do."""
        contents = (np.ascontiguousarray(array).data for array in self.arrays)
        return functools.reduce(lambda so_far, content: zlib.crc32(content, so_far), contents, 0)

    def __call__(self, step: int) -> tuple[np.ndarray, ...]:
        epoch, place = divmod(step, len(self))
        which, order = self._shuffled
        if which != (self.seed, epoch):
            order = np.random.default_rng((self.seed, epoch)).permutation(self.rows)
            self._shuffled = (self.seed, epoch), order
        picked = order[place * self.batch_size : (place + 1) * self.batch_size]
        return tuple(array[picked] for array in self.arrays)


def fit(
    model: Module,
    loss: Callable[..., ag.Value],
    data: Callable[[np.random.Generator], Batch] | Sequence[Any],
    optimizer: Optimizer,
    *,
    steps: int | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    seed: int = 0,
    clip: float | None = None,
    accumulated: int = 1,
    evaluate: Callable[[], Any] | None = None,
    every: int = 100,
    patience: int | None = None,
    metrics: Mapping[str, Callable[[], Any]] | None = None,
    keep_best: bool = False,
    callbacks: Sequence[Callable[[History], Any]] = (),
    checkpoint: str | os.PathLike[str] | None = None,
    save_every: int | None = None,
    resume: bool = False,
    progress: bool | None = None,
    compile: bool | str = False,
) -> History:
    """Train a model: `steps` times, take a batch, compute `loss(*batch)`, go back, and let the optimizer step.

    - epochs: in place of steps, how often each row of the data is seen.
    - data: arrays with a row for each example (cut into batches of `batch_size`, shuffled each epoch), or a
      function that draws a batch with the Generator it is given.
    - clip: gradients together no longer than this. accumulated: batches whose mean gradient makes one step.
    - evaluate: a function giving a number (lower is better), called every so many steps, in evaluation mode
      and without recording; with `patience`, training stops after that many evaluations without a new best. With
      `keep_best`, the model ends as it was at the best one. metrics: more such functions, by name, for the history.
    - callbacks: functions called with the history after each step; one that gives True ends the training.
    - checkpoint: a file that is written every `save_every` steps, at the end, and on Ctrl-C, which stops
      after the running step. resume: go on from that file, if it is there, as if nothing had happened. Without a
      checkpoint, Ctrl-C ends a notebook's cell as interrupted, so that no later cell uses a half-trained model.
    - progress: a bar; None means on a terminal and in a notebook.
    - compile: True, or the name of a backend: the loss and its gradients run as one program (`autograd.compile`), in C
      with the optimizer in it if the model is small, traced once for each shape of a batch. The losses and the files
      are the same, but for the order of sums.

    >>> import nn
    >>> model = nn.Linear(1, 1, rng=0)
    >>> x = np.linspace(-1, 1, 8)[:, None]
    >>> def loss(x, y):
    ...     return nn.functional.mse(model(x), y)
    >>> history = fit(model, loss, (x, 3 * x), nn.optim.SGD(model, lr=0.5), steps=50)
    >>> history.losses[-1] < 1e-6, round(float(model.weight.data[0, 0]), 3)
    (True, 3.0)
    """
    for given, kind, what in (
        (model, Module, "the model is a module, such as nn.Linear(3, 1)"),
        (optimizer, Optimizer, "the optimizer is one of nn.optim, made: nn.optim.Adam(model, lr=1e-3)"),
    ):
        if not isinstance(given, kind):
            raise DataError(f"fit(model, loss, data, optimizer, steps=...): {what}; got {given!r:.60}")
    moved = {id(p) for _, p in optimizer.named_parameters()}
    if moved.isdisjoint(id(p) for p in model.parameters()):
        raise DataError("fit: the optimizer moves no parameter of this model; make it of this one: nn.optim.SGD(model)")
    for name, metric in (metrics or {}).items():
        if not callable(metric):
            raise TypeError(f"fit: a metric is a function without arguments; metrics[{name!r}] is {metric!r:.60}")
    for name, number in (("accumulated", accumulated), ("every", every)):
        whole_number(f"fit: {name}", number, 1)
    for name, count in (("patience", patience), ("save_every", save_every)):
        if count is not None:
            whole_number(f"fit: {name}", count, 1, ", or None")
    if evaluate is None and (keep_best or patience is not None):
        raise TypeError("fit: patience and keep_best need a number to go by; give evaluate=, a function")
    if resume and checkpoint is None:
        raise TypeError("fit: resume=True goes on from a file; say which, checkpoint='run.safetensors'")
    history, draw = History(), _drawer(data, batch_size, seed)
    steps = _steps_of(steps, epochs, draw, accumulated)
    step = Step(model, loss, optimizer, clip)
    if compile:
        step = compiled_step(model, loss, optimizer, clip, accumulated, compile)
    about = {"batch_size": batch_size, "seed": seed, "accumulated": accumulated}
    about |= {"data": draw.fingerprint()} if isinstance(draw, Batches) else {}
    path = None if checkpoint is None else Path(checkpoint)
    if path is not None and resume and path.exists():
        history = load_checkpoint(path, model, optimizer, about)
        if history.steps < steps and history.evaluations and history.evaluations[-1][0] % every:
            history.drop_evaluation()  # at the end of the first part: a run in one go has none there
        if hasattr(optimizer.lr, "restart"):
            optimizer.lr.restart()
        for _, value in history.evaluations:
            _observe(optimizer, value)
    history.stopped = None
    if patience is not None and history.since_best >= patience:
        history.stopped = "patience"  # it had stopped for this reason already
    model.train()
    with _progress_bar(steps, history, progress) as bar, _interrupts() as interrupted:
        while history.steps < steps and history.stopped is None:
            t = history.steps
            batches = [draw(t * accumulated + i) for i in range(accumulated)]
            if not history.losses:
                _check_batch(loss, batches[0])
            rate = optimizer.rate
            value = _stepped(step, batches, t)
            history.losses.append(value)
            history.rates.append(rate)
            bar.update(1)
            if (evaluate is not None or metrics) and (history.steps % every == 0 or history.steps == steps):
                for name, metric in (metrics or {}).items():
                    history.metrics.setdefault(name, []).append((history.steps, evaluated(model, metric)))
            if evaluate is not None and (history.steps % every == 0 or history.steps == steps):
                history.evaluations.append((history.steps, evaluated(model, evaluate)))
                _observe(optimizer, history.evaluations[-1][1])
                if keep_best and history.since_best == 0:
                    history.best_state = model.state_dict()
                if patience is not None and history.since_best >= patience:
                    history.stopped = "patience"
            bar.set_postfix_str(_figures(history), refresh=False)
            if any([callback(history) for callback in callbacks]) and history.stopped is None:
                history.stopped = "callback"
            if interrupted.is_set():
                history.stopped = "interrupted"
            if path is not None and save_every is not None and history.steps % save_every == 0:
                save_checkpoint(path, model, optimizer, history, about)
        history.stopped = history.stopped or "steps"
        if path is not None:
            save_checkpoint(path, model, optimizer, history, about)
    if keep_best and history.best_state is not None:
        model.load_state_dict(history.best_state)
    if history.stopped == "interrupted" and path is None and _in_notebook():
        raise KeyboardInterrupt(
            f"fit stopped after step {history.steps} of {steps}; the model keeps what it has learned. With "
            "checkpoint='run.safetensors' and resume=True, fit goes on from there"
        )
    return history


def _steps_of(steps: int | None, epochs: int | None, draw: Any, accumulated: int) -> int:
    """How many steps to make: as many as are asked for, or as it takes to see all rows so often."""
    if (steps is None) == (epochs is None):
        raise TypeError("fit: say how long to train, by steps= or by epochs=, one of the two")
    if epochs is None:
        return whole_number("fit: steps", steps, 0)
    if not isinstance(draw, Batches):
        raise TypeError("fit: epochs= counts the rows of arrays; data is a function here, so say steps=")
    return math.ceil(whole_number("fit: epochs", epochs, 0) * len(draw) / accumulated)


def _observe(optimizer: Optimizer, value: float) -> None:
    """Tell an evaluation to a schedule that goes by them (`plateau`)."""
    if hasattr(optimizer.lr, "observe"):
        optimizer.lr.observe(value)


def _check_batch(loss: Callable[..., ag.Value], batch: Any) -> None:
    """Refuse a batch that does not fit the loss, with an error that says more than Python's TypeError."""
    parts = parts_of(batch)
    try:
        inspect.signature(loss).bind(*parts)
    except TypeError as error:
        raise TypeError(
            f"fit: the loss is called as loss(*batch), and this batch has {len(parts)} parts ({error}). data is one "
            "array for each argument of the loss, as in fit(model, loss, (x, y), ...), or a function of a Generator "
            "that draws such a batch; the model is not an argument, the loss uses it from outside"
        ) from None
    except ValueError:  # a function written in C has no signature
        return


def evaluated(model: Module, evaluate: Callable[[], Any]) -> float:
    """The number that `evaluate` gives with the model in evaluation mode and nothing recorded."""
    return evaluating(model, lambda: float(evaluate()))


def _stepped(step: Step, batches: list[Any], t: int) -> float:
    """Make step t, and give its loss; a loss that is not finite is refused, and nothing has moved."""
    value = step.gradients(batches)
    if not math.isfinite(value):
        _check_finite(batches, t)
        raise NonFiniteError(
            f"the loss of step {t + 1} is {value}; nothing was moved. Try a smaller learning rate or clip=1.0, or run "
            "the step under autograd.detect_nan() to find where it arose."
        )
    step.move()
    return value


def _check_finite(batches: list[Any], t: int) -> None:
    """Refuse numbers in a batch that are not finite: the loss is not either then, whatever the learning rate."""
    for batch in batches:
        parts = parts_of(batch)
        for number, part in enumerate(parts):
            array = np.asarray(getattr(part, "_data", part))
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                where = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
                which = f" of its part {number + 1}" if len(parts) > 1 else ""
                raise NonFiniteError(
                    f"the batch holds {array[tuple(where)]} at {where}{which}, so the loss of step {t + 1} is not "
                    "finite; nothing was moved. Clean the data: numpy.isfinite(x) says where"
                )


def _drawer(data: Any, batch_size: int | None, seed: int) -> Callable[[int], Batch]:
    """The batch of a step, as a function of the step alone."""
    if callable(data):
        return lambda step: data(np.random.default_rng((seed, step)))
    return Batches(data, batch_size, seed)


def _figures(history: History) -> str:
    evaluation = f", evaluation {history.evaluations[-1][1]:.4f}" if history.evaluations else ""
    metrics = "".join(f", {name} {values[-1][1]:.4f}" for name, values in history.metrics.items())
    return f"loss {history.losses[-1]:.4f}{evaluation}{metrics}"


def _progress_bar(steps: int, history: History, progress: bool | None) -> Any:
    from tqdm import tqdm

    hidden, file = (None if progress is None else not progress), None
    if _in_notebook():  # it shows what is written to stderr as a mistake
        hidden, file = progress is False, sys.stdout
    return tqdm(total=steps, initial=history.steps, disable=hidden, unit="step", file=file)


def _in_notebook() -> bool:
    """Does this run in a cell of Jupyter, its relatives, or marimo?"""
    ipython, marimo = sys.modules.get("IPython"), sys.modules.get("marimo")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel") or (marimo is not None and marimo.running_in_notebook())


@contextlib.contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """While inside, the first Ctrl-C only sets a flag, so that a step is done whole; the second one stops at once."""
    flag = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield flag  # only the main thread gets signals
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        flag.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, before)
