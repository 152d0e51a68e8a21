"""capture of a JAX function: its jaxpr, run once step by step with our ops beside JAX's own.

record      the run
jaxpr       a jaxpr as a flat list of steps
lax         the table from JAX's primitives to our ops
recognise   functions that reach JAX in many parts, known by their names: softmax, layer norm
"""
