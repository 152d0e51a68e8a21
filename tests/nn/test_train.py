"""fit: it learns, evaluates, stops early, checkpoints, resumes to the same bits, and obeys Ctrl-C."""

import json
import os
import signal

import numpy as np
import pytest

import nn
from autograd.errors import BackwardError, DataError, NonFiniteError, ShapeError
from nn import _steps, train
from nn.train import Batches, History, fit


def problem(dropout=0.0, rng=0):
    x = np.random.default_rng(0).normal(size=(20, 3))
    y = np.sin(x).sum(axis=1, keepdims=True)
    layers = nn.Linear(3, 8, rng=rng), nn.functional.tanh, nn.Dropout(dropout, rng=1), nn.Linear(8, 1, rng=2)
    model = nn.Sequential(*layers)
    return model, lambda x, y: nn.functional.mse(model(x), y), (x, y)


def test_it_learns_and_keeps_a_history():
    model, loss, data = problem()
    history = fit(model, loss, data, nn.optim.Adam(model, lr=nn.optim.cosine(0.02, 200)), steps=200, batch_size=10)
    assert history.losses[-1] < 0.1 * history.losses[0]
    assert history.steps == len(history.rates) == 200 and history.stopped == "steps"
    assert history.rates[0] == 0.02 and history.rates[-1] < 0.001
    assert "200 steps" in repr(history) and "no steps" in repr(History())


def test_batches_visit_each_row_once_an_epoch_in_a_new_order():
    batches = Batches((np.arange(10), np.arange(10) * 2), batch_size=4)
    epochs = [[batches(len(batches) * e + i) for i in range(len(batches))] for e in range(2)]
    for epoch in epochs:
        rows = np.concatenate([x for x, _ in epoch])
        assert sorted(rows) == list(range(10))
        assert all(np.array_equal(y, 2 * x) for x, y in epoch)
    assert not np.array_equal(epochs[0][0][0], epochs[1][0][0])
    assert len(Batches((np.arange(3),), batch_size=100)(0)[0]) == 3


def test_a_batch_depends_on_the_seed_and_the_step_alone():
    batches = Batches((np.arange(50),), batch_size=8, seed=1)
    wanted = {step: Batches((np.arange(50),), batch_size=8, seed=1)(step)[0] for step in (0, 3, 9, 20)}
    for step in (0, 20, 3, 9, 0, 9, 3, 20):
        np.testing.assert_array_equal(batches(step)[0], wanted[step])
    batches.seed = 2
    assert not np.array_equal(batches(20)[0], wanted[20])


@pytest.mark.parametrize(
    "arrays", [(np.ones(3), np.ones(4)), (np.ones(3), 1.0), ()], ids=["lengths", "a number", "none"]
)
def test_data_that_do_not_match_are_refused(arrays):
    with pytest.raises(DataError, match="equally many rows"):
        Batches(arrays)


@pytest.mark.parametrize("optimizer", [nn.optim.SGD, "sgd", None])
def test_model_and_optimizer_are_asked_for_by_name(optimizer):
    model = nn.Linear(1, 1, rng=0)
    with pytest.raises(DataError, match=r"the optimizer is one of nn\.optim, made: .*; got"):
        nn.fit(model, lambda x: model(x).sum(), (np.ones((2, 1)),), optimizer, steps=1)
    with pytest.raises(DataError, match=r"the model is a module, such as .*; got \["):
        nn.fit(list(model.parameters()), lambda x: model(x).sum(), (np.ones((2, 1)),), nn.optim.SGD(model), steps=1)


