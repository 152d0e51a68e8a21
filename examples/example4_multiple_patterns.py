"""Example 4, multiple patterns: three examples in a batch, their gradients averaged, one update for all.

    handgrad example 4
    handgrad example 4 --set reduction=sum
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograd import Value, step
from autograd.stepping import Stepper
from examples import PLAIN_DRAWING
from examples.mini_transformer import MiniTransformer, Steps, Tables, slopes, vocabulary, without
from examples.page import Page, listed, written
from examples.plots import curve_svg, curve_text
from examples.report import exercises, held_against_print
from nn import functional as F

TITLE = "Example 4: multiple patterns, batch training"
Pattern = tuple[Sequence[str], str]
BATCH: tuple[Pattern, ...] = ((("A", "B"), "C"), (("A", "A"), "D"), (("B", "A"), "C"))
REDUCTIONS = ("mean", "sum")


def run(*, batch: Sequence[Pattern] = BATCH, eta: float = 0.1, update: str = "full", reduction: str = "mean",
        **model: Any) -> Tables:
    """Each pattern's forward pass and gradients (`P2`, `dL/dWO2`), the batch's (`L_mean`, `dL/dWO`), and the update.

    `L` is the loss that is trained: the mean of the patterns' losses, or their sum (`reduction`).

    >>> found = run()
    >>> found["dL/dWO"].round(6).tolist()[0]
    [0.01675, 0.016625, -0.016667, -0.016708]
    """
    mini = MiniTransformer(**model)
    patterns, whole = forward(mini, batch, reduction)
    found = mini.givens() | whole.data() | {"eta": eta, "N": len(batch)}
    over_tokens = []
    for steps in patterns:
        mini.zero_grad()
        steps[f"L{steps.n}"].backward()
        found |= steps.data() | slopes(steps)
        found |= {f"{name}{steps.n}": table for name, table in slopes(mini.weights).items()}
        over_tokens += [f"logit{steps.n}", f"P{steps.n}", f"dL/dlogit{steps.n}", f"P{steps.n}_new"]
    mini.zero_grad()
    whole["L"].backward()
    found |= slopes(mini.weights)
    mini.descend(eta, ["WO4"], update)
    patterns, whole = forward(mini, batch, reduction)
    found |= {f"{name}_new": value.data for steps in (*patterns, whole) for name, value in steps.items()
              if name[0] in "PL"}
    found |= {f"{name}_new": mini.givens()[name] for name in ("WO", "WO4")}
    return found | mini.by_token(found, *over_tokens)


def forward(mini: MiniTransformer, batch: Sequence[Pattern], reduction: str) -> tuple[list[Steps], Steps]:
    """Each pattern through the model, and for the whole batch the mean loss and the loss that is trained."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"reduction: expected one of {', '.join(REDUCTIONS)}, got {reduction!r}")
    patterns = [mini.steps(sequence, target, str(n)) for n, (sequence, target) in enumerate(batch, 1)]
    total = functools.reduce(operator.add, (steps[f"L{steps.n}"] for steps in patterns))
    whole = Steps()
    mean = total / len(batch)
    whole.keep(L_mean=mean)
    whole["L"] = mean if reduction == "mean" else total
    return patterns, whole


TAKES = (run, MiniTransformer)
DRAWINGS = PLAIN_DRAWING


def graph(*, batch: Sequence[Pattern] = BATCH, reduction: str = "mean", **model: Any) -> Value:
    """The batch's loss, after backward."""
    _, whole = forward(MiniTransformer(**without(model, "eta", "update")), batch, reduction)
    loss = whole["L"]
    loss.backward()
    return loss


# ---- the worksheet --------------------------------------------------------------------------------------------------

