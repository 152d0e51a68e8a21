"""Recording one real run of a torch model.

A dispatch mode sits below torch's autograd and sees each operator as the model calls it (`linear`, not `t`, `addmm`).
For each one it lets torch compute with autograd on, so that torch's own graph of the run is there to be compared with,
and records the same step with our ops. Three levels: a rule of our table (`aten/`); else torch's own decomposition,
recorded part by part; else an opaque op. What no gradient reaches, torch alone computes.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_map

from autograd.arrays.plain import as_plain
from autograd.attached import counter
from autograd.engine import Value
from autograd.errors import DataError, HandgradError
from autograd.modes import Scope
from autograd.op import OPS

from ..aten import NotMapped, rule_for
from ..places import Namer, Noted, Place, libraries, place_of, user_frame, written_at
from ..run import COMPLEX, Cut, Parameter, Run, near
from .backward import TorchPass
from .calls import TorchCall, as_function
from .followed import Followed
from .memory import Memory
from .opaque import opaque_op
from .state import KeptState
from .tensors import (
    COMPOSITE,
    as_array,
    composite,
    edge_of,
    functional_twin,
    name_of,
    needs_results,
    result_number,
    seeded,
    storage_of,
    tensors_in,
    unit_of,
    written_tensors,
)

LIBRARIES = libraries()
KNOWN_VERSIONS = "2.11 to 2.15"  # of torch: `make torch-versions` tries them


class Recorder(TorchDispatchMode):
    """The mode, and what it has recorded so far."""

    library = "torch"

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch imports its compiler for the first operator: 1 s

    def __init__(self, kept: KeptState, modules: dict[Any, str], names: dict[int, str]) -> None:
        super().__init__()
        self.kept, self.modules, self.names = kept, modules, names
        self.memory = Memory(as_array)
        self.namer = Namer()
        self.leaves: dict[str, Value] = {}
        self.edges: dict[Value, list[Any]] = {}  # torch's places for the gradient of a Value, if it has any
        self.placed: dict[tuple[Any, int], Value] = {}  # the first Value of each of these places
        self.units: dict[Value, float] = {}  # the rounding unit of what torch holds for a Value
        self.coarsest = 0.0  # that of the results since the Function being called began
        self.calls: list[TorchCall] = []
        self.compiled: list[TorchCall] = []  # of modules that torch.compile made
        self.opaque: list[str] = []
        self.notes: list[str] = []
        self.gap = 0.0
        self.scopes: list[Scope] = []
        self.inside = 0  # how deep in an autograd.Function or a decomposition: there torch records nothing, but we do
        self.keys = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
        self.started = self.latest = (torch.zeros(1, requires_grad=True) * 1).grad_fn._sequence_nr()
        self.met_inside: dict[Value, None] = {}  # the leaves that the Function being called has used
        self._constants: dict[int, tuple[Any, int, Any]] = {}  # tensors without a gradient: version, numbers
        self.followed = Followed()
        self.casts: list[Cut] = []  # to integers
        self.exits: list[Cut] = []  # numbers that Python took, which may or may not come back
        self.writes: list[tuple[int, int, Place | None]] = []  # to memory that a gradient flows through
        self.tensors: dict[Value, Any] = {}  # the leaves that ask for a gradient
        self.again: Any = None  # the model, what it was called with, and which Value each real input is
        self.hooked: dict[Value, Place | None] = {}  # tensors with a hook, and the line that registered it
        self.ticks: Any = None  # a progress bar
        self.refused: DataError | None = None  # why the run was not gone on with
        self.frame: Any = None  # the user's line that the latest call is on

    def passed(self, roots: list[tuple[Value, Any]], seeds: dict[Value, Any]) -> TorchPass:
        """torch's own backward pass: what each call received and sent on."""
        with self.kept.as_left():
            return TorchPass(self, roots, seeds)

    def last_word(self, run: Run, theirs: TorchPass) -> str:
        """What torch's own loss says where the way of a gradient ends."""
        from .whole import said_of_loss

        return said_of_loss(run, theirs)

    @property
    def cuts(self) -> dict[Value, Cut]:
        """The nodes at which a gradient ends."""
        return self.followed.cuts

    def hook_on(self, value: Value) -> Place | None:
        """The line that registered a hook on the tensor of a Value; of one from before the run, where it is written."""
        return self.hooked.get(value)

    def hook_of(self, call: TorchCall) -> tuple[bool, Place | None]:
        """Whether a call stands for a module's backward hooks, and where the first of them is written."""
        if call.name != "BackwardHookFunction":
            return False, None
        path = call.scope.path if call.scope is not None else ""
        modules = [m for m, known in self.modules.items() if known == path]
        hooks = [h for m in modules for h in (*m._backward_hooks.values(), *m._backward_pre_hooks.values())]
        return True, next((written_at(h) for h in hooks), None)

    def write_after(self, call: TorchCall) -> Place | None:
        """The first line that wrote to memory of a call after it was made."""
        return next((place for began, key, place in self.writes if began > call.began and key in call.storages), None)

    # --- leaves ---------------------------------------------------------------------------------------------

    def add_leaf(self, tensor: Any, name: str, kind: type[Value] = Value) -> Value:
        """A tensor that gradients end in."""
        value = kind(as_array(tensor), name=name, requires_grad=tensor.requires_grad)
        self.memory.set(tensor, value)
        self.leaves[name] = value
        if tensor.is_floating_point():
            self.units[value] = unit_of(tensor.dtype)
        if tensor.requires_grad:
            edge = edge_of(tensor)
            self.edges[value] = [edge]
            self.placed[edge.node, edge.output_nr] = value
            self.tensors[value] = tensor
        for hook in (tensor._backward_hooks or {}).values():
            self.hooked[value] = written_at(hook)
        return value

    # --- one operator ---------------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            return self._dispatched(func, args, kwargs or {})
        except DataError as error:  # a TypeError, which torch's operators (`a * b`) turn into one that says nothing
            self.refused = error
            raise

    def _dispatched(self, func: Any, args: Any, kwargs: Any) -> Any:
        if self.ticks is not None:
            self.ticks.update()
        with self.as_usual():
            tensors = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, torch.Tensor)]
            began = next(counter)
            written = written_tensors(func, args, kwargs)
            for t in written:
                self.kept.before_write(t)
                self._note_write(t, began)
            carried = any(map(self.carries, tensors)) and (self.inside or torch.is_grad_enabled())
            if not carried:
                return self._plain(func, args, kwargs, tensors, written)
            self.frame = user_frame(LIBRARIES)
            ours = None if needs_results(func) else self._by_rule(func, args, kwargs)
        if ours is None and composite(func):
            with self:  # one level down: its parts come back here
                return func._op_dk(COMPOSITE, *args, **kwargs)
        with self.as_usual():
            call = self.open_call(name_of(func), func, args, kwargs, began)
            before = self._before(args, kwargs, written) if written and ours is None else (args, kwargs)
            drawn = torch.get_rng_state() if torch.Tag.nondeterministic_seeded in func.tags else None
            known = len(self.calls)
            out = func(*args, **kwargs)
            if len(self.calls) > known:  # an operator with a backward of its own (torch.library), met as a Function
                return out
            results = tensors_in(out)
            for x in results:
                refuse_sparse(x)
            if not written:
                self._follow(func, results, ours)
            if name_of(func) == "_to_copy" and not (self.inside or any(x.is_floating_point() for x in results)):
                self.casts += [self.cut(f"a cast to {str(results[0].dtype).removeprefix('torch.')}")]
            if not self.inside and not any(x.requires_grad for x in (*results, *written)):
                self._hide(written)
                return out
            if needs_results(func):
                ours = self._by_rule(func, args, {**kwargs, "results": tuple(map(as_array, results))})
            ours = self._checked(func, ours, results, call, began)
        if ours is None:
            ours = (None if written else self._by_memory(results, tensors)) or self._decomposed(
                func, before, results, call
            )
        if ours is None:
            ours = self._opaque(func, before, results, call, drawn)
        with self.as_usual():
            self._close(call, results, ours, written)
        return out

    def as_usual(self) -> Any:
        """torch as it is outside of a capture: autograd on, no mode."""
        return torch._C._ForceDispatchKeyGuard(*self.keys)

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """The same outside of an operator, where the mode is still on."""
        with _disable_current_modes(), self.as_usual():
            yield

    def carries(self, tensor: Any) -> bool:
        """Whether a gradient flows through a tensor. Inside a Function, where torch does not say, we know ourselves."""
        if not tensor.is_floating_point():
            if tensor.is_complex() and tensor.requires_grad:
                raise DataError(COMPLEX)
            return False
        if not self.inside:
            return tensor.requires_grad
        if not self.memory.touched(tensor):
            return tensor.requires_grad
        value = self.memory.get(tensor)
        return isinstance(value, Value) and value.requires_grad

    def _plain(self, func: Any, args: Any, kwargs: Any, tensors: list[Any], written: list[Any]) -> Any:
        """A call that no gradient goes through. It may still write to memory that one does."""
        out = func(*args, **kwargs)
        self._hide(written)
        if not written and not needs_results(func) and any(map(self._decides, tensors)):
            self._follow(func, tensors_in(out), self._by_rule(func, args, kwargs))
        return out

    def _note_write(self, tensor: Any, began: int) -> None:
        """A write to memory that some call may have saved for its backward."""
        if self.memory.touched(tensor):
            self.writes.append((began, storage_of(tensor), place_of(user_frame(LIBRARIES))))

    def cut(self, name: str) -> Cut:
        """A gradient ends on the user's line that is running. torch calls `.data` detach, too."""
        place = place_of(user_frame(LIBRARIES))
        text = place.text if place is not None else ""
        if name in ("detach", "detach_"):
            name = ".data" if ".data" in text and "detach" not in text else "detach()"
        elif not torch.is_grad_enabled():
            name = "no_grad"
        return Cut(None, None, name) if place is None else Cut(place.file, place.line, name, text)

    def note_exit(self, how: str, tensor: Any) -> None:
        """Numbers that follow from the leaves are handed to Python."""
        if self.inside:  # what a Function does is its own affair: its backward is judged
            return
        with self.aside():
            if tensor.is_floating_point() and self._decides(tensor):
                self.exits.append(self.cut(how))

    def _decides(self, tensor: Any) -> bool:
        """Whether a tensor's numbers change with those of the leaves: it is one of our Values, or follows from one."""
        return self.followed.get(tensor) is not None or (tensor.requires_grad and self.memory.touched(tensor))

    def _follow(self, func: Any, results: list[Any], ours: tuple[Any, ...] | None) -> None:
        """Keep the nodes of results that no gradient reaches; those of real numbers are where it ends."""
        cut = None
        for tensor, value in zip(results, ours or ()):
            carried = isinstance(value, Value) and value.requires_grad if self.inside else tensor.requires_grad
            if tensor.dtype is torch.bool or not carried:
                if cut is None and isinstance(value, Value) and value.requires_grad and not self.inside:
                    cut = self.cut(name_of(func))
                self.followed.add(tensor, value, cut)

    def _before(self, args: Any, kwargs: Any, written: list[Any]) -> Any:
        """The arguments of a call that writes, as they are before it."""

        def kept(x: Any) -> Any:
            if not any(x is t for t in written):
                return x
            twin = x.detach().clone().requires_grad_(x.requires_grad)
            if self.carries(x):
                self.memory.set(twin, self.value_of(x))
            return twin

        return tree_map(kept, (args, kwargs))

    def _hide(self, written: list[Any]) -> None:
        for t in written:
            if self.memory.touched(t):
                self.memory.write(t, as_array(t), hidden=not self.inside, tangles=False)

    def value_of(self, tensor: Any) -> Any:
        """The Value of a tensor that carries a gradient, or follows from one that does; any other as a plain array."""
        if self.carries(tensor):
            asked = tensor.is_leaf and not self.inside and tensor.requires_grad and id(tensor) in self.followed
            value = None if asked else self.memory.get(tensor)
            if value is None:  # also of h.detach().requires_grad_(), which looks at h's memory but is no part of h
                return self._new_leaf(tensor)
            if not isinstance(value, Value):  # plain numbers were written over all of it, and torch sends it zeros
                value = Value(value, requires_grad=False)
                self.memory.set(tensor, value)
            if self.inside and value.op is None:
                self.met_inside[value] = None
            if tensor.requires_grad and not self.inside and torch.is_grad_enabled():
                self.place(value, tensor)
            return value
        followed = self.followed.get(tensor)
        return self.constant(tensor) if followed is None else followed

    def place(self, value: Value, tensor: Any) -> None:
        """Note where torch has the gradient of a Value: a gradient taken inside of the model makes several places."""
        if value.requires_grad and value not in self.edges and not self.memory.tangled(tensor):
            edge = edge_of(tensor)
            if self.placed.setdefault((edge.node, edge.output_nr), value) is value:  # two, after a write through .data
                self.edges[value] = [edge]

    def constant(self, tensor: Any) -> Any:
        """The numbers of a tensor as they are now."""
        known = self._constants.get(id(tensor))
        if known is None or known[1] != tensor._version or self.memory.touched(tensor):
            known = self._constants[id(tensor)] = tensor, tensor._version, as_array(tensor)
        return known[2]

    def _new_leaf(self, tensor: Any) -> Value:
        """A tensor that the run did not make: a parameter that is not the model's, or a result from before."""
        if tensor.grad_fn is not None and tensor.grad_fn._sequence_nr() >= self.started:
            raise DataError(
                f"capture did not see how a tensor of {tuple(tensor.shape)} was made ({tensor.grad_fn.name()}): by "
                "an extension, in another thread, or by a torch that works differently inside (this is "
                f"{torch.__version__}; {KNOWN_VERSIONS} are known to work). Capture the part that torch computes."
            )
        name = self.names.get(id(tensor)) or f"leaf_{len(self.leaves)}"
        before = self.followed.leave(tensor)
        leaf = self.add_leaf(tensor, name, Parameter if isinstance(tensor, torch.nn.Parameter) else Value)
        if before in self.cuts:
            self.cuts[leaf] = self.cuts[before]
            del self.tensors[leaf]  # it is not there when the model is run again
        return leaf

    # --- the three levels -----------------------------------------------------------------------------------

    @np.errstate(all="ignore")
    def _by_rule(self, func: Any, args: Any, kwargs: Any) -> tuple[Any, ...] | None:
        """What our table makes of a call: a tuple of Values (None: no gradient), or None if it has no rule for it."""
        rule = rule_for(name_of(func)) if func.namespace == "aten" else None
        if rule is None:
            return None
        if name_of(func) == "rms_norm" and len(args) < 4:  # its eps is that of torch's precision, not of ours
            kwargs = {**kwargs, "eps": kwargs.get("eps") or torch.finfo(args[0].dtype).eps}
        ours, trouble = self._applied(rule, *tree_map(self._operand, (args, kwargs)))
        tensors = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, torch.Tensor)]
        if ours is None and any(self.followed.get(x) is not None for x in tensors):
            fixed = functools.partial(self._operand, follow=False)  # a rule may have to know the choice: it stays
            ours, trouble = self._applied(rule, *tree_map(fixed, (args, kwargs)))
        if trouble is not None:
            self.notes.append(f"{name_of(func)}: left to torch: {trouble}")
        return ours

    def _applied(self, rule: Any, args: Any, kwargs: Any) -> tuple[tuple[Any, ...] | None, Exception | None]:
        """What a rule gives; or None, and the error that it should not have met."""
        try:
            with self.noted():
                ours = rule(*args, **kwargs)
        except NotMapped:
            return None, None
        except (HandgradError, ValueError, TypeError, IndexError, KeyError) as error:
            return None, error
        return (ours if isinstance(ours, tuple) else (ours,)), None

    def _operand(self, x: Any, follow: bool = True) -> Any:
        if isinstance(x, torch.Tensor):
            return self.value_of(x) if follow or self.carries(x) else self.constant(x)
        if isinstance(x, torch.dtype):
            return "float64" if x.is_floating_point else str(x).removeprefix("torch.")
        return x

    def _checked(self, func: Any, ours: Any, results: list[Any], call: TorchCall, began: int) -> tuple[Any, ...] | None:
        """Our results with torch's own numbers, from which the run goes on; None if they are not of the same call."""
        if ours is None or len(ours) != len(results):
            return None
        settled: list[Any] = []
        for value, tensor in zip(ours, results, strict=True):
            if value is None or not tensor.is_floating_point():
                settled.append(None)
                continue
            theirs = as_array(tensor)
            data = np.asarray(value.data if isinstance(value, Value) else value)
            if data.shape != theirs.shape:
                self.notes.append(f"{name_of(func)}: left to torch: shape {data.shape}, torch has {theirs.shape}")
                return None
            same, gap = near(data, theirs, unit_of(tensor.dtype), [v.data for v in call.inputs])
            if not same:
                self.notes.append(f"{name_of(func)}: left to torch: our numbers differ by {gap:.1g}")
                return None
            self.gap = max(self.gap, gap)
            unit = unit_of(tensor.dtype)
            settled.append(self._with_numbers(value, theirs, unit, began) if isinstance(value, Value) else theirs)
        return tuple(settled)

    def _with_numbers(self, value: Value, theirs: Any, unit: float, began: int) -> Value:
        """A result with torch's numbers. What was there before the call keeps its own: a cast of it is a step, also
        where its numbers are the same, because a gradient is rounded there."""
        if value.stamp < began:
            if self.units.get(value, unit) == unit and np.array_equal(value._data, theirs, equal_nan=True):
                return value
            with self.noted():
                value = OPS["alias"](value)
        value._data = as_plain(theirs)
        return value

    def _by_memory(self, results: list[Any], tensors: list[Any]) -> tuple[Any, ...] | None:
        """Results that only look at memory we know (`as_strided`): parts of the arguments or others, by place."""
        if not results or not all(map(self.memory.touched, results)):
            return None
        with self.noted():
            ours = tuple(self.memory.get(result, of=tensors) for result in results)
        return ours if all(isinstance(value, Value) for value in ours) else None

    def _decomposed(
        self, func: Any, arguments: tuple[Any, Any], results: list[Any], call: TorchCall
    ) -> tuple[Any, ...] | None:
        """The same call by torch's own decomposition, recorded by us alone; None where it has none that helps."""
        functional = functional_twin(func)
        parts = torch._decomp.decomposition_table.get(functional)
        if parts is None or torch.Tag.nondeterministic_seeded in func.tags:
            return None
        before, began = (len(self.opaque), len(self.calls)), next(counter)
        self.inside += 1
        try:
            with self, torch.no_grad():
                out = parts(*arguments[0], **arguments[1])
            ours = tuple(self.value_of(x) if self.carries(x) else None for x in tensors_in(out))
        except Exception as error:  # a decomposition that needs what is not here
            self.notes.append(f"{name_of(func)}: its decomposition failed: {type(error).__name__}: {error}")
            ours = ()
        finally:
            self.inside -= 1
        if len(self.opaque) > before[0] or not ours:  # its parts are no clearer than the whole
            del self.opaque[before[0] :], self.calls[before[1] :]
            return None
        return self._checked(func, ours, results, call, began)

    def _opaque(
        self, func: Any, arguments: tuple[Any, Any], results: list[Any], call: TorchCall, drawn: Any = None
    ) -> tuple[Any, ...]:
        """The call as one node of torch's for each of its results. One that draws numbers draws the same each time."""
        name, call.opaque = name_of(func).partition(".")[0].strip("_"), True
        function, inputs = as_function(functional_twin(func), *arguments, self)
        if drawn is not None:
            function = functools.partial(seeded, function, drawn)
        values: list[Any] = []
        for i, tensor in enumerate(results):
            if not tensor.is_floating_point() or not (tensor.requires_grad or self.inside):
                values.append(None)
                continue
            op = opaque_op(name, functools.partial(result_number, function, i))
            with self.noted():
                values.append(op(*inputs))
            values[-1]._data = as_plain(as_array(tensor))
            self.opaque.append(op.name)
        return tuple(values)

    # --- bookkeeping ----------------------------------------------------------------------------------------

    def noted(self) -> Noted:
        """Nodes made while it is open know the module and the line of the user's that made them."""
        return Noted(self.scope, place_of(self.frame))

    @property
    def scope(self) -> Scope | None:
        """The module call that is running."""
        return self.scopes[-1] if self.scopes else None

    def open_call(self, name: str, function: Any, args: Any, kwargs: Any, began: int) -> TorchCall:
        flat = tree_flatten((args, kwargs))[0]
        carried = [i for i, x in enumerate(flat) if isinstance(x, torch.Tensor) and self.carries(x)]
        inputs = [self.value_of(flat[i]) for i in carried]
        came = [edge_of(flat[i]) if flat[i].requires_grad and not self.inside else None for i in carried]
        unit = max((unit_of(flat[i].dtype) for i in carried), default=0.0)
        again, storages = (function, args, kwargs), {storage_of(x) for x in flat if isinstance(x, torch.Tensor)}
        return TorchCall(name, self.scope, place_of(self.frame), inputs, again, carried=carried, came=came,
                         since=self.latest, unit=unit, began=began, storages=storages)  # fmt: skip

    def _close(self, call: TorchCall, results: list[Any], ours: tuple[Any, ...], written: list[Any]) -> None:
        """Remember which Values the results stand for, and where torch keeps their gradients."""
        for number, (tensor, value) in enumerate(zip(results, ours, strict=True)):
            if value is None:
                continue
            if any(tensor is t for t in written):
                views = self.memory.views(tensor)
                self.memory.write(tensor, value, tangles=not self.inside)
                for view in views if self.memory.tangled(tensor) else ():
                    self.edges.pop(view, None)
            else:
                self.memory.set(tensor, value)
            self.add_output(call, number, tensor, value)
        if call.outputs:
            self.namer.note(self.frame, self.scope, [v if isinstance(v, Value) else None for v in ours])
            if not self.inside:
                self.calls.append(call)

    def add_output(self, call: TorchCall, number: int, tensor: Any, value: Any, edge: Any = None) -> None:
        """An output of a call. What only looks at its input (`contiguous`) has the input's Value, and is no step."""
        if not isinstance(value, Value) or any(value is x for x in call.inputs):
            return
        if not value.requires_grad:  # floor, sign: constant nearly everywhere, where torch sends zeros
            return
        call.outputs.append(value)
        call.numbers.append(number)
        call.storages.add(storage_of(tensor))
        unit = self.units[value] = unit_of(tensor.dtype)
        call.unit, self.coarsest = max(call.unit, unit), max(self.coarsest, unit)
        if edge is not None or (tensor.requires_grad and not self.inside):
            edge = edge or edge_of(tensor)
            call.went.append(edge)
            self.latest = max(self.latest, edge.node._sequence_nr())
            if not self.memory.tangled(tensor):
                self.edges.setdefault(value, [edge])
                self.placed[edge.node, edge.output_nr] = value


def refuse_sparse(tensor: Any) -> None:
    """Memory is followed entry by entry, which a sparse tensor does not have."""
    if tensor.layout is not torch.strided and tensor.requires_grad:
        raise DataError("capture follows dense tensors; here a sparse one carries a gradient. Write x.to_dense().")
