"""The sheets of the worked examples, in the book's parts and order: every line that it prints, what it is and why.

    handgrad worksheet example2 -o sheet.html                 # our names, with the book's in a table
    handgrad worksheet example2 --names book -o sheet.html    # the book's

Each line is a Value, so that the sheet computes what a learner computes; `tests/worksheets/test_sheets.py` holds every
number against the engine's own backward pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograd import Value, exp, log, max, mean, outer, relu, sigmoid, softmax, stack, sum
from autograd.worksheets.plan import Plan
from examples import cat_sleeps as cat
from examples import example5_feed_forward as feed_forward
from examples.mini_transformer import TENTH, TOKENS, widen

NO_GRADIENT = np.zeros(2, int)  # the row of a position that the loss does not read
WEIGHTS = [f"p{n}" for n in "₀₁"]


def by_token(name: str) -> list[str]:
    return [f"{name}({token})" for token in TOKENS]


# --- what Examples 1 to 4 share --------------------------------------------------------------------------------------


def given_tokens(plan: Plan) -> dict[str, Value]:
    """The vectors of A and B; C and D are only ever predicted."""
    return {token: plan.given(token, TOKENS[token]) for token in "AB"}


def given_weights(plan: Plan, WO: Any = TENTH) -> list[Value]:
    """WQ, WK, WV and WO, which training moves."""
    name = "WO" if np.shape(WO) == (2, 2) else "WO4"
    return [plan.given(each, data, moves=True) for each, data in
            [("WQ", TENTH), ("WK", TENTH), ("WV", TENTH), (name, WO)]]  # fmt: skip


def projections(plan: Plan, X: Value, weights: Sequence[Value], n: str = "", says: str = "") -> list[Value]:
    plan.step(f"Queries, keys and values{n and f' of example {n}'}", says or
              "Each token makes a query (what it looks for), a key (what it offers) and a value (what it hands on). "
              "Each is its row of X times a weight matrix.", taught="projections")  # fmt: skip
    return [plan.line(f"{name}{n}", X @ W, f"X{n} · W{name}", decimals=1)
            for name, W in zip("QKV", weights, strict=False)]


def scores(plan: Plan, Q: Value, K: Value, n: str = "") -> Value:
    plan.step(f"Attention scores of the last token{n and f', example {n}'}",
              "How well does the last query fit each key? Their dot product says it; divided by √2, the root of the "
              "width, it stays small when rows are long.", taught="scores")  # fmt: skip
    score = plan.line(f"score{n}[1]", Q[1] @ K.T, f"Q{n}[1] · K{n}ᵀ", decimals=2)
    return plan.line(f"scaled{n}[1]", score / math.sqrt(2), f"score{n}[1] / √2", decimals=5,
                     book=f"scaled_score{n}[1]")  # fmt: skip


def soft(plan: Plan, name: str, inner: str, scores: Value, of: str, decimals: Sequence[int], new: str = "",
         entries: Sequence[str] = ()) -> Value:  # fmt: skip
    """A softmax in the book's five lines."""
    steps = [f"{inner}_{step}{new}" for step in ("max", "shift", "exp", "expsum")]
    largest = plan.line(steps[0], max(scores), f"the largest of {of}", decimals=decimals[0])
    shift = plan.line(steps[1], scores - largest, f"{of} − {steps[0]}", decimals=decimals[0])
    e = plan.line(steps[2], exp(shift), f"exp({steps[1]})", decimals=decimals[1])
    z = plan.line(steps[3], sum(e), f"Σ {steps[2]}", decimals=decimals[2])
    return plan.line(name, e / z, f"{steps[2]} / {steps[3]}", decimals=decimals[3], entries=entries)


def context(plan: Plan, attn: Value, V: Value, n: str = "") -> Value:
    plan.step(f"Context vector{n and f' of example {n}'}",
              "The context is the mean of the value rows, weighted by attention. It is all that the output sees of the "
              "sequence.", taught="context")  # fmt: skip
    return plan.line(f"ctx{n}", attn @ V, f"attn{n}[1] · V{n}", decimals=4, book=f"context{n}")


def mapped(ctx: Value, WO: Value) -> Value:
    """The logits of the printed 2×2 WO: of A and B from its first row, of C from its second, of D always 0."""
    return stack([ctx[0] * WO[0, 0], ctx[0] * WO[0, 1], ctx[1] * WO[1, 1], 0])


