"""The printed worksheets, handed in: what follows from the printed operands is not called wrong, what does not is."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from autograd.worksheets import grade
from tools.marker import sheet_of

PRINTED = Path(__file__).parents[3] / "examples" / "worksheets"
ELSEWHERE = {"example3.102"}  # its printed operands stand in a table that the sheet has not: a transpose that is none


def blank_of(sheet, what):
    """The id of the blank that a printed number fills: `P(C)` is P[2]."""
    name = re.sub(r"\(([ABCD])\)$", lambda found: f"[{'ABCD'.index(found[1])}]", what)
    if sheet.program.top == "L_mean" and (name.startswith("dL/") or name.startswith("WO4_new")):
        return None  # printed for each pattern, asked for their mean
    return name if name in sheet.by_id else None


@pytest.mark.parametrize(
    ("name", "least"), [("example2", 50), ("example3", 60), ("example4", 60), ("example5", 50), ("cat_sleeps", 70)]
)
def test_the_printed_numbers(name, least):
    sheet = sheet_of(name, digits=3)
    entries = json.loads((PRINTED / f"{name}.json").read_text("utf-8"))["entries"]
    answers = {}
    for entry in entries:
        blank = blank_of(sheet, entry["what"])
        if blank:
            answers.setdefault(blank, entry["printed_text"])
    marks = grade(sheet, answers)
    seen = Counter()
    for entry in entries:
        blank = blank_of(sheet, entry["what"])
        if not blank or answers[blank] != entry["printed_text"] or entry["id"] in ELSEWHERE:
            continue
        follows = entry.get("from_printed_operands", {}).get("gives_printed")
        verdict = marks.entries[blank].verdict
        seen[verdict] += 1
        if follows or entry["verdict"] in ("exact", "rounded"):
            assert verdict in ("right", "follows"), (entry["id"], blank, marks.entries[blank])
        elif follows is False:
            assert verdict == "wrong", (entry["id"], blank, marks.entries[blank])
    assert sum(seen.values()) >= least, seen
