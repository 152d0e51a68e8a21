"""Where a function is to be checked: at its `check_inputs`, or at the defaults of its parameters.

    def loss(x=2.0, w=np.ones(3)): ...        # at these

    def loss(x, w): ...
    loss.check_inputs = (2.0, np.ones(3))     # or {"x": 2.0, "w": np.ones(3)}, or a function that makes them

The command line and the pytest plugin ask here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from autograd.errors import DataError


class NoInputs(DataError):
    """A function does not say where it is to be checked; the message is the reason, to stand beside its name."""


def inputs_of(f: Callable[..., Any]) -> tuple[Any, ...]:
    """The inputs that a function is to be checked at; NoInputs if it does not say.

    >>> def product(x, y=3.0): ...
    >>> inputs_of(product)
    Traceback (most recent call last):
        ...
    autograd.check.subjects.inputs.NoInputs: x has no default; give check_inputs
    >>> product.check_inputs = {"x": 2.0}
    >>> inputs_of(product)
    (2.0, 3.0)
    """
    said = getattr(f, "check_inputs", None)
    if callable(said):
        said = said()
    if isinstance(said, tuple | list):
        return tuple(said)
    if said is None:
        return _by_name(f, {})
    by_name = isinstance(said, dict) and said.keys() <= set(inspect.signature(f).parameters)
    return _by_name(f, said) if by_name else (said,)


def _by_name(f: Callable[..., Any], given: dict[str, Any]) -> tuple[Any, ...]:
    """An input for each parameter: what is given under its name, else its default."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):  # a function written in C may not say
        raise NoInputs("its parameters are not known; give check_inputs") from None
    chosen = {p.name: given.get(p.name, p.default) for p in parameters if p.kind is not p.VAR_KEYWORD}
    if missing := [name for name, value in chosen.items() if value is inspect.Parameter.empty]:
        has = "has" if len(missing) == 1 else "have"
        raise NoInputs(f"{' and '.join(missing)} {has} no default; give check_inputs")
    inputs = [chosen[p.name] for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if inputs:
        return tuple(inputs)
    if chosen:
        raise NoInputs(f"{' and '.join(chosen)} can be given by keyword only, as a setting; inputs are given by place")
    raise NoInputs("it takes no inputs")
