"""Functions that no program can stand for, or only with care: each is refused by name, or gives what the engine gives.

Every function is compiled once and called with several inputs. In between, what lies outside of it changes.
"""

import copy
import functools
import heapq
import itertools
import math
import random
import statistics
import time
from types import SimpleNamespace

import numpy as np
import pytest

import autograd as ag
import nn
from autograd import Value, compile, value_and_grad, where
from autograd.errors import TraceError
from tests.sweep import sweep

RNG = np.random.default_rng(0)
ARRAYS = [(RNG.normal(size=4),) for _ in range(3)] + [(np.array([50.0, -3e5, 2.0, -1.0]),), (-np.ones(4),)]
NUMBERS = [(0.7,), (2.5,), (-0.3,), (-3e5,), (0.0,)]
POSITIVE = [(0.7,), (2.5,), (9.0,), (100.0,)]
LISTS = [([1.0, 2.0, 3.0],), ([3.0, 1.0, 2.0],), ([-4e5, 2.0, 1.0],)]
WITH_IDS = [(RNG.normal(size=3), np.array(ids)) for ids in ([1, 2, 0], [0, 0, 1], [2, 1, 1])]

REFUSED = {}  # name → (function, inputs)
RIGHT = {}


def refused(inputs):
    return lambda f: REFUSED.setdefault(f.__name__, (f, inputs))[0]


def right(inputs):
    return lambda f: RIGHT.setdefault(f.__name__, (f, inputs))[0]


# --- decisions --------------------------------------------------------------------------------------------------------


@right(NUMBERS)
def a_branch_in_a_try(x):
    try:
        return x * 2.0 if x > 0 else x * 3.0
    except Exception:
        return x * 5.0


@refused(NUMBERS)
def a_float_in_a_try(x):
    try:
        scale = float(x)
    except TypeError:
        scale = 1.0
    return x * scale


@right(POSITIVE)
def a_loop_to_convergence(x):
    y = 1.0 + 0.0 * x
    while abs(y.data * y.data - x.data) > 1e-6:
        y = 0.5 * (y + x / y)
    return y


@right(POSITIVE)
def recursion_by_a_number(x):
    return x if x.data > 1 else recursion_by_a_number(x * 2.0 + 1.0)


@right(ARRAYS)
def a_branch_on_any(x):
    return (x * 2.0).sum() if np.any(x.data > 1e4) else x.sum()


@right(ARRAYS)
def a_branch_on_an_entry(x):
    return (x * 2.0).sum() if x.data[1] < -1e4 else x.sum()


@right(ARRAYS)
def a_branch_on_a_list(x):
    return (x * 2.0).sum() if x.tolist()[0] > 0.2 else x.sum()


@right(ARRAYS)
def a_branch_on_nan(x):
    return (x * 2.0).sum() if np.isnan(x.data).any() else x.sum()


@right(ARRAYS)
def membership(x):
    return x.sum() * (2.0 if -3e5 in x.data else 1.0)


@right(ARRAYS)
def the_place_of_the_largest(x):
    return x[int(np.argmax(x.data))] * 2.0


@refused(ARRAYS)
def a_mask(x):
    return x[x.data > 0].sum()


@right(LISTS)
def the_key_of_max(xs):
    return max(xs, key=lambda v: v.data) * 2.0


@right(LISTS)
def the_second_largest(xs):
    return xs[0] * sorted(x.data for x in xs)[-2]


@right(LISTS)
def a_heap(xs):
    return xs[0] * heapq.nlargest(2, [x.data for x in xs])[1]


@right(WITH_IDS)
def a_branch_by_an_id(x, n):
    return x.sum() * 2.0 if n[0] > 0 else x.sum()


@refused(WITH_IDS)
def how_many_ids_differ(x, n):
    return x.sum() * len(set(n.tolist()))


# --- numbers that go back ---------------------------------------------------------------------------------------------


@right(ARRAYS)
def a_sign_far_away(x):
    return (x * np.sign(x.data + 1e5)).sum()


@right(NUMBERS)
def a_sign_far_away_of_a_number(x):
    return x * np.sign(x.data + 1e5)


@right(ARRAYS)
def a_bin(x):
    return (np.digitize(x.data, [-1e5, 1e5]) * x).sum()


@right(ARRAYS)
def a_copy(x):
    return (x * np.sign(x.numpy() + 1e5)).sum()


@right(ARRAYS)
def a_norm(x):
    return (x / np.linalg.norm(x.data)).sum()


