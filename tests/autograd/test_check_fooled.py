"""What could fool a gradient check, and must not: wrong gradients that look right, and right ones that look wrong."""

import gc
import weakref

import numpy as np
import pytest

import autograd as ag
from autograd import Value, check_formula, check_grads, custom_op
from autograd.check import verdict
from autograd.check.subjects.subject import cotangents
from autograd.errors import DataError
from autograd.op import OPS

V = np.array([0.5, 1.0, 2.0])


def squares(x):
    return (x * x).sum()


@pytest.fixture
def own_op():
    """Make a custom op for one test."""
    made = []

    def make(vjp, forward=np.sin):
        made.append(f"own_{len(made)}")
        return custom_op(made[-1], forward=forward, vjp=vjp)

    yield make
    for name in made:
        OPS.pop(name, None)


# --- gradients that buy their own tolerance -----------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.1, 1.1, 2.0, 100.0])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_factor_is_wrong_in_every_dtype(dtype, factor):
    assert check_formula(squares, lambda x: 2 * factor * x, V.astype(dtype)).verdict == "wrong"


def test_a_rule_that_draws_at_random_is_nondeterministic(own_op):
    rng = np.random.default_rng(0)
    for rule in (lambda g, out, x: (rng.normal(size=3),), lambda g, out, x: (g * np.cos(x) * rng.uniform(-2, 2),)):
        report = check_grads(own_op(rule), V)
        assert report.verdict == "nondeterministic"
        assert "a rule gave two gradients for the same numbers" in str(report)


def test_a_rule_that_jumps_with_the_last_digit_does_not_pass(own_op):
    report = check_grads(own_op(lambda g, out, x: (g * (np.cos(x) + np.sin(1e17 * x)),)), V)
    assert not report.ok
    assert "it moves by as much when the numbers on the way do by their last digit" in str(report)


@pytest.mark.parametrize("spoil", [lambda g: g * np.inf, lambda g: np.array([g[0], -np.inf, g[2]])])
def test_an_infinite_gradient_is_wrong(spoil, own_op):
    assert check_formula(squares, lambda x: spoil(2 * x), V).verdict == "wrong"
    assert check_grads(own_op(lambda g, out, x: (spoil(g * np.cos(x)),)), V).verdict == "wrong"


def test_an_infinite_entry_excuses_no_other():
    report = check_formula(squares, lambda x: np.array([np.inf, 3.0, 4.0]), V)
    assert [e.verdict for e in report.entries] == ["wrong", "wrong", "pass"]


@pytest.mark.parametrize("f, x", [(ag.exp, 1000.0), (lambda x: ag.sqrt((x * x).sum()), np.array([3e160, 4e160]))])
def test_nothing_passes_where_the_function_is_infinite(f, x):
    with np.errstate(over="ignore"):
        report = check_grads(f, x)
    assert report.verdict == "precision"
    assert "the function itself is not finite here" in report.notes
    assert "that is right" not in str(report)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: x**2, 1e200),
        (lambda x: (x * x).sum(), np.array([1.0, 1e200])),
        (lambda x: x.sum(), np.array([np.inf, 1.0])),
    ],
)
def test_nothing_is_wrong_where_the_function_is_infinite(f, x):
    """inf − inf is no difference, and proves nothing against a gradient of 2e200."""
    report = check_grads(f, x)
    assert report.verdict == "precision" and "the function itself is not finite here" in str(report)


def test_results_that_are_finite_are_judged_beside_those_that_are_not():
    def f(x):
        return [x * x, Value(np.array([-np.inf]), requires_grad=False)]

    assert check_grads(f, V).ok


@pytest.mark.parametrize("constant", [1e12, 1e15, 1e17])
def test_what_a_large_constant_hides_is_not_called_right(constant):
    assert not check_formula(lambda x: squares(x) + constant, lambda x: 200 * x, V).ok
    report = check_formula(lambda x: abs(squares(x) + constant), lambda x: 200 * x, V)  # abs takes no complex step
    assert not report.ok and "that is right" not in str(report)


def test_a_small_input_is_not_lost_beside_a_large_one():
    report = check_formula(lambda x, y: 1e6 * x + 1e-9 * y * y, lambda x, y: (1e6, 2e-7 * y), 1.0, 1.0)
    assert [e.verdict for e in report.entries] == ["pass", "wrong"]


