"""Run: one captured run of a model, and what can be asked of it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from autograd.engine import Value
from autograd.errors import DataError, counted
from autograd.graph import topological
from autograd.modes import Scope
from autograd.op import OPS

from .places import Place

if TYPE_CHECKING:
    from autograd.check import Report

    from .compare import Comparison

COMPLEX = (
    "capture follows real numbers only; here a complex array carries a gradient. Write rotary embeddings with sin and "
    "cos, and transforms with real matrices."
)
LATEST = 20  # results before an error, among which the last whole one is


def opaque_name(library: str, name: str) -> str:
    """What an op around a library's function is called: not as one of the table, which passes know by its name."""
    return f"{library}_{name}" if name in OPS else name


class Parameter(Value):
    """A leaf that is a parameter of the captured model."""

    __slots__ = ()


@dataclass(frozen=True)
class Cut:
    """A place where the way of a gradient ends."""

    file: str | None
    line: int | None
    how: str  # "detach()", ".data", "no_grad", "a cast to int64", "stop_gradient"
    text: str = ""

    def __str__(self) -> str:
        where = f"{os.path.basename(self.file)}:{self.line}: {self.text}" if self.file else "an unknown line"
        return f"{self.how} at {where}"


@dataclass(eq=False)
class Call:
    """One call that the model made, kept so that its library can make it again on its own."""

    library: ClassVar[str]
    checkpointed: ClassVar[Any] = None  # of a reentrant checkpoint of torch: the function that it runs, and its inputs

    name: str
    scope: Scope | None
    place: Place | None
    inputs: list[Value]
    again: Any = field(repr=False)  # what to call
    outputs: list[Value] = field(default_factory=list)
    function: Any = None  # what holds a backward that the user wrote
    parameters: list[Any] = field(default_factory=list)  # of a module: tensors whose Values are the last of the inputs
    unit: float = 2.0**-53  # the rounding unit of the coarsest precision in it
    began: int = 0  # its nodes have later stamps
    opaque: bool = False  # an op of the library's own: there is no second opinion on it

    def alone(self, received: dict[Value, Any], precision: str | None = None) -> list[Any]:
        """What the library sends to each input for these gradients of the outputs, making the call on its own.

        In the `precision` that it had, or in another one: "float64", "float32". Raises where that cannot be done.
        """
        raise NotImplementedError


