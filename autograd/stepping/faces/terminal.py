"""The terminal face: a step as plain text, tables written out side by side; and `Player`, stepping with keys."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TextIO

from autograd.errors import StepError
from autograd.formula.numbers import count
from autograd.formula.text import columns
from autograd.formula.writers.pieces import Number, Piece, Run, TextRow, flowed, laid_out, row_text

from .. import questions
from ..steps import BACKWARD, FORWARD

if TYPE_CHECKING:
    from autograd.formula.lines import Line

    from ..stepper import Stepper
    from ..steps import Contribution, Step

WIDTH = 100  # columns of a text that goes to no terminal in particular
INDENT = "    "
HELP = "→ or n next · ← or b back · g go to · e entry · w why · o open · Home End · q quit"
ESCAPES = {
    "[C": "next", "[D": "back", "[H": "start", "[F": "end", "[1~": "start", "[4~": "end", "OC": "next", "OD": "back",
}  # fmt: skip
KEYS = {
    "n": "next", " ": "next", "\r": "next", "\n": "next", "l": "next", "b": "back", "p": "back", "h": "back",
    "g": "goto", "e": "entry", "w": "why", "?": "why", "o": "open",
    "q": "quit", "\x03": "quit", "\x04": "quit", "": "quit",
}  # fmt: skip
WHOLE_KEY = re.compile(
    rb"[\x00-\x1a\x1c-\x7f]?"  # a character
    rb"|[\xc0-\xdf].|[\xe0-\xef]..|[\xf0-\xf7]..."  # of several bytes
    rb"|\x1b(\[[0-9;]*[A-Za-z~]|O[A-Za-z]|[^\[O])",  # an arrow or a similar key; one with Alt
    re.DOTALL,
)
MOST_TOLD = 12  # of the results of a folded step, and of what it sends
BAR = 40  # characters of the progress bar
COLOURS = {"strong": 1, "muted": 2, "gradient": 33}  # codes of a terminal


def describe(step: Step, colour: bool = False, width: int = WIDTH) -> str:
    """A whole step as text, in rows of at most `width` columns as far as its tables allow."""
    return "\n".join(painted(row, colour) for row in described(step, width))


def painted(row: TextRow, colour: bool) -> str:
    """A row of text in the colours of a terminal that has them."""
    painted = (f"\x1b[{COLOURS[style]}m{text}\x1b[0m" if colour and style else text for text, style in row)
    return "".join(painted).rstrip()


def described(step: Step, width: int) -> list[TextRow]:
    """A whole step: its headline, and its body below."""
    made_at = f"   {step.twin.line}" if step.twin.line else ""
    headline = fitted([(step.title, "strong"), (f"  {step.reading}", ""), (made_at, "muted")], width)
    return [*headline, *indented([row for part in body(step, width - len(INDENT)) for row in part])]


def body(step: Step, width: int) -> list[list[TextRow]]:
    """What stands below the headline, in parts that belong together: each named step, each contribution."""
    if step.kind == FORWARD and len(step.exits) > 1:
        words = step.words
        return told([laid_out([f"{words.name(x)} = ", Number(words.data(x))], width) for x in step.exits], "results")
    if step.kind == FORWARD:
        last = laid_out([f"{step.name} = ", *step.pieces()], width)
        return [*named_rows(step, step.lines[:-1], width), last]
    hooked = [", from a hook"] if step.starts_hooked else []
    arrivals = step.arrivals or [step.arrives]
    parts = told([laid_out([f"arrives  {e.name} = ", step.printed(e), *hooked], width) for e in arrivals], "gradients")
    parts += named_rows(step, step.lines[: len(step.lines) - len(step.contributions)], width)
    shown = step.contributions if step.module is None else step.contributions[:MOST_TOLD]
    parts += told([contribution_rows(one, width) for one in shown], "inputs", len(step.contributions) - len(shown))
    if not step.contributions:
        parts.append([[("sends nothing on: no input asks for a gradient", "")]])
    return parts


def told(parts: list[list[TextRow]], what: str, left_out: int | None = None) -> list[list[TextRow]]:
    """The first of them, and how many more there are, unless it is said how many are `left_out` already."""
    if left_out is None:
        parts, left_out = parts[:MOST_TOLD], len(parts[MOST_TOLD:])
    return parts + ([[[(f"and {left_out} more {what}", "muted")]]] if left_out else [])


def named_rows(step: Step, named: Iterable[Line], width: int) -> list[list[TextRow]]:
    """The steps that a rule or a definition names: each in symbols, then in numbers."""
    parts = []
    for line in named:
        rows = flowed([f"{line.result.name} = {step.words.names.written(line.formula)}"], width)
        rows[-1] += [(f"   {line.says}", "muted")] if line.says else []
        parts.append(rows + numbers_below(step.in_numbers(line), width))
    return parts


def contribution_rows(contribution: Contribution, width: int) -> list[TextRow]:
    words = contribution.step.words
    paths = f"path {contribution.path} of {contribution.paths}" if contribution.paths > 1 else "only path"
    name = words.name(contribution.twin)
    symbols, space = contribution.own_symbols, ("   ", "")
    head, rule, tail = [("to ", ""), (name, "strong")], (symbols, "gradient"), (paths, "muted")
    if columns(f"to {name}   {symbols}   {paths}") <= width:
        rows = [[*head, space, rule, space, tail]]
    else:  # the rule below
        rows = [[*head, space, tail], *indented(styled(flowed([symbols], width - len(INDENT)), "gradient"))]
    rows += numbers_below(contribution.pieces(), width)
    if contribution.previous is not None or contribution.left is not None:
        rows += numbers_below(["now ", *contribution.sum_pieces()], width)
    return rows


def numbers_below(pieces: list[Piece], width: int) -> list[TextRow]:
    return indented(laid_out(pieces, width - len(INDENT)))


def indented(rows: list[TextRow]) -> list[TextRow]:
    return [[(INDENT, ""), *row] for row in rows]


def styled(rows: list[TextRow], style: str) -> list[TextRow]:
    return [[(row_text(row), style)] for row in rows]


def fitted(runs: list[Run], width: int) -> list[TextRow]:
    """A headline: in one row, or in as many as it takes."""
    rows: list[TextRow] = [[]]
    used = 0
    for text, style in runs:
        if used and used + columns(text) > width:
            rows.append([])
            text, used = INDENT + text.strip(), 0
        rows[-1] += [(text, style)] if text else []
        used += columns(text)
    return rows


# --- keys -------------------------------------------------------------------------------------------------------


class Player:
    """A stepper on a screen `width()` columns wide. `read_key` and `ask` are where keys and names come from."""

    def __init__(
        self,
        stepper: Stepper,
        screen: TextIO | None = None,
        read_key: Callable[[], str] | None = None,
        ask: Callable[[str], str] = input,
        colour: bool = True,
        width: Callable[[], int] = lambda: shutil.get_terminal_size().columns,
    ) -> None:
        self.levels = [stepper]
        self.screen = screen or sys.stdout
        self.read_key = read_key or key_pressed
        self.ask = ask
        self.colour = colour
        self.width = width  # asked at every step: a window may be resized
        self.note = ""

    @property
    def stepper(self) -> Stepper:
        return self.levels[-1]

    def run(self) -> None:
        """Until the reader quits."""
        while True:
            self.show()
            self.note = ""
            word = self.word()
            if word == "quit":
                if len(self.levels) == 1:
                    return
                self.levels.pop()
            elif word:
                try:
                    getattr(self, f"do_{word}")()
                except StepError as error:
                    self.note = str(error)

    def word(self) -> str:
        """What the next key means."""
        key = self.read_key()
        return ESCAPES.get(key[1:], "") if key.startswith("\x1b") else KEYS.get(key, "")

    def do_next(self) -> None:
        self.stepper.next()

    def do_back(self) -> None:
        self.stepper.back()

    def do_start(self) -> None:
        self.stepper.position = 0

    def do_end(self) -> None:
        self.stepper.goto(-1)

    def do_goto(self) -> None:
        place = self.ask("go to (name or number): ").strip()
        if place:
            self.stepper.goto(typed_place(self.stepper, place))

    def do_entry(self) -> None:
        """`Q 0 1`: the line of one entry and of its gradient; without a name, of what the step is about."""
        asked = self.ask("entry (such as Q 0 1): ").strip()
        found = re.fullmatch(r"(.*?)[\s\[(]*((?:-?\d+[\s,]*)*)[\])]?", asked)
        current = self.stepper.current
        if not asked or found is None:
            return
        node = found[1] or (current.twin if current is not None else self.stepper.root)
        index = list(map(int, re.findall(r"-?\d+", found[2])))
        lines = [self.stepper.entry(node, index)]
        if self.stepper.walk.incoming.get(self.stepper.twin(self.stepper.node(node))) is not None:
            lines.append(self.stepper.entry(node, index, "grad"))
        self.note = "\n".join(lines)

    def do_why(self) -> None:
        step = self.stepper.current
        if step is None:
            self.note = "nothing has happened yet; → does the first step"
            return
        answers = [*questions.why_this_rule(step), questions.why_now(self.stepper, step)]
        for contribution in step.contributions:
            answers += [questions.why_plus(self.stepper, contribution.twin), questions.why_sent_little(contribution)]
        self.note = "\n".join(dict.fromkeys(answer for answer in answers if answer))

    def do_open(self) -> None:
        if not self.stepper.position:
            raise StepError("no step to open yet; → does the first one")
        self.levels.append(self.stepper.inside(self.stepper.position - 1))

    def show(self) -> None:
        """One screen: where we are, the step, and the keys."""
        stepper, width = self.stepper, self.width()
        done, whole = stepper.position, len(stepper)
        filled = round(BAR * done / whole) if whole else BAR
        current = stepper.current
        bar = "█" * filled, "gradient" if current is not None and current.kind == BACKWARD else ""
        title = stepper.title or stepper.words.reading(stepper.root), "strong"
        rows: list[TextRow] = [[title, ("   ", ""), bar, (f"{'·' * (BAR - filled)} {done} of {whole}", "")], []]
        rows += described(current, width) if current is not None else [[("Before the first step.", "")]]
        if done < whole:
            upcoming = stepper.steps[done]
            asked = f"Next: {upcoming.title.lower()}, {upcoming.reading}. {questions.asked_of(upcoming)}"
            rows += [[], *flowed([asked], width)]
        if stepper.note:
            rows += [[], *flowed([stepper.note], width)]
        if self.note:
            rows += [[], *(row for said in self.note.splitlines() for row in flowed([said], width))]
        keys = HELP + (" (one level up)" if len(self.levels) > 1 else "")
        rows += [[], *styled(flowed([keys], width), "muted")]
        clear = "\x1b[2J\x1b[H" if self.colour else ""
        self.screen.write(clear + "".join(painted(row, self.colour) + "\n" for row in rows))
        self.screen.flush()


def typed_place(stepper: Stepper, text: str) -> int | str:
    """A place as people type it, for `goto`: a name, or a step's number as shown, counted from 1."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        return text
    number, last = int(text), len(stepper)
    if not 1 <= number <= last:
        known = f"steps are numbered from 1 to {count(last)}" if last else "nothing was computed, so there are no steps"
        raise StepError(f"there is no step {text}: {known}")
    return number - 1


