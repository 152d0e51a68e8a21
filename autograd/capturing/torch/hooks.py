"""What a recorder watches besides operators: calls of autograd.Functions and of modules."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch

import autograd as ag

from ...attached import counter
from ...engine import Value
from ...modes import Scope
from ..places import place_of, user_frame
from .calls import TorchCall, as_function
from .opaque import opaque_op
from .recorder import LIBRARIES, Recorder
from .tensors import result_number, tensors_in

# `Function.apply` may have been looked up long before (`norm = RowNorm.apply`); when it is called it asks the classes
# between itself and this one, the first of them in Python, for theirs.
BASE = torch._C._FunctionBase
WATCHED = torch.autograd.function._SingleLevelFunction


@contextlib.contextmanager
def watching(recorder: Recorder) -> Iterator[None]:
    """Notice calls of autograd.Functions and of modules."""
    compiled = [module for module in recorder.modules if hasattr(module, "_orig_mod")]
    hooks = [
        hook
        for module, path in recorder.modules.items()
        if not hasattr(module, "_orig_mod")  # what torch.compile wraps calls the module itself, by the same name
        for hook in (
            module.register_forward_pre_hook(functools.partial(enter_module, recorder, path)),
            module.register_forward_hook(functools.partial(leave_module, recorder), always_call=True),
        )
    ] + [hook for module in compiled for hook in watch_compiled(recorder, module)]

    def watched(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return watched_function(recorder, cls, BASE.__dict__["apply"].__get__(None, cls), args, kwargs)

    register = torch.Tensor.register_hook

    def register_noted(tensor: Any, hook: Any) -> Any:
        with recorder.aside():
            value = recorder.value_of(tensor) if recorder.carries(tensor) else None
            if isinstance(value, Value):
                recorder.hooked[value] = place_of(user_frame(LIBRARIES))
        return register(tensor, hook)

    try:
        WATCHED.apply = classmethod(watched)
        torch.Tensor.register_hook = register_noted
        yield
    finally:
        del WATCHED.apply
        torch.Tensor.register_hook = register
        for hook in hooks:
            hook.remove()


def watched_function(recorder: Recorder, cls: Any, apply: Any, args: Any, kwargs: Any) -> Any:
    """A call of an autograd.Function: we record its forward; its backward is what is compared."""
    tensors = [x for x in args if isinstance(x, torch.Tensor)]
    if recorder.inside or not torch.is_grad_enabled() or not any(map(recorder.carries, tensors)):
        return apply(*args, **kwargs)
    frame = recorder.frame = user_frame(LIBRARIES)
    call = recorder.open_call(cls.__name__, apply, args, kwargs, next(counter))
    call.function = cls
    recorder.met_inside.clear()
    recorder.coarsest = 0.0
    recorder.inside += 1
    try:
        out = apply(*args, **kwargs)
    finally:
        recorder.inside -= 1
    call.unit = max(call.unit, recorder.coarsest)
    given = set(call.inputs)
    call.inputs += [v for v in recorder.met_inside if v not in given]  # a checkpoint is not given its parameters
    results = tensors_in(out)
    with recorder.aside():
        values = []
        for number, tensor in enumerate(results):
            value = recorder.memory.get(tensor) if tensor.requires_grad else None
            if tensor.requires_grad and not isinstance(value, Value):
                value = unseen(recorder, cls, apply, args, kwargs, number)
                call.opaque = True
                recorder.memory.set(tensor, value)
            elif isinstance(value, Value) and value in given:  # it returned an input: a step of its own
                with recorder.noted():
                    value = ag.OPS["alias"](value)
                recorder.memory.set(tensor, value)
            values.append(value)
            recorder.add_output(call, number, tensor, value)
        recorder.calls.append(call)
        recorder.namer.note(frame, recorder.scope, values)
    return out


def unseen(recorder: Recorder, cls: Any, apply: Any, args: Any, kwargs: Any, i: int) -> Value:
    """A Function whose forward leaves torch (NumPy, a kernel of its own): one opaque node."""
    function, inputs = as_function(apply, args, kwargs, recorder)
    op = opaque_op(cls.__name__, functools.partial(result_number, function, i))
    recorder.opaque.append(op.name)
    with recorder.noted():
        return op(*inputs)


def enter_module(recorder: Recorder, path: str, module: Any, args: Any) -> None:
    """A module starts: what is made from now on belongs to it."""
    around = recorder.scope
    parent = "" if around is None else around.path
    name = path[len(parent) + 1 :] if parent and path.startswith(f"{parent}.") else path
    recorder.scopes.append(Scope(name, type(module).__name__, around))


def leave_module(recorder: Recorder, module: Any, args: Any, out: Any) -> None:
    """It is done, or has raised."""
    if recorder.scopes:
        recorder.scopes.pop()


def watch_compiled(recorder: Recorder, module: Any) -> Iterator[Any]:
    """Hooks that keep each call of a compiled module, which runs as it was written while it is captured.

    `compare` runs it once more by itself, compiled, and compares what it sends back.
    """
    running: list[TorchCall] = []

    def enter(module: Any, args: Any, kwargs: Any) -> None:
        kind = type(module._orig_mod).__name__
        with recorder.aside():
            recorder.frame = user_frame(LIBRARIES)
            call = recorder.open_call(f"compile({kind})", module, args, kwargs, next(counter))
            call.scope = Scope(recorder.modules[module], kind)
            call.parameters = [p for p in module.parameters() if p.requires_grad]
            call.inputs += [recorder.value_of(p) for p in call.parameters]
        running.append(call)

    def leave(module: Any, args: Any, kwargs: Any, out: Any) -> None:
        call = running.pop()
        with recorder.aside():
            for number, tensor in enumerate(tensors_in(out)):
                value = recorder.value_of(tensor) if recorder.carries(tensor) else None
                if isinstance(value, Value):
                    call.outputs.append(value)
                    call.numbers.append(number)
        recorder.compiled.append(call)

    yield module.register_forward_pre_hook(enter, with_kwargs=True)
    yield module.register_forward_hook(leave, with_kwargs=True)
