"""Captured JAX functions: the same results and gradients, with names from arguments and nests of parameters."""

import inspect

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="NOT TESTED: jax is not installed (pip install jax)")

import jax.numpy as jnp  # noqa: E402

import autograd as ag  # noqa: E402
from autograd.errors import DataError  # noqa: E402

pytestmark = pytest.mark.usefixtures("jax_in_float64")

RNG = np.random.default_rng(0)


def numbers(*shape):
    return jnp.asarray(RNG.normal(size=shape))


def assert_same_run(f, *args, opaque=()):
    """Result and gradients of all real arguments are those of JAX, and so is every gradient on the way."""
    run = ag.capture(f, *args)
    assert sorted(set(run.opaque)) == sorted(opaque), run.notes
    out, pull = jax.vjp(jax.jit(f), *args)  # compiled as a whole: else each step compiles on its own
    assert_near(run.result.data, out, 1e-12)
    u = jnp.asarray(np.random.default_rng(3).normal(size=np.shape(out)))
    run.result.backward(np.asarray(u))
    leaves = [g for g in jax.tree.leaves(pull(u)) if g.dtype != jax.dtypes.float0]
    values = [v for v in run.nodes if v.op is None]
    given = sorted([*run.parameters.values(), *run.inputs.values()], key=lambda v: v.stamp)
    assert len(given) == len(leaves)
    assert set(values) <= set(given)
    for value, g in zip(given, leaves, strict=True):
        assert_near(np.zeros(value.shape) if value.grad is None else value.grad, g, 1e-12)
    found = run.compare()
    assert found.ok, found
    return run


def assert_near(ours, theirs, tolerance):
    theirs = np.asarray(theirs)
    assert np.shape(ours) == theirs.shape
    scale = max(float(np.max(np.abs(theirs), initial=0.0)), 1.0)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * scale)


# --- models -------------------------------------------------------------------------------------------------


def layer_norm(x, gamma, beta):
    mean = x.mean(-1, keepdims=True)
    var = ((x - mean) ** 2).mean(-1, keepdims=True)
    return gamma * (x - mean) / jnp.sqrt(var + 1e-5) + beta


def mlp(params, x):
    for layer in params["hidden"]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    out = x @ params["out"]
    return out


def attention(q, k, v):
    scores = jnp.einsum("bhtd,bhsd->bhts", q, k) / jnp.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
    return jnp.einsum("bhts,bhsd->bhtd", weights, v)


