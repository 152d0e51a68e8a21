"""A program as Python text that a person can follow, and that needs NumPy alone to run.

One line an op: `h = x @ w`. Results have the names that people gave them, or their op's with a number; `d_h` is the
gradient of h. Forward lines are numbered, and a backward line says the number of the line whose rule it is part of.
"""

from __future__ import annotations

import ast
import keyword
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from autograd.arrays.numpy_calls import called
from autograd.op import Op, template
from autograd.tree import unflatten

from .passes import optimised
from .program import Instruction, Program, Type
from .tracing.inputs import mirrored
from .tracing.leaf_names import reached
from .tracing.trace import Traced, trace_graph

RESERVED = {"np", "math", "range", "map", *keyword.kwlist}
WIDTH = 66  # column at which the comments stand


def source_of(program: Program, traced: Traced, title: str, parameters: Sequence[str], args: Sequence[Any]) -> str:
    """The text of a module with one function, `title(*parameters)`, that gives what the compiled function gives.

    `args` is the nest of the inputs, with a float in the place of each leaf.
    """
    return "\n".join(_Writer(program, traced, title, parameters, args).lines()) + "\n"


def source_of_graph(root: Any, title: str = "program") -> str:
    """The source of a graph that is recorded already: a function of its leaves."""
    traced, leaves = trace_graph(root)
    program = optimised(traced.program, [leaf._data for leaf in leaves])
    names = [program.names.get(r, "x") for r in program.inputs]
    return source_of(program, traced, title, names, [0.0] * len(names))


class _Writer:
    def __init__(
        self, program: Program, traced: Traced, title: str, parameters: Sequence[str], args: Sequence[Any]
    ) -> None:
        self.program, self.traced, self.args = program, traced, args
        self.title = identifier(title)
        self.taken = {*RESERVED, self.title, *(i.op.base.name for i in program.code if i.op.written)}
        self.parameters = [self._fresh(identifier(name)) for name in parameters]
        self.names: dict[int, str] = {}
        self.backward = any(i.of is not None for i in program.code)
        self._name_everything()
        forward = (i.out for i in program.code if i.of is None and i.out not in self.inlined)
        self.number = {r: n for n, r in enumerate(forward, 1)}

    # --- names ----------------------------------------------------------------------------------------------

    def _name_everything(self) -> None:
        program = self.program
        given = [r for r, origin in zip(program.inputs, self.traced.origins) if origin.kind == "given"]
        for r, path in zip(given, leaf_paths(self.args, self.parameters)):
            self.names[r] = path if path in self.parameters else self._fresh(identifier(program.names.get(r, "x")))
        for r, origin in zip(program.inputs, self.traced.origins):
            if origin.kind != "given":
                self.names[r] = self._fresh(identifier(program.names.get(r, origin.kind)))
        for r, data in program.constants.items():
            self.names[r] = short(data) or self._fresh(identifier(program.names.get(r, "constant")))
        counts: dict[str, int] = {}
        self.inlined = {i.out for i in program.code if self._is_transpose(i)}
        for i in program.code:
            if i.out in self.inlined:
                x = self.names[i.inputs[0]]
                self.names[i.out] = f"{x}.T" if len(program.types[i.out][0]) == 2 else f"{x}.mT"
            elif i.out in program.names:
                self.names[i.out] = self._fresh(identifier(program.names[i.out]))
            elif i.out == program.outputs[0]:
                self.names[i.out] = self._fresh("value")
            elif i.of is not None and program.slopes.get(i.out) in self.names:  # in u * v, v is the slope in u
                self.names[i.out] = self._fresh(identifier("d_" + self.names[program.slopes[i.out]]))
            else:
                op = i.op.base.name
                counts[op] = counts.get(op, 0) + 1
                self.names[i.out] = self._fresh(f"{op}{counts[op]}")

    def _is_transpose(self, i: Instruction) -> bool:
        """Whether it swaps the last two axes: then readers write `x.T`, and it needs no line of its own."""
        if i.op.base.name != "transpose" or i.out in self.program.names or i.out in self.program.outputs:
            return False
        axes = i.op.settings["axes"]
        return len(axes) > 1 and tuple(axes) == (*range(-len(axes), -2), -1, -2)

    def _fresh(self, name: str) -> str:
        return fresh_name(name, self.taken)

    # --- lines ----------------------------------------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        yield f'"""{self.title}: {self._about()}"""'
        yield ""
        if any("math." in i.op.written for i in self.program.code):
            yield "import math"
            yield ""
        yield "import numpy as np"
        for helper in dict.fromkeys(i.op.written for i in self.program.code if i.op.written):
            yield from ("", "", *helper.split("\n"))
        large = [(self.names[r], data) for r, data in self.program.constants.items() if not short(data)]
        if large:
            yield from ("", "")
        for name, data in large:
            yield f"{name} = {literal(data)}"
        yield from ("", "")
        extra = [self.names[r] for r, o in zip(self.program.inputs, self.traced.origins) if o.kind != "given"]
        yield f"def {self.title}({', '.join([*self.parameters, *(['*', *extra] if extra else [])])}):"
        yield from ("    " + line if line else "" for line in self._body())

    def _about(self) -> str:
        what = "its value and gradients" if any(self.traced.differentiated) else "its value"
        return f"{what}, written by handgrad. Needs NumPy alone."

    def _body(self) -> Iterator[str]:
        given = [r for r, o in zip(self.program.inputs, self.traced.origins) if o.kind == "given"]
        used = {r for i in self.program.code for r in i.inputs} | set(self.program.outputs)
        for r, path in zip(given, leaf_paths(self.args, self.parameters)):
            if r in used:
                yield f"{self.names[r]} = np.asarray({path})"
        if self.backward:
            yield from ("", "# forward")
        part, in_backward = "", False
        for i in self.program.code:
            if i.out in self.inlined:
                continue
            if i.of is not None and not in_backward:
                in_backward = True
                yield from ("", "# backward: d_x is the slope of the value in x; (n) is the forward line it is for")
            opened = i.part if i.part != part else ""
            part = i.part
            line = f"{self.names[i.out]} = {expression(i, self.names, self.program.types)}"
            comment = (" " if i.of is None else ": ").join(filter(None, (self._comment(i), opened)))
            yield f"{line:<{WIDTH}}  # {comment}" if comment else line
        yield ""
        yield f"return {self._returned()}"

    def _comment(self, i: Instruction) -> str:
        if i.of is None:
            return f"({self.number[i.out]})" if self.backward else ""
        return f"({self.number[i.of]}) {self.names[i.of]}" if i.of in self.number else ""

    def _returned(self) -> str:
        outputs = [self.names[r] for r in self.program.outputs]
        if not any(self.traced.differentiated):
            return mirrored(unflatten(self.traced.structure, [0.0] * len(outputs)), iter(outputs), _key)
        rest = iter(outputs[1:])
        grads = [next(rest) if wanted else "None" for wanted in self.traced.differentiated]
        return f"{outputs[0]}, {mirrored(tuple(self.args), iter(grads), _key)}"


