"""Copy and reverse: a task that attention solves, and a network without attention cannot.

    python -m examples.copy_reverse        trains three models in seconds, saves pictures to out/copy_reverse/

A sequence such as  c a d b b f | f b b d a c  has a first half of random letters, a bar, and the letters again, in
order or reversed. The model reads from left to right and is asked, from the bar on, for the next letter. To know it,
it has to look back to one particular place. A GPT of two layers learns to; the same network with its attention taken
out sees only the letter before and its position, and stays at guessing, one letter in `letters`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import nn
from autograd import no_grad
from examples.pictures import save_pictures
from nn import functional as F

LETTERS = 8
LENGTH = 6
STEPS = 300
IGNORED = -1  # a target that does not count: what comes next in the first half is chance


class PerToken(nn.Module):
    """The GPT without its attention: each position is worked on on its own."""

    def __init__(self, vocab_size: int, block_size: int, d_model: int, n_layers: int, rng: Any, dtype: Any) -> None:
        rng = nn.init.generator(rng)
        self.tokens = nn.Embedding(vocab_size, d_model, rng, 0.02, dtype)
        self.positions = nn.LearnedPositions(block_size, d_model, rng, dtype=dtype)
        self.norms = [nn.LayerNorm(d_model, dtype=dtype) for _ in range(n_layers)]
        self.layers = [nn.FeedForward(d_model, 4 * d_model, "gelu_tanh", rng=rng, dtype=dtype) for _ in range(n_layers)]
        self.head = nn.Linear(d_model, vocab_size, bias=False, rng=rng, dtype=dtype)

    def forward(self, ids: Any) -> Any:
        x = self.positions(self.tokens(ids))
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + layer(norm(x))
        return self.head(x)


def sequences(rng: np.random.Generator, n: int, task: str, length: int, letters: int) -> tuple[np.ndarray, np.ndarray]:
    """n sequences without their last letter, and what comes next at each place: (n, 2 · length) twice."""
    first = rng.integers(0, letters, (n, length))
    second = {"copy": first, "reverse": first[:, ::-1]}[task]
    whole = np.concatenate([first, np.full((n, 1), letters), second], axis=1)
    targets = whole[:, 1:].copy()
    targets[:, :length] = IGNORED
    return whole[:, :-1], targets


def share_right(model: nn.Module, ids: np.ndarray, targets: np.ndarray) -> float:
    """How many of the letters that count are predicted."""
    with no_grad():
        guesses = model(ids).data.argmax(axis=-1)
    counted = targets != IGNORED
    return float(np.mean(guesses[counted] == targets[counted]))


def train(
    task: str, attention: bool, *, steps: int = STEPS, length: int = LENGTH, letters: int = LETTERS,
    d_model: int = 32, seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """One model on one task; right or not is counted on 500 sequences it has not seen."""
    size = {"vocab_size": letters + 1, "block_size": 2 * length, "d_model": d_model, "rng": seed, "dtype": np.float32}
    model = nn.GPT(n_heads=2, n_layers=2, **size) if attention else PerToken(n_layers=2, **size)

    def loss(ids: Any, targets: Any) -> Any:
        return F.cross_entropy(model(ids), targets, ignore_index=IGNORED)

    optimizer = nn.optim.AdamW(model, lr=nn.optim.warmup(nn.optim.cosine(6e-3, steps), 50))
    history = nn.fit(model, loss, lambda rng: sequences(rng, 64, task, length, letters), optimizer, steps=steps,
                     clip=1.0, seed=seed)  # fmt: skip
    unseen = sequences(np.random.default_rng((seed, 999)), 500, task, length, letters)
    return {"model": model, "history": history, "accuracy": share_right(model, *unseen), "loss": history.losses[-1]}


def run(**settings: Any) -> dict[str, dict[str, Any]]:
    """Copy and reverse with attention, and reverse without."""
    return {
        "copy": train("copy", True, **settings),
        "reverse": train("reverse", True, **settings),
        "reverse without attention": train("reverse", False, **settings),
    }


def attention_maps(model: nn.GPT, ids: np.ndarray) -> dict[str, np.ndarray]:
    """The weights of every head on one sequence, by layer and head: what each position looks at."""
    return {
        f"layer {layer}, head {head}": weights
        for layer, heads in enumerate(model.attention_maps(ids), start=1)
        for head, weights in enumerate(heads, start=1)
    }


def written(ids: np.ndarray, letters: int = LETTERS) -> list[str]:
    """Ids as letters, the bar as |."""
    return ["|" if i == letters else "abcdefghijklmnopqrstuvwxyz"[i] for i in ids]


def loss_picture(found: dict[str, dict[str, Any]], path: Path) -> None:
    """The losses of the three models, step by step."""
    from nn.plot import curves

    series = {name: (range(1, STEPS + 1), result["history"].losses) for name, result in found.items()}
    curves(series, path, title="copy and reverse: cross-entropy", x_label="step", y_label="loss")


def attention_picture(model: nn.GPT, path: Path) -> None:
    """What each position of one sequence looks at, head by head."""
    from nn.plot import maps

    ids, _ = sequences(np.random.default_rng(5), 1, "reverse", LENGTH, LETTERS)
    names = written(ids[0])
    title = "what each position looks at while reversing"
    maps(attention_maps(model, ids[0]), path, title, x_labels=names, y_labels=names)


def main() -> None:
    found = run()
    print(f"{'':28}{'loss':>8}{'letters right':>16}")
    for name, result in found.items():
        print(f"{name:28}{result['loss']:8.4f}{result['accuracy']:16.1%}")
    print(f"guessing: {1 / LETTERS:.1%}")
    save_pictures(Path("out/copy_reverse"), {
        "loss.svg": lambda path: loss_picture(found, path),
        "attention.png": lambda path: attention_picture(found["reverse"]["model"], path),
    })  # fmt: skip


if __name__ == "__main__":
    main()
