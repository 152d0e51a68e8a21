"""One step of training, in two halves: the gradients of some batches, then the move of the parameters.

Between the two, `fit` looks at the loss. A step runs eagerly; or it has a program for the gradients; or, in C and for a
model of few parameters, one program for all of it, where the optimizer would else take half of the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import autograd as ag
from autograd.errors import DataError
from autograd.gradients import cotangent_for
from autograd.program.tracing.trace import gradient_values

from .module import Module
from .optim import Optimizer, accumulate, check_loss, clip_factor, clip_grad_norm

FEW = 1 << 17  # numbers in a model: of a larger one's step the optimizer takes a few percent, and it is long to trace
WHOLE = {"c"}  # backends that make one loop of an optimizer's ops; for the others NumPy in place is as fast


class Step:
    """As the engine runs it."""

    def __init__(self, model: Module, loss: Callable[..., ag.Value], optimizer: Optimizer, clip: float | None) -> None:
        self.model, self.loss, self.optimizer, self.clip = model, loss, optimizer, clip

    def gradients(self, batches: list[Any]) -> float:
        """Give each parameter the gradient of the batches' mean loss; and give that."""
        cleared = False

        def computed(batch: Any) -> Any:
            nonlocal cleared
            part = self.loss(*parts_of(batch))
            if not cleared and isinstance(part, ag.Value):  # whatever else came is refused by accumulate
                cotangent_for(part, None)  # refuses a loss that is not a scalar, or does not depend on the parameters
                self.optimizer.zero_grad()  # only now: a loss that is refused leaves the gradients as they were
                cleared = True
            return part

        return accumulate(computed, batches)

    def move(self) -> None:
        """Clip the gradients, if asked, and move the parameters by them."""
        if self.clip is not None:
            clip_grad_norm(self.model, self.clip)
        self.optimizer.step()


def compiled_step(
    model: Module, loss: Callable[..., ag.Value], optimizer: Optimizer, clip: float | None, count: int,
    backend: bool | str,
) -> Step:  # fmt: skip
    """A step of `count` batches by a program."""
    known = {id(parameter) for parameter in model.parameters()}
    for name, parameter in optimizer.named_parameters():
        if id(parameter) not in known:
            raise DataError(f"fit: with compile, all parameters are the model's; the optimizer's {name} is not")
    few = sum(parameter.size for parameter in model.parameters()) <= FEW
    arrays = all(parameter.ndim for parameter in model.parameters())  # scalars are re-rolled, without an optimizer
    usual = type(optimizer).step is Optimizer.step  # else it does something that a program would leave out
    usual = usual and not any(cell.options for cell in optimizer.cells())
    whole = backend in WHOLE and count == 1 and few and arrays and usual
    return (WholeStep if whole else CompiledStep)(model, loss, optimizer, clip, count, backend)


class CompiledStep(Step):
    """Loss and gradients by a program; the optimizer is NumPy's."""

    def __init__(
        self, model: Module, loss: Callable[..., ag.Value], optimizer: Optimizer, clip: float | None, count: int,
        backend: bool | str,
    ) -> None:  # fmt: skip
        super().__init__(model, loss, optimizer, clip)
        self.parameters = list(model.named_parameters())
        self.program = self._compiled(count, None if backend is True else backend)

    def _compiled(self, count: int, backend: Any) -> Callable[..., Any]:
        loss = self.loss

        def part_of(model: Module, *batch: Any) -> Any:
            return _checked(loss(*batch)) / count

        return ag.compile(part_of, backend)

    def gradients(self, batches: list[Any]) -> float:
        total = 0.0
        sums: dict[str, Any] = {}
        for batch in batches:
            value, (slopes, *_) = self.program(self.model, *parts_of(batch))
            total += float(value)
            for name, slope in slopes.items():
                if slope is not None:  # of a frozen parameter there is none
                    sums[name] = sums[name] + slope if name in sums else slope
        for name, parameter in self.parameters:
            parameter.grad = sums.get(name)
        return total


class WholeStep(CompiledStep):
    """Loss, gradients, clipping and the optimizer's move by one program."""

    def _compiled(self, count: int, backend: Any) -> Callable[..., Any]:
        loss, clip, cells, move = self.loss, self.clip, self.optimizer.cells, self.optimizer.move

        def stepped(model: Module, settings: str, rate: Any, states: Any, *batch: Any) -> Any:
            part = _checked(loss(*batch))
            trained = [p for p in model.parameters() if p.requires_grad]
            slopes = gradient_values(part, trained)
            square = sum(((slope * slope).sum() for slope in slopes), 0.0)
            factor = 1.0 if clip is None else np.minimum(clip_factor(np.sqrt(square), clip), 1.0)
            clipped = {id(p): slope if clip is None else slope * factor for p, slope in zip(trained, slopes)}
            moved = [
                move(cell.joined(lambda p: p), cell.joined(lambda p: clipped.get(id(p))), state, t, rate)
                for cell, (state, t) in zip(cells(), states)
            ]  # fmt: skip
            return part, square, factor, slopes, moved

        return ag.compile(stepped, backend, gradients=False)

    @np.errstate(all="ignore")  # squares may overflow; traced, one that is 0 is moved below it
    def gradients(self, batches: list[Any]) -> float:
        """The same, with the moved parameters as well, which nobody sees before `move`."""
        cells = self.optimizer.cells()
        states = [(cell.remembered, cell.step() + 0.0) for cell in cells]  # an integer would be fixed
        rate, settings = float(self.optimizer.rate), repr(self.optimizer.settings())
        results = self.program(self.model, settings, rate, states, *parts_of(batches[0]))
        value, self.square, self.factor, slopes, self.moved = results
        trained = iter(slopes)
        for _, parameter in self.parameters:
            parameter.grad = next(trained) if parameter.requires_grad else None
        return float(value)

    def move(self) -> None:
        if not math.isfinite(self.square):  # a gradient is not finite, or so large that its square is not
            return super().move()
        if self.factor < 1.0:
            for _, parameter in self.parameters:
                if parameter.grad is not None:
                    parameter.grad *= self.factor
        self.optimizer.steps += 1
        for cell, (values, state) in zip(self.optimizer.cells(), self.moved, strict=True):
            cell.hold()
            cell.write(values, state)


def parts_of(batch: Any) -> tuple[Any, ...]:
    """What the loss is called with."""
    return batch if isinstance(batch, tuple) else (batch,)


def _checked(part: Any) -> Any:
    """A loss, if it is a scalar that depends on the parameters."""
    check_loss(part)
    cotangent_for(part, None)
    return part
