"""capture of a JAX function: its jaxpr, run once step by step with our ops beside JAX's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import autograd as ag
from autograd.arrays.plain import as_plain
from autograd.attached import counter
from autograd.engine import Value
from autograd.errors import DataError, HandgradError
from autograd.modes import Scope
from autograd.op import Op

from ..places import Namer, Noted, Place, argument_names, libraries, returning_line
from ..run import COMPLEX, Call, Cut, Parameter, Run, near, opaque_name
from .jaxpr import Flat, Step, is_real
from .lax import LAX
from .recognise import call_of, groups, recognised

MOVES = ("gather", "dynamic_slice")  # each result is an entry of the first operand


class JaxCall(Call):
    """One step, or several that are one op of ours; `again` maps the arrays of the inputs to those of the outputs."""

    library = "jax"

    kinds: list[Any]  # the precision of each input

    rule: Any  # of a custom_vjp or custom_jvp, as JAX keeps it

    def alone(self, received: dict[Value, Any], precision: str | None = None) -> list[Any]:
        if precision is not None:
            raise NotImplementedError("a step of JAX says its precisions itself")
        given = [jnp.asarray(v.data, kind) for v, kind in zip(self.inputs, self.kinds)]
        out, pull = jax.vjp(self.again, *given)
        starts = [jnp.zeros_like(o) if received.get(v) is None else jnp.asarray(received[v], o.dtype)
                  for o, v in zip(out, self.outputs)]  # fmt: skip
        return [in_float64(g) for g in pull(starts)]


class JaxPass:
    """JAX's own backward pass: what arrives at every Value. What each call sends is asked of it where it is needed."""

    def __init__(self, recorder: JaxRecorder, grads: dict[Value, Any], seeds: dict[Value, Any]) -> None:
        self.recorder, self.grads, self.seeds = recorder, grads, seeds
        self.within: dict[Value, Any] = {}

    def known(self, value: Value) -> bool:
        return value in self.grads

    def arrived(self, value: Value) -> Any:
        return self.grads.get(value)

    def sent(self, call: JaxCall) -> list[Any]:
        return []

    def line(self, call: JaxCall, number: int | None) -> Place | None:
        """Where a rule that somebody wrote returns."""
        code = getattr(unwrapped(call.rule), "__code__", None)
        return None if code is None or code.co_filename.startswith(libraries()) else returning_line(code)


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
        self.units: dict[Value, float] = {}
        self.cuts: dict[Value, Cut] = {}
        self.casts: list[Cut] = []
        self.exits: list[Cut] = []
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
        began = next(counter)
        with self._noted(group[-1]):
            found = recognised(key[-1], inputs, group, flat, outs[0])
        if found is None:
            return False
        values[outs[0]] = self._with_numbers(found, flat.data[outs[0]], inputs)
        if outer:
            self._close(key[-1], group, flat, needed, [(outs[0], values[outs[0]])], began)
        return True

    def _step(self, step: Step, flat: Flat, values: dict[int, Value], outer: bool) -> None:
        """One step. What no gradient reaches JAX has computed already."""
        if not any(i in values for i in step.inputs):
            return
        if step.name == "stop_gradient":
            if step.direct and step.place is not None:
                self.casts.append(Cut(step.place.file, step.place.line, "stop_gradient", step.place.text))
            return
        if any(jnp.issubdtype(jnp.result_type(flat.data[slot]), jnp.complexfloating) for slot in step.outputs):
            raise DataError(COMPLEX)
        if not any(is_real(flat.data[slot]) for slot in step.outputs):
            return
        began = next(counter)
        operands = [values.get(i, in_float64(flat.data[i])) for i in step.inputs]
        made = self._made(step, operands, flat)
        carried = list(dict.fromkeys(i for i in step.inputs if i in values))
        outputs = []
        for slot, value in zip(step.outputs, made, strict=True):
            if isinstance(value, Value) and value.requires_grad:
                values[slot] = value
                if not any(value is x for x in operands):  # else it only looks at its input, and is no step
                    outputs.append((slot, value))
        if outer and outputs:
            self._close(step.name, [step], flat, carried, outputs, began)

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
                theirs = in_float64(flat.data[slot])
                sizes = [x.data for x in operands if isinstance(x, Value)]
                same, gap = value.shape == theirs.shape, 0.0
                if same:
                    same, gap = near(np.asarray(value.data), theirs, unit_of(flat.data[slot]), sizes)
                if not same:
                    self.notes.append(f"{step.name}: left to JAX: our numbers differ")
                    return None
                self.gap = max(self.gap, gap)
        return [self._with_numbers(value, flat.data[slot], operands) if isinstance(value, Value) else value
                for value, slot in zip(made, step.outputs)]  # fmt: skip

    def _inside(self, step: Step, operands: list[Any], flat: Flat) -> list[Any]:
        """A function with a rule of its own: what it computes, differentiated by us."""
        inner = Flat()
        given = [inner.slot(flat.data[i]) for i in step.inputs]
        closed = step.inner
        results = inner.jaxpr(closed.jaxpr, closed.consts, given)
        values = {slot: x for slot, x in zip(given, operands, strict=True) if isinstance(x, Value)}
        whole = recognised(step.name, list(values.values()), inner.steps, inner, results[0])
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

            given = [flat.data[i].dtype for x, i in zip(operands, step.inputs) if isinstance(x, Value)]
            op = opaque_op(name, one, given)
            made.append(op(*(x for x in operands if isinstance(x, Value))))
            made[-1]._data = as_plain(in_float64(flat.data[slot]))
            self.opaque.append(op.name)
        return made

    # --- bookkeeping ----------------------------------------------------------------------------------------

    def _with_numbers(self, value: Value, theirs: Any, inputs: list[Any]) -> Value:
        """A result with JAX's own numbers, from which the run goes on."""
        theirs = in_float64(theirs)
        if any(value is x for x in inputs) or value.op is None:
            if np.array_equal(value.data, theirs, equal_nan=True):
                return value
            value = ag.OPS["alias"](value)
        value._data = as_plain(theirs)
        return value

    def _close(
        self, name: str, steps: list[Step], flat: Flat, inputs: list[int], outputs: list[tuple[int, Value]], began: int
    ) -> None:
        """Keep one call: some steps, from some slots to others."""
        last, slots = steps[-1], [*inputs, *(slot for slot, _ in outputs)]
        call = JaxCall(name, self._scope(last), last.place, [self.values[i] for i in inputs],
                       replayed(steps, flat, inputs, [slot for slot, _ in outputs]), [v for _, v in outputs],
                       unit=max(unit_of(flat.data[i]) for i in slots), began=began)  # fmt: skip
        call.kinds = [flat.data[i].dtype for i in inputs]
        call.opaque = any(v.op is not None and v.op.name in self.opaque for v in call.outputs)
        call.rule = last.rule
        for slot, value in outputs:
            self.units[value] = unit_of(flat.data[slot])
        self._add(call, last)

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

    def hook_on(self, value: Value) -> None:
        """JAX has no hooks."""

    def hook_of(self, call: JaxCall) -> tuple[bool, None]:
        return False, None

    def last_word(self, run: Run, theirs: JaxPass) -> str:
        return ""

    def write_after(self, call: JaxCall) -> None:
        """JAX's arrays never change."""

    def passed(self, roots: list[tuple[Value, int]], seeds: dict[Value, Any]) -> JaxPass:
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

        zeros = [jnp.zeros_like(self.flat.data[places[v]]) for v in names]
        weights = [jnp.asarray(seeds[v], self.flat.data[slot].dtype) for v, slot in starts.items()]
        (grads,) = jax.jit(pulled)(zeros, weights)  # else each step compiles
        return JaxPass(self, {v: in_float64(g) for v, g in zip(names, grads)},
                       {v: in_float64(w) for v, w in zip(starts, weights)})  # fmt: skip

    @property
    def leaves(self) -> dict[int, Value]:
        """The leaves, by slot."""
        return {slot: value for slot, value in self.values.items() if value.op is None}


