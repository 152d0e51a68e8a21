"""How large a card is, and where its parts stand; no picture depends on the fonts of the machine that made it."""

from __future__ import annotations

from dataclasses import dataclass

from autograd.formula.numbers import NumberTable
from autograd.formula.text import MONO_ADVANCE, mono_width, sans_width

from ..scene import Block, Card, Row

# In pixels; the painter uses the same.
PAD_X, PAD_BOTTOM = 10, 7
HEADER = 27  # from the card's top to its body
SECOND_LINE = 16  # more, when the expression has a line of its own
SPINE = 5  # a parameter's solid left edge
CORNER = 13  # an input's cut corner
NUMBER, INFO, CAPTION, PILL_TEXT, COPIES_TEXT = 13, 13, 11.5, 13, 15  # font sizes; captions are the smallest
TABLE_ROW, STRONG_ROW, INFO_ROW = 17, 19, 17
CAPTION_LINE = 16  # the caption above a table
BRACKET = 7  # from a bracket to its first number
SLICE_GAP, LABEL_GAP = 5, 6  # between slices, and from a slice's label to its bracket
INDEX_LINE, FOOT_LINE = 15, 18  # the indices of columns above a window, and the words below it
COLUMN_GAP, BLOCK_GAP, BELOW_GAP = 12, 16, 4
TINT = 6  # the gradient's tint goes beyond its numbers
HEADER_GAP = 14  # before the role word
OPEN, OPEN_PAD = "open +", 6  # what a card that opens says, and the room left and right of it in its pill
CAPTION_GAP = 12  # between a row's caption and its number
CONSTANT_HEIGHT, VIEW_HEIGHT = 24, 26
SHEET = 5  # offset of each sheet behind a folded module
BAR, BAR_GAP, MOST_BARS = 9, 2, 66  # one bar per folded block, and the room that all may take
NARROWEST_BODY = 150  # a header may be this wide (times SLACK) before it takes two lines
SLACK = 1.12
TINTED = {"grad": "grad", "wrong": "bad"}  # kinds of blocks with a colour of their own


@dataclass(frozen=True)
class Size:
    width: float
    height: float

    def union(self, other: Size) -> Size:
        """Room for either: how the stepper keeps a card's place while its numbers come and go."""
        return Size(max(self.width, other.width), max(self.height, other.height))


def measure(card: Card) -> Size:
    """The room a card needs."""
    if card.is_pill:
        return _pill(card)
    body = body_size(card)
    width = max(body.width, header_width(card))
    height = body_top(card) + body.height
    extra = 2 * SHEET if card.copies > 1 else 0
    return Size(width + extra, height + extra)


def left_pad(card: Card) -> float:
    return PAD_X + (SPINE - 2 if card.role == "parameter" else 0)


def header_left(card: Card) -> float:
    """Where the name begins: an input's cut corner pushes it right."""
    return left_pad(card) + (5 if card.role == "input" else 0)


def two_lines(card: Card) -> bool:
    """Does the expression take a line of its own?"""
    if card.is_pill or not (card.name and card.expression):
        return False
    if card.header_lines:
        return card.header_lines == 2
    return _header_line(card) > SLACK * max(body_size(card).width, NARROWEST_BODY)


def body_top(card: Card) -> float:
    return HEADER + (SECOND_LINE if two_lines(card) else 0)


def header_width(card: Card) -> float:
    if not two_lines(card):
        return _header_line(card)
    first = header_left(card) + mono_width(card.shown_name) + _word_width(card)
    second = left_pad(card) + mono_width(card.joint.lstrip() + card.shown_expression)
    return max(first, second) + PAD_X


