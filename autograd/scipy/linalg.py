"""scipy.linalg on Values: square roots of matrices, and the solution of triangular, banded and Sylvester equations."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg as _scipy
from scipy.linalg import *  # noqa: F403

from autograd.extend import defvjp, primitive

solve_sylvester = primitive(_scipy.solve_sylvester)  # x with a x + x b = q
defvjp(
    solve_sylvester,
    lambda x, a, b, q: lambda g: -solve_sylvester(a.T, b.T, g) @ x.T,
    lambda x, a, b, q: lambda g: -x.T @ solve_sylvester(a.T, b.T, g),
    lambda x, a, b, q: lambda g: solve_sylvester(a.T, b.T, g),
)

sqrtm = primitive(_scipy.sqrtm)
defvjp(sqrtm, lambda root, a: lambda g: solve_sylvester(root.T, root.T, g))


def solve_triangular(a: Any, b: Any, trans: int | str = 0, lower: bool = False) -> Any:
    """x with a x = b, or aᵀ x = b; only the lower or the upper triangle of a is read."""
    half = np.tril(a) if lower else np.triu(a)
    return np.linalg.solve(half if trans in (0, "N") else half.T, b)


def solve_banded(l_and_u: tuple[int, int], ab: Any, b: Any) -> Any:
    """x with a x = b, where row u + i - j of `ab` holds a[i, j] in column j."""
    below, above = l_and_u
    i, j = np.indices((ab.shape[1],) * 2)
    inside = (i - j <= below) & (j - i <= above)
    return np.linalg.solve(np.where(inside, ab[np.where(inside, above + i - j, 0), j], 0.0), b)
