"""A recorded call as a straight-line program of ops: read it, run it again, hand it to another engine.

    record.py      a recorded graph as instructions; whether two calls did the same
    trace.py       one call of a function on Values, forward and backward, as a Program
    reads.py       numbers that traced code reads through `.data`
    replay.py      a recorded graph on many inputs at once, for gradient checks
    inputs.py      nests of numbers, arrays and modules, taken apart and put together
    leaf_names.py  what their numbers and arrays are called, and which belong together
    closures.py    what a function reads from outside that a program holds fixed
    faithful.py    whether a program stands for its function
    program.py     Program and Instruction
    interpret.py   the reference: the ops' own forward functions, one by one
    core.py        the ops that a backend has to know
    passes.py      open, simplify, share, fold, drop: programs in, programs out
    reroll.py      scalar code as array ops, which read them by the views that `places.py` finds
    source.py      a program as Python that needs NumPy alone
    backends/      what runs a program fast
    onnx.py        to_onnx: the forward pass as a file for other engines
    compiled.py    compile: the function that people call
"""

from .compiled import Compiled, compile
from .onnx import to_onnx
from .program import Instruction, Program

__all__ = ["Compiled", "Instruction", "Program", "compile", "to_onnx"]
