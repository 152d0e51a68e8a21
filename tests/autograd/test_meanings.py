"""Small programs whose answer is not a matter of taste: NumPy's, or a derivative known by heart."""

import numpy as np
import pytest

import autograd as ag
from autograd import OPS, Value, custom_op, grad, jvp, vjp
from autograd.errors import DataError, ShapeError
from autograd.modes import USUAL, modes, modes_in_use, scope
from autograd.op import Op, nothing
from autograd.ops.fused import norm as norms

M = np.array([[1.0, 2.0], [3.0, 4.0]])


def test_dot_is_numpys():
    a, b = Value(M), Value(M + 4.0)
    np.testing.assert_array_equal(a.dot(b).data, M.dot(M + 4.0))
    np.testing.assert_array_equal(np.dot(a, b).data, M.dot(M + 4.0))


def test_a_copy_has_an_array_of_its_own():
    p = Value(M)
    c = np.copy(p)
    p.data -= 1.0
    np.testing.assert_array_equal(c.data, M)


def test_dicts_are_paired_by_key():
    _, pull = vjp(lambda x: {"a": x, "b": 10 * x}, 1.0)
    assert pull({"b": 1.0, "a": 0.0}) == (10.0,)
    inputs, tangents = {"a": 1.0, "b": 1.0}, {"b": 1.0, "a": 0.0}
    assert jvp(lambda p: 2 * p["a"] + 10 * p["b"], (inputs,), (tangents,))[1] == 10.0
    with pytest.raises(ShapeError, match=r"keys \['a', 'b'\]"):
        pull({"a": 1.0})
    with pytest.raises(ShapeError, match="needs a tuple of 2 parts"):
        vjp(lambda x: (x, x), 1.0)[1]((1.0, 2.0, 3.0))


@pytest.mark.parametrize("wrt", [(0, 0), (0, -1)])
def test_an_argument_is_named_once(wrt):
    with pytest.raises(TypeError, match="twice"):
        grad(lambda x: x * x, wrt=wrt)(3.0)


@pytest.mark.parametrize("f", [
    lambda x, s: x.leaky_relu(s), lambda x, s: ag.nan_to_num(x, nan=s),
    lambda x, s: ag.layer_norm(x, eps=s), lambda x, s: ag.rms_norm(x, eps=s),
    lambda x, s: ag.pad(x, 1, constant_values=s),
])  # fmt: skip
def test_a_setting_takes_no_value_whose_gradient_would_be_lost(f):
    with pytest.raises(DataError, match="one plain number, to which no gradient flows"):
        f(Value([-1.0, 2.0]), Value(0.1))


def test_an_ignored_target_is_not_looked_at():
    logits = np.array([[-np.inf, 1.0, 2.0], [-np.inf, 0.0, 1.0]])
    v = Value(logits)
    loss = ag.cross_entropy(v, [0, 2], ignore_index=0)
    loss.backward()
    assert loss.data == pytest.approx(np.log(1 + np.exp(-1.0)))
    assert np.isfinite(v.grad).all() and not v.grad[0].any()
    with pytest.raises(ValueError, match=r"between 0 and 1; got 5\.0"):
        ag.cross_entropy(v, [0, 2], label_smoothing=5.0)


def test_norms_and_variances_are_numpys():
    assert np.linalg.norm(Value(M), 2).data == pytest.approx(np.linalg.norm(M, 2))
    assert np.linalg.norm(Value(M[0]), 2).data == np.linalg.norm(M[0], 2)
    assert np.var(Value(M), ddof=1.5).data == pytest.approx(np.var(M, ddof=1.5))


@pytest.mark.parametrize("shape, heads, kv_heads", [((2, 3, 3), 1, 1), ((2, 3, 3), 4, 2)])
def test_a_mask_of_self_attention_fits_all_its_axes(shape, heads, kv_heads):
    width = 2 * (heads + 2 * kv_heads)
    with pytest.raises(ShapeError, match=r"does not broadcast to .* mask\[:, None\]"):
        ag.self_attention(np.ones((2, 3, width)), np.ones(shape, bool), heads=heads, kv_heads=kv_heads)


def test_a_softmax_of_many_in_float16():
    assert float(np.sum(ag.softmax(np.full((1, 4096), 5.0, np.float16)), dtype=float)) == pytest.approx(1.0, rel=1e-2)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_ids_of_one_byte(dtype):
    table = Value(np.ones((200, 2)))
    ids = np.arange(100, dtype=dtype)
    table[ids].sum().backward()
    np.testing.assert_array_equal(table.grad[:, 0], [1.0] * 100 + [0.0] * 100)


def test_one_rule_in_a_tuple():
    square = Op("square_", forward=lambda x: x * x, vjp=(lambda g, out, x: 2 * g * x,), register=False)
    v = Value(3.0)
    square(v).backward()
    assert v.grad == 6.0 == grad(square)(3.0)


def test_a_nodes_op_can_be_applied_again():
    x = Value(M)
    y = x.softmax(axis=0)
    np.testing.assert_array_equal(y.op(*y.inputs).data, y.data)
    np.testing.assert_array_equal(y.op(x, axis=1).data, x.softmax(axis=1).data)


def test_a_rule_may_say_zero():
    flat = custom_op("flat_step", forward=lambda x: float(x > 0), vjp=lambda g, out, x: (0,))
    assert grad(grad(flat))(2.0) == 0.0


def test_a_rule_that_replaces_nothing_counts(monkeypatch):
    monkeypatch.setattr(OPS["sign"], "vjp", lambda g, out, x: (g,))
    v = Value(-2.0)
    v.sign().backward()
    assert v.grad == 1.0
    monkeypatch.setattr(OPS["less"], "vjp", lambda g, out, x, y: (g, None))
    assert (v < 0.0).requires_grad
    monkeypatch.setattr(OPS["less"], "vjp", nothing)
    assert not (v < 0.0).requires_grad


def test_a_scope_belongs_where_it_is_entered():
    inner = scope("a")
    with scope("b"):
        with inner:
            x = Value(1.0) * 2
            with scope("a"):
                deep = x * 2
            with pytest.raises(RuntimeError, match="open already; make a new one"), inner:
                pass
        y = x * 2
    with inner:
        again = y * 2
    paths = [v.scope.path for v in (x, deep, y, again)]
    assert paths == ["b.a", "b.a.a", "b", "a"] and modes.now is USUAL and not modes_in_use


def test_nothing_is_kept_for_a_rule_that_cannot_come():
    before = len(norms._rows._kept)
    with ag.no_grad():
        out = ag.layer_norm(Value(M), np.ones(2), np.zeros(2))
    assert len(norms._rows._kept) == before and out.shape == (2, 2)


def test_lines_are_the_users_own_also_in_layers():
    import nn

    with ag.record_lines():
        out = nn.Linear(2, 1, rng=0)(M)
    assert out.line.startswith("test_meanings.py:")


def test_a_hook_removed_is_one_of_two():
    v, seen = Value(2.0), []
    y = v * 3.0
    remove = y.hook(seen.append)
    y.hook(seen.append)
    remove()
    y.backward()
    assert seen == [1.0]