def in_float64(x: Any) -> Any:
    """An array of JAX as NumPy's; real numbers in float64, where those of every precision are exact."""
    return np.array(x, np.float64) if is_real(x) else np.asarray(x)


def unit_of(x: Any) -> float:
    """The rounding unit of an array's precision."""
    return float(jnp.finfo(x.dtype).eps) / 2 if is_real(x) else 0.0


def opaque_op(name: str, function: Callable[..., Any], kinds: list[Any]) -> Op:
    """An op that JAX computes, with its gradient, around a function of JAX's arrays of some precisions."""

    def forward(*arrays: Any) -> Any:
        return in_float64(function(*map(jnp.asarray, arrays, kinds)))[()]

    def vjp(g: Any, out: Any, *xs: Any) -> tuple[Any, ...]:
        def pull(i: int) -> Callable[..., Any]:
            def one(g: Any, *xs: Any) -> Any:
                made, back = jax.vjp(function, *xs)
                return back(g.astype(made.dtype))[i]

            return one

        return tuple(opaque_op(f"pull_{name}", pull(i), [kinds[0], *kinds])(g, *xs) for i in range(len(xs)))

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
    while inner := getattr(rule, "f", None) or getattr(rule, "func", None) or getattr(rule, "__wrapped__", None):
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
        value = (Parameter if rest else Value)(in_float64(x), name=name)
        (parameters if rest else named)[name] = value
        recorder.values[slot] = value
        recorder.units[value] = unit_of(jnp.asarray(x))
    return parameters, named
