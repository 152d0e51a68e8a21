"""User text on its way into a picture: made visible, shortened, measured and escaped.

Names are drawn literally. What a font cannot show (control characters, line ends, direction overrides, lone
surrogates) is written as Python would write it, `\\n` or `\\u202e`, so that no text can hide, reorder or
break a drawing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from html import escape as _html_escape

MONO_ADVANCE = 0.608  # em, the widest of the platforms' monospace fonts
SANS_ADVANCE = 0.64  # em, of a digit in DejaVu Sans, the widest font that may stand in for a system's own
OTHER_ADVANCES = {r"[fijlrtI.,:;'|!()\[\]/· ]": 0.4, "[mwMW@%+<=>×…→−∞≈]": 0.95, "[A-HJ-LN-VX-Z]": 0.73}
BOLD = 1.12  # times as wide
LONGEST = 28  # characters of a header before its middle is left out
SHORTENED_NAME = 12  # characters that are left of a long name in a formula
ELLIPSIS = "…"
PRIME = "′"  # after the name of an op whose rule is too long to write, layer_norm′(g), or of a step: z′ beside z

_JOINERS = "\u200d\ufe0f\ufe0e"  # emoji sequences need them
_NAME = re.compile(r"[\w.#]+\b(?![\w.#(])")
_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp", "Cn"}


# Letters and signs that are visible, one column wide, and nearly all that a drawing ever shows.
_is_plain = re.compile("[ -~¡-¬®-˿Α-ωА-я⁰-₎←-↓√∞≈−×·…—‖→²³¹⁻∂⊙⎡-⎦ᵀ′≤≥≠]*").fullmatch


def visible(text: str) -> str:
    """The text with everything unprintable spelled out.

    >>> visible('a\\nb')
    'a\\\\nb'
    """
    if _is_plain(text):
        return text
    return "".join(c if c in _JOINERS or unicodedata.category(c) not in _INVISIBLE else _spelled(c) for c in text)


def clipped(text: str, longest: int = LONGEST) -> str:
    """At most `longest` characters: the middle is left out, because the ends of a name tell things apart."""
    if len(text) <= longest:
        return text
    head = (longest - 1) // 2
    return text[: longest - 1 - head] + ELLIPSIS + text[-head:]


def abridged(text: str, longest: int) -> str:
    """A formula of at most `longest` characters: first long names lose their middles, then brackets their insides.

    >>> abridged("tanh(a) * (g − sum(first * second + third))", 30)
    'tanh(a) * (g − sum(…))'
    >>> abridged("the_first_operand * the_second_operand", 30)
    'the_fir…operand * the_se…erand'
    """
    if len(text) <= longest:
        return text
    text = _with_short_names(text, longest)
    while len(text) > longest:
        pairs = [(start, end) for start, end in _brackets(text) if text[start:end] != ELLIPSIS]
        if not pairs:
            return clipped(text, longest)
        too_much = len(text) - longest
        enough = [pair for pair in pairs if _length(pair) > too_much]
        start, end = min(enough, key=_length) if enough else max(pairs, key=_length)
        text = text[:start] + ELLIPSIS + text[end:]
    return text


def _with_short_names(text: str, longest: int) -> str:
    """Long names shortened as far as needed, the longest first; a function, before brackets, is no name."""
    while len(text) > longest:
        names = [name for name in _NAME.findall(text) if len(name) > SHORTENED_NAME]
        if not names:
            break
        name = max(names, key=len)
        room = max(SHORTENED_NAME, len(name) - (len(text) - longest))
        text = _NAME.sub(lambda found: clipped(name, room) if found[0] == name else found[0], text)  # noqa: B023
    return text


def _length(pair: tuple[int, int]) -> int:
    return pair[1] - pair[0]


def _brackets(text: str) -> list[tuple[int, int]]:
    """Where the insides of matching brackets begin and end."""
    pairs, open_ = [], []
    for index, character in enumerate(text):
        if character in "([":
            open_.append(index + 1)
        elif character in ")]" and open_:
            pairs.append((open_.pop(), index))
    return [(start, end) for start, end in pairs if end > start]


def columns(text: str) -> int:
    """How many monospace cells the text takes: wide characters two, combining marks none."""
    if _is_plain(text):
        return len(text)
    seen = [c for c in text if c not in _JOINERS and unicodedata.category(c) not in ("Mn", "Me")]
    return len(seen) + sum(unicodedata.east_asian_width(c) in "WF" for c in seen)


def mono_width(text: str, size: float = 13) -> float:
    return columns(text) * size * MONO_ADVANCE


def sans_width(text: str, size: float, bold: bool = False) -> float:
    """How wide a caption is at most, whatever font the reader has."""
    others = sum((em - SANS_ADVANCE) * len(re.findall(kind, text)) for kind, em in OTHER_ADVANCES.items())
    ems = columns(text) * SANS_ADVANCE + others
    return ems * size * (BOLD if bold else 1.0)


def wrapped(text: str, fits: Callable[[str], bool]) -> list[str]:
    """The text in lines that fit, broken at spaces; a word that fits nowhere has a line to itself.

    >>> wrapped("as many words as fit", lambda line: len(line) <= 8)
    ['as many', 'words as', 'fit']
    """
    first, *words = text.split(" ")
    lines = [first]
    for word in words:
        longer = f"{lines[-1]} {word}"
        if fits(longer):
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def xml(text: str) -> str:
    """Text for the inside of an SVG or HTML element or attribute."""
    return _html_escape(visible(text), quote=True)


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
