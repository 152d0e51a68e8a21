"""Optimizers against torch's (recorded and live) and by hand; refusals; clipping and accumulation."""

import importlib.util
import tracemalloc

import numpy as np
import pytest

import nn
from autograd import Value
from autograd.errors import BackwardError, DataError, NonFiniteError, ShapeError, StaleDataError
from autograd.expr import Expr
from nn import _cells, optim

CASES = {
    "SGD": (optim.SGD, "SGD", {"lr": 0.1}),
    "SGD momentum": (optim.SGD, "SGD", {"lr": 0.1, "momentum": 0.9}),
    "SGD Nesterov": (optim.SGD, "SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "SGD decay": (optim.SGD, "SGD", {"lr": 0.1, "momentum": 0.5, "nesterov": True, "weight_decay": 0.3}),
    "SGD plain decay": (optim.SGD, "SGD", {"lr": 0.1, "weight_decay": 0.3}),
    "SGD dampening": (optim.SGD, "SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.3}),
    "Adam": (optim.Adam, "Adam", {"lr": 0.05}),
    "Adam amsgrad": (optim.Adam, "Adam", {"lr": 0.05, "amsgrad": True, "betas": (0.8, 0.5), "weight_decay": 0.2}),
    "Adam decay": (optim.Adam, "Adam", {"lr": 0.05, "weight_decay": 0.2, "betas": (0.8, 0.9), "eps": 1e-4}),
    "AdamW": (optim.AdamW, "AdamW", {"lr": 0.05}),
    "AdamW amsgrad": (optim.AdamW, "AdamW", {"lr": 0.05, "amsgrad": True, "betas": (0.8, 0.5)}),
    "AdamW decay": (optim.AdamW, "AdamW", {"lr": 0.05, "weight_decay": 0.2, "betas": (0.8, 0.9)}),
}
ONLY_TORCH = {
    "RMSprop": (optim.RMSprop, "RMSprop", {"lr": 0.05}),
    "RMSprop momentum": (optim.RMSprop, "RMSprop", {"lr": 0.05, "momentum": 0.9, "alpha": 0.8, "weight_decay": 0.2}),
    "RMSprop centered": (optim.RMSprop, "RMSprop", {"lr": 0.05, "centered": True, "momentum": 0.5, "eps": 1e-4}),
}
START = np.array([[1.0, -2.0], [0.5, 3.0]])


def descend(p, optimizer, steps=5):
    for _ in range(steps):
        optimizer.zero_grad()
        (((p - 1.0) ** 4).sum() / 4).backward()
        optimizer.step()


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="NOT TESTED: torch is not installed")
@pytest.mark.parametrize("name", CASES | ONLY_TORCH)
def test_steps_agree_with_torch(name):
    import torch

    ours, theirs, settings = (CASES | ONLY_TORCH)[name]
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
        p, t = nn.Parameter(START.astype(dtype)), torch.tensor(START.astype(dtype), requires_grad=True)
        descend(p, ours([p], **settings))
        descend(t, getattr(torch.optim, theirs)([t], **settings))
        assert p.dtype == dtype
        np.testing.assert_allclose(p.data, t.detach().numpy(), rtol=tolerance, atol=tolerance)


def by_hand(name, p, steps=5):
    """The update written out a second time, from the papers, with temporaries and without tricks."""
    settings = CASES[name][2]
    lr, decay = settings["lr"], settings.get("weight_decay", 0.01 if name.startswith("AdamW") else 0.0)
    momentum, nesterov = settings.get("momentum", 0.0), settings.get("nesterov", False)
    (b1, b2), eps = settings.get("betas", (0.9, 0.999)), settings.get("eps", 1e-8)
    b = m = v = largest = np.zeros_like(p)
    for t in range(1, steps + 1):
        g = (p - 1.0) ** 3
        if name.startswith("SGD"):
            g = g + decay * p
            b = g if t == 1 else momentum * b + (1 - settings.get("dampening", 0.0)) * g
            p = p - lr * (g + momentum * b if nesterov else b)
            continue
        if name.startswith("AdamW"):
            p = p - lr * decay * p
        else:
            g = g + decay * p
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        largest = np.maximum(largest, v) if settings.get("amsgrad") else v
        p = p - lr * (m / (1 - b1**t)) / (np.sqrt(largest / (1 - b2**t)) + eps)
    return p


@pytest.mark.parametrize("name", CASES)
def test_steps_agree_with_the_formula(name):
    ours, _, settings = CASES[name]
    p = nn.Parameter(START)
    descend(p, ours([p], **settings))
    np.testing.assert_allclose(p.data, by_hand(name, START), rtol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_scalars_move_as_arrays_do(name):
    ours, _, settings = CASES[name]
    scalars = [nn.Parameter(float(x)) for x in START.flat]
    optimizer = ours(scalars, **settings)
    for _ in range(5):
        optimizer.zero_grad()
        sum((p - 1.0) ** 4 / 4 for p in scalars).backward()
        optimizer.step()
    assert all(type(p.data) is float for p in scalars)
    np.testing.assert_allclose([p.data for p in scalars], by_hand(name, START).ravel(), rtol=1e-12)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape", [(), (2, 1)], ids=["scalars", "arrays"])
def test_what_is_remembered_of_frozen_parameters_stays(name, shape):
    ours, _, settings = CASES[name]
    moved, frozen = (nn.Parameter(np.full(shape, x)[()], name=n) for n, x in (("moved", 1.0), ("frozen", 2.0)))
    moved.grad = frozen.grad = np.ones(shape)[()]
    optimizer = ours([moved, frozen], **settings)
    optimizer.step()
    frozen.requires_grad = False
    before, value = optimizer.state_dict(), np.copy(frozen.data)
    optimizer.step()
    after = optimizer.state_dict()
    assert np.array_equal(frozen.data, value)
    for slot in set(optimizer.slots) - {"largest_v"}:  # which does not grow at every step
        assert np.array_equal(after[f"{slot}.frozen"], before[f"{slot}.frozen"]) and before[f"{slot}.frozen"].all()
        assert (after[f"{slot}.moved"] != before[f"{slot}.moved"]).all()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_small_parameters_move_together_as_each_by_itself(name, dtype, monkeypatch):
    """To the bit, also after one of them was frozen for a while: its step number is then its own."""
    ours, _, settings = CASES[name]
    found = []
    for small in (_cells.SMALL, 0):  # together, then each in a cell of its own
        monkeypatch.setattr(_cells, "SMALL", small)
        rng = np.random.default_rng(0)
        arrays = [rng.normal(size=shape).astype(dtype) for shape in ((2, 3), (4,), (1, 1), (3, 2))]
        params = [nn.Parameter(x, name=f"p{n}") for n, x in enumerate([*arrays[:3], np.asfortranarray(arrays[3])])]
        optimizer = ours(params, **settings)
        assert len(optimizer._cells) == (1 if small else 4)
        for step in range(5):
            params[1].requires_grad = step != 1
            for p in params:
                p.grad = rng.normal(size=p.shape).astype(dtype)
            optimizer.step()
        found.append([*(p.data for p in params), *optimizer.state_dict().values()])
    for together, alone in zip(*found, strict=True):
        assert together.dtype == alone.dtype and np.array_equal(together, alone)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_move_on_values_gives_the_bits_of_a_move_in_place(name, dtype):
    ours, _, settings = CASES[name]
    p = nn.Parameter(START.astype(dtype))
    optimizer = ours([p], **settings)
    (cell,) = optimizer._cells
    values, states = Value(p.data), {slot: Value(x) for slot, x in cell.remembered.items()}
    for t in (1, 2, 3):
        p.grad = np.sin(START + t).astype(dtype)
        values, states = optimizer.move(values, Value(p.grad), states, float(t), optimizer.rate)
        optimizer.step()
        assert values.data.dtype == dtype and np.array_equal(values.data, p.data)
        for slot, state in states.items():
            assert np.array_equal(state.data, cell.state[slot])


@pytest.mark.parametrize("name", CASES)
def test_a_move_on_text_is_a_formula_of_the_same_numbers(name):
    ours, _, settings = CASES[name]
    p = nn.Parameter(START)
    p.grad = np.sin(START)
    optimizer = ours([p], **settings)
    (cell,) = optimizer._cells
    state = {slot: Expr(slot, x.copy()) for slot, x in cell.remembered.items()}
    moved, after = optimizer.move(Expr("p", p.data.copy()), Expr("g", p.grad), state, Expr("t", 1.0), optimizer.rate)
    optimizer.step()
    np.testing.assert_allclose(moved.value, p.data, rtol=1e-15)
    for slot, e in after.items():
        np.testing.assert_allclose(e.value, cell.state[slot], rtol=1e-15)
        assert e.is_symbol  # which `let` named


def test_adam_writes_itself_down():
    optimizer = nn.optim.Adam([nn.Parameter(1.0)])
    p, g, m, v, t, rate = (Expr(name) for name in ("p", "g", "m", "v", "t", "η"))
    moved, _ = optimizer.move(p, g, {"m": m, "v": v}, t, rate)
    assert str(moved).split("; ") == [
        "m = 0.9 * m + 0.09999999999999998 * g", "m̂ = m / (1.0 - 0.9 ** t)",
        "v = 0.999 * v + 0.0010000000000000009 * g ** 2", "v̂ = v / (1.0 - 0.999 ** t)",
        "p - η * m̂ / (sqrt(v̂) + 1e-08)",
    ]  # fmt: skip


def thawing(leaf, optimizer, first, second):
    """Two steps with the second parameter frozen, then three with both."""
    for step in range(5):
        second.requires_grad = step >= 2
        optimizer.zero_grad()
        (((first - 1.0) ** 4).sum() / 4 + ((second - 1.0) ** 4).sum() / 4).backward()
        optimizer.step()
    return leaf(first), leaf(second)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape", [(), (2, 2)], ids=["scalars", "arrays"])
def test_a_parameter_that_thaws_later_starts_at_its_own_first_step(name, shape):
    """Its numbers are those of a run of its own over three steps: nothing of the others' count reaches it."""
    ours, _, settings = CASES[name]
    start = START if shape else 3.0
    params = nn.Parameter(start), nn.Parameter(start)
    five, three = thawing(lambda p: p.data, ours(params, **settings), *params)
    np.testing.assert_allclose(five, by_hand(name, np.asarray(start)), rtol=1e-12)
    np.testing.assert_allclose(three, by_hand(name, np.asarray(start), steps=3), rtol=1e-12)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="NOT TESTED: torch is not installed")
@pytest.mark.parametrize("name", CASES)
def test_thawing_agrees_with_torch(name):
    import torch

    ours, theirs, settings = CASES[name]
    params = nn.Parameter(START), nn.Parameter(START)
    tensors = torch.tensor(START, requires_grad=True), torch.tensor(START, requires_grad=True)
    found = thawing(lambda p: p.data, ours(params, **settings), *params)
    expected = thawing(lambda t: t.detach().numpy(), getattr(torch.optim, theirs)(tensors, **settings), *tensors)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_state_that_counted_all_parameters_together_still_loads():
    p = nn.Parameter(START, name="p")
    optimizer = optim.Adam([p])
    descend(p, optimizer)
    state = optimizer.state_dict()
    old = {name: array for name, array in state.items() if not name.startswith("steps.")}
    other = optim.Adam([p])
    other.load_state_dict(old)
    assert other.state_dict()["steps.p"] == 5 == state["steps.p"]


# --- manners ------------------------------------------------------------------------------------------------


def model_and_loss():
    model = nn.Sequential(nn.Linear(2, 3, rng=0), nn.Linear(3, 1, rng=1))
    return model, lambda: nn.functional.mse(model(np.ones((4, 2))), np.zeros((4, 1)))


def test_a_step_moves_in_place_and_never_grows_the_graph():
    model, loss = model_and_loss()
    optimizer = optim.AdamW(model)
    arrays = [p.data for p in model.parameters()]
    for _ in range(3):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
        assert all(p.op is None and p.parents == () for p in model.parameters())
    assert all(p.data is array for p, array in zip(model.parameters(), arrays, strict=True))


@pytest.mark.parametrize("name", ["SGD decay", "Adam decay", "AdamW decay"])
def test_a_step_allocates_nothing_large(name):
    ours, _, settings = CASES[name]
    p = nn.Parameter(np.ones((300, 300)))
    optimizer = ours([p], **settings)
    p.grad = np.ones((300, 300))
    optimizer.step()
    tracemalloc.start()
    optimizer.step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * p.data.nbytes


def test_a_graph_from_before_the_step_is_refused():
    model, loss = model_and_loss()
    before = loss()
    loss().backward()
    optim.SGD(model, 0.1).step()
    with pytest.raises(StaleDataError):
        before.backward()


def test_gradients_stay_as_they_were():
    model, loss = model_and_loss()
    loss().backward()
    gradients = [p.grad.copy() for p in model.parameters()]
    for ours, _, settings in CASES.values():
        ours(model, **settings).step()
    assert all(np.array_equal(p.grad, g) for p, g in zip(model.parameters(), gradients, strict=True))


@pytest.mark.parametrize("params_of", [lambda m: m, lambda m: m.parameters(), lambda m: list(m.parameters())[::-1]])
def test_a_missing_gradient_is_refused_by_name_and_nothing_moves(params_of):
    model, loss = model_and_loss()
    loss().backward()
    model[1].weight.grad = None
    before = model.state_dict()
    with pytest.raises(BackwardError, match=r"layers\.1\.weight has no gradient"):
        optim.AdamW(params_of(model)).step()
    assert all(np.array_equal(before[name], array) for name, array in model.state_dict().items())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_gradient_that_is_not_finite_is_refused_by_name(bad):
    model, loss = model_and_loss()
    loss().backward()
    model[1].bias.grad = np.array([bad])
    before = model.state_dict()
    optimizer = optim.SGD(model, 0.1)
    with pytest.raises(NonFiniteError, match=r"layers\.1\.bias holds .* in 1 of 1 places"):
        optimizer.step()
    assert optimizer.steps == 0
    assert all(np.array_equal(before[name], array) for name, array in model.state_dict().items())


@pytest.mark.parametrize("shape", [(3,), ()], ids=["array", "scalar"])
def test_a_gradient_of_another_shape_is_refused_by_name_and_nothing_moves(shape):
    a, b = nn.Parameter(np.ones(2), name="a"), nn.Parameter(np.ones(shape), name="b")
    a.grad, b.grad = np.ones(2), np.ones(2)
    optimizer = optim.Adam([a, b], 0.1)
    with pytest.raises(BackwardError, match=r"the gradient of b has shape \(2,\), the parameter \("):
        optimizer.step()
    assert optimizer.steps == 0 and not optimizer.state_dict()["m.a"].any()
    np.testing.assert_array_equal(a.data, 1.0)


def test_large_but_finite_gradients_are_no_nan():
    p = nn.Parameter(np.zeros(2, np.float32))
    p.grad = np.full(2, 1e30, np.float32)  # its square overflows
    optim.SGD([p], 1e-30).step()
    np.testing.assert_allclose(p.data, -1.0, rtol=1e-6)


def test_a_scalar_without_gradient_is_named():
    model = nn.MLP(1, [1], rng=0)
    with pytest.raises(BackwardError, match=r"layers\.0\.neurons\.0\.w\.0"):
        optim.SGD(model, 0.1).step()


def test_zero_grad_sets_none():
    model, loss = model_and_loss()
    loss().backward()
    optim.SGD(model, 0.1).zero_grad()
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: optim.SGD([], 0.1), "no parameters"),
        (lambda: optim.SGD(Value(1.0), 0.1), r"Write SGD\(\[p\]\)"),
        (lambda: optim.SGD([Value(1.0) * 2], 0.1), "number 0"),
        (lambda: optim.SGD([1.0], 0.1), "number 0"),
        (lambda: optim.SGD([Value(1.0)], -0.1), "learning rate"),
        (lambda: optim.SGD([Value(1.0)], 0.1, nesterov=True), "momentum"),
        (lambda: optim.SGD([Value(1.0)], 0.1, momentum=0.9, dampening=0.1, nesterov=True), "no dampening"),
        (lambda: optim.Adam([Value(1.0)], betas=(1.0, 0.9)), "betas"),
        (lambda: optim.Adam([Value(1.0)], betas=0.9), r"Adam: betas are two numbers .*; got 0\.9"),
        (lambda: optim.AdamW([Value(1.0)], betas=(0.9, 0.99, 0.999)), "AdamW: betas are two numbers"),
        (lambda: optim.Adam([Value(1.0)], betas="12"), "betas are two numbers .*; got '12'"),
    ],
)
def test_wrong_settings_are_refused(make, words):
    with pytest.raises((ValueError, DataError), match=words):
        make()


