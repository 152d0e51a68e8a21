"""A stepper as one HTML file, whose numbers can be changed.

document    all of it as one file (assets/step.*); `packing`: its data made small
panel       one step as HTML, its lines by `spelling`
live        the steps as a program of scalars (`registers`), which the page runs after an edit
deck        a lecture: questions and answers           `alike`: entries that are computed alike, written once
assets/     the page itself: program.js runs the program, lines.js and digits.js print, step.js moves from step to step
"""
