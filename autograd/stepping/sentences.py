"""Rules in words, for someone who meets them for the first time, and the question that each step asks first.

One sentence an op; the formula says the rest.
"""

from __future__ import annotations

from collections.abc import Callable

from autograd.stepping.walk import BACKWARD, Step

MOST_LISTED = 4  # names in a sentence

RULES = {
    "add": "A sum hands the gradient on unchanged: one more in a term is one more in the sum.",
    "sub": "A difference hands the gradient on unchanged to the first term, and with its sign turned to the second.",
    "neg": "A minus sign turns the gradient's sign.",
    "mul": "A product sends to each factor the gradient times the other factor.",
    "div": "A quotient sends the gradient divided by the divisor; the divisor itself gets it with a minus sign.",
    "power": "A power x ** n has the slope n · x ** (n − 1).",
    "exp": "exp is its own slope: the gradient times the result.",
    "log": "log has the slope 1 / x: the smaller x, the larger the gradient.",
    "sqrt": "A root has the slope 1 / (2 · result).",
    "sin": "sin has the slope cos.",
    "cos": "cos has the slope −sin.",
    "tanh": "tanh has the slope 1 − result²: 1 near zero, almost 0 far from it.",
    "sigmoid": "sigmoid has the slope result · (1 − result), at most a quarter.",
    "relu": "relu passes the gradient where its input is above 0, and stops it elsewhere.",
    "gelu": "gelu has a slope near 1 for large inputs and near 0 for very negative ones.",
    "abs": "The absolute value passes the gradient with the sign of its input.",
    "maximum": "The larger of the two gets the gradient; the other gets nothing.",
    "minimum": "The smaller of the two gets the gradient; the other gets nothing.",
    "where": "Each entry's gradient goes to the side it was taken from.",
    "matmul": "A matrix product sends to each side the gradient times the other side, transposed: every entry collects "
    "all the sums it took part in.",
    "linear": "A linear layer sends the gradient back through its weights, and to the weights what came in times it.",
    "sum": "A sum hands the same gradient to every number that was added.",
    "mean": "A mean hands every number an equal share of the gradient.",
    "max": "Only the largest entry gets the gradient.",
    "min": "Only the smallest entry gets the gradient.",
    "softmax": "Probabilities share one total: each entry gets its own gradient minus the average that the row gets, "
    "times its probability.",
    "log_softmax": "Each entry gets its gradient minus its probability's share of the row's total.",
    "logsumexp": "Each entry gets its softmax share of the gradient.",
    "cross_entropy": "What the model said minus what was true: the probability, less 1 at the target.",
    "layer_norm": "Layer norm takes off each row's mean and scale, so the gradient loses those two directions as well.",
    "getitem": "The gradient goes back to the place that was picked; everything else gets 0.",
    "transpose": "A transpose turns the gradient back.",
    "swapaxes": "A transpose turns the gradient back.",
    "reshape": "The same numbers in another shape: the gradient is put back into the first one.",
    "broadcast_to": "What was copied collects the gradients of all its copies.",
    "concatenate": "Each part gets its own piece of the gradient back.",
    "stack": "Each part gets its own piece of the gradient back.",
    "attention": "The gradient goes to the values by the attention weights, and through softmax to queries and keys.",
}


def in_words(step: Step) -> str:
    """The step's rule in words; "" where nobody wrote one."""
    return RULES.get(step.node.op.name, "") if step.node.op is not None and step.module is None else ""


def asked_of(step: Step, mark: Callable[[str], str] = str) -> str:
    """What a reader may guess before a step is shown; `mark` writes the names in it."""
    if step.kind != BACKWARD:
        return "What will it be?"
    sent = sorted(step.contributions, key=lambda c: step.module is not None and c.parent.op is None)  # inputs first
    names = [mark(name) for name in dict.fromkeys(step.words.name(c.parent) for c in sent)]
    if not names:
        return "It sends nothing on."
    if len(names) > MOST_LISTED:
        names = [*names[: MOST_LISTED - 1], f"{len(names) - MOST_LISTED + 1} others"]
    *first, last = names
    return f"What will it send to {', '.join(first)} and {last}?" if first else f"What will it send to {last}?"
