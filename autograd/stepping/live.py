"""The numbers of a page as a program: every line of every step in scalars, small enough for JSON.

The page keeps one row of registers, a float each. A block of them holds the numbers of one quantity: a node's value,
what a step adds to a gradient, the total, a line that a rule names. A line is code that fills its own block from
others, and the pieces of text and numbers that it is shown as. Run in order, the lines of all steps are the forward
and the backward pass; run on the printed numbers, one line is what a reader works out by hand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd.drawing.roles import Roles
from autograd.errors import HandgradError
from autograd.expr import UNKNOWN, Expr
from autograd.formula.arithmetic import Slots
from autograd.formula.lines import Line, quantity, summed
from autograd.formula.numbers import count, json_number
from autograd.formula.scalars import ALL_DIGITS, Entries, Opener, in_order, spelled
from autograd.op import OPS, shape_of
from autograd.stepping.questions import ANY_REMEDY, name_of
from autograd.stepping.steps import BACKWARD, Contribution, Step
from autograd.value import Value

if TYPE_CHECKING:
    from autograd.stepping.stepper import Stepper

USUAL_RATE = 0.1  # of gradient descent, to begin with
MOST_SCALARS = 20_000  # of a page whose numbers can be changed
KINDS = {"f": "", "i": "whole", "u": "whole", "b": "truth"}


class NotLive(Exception):
    """Why the numbers of a page cannot be changed."""


@dataclass(frozen=True)
class Block:
    """Some registers in a row: the numbers of one quantity."""

    number: int
    start: int
    shape: tuple[int, ...]
    kind: str = ""  # "whole" and "truth" are never rounded

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Register:
    """One register of a block."""

    block: Block
    offset: int

    @property
    def number(self) -> int:
        return self.block.start + self.offset


class Live:
    """The program of one stepper's steps."""

    def __init__(self, stepper: Stepper) -> None:
        self.stepper, self.words, self.walk = stepper, stepper.words, stepper.walk
        self.functions: list[str] = []
        self.blocks: list[Block] = []
        self.registers = 0
        self.lines: list[dict[str, Any]] = []
        self.constants: dict[int, Any] = {}  # by register
        self._by_value: dict[Any, Block] = {}  # of plain numbers
        self._of: dict[Any, Block] = {}  # by quantity
        self._line_of: dict[int, int] = {}  # by the id of its result
        self._kept: list[Any] = []  # kept alive, so that no other object gets its id
        self._open = Opener(ALL_DIGITS, shorten=False)
        self.sends: list[dict[str, Any]] = []
        self.gradients: dict[Value, Block] = {}
        self._sent: dict[tuple[Value, int], tuple[Block, Block]] = {}
        self._send_with: dict[int, int] = {}  # by the number of the total
        self.shown: dict[int, tuple[Block, Block]] = {}  # what a contribution adds and comes to, by its id
        self._refuse_large()
        for node in self.walk.nodes:
            block = self._of[id(node), False] = self._new_block(np.shape(node.data), self._kind(node.data))
            if node.op is None and block.kind:  # no number that can be changed
                self.constants |= {block.start + i: json_number(x) for i, x in enumerate(np.ravel(node.data).tolist())}
        self.forward = [number for step in stepper.every if step.kind != BACKWARD for number in self._forward(step)]
        for step in stepper.every:
            if step.kind == BACKWARD:
                self._backward(step)
        for step in stepper:
            self._note_shown(step)

    # --- what is refused -----------------------------------------------------------------------------------------

    def _refuse_large(self) -> None:
        scalars = sum(node.size * _terms(node) for node in self.walk.nodes)
        if scalars > MOST_SCALARS:
            raise NotLive(
                f"it computes some {count(scalars)} scalars; up to {count(MOST_SCALARS)} a page can be changed"
            )

    def _kind(self, data: Any) -> str:
        dtype = np.asarray(data).dtype
        if dtype.kind not in KINDS or (dtype.kind == "f" and dtype != np.float64):
            raise NotLive(f"its numbers are {dtype}, and a page computes in float64")
        return KINDS[dtype.kind]

    # --- registers -----------------------------------------------------------------------------------------------

    def _function(self, name: str) -> int:
        if name not in self.functions:
            self.functions.append(name)
        return self.functions.index(name)

    def _new_register(self) -> int:
        self.registers += 1
        if self.registers > 20 * MOST_SCALARS:
            raise NotLive(f"its steps take more than {count(20 * MOST_SCALARS)} operations")
        return self.registers - 1

    def _new_block(self, shape: tuple[int, ...], kind: str = "") -> Block:
        block = Block(len(self.blocks), self.registers, tuple(map(int, shape)), kind)
        self.registers += block.size
        self.blocks.append(block)
        return block

    def constant(self, value: Any) -> Block:
        """The block of a plain number or array."""
        array = np.asarray(value)
        key = (array.dtype.kind, array.shape, array.tobytes())
        if key not in self._by_value:
            block = self._by_value[key] = self._new_block(array.shape, self._kind(array))
            self.constants |= {block.start + i: json_number(x) for i, x in enumerate(array.ravel().tolist())}
        return self._by_value[key]

    def block(self, e: Expr) -> Block:
        """The block of a symbol or a plain number."""
        if e.op is None and not e.name:
            return self.constant(e.value)
        found = self._of.get(quantity(e))
        if found is None and isinstance(e.node, np.ndarray):  # a plain array by its name
            found = self._of[quantity(e)] = self.constant(e.node)
        if found is None and e.value is not UNKNOWN:
            found = self._of[quantity(e)] = self._new_block(np.shape(e.value), self._kind(e.value))
            self._kept.append(e)
        if found is None:
            raise NotLive(f"{e.name} can only be run by Python")
        return found

    def _operand(self, e: Expr) -> int:
        """The register of a scalar without an op."""
        return e.node.number if isinstance(e.node, Register) else self.constant(e.value).start

    def entries(self, symbol: Expr) -> Any:
        """The entries of a symbol: Exprs that know their register. Whole numbers that were given stay as they are."""
        block, value = self.block(symbol), np.asarray(symbol.value)
        given = isinstance(symbol.node, np.ndarray) or (isinstance(symbol.node, Value) and symbol.node.op is None)
        if block.kind and given and not symbol.is_gradient:
            return value
        array = np.empty(block.shape, object)
        for offset, index in enumerate(np.ndindex(block.shape)):
            array[index] = Expr("x", value[index].item(), node=Register(block, offset), is_gradient=symbol.is_gradient)
        return Entries(array)

    # --- lines ---------------------------------------------------------------------------------------------------

    def line(self, line: Line) -> int:
        """The number of a line, written if it is new."""
        found = self._line_of.get(id(line.result))
        if found is None:
            self._kept.append(line)
            spelled = self._spelled(line.formula)
            result = self.block(line.result)
            code = self._code({result.start + offset: e for offset, e in enumerate(spelled.ravel())})
            found = self._line_of[id(line.result)] = len(self.lines)
            self.lines.append(self._as_data(line, result, code, spelled))
        return found

    def _as_data(self, line: Line, result: Block, code: list[int], spelled: Any) -> dict[str, Any]:
        data: dict[str, Any] = {"result": result.number, "code": code, "gradient": int(line.result.is_gradient)}
        data["uses"] = [self.block(e).number for e in line.quantities]
        data["named"] = [self.block(e).number for e in line.formula.symbols()]
        data["terms"] = [self.block(e).number for e in summed(line)]
        data["shown"] = int(line.is_shown)
        if line.formula.op is not None:
            data["pieces"] = Slots(self.block, line.is_shown).pieces(line.formula)
        if line.is_spelled:
            data["entries"] = [self._entry(e) for e in spelled.ravel()]
        return data

    def _entry(self, e: Expr) -> dict[str, Any] | None:
        """How one entry is shown, and the code that works it out."""
        if e.op is None:
            return None
        operands = list(Line(e, e).quantities)
        pieces = Slots(self._scalar, True).pieces(e)
        target = self._new_register()
        uses = [[register.block.number, register.offset] for register in map(self._scalar, operands)]
        terms = [self._scalar(t) for t in summed(Line(e, e))[:-1]]
        return {
            "pieces": pieces, "uses": uses, "code": self._code({target: e}), "result": target,
            "terms": [[register.block.number, register.offset] for register in terms],
        }  # fmt: skip

    def _scalar(self, e: Expr) -> Register:
        """The register of an operand of one entry."""
        return e.node if isinstance(e.node, Register) else Register(self.constant(e.value), 0)

    def _spelled(self, formula: Expr) -> Any:
        """Every entry of a formula as a formula of scalars."""
        try:
            return spelled(formula, self.entries)
        except HandgradError as error:
            raise NotLive(str(error)) from error

    def _code(self, formulas: dict[int, Expr]) -> list[int]:
        """Instructions that fill registers with formulas of scalars, flat: function, target, operands."""
        code: list[int] = []
        registers: dict[int, int] = {}  # by the id of the formula that they hold

        def emit(function: str, target: int, *operands: int) -> int:
            code.extend((self._function(function), target, *operands))
            return target

        for target, formula in formulas.items():
            try:
                formula = self._open(formula)
            except HandgradError as error:
                raise NotLive(str(error)) from error
            for e in in_order(formula):
                if id(e) not in registers:
                    registers[id(e)] = self._operand(e) if e.op is None else emit(
                        e.op.base.name, self._new_register(), *(registers[id(x)] for x in e.args)
                    )  # fmt: skip
            emit("alias", target, registers[id(formula)])
        return code

    # --- the passes ----------------------------------------------------------------------------------------------

    def _forward(self, step: Step) -> list[int]:
        return [self.line(line) for line in step.lines]

    def _backward(self, step: Step) -> None:
        arrived = self.gradients.get(step.node)
        if arrived is None:
            arrived = self.gradients[step.node] = self.constant(np.asarray(step.incoming, dtype=float))
        self._of[id(step.node), True] = arrived
        for place, contribution in enumerate(step.contributions):
            if not contribution.lines or contribution.line is None:
                raise NotLive(f"the rule of {step.name} can only be run by Python")
            lines = [self.line(line) for line in contribution.lines]
            added = self.block(contribution.added)
            before = self.gradients.get(contribution.parent)
            total = added if before is None else self._new_block(added.shape)
            self.gradients[contribution.parent] = total
            self._sent[step.node, place] = added, total
            self._send_with[total.number] = len(self.sends)
            self.sends.append({
                "lines": lines, "added": added.number, "total": total.number,
                "before": -1 if before is None else before.number, "arrives": arrived.number,
                "value": self.value_block(step.node),
            })  # fmt: skip

    def _note_shown(self, step: Step) -> None:
        """The blocks of what a step's contributions add and come to; of a folded module, the sum of its parts."""
        for place, contribution in enumerate(step.contributions):
            if step.module is None:
                self.shown[id(contribution)] = self._sent[step.node, place]
            else:
                self.shown[id(contribution)] = self._of_module(step, contribution)

    def _of_module(self, step: Step, contribution: Contribution) -> tuple[Block, Block]:
        inside = set(step.nodes)
        parts = [
            self._sent[other.node, place]
            for other in self.stepper.every
            if other.kind == BACKWARD and other.node in inside
            for place, sent in enumerate(other.contributions)
            if sent.parent is contribution.parent
        ]
        added, total = parts[0][0], parts[-1][1]
        for more, _ in parts[1:]:
            both = self._new_block(added.shape)
            self.sends.append({"lines": [], "added": more.number, "before": added.number, "total": both.number})
            added = both
        return added, total

    # --- as data -------------------------------------------------------------------------------------------------

    def data(self) -> dict[str, Any]:
        """Everything for the page."""
        role = Roles(self.walk.nodes, self.stepper.names, self.stepper.inputs)
        leaves = [node for node in self.walk.nodes if node.op is None and np.asarray(node.data).dtype.kind == "f"]
        named = [node for node in self.walk.nodes if self._is_named(node)]
        return {
            "functions": self.functions,
            "registers": self.registers,
            "blocks": [[block.start, list(block.shape), block.kind] for block in self.blocks],
            "constants": list(self.constants.items()),
            "leaves": [
                {
                    "name": self.words.name(leaf), "role": role(leaf),
                    "value": self.value_block(leaf), "gradient": self.gradient_block(leaf),
                    "start": [json_number(x) for x in np.ravel(self.words.data(leaf)).tolist()],
                }
                for leaf in leaves
            ],
            "names": {self.words.name(n): [self.value_block(n), self.gradient_block(n)] for n in named},
            "root": self.value_block(self.stepper.root),
            "top": self.words.top,
            "optimizer": self.stepper.update,
            "forward": self.forward,
            "sends": self.sends,
            "lines": self.lines,
            "made": [self._made(node) for node in self.walk.nodes],
        }  # fmt: skip

    def _made(self, node: Value) -> dict[str, Any]:
        """What a page says of a node whose value is a NaN or an infinity."""
        parents = [self.value_block(x) for x in dict.fromkeys(node.parents)]
        known = {"name": name_of(node), "named": int(bool(node.name)), "value": self.value_block(node), "from": parents}
        if node.op is None:
            return known
        return known | {"op": node.op.name, "remedy": node.op.about.bad or ANY_REMEDY}

    def _is_named(self, node: Value) -> bool:
        if node.op is None:
            return np.asarray(node.data).dtype.kind == "f"
        return node is self.stepper.root or (
            bool(self.words.names.name(node)) and not self.words.names.is_made_up(node)
        )

    def value(self, node: Value) -> Block:
        return self._of[id(node), False]

    def value_block(self, node: Value) -> int:
        return self.value(node).number

    def gradient_block(self, node: Value) -> int:
        found = self.gradients.get(node)
        return -1 if found is None else found.number

    def step_data(self, step: Step) -> dict[str, Any]:
        """What the page needs to spell the numbers of one step."""
        if step.module is not None:
            return {"lines": [], "ledgers": [], "sends": [], "arrives": -1}
        ledgers = [
            [[block.number for block in self.shown[id(entry)]] for entry in contribution.ledger()]
            for contribution in step.contributions
            if contribution.previous is not None
        ]
        sends = [self._send_of(step, place) for place in range(len(step.contributions))]
        arrives = self.gradient_block(step.node) if step.kind == BACKWARD else -1
        lines = [self.line(line) for line in step.lines]
        return {"lines": lines, "ledgers": ledgers, "sends": sends, "arrives": arrives}

    def _send_of(self, step: Step, place: int) -> int:
        _, total = self._sent[step.node, place]
        return self._send_with[total.number]


