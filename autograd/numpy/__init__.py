"""NumPy, as code for HIPS autograd imports it: its own functions, which take Values, and arrays made of Values.

    import autograd.numpy as np

`np.array([v, 1.0])` gives a Value here, where NumPy's own would refuse v (`_arrays.py`). All else is NumPy itself.
"""

from typing import Any

import numpy as _np

from . import fft as fft
from . import linalg as linalg
from . import random as random
from ._arrays import OF_LISTS, array, asarray, c_, full, make_diagonal, r_

__version__ = numpy_version = _np.__version__
_OURS = {"array": array, "asarray": asarray, "c_": c_, "full": full, "make_diagonal": make_diagonal, "r_": r_}
_OURS |= OF_LISTS
_FOLDERS = {"fft", "linalg", "random"}
__all__ = sorted({*_np.__all__, *_OURS})

globals().update({name: getattr(_np, name) for name in _np.__all__ if name not in _FOLDERS} | _OURS)


def __getattr__(name: str) -> Any:
    return getattr(_np, name)