MAPPED = "ctx[0] × WO[0][0] for A, ctx[0] × WO[0][1] for B, ctx[1] × WO[1][1] for C, 0 for D"


def forward(plan: Plan, tokens: dict[str, Value], weights: Sequence[Value]) -> dict[str, Value]:
    """The forward pass of Examples 1 to 3, in the steps of the book."""
    plan.step("Token embeddings", "Write the vectors of the tokens A and B below each other. Row 0 is A, row 1 is B.")
    X = plan.line("X", stack([tokens["A"], tokens["B"]]), "the rows A and B", decimals=0)
    Q, K, V = projections(plan, X, weights)
    scaled = scores(plan, Q, K)
    plan.step("Attention weights (softmax)",
              "Softmax makes weights of the scores: positive, and 1 in all. The largest score is subtracted first, "
              "which changes nothing and keeps exp small.", taught="softmax")  # fmt: skip
    attn = soft(plan, "attn[1]", "attn", scaled, "scaled[1]", (5, 4, 4, 3), entries=WEIGHTS)
    ctx = context(plan, attn, V)
    plan.step("Output logits", "A logit is the score of a token as the next one. WO maps the context to the four of "
              "them.", taught="logits")  # fmt: skip
    logit = plan.line("logit", mapped(ctx, weights[3]), MAPPED, decimals=5, entries=by_token("logit"))
    plan.step("Probabilities (softmax)", "The same softmax, now over the four tokens. Before training all four are "
              "nearly 1/4.", taught="softmax")  # fmt: skip
    P = soft(plan, "P", "out", logit, "logit", (5, 3, 2, 3), entries=by_token("P"))
    return {"X": X, "Q": Q, "K": K, "V": V, "attn": attn, "ctx": ctx, "logit": logit, "P": P}


def loss(plan: Plan, P: Value, n: str = "", target: int = 2) -> Value:
    plan.step(f"Loss{n and f' of example {n}'}", "The loss is −log of the probability of the target (log is the "
              "natural logarithm). It is 0 if the model is sure and right.", taught="loss")  # fmt: skip
    return plan.line(f"L{n}", -log(P[target]), f"−log P{n}({'ABCD'[target]})", decimals=3)


def logit_gradient(plan: Plan, P: Value, n: str = "", target: int = 2) -> Value:
    plan.step(f"Gradient of the logits{n and f', example {n}'}", "Through −log and softmax the gradient is P − onehot: "
              "the probability, minus 1 at the target. A negative gradient says: raise this logit.",
              taught="P − onehot")  # fmt: skip
    return plan.line(f"dL/dlogit{n}", P - np.eye(4, dtype=int)[target], f"P{n} − onehot({'ABCD'[target]})", decimals=3,
                     book=f"dL/dlogits{n}", also=[f"dL_dlogits{n}", f"dL/dlogit{n}"],
                     entries=by_token(f"dL/dlogit{n}"))  # fmt: skip


# --- the examples ----------------------------------------------------------------------------------------------------


def example1(_eta: float = 0.1) -> Plan:
    plan = Plan("Which token follows A B? The weights are not trained yet.")
    tokens, weights = given_tokens(plan), given_weights(plan)
    plan.part("Forward pass")
    found = forward(plan, tokens, weights)
    plan.step("Percent", "Say the probabilities in percent. Do they favour a token?")
    plan.line("percent", 100 * found["P"], "100 × P", decimals=1, entries=[f"100*P({t})" for t in TOKENS])
    plan.checks = ["attn[1] adds up to 1", "P adds up to 1"]
    return plan


