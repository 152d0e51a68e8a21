"""The API reference as one Markdown page, written from the docstrings and the op table.

    python -m tools.reference out/api.md          (`make docs`)
"""

import dataclasses
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from autograd import Value
from autograd.arrays.array_like import ArrayLike
from autograd.attached import Node
from autograd.expr import Expr, rule
from autograd.expr.rules import own_names
from autograd.op import OPS, Op

MODULES = ("autograd", "autograd.errors", "nn", "nn.functional", "nn.optim", "nn.train", "nn.init")

# What the names of each part of `autograd` are about, in the order in which a newcomer needs them. Families of ops come
# before those that import from them, so that an op is found first where it is declared.
PARTS = {
    "engine": "The graph",
    "graph": "The graph",
    "derivatives": "Derivatives of functions",
    "drawing": "Drawings",
    "stepping": "Steps and explanations",
    "worksheets": "Worksheets and marking",
    "check": "Gradient checks",
    "program": "Programs",
    "capturing": "Models of other libraries",
    "modes": "What is recorded",
    "custom": "What an op is",
    "op": "What an op is",
    "expr": "What an op is",
    "errors": "Errors",
    "hips": "Names of HIPS autograd",
    "builtins": "Names of HIPS autograd",
    "ops.arithmetic": "Ops: arithmetic and comparisons",
    "ops.elementwise": "Ops: functions of each number",
    "ops.fused.gelu": "Ops: functions of each number",
    "ops.angles": "Ops: angles",
    "ops.special": "Ops: special functions",
    "ops.shape": "Ops: shapes, picking",
    "ops.indexing.rows": "Ops: shapes, picking",
    "ops.indexing.join": "Ops: joining and cutting",
    "ops.arrange": "Ops: arranging",
    "ops.reduce": "Ops: reductions",
    "ops.selected": "Ops: reductions",
    "ops.rounding": "Ops: rounding, remainders, truths",
    "ops.matrices.linear": "Ops: products of vectors and matrices",
    "ops.matrices.linalg": "Ops: linear algebra",
    "ops.matrices.eigen": "Ops: eigenvalues, singular values, norms",
    "ops.fused.softmax": "Ops: softmax, linear layers, losses",
    "ops.fused.norm": "Ops: norms",
    "ops.fused.attention": "Ops: attention",
    "ops.fused.heads": "Ops: attention",
    "ops.fused.dense": "Ops: softmax, linear layers, losses",
    "ops.indexing.placing": "Ops: shapes, joining, picking",
    "ops.running": "Ops: reductions",
    "ops.images.convolution": "Ops: images and sequences",
    "ops.images.pooling": "Ops: images and sequences",
    "ops.images.channels": "Ops: images and sequences",
    "ops.images.interpolation": "Ops: images and sequences",
    "ops.fused.recurrent": "Ops: images and sequences",
}
INTRODUCTION = """\
Written from the docstrings by `make docs`. An op takes floats, arrays or Values and gives the same. What it *sends
back* to each input in a backward pass is written in `g`, the gradient that arrives at its result, and `out`, the
result."""
LONGEST_RULE = 100  # characters of a formula that can be taken in at a glance


class Group(NamedTuple):
    """Public names that belong together; the title is empty where a module is one group."""

    title: str
    names: list[str]


def reference(modules: Iterable[ModuleType]) -> str:
    """One Markdown page: a contents list, then a section a module and an entry for each public name."""
    contents, parts = [], []
    told: dict[int, str] = {}  # where an object was described: an op may be public in two modules
    for module in modules:
        where = module.__name__
        contents.append(f"- {link(where)}")
        parts += [f"## `{where}`", markdown(inspect.getdoc(module) or "")]
        for group in groups(module):
            links = ", ".join(link(f"{where}.{name}", name) for name in group.names)
            contents.append(f"  - {group.title + ': ' if group.title else ''}{links}")
            parts.append(f"### {group.title}" if group.title else "")
            for name in group.names:
                member = getattr(module, name)
                parts += entry(f"{where}.{name}", member, told.get(id(member)))
                told.setdefault(id(member), f"{where}.{name}")
    return "\n\n".join(filter(None, ["# API reference", INTRODUCTION, "\n".join(contents), *parts])) + "\n"


def link(title: str, shown: str | None = None) -> str:
    """A link to a heading, by the anchor that Markdown's readers make of it."""
    return f"[`{shown or title}`](#{title.replace('.', '').lower()})"


def groups(module: ModuleType) -> list[Group]:
    """The public names of a module: those of `autograd` by the part that they come from, others as they are."""
    names = public_names(module)
    if module.__name__ != "autograd":
        return [Group("", names)]
    found: dict[str, list[str]] = {title: [] for title in PARTS.values()}
    for name in names:
        found[PARTS[part_of(getattr(module, name))]].append(name)
    return [Group(title, own) for title, own in found.items() if own]


def part_of(member: Any) -> str:
    """The part of `autograd` that something was written in: "drawing" for a function of autograd/drawing/."""
    if isinstance(member, Op):
        families = [part for part in PARTS if part.startswith("ops.")]
        return next(part for part in families if _has(import_module(f"autograd.{part}"), member))
    written = "autograd.op" if member is OPS else member.__module__
    return next(part for part in PARTS if f"{written}.".startswith(f"autograd.{part}."))


