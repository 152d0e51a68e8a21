"""Output for every terminal and pipe: other spellings for characters that its encoding does not have.

A pipe on Windows is cp1252, a bare container often ASCII. There − × ∂ ≈ and boxes would raise UnicodeEncodeError; they
are written as - * d ~ and +.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
import unicodedata

ERRORS = "handgrad.legible"  # the name under which Python knows `legible`

SPELLINGS = {
    "−": "-", "×": "*", "·": "*", "⊙": "*", "∂": "d", "∇": "grad ", "√": "sqrt", "Σ": "sum", "∑": "sum", "∫": "int",
    "≈": "~", "≤": "<=", "≥": ">=", "±": "+-", "∞": "inf", "→": "->", "←": "<-", "↓": "v", "′": "'", "‖": "||",
    "⊤": "^T", "…": "...", "—": "-", "–": "-", "•": "*", "’": "'", "‘": "'", "“": '"', "”": '"', "▶": ">",
    "─": "-", "│": "|", "┌": "+", "┐": "+", "└": "+", "┘": "+", "├": "+", "┤": "+",
    "⎡": "[", "⎢": "[", "⎣": "[", "⎤": "]", "⎥": "]", "⎦": "]",
    "✓": "+", "✗": "x", "↳": ">",
    "█": "#", "▓": "#", "▒": "+", "░": ".", "▁": "_", "⁄": "/", "\N{COMBINING CIRCUMFLEX ACCENT}": "_hat",
}  # fmt: skip


def prepare() -> None:
    """Let stdout and stderr spell characters that their encoding lacks; a closed stdout discards everything."""
    codecs.register_error(ERRORS, legible)
    if sys.stdout is None:  # `handgrad ... >&-`
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (it stays open to the end)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ERRORS)


def legible(error: UnicodeError) -> tuple[str, int]:
    """What `codecs.register_error` asks for: a spelling of the characters that cannot be encoded, and where to go on.

    >>> legible(UnicodeEncodeError("ascii", "10⁻⁵", 2, 4, "not there"))
    ('^-5', 4)
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    spelled = ""
    raised = False
    for character in text:
        above = unicodedata.decomposition(character).startswith("<super>")
        spelled += ("^" if above and not raised else "") + spelling(character)
        raised = above
    return spelled, error.end


def spelling(character: str) -> str:
    """A character in ASCII: from the table, by the name of a Greek letter, or without its accents; else `?`."""
    if character in SPELLINGS:
        return SPELLINGS[character]
    alphabet, _, letter = unicodedata.name(character, "").partition(" LETTER ")
    if alphabet in ("GREEK SMALL", "GREEK CAPITAL"):
        return letter.lower() if alphabet == "GREEK SMALL" else letter.capitalize()
    apart = unicodedata.normalize("NFKD", character)
    plain = "".join(SPELLINGS.get(c, c) for c in apart).encode("ascii", "ignore").decode()
    return plain or "?"
