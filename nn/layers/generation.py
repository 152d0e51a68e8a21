"""How a GPT computes the next logits while it generates: with a cache of keys and values, and by compiled programs.

A program has fixed shapes, so its cache has room for `block_size` tokens, and the place of the new one is an input: one
more token is one run of one program, however many there are already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import autograd as ag


class Decoder:
    """Computes the logits of the next token from all ids so far; each call has one id more than the last."""

    def __init__(self, model: Any, use_cache: bool = True) -> None:
        self.model, self.seen = model, 0
        self.cache = model.new_cache() if use_cache and model.blocks else None

    def __call__(self, ids: np.ndarray) -> np.ndarray:
        block = self.model.block_size
        new = ids[..., -1:] if self.seen else ids[..., -block:]
        if self.cache is not None and self.seen + new.shape[-1] > block:
            self.cache = None  # positions shift from here on, so nothing cached stays true
        if self.cache is None:
            return self._whole(ids[..., -block:])
        logits = self._more(new) if self.seen else self.model(new, self.cache).data[..., -1, :]
        self.seen += new.shape[-1]
        return logits

    def _whole(self, ids: np.ndarray) -> np.ndarray:
        return self.model(ids).data[..., -1, :]

    def _more(self, new: np.ndarray) -> np.ndarray:
        return self.model(new, self.cache).data[..., -1, :]


class CompiledDecoder(Decoder):
    """The same by compiled programs; only the prompt, whose length varies, runs without one."""

    def __init__(self, model: Any, use_cache: bool, backend: bool | str) -> None:
        super().__init__(model, use_cache)
        self.backend = None if backend is True else backend
        self.windows: list[list[np.ndarray]] = []  # the keys of each layer, and the values

    def _whole(self, ids: np.ndarray) -> np.ndarray:
        tokens = ids.shape[-1]
        padded = np.zeros((*ids.shape[:-1], self.model.block_size), ids.dtype)
        padded[..., :tokens] = ids
        return self._program(_whole_block)(self.model, padded, np.array(tokens - 1))

    def _more(self, new: np.ndarray) -> np.ndarray:
        if not self.windows:
            assert self.cache is not None
            self.windows = [
                [self._room(layer.keys) for layer in self.cache], [self._room(layer.values) for layer in self.cache],
            ]  # fmt: skip
        logits, *self.windows = self._program(_one_more)(self.model, new, np.array(self.seen), *self.windows)
        return logits

    def _program(self, f: Callable[..., Any]) -> Any:
        """f compiled for this model, which keeps it."""
        programs = vars(self.model).setdefault("_programs", {})
        if (f, self.backend) not in programs:
            programs[f, self.backend] = ag.compile(f, self.backend, gradients=False)
        return programs[f, self.backend]

    def _room(self, x: np.ndarray) -> np.ndarray:
        """Keys or values (..., tokens, d) in front of zeros, up to the length of a block."""
        whole = np.zeros((*x.shape[:-2], self.model.block_size, x.shape[-1]), x.dtype)
        whole[..., : x.shape[-2], :] = x
        return whole


class Window:
    """The keys and values of one layer, with room for a whole block; those of the new token are put in its place."""

    def __init__(self, keys: Any, values: Any, place: Any) -> None:
        self.keys, self.values, self.start = keys, values, place

    def extend(self, k: Any, v: Any) -> tuple[Any, Any]:
        """Put in those of the new token; give all, with zeros in the places that are still free."""
        here = ag.equal(np.arange(self.keys.shape[-2])[:, None], self.start)
        self.keys, self.values = ag.where(here, k, self.keys), ag.where(here, v, self.values)
        return self.keys, self.values


def _one_more(model: Any, ids: Any, place: Any, keys: Sequence[Any], values: Sequence[Any]) -> Any:
    """The logits after one more token at `place`; and all keys and values, with its own."""
    windows = [Window(k, v, place) for k, v in zip(keys, values)]
    logits = model._logits(ids, place, windows, mask=place >= np.arange(model.block_size))
    return logits[..., -1, :], [w.keys for w in windows], [w.values for w in windows]


def _whole_block(model: Any, ids: Any, place: Any) -> Any:
    """The logits after the token at `place`; what follows it does not matter, since no token looks ahead."""
    return ag.take(model(ids), place, axis=-2)
