"""torch's own backward pass of a captured run: what arrives at each place of its graph, and what each call sends on.

Hooks on the nodes of torch's graph hand both out in one pass. No `.grad` is touched.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from autograd.engine import Value
from autograd.errors import BackwardError

from ..places import Place, assigning_lines, libraries, returning_line
from .calls import TorchCall, methods_replaced
from .tensors import as_array, storage_of, tensors_in

if TYPE_CHECKING:
    from .recorder import Recorder


class TorchPass:
    """One backward pass, from these gradients of the results."""

    def __init__(self, recorder: Recorder, roots: list[tuple[Value, Any]], seeds: dict[Value, Any]) -> None:
        self.recorder = recorder
        self.doors: dict[TorchCall, list[tuple[Any, int, int]] | None] = {}
        self.within: dict[Value, TorchCall] = {}  # of a tensor that a call made on its way (a saved W.t()), that call
        owners: dict[Any, TorchCall] = {}
        for call in recorder.calls:
            hidden = any(v not in recorder.edges for v in call.outputs)  # memory that several tensors look at
            self.doors[call], nodes = (None, set()) if hidden else doors_of(call)
            owners.update(dict.fromkeys(nodes, call))
        for value, (edge, *_) in recorder.edges.items():
            if edge.node in owners and edge not in owners[edge.node].went:
                self.within[value] = owners[edge.node]
        self.edges = {v: edges for v, edges in recorder.edges.items() if v not in self.within}
        self.passes: dict[Any, tuple[Any, Any]] = {}  # what each node sent, and what it received
        self.lines: dict[Any, list[Place]] = {}  # of a Function's node, which line made each gradient that it sent
        self.arrays: dict[int, Any] = {}  # of tensors that are sent, until they arrive
        starts = {v: edge for v, edge in roots if v in seeds}
        kinds = [edge.node._input_metadata[edge.output_nr].dtype for edge in starts.values()]
        weights = [torch.tensor(np.asarray(seeds[v])).to(kind) for v, kind in zip(starts, kinds)]
        self.seeds = {v: as_array(w) for v, w in zip(starts, weights)}
        ends = {v: edge for v in recorder.leaves.values() for edge in recorder.edges.get(v, [])[:1]}
        hooked = {node: None for found in self.doors.values() for node, *_ in found or ()}
        hooked |= {edge.node: None for edges in self.edges.values() for edge in edges}
        for edge in ends.values():
            hooked.pop(edge.node, None)
        grads = self._run(list(starts.values()), weights, list(ends.values()), list(hooked))
        if any(g is not None and g._version != version for got in self.passes.values() for g, version in got[0]):
            grads = self._run(list(starts.values()), weights, list(ends.values()), list(hooked), copied=True)
        self.ends = {(edge.node, edge.output_nr): g for edge, g in zip(ends.values(), grads)}

    def _run(
        self, starts: list[Any], weights: list[Any], ends: list[Any], nodes: list[Any], copied: bool = False
    ) -> Any:
        """The pass. What a node sent is held as it is, or copied where a hook writes to it later."""

        def held(grads: Iterable[Any]) -> list[Any]:
            grads = [g.clone() if copied and g is not None else g for g in grads]
            return [(g, 0 if g is None else g._version) for g in grads]

        def keep(node: Any) -> Any:
            return node.register_hook(lambda sent, received: self.passes.update({node: (held(sent), held(received))}))

        def backward_of(cls: Any, backward: Any) -> Any:
            return with_lines(backward, self.lines)

        hooks = [keep(node) for node in nodes]
        try:
            with methods_replaced(backward=backward_of):
                return torch.autograd.grad(starts, ends, weights, allow_unused=True, retain_graph=True)
        except RuntimeError as error:
            if "use_reentrant" not in str(error):
                raise BackwardError(f"torch's own backward pass raised: {error}") from error
            return by_backward(starts, ends, weights)
        finally:
            for hook in hooks:
                hook.remove()

    def arrived(self, value: Value) -> Any:
        """The gradient that arrives at a Value, as an array; None where none does."""
        grads = [self._at(edge) for edge in self.edges.get(value, ())]
        found = [self.arrays.pop(id(g)) if id(g) in self.arrays else as_array(g) for g in grads if g is not None]
        return sum(found[1:], found[0]) if found else None

    def _at(self, edge: Any) -> Any:
        if (edge.node, edge.output_nr) in self.ends:
            return self.ends[edge.node, edge.output_nr]
        got = self.passes.get(edge.node)
        return None if got is None else got[1][edge.output_nr][0]

    def line(self, call: TorchCall, number: int | None) -> Place | None:
        """The line of a Function's backward that last computed the gradient of its argument of this number."""
        places = self.lines.get(call.went[0].node, ()) if call.went else ()
        return places[number] if number is not None and number < len(places) else None

    def known(self, value: Value) -> bool:
        """Whether torch has a place for the gradient of a Value."""
        return bool(self.edges.get(value))

    def sent(self, call: TorchCall) -> list[Any]:
        """What a call sends to each of its inputs, None where nothing; fewer than its inputs where it is not known."""
        doors = self.doors[call]
        if doors is None:
            return []
        found: list[Any] = [None] * len(call.carried)
        for node, place, number in doors:
            got = self.passes.get(node)
            g = None if got is None else got[0][place][0]
            if g is not None:
                array = self.arrays[id(g)] = as_array(g)
                found[number] = array if found[number] is None else found[number] + array
        return found


