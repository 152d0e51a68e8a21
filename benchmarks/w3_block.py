"""W3: one transformer block (layer norm, attention, feed-forward; pre-norm, one head) forward and backward.

Small blocks, the size people calculate by hand: here the time goes into the steps between the numbers. All
contenders give the block's output and the gradients of its input and all 16 parameters, in float64, each in its
own best writing; torch comes in several.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import US

SIZES = ((2, 2), (4, 8), (8, 16))  # (tokens, width)
EPS = 1e-5
FUSED_MARK, LAYER_MARK = 0.48, 0.45

MATRICES = ("wqkv", "wo", "w1", "w2")
LAYER, TORCH_LAYER = f"{US}, nn.TransformerBlock", "torch, nn.TransformerEncoderLayer"
COMPILED = f"{US}, compiled,"
PACKED, TORCH_PACKED = f"{US}, fused, packed projections", "torch, packed projections"
TORCH_COMPILED = "torch, torch.compile"

Arrays = dict[str, Any]


def inputs(tokens: int, width: int) -> tuple[Arrays, np.ndarray]:
    """The input x and the parameters by name, and the gradient that comes in from above."""
    rng = np.random.default_rng(0)
    d = width
    shapes = {
        "x": (tokens, d),
        **{"gamma1": (d,), "beta1": (d,), "gamma2": (d,), "beta2": (d,)},
        **{f"w{letter}": (d, d) for letter in "qkvo"},
        **{f"b{letter}": (d,) for letter in "qkvo"},
        **{"w1": (d, 4 * d), "b1": (4 * d,), "w2": (4 * d, d), "b2": (d,)},
    }
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}, rng.normal(size=(tokens, d))


class Block:
    """A way to write the block on the tensors of one library that has `backward` and `grad`."""

    def __init__(self, forward: Callable[..., Any], leaves: Arrays, cotangent: Any) -> None:
        self.forward, self.leaves, self.cotangent = forward, leaves, cotangent

    def __call__(self) -> None:
        for leaf in self.leaves.values():
            leaf.grad = None
        self.out = self.forward(**self.leaves)
        self.out.backward(self.cotangent)

    def gradient(self, name: str) -> np.ndarray:
        return np.asarray(self.leaves[name].grad)

    def answer(self) -> list[Any]:
        self()
        gradients = {name: self.gradient(name) for name in self.leaves}
        return [np.asarray(self.out.data), *unpacked(gradients).values()]


class CompiledBlock:
    """The block and its pull as one program."""

    def __init__(self, program: Callable[..., Any], arrays: Arrays, cotangent: np.ndarray) -> None:
        self.program, self.arrays, self.cotangent = program, arrays, cotangent

    def __call__(self) -> None:
        self.out, self.gradients = self.program(self.arrays, self.cotangent)

    def answer(self) -> list[Any]:
        self()
        return [self.out, *unpacked(dict(self.gradients)).values()]


def pack(arrays: Arrays) -> Arrays:
    """With the three projections of attention side by side, as one matrix and one bias."""
    rest = {name: a for name, a in arrays.items() if name not in ("wq", "wk", "wv", "bq", "bk", "bv")}
    return rest | {
        "wqkv": np.concatenate([arrays[name] for name in ("wq", "wk", "wv")], axis=1),
        "bqkv": np.concatenate([arrays[name] for name in ("bq", "bk", "bv")]),
    }


def unpacked(arrays: Arrays) -> Arrays:
    """The reverse of `pack`, in alphabetical order."""
    if "wqkv" in arrays:
        arrays |= dict(zip(("wq", "wk", "wv"), np.split(arrays.pop("wqkv"), 3, axis=1)))
        arrays |= dict(zip(("bq", "bk", "bv"), np.split(arrays.pop("bqkv"), 3)))
    return {name: arrays[name] for name in sorted(arrays)}


# --- ours ---------------------------------------------------------------------------------------------------


def handgrad_blocks(arrays: Arrays, cotangent: np.ndarray) -> dict[str, Callable[[], None]]:
    from autograd import Value, attention, compile, layer_norm, linear, relu, self_attention, softmax, sqrt, vjp

    def norm(x, gamma, beta):
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred / sqrt((centred * centred).mean(axis=-1, keepdims=True) + EPS) * gamma + beta

    def composed(x, gamma1, beta1, wq, bq, wk, bk, wv, bv, wo, bo, gamma2, beta2, w1, b1, w2, b2):
        n = norm(x, gamma1, beta1)
        q, k, v = n @ wq + bq, n @ wk + bk, n @ wv + bv
        x = x + (softmax(q @ k.mT / math.sqrt(q.shape[-1])) @ v @ wo + bo)
        return x + (relu(norm(x, gamma2, beta2) @ w1 + b1) @ w2 + b2)

    def rest(x, context, wo, bo, gamma2, beta2, w1, b1, w2, b2):
        x = x + linear(context, wo, bo)
        return x + linear(relu(linear(layer_norm(x, gamma2, beta2), w1, b1)), w2, b2)

    def fused(x, gamma1, beta1, wq, bq, wk, bk, wv, bv, **others):
        n = layer_norm(x, gamma1, beta1)
        return rest(x, attention(linear(n, wq, bq), linear(n, wk, bk), linear(n, wv, bv)), **others)

    def packed(x, gamma1, beta1, wqkv, bqkv, **others):
        return rest(x, self_attention(linear(layer_norm(x, gamma1, beta1), wqkv, bqkv)), **others)

    def leaves(arrays: Arrays) -> Arrays:
        return {name: Value(a, name=name) for name, a in arrays.items()}

    def compiled(forward, backend):
        def both(p, above):
            out, pull = vjp(lambda p: forward(**p), p)
            return out, pull(above)[0]

        return compile(both, backend, gradients=False)

    return {
        **{
            f"{COMPILED} {backend}": CompiledBlock(compiled(packed, backend), pack(arrays), cotangent)
            for backend in harness.backends()
        },
        f"{US}, composed": Block(composed, leaves(arrays), cotangent),
        f"{US}, fused": Block(fused, leaves(arrays), cotangent),
        PACKED: Block(packed, leaves(pack(arrays)), cotangent),
        LAYER: layer(pack(arrays), cotangent),
    }


def layer(arrays: Arrays, cotangent: np.ndarray) -> Block:
    """The block as people write it: a layer with its checks and its scopes."""
    from autograd import Value
    from nn import TransformerBlock

    block = TransformerBlock(cotangent.shape[1], n_heads=1, rng=0)
    attention, feed_forward = block.attention, block.feed_forward
    leaves = {
        **{"gamma1": block.norm1.gamma, "beta1": block.norm1.beta},
        **{"wqkv": attention.qkv.weight, "bqkv": attention.qkv.bias},
        **{"wo": attention.out.weight, "bo": attention.out.bias},
        **{"gamma2": block.norm2.gamma, "beta2": block.norm2.beta},
        **{"w1": feed_forward.up.weight, "b1": feed_forward.up.bias},
        **{"w2": feed_forward.down.weight, "b2": feed_forward.down.bias},
        "x": Value(arrays["x"]),
    }
    for name, leaf in leaves.items():
        leaf.data = arrays[name]
    return Block(lambda x, **_: block(x), leaves, cotangent)


# --- peers --------------------------------------------------------------------------------------------------


def torch_blocks(arrays: Arrays, cotangent: np.ndarray) -> dict[str, Callable[[], None]]:
    import torch
    from torch import addmm, relu, softmax
    from torch.nn.functional import layer_norm, scaled_dot_product_attention

    def rest(x, context, wo, bo, gamma2, beta2, w1, b1, w2, b2):
        x = x + addmm(bo, context, wo)
        n = layer_norm(x, gamma2.shape, gamma2, beta2, EPS)
        return x + addmm(b2, relu(addmm(b1, n, w1)), w2)

    def composed(x, gamma1, beta1, wq, bq, wk, bk, wv, bv, **others):
        n = layer_norm(x, gamma1.shape, gamma1, beta1, EPS)
        q, k, v = addmm(bq, n, wq), addmm(bk, n, wk), addmm(bv, n, wv)
        return rest(x, softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1) @ v, **others)

    def fused(x, gamma1, beta1, wq, bq, wk, bk, wv, bv, **others):
        n = layer_norm(x, gamma1.shape, gamma1, beta1, EPS)
        q, k, v = addmm(bq, n, wq), addmm(bk, n, wk), addmm(bv, n, wv)
        return rest(x, scaled_dot_product_attention(q[None], k[None], v[None])[0], **others)

    def packed(x, gamma1, beta1, wqkv, bqkv, **others):
        n = layer_norm(x, gamma1.shape, gamma1, beta1, EPS)
        q, k, v = addmm(bqkv, n, wqkv).chunk(3, dim=-1)
        return rest(x, softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1) @ v, **others)

    def leaves(arrays: Arrays) -> Arrays:
        return {name: torch.tensor(a, requires_grad=True) for name, a in arrays.items()}

    torch.set_num_threads(1)
    above = torch.tensor(cotangent)
    return {
        "torch, composed attention": Block(composed, leaves(arrays), above),
        "torch, fused attention": Block(fused, leaves(arrays), above),
        TORCH_PACKED: Block(packed, leaves(pack(arrays)), above),
        TORCH_COMPILED: Block(torch.compile(packed, dynamic=False), leaves(pack(arrays)), above),
        TORCH_LAYER: torch_layer(pack(arrays), above),
    }


def torch_layer(arrays: Arrays, above: Any) -> Block:
    """torch's own layer, in training mode; its matrices are (out, in)."""
    import torch

    width = above.shape[1]
    layer = torch.nn.TransformerEncoderLayer(
        width, nhead=1, dim_feedforward=4 * width, dropout=0.0, norm_first=True, layer_norm_eps=EPS, dtype=torch.double
    )
    attention = layer.self_attn
    leaves = {
        **{"gamma1": layer.norm1.weight, "beta1": layer.norm1.bias},
        **{"wqkv": attention.in_proj_weight, "bqkv": attention.in_proj_bias},
        **{"wo": attention.out_proj.weight, "bo": attention.out_proj.bias},
        **{"gamma2": layer.norm2.weight, "beta2": layer.norm2.bias},
        **{"w1": layer.linear1.weight, "b1": layer.linear1.bias},
        **{"w2": layer.linear2.weight, "b2": layer.linear2.bias},
        "x": torch.tensor(arrays["x"], requires_grad=True),
    }
    for name, leaf in leaves.items():
        leaf.data = torch.tensor(arrays[name].T.copy() if name in MATRICES else arrays[name])

    class Layer(Block):
        def gradient(self, name: str) -> np.ndarray:
            return super().gradient(name).T if name in MATRICES else super().gradient(name)

    return Layer(lambda x, **_: layer(x), leaves, above)