def example2(eta: float = 0.1) -> Plan:
    plan = Plan("Which token follows A B? The target is C. Do one training step, which moves two weights of WO, and "
                "see whether C becomes more likely.")  # fmt: skip
    tokens, weights = given_tokens(plan), given_weights(plan)
    rate = plan.given("eta", eta)
    plan.part("Part 1: forward pass (before training)")
    found, WO = forward(plan, tokens, weights), weights[3]
    ctx, P = found["ctx"], found["P"]
    plan.part("Part 2: training step", "backward")
    L = loss(plan, P)
    slope = logit_gradient(plan, P)
    plan.step("Gradient of WO", "Each weight joins an entry of the context to a logit. Its gradient is the product of "
              "the two: context times gradient of the logit.")  # fmt: skip
    dWO = plan.line("dL/dWO", outer(ctx, slope), "ctx[i] × ∂L/∂logit[j]", decimals=5, book="dWO")
    plan.step("Update the weights", "Go against the gradient, by η times its size. Two weights move: that of A, and "
              "that of C, WO[1][1], whose gradient is ∂L/∂WO[1][2].", "update")  # fmt: skip
    moved = [[WO[0, 0] - rate * dWO[0, 0], WO[0, 1]], [WO[1, 0], WO[1, 1] - rate * dWO[1, 2]]]
    WO_new = plan.line("WO_new", stack([stack(row) for row in moved]), "WO − η × gradient", decimals=3,
                       also=["WO_new"])  # fmt: skip
    plan.part("Part 3: forward pass (after training)")
    plan.step("New logits", "The context is unchanged. Use it with the new WO.", taught="logits")
    logit_new = plan.line("logit_new", mapped(ctx, WO_new), MAPPED.replace("WO", "WO_new"), decimals=5,
                          entries=by_token("logit_new"))  # fmt: skip
    plan.step("New probabilities", "The softmax of the new logits. C should have gained.", taught="softmax")
    P_new = soft(plan, "P_new", "out", logit_new, "logit_new", (5, 4, 3, 4), "_new", by_token("P_new"))
    plan.part("Verification")
    plan.step("Is the model better?", "The loss should have fallen, and P(C) risen. One step is small: to see it, work "
              "out L, L_new and P(C) once more with six decimals.")  # fmt: skip
    L_new = plan.line("L_new", -log(P_new[2]), "−log P_new(C)", decimals=3)
    plan.line("L_change", L_new - L, "L_new − L", decimals=4)
    plan.line("P_change", P_new[2] - P[2], "P_new(C) − P(C)", decimals=4, entries=["P_new(C)-P(C)"])
    plan.checks = ["attn[1], P and P_new each add up to 1", "∂L/∂logit adds up to 0",
                   "∂L/∂logit(C) is negative, and WO[1][1] grew"]  # fmt: skip
    return plan


def example3(eta: float = 0.1) -> Plan:
    plan = Plan("Which token follows A B? The target is C. Carry the gradient from the loss back to WQ.")
    tokens, weights = given_tokens(plan), given_weights(plan)
    rate = plan.given("eta", eta)
    plan.part("Forward pass (as in Example 2)")
    found, WO = forward(plan, tokens, weights), weights[3]
    X, Q, K, V, attn, P = (found[name] for name in ("X", "Q", "K", "V", "attn", "P"))
    loss(plan, P)
    plan.part("Backward pass", "backward")
    slope = logit_gradient(plan, P)
    plan.step("Gradient of the context", "Each entry of the context feeds the logits through a row of WO. Add what "
              "comes back along each.")  # fmt: skip
    dctx = plan.line("dL/dctx", stack([slope[0] * WO[0, 0] + slope[1] * WO[0, 1], slope[2] * WO[1, 1]]),
                     "∂L/∂logit(A) × WO[0][0] + ∂L/∂logit(B) × WO[0][1], ∂L/∂logit(C) × WO[1][1]", decimals=3,
                     book="dL/dcontext")  # fmt: skip
    plan.step("Gradient of the attention output", "The loss reads only the last row. Row 0 gets no gradient.")
    dout = plan.line("dL/dout", stack([NO_GRADIENT, dctx]), "0 in row 0, ∂L/∂ctx in row 1", decimals=3,
                     book="dL/doutput")  # fmt: skip
    plan.step("Gradient of the attention weights", "A weight multiplies a row of V. Its gradient is the dot product of "
              "that row with what arrives.")  # fmt: skip
    dattn = plan.line("dL/dattn", stack([NO_GRADIENT, dout[1] @ V.T]), "∂L/∂out · Vᵀ", decimals=4,
                      book="dL/dweights")  # fmt: skip
    plan.step("Back through softmax", "Each weight gets its own gradient minus the average one, dot, times itself. "
              "What one score gains, the other loses.")  # fmt: skip
    dot = plan.line("dot", sum(dattn[1] * attn), "Σ ∂L/∂attn[1] × attn[1]", decimals=6)
    dscaled = plan.line("dL/dscaled", stack([NO_GRADIENT, attn * (dattn[1] - dot)]),
                        "attn[1] × (∂L/∂attn[1] − dot) in row 1", decimals=6, book="dL/dscaled_scores")  # fmt: skip
    plan.step("Back through the scaling", "The forward pass divided by √2. So does the backward pass.")
    dscore = plan.line("dL/dscore", stack([NO_GRADIENT, dscaled[1] / math.sqrt(2)]), "∂L/∂scaled / √2", decimals=6,
                       book="dL/dscores")  # fmt: skip
    plan.step("Gradients of Q, K and V", "A product sends to each factor what arrives times the other factor. The "
              "shapes say what is transposed.")  # fmt: skip
    dQ = plan.line("dL/dQ", stack([NO_GRADIENT, dscore[1] @ K]), "∂L/∂score · K", decimals=7)
    plan.line("dL/dK", outer(dscore[1], Q[1]), "∂L/∂scoreᵀ · Q", decimals=7)
    plan.line("dL/dV", outer(attn, dout[1]), "attnᵀ · ∂L/∂out", decimals=5)
    plan.step("Gradient of WQ", "Q is X times WQ, so WQ gets Xᵀ times what arrives at Q.")
    dWQ = plan.line("dL/dWQ", X.T @ dQ, "Xᵀ · ∂L/∂Q", decimals=7, book="dWQ")
    plan.part("Update", "update")
    plan.step("Update WQ", "Go against the gradient, by η times its size. The change is tiny: one step is.")
    plan.line("WQ_new", weights[0] - rate * dWQ, "WQ − η × ∂L/∂WQ", decimals=8)
    plan.checks = ["attn[1] and P each add up to 1", "∂L/∂logit and row 1 of ∂L/∂scaled each add up to 0"]
    return plan


