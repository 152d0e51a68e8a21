"""A GPT that learns to spell: letter by letter, from a list of animals, until it makes up animals of its own.

    python -m examples.char_gpt            trains in under two minutes, saves pictures to out/char_gpt/

`words.txt` holds one word a line. A word becomes ids: 0 for the dot that opens and closes it, 1 to 26 for its letters.
At each place the model is asked for the next id. One word in ten is kept back, to see whether it learns spelling or
only the list.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import nn
from examples.pictures import save_pictures
from nn import functional as F

WORDS = Path(__file__).with_name("words.txt")
ALPHABET = ".abcdefghijklmnopqrstuvwxyz"
DOT = 0
STEPS = 500
IGNORED = -1


def words() -> list[str]:
    """The list, one lower-case word a line."""
    return WORDS.read_text(encoding="utf-8").split()


def as_ids(chosen: list[str], length: int) -> tuple[np.ndarray, np.ndarray]:
    """Words as ids, padded to one length: what is read (.cat) and what comes next (cat.)."""
    read = np.zeros((len(chosen), length), dtype=int)
    following = np.full((len(chosen), length), IGNORED)
    for row, word in enumerate(chosen):
        ids = [ALPHABET.index(letter) for letter in word]
        read[row, 1 : len(ids) + 1] = ids
        following[row, : len(ids) + 1] = [*ids, DOT]
    return read, following


def spelled(ids: np.ndarray) -> str:
    """Generated ids as a word: up to the closing dot."""
    return "".join(ALPHABET[i] for i in ids[1:]).partition(".")[0]


def run(
    *, steps: int = STEPS, d_model: int = 32, n_heads: int = 4, n_layers: int = 2, dropout: float = 0.2,
    lr: float = 4e-3, samples: int = 40, temperature: float = 0.8, seed: int = 0, checkpoint: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """Train on nine tenths of the words; report the loss per letter on both parts, and make up some words."""
    every = words()
    length = max(map(len, every)) + 1
    order = np.random.default_rng(seed).permutation(len(every))
    kept_back = [every[i] for i in order[: len(every) // 10]]
    known = [every[i] for i in order[len(every) // 10 :]]
    model = nn.GPT(len(ALPHABET), length, d_model, n_heads, n_layers, rng=seed, dropout=dropout, dtype=np.float32)

    def loss(read: Any, following: Any) -> Any:
        return F.cross_entropy(model(read), following, ignore_index=IGNORED)

    held_out, seen = as_ids(kept_back, length), as_ids(known, length)
    schedule = nn.optim.warmup(nn.optim.cosine(lr, steps, floor=lr / 20), 50)
    optimizer = nn.optim.AdamW(model, lr=schedule, weight_decay=0.1)
    history = nn.fit(
        model, loss, seen, optimizer, steps=steps, batch_size=64, clip=1.0, seed=seed, checkpoint=checkpoint,
        evaluate=lambda: loss(*held_out), every=max(steps // 20, 1),
    )  # fmt: skip
    made = model.generate(np.full((samples, 1), DOT), length - 1, temperature=temperature, rng=seed, stop=DOT)
    spellings = [spelled(row) for row in made]
    return {
        "model": model,
        "history": history,
        "loss": nn.train.evaluated(model, lambda: loss(*seen)),
        "held-out loss": nn.train.evaluated(model, lambda: loss(*held_out)),
        "words": spellings,
        "new words": [word for word in dict.fromkeys(spellings) if word and word not in every],
    }


def attention_maps(model: nn.GPT, word: str) -> dict[str, np.ndarray]:
    """What each letter of a word looks at, in each head of the last layer."""
    ids = np.array([DOT, *(ALPHABET.index(letter) for letter in word)])
    return {f"head {i}": head for i, head in enumerate(model.attention_maps(ids)[-1], start=1)}


def attention_picture(model: nn.GPT, word: str, path: Path) -> None:
    """The same, drawn."""
    from nn.plot import maps

    letters = f".{word}"
    maps(attention_maps(model, word), path, f"what each letter of {word} looks at", x_labels=letters, y_labels=letters)


def main() -> None:
    folder = Path("out/char_gpt")
    folder.mkdir(parents=True, exist_ok=True)  # for the checkpoint
    print(f"{len(words())} words; guessing at random costs ln {len(ALPHABET)} = {np.log(len(ALPHABET)):.3f} a letter")
    found = run(checkpoint=folder / "checkpoint.safetensors")
    if found["history"].stopped:
        print(f"{found['history'].stopped} after {found['history'].steps} steps; what it can by then:")
    print(found["model"])
    print(f"loss a letter: {found['loss']:.3f} on the words it saw, {found['held-out loss']:.3f} on words kept back")
    print("new words:", ", ".join(found["new words"]))
    save_pictures(folder, {
        "loss.svg": lambda path: found["history"].plot(path, title="spelling animals: cross-entropy a letter"),
        "attention.png": lambda path: attention_picture(found["model"], "nightingale", path),
    })  # fmt: skip


if __name__ == "__main__":
    main()