def build(stepper: Stepper) -> Live | str:
    """The program of a page, or why there is none."""
    if not stepper.walk.nodes:
        return "nothing is computed"
    try:
        return Live(stepper)
    except NotLive as reason:
        return str(reason)


def update_of(optimizer: Any) -> dict[str, Any]:
    """What a page needs to update as an optimizer of `nn.optim` does, from its first step on."""
    if optimizer is None:
        return {"name": "SGD", "rate": USUAL_RATE}
    name, rate = type(optimizer).__name__, getattr(optimizer, "rate", None)
    if rate is None:
        raise TypeError(f"step: expected optimizer=nn.optim.SGD(…), Adam(…) or AdamW(…), got {name}")
    if hasattr(optimizer, "betas") and not optimizer.amsgrad:
        return {"name": name, "rate": rate, "betas": list(optimizer.betas), "eps": optimizer.eps,
                "decay": optimizer.weight_decay, "decoupled": optimizer.decoupled}  # fmt: skip
    if name == "SGD" and not optimizer.momentum and not optimizer.weight_decay:
        return {"name": name, "rate": rate}
    raise ValueError(
        f"step: a page updates by SGD without momentum and weight decay, by Adam or AdamW without amsgrad; got {name}"
    )


def _terms(node: Value) -> int:
    """How many products each entry of a matrix product sums."""
    if node.op is None or node.op.base not in (OPS["matmul"], OPS["linear"], OPS["einsum"]):
        return 1
    return int(([1, *shape_of(node.inputs[0])])[-1])
