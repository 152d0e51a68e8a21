"""The stepper: backprop as a list of steps, and the faces that show it.

Walk ──▶ Steps (data) ──▶ Stepper, with a cursor ──▶ terminal · page · notebook · pictures

walk        every number of a forward and a backward pass; Step, Contribution
wording     names, symbols and rules of the steps
formula     a rule with its numbers: `valued` works it out, `writers` and `maths` write it, `pieces` prints its numbers,
            `entries` spells one entry out, `algebra` shortens it, `figures` makes HTML of it
folding     modules as single steps; `inside`: a step opened up
stepper     `step` and the Stepper it returns; `files`: what it saves
terminal    text; `player`: keys
views       the graph while it is stepped through, laid out once
panel       one step as HTML; `sentences`: rules in words; `page`: all of it as one file (page/step.*)
notebook    the page in a frame over a picture and a table; `widget`: live
"""

from autograd.stepping.stepper import Ledger, Stepper, step
from autograd.stepping.walk import Contribution, Step

from .explaining import explain

__all__ = ["Contribution", "Ledger", "Step", "Stepper", "explain", "step"]
