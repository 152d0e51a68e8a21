"""capture of a JAX function: its jaxpr, run once step by step with our ops beside JAX's own."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import autograd as ag

from ..engine import Value
from ..errors import DataError, HandgradError
from ..modes import Scope
from ..op import Op
from .jaxpr import Flat, Step, is_real
from .lax import LAX
from .places import Namer, Noted, argument_names
from .recognise import call_of, groups, recognised
from .run import COMPLEX, SAME_NUMBERS, Call, Parameter, Run, gap_between, opaque_name

MOVES = ("gather", "dynamic_slice")  # each result is an entry of the first operand


class JaxCall(Call):
    """One step, or several that are one op of ours; `again` maps the arrays of the inputs to those of the outputs."""

    library = "jax"

    def pulled_again(self, value: Value, grads: dict[Value, Any]) -> Any:
        out, pull = jax.vjp(self.again, *(jnp.asarray(v.data) for v in self.inputs))
        starts = [jnp.zeros_like(o) if grads.get(v) is None else jnp.asarray(grads[v], o.dtype)
                  for o, v in zip(out, self.outputs)]  # fmt: skip
        sent = pull(starts)
        return sum(np.asarray(g) for g, v in zip(sent, self.inputs) if v is value)


class JaxRecorder:
    """What was recorded of a JAX function."""

    library = "jax"

    def __init__(self) -> None:
        self.flat = Flat()
        self.values: dict[int, Value] = {}
        self.calls: list[JaxCall] = []
        self.compiled: list[Any] = []
        self.opaque: list[str] = []
        self.notes: list[str] = []
        self.gap = 0.0
        self.scopes: dict[str, Scope] = {}
        self.namer = Namer()

    # --- recording ------------------------------------------------------------------------------------------

    def build(self, flat: Flat, values: dict[int, Value], results: list[int], outer: bool = True) -> None:
        """Our ops for the steps of a run: fills `values`, the Value in each slot that a gradient flows to."""
        uses = [set(results)]  # the slots that are still needed after each step, from the last on
        for step in reversed(flat.steps):
            uses.append(uses[-1] | set(step.inputs))
        uses.reverse()
        at = 0
        for group in groups(flat.steps):
            at += len(group)
            if len(group) > 1 and self._as_one(group, uses[at], flat, values, outer):
                continue
            for step in group:
                self._step(step, flat, values, outer)

    def _as_one(self, group: list[Step], later: set[int], flat: Flat, values: dict[int, Value], outer: bool) -> bool:
        """Several steps as the one op that they are, if it is known."""
        made = {slot for step in group for slot in step.outputs}
        needed = list(dict.fromkeys(i for step in group for i in step.inputs if i not in made and i in values))
        outs = [slot for step in group for slot in step.outputs if slot in later and is_real(flat.data[slot])]
        if len(outs) != 1 or not needed:
            return False
        key = call_of(group[0])
        assert key is not None
        inputs = [values[i] for i in needed]
        with self._noted(group[-1]):
            found = recognised(key[-1], inputs, group, flat, flat.data[outs[0]])
        if found is None:
            return False
        values[outs[0]] = found
        if outer:
            again = replayed(group, flat, needed, outs)
            self._add(JaxCall(key[-1], self._scope(group[-1]), group[-1].place, inputs, again, [found]), group[-1])
        return True

    def _step(self, step: Step, flat: Flat, values: dict[int, Value], outer: bool) -> None:
        """One step. What no gradient reaches JAX has computed already."""
        if step.name == "stop_gradient" or not any(i in values for i in step.inputs):
            return
        if any(jnp.issubdtype(jnp.result_type(flat.data[slot]), jnp.complexfloating) for slot in step.outputs):
            raise DataError(COMPLEX)
        if not any(is_real(flat.data[slot]) for slot in step.outputs):
            return
        operands = [values.get(i, np.asarray(flat.data[i])) for i in step.inputs]
        made = self._made(step, operands, flat)
        carried = list(dict.fromkeys(i for i in step.inputs if i in values))
        outputs = []
        for slot, value in zip(step.outputs, made, strict=True):
            if isinstance(value, Value) and value.requires_grad:
                values[slot] = value
                outputs.append((slot, value))
        if outer and outputs:
            inputs = [values[i] for i in carried]
            again = replayed([step], flat, carried, [slot for slot, _ in outputs])
            call = JaxCall(step.name, self._scope(step), step.place, inputs, again, [v for _, v in outputs])
            call.function = None if step.rule is None else SimpleNamespace(backward=unwrapped(step.rule))
            self._add(call, step)

    @np.errstate(all="ignore")
    def _made(self, step: Step, operands: list[Any], flat: Flat) -> Any:
        with self._noted(step):
            return self._ours(step, operands, flat) or self._opaque(step, operands, flat)

    def _ours(self, step: Step, operands: list[Any], flat: Flat) -> list[Any] | None:
        """By the table, by what the step computes, or by the places it moves numbers from; None for none of these."""
        try:
            if step.inner is not None:
                made = self._inside(step, operands, flat)
            elif step.name == "getitem":
                made = [operands[0][step.params["index"]]]
            elif step.name == "stack":
                made = [ag.stack(operands, axis=step.params.get("axis", 0))]
            elif step.name in MOVES:
                made = [moved(step, operands)]
            elif step.name in ("scatter-add", "scatter_add", "scatter", "dynamic_update_slice"):
                made = [placed(step, operands)]
            elif step.name in ("split",):
                cuts = np.cumsum(step.params["sizes"])[:-1]
                made = list(ag.split(operands[0], list(cuts), axis=step.params["axis"]))
            elif step.name in LAX:
                made = [LAX[step.name](*operands, **step.params)]
            else:
                return None
        except (NotImplementedError, HandgradError, TypeError, ValueError) as error:
            if not isinstance(error, NotImplementedError):
                self.notes.append(f"{step.name}: left to JAX: {error}")
            return None
        for value, slot in zip(made, step.outputs, strict=True):
            if isinstance(value, Value):
                theirs = np.asarray(flat.data[slot])
                gap = gap_between(value.data, theirs) if value.shape == theirs.shape else np.inf
                if not gap <= SAME_NUMBERS:
                    self.notes.append(f"{step.name}: left to JAX: our numbers differ")
                    return None
                self.gap = max(self.gap, gap)
        return made

    def _inside(self, step: Step, operands: list[Any], flat: Flat) -> list[Any]:
        """A function with a rule of its own: what it computes, differentiated by us."""
        inner = Flat()
        given = [inner.slot(flat.data[i]) for i in step.inputs]
        closed = step.inner
        results = inner.jaxpr(closed.jaxpr, closed.consts, given)
        values = {slot: x for slot, x in zip(given, operands, strict=True) if isinstance(x, Value)}
        whole = recognised(step.name, list(values.values()), inner.steps, inner, inner.data[results[0]])
        if whole is not None and len(results) == 1:
            return [whole]
        self.build(inner, values, results, outer=False)
        return [values.get(slot, inner.data[slot]) for slot in results]

    def _opaque(self, step: Step, operands: list[Any], flat: Flat) -> list[Any]:
        """The step as a node of JAX's own for each of its real results."""
        made: list[Any] = []
        name = "".join(c if c.isalnum() else "_" for c in step.name)
        held = [None if isinstance(x, Value) else flat.data[i] for x, i in zip(operands, step.inputs)]
        for number, slot in enumerate(step.outputs):
            if not is_real(flat.data[slot]):
                made.append(None)
                continue

            def one(*arrays: Any, number: int = number) -> Any:
                given = iter(arrays)
                out = step.run(*(next(given) if x is None else x for x in held))
                return out[number] if isinstance(out, list | tuple) else out

            op = opaque_op(name, one)
            made.append(op(*(x for x in operands if isinstance(x, Value))))
            self.opaque.append(op.name)
        return made

    # --- bookkeeping ----------------------------------------------------------------------------------------

    def _add(self, call: JaxCall, step: Step) -> None:
        self.calls.append(call)
        self.namer.note_place(call.place, call.scope, call.outputs)

    def _scope(self, step: Step) -> Scope | None:
        """The named scopes (Flax names one for each module) around a step."""
        path = step.scope
        if not path:
            return None
        if path not in self.scopes:
            around, _, name = path.rpartition("/")
            parent = self._scope(Step("", step.run, [], [], scope=around)) if around else None
            self.scopes[path] = Scope(name, name.rpartition("_")[0] or name, parent)
        return self.scopes[path]

    def _noted(self, step: Step) -> Noted:
        return Noted(self._scope(step), step.place)

    # --- JAX's own gradients --------------------------------------------------------------------------------

    def gradients(self, roots: list[tuple[Value, int]], seeds: dict[Value, Any]) -> dict[Value, Any]:
        """JAX's gradient of every Value: the run once more, with a zero added to each result, and pulled back."""
        places: dict[Value, int] = {}
        for slot, value in self.values.items():
            places.setdefault(value, slot)
        starts = {v: slot for v, slot in roots if v in seeds}
        names = list(places)

        def run(added: list[Any]) -> list[Any]:
            data = dict(enumerate(self.flat.data))
            extra = {places[v]: zero for v, zero in zip(names, added)}
            data.update({slot: data[slot] + extra[slot] for slot in self.leaves if slot in extra})
            moving = set(self.leaves)
            for step in self.flat.steps:
                if moving.intersection(step.inputs):
                    moving.update(step.outputs)
                    out = step.run(*(data[i] for i in step.inputs))
                    for slot, x in zip(step.outputs, out if isinstance(out, list | tuple) else [out]):
                        data[slot] = x + extra[slot] if slot in extra else x
            return [data[slot] for slot in starts.values()]

        def pulled(zeros: list[Any], weights: list[Any]) -> Any:
            return jax.vjp(run, zeros)[1](weights)

        zeros = [jnp.zeros(v.shape, v.dtype) for v in names]
        (grads,) = jax.jit(pulled)(zeros, [jnp.asarray(seeds[v], v.dtype) for v in starts])  # else each step compiles
        return {v: np.asarray(g) for v, g in zip(names, grads)}

    @property
    def leaves(self) -> list[int]:
        """The slots of leaves."""
        return [slot for slot, value in self.values.items() if value.op is None]


