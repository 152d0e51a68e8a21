"""NumPy's side of a Value: what may come in, and how it answers as a number and as an array.

plain         the numbers and arrays that callers give, and the form in which the engine keeps them
array_like    a Value as Python and NumPy read it: `float(v)`, `len(v)`, `np.asarray(v)`
numpy_calls   NumPy's functions on Values, each handed to the op that answers it
"""