@right(ARRAYS)
def a_new_leaf(x):
    y = Value(np.sign(x.data + 1e5))
    return (x * y).sum()


@right(LISTS)
def a_median(xs):
    return xs[0] * statistics.median(x.data for x in xs)


@refused(LISTS)
def a_function_of_c(xs):
    return xs[0] * math.exp(xs[1].data)


# --- edits, states, chance --------------------------------------------------------------------------------------------


@refused(ARRAYS)
def an_edit_of_the_input(x):
    x.data[0] = 5.0
    return (x * x).sum()


@refused(ARRAYS)
def an_edit_by_an_operator(x):
    x.data += 1.0
    return (x * x).sum()


@refused(ARRAYS)
def an_edit_of_a_result(x):
    y = x * 2.0
    y.data[:] = 0.0
    return (x * y).sum()


@refused(ARRAYS)
def a_default_that_grows(x, seen=[]):  # noqa: B006
    seen.append(0)
    return (x * len(seen)).sum()


@refused(ARRAYS)
def a_default_that_is_written_to(x, kept={}):  # noqa: B006
    kept["last"] = x.data
    return (x * x).sum()


@refused(ARRAYS)
def a_default_list_that_is_written_to(x, kept=[]):  # noqa: B006
    kept[:] = [x.data.max()]
    return (x * x).sum()


@refused(ARRAYS)
def an_attribute_of_the_function_itself(x):
    an_attribute_of_the_function_itself.last = x.data
    return (x * x).sum()


class Keeper:
    def method(self, x):
        self.last = x.data.max()
        return (x * x).sum()


REFUSED["a_new_attribute_of_an_object"] = Keeper().method, ARRAYS


@refused(ARRAYS)
def a_counter(x, counter=itertools.count(1)):  # noqa: B008
    return (x * next(counter)).sum()


@refused(ARRAYS)
def chance(x):
    return (x * random.random()).sum()


@refused(ARRAYS)
def the_clock(x):
    return (x * time.perf_counter()).sum()


# --- what is right ----------------------------------------------------------------------------------------------------

config = SimpleNamespace(rate=1.0, table=np.ones(4), inner=SimpleNamespace(power=1))
replaced = SimpleNamespace(scale=1.0)
numbers, options, chosen = [1.0], {"scale": 1.0}, {1.0}
array, node = np.ones(4), Value(np.ones(4))
table, edited = np.ones(4), np.ones(4)
log = []


class Settings:
    scale = 1.0


def change_all():
    """What the functions below read, changed in place and replaced."""
    global array, node, replaced
    replaced.scale += 1.0
    if len(chosen) % 3 == 0:
        replaced = SimpleNamespace(scale=replaced.scale * 2.0)
    config.rate += 1.0
    config.table = config.table + 1.0
    config.inner.power = 3 - config.inner.power
    numbers[0] += 1.0
    options["scale"] += 1.0
    chosen.add(len(chosen) + 1.0)
    Settings.scale += 1.0
    array, node = array + 1.0, Value(node.data + 1.0)
    table[0] += 1.0
    edited[1] += 1.0
    log.append("not the function's")


@right(ARRAYS)
def under_no_grad(x):
    with ag.no_grad():
        scale = (x * x).sum().data
    return x.sum() * scale


@right(ARRAYS)
def a_mask_under_no_grad(x):
    with ag.no_grad():
        mask = x > 0
    return (x * mask).sum()


@right(ARRAYS)
def an_order_under_no_grad(x):
    with ag.no_grad():
        first = x.argmax()
        order = np.argsort(x)
    return (x * order).sum() * first


@right(NUMBERS)
def a_derivative_at_a_point_without_a_gradient(x):
    def cube(z):
        return z * z * z

    there = ag.grad(cube)(np.floor(x)) + ag.grad(cube)(x.detach()) + ag.hessian(cube)(np.floor(x))
    return x * (there + ag.jvp(cube, (np.floor(x),), (1.0,))[1])


@right(NUMBERS)
def the_larger_of_a_float32_and_a_result(x):
    return np.fmax(np.float32(0.5), ag.exp(x)) * np.fmin(np.float32(0.5), ag.exp(x))


@right(ARRAYS)
def attributes(x):
    return (x * config.rate * config.table).sum() ** config.inner.power


@right(ARRAYS)
def an_attribute_of_a_class(x):
    return (x * Settings.scale).sum()


@right(ARRAYS)
def an_attribute_of_an_object_that_is_replaced(x):
    return (x * replaced.scale).sum()


