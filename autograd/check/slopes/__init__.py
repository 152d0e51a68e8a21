"""What it is held against.

probe         the one number that is differenced, at perturbed inputs
breakpoints   where a function bends or jumps, and a replay that keeps every choice made
differences   slopes, each with a bound on its error
trust         whether a replay gives what the function gives
exact         the last word, in 90 digits
"""