class Run:
    """One run of a model, recorded with our ops.

    result       what the model returned, with a Value for each tensor that a gradient flows to
    parameters   its parameters as Values, by dotted name; frozen ones too
    inputs       the real inputs as Values, by name
    opaque       the names of the ops that torch computed because we have no rule for them, one for each such node
    """

    result: Any = None

    def __init__(self, title: str, recorder: Any, parameters: dict[str, Value], inputs: dict[str, Value]) -> None:
        self.title, self.parameters, self.inputs = title, parameters, inputs
        self._recorder = recorder
        self.roots: list[tuple[Value, Any]] = []  # the results with a gradient, and torch's places for theirs
        self.error: BaseException | None = None
        self.place: Place | None = None  # the line that failed

    def finish(self, result: Any, roots: list[tuple[Value, Any]]) -> None:
        """Take the model's result, and where its library has the gradients of it."""
        self.result, self.roots = result, roots

    def failed(self, error: BaseException, place: Place | None) -> None:
        """The model raised: what was recorded so far stays, with the line that failed."""
        self.error, self.place = error, place
        made = [value for call in self._recorder.calls for value in call.outputs][-LATEST:]
        self.result = max(made, key=lambda value: len(topological(value)), default=None)  # the largest graph
        if not isinstance(error, Exception):
            return
        where = f" at {place}: {place.text}" if place else ""
        error.run = self  # type: ignore[attr-defined]
        error.add_note(f"{self.title} failed{where}. What was recorded so far is error.run: draw(error.run.result)")

    @property
    def opaque(self) -> list[str]:
        return list(self._recorder.opaque)

    @property
    def notes(self) -> list[str]:
        """What else there is to know: operators that were left to torch, and why."""
        return list(dict.fromkeys(self._recorder.notes)) if self.error is None else []

    @property
    def gap(self) -> float:
        """The largest difference between our forward pass and torch's, relative to the largest number of a result."""
        return self._recorder.gap

    @property
    def loss(self) -> Value:
        """The one number among the results."""
        scalars = [v for v in dict.fromkeys(v for v, _ in self.roots) if v.size == 1]
        if len(scalars) != 1:
            raise DataError(
                f"{self.title} returned {len(scalars)} single numbers with a gradient; a loss is one. Take it from "
                "run.result, or capture a function that ends in one: capture(lambda x: model(x).sum(), x)"
            )
        return scalars[0]

    @property
    def nodes(self) -> list[Value]:
        """Every node that the results were made from, oldest first."""
        roots = [root for root, _ in self.roots] if self.error is None else [self.result]
        found = {node: None for root in roots if isinstance(root, Value) for node in topological(root)}
        return sorted(found, key=lambda node: node.stamp)

    @property
    def function(self) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
        """The recorded steps as a function of parameters and inputs, two dicts by name: for `grad`, `compile`, `jvp`.

        `compile(run.function)(*run.arguments)` gives the loss and its gradients.
        """
        from .replaying import function_of

        return function_of(self)

    @property
    def arguments(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What `function` was called with in the run: the numbers of the parameters and of the inputs, by name."""
        return {n: v.data for n, v in self.parameters.items()}, {n: v.data for n, v in self.inputs.items()}

    def compare(self, allow: Sequence[str] = (), modules: Sequence[str] | str | None = None) -> Comparison:
        """Judge each call of the library's backward pass alone, then what the paths add up to.

        allow     modules, ops or autograd.Functions whose gradients are meant to differ from the derivative
        modules   judge only the calls of these modules and of what is in them: "h.0", "*.ln_1"
        """
        from .compare import compare

        return compare(self, allow, modules)

    def check(self, seed: int = 0) -> Report:
        """Compare our gradients of parameters and inputs with finite differences of the recorded run."""
        from .compare import check

        return check(self, seed)

    def __str__(self) -> str:
        made = [node for node in self.nodes if node.op is not None]
        count = len(self.opaque)
        counts = ((len(made), "node"), (len(self.parameters), "parameter"), (len(self.inputs), "real input"))
        lines = [f"{self.title}: {', '.join(counted(*each) for each in counts)}"]
        lines.append(f"  {count} opaque{': ' + ', '.join(dict.fromkeys(self.opaque)) if count else ''}")
        lines.append(f"  forward gap {self.gap:.1e}: our numbers beside {self._recorder.library}'s")
        if self.error is not None:
            lines.append(f"  stopped by {type(self.error).__name__} at {self.place}")
        return "\n".join(lines + [f"  {note}" for note in self.notes])

    def __repr__(self) -> str:
        return f"<{str(self).splitlines()[0]}>"


def near(ours: Any, theirs: Any, unit: float, inputs: Sequence[Any] = ()) -> tuple[bool, float]:
    """Whether two results are of the same call, and the gap: beside the largest number of the result, or that went in.

    Rounding may be all that is left of a result (a row that sums to 0): then it is small beside the inputs.
    """
    scale = largest(theirs)
    if not math.isfinite(scale):
        finite = np.isfinite(theirs)
        if not np.array_equal(ours[~finite], theirs[~finite], equal_nan=True):
            return False, math.inf
        ours, theirs = ours[finite], theirs[finite]
        scale = largest(theirs)
    apart, most = largest(ours - theirs), max(1e-3, math.sqrt(unit))
    if apart > most * scale:
        scale = max(scale, *(float(np.max(np.abs(x), initial=0.0, where=np.isfinite(x))) for x in inputs), 0.0)
    return apart <= most * scale, apart / (scale or 1.0)


def largest(x: Any) -> float:
    """The size of the largest entry."""
    return float(max(np.max(x, initial=0.0), -np.min(x, initial=0.0)))
