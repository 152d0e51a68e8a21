"""Checkpoints of a training run: model, optimizer, history and the state of every dropout, in one file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from autograd.errors import DataError

from . import io
from .history import History
from .layers.dropout import Dropout
from .module import Module
from .optim import Optimizer

__all__ = ["load_checkpoint", "save_checkpoint"]


def save_checkpoint(
    path: str | os.PathLike[str], model: Module, optimizer: Optimizer, history: History | None = None,
    batches: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Everything needed to go on, in one safetensors file that is written whole or not at all.

    `batches` says how batches were drawn; a run that goes on must draw them so.
    """
    history = history or History()
    io.warn_of_unsaved(model)
    arrays = {f"model.{name}": array for name, array in model.state_dict().items()}
    arrays |= {f"optimizer.{name}": array for name, array in optimizer.state_dict().items()}
    arrays |= {
        "history.losses": np.array(history.losses, dtype=np.float64),
        "history.rates": np.array(history.rates, dtype=np.float64),
        "history.evaluations": np.array(history.evaluations, dtype=np.float64).reshape(-1, 2),
    }
    arrays |= {f"metrics.{name}": np.array(values, np.float64) for name, values in history.metrics.items() if values}
    arrays |= {f"best.{name}": array for name, array in (history.best_state or {}).items()}
    dropouts = {name: d.rng.bit_generator.state for name, d in _dropouts(model)}
    about = {"kind": "checkpoint", "dropouts": json.dumps(dropouts), "stopped": history.stopped or "",
             "batches": json.dumps(dict(batches or {}))}  # fmt: skip
    io.write(arrays, path, about)


def load_checkpoint(
    path: str | os.PathLike[str], model: Module, optimizer: Optimizer, batches: Mapping[str, Any] | None = None
) -> History:
    """Put a model and an optimizer back where a checkpoint left them; give the history so far.

    If anything in the file does not fit them, an error says what, and nothing changes.
    """
    arrays, metadata = io.read(path)
    if metadata.get("kind") != "checkpoint":
        raise DataError(f"{os.fspath(path)!r} is not a checkpoint of fit(); load a model's file with nn.load")
    try:
        history = _history(arrays, metadata)
        dropouts = _states_of_dropouts(model, json.loads(metadata["dropouts"]))
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{os.fspath(path)!r} is not a whole checkpoint of fit(): {error!r:.80}") from None
    then = json.loads(metadata.get("batches", "{}"))
    for name, now in (batches or {}).items():
        if name in then and then[name] != now:
            was = "other numbers" if name == "data" else f"{name}={then[name]}, not {now}"
            raise DataError(
                f"fit cannot go on from {os.fspath(path)!r}: that run had {was}. The batches would be others, and rows "
                "of an epoch would be seen twice or not at all. Give it what it had, or load the model alone, with "
                "nn.train.load_checkpoint, and start a new run"
            )
    before = model.state_dict(), optimizer.state_dict()
    try:
        model.load_state_dict(_under("model.", arrays))
        optimizer.load_state_dict(_under("optimizer.", arrays))
        for dropout, state in dropouts:
            dropout.rng.bit_generator.state = state
    except BaseException:
        model.load_state_dict(before[0])
        optimizer.load_state_dict(before[1])
        raise
    return history


def _history(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> History:
    history = History()
    history.losses = arrays["history.losses"].tolist()
    history.rates = arrays["history.rates"].tolist()
    history.evaluations = [(int(step), value) for step, value in arrays["history.evaluations"].tolist()]
    for name, values in _under("metrics.", arrays).items():
        history.metrics[name] = [(int(step), value) for step, value in values.tolist()]
    history.best_state = dict(_under("best.", arrays)) or None
    history.stopped = metadata.get("stopped") or None
    return history


def _states_of_dropouts(model: Module, states: Mapping[str, Any]) -> list[tuple[Dropout, Any]]:
    """What the file has for each dropout of the model, tried on a generator of the same kind."""
    found = dict(_dropouts(model))
    if missing := [name for name in found if name not in states]:
        raise DataError(f"the checkpoint has no state for the dropout {missing[0]}: the model was made in another way")
    for name, dropout in found.items():
        type(dropout.rng.bit_generator)().state = states[name]  # raises if it is a state of another kind
    return [(dropout, states[name]) for name, dropout in found.items()]


def _under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _dropouts(model: Module) -> list[tuple[str, Dropout]]:
    return [(name, module) for name, module in model.named_modules() if isinstance(module, Dropout)]
