"""What an op's block tells a learner: its rule in words, why gradients become small in it, classic mistakes.

    exp = Op("exp", ..., about=About(rule="g times the result, because exp is its own derivative."))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Slip:
    """A classic mistake: its name, a sentence that teaches, and, in an op's block, a wrong rule of its first input."""

    name: str
    teaches: str
    rule: Callable[..., Any] | None = None


@dataclass(frozen=True)
class About:
    """What a learner should know about an op.

    rule    its rule in words, one sentence
    derived the rule from the definition, line by line
    small   why a gradient becomes small in it: a sentence, cases of its numbers (`Case`), or a function of
            a `Passage` that reads a sentence off the numbers; a live page cannot ask that one again
    bad     what to do where its result or its slope is infinite or NaN
    total   what its result adds up to, row by row: 1 for probabilities
    slope_total     the same of the gradient it sends to its first input: 0 where a shift of the row changes nothing
    slips   classic mistakes in its rule
    opens   False if its definition says no more than its rule, so that there is nothing to see inside
    """

    rule: str = ""
    derived: tuple[str, ...] = ()
    small: str | tuple[Any, ...] | Callable[[Any], str] = ""
    bad: str = ""
    total: float | None = None
    slope_total: float | None = None
    slips: tuple[Slip, ...] = ()
    opens: bool = True


# --- why a gradient becomes small: cases of the numbers of one step ---------------------------------------------
# A case is data, so that Python (`stepping/questions.py`) and a live page (its script `whys.js`) read it alike.

SATURATED = 0.99  # of the most that a squashing function can give


class Case(NamedTuple):
    """`says` is the reason when "all" or "any" of the numbers (or rows) `of` a step are `so`, if there is "one" alone,
    or "always". It may name the {op}, the {name}, the {zeros} and the {largest} of its other input, and {k} of {n} that
    are so.

    of  "g" (what arrives), "out", "x" (the input that it is sent to), "other" (the first other input), "sent"
    so  a key of `SO` in questions.py
    """

    of: str
    so: str
    when: str
    says: str
    limit: float = 0.0


def saturated(slope, so):
    """Of a squashing function: at these inputs it is almost flat."""
    says = (f": at an input this far from 0 its slope, {slope}, is almost 0. Scale its inputs down, or start with "
            "smaller weights.")
    return (Case("out", so, "all", "{op} is saturated" + says, SATURATED),
            Case("out", so, "any", "{op} is saturated at {k} of {n} entries" + says, SATURATED))


_ALIVE = ("not above 0, and there relu passes nothing on. A smaller learning rate, a positive bias or leaky_relu keeps "
          "units alive.")
dead = (Case("x", "not above 0", "one", f"A dead ReLU: its input is {_ALIVE}"),
        Case("x", "not above 0", "always", f"A dead ReLU: {{k}} of its {{n}} inputs are {_ALIVE}"))

probabilities = (
    Case("out", "row of zeros", "any",
         "A row of its input is masked out completely, so it is all zeros and passes nothing on."),
    Case("g", "level row", "all",
         "What arrives is the same all along a row, and softmax does not change when all its inputs rise alike.", 1e-9),
    Case("out", "row with one near 1", "all",
         "softmax is saturated: one probability in each row is almost 1, and then small changes of the inputs change "
         "nothing. Divide the scores by a larger number (√d), or make them smaller.", SATURATED))

normalised = (
    Case("g", "level row", "all",
         "What arrives is the same for every feature of a row (a plain sum does that), and the norm subtracts the "
         "mean: a change that lifts all features alike is undone. Let the loss weigh features differently.", 1e-6),
    Case("g", "level row", "always",
         "The norm subtracts each row's mean and divides by its spread: changes in those directions leave no trace."))

other_factor = (Case("other", "0", "all", "It is multiplied by {name}, which is {zeros}."),
                Case("other", "0", "always", "It is multiplied by {name}, whose largest entry is {largest}."))

picked = (Case("sent", "not 0", "always", "Only {k} of its {n} entries were used; the others get 0."),)

chosen = (Case("sent", "not 0", "always", "{op} passes its gradient only to the entry it chose."),)
