"""The answers to the lessons' exercises, each computed by the engine: `exercise_3_1` is that of lesson 3, exercise 1.

They stand here and not in the lessons, so that nobody reads an answer while reading the question. A docstring is the
hint for those who were wrong. What an answer depends on in the lesson is an argument.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from backward_lines import Line

from autograd import (
    Value,
    check_grads,
    compile,
    cross_entropy,
    exp,
    gelu,
    grad,
    layer_norm,
    log,
    relu,
    sigmoid,
    softmax,
    step,
    tanh,
    vjp,
)
from nn import MLP, MultiHeadAttention
from nn.functional import attention_weights, causal_mask
from nn.optim import Adam


class AnyOf(list[float]):
    """Several numbers, each of which is right."""


class InPython(str):
    """An answer that is code, so that a page without Python cannot judge it."""


# --- 1: a scalar by hand ------------------------------------------------------------------------------------------


def _formula() -> list[Value]:
    a, b, c, f = Value(4.0), Value(0.5), Value(1.0), Value(3.0)
    ((a * b + c) * f).backward()
    return [a, b, c, f]


def exercise_1_1() -> Any:
    """d gets f; a sum hands it on to e; a product sends it on to b, times a."""
    return _formula()[1].grad


def exercise_1_2() -> Any:
    """c is a term of a sum: it gets what d got. f gets d itself."""
    *_, c, f = _formula()
    return [c.grad, f.grad]


def exercise_1_3() -> Any:
    """x is used twice in the product and once in the sum."""
    x = Value(-2.0, name="x")
    ledger = step(x * x + x).ledger(x)
    return [len(ledger), ledger.total]


# --- 2: the chain rule --------------------------------------------------------------------------------------------


def exercise_2_1() -> Any:
    """Two paths: directly as a factor, and through y."""
    return grad(lambda x: x * (x + 1.0))(4.0)


def exercise_2_2() -> Any:
    """Paths double at each level."""
    bottom = top = Value(1.0)
    for _ in range(10):
        top = top + top
    diamonds = step(top)
    return [diamonds.ledger(bottom).total, sum(one.kind == "backward" for one in diamonds)]


def exercise_2_3(steps: Any) -> Any:
    """b was made after a."""
    return [one.name for one in steps if one.kind == "backward"][1]


def exercise_2_4() -> Any:
    """The slope of b in a * b is a; what arrives is multiplied by it."""
    return Line("g * a", lambda b, a: a * b, b=[2.0, -1.5], a=[3.0, 0.5])


# --- 3: one neuron ----------------------------------------------------------------------------------------------


def exercise_3_1() -> Any:
    """A weight's slope is its input; the bias's is 1."""
    w, b = Value(1.0), Value(0.0)
    (w * 4.0 + b).backward(-0.5)
    return [w.grad, b.grad]


def exercise_3_2() -> Any:
    """Against the gradient: 1 − 0.05 · (−2)."""
    w = Value(1.0)
    (w * -2.0).backward()
    return w.data - 0.05 * w.grad


def exercise_3_3() -> Any:
    """1 − y²."""
    return grad(tanh)(math.atanh(0.99))


def exercise_3_4() -> Any:
    """The slope of tanh is 1 - tanh², and out is tanh(x)."""
    return Line("g * (1 - out**2)", np.tanh, x=[0.5, -1.0, 2.0])


# --- 4: a network by hand ---------------------------------------------------------------------------------------


def exercise_4_1() -> Any:
    """With: the three slopes are added once each. Without: the second step moves by the first two, the third by all."""
    slopes = np.array([1.0, 0.5, -0.5])
    return [-0.1 * slopes.sum(), -0.1 * slopes.cumsum().sum()]


def exercise_4_2() -> Any:
    """Each weight's slope is what it is multiplied with."""
    v1, v2, d = Value(1.0), Value(1.0), Value(0.0)
    (v1 * 0.5 + v2 * -1.0 + d).backward(3.0)
    return [v1.grad, v2.grad, d.grad]


