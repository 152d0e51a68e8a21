"""Saving and loading: safetensors files, written whole or not at all; never pickle."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from autograd.callers import warning_depth
from autograd.errors import DataError
from autograd.saving.files import write_whole

__all__ = ["load", "read", "save", "write"]

READABLE = {"F64", "F32", "F16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL"}  # by NumPy
DTYPES = {"BF16": "bfloat16"}


class Stateful(Protocol):
    """What can be saved: a module or an optimizer."""

    def state_dict(self) -> dict[str, np.ndarray]: ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...


def save(what: Stateful, path: str | os.PathLike[str]) -> None:
    """Write a module's parameters and buffers (or an optimizer's state) to a safetensors file.

    >>> import nn, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nn.save(nn.Linear(2, 3, rng=0), f"{folder}/layer.safetensors")
    ...     layer = nn.Linear(2, 3, rng=1)
    ...     nn.load(layer, f"{folder}/layer.safetensors")
    >>> bool((layer.weight.data == nn.Linear(2, 3, rng=0).weight.data).all())
    True
    """
    _check_stateful("save", what)
    warn_of_unsaved(what)
    write(what.state_dict(), path, {"kind": type(what).__name__})


def load(what: Stateful, path: str | os.PathLike[str]) -> None:
    """Fill a module (or an optimizer) in place from a file; names, shapes and dtypes must fit, or nothing changes.

    >>> import nn, tempfile
    >>> model, twin = nn.Linear(2, 1, rng=0), nn.Linear(2, 1, rng=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nn.save(model, f"{folder}/model.safetensors")
    ...     nn.load(twin, f"{folder}/model.safetensors")
    >>> float(twin([1.0, 2.0])[0]) == float(model([1.0, 2.0])[0])
    True
    """
    _check_stateful("load", what)
    what.load_state_dict(read(path)[0])


def warn_of_unsaved(what: Any) -> None:
    """Say which numbers a module's forward changes and no file holds."""
    unsaved = what.unsaved() if hasattr(what, "unsaved") else []
    if unsaved:
        warnings.warn(
            f"the file does not hold {', '.join(unsaved)}, which forward changes. Make it a buffer, "
            f"self.{unsaved[0].rpartition('.')[2]} = nn.Buffer(...), and it is saved and loaded",
            stacklevel=warning_depth(),
        )


def _check_stateful(who: str, what: Any) -> None:
    if not hasattr(what, f"{'load_' if who == 'load' else ''}state_dict"):
        raise DataError(
            f"nn.{who} takes a module or an optimizer, then a path: nn.{who}(model, path); got {what!r:.60}"
        )


def write(
    arrays: Mapping[str, np.ndarray], path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None
) -> None:
    """Write arrays by name: the whole file, or nothing if that fails."""
    content = to_bytes({name: np.asarray(array, order="C") for name, array in arrays.items()}, dict(metadata or {}))
    write_whole(Path(path), content)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays in a safetensors file, by name, and its metadata."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {os.fspath(path)!r} to load")
    try:
        with safe_open(path, framework="numpy") as file:
            names = list(file.keys())
            for name in names:
                _check_dtype(path, name, file.get_slice(name).get_dtype())
            return {name: file.get_tensor(name) for name in names}, dict(file.metadata() or {})
    except SafetensorError as error:
        raise DataError(f"{os.fspath(path)!r} is not a whole safetensors file: {error}") from None


def _check_dtype(path: str | os.PathLike[str], name: str, dtype: str) -> None:
    """NumPy has no bfloat16, nor any float of 8 bits or less."""
    if dtype not in READABLE:
        raise DataError(
            f"{os.fspath(path)!r}: {name} is stored as {DTYPES.get(dtype, dtype)}, which NumPy does not have. Convert "
            "the file to float32 first, with torch: save_file({k: v.float() for k, v in load_file(path).items()}, path)"
        )