def test_settings_that_cannot_be_are_refused():
    model, loss, data = problem()
    optimizer = nn.optim.SGD(model, lr=0.1)
    with pytest.raises(DataError, match="batch_size is an integer from 1 up"):
        fit(model, loss, data, optimizer, steps=1, batch_size=0)
    with pytest.raises(DataError, match="training data has no rows; one row is an example"):
        fit(model, loss, (np.ones((0, 3)), np.ones((0, 1))), optimizer, steps=1)
    with pytest.raises(TypeError, match="resume=True goes on from a file; say which"):
        fit(model, loss, data, optimizer, steps=1, resume=True)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"steps": 2.5}, r"fit: steps is an integer from 0 up; got 2\.5 \(float\)"),
        ({"steps": -1}, r"steps .* got -1"),
        ({"every": 0}, r"fit: every is an integer from 1 up; got 0"),
        ({"accumulated": 0}, r"fit: accumulated is an integer from 1 up; got 0"),
        ({"accumulated": 1.5}, r"accumulated .* got 1\.5"),
        ({"save_every": 0}, r"fit: save_every is an integer from 1 up, or None; got 0"),
        ({"patience": "2"}, r"fit: patience is an integer from 1 up, or None; got '2' \(str\)"),
        ({"batch_size": 1.5}, r"batch_size is an integer from 1 up, or None for all rows at once; got 1\.5"),
    ],
)
def test_numbers_that_count_nothing_are_refused_before_a_step(settings, words):
    model, loss, data = problem()
    before = model.state_dict()
    with pytest.raises(DataError, match=words):
        fit(model, loss, data, nn.optim.SGD(model, 0.1), evaluate=lambda: 1.0, **{"steps": 2, **settings})
    assert all(np.array_equal(before[name], array) for name, array in model.state_dict().items())


def fails(value):
    raise RuntimeError("in the loss")


@pytest.mark.parametrize("bad, error", [
    (lambda value: value.item(), DataError), (lambda value: value.detach(), BackwardError),
    (lambda value: value * np.ones(2), BackwardError), (fails, RuntimeError),
], ids=["a number", "a constant", "an array", "an error"])  # fmt: skip
def test_a_loss_that_is_refused_leaves_the_gradients_as_they_were(bad, error):
    model, loss, data = problem()
    loss(*data).backward()
    before = [p.grad.copy() for p in model.parameters()]
    with pytest.raises(error):
        fit(model, lambda x, y: bad(loss(x, y)), data, nn.optim.SGD(model, lr=0.1), steps=1)
    assert all(np.array_equal(p.grad, g) for p, g in zip(model.parameters(), before, strict=True))


def test_a_batch_function_gets_a_generator_that_depends_on_the_step():
    drawn = []

    def data(rng):
        drawn.append(rng.integers(1000))
        return np.ones((1, 3)), np.ones((1, 1))

    for _ in range(2):
        model, loss, _ = problem()
        fit(model, loss, data, nn.optim.SGD(model, 0.01), steps=5)
    assert drawn[:5] == drawn[5:] and len(set(drawn)) == 5


def test_accumulated_batches_are_one_larger_batch():
    def run(**settings):
        model, loss, data = problem()
        fit(model, loss, data, nn.optim.SGD(model, 0.05), steps=4, **settings)
        return model.state_dict()

    parts, whole = run(batch_size=5, accumulated=4), run(batch_size=20)
    for name in whole:
        np.testing.assert_allclose(parts[name], whole[name], rtol=1e-10, atol=1e-12)


def test_clipping_bounds_the_step():
    model, loss, data = problem()
    before = np.concatenate([a.ravel() for a in model.state_dict().values()])
    fit(model, loss, data, nn.optim.SGD(model, 1.0), steps=1, clip=0.01)
    after = np.concatenate([a.ravel() for a in model.state_dict().values()])
    assert np.linalg.norm(after - before) == pytest.approx(0.01, rel=1e-3)


def test_evaluation_runs_in_evaluation_mode_without_recording():
    model, loss, data = problem(dropout=0.5)
    seen = []

    def evaluate():
        value = loss(*data)
        seen.append((model.training, value.parents))
        return value

    history = fit(model, loss, data, nn.optim.Adam(model), steps=5, evaluate=evaluate, every=2)
    assert [step for step, _ in history.evaluations] == [2, 4, 5]
    assert seen == [(False, ())] * 3 and model.training
    assert history.best[1] == min(value for _, value in history.evaluations)


def test_early_stop():
    model, loss, data = problem()
    values = iter([5.0, 4.0, 4.5, 4.2, 4.1, 0.0])
    history = fit(model, loss, data, nn.optim.SGD(model, 0.01), steps=100, evaluate=lambda: next(values), every=1,
                  patience=3)  # fmt: skip
    assert history.stopped == "patience" and history.steps == 5 and history.best == (2, 4.0)
    with pytest.raises(ValueError, match="nothing was evaluated"):
        History().best


