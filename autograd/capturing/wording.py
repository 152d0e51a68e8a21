"""What a comparison says, as text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

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


def comparison_text(found: Comparison) -> str:
    """The whole report."""
    first = found.first
    if first is None:
        lines = [
            f"{found.title}: {found.compared} gradients compared with {found.library}'s, all agree "
            f"(largest gap {found.gap:.1e})"
        ]
    else:
        whose = "theirs" if first.wrong == found.library else first.wrong
        headline, reason = (words.format(op=first.op, library=found.library) for words in SAYS[whose])
        lines = [f"{found.title}: {headline}.", f"  {reason}.", *map("  {}".format, _where(first))]
        lines.append(f"  before it      {found.agreed} gradients, all agree; {found.differ} of {found.compared} differ")
        lines += map("  {}".format, _worst_entry(first, found.library))
        if first.report is not None:
            lines += [f"  {line}" for line in first.report.diagnosis]
    lines.append(f"  forward gap    {found.forward_gap:.1e}")
    return "\n".join(lines + [f"  {note}" for note in found.notes])


def _where(first: Difference) -> list[str]:
    said = [f"first differs  ∂L/∂{first.name} through {first.op}{', ' + first.path if first.path else ''}"]
    if first.module:
        said.append(f"module         {first.module}")
    if first.file is not None:
        from .places import Place

        place = Place(first.file, first.line or 0)
        said.append(f"line           {os.path.basename(first.file)}:{first.line}: {place.text}")
        if first.call is not None and first.call != place:
            said.append(f"called at      {first.call}: {first.call.text}")
    return said


def _worst_entry(first: Difference, library: str) -> list[str]:
    """The entry that differs most, as each of the three says it."""
    ours, theirs = np.asarray(first.ours, dtype=np.float64), np.asarray(first.theirs, dtype=np.float64)
    if not ours.size:
        return []
    apart = np.abs(ours - theirs)
    at = np.unravel_index(int(np.argmax(np.where(np.isnan(apart), np.inf, apart))), apart.shape)
    index = "".join(f"[{i}]" for i in at)
    rows = [("handgrad", ours[at]), (library, theirs[at])]
    for entry in first.report.entries if first.report is not None else ():
        if entry.index == tuple(int(i) for i in at):
            rows.insert(0, ("finite differences", entry.difference))
    counted = int(np.count_nonzero(apart > 1e-6 * np.max(np.abs(theirs), initial=1e-300)))
    head = f"entry {index or 'itself'} of {ours.size}, {counted} differ"
    return [head, *(f"  {who:<19}{number: .6g}" for who, number in rows)]