def test_state_continues_exactly():
    def run(optimizer_steps):
        model, loss = model_and_loss()
        optimizer = optim.AdamW(model, lr=0.1)
        for restart in optimizer_steps:
            if restart:
                state = optimizer.state_dict()
                optimizer = optim.AdamW(model, lr=0.1)
                optimizer.load_state_dict(state)
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()
        return model.state_dict()

    whole, broken = run([False] * 4), run([False, False, True, False])
    assert all(np.array_equal(whole[name], broken[name]) for name in whole)


def test_a_state_that_does_not_fit_is_refused_whole():
    model, _ = model_and_loss()
    optimizer = optim.Adam(model)
    state = optimizer.state_dict()
    del state["m.layers.0.weight"]
    state["v.layers.0.bias"] = np.ones(7)
    with pytest.raises(ShapeError, match=r"missing: m\.layers\.0\.weight(.|\n)*expected shape \(3,\), got \(7,\)"):
        optimizer.load_state_dict(state)


# --- clipping and accumulation ------------------------------------------------------------------------------


def test_clipping_by_norm():
    model, loss = model_and_loss()
    loss().backward()
    before = np.concatenate([p.grad.ravel() for p in model.parameters()])
    norm = optim.clip_grad_norm(model, 0.5)
    assert norm == pytest.approx(np.linalg.norm(before))
    after = np.concatenate([p.grad.ravel() for p in model.parameters()])
    np.testing.assert_allclose(after, before * 0.5 / norm, rtol=1e-4)
    assert optim.clip_grad_norm(model, 10.0) == pytest.approx(0.5, rel=1e-4)
    np.testing.assert_array_equal(after, np.concatenate([p.grad.ravel() for p in model.parameters()]))


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_the_norm_of_gradients_whose_squares_are_no_numbers(size):
    p, q = nn.Parameter(np.zeros(2)), nn.Parameter(0.0)
    p.grad, q.grad = np.array([2.0, 3.0]) * size, 6.0 * size
    assert optim.clip_grad_norm([p, q], 1.0) == pytest.approx(7.0 * size, rel=1e-14)
    after = np.array([*p.grad, q.grad])
    np.testing.assert_allclose(after, np.array([2.0, 3.0, 6.0]) * (1 / 7 if size > 1 else size), rtol=1e-14)