def mygrad_blocks(arrays: Arrays, cotangent: np.ndarray) -> dict[str, Callable[[], None]]:
    import mygrad
    from mygrad.nnet.activations import relu, softmax

    def norm(x, gamma, beta):
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred / mygrad.sqrt((centred * centred).mean(axis=-1, keepdims=True) + EPS) * gamma + beta

    def forward(x, gamma1, beta1, wq, bq, wk, bk, wv, bv, wo, bo, gamma2, beta2, w1, b1, w2, b2):
        n = norm(x, gamma1, beta1)
        q, k, v = n @ wq + bq, n @ wk + bk, n @ wv + bv
        x = x + (softmax(q @ k.T / math.sqrt(q.shape[-1])) @ v @ wo + bo)
        return x + (relu(norm(x, gamma2, beta2) @ w1 + b1) @ w2 + b2)

    class MyGradBlock(Block):
        def __call__(self) -> None:  # its gradients cannot be set and begin again with each pass
            self.out = self.forward(**self.leaves)
            self.out.backward(self.cotangent)

    leaves = {name: mygrad.tensor(a) for name, a in arrays.items()}
    return {"mygrad": MyGradBlock(forward, leaves, cotangent)}


def jax_blocks(arrays: Arrays, cotangent: np.ndarray) -> dict[str, Callable[[], None]]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def norm(x, gamma, beta):
        return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + EPS) * gamma + beta

    def forward(p):
        n = norm(p["x"], p["gamma1"], p["beta1"])
        q, k, v = (n @ p[f"w{c}"] + p[f"b{c}"] for c in "qkv")
        context = jax.nn.softmax(q @ k.mT / math.sqrt(q.shape[-1])) @ v
        x = p["x"] + context @ p["wo"] + p["bo"]
        return x + jax.nn.relu(norm(x, p["gamma2"], p["beta2"]) @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]

    @jax.jit
    def forward_and_backward(p, above):
        out, pull = jax.vjp(forward, p)
        return out, *pull(above)

    class JaxBlock:
        def __init__(self) -> None:
            self.leaves = {name: jnp.asarray(a) for name, a in arrays.items()}
            self.above = jnp.asarray(cotangent)

        def __call__(self) -> None:
            self.result = jax.block_until_ready(forward_and_backward(self.leaves, self.above))

        def answer(self) -> list[Any]:
            self()
            return [self.result[0], *unpacked(self.result[1]).values()]

    return {"jax, jit": JaxBlock()}