def exercise_4_3() -> Any:
    """A neuron has one weight for each input, and a bias: 16 · (2 + 1), then 16 · (16 + 1), then 16 + 1."""
    return MLP(2, [16, 16, 1]).count()


# --- 5: your own Value ------------------------------------------------------------------------------------------


def exercise_5_1() -> Any:
    """The slope of exp is exp itself."""
    return grad(exp)(0.5)


def exercise_5_2() -> Any:
    """Two paths of 5 each; without the + the second overwrites the first."""
    x = Value(5.0)
    (x * x).backward()
    return [x.data, x.grad]


def exercise_5_3() -> Any:
    """1/y, and −x/y²."""
    x, y = Value(3.0), Value(2.0)
    (x / y).backward()
    return [x.grad, y.grad]


def exercise_5_4() -> Any:
    """x / y is x times 1/y; by y its slope is -x / y²."""
    return Line("-g * x / y**2", lambda y, x: x / y, y=[2.0, -0.5], x=[3.0, 1.5])


# --- 6: tensors ---------------------------------------------------------------------------------------------------


def exercise_6_1() -> Any:
    """Xᵀ times G."""
    x, w = Value([[1.0, 2.0], [3.0, 4.0]]), Value(np.ones((2, 2)))
    (x @ w).backward(grad=np.array([[1.0, 0.0], [0.0, 2.0]]))
    return w.grad


def exercise_6_2() -> Any:
    """How often was s used?"""
    return grad(lambda s: (np.zeros((4, 5)) + s).sum())(1.0)


def exercise_6_3() -> Any:
    """Every entry gets an equal share."""
    return grad(lambda s: (np.zeros((4, 5)) + s).mean())(1.0)


# --- 7: softmax and cross-entropy -------------------------------------------------------------------------------


def exercise_7_1() -> Any:
    """P − onehot: 1 is subtracted at the target alone."""
    return grad(lambda s: cross_entropy(s, 2))(np.log([0.2, 0.5, 0.3]))


def exercise_7_2() -> Any:
    """p = ½ each, and the average gradient is 2."""
    return vjp(softmax, np.zeros(2))[1](np.array([3.0, 1.0]))[0]


def exercise_7_3() -> Any:
    """−log of one tenth."""
    return cross_entropy(np.zeros(10), 0)


def exercise_7_4() -> Any:
    """Each entry gets its own gradient minus the average one, times its probability. The average is sum(g * out)."""
    return Line("out * (g - sum(g * out))", softmax, s=[[1.0, 2.0, 0.0], [0.5, -1.0, 0.2]])


# --- 8 to 15: the worked examples ---------------------------------------------------------------------------------


def _identities(example: Any) -> Any:
    identity = [[1.0, 0.0], [0.0, 1.0]]
    return example.run(WQ=identity, WK=identity)


def exercise_8_1(example: Any) -> Any:
    """Q and K are then X itself, and X is the identity here."""
    return _identities(example)["score"]


def exercise_8_2(example: Any) -> Any:
    """softmax([0, 0.7071]) = [1, 2.028] / 3.028"""
    return _identities(example)["attn"][1]


def exercise_8_3(found: Any) -> Any:
    """softmax only sees differences."""
    row = found["scaled"][1]
    before, after = (np.exp(r - r.max()) / np.exp(r - r.max()).sum() for r in (row, row + 5.0))
    return float(np.abs(after - before).max().round(12))


def exercise_9_1(example: Any) -> Any:
    """P does not depend on the target; take 1 off another entry."""
    return example.run(target="A")["dL/dlogit"]


def exercise_9_2(found: Any) -> Any:
    """The largest context entry meets the largest slope."""
    table = np.abs(found["dL/dWO"])
    return list(np.unravel_index(table.argmax(), table.shape))


def exercise_9_3(found: Any) -> Any:
    """Probabilities sum to 1, and so does a one-hot row."""
    return float(np.sum(found["dL/dlogit"]).round(12))


def exercise_10_1() -> Any:
    """The average that arrives is 2."""
    p, g = np.array([0.5, 0.5]), np.array([1.0, 3.0])
    return p * (g - (g * p).sum())


