"""What a recorder watches besides operators: calls of autograd.Functions and of modules."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch

import autograd as ag
from autograd.attached import counter
from autograd.engine import Value
from autograd.modes import Scope

from ..places import place_of, user_frame
from .calls import TorchCall, as_function, methods_replaced
from .opaque import opaque_op
from .recorder import LIBRARIES, Recorder
from .tensors import result_number, tensors_in

GENERATED = "GeneratedBackwardFor_"
EXITS = {"item": ".item()", "tolist": ".tolist()", "numpy": ".numpy()", "__float__": "float()"}


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

    register, asks = torch.Tensor.register_hook, torch._C.TensorBase.requires_grad

    def register_noted(tensor: Any, hook: Any) -> Any:
        with recorder.aside():
            value = recorder.value_of(tensor) if recorder.carries(tensor) else None
            if isinstance(value, Value):
                recorder.hooked[value] = place_of(user_frame(LIBRARIES))
        return register(tensor, hook)

    def leaving(name: str, method: Any) -> Any:
        """A method that hands numbers to Python or NumPy, which may come back as constants."""

        def noted(tensor: Any, **kwargs: Any) -> Any:
            recorder.note_exit(EXITS[name], tensor)
            return method(tensor, **kwargs)

        return noted

    def ask(tensor: Any, flag: bool) -> None:
        """`x.requires_grad = True` of an input, which already does, but is no leaf here and so must not be asked."""
        if not (flag and tensor.requires_grad):
            asks.__set__(tensor, flag)

    try:
        torch.Tensor.register_hook = register_noted
        for name in EXITS:
            setattr(torch.Tensor, name, leaving(name, getattr(torch._C.TensorBase, name)))
        torch.Tensor.requires_grad = property(asks.__get__, ask)
        with FunctionCalls(recorder).watched():
            yield
    finally:
        torch.Tensor.register_hook = register
        for name in ("requires_grad", *EXITS):
            delattr(torch.Tensor, name)
        for hook in hooks:
            hook.remove()


class FunctionCalls:
    """Calls of autograd.Functions: we record what forward computes; their backward is what is compared.

    `forward` tells what goes in. What comes out belongs to the node that forward, or else `setup_context`, is given.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.began: list[tuple[TorchCall, Any]] = []  # calls whose node is not known yet, and the user's line

    def watched(self) -> Any:
        return methods_replaced(forward=self.forward_of, setup_context=self.setup_of)

    def forward_of(self, cls: Any, forward: Any) -> Any:
        recorder, apart = self.recorder, is_apart(cls)

        @functools.wraps(forward)
        def watched(*args: Any, **kwargs: Any) -> Any:
            ctx: Any = None if apart else args[0]
            given = args if apart else args[1:]
            carried = any(isinstance(x, torch.Tensor) and recorder.carries(x) for x in given)
            if recorder.inside or not carried or not (apart or ctx.next_functions):
                return forward(*args, **kwargs)
            frame = recorder.frame = user_frame(LIBRARIES)
            call = recorder.open_call(readable(cls), cls.apply, given, kwargs, next(counter))
            call.function = cls
            recorder.met_inside.clear()
            recorder.coarsest = 0.0
            recorder.inside += 1
            try:
                out = forward(*args, **kwargs)
            finally:
                recorder.inside -= 1
            call.unit = max(call.unit, recorder.coarsest)
            before = set(call.inputs)
            call.inputs += [v for v in recorder.met_inside if v not in before]  # parameters that a checkpoint uses
            self.began.append((call, frame))
            return out if apart else self.close(ctx, given, out)

        return watched

    def setup_of(self, cls: Any, setup: Any) -> Any:
        if not is_apart(cls):
            return setup

        def watched(ctx: Any, inputs: Any, out: Any) -> Any:
            if self.began and self.began[-1][0].function is cls:
                self.close(ctx, (), out)
            return setup(ctx, inputs, out)

        return watched

    def close(self, ctx: Any, given: Any, out: Any) -> Any:
        """The call is done: its results, an input that it returns as one of its own, which torch makes of it too."""
        recorder = self.recorder
        call, frame = self.began.pop()
        written = ctx.dirty_tensors or ()
        constant = ctx.non_differentiable or ()
        several = isinstance(out, tuple | list)
        results = list(out) if several else [out]
        values: list[Value | None] = []
        with recorder.aside():
            for place, x in enumerate(results):
                if not isinstance(x, torch.Tensor):
                    continue
                if any(x is y for y in given) and not any(x is y for y in written):
                    x = results[place] = x.view_as(x)
                number, value = len(values), None
                if x.is_floating_point() and not any(x is y for y in constant):
                    value = self.value_of(call, number, x)
                    recorder.add_output(call, number, x, value, torch.autograd.graph.GradientEdge(ctx, place))
                values.append(value)
            recorder.calls.append(call)
            recorder.namer.note(frame, recorder.scope, values)
        return type(out)(results) if several else results[0]

    def value_of(self, call: TorchCall, number: int, tensor: Any) -> Value:
        """The Value of a result. An input that comes back is a step of its own."""
        recorder = self.recorder
        value = recorder.memory.get(tensor)
        if isinstance(value, Value) and not any(value is x for x in call.inputs):
            return value
        if isinstance(value, Value):
            with recorder.noted():
                value = ag.OPS["alias"](value)
        else:
            value = unseen(recorder, call, number)
        recorder.memory.set(tensor, value)
        return value


def readable(cls: Any) -> str:
    """A Function's name: "mylib_cube" of what torch makes for the operator mylib::cube."""
    name = cls.__name__
    return name.removeprefix(GENERATED).removesuffix("_default") if name.startswith(GENERATED) else name


def is_apart(cls: Any) -> bool:
    """Whether a Function's forward is given no ctx, which goes to its setup_context."""
    own, usual = (type.__getattribute__(c, "setup_context") for c in (cls, torch.autograd.Function))
    return own is not usual


def unseen(recorder: Recorder, call: TorchCall, i: int) -> Value:
    """A Function whose forward leaves torch (NumPy, a kernel of its own): one opaque node."""
    apply, args, kwargs = call.again
    function, inputs = as_function(apply, args, kwargs, recorder)
    op = opaque_op(call.name, functools.partial(result_number, function, i))
    recorder.opaque.append(op.name)
    call.opaque = True
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

    `compare` runs it once more on its own, compiled, and compares what it sends back.
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