def opaque_op(name: str, function: Callable[..., Any]) -> Op:
    """An op that JAX computes, with its gradient, around a function of JAX's arrays."""

    def forward(*arrays: Any) -> Any:
        return np.array(function(*arrays))[()]

    def vjp(g: Any, out: Any, *xs: Any) -> tuple[Any, ...]:
        def pull(i: int) -> Callable[..., Any]:
            return lambda g, *xs: jax.vjp(function, *xs)[1](g)[i]

        return tuple(opaque_op(f"pull_{name}", pull(i))(g, *xs) for i in range(len(xs)))

    doc, name = f"JAX's {name}, by JAX's own rule.", opaque_name("jax", name)
    return Op(name, f"{name}(*xs)", forward=forward, vjp=vjp, register=False, doc=doc)


def replayed(steps: list[Step], flat: Flat, inputs: list[int], outputs: list[int]) -> Callable[..., Any]:
    """Some steps as a function of the arrays in some slots, giving those of others."""

    def run(*arrays: Any) -> list[Any]:
        data = dict(zip(inputs, arrays, strict=True))
        for step in steps:
            out = step.run(*(data.get(i, flat.data[i]) for i in step.inputs))
            data.update(zip(step.outputs, out if isinstance(out, list | tuple) else [out]))
        return [data[slot] for slot in outputs]

    return run


