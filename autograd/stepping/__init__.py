"""The stepper: backprop as a list of steps, and the faces that show it.

Walk ──▶ Steps (data) ──▶ Stepper, with a cursor ──▶ terminal · page · notebook · pictures

walk        every number of a forward and a backward pass; Step and Contribution, with their lines (`autograd/formula/`)
folding     modules as single steps; `inside`: a step opened up
stepper     `step` and the Stepper it returns; `files`: what it saves
explaining  `explain`: why a gradient is what it is; `reasons`: why an op makes it small; `sentences`: a step in words
terminal    text, in `columns`; `player`: keys
views       the graph while it is stepped through, laid out once
panel       one step as HTML, its numbers in `figures`; `page`: all of it as one file (assets/step.*)
live        the steps as a program that the page runs after an edit, over the numbers in `registers`
notebook    the page in a frame over a picture and a table; `widget`: live
"""

from autograd.stepping.explaining import explain
from autograd.stepping.stepper import Ledger, Stepper, step
from autograd.stepping.walk import Contribution, Step

__all__ = ["Contribution", "Ledger", "Step", "Stepper", "explain", "step"]
