"""numpy.fft, on plain numbers. Of a Value it is refused: its results are complex, and a Value holds real numbers."""

from numpy.fft import *  # noqa: F403