def test_an_evaluation_that_is_nan_is_the_worst():
    model, loss, data = problem()
    values = iter([np.nan, 5.0, 4.0, np.nan, 3.0, 2.0])
    history = fit(model, loss, data, nn.optim.SGD(model, 0.01), steps=6, evaluate=lambda: next(values), every=1,
                  patience=2)  # fmt: skip
    assert history.stopped == "steps" and history.best == (6, 2.0)
    history = fit(model, loss, data, nn.optim.SGD(model, 0.01), steps=6, evaluate=lambda: np.nan, every=1, patience=2)
    assert history.stopped == "patience" and history.steps == 3


@pytest.mark.parametrize("optimizer_of", [lambda m: nn.optim.AdamW(m, lr=nn.optim.cosine(0.01, 12)),
                                          lambda m: nn.optim.SGD(m, 0.01, momentum=0.9)])  # fmt: skip
def test_a_resumed_run_ends_with_the_same_bits(tmp_path, optimizer_of):
    def run(steps, path=None, resume=False):
        model, loss, data = problem(dropout=0.3)
        history = fit(model, loss, data, optimizer_of(model), steps=steps, batch_size=7, checkpoint=path, resume=resume,
                      evaluate=lambda: loss(*data), every=4)  # fmt: skip
        return model.state_dict(), history

    whole, history = run(12)
    run(5, tmp_path / "run")
    resumed, continued = run(12, tmp_path / "run", resume=True)
    assert all(np.array_equal(whole[name], resumed[name]) for name in whole)
    assert continued.losses == history.losses and continued.rates == history.rates
    assert [pair for pair in continued.evaluations if pair[0] % 4 == 0] == history.evaluations


def test_a_run_that_is_done_is_not_repeated(tmp_path):
    model, loss, data = problem()
    fit(model, loss, data, nn.optim.SGD(model, 0.01), steps=3, checkpoint=tmp_path / "run")
    before = model.state_dict()
    history = fit(model, loss, data, nn.optim.SGD(model, 0.01), steps=3, checkpoint=tmp_path / "run", resume=True)
    assert history.steps == 3
    assert all(np.array_equal(before[name], array) for name, array in model.state_dict().items())


def test_a_run_that_had_stopped_early_is_not_taken_up_again(tmp_path):
    model, loss, data = problem()
    optimizer = nn.optim.SGD(model, lr=0.0)  # no better, ever
    settings = {"steps": 50, "evaluate": lambda: loss(*data), "every": 2, "checkpoint": tmp_path / "c", "resume": True}
    first = fit(model, loss, data, optimizer, patience=3, **settings)
    assert (first.steps, first.stopped) == (8, "patience")
    for _ in range(3):
        again = fit(model, loss, data, optimizer, patience=3, **settings)
        assert (again.steps, again.stopped, optimizer.steps) == (8, "patience", 8)
    assert train.load_checkpoint(tmp_path / "c", model, optimizer).stopped == "patience"
    longer = fit(model, loss, data, optimizer, patience=5, **settings)
    assert (longer.steps, longer.stopped) == (12, "patience")
    assert fit(model, loss, data, optimizer, **settings).stopped == "steps"


@pytest.mark.parametrize("spoil", ["dropout", "state", "history", "kind of generator", "optimizer"])
def test_a_checkpoint_that_does_not_fit_changes_nothing(tmp_path, spoil):
    model, loss, data = problem(dropout=0.5)
    optimizer = nn.optim.Adam(model, lr=0.1)
    fit(model, loss, data, optimizer, steps=3, checkpoint=tmp_path / "run")
    arrays, about = nn.io.read(tmp_path / "run")
    states = json.loads(about["dropouts"])
    if spoil == "dropout":
        states = {}
    elif spoil == "state":
        states = {key: {"bit_generator": "PCG64", "state": 3} for key in states}
    elif spoil == "kind of generator":
        states = {key: {"bit_generator": "MT19937", "state": {"key": [1], "pos": 0}} for key in states}
    elif spoil == "history":
        del arrays["history.rates"]
    else:
        arrays["optimizer.steps.layers.0.weight"] = np.zeros(7)
    nn.io.write(arrays, tmp_path / "run", about | {"dropouts": json.dumps(states)})
    other, _, _ = problem(dropout=0.5, rng=5)
    fresh = nn.optim.Adam(other, lr=0.1)

    def everything():
        return {**other.state_dict(), **fresh.state_dict()}, other.layers[2].rng.bit_generator.state

    (before, generator), expected = everything(), ShapeError if spoil == "optimizer" else DataError
    with pytest.raises(expected, match=r"nothing was changed|not a whole checkpoint|no state for the dropout layers"):
        train.load_checkpoint(tmp_path / "run", other, fresh)
    after, untouched = everything()
    assert untouched == generator and all(np.array_equal(before[name], after[name]) for name in before)


