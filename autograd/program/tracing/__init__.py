"""One call of a function on Values, forward and backward, as a program.

    trace.py       the call, what it recorded, where the inputs of the program come from
    exits.py       the ways in which a number can leave it: as an op, as a guard, as text, or not at all
    numbers.py     what `x.data` is during the call: a Number, whose arithmetic is ops
    outside.py     what the function reads outside of its inputs, and what it changes there
    twice.py       two calls at the same inputs must do the same
    inputs.py      nests of numbers, arrays and modules, taken apart and put together
    leaf_names.py  what their numbers and arrays are called, and which belong together
"""
