"""Plain English: words that need translating, and what to write in their place."""

import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACES = ("autograd/**/*.py", "nn/**/*.py", "examples/**/*.py", "notebooks/**/*.py", "docs/**/*.md", "*.md")
SAY = {
    "whole number": "integer", "whole numbers": "integers", "by itself": "on its own", "as ever": "as always",
    "meanwhile": "while …", "the like": "similar", "comes to": "is", "so it is for": "the same holds for",
    "anew": "again",
}  # fmt: skip
USED = re.compile(rf"(?<!compute )(?<!computed )\b({'|'.join(SAY)})\b", re.I)  # "computed anew" is a stepper's phrase
PROSE = {tokenize.STRING, tokenize.COMMENT}


def prose(path):
    """What people read in a file: all of a page, the comments and strings of code. Each with the number of its line."""
    if path.suffix == ".md":
        yield from enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    else:
        with path.open("rb") as file:
            tokens = list(tokenize.tokenize(file.readline))
        yield from ((token.start[0], token.string) for token in tokens if token.type in PROSE)


def test_words_that_need_translating():
    paths = {path for place in PLACES for path in ROOT.glob(place)} - {ROOT / "CHANGELOG.md"}
    found = [f"{path.relative_to(ROOT)}:{number}: {word[0]!r}: say {SAY[word[0].lower()]!r}"
             for path in sorted(paths) for number, text in prose(path) for word in USED.finditer(text)]  # fmt: skip
    assert not found, "\n".join(found)