def test_without_resume_a_run_starts_anew(tmp_path):
    model, loss, data = problem()
    for _ in range(2):
        history = fit(model, loss, data, nn.optim.SGD(model, 0.01), steps=2, checkpoint=tmp_path / "run")
        assert history.steps == 2


def test_ctrl_c_finishes_the_step_and_keeps_a_checkpoint(tmp_path):
    model, loss, data = problem()
    calls = []

    def interrupted(x, y):
        calls.append(1)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return loss(x, y)

    before = signal.getsignal(signal.SIGINT)
    optimizer = nn.optim.Adam(model)
    history = fit(model, interrupted, data, optimizer, steps=50, checkpoint=tmp_path / "run")
    assert history.stopped == "interrupted" and history.steps == 3
    assert signal.getsignal(signal.SIGINT) is before
    other, _, _ = problem(rng=9)
    kept = train.load_checkpoint(tmp_path / "run", other, nn.optim.Adam(other))
    assert kept.losses == history.losses
    assert all(np.array_equal(a, other.state_dict()[name]) for name, a in model.state_dict().items())


def test_a_loss_that_is_not_finite_stops_before_anything_moves(tmp_path):
    model, loss, data = problem()
    before = model.state_dict()
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(NonFiniteError, match="step 1 is"):
        fit(model, lambda x, y: loss(x, y) * np.inf, data, nn.optim.SGD(model, 0.1), steps=3)
    assert all(np.array_equal(before[name], array) for name, array in model.state_dict().items())


def test_a_checkpoint_for_another_model_is_refused_whole(tmp_path):
    model, loss, data = problem()
    fit(model, loss, data, nn.optim.Adam(model), steps=2, checkpoint=tmp_path / "run")
    before = model.state_dict()
    with pytest.raises(ValueError, match="momentum"):  # the model fits, the optimizer does not
        train.load_checkpoint(tmp_path / "run", model, nn.optim.SGD(model, 0.1, momentum=0.5))
    assert all(np.array_equal(before[name], array) for name, array in model.state_dict().items())
    nn.save(model, tmp_path / "model")
    with pytest.raises(DataError, match=r"nn\.load"):
        train.load_checkpoint(tmp_path / "model", model, nn.optim.Adam(model))


def test_it_is_quiet_when_not_on_a_terminal(capfd):
    model, loss, data = problem()
    fit(model, loss, data, nn.optim.SGD(model, 0.01), steps=2)
    assert capfd.readouterr() == ("", "")
    fit(model, loss, data, nn.optim.SGD(model, 0.01), steps=2, progress=True)
    assert "loss" in capfd.readouterr().err


@pytest.mark.slow
def test_a_history_plots_itself(tmp_path):
    pytest.importorskip("matplotlib")
    model, loss, data = problem()
    history = fit(model, loss, data, nn.optim.SGD(model, 0.01), steps=4, evaluate=lambda: loss(*data), every=2)
    figure = history.plot(tmp_path / "loss.svg", title="two moons")
    drawn = figure.axes[0].get_lines()
    np.testing.assert_allclose(drawn[0].get_ydata(), history.losses)
    np.testing.assert_allclose(drawn[1].get_xdata(), [2, 4])
    assert "<svg" in (tmp_path / "loss.svg").read_text()
    assert history._repr_png_().startswith(b"\x89PNG")


