"""Where an iteration rests, with a gradient: `fixed_point(f, a, x0, distance, tol)`.

    sqrt = lambda a: fixed_point(lambda a: lambda x: 0.5 * (x + a / x), a, 1.0, lambda x, y: abs(x - y), 1e-9)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograd.extend import defvjp, primitive
from autograd.hips import make_vjp


@primitive
def fixed_point(f: Callable[..., Any], a: Any, x0: Any, distance: Callable[..., Any], tol: float) -> Any:
    """The x with `x = f(a)(x)`, by steps from x0 until two lie no further apart than `tol`."""
    step = f(a)
    before, x = x0, step(x0)
    while distance(before, x) > tol:
        before, x = x, step(x)
    return x


def _pull(ans: Any, f: Callable[..., Any], a: Any, x0: Any, distance: Callable[..., Any], tol: float) -> Any:
    """dx/da = (1 - ∂f/∂x)⁻¹ · ∂f/∂a. The limit of u = g + u · ∂f/∂x is a fixed point, too; u · ∂f/∂a goes to a."""

    def through(given: Any) -> Callable[[Any], Any]:
        a, x, g = given
        pull, _ = make_vjp(f(a))(x)
        return lambda u: g + pull(u)

    def back(g: Any) -> Any:
        u = fixed_point(through, (a, ans, g), 0.0 * g, distance, tol)
        pull, _ = make_vjp(lambda a: f(a)(ans))(a)
        return pull(u)

    return back


defvjp(fixed_point, None, _pull, None)
