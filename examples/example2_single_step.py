"""Example 2, single training step: loss, gradient of the output matrix, one update, and is the model better for it?

    handgrad example 2
    handgrad example 2 --set eta=0.5 --set update=full
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograd import Value, softmax, step
from autograd.stepping import Stepper
from examples import PLAIN_DRAWING
from examples.example1_forward_pass import forward_tables, show_forward, show_givens, show_probabilities
from examples.mini_transformer import UPDATES, MiniTransformer, Tables, slopes, vocabulary, without
from examples.page import Page, bracketed, listed, written
from examples.plots import curve_svg
from examples.report import exercises, held_against_print

TITLE = "Example 2: single training step, [A, B] → C"
FIGURE = (1.0, 2.0, 0.5, 0.3)       # the logits shown in the chapter's diagram


def run(*, sequence: Sequence[str] = ("A", "B"), target: str | int = "C", eta: float = 0.1, update: str = "live2",
        fig_logit: Sequence[float] = FIGURE, **model: Any) -> Tables:
    """Before, gradients, update, after. Only WO is trained; `update` says which of its weights move.

    live2   the two that the worksheet moves: WO[0][0] for A and WO[1][1] for C
    live3   the three that its 2×2 matrix has a use for
    full    all eight of the 2×4 matrix

    >>> found = run()
    >>> found["dL/dWO"].shape, found["L_new"] < found["L"]
    ((2, 4), True)
    """
    mini = MiniTransformer(**model)
    found = forward_tables(mini, sequence)
    steps = mini.steps(sequence, target)
    steps["L"].backward()
    found |= steps.data() | slopes(steps | {"WO4": mini.WO4})
    mini.descend(eta, ["WO4"], update)
    after = forward_tables(mini, sequence) | {"L": mini.steps(sequence, target)["L"].data}
    found |= {f"{name}_new": after[name]
              for name in ("logit", "P", "L", "out_max", "out_shift", "out_exp", "out_expsum", "WO", "WO4")}
    goal = mini.index(target)
    found |= {"target": goal, "eta": eta, "onehot": np.eye(len(mini.tokens))[goal]}
    found |= _figure(fig_logit, goal)
    return found | mini.by_token(found, "dL/dlogit", "dL/dP", "onehot", "logit_new", "P_new", "out_shift_new",
                                 "out_exp_new", "fig_logit", "fig_P")


def _figure(logits: Sequence[float], goal: int) -> Tables:
    """The chapter's diagram: its logits, and the probabilities and loss they really have."""
    fig_P = softmax(np.array(logits, dtype=float))
    return {"fig_logit": np.array(logits, dtype=float), "fig_P": fig_P, "fig_L": -math.log(fig_P[goal])}


TAKES = (run, MiniTransformer)
DRAWINGS = PLAIN_DRAWING


def graph(*, sequence: Sequence[str] = ("A", "B"), target: str | int = "C", **model: Any) -> Value:
    """The loss, after backward. Only WO is trained, so no gradient goes further back than that."""
    mini = MiniTransformer(**without(model, "eta", "update", "fig_logit"))
    mini.train_only("WO4")
    loss = mini.steps(sequence, target)["L"]
    loss.backward()
    return loss


# ---- the worksheet --------------------------------------------------------------------------------------------------

def main(page: Page | None = None, **given: Any) -> None:
    page = page or Page()
    found = run(**given)
    sequence, tokens = given.get("sequence", "AB"), list(vocabulary(given.get("tokens")))
    target, update = tokens[found["target"]], given.get("update", "live2")
    page.title(TITLE, "Goal: one update of WO, and whether the target grows more likely. WQ, WK, WV stay fixed.")
    show_givens(page, found, tokens)
    page.say(f"target = {target} (index {found['target']})", f"η = {written(found['eta'])}")
    page.part("Part 1: forward pass, before training")
    steps = step(graph(**given))
    show_forward(page, steps, found, sequence, tokens)
    page.part("Part 2: training step")
    page.step("Step 1: loss")
    page.computed(steps, "L")
    show_logit_gradient(page, steps, found, "Step 2")
    page.step("Step 3: gradient with respect to WO")
    page.received(steps, "WO4")
    show_update(page, found, update)
    page.part("Part 3: forward pass, after training")
    show_after(page, found, tokens, target, given)
    page.part("Before and after")
    page.compare("", [*((f"P({token})", before, after)
                        for token, before, after in zip(tokens, found["P"], found["P_new"])),
                      ("L", found["L"], found["L_new"])])
    page.part("The chapter's diagram, computed")
    page.matrix("fig_logit", found["fig_logit"])
    page.matrix("fig_P", found["fig_P"])
    page.value("fig_L", f"−log({written(found['fig_P'][found['target']])})", value=found["fig_L"])
    exercises(page, EXERCISES, given)
    held_against_print(page, "example2", found, given)