def compiled_and_eager(tmp_path, backend=True, **options):
    """The same run twice, the second time compiled: histories, states, and what is in the checkpoints."""
    found = []
    for compile in (False, backend):
        model, loss, data = problem(dropout=0.3)
        path = tmp_path / f"run-{compile}.safetensors"
        optimizer = nn.optim.AdamW(model, lr=nn.optim.cosine(0.01, 12))
        history = fit(model, loss, data, optimizer, steps=12, seed=3, checkpoint=path, compile=compile,
                      evaluate=lambda loss=loss, data=data: loss(*data), every=4, **options)  # fmt: skip
        found.append((history, model.state_dict(), nn.io.read(path)))
    return found


@pytest.fixture(params=["gradients", "whole steps"])
def compiled(request, monkeypatch):
    """A backend, with a program for the gradients alone, or for the optimizer too, as C has it."""
    monkeypatch.setattr(_steps, "WHOLE", {"numpy"} if request.param == "whole steps" else set())
    return "numpy"


@pytest.mark.parametrize("options", [
    {"batch_size": 7}, {"batch_size": 5, "accumulated": 3}, {"batch_size": 10, "clip": 0.01}, {},
], ids=["uneven batches", "accumulated", "clipped", "whole"])  # fmt: skip
@pytest.mark.usefixtures("compiled")
def test_a_compiled_run_has_the_losses_and_the_files_of_the_eager_one(tmp_path, options):
    first, second = compiled_and_eager(tmp_path, "numpy", **options)
    (eager, states, (arrays, about)), (compiled, others, (arrays2, about2)) = first, second
    np.testing.assert_allclose(compiled.losses, eager.losses, rtol=1e-12)
    np.testing.assert_allclose([e for _, e in compiled.evaluations], [e for _, e in eager.evaluations], rtol=1e-12)
    for name, array in states.items():
        np.testing.assert_allclose(others[name], array, rtol=1e-10, atol=1e-13)
    assert about == about2  # the dropouts' generators among it: as many masks were drawn
    assert {n: (a.shape, a.dtype) for n, a in arrays.items()} == {n: (a.shape, a.dtype) for n, a in arrays2.items()}


@pytest.mark.parametrize("accumulated", [1, 2])
def test_a_frozen_parameter_stays_where_it_is_in_a_compiled_run_too(compiled, accumulated):
    model, loss, data = problem()
    frozen = model.parameters()[0]
    frozen.requires_grad = False
    before = frozen.data.copy()
    optimizer = nn.optim.SGD(model, lr=0.1)
    fit(model, loss, data, optimizer, steps=3, batch_size=5, accumulated=accumulated, compile=compiled)
    assert np.array_equal(frozen.data, before) and frozen.grad is None


OPTIMIZERS = {
    "SGD": lambda model: nn.optim.SGD(model, 0.1, weight_decay=0.1),
    "momentum": lambda model: nn.optim.SGD(model, 0.1, momentum=0.9, dampening=0.3),
    "Nesterov": lambda model: nn.optim.SGD(model, 0.1, momentum=0.9, nesterov=True),
    "Adam": lambda model: nn.optim.Adam(model, nn.optim.warmup(0.05, 3), weight_decay=0.1, amsgrad=True),
    "AdamW": lambda model: nn.optim.AdamW(model, 0.05),
    "RMSprop": lambda model: nn.optim.RMSprop(model, 0.01, momentum=0.5, centered=True),
}


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_every_optimizer_moves_compiled_as_it_does_eagerly(compiled, make):
    """Over a parameter that thaws, settings that are changed, and a clip that is reached; gradients stay to be seen."""
    found = []
    for how in (False, compiled):
        model, loss, data = problem()
        late, optimizer, losses = model.parameters()[0], make(model), []
        for stage in range(3):
            late.requires_grad = stage > 0
            optimizer.weight_decay = 0.2 if stage == 2 else 0.1
            losses += fit(model, loss, data, optimizer, steps=3, batch_size=7, clip=(None, 1e9, 0.01)[stage],
                          compile=how).losses  # fmt: skip
        found.append([losses, *(p.data for p in model.parameters()), *(p.grad for p in model.parameters()),
                      *optimizer.state_dict().values()])  # fmt: skip
    for eager, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, eager, rtol=1e-10, atol=1e-13)


