"""Example 1, minimal forward pass: which token follows "A B", before anything was learned?

    handgrad example 1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from autograd import Value, exp, step
from autograd.stepping import Stepper
from examples import PLAIN_DRAWING
from examples.checking.verdict import check, tally
from examples.mini_transformer import MiniTransformer, Tables, softmax_steps, transposes, vocabulary
from examples.page import Page, listed, written
from examples.plots import map_svg
from examples.report import exercises, held_against_print

TITLE = "Example 1: minimal forward pass"


def run(*, sequence: Sequence[str] = ("A", "B"), **model: Any) -> Tables:
    """Every quantity of the worksheet, under its names; `model` takes the keywords of MiniTransformer.

    >>> found = run()
    >>> round(found["P(C)"], 6), found["P"].shape, round(run(WV=[[1, 0], [0, 1]])["P(C)"], 6)
    (0.250629, (4,), 0.256294)
    """
    mini = MiniTransformer(**model)
    return forward_tables(mini, sequence)


def forward_tables(mini: MiniTransformer, sequence: Sequence[str]) -> Tables:
    """The forward pass with the inner numbers of its two softmaxes; Examples 2 and 3 begin with it too."""
    steps = mini.steps(sequence)
    found = mini.givens() | steps.data()
    scores = found["masked"] if "masked" in found else found["scaled"]
    found |= softmax_steps("attn", scores[-1])
    found |= softmax_steps("out", found["logit"])
    found |= transposes(found, "K")
    return found | mini.by_token(found, "logit", "P", "out_shift", "out_exp")


TAKES = (run, MiniTransformer)
DRAWINGS = PLAIN_DRAWING


def graph(*, sequence: Sequence[str] = ("A", "B"), **model: Any) -> Value:
    """The probabilities, as a graph. Nothing is trained yet, so no gradient has flowed."""
    return MiniTransformer(**model).steps(sequence)["P"]


def stepped(*, sequence: Sequence[str] = ("A", "B"), token: int = 2, **model: Any) -> Value:
    """One probability, P(C) unless asked, for stepping: backprop needs a single number to start from."""
    mini = MiniTransformer(**model)
    probability = mini.steps(sequence)["P"][token]
    probability.name = f"P({list(mini.tokens)[token]})"
    return probability


# ---- the worksheet --------------------------------------------------------------------------------------------------

def main(page: Page | None = None, **given: Any) -> None:
    page = page or Page()
    found = run(**given)
    sequence, tokens = given.get("sequence", "AB"), vocabulary(given.get("tokens"))
    page.title(TITLE, "Goal: see how a transformer predicts the next token, with numbers a hand can follow.")
    show_givens(page, found, tokens)
    page.part("Forward pass: the sequence [" + ", ".join(sequence) + "]")
    show_forward(page, step(stepped(**given), backward=False), found, sequence, tokens)
    page.step("Check")
    page.value("sum(P)", " + ".join(written(p) for p in found["P"]), value=float(np.sum(found["P"])))
    page.say("All probabilities are positive, and nearly equal: nothing has been learned yet.")
    exercises(page, EXERCISES, given)
    held_against_print(page, "example1", found, given)


def show_givens(page: Page, found: Tables, tokens: Iterable[str]) -> None:
    page.part("Given")
    for token in tokens:
        page.say(f"{token} = {listed(found[token])}")
    for name in ("WQ", "WK", "WV", "WO"):
        page.matrix(name, found[name])
    page.note("WO is printed 2×2 but must give four logits. It is used as a 2×4 matrix, a column for each token:")
    page.matrix("WO4", found["WO4"])


def show_forward(page: Page, steps: Stepper, found: Tables, sequence: Sequence[str], tokens: Iterable[str]) -> None:
    """Steps 1 to 7 of the worksheet, in the stepper's own lines."""
    page.step("Step 1: token embeddings")
    page.matrix("X", found["X"], [f"token {token}" for token in sequence])
    page.step("Step 2: Q, K, V projections")
    page.computed(steps, "Q", "K", "V")
    page.step("Step 3: attention scores")
    page.matrix("K.T", found["K^T"])
    page.computed(steps, "score")
    page.note(f"Divided by √d_k, here √{found['d_k']:g}: the same as times the scale, {written(found['scale'])}.")
    page.computed(steps, "scaled", *(["masked"] if "masked" in found else []))
    page.step(f"Step 4: attention weights, the softmax of each row; the last is the position of {sequence[-1]}")
    page.computed(steps, "attn")
    page.step("Step 5: context vector, the last row of attn @ V")
    page.computed(steps, "out", "ctx")
    page.step("Step 6: output logits")
    page.computed(steps, "logit")
    page.step("Step 7: probabilities (softmax of the logits)")
    page.computed(steps, "P")
    show_probabilities(page, found, "P", tokens)


