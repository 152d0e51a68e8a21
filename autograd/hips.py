"""The derivatives that HIPS autograd has and we do not, in its names, by `argnum`.

    from autograd import elementwise_grad, make_vjp, make_hvp

Everything runs on our one engine. Complex numbers are refused. `docs/hips.md` says what else differs.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .derivatives import Trace, as_asked, check_function, grad, jacobian
from .errors import BackwardError
from .extend import defvjp_argnum, primitive
from .tree import flatten, unflatten

Argnum = int | Sequence[int]

# --- derivatives ----------------------------------------------------------------------------------------------


def make_vjp(fun: Callable[..., Any], argnum: Argnum = 0) -> Callable[..., Any]:
    """`make_vjp(f)(x)` gives the function from g to g · Jacobian, and f(x).

    >>> pull, out = make_vjp(lambda x: x**2)(3.0)
    >>> pull(1.0), out
    (6.0, 9.0)
    """
    check_function("make_vjp", fun, "make_vjp(f)(x)")

    def run(*args: Any, **settings: Any) -> Any:
        trace = Trace(fun, args, argnum, settings)
        return (lambda g: as_asked(trace.pull(g), argnum)), trace.result()

    return run


def make_jvp(fun: Callable[..., Any], argnum: Argnum = 0) -> Callable[..., Any]:
    """`make_jvp(f)(x)(v)` gives f(x), and Jacobian · v.

    >>> make_jvp(lambda x: x**2)(3.0)(1.0)
    (9.0, 6.0)
    """
    check_function("make_jvp", fun, "make_jvp(f)(x)(v)")

    def run(*args: Any, **settings: Any) -> Any:
        def push(v: Any) -> Any:
            trace = Trace(fun, args, argnum, settings)
            return trace.result(), trace.push(tuple(v) if len(trace.structures) > 1 else (v,))

        return push

    return run


make_jvp_reversemode = make_jvp  # forward mode is two pulls here


def elementwise_grad(fun: Callable[..., Any], argnum: Argnum = 0) -> Callable[..., Any]:
    """The gradient of the sum of all results: of a function of each number alone, the derivative at each.

    >>> elementwise_grad(lambda x: x**2)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return lambda *args, **settings: _pulled(fun, argnum, args, settings)[0]


def _pulled(fun: Callable[..., Any], argnum: Argnum, args: Any, settings: Any) -> tuple[Any, Any]:
    pull, out = make_vjp(fun, argnum)(*args, **settings)
    return pull(_filled(1.0, out)), out


def deriv(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """The derivative along ones, in forward mode: of a function of one number, its derivative.

    >>> deriv(lambda x: x**3)(2.0)
    12.0
    """
    return lambda *args, **settings: make_jvp(fun, argnum)(*args, **settings)(_filled(1.0, args[argnum]))[1]


def holomorphic_grad(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """Refused: a Value holds real numbers."""
    raise BackwardError(
        "holomorphic_grad needs complex numbers, and a Value holds real ones. For a real function of real numbers "
        "write grad(f); for complex ones, keep the real and the imaginary part as two arrays"
    )


def grad_named(fun: Callable[..., Any], argname: str) -> Callable[..., Any]:
    """The gradient with respect to the argument of that name."""
    return grad(fun, list(inspect.signature(fun).parameters).index(argname))


def grad_and_aux(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """Of a function that gives (result, more): the gradient of the result, and the rest as it is.

    >>> grad_and_aux(lambda x: (x**2, {"seen": x}))(3.0)
    (6.0, {'seen': 3.0})
    """

    def run(*args: Any, **settings: Any) -> tuple[Any, Any]:
        pull, (out, aux) = make_vjp(fun, argnum)(*args, **settings)
        return pull((_filled(1.0, out), _filled(0.0, aux))), aux

    return run


def multigrad_dict(fun: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """The gradients with respect to all arguments, by name."""
    signature = inspect.signature(fun)

    def run(*args: Any, **settings: Any) -> dict[str, Any]:
        given = signature.bind(*args, **settings)
        given.apply_defaults()

        def of_all(named: dict[str, Any]) -> Any:
            bound = inspect.BoundArguments(signature, named)
            return fun(*bound.args, **bound.kwargs)

        found: dict[str, Any] = grad(of_all)(dict(given.arguments))
        return found

    return run


def hessian_tensor_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of (*arguments, v): the Hessian times v, without the Hessian.

    >>> hessian_tensor_product(lambda x: (x**3).sum())(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 6., 12.])
    """
    slope = grad(fun, argnum)
    return lambda *args, **settings: make_jvp(slope, argnum)(*args[:-1], **settings)(args[-1])[1]


def tensor_jacobian_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of (*arguments, t): t times the Jacobian, over the axes of t."""

    def run(*args: Any, **settings: Any) -> Any:
        *xs, t = args
        return jacobian(lambda *at: np.tensordot(t, fun(*at, **settings), axes=np.ndim(t)), argnum)(*xs)

    return run


hessian_vector_product, vector_jacobian_product = hessian_tensor_product, tensor_jacobian_product


def make_hvp(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """`make_hvp(f)(x)` gives the function from v to Hessian · v, and the gradient."""
    return make_vjp(grad(fun, argnum), argnum)


def make_ggnvp(f: Callable[..., Any], g: Callable[..., Any] | None = None, f_argnum: int = 0) -> Callable[..., Any]:
    """`make_ggnvp(f, g)(x)` gives v to JᵀHJ · v: f's Jacobian J, and the Hessian H of g at f(x)."""
    outer = g or (lambda x: 0.5 * np.sum(x**2, axis=-1))

    def run(*args: Any, **settings: Any) -> Any:
        pull, at = make_vjp(f, f_argnum)(*args, **settings)
        push, (curve, _) = make_jvp(f, f_argnum)(*args, **settings), make_hvp(outer)(at)
        return lambda v: pull(curve(push(v)[1]))

    return run


def checkpoint(fun: Callable[..., Any]) -> Callable[..., Any]:
    """fun as one op: what it computes on the way is forgotten, and computed again for the backward pass."""
    whole = primitive(fun)
    defvjp_argnum(whole, lambda argnum, ans, args, settings: make_vjp(fun, argnum)(*args, **settings)[0])
    return whole


def _filled(number: float, tree: Any) -> Any:
    """The same nest of numbers, all of them `number`."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [np.full(np.shape(x), number) if np.shape(x) else number for x in leaves])


def unary_to_nary(operator: Callable[..., Any]) -> Callable[..., Any]:
    """`operator(f, x)` for a function of one argument as `operator(f, argnum)(*args)` for one of many."""

    @functools.wraps(operator)
    def of_many(fun: Callable[..., Any], argnum: Argnum = 0, *more: Any, **options: Any) -> Callable[..., Any]:
        def run(*args: Any, **settings: Any) -> Any:
            places = [argnum] if isinstance(argnum, int) else list(argnum)

            def of_one(x: Any) -> Any:
                filled = list(args)
                for place, given in zip(places, (x,) if isinstance(argnum, int) else x, strict=True):
                    filled[place] = given
                return fun(*filled, **settings)

            return operator(of_one, as_asked([args[place] for place in places], argnum), *more, **options)

        return run

    return of_many
