"""Attention as a book explains it: three products, then head by head; what is packed for speed is unpacked."""

import numpy as np
import pytest

import nn
from autograd import Value, draw, step
from autograd.formula.unfolding import Unfolded
from autograd.graph import topological


def block(heads=2, **options):
    layer = nn.MultiHeadAttention(4, heads, rng=0, **options)
    loss = (layer(np.random.default_rng(0).normal(size=(3, 4))) ** 2).sum()
    loss.name = "L"
    return layer, loss


def names(steps, kind="forward"):
    return [one.name for one in steps if one.kind == kind]


def test_three_products_then_head_by_head():
    """It was `qkv = x · [4×12, norm 2.00] + …`, then 12 of 27 steps that only moved numbers."""
    found = names(step(block()[1]))
    assert found[:3] == ["Q", "K", "V"]
    for head in "12":
        own = [f"{name}_{head}" for name in ("Q", "K", "V", "scores", "scaled", "attn", "out")]
        assert [name for name in found if name in own] == own
    ops = [one.twin.op.name for one in step(block()[1]) if one.kind == "forward"]
    assert "reshape" not in ops and ops.count("concatenate") == 1


@pytest.mark.parametrize("options", [
    {}, {"causal": True}, {"heads": 4}, {"heads": 1}, {"heads": 4, "n_kv_heads": 2}, {"bias": False},
])  # fmt: skip
def test_numbers_and_gradients_are_those_of_the_engine(options):
    layer, loss = block(**options)
    steps = step(loss)
    assert steps.root.data == pytest.approx(loss.data, rel=1e-14)
    loss.backward()
    sent = {}
    for one in steps:
        for contribution in one.contributions:
            sent[contribution.parent.name] = contribution.total
    d = layer.out.weight.shape[0]
    ends = [0, d, d + (layer.qkv.weight.shape[1] - d) // 2, layer.qkv.weight.shape[1]]
    for name, start, end in zip("QKV", ends, ends[1:]):
        np.testing.assert_array_equal(sent[f"W_{name}"], layer.qkv.weight.grad[:, start:end])  # bit for bit
        if layer.qkv.bias is not None:
            np.testing.assert_array_equal(sent[f"b_{name}"], layer.qkv.bias.grad[start:end])


def test_a_mask_is_taken_head_by_head():
    layer = nn.MultiHeadAttention(4, 2, rng=0)
    x, mask = np.random.default_rng(0).normal(size=(2, 3, 4)), np.tri(3, dtype=bool)[None].repeat(2, 0)
    loss = (layer(x, mask=mask) ** 2).sum()
    assert step(loss).root.data == pytest.approx(loss.data, rel=1e-13)
    assert "masked_2" in names(step(loss))


def test_weights_that_are_used_elsewhere_too_stay_packed():
    """Else a change of W_Q would not reach the penalty."""
    layer, loss = block()
    loss = loss + (layer.qkv.weight**2).sum()
    unfolded = Unfolded(loss)
    assert not unfolded.parts and any(node is layer.qkv.weight for node in topological(unfolded.root))
    loss.backward()
    totals = {one.parent.name: one.total for each in step(loss) for one in each.contributions}
    assert all(name in totals for name in ("Q", "K", "V"))


def test_weights_whose_gradient_a_hook_changes_stay_packed():
    """The hook is written for the whole of it."""
    layer, loss = block()
    layer.qkv.weight.hook(lambda g: 2 * g)
    steps = step(loss)
    loss.backward()
    np.testing.assert_array_equal(steps.ledger(layer.qkv.weight).total, layer.qkv.weight.grad)
    assert "a hook makes it" in str(steps) and "scores_1" in str(steps)


def test_one_weight_used_twice_has_one_card():
    layer = nn.MultiHeadAttention(4, 2, rng=0)
    x = np.random.default_rng(0).normal(size=(3, 4))
    steps = step((layer(layer(x)) ** 2).sum())
    leaves = [node for node in steps.walk.nodes if node.op is None and (node.name or "").endswith("W_Q")]
    assert len(leaves) == 1


def test_drawings_and_optimizers_know_the_parts():
    layer, loss = block()
    svg = draw(loss, fit=None).svg
    assert "scores_1" in svg and "W_Q" in svg
    adam = nn.optim.Adam(layer, lr=0.1)
    steps = step(loss, optimizer=adam)
    from autograd.stepping.update import Updates

    moved = {one.name for one in Updates(steps).all}
    assert {"W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V"} <= moved


def test_set_writes_the_columns_of_the_packed_weight(browser, tmp_path):
    class Model(nn.Module):
        def __init__(self):
            self.attn = nn.MultiHeadAttention(4, 2, rng=0)

        def forward(self, x):
            return (self.attn(x) ** 2).sum()

    x, model = np.random.default_rng(0).normal(size=(3, 4)), Model()
    loss = model(x)
    step(loss).save(tmp_path / "attn.html")
    browser.open((tmp_path / "attn.html").as_uri())
    browser.wait("!!window.handgrad")
    known = browser.js("handgrad.names()")
    assert {"attn.W_Q", "attn.W_K", "attn.W_V", "attn.Q", "attn.scores_1", "attn.attn_2"} <= set(known)
    new = np.arange(16.0).reshape(4, 4) / 10
    browser.js(f"handgrad.set('attn.W_Q', {new.tolist()})")
    weight = model.attn.qkv.weight.data.copy()
    weight[:, :4] = new
    model.attn.qkv.weight.data = weight
    loss = model(x)
    loss.backward()
    top = [name for name in known if name in ("L", "out", "loss")]
    shown = browser.js(f"handgrad.get({top[-1] if top else known[-1]!r})")
    assert shown == pytest.approx(loss.data, rel=1e-12)
    np.testing.assert_allclose(browser.js("handgrad.grad('attn.W_K')"), model.attn.qkv.weight.grad[:, 4:8], rtol=1e-9)
    assert browser.errors == []


def test_a_plain_packed_array_is_parted_too():
    from autograd import OPS

    qkv = Value(np.random.default_rng(0).normal(size=(3, 12)), name="qkv")
    loss = (OPS["self_attention"](qkv, heads=2) ** 2).sum()
    steps = step(loss)
    assert names(steps)[:3] == ["Q", "K", "V"]
    loss.backward()
    np.testing.assert_allclose(steps.ledger("qkv").total, qkv.grad, rtol=1e-12)