def can_play() -> bool:
    """Is there somebody at a terminal?"""
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    return is_terminal and shutil.get_terminal_size().columns > 20


def key_pressed() -> str:
    """One key: a character, or an escape sequence."""
    try:
        import termios
        import tty
    except ImportError:  # Windows
        return _windows_key()
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    try:
        tty.setcbreak(number, termios.TCSADRAIN)  # keys typed ahead count
        first = os.read(number, 1)
        return (first + _rest_of_key(number, first)).decode(errors="replace")
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def _rest_of_key(number: int, key: bytes) -> bytes:
    """What belongs to a key and has been typed already, without waiting for more; the next keys stay unread."""
    rest = b""
    try:
        os.set_blocking(number, False)
        while not WHOLE_KEY.fullmatch(key + rest) and (more := os.read(number, 1)):
            rest += more
    except BlockingIOError:
        pass
    finally:
        os.set_blocking(number, True)
    return rest


def _windows_key() -> str:
    import msvcrt  # type: ignore[import-not-found, unused-ignore]

    key: str = msvcrt.getwch()  # type: ignore[attr-defined, unused-ignore]
    if key in ("\x00", "\xe0"):
        return {"M": "\x1b[C", "K": "\x1b[D", "G": "\x1b[H", "O": "\x1b[F"}.get(msvcrt.getwch(), "")  # type: ignore[attr-defined, unused-ignore]
    return key
