"""A jaxpr as a flat list of steps: calls inlined, loops unrolled, branches taken, with the numbers of one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..places import OURS, Place, libraries

INLINED = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "remat2": "jaxpr",
           "checkpoint": "jaxpr", "remat": "jaxpr", "custom_lin": "jaxpr", "xla_call": "call_jaxpr"}  # fmt: skip
CUSTOM = {"custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"}


@dataclass(eq=False)
class Step:
    """One primitive, applied. Inputs and outputs are numbers of slots; `run` applies it to JAX's arrays."""

    name: str
    run: Callable[..., Any]
    inputs: list[int]
    outputs: list[int]
    params: dict[str, Any] = field(default_factory=dict)
    place: Place | None = None
    scope: str = ""
    calls: tuple[tuple[str, int], ...] = ()  # the functions it was called in and their lines, outermost first
    inner: Any = None  # of a function with a rule of its own: the jaxpr of what it computes
    rule: Any = None  # and the function that is that rule
    direct: bool = False  # the user's line calls it itself, and no function of JAX's


class Flat:
    """The steps of a run, and the number in every slot."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.data: list[Any] = []

    def slot(self, value: Any) -> int:
        self.data.append(value)
        return len(self.data) - 1

    def apply(self, name: str, run: Callable[..., Any], inputs: Sequence[int], **about: Any) -> list[int]:
        """Run a step, and keep it."""
        out = run(*(self.data[i] for i in inputs))
        outputs = [self.slot(x) for x in (out if isinstance(out, list | tuple) else [out])]
        self.steps.append(Step(name, run, list(inputs), outputs, **about))
        return outputs

    def jaxpr(self, jaxpr: Any, consts: Sequence[Any], inputs: Sequence[int]) -> list[int]:
        """Run a jaxpr on slots; the slots of its results."""
        env: dict[Any, int] = dict(zip(jaxpr.constvars, map(self.slot, consts), strict=True))
        env.update(zip(jaxpr.invars, inputs, strict=True))

        def read(atom: Any) -> int:
            return self.slot(atom.val) if hasattr(atom, "val") else env[atom]

        for eqn in jaxpr.eqns:
            given = [read(atom) for atom in eqn.invars]
            env.update(zip(eqn.outvars, self.equation(eqn, given), strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def equation(self, eqn: Any, given: list[int]) -> list[int]:
        """One equation: a call or a loop step by step, anything else as a step."""
        name, params = eqn.primitive.name, eqn.params
        if name in INLINED:
            closed = params[INLINED[name]]
            inner = getattr(closed, "jaxpr", closed)
            return self.jaxpr(inner, getattr(closed, "consts", ()), given)
        if name == "cond":
            branch = params["branches"][int(np.clip(int(self.data[given[0]]), 0, len(params["branches"]) - 1))]
            return self.jaxpr(branch.jaxpr, branch.consts, given[1:])
        if name == "while":
            return self._while(params, given)
        if name == "scan":
            return self._scan(params, given)
        about = {"params": params, "place": place_of(eqn), "scope": scope_of(eqn),
                 "calls": calls_of(eqn)}  # fmt: skip
        if name == "stop_gradient":
            about["direct"] = is_direct(eqn)
        if name in CUSTOM:
            closed = params.get("call_jaxpr") or params["fun_jaxpr"]
            about |= {"inner": closed, "rule": params.get("bwd") or params.get("jvp_jaxpr_fun")}
            name = str(params.get("name") or getattr(closed.jaxpr.debug_info, "func_name", name))
        return self.apply(name, as_function(eqn), given, **about)

    def _while(self, params: dict[str, Any], given: list[int]) -> list[int]:
        a, b = params["cond_nconsts"], params["body_nconsts"]
        tests, bodies, carry = given[:a], given[a : a + b], given[a + b :]
        test, body = params["cond_jaxpr"], params["body_jaxpr"]
        while bool(self.data[self.jaxpr(test.jaxpr, test.consts, [*tests, *carry])[0]]):
            carry = self.jaxpr(body.jaxpr, body.consts, [*bodies, *carry])
        return carry

    def _scan(self, params: dict[str, Any], given: list[int]) -> list[int]:
        """Each round on a slice of the sequences; what the rounds give is stacked."""
        a, b = params["num_consts"], params["num_carry"]
        consts, carry, sequences = given[:a], given[a : a + b], given[a + b :]
        body, rounds = params["jaxpr"], range(params["length"])
        made: list[list[int]] = []
        for i in reversed(rounds) if params["reverse"] else rounds:
            parts = [self.apply("getitem", lambda x, i=i: x[i], [s], params={"index": i})[0] for s in sequences]
            out = self.jaxpr(body.jaxpr, body.consts, [*consts, *carry, *parts])
            carry = out[:b]
            made.append(out[b:])
        if params["reverse"]:
            made.reverse()
        stacked = [self.apply("stack", lambda *xs: jnp.stack(xs), column)[0] for column in zip(*made)]
        return [*carry, *stacked]


def as_function(eqn: Any) -> Callable[..., Any]:
    """An equation's primitive with its parameters, as a function of its operands."""

    def run(*operands: Any) -> Any:
        params = eqn.primitive.get_bind_params(eqn.params)
        functions, params = params if isinstance(params, tuple) else ((), params)  # a pair, before JAX 0.9
        return eqn.primitive.bind(*functions, *operands, **params)

    return run


def place_of(eqn: Any) -> Place | None:
    """The user's line that an equation stands for: the innermost that is none of a library's."""
    traceback, theirs = eqn.source_info.traceback, libraries()
    for frame in () if traceback is None else traceback.frames:
        if not frame.file_name.startswith((OURS, "<frozen", *theirs)):
            return Place(frame.file_name, frame.line_num)
    return None


def is_direct(eqn: Any) -> bool:
    """Whether a user's line calls a primitive's own function: JAX's softmax has a stop_gradient that is no cut."""
    traceback, theirs = eqn.source_info.traceback, libraries()
    frames = [f for f in (() if traceback is None else traceback.frames) if f.function_name != eqn.primitive.name]
    return bool(frames) and not frames[0].file_name.startswith((OURS, "<frozen", *theirs))


def scope_of(eqn: Any) -> str:
    """The named scopes around an equation, outermost first; those that JAX adds (`ij,jk->ik`) are no modules."""
    parts = str(eqn.source_info.name_stack).split("/")
    return "/".join(part for part in parts if part.isidentifier())


def calls_of(eqn: Any) -> tuple[tuple[str, int], ...]:
    """The functions that were running and the lines they were at, outermost first."""
    traceback = eqn.source_info.traceback
    return () if traceback is None else tuple((f.function_name, f.line_num) for f in reversed(traceback.frames))


def is_real(x: Any) -> bool:
    """Whether a gradient can flow to it."""
    return bool(jnp.issubdtype(jnp.result_type(x), jnp.floating))