def moved(step: Step, operands: list[Any]) -> Value:
    """Entries picked: the same step on the numbers of the places says which."""
    x, *rest = operands
    if not isinstance(x, Value) or any(isinstance(i, Value) for i in rest):
        raise NotImplementedError
    places = np.asarray(step.run(jnp.arange(x.size).reshape(x.shape), *map(jnp.asarray, rest)))
    if places.min(initial=0) < 0 or places.max(initial=0) >= x.size:  # filled where an index is out of bounds
        raise NotImplementedError
    if x.ndim and step.name == "gather" and places.ndim >= x.ndim:  # whole rows of a table: say it as rows
        width = x.size // x.shape[0]
        rows = places.reshape(-1, width) if width and places.size % width == 0 else places
        whole = rows.ndim == 2 and np.array_equal(rows, rows[:, :1] + np.arange(width))
        if whole and not np.any(rows[:, 0] % width) and places.shape[places.ndim - x.ndim + 1 :] == x.shape[1:]:
            return ag.take(x, rows[:, 0].reshape(places.shape[: places.ndim - x.ndim + 1]) // width, axis=0)
    return ag.reshape(ag.reshape(x, (-1,))[places.reshape(-1)], places.shape)


def placed(step: Step, operands: list[Any]) -> Value:
    """Numbers written or added at places, which a pull through the step says."""
    if step.name == "dynamic_update_slice":
        x, new, *starts = operands
        begin = [int(np.clip(int(s), 0, n - m)) for s, n, m in zip(starts, x.shape, new.shape)]
        return ag.set_at(x, new, tuple(slice(b, b + m) for b, m in zip(begin, new.shape)))
    x, index, new = operands
    if isinstance(index, Value):
        raise NotImplementedError
    shape, numbers = np.shape(getattr(x, "data", x)), np.shape(getattr(new, "data", new))
    adding = step.name != "scatter"

    def spread(u: Any) -> Any:
        out = step.run(jnp.zeros(shape), jnp.asarray(index), u)
        return out[0] if isinstance(out, list | tuple) else out

    marks = jnp.arange(1.0, np.prod(shape) + 1).reshape(shape)
    places = np.asarray(jax.vjp(spread, jnp.zeros(numbers))[1](marks)[0]).astype(int).reshape(-1) - 1
    if places.min(initial=0) < 0 or (not adding and len(set(places.tolist())) < len(places)):
        raise NotImplementedError
    flat = ag.reshape(x, (-1,)) if isinstance(x, Value) else np.reshape(x, -1)
    new = ag.reshape(new, (-1,)) if isinstance(new, Value) else np.reshape(new, -1)
    return ag.reshape((ag.add_at if adding else ag.set_at)(flat, new, (places,)), shape)


def unwrapped(rule: Any) -> Any:
    """The function that somebody wrote, behind what JAX wraps around it."""
    for _ in range(8):
        inner = getattr(rule, "f", None) or getattr(rule, "func", None) or getattr(rule, "__wrapped__", None)
        if inner is None:
            return rule
        rule = inner
    return rule


# --- the call -----------------------------------------------------------------------------------------------


def record(function: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Run:
    """Trace the function, run it once step by step, and record it."""
    recorder = JaxRecorder()
    closed, shape = jax.make_jaxpr(function, return_shape=True)(*inputs, **keywords)
    leaves, _ = jax.tree_util.tree_flatten_with_path((inputs, keywords))
    slots = [recorder.flat.slot(jnp.asarray(x)) for _, x in leaves]
    parameters, named = named_leaves(function, leaves, inputs, recorder, slots)
    recorder.namer.reserve(named)
    results = recorder.flat.jaxpr(closed.jaxpr, closed.consts, slots)
    recorder.build(recorder.flat, recorder.values, results)
    recorder.namer.finish()
    run = Run(getattr(function, "__name__", type(function).__name__), recorder, parameters, named)
    values = [recorder.values.get(slot, np.asarray(recorder.flat.data[slot])) for slot in results]
    result = jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(shape), values)
    run.finish(result, [(v, slot) for v, slot in zip(values, results) if isinstance(v, Value)])
    return run


def named_leaves(
    function: Any, leaves: list[Any], inputs: tuple[Any, ...], recorder: JaxRecorder, slots: list[int]
) -> tuple[dict[str, Value], dict[str, Value]]:
    """Values for the real leaves: arguments that are nests hold parameters, by dotted path; others are inputs."""
    names = argument_names(function, len(inputs))
    nests = {first for (_, first, *rest), _ in leaves if rest}
    parameters: dict[str, Value] = {}
    named: dict[str, Value] = {}
    for (path, x), slot in zip(leaves, slots, strict=True):
        which, first, *rest = path
        argument = names[first.idx] if which.idx == 0 else str(first.key)
        if jnp.issubdtype(jnp.result_type(x), jnp.complexfloating):
            raise DataError(f"capture follows real numbers only; {argument} is complex")
        if not is_real(x):
            continue
        parts = [str(getattr(step, "key", getattr(step, "idx", getattr(step, "name", step)))) for step in rest]
        parts = parts[:-1] if len(parts) > 1 and parts[-1] == "value" else parts  # of a Variable of flax.nnx
        name = ".".join(parts if len(nests) == 1 else [argument, *parts]) if rest else argument
        value = (Parameter if rest else Value)(np.asarray(x), name=name)
        (parameters if rest else named)[name] = value
        recorder.values[slot] = value
    return parameters, named