def test_an_optimizer_with_a_step_of_its_own_makes_it_in_a_compiled_run_too(compiled):
    class Counting(nn.optim.Adam):
        def step(self):
            super().step()
            calls.append(self.steps)

    calls = []
    model, loss, data = problem()
    fit(model, loss, data, Counting(model), steps=3, compile=compiled)
    assert calls == [1, 2, 3]


def test_a_setting_that_changes_within_a_compiled_run_is_noticed(compiled):
    found = []
    for how in (False, compiled):
        model, loss, data = problem()
        optimizer = nn.optim.AdamW(model, 0.05)

        def change(optimizer=optimizer):
            optimizer.betas = (0.5, 0.9)
            return 0.0

        found.append(fit(model, loss, data, optimizer, steps=6, evaluate=change, every=3, compile=how).losses)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


def zero_model():
    model = nn.Linear(2, 1, rng=0)
    for p in model.parameters():
        p.data[...] = 0.0
    return model


def test_a_gradient_that_is_not_finite_is_named_in_a_compiled_run_too(compiled):
    model = zero_model()
    optimizer = nn.optim.Adam(model)
    with pytest.raises(NonFiniteError, match="the gradient of weight holds nan"), np.errstate(all="ignore"):
        fit(model, lambda x: (model(x) ** 2).sqrt().sum(), (np.ones((3, 2)),), optimizer, steps=1, compile=compiled)
    assert not model.weight.data.any()


def test_gradients_whose_squares_overflow_move_a_compiled_run_too(compiled):
    model = zero_model()
    optimizer = nn.optim.SGD(model, lr=1e-200)
    fit(model, lambda x: (model(x) * 1e200).sum(), (np.ones((3, 2)),), optimizer, steps=1, compile=compiled)
    np.testing.assert_allclose(model.weight.data, -3.0)
    assert optimizer.steps == 1


def test_a_compiled_run_and_an_eager_one_go_on_from_each_others_checkpoints(tmp_path, compiled):
    def run(steps, compile, resume=False):
        model, loss, data = problem(dropout=0.3)
        history = fit(model, loss, data, nn.optim.Adam(model, lr=0.01), steps=steps, batch_size=7, resume=resume,
                      checkpoint=tmp_path / "run", compile=compile)  # fmt: skip
        return history.losses

    whole = run(10, False)
    for first, second in ((False, compiled), (compiled, False)):
        (tmp_path / "run").unlink()
        run(4, first)
        np.testing.assert_allclose(run(10, second, resume=True), whole, rtol=1e-12)


def test_a_compiled_run_does_not_compute_the_loss_again_by_python():
    model, loss, data = problem()
    calls = []
    fit(model, lambda x, y: calls.append(1) or loss(x, y), data, nn.optim.SGD(model, lr=0.1), steps=30, compile=True)
    assert 0 < len(calls) < 10  # those of the trace and of its checks


@pytest.mark.parametrize("bad, error", [
    (lambda value: value.item(), DataError), (lambda value: value.detach(), BackwardError),
    (lambda value: 1.0, DataError), (lambda value: value * np.ones(2), BackwardError), (fails, RuntimeError),
], ids=["an item", "a constant", "a number", "an array", "an error"])  # fmt: skip
def test_a_loss_that_cannot_be_compiled_leaves_the_gradients_as_they_were(bad, error):
    model, loss, data = problem()
    loss(*data).backward()
    before = [p.grad.copy() for p in model.parameters()]
    with pytest.raises(error):
        fit(model, lambda x, y: bad(loss(x, y)), data, nn.optim.SGD(model, lr=0.1), steps=1, compile=True)
    assert all(np.array_equal(p.grad, g) for p, g in zip(model.parameters(), before, strict=True))


def test_with_compile_the_optimizer_moves_the_models_parameters_only():
    model, loss, data = problem()
    other = nn.Linear(1, 1, rng=0)
    with pytest.raises(DataError, match="all parameters are the model's; the optimizer's weight is not"):
        fit(model, loss, data, nn.optim.SGD([*model.parameters(), *other.parameters()], lr=0.1), steps=1, compile=True)


