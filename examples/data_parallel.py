"""A GPT trained on several devices: each gets a part of the batch, and their gradients are added up.

    python -m examples.data_parallel               8 devices, which JAX simulates on any processor
    python -m examples.data_parallel --real        all devices that JAX finds: its GPUs or TPUs, on every host

The loss is compiled to a program (`autograd.compile`) and the program is handed to JAX (`pip install 'handgrad[jax]'`).
What is written for one device is all there is: `devices=` cuts the ids and targets along their first axis, copies the
parameters to every device, and XLA adds up the gradients. The losses are those of one device, to rounding.

On several hosts, start this file on each with `jax.distributed.initialize(...)` called first (docs/compile.md).
"""

from __future__ import annotations

import argparse
import os
from typing import Any

import numpy as np

import nn
from autograd import compile
from examples.char_gpt import ALPHABET, IGNORED, as_ids, words
from nn import functional as F


def simulate(devices: int) -> None:
    """Ask JAX for so many devices on one processor; it must not have been used yet."""
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={devices}".strip()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")


def loss(model: nn.GPT, read: Any, following: Any) -> Any:
    """Cross-entropy a letter."""
    return F.cross_entropy(model(read), following, ignore_index=IGNORED)


def run(
    devices: int | None, *, steps: int = 40, rows: int = 64, d_model: int = 32, n_layers: int = 2, seed: int = 0,
    backend: str = "jax",
) -> dict[str, Any]:  # fmt: skip
    """Train a GPT to spell; the losses, one a step, and the model."""
    every = words()
    length = max(map(len, every)) + 1
    read, following = as_ids(every, length)
    model = nn.GPT(len(ALPHABET), length, d_model, 4, n_layers, rng=seed)
    optimizer = nn.optim.AdamW(model, lr=4e-3)
    compiled = compile(loss, backend, devices=devices)
    rng = np.random.default_rng(seed)
    losses = []
    for _ in range(steps):
        picked = rng.integers(0, len(every), rows)
        value, (grads, *_) = compiled(model, read[picked], following[picked])
        for name, parameter in model.named_parameters():
            parameter.grad = grads[name]
        optimizer.step()
        losses.append(float(value))
    return {"losses": losses, "model": model}


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--devices", type=int, default=8, help="how many to simulate (8)")
    reader.add_argument("--real", action="store_true", help="use all devices that JAX finds instead")
    reader.add_argument("--steps", type=int, default=40)
    asked = reader.parse_args()
    if not asked.real:
        simulate(asked.devices)
    import jax

    devices = jax.device_count() if asked.real else asked.devices
    rows = 64 - 64 % devices or devices
    print(f"{devices} devices of {jax.process_count()} process(es): {jax.devices()[0].device_kind}")
    losses = run(devices, steps=asked.steps, rows=rows)["losses"]
    print(f"loss a letter: {losses[0]:.4f} at first, {losses[-1]:.4f} after {len(losses)} steps")
    alone = run(None, steps=asked.steps, rows=rows)["losses"]
    apart = max(abs(a - b) for a, b in zip(losses, alone))
    print(f"on one device: {alone[-1]:.4f}; the losses of no step differ by more than {apart:.1e}")


if __name__ == "__main__":
    main()