def doors_of(call: TorchCall) -> tuple[list[tuple[Any, int, int]] | None, set[Any]]:
    """Where gradients leave a call: (node, which of its edges, which input it leads to); None where torch hides it.

    A call may be several nodes of torch's graph: they come second. An edge that is given for two inputs is counted for
    the first.
    """
    wanted = {(edge.node, edge.output_nr): n for n, edge in reversed(list(enumerate(call.came))) if edge is not None}
    if len(call.went) < len(call.outputs):
        return None, set()
    found, seen = [], {edge.node for edge in call.went}
    waiting = list(seen)
    if any((edge.node, edge.output_nr) in wanted for edge in call.went):
        return None, set()
    while waiting:
        node = waiting.pop()
        for place, (following, nr) in enumerate(node.next_functions):
            if following is None:
                continue
            if (following, nr) in wanted:
                found.append((node, place, wanted[following, nr]))
            elif (
                following not in seen and not hasattr(following, "variable") and following._sequence_nr() >= call.since
            ):
                seen.add(following)
                waiting.append(following)
    return found, seen


def by_backward(starts: list[Any], ends: list[Any], weights: list[Any]) -> list[Any]:
    """The same by `backward()`, which reentrant checkpoints need: leaves' own `.grad`, put back afterwards."""
    leaves = [edge.node.variable if hasattr(edge.node, "variable") else None for edge in ends]
    before = [None if leaf is None else leaf.grad for leaf in leaves]
    try:
        for leaf in leaves:
            if leaf is not None:
                leaf.grad = None
        torch.autograd.backward(starts, weights, retain_graph=True)
        return [None if leaf is None else leaf.grad for leaf in leaves]
    finally:
        for leaf, grad in zip(leaves, before):
            if leaf is not None:
                leaf.grad = grad


# --- which line computed a gradient ---------------------------------------------------------------------------


def with_lines(backward: Any, found: dict[Any, list[Place]]) -> Any:
    """A Function's backward that notes, for its node, which of its lines computed each gradient that it returns."""
    registered = inspect.getclosurevars(backward).nonlocals.get("info")  # of torch.library.custom_op
    written = getattr(registered, "_backward_fn", None) or backward
    code = getattr(inspect.unwrap(written), "__code__", None)
    if code is None or code.co_filename.startswith(libraries()):
        return backward

    @functools.wraps(backward)
    def noted(ctx: Any, *grads: Any) -> Any:
        with Lines(code) as lines:
            sent = backward(ctx, *grads)
        given = sent if isinstance(sent, tuple | list) else (sent,)
        found[ctx] = [lines.of(g, number) for number, g in enumerate(given)]
        return sent

    return noted


class Lines(TorchDispatchMode):
    """The lines of one function at which tensors were made and written to."""

    def __init__(self, code: Any) -> None:
        super().__init__()
        self.code = code
        self.held: list[Any] = []
        self.at: dict[Any, tuple[int, int]] = {}  # when, and on which line: of a tensor, or of memory written to

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code is not self.code:
            frame = frame.f_back
        for tensor in tensors_in(out) if frame is not None else ():
            key = place_in_memory(tensor)
            self.at[key[:1] if func._schema.is_mutable else key] = len(self.held), frame.f_lineno
            self.held.append(tensor)  # so that its memory stays its own
        return out

    def of(self, tensor: Any, number: int) -> Place:
        """The line that last computed what is returned in this place, or set its name; else the one that returns it."""
        key = place_in_memory(tensor) if isinstance(tensor, torch.Tensor) else ()
        line = max((self.at[k] for k in (key, key[:1]) if k in self.at), default=(0, 0))[1]
        assigned = assigning_lines(self.code, number)
        if assigned and assigned[-1].start > line and not any(line in lines for lines in assigned):
            line = assigned[-1].start  # `dy = dx`: no operator of torch
        return Place(self.code.co_filename, line) if line else returning_line(self.code)


def place_in_memory(tensor: Any) -> tuple[Any, ...]:
    return storage_of(tensor), tensor.storage_offset(), tensor.shape, tensor.stride()