def main(page: Page | None = None, **given: Any) -> None:
    page = page or Page()
    found = run(**given)
    batch, tokens = given.get("batch", BATCH), list(vocabulary(given.get("tokens")))
    page.title(TITLE, "Goal: learn several patterns at once, from the average of their gradients.")
    page.part("Given")
    for n, (sequence, target) in enumerate(batch, 1):
        page.say(f"{n}. [{', '.join(sequence)}] → {target}")
    for token in tokens:
        page.say(f"{token} = {listed(found[token])}")
    for name in ("WQ", "WK", "WV", "WO", "WO4"):
        page.matrix(name, found[name])
    page.say(f"η = {written(found['eta'])}")
    model = without(given, "batch", "eta", "update", "reduction")
    patterns, _ = forward(MiniTransformer(**model), batch, "mean")
    steps = [step(pattern[f"L{pattern.n}"]) for pattern in patterns]
    page.part("Part 1: forward pass for each pattern")
    for n, (sequence, target) in enumerate(batch, 1):
        page.step(f"Pattern {n}: [{', '.join(sequence)}] → {target}")
        show_pattern(page, steps[n - 1], found, n, sequence)
    page.part("Part 2: gradients for each pattern")
    for n, (sequence, target) in enumerate(batch, 1):
        page.step(f"Pattern {n}: [{', '.join(sequence)}] → {target}")
        page.received(steps[n - 1], f"P{n}", f"logit{n}", f"ctx{n}", "WO4")
    show_average_and_update(page, found, len(batch), given.get("reduction", "mean"))
    page.part("Part 5: better?")
    show_after(page, found, batch, model)
    rows = []
    for n, (_, target) in enumerate(batch, 1):
        rows += [(f"P{n}({target})", found[f"P{n}({target})"], found[f"P{n}_new({target})"]),
                 (f"L{n}", found[f"L{n}"], found[f"L{n}_new"])]
    page.compare("", [*rows, ("L_mean", found["L_mean"], found["L_mean_new"])])
    exercises(page, EXERCISES, given)
    held_against_print(page, "example4", found, given)


def show_pattern(page: Page, steps: Stepper, found: Tables, n: int, sequence: Sequence[str]) -> None:
    page.matrix(f"X{n}", found[f"X{n}"], sequence)
    page.computed(steps, *(f"{name}{n}" for name in "QKV"), entries=False)
    names = ("score", "scaled", *(["masked"] if f"masked{n}" in found else []), "attn", "out", "ctx", "logit", "P", "L")
    page.computed(steps, *(f"{name}{n}" for name in names))


def show_average_and_update(page: Page, found: Tables, count: int, reduction: str) -> None:
    page.part("Part 3: average gradient" if reduction == "mean" else "Part 3: summed gradient")
    slopes = [Value(found[f"dL/dWO{n}"], name=f"∂L{n}/∂WO4") for n in range(1, count + 1)]
    whole = functools.reduce(operator.add, slopes)
    whole = whole / count if reduction == "mean" else whole
    whole.name = "∂L/∂WO4"
    page.computed(step(whole, backward=False), whole.name)
    page.part("Part 4: update")
    page.update("WO4", "dL/dWO", found)


def show_after(page: Page, found: Tables, batch: Sequence[Pattern], model: Mapping[str, Any]) -> None:
    mini = MiniTransformer(**without(model, "WO", "WO_2x4") | {"WO4": found["WO4_new"]})
    for n, (sequence, target) in enumerate(batch, 1):
        steps = step(mini.steps(sequence, target, f"{n}_new")[f"L{n}_new"], backward=False)
        page.computed(steps, f"P{n}_new", f"L{n}_new", entries=False)
    for name in ("L_mean", "L_mean_new"):
        terms = " + ".join(written(found[name.replace("_mean", str(n))]) for n in range(1, len(batch) + 1))
        page.value(name, f"({terms})/{len(batch)}", value=found[name])


# ---- exercises ------------------------------------------------------------------------------------------------------

def batch_loss(page: Page, **given: Any) -> Tables:
    """Exercise 1: the batch's loss, from the patterns and from all of them in one array."""
    found = run(**given)
    count = int(found["N"])
    page.value("L_mean", f"({' + '.join(written(found[f'L{n}']) for n in range(1, count + 1))})/{count}",
               value=found["L_mean"])
    mini = MiniTransformer(**without(given, "batch", "eta", "update", "reduction"))
    stacked = float(stacked_loss(mini, given.get("batch", BATCH)).data)
    page.value("L_mean, all patterns in one array", value=stacked)
    return {"one_by_one": found["L_mean"], "stacked": stacked}


def average_gradients(page: Page, **given: Any) -> Tables:
    """Exercise 2: the average of the patterns' gradients against the gradient of the mean loss."""
    found = run(**given | {"reduction": "mean"})
    average = np.mean([found[f"dL/dWO{n}"] for n in range(1, int(found["N"]) + 1)], axis=0)
    page.matrix("average of dL1/dWO, dL2/dWO, ...", average)
    page.matrix("gradient of the mean loss", found["dL/dWO"])
    page.say(f"largest difference: {float(np.max(np.abs(average - found['dL/dWO']))):.1e}; differentiation is linear.")
    return {"average": average, "of_mean": found["dL/dWO"]}


