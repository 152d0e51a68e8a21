"""handgrad: an autograd engine you can check by hand.

>>> from autograd import Value
>>> a = Value(2.0, name="a")
>>> b = (a * a + 1).log()
>>> b.backward()
>>> a.grad
0.8

engine        read this first       gradients, attached   what gradients must fit; names, hooks, copies
op            an op's block         about, samples        what it tells a learner; inputs to test it on
ops/          the table             op_errors, errors     what is said where something fails
arrays/       NumPy's side          modes, callers        what is recorded; the user's line
expr/         rules as text         derivatives, custom   grad and its kin; ops of your own
tree, graph   nested inputs, order  names, micrograd      other libraries' names; micrograd's Value

Readers, each above the one before: program/ check/ formula/ drawing/ (repeats) stepping/ worksheets/ playing/
capturing/ cli/ (__main__). digits/ runs ops in 90 digits, saving/ writes files, pytest_plugin checks gradients in
tests. At HIPS autograd's addresses: numpy/ scipy/ misc/ extend hips builtins core tracer test_util wrap_util.
"""

import builtins as _builtins
from typing import Any as _Any

from . import errors as errors
from . import micrograd as micrograd
from . import names as _names
from .derivatives import grad as grad
from .derivatives import hessian as hessian
from .derivatives import hvp as hvp
from .derivatives import jacobian as jacobian
from .derivatives import jvp as jvp
from .derivatives import value_and_grad as value_and_grad
from .derivatives import vjp as vjp
from .engine import Value as Value
from .errors import GradientError as GradientError
from .expr import Expr as Expr
from .graph import name as name
from .modes import detect_nan as detect_nan
from .modes import no_grad as no_grad
from .modes import record_lines as record_lines
from .modes import scope as scope
from .op import OPS as OPS
from .op import Op as Op
from .ops import FUNCTIONS as _FUNCTIONS
from .version import __version__ as __version__

backward = Value.backward

_CALLED = {name: op for name, op in OPS.items() if not op.inner} | _FUNCTIONS  # exp, softmax, ...: a function per op
globals().update(_CALLED)

# Readers of the graph are imported when they are asked for, so that `import autograd` stays light.
_LAZY = {
    "check_grads": "check", "check_formula": "check", "check_layer": "check", "assert_grads": "check",
    "Report": "check", "assert_backward": "capturing",
    "capture": "capturing", "compile": "program", "to_onnx": "program", "custom_op": "custom",
    "draw": "drawing", "zoom": "drawing", "step": "stepping", "explain": "stepping",
    "worksheet": "worksheets", "grade": "worksheets", "variants": "worksheets",
    **dict.fromkeys((
        "checkpoint", "deriv", "elementwise_grad", "grad_and_aux", "grad_named", "hessian_tensor_product",
        "hessian_vector_product", "holomorphic_grad", "make_ggnvp", "make_hvp", "make_jvp", "make_jvp_reversemode",
        "make_vjp", "multigrad_dict", "tensor_jacobian_product", "vector_jacobian_product",
    ), "hips"),
    **dict.fromkeys(("dict", "isinstance", "list", "tuple"), "builtins"),
}  # fmt: skip

_NAMES = sorted([
    "Expr", "GradientError", "Op", "OPS", "Value", "backward", "detect_nan", "errors", "grad", "hessian", "hvp",
    "jacobian", "jvp", "name", "no_grad", "record_lines", "scope", "value_and_grad", "vjp",
    *_CALLED, *_LAZY,
])  # fmt: skip
__all__ = [name for name in _NAMES if not hasattr(_builtins, name)]  # `from autograd import *` leaves max, sum, round


def __getattr__(wanted: str) -> _Any:
    if wanted in _LAZY:
        from importlib import import_module

        found = globals()[wanted] = getattr(import_module(f".{_LAZY[wanted]}", __name__), wanted)
        return found
    return _names.of_autograd(wanted)


def __dir__() -> list[str]:
    return _NAMES
