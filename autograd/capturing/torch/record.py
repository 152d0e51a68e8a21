"""capture of a torch model: its parameters and inputs named, one run recorded, everything put back."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_flatten_with_path, tree_map, tree_unflatten
from tqdm import tqdm

from autograd.engine import Value

from ..places import argument_names, failing_place
from ..run import Parameter, Run
from .hooks import watching
from .recorder import LIBRARIES, Recorder
from .state import KeptState
from .tensors import edge_of

WRAPPERS = ("_orig_mod", "_checkpoint_wrapped_module")  # what torch.compile and checkpoint_wrapper put into names


def record(model: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Run:
    """Run the model once and record it."""
    roots = dict(modules_of(model))
    paths = {m: clean(f"{root}.{path}".strip(".")) for root, r in roots.items() for path, m in r.named_modules()}
    kept = KeptState(torch, paths)
    recorder = Recorder(kept, paths, outside_names(model))
    parameters = {}
    for root, module in roots.items():
        for path, p in module.named_parameters():
            name = clean(f"{root}.{path}".strip("."))
            parameters[name] = recorder.add_leaf(p, name, Parameter)
    given, named = prepared(recorder, model, inputs, keywords)
    recorder.namer.reserve(named)
    recorder.notes += [f"{name} is compiled: it ran as it was written, and its compiled backward was not compared. "
                       "Compile a module that calls it instead." for name in compiled_functions(model)]  # fmt: skip
    run = Run(title_of(model), recorder, parameters, named)
    try:
        with tqdm(desc=f"capture {run.title}", unit=" ops", delay=2.0, leave=False, disable=None) as recorder.ticks:
            out = watched_run(recorder, model, *given)
    except BaseException as error:
        reason = recorder.refused or error
        run.failed(reason, failing_place(error, LIBRARIES))
        if reason is not error:
            raise reason from None
        raise
    finally:
        recorder.ticks = None
        recorder.namer.finish()
        kept.restore()
    result = result_values(recorder, out)
    values = zip(tree_flatten(result)[0], tree_flatten(out)[0], strict=True)
    run.finish(result, [(value, edge_of(tensor)) for value, tensor in values if isinstance(value, Value)])
    return run


def watched_run(recorder: Recorder, model: Any, args: Any, keywords: Any) -> Any:
    """The run itself. What torch.compile made runs as it was written: compiled code has no operators to see."""
    eager = contextlib.nullcontext()
    if "torch._dynamo" in sys.modules:  # something may be compiled, and torch would give up compiling it for good
        eager = torch.compiler.set_stance("force_eager")
    with contextlib.ExitStack() as stack:
        for mode in (eager, without_onednn(), torch.enable_grad(), watching(recorder)):
            stack.enter_context(mode)
        stack.enter_context(torch._C._AutoDispatchBelowADInplaceOrView())
        stack.enter_context(recorder)
        return model(*args, **keywords)


@contextlib.contextmanager
def without_onednn() -> Iterator[None]:
    """Torch without oneDNN, which in float32 runs a whole LSTM as one operator that shows no arithmetic."""
    was_on = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(was_on)


def modules_of(model: Any) -> Iterator[tuple[str, Any]]:
    """The modules that a model is, belongs to, or uses; each with the prefix of its parameters' names."""
    if isinstance(model, torch.nn.Module):
        yield "", model
        return
    if isinstance(getattr(model, "__self__", None), torch.nn.Module):
        yield "", model.__self__
        return
    found = {name: x for name, x in outer_variables(model) if isinstance(x, torch.nn.Module)}
    for name, module in found.items():
        yield ("" if len(found) == 1 else name), module


def outer_variables(function: Any) -> Iterator[tuple[str, Any]]:
    """The variables from outside that a function uses."""
    try:
        variables = inspect.getclosurevars(getattr(function, "__func__", function))
    except TypeError:
        return
    yield from {**variables.globals, **variables.nonlocals}.items()


def compiled_functions(model: Any) -> list[str]:
    """What torch.compile made of functions, not modules: there is no module whose call could be made once more."""
    own = [(title_of(model), model)]
    return [name for name, x in (*own, *outer_variables(model)) if hasattr(x, "_torchdynamo_orig_callable")
            and not isinstance(x, torch.nn.Module)]  # fmt: skip


def outside_names(model: Any) -> dict[int, str]:
    """What tensors that a function uses from outside are called there."""
    return {id(x): name for name, x in outer_variables(model) if isinstance(x, torch.Tensor)}


def clean(path: str) -> str:
    """A dotted name without the wrappers' part in it."""
    return ".".join(part for part in path.split(".") if part not in WRAPPERS)


def title_of(model: Any) -> str:
    if isinstance(model, torch.nn.Module):
        return type(getattr(model, "_orig_mod", model)).__name__
    return getattr(model, "__name__", type(model).__name__)


def prepared(
    recorder: Recorder, model: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, Any], dict[str, Value]]:
    """The arguments to call with, real ones as copies that ask for a gradient; and their Values by name."""
    original = getattr(model, "_orig_mod", model)
    function = original.forward if isinstance(original, torch.nn.Module) else original
    names = argument_names(function, len(inputs))
    flat, structure = tree_flatten_with_path((inputs, keywords))
    named: dict[str, Value] = {}
    known: dict[int, Value] = {}
    leaves: dict[int, Any] = {}
    filled = []
    for path, x in flat:
        if not isinstance(x, torch.Tensor) or not x.is_floating_point() or isinstance(x, torch.nn.Parameter):
            filled.append(x)
            continue
        if id(x) not in leaves:
            name = name_of_argument(path, names)
            leaf = x.detach().clone().requires_grad_()
            named[name] = known[id(x)] = recorder.add_leaf(leaf, name)
            leaves[id(x)] = torch.clone(leaf)  # a leaf itself may not be written to, as `relu_(x)` does
            recorder.memory.set(leaves[id(x)], named[name])
        filled.append(leaves[id(x)])
    args, kwargs = tree_unflatten(filled, structure)
    recorder.again = model, inputs, keywords, known
    return (args, kwargs), named


def name_of_argument(path: Any, names: list[str]) -> str:
    """`x`, or `batch['x']` inside of a nest."""
    which, first, *rest = path
    name = names[first.idx] if which.idx == 0 else str(first.key)
    return name + "".join(f"[{getattr(step, 'idx', getattr(step, 'key', step))!r}]" for step in rest)


def result_values(recorder: Recorder, out: Any) -> Any:
    """A model's result with a Value in place of each tensor that a gradient flows to, and plain arrays else."""

    def ours(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        return recorder.value_of(x) if recorder.carries(x) else recorder.constant(x)

    return tree_map(ours, out)
