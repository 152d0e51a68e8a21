"""What is checked.

subject   a function on Values or on plain numbers, the inputs that are varied, one recorded run of it
formula   a gradient that the user derived
layers    a class with `forward` and `backward`
inputs    where a function says that it is to be checked
"""
