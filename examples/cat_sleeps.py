"""The cat sleeps: three tokens through attention, a feed-forward network and a sigmoid, and every gradient back.

    handgrad example cat_sleeps
    handgrad example cat_sleeps --set reduction=sum
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from autograd import Value, relu, sigmoid, step
from autograd.graph import leaves, scope
from examples.checking.judge import second_opinion
from examples.mini_transformer import Steps, Tables, attend, parameter, slopes
from examples.page import Page, listed, written
from examples.plots import curve_svg, map_svg
from examples.report import exercises, held_against_print
from nn import Parameter, optim
from nn import functional as F

TITLE = "The cat sleeps: attention, feed-forward and backpropagation"
WORDS = ("The", "cat", "sleeps")

X = ((0.1, 0.3, 0.5, 0.2, 0.0), (0.6, 0.7, 0.2, 0.1, 0.3), (0.4, 0.2, 0.6, 0.5, 0.1))
W_Q = ((0.2, 0.1, 0.0), (0.0, 0.3, 0.2), (0.1, 0.0, 0.4), (0.3, 0.2, 0.1), (0.0, 0.2, 0.3))
W_K = ((0.1, 0.0, 0.3), (0.2, 0.1, 0.0), (0.3, 0.2, 0.1), (0.1, 0.0, 0.2), (0.0, 0.3, 0.1))
W_V = ((0.2, 0.0, 0.1), (0.0, 0.3, 0.2), (0.1, 0.2, 0.3), (0.3, 0.1, 0.0), (0.2, 0.0, 0.2))
W_FFN1 = ((0.1, 0.2, 0.1), (0.2, 0.1, 0.3), (0.3, 0.2, 0.1))
W_FFN2 = ((0.4,), (0.3,), (0.2,))
LABELS = (1.0, 0.0, 0.0)

STAGES = ("logit", "hidden", "pre", "out", "attn", "scaled", "score", "Q", "K", "V")
WEIGHTS = ("W_FFN2", "W_FFN1", "W_Q", "W_K", "W_V")


def run(**given: Any) -> Tables:
    """Every value and every gradient; `given` are the keywords of `weights` and `forward`.

    >>> found = run()
    >>> round(found["L"], 6), found["dL/dW_FFN2"].round(6).ravel().tolist()
    (0.715261, [0.029852, 0.024281, 0.023651])
    """
    tables = weights(**{name: given.pop(name) for name in WEIGHTS if name in given})
    steps = forward(tables, **given)
    steps["L"].backward()
    found = {name: table.data for name, table in tables.items()} | steps.data() | slopes(steps | tables)
    found["d_k"] = given.get("d_k") or found["K"].shape[-1]
    return found | {"scale": 1 / math.sqrt(found["d_k"]), "L_sum": float(found["bce"].sum()),
                    "L_mean": float(found["bce"].mean())}


def weights(*, W_Q: Any = W_Q, W_K: Any = W_K, W_V: Any = W_V, W_FFN1: Any = W_FFN1,
            W_FFN2: Any = W_FFN2) -> dict[str, Parameter]:
    """The five weight matrices, trainable and named."""
    tables = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_FFN1": W_FFN1, "W_FFN2": W_FFN2}
    return {name: parameter(name, table) for name, table in tables.items()}


def forward(tables: Mapping[str, Parameter], *, X: Any = X, y: Any = LABELS, d_k: float | None = None,
            causal: bool = False, reduction: str = "mean") -> Steps:
    """p = sigmoid(ReLU(attn V W_FFN1) W_FFN2), a probability for each token, and its binary cross-entropy."""
    if reduction not in ("mean", "sum"):
        raise ValueError(f"reduction: expected one of mean, sum, got {reduction!r}")
    steps = Steps()
    labels = Value(np.array(y, dtype=float), requires_grad=False)
    tokens = Value(np.array(X, dtype=float))
    steps.keep(y=labels, X=tokens)
    out = attend(steps, tokens, tables["W_Q"], tables["W_K"], tables["W_V"],
                 d_k=tables["W_K"].shape[-1] if d_k is None else d_k, causal=causal)
    with scope("feed-forward"):
        pre = out @ tables["W_FFN1"]
        hidden = relu(pre)
        column = hidden @ tables["W_FFN2"]
    logit = column[:, 0]
    p = sigmoid(logit)
    with scope("binary cross-entropy"):
        bce = F.binary_cross_entropy(p, labels, reduction="none")
    L = bce.mean() if reduction == "mean" else bce.sum()
    steps.keep(pre=pre, hidden=hidden, logit=logit, p=p, bce=bce, L=L)
    return steps


TAKES = (weights, forward)
DRAWINGS: dict[str, dict[str, Any]] = {"graph.svg": {"collapse": "binary cross-entropy"}, "graph_whole.svg": {}}


def graph(**given: Any) -> Value:
    """The loss, after backward."""
    loss = forward(weights(**{name: given.pop(name) for name in WEIGHTS if name in given}), **given)["L"]
    loss.backward()
    return loss


def optimizer(loss: Value) -> optim.AdamW:
    """What the training section uses, for a page that shows its updates."""
    return optim.AdamW([leaf for leaf in leaves(loss) if isinstance(leaf, Parameter)], lr=0.01)


# ---- the worksheet --------------------------------------------------------------------------------------------------

def main(page: Page | None = None, **given: Any) -> None:
    page = page or Page()
    found = run(**given)
    reduction = given.get("reduction", "mean")
    page.title(TITLE, "Goal: one block of a transformer, forward and back, with three tokens of five features.")
    page.part("Setup")
    page.matrix("X", found["X"], WORDS)
    page.part("Step 1: weights")
    for name in ("W_Q", "W_K", "W_V"):
        page.matrix(name, found[name])
    steps = step(graph(**given))
    page.part("Step 2: Q, K, V")
    page.computed(steps, "Q", "K", "V")
    page.part("Step 3: scaled dot products")
    page.computed(steps, "score", "scaled", *(["masked"] if "masked" in found else []))
    page.part("Step 4: softmax over the rows")
    page.computed(steps, "attn")
    page.part("Step 5: attention output")
    page.computed(steps, "out")
    page.part("Step 6: feed-forward network")
    for name in ("W_FFN1", "W_FFN2"):
        page.matrix(name, found[name])
    page.computed(steps, "pre", "hidden", "logit", "p")
    page.part("Step 7: loss")
    page.matrix("y", found["y"])
    page.computed(steps, "bce", "L")
    page.part("Step 8: backpropagation")
    page.received(steps, "bce", "p", "logit")
    share = f" / {len(found['y'])}" if reduction == "mean" else ""
    page.say(f"All of it together is (p − y){share} = {listed(found['dL/dlogit'])}.")
    page.received(steps, "W_FFN2", "hidden", "pre", "W_FFN1")
    exercises(page, EXERCISES, given)
    held_against_print(page, "cat_sleeps", found, given)


# ---- exercises ------------------------------------------------------------------------------------------------------

def every_gradient(page: Page, **given: Any) -> Tables:
    """The gradients the document does not print, with the mean and with the sum of the losses."""
    results = {reduction: run(**given | {"reduction": reduction}) for reduction in ("mean", "sum")}
    for reduction, found in results.items():
        page.say(f"reduction={reduction}: L = {written(found['L'])}")
        for name in (*STAGES, *WEIGHTS, "X"):
            page.matrix(f"dL/d{name}", found[f"dL/d{name}"])
    page.say("Every gradient of the sum is three times that of the mean.")
    return {reduction: {name: found[name] for name in found if name.startswith("dL/")}
            for reduction, found in results.items()}


def judged(page: Page, **given: Any) -> Tables:
    """Each weight gradient beside a central difference in 50-digit decimals, largest relative difference."""
    if given:
        page.note("Skipped: the judge knows only the document's own inputs.")
        return {}
    found, opinion = run(), second_opinion("cat_sleeps")
    worst = {}
    for name in (*STAGES, *WEIGHTS, "X"):
        ours, theirs = found[f"dL/d{name}"], opinion[f"dL/d{name}"].astype(float)
        worst[name] = float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))
        page.say(f"dL/d{name:<7} {worst[name]:.1e}")
    return worst


def training(page: Page, count: int = 100, eta: float = 0.01, **given: Any) -> list[float]:
    """The summary's promise kept: the gradients, used by AdamW to update every weight."""
    losses = descend(count, eta, **given)
    page.say(f"AdamW, η = {eta:g}")
    page.compare("", [(f"L, step {step}", losses[0], losses[step]) for step in (1, 10, count)])
    return losses


def descend(count: int, eta: float, **given: Any) -> list[float]:
    """The loss before each of `count` steps of AdamW on all weights, and after the last."""
    tables = weights(**{name: given.pop(name) for name in WEIGHTS if name in given})
    optimizer = optim.AdamW(tables.values(), lr=eta)
    losses = []
    for _ in range(count):
        loss = forward(tables, **given)["L"]
        losses.append(float(loss.data))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [*losses, float(forward(tables, **given)["L"].data)]


EXERCISES = (
    ("Every gradient, also those of W_Q, W_K, W_V and X, with mean and sum loss", every_gradient),
    ("The gradients beside 50-digit differences", judged),
    ("Train: one step of AdamW, and many", training),
)


def plots(*, count: int = 100, **given: Any) -> dict[str, str]:
    """The attention map, and the loss while AdamW trains every weight."""
    found = run(**given)
    return {"attention.svg": map_svg({"attn": found["attn"]}, WORDS, "Who attends to whom"),
            "loss.svg": curve_svg({"L": descend(count, 0.01, **given)}, "Loss under AdamW, η = 0.01", "steps", "L")}


if __name__ == "__main__":
    main()