def hand_written(arrays: Arrays, cotangent: np.ndarray) -> dict[str, Callable[[], None]]:
    """Forward and backward written out in NumPy, the cheapest calls chosen: a limit for engines on it."""
    return {"NumPy by hand": HandBlock(pack(arrays), cotangent)}


class HandBlock:
    """`dot` instead of `@`, and sums as products with ones: for small arrays half the time or less."""

    def __init__(self, arrays: Arrays, cotangent: np.ndarray) -> None:
        self.p, self.above = arrays, cotangent
        tokens, width = cotangent.shape
        self.mean = np.full((width, 1), 1 / width)
        self.rows, self.columns = np.ones(tokens), np.ones((tokens, 1))
        self.zero, self.eps = np.zeros(()), np.full((1, 1), EPS)
        self.scale = np.full((1, 1), 1 / math.sqrt(width))

    def __call__(self) -> None:
        p, rows, columns, d = self.p, self.rows, self.columns, self.above.shape[1]
        g: Arrays = {}
        x = p["x"]
        # forward
        n1, hat1, scale1 = self.norm(x, p["gamma1"], p["beta1"])
        qkv = n1.dot(p["wqkv"])
        qkv += p["bqkv"]
        q, k, v = qkv[:, :d], qkv[:, d : 2 * d], qkv[:, 2 * d :]
        weights = q.dot(k.T)
        weights *= self.scale
        weights -= np.maximum.reduce(weights, -1, None, None, True)
        np.exp(weights, weights)
        weights /= weights.dot(columns)
        context = weights.dot(v)
        y = context.dot(p["wo"])
        y += p["bo"]
        y += x
        n2, hat2, scale2 = self.norm(y, p["gamma2"], p["beta2"])
        hidden = n2.dot(p["w1"])
        hidden += p["b1"]
        np.maximum(hidden, self.zero, out=hidden)
        self.out = hidden.dot(p["w2"])
        self.out += p["b2"]
        self.out += y
        # backward
        above = self.above
        g["b2"] = rows.dot(above)
        g["w2"] = hidden.T.dot(above)
        d_hidden = above.dot(p["w2"].T)
        d_hidden *= np.sign(hidden)
        g["b1"] = rows.dot(d_hidden)
        g["w1"] = n2.T.dot(d_hidden)
        dy, g["gamma2"], g["beta2"] = self.norm_back(d_hidden.dot(p["w1"].T), hat2, scale2, p["gamma2"])
        dy += above
        g["bo"] = rows.dot(dy)
        g["wo"] = context.T.dot(dy)
        d_context = dy.dot(p["wo"].T)
        ds = d_context.dot(v.T)
        ds -= (ds * weights).dot(columns)
        ds *= weights
        ds *= self.scale
        d_qkv = np.empty_like(qkv)
        d_qkv[:, :d] = ds.dot(k)
        d_qkv[:, d : 2 * d] = ds.T.dot(q)
        d_qkv[:, 2 * d :] = weights.T.dot(d_context)
        g["bqkv"] = rows.dot(d_qkv)
        g["wqkv"] = n1.T.dot(d_qkv)
        g["x"], g["gamma1"], g["beta1"] = self.norm_back(d_qkv.dot(p["wqkv"].T), hat1, scale1, p["gamma1"])
        g["x"] += dy
        self.gradients = g

    def norm(self, x: Any, gamma: Any, beta: Any) -> tuple[Any, Any, Any]:
        hat = x - x.dot(self.mean)
        scale = (hat * hat).dot(self.mean)
        scale += self.eps
        np.sqrt(scale, scale)
        hat /= scale
        normed = hat * gamma
        normed += beta
        return normed, hat, scale

    def norm_back(self, g: Any, hat: Any, scale: Any, gamma: Any) -> tuple[Any, Any, Any]:
        dx = g * gamma
        along = hat * (dx * hat).dot(self.mean)
        dx -= dx.dot(self.mean)
        dx -= along
        dx /= scale
        return dx, self.rows.dot(g * hat), self.rows.dot(g)

    def answer(self) -> list[Any]:
        self()
        return [self.out, *unpacked(dict(self.gradients)).values()]


