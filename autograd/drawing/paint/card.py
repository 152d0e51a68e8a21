"""One card as SVG. `state` while stepping: "todo", "done", "receiving", "now", forwards "forward" and "operand"; "" in
a drawing."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest

from autograd.formula.numbers import UNKNOWN, NumberTable
from autograd.formula.text import mono_width, xml

from ..layout import measure
from ..layout.geometry import Box
from ..scene import Block, Card, Row
from . import theme
from .svg import caption, n, rectangle, text

PILL_DASH = "3 2.5"
OUTLINES = {"parameter": 1.4, "input": 1.4, "constant": 1.2, "result": 1.4, "output": 1.8, "module": 1.6}
NUMBER = ' data-n=""'  # marks a number's text, so that a page can write another in its place
RADII = {"constant": 8, "result": 8, "output": 9, "module": 7}


def paint_card(card: Card, box: Box, prefix: str = "hg-0", state: str = "") -> str:
    """One card as a group with the id `<prefix>-<key>`."""
    look = _Look(card, state)
    parts = [
        f'<g id="{prefix}-{card.key}" class="hg-card hg-{card.role}{" hg-" + state if state else ""} '
        f'hg-f-{look.ink}" fill="{theme.light(look.ink)}">'
    ]
    if card.title:
        parts.append(f"<title>{xml(card.title)}</title>")
    if card.copies > 1:
        behind = 2 * measure.SHEET
        box = Box(box.x, box.y + behind, box.width - behind, box.height - behind)
        parts += [
            rectangle(box.moved(shift, -shift), 7, theme.outline(look.fill, look.line, 1.2))
            for shift in (behind, measure.SHEET)
        ]
    parts.append(_outline(card, box, look))
    if card.is_pill:
        parts.append(_pill(card, box, look))
    else:
        parts += [_header(card, box, look), _body(card, box, look)]
    parts.append("</g>")
    return "".join(parts)


class _Look:
    """The tokens a card is painted with: by its role, unless its step state says otherwise."""

    def __init__(self, card: Card, state: str) -> None:
        self.fill, self.line = f"{card.role}-fill", f"{card.role}-line"
        self.ink, self.word, self.spine = "ink", self.line, self.line
        self.width, self.dash = OUTLINES[card.role], PILL_DASH if card.role == "constant" else ""
        if card.role == "constant":
            self.ink = "muted"
        if card.role in ("constant", "result", "module"):
            self.word = "muted"
        if card.bad:
            self.line, self.width = "bad", 2.6
        if card.trouble:
            self.word = "bad"
        if card.mark == "agrees":
            self.word = "input-line"
        elif card.mark == "wrong":
            self.line, self.width, self.word = "bad", 2.6, "bad"
        if state == "todo":
            self.fill, self.line, self.spine = "surface", "hair", "line"
            self.ink = self.word = "muted"
        elif state == "receiving":
            self.line, self.width, self.dash = "grad-line", 2.6, "7 4"
        elif state == "now":
            self.fill, self.line, self.width = "now-fill", "grad-line", 3.2
        elif state in ("forward", "operand"):  # no gradient yet, so nothing orange
            self.line, self.width = "ink", 3.2 if state == "forward" else 2


def _outline(card: Card, box: Box, look: _Look) -> str:
    """The outline: each role has a shape of its own, so that colour is not needed."""
    style = theme.outline(look.fill, look.line, look.width).replace('class="', 'class="hg-frame ', 1)
    if look.dash:
        style += f' stroke-dasharray="{look.dash}"'
    if card.role == "input":
        cut = measure.CORNER
        return (
            f'<path d="M{n(box.x + cut)},{n(box.y)}H{n(box.right)}V{n(box.bottom)}H{n(box.x)}'
            f'V{n(box.y + cut)}Z" {style}/>'
        )
    if card.role == "parameter":
        spine = Box(box.x, box.y, measure.SPINE, box.height)
        return rectangle(box, 0, style) + rectangle(spine, 0, theme.fill(look.spine))
    if card.role == "constant":
        return rectangle(box, box.height / 2 if card.is_pill else RADII["constant"], style)
    shape = rectangle(box, RADII[card.role], style)
    if card.role == "output":
        shape += rectangle(box.grown(-4), 6, theme.stroke(look.line, 1))
    return shape


def _pill(card: Card, box: Box, look: _Look) -> str:
    if card.role == "constant":
        x, y = box.centre
        return text(x, y + 4.5, measure.pill_text(card), anchor="middle", size=measure.PILL_TEXT)
    return _header(card, box, look, top=box.y - 1)


def _header(card: Card, box: Box, look: _Look, top: float | None = None) -> str:
    top = box.y if top is None else top
    x, y = box.x + measure.header_left(card), top + 19
    parts = []
    if card.name:
        ours = card.made_up
        parts.append(text(x, y, card.shown_name, weight=400 if ours else 700, token="muted" if ours else ""))
    if card.expression:
        expression = card.joint.lstrip() + card.shown_expression
        if measure.two_lines(card):
            x, y_expression = box.x + measure.left_pad(card), y + measure.SECOND_LINE
        else:
            space = card.joint[: -len(card.joint.lstrip())] if card.joint.strip() else card.joint
            x, y_expression = x + mono_width(card.shown_name + space), y
        parts.append(text(x, y_expression, expression, token="muted"))
    right = box.right - measure.PAD_X
    if card.opens:
        wide = measure.open_width()
        pill = Box(right - wide, y - 14, wide, 18)
        parts.append(rectangle(pill, 5, theme.outline("surface", "parameter-line", 1.2)))
        label = right - wide / 2
        parts.append(caption(label, y - 1, measure.OPEN, "parameter-line", anchor="middle", weight=600))
        right -= wide + measure.HEADER_GAP
    if card.copies > 1:
        times = f"×{card.copies}"
        parts.append(text(right, y + 1, times, anchor="end", size=measure.COPIES_TEXT, weight=700))
        right -= mono_width(times, measure.COPIES_TEXT) + measure.HEADER_GAP
    if card.corner_word or card.open_word:
        mark = ' data-word=""' if card.open_word else ""
        parts.append(caption(right, y - 0.5, card.corner_word, look.word, anchor="end", weight=600, more=mark))
    return "".join(parts)


def _body(card: Card, box: Box, look: _Look) -> str:
    top = box.y + measure.body_top(card)
    left, right = box.x + measure.left_pad(card), box.right - measure.PAD_X
    if card.rows:
        return _rows(card.rows, left, right, top)
    parts = []
    rows = max((len(block.table.rows) for block in card.blocks if block.table and card.beside), default=1)
    for block in card.blocks:
        size = measure.block_size(block)
        last = block is card.blocks[-1]
        end = right if last or not card.beside else left + size.width
        parts.append(_block(block, left, end, top, look, rows))
        if card.beside:
            left += size.width + measure.BLOCK_GAP
        else:
            top += size.height + measure.BELOW_GAP + 2
    return "".join(parts)


def _rows(rows: Iterable[Row], left: float, right: float, top: float) -> str:
    parts = []
    for row in rows:
        token = "bad" if row.bad else {"grad": "grad", "unknown": "muted"}.get(row.kind, "")
        if row.strong and row.kind == "grad":
            parts.append(rectangle(Box(left - 4, top, right - left + 7, 17), 3, theme.fill("grad-fill")))
        hue = "grad" if row.kind == "grad" and not row.plain_caption else "muted"
        size = measure.NUMBER if row.strong else measure.INFO
        weight = 600 if row.bad or (row.strong and row.kind != "unknown") else 400
        own = None if row.strong else size  # a strong number has the size of its group
        parts += [
            caption(left, top + 13, row.caption, hue),
            text(right, top + 13, row.text, token=token, anchor="end", size=own, weight=weight, more=_mark(row)),
            _bars(row, right - mono_width(row.text, size) - measure.bars_width(row), top + 15),
        ]
        top += measure.STRONG_ROW if row.strong else measure.INFO_ROW
    return "".join(parts)


def _mark(row: Row) -> str:
    """The attribute by which a page finds a number again: a value or gradient, or a range or norm."""
    if row.strong:
        return f'{NUMBER} data-kind="{row.kind}"' if row.kind in ("value", "grad") else ""
    if row.caption.startswith("range") or row.kind == "grad":
        return f' data-fact="{"norm" if row.kind == "grad" else "range"}"'
    return ""


def _bars(row: Row, left: float, bottom: float) -> str:
    """One bar per folded block: a vanishing gradient shows while folded."""
    step = measure.bar_step(row) if row.bars else 0
    wide = step - measure.BAR_GAP
    return "".join(
        rectangle(Box(left + index * step, bottom - 15 * share, wide, 15 * share), 0, theme.fill("grad-line"))
        for index, share in enumerate(row.bars)
    )


def _block(block: Block, left: float, right: float, top: float, look: _Look, rows: int) -> str:
    hue = measure.TINTED.get(block.kind)
    token = hue or look.ink
    parts = [f'<g class="hg-block hg-{block.kind} hg-f-{token}" fill="{theme.light(token)}">']
    size = measure.block_size(block)
    if hue:
        tint = Box(left - measure.TINT, top - 2.5, right - left + measure.TINT + 3, size.height + 4)
        parts.append(rectangle(tint, 4, theme.fill(f"{hue}-fill")))
    parts.append(caption(left, top + 9, block.caption, hue or "muted"))
    if block.table is None:
        middle = top + 26 + measure.TABLE_ROW * (rows - 1) / 2
        parts.append(text(left + size.width / 2, middle, UNKNOWN, token="muted", anchor="middle"))
    else:
        parts.append(_table(block, block.table, left, right, top, hue or "muted"))
    return "".join(parts) + "</g>"


def _table(block: Block, table: NumberTable, left: float, right: float, top: float, bracket: str) -> str:
    """Brackets as lines, one text per number, aligned on the decimal point; the label of a slice before its bracket."""
    character = mono_width("0")
    start = left + measure.labels_width(block)
    room = right - start
    kind = f'data-kind="{block.kind}"'
    parts = [f'<g class="hg-table" data-left="{n(left)}" data-right="{n(start + room)}" data-top="{n(top)}" {kind}>']
    points, x = [], start + measure.BRACKET
    for before, after in table.columns:
        points.append(x + before * character)
        x += (before + after) * character + measure.COLUMN_GAP
    if block.columns:
        points_and_ends = zip(points, table.columns, block.columns)
        parts += [caption(point + after * character, top + 24, label, "muted", anchor="end")
                  for point, (_, after), label in points_and_ends]  # fmt: skip
        top += measure.INDEX_LINE
    height = len(table.rows) // max(1, len(block.slices))
    for number, label in enumerate(block.slices or ("",)):
        rows = table.rows[number * height : (number + 1) * height]
        if label:
            parts.append(caption(left, top + 26, label, bracket))
        parts.append(_brackets(start, start + measure.table_width(table), top + 14, len(rows), bracket))
        for row, index in zip_longest(rows, block.rows):
            if index:
                parts.append(caption(left, top + 26, index, "muted"))
            for point, cell in zip(points, row):
                end = point + (len(cell.text) - cell.before_point) * character
                token = {"zero": "muted", "bad": "bad"}.get(cell.kind, "")
                weight = 600 if cell.kind == "bad" else 400
                more = NUMBER + (' text-decoration="underline"' if cell.kind == "differs" else "")
                parts.append(text(end, top + 26, cell.text, token=token, anchor="end", weight=weight, more=more))
            top += measure.TABLE_ROW
        top += measure.SLICE_GAP
    if block.foot:
        parts.append(caption(left, top + 24, block.foot, "muted"))
    return "".join(parts) + "</g>"


def _brackets(left: float, right: float, upper: float, rows: int, token: str) -> str:
    lower = upper - 1 + measure.TABLE_ROW * rows
    return (
        f'<path d="M{n(left + 4)},{n(upper)}H{n(left)}V{n(lower)}H{n(left + 4)}'
        f'M{n(right - 4)},{n(upper)}H{n(right)}V{n(lower)}H{n(right - 4)}" {theme.stroke(token, 1.2)}/>'
    )
