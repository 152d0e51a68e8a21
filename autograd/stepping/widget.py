"""The live face in a notebook: a widget whose current step Python can read and set. Needs `anywidget`."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from autograd.stepping.notebook import FRAME_HEIGHT
from autograd.stepping.stepper import Stepper
from autograd.stepping.walk import Step


class StepperWidget(anywidget.AnyWidget):
    """A stepper that a notebook shows live: `widget.position` follows the reader, and moves the page when it is set."""

    _esm = files("autograd.stepping").joinpath("assets", "step_widget.js").read_text(encoding="utf-8")
    page = traitlets.Unicode().tag(sync=True)
    position = traitlets.Int(0).tag(sync=True)
    height = traitlets.Int(FRAME_HEIGHT).tag(sync=True)

    def __init__(self, stepper: Stepper, **options: Any) -> None:
        super().__init__(page=stepper.html(), position=stepper.position, **options)
        self.stepper = stepper

    @traitlets.validate("position")
    def _within(self, proposal: Any) -> int:
        return max(0, min(int(proposal["value"]), len(self.stepper))) if hasattr(self, "stepper") else proposal["value"]

    @traitlets.observe("position")
    def _move(self, change: Any) -> None:
        if hasattr(self, "stepper"):
            self.stepper.position = change["new"]

    @property
    def step(self) -> Step | None:
        """The step that is shown; None at the start."""
        return self.stepper.current

    def goto(self, place: Any, kind: str | None = None) -> Step:
        """Move the page to a step, by index, node or name."""
        found = self.stepper.goto(place, kind)
        self.position = self.stepper.position
        return found