def test_the_norm_in_float32_is_not_bound_by_float32():
    p = nn.Parameter(np.zeros(2, np.float32))
    p.grad = np.array([3e30, 4e30], np.float32)
    assert optim.clip_grad_norm([p], 1.0) == pytest.approx(5e30, rel=1e-6)
    np.testing.assert_allclose(p.grad, [0.6, 0.8], rtol=1e-6)


def test_gradients_longer_than_any_number_are_refused():
    p = nn.Parameter(np.zeros(4))
    p.grad = np.full(4, 1.7e308)
    with pytest.raises(NonFiniteError, match="longer than the largest number"):
        optim.clip_grad_norm([p], 1.0)
    assert (p.grad == 1.7e308).all()


def test_clipping_refuses_nan_by_name():
    model, loss = model_and_loss()
    loss().backward()
    model[0].bias.grad[0] = np.nan
    with pytest.raises(NonFiniteError, match=r"layers\.0\.bias"):
        optim.clip_grad_norm(model, 1.0)


@pytest.mark.parametrize("longest", [0.0, -1.0, float("nan")])
def test_clipping_to_no_length_is_refused(longest):
    """A length below 0 would turn every gradient round."""
    model, loss = model_and_loss()
    loss().backward()
    before = model[0].bias.grad.copy()
    with pytest.raises(ValueError, match="max_norm is a number above 0"):
        optim.clip_grad_norm(model, longest)
    np.testing.assert_array_equal(model[0].bias.grad, before)