def show_probabilities(page: Page, found: Tables, name: str, tokens: Iterable[str], target: str = "") -> None:
    for token, p in zip(tokens, found[name]):
        page.say(f"{name}({token}) = {written(p)}   ({100 * p:.1f} %)" + ("   ← target" if token == target else ""))


# ---- exercises ------------------------------------------------------------------------------------------------------

def attention_scores(page: Page, Q: Any = ((1.0, 2.0), (0.0, 1.0)), K: Any = ((0.5, 1.0), (2.0, 0.0)),
                     **_given: Any) -> Tables:
    """Exercise 1: attention scores for given Q and K, here two that are not multiples of the identity."""
    Q, K = Value(np.array(Q, dtype=float), name="Q"), Value(np.array(K, dtype=float), name="K")
    score = Q @ K.mT
    score.name = "score"
    found = {"Q": Q.data, "K": K.data, "score": score.data}
    page.matrix("Q", found["Q"])
    page.matrix("K", found["K"])
    page.computed(step(score, backward=False), "score")
    page.say("score[i][j] is large where query i and key j point the same way.")
    return found


def verify_softmax(page: Page, **given: Any) -> Tables:
    """Exercise 2: the softmax step by step, and against the form without the maximum taken off."""
    found = run(**given)
    logits = found["logit"]
    page.say(f"shifted:    exp(logit − maximum) / sum = {listed(found['out_exp'] / found['out_expsum'])}")
    unshifted = exp(logits) / exp(logits).sum()
    page.say(f"unshifted:  exp(logit) / sum           = {listed(unshifted)}")
    difference = float(np.max(np.abs(unshifted - found["P"])))
    page.say(f"largest difference: {difference:.1e}; a shift cancels in the quotient.")
    large = softmax_steps("large", [1000.0, 1001.0])
    page.say(f"It matters for large scores: exp(1000) overflows, but [1000, 1001] shifted by {large['large_max']:g}",
             f"is {listed(large['large_shift'])}, and its softmax "
             f"{listed(large['large_exp'] / large['large_expsum'])}.")
    return {"shifted": found["out_exp"] / found["out_expsum"], "unshifted": unshifted, "difference": difference}


def trace(page: Page, **given: Any) -> Tables:
    """Exercise 3: the complete forward pass, each named table with its shape."""
    found = run(**given)
    for name in ("X", "Q", "K", "V", "score", "scaled", "attn", "out", "ctx", "logit", "P"):
        page.say(f"{name:<7} {'×'.join(map(str, np.shape(found[name]))):<5} {_flat(found[name])}")
    return found


def _flat(table: np.ndarray) -> str:
    return listed(table) if table.ndim == 1 else " ".join(listed(row) for row in table)


def hand_against_program(page: Page, **given: Any) -> Tables:
    """Exercise 4: the numbers a hand wrote down on the printed worksheet, and how many the program bears out."""
    counts = tally(check("example1", run()))
    page.say(*(f"{count:>4} {kind}" for kind, count in counts.items()))
    return dict(counts)


EXERCISES = (
    ("1. Attention scores by hand for given Q and K", attention_scores),
    ("2. Verify the softmax", verify_softmax),
    ("3. Trace the complete forward pass", trace),
    ("4. Compare the hand calculation with the program", hand_against_program),
)


def plots(**given: Any) -> dict[str, str]:
    """Who attends to whom."""
    found, sequence = run(**given), given.get("sequence", ("A", "B"))
    return {"attention.svg": map_svg({"attn": found["attn"]}, sequence, f"Attention of [{', '.join(sequence)}]")}


if __name__ == "__main__":
    main()
