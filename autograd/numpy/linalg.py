"""numpy.linalg, whose functions take Values: `from autograd.numpy.linalg import inv`."""

import numpy as _np
from numpy.linalg import *  # noqa: F403

from ._arrays import of_lists

norm = of_lists(_np.linalg.norm)