def test_accumulation_over_parts_is_the_gradient_of_the_whole():
    model, _ = model_and_loss()
    x, y = np.random.default_rng(0).normal(size=(6, 2)), np.ones((6, 1))

    def loss(batch):
        return nn.functional.mse(model(batch[0]), batch[1])

    whole = loss((x, y))
    whole.backward()
    expected = [p.grad for p in model.parameters()]
    model.zero_grad()
    mean = optim.accumulate(loss, [(x[i : i + 2], y[i : i + 2]) for i in (0, 2, 4)])
    assert mean == pytest.approx(whole.item())
    for p, g in zip(model.parameters(), expected, strict=True):
        np.testing.assert_allclose(p.grad, g, rtol=1e-12)
    with pytest.raises(ValueError, match="at least one batch"):
        optim.accumulate(loss, [])
    with pytest.raises(DataError, match=r"the loss must be a Value.*got 1\.5 \(float\).*Leave out float"):
        optim.accumulate(lambda batch: 1.5, [1])


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (5, r"SGD takes a module, its parameters\(\) or a list of Values that are leaves; got 5 \(int\)"),
        (None, r"got None \(NoneType\)"),
        ("weights", r"got 'weights' \(str\)"),
        (nn.Linear(2, 1, rng=0).parameters, r"\(method\)\. Call it: model\.parameters\(\)"),
        ({"w": Value(1.0)}, r"\(dict\)"),
        (Value(1.0), r"got one Value\. Write SGD\(\[p\]\)"),
        ([nn.Linear(2, 1, rng=0)], r"number 0 is Linear.*Write SGD\(model\)"),
        ([Value(1.0), Value(2.0) * 3.0], r"number 1 is .*That is the result of mul: give the leaves"),
        ([np.ones((2, 2))], r"number 0 is array\(\[\[1\., 1\.\], \[1\., 1\.\]\]\) .*Make it a Parameter"),
    ],
)
def test_what_cannot_be_moved_is_refused(params, words):
    with pytest.raises(DataError, match=words):
        optim.SGD(params, lr=0.1)


