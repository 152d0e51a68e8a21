"""Captured Flax models: modules are the scopes of the graph, layers arrive as single ops, lines are the user's."""

from collections import Counter

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="NOT TESTED: JAX is not installed (pip install jax)")
flax = pytest.importorskip("flax", reason="NOT TESTED: Flax is not installed (pip install flax)")

import jax.numpy as jnp  # noqa: E402
from flax import linen as nn  # noqa: E402
from flax import nnx  # noqa: E402

import autograd as ag  # noqa: E402

pytestmark = [
    pytest.mark.usefixtures("jax_in_float64"), pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]  # fmt: skip


class MLP(nn.Module):
    wide: int = 8

    @nn.compact
    def __call__(self, x):
        h = nn.Dense(self.wide, name="fc")(x)
        h = nn.gelu(h)
        return nn.Dense(x.shape[-1], name="proj")(h)


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = x + nn.MultiHeadDotProductAttention(num_heads=2, qkv_features=4)(nn.LayerNorm()(x))
        x = x + MLP()(nn.LayerNorm()(x))
        return x


class GPT(nn.Module):
    @nn.compact
    def __call__(self, ids):
        x = nn.Embed(7, 4)(ids)
        for _ in range(2):
            x = Block()(x)
        return nn.Dense(7)(nn.LayerNorm()(x))


def parameters(model, *inputs):
    made = jax.jit(model.init)(jax.random.PRNGKey(0), *inputs)
    return jax.tree_util.tree_map(lambda a: a.astype(jnp.float64), made)


def test_a_gpt_of_flax_has_its_modules_and_single_ops():
    model, ids = GPT(), jnp.array([[1, 2, 3], [4, 5, 0]])
    params = parameters(model, ids)

    def loss(params, ids):
        logits = model.apply(params, ids)
        return -jax.nn.log_softmax(logits)[..., 0].mean()

    run = ag.capture(loss, params, ids)
    assert run.opaque == []
    assert run.compare().ok
    used = Counter(node.op.name for node in run.nodes if node.op is not None)
    assert (used["layer_norm"], used["softmax"], used["gelu"], used["log_softmax"], used["mean"]) == (5, 2, 2, 1, 1)
    scopes = {node.scope.path for node in run.nodes if node.scope is not None}
    assert {"GPT.Block_1.MLP_0.fc", "GPT.Block_0.MultiHeadDotProductAttention_0.query", "GPT.LayerNorm_0"} <= scopes
    assert all(part.isidentifier() for path in scopes for part in path.split("."))
    lines = Counter(str(node.line).partition(":")[0] for node in run.nodes if node.op is not None)
    assert set(lines) <= {"test_flax.py", "None"}
    assert lines["None"] < 5  # steps that JAX puts in between
    run.loss.backward()
    for path, gradient in jax.tree_util.tree_flatten_with_path(jax.jit(jax.grad(loss))(params, ids))[0]:
        ours = run.parameters[".".join(step.key for step in path)].grad
        np.testing.assert_allclose(ours, gradient, atol=1e-10)
    folded = ag.draw(run.loss, collapse=2)
    assert any(card.copies == 2 and card.expression == "Block" for card in folded.scene.cards)


class Scanned(nn.Module):
    @nn.compact
    def __call__(self, carry, x):
        carry = jnp.tanh(nn.Dense(3, name="h")(carry) + nn.Dense(3, name="x")(x))
        return carry, carry


def test_a_cell_that_flax_scans():
    cell = nn.scan(Scanned, variable_broadcast="params", split_rngs={"params": False}, in_axes=1, out_axes=1)()
    x, start = jnp.linspace(-1.0, 1.0, 16).reshape(2, 4, 2), jnp.zeros((2, 3))
    params = parameters(cell, start, x)
    run = ag.capture(lambda params, start, x: (cell.apply(params, start, x)[1] ** 2).sum(), params, start, x)
    assert Counter(node.op.name for node in run.nodes if node.op is not None)["tanh"] == 4
    assert run.opaque == []
    assert run.compare().ok
    assert run.check().ok


class Nnx(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.LayerNorm(4, rngs=rngs)

    def __call__(self, x):
        return nnx.silu(self.norm(self.fc(x)))


def test_a_module_of_nnx():
    graph, state = nnx.split(Nnx(nnx.Rngs(0)))
    x = jnp.arange(6.0).reshape(2, 3)
    run = ag.capture(lambda state, x: (nnx.merge(graph, state)(x) ** 2).mean(), state, x)
    assert {"fc.kernel", "fc.bias", "norm.scale", "norm.bias"} <= set(run.parameters)
    assert {"layer_norm", "silu"} <= {node.op.name for node in run.nodes if node.op is not None}
    assert run.compare().ok


@jax.custom_jvp
def square(x):
    return x * x


@square.defjvp
def square_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return square(x), 3 * x * t


class Wrong(nn.Module):
    @nn.compact
    def __call__(self, x):
        return square(nn.Dense(2)(x))


def test_a_wrong_rule_in_a_flax_module_is_named():
    model, x = Wrong(), jnp.arange(6.0).reshape(2, 3)
    params = parameters(model, x)
    found = ag.capture(lambda params, x: model.apply(params, x).sum(), params, x).compare()
    assert (found.first.op, found.first.wrong, found.first.module) == ("square", "jax", "Wrong")
    assert "jax's backward of square is wrong" in found.html().replace("&#x27;", "'")
