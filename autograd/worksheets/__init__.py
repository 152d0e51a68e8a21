"""Worksheets: hand-calculation sheets from any graph, and their marking.

    sheet       Worksheet: steps of blanks          answers     reads what a learner wrote
    parts       Step, Part, Blank                   marking     judges each number
    prepare     a graph made ready for a sheet      slips       which classic mistake gives this number
    hints       how each step is computed           report      the marks as text, HTML and JSON
    variants    other numbers, same difficulty      intervals   arithmetic on rounded numbers
    exact       fractions, where ops are rational   page        HTML, for paper and screen (`page_data`)
    plain       Markdown and CSV                    workbook    xlsx; `moodle`: Moodle XML
    assets/     a page that marks itself: decimals, intervals, answers and marking once more, in JavaScript
"""

from .marking import Marks as Marks
from .marking import grade as grade
from .parts import Blank as Blank
from .sheet import Worksheet as Worksheet
from .sheet import worksheet as worksheet
from .variants import variants as variants
