"""W4: a training step of a small GPT: vocabulary 65, block 64, width 128, 4 heads, 4 layers, batch 16, AdamW.

818,000 parameters, in float32 and in float64. All contenders start from our model's weights and are held to the
same losses. The last column is the peak of memory in a few steps, model and optimizer included.
"""

from __future__ import annotations

import functools
import json
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import US

VOCABULARY, BLOCK, WIDTH, HEADS, LAYERS, BATCH = 65, 64, 128, 4, 4, 16
RATE, DECAY = 1e-3, 0.01
EPS = 1e-5
MARKS = {"float32": 1.10, "float64": 0.92}
TOLERANCE = {"float32": 2e-4, "float64": 1e-9}
TORCH_EAGER, TORCH_COMPILED = ("torch", "torch, fused AdamW"), "torch, torch.compile"

Step = Callable[[], float]  # one training step; gives the loss


def batch() -> tuple[np.ndarray, np.ndarray]:
    ids = np.random.default_rng(0).integers(VOCABULARY, size=(BATCH, BLOCK + 1))
    return ids[:, :-1], ids[:, 1:]


def model(dtype: str) -> Any:
    from nn import GPT

    return GPT(VOCABULARY, BLOCK, WIDTH, HEADS, LAYERS, rng=0, dtype=np.dtype(dtype))


def initial_weights(dtype: str) -> dict[str, np.ndarray]:
    """Our model's parameters, by dotted name; weights are (in, out)."""
    return model(dtype).state_dict()


def with_handgrad(dtype: str) -> Step:
    from nn import keep_freed_memory
    from nn.optim import AdamW

    keep_freed_memory()
    gpt = model(dtype)
    optimizer = AdamW(gpt.parameters(), RATE, DECAY)
    ids, targets = batch()

    def step() -> float:
        loss = gpt.loss(ids, targets)
        gpt.zero_grad()
        loss.backward()
        optimizer.step()
        return float(loss)

    return step


def with_compiled(backend: str, dtype: str) -> Step:
    """The same with the loss and its gradients compiled."""
    from autograd import compile
    from nn import keep_freed_memory
    from nn.optim import AdamW

    keep_freed_memory()
    gpt = model(dtype)
    optimizer = AdamW(gpt.parameters(), RATE, DECAY)
    ids, targets = batch()
    program = compile(lambda gpt, ids, targets: gpt.loss(ids, targets), backend)

    def step() -> float:
        loss, (gradients, *_) = program(gpt, ids, targets)
        for name, parameter in gpt.named_parameters():
            parameter.grad = gradients[name]
        optimizer.step()
        return float(loss)

    return step


