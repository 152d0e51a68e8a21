"""What a comparison says: its sentences and facts, and the report as text."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..formula.numbers import dimensions
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
SAME = 1e-6  # of the largest entry: nearer ones are not counted as different


def verdict(found: Comparison) -> tuple[str, str]:
    """The finding in one sentence, and its reason in another."""
    first = found.first
    if first is None:
        return (f"{found.library}'s backward agrees with handgrad's",
                f"{found.compared} gradients compared, all agree ({largest_gap(found)})")  # fmt: skip
    whose = "theirs" if first.wrong == found.library else first.wrong
    headline, reason = (words.format(op=first.op, library=found.library) for words in SAYS[whose])
    return headline, reason


def facts(found: Comparison) -> list[tuple[str, str]]:
    """Caption and text: what differs first, its module and lines, what agreed before it."""
    first = found.first
    if first is None:
        said = [("compared", f"{found.compared} gradients, all agree"), ("gap", largest_gap(found))]
    else:
        path = f", {first.path}" if first.path else ""
        said = [("first differs", f"∂L/∂{first.name} through {first.op}{path}")]
        if first.module:
            said.append(("module", first.module))
        place = line_of(first)
        if place is not None:
            said.append(("line", f"{os.path.basename(place.file)}:{place.line}: {place.text}"))
        if first.call is not None and first.call != place:
            said.append(("called at", f"{first.call}: {first.call.text}"))
        said.append(("before it", f"{found.agreed} gradients, all agree"))
        said.append(("in all", f"{found.differ} of {found.compared} differ"))
    return [*said, ("forward gap", f"{found.forward_gap:.1e}")]


def largest_gap(found: Comparison) -> str:
    return f"largest gap {found.gap:.1e}" if found.gap else "but for rounding"


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
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(np.where(np.isnan(apart), np.inf, apart))), apart.shape))
    rows = [("handgrad", float(ours[at])), (found.library, float(theirs[at]))]
    for entry in first.report.entries if first.report is not None else ():
        if entry.index == at:
            rows.insert(0, ("finite differences", entry.difference))
    return Witnesses(at, rows, ours.size, int(np.count_nonzero(differing(ours, theirs))))


def differing(ours: Any, theirs: Any) -> Any:
    """Which entries of two gradients are not the same."""
    apart = np.abs(np.asarray(ours, dtype=np.float64) - theirs)
    return ~(apart <= SAME * np.max(np.abs(theirs), initial=1e-300))


def explained(found: Comparison) -> list[str]:
    """What the wrong line leaves out, or else what the pattern of the numbers says."""
    first = found.first
    if first is None:
        return []
    if first.left_out is not None:
        where = line_of(first)
        who = f"line {where.line}" if where is not None else f"{found.library}'s backward"
        return [f"{who} {first.left_out.sentence}", *quick_sign(found)]
    return [*(first.report.diagnosis if first.report is not None else ()), *quick_sign(found)]


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
                 f"({largest_gap(found)})", f"  forward gap    {found.forward_gap:.1e}"]  # fmt: skip
    else:
        *where, gap = (f"  {caption:<14} {text}" for caption, text in facts(found))
        lines = [f"{found.title}: {headline}.", f"  {reason}.", *where]
        seen = witnesses(found)
        if seen is not None:
            lines.append(f"  entry {seen.entry}, {seen.counted}" if seen.counted else "  its only entry")
            lines += [f"    {who:<19}{number: .6g}" for who, number in seen.rows]
        lines += [f"  {line}" for line in explained(found)] + [gap]
    return "\n".join(lines + [f"  {note}" for note in found.notes])