@pytest.mark.parametrize("dtype, scale", [(np.float16, 200.0), (np.float32, 2e6), (np.float64, 1e15)])
def test_a_large_gradient_of_one_input_excuses_no_other(dtype, scale):
    def f(x, y):
        return scale * x + y * y

    assert check_grads(f, dtype(1), dtype(1)).verdict in ("pass", "precision")
    for factor in (0.0, 0.25, -1.0):
        assert not check_formula(f, lambda x, y, k=factor: (scale, 2 * k * y), dtype(1), dtype(1)).ok
    assert check_grads(lambda x, y: 1e6 * y + 5 * abs(x) + x, 0.0, 1.0).verdict == "kink"


@pytest.mark.parametrize("offset", [1e8, 1e10, 1e12, 1e15])
def test_a_zero_is_not_right_because_a_constant_hides_what_it_should_be(offset):
    report = check_formula(lambda x: squares(x) + offset, lambda x: 0 * x, V)
    assert not report.ok and "that is right" not in str(report)
    assert not check_formula(lambda x: squares(x) + offset, lambda x: 2 * x * 1.008, V).ok


def test_a_lost_path_beside_a_large_loss_is_not_called_zero():
    def f(x, w):
        return (x * x).sum() * 1e3 + 0.01 * (w.detach() ** 2).sum()

    for dtype in (np.float32, np.float64):
        assert check_grads(f, V.astype(dtype), V.astype(dtype)).verdict == "wrong"


# --- functions that turn quickly ----------------------------------------------------------------------------


@pytest.mark.parametrize("k", [500.0, 5e3, 5e4])
def test_a_function_that_turns_quickly(k):
    def f(x):
        return (x * x + ag.sin(k * x) / k).sum()

    assert check_grads(f, V).ok
    assert check_formula(f, lambda x: 2 * x, V).verdict == "wrong"


@pytest.mark.parametrize("x", [12345.6, 1e8, 1e10])
def test_a_sine_far_from_zero(x, own_op):
    assert check_grads(ag.sin, np.array([x])).ok
    assert check_grads(own_op(lambda g, out, x: (g * np.cos(x) * 1.1,)), np.array([x])).verdict == "wrong"


def test_rounding_in_steps_is_noise_still():
    def f(x):
        return (abs(x + 1e10) - 1e10).sum()  # abs takes no complex step

    assert check_grads(f, V).ok
    assert check_formula(f, lambda x: 1.01 * np.ones(3), V).verdict == "wrong"


# --- coarse dtypes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("logit", range(9, 20))
def test_saturation_in_float32_is_not_called_wrong(logit):
    x = np.array([logit, 0, -5], np.float32)
    for f in (ag.softmax, ag.sigmoid, ag.tanh, lambda x: ag.tanh(x).sum()):
        report = check_grads(f, x)
        assert report.verdict in ("pass", "precision"), report
        assert report.by == "replay"


@pytest.mark.parametrize("f", [ag.var, ag.std, lambda x: ag.layer_norm(x, 1.0, 0.0), lambda x: ((x - 300) ** 2).sum()])
def test_cancellation_in_float32_is_not_called_wrong(f):
    for seed in range(8):
        x = np.random.default_rng(seed).normal(300, 1, 6).astype(np.float32)
        assert check_grads(f, x).verdict in ("pass", "precision")


def test_a_rule_that_is_wrong_by_little_is_wrong_in_float32_too(own_op):
    wrong = own_op(lambda g, out, x: (g * (1.001 - out * out),), forward=np.tanh)
    assert check_grads(wrong, np.array([0.3, 1.0, 9.0], np.float32)).verdict == "wrong"


@pytest.mark.parametrize("seed", range(4))
def test_float32_beside_float64_steps(seed):
    """An op that computes in the dtype of one input must not round away the step of another."""
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(30, 8)).astype(np.float32), rng.normal(size=(8, 8)).astype(np.float32)
    gamma, beta = np.ones(8, np.float32), np.zeros(8, np.float32)
    assert check_grads(lambda w, g, b: (ag.layer_norm(x @ w, g, b) * x).sum(), w, gamma, beta).ok


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_calls_are_made_in_float64_where_the_function_can(offset):
    def leaky(x):
        return ag.where(x.data > 0, x, 0.1 * x).sum() + offset

    for seed in range(10):
        x = np.random.default_rng(seed).normal(size=6).astype(np.float32) * np.float32(0.01)
        assert check_grads(leaky, x).verdict in ("pass", "precision")
    weights = np.arange(3, dtype=np.float32)
    report = check_grads(lambda x: (x[np.argsort(x.data)] * weights).sum(), np.zeros(3, np.float32))
    assert report.by == "calls" and not report.ok