# --- pieces of text ---------------------------------------------------------------------------------------------------


def expression(i: Instruction, names: dict[int, str], types: Sequence[Type]) -> str:
    """The right side of a line: how the op reads, in NumPy's words, with the names of its inputs and its settings."""
    op = i.op
    operands = [names[r] for r in i.inputs]
    settings = dict(op.settings)
    if "keepdims" in settings and not settings["keepdims"] and types[i.out][0] == ():
        settings["axis"] = None  # over all axes, as without an axis
    filled: dict[str, Any] = {name: written_setting(value) for name, value in settings.items()}
    if op.variadic:
        filled[op.names[-1]] = operands
    else:
        filled |= dict(zip(op.names, operands, strict=True))
    tree = template(op.reads)
    return ast.unparse(_Filled(op, filled).visit(_copied(tree)))


DEFAULTS = {("keepdims", "False"), ("axis", "None")}


def _copied(tree: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(tree), mode="eval").body


class _Filled(ast.NodeTransformer):
    """How an op reads, with texts in place of its names."""

    def __init__(self, op: Op, filled: dict[str, Any]) -> None:
        self.op, self.filled = op, filled

    def visit_Call(self, node: ast.Call) -> ast.AST:
        numpy = called(self.op.numpy[0]) if self.op.numpy else f"np.{self.op.name}"
        function = self.op.name if self.op.written else numpy
        arguments = [self.visit(argument) for argument in node.args]
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        keywords = [k for k in keywords if (k.arg, ast.unparse(k.value)) not in DEFAULTS]
        return ast.Call(_parsed(function), arguments, keywords)

    def visit_List(self, node: ast.List) -> ast.AST:  # [*xs]
        starred = node.elts[0]
        assert isinstance(starred, ast.Starred) and isinstance(starred.value, ast.Name)
        return ast.List([_parsed(text) for text in self.filled[starred.value.id]], ast.Load())

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        index = self.op.settings["index"]
        return _parsed(f"{ast.unparse(self.visit(node.value))}[{written_index(index)}]")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return _parsed(self.filled[node.id]) if node.id in self.filled else node


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def written_setting(value: Any) -> str:
    """A setting as text: one axis in place of a tuple of one."""
    if isinstance(value, tuple) and any(isinstance(x, (slice, type(...), np.ndarray, type(None))) for x in value):
        return f"np.s_[{written_index(value)}]"
    if isinstance(value, tuple) and len(value) == 1 and isinstance(value[0], int) and value[0] < 0:
        return str(value[0])
    return repr(value)


