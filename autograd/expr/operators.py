"""Operators: Python's operators and NumPy's ufuncs for the carriers that are not Values, each an op of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograd.arrays.numpy_calls import BY_NUMPY
from autograd.op import OPERATORS, OPS


class Operators:
    """The base of Expr and Entries. Each operator looks its op up in the table when it is used."""

    __slots__ = ()

    if TYPE_CHECKING:  # bound below

        def __add__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __pow__(self, other: Any) -> Any: ...

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """`np.exp(x)`, and an array on the left of an operator."""
        answer = BY_NUMPY.get(ufunc)
        if answer is None or answer.by is ufunc or method != "__call__":  # `by` NumPy itself: on numbers alone
            return NotImplemented
        return answer(*inputs, **options)

    def __imul__(self, factor: Any) -> Any:
        """`m *= 0.9` reads 0.9 · m."""
        return OPS["mul"](factor, self)

    def __getitem__(self, index: Any) -> Any:
        return OPS["getitem"](self, index)

    def __neg__(self) -> Any:
        return OPS["neg"](self)

    def __abs__(self) -> Any:
        return OPS["abs"](self)


for _method, _name in OPERATORS.items():
    setattr(Operators, f"__{_method}__", lambda self, other, name=_name: OPS[name](self, other))
    setattr(Operators, f"__r{_method}__", lambda self, other, name=_name: OPS[name](other, self))
