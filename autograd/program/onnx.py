"""A function's forward pass as an ONNX file, which other engines run.

The program of the function is made of core ops; nearly each is one node of ONNX. Parameters of modules, and all that
the function reaches from outside, are written into the file; the other arguments are its inputs, integers too.
Shapes are those of the call.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autograd.errors import DataError, TraceError
from autograd.op import OPS, Op
from autograd.ops.fused._erf import erf_in_ops
from autograd.saving.files import check_folder, write_whole

from .passes import drop_dead, fold, open_fused, optimised, share
from .program import Instruction, Program, common_dtype, is_weak
from .source import fresh_name, identifier
from .tracing.inputs import is_module, take_apart
from .tracing.trace import Traced, fetched_aside
from .tracing.twice import traces

OPSET = 18  # of 2022: axes as inputs, sums into given places
LARGEST = 2**31 - 2**20  # bytes: a file of ONNX is one message, of less than 2 GiB


def to_onnx(f: Callable[..., Any], *inputs: Any, path: str | os.PathLike[str]) -> None:
    """Write the forward pass of f, for inputs of these shapes, to an ONNX file.

    f is a function or a module; inputs are as in `compile`. A module's parameters are written into the file, the other
    arguments become its inputs, named as f names them. Needs `pip install 'handgrad[onnx]'`.
    """
    try:
        import onnx
    except ImportError:
        raise ImportError("to_onnx needs onnx: pip install 'handgrad[onnx]'") from None
    if not callable(f):
        raise TypeError(f"to_onnx takes a function or a module, as in to_onnx(f, x, path=...); got {f!r:.60}")
    check_folder(Path(path))
    leaves, _ = take_apart(inputs)
    traced = traces(f, inputs, leaves, gradients=False).traced
    if traced.outcomes or traced.left:
        what = f"decides by its inputs ({traced.lines[0]})" if traced.outcomes else "changes numbers on modules"
        raise TraceError(f"ONNX cannot hold a function that {what}. Write where(condition, a, b) for a branch.")
    example = fetched_aside(traced.origins, leaves)
    program = optimised(traced.program, example)
    program = drop_dead(share(fold(open_fused(program, example, _lowering))))
    held = _held(f, inputs, traced, program, example)
    title = getattr(f, "__name__", type(f).__name__)
    model = _Writer(program, held).model(identifier(title.replace("<lambda>", "program")))
    onnx.checker.check_model(model, full_check=True)
    write_whole(Path(path), model.SerializeToString())


def _held(
    f: Any, inputs: Sequence[Any], traced: Traced, program: Program, example: Sequence[Any]
) -> dict[int, tuple[str, Any]]:
    """The inputs of the program that are written into the file: register → name and data."""
    names = {id(p): path for x in (f, *inputs) if is_module(x) for path, p in x.named_parameters()}
    from_module = [
        is_module(x) for x in inputs for _ in take_apart([x])[0]
    ]  # for each leaf of the arguments
    held = {}
    for r, origin, data in zip(program.inputs, traced.origins, example):
        if origin.kind == "drawn":
            raise DataError("the function draws random numbers, and ONNX would not draw the same. Is it in training? "
                            "Write model.eval() first.")  # fmt: skip
        if origin.kind == "captured" or from_module[origin.place]:
            held[r] = names.get(id(origin.held)) or program.names.get(r) or "outside", np.asarray(data)
    if sum(data.nbytes for _, data in held.values()) > LARGEST:
        raise DataError("the parameters take 2 GiB or more, and an ONNX file of one part cannot hold them")
    return held


# --- ops that ONNX lacks, in ops that it has ------------------------------------------------------------------------


def _log1p(x: Any) -> Any:
    """log(u) of u = 1 + x, times x / (u - 1), which takes the rounding of u back (W. Kahan)."""
    u = 1.0 + x
    corrected = OPS["log"](u) * (x / OPS["where"](OPS["equal"](u, 1.0), 1.0, u - 1.0))
    usual = OPS["logical_and"](OPS["not_equal"](u, 1.0), u < np.inf)
    return OPS["where"](usual, corrected, OPS["where"](OPS["equal"](u, 1.0), x, u))


def _expm1(x: Any) -> Any:
    """The same the other way round: u - 1, times x / log(u), where u = exp(x) is near 1; else u - 1."""
    u = OPS["exp"](x)
    near = OPS["logical_and"](OPS["abs"](x) < 0.5, OPS["not_equal"](u, 1.0))
    corrected = (u - 1.0) * (x / OPS["log"](OPS["where"](near, u, 2.0)))
    return OPS["where"](near, corrected, OPS["where"](OPS["equal"](u, 1.0), x, u - 1.0))


def _arctan2(y: Any, x: Any) -> Any:
    """The angle of (x, y) from that of y / x or, where y is the larger, of x / y."""
    where, size = OPS["where"], OPS["abs"]
    steep = size(y) > size(x)
    ratio = where(steep, x, y) / where(steep, y, where(OPS["equal"](x, 0.0), 1.0, x))
    flat = OPS["arctan"](ratio)
    turned = where(y < 0, -np.pi, np.pi)
    return where(steep, turned / 2.0 - flat, where(x < 0, flat + turned, flat))


_OWN: dict[str, Callable[..., Any]] = {
    "log1p": _log1p, "expm1": _expm1, "arctan2": _arctan2, "erf": erf_in_ops,  # erf: known for float32 only
}  # fmt: skip


def _lowering(op: Op) -> Callable[..., Any] | None:
    return _OWN.get(op.base.name)


# --- nodes ----------------------------------------------------------------------------------------------------------

_ELEMENTWISE = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "neg": "Neg", "power": "Pow", "exp": "Exp", "log": "Log",
    "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "arctan": "Atan", "tanh": "Tanh", "sign": "Sign", "abs": "Abs",
    "maximum": "Max", "minimum": "Min", "floor": "Floor", "ceil": "Ceil", "rint": "Round", "fmod": "Mod",
    "less": "Less", "less_equal": "LessOrEqual", "greater": "Greater", "greater_equal": "GreaterOrEqual",
    "equal": "Equal", "not_equal": "Equal", "logical_and": "And", "logical_or": "Or", "logical_xor": "Xor",
    "logical_not": "Not",
}  # fmt: skip
_COMPARE = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
_TRUTHS = ("logical_and", "logical_or", "logical_xor", "logical_not")
_REDUCE = {"sum": "ReduceSum", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}


class _Writer:
    """The nodes of a program, one after the other."""

    def __init__(self, program: Program, held: dict[int, tuple[str, Any]]) -> None:
        import onnx

        self.onnx, self.program, self.held = onnx, program, held
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []
        self.taken: set[str] = set()
        self.name: dict[int, str] = {}
        self.made: dict[Any, str] = {}  # numbers and casts that are there already
        for r in program.inputs:
            self.name[r] = self._fresh(held[r][0] if r in held else program.names.get(r, "x"))

    def model(self, title: str) -> Any:
        """The whole file, as onnx keeps it."""
        program, helper = self.program, self.onnx.helper
        for r, (_, data) in self.held.items():
            self.tensors.append(self.onnx.numpy_helper.from_array(np.array(data), self.name[r]))
        for i in program.code:
            self.name[i.out] = self._fresh(program.names.get(i.out) or i.op.base.name)
            self._add(i)
        given = [self._described(self.name[r], r) for r in program.inputs if r not in self.held]
        results = []
        for n, r in enumerate(program.outputs):  # under names of their own: one may stand there twice, or be an input
            name = self._fresh("output" if len(program.outputs) == 1 else f"output_{n}")
            self._node("Identity", [self.read(r)], name)
            results.append(self._described(name, r))
        graph = helper.make_graph(self.nodes, title, given, results, self.tensors)
        opset = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opset, ir_version=8, producer_name="handgrad")

    def _described(self, name: str, r: int) -> Any:
        shape, dtype = self.program.types[r]
        return self.onnx.helper.make_tensor_value_info(name, self._kind(dtype), shape)

    def _kind(self, dtype: Any) -> int:
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def _fresh(self, name: str) -> str:
        return fresh_name(name, self.taken)

    def _node(self, kind: str, inputs: Sequence[str], out: str | None = None, **attributes: Any) -> str:
        out = out or self._fresh(kind)
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [out], name=out, **attributes))
        return out

    # --- operands -------------------------------------------------------------------------------------------

    def read(self, r: int, dtype: Any = None) -> str:
        """The name of a register; in another dtype, if one is named."""
        if r in self.program.constants:
            data = self.program.constants[r]
            return self._tensor(data, dtype if is_weak(data) and dtype is not None else self.program.types[r][1], dtype)
        return self._cast(self.name[r], self.program.types[r][1], dtype)

    def _tensor(self, data: Any, own: Any, dtype: Any = None) -> str:
        """A number or array, written into the file once."""
        array = np.array(data, own)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.made:
            self.made[key] = self._fresh("constant")
            self.tensors.append(self.onnx.numpy_helper.from_array(array, self.made[key]))
        return self._cast(self.made[key], array.dtype, dtype)

    def _cast(self, name: str, own: Any, dtype: Any) -> str:
        if dtype is None or np.dtype(dtype) == own:
            return name
        if (name, dtype) not in self.made:
            self.made[name, dtype] = self._node("Cast", [name], to=self._kind(dtype))
        return self.made[name, dtype]

    def _whole(self, *numbers: int) -> str:
        return self._tensor(np.array(numbers, np.int64), np.int64)

    # --- ops ------------------------------------------------------------------------------------------------

    def _add(self, i: Instruction) -> None:
        name = i.op.base.name
        if name in _ELEMENTWISE:
            self._elementwise(i)
        elif name in _REDUCE:
            self._reduce(i)
        elif hasattr(self, f"_{name}"):
            getattr(self, f"_{name}")(i, self.name[i.out])
        else:
            raise DataError(f"{name} has no counterpart in ONNX")

    def _elementwise(self, i: Instruction) -> None:
        name, out = i.op.base.name, self.name[i.out]
        if name in _TRUTHS:
            operands = [self._truth(r) for r in i.inputs]
        else:
            dtype = self._common(i) if name in _COMPARE else self.program.types[i.out][1]
            operands = [self.read(r, dtype) for r in i.inputs]
        extra = {"fmod": 1} if name == "fmod" else {}
        if name == "not_equal":
            self._node("Not", [self._node("Equal", operands)], out)
        else:
            self._node(_ELEMENTWISE[name], operands, out, **extra)

    def _truth(self, r: int) -> str:
        if self.program.types[r][1].kind == "b":
            return self.read(r)
        zero = self._tensor(0, self.program.types[r][1])
        return self._node("Not", [self._node("Equal", [self.read(r), zero])])

    def _common(self, i: Instruction) -> np.dtype[Any]:
        """The dtype in which numbers are compared; ONNX has no order of truths."""
        dtype = common_dtype(self.program, i)
        return np.dtype(np.int64) if dtype.kind == "b" else dtype

    def _reduce(self, i: Instruction) -> None:
        (x,), settings, dtype = i.inputs, i.op.settings, self.program.types[i.out][1]
        kind, out = _REDUCE[i.op.base.name], self.name[i.out]
        if 0 in self.program.types[x][0]:  # a sum of no numbers; engines differ in what they make of it
            data = i.op.compute(np.zeros(self.program.types[x][0], dtype))
            self._node("Identity", [self._tensor(data, dtype)], out)
            return
        axes, keep = self._whole(*settings["axis"]), int(settings["keepdims"])
        self._node(kind, [self.read(x, dtype), axes], out, keepdims=keep, noop_with_empty_axes=1)

    def _where(self, i: Instruction, out: str) -> None:
        condition, x, y = i.inputs
        dtype = self.program.types[i.out][1]
        self._node("Where", [self._truth(condition), self.read(x, dtype), self.read(y, dtype)], out)

    def _astype(self, i: Instruction, out: str) -> None:
        self._node("Cast", [self.read(i.inputs[0])], out, to=self._kind(i.op.settings["dtype"]))

    def _reshape(self, i: Instruction, out: str) -> None:
        x = self.read(i.inputs[0], self.program.types[i.out][1])
        self._node("Reshape", [x, self._whole(*self.program.types[i.out][0])], out)

    def _transpose(self, i: Instruction, out: str) -> None:
        axes = i.op.settings["axes"]
        self._node("Transpose", [self.read(i.inputs[0])], out, perm=[a % len(axes) for a in axes])

    def _broadcast_to(self, i: Instruction, out: str) -> None:
        x = self.read(i.inputs[0], self.program.types[i.out][1])
        self._node("Expand", [x, self._whole(*self.program.types[i.out][0])], out)

    def _concatenate(self, i: Instruction, out: str) -> None:
        dtype = self.program.types[i.out][1]
        self._node("Concat", [self.read(r, dtype) for r in i.inputs], out, axis=i.op.settings["axis"])

    def _matmul(self, i: Instruction, out: str) -> None:
        dtype = self.program.types[i.out][1]
        self._node("MatMul", [self.read(r, dtype) for r in i.inputs], out)

    def _cumsum(self, i: Instruction, out: str) -> None:
        axis = self._tensor(np.array(i.op.settings["axis"]), np.int64)
        self._node("CumSum", [self.read(i.inputs[0]), axis], out)

    def _argmax(self, i: Instruction, out: str) -> None:
        self._arg("ArgMax", i, out)

    def _argmin(self, i: Instruction, out: str) -> None:
        self._arg("ArgMin", i, out)

    def _arg(self, kind: str, i: Instruction, out: str) -> None:
        axis, x = i.op.settings["axis"], self.read(i.inputs[0])
        flat = x if axis is not None else self._node("Reshape", [x, self._whole(-1)])
        found = self._node(kind, [flat], axis=-1 if axis is None else axis, keepdims=int(i.op.settings["keepdims"]))
        self._node("Reshape", [found, self._whole(*self.program.types[i.out][0])], out)

    def _argsort(self, i: Instruction, out: str) -> None:
        axis = i.op.settings["axis"]
        count = self._whole(self.program.types[i.inputs[0]][0][axis])
        both, settings = [self._fresh("sorted"), out], {"axis": axis, "largest": 0, "sorted": 1}
        self.nodes.append(self.onnx.helper.make_node("TopK", [self.read(i.inputs[0]), count], both, out, **settings))

    # --- places ---------------------------------------------------------------------------------------------

    def _getitem(self, i: Instruction, out: str) -> None:
        (x,), index = i.inputs, i.op.settings["index"]
        shape, found = self.program.types[x][0], self.program.types[i.out][0]
        cuts = _slices(index, shape)
        if cuts is None:  # by arrays: the place of each number among all
            flat = self._node("Reshape", [self.read(x), self._whole(-1)])
            self._node("Gather", [flat, self._tensor(_places(index, shape), np.int64)], out)
            return
        taken = self.read(x)
        if cuts:
            columns = [self._whole(*column) for column in zip(*cuts)]
            taken = self._node("Slice", [taken, columns[0], columns[1], columns[3], columns[2]])
        self._node("Reshape", [taken, self._whole(*found)], out)

    def _scatter(self, i: Instruction, out: str) -> None:
        shape, dtype = self.program.types[i.out]
        places = _places(i.op.settings["index"], shape).reshape(-1)
        x = self._node("Reshape", [self.read(i.inputs[0], dtype), self._whole(-1)])
        zeros = self._node("Expand", [self._tensor(0, dtype), self._whole(int(np.prod(shape, dtype=np.int64)))])
        flat = self._node("ScatterElements", [zeros, self._tensor(places, np.int64), x], reduction="add")
        self._node("Reshape", [flat, self._whole(*shape)], out)

    def _take_rows(self, i: Instruction, out: str) -> None:
        x, ids = i.inputs
        self._node("Gather", [self.read(x), self.read(ids, np.int64)], out)

    def _put_rows(self, i: Instruction, out: str) -> None:
        (x, ids), (shape, dtype) = i.inputs, self.program.types[i.out]
        column = self._node("Unsqueeze", [self.read(ids, np.int64), self._whole(-1)])
        zeros = self._node("Expand", [self._tensor(0, dtype), self._whole(*shape)])
        self._node("ScatterND", [zeros, column, self.read(x, dtype)], out, reduction="add")

    def _within(self, i: Instruction, out: str) -> None:
        self._node("Identity", [self.read(i.inputs[0])], out)  # ONNX has no errors; Gather refuses what is outside


def _places(index: Any, shape: tuple[int, ...]) -> Any:
    """The places that an index names, counted along all entries of an array of this shape."""
    return np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape)[index]


def _slices(index: tuple[Any, ...], shape: tuple[int, ...]) -> list[tuple[int, int, int, int]] | None:
    """(start, stop, step, axis) for each axis that an index of slices and integers cuts; None for arrays."""
    parts = [part for part in index if part is not None]
    if any(isinstance(part, (np.ndarray, bool)) for part in parts):
        return None
    if Ellipsis in parts:
        place = parts.index(Ellipsis)
        parts[place : place + 1] = [slice(None)] * (len(shape) - len(parts) + 1)
    cuts = []
    for axis, (part, n) in enumerate(zip(parts, shape)):
        if not isinstance(part, slice):
            cuts.append((int(part) % n, int(part) % n + 1, 1, axis))
        elif part.indices(n) != (0, n, 1):
            start, stop, step = part.indices(n)
            cuts.append((start, stop if stop >= 0 else -n - 1, step, axis))
    return cuts