# --- kinks --------------------------------------------------------------------------------------------------

HUBER = {"huber": lambda x: ag.where(abs(x) < 1, 0.5 * x * x, abs(x) - 0.5).sum()}
SMOOTH = {"x|x|": lambda x: (x * abs(x)).sum(), "relu²": lambda x: (ag.relu(x) ** 2).sum()}


@pytest.mark.parametrize("name, centre", [("huber", 1.0), ("x|x|", 0.0), ("relu²", 0.0)])
@pytest.mark.parametrize("distance", [1e-10, 1e-9, 1e-8, 1e-7, -1e-8])
def test_a_bend_close_by_is_no_kink(name, centre, distance):
    f = (HUBER | SMOOTH)[name]
    assert check_grads(f, np.array([centre + distance])).ok
    assert check_grads(f, np.array([centre + distance, 0.7])).ok


@pytest.mark.parametrize("scale", [1e-9, 1e-20, 1e-100])
def test_tiny_inputs_have_no_kinks(scale):
    for f in (squares, lambda x: ag.layer_norm(x, 1.0, 0.0), lambda x: (1 / x).sum() * scale):
        assert check_grads(f, V * scale).verdict in ("pass", "precision")


def test_a_jump_is_said_to_be_upright():
    report = check_grads(lambda x: (x > 0) * 1.0 + x, 0.0)
    assert report.verdict == "kink"
    assert "the slope is 1 to the left and inf to the right" in str(report)


def test_a_jump_leaves_the_slopes_of_other_entries_alone():
    report = check_grads(lambda x: (x[0] > 0) * 1.0 + abs(x[1]) + x[2] ** 1.5, np.zeros(3))
    assert "x[0] is at a kink: the slope is 0 to the left and inf to the right" in str(report)
    assert (report.entries[1].left, report.entries[1].right) == pytest.approx((-1.0, 1.0))
    assert report.entries[2].verdict == "precision" and abs(report.entries[2].right) < 1.0


def test_kinks_of_many_entries_at_once():
    report = check_grads(lambda x: ag.relu(x), np.concatenate([np.zeros(5), V]))
    assert [e.verdict for e in report.entries] == ["kink"] * 5 + ["pass"] * 3


# --- whether the recorded graph speaks for the function -----------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e10])
def test_a_detached_path_shows_however_large_the_loss(offset):
    def f(x, w):
        return (x.detach() * x).sum() + ((w - offset) ** 2).sum()

    report = check_grads(f, V, V)
    assert report.by == "calls" and not report.ok


def test_a_plain_result_that_moves_has_left_the_graph():
    report = check_grads(lambda x: [x * x, x.data ** 2], 3.0)
    assert report.by == "calls" and report.verdict == "wrong"


def test_what_a_function_closes_over_may_not_change_between_calls():
    counter = np.zeros(3)

    def f(x):
        counter[:] += 1
        return x * counter

    assert check_grads(f, V).verdict == "nondeterministic"


def test_a_forward_function_that_draws_is_nondeterministic(own_op):
    rng = np.random.default_rng(0)
    noisy = own_op(lambda g, out, x: (g,), forward=lambda x: x + 1e-9 * rng.normal(size=np.shape(x)))
    assert check_grads(noisy, V).verdict == "nondeterministic"


def test_a_value_made_before_the_call_does_not_move_with_its_leaf():
    leaf = Value(V)
    before = leaf * 2
    assert check_grads(lambda p: (p * before).sum(), leaf).verdict == "wrong"


def test_a_result_that_was_edited_in_place_is_not_what_was_recorded():
    def f(x):
        h = x * 2
        h.data[h.data > 1.5] = 0
        return h.sum()

    report = check_grads(f, V)
    assert report.by == "calls" and report.verdict == "wrong"


def test_an_op_that_reads_what_it_is_not_given(own_op):
    q = Value(V)
    sly = own_op(lambda g, out, x: (g * q.data,), forward=lambda x: x * q.data)
    assert check_grads(lambda x, _: sly(x), V, q).verdict == "wrong"


