"""Example 3, full backpropagation: the gradient through attention, to all four weight matrices.

    handgrad example 3
    handgrad example 3 --set eta=0.2 --set causal=true
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd import Value, step
from autograd.stepping import Stepper
from examples.example1_forward_pass import forward_tables, show_forward, show_givens
from examples.example2_single_step import show_logit_gradient
from examples.mini_transformer import (
    MiniTransformer,
    Steps,
    Tables,
    slopes,
    softmax_dot,
    transposes,
    vocabulary,
    without,
)
from examples.page import Page, written
from examples.plots import curve_svg
from examples.report import exercises, held_against_print

TITLE = "Example 3: full backpropagation, [A, B] → C"
WEIGHTS = ("WQ", "WK", "WV", "WO4")


def run(*, sequence: Sequence[str] = ("A", "B"), target: str | int = "C", eta: float = 0.1, update: str = "full",
        **model: Any) -> Tables:
    """Every value and every gradient, then one step on all four matrices; `update` as in Example 2.

    >>> found = run()
    >>> found["dL/dWQ"].round(6).tolist()
    [[0.0, 0.0], [0.000177, -0.000177]]
    """
    mini = MiniTransformer(**model)
    found = forward_tables(mini, sequence)
    steps, gradients = backward(mini, sequence, target)
    found |= steps.data() | gradients
    found["dot"] = softmax_dot(found["dL/dattn"][-1], found["attn"][-1])
    found |= transposes(found, "X", "K", "V", "attn")
    mini.descend(eta, WEIGHTS, update)
    found |= {f"{name}_new": table for name, table in mini.givens().items() if name in (*WEIGHTS, "WO")}
    after = mini.steps(sequence, target).data()
    found |= {f"{name}_new": after[name] for name in ("Q", "K", "V", "attn", "ctx", "logit", "P", "L")}
    goal = mini.index(target)
    found |= {"target": goal, "eta": eta, "onehot": np.eye(len(mini.tokens))[goal]}
    return found | mini.by_token(found, "dL/dlogit", "dL/dP", "onehot", "logit_new", "P_new")


def backward(mini: MiniTransformer, sequence: Sequence[str], target: str | int) -> tuple[Steps, Tables]:
    """A forward and a backward pass: the named steps, and the gradient of the loss in each of them and each weight."""
    mini.zero_grad()
    steps = mini.steps(sequence, target)
    steps["L"].backward()
    return steps, slopes(steps | mini.weights)


TAKES = (run, MiniTransformer)
DRAWINGS: dict[str, dict[str, Any]] = {
    "graph.svg": {}, "graph_rules.svg": {"edges": "rule"}, "graph_flow.svg": {"flow": True}}


def graph(*, sequence: Sequence[str] = ("A", "B"), target: str | int = "C", **model: Any) -> Value:
    """The loss, after backward."""
    return backward(MiniTransformer(**without(model, "eta", "update")), sequence, target)[0]["L"]


# ---- the worksheet --------------------------------------------------------------------------------------------------

def main(page: Page | None = None, **given: Any) -> None:
    page = page or Page()
    found = run(**given)
    sequence, tokens = given.get("sequence", "AB"), list(vocabulary(given.get("tokens")))
    page.title(TITLE, "Goal: the gradient's whole way back, from the loss to WQ, WK, WV and WO.")
    show_givens(page, found, tokens)
    page.say(f"target = {tokens[found['target']]} (index {found['target']})", f"η = {written(found['eta'])}")
    page.part("Part 1: forward pass")
    steps = step(graph(**given))
    show_forward(page, steps, found, sequence, tokens)
    page.computed(steps, "L")
    page.part("Part 2: backward pass")
    show_backward(page, steps, found)
    page.part("Part 3: weight updates")
    show_updates(page, found)
    page.part("Before and after")
    page.compare("", [*((f"P({token})", before, after)
                        for token, before, after in zip(tokens, found["P"], found["P_new"])),
                      ("L", found["L"], found["L_new"])])
    exercises(page, EXERCISES, given)
    held_against_print(page, "example3", found, given)


def show_backward(page: Page, steps: Stepper, found: Tables) -> None:
    """Steps 1 to 8 of the worksheet's backward pass."""
    show_logit_gradient(page, steps, found, "Step 1")
    scores = ("masked", "scaled") if "masked" in found else ("scaled",)
    for heading, names in (
        ("Step 2: through the output projection, to the context", ("ctx",)),
        ("Step 3: to the output. Only the last position is read, so the other rows get nothing", ("out",)),
        ("Step 4: to the attention weights, from out = attn @ V", ("attn",)),
        ("Step 5: through the softmax, to the scaled scores", scores),
        ("Step 6: through the scaling, to the raw scores", ("score",)),
        ("Step 7: to Q, K and V", ("Q", "K", "V")),
        ("Step 8: through the projections, to the weights", WEIGHTS),
    ):
        page.step(heading)
        page.received(steps, *names)
        if "scaled" in names:
            page.note("(The printed sheet calls this dL/dscores and the next one dL/dscaled_scores: the names are "
                      "exchanged.)")