def body_size(card: Card) -> Size:
    """The body with the paddings left, right and below."""
    if card.rows:
        widest = max(row_width(row) for row in card.rows)
        rows = sum(STRONG_ROW if row.strong else INFO_ROW for row in card.rows)
        return Size(left_pad(card) + widest + PAD_X, rows + (5 if card.rows[-1].strong else PAD_BOTTOM))
    sizes = [block_size(block) for block in card.blocks]
    tint = TINT if any(block.kind in TINTED for block in card.blocks) else 0
    width: float
    height: float
    if card.beside:
        width = sum(size.width for size in sizes) + BLOCK_GAP * (len(sizes) - 1)
        height = max(size.height for size in sizes)
    else:
        width = max(size.width for size in sizes)
        height = sum(size.height for size in sizes) + (BELOW_GAP + 2) * (len(sizes) - 1)
    return Size(left_pad(card) + width + tint + PAD_X, height + PAD_BOTTOM)


def row_width(row: Row) -> float:
    size = NUMBER if row.strong else INFO
    text = max(mono_width(row.text, size), row.roomy * size * MONO_ADVANCE)
    return sans_width(row.caption, CAPTION) + CAPTION_GAP + bars_width(row) + text


def bars_width(row: Row) -> float:
    return len(row.bars) * bar_step(row) + 8 if row.bars else 0.0


def bar_step(row: Row) -> float:
    """From one bar to the next: many are thinner."""
    return max(BAR_GAP + 1, min(BAR + BAR_GAP, MOST_BARS / len(row.bars)))


def block_size(block: Block) -> Size:
    caption = sans_width(block.caption, CAPTION)
    if block.table is None:
        return Size(max(28.0, caption), CAPTION_LINE + TABLE_ROW)
    height = TABLE_ROW * max(1, len(block.table.rows)) + SLICE_GAP * max(0, len(block.slices) - 1)
    width = max(table_width(block.table), _roomy_width(block))
    foot = sans_width(f"{block.foot} ‹ › ‹ ›", CAPTION) if block.foot else 0
    more = INDEX_LINE * bool(block.columns) + FOOT_LINE * bool(block.foot)
    return Size(max(labels_width(block) + width, caption, foot), CAPTION_LINE + height + more)


def _roomy_width(block: Block) -> float:
    columns = len(block.table.rows[0]) if block.table is not None and block.table.rows else 0
    return 2 * BRACKET + columns * block.roomy * NUMBER * MONO_ADVANCE + COLUMN_GAP * max(0, columns - 1)


def labels_width(block: Block) -> float:
    """The labels of slices, or the indices of rows, stand left of the brackets."""
    labels = block.slices or block.rows
    return max(sans_width(label, CAPTION) for label in labels) + LABEL_GAP if labels else 0.0


def table_width(table: NumberTable) -> float:
    """From bracket to bracket."""
    columns = table.columns
    numbers = sum(before + after for before, after in columns) * NUMBER * MONO_ADVANCE
    return 2 * BRACKET + numbers + COLUMN_GAP * max(0, len(columns) - 1)


def pill_text(card: Card) -> str:
    return card.shown_name + card.joint + card.shown_expression


def _pill(card: Card) -> Size:
    if card.role == "constant":
        return Size(mono_width(pill_text(card), PILL_TEXT) + 2 * PAD_X, CONSTANT_HEIGHT)
    extra = 2 * SHEET if card.copies > 1 else 0
    return Size(_header_line(card) + extra, VIEW_HEIGHT + extra)


def _header_line(card: Card) -> float:
    text = card.shown_name + card.joint + card.shown_expression
    return header_left(card) + mono_width(text) + _word_width(card) + PAD_X


def _word_width(card: Card) -> float:
    copies = HEADER_GAP + mono_width(f"×{card.copies}", COPIES_TEXT) if card.copies > 1 else 0
    words = filter(None, (card.corner_word, card.other_word))
    word = max((HEADER_GAP + sans_width(word, CAPTION, bold=True) for word in words), default=0)
    return copies + word + (HEADER_GAP + open_width() if card.opens else 0)


def open_width() -> float:
    return sans_width(OPEN, CAPTION, bold=True) + 2 * OPEN_PAD