MAKERS = {
    US: handgrad_blocks,
    "torch": torch_blocks,
    "mygrad": mygrad_blocks,
    "jax": jax_blocks,
    "NumPy": hand_written,
}


def main() -> None:
    harness.pin()
    libraries = harness.those_installed(MAKERS)
    for tokens, width in SIZES:
        harness.heading(f"W3: one transformer block forward + backward, {tokens} tokens of width {width}, float64")
        contenders: dict[str, Any] = {}
        for library in libraries:
            contenders |= MAKERS[library](*inputs(tokens, width))
        harness.assert_same({name: contender.answer() for name, contender in contenders.items()})
        timings = harness.take_turns(contenders)
        eager = [name for name in contenders if name.startswith("torch") and name != TORCH_COMPILED]
        mark = timings.fastest(eager or contenders)
        harness.table(("contender", "one pass", f"× {mark}"), harness.standing(timings, of=mark))
        if "torch" in libraries:
            like = timings.fastest(["torch, composed attention", "torch, fused attention"])
            harness.aim(f"fused, of {like}", timings.ratio(f"{US}, fused", to=like), at_most=FUSED_MARK)
            harness.aim(f"fused, packed, of {TORCH_PACKED}", timings.ratio(PACKED, to=TORCH_PACKED), at_most=FUSED_MARK)
            for rival in (TORCH_LAYER, mark):
                harness.aim(f"our layer, of {rival}", timings.ratio(LAYER, to=rival), at_most=LAYER_MARK)
            for backend, most in (("numpy", 0.20), ("c", 0.04)):
                if f"{COMPILED} {backend}" in timings:
                    share = timings.ratio(f"{COMPILED} {backend}", to=TORCH_PACKED)
                    harness.aim(f"compiled, {backend}, of {TORCH_PACKED}", share, at_most=most)
            print()


if __name__ == "__main__":
    main()
