"""Worksheets: hand-calculation sheets from any graph, and their marking.

    sheet       the blanks, in steps                answers     reading what a learner wrote
    marking     each number judged                  slips       which classic mistake gives this number
    plain       Markdown and CSV                    page        HTML, for paper and screen
    workbook    xlsx                                moodle      Moodle XML
    variants    other numbers, same difficulty      intervals   arithmetic with what was written
"""

from autograd.worksheet.marking import Marks as Marks
from autograd.worksheet.marking import grade as grade
from autograd.worksheet.sheet import Blank as Blank
from autograd.worksheet.sheet import Worksheet as Worksheet
from autograd.worksheet.sheet import worksheet as worksheet
from autograd.worksheet.variants import variants as variants
