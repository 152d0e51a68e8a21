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
terminal    a step as text, and stepping with keys
picture     the graph while it is stepped through, laid out once
page/       all of it as one file whose numbers can be changed
update      after the last backward step: an optimizer's step on each parameter, with which that page trains
notebook    the page in a frame over a picture and a table; the live widget
slides      one slide a step, for lectures      latex   all lines as LaTeX
export      files: the page, text, LaTeX, slides as PDF, GIF and pictures
"""

from .explaining import explain
from .stepper import Stepper, step
from .steps import Contribution, Ledger, Step

__all__ = ["Contribution", "Ledger", "Step", "Stepper", "explain", "step"]
