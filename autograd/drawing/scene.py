"""Cards, edges and frames as plain data.

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
from autograd.formula.numbers import NumberTable, count
from autograd.formula.text import abridged, clipped, visible

LONGEST_EXPRESSION = 34
WIDEST_NUMBER = 9  # characters of a number with four digits, `−0.001234`


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
    plain_caption: bool = False  # the caption does not belong to the gradient
    roomy: int = 0  # characters that there is room for, where the number may change


@dataclass(frozen=True)
class Block:
    """A bracketed table under its caption; `table=None` is a gradient that is not known yet. `kind` as in `Row`, or
    "wrong" for a gradient that another contradicts.

    An array of rank 3 and up is a table of all its rows, cut into `slices` of equal height, each with its label.
    """

    caption: str
    table: NumberTable | None
    kind: str = "value"
    slices: tuple[str, ...] = ()
    roomy: int = 0  # characters that each column has room for, where its numbers may change
    rows: tuple[str, ...] = ()  # of the window of a large array: the indices of its rows
    columns: tuple[str, ...] = ()  # and columns
    foot: str = ""  # and which they are: "rows 0–7 of 27"


@dataclass(frozen=True)
class Card:
    """One value (or folded module) of the picture.

    `key` is unique in its scene and safe in an id (`n12`). `role` is "parameter", "input", "constant", "result",
    "output" or "module". `name` and `expression` are shown as `name =
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
    other_word: str = ""  # one that needs room there
    says: str = ""  # what it is
    says_value: str = ""
    says_gradient: str = ""
    tooltip: Mapping[str, str] = field(default_factory=dict)
    header_lines: int = 0  # 1 or 2; 0: as it fits
    mark: str = ""  # in a comparison: "wrong" or "agrees"
    opens: bool = False  # in a page that opens the module when the card is pressed
    made_up: bool = False  # the drawing made the name up, so it is not bold as the user's are

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

    `style` is "plain", or "round" for a value that a later piece reads, against the flow; when stepping "todo", "done"
    or "now"; with flow asked for "flow", "none" (no gradient asked for), "zero" or "bad". `flow` is the width in pixels
    of the gradient's under-stroke.
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
    """A frame round the cards of one module call, or of the first of so many `copies` of a piece."""

    key: str
    name: str
    kind: str = ""
    members: tuple[str, ...] = ()
    copies: int = 1
    order: str = ""  # of the copies: "in a row", "side by side", "summed"

    @property
    def shown_label(self) -> str:
        how = f"×{count(self.copies)} {self.order}" if self.copies > 1 else ""
        return "  ".join(clipped(visible(text)) for text in (self.name, self.kind, how) if text)


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