@right(ARRAYS)
def entries(x):
    return (x * numbers[0] * options.get("scale") * len(chosen)).sum()


@right(ARRAYS)
def globals_that_are_replaced(x):
    return (x * array * node).sum()


@right(ARRAYS)
def arrays_that_are_edited(x):
    return (x * edited).sum() + (x[:2] * table[:2] * table.sum() * table[0]).sum()


@right(ARRAYS)
def a_helper_that_reads(x):
    return attributes(x) + entries(x)


@right(ARRAYS)
def a_shape(x):
    return (x * np.ones_like(x.data)).sum() / x.data.shape[0]


@right(ARRAYS)
def a_look(x):
    log.append(f"{x.data} {x.data.sum():.2f}")
    return (x * x).sum()


@right(ARRAYS)
def a_generator(x):
    return sum(a * a for a in x)


@right(NUMBERS)
def kinds(x):
    return x * 2.0 if isinstance(x, float) else x * 3.0


@right(LISTS)
def a_list_that_is_emptied(xs):
    return xs.pop() * xs.pop() + xs[0]


@right(LISTS)
def the_largest(xs):
    return xs[0] * max(x.data for x in xs)


@right(WITH_IDS)
def entries_by_ids(x, n):
    return sum(x[k] for k in n)


@functools.lru_cache
def cached(n):
    return n * 2.0


@right(ARRAYS)
def a_cache(x):
    return where(x > 0, x * cached(3), 0.0).sum()


def flat(x):
    if isinstance(x, (list, tuple)):
        return [number for part in x for number in flat(part)]
    return [] if x is None else np.ravel(x.data if isinstance(x, Value) else x).tolist()


@sweep("name", list(REFUSED))
def test_refused_by_name_and_the_inputs_are_left_alone(name):
    f, inputs = REFUSED[name]
    given = copy.deepcopy(inputs[0])
    with pytest.raises(TraceError, match=r"does not do the same at each call|^\w+\.py:\d+: |lies outside of it"):
        compile(f)(*given)
    assert flat(given) == flat(inputs[0])


@sweep("name", list(RIGHT))
def test_right_at_all_inputs_whatever_changes_outside(name):
    f, inputs = RIGHT[name]
    g = compile(f)
    for args in [*inputs, *inputs]:
        real = tuple(n for n, x in enumerate(args) if np.asarray(x).dtype.kind == "f")
        value, grads = g(*copy.deepcopy(args))
        want, others = value_and_grad(f, real)(*copy.deepcopy(args))
        np.testing.assert_allclose(flat([value, grads]), flat([want, others]), rtol=1e-9)
        change_all()


def test_what_was_looked_at_may_be_kept():
    """After the trace it is a number, or an array, as any other, and there once, as after an ordinary call."""
    kept = []
    g = compile(lambda x, y: (kept.append(x.data), kept.append(y.numpy()), (x * y).sum())[2])
    g(2.0, np.array([1.0, 3.0]))
    assert len(kept) == 2 and kept[0] == 2.0 and kept[1].tolist() == [1.0, 3.0]
    assert "added to while tracing" in g.notes[-1]


def test_logs_are_not_watched():
    """A list that a function only puts something into does not make it be traced again."""
    g = compile(a_look)
    g(*ARRAYS[0])
    log.append("somebody else's")
    count = len(log)
    g(*ARRAYS[1])
    assert len(log) == count


def test_an_array_that_is_edited_at_each_step_is_read_and_not_traced_anew():
    weights, calls = np.ones(4), []
    g = compile(lambda x: (calls.append(1), (x * weights).sum())[1])
    g(np.ones(4))
    count = len(calls)
    weights[0] = 5.0
    assert g(np.ones(4))[0] == 8.0 and len(calls) == count


def test_long_lists_are_constants_and_listed():
    table = [1.0] * 3000
    g = compile(lambda x: x * table[0])
    assert g(2.0)[0] == 2.0
    table[0] = 3.0
    assert g(2.0)[0] == 2.0 and any("3,000 entries" in line for line in g.constants)


def test_an_optimizer_outside_of_a_function_is_no_module():
    """It names its parameters as a module does, and has no parts."""
    layer = nn.Linear(2, 1, rng=0)
    optimizer = nn.optim.SGD(layer, lr=0.5)
    x = np.ones((1, 2))
    value, _ = compile(lambda x: (layer(x) ** 2).sum() * optimizer.rate)(x)
    assert value == pytest.approx(0.5 * float((layer(x) ** 2).sum()))
