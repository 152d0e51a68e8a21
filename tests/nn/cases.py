"""What is compared with torch: each formula and layer of ours beside the same thing written with torch's functions.

`theirs` gets torch itself, the parameters by our names (as tensors in our layout) and the inputs. It is never run
where torch is not installed: there the committed fixtures, which `make_fixtures.py` made with it, take its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import autograd as ag
import nn
from nn import functional as F

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """`ours` and `theirs` on the same inputs; with a module, `ours` is called with it first."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    module: Callable[[], nn.Module] | None = None
    between: tuple[float, float] = (-2.0, 2.0)

    def inputs(self, seed: int) -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        return [rng.uniform(*self.between, shape) for shape in self.shapes]

    def parameters(self, seed: int) -> Arrays:
        """Random numbers for every parameter: starting values such as zeros and ones would hide mistakes."""
        rng = np.random.default_rng((seed, 1))
        if self.module is None:
            return {}
        return {name: rng.normal(0.0, 0.6, array.shape) for name, array in self.module().state_dict().items()}


def ours(case: Case, parameters: Arrays, inputs: list[np.ndarray], cotangent: Any = None) -> Arrays:
    """Output and all gradients by our engine; without a cotangent, one is drawn."""
    xs = [ag.Value(x) for x in inputs]
    if case.module is None:
        out = case.ours(*xs)
        named: dict[str, ag.Value] = {}
    else:
        module = case.module()
        module.load_state_dict(parameters)
        named = dict(module.named_parameters())
        out = case.ours(module, *xs)
    out.backward(cotangent)
    found = {"out": out.data} | {f"d.in.{i}": x.grad for i, x in enumerate(xs)}
    return found | {f"d.p.{name}": p.grad for name, p in named.items() if p.grad is not None}


def theirs(case: Case, parameters: Arrays, inputs: list[np.ndarray], cotangent: np.ndarray | None = None) -> Arrays:
    """The same by torch; the cotangent, if none is given, is drawn and returned too."""
    import torch

    p = {name: torch.tensor(array, requires_grad=True) for name, array in parameters.items()}
    xs = [torch.tensor(x, requires_grad=True) for x in inputs]
    out = case.theirs(torch, p, *xs) if case.module is not None else case.theirs(torch, *xs)
    if cotangent is None:
        cotangent = np.random.default_rng(2).uniform(0.5, 1.5, tuple(out.shape))
    out.backward(torch.tensor(cotangent))
    found = {"out": out.detach().numpy(), "cotangent": cotangent}
    found |= {f"d.in.{i}": x.grad.numpy() for i, x in enumerate(xs)}
    return found | {f"d.p.{name}": t.grad.numpy() for name, t in p.items() if t.grad is not None}


# --- torch's side of the layers, on parameters by our names -------------------------------------------------


def linear(p: Any, x: Any, name: str) -> Any:
    out = x @ p[f"{name}weight"]
    return out + p[f"{name}bias"] if f"{name}bias" in p else out


def normalised(t: Any, p: Any, x: Any, name: str) -> Any:
    gamma = p[f"{name}gamma"]
    if f"{name}beta" in p:
        return t.nn.functional.layer_norm(x, gamma.shape, gamma, p[f"{name}beta"], 1e-5)
    return t.nn.functional.rms_norm(x, gamma.shape, gamma, 1e-5)


def turned(t: Any, x: Any) -> Any:
    """Rotary positions by complex numbers: the pairs (x_i, x_{i+d/2}) as one complex number, times exp(i angle)."""
    half = x.shape[-1] // 2
    angles = t.arange(x.shape[-2], dtype=x.dtype)[:, None] * 10000.0 ** (-t.arange(half, dtype=x.dtype) / half)
    z = t.complex(x[..., :half], x[..., half:]) * t.polar(t.ones_like(angles), angles)
    return t.cat([z.real, z.imag], dim=-1)