def epochs(page: Page, count: int = 1000, **given: Any) -> Tables:
    """Exercise 3: many epochs, WO only and all four matrices."""
    history = {label: curve(count, names, given) for label, names in TRAINED.items()}
    page.say(f"{'epoch':>7}" + "".join(f"{label:>14}" for label in history))
    for epoch in (0, 1, 2, 3, 4, 5, 10, 100, 1000):
        if epoch <= count:
            page.say(f"{epoch:>7}" + "".join(f"{curve['loss'][epoch]:>14.6f}" for curve in history.values()))
    page.note("The book's own listing prints 1.385466 in every epoch: it never updates a weight.")
    return history


def all_learned(page: Page, count: int = 200, **given: Any) -> Tables:
    """Exercise 4: the first epoch after which every pattern's most likely token is its target."""
    first = {label: first_all_right(curve(count, names, given)["right"]) for label, names in TRAINED.items()}
    for label, epoch in first.items():
        page.say(f"{label:<9}: all patterns right from epoch {epoch}" if epoch is not None
                 else f"{label:<9}: not all right within {count} epochs")
    return first


def loss_over_time(page: Page, count: int = 1000, **given: Any) -> list[float]:
    """Exercise 5: the loss over time."""
    losses = curve(count, TRAINED["WO only"], given)["loss"]
    page.say(*curve_text(losses))
    page.say("epochs; mean loss with WO only")
    return losses


TRAINED = {"WO only": ("WO4",), "all four": ("WQ", "WK", "WV", "WO4")}


def curve(count: int, names: Sequence[str], given: Mapping[str, Any]) -> dict[str, list[Any]]:
    """What `train` gives. Exercises and plots look at the same training; with the book's numbers it is done once."""
    return train(count, names, **given) if given else by_the_book(count, tuple(names))


@functools.cache
def by_the_book(count: int, names: Sequence[str]) -> dict[str, list[Any]]:
    return train(count, names)


def train(count: int, names: Sequence[str], *, batch: Sequence[Pattern] = BATCH, eta: float = 0.1,
          update: str = "full", reduction: str = "mean", **model: Any) -> dict[str, list[Any]]:
    """Losses before each epoch and after the last, and which patterns were right then."""
    mini = MiniTransformer(**model)
    targets = [mini.index(target) for _, target in batch]
    history: dict[str, list[Any]] = {"loss": [], "right": []}
    for epoch in range(count + 1):
        mini.zero_grad()
        logits = stacked_logits(mini, batch)
        loss = F.cross_entropy(logits, targets, reduction=reduction)
        history["loss"].append(float(loss.data))
        history["right"].append((np.argmax(logits.data, axis=-1) == targets).tolist())
        if epoch < count:
            loss.backward()
            mini.descend(eta, names, update)
    return history


def stacked_logits(mini: MiniTransformer, batch: Sequence[Pattern]) -> Value:
    """The patterns' logits in one array, (patterns, tokens): nn's attention with a leading batch axis."""
    X = np.array([[mini.tokens[token] for token in sequence] for sequence, _ in batch], dtype=float)
    Q, K, V = Value(X, requires_grad=False) @ mini.WQ, X @ mini.WK, X @ mini.WV
    K = K * (np.sqrt(K.shape[-1] / mini.d_k))                   # attention divides by the root of K's own width
    mask = np.tri(X.shape[1], dtype=bool) if mini.causal else None
    return F.attention(Q, K, V, mask=mask)[:, -1] @ mini.WO4


def stacked_loss(mini: MiniTransformer, batch: Sequence[Pattern]) -> Value:
    return F.cross_entropy(stacked_logits(mini, batch), [mini.index(target) for _, target in batch])


def first_all_right(right: Sequence[Sequence[bool]]) -> int | None:
    """The first epoch from which all patterns are right."""
    return next((epoch for epoch, each in enumerate(right) if all(each)), None)


EXERCISES = (
    ("1. Compute the batch loss", batch_loss),
    ("2. Average the gradients", average_gradients),
    ("3. Train for many epochs", epochs),
    ("4. Verify that all patterns are learned", all_learned),
    ("5. Plot the loss over time", loss_over_time),
)


def plots(*, count: int = 1000, **given: Any) -> dict[str, str]:
    """Loss over the epochs, WO only and all four matrices, with the epoch at which all patterns are right."""
    history = {label: curve(count, names, given) for label, names in TRAINED.items()}
    first = first_all_right(history["WO only"]["right"])
    marks = {} if first is None else {first: f"all patterns right from epoch {first}"}
    return {"loss.svg": curve_svg({label: curve["loss"] for label, curve in history.items()},
                                  "Mean loss of the three patterns", "epochs", "L_mean", marks)}


if __name__ == "__main__":
    main()
