"""The stepper: backprop as a list of steps, and the faces that show it.

    Walk (formula/walk.py) ──▶ Steps (data) ──▶ Stepper, with a cursor ──▶ terminal · page · notebook · pictures

snapshot    the graph as it was: later edits of leaves do not reach it
steps       Step, Contribution, Ledger: what one step does, with its lines (`autograd/formula/`)
folding     modules as single steps, and what one step does inside
cursor      next, back, goto, run to a breakpoint
stepper     `step` and the Stepper it returns
questions   why now, why +=, why so small, why NaN: answers about one step
entries     any entry of an array: the line that made it
explaining  `explain`: why a gradient is what it is
page/       all of it as one file whose numbers can be changed
faces/      terminal, picture, notebook, slides, LaTeX, files
update      after the last backward step: an optimizer's step on each parameter, with which that page trains
"""

from .explaining import explain
from .stepper import Stepper, step
from .steps import Contribution, Ledger, Step

__all__ = ["Contribution", "Ledger", "Step", "Stepper", "explain", "step"]
