"""Example 5, feed-forward layers: a ReLU network after attention, and the residual round it.

    handgrad example 5
    handgrad example 5 --set row0=copied        # the worksheet's declared shortcut
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograd import Value, grad, jacobian, relu, stack, step
from autograd.graph import scope
from autograd.stepping import Stepper
from examples import PLAIN_DRAWING
from examples.mini_transformer import TENTH, Steps, Tables, attend, embed, parameter, slopes, vocabulary
from examples.page import Page, listed, written
from examples.plots import curve_svg
from examples.report import exercises, held_against_print
from nn import Parameter

TITLE = "Example 5: feed-forward layers and the residual"
FFN = ((0.2, 0.1), (0.1, 0.2))
ROW0 = ("computed", "copied")


def run(*, relu_demo_in: float = -0.5, **model: Any) -> Tables:
    """Attention, feed-forward, residual: every quantity of the worksheet; `model` takes the keywords of `forward`.

    There is no loss in this example; gradients, named d(sum final)/d..., are those of the sum of the output.

    >>> run()["final"].round(6).tolist(), run(row0="copied")["final"].round(6).tolist()
    ([[0.054679, 0.054321], [0.054321, 0.054679]], [[0.054321, 0.054679], [0.054321, 0.054679]])
    """
    steps, weights = forward(**model)
    steps["final"].sum().backward()
    found = {name: np.array(vector, dtype=float) for name, vector in vocabulary(model.get("tokens")).items()}
    found |= steps.data() | {name: weight.data for name, weight in weights.items()}
    found |= {name.replace("dL/d", "d(sum final)/d"): table for name, table in slopes(steps | weights).items()}
    found["d_k"] = model.get("d_k") or found["K"].shape[-1]
    return found | {"scale": 1 / math.sqrt(found["d_k"]), "relu_demo_in": relu_demo_in,
                    "relu_demo_out": relu(relu_demo_in)}


def forward(*, tokens: Mapping[str, Sequence[float]] | None = None, sequence: Sequence[str] = ("A", "B"),
            WQ: Any = TENTH, WK: Any = TENTH, WV: Any = TENTH, W1: Any = FFN, W2: Any = FFN, d_k: float | None = None,
            causal: bool = False, row0: str = "computed", residual: bool = True) -> tuple[Steps, dict[str, Parameter]]:
    """The forward pass as named Values, and the weights.

    row0        "computed", or "copied": the worksheet sets row 0 of the attention output equal to row 1
    residual    whether final = out + ffn, or ffn alone
    """
    if row0 not in ROW0:
        raise ValueError(f"row0: expected one of {', '.join(ROW0)}, got {row0!r}")
    steps = Steps()
    weights = {name: parameter(name, table)
               for name, table in {"WQ": WQ, "WK": WK, "WV": WV, "W1": W1, "W2": W2}.items()}
    X = Value(embed(vocabulary(tokens), sequence))
    steps.keep(X=X)
    out = attend(steps, X, weights["WQ"], weights["WK"], weights["WV"],
                 d_k=weights["WK"].shape[-1] if d_k is None else d_k, causal=causal)
    if row0 == "copied":
        out.name = "computed out"
        out = stack([out[1], *(out[i] for i in range(1, out.shape[0]))])
        steps.keep(out=out)
    feed_forward(steps, out, weights["W1"], weights["W2"], residual)
    return steps, weights


def feed_forward(steps: Steps, out: Value, W1: Any, W2: Any, residual: bool = True) -> Value:
    """final = out + ReLU(out W1) W2."""
    with scope("feed-forward"):
        hidden = out @ W1
        act = relu(hidden)
        ffn = act @ W2
    final = out + ffn if residual else ffn * 1.0
    steps.keep(hidden=hidden, act=act, ffn=ffn, final=final)
    return final


TAKES = (run, forward)
DRAWINGS = PLAIN_DRAWING


def graph(**given: Any) -> Value:
    """The sum of the output, after backward."""
    given.pop("relu_demo_in", None)
    total = forward(**given)[0]["final"].sum()
    total.name = "sum final"
    total.backward()
    return total


# ---- the worksheet --------------------------------------------------------------------------------------------------

def main(page: Page | None = None, **given: Any) -> None:
    page = page or Page()
    found = run(**given)
    sequence = given.get("sequence", "AB")
    page.title(TITLE, "Goal: non-linearity after attention, and a direct way past it.")
    page.part("Given")
    for token in dict.fromkeys(sequence):
        page.say(f"{token} = {listed(found[token])}")
    for name in ("WQ", "WK", "WV", "W1", "W2"):
        page.matrix(name, found[name])
    page.part("Part 1: attention, as before")
    page.matrix("X", found["X"], sequence)
    steps = step(graph(**given))
    page.computed(steps, "Q", "K", "V", "score", "scaled", *(["masked"] if "masked" in found else []), "attn",
                  entries=False)
    show_attention_output(page, steps, given.get("row0", "computed"))
    page.part("Part 2: feed-forward network")
    show_feed_forward(page, steps, found)
    page.part("Part 3: residual connection")
    page.computed(steps, "final")
    page.part("Part 4: comparison, last row")
    page.compare("", [(f"[{j}]", before, after)
                      for j, (before, after) in enumerate(zip(found["out"][-1], found["final"][-1]))])
    exercises(page, EXERCISES, given)
    held_against_print(page, "example5", found, given)


def show_attention_output(page: Page, steps: Stepper, row0: str) -> None:
    if row0 == "copied":
        page.note("row0=copied: row 0 of the output is set equal to row 1, as the worksheet does to save work.")
        page.computed(steps, "computed out", "out")
    else:
        page.computed(steps, "out")
        page.note("The worksheet copies row 1 into row 0 to save work. Computed, row 0 has its entries exchanged.")


def show_feed_forward(page: Page, steps: Stepper, found: Tables) -> None:
    page.step("Step 1: first linear layer")
    page.computed(steps, "hidden")
    page.step("Step 2: ReLU")
    page.computed(steps, "act")
    page.value(f"a negative input would be cut off: max(0, {written(found['relu_demo_in'])})",
               value=found["relu_demo_out"])
    page.step("Step 3: second linear layer")
    page.computed(steps, "ffn")


# ---- exercises ------------------------------------------------------------------------------------------------------

def forward_by_hand(page: Page, **given: Any) -> Tables:
    """Exercise 1: the network on one row, and what is left of it without the ReLU."""
    found = run(**given)
    row = found["out"][-1]
    one_matrix = found["W1"] @ found["W2"]
    linear = Value(row, name="out[1]") @ (Value(found["W1"], name="W1") @ Value(found["W2"], name="W2"))
    linear.name = "without ReLU"
    page.computed(step(linear, backward=False), linear.name)
    page.say(f"ffn[1] = {listed(found['ffn'][-1])}: the same, because nothing here is negative.",
             "Without a ReLU that ever cuts, two layers are one matrix.")
    return {"ffn": found["ffn"], "without_relu": found["out"] @ one_matrix}


def relu_gradients(page: Page, **given: Any) -> Tables:
    """Exercise 2: the ReLU's gradient is a mask; shown where all units are on, and where some are off."""
    found = run(**given)
    masks = {}
    for label, W1 in (("W1 as given", found["W1"]), ("W1 with its first column negated", found["W1"] * [-1.0, 1.0])):
        other = run(**given | {"W1": W1})
        mask = grad(lambda h: relu(h).sum())(other["hidden"])
        page.say(f"{label}:")
        page.matrix("hidden", other["hidden"])
        page.matrix("d relu/d hidden", mask)
        masks[label] = mask
    page.say("Where the mask is 0 the unit is off, and no gradient passes it. At exactly 0 we take 0.")
    return masks