def show_logit_gradient(page: Page, steps: Stepper, found: Tables, heading: str) -> None:
    page.step(f"{heading}: gradient with respect to the logits")
    page.received(steps, "P", "logit")
    page.say(f"All of it together is P − onehot(target) = {listed(found['P'] - found['onehot'])}.",
             "A negative gradient says: raise this logit. Only the target's is negative.")


def show_update(page: Page, found: Tables, update: str) -> None:
    page.step("Step 4: update")
    page.formula("WO_new = WO − η × gradient")
    places = UPDATES[update] or tuple(np.ndindex(found["WO4"].shape))
    page.note(f"update={update}: {len(places)} of the {found['WO4'].size} weights of the 2×4 matrix move. "
              "WO[1][1], the weight of C, is WO4[1][2].")
    for i, j in places:
        step = -found["eta"] * found["dL/dWO"][i, j]
        page.value(f"WO4_new[{i}][{j}]",
                   f"{written(found['WO4'][i, j])} − {written(found['eta'])}×{bracketed(found['dL/dWO'][i, j])}",
                   f"{written(found['WO4'][i, j])} {'+' if step >= 0 else '−'} {written(abs(step))}",
                   value=found["WO4_new"][i, j])
    page.matrix("WO_new", found["WO_new"])


def show_after(page: Page, found: Tables, tokens: Sequence[str], target: str, given: Mapping[str, Any]) -> None:
    steps = step(after(found, **given), backward=False)
    page.say(f"The context is unchanged: {listed(found['ctx'])}")
    page.computed(steps, "logit_new", "P_new")
    show_probabilities(page, found, "P_new", tokens, target)
    page.computed(steps, "L_new")


def after(found: Tables, *, sequence: Sequence[str] = ("A", "B"), target: str | int = "C", **model: Any) -> Value:
    """The loss with the new weights."""
    mini = MiniTransformer(**without(model, "eta", "update", "fig_logit", "WO", "WO_2x4") | {"WO4": found["WO4_new"]})
    mini.WO4.name = "WO4_new"
    return mini.steps(sequence, target, "_new")["L_new"]


# ---- exercises ------------------------------------------------------------------------------------------------------

def loss_by_hand(page: Page, **given: Any) -> Tables:
    """Exercise 1: the loss from the probability, and straight from the logits."""
    found = run(**given)
    by_hand = -math.log(found["P"][found["target"]])
    from_logits = math.log(np.exp(found["logit"]).sum()) - found["logit"][found["target"]]
    page.value("L", "−log P(target)", value=by_hand)
    page.value("L", "log Σ exp(logit) − logit(target)", value=from_logits)
    page.value("for comparison, −log(1/4), a guess among four", value=math.log(4))
    return {"by_hand": by_hand, "from_logits": from_logits, "engine": found["L"]}


def logit_gradient(page: Page, **given: Any) -> Tables:
    """Exercise 2: P − onehot beside what the engine's backward gave."""
    found = run(**given)
    by_hand = found["P"] - found["onehot"]
    page.say(f"P − onehot(target) = {listed(by_hand)}", f"backward           = {listed(found['dL/dlogit'])}",
             f"They sum to {written(round(float(by_hand.sum()), 12))}: what one logit gains, the others lose.")
    return {"by_hand": by_hand, "engine": found["dL/dlogit"]}


