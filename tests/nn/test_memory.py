"""Asking the C library to keep freed memory is harmless wherever it is asked."""

import sys

import numpy as np

import nn
from nn import keep_freed_memory


def test_it_is_asked_once_and_only_on_linux(monkeypatch):
    assert keep_freed_memory() in (True, False)
    keep_freed_memory.cache_clear()
    monkeypatch.setattr(sys, "platform", "elsewhere")
    assert keep_freed_memory() is False
    keep_freed_memory.cache_clear()


def test_a_training_step_does_not_keep_its_graph():
    """Arrays of a step that is over are gone: the third step needs no more of them than the second."""
    import gc
    import tracemalloc

    model = nn.GPT(20, 16, 32, 2, 2, rng=0)
    optimizer = nn.optim.AdamW(model)
    ids = np.random.default_rng(0).integers(0, 20, (4, 17))

    def step():
        loss = model.loss(ids[:, :-1], ids[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    step()
    gc.collect()
    tracemalloc.start()
    try:
        sizes = []
        for _ in range(4):
            step()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert sizes[-1] - sizes[0] < 50_000
