"""Worksheets: hand-calculation sheets from any graph, and their marking.

    sheet       the blanks, in steps (parts)        answers     reading what a learner wrote
    marking     each number judged                  slips       which classic mistake gives this number
    plain       Markdown and CSV                    page        HTML, for paper and screen
    workbook    xlsx                                moodle      Moodle XML
    variants    other numbers, same difficulty      intervals   arithmetic with what was written
    graphs      a graph made ready for a sheet      exact       fractions, where every op is rational
    files       a sheet as a file, by its ending
    assets/     a page that marks itself: decimals, intervals, answers and marking once more, in JavaScript
"""

from autograd.worksheets.marking import Marks as Marks
from autograd.worksheets.marking import grade as grade
from autograd.worksheets.parts import Blank as Blank
from autograd.worksheets.sheet import Worksheet as Worksheet
from autograd.worksheets.sheet import worksheet as worksheet
from autograd.worksheets.variants import variants as variants
