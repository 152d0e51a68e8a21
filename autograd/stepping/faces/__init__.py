"""What shows the steps.

terminal   a step as text, and stepping with keys
picture    the graph while it is stepped through, laid out once
notebook   the page in a frame over a picture and a table; the live widget
slides     one slide a step, for lectures
latex      all lines as LaTeX
export     files: the page, text, LaTeX, slides as PDF, GIF and pictures
"""