@pytest.mark.parametrize("rate", ["0.1", None, [0.1], -1.0, np.nan, np.inf])
def test_a_learning_rate_that_is_none(rate):
    with pytest.raises(ValueError, match="SGD: the learning rate is a number from 0 up, or a schedule; got"):
        optim.SGD([Value(1.0)], lr=rate)


def test_an_optimizer_says_what_it_is():
    p = Value([1.0, 2.0])
    (p * p).sum().backward()
    optimizer = optim.SGD([p], lr=0.1, momentum=0.9)
    optimizer.step()
    assert repr(optimizer) == (
        "<SGD of 2 numbers: lr=0.1, momentum=0.9, nesterov=False, weight_decay=0.0, dampening=0.0; 1 step so far>"
    )


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="NOT TESTED: torch is not installed")
def test_groups_of_parameters_agree_with_torch():
    import torch

    for ours, theirs, of_group in ((optim.AdamW, torch.optim.AdamW, {"weight_decay": 0.0}),
                                   (optim.SGD, torch.optim.SGD, {"lr": 0.01, "weight_decay": 0.3})):  # fmt: skip
        p, t = [nn.Parameter(START), nn.Parameter(START)], [torch.tensor(START, requires_grad=True) for _ in range(2)]
        for given, kind in ((p, ours), (t, theirs)):
            optimizer = kind([{"params": [given[0]]}, {"params": given[1:], **of_group}], lr=0.1)
            for _ in range(4):
                optimizer.zero_grad()
                sum(((x - 1.0) ** 4).sum() for x in given).backward()
                optimizer.step()
        for a, b in zip(p, t):
            np.testing.assert_allclose(a.data, b.detach().numpy(), rtol=1e-12)
        assert (p[0].data != p[1].data).all()


