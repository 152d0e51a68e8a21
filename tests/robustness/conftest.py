"""What tests that send signals leave behind."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def numpys_warnings_stay():
    """The end of NumPy's own `with np.errstate(...)` is Python, so that a signal there leaves the warnings off."""
    before = np.geterr()
    yield
    np.seterr(**before)