@pytest.mark.parametrize("loss", [lambda model, x, y: x.sum(), lambda x: x.sum()])
def test_a_batch_that_does_not_fit_the_loss_is_told_how_it_is_called(loss):
    model = nn.Linear(1, 1, rng=0)
    before = model.weight.data.copy()
    with pytest.raises(TypeError, match=r"loss\(\*batch\), and this batch has 2 parts"):
        nn.fit(model, loss, (np.ones((4, 1)), np.ones((4, 1))), nn.optim.SGD(model, lr=0.1), steps=1)
    assert np.array_equal(model.weight.data, before)


def test_epochs_count_the_rows():
    model, loss, data = problem()
    optimizer = nn.optim.SGD(model, 0.01)
    assert fit(model, loss, data, optimizer, epochs=3, batch_size=7).steps == 9
    assert fit(model, loss, data, optimizer, epochs=3, batch_size=7, accumulated=2).steps == 5
    for settings, said in (({}, "steps= or by epochs="), ({"steps": 1, "epochs": 1}, "one of the two"),
                           ({"epochs": 0.5}, "epochs"), ({"steps": 1, "patience": 2}, "evaluate=")):  # fmt: skip
        with pytest.raises(TypeError, match=said):
            fit(model, loss, data, optimizer, **settings)
    with pytest.raises(TypeError, match="say steps="):
        fit(model, loss, lambda rng: data, optimizer, epochs=1)


def test_metrics_best_weights_and_callbacks(tmp_path):
    def run(steps, values, resume=False):
        model, loss, data = problem()
        values, seen = iter(values), []
        history = fit(model, loss, data, nn.optim.SGD(model, 0.05), steps=steps, every=2, keep_best=True, resume=resume,
                      evaluate=lambda: seen.append(model.state_dict()) or next(values), checkpoint=tmp_path / "run",
                      metrics={"twice": lambda: 2.0, "size": model.count},
                      callbacks=[lambda h: h.steps == 7])  # fmt: skip
        return model, history, seen

    model, history, seen = run(20, [3.0, 1.0, 2.0])
    assert (history.stopped, history.steps) == ("callback", 7)
    assert history.metrics == {"twice": [(2, 2.0), (4, 2.0), (6, 2.0)], "size": [(n, model.count()) for n in (2, 4, 6)]}
    assert all(np.array_equal(seen[1][name], array) for name, array in model.state_dict().items())
    assert "twice" in str([text.get_text() for text in history.plot().axes[0].get_legend().get_texts()])
    again, resumed, _ = run(10, [1.5, 1.4], resume=True)
    assert resumed.metrics["twice"] == [(n, 2.0) for n in (2, 4, 6, 8, 10)] and resumed.best == (4, 1.0)
    assert all(np.array_equal(seen[1][name], array) for name, array in again.state_dict().items())


def test_a_plateau_goes_by_evaluations_also_after_a_resume(tmp_path):
    def run(steps, values, resume):
        model, loss, data = problem()
        optimizer = nn.optim.SGD(model, nn.optim.plateau(0.1, patience=2, factor=0.5))
        return fit(model, loss, data, optimizer, steps=steps, evaluate=lambda: next(values), every=1, resume=resume,
                   checkpoint=tmp_path / "run")  # fmt: skip

    lossy = [3.0, 2.0, 2.5, 2.2, 2.1, 2.0, 1.0]
    whole = run(7, iter(lossy), False)
    assert whole.rates == [0.1] * 4 + [0.05] * 2 + [0.025]
    run(3, iter(lossy), False)
    assert run(7, iter(lossy[3:]), True).rates == whole.rates


def test_an_optimizer_of_another_model_and_a_metric_that_is_a_number():
    model, other = nn.Linear(1, 1, rng=0), nn.Linear(1, 1, rng=1)
    x = np.ones((2, 1))
    loss = lambda x, y: nn.functional.mse(model(x), y)  # noqa: E731
    with pytest.raises(DataError, match="moves no parameter of this model"):
        nn.fit(model, loss, (x, x), nn.optim.SGD(other, lr=0.1), steps=1)
    with pytest.raises(TypeError, match="a metric is a function"):
        nn.fit(model, loss, (x, x), nn.optim.SGD(model, lr=0.1), steps=1, metrics={"a": 1})
