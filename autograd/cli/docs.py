"""`handgrad docs`: the API reference as one Markdown page, written from the docstrings and the op table."""

import argparse
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from autograd.cli import CommandError, Subparsers
from autograd.op import Op

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


def reference(modules: Iterable[ModuleType]) -> str:
    """One Markdown page: a contents list, then a section a module and an entry for each public name."""
    modules = list(modules)
    contents = [f"- [`{module.__name__}`](#{module.__name__.replace('.', '')})" for module in modules]
    parts = ["# API reference", "\n".join(contents)]
    for module in modules:
        parts += [f"## `{module.__name__}`", markdown(inspect.getdoc(module) or "")]
        for name in public_names(module):
            parts += entry(f"{module.__name__}.{name}", getattr(module, name))
    return "\n\n".join(part for part in parts if part) + "\n"


def public_names(module: ModuleType) -> list[str]:
    """What a module promises: its `__all__`, without dunders and submodules."""
    names = (name for name in module.__all__ if not name.startswith("_"))
    return [name for name in names if not inspect.ismodule(getattr(module, name))]


def entry(title: str, member: Any) -> Iterator[str]:
    """The paragraphs on one public name: signature, docstring, an op's rule, a class's public attributes."""
    yield f"### `{title}{signature(member)}`"
    if inspect.getdoc(member) != inspect.getdoc(type(member)):  # a plain dict has only dict's docstring
        yield markdown(inspect.getdoc(member) or "")
    if isinstance(member, Op):
        yield backward_rule(member)
    if inspect.isclass(member):
        yield "\n".join(attributes(member))


def attributes(owner: type) -> Iterator[str]:
    """A line for each public method and property that a class itself has, with its docstring's first line."""
    for name, member in vars(owner).items():
        text = inspect.getdoc(member)
        if text and not name.startswith("_") and (callable(member) or isinstance(member, property)):
            yield f"- `.{name}{signature(member, method=True)}`: {text.splitlines()[0]}"


def backward_rule(op: Op) -> str:
    """What an op sends back to each input, as its own rule says; nothing if that depends on its settings."""
    from autograd.expr import rule

    if op.door is not None or not op.differentiable:
        return ""
    gradients = zip(op.names, rule(op, tuple(op.samples[0].inputs())), strict=True)
    told = [f"`{gradient}` to `{name}`" for name, gradient in gradients if gradient is not None]
    return f"Sends back {', '.join(told)}."


def signature(member: Any, method: bool = False) -> str:
    """`(x, axis=-1)` for what can be called, nothing for what cannot; types are left to the source."""
    if isinstance(member, Op):
        if member.door is None:
            return f"({', '.join(member.names[method:])})"
        member = member.door
    if not callable(member):
        return ""
    try:
        found = inspect.signature(member)
    except (TypeError, ValueError):  # some callables written in C have none
        return "(...)"
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in found.parameters.values()]
    return str(inspect.Signature(bare[method:]))


def markdown(docstring: str) -> str:
    """A docstring as Markdown: sessions and aligned columns are fenced, prose is left as it is."""
    return "\n\n".join(map(fenced, docstring.split("\n\n")))


def fenced(paragraph: str) -> str:
    if paragraph.lstrip().startswith(">>> "):
        return f"```pycon\n{paragraph}\n```"
    if re.search(r"\S {2,}\S", paragraph) and not paragraph.startswith("    "):
        return f"```text\n{paragraph}\n```"
    return paragraph