def block(p, x):
    B, T, C = x.shape
    with jax.named_scope("attn"):
        q, k, v = jnp.split(layer_norm(x, *p["ln_1"]) @ p["qkv"], 3, axis=-1)
        q, k, v = (t.reshape(B, T, 2, C // 2).transpose(0, 2, 1, 3) for t in (q, k, v))
        x = x + attention(q, k, v).transpose(0, 2, 1, 3).reshape(B, T, C) @ p["proj"]
    with jax.named_scope("mlp"):
        return x + jax.nn.gelu(layer_norm(x, *p["ln_2"]) @ p["up"]) @ p["down"]


def gpt(params, ids, targets):
    x = params["wte"][ids] + params["wpe"][: ids.shape[1]]
    for i, p in enumerate(params["h"]):
        with jax.named_scope(f"h_{i}"):
            x = block(p, x)
    logits = layer_norm(x, *params["ln_f"]) @ params["wte"].T
    logs = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(logs, targets[..., None], axis=-1).mean()


def gpt_params(d=4, layers=2):
    def norm():
        return (1 + numbers(d) / 9, numbers(d) / 9)

    h = [{"ln_1": norm(), "qkv": numbers(d, 3 * d), "proj": numbers(d, d), "ln_2": norm(), "up": numbers(d, 4 * d),
          "down": numbers(4 * d, d)} for _ in range(layers)]  # fmt: skip
    return {"wte": numbers(7, d), "wpe": numbers(5, d), "h": h, "ln_f": norm()}


def rnn(params, xs):
    def cell(h, x):
        h = jnp.tanh(h @ params["hh"] + x @ params["xh"])
        return h, h * 2

    last, all_of_them = jax.lax.scan(cell, jnp.zeros(3), xs)
    return last.sum() + (all_of_them**2).mean()


def test_an_mlp():
    params = {"hidden": [{"w": numbers(3, 4), "b": numbers(4)}, {"w": numbers(4, 4), "b": numbers(4)}],
              "out": numbers(4, 2)}  # fmt: skip
    run = assert_same_run(mlp, params, numbers(5, 3))
    assert set(run.parameters) == {"hidden.0.b", "hidden.0.w", "hidden.1.b", "hidden.1.w", "out"}
    assert list(run.inputs) == ["x"]
    assert run.result.name == "out"
    assert run.check().ok


def test_attention():
    run = assert_same_run(attention, *(numbers(2, 2, 3, 4) for _ in range(3)))
    assert [n.op.name for n in run.nodes if n.op].count("softmax") == 1
    assert list(run.inputs) == ["q", "k", "v"]


@pytest.mark.slow
@pytest.mark.parametrize("jitted", [False, True])
def test_a_gpt(jitted):
    ids = jnp.asarray([[1, 2, 3, 1], [6, 0, 0, 2]])
    f = jax.jit(gpt) if jitted else gpt
    run = assert_same_run(f, gpt_params(), ids, jnp.roll(ids, -1, axis=1))
    names = [n.op.name for n in run.nodes if n.op]
    assert names.count("layer_norm") == 5
    assert names.count("softmax") == 2
    assert names.count("gelu") == 2
    assert "h.1.qkv" in run.parameters
    assert {n.scope.path for n in run.nodes if n.scope} >= {"h_0.attn", "h_1.mlp"}


def test_a_scan_is_unrolled():
    run = assert_same_run(rnn, {"hh": numbers(3, 3), "xh": numbers(2, 3)}, numbers(4, 2))
    assert [n.op.name for n in run.nodes if n.op].count("tanh") == 4


FUNCTIONS = {
    "cond": lambda x: jax.lax.cond(x[0, 0] > 0, jnp.exp, jnp.cos, x),
    "fori": lambda x: jax.lax.fori_loop(0, 3, lambda i, c: c * jnp.cos(c) + i, x),
    "set": lambda x: x.at[1].set(x[0] * 2),
    "add at": lambda x: x.at[jnp.array([0, 0, 2])].add(x * 2),
    "dynamic slice": lambda x: jax.lax.dynamic_slice(x, (1, 0), (2, 3)),
    "dynamic update": lambda x: jax.lax.dynamic_update_slice(x, x[:1, :2] ** 2, (2, 1)),
    "index": lambda x: x[jnp.array([2, 0, 0])],
    "reverse cumsum": lambda x: jax.lax.cumsum(x, axis=1, reverse=True) ** 2,
    "logsumexp": lambda x: jax.nn.logsumexp(x, axis=0),
    "relu": lambda x: jax.nn.relu(x),
    "silu": lambda x: jax.nn.silu(x) + jax.nn.softplus(x) + jax.nn.sigmoid(x),
    "elu": lambda x: jax.nn.elu(x),
    "sort": lambda x: jnp.sort(x, axis=0) * jnp.arange(12.0).reshape(3, 4),
    "top_k": lambda x: jax.lax.top_k(x, 2)[0],
    "var": lambda x: jnp.var(x, axis=0) + jnp.std(x),
    "max": lambda x: x.max(axis=1) - x.min(),
    "clip": lambda x: jnp.clip(x, -0.5, 0.5),
    "power": lambda x: jnp.abs(x) ** 1.5 + x**3,
    "einsum": lambda x: jnp.einsum("ij,kj->ki", x, x),
    "stack": lambda x: jnp.stack([x, x**2], axis=1),
    "pad": lambda x: jnp.pad(x, ((1, 0), (0, 2))),
    "stopped": lambda x: x * jax.lax.stop_gradient(x),
    "vmap": lambda x: jax.vmap(lambda row: row @ row)(x),
    "remat": lambda x: jax.checkpoint(lambda y: jnp.sin(jnp.exp(y)))(x),
    "gradient inside": lambda x: jax.grad(lambda y: (jnp.tanh(y) ** 3).sum())(x),
    "norm": lambda x: jnp.linalg.norm(x, axis=1),
    "max windows": lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (2, 2), (1, 2), "SAME"),
    "sums of windows": lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 3), (1, 1), "VALID") ** 2,
    "triangular": lambda x: jax.scipy.linalg.solve_triangular(x @ x.T + jnp.eye(3), x, trans=1, lower=True),
    "conv": lambda x: jax.lax.conv(x[None, None], jnp.ones((2, 1, 2, 2)), (1, 1), "VALID"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function(name):
    run = ag.capture(FUNCTIONS[name], numbers(3, 4))
    assert run.opaque == [name] * (name in ("sort", "top_k"))
    assert_same_run(FUNCTIONS[name], numbers(3, 4), opaque=run.opaque)
    assert set(run.opaque) <= {"sort", "top_k"}


# --- a wrong rule -------------------------------------------------------------------------------------------


@jax.custom_vjp
def cube(x):
    return x**3


def cube_forward(x):
    return x**3, x


def cube_backward(x, g):
    dx = 2 * g * x**2
    return (dx,)  # the wrong factor


cube.defvjp(cube_forward, cube_backward)


@jax.custom_jvp
def twice(x):
    return 2 * x


@twice.defjvp
def twice_push(primals, tangents):
    return 2 * primals[0], 3 * tangents[0]


def test_a_wrong_custom_vjp_is_named_by_line():
    def f(x):
        with jax.named_scope("block"):
            h = cube(jnp.sin(x))
        return (h * x).sum()

    found = ag.capture(f, numbers(4)).compare()
    assert (found.first.op, found.first.module, found.first.wrong) == ("cube", "block", "jax")
    lines, start = inspect.getsourcelines(cube_backward)
    assert (found.first.file, found.first.line) == (__file__, start + len(lines) - 1)
    np.testing.assert_allclose(found.first.theirs, found.first.ours * 2 / 3)
    assert "jax's backward of cube is wrong" in str(found)


def test_a_wrong_custom_jvp_is_named():
    first = ag.capture(lambda x: twice(x).sum(), numbers(3)).compare().first
    assert (first.op, first.wrong) == ("twice", "jax")
    np.testing.assert_allclose(first.theirs, 1.5 * first.ours)


def test_complex_numbers_stay_outside():
    with pytest.raises(DataError, match="complex"):
        ag.capture(lambda z: jnp.abs(z).sum(), jnp.ones(3) * 1j)


@pytest.mark.parametrize("f", [lambda x: jnp.abs(jnp.fft.fft(x)).sum(), lambda x: jnp.abs(jnp.exp(1j * x) + x).sum()])
def test_complex_numbers_on_the_way_are_refused(f):
    """The graph would end there, and a comparison of nothing agrees."""
    with pytest.raises(DataError, match="complex array carries a gradient"):
        ag.capture(f, jnp.ones(3))
    assert ag.capture(lambda x: x.sum() + f(jnp.ones(3)), jnp.ones(3)).compare().ok  # not where no gradient flows


def test_a_while_loop_that_jax_itself_cannot_differentiate():
    def f(x):
        return jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, jnp.sin(c[1])), (0, x))[1].sum()

    run = ag.capture(f, numbers(3))
    assert run.check().ok
    assert [n.op.name for n in run.nodes if n.op] == ["sin", "sin", "sin", "sum"]


def test_it_is_drawn_and_stepped():
    run = ag.capture(lambda x: jnp.tanh(x).sum(), numbers(3))
    assert "tanh" in ag.draw(run.result).dot
    assert len(ag.step(run.result)) > 3