def with_torch(dtype: str, fused_optimizer: bool = False, compiled: bool = False) -> Step:
    import torch
    from torch.nn import functional as F

    torch.set_num_threads(1)
    p = {name: torch.tensor(a, requires_grad=True) for name, a in initial_weights(dtype).items()}
    # As torch keeps them, (out, in), so that `F.linear` finds them in its own layout.
    for name, tensor in p.items():
        if tensor.ndim == 2 and not name.startswith(("tokens", "positions")):
            p[name] = tensor.detach().T.contiguous().requires_grad_()
    optimizer = torch.optim.AdamW(list(p.values()), lr=RATE, weight_decay=DECAY, fused=fused_optimizer)
    ids, targets = (torch.tensor(a) for a in batch())

    def norm(x: Any, name: str) -> Any:
        return F.layer_norm(x, (WIDTH,), p[f"{name}.gamma"], p[f"{name}.beta"], EPS)

    def linear(x: Any, name: str) -> Any:
        return F.linear(x, p[f"{name}.weight"], p.get(f"{name}.bias"))

    def heads(x: Any) -> Any:
        return x.view(BATCH, BLOCK, HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward() -> Any:
        x = F.embedding(ids, p["tokens.weight"]) + p["positions.weight"]
        for i in range(LAYERS):
            block = f"blocks.{i}"
            q, k, v = linear(norm(x, f"{block}.norm1"), f"{block}.attention.qkv").split(WIDTH, dim=-1)
            mixed = F.scaled_dot_product_attention(heads(q), heads(k), heads(v), is_causal=True)
            x = x + linear(mixed.transpose(1, 2).reshape(BATCH, BLOCK, WIDTH), f"{block}.attention.out")
            hidden = linear(norm(x, f"{block}.norm2"), f"{block}.feed_forward.up")
            x = x + linear(F.gelu(hidden, approximate="tanh"), f"{block}.feed_forward.down")
        return linear(norm(x, "norm"), "head")

    def loss_now() -> Any:
        return F.cross_entropy(forward().view(-1, VOCABULARY), targets.reshape(-1))

    loss_of_step = torch.compile(loss_now) if compiled else loss_now

    def step() -> float:
        loss = loss_of_step()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def with_torch_fused(dtype: str) -> Step:
    return with_torch(dtype, fused_optimizer=True)


def with_torch_compiled(dtype: str) -> Step:
    return with_torch(dtype, fused_optimizer=True, compiled=True)


def with_jax(dtype: str) -> Step:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    ids, targets = (jnp.asarray(a) for a in batch())
    causal = jnp.tril(jnp.ones((BLOCK, BLOCK), dtype=bool))

    def forward(p: Any) -> Any:
        def norm(x: Any, name: str) -> Any:
            scale = jax.lax.rsqrt(x.var(-1, keepdims=True) + EPS)
            return (x - x.mean(-1, keepdims=True)) * scale * p[f"{name}.gamma"] + p[f"{name}.beta"]

        def linear(x: Any, name: str) -> Any:
            out = x @ p[f"{name}.weight"]
            return out + p[f"{name}.bias"] if f"{name}.bias" in p else out

        def heads(x: Any) -> Any:
            return x.reshape(BATCH, BLOCK, HEADS, WIDTH // HEADS).swapaxes(1, 2)

        x = p["tokens.weight"][ids] + p["positions.weight"]
        for i in range(LAYERS):
            block = f"blocks.{i}"
            q, k, v = map(heads, jnp.split(linear(norm(x, f"{block}.norm1"), f"{block}.attention.qkv"), 3, axis=-1))
            scores = jnp.where(causal, q @ k.mT / math.sqrt(WIDTH // HEADS), -jnp.inf)
            mixed = (jax.nn.softmax(scores) @ v).swapaxes(1, 2).reshape(BATCH, BLOCK, WIDTH)
            x = x + linear(mixed, f"{block}.attention.out")
            hidden = linear(norm(x, f"{block}.norm2"), f"{block}.feed_forward.up")
            x = x + linear(jax.nn.gelu(hidden, approximate=True), f"{block}.feed_forward.down")
        return linear(norm(x, "norm"), "head")

    def loss_of(p: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(forward(p)), targets[..., None], axis=-1).mean()

    def update(p: Any, m: Any, v: Any, t: Any) -> Any:
        loss, g = jax.value_and_grad(loss_of)(p)
        m = {name: 0.9 * m[name] + 0.1 * g[name] for name in p}
        v = {name: 0.999 * v[name] + 0.001 * g[name] ** 2 for name in p}
        moved = {
            name: p[name] * (1 - RATE * DECAY)
            - RATE * (m[name] / (1 - 0.9**t)) / (jnp.sqrt(v[name] / (1 - 0.999**t)) + 1e-8)
            for name in p
        }
        return loss, moved, m, v

    jitted = jax.jit(update, donate_argnums=(0, 1, 2))
    weights = initial_weights(dtype)
    state = [{name: jnp.asarray(a) for name, a in weights.items()}]
    state += [{name: jnp.zeros_like(a) for name, a in state[0].items()} for _ in range(2)]
    steps = 0

    def step() -> float:
        nonlocal state, steps
        steps += 1
        loss, *state = jitted(*state, np.dtype(dtype).type(steps))
        return float(loss)

    return step


CONTENDERS: dict[str, Callable[[str], Step]] = {
    US: with_handgrad,
    **{f"{US}, compiled, {backend}": functools.partial(with_compiled, backend) for backend in harness.backends()},
    "torch": with_torch,
    "torch, fused AdamW": with_torch_fused,
    TORCH_COMPILED: with_torch_compiled,
    "jax, jit": with_jax,
}


def memory(name: str, dtype: str) -> float:
    """MiB by which the peak of this process in a few steps exceeds what it held before; imports do not count."""
    if not name.startswith(US):
        __import__(name.split(",")[0])
    initial_weights(dtype)
    before = harness.memory_now("VmRSS")
    step = CONTENDERS[name](dtype)
    for _ in range(4):
        step()
    return (harness.memory_now("VmHWM") - before) / 2**20


def main() -> None:
    harness.pin()
    names = harness.those_installed(CONTENDERS)
    for dtype, mark in MARKS.items():
        harness.heading(f"W4: one training step of a GPT of {LAYERS} layers, width {WIDTH}, batch {BATCH}, {dtype}")
        contenders = {name: CONTENDERS[name](dtype) for name in names}
        first, losses = {}, {}
        for name, step in contenders.items():
            first[name], loss = harness.first_step(step)
            losses[name] = [[loss, *(step() for _ in range(3))]]
        harness.assert_same(losses, TOLERANCE[dtype])
        timings = harness.take_turns(contenders, rounds=9)
        timings.first = first
        grown = {name: harness.call_process("benchmarks.w4_gpt", name, dtype) for name in names}
        rival = timings.fastest(TORCH_EAGER) if "torch" in names else US
        rows = [(*row, f"{grown[row[0]]:.0f} MiB") for row in harness.standing(timings, of=rival)]
        harness.table(("contender", "one step", f"× {rival}", "first step", "memory"), rows)
        if rival != US:
            harness.aim(f"{dtype}, of torch's time", timings.ratio(US, to=rival), at_most=mark)
            harness.aim(f"{dtype}, of torch's memory", grown[US] / grown["torch"], at_most=1.5)
        if f"{US}, compiled, c" in timings:
            share = timings.ratio(f"{US}, compiled, c", to=US)
            harness.aim(f"{dtype}, compiled to C, of our own eager step", share, at_most=0.85)
            harness.aim("seconds of its first step", first[f"{US}, compiled, c"], at_most=5.0)
        print()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(memory(sys.argv[1], sys.argv[2])))
    else:
        main()
