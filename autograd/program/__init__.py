"""A recorded call as a straight-line program of ops: read it, run it again, hand it to another engine.

    compiled.py  compile: the function that people call
    versions.py  one program for each way in which the function's decisions came out
    tracing/     a call of a function, forward and backward, as a program
    program.py   Program and Instruction
    record.py    a recorded graph as instructions; whether two calls did the same
    passes/      programs in, faster programs out; scalar code as array ops
    backends/    what runs a program
    source.py    a program as Python that needs NumPy alone
    onnx.py      to_onnx: the forward pass as a file for other engines
    replay.py    a recorded graph on many inputs at once, for gradient checks
"""

from .compiled import Compiled, compile
from .onnx import to_onnx
from .program import Instruction, Program

__all__ = ["Compiled", "Instruction", "Program", "compile", "to_onnx"]