def exercise_10_2(stepper: Any) -> Any:
    """Divide two numbers of the ledger."""
    first, *_, last = stepper.ledger("X")
    return round(100 * first.total[1, 0] / last.total[1, 0])


def exercise_10_3(example: Any) -> Any:
    """Without V the context is zero. Who multiplies the context, and who multiplies V?"""
    silent = example.run(WV=[[0.0, 0.0], [0.0, 0.0]])
    return sum(bool(np.any(silent[name])) for name in ("dL/dWQ", "dL/dWK", "dL/dWV", "dL/dWO"))


def exercise_11_1() -> Any:
    """A mean hands every number an equal share."""
    losses = Value([1.2, 0.6, 0.9])
    mean = losses.mean()
    mean.backward()
    return [mean.data, losses.grad[0]]


def exercise_11_2(example: Any, stepper: Any) -> Any:
    """Three shares of one, instead of three shares of a third."""
    with np.errstate(invalid="ignore"):
        ratio = step(example.graph(reduction="sum")).ledger("WO4").total / stepper.ledger("WO4").total
    return float(np.nanmax(ratio))


def exercise_11_3(stepper: Any) -> Any:
    """It is used once per pattern."""
    return len(stepper.ledger("WQ"))


def exercise_12_1() -> Any:
    """At 0 itself the slope is taken as 0."""
    h = Value([0.2, -0.1, 0.0])
    relu(h).backward(grad=np.array([5.0, 7.0, 9.0]))
    return h.grad


def exercise_12_2() -> Any:
    """A sum hands the gradient on unchanged to both terms."""
    slope = grad(lambda x: x + 0.01 * x)(3.0)
    return [slope, slope - 1.0]


def exercise_12_3() -> Any:
    """1.01 twenty times."""
    return grad(lambda x: x + 0.01 * x)(3.0) ** 20


def exercise_13_1() -> Any:
    """The mean is 2, and both are 1 away from it."""
    return layer_norm(np.array([1.0, 3.0]), np.ones(2), np.zeros(2), eps=0.0)


def exercise_13_2() -> Any:
    """Its own mean is subtracted, and x̂ adds up to 0."""
    pull = vjp(lambda x: layer_norm(x, np.ones(4), np.zeros(4)), np.array([1.0, 2.0, 4.0, 8.0]))[1]
    return np.round(pull(np.ones(4))[0], 9) + 0.0


def exercise_13_3() -> Any:
    """Half of all numbers are below 0, and x φ(x) is 0."""
    return grad(gelu)(0.0)


def exercise_13_4() -> Any:
    """Three terms: g, minus its mean, minus out times the mean of g * out; all divided by sigma."""
    return Line("(g - mean(g) - out * mean(g * out)) / sigma", lambda x: (x - x.mean()) / x.std(),
                also={"sigma": np.std}, x=[[1.0, 3.0, -2.0], [0.5, 0.0, 2.0]])  # fmt: skip


def exercise_14_1(example: Any) -> Any:
    """Add rows × columns of every table in the drawing."""
    return example.Transformer().count()


def exercise_14_2() -> Any:
    """Take the mean off first."""
    return layer_norm(np.array([[3.0, 3.0, 3.0]]))[0]


def exercise_14_3(loss: Any) -> Any:
    """Both rows are picked in one operation."""
    return len(step(loss).ledger("embedding.weight"))


def exercise_15_1() -> Any:
    """log 0.8 is about −0.223."""
    return -math.log(0.8)


def exercise_15_2() -> Any:
    """What the model said minus what was true."""
    return grad(lambda z: -log(sigmoid(z)))(math.log(0.8 / 0.2))


def exercise_15_3(found: Any) -> Any:
    """How many outputs are there?"""
    return found["L_sum"] / found["L_mean"]


# --- 16 to 23 -----------------------------------------------------------------------------------------------------


def exercise_16_1() -> Any:
    """How often was row 1 read? Each reading adds the gradient that arrives."""
    table = Value(np.zeros((4, 2)))
    table[np.array([1, 3, 1, 1])].sum().backward()
    return table.grad[1]


