"""`step`: walk through backprop, forwards and backwards, in symbols and numbers."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograd.drawing.groups import Collapse, chooser
from autograd.drawing.options import refuse_unknown
from autograd.drawing.roles import as_leaves
from autograd.engine import Value
from autograd.errors import BackwardError, StepError
from autograd.formula.lines import Derivation
from autograd.formula.names import Names
from autograd.formula.numbers import count
from autograd.formula.walk import Walk
from autograd.graph import calls_around

from . import update
from .cursor import Cursor, did_you_mean
from .folding import Closed, Rest, closed_by_default, folded, inside
from .questions import listed
from .snapshot import Snapshot
from .steps import BACKWARD, FORWARD, Contribution, Ledger, Step, steps_of

if TYPE_CHECKING:
    from .faces.picture import View

NAMED_IN_NOTE = 3  # leaves
NESTED_UP_TO = 2000  # nodes up to which unnamed operands stand inside expressions


def step(
    root: Value, *, grad: Any = None, backward: bool = True, collapse: Collapse = None,
    names: Mapping[str, Any] | None = None, inputs: Any = (), parameters: Any = None, title: str = "",
    optimizer: Any = None,
) -> Stepper:  # fmt: skip
    """Every step of the forward pass that made `root` and of backprop from it, without touching any `.grad`.

    grad        the gradient to start from; needed unless `root` is a scalar
    backward    False shows the forward pass alone
    collapse    modules to take as one step, as in `draw`; by default none, in graphs of over 1000 steps enough
    names       more names, such as `locals()`
    parameters  the leaves that move in training: leaves, their names, an optimizer or a module. By default those of
                `optimizer`, else the parameters of `nn`, else all leaves that require a gradient; never `inputs`
    optimizer   of `nn.optim`, whose update the page shows and trains with; by default gradient descent

    >>> a, b = Value(2.0, name="a"), Value(-3.0, name="b")
    >>> steps = step((a * b).tanh())
    >>> len(steps)
    4
    >>> print(steps[-1])
    Backward 2 of 2  a * b
        arrives  ∂L/∂(a * b) = 2.4577×10⁻⁵
        to a   ∂L/∂a += ∂L/∂(a * b) * b   only path
            2.4577×10⁻⁵ × (−3) ≈ −7.373×10⁻⁵
        to b   ∂L/∂b += ∂L/∂(a * b) * a   only path
            2.4577×10⁻⁵ × 2 ≈ 4.915×10⁻⁵
    """
    __tracebackhide__ = True  # an error in a notebook shows the caller's line and the one that raised it
    return Stepper(root, grad=grad, backward=backward, collapse=collapse, names=names, inputs=inputs,
                   parameters=parameters, title=title, optimizer=optimizer)  # fmt: skip


class Stepper(Cursor):
    """The steps of a graph, with a cursor between them. It starts before the first step.

    It is a snapshot: when leaves are edited later it keeps the numbers it was made from, and `note` says which leaves.
    Of a graph whose leaves had been edited before, the results are computed anew.

    `next()` does a step and returns it, `back()` undoes one and returns it. Indexing and iteration leave the
    cursor alone. In a notebook it shows itself; `save("step.html")` writes one page that needs nothing else.
    """

    def __init__(
        self, root: Value, *, grad: Any = None, backward: bool = True, collapse: Collapse = None,
        names: Mapping[str, Any] | None = None, inputs: Any = (), parameters: Any = None, title: str = "",
        top: str = "", optimizer: Any = None, noise: Any = 0.0,
        stands_for: Mapping[Value, Value] | None = None,
    ) -> None:  # fmt: skip
        __tracebackhide__ = True
        super().__init__()
        self.title, self.optimizer, self.remembered = title, optimizer, update.remembered(optimizer)
        self._made_again = functools.partial(
            Stepper, root, grad=grad, backward=backward, collapse=collapse, names=names, inputs=inputs,
            parameters=parameters, title=title, top=top, optimizer=optimizer, noise=noise, stands_for=stands_for,
        )  # fmt: skip
        if not isinstance(root, Value):
            raise BackwardError(
                f"step: only a Value has gradients and steps; got {type(root).__name__}. Leave out .data, float() and "
                ".item() before it."
            )
        self.snapshot = Snapshot(root)
        self.walk = Walk(self.snapshot.root, grad, backward, start_noise=noise)
        self.root, nodes = self.walk.root, self.walk.nodes
        self.inputs = tuple(map(self.twin, as_leaves(inputs, "inputs")))
        moving = optimizer if parameters is None else parameters
        moved = [] if moving is None else list(map(self.twin, as_leaves(moving, "parameters")))
        whole = [one for one in moved if isinstance(one, Value) and one in self.walk.parts]
        moved += [part for one in whole for _, part in self.walk.parts[one]]
        self.parameters = None if moving is None else tuple(one for one in moved if one not in set(whole))
        self.stands_for = {self.twin(copy): x for copy, x in (stands_for or {}).items()}  # of what is inside a module
        update.check(optimizer, self)
        self.names = Names(nodes, names, nest=len(nodes) <= NESTED_UP_TO, twin=self.twin)
        named = parameters if hasattr(parameters, "named_parameters") else self.parameters
        refuse_unknown(nodes, self.names, collapse, self.inputs, None if parameters is None else named)
        twins = {node: self.twin(node) for node in self.snapshot.nodes}
        self.words = Derivation(self.names, nodes, self.root, self.walk.data, top, twins)
        self.every = steps_of(self.walk, self.words)
        self._chosen: Closed = closed_by_default(self.every) if collapse is None else chooser(collapse)
        self._opened: set[int] = set()  # serials of calls that were opened again
        self._fold()

    def _fold(self) -> None:
        self.steps = folded(self.every, self.is_closed)
        for name in ("view", "received", "_places"):  # made for other steps
            self.__dict__.pop(name, None)

    def is_closed(self, scope: Any) -> bool:
        """Is this module call taken as one step?"""
        return scope.serial not in self._opened and self._chosen(scope)

    # --- breakpoints and modules ------------------------------------------------------------------------------

    def into(self, name: str | None = None) -> Step:
        """Open a closed module, the one that comes next unless named, and return the first of its own steps."""
        index = self.position if name is None else self.find(name)
        target = self.steps[index] if index < len(self) else None
        if target is None or target.module is None:
            what = "no step is left" if target is None else f"the next step, {target.reading}, is no closed module"
            raise StepError(f"into: {what}; next() does it")
        first = next(step for step in self.every if step.twin in set(target.twins) and step.kind == target.kind)
        self._open([target.module])
        return next(step for step in self.steps if step.kind == first.kind and first.twin in set(step.twins))

    def _open(self, calls: Iterable[Any]) -> None:
        """Open calls, and stay where we are."""
        done = {(step.kind, node) for step in self.steps[: self.position] for node in step.twins}
        self._opened.update(call.serial for call in calls)
        self._fold()
        self.position = sum(all((step.kind, node) in done for node in step.twins) for step in self.steps)

    def find(self, place: str | Value, kind: str | None = None) -> int:
        """The index of a node's step. One among what repeats opens that."""
        name = self.words.name(self.twin(place)) if isinstance(place, Value) else place
        twin = next((node for node in self.walk.nodes if name in (node.name, self.words.name(node))), None)
        rests = [call for call in calls_around(twin) if isinstance(call, Rest)] if twin is not None else []
        if any(map(self.is_closed, rests)):
            self._open(rests)
        return super().find(place, kind)

    def over(self) -> Step:
        """Do the next step, or, if it lies in a module, all steps of that module call; returns the last."""
        upcoming = self.next()
        scope = upcoming.twin.scope if upcoming.module is None else None
        while scope is not None and self.position < len(self):
            following = self.steps[self.position]
            if following.kind != upcoming.kind or scope not in calls_around(following.twin):
                break
            upcoming = self.next()
        return upcoming

    # --- the state at the cursor ------------------------------------------------------------------------------

    @property
    def gradients(self) -> dict[Value, Any]:
        """The gradients so far: what has arrived at each node by the cursor."""
        known: dict[Value, Any] = {}
        for step in self.steps[: self.position]:
            if step.kind == BACKWARD:
                if not known:
                    known[self.root] = self.walk.seed
                known.update((twin, self.walk.incoming[twin]) for twin in step.twins)
                known.update((contribution.twin, contribution.total) for contribution in step.contributions)
        return {self.words.original(twin): gradient for twin, gradient in known.items()}

    def gradient(self, node: Value | str) -> Any:
        """A node's gradient so far; None if nothing has arrived by the cursor."""
        return self.gradients.get(self.node(node))

    def ledger(self, node: Value | str) -> Ledger:
        """Every contribution to a node's gradient, whatever the cursor."""
        twin = self.twin(self.node(node))
        entries = Ledger(self._every_received.get(twin, ()))
        entries.twin, entries.words, entries.total = twin, self.words, self.walk.incoming.get(twin)
        return entries

    def entry(self, node: Value | str, index: Sequence[int], kind: str = "value") -> str:
        """The line that made one entry of a node, with numbers; with kind "grad" the lines of its gradient."""
        from . import entries

        return entries.entry(self, node, index, kind)

    @functools.cached_property
    def received(self) -> dict[Value, list[Contribution]]:
        """What arrives at each node, in order; a closed module sends once."""
        return _by_parent(self.steps)

    @functools.cached_property
    def _every_received(self) -> dict[Value, list[Contribution]]:
        return _by_parent(self.every)

    def node(self, node: Value | str) -> Value:
        """The node of that name."""
        if isinstance(node, Value):
            return node
        known = {self.words.name(one): one for one in self.walk.nodes}
        known |= {one.name: one for one in self.walk.nodes if one.name}
        if node not in known:
            raise StepError(f"no node is called {node!r}{did_you_mean(node, known)}")
        return self.words.original(known[node])

    def twin(self, x: Any) -> Any:
        """The snapshot's copy of a node or plain array."""
        twin = self.snapshot.twin(x)
        return self.walk.twin(twin) if isinstance(twin, Value) else twin

    def anew(self) -> Stepper:
        """The same steps with the numbers that the leaves have now, at the same place."""
        made = self._made_again()
        made._opened, made._breaks = set(self._opened), list(self._breaks)
        made._fold()
        made._position = min(self.position, len(made))
        return made

    # --- faces ------------------------------------------------------------------------------------------------

    def html(self) -> str:
        """One self-contained page: graph, arithmetic, slider, keys, a quiz; nothing is fetched."""
        from .page import document

        return document.write(self)

    def svg(self, index: int) -> str:
        """The picture of one step, for a slide: its card, the inputs it reads or sends to, the lit edges."""
        return self.view.step_svg(self[index])

    def latex(self, document: bool = False) -> str:
        r"""Every line in symbols and in numbers, as LaTeX: `align*` environments, which need amsmath alone; with
        `document=True` a whole document.

        >>> a, b = Value(2.0, name="a"), Value(-3.0, name="b")
        >>> print(step(a * b).latex().splitlines()[2])
        L &= a\cdot b \\*
        """
        from .faces import latex

        return latex.write(self, document)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes by extension, whole or not at all: the page (.html), all steps as text (.txt) or LaTeX (.tex), one
        slide a step (.pdf), a film of them (.gif), or a picture of each, counted up: "steps/0001.svg", or .png.
        """
        from .faces import export

        return export.save(self, Path(path))

    def lecture(self, path: str | os.PathLike[str]) -> Path:
        """Slides with a question before every answer: .html (arrow keys turn them), .pdf, or .tex (beamer)."""
        from .faces.export import save_lecture

        return save_lecture(self, Path(path))

    @functools.cached_property
    def view(self) -> View:
        """The graph laid out, for pictures."""
        from .faces.picture import View

        return View(self)

    def inside(self, index: int) -> Stepper:
        """A stepper of what one step does inside: a softmax by its definition, a closed module by its own nodes."""
        opened = inside(self[index])
        if opened is None:
            raise StepError(f"there is nothing smaller inside step {index}, {self[index].reading}")
        return opened

    def widget(self, **options: Any) -> Any:
        """A live view for a notebook, whose `position` Python can read and set; needs `anywidget`."""
        from .faces import notebook

        return notebook.widget_class()(self, **options)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from .faces import notebook

        return notebook.bundle(self)

    def _mime_(self) -> tuple[str, str]:
        """What marimo shows."""
        from .faces import notebook

        return "text/html", notebook.framed(self)

    @property
    def note(self) -> str:
        """Which leaves were edited before the steps were made, so that they are computed anew, or since; "" if none."""
        anew, since = map(self._listed, (self.snapshot.stale, self.snapshot.edited))
        misfits = [f"an array that {self.words.name(self.twin(node))} uses was" for node in self.snapshot.misfits[:1]]
        said = [f"{what} edited since; computed anew" for what in [anew, *misfits] if what]
        said += [f"{since} edited since; these are the numbers from before"] if since else []
        return ". ".join(said)

    def _listed(self, leaves: list[Value]) -> str:
        """`w was`, `a, b and 2 more were`; "" for none."""
        names = [self.words.name(self.twin(leaf)) for leaf in leaves]
        if len(names) > NAMED_IN_NOTE + 1:
            names[NAMED_IN_NOTE:] = [f"{count(len(names) - NAMED_IN_NOTE)} more"]
        return f"{listed(names)} {'was' if len(leaves) == 1 else 'were'}" if leaves else ""

    def __repr__(self) -> str:
        forward = sum(step.kind == FORWARD for step in self.steps)
        where = "before the first" if self.position == 0 else f"at step {self.position - 1}, {self.current!r}"
        steps = f"{forward} steps forward, {len(self) - forward} backward"
        note = f"; {self.note}" if self.note else ""
        return f"<Stepper of {self.words.reading(self.root)}: {steps}; {where}{note}>"

    def __str__(self) -> str:
        """All steps as text."""
        return "\n\n".join(filter(None, (self.note, *map(str, self.steps))))


def _by_parent(steps: Iterable[Step]) -> dict[Value, list[Contribution]]:
    found: dict[Value, list[Contribution]] = {}
    for step in steps:
        for contribution in step.contributions:
            found.setdefault(contribution.twin, []).append(contribution)
    return found