def test_groups_are_looked_at():
    a, b = nn.Parameter(START, name="a"), nn.Parameter(START, name="b")
    both = [{"params": [a]}, {"params": [a, b]}]
    for groups, said in (([{"params": [a], "momentum": 0.5}], "momentum"), (both, "two"),
                         ([{"params": [a], "rate": 0.5}], "rate")):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=said):
            optim.SGD(groups, lr=0.1)
    optimizer = optim.Adam([{"params": [a], "lr": lambda t: 0.1 / (t + 1)}, {"params": [b]}], lr=0.2)
    (a * b).sum().backward()
    optimizer.step()
    np.testing.assert_allclose([np.abs(a.data - START).max(), np.abs(b.data - START).max()], [0.1, 0.2], rtol=1e-6)
    twin = optim.Adam([{"params": [a], "lr": 0.1}, {"params": [b]}], lr=0.2)
    twin.load_state_dict(optimizer.state_dict())
    assert twin.state_dict().keys() == {"steps", *(f"{s}.{n}" for s in ("m", "v", "steps") for n in "ab")}


def test_a_model_fits_alike_with_groups_compiled_and_not():
    found = []
    for compile in (False, "numpy"):
        model = nn.Linear(3, 2, rng=0)
        groups = [{"params": [model.weight], "weight_decay": 0.5}, {"params": [model.bias]}]
        loss = lambda x, model=model: (model(x) ** 2).mean()  # noqa: E731
        nn.fit(model, loss, (np.eye(3),), optim.AdamW(groups, lr=0.1), steps=5, compile=compile, progress=False)
        found.append(model.weight.data)
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_a_step_takes_gradients_from_elsewhere():
    model, twin = nn.Linear(2, 1, rng=0), nn.Linear(2, 1, rng=0)
    slopes = {"weight": np.ones((2, 1)), "bias": np.ones(1)}
    optim.SGD(model, lr=0.1).step(slopes)
    optim.SGD(twin, lr=0.1).step([np.ones((2, 1)), np.ones(1)])
    before = nn.Linear(2, 1, rng=0).weight.data
    assert (model.weight.data == before - 0.1).all() and (twin.weight.data == model.weight.data).all()
    with pytest.raises(ValueError, match="2 parameters to move; got 1 gradient"):
        optim.SGD(model, lr=0.1).step([np.ones(1)])
    with pytest.raises(BackwardError, match="bias has no gradient"):
        optim.SGD(model, lr=0.1).step({"weight": np.ones((2, 1))})