def written_index(index: Sequence[Any]) -> str:
    """What stands between the brackets."""
    return ", ".join(map(_index_part, index)) or "()"


def _index_part(part: Any) -> str:
    if part is Ellipsis:
        return "..."
    if isinstance(part, slice):
        start, stop = ("" if x is None else str(x) for x in (part.start, part.stop))
        return f"{start}:{stop}" + (f":{part.step}" if part.step is not None else "")
    return literal(part) if isinstance(part, np.ndarray) else repr(part)


def short(data: Any) -> str:
    """A constant that stands in the line itself: a plain number, or None; "" for an array."""
    if data is None or isinstance(data, (bool, int)):
        return repr(data)
    if isinstance(data, float):
        return _SPECIAL.get(data) or ("np.nan" if data != data else repr(data))
    if isinstance(data, np.generic):
        return f"np.{data.dtype.name}({short(data.item())})"
    return ""


_SPECIAL = {np.inf: "np.inf", -np.inf: "-np.inf"} | {
    float(getattr(np.finfo(dtype), which)): f"np.finfo({dtype!r}).{which}"
    for dtype in ("float32", "float64") for which in ("min", "tiny")
}  # fmt: skip


def literal(data: np.ndarray[Any, Any]) -> str:
    """An array as text that gives the same bits: the formula that makes it, else its numbers."""
    if data.size > 4:
        for text, made in _formulas(data):
            if made.dtype == data.dtype and made.tobytes() == data.tobytes():
                return text
    numbers = np.array2string(data, separator=", ", threshold=data.size + 1, floatmode="unique", max_line_width=100)
    numbers = re.sub(r"\bnan\b", "np.nan", re.sub(r"\binf\b", "np.inf", numbers))
    array = f"np.array({textwrap.indent(numbers, ' ' * 4).strip()}, {data.dtype.name!r})"
    return array if data.size else f"np.zeros({data.shape}, {data.dtype.name!r})"


def _formulas(data: np.ndarray[Any, Any]) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Formulas that may make an array, as text and as what they make: one number, places in a row, a causal mask."""
    shape, first = data.shape, data.flat[0].item()
    yield f"np.full({shape}, {short(first)}, {data.dtype.name!r})", np.full(shape, first, data.dtype)
    if data.dtype == np.int64 and np.abs(data).max() < 2**31:
        step = int(data.flat[1]) - first or 1
        stop = first + step * data.size
        text = f"np.arange({stop})" if (first, step) == (0, 1) else f"np.arange({first}, {stop}, {step})"
        yield text + (f".reshape{shape}" if data.ndim > 1 else ""), np.arange(first, stop, step)
    if data.dtype == bool and data.ndim == 2:
        for sign, mask in (("", data), ("~", ~data)):
            last = int(np.count_nonzero(mask[0])) - 1
            tri = np.tri(shape[0], shape[1], last, bool)
            yield f"{sign}np.tri({shape[0]}, {shape[1]}, {last}, bool)", ~tri if sign else tri


def fresh_name(name: str, taken: set[str]) -> str:
    """The name, or name_2, name_3, ... if it is taken; it is from now on."""
    chosen, n = name, 1
    while chosen in taken:
        n += 1
        chosen = f"{name}_{n}"
    taken.add(chosen)
    return chosen


def identifier(name: str) -> str:
    """A name that Python takes: dots and other signs become underscores."""
    name = re.sub(r"\W+", "_", name).strip("_") or "x"
    name = f"x{name}" if name[0].isdigit() else name
    return f"{name}_" if name in RESERVED else name


def leaf_paths(args: Sequence[Any], parameters: Sequence[str]) -> list[str]:
    """How each leaf is reached from the parameters: `params['w']`."""
    return [name + "".join(map(_step, one.steps)) for name, x in zip(parameters, args) for one in reached(x)]


def _step(step: tuple[str, Any]) -> str:
    return f".{step[1]}" if step[0] == "field" else f"[{step[1]!r}]"


def _key(x: Any) -> str:
    return "" if isinstance(x, type) else repr(x)  # a namedtuple is written as a tuple