PATTERNS = (("A", "B", "C"), ("A", "A", "D"), ("B", "A", "C"))


def example4(eta: float = 0.1) -> Plan:
    plan = Plan("Three sequences at once: [A, B] → C, [A, A] → D, [B, A] → C. Average their gradients, update WO once, "
                "and see whether the mean loss falls.")  # fmt: skip
    tokens = given_tokens(plan)
    *weights, WO = given_weights(plan, widen(TENTH))
    rate = plan.given("eta", eta)
    found: list[tuple[Value, Value, Value]] = []
    plan.part("Part 1: forward pass for each example")
    for n, (first, second, target) in zip("123", PATTERNS, strict=True):
        where = list(TOKENS).index(target)
        plan.step(f"Embeddings of example {n}", f"Example {n} is [{first}, {second}] → {target}. Row 0 is {first}, row "
                  f"1 is {second}.", taught="embeddings")  # fmt: skip
        X = plan.line(f"X{n}", stack([tokens[first], tokens[second]]), f"the rows {first} and {second}", decimals=0)
        Q, K, V = projections(plan, X, weights, n, "As in Example 1: X times each weight matrix. Look at which rows "
                              "are equal.")  # fmt: skip
        scaled = scores(plan, Q, K, n)
        plan.step(f"Attention weights of example {n}", "The softmax of the scaled scores. Equal scores give equal "
                  "weights.", taught="softmax")  # fmt: skip
        attn = plan.line(f"attn{n}[1]", softmax(scaled), f"softmax(scaled{n}[1])", decimals=3, book=f"weights{n}[1]",
                         entries=[f"p{n}{x}" for x in "₀₁"])  # fmt: skip
        ctx = context(plan, attn, V, n)
        plan.step(f"Logits and probabilities of example {n}", "The context times WO scores the four tokens. Softmax "
                  "makes probabilities of the scores.", taught="logits")  # fmt: skip
        logit = plan.line(f"logit{n}", ctx @ WO, f"ctx{n} · WO4", decimals=5, book=f"logits{n}",
                          entries=by_token(f"logit{n}"))  # fmt: skip
        P = plan.line(f"P{n}", softmax(logit), f"softmax(logit{n})", decimals=3, book=f"probs{n}",
                      entries=by_token(f"P{n}"))  # fmt: skip
        found.append((ctx, P, loss(plan, P, n, where)))
    plan.part("Part 2: gradients for each example", "backward")
    gradients = []
    for n, (*_, target), (ctx, P, _) in zip("123", PATTERNS, found, strict=True):
        slope = logit_gradient(plan, P, n, list(TOKENS).index(target))
        plan.step(f"Gradients of the context and of WO, example {n}", "Each row of WO carries the gradient back to an "
                  "entry of the context. Each weight gets its entry of the context times the gradient of its logit.",
                  taught="gradient of WO")  # fmt: skip
        plan.line(f"dL/dctx{n}", slope @ WO.T, f"∂L/∂logit{n} · WO4ᵀ", decimals=3, book=f"dL/dcontext{n}")
        gradients.append(plan.line(f"dL/dWO{n}", outer(ctx, slope), f"ctx{n}[i] × ∂L/∂logit{n}[j]", decimals=4,
                                   book=f"dWO{n}"))  # fmt: skip
    plan.part("Part 3: average gradient", "backward")
    plan.step("Average gradient", "The loss is the mean of the three losses. So its gradient is the mean of the three "
              "gradients.")  # fmt: skip
    average = plan.line("dL/dWO", (gradients[0] + gradients[1] + gradients[2]) / 3,
                        "(∂L/∂WO1 + ∂L/∂WO2 + ∂L/∂WO3) / 3", decimals=4, book="dWO_avg")  # fmt: skip
    plan.part("Part 4: update", "update")
    plan.step("Update WO", "Go against the average gradient, by η times its size. All eight weights may move.")
    WO_new = plan.line("WO4_new", WO - rate * average, "WO4 − η × ∂L/∂WO", decimals=4, book="WO_new")
    plan.part("Part 5: verify the improvement")
    for n, (*_, target), (ctx, *_) in zip("123", PATTERNS, found[:3], strict=True):
        where = list(TOKENS).index(target)
        plan.step(f"Example {n} again", "The context is unchanged. With the new WO the target should be more likely.",
                  taught="logits")  # fmt: skip
        logit = plan.line(f"logit{n}_new", ctx @ WO_new, f"ctx{n} · WO4_new", decimals=5)
        P = plan.line(f"P{n}_new", softmax(logit), f"softmax(logit{n}_new), of the target", decimals=3,
                      asked={(where,)}, entries=by_token(f"P{n}_new"))  # fmt: skip
        L_new = plan.line(f"L{n}_new", -log(P[where]), f"−log P{n}_new({target})", decimals=3)
        found.append((ctx, P, L_new))
    plan.step("Mean loss", "One number for the whole batch, before and after. It should have fallen.")
    for name, three in (("L_mean", found[:3]), ("L_mean_new", found[3:])):
        losses = [L for *_, L in three]
        plan.line(name, (losses[0] + losses[1] + losses[2]) / 3, "the mean of the three losses", decimals=2)
    plan.checks = ["P1, P2 and P3 each add up to 1", "∂L/∂logit1, 2 and 3 each add up to 0"]
    return plan


