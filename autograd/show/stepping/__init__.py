"""The stepper: backprop as a list of steps, and the faces that show it.

Walk ──▶ Steps (data) ──▶ Stepper, with a cursor ──▶ terminal · page · notebook · pictures

walk       every number of a forward and a backward pass; Step, Contribution
wording    names, symbols and rules of the steps; `formula`, `algebra`, `maths`: how a rule is written
folding    modules as single steps
stepper    `step` and the Stepper it returns
terminal   text, and a player with keys
"""

from autograd.show.stepping.stepper import Ledger, Stepper, step
from autograd.show.stepping.walk import Contribution, Step

__all__ = ["Contribution", "Ledger", "Step", "Stepper", "step"]