def test_hooks_of_leaves_belong_to_the_gradient():
    leaf = Value(V)
    leaf.hook(lambda g: 2 * g)
    assert check_grads(squares, leaf).verdict == "wrong"


@pytest.mark.parametrize("seed", range(6))
def test_a_tie_is_seen_with_every_seed(seed):
    assert check_grads(lambda x: x[int(np.argmax(x.data))] * 1.0, np.array([1.0, 1.0]), seed=seed).verdict == "kink"


def test_results_that_are_no_real_numbers_do_not_matter():
    report = check_grads(lambda x: (x * x, "text", 3, x.data > 1, np.arange(2)), V)
    assert report.ok and report.by == "replay"


def test_a_function_that_differs_on_its_first_call_is_nondeterministic():
    calls = []

    def f(x):
        calls.append(1)
        return x * (1.0 if len(calls) == 1 else 2.0)

    assert check_grads(f, V).verdict == "nondeterministic"


@pytest.mark.parametrize(
    "f", [lambda q: q + np.array([0.0, -np.inf, 0.0]), lambda q: ag.log_softmax(q + np.array([0.0, -np.inf, 0.0]))]
)
def test_results_that_are_infinite_are_left_out(f):
    report = check_grads(f, V)
    assert report.ok and "results that are not finite were left out" in report.notes


def test_an_index_that_was_computed_is_part_of_the_graph():
    def f(x):
        return x[np.argsort(x.data)[::-1][:2]].sum()

    assert check_grads(f, V).by == "replay"
    assert check_grads(f, np.array([1.0, 1.0, 1.0])).by == "calls"  # a tie: the order changes with every step


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constants_and_settings_that_stay_keep_the_replay(dtype):
    weight = np.arange(3.0, dtype=dtype)

    def f(x):
        return (x[:, None] * np.eye(3, dtype=dtype) + weight)[1:, ::2].sum(axis=0)

    assert check_grads(f, V.astype(dtype)).by == "replay"


# --- functions that edit, raise or end ----------------------------------------------------------------------


def edits_data(x):
    x.data[0] = 1.0
    return x * 2


def steps(x):
    x.data -= 0.1
    return x * 2


def assigns(x):
    x.data = x.data - 0.1
    return x * 2


@pytest.mark.parametrize("f", [edits_data, steps, assigns])
def test_a_function_that_edits_its_input_is_told_so(f):
    leaf = Value(V)
    data, before = leaf.data, V.copy()
    for given in (leaf, V):
        with pytest.raises(DataError, match=f"{f.__name__} edits .* in place"):
            check_grads(f, given)
    assert leaf.data is data and data.flags.writeable
    np.testing.assert_array_equal(data, before)
    np.testing.assert_array_equal(V, before)


def test_ops_and_rules_that_edit_their_input_edit_a_copy(own_op):
    """So they are judged by what they give: the second op is right too, and the third is wrong for its rule alone."""
    forward = own_op(lambda g, out, x: (2 * g,), forward=lambda x: np.multiply(x, 2, out=x))
    rule = own_op(lambda g, out, x: (g * np.cos(np.multiply(x, 1, out=x)),))
    wrong = own_op(lambda g, out, x: (g * np.cos(np.multiply(x, 2, out=x)),))
    for op, said in ((forward, "pass"), (rule, "pass"), (wrong, "wrong")):
        leaf = Value(V)
        assert check_grads(op, leaf).verdict == said
        assert leaf.data.flags.writeable
        np.testing.assert_array_equal(leaf.data, V)


def test_inputs_are_open_again_after_every_kind_of_end():
    leaf = Value(V)
    check_grads(squares, leaf, order=2)
    check_formula(squares, lambda x: 2 * x, leaf)
    with pytest.raises(ZeroDivisionError):
        check_grads(lambda x: 1 / 0, leaf)
    leaf.data -= 0.0


@pytest.mark.parametrize("kind", [ValueError, AssertionError, IndexError, RuntimeError])
def test_what_a_function_raises_near_by_is_named(kind):
    def f(x):
        if x.data > 1:
            raise kind("above one")
        return x * x

    report = check_grads(f, 1.0)
    assert report.verdict == "precision"
    assert f"the function raises {kind.__name__}: above one" in str(report)


# --- names and settings -------------------------------------------------------------------------------------


