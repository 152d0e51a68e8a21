"""Mutants: the rules of `autograd/ops` and the formulas of `nn/functional/`, each with one small thing wrong.

They are generated from the syntax tree, not listed: whatever is written there is attacked.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    module: str  # as it is imported: "autograd.ops.reduce"
    line: int
    owner: str  # the op or function it is in
    kind: str  # "dropped term"
    before: str
    after: str
    place: int  # of the changed node, in the order of ast.walk
    new: ast.expr

    @property
    def code(self) -> ast.Module:
        """The whole module, with the one node replaced."""
        tree = ast.parse(path_of(self.module).read_text())
        for place, node in enumerate(ast.walk(tree)):
            if place == self.place:
                node.replaced = True  # type: ignore[attr-defined]
        return ast.fix_missing_locations(_Replace(self.new).visit(tree))

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.owner}, {self.kind}: {self.before}  →  {self.after}"


def path_of(module: str) -> Path:
    return ROOT / (module.replace(".", "/") + ".py")


def mutants_of(module: str) -> Iterator[Mutant]:
    """Every mutant of a module: of its rules if it declares ops, of all its functions else."""
    tree = ast.parse(path_of(module).read_text())
    places = {node: place for place, node in enumerate(ast.walk(tree))}
    for owner, root, inputs in _targets(tree):
        for node in _mutable(root):
            for kind, replacement in _changes(node, inputs):
                if ast.dump(replacement) == ast.dump(node):
                    continue
                before, after = ast.unparse(node), ast.unparse(replacement)
                yield Mutant(module, node.lineno, owner, kind, before, after, places[node], replacement)


class _Replace(ast.NodeTransformer):
    def __init__(self, new: ast.expr) -> None:
        self.new = new

    def visit(self, node: ast.AST) -> ast.AST:
        return copy.deepcopy(self.new) if getattr(node, "replaced", False) else self.generic_visit(node)


# --- where --------------------------------------------------------------------------------------------------


def _targets(tree: ast.Module) -> Iterator[tuple[str, ast.AST, list[str]]]:
    """(owner, code, names of its inputs): each rule, and each function that rules are built from; or all."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    ops = [call for call in calls if call.func.id == "Op"]  # type: ignore[attr-defined]
    if not ops:
        for name, function in functions.items():
            yield name, function, _inputs(function)
        return
    done: set[str] = set()
    for call in ops:
        owner = call.args[0].value if isinstance(call.args[0], ast.Constant) else "?"
        rule = next((k.value for k in call.keywords if k.arg == "vjp"), None)
        if rule is not None:
            yield from _rule_code(str(owner), rule, functions, done)


def _rule_code(
    owner: str, rule: ast.AST, functions: dict[str, ast.FunctionDef], done: set[str]
) -> Iterator[tuple[str, ast.AST, list[str]]]:
    """The lambdas of a rule, and the functions of this module that it names, each once."""
    for node in ast.walk(rule):
        if isinstance(node, ast.Lambda):
            yield owner, node, _inputs(node)
        elif isinstance(node, ast.Name) and node.id in functions and node.id not in done:
            done.add(node.id)
            function = functions[node.id]
            yield owner, function, _inputs(function)
            for part in function.body:
                yield from _rule_code(owner, part, {k: v for k, v in functions.items() if k != node.id}, done)


def _inputs(function: ast.FunctionDef | ast.Lambda) -> list[str]:
    """The names of the arrays a rule or formula works on: not its settings."""
    return [a.arg for a in function.args.args if a.arg not in SETTINGS]


def _mutable(root: ast.AST) -> Iterator[ast.expr]:
    """The expressions of a function that compute: not its messages, defaults and annotations."""
    if isinstance(root, ast.FunctionDef):
        stack: list[ast.AST] = [s for s in root.body if not _is_docstring(s)]
    else:
        assert isinstance(root, ast.Lambda)
        stack = [root.body]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
            continue
        if isinstance(node, ast.expr):
            yield node
        if isinstance(node, ast.FunctionDef):
            stack += [s for s in node.body if not _is_docstring(s)]
        elif isinstance(node, ast.Lambda):
            stack.append(node.body)
        elif isinstance(node, ast.arg):
            continue
        else:
            stack += list(ast.iter_child_nodes(node))


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


