"""HIPS autograd's `tuple`, `list`, `dict` and `isinstance`: containers are Python's own here, and may hold Values."""

import builtins
from typing import Any

from .engine import Value

tuple, list, dict, type = builtins.tuple, builtins.list, builtins.dict, builtins.type


def isinstance(x: Any, kind: Any) -> bool:
    """Python's, also of what a Value holds: `isinstance(v, np.ndarray)`."""
    return builtins.isinstance(x, kind) or (builtins.isinstance(x, Value) and builtins.isinstance(x._data, kind))
