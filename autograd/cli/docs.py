"""`handgrad docs`: the API reference as one Markdown page, written from the docstrings."""

import argparse
import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from autograd.cli import CommandError, Subparsers

MODULES = ("autograd", "nn", "nn.functional", "nn.optim")


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("docs", help="write the API reference, from the docstrings")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it here (else print it)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    page = reference(import_module(name) for name in MODULES)
    if arguments.output is None:
        sys.stdout.write(page)
        return
    try:
        arguments.output.write_text(page, encoding="utf-8")
    except OSError as error:
        remedy = "give another file to -o"
        raise CommandError(f"cannot write {arguments.output}: {error.strerror}; {remedy}") from None
    print(f"wrote {arguments.output}")


def reference(modules: Iterator[ModuleType]) -> str:
    """One Markdown page: a contents list, then a section a module and an entry for each public name."""
    sections = [section(module) for module in modules]
    contents = [f"- [`{title}`](#{anchor(title)})" for title, _ in sections]
    return "\n".join(["# API reference", "", *contents, "", *(text for _, text in sections)])


def section(module: ModuleType) -> tuple[str, str]:
    """A module's name and its part of the page."""
    lines = [f"## `{module.__name__}`", "", inspect.getdoc(module) or "", ""]
    for name in public_names(module):
        lines += entry(f"{module.__name__}.{name}", getattr(module, name))
    return module.__name__, "\n".join(lines)


def public_names(module: ModuleType) -> list[str]:
    """What a module promises: its `__all__`, without dunders and submodules."""
    return [
        name for name in module.__all__
        if not name.startswith("_") and not inspect.ismodule(getattr(module, name))
    ]  # fmt: skip


def entry(title: str, member: Any) -> Iterator[str]:
    """A public name: its signature, its docstring and, for a class, its own public methods."""
    yield f"### `{title}{signature(member)}`\n"
    yield f"{inspect.getdoc(member) or ''}\n"
    if inspect.isclass(member):
        for name, attribute in vars(member).items():
            text = inspect.getdoc(attribute)
            if text and not name.startswith("_") and (callable(attribute) or isinstance(attribute, property)):
                yield f"- **`.{name}{signature(attribute)}`** {text.splitlines()[0]}"
        yield ""


def signature(member: Any) -> str:
    """`(x, axis=-1)` for what can be called, nothing for what cannot."""
    if not callable(member):
        return ""
    try:
        return str(inspect.signature(member))
    except (TypeError, ValueError):  # some callables written in C have none
        return "(...)"


def anchor(title: str) -> str:
    """The id that Markdown renderers give a heading."""
    return title.replace(".", "").lower()
