"""The page `docs/names.md`: names from other libraries, read off the table in `autograd/names.py`.

    python -m tools.names_table     # writes it again
"""

from pathlib import Path

from autograd import names

PAGE = Path(__file__).resolve().parent.parent / "docs" / "names.md"

HEAD = """# Names from other libraries

Written from `autograd/names.py` by `python -m tools.names_table`; a test holds the page to it. Errors say the same:
`nn.Dense` raises "nn has no Dense. Write nn.Linear(n_in, n_out)".

These names of a Value run: each means what the other one means.
"""

MAKERS = """
These names of `autograd` run too, so that code written for torch does with `import autograd as torch` and
`import nn.functional as F`. What they make requires no gradient until you say so, and holds float64.
"""

ALIKE = """
These names of a Value are NumPy's, and mean something else than in torch: `v.max(1)` gives the numbers alone, so that
`v.max(1)[0]` is the first of them. `v.repeat(2)` repeats each number; torch's is `np.tile(v, 2)`.
`v.transpose(0, 1)` leaves a matrix as it is; torch's is `v.swapaxes(0, 1)`. `v.split(2)` makes two parts, torch's makes
parts of two. `v.std()` and `v.var()` divide by n, torch's by n - 1.

These arguments are taken where the meaning is the same:
"""


def page() -> str:
    """The whole page."""
    lines = [HEAD, *_rows({name: text for name, (_, text) in names.SAME.items()}, "v.{}()"), MAKERS]
    lines += [*_rows({name: text for name, (_, text) in names.MAKERS.items()}, "{}()"), ALIKE]
    lines += _rows({f"{a}=": f"{b}=" for a, b in names.ARGUMENTS.items()}, "{}")
    for title, prefix, table in (
        ("Of a Value", "v.{}", names.VALUE), ("Of `autograd`", "{}", names.AUTOGRAD), ("Of `nn`", "nn.{}", names.NN),
        ("Of `nn.functional`", "{}", names.FUNCTIONAL), ("Of `nn.optim`", "{}", names.OPTIM),
    ):  # fmt: skip
        lines += [f"\n## {title}\n", *_rows(table, prefix)]
    return "\n".join(lines) + "\n"


def _rows(table: dict[str, str], prefix: str) -> list[str]:
    rows = ["| elsewhere | here |", "| --- | --- |"]
    for name, text in table.items():
        here = text[2:] if text.startswith(". ") else f"`{text}`"
        rows.append(f"| `{prefix.format(name)}` | {here} |")
    return rows


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE} is written")