def example5(_eta: float = 0.1) -> Plan:
    plan = Plan("Attention over A B, then a feed-forward network on each row, added to what came in.")
    tokens = given_tokens(plan)
    weights = [plan.given(name, TENTH, moves=True) for name in ("WQ", "WK", "WV")]
    W1, W2 = (plan.given(name, feed_forward.run()[name], moves=True) for name in ("W1", "W2"))
    plan.part("Part 1: attention")
    plan.step("Token embeddings", "Write the vectors of the tokens A and B below each other. Row 0 is A, row 1 is B.")
    X = plan.line("X", stack([tokens["A"], tokens["B"]]), "the rows A and B", decimals=0)
    Q, K, V = projections(plan, X, weights)
    plan.step("Attention scores", "Each query meets each key. Divided by √2, the root of the width.", taught="scores")
    score = plan.line("score", Q @ K.T, "Q · Kᵀ", decimals=2)
    scaled = plan.line("scaled", score / math.sqrt(2), "score / √2", decimals=5)
    plan.step("Attention weights and output", "Softmax makes weights of each row of scores. Each row of the output is "
              "the mean of the rows of V with these weights.", taught="softmax")  # fmt: skip
    attn = plan.line("attn", softmax(scaled), "softmax of each row of scaled", decimals=3)
    out = plan.line("out", attn @ V, "attn · V", decimals=4, book="attention_output")
    plan.part("Part 2: feed-forward network")
    plan.step("First linear layer", "Each row is multiplied by W1, every row by the same. Rows do not mix here.")
    hidden = plan.line("hidden", out @ W1, "out · W1", decimals=5)
    plan.step("ReLU", "Negative numbers become 0, others stay. Is there a negative one?")
    act = plan.line("act", relu(hidden), "the larger of hidden and 0", decimals=5, book="activated")
    plan.step("Second linear layer", "Back to the width of the row: times W2.", taught="First linear layer")
    ffn = plan.line("ffn", act @ W2, "act · W2", decimals=6, book="ffn_output")
    plan.part("Part 3: residual")
    plan.step("Residual connection", "What came in is added to what the network made of it. So the network only has to "
              "learn the difference.")  # fmt: skip
    final = plan.line("final", out + ffn, "out + ffn", decimals=6, book="final_output")
    plan.part("Part 4: comparison")
    plan.step("What did the network add?", "Compare row 1 before and after. Both entries should have grown alike.")
    plan.line("added[1]", final[1] - out[1], "final[1] − out[1]", decimals=4)
    plan.checks = ["each row of attn adds up to 1"]
    return plan


