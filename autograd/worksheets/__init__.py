"""Worksheets: hand-calculation sheets from any graph, and their marking.

    sheet       Worksheet: steps of blanks          hints       how each step is computed
    parts       Step, Part, Blank                   variants    other numbers, same difficulty
    plan        the order and names of a book       exact       fractions, where ops are rational
    prepare     a graph made ready for a sheet      mathematics formulas as on a board
    writers/    Markdown, CSV, HTML, xlsx, Moodle   marking/    what a learner handed in, judged
    assets/     a page that marks itself: decimals, intervals, answers and marking once more, in JavaScript
"""

from .marking.grading import Marks as Marks
from .marking.grading import grade as grade
from .parts import Blank as Blank
from .sheet import Worksheet as Worksheet
from .sheet import worksheet as worksheet
from .variants import variants as variants