def _has(module: ModuleType, member: Any) -> bool:
    return any(member is other for other in vars(module).values())


def public_names(module: ModuleType) -> list[str]:
    """What a module promises: its `__all__`, without dunders and submodules."""
    names = (name for name in module.__all__ if not name.startswith("_"))
    return [name for name in names if not inspect.ismodule(getattr(module, name))]


def entry(title: str, member: Any, told: str | None = None) -> Iterator[str]:
    """The paragraphs on one public name: signature, docstring, an op's rule, a class's public attributes."""
    yield f"#### `{title}`"
    if call := signature(member):
        yield f"`{title.rpartition('.')[2]}{call}`"
    if told is not None:
        yield f"The same as {link(told)}."
        return
    if member is OPS:
        yield 'The table of all ops, a dict by name: `OPS["exp"]` is `autograd.exp`.'
    elif inspect.getdoc(member) != inspect.getdoc(type(member)):  # other plain data has only its type's docstring
        yield markdown(inspect.getdoc(member) or "")
    if isinstance(member, Op):
        yield backward_rule(member)
    if inspect.isclass(member):
        yield "\n".join(attributes(member))


def attributes(owner: type) -> Iterator[str]:
    """A line for each public method and property that a class itself describes; one for all the ops among them."""
    kinds = (FunctionType, staticmethod, classmethod, property, cached_property)
    members = vars(ArrayLike) | vars(Node) | vars(owner) if owner is Value else vars(owner)
    described = {name: member for name, member in members.items() if not name.startswith("_") and member.__doc__}
    ops = {name for name, member in described.items() if name in OPS and member.__doc__ == OPS[name].__doc__}
    for name, member in described.items():
        if isinstance(member, kinds) and name not in ops:
            yield f"- `.{name}{signature(member, method=True)}`: {summary(member.__doc__ or '')}"
    if ops:
        yield "- and the ops, with the Value as their first input: `v.sum(axis=0)` is `sum(v, axis=0)`."


def backward_rule(op: Op) -> str:
    """What an op sends back to each input, as its own rule says: in general, or where settings and shapes count, of its
    first sample; nothing where that formula is long.
    """
    if not op.differentiable:
        return ""
    f, inputs = op.on(op.samples[0])
    if op.normalize is None:
        return f"Sends back {_sent(op.names, rule(op, tuple(inputs)))}."
    node = f(*(Value(x) if np.asarray(x).dtype.kind == "f" else x for x in inputs))
    gradients = rule(node)
    if any(len(str(gradient)) > LONGEST_RULE or "backward_" in str(gradient) for gradient in gradients):
        return ""
    plain = [x.data if isinstance(x, Value) else x for x in node.inputs]
    named = dict(zip(own_names(op, len(plain)), plain, strict=False))
    call = Expr.__apply__(node.op, tuple(x if x is None else Expr(name, x) for name, x in named.items()))
    shapes = " and ".join(f"{name} {np.shape(x)}" for name, x in named.items() if np.ndim(x))
    return f"`{call}`{shapes and f' of {shapes}'} sends back {_sent(named, gradients)}."


def _sent(names: Iterable[str], gradients: Iterable[Any]) -> str:
    pairs = zip(names, gradients, strict=True)
    return ", ".join(f"`{gradient}` to `{name}`" for name, gradient in pairs if gradient is not None)


class Shown(str):
    """A default value as a person writes it: a str whose repr is itself."""

    __repr__ = str.__str__


def signature(member: Any, method: bool = False) -> str:
    """`(x, axis=-1)` for what can be called, nothing for what cannot; types are left to the source."""
    if isinstance(member, Op):
        if member.normalize is None:
            return f"({', '.join(member.names[method:])})"
        member = member.normalize
    if isinstance(member, staticmethod | classmethod):
        member, method = member.__func__, isinstance(member, classmethod)
    made_by_us = dataclasses.is_dataclass(member) or (inspect.isclass(member) and issubclass(member, Exception))
    if not callable(member) or made_by_us:  # a report or an exception is not made by its users
        return ""
    try:
        found = inspect.signature(member)
    except (TypeError, ValueError):  # some callables written in C have none
        return ""
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty, default=shown_default(parameter.default))
        for parameter in found.parameters.values()
    ]
    return str(inspect.Signature(bare[method:]))


def shown_default(default: Any) -> Any:
    """`relu`, not `<op relu>`; `float64`, not `<class 'numpy.float64'>`."""
    named = default is not inspect.Parameter.empty and (isinstance(default, Op) or inspect.isclass(default))
    return Shown(default.__name__) if named else default


def summary(docstring: str) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join(inspect.cleandoc(docstring).partition("\n\n")[0].split())


def markdown(docstring: str) -> str:
    """A docstring as Markdown: sessions and aligned columns are fenced, prose is left as it is."""
    return "\n\n".join(map(fenced, docstring.split("\n\n")))


def fenced(paragraph: str) -> str:
    if paragraph.lstrip().startswith(">>> "):
        return f"```pycon\n{paragraph}\n```"
    if re.search(r"\S {2,}\S", paragraph) and not paragraph.startswith("    "):
        return f"```text\n{paragraph}\n```"
    return paragraph


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(import_module(name) for name in MODULES), encoding="utf-8")