def cat_sleeps(_eta: float = 0.1) -> Plan:
    plan = Plan("“The cat sleeps”: one number for each of the three tokens, and how wrong it is.")
    known = cat.run()
    X = plan.given("X", known["X"])
    names = ("W_Q", "W_K", "W_V", "W_FFN1", "W_FFN2")
    W_Q, W_K, W_V, W1, W2 = (plan.given(name, known[name], moves=True) for name in names)
    y = plan.given("y", known["y"])
    plan.part("Steps 1–5: attention")
    plan.step("Q, K, V", "Each token makes a query, a key and a value. Each is its row of X times a weight matrix.")
    Q, K, V = (plan.line(name, X @ W, f"X · W_{name}", decimals=2)
               for name, W in zip("QKV", (W_Q, W_K, W_V), strict=True))  # fmt: skip
    plan.step("Scores", "Each query meets each key. Divided by √3, the root of the width.")
    scaled = plan.line("scaled", Q @ K.T / math.sqrt(3), "Q · Kᵀ / √3", decimals=3, book="scores")
    plan.step("Attention weights", "Softmax of each row: positive numbers that add up to 1.")
    attn = plan.line("attn", softmax(scaled), "softmax of each row of scaled", decimals=3, book="Attention_Weights")
    plan.step("Attention output", "The mean of the rows of V, weighted by attention. All three rows come out alike.")
    out = plan.line("out", attn @ V, "attn · V", decimals=3, book="Attn_Output")
    plan.part("Step 6: feed-forward network")
    plan.step("Hidden layer", "Each row times W_FFN1; negative numbers become 0.")
    hidden = plan.line("hidden", relu(out @ W1), "the larger of out · W_FFN1 and 0", decimals=2)
    plan.step("Predictions", "One number for each token, then the sigmoid: a number between 0 and 1, read as a "
              "probability.")  # fmt: skip
    logit = plan.line("logit", (hidden @ W2)[:, 0], "hidden · W_FFN2", decimals=2, book="logits")
    p = plan.line("p", sigmoid(logit), "1 / (1 + exp(−logit))", decimals=3, book="predictions")
    plan.part("Step 7: loss")
    plan.step("Loss", "Binary cross-entropy: −log p where the label is 1, −log(1 − p) where it is 0. Take the mean "
              "over the tokens.")  # fmt: skip
    plan.line("L", -mean(y * log(p) + (1 - y) * log(1 - p)), "the mean of −log p, or of −log(1 − p)", decimals=4,
              book="Loss")  # fmt: skip
    plan.part("Step 8: gradients", "backward")
    plan.step("Gradient of the logits", "Through the loss and the sigmoid it is p − y, divided by how many tokens "
              "there are.")  # fmt: skip
    slope = plan.line("dL/dlogit", (p - y) / 3, "(p − y) / 3", decimals=4, book="dL/dlogits")
    plan.step("Gradient of W_FFN2", "A product sends to its weights what came in, transposed, times what arrives.",
              taught="gradient of a weight matrix")  # fmt: skip
    plan.line("dL/dW_FFN2", (slope @ hidden).reshape(3, 1), "hiddenᵀ · ∂L/∂logit", decimals=4)
    plan.step("Gradient of the hidden layer", "Each token's gradient goes back through W_FFN2. Where ReLU gave 0, "
              "nothing passes.")  # fmt: skip
    dhidden = plan.line("dL/dhidden", outer(slope, W2[:, 0]), "∂L/∂logit · W_FFN2ᵀ", decimals=4)
    plan.step("Gradient of W_FFN1", "The same rule, one layer down.", taught="gradient of a weight matrix")
    plan.line("dL/dW_FFN1", out.T @ dhidden, "outᵀ · ∂L/∂hidden", decimals=4)
    plan.checks = ["each row of attn adds up to 1"]
    return plan


PLANS: dict[str, Callable[[float], Plan]] = {
    plan.__name__: plan for plan in (example1, example2, example3, example4, example5, cat_sleeps)
}
