"""What the Markdown pages show is run: every ```python block, in order, one namespace a page.

A block says what its lines give either as a doctest or in a comment at a statement's end, and is held to it:

    loss.grad                # -> -0.5          the value of an expression, or the one assigned
    print(w.grad)            # -> [1. 2.]       what a print prints

`...` in the expected text stands for anything. A block headed ```python no-run is shown, not run; one headed
```python needs torch is run where torch is installed.
"""

import ast
import contextlib
import doctest
import io
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("**/*.md")])
FENCE = re.compile(r"^```python(?: needs (\w+))?[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
CLAIM = re.compile(r"#\s*->\s*(.+?)\s*$")


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """The runnable blocks of a page, each with the number of its first line."""
    for match in FENCE.finditer(text):
        needed, block = match.groups()
        if needed is None or find_spec(needed) is not None:
            yield text.count("\n", 0, match.start(2)) + 1, block


def run_page(text: str, page: str) -> int:
    """Run a page's blocks and return how many claims they made, all of them true."""
    namespace: dict = {"__name__": "__main__"}
    run = {True: run_doctest, False: run_script}
    return sum(run[">>> " in block](block, line, page, namespace) for line, block in blocks(text))


def run_doctest(block: str, line: int, page: str, namespace: dict) -> int:
    test = doctest.DocTestParser().get_doctest(block, {}, page, page, line - 1)
    test.globs = namespace
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    said = io.StringIO()
    result = doctest.DocTestRunner(optionflags=flags).run(test, out=said.write, clear_globs=False)
    assert not result.failed, said.getvalue()
    return result.attempted


def run_script(block: str, line: int, page: str, namespace: dict) -> int:
    tree = ast.increment_lineno(ast.parse(block, page), line - 1)
    found = ((number, CLAIM.search(text)) for number, text in enumerate(block.splitlines(), start=line))
    claims = {number: match[1] for number, match in found if match}
    checked = 0
    for statement in tree.body:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = execute(statement, page, namespace)
        if claim := claims.pop(statement.end_lineno, None):
            checked += 1
            given = {printed.getvalue().strip(), repr(value), str(value)}
            where = f"{page}:{statement.end_lineno}"
            assert any(agrees(claim, text) for text in given), f"{where} says {claim}, got {given}"
    assert not claims, f"{page}: these claims do not end a statement, so nothing checks them: {claims}"
    return checked


def execute(statement: ast.stmt, page: str, namespace: dict) -> object:
    """Run one statement and give the value it shows: an expression's own, or the one it assigns."""
    match statement:
        case ast.Expr(value=expression):
            return eval(compile(ast.Expression(expression), page, "eval"), namespace)
        case _:
            exec(compile(ast.Module([statement], []), page, "exec"), namespace)
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return namespace[name]
    return None


def agrees(expected: str, given: str) -> bool:
    """Whether two texts are the same, `...` standing for anything and white space for white space."""
    pattern = ".*".join(re.escape(" ".join(part.split())) for part in expected.split("..."))
    return re.fullmatch(pattern.replace(r"\ ", r"\s*"), " ".join(given.split()), re.DOTALL) is not None


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_block_of_a_page_runs_and_says_the_truth(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # whatever a block saves does not land in the repository
    run_page(path.read_text(encoding="utf-8"), str(path))


def is_there(name, folder):
    """A link is found from the page that has it, a quoted path from the top."""
    return any(ROOT.glob(name.rstrip("/"))) if ".." not in name and not (folder / name).exists() else (
        (folder / name).resolve().exists())


@pytest.mark.parametrize("path", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda path: path.name)
def test_a_page_names_files_that_are_there(path):
    named = re.findall(r"`([\w.<>*]+/[\w.<>*/]*)`|\]\(([\w./]+)\)", path.read_text(encoding="utf-8"))
    paths = {re.sub(r"<\w+>|NN", "*", quoted or linked) for quoted, linked in named}
    missing = [name for name in sorted(paths) if not name.startswith("out/") and not is_there(name, path.parent)]
    assert paths and not missing


def test_the_readme_shows_checked_results():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert sum(">>> " in block or bool(CLAIM.search(block)) for _, block in blocks(text)) > 0


@pytest.mark.parametrize(
    "block",
    [
        "1 + 1  # -> 2",
        "x = 3.5  # -> 3.5",
        "print('a', 'b')  # -> a b",
        "'seed 12 used'  # -> 'seed ... used'",
        "[1,\n 2]  # -> [1, 2]",
        ">>> 1 + 1\n2",
    ],
)
def test_a_true_claim_is_counted(block):
    assert run_page(f"text\n\n```python\n{block}\n```\n", "page.md") == 1


@pytest.mark.parametrize(
    "block",
    [
        "1 + 1  # -> 3",
        "x = 3.5  # -> 3",
        "print('a')  # -> b",
        "10  # -> ...1",
        "[1,  # -> 1\n 2]",  # not the end of a statement
        ">>> 1 + 1\n3",
    ],
)
def test_a_false_claim_is_caught(block):
    with pytest.raises(AssertionError):
        run_page(f"```python\n{block}\n```\n", "page.md")


def test_blocks_share_a_namespace_and_a_failure_names_its_line():
    page = "# Title\n\n```python\nx = 2\n```\n\ntext\n\n```python\nx += 1\nx  # -> 2\n```\n"
    with pytest.raises(AssertionError, match=r"page\.md:11 says 2"):
        run_page(page, "page.md")


def test_a_block_that_needs_a_library_is_run_where_it_is():
    assert run_page("```python needs numpy\n1 + 1  # -> 2\n```\n", "page.md") == 1
    assert run_page("```python needs nonesuch\nimport nonesuch\n```\n", "page.md") == 0


def test_other_blocks_are_left_alone():
    assert run_page("```sh\nrm nothing\n```\n```python no-run\nraise SystemExit\n```\n", "page.md") == 0