def show_updates(page: Page, found: Tables) -> None:
    for name, gradient in zip(WEIGHTS, ("dL/dWQ", "dL/dWK", "dL/dWV", "dL/dWO")):
        page.step(f"Update {name}")
        page.update(name, gradient, found)


# ---- exercises ------------------------------------------------------------------------------------------------------

def gradient_flow(page: Page, **given: Any) -> Tables:
    """Exercise 1: the complete way of the gradient, stage by stage, with the size it has there."""
    found = run(**given)
    norms = {stage: float(np.linalg.norm(found[f"dL/d{stage}"]))
             for stage in ("logit", "ctx", "out", "attn", "scaled", "score", "Q", "K", "V", "X")}
    widest = max(norms.values())
    for stage, norm in norms.items():
        page.say(f"dL/d{stage:<7} {norm:10.2e}  " + "█" * max(1, round(40 + 8 * np.log10(norm / widest))) * (norm > 0))
    page.note("Bars are logarithmic: 8 characters are a factor of ten.")
    return norms


def skipped_gradients(page: Page, **given: Any) -> Tables:
    """Exercise 2: every weight gradient, also those the worksheet leaves to "similar calculations"."""
    found = run(**given)
    names = ("dL/dWQ", "dL/dWK", "dL/dWV", "dL/dWO", "dL/dX")
    for name in names:
        page.matrix(name, found[name])
    return {name: found[name] for name in names}


def magnitudes(page: Page, **given: Any) -> Tables:
    """Exercise 3: do the magnitudes make sense? WQ and WK act only through a nearly even softmax."""
    found = run(**given)
    sizes = {name: float(np.abs(found[name]).max()) for name in ("dL/dWQ", "dL/dWK", "dL/dWV", "dL/dWO")}
    for name, size in sizes.items():
        page.say(f"largest |{name}| = {written(size)}")
    ratio = sizes["dL/dWO"] / sizes["dL/dWQ"]
    page.say(f"WO's gradient is {ratio:.0f} times WQ's: to reach WQ the gradient passes V (×0.1), the softmax (×0.25),",
             "1/√2 and K (×0.1), and each takes its share.")
    page.say(f"The gradients of one row of the scores sum to {written(round(float(found['dL/dscore'].sum()), 15))}: "
             "raising all scores alike changes nothing.")
    return sizes


def full_step(page: Page, **given: Any) -> Tables:
    """Exercise 4: a full training step, and what it did to every stage of the forward pass."""
    found = run(**given)
    target = found["target"]
    rows = [("attn[last][0]", found["attn"][-1][0], found["attn_new"][-1][0]),
            ("ctx[0]", found["ctx"][0], found["ctx_new"][0]), ("ctx[1]", found["ctx"][1], found["ctx_new"][1]),
            ("logit(target)", found["logit"][target], found["logit_new"][target]),
            ("P(target)", found["P"][target], found["P_new"][target]), ("L", found["L"], found["L_new"])]
    page.compare("", rows)
    return {name: (before, after) for name, before, after in rows}


def against_WO_only(page: Page, **given: Any) -> dict[tuple[str, str], list[float]]:
    """Exercise 5: all four matrices against WO only (Example 2), one step and many."""
    results = {}
    page.say(f"{'trained':<12}{'update':<8}{'L after 1 step':>16}{'after 10':>12}{'after 100':>12}")
    for label, names in (("WO only", ["WO4"]), ("all four", WEIGHTS)):
        for update in ("live2", "full"):
            curve = losses(100, names, **given | {"update": update})
            results[label, update] = curve
            page.say(f"{label:<12}{update:<8}{curve[1]:>16.6f}{curve[10]:>12.6f}{curve[100]:>12.6f}")
    page.say("Training all four is faster, and gains pace: as V and the context grow, so does WO's own gradient.")
    return results


def losses(count: int, names: Sequence[str], *, sequence: Sequence[str] = ("A", "B"), target: str | int = "C",
           eta: float = 0.1, update: str = "full", **model: Any) -> list[float]:
    """The loss before each of `count` steps on the named weights, and after the last."""
    mini = MiniTransformer(**model)
    found = []
    for _ in range(count):
        steps, _ = backward(mini, sequence, target)
        found.append(steps["L"].data)
        mini.descend(eta, names, update)
    return [*found, mini.steps(sequence, target)["L"].data]


EXERCISES = (
    ("1. Trace the complete gradient flow", gradient_flow),
    ("2. All weight gradients", skipped_gradients),
    ("3. Verify that the magnitudes make sense", magnitudes),
    ("4. A full training step", full_step),
    ("5. Compare with Example 2, where only WO is trained", against_WO_only),
)


def plots(*, count: int = 100, **given: Any) -> dict[str, str]:
    """The loss over many steps: all four matrices against WO only."""
    curves = {"WO only": losses(count, ["WO4"], **given), "all four": losses(count, WEIGHTS, **given)}
    return {"loss.svg": curve_svg(curves, "Loss of [A, B] → C: WO only against all four matrices", "steps", "L")}


if __name__ == "__main__":
    main()