def test_a_seed_fixes_layers_and_dropouts():
    def drawn():
        layer, dropout = nn.Linear(2, 2), nn.Dropout(0.5)
        return layer.weight.data.tolist(), np.asarray(dropout(np.ones(20))).tolist()

    nn.seed(3)
    first = drawn(), drawn()
    nn.seed(3)
    assert (drawn(), drawn()) == first and first[0] != first[1]
    assert nn.Linear(2, 2, rng=0).weight.data.tolist() == nn.Linear(2, 2, rng=0).weight.data.tolist()


def test_a_model_changes_its_precision():
    conv, norm = nn.Conv2d(1, 2, 3, rng=0), nn.BatchNorm2d(2)
    model = nn.Sequential(conv, norm, nn.Flatten(), nn.Linear(8, 2, rng=0), nn.LSTM(2, 3))
    x = np.random.default_rng(0).normal(size=(3, 1, 4, 4))
    exact, _ = model(x)
    assert model.to("cpu").to(np.float32) is model
    out, _ = model(x.astype(np.float32))
    assert out.dtype == np.float32 and {a.dtype.name for a in model.state_dict().values()} == {"float32", "int64"}
    np.testing.assert_allclose(out.data, exact.data, atol=1e-5)
    optimizer = optim.Adam(model, lr=0.1)
    out.sum().backward()
    optimizer.step()
    assert {p.dtype.name for p in model.parameters()} == {"float32"}
    with pytest.raises(DataError, match="float32"):
        model.to(int)
