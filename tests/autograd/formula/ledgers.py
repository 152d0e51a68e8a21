"""Reads the running sums that each face of a stepper prints, as a person does: the numbers of a table one by one.

A face is text, HTML or LaTeX; nothing here asks the stepper how it chose its digits.
"""

import re
from html.parser import HTMLParser

from autograd.stepping.faces.notebook import step_table
from autograd.stepping.page.panel import Panels

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
POWER = "(?:×10[⁻⁰¹²³⁴-⁹]+)"
TOKEN = re.compile(rf"(\[)|\]({POWER}?)|(−?(?:≈0|∞|NaN|\d+(?:\.\d+)?{POWER}?))")
SUM = re.compile(r"(.*) \+ (.*) ([=≈]) (.*)")
IN_LATEX = (
    (r"\left", ""), (r"\right", ""), (r"\infty", "∞"), (r"\approx 0", "≈0"), ("-", "−"), (r" \times ", "×"),
    (r"\approx", "≈"), (r"\text{NaN}", "NaN"),
)  # fmt: skip
SHAPE = re.compile(r"\[(?:\d+(?:×\d+)+|[7-9]|\d\d+)(?:, norm .*)?\]")


def entries(text):
    """The numbers of a table in one row of text, each with the power of ten that its table has."""
    found, opened = [], []
    for bracket, power, number in TOKEN.findall(text):
        if bracket:
            opened.append(len(found))
        elif number:
            found.append(number)
        else:
            start = opened.pop()
            found[start:] = [x if re.fullmatch("0|≈0|.*(?:∞|NaN)", x) else x + power for x in found[start:]]
    return found


def sums_of(before, added, sign, total):
    """One line a number: `0.5 + (−0.25) = 0.25`."""
    if any(map(SHAPE.fullmatch, (before, added, total))):
        return  # only the shapes of large arrays are printed
    tables = [entries(text) for text in (before, added, total)]
    assert tables[0] and len({*map(len, tables)}) == 1, (before, added, total)
    for x, y, whole in zip(*tables):
        yield f"{x} + {f'({y})' if y.startswith('−') else y} {sign} {whole}"


def _read(text):
    """The sums of `[a, b] + [c, d] ≈ [e, f]`, or none where the total stands alone."""
    parts = SUM.fullmatch(text)
    return [] if parts is None else list(sums_of(*parts.groups()))


# --- the faces --------------------------------------------------------------------------------------------------------


def in_text(stepper):
    """In a terminal and on slides: `now 2 + 3 = 5`. Rows of a table are drawn there; `now` has the same in one row."""
    for one in stepper:
        told = re.sub(r"\s+", " ", str(one))
        for contribution in one.contributions:
            if contribution.previous is not None:
                assert "⎡" in told or contribution.now in told or "[" in contribution.now, told
                yield from _read(contribution.now.removeprefix("now "))


def in_ledger_text(stepper):
    """`print(stepper.ledger("x"))`."""
    for node in stepper.received:
        for line in str(stepper.ledger(node)).splitlines()[1:]:
            adds, now = re.fullmatch(r".* adds (.*), now (.*)", line).groups()
            assert " + " not in now or f" + {adds} " in now.replace("(", "").replace(")", ""), line
            yield from _read(now)


def in_notebook(stepper):
    """In the table of a notebook: what is added, and the total."""
    if not any(one.contributions for one in stepper):
        return
    cells = r'<code>([^<]*)</code></td><td align="right"><code>([^<]*)</code></td></tr>'
    for adds, total in re.findall(cells, step_table(stepper)):
        assert " + " not in total or f" + {adds} " in total.replace("(", "").replace(")", ""), (adds, total)
        yield from _read(total)


def in_latex(stepper):
    r"""In LaTeX: `\to 2+ 3 = 5`, in one row or several."""
    text = re.sub(r"_{\\text{[^}]*}}", "", stepper.latex().replace("\\\\\n", " "))  # a window says which part it is
    text = re.sub(r"\\begin{bmatrix} (.*?) \\end{bmatrix}", _bmatrix, text)
    text = re.sub(r" \\times 10\^{(-?\d+)}", lambda power: "×10" + power[1].translate(SUPERSCRIPTS), text)
    for old, new in IN_LATEX:
        text = text.replace(old, new)
    for rows in re.findall(r"&\\to (?:(?!\\to).)*?\\qquad\\text{path", text):
        told = rows.removeprefix("&\\to ").removesuffix(" \\qquad\\text{path").replace("&", "")
        yield from _read(re.sub(r" ?\+ ?", " + ", re.sub(" +", " ", told)).replace("(", "").replace(")", ""))


def _bmatrix(found):
    rows = [f"[{', '.join(row.split(' & '))}]" for row in found[1].split(r" \\ ")]
    return rows[0] if len(rows) == 1 else f"[{', '.join(rows)}]"


def in_page(stepper):
    """In the ledgers of the page's panels: each row's total is the total before and what the row adds."""
    panels = Panels(stepper)
    for one in stepper:
        if one.module is None and any(contribution.paths > 1 for contribution in one.contributions):
            yield from in_html(panels.panel(one))


def in_html(html):
    """The same of one panel, given as HTML."""
    reader = _Ledgers()
    reader.feed(html)
    for rows in reader.ledgers:
        before = None
        for _, adds, total in (row for row in rows if len(row) == 3 and row[2] != "—"):
            if before is not None:
                yield from sums_of(before, adds, "≈", total)
            before = total


class _Ledgers(HTMLParser):
    """The rows of every ledger, as texts; of those that are hidden none."""

    def __init__(self):
        super().__init__()
        self.ledgers, self._open, self._hidden = [], [], False

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "table":
            is_ledger = "hg-ledger" in (attributes.get("class") or "")
            self._open.append(is_ledger)
            if is_ledger:
                self.ledgers.append([])
                self._hidden = False
            elif self._in_cell:
                self._write("[")
        elif tag == "tr" and self._open and self._open[-1]:
            self._hidden = "hidden" in attributes
            if not self._hidden:
                self.ledgers[-1].append([])
        elif tag == "td" and self._open and self._open[-1] and not self._hidden:
            self.ledgers[-1][-1].append("")
        elif tag == "td" and self._in_cell:
            self._write(", ")
        elif tag == "sup" and self._in_cell:
            self._raised = True
        elif "hg-foot" in (attributes.get("class") or "") and self._in_cell:
            self.ledgers[-1].pop()  # a window: its numbers have four digits each, and no sum is claimed
            self.ledgers[-1].append([])
            self._hidden = True

    _raised = False

    def handle_endtag(self, tag):
        if tag == "table" and self._open and not self._open.pop() and self._in_cell:
            self._write("]")
        elif tag == "sup":
            self._raised = False

    @property
    def _in_cell(self):
        return any(self._open) and not self._hidden and bool(self.ledgers[-1]) and bool(self.ledgers[-1][-1])

    def handle_data(self, text):
        if self._in_cell:
            self._write(text.replace("−", "⁻").translate(SUPERSCRIPTS) if self._raised else text)

    def _write(self, text):
        self.ledgers[-1][-1][-1] += text


FACES = (in_text, in_ledger_text, in_notebook, in_latex, in_page)
