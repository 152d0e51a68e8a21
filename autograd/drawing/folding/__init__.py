"""A drawing that fits: how far it is folded, and what a folded card says.

fit     the size that a picture must have, and the rungs that lead down to it
words   what one card is called that stands for several
rows    its numbers: first → last, low … high, joint norms
tuck    operands and parameters written into the card that uses them
"""
