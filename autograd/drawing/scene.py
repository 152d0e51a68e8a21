"""Cards, edges and frames as plain data, and how large a card is.

A `Scene` is all a picture needs; it knows nothing of Values. `draw` and the stepper build scenes,
`layout.arrange` says where things go, `painter.paint` turns both into SVG.

    ┌ WQ              parameter ┐   header: name, " = expression", role word
    │ value      grad ×10⁻⁴     │   a Block per table (or a Row per number), the gradient's tinted
    │ [0.1 0  ]  [0      0     ]│
    │ [0   0.1]  [1.768 −1.768 ]│
    └───────────────────────────┘
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autograd.formula.names import LONGEST_LABEL
from autograd.formula.numbers import Table
from autograd.formula.text import MONO_ADVANCE, abridged, clipped, mono_width, sans_width, visible

ROLES = ("parameter", "input", "constant", "result", "output", "module")

# Geometry in pixels, shared by `measure` below and by the painter.
PAD_X, PAD_BOTTOM = 10, 7
HEADER = 27  # from the card's top to its body
SECOND_LINE = 16  # more, when the expression has a line of its own
SPINE = 5  # a parameter's solid left edge
CORNER = 13  # an input's cut corner
NUMBER, INFO, CAPTION, INFO_CAPTION, PILL_TEXT, COPIES_TEXT = 13, 12, 10.5, 11, 12, 15  # font sizes
TABLE_ROW, STRONG_ROW, INFO_ROW = 17, 19, 17
CAPTION_LINE = 16  # the caption above a table
BRACKET = 7  # from a bracket to its first number
SLICE_GAP, LABEL_GAP = 5, 6  # between slices, and from a slice's label to its bracket
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
LONGEST_EXPRESSION = 34
TINTED = {"grad": "grad", "wrong": "bad"}  # kinds of blocks with a colour of their own


@dataclass(frozen=True)
class Row:
    """A caption at the left and a text at the right.

    `kind`: "value", "grad", "unknown" (a gradient before backward) or "info"; `bad` marks NaN and infinity.
    `strong` rows are a scalar's value and gradient; the others say its shape, range or norm. `bars` are
    heights in 0…1.
    """

    caption: str
    text: str
    kind: str = "value"
    strong: bool = False
    bad: bool = False
    bars: tuple[float, ...] = ()
    plain_caption: bool = False  # the caption is no part of the gradient


@dataclass(frozen=True)
class Block:
    """A bracketed table under its caption; `table=None` is a gradient that is not known yet. `kind` as in `Row`, or
    "wrong" for a gradient that another contradicts.

    An array of rank 3 and up is a table of all its rows, cut into `slices` of equal height, each with its label.
    """

    caption: str
    table: Table | None
    kind: str = "value"
    slices: tuple[str, ...] = ()
    roomy: int = 0  # characters that each column has room for, where its numbers may change


@dataclass(frozen=True)
class Card:
    """One value (or folded module) of the picture.

    `key` is unique in its scene and safe in an id (`n12`). `name` and `expression` are shown as `name =
    expression` (a module: `name  Type`); without rows and blocks the card is a pill holding one text.
    `beside` puts the gradient beside the value. `copies` > 1 folds so many modules into one card. `trouble`
    ("first NaN") replaces the role word; `bad` outlines in `bad`. `says` and what follows it are read out by
    screen readers and shown on hover; `tooltip` is what the interactive page adds, by caption.
    """

    key: str
    role: str
    name: str = ""
    expression: str = ""
    word: str = ""
    rows: tuple[Row, ...] = ()
    blocks: tuple[Block, ...] = ()
    beside: bool = True
    copies: int = 1
    bad: bool = False
    trouble: str = ""
    open_word: bool = False  # a page may write another word in the corner
    says: str = ""  # what it is
    says_value: str = ""
    says_gradient: str = ""
    tooltip: Mapping[str, str] = field(default_factory=dict)
    header_lines: int = 0  # 1 or 2; 0: as it fits
    mark: str = ""  # draw_diff: "changed", "first" or "only"; a comparison: "wrong" or "agrees"
    opens: bool = False  # in a page that opens the module when the card is pressed
    made_up: bool = False  # the name is the drawing's own, and so not as bold as the user's

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"Card {self.key}: role is one of {', '.join(ROLES)}; got {self.role!r}")

    @property
    def title(self) -> str:
        """All that is said of it."""
        return "; ".join(filter(None, (self.says, self.says_value, self.says_gradient)))

    @property
    def is_pill(self) -> bool:
        return not self.rows and not self.blocks

    @property
    def shown_name(self) -> str:
        return clipped(visible(self.name))

    @property
    def shown_expression(self) -> str:
        return abridged(visible(self.expression), LONGEST_EXPRESSION)

    @property
    def corner_word(self) -> str:
        """The word at the header's right; left out when the name already is that word."""
        word = self.trouble or self.word
        return "" if word == self.name else word

    @property
    def joint(self) -> str:
        """What stands between name and expression."""
        if not (self.name and self.expression):
            return ""
        return "  " if self.role == "module" else " = "


@dataclass(frozen=True)
class Edge:
    """From an operand's card (`tail`) to its result's card (`head`).

    `style` is "plain"; when stepping "todo", "done" or "now"; with flow asked for "flow", "none" (no
    gradient asked for), "zero" or "bad". `flow` is the width in pixels of the gradient's under-stroke.
    """

    key: str
    tail: str
    head: str
    label: str = ""
    style: str = "plain"
    flow: float = 0.0
    title: str = ""

    @property
    def shown_label(self) -> str:
        return abridged(visible(self.label), LONGEST_LABEL)


@dataclass(frozen=True)
class Frame:
    """A frame round the cards of one module call."""

    key: str
    name: str
    kind: str = ""
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Legend:
    """Five widths of gradient flow with the norms they stand for."""

    entries: tuple[tuple[float, str], ...]
    has_undirected: bool = False


@dataclass(frozen=True)
class Scene:
    """A whole picture. Cards are in computation order; `rows` are groups of keys that share a rank."""

    cards: tuple[Card, ...]
    edges: tuple[Edge, ...]
    frames: tuple[Frame, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    direction: str = "TB"  # or "LR"
    title: str = ""
    description: str = ""
    notes: tuple[str, ...] = ()  # lines at the bottom
    legend: Legend | None = None


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
    caption = sans_width(row.caption, CAPTION if row.strong else INFO_CAPTION)
    return caption + CAPTION_GAP + bars_width(row) + mono_width(row.text, NUMBER if row.strong else INFO)


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
    return Size(max(labels_width(block) + width, caption), CAPTION_LINE + height)


def _roomy_width(block: Block) -> float:
    columns = len(block.table.rows[0]) if block.table is not None and block.table.rows else 0
    return 2 * BRACKET + columns * block.roomy * NUMBER * MONO_ADVANCE + COLUMN_GAP * max(0, columns - 1)


def labels_width(block: Block) -> float:
    """The labels of slices stand left of their brackets."""
    return max(sans_width(label, CAPTION) for label in block.slices) + LABEL_GAP if block.slices else 0.0


def table_width(table: Table) -> float:
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
    word = HEADER_GAP + sans_width(card.corner_word, CAPTION) if card.corner_word else 0
    return copies + word + (HEADER_GAP + open_width() if card.opens else 0)


def open_width() -> float:
    return sans_width(OPEN, INFO_CAPTION) + 2 * OPEN_PAD
