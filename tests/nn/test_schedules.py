"""Learning-rate schedules: at their ends, refused, and driving an optimizer."""

import re

import numpy as np
import pytest

import nn
from nn import optim, schedules


def test_a_schedule_drives_the_learning_rate():
    p = nn.Parameter([0.0])
    optimizer = optim.SGD([p], lr=optim.warmup(optim.cosine(1.0, 4), 2))
    moves = []
    for _ in range(5):
        p.grad = np.array([1.0])
        before = p.data[0]
        optimizer.step()
        moves.append(before - p.data[0])
    wave = [0.5 * (1 + np.cos(np.pi * t / 4)) for t in range(5)]
    np.testing.assert_allclose(moves, np.multiply(wave, [0.5, 1, 1, 1, 1]), atol=1e-15)


def test_schedules_at_their_ends():
    assert optim.cosine(1.0, 10, floor=0.1)(10) == pytest.approx(0.1)
    assert [optim.step_decay(0.8, 2, 0.5)(t) for t in range(5)] == [0.8, 0.8, 0.4, 0.4, 0.2]
    assert [optim.warmup(1.0, 0)(t) for t in range(2)] == [1.0, 1.0]


@pytest.mark.parametrize("steps", [-1, "2", None, float("nan"), [10]])
def test_what_is_no_number_of_steps_is_refused_where_it_is_given(steps):
    for what, make in (
        ("cosine: total is a number of steps from 0 up", lambda: optim.cosine(1.0, steps)),
        ("step_decay: every is a number of steps above 0", lambda: optim.step_decay(1.0, steps)),
        ("warmup: steps is a number of steps from 0 up", lambda: optim.warmup(1.0, steps)),
    ):
        with pytest.raises(ValueError, match=re.escape(f"{what}; got {steps!r}")):
            make()


def test_a_decay_after_every_0_steps_is_refused():
    with pytest.raises(ValueError, match="step_decay: every is a number of steps above 0; got 0"):
        optim.step_decay(1.0, 0)


def test_every_schedule_is_found_beside_the_optimizers():
    assert all(getattr(optim, name) is getattr(schedules, name) for name in schedules.__all__)
    assert set(schedules.__all__) <= set(optim.__all__)
