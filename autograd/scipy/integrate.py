"""scipy.integrate.odeint on Values, by the adjoint equation: no step of the solver is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import odeint as _odeint

from autograd.extend import defvjp_argnums, primitive
from autograd.hips import make_vjp
from autograd.misc import flatten

CLOSE = {"rtol": 1e-10, "atol": 1e-10}  # SciPy's 1.5e-8 would leave five digits of a gradient


@primitive
def odeint(func: Callable[..., Any], y0: Any, t: Any, args: tuple[Any, ...] = (), **settings: Any) -> Any:
    """y at the times t, where y' = func(y, t, *args) and y(t[0]) = y0; to ten digits, if nothing else is asked."""
    return _odeint(func, y0, t, tuple(args), **{**CLOSE, **settings})


def _adjoint(argnums: list[int], ys: Any, given: Any, settings: Any) -> Callable[[Any], Any]:
    """g · the derivatives of all y(t) by y0, t and args: one solution, from the last time back to the first.

    The adjoint a(t) is the gradient of y(t). It obeys da/dt = -a ∂f/∂y, and args gather ∫ a ∂f/∂args.
    """
    func, _, t, args = (*given, ())[:4]
    flat, unflatten = flatten((*args,))
    n = ys.shape[1]

    def slope(y: Any, time: Any, flat: Any) -> Any:
        return func(y, time, *unflatten(flat))

    def backwards(state: Any, minus_t: Any, flat: Any) -> Any:
        y, a = state[:n], state[n : 2 * n]
        pull, dy = make_vjp(slope, (0, 2))(y, -minus_t, flat)
        to_y, to_args = pull(-a)
        return np.concatenate([-np.asarray(dy) if isinstance(dy, np.ndarray) else -dy, -to_y, -to_args])

    def pulled(g: Any) -> list[Any]:
        a, to_args, to_t = g[-1], 0.0 * flat, []
        for i in range(len(t) - 1, 0, -1):
            to_t.append((g[i] * func(ys[i], t[i], *args)).sum())
            start = np.concatenate([ys[i], a, to_args])
            ends = np.stack([-t[i], -t[i - 1]])
            state = odeint(backwards, start, ends, (flat,), **settings)[1]
            a, to_args = state[n : 2 * n] + g[i - 1], state[2 * n :]
        to_t.append(-((a - g[0]) * func(ys[0], t[0], *args)).sum())
        found = {1: a, 2: np.stack(to_t[::-1]), 3: unflatten(to_args)}
        return [found[argnum] for argnum in argnums]

    return pulled


defvjp_argnums(odeint, _adjoint)
