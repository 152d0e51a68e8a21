"""Where names come from: a mapping such as `locals()`, modules and their parameters, module calls and their results."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.graph import calls_around
from autograd.modes import Scope

DEEPEST = 8  # lists and objects within one another: mlp.layers[0].neurons[1].w[2] is six
PACKAGES = tuple({sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")})


def named_in(given: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """Values and arrays in a mapping such as `locals()`, then those in lists, dicts, modules and objects of yours."""
    if not isinstance(given, Mapping):
        raise TypeError(
            "names: expected a mapping from names to Values and arrays; "
            f"got {given!r:.80} ({type(given).__name__}). Write names=locals(), or names={{'x': x}}"
        )
    variables = [(str(key), x) for key, x in given.items() if not str(key).startswith("_")]
    for name, x in sorted(variables, key=lambda variable: not isinstance(variable[1], Value | np.ndarray)):
        yield from _unpacked(x, name, ())


def _unpacked(x: Any, name: str, around: tuple[Any, ...]) -> Iterator[tuple[Any, str]]:
    """The Values and arrays inside x; `around` are the objects that contain x."""
    if isinstance(x, Value | np.ndarray):
        yield x, name
    elif isinstance(x, type) or len(around) == DEEPEST or any(x is one for one in around):
        return
    elif isinstance(x, list | tuple):
        for index, entry in enumerate(x):
            yield from _unpacked(entry, f"{name}[{index}]", (*around, x))
    elif isinstance(x, dict):
        for key, entry in x.items():
            yield from _unpacked(entry, f"{name}[{key!r}]", (*around, x))
    elif hasattr(x, "named_parameters"):
        for path, parameter in x.named_parameters():
            yield parameter, f"{name}.{path}"
    elif hasattr(x, "__dict__") and _is_of_the_user(type(x).__module__):
        for key, entry in vars(x).items():
            yield from _unpacked(entry, f"{name}.{key}", (*around, x))


def _is_of_the_user(module: str) -> bool:
    """Is a class of this module the caller's own, such as a `Neuron` with weights? Objects of Python, of packages and
    of this library are not searched."""
    if module.partition(".")[0] in ("builtins", "autograd", "nn"):
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return module == "__main__" or (file is not None and not file.startswith(PACKAGES))


def parameter_paths(nodes: Iterable[Value]) -> Iterator[tuple[Value, str]]:
    """Parameters under the dotted path of the outermost module that was called and owns them."""
    outermost = {}
    for node in nodes:
        for top in calls_around(node)[-1:]:
            outermost[id(top)] = top
    for scope in outermost.values():
        if hasattr(scope.module, "named_parameters"):
            for path, parameter in scope.module.named_parameters():
                yield parameter, path


def module_results(nodes: Iterable[Value]) -> Iterator[tuple[Value, str]]:
    """Nodes used outside the call that made them, with the path of the outermost call whose only result each is."""
    exits: dict[Scope, dict[Value, None]] = {}
    left: dict[Value, list[Scope]] = {}
    for node in nodes:
        around = set(calls_around(node))
        for x in node.parents:
            if x.scope is not None and x.scope not in around:
                scopes = [scope for scope in calls_around(x) if scope.name and scope not in around]
                left[x] = max(left.get(x, []), scopes, key=len)
                for scope in scopes:
                    exits.setdefault(scope, {})[x] = None
    for x, scopes in left.items():
        alone = [scope for scope in scopes if len(exits[scope]) == 1]
        if alone:
            yield x, _as_a_name(alone[-1])


def _as_a_name(scope: Scope) -> str:
    """The path of a call; one that reads as a number, as in torch's Sequential, has its kind before it: Linear_0."""
    path = scope.path
    return path if any(character.isalpha() for character in path) else f"{scope.kind or 'module'}_{path}"


# --- operands -----------------------------------------------------------------------------------------------------


def operands_of(node: Value) -> list[Any]:
    """What a node was made from: its inputs, then the arrays among its settings."""
    settings = node.op.settings if node.op is not None else {}
    return [*node.inputs, *arrays_in(settings.values())] if settings else list(node.inputs)


def name_in_op(node: Value, x: Any) -> str:
    """What an op calls an operand, where that says something: `targets`, `index`; "" for `x`."""
    assert node.op is not None
    for key, setting in node.op.settings.items():
        if any(array is x for array in arrays_in([setting])):
            return key
    names = node.op.names[: len(node.op.names) - node.op.variadic]
    return next((name for name, operand in zip(names, node.inputs) if operand is x and len(name) > 1), "")


def arrays_in(settings: Iterable[Any]) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays among an op's settings: what an index is made of."""
    for setting in settings:
        if isinstance(setting, np.ndarray):
            yield setting
        elif isinstance(setting, tuple):
            yield from arrays_in(setting)
