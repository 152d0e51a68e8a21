"""Worked examples that people can check by hand.

Seven of them follow a printed worksheet or chapter, step by step; this module is their catalogue. Each is a module with

    run(**given)      every named quantity, as a dict; every input and convention is a keyword
    TAKES             the functions whose keywords `run` takes: itself, and what it hands keywords on to
    main(page)        the same as a worksheet: formulas, arithmetic, matrices, before and after, the exercises
    EXERCISES         the book's exercises, each a function that prints its own answer and returns it
    graph(**given)    the loss (or output) as a Value after backward, for drawing and stepping
    stepped(**given)  a single number to step from, where the graph does not end in one
    DRAWINGS          the pictures `make demo` makes of that graph: file name, and how to draw
    plots(**given)    the example's plots as SVG, by file name
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Example:
    """An entry of the catalogue."""

    name: str           # "example3": what people type, and the name of its folder and worksheet
    module_name: str    # "example3_full_backprop"
    title: str
    printed: bool = True    # whether a worksheet prints numbers for it

    @property
    def module(self) -> ModuleType:
        return import_module(f"examples.{self.module_name}")


EXAMPLES = (
    Example("example1", "example1_forward_pass", "Minimal forward pass"),
    Example("example2", "example2_single_step", "Single training step"),
    Example("example3", "example3_full_backprop", "Full backpropagation"),
    Example("example4", "example4_multiple_patterns", "Multiple patterns, batch training"),
    Example("example5", "example5_feed_forward", "Feed-forward layers and the residual"),
    Example("example6", "example6_complete_transformer", "Complete transformer", printed=False),
    Example("cat_sleeps", "cat_sleeps", "The cat sleeps: attention, feed-forward and backpropagation"),
)


PLAIN_DRAWING: dict[str, dict[str, Any]] = {"graph.svg": {}}


class UnknownExample(LookupError):
    """No example has that name; the message lists those there are."""


def find(text: str) -> Example:
    """The example people mean by `3`, `example3`, `example 3`, `example3_full_backprop` or `cat_sleeps`.

    >>> find("3").module_name, find("Example 3").name, find("the cat sleeps").name
    ('example3_full_backprop', 'example3', 'cat_sleeps')
    """
    wanted = re.sub(r"[\W_]+", "", text.lower().removesuffix(".py")).removeprefix("the")
    for example in EXAMPLES:
        aliases = (example.name, example.module_name, example.name.removeprefix("example"))
        if wanted in (alias.replace("_", "") for alias in aliases):
            return example
    names = ", ".join(example.name for example in EXAMPLES)
    raise UnknownExample(f"there is no example called {text!r}; there are {names} (a number alone will do)")


def keywords(example: Example) -> dict[str, Any]:
    """The inputs and conventions of an example, with their defaults.

    >>> keywords(find("2"))["eta"]
    0.1
    """
    return {name: parameter.default
            for function in example.module.TAKES
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY}