def exercise_16_2() -> Any:
    """The second place sees the first and itself."""
    return attention_weights(np.zeros((4, 1)), np.zeros((4, 1)), causal_mask(4))[1]


def exercise_16_3() -> Any:
    """The root of the width of one head."""
    return math.sqrt(64 / 16)


def exercise_17_1() -> Any:
    """The heads share the width; three matrices stand side by side."""
    layer = MultiHeadAttention(64, 8)
    return [64 // layer.n_heads, layer.qkv.weight.shape[1]]


def exercise_17_2() -> Any:
    """The attention table transposed, times what arrives."""
    V = Value(np.zeros((2, 2)))
    (np.array([[1.0, 0.0], [0.5, 0.5]]) @ V).backward(np.array([[2.0, 0.0], [4.0, -2.0]]))
    return V.grad


def exercise_17_3() -> Any:
    """It was masked: what was not seen gets no gradient."""
    return 0.0


def exercise_18_1() -> Any:
    """The first step has the size η, whatever the gradient; it goes against the gradient's sign."""
    w = Value(1.0)
    w.grad = -250.0
    Adam([w], lr=0.01).step()
    return w.data


def exercise_18_2() -> Any:
    """m is 0.2 after the first step; then 0.9 times that. Divide by 1 − 0.9²."""
    return 0.9 * (0.1 * 2.0) / (1 - 0.9**2)


def exercise_18_3() -> Any:
    """An m and a v for each."""
    return 2 * 7328


def exercise_19_1(chances: Any) -> Any:
    """The chance less 1, since `a` is the target, divided by 3."""
    return (chances[0, 0] - 1) / 3


def exercise_19_2() -> Any:
    """Those of the letters that were not read: c and e."""
    return [2, 4]


def exercise_19_3(model: Any) -> Any:
    """Two tables, the packed matrix, the one after the heads, two of the feed-forward part, the head, three γ and β."""
    return model.count()


def exercise_20_1(letters: Any) -> Any:
    """−log(1/n)"""
    return math.log(len(letters))


def exercise_20_2(letters: Any) -> Any:
    """Rows times columns."""
    return 16 * len(letters)


def exercise_20_3(history: Any) -> Any:
    """Look at the curve."""
    return bool(np.mean(history[-10:]) < np.mean(history[:10]) / 2)


def exercise_21_1() -> Any:
    """Quotient rule: (1 − x²) / (1 + x²)²."""
    return InPython("pass")


def exercise_21_2() -> Any:
    """Look at the last report above."""
    return str(check_grads(lambda x: abs(x), 0.0).verdict)


def exercise_21_3(nudges: Any, errors: Any) -> Any:
    """Look at the lowest dot."""
    best = round(float(np.log10(nudges[int(np.argmin(errors))])))
    return AnyOf([best - 1, best, best + 1])


def exercise_22_1(found: Any) -> Any:
    """It is the gradient of something that ignores a shift of the whole row."""
    return float(np.sum(found.first.ours[0]).round(9))


def exercise_22_2(g: Any, h: Any, s: Any) -> Any:
    """(g − m₁ − h · m₂) / s, where m₁ is the mean of g and m₂ the mean of g · h."""
    return (g - g.mean() - h * (g * h).mean()) / s


def exercise_22_3(found: Any) -> Any:
    """print(found) says it; found.agreed too."""
    return found.agreed


def exercise_23_1(loss: Any) -> Any:
    """One term for each use of X: in Q, in K, in V, and in the difference at the end."""
    return len(step(loss).ledger("X"))


def exercise_23_2(source: str) -> Any:
    """Find the line that begins with d_V; the number at its end is that of the line above that made use of V."""
    found = re.search(r"d_V = .*# \((\d+)\)", source)
    return int(found[1]) if found else None


def exercise_23_3() -> Any:
    """Three paths lead to a: two through the product, one through the sum."""
    value, (slope,) = compile(lambda a: a * a + a)(3.0)
    return [value, slope]