# --- what ---------------------------------------------------------------------------------------------------

FLIPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
MIRRORED = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
MOVES = {"swapaxes", "transpose", "moveaxis", "flip"}
SETTINGS = {"axis", "axes", "keepdims", "shape", "index", "width", "centre", "causal", "eps", "k", "n_heads",
            "reduction", "who", "rng", "p", "terms", "right", "i"}  # fmt: skip
QUESTIONS = {"shape", "shape_of", "ndim", "rank_of", "size", "isinstance", "getattr", "hasattr", "len", "range", "zip",
             "enumerate"}  # fmt: skip


def _changes(node: ast.expr, inputs: list[str]) -> Iterator[tuple[str, ast.expr]]:
    """What can go wrong with one expression."""
    if isinstance(node, ast.BinOp):
        yield from _operator(node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield "flipped sign", node.operand
    elif isinstance(node, ast.Attribute) and node.attr in ("mT", "T"):
        yield "lost transpose", node.value
    elif isinstance(node, ast.Call):
        yield from _call(node)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in MIRRORED:
        yield "mirrored comparison", ast.Compare(node.left, [MIRRORED[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value not in (None,):
        yield "other constant", ast.Constant(node.value + 1)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in inputs:
        if len(inputs) > 1:
            yield "swapped inputs", ast.Name(inputs[(inputs.index(node.id) + 1) % len(inputs)], ast.Load())
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and 1 <= len(node.elts) <= 4 and "g" in inputs:
        yield from _gradients(node)


def _operator(node: ast.BinOp) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node.op, ast.MatMult):
        yield "swapped inputs", ast.BinOp(node.right, node.op, node.left)
        return
    what = "term" if isinstance(node.op, ast.Add | ast.Sub) else "factor"
    if isinstance(node.op, ast.Pow):
        yield "lost power", node.left
        return
    if type(node.op) not in FLIPPED:
        return
    yield f"dropped {what}", node.left
    if not isinstance(node.op, ast.Div):
        yield f"dropped {what}", node.right
    yield (
        "flipped sign" if what == "term" else "other operator",
        ast.BinOp(node.left, FLIPPED[type(node.op)](), node.right),
    )
    if what == "factor":
        yield "scaled by 2", ast.BinOp(ast.Constant(2.0), ast.Mult(), node)


def _call(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if not node.args or isinstance(node.args[0], ast.Starred):
        return
    if name in QUESTIONS:
        return
    yield "lost transpose" if name in MOVES else "lost call", node.args[0]
    plain = [i for i, a in enumerate(node.args) if not isinstance(a, ast.Starred)]
    if len(plain) >= 2 and plain[:2] == [0, 1]:
        yield "swapped inputs", ast.Call(node.func, [node.args[1], node.args[0], *node.args[2:]], node.keywords)


def _gradients(node: ast.Tuple) -> Iterator[tuple[str, ast.expr]]:
    """A tuple in a rule: one gradient per input."""
    for i, gradient in enumerate(node.elts):
        if isinstance(gradient, ast.Constant | ast.Starred | ast.Slice):
            continue
        yield "lost path", _with(node, i, ast.Constant(None))
        yield "scaled by 2", _with(node, i, ast.BinOp(ast.Constant(2.0), ast.Mult(), gradient))
    if len(node.elts) == 2:
        yield "swapped inputs", ast.Tuple([node.elts[1], node.elts[0]], ast.Load())


def _with(node: ast.Tuple, i: int, new: ast.expr) -> ast.Tuple:
    return ast.Tuple([*node.elts[:i], new, *node.elts[i + 1 :]], ast.Load())