def trace_gradient(page: Page, **given: Any) -> Tables:
    """Exercise 3: the gradient of the sum of the output, back through the network to the attention output."""
    found = run(**given)
    names = ("final", "ffn", "act", "hidden", "out", "W2", "W1")
    for name in names:
        page.matrix(f"d(sum final)/d{name}", found[f"d(sum final)/d{name}"])
    return {name: found[f"d(sum final)/d{name}"] for name in names}


def residual_helps(page: Page, depth: int = 20, **given: Any) -> Tables:
    """Exercise 4: the same block stacked: how much gradient arrives at the bottom, with the residual and without."""
    sizes = {residual: depth_gradients(depth, residual, given) for residual in (True, False)}
    page.say(f"{'blocks':>7}{'with residual':>16}{'without':>14}")
    for blocks in (1, 2, 5, 10, 20):
        if blocks <= depth:
            page.say(f"{blocks:>7}{sizes[True][blocks - 1]:>16.4g}{sizes[False][blocks - 1]:>14.4g}")
    page.say("Without it each block multiplies the gradient by about 0.09, and a few blocks leave nothing.")
    return {"with": sizes[True], "without": sizes[False]}


def depth_gradients(depth: int, residual: bool, given: Mapping[str, Any]) -> list[float]:
    """The norm of d(sum)/d(attention output) through 1, 2, ... blocks."""
    found = run(**given)

    def through(blocks: int) -> float:
        x = Value(found["out"])
        y = x
        for _ in range(blocks):
            y = feed_forward(Steps(), y, found["W1"], found["W2"], residual)
        y.sum().backward()
        return float(np.linalg.norm(x.grad))

    return [through(blocks) for blocks in range(1, depth + 1)]


def jacobians(page: Page, **given: Any) -> Tables:
    """Exercise 5: one row's Jacobian, I + W1·W2 with the residual and W1·W2 without."""
    found = run(**given)
    row = found["out"][-1]
    result = {}
    for residual, formula in ((True, "I + W1·W2"), (False, "W1·W2")):
        engine = jacobian(lambda x: feed_forward(Steps(), x, found["W1"], found["W2"], residual))(row)  # noqa: B023
        product = found["W1"] @ found["W2"] + (np.eye(len(row)) if residual else 0.0)
        page.matrix(f"d final/d out, {'with' if residual else 'without'} residual", engine)
        page.matrix(f"transpose of {formula}", product.T)
        result[formula] = {"engine": engine, "formula": product.T}
    page.note("Row i, column j is d final[i]/d out[j]; with row vectors, x·W, that is the matrix transposed.")
    return result


EXERCISES = (
    ("1. The feed-forward pass", forward_by_hand),
    ("2. ReLU gradients", relu_gradients),
    ("3. Trace the gradient through the network", trace_gradient),
    ("4. Verify that the residual helps", residual_helps),
    ("5. With and without residual: the Jacobian", jacobians),
)


def plots(*, depth: int = 12, **given: Any) -> dict[str, str]:
    """How much gradient reaches the bottom of a stack of blocks, in powers of ten."""
    curves = {label: [float(np.log10(size)) for size in depth_gradients(depth, residual, given)]
              for label, residual in (("with residual", True), ("without", False))}
    return {"residual.svg": curve_svg(curves, "Gradient reaching the bottom of a stack of blocks",
                                      "blocks", "log10 of its norm", start=1)}


if __name__ == "__main__":
    main()