def test_inputs_are_called_what_the_function_calls_them():
    class Model:
        def loss(self, x, y):
            return x.detach() * y

    assert check_grads(Model().loss, 2.0, 3.0).failures[0].input == "x"
    nested = check_grads(lambda p, q: p["w"][1] * q, {"b": 1.0, "w": [2.0, 3.0]}, 4.0)
    assert [part.name for part in nested.parts] == ["p['b']", "p['w'][0]", "p['w'][1]", "q"]


def test_a_callable_may_have_names_of_another_kind():
    class Model:
        names = {"x": 1}

        def __call__(self, x):
            return x * x

    assert [part.name for part in check_grads(Model(), 2.0).parts] == ["input 0"]


def test_arrays_of_whole_numbers_are_held_and_that_is_said():
    report = check_grads(lambda ids, w: w[ids].sum(), np.array([0, 2]), V)
    assert report.ok and "ids holds integers; it stays fixed" in str(report)


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"seed": None}, "seed is"),
        ({"seed": -1}, "seed is"),
        ({"seed": 0.5}, "seed is"),
        ({"step": "a"}, "step is"),
        ({"step": np.inf}, "step is"),
        ({"step": True}, "step is"),
        ({"step": -1.0}, "step is"),
        ({"order": True}, "order is"),
        ({"order": 3}, "order is"),
        ({"mode": "x"}, "mode is"),
    ],
)
def test_settings_that_are_none_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        check_grads(squares, V, **settings)


def test_reports_can_be_compared():
    report = check_grads(squares, V)
    assert report == report and report != check_grads(squares, V)


# --- zeros --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x - x).sum(),
        lambda x: ag.layer_norm(x, 1.0, 0.0).sum(),
        lambda x: ag.softmax(x).sum(),
        lambda x: squares(x) * 0.0,
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zeros_that_are_right_are_remarked_and_have_no_gap(f, dtype):
    for seed in range(10):
        report = check_grads(f, np.random.default_rng(seed).normal(size=(3, 4)).astype(dtype))
        assert report.ok, report
        assert "the gradient of x is zero everywhere, and that is right" in str(report)
        assert report.worst == 0.0


# --- large inputs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [0.1, 0.01, 0.001])
def test_one_wrong_entry_of_many_is_found(error):
    x = np.random.default_rng(3).normal(size=20_000)
    x[7] = 1.0
    factor = np.where(np.arange(x.size) == 7, 1 + error, 1.0)
    report = check_formula(squares, lambda x: 2 * x * factor, x)
    assert [e.index for e in report.failures] == [(7,)]


@pytest.mark.slow
@pytest.mark.parametrize("offset", [1e5, 1e7])
def test_one_wrong_entry_of_many_in_noise(offset):
    """Differences of (x + offset) - offset are rounded: a direction that fails must not lead to noise."""
    x = np.random.default_rng(0).normal(size=20_000)

    def f(x):
        return (((x + offset) - offset) ** 2).sum()

    assert check_grads(f, x).ok
    assert [e.index for e in check_formula(f, lambda x: 2 * x + (np.arange(x.size) == 777), x).failures] == [(777,)]


def test_a_thousand_wrong_entries_are_enough_to_know(monkeypatch):
    monkeypatch.setattr(verdict, "ENOUGH", 10)
    x = np.random.default_rng(0).normal(size=50)
    report = check_formula(squares, lambda x: 4 * x, x)
    assert {e.verdict for e in report.entries} == {"wrong"}
    assert "40 more entries were not looked at closely" in report.notes
    assert "twice too large" in str(report)
    kinks = check_grads(ag.relu, np.zeros(50))
    assert [e.verdict for e in kinks.entries] == ["kink"] * 50


def test_directions_say_how_large_an_error_must_be():
    x = np.full(20_000, 1e3)
    report = check_grads(squares, x)
    (note,) = (note for note in report.notes if "random lines" in note)
    seen = float(note.partition("an error of ")[2].partition(" ")[0])
    assert 1e-5 < seen < 100


def test_ops_that_come_and_go_are_not_kept():
    op = custom_op("passing", forward=np.sin, vjp=lambda g, out, x: (2 * g * np.cos(x),))
    assert check_grads(op, V).verdict == "wrong"
    gone = weakref.ref(op)
    del OPS["passing"], op
    gc.collect()
    assert gone() is None


def test_the_weights_of_large_results_are_not_kept():
    assert cotangents(0, ((8,),)) is cotangents(0, ((8,),))
    assert cotangents(0, ((10_000,),)) is not cotangents(0, ((10_000,),))
