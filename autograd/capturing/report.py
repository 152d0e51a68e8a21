"""What a comparison says: its sentences and facts, and the report as text."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd.formula.numbers import dimensions

from .places import Place

if TYPE_CHECKING:
    from .compare import Comparison, Difference

SAYS = {
    "theirs": (
        "{library}'s backward of {op} is wrong",
        "handgrad's gradient agrees with finite differences, {library}'s does not"),
    "handgrad": (
        "handgrad's rule for {op} is wrong", "{library}'s gradient agrees with finite differences; please report it"),
    "both": ("both gradients of {op} are wrong", "neither agrees with finite differences: is the call deterministic?"),
    "unclear": ("the two gradients of {op} differ", "finite differences do not decide: a kink, or numbers too coarse"),
}  # fmt: skip
MOST_NAMED, MOST_CUTS = 4, 8  # wrong calls, and cuts, that a report lists
SAME = 1e-3  # of the largest difference: smaller ones are not counted


def verdict(found: Comparison) -> tuple[str, str]:
    """The finding in one sentence, and its reason in another."""
    first = found.first
    if first is None:
        return (f"{found.library}'s backward agrees with handgrad's",
                f"{found.compared} gradients compared, all agree but for rounding")  # fmt: skip
    if first.op == "hook":
        where = f"module {first.module or 'of the model'}" if "module" in first.path else f"∂L/∂{first.name}"
        return f"a hook changes {where}", "each call is right on its own, what arrives is not what they sent"
    if first.op == "sum":
        return (f"∂L/∂{first.name} is not the sum of what was sent to it",
                "each call is right on its own: a hook, or a path that was not recorded")  # fmt: skip
    if first.path.startswith("made on its own"):
        return (f"{found.library}'s backward of {first.op} used other numbers than its forward",
                "made on its own, the same call agrees with handgrad: what it saved was changed")  # fmt: skip
    whose = "theirs" if first.wrong == found.library else first.wrong
    headline, reason = (words.format(op=first.op, library=found.library) for words in SAYS[whose])
    if first.opaque:
        reason = f"finite differences give another gradient; handgrad has no rule for {first.op}"
    return headline, reason


def facts(found: Comparison) -> list[tuple[str, str]]:
    """Caption and text: what differs first, its module and lines, what agreed before it."""
    first = found.first
    if first is None:
        said = [("compared", f"{found.compared} gradients, all agree but for rounding")]
    else:
        path = f", {first.path}" if first.path else ""
        said = [("first differs", f"∂L/∂{first.name} through {first.op}{path}")]
        if first.argument:
            said.append(("argument", f"{first.argument} of {first.op}.forward"))
        if first.module:
            said.append(("module", first.module))
        place = line_of(first)
        if place is not None:
            said.append(("line", f"{os.path.basename(place.file)}:{place.line}: {place.text}"))
        if first.call is not None and first.call != place:
            said.append(("called at", f"{first.call}: {first.call.text}"))
        said.append(("before it", f"{found.agreed} gradients, all agree"))
        said.append(("in all", f"{found.differ} of {found.compared} differ"))
        others = [f"{d.op}{f' in {d.module}' if d.module else ''}" for d in found.calls[1:]]
        if others:
            more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
            said.append(("also wrong", ", ".join(others[:MOST_NAMED]) + more))
    return [*said, ("forward gap", f"{found.forward_gap:.1e}")]


def line_of(first: Difference) -> Place | None:
    """The line to look at."""
    return None if first.file is None else Place(first.file, first.line or 0)


@dataclass(frozen=True)
class Witnesses:
    """The entry that differs most, by finite differences, by handgrad and by the library."""

    index: tuple[int, ...]
    rows: list[tuple[str, float]]
    size: int
    differing: int

    @property
    def digits(self) -> int:
        """Enough for the last two gradients to look different."""
        (_, ours), (_, theirs) = self.rows[-2:]
        apart = abs(ours - theirs) / max(abs(ours), abs(theirs), 1e-300)
        return 6 if not 0 < apart < 1e-4 else min(17, 2 - math.floor(math.log10(apart)))

    @property
    def entry(self) -> str:
        """`[0][1]`."""
        return "".join(f"[{i}]" for i in self.index)

    @property
    def counted(self) -> str:
        """`1 of 8, all differ`."""
        if self.size == 1:
            return ""
        return f"1 of {self.size}, {'all' if self.differing == self.size else self.differing} differ"


def witnesses(found: Comparison) -> Witnesses | None:
    """One entry in up to three versions; finite differences first, where they were computed."""
    first = found.first
    if first is None or not np.size(first.ours):
        return None
    ours, theirs = np.asarray(first.ours, dtype=np.float64), np.asarray(first.theirs, dtype=np.float64)
    apart = np.abs(ours - theirs)
    worst = np.unravel_index(int(np.argmax(np.where(np.isnan(apart), np.inf, apart))), apart.shape)
    at = next(iter(first.slopes), tuple(int(i) for i in worst))
    rows = [("handgrad", float(ours[at])), (found.library, float(theirs[at]))]
    if at in first.slopes:
        rows[: 1 if first.opaque else 0] = [("finite differences", first.slopes[at])]
    return Witnesses(at, rows, ours.size, int(np.count_nonzero(differing(ours, theirs))))


def differing(ours: Any, theirs: Any) -> Any:
    """Which entries of two gradients are not the same."""
    apart = np.abs(np.asarray(ours, dtype=np.float64) - theirs)
    return ~(apart <= SAME * np.max(apart, initial=0.0, where=np.isfinite(apart)))


def explained(found: Comparison) -> list[str]:
    """What the wrong line leaves out, or else what the pattern of the numbers says."""
    first = found.first
    if first is None:
        return []
    if first.left_out is not None:
        where = line_of(first)
        who = f"line {where.line}" if where is not None else f"{found.library}'s backward"
        return [f"{who} {first.left_out.sentence}", *quick_sign(found)]
    return [*first.pattern, *quick_sign(found)]


def quick_sign(found: Comparison) -> list[str]:
    """A sum that shows the mistake: rows that must add up to 0 and do not."""
    first = found.first
    assert first is not None
    ours, theirs = np.asarray(first.ours, dtype=np.float64), np.asarray(first.theirs, dtype=np.float64)
    if first.wrong != found.library or ours.ndim == 0 or ours.shape[-1] < 2:
        return []
    scale = np.max(np.sum(np.abs(ours), axis=-1), initial=0.0)
    right, wrong = (np.sum(g, axis=-1) for g in (ours, theirs))
    if not scale or np.max(np.abs(right)) > 1e-9 * scale or np.max(np.abs(wrong)) <= 1e-6 * scale:
        return []
    worst = float(wrong.reshape(-1)[np.argmax(np.abs(wrong))])
    if ours.ndim == 1:
        return [f"quick sign: ∂L/∂{first.name} must sum to 0; {found.library}'s sums to {worst:.4g}"]
    return [f"quick sign: each row of ∂L/∂{first.name} must sum to 0; a row of {found.library}'s sums to {worst:.4g}"]


def about(found: Comparison) -> str:
    """The model, its inputs and its precision in a few words."""
    run = found.run
    if run is None:
        return found.title
    inputs = [f"{name} {dimensions(v.shape)}" if v.shape else name for name, v in run.inputs.items()]
    kinds = sorted({str(v.dtype) for v in (*run.parameters.values(), *run.inputs.values())})
    return ", ".join([found.title, *inputs[:3], *(["…"] if len(inputs) > 3 else []), *kinds])


def comparison_text(found: Comparison) -> str:
    """The whole report."""
    headline, reason = verdict(found)
    if found.ok:
        lines = [f"{found.title}: {found.compared} gradients compared with {found.library}'s, all agree "
                 "but for rounding", f"  forward gap    {found.forward_gap:.1e}"]  # fmt: skip
    else:
        *where, gap = (f"  {caption:<14} {text}" for caption, text in facts(found))
        lines = [f"{found.title}: {headline}.", f"  {reason}.", *where]
        seen = witnesses(found)
        if seen is not None:
            lines.append(f"  entry {seen.entry}, {seen.counted}" if seen.counted else "  its only entry")
            lines += [f"    {who:<19}{number: .{seen.digits}g}" for who, number in seen.rows]
        lines += [f"  {line}" for line in explained(found)] + [gap]
    cuts = [f"  a gradient ends  {cut}" for cut in found.cuts[:MOST_CUTS]]
    more = [f"  and ends at {len(found.cuts) - MOST_CUTS} more places"] if len(found.cuts) > MOST_CUTS else []
    return "\n".join(lines + cuts + more + [f"  {note}" for note in found.notes])
