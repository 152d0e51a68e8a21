"""A formula typed on the spot: `handgrad play`.

parser   text into a Formula; it is never run as code
formula  what a Formula consists of
graph    a Formula as a graph of Values
code     a Formula as a Python program
page     the pages: where it is typed, and its stepper
field    the formula field of a page that no server makes
server   serves them, to this computer alone
"""