def attended(
    t: Any, p: Any, x: Any, heads: int, kv_heads: int | None = None, *, name: str = "", context: Any = None,
    causal: bool = False, mask: Any = None, rotary: bool = False,
) -> Any:  # fmt: skip
    kv_heads = kv_heads or heads
    width = x.shape[-1]
    d = width // heads
    if f"{name}qkv.weight" in p and context is None:
        q, k, v = linear(p, x, f"{name}qkv.").split([width, kv_heads * d, kv_heads * d], dim=-1)
    elif f"{name}qkv.weight" in p:
        weight, bias = p[f"{name}qkv.weight"], p[f"{name}qkv.bias"]
        q = x @ weight[:, :width] + bias[:width]
        k, v = (context @ weight[:, width:] + bias[width:]).chunk(2, dim=-1)
    else:
        q = linear(p, x, f"{name}query.")
        k, v = linear(p, context, f"{name}key_value.").chunk(2, dim=-1)

    def split(z: Any, n: int) -> Any:
        return z.reshape(*z.shape[:-1], n, d).transpose(-3, -2)

    q, k, v = split(q, heads), split(k, kv_heads), split(v, kv_heads)
    if rotary:
        q, k = turned(t, q), turned(t, k)
    k, v = (z.repeat_interleave(heads // kv_heads, dim=-3) for z in (k, v))
    scores = q @ k.transpose(-1, -2) / d**0.5
    if causal:
        scores = scores.masked_fill(t.ones(scores.shape[-2:], dtype=t.bool).triu(1), -t.inf)
    if mask is not None:
        scores = scores + t.tensor(mask) if mask.dtype == float else scores.masked_fill(~t.tensor(mask), -t.inf)
    mixed = scores.softmax(dim=-1) @ v
    return linear(p, mixed.transpose(-3, -2).reshape(x.shape), f"{name}out.")


def fed_forward(t: Any, p: Any, x: Any, activation: str, name: str = "") -> Any:
    f = t.nn.functional
    if activation == "swiglu":
        return linear(p, f.silu(linear(p, x, f"{name}gate.")) * linear(p, x, f"{name}up."), f"{name}down.")
    functions = {"relu": f.relu, "gelu": f.gelu, "gelu_tanh": lambda h: f.gelu(h, approximate="tanh")}
    return linear(p, functions[activation](linear(p, x, f"{name}up.")), f"{name}down.")


def block(t: Any, p: Any, x: Any, heads: int, *, name: str = "", pre_norm: bool = True, activation: str = "relu",
          **attention: Any) -> Any:  # fmt: skip
    if pre_norm:
        x = x + attended(t, p, normalised(t, p, x, f"{name}norm1."), heads, name=f"{name}attention.", **attention)
        return x + fed_forward(t, p, normalised(t, p, x, f"{name}norm2."), activation, f"{name}feed_forward.")
    x = normalised(t, p, x + attended(t, p, x, heads, name=f"{name}attention.", **attention), f"{name}norm1.")
    return normalised(t, p, x + fed_forward(t, p, x, activation, f"{name}feed_forward."), f"{name}norm2.")


def sines(t: Any, tokens: int, width: int) -> Any:
    rows = [[np.sin(i / 10000 ** (2 * (j // 2) / width) + (j % 2) * np.pi / 2) for j in range(width)]
            for i in range(tokens)]  # fmt: skip
    return t.tensor(rows, dtype=t.float64)


def gpt(t: Any, p: Any, ids: np.ndarray, heads: int, layers: int, positions: str = "learned", **settings: Any) -> Any:
    x = p["tokens.weight"][t.tensor(ids)]
    if positions == "learned":
        x = x + p["positions.weight"][: ids.shape[-1]]
    elif positions == "sinusoidal":
        x = x + sines(t, ids.shape[-1], x.shape[-1])
    for i in range(layers):
        x = block(t, p, x, heads, name=f"blocks.{i}.", causal=True, rotary=positions == "rotary", **settings)
    x = normalised(t, p, x, "norm.")
    return x @ p["head.weight"] if "head.weight" in p else x @ p["tokens.weight"].T


# --- the cases ----------------------------------------------------------------------------------------------

RANKS = {2: (3, 4), 3: (2, 3, 4), 4: (2, 2, 3, 4)}
SEES = np.array([[True, False, True], [True, True, False], [False, True, True]])
ADDED = np.array([[0.0, -1.0, 0.5], [0.3, 0.0, -2.0], [1.0, 0.0, 0.0]])
IDS = np.array([[1, 4, 0, 1], [3, 3, 2, 4]])
CLASSES = np.array([[2, 0, 3], [1, 1, 0]])
SKIPPED = np.array([[2, -1, 3], [1, -1, 0]])
ANSWERS = np.array([[1.0, 0.0, 0.3], [0.0, 1.0, 1.0]])
WEIGHTS = np.array([0.5, 2.0, 1.0, 3.0])
SHARES = np.random.default_rng(5).dirichlet(np.ones(4), (2, 3))


def functions() -> list[Case]:
    def f(t: Any) -> Any:
        return t.nn.functional

    cases = []

    def add(name: str, mine: Any, other: Any, *shapes: tuple[int, ...], **options: Any) -> None:
        cases.append(Case(name, mine, other, shapes, **options))

    for rank, shape in RANKS.items():
        *lead, _, width = shape
        qkv = [shape, (*lead, 3, width), (*lead, 3, width)]
        add(f"softmax rank {rank}", F.softmax, lambda t, x: x.softmax(-1), shape)
        add(f"log_softmax rank {rank}", F.log_softmax, lambda t, x: x.log_softmax(-1), shape)
        add(f"layer_norm rank {rank}", F.layer_norm, lambda t, x, a, b: f(t).layer_norm(x, a.shape, a, b, 1e-5),
            shape, (4,), (4,))  # fmt: skip
        add(f"rms_norm rank {rank}", F.rms_norm, lambda t, x, a: f(t).rms_norm(x, a.shape, a, 1e-5), shape, (4,))
        add(f"attention rank {rank}", F.attention, lambda t, q, k, v: f(t).scaled_dot_product_attention(q, k, v), *qkv)
        add(f"causal attention rank {rank}", lambda q, k, v: F.attention(q, k, v, "causal"),
            lambda t, q, k, v: f(t).scaled_dot_product_attention(q, k, v, is_causal=True), *qkv)  # fmt: skip
        for kind, mask in (("boolean", SEES), ("additive", ADDED)):
            add(f"attention, {kind} mask, rank {rank}", lambda q, k, v, mask=mask: F.attention(q, k, v, mask),
                lambda t, q, k, v, mask=mask: f(t).scaled_dot_product_attention(q, k, v, t.tensor(mask)),
                *qkv)  # fmt: skip
        add(f"feed_forward rank {rank}", F.feed_forward,
            lambda t, x, w1, b1, w2, b2: (x @ w1 + b1).relu() @ w2 + b2, shape, (4, 5), (5,), (5, 4), (4,))  # fmt: skip
        add(f"swiglu rank {rank}", F.swiglu, lambda t, x, g, u, d: (f(t).silu(x @ g) * (x @ u)) @ d,
            shape, (4, 5), (4, 5), (5, 4))  # fmt: skip
    add("attention weights", F.attention_weights,
        lambda t, q, k: (q @ k.mT / 2.0).softmax(-1), (2, 3, 4), (2, 5, 4))  # fmt: skip
    add("attention, mask with a gradient", F.attention,
        lambda t, q, k, v, m: f(t).scaled_dot_product_attention(q, k, v, m),
        (3, 4), (5, 4), (5, 2), (3, 5))  # fmt: skip
    add("gelu", F.gelu, lambda t, x: f(t).gelu(x), (3, 4))
    add("gelu tanh", lambda x: F.gelu(x, approximate="tanh"), lambda t, x: f(t).gelu(x, approximate="tanh"), (3, 4))
    add("embedding", lambda table: F.embedding(table, IDS), lambda t, table: table[t.tensor(IDS)], (5, 3))
    add("rotate", F.rotate, turned, (2, 3, 4))
    for reduction in ("mean", "sum", "none"):
        settings = {"reduction": reduction}
        for name, targets, extra in (
            ("whole numbers", CLASSES, {}),
            ("ignored", SKIPPED, {"ignore_index": -1}),
            ("smoothed", CLASSES, {"label_smoothing": 0.1}),
            ("ignored and smoothed", SKIPPED, {"ignore_index": -1, "label_smoothing": 0.1}),
            ("probabilities", SHARES, {}),
            ("smoothed probabilities", SHARES, {"label_smoothing": 0.1}),
            ("weighted", CLASSES, {"weight": WEIGHTS}),
            ("weighted, ignored", SKIPPED, {"ignore_index": -1, "weight": WEIGHTS}),
            ("weighted, smoothed", SKIPPED, {"ignore_index": -1, "label_smoothing": 0.1, "weight": WEIGHTS}),
            ("weighted, smoothed probabilities", SHARES, {"label_smoothing": 0.1, "weight": WEIGHTS}),
        ):
            add(f"cross_entropy {name} {reduction}",
                lambda z, y=targets, s={**settings, **extra}: F.cross_entropy(z, y, **s),
                lambda t, z, y=targets, s={**settings, **extra}: f(t).cross_entropy(
                    z.movedim(-1, 1), t.tensor(y).movedim(-1, 1) if y.ndim == 3 else t.tensor(y),
                    **{key: t.tensor(x) if key == "weight" else x for key, x in s.items()}),
                (2, 3, 4))  # fmt: skip
        add(f"binary_cross_entropy {reduction}", lambda p, s=settings: F.binary_cross_entropy(p, ANSWERS, **s),
            lambda t, p, s=settings: f(t).binary_cross_entropy(p, t.tensor(ANSWERS), **s), (2, 3),
            between=(0.05, 0.95))  # fmt: skip
        add(f"binary_cross_entropy_with_logits {reduction}",
            lambda z, s=settings: F.binary_cross_entropy_with_logits(z, ANSWERS, **s),
            lambda t, z, s=settings: f(t).binary_cross_entropy_with_logits(z, t.tensor(ANSWERS), **s),
            (2, 3))  # fmt: skip
        add(f"binary_cross_entropy_with_logits, positives weighted, {reduction}",
            lambda z, s=settings: F.binary_cross_entropy_with_logits(z, ANSWERS, pos_weight=WEIGHTS[:3], **s),
            lambda t, z, s=settings: f(t).binary_cross_entropy_with_logits(
                z, t.tensor(ANSWERS), pos_weight=t.tensor(WEIGHTS[:3]), **s),
            (2, 3))  # fmt: skip
        add(f"mse {reduction}", lambda x, s=settings: F.mse(x, ANSWERS, **s),
            lambda t, x, s=settings: f(t).mse_loss(x, t.tensor(ANSWERS), **s), (2, 3))  # fmt: skip
    return cases


def layers() -> list[Case]:
    cases = []

    def add(name: str, make: Any, other: Any, *shapes: tuple[int, ...], mine: Any = None) -> None:
        cases.append(Case(name, mine or (lambda module, *xs: module(*xs)), other, shapes, make))

    for rank, shape in RANKS.items():
        add(f"Linear rank {rank}", lambda: nn.Linear(4, 3), lambda t, p, x: linear(p, x, ""), shape)
        add(f"LayerNorm rank {rank}", lambda: nn.LayerNorm(4), lambda t, p, x: normalised(t, p, x, ""), shape)
        add(f"RMSNorm rank {rank}", lambda: nn.RMSNorm(4), lambda t, p, x: normalised(t, p, x, ""), shape)
        add(f"MultiHeadAttention rank {rank}", lambda: nn.MultiHeadAttention(4, 2),
            lambda t, p, x: attended(t, p, x, 2), shape)  # fmt: skip
        add(f"MultiHeadAttention causal rank {rank}", lambda: nn.MultiHeadAttention(4, 2, causal=True),
            lambda t, p, x: attended(t, p, x, 2, causal=True), shape)  # fmt: skip
        add(f"MultiHeadAttention grouped rank {rank}",
            lambda: nn.MultiHeadAttention(8, 4, n_kv_heads=2, causal=True),
            lambda t, p, x: attended(t, p, x, 4, 2, causal=True), (*shape[:-1], 8))  # fmt: skip
        for activation in ("relu", "gelu", "gelu_tanh", "swiglu"):
            add(f"FeedForward {activation} rank {rank}", lambda a=activation: nn.FeedForward(4, 6, a),
                lambda t, p, x, a=activation: fed_forward(t, p, x, a), shape)  # fmt: skip
        for pre_norm in (True, False):
            add(f"TransformerBlock {'pre' if pre_norm else 'post'}-norm rank {rank}",
                lambda pre=pre_norm: nn.TransformerBlock(4, 2, 8, causal=True, pre_norm=pre),
                lambda t, p, x, pre=pre_norm: block(t, p, x, 2, causal=True, pre_norm=pre), shape)  # fmt: skip
    add("Linear without bias", lambda: nn.Linear(4, 3, bias=False), lambda t, p, x: linear(p, x, ""), (2, 4))
    add("Linear on a vector", lambda: nn.Linear(4, 3), lambda t, p, x: linear(p, x, ""), (4,))
    add("MultiHeadAttention rotary", lambda: nn.MultiHeadAttention(8, 2, rotary=True, causal=True),
        lambda t, p, x: attended(t, p, x, 2, rotary=True, causal=True), (2, 3, 8))  # fmt: skip
    add("MultiHeadAttention one head", lambda: nn.MultiHeadAttention(4, 1),
        lambda t, p, x: attended(t, p, x, 1), (3, 4))  # fmt: skip
    add("MultiHeadAttention of one token", lambda: nn.MultiHeadAttention(4, 2, causal=True),
        lambda t, p, x: attended(t, p, x, 2, causal=True), (2, 1, 4))  # fmt: skip
    add("MultiHeadAttention without bias", lambda: nn.MultiHeadAttention(4, 2, bias=False),
        lambda t, p, x: attended(t, p, x, 2), (2, 3, 4))  # fmt: skip
    for kind, mask in (("boolean", SEES), ("additive", ADDED)):
        add(f"MultiHeadAttention {kind} mask", lambda: nn.MultiHeadAttention(4, 2),
            lambda t, p, x, mask=mask: attended(t, p, x, 2, mask=mask), (2, 3, 4),
            mine=lambda module, x, mask=mask: module(x, mask=mask))  # fmt: skip
    add("MultiHeadAttention to a context", lambda: nn.MultiHeadAttention(4, 2),
        lambda t, p, x, c: attended(t, p, x, 2, context=c), (2, 3, 4), (2, 5, 4))  # fmt: skip
    add("MultiHeadAttention to a wider context", lambda: nn.MultiHeadAttention(4, 2, d_context=6),
        lambda t, p, x, c: attended(t, p, x, 2, context=c), (2, 3, 4), (2, 5, 6))  # fmt: skip
    add("TransformerBlock with RMS norms and swiglu",
        lambda: nn.TransformerBlock(4, 2, 6, norm="rms", activation="swiglu", bias=False),
        lambda t, p, x: block(t, p, x, 2, activation="swiglu"), (2, 3, 4))  # fmt: skip
    add("Sequential", lambda: nn.Sequential(nn.Linear(4, 5), F.relu, nn.Linear(5, 2)),
        lambda t, p, x: linear(p, linear(p, x, "layers.0.").relu(), "layers.2."), (3, 4))  # fmt: skip
    add("Embedding", lambda: nn.Embedding(5, 3), lambda t, p: p["weight"][t.tensor(IDS)],
        mine=lambda module: module(IDS))  # fmt: skip
    add("MLP", lambda: nn.MLP(3, [4, 2], rng=0), scalar_mlp, (5, 3))
    for name, settings, other in (
        ("", {}, {}),
        (" tied", {"tie_weights": True}, {}),
        (" rotary, grouped, RMS", {"positions": "rotary", "n_kv_heads": 1, "norm": "rms"}, {"kv_heads": 1}),
        (" sinusoidal, gelu", {"positions": "sinusoidal", "activation": "gelu"}, {"activation": "gelu"}),
    ):
        other = {"positions": settings.get("positions", "learned"), "activation": "gelu_tanh", **other}
        add(f"GPT{name}", lambda s=settings: nn.GPT(5, 6, 4, 2, 2, **s),
            lambda t, p, o=other: gpt(t, p, IDS, 2, 2, **o), mine=lambda module: module(IDS))  # fmt: skip
    return cases


def scalar_mlp(t: Any, p: Any, x: Any) -> Any:
    """The network of neurons, written with its scalar weights gathered into matrices."""
    for i, (n_out, n_in) in enumerate(((4, 3), (2, 4))):
        w = t.stack([t.stack([p[f"layers.{i}.neurons.{j}.w.{k}"] for k in range(n_in)]) for j in range(n_out)])
        b = t.stack([p[f"layers.{i}.neurons.{j}.b"] for j in range(n_out)])
        x = x @ w.T + b
        x = x.relu() if i == 0 else x
    return x


CASES = [*functions(), *layers()]
