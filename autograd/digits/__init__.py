"""Digits: the carrier of 90 digits. A rule or a NumPy function run on it shows what float64 rounds away.

    >>> x = digits(1e-12)
    >>> float64((-x).exp() - 1 + x)
    4.99999999999...e-25
    >>> math.exp(-1e-12) - 1 + 1e-12  # of this, no digit is right
    2.2121720121483927e-17

A `Digit` is one number, a `Digits` an array of them: they pair as float and ndarray do. A Digit refuses `float()`, so
nothing loses its digits without notice. Where a comparison meets two equal numbers, it stands at a breakpoint: `ties`
collects those. An op runs by the table `CORE`, or else by its lowering into such ops.

functions.py   what Decimal lacks: sin, tanh, erf, the gamma function
number.py      Digit and Digits
ops.py         the table's ops and rules, and recorded graphs of them
"""

import math as math

from .functions import precision as precision
from .number import Digit as Digit
from .number import Digits as Digits
from .number import NoDigits as NoDigits
from .number import digits as digits
from .number import float64 as float64
from .number import ties as ties
from .ops import CORE as CORE
from .ops import apply_digits as apply_digits
from .ops import pull as pull
from .ops import pull_graph as pull_graph
from .ops import run_graph as run_graph
