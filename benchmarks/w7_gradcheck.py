"""W7: a gradient check of self-attention over every input entry: x and the weights of q, k and v.

8 tokens of width 4 make 80 entries, 24 tokens of width 16 make 1,152. torch's `gradcheck` runs in full mode. Each
library is asked twice: with its own attention, and with attention written out.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from benchmarks import harness
from benchmarks.harness import US

SIZES = {80: (8, 4), 1152: (24, 16)}  # entries: (tokens, width)
MARKS = {80: 50, 1152: 14}


def inputs(tokens: int, width: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(tokens, width)), *(rng.normal(size=(width, width)) for _ in "qkv")]


def with_handgrad(arrays: list[np.ndarray], written_out: bool = False) -> Callable[[], object]:
    import autograd

    def attention(x, wq, wk, wv):
        q, k, v = x @ wq, x @ wk, x @ wv
        if written_out:
            return autograd.softmax(q @ k.mT / math.sqrt(q.shape[-1])) @ v
        return autograd.attention(q, k, v)

    def check() -> None:
        report = autograd.check_grads(attention, *arrays)
        assert report.ok, report

    return check


def with_torch(arrays: list[np.ndarray], written_out: bool) -> Callable[[], object]:
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    def attention(x, wq, wk, wv):
        q, k, v = x @ wq, x @ wk, x @ wv
        if written_out:
            return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1) @ v
        return scaled_dot_product_attention(q[None], k[None], v[None])[0]

    torch.set_num_threads(1)
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]

    def check() -> None:
        assert torch.autograd.gradcheck(attention, leaves)

    return check


def main() -> None:
    harness.pin()
    torch_is_here = "torch" in harness.those_installed(["torch"])
    for entries, (tokens, width) in SIZES.items():
        harness.heading(f"W7: gradient check of attention, all {entries:,} input entries")
        arrays = inputs(tokens, width)
        contenders = {US: with_handgrad(arrays), f"{US}, written out": with_handgrad(arrays, written_out=True)}
        if torch_is_here:
            contenders["torch gradcheck"] = with_torch(arrays, written_out=False)
            contenders["torch gradcheck, written out"] = with_torch(arrays, written_out=True)
        timings = harness.take_turns(contenders, rounds=15)
        harness.table(("contender", "one check", f"× {US}'s time"), harness.standing(timings, of=US))
        if torch_is_here:
            for peer in ("torch gradcheck", "torch gradcheck, written out"):
                harness.aim(f"times as fast as {peer}", timings.ratio(peer, to=US), at_least=MARKS[entries])
            print()


if __name__ == "__main__":
    main()