def WO_gradient(page: Page, step: float = 1e-6, **given: Any) -> Tables:
    """Exercise 3: outer(ctx, dL/dlogit), backward, and finite differences of the loss, side by side."""
    found = run(**given)
    by_hand = np.outer(found["ctx"], found["dL/dlogit"])
    measured = np.zeros_like(by_hand)
    plain_model = without(given, "WO", "WO4", "WO_2x4")
    for at in np.ndindex(by_hand.shape):
        nudge = np.zeros_like(by_hand)
        nudge[at] = step
        up, down = (run(**plain_model, WO4=found["WO4"] + sign * nudge)["L"] for sign in (1, -1))
        measured[at] = (up - down) / (2 * step)
    page.matrix("outer(ctx, dL/dlogit)", by_hand)
    page.matrix("backward", found["dL/dWO"])
    page.matrix("(L(WO + h) − L(WO − h)) / 2h", measured)
    return {"by_hand": by_hand, "engine": found["dL/dWO"], "measured": measured}


def conventions(page: Page, **given: Any) -> Tables:
    """Exercise 4: one weight update, under each reading of "update WO"."""
    results = {update: run(**given | {"update": update}) for update in UPDATES}
    page.say(f"{'update':<8}{'weights moved':>15}{'P(C) after':>14}{'L after':>12}")
    for update, found in results.items():
        moved = int(np.count_nonzero(found["WO4_new"] != found["WO4"]))
        page.say(f"{update:<8}{moved:>15}{found['P_new'][found['target']]:>14.6f}{found['L_new']:>12.6f}")
    return {update: {"WO4_new": found["WO4_new"], "P_new": found["P_new"], "L_new": found["L_new"]}
            for update, found in results.items()}


def improvement(page: Page, rates: Sequence[float] = (0.01, 0.1, 1.0, 10.0), **given: Any) -> dict[float, float]:
    """Exercise 5: does the prediction improve? For small and large learning rates."""
    results = {rate: run(**given | {"eta": rate}) for rate in rates}
    page.say(f"{'η':>8}{'P(target) after':>18}{'L after':>12}{'better':>9}")
    for rate, found in results.items():
        better = "yes" if found["L_new"] < found["L"] else "no"
        page.say(f"{rate:>8g}{found['P_new'][found['target']]:>18.6f}{found['L_new']:>12.6f}{better:>9}")
    found = run(**given)
    page.say(f"One small step predicts its own gain: η·|gradient|² = "
             f"{written(predicted_gain(found, given.get('update', 'live2')))}, "
             f"and L fell by {written(found['L'] - found['L_new'])}.")
    return {rate: found["L_new"] for rate, found in results.items()}


def predicted_gain(found: Tables, update: str) -> float:
    """First order: a step of −η·gradient lowers the loss by η times the squared gradient of the weights moved."""
    places = UPDATES[update] or tuple(np.ndindex(found["WO4"].shape))
    return float(found["eta"] * sum(found["dL/dWO"][place] ** 2 for place in places))


EXERCISES = (
    ("1. Compute the loss by hand", loss_by_hand),
    ("2. Gradient with respect to the logits", logit_gradient),
    ("3. Gradient with respect to WO", WO_gradient),
    ("4. One weight update", conventions),
    ("5. Verify that the prediction improves", improvement),
)


def plots(*, steps: int = 200, **given: Any) -> dict[str, str]:
    """The loss over many such steps, for each reading of "update WO"."""
    curves = {update: losses(steps, **given | {"update": update}) for update in UPDATES}
    return {"loss.svg": curve_svg(curves, "Loss of [A, B] → C over repeated steps", "steps", "L")}


def losses(steps: int, *, sequence: Sequence[str] = ("A", "B"), target: str | int = "C", eta: float = 0.1,
           update: str = "live2", **model: Any) -> list[float]:
    """The loss before each of `steps` updates, and after the last."""
    model.pop("fig_logit", None)
    mini = MiniTransformer(**model)
    found = []
    for _ in range(steps):
        mini.zero_grad()
        loss = mini.steps(sequence, target)["L"]
        loss.backward()
        found.append(loss.data)
        mini.descend(eta, ["WO4"], update)
    return [*found, mini.steps(sequence, target)["L"].data]


if __name__ == "__main__":
    main()
