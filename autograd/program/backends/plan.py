"""Where each register of a program lives while NumPy runs it.

    given   an input: the caller's own array, which is only read
    fresh   a result: a new array at each call, so that the caller may keep it
    fixed   all else: a buffer of the thread, a view of one, or a constant; the name of an array that is made once

Buffers are used again once nothing reads them any more. An elementwise op may write over an operand that dies with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..program import Program, is_weak

SMALL = 512  # numbers, up to which a call costs more than its arithmetic

Array = np.ndarray[Any, Any]
Make = Callable[[dict[str, Any]], Array]


class _Buffer:
    """A buffer in the plan: what it holds, when it is first written and last touched, what it may be written over."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], place: int) -> None:
        self.shape, self.dtype, self.first, self.last = shape, dtype, place, place
        self.may_replace: list[_Buffer] = []
        self.slot = -1


class Plan:
    """The lines of a function, and the arrays that they name."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lines: list[str] = []
        self.text: dict[int, str] = {}  # register → its name in the lines
        self.fixed: dict[int, Array] = {}  # register → its array in this plan: to look at, never to read numbers from
        self.env: dict[str, Any] = {}  # names that all threads share: constants and functions
        self.made: list[tuple[str, Make]] = []  # names that each thread makes for itself, in order
        self._buffers: dict[str, _Buffer] = {}
        self._base: dict[int, _Buffer] = {}  # register → the buffer that it lives in
        self._weak: dict[Any, str] = {}
        self._spread: dict[tuple[int, tuple[int, ...]], str] = {}
        self._fresh: set[int] = set()
        self._results = set(program.outputs)
        self._place = 0
        for n, r in enumerate(program.inputs):
            self.text[r] = f"x{n}"
        for r, data in program.constants.items():
            if isinstance(data, np.ndarray) and data.ndim:
                self.text[r] = self.share(f"c{r}", _locked(data))
                self.fixed[r] = self.env[f"c{r}"]

    def at(self, place: int) -> None:
        """The lines that follow are of this instruction."""
        self._place = place

    # --- what an op's lines are made of ---------------------------------------------------------------------

    def shape(self, r: int) -> tuple[int, ...]:
        return self.program.types[r][0]

    def size(self, r: int) -> int:
        return int(np.prod(self.shape(r), dtype=np.int64))

    def dtype(self, r: int) -> np.dtype[Any]:
        return self.program.types[r][1]

    def share(self, name: str, thing: Any) -> str:
        """A name for something that all threads use."""
        self.env[name] = thing
        return name

    def function_named(self, function: Any) -> str:
        name = f"f_{getattr(function, '__module__', '') or 'np'}_{function.__name__}".replace(".", "_")
        if hasattr(function, "__self__"):
            name += f"_{function.__self__.__name__}"
        return self.share(name, function)

    def read(self, r: int, dtype: Any = None) -> str:
        """The name of an operand; a plain number in the dtype of what it meets."""
        if r in self._base:
            self._base[r].last = self._place
        if r in self.text:
            narrow = dtype is not None and np.dtype(dtype).kind == "f" and np.dtype(dtype) != np.float64
            if narrow and self.shape(r) == () and self.dtype(r) == np.float64:
                return self._narrowed(r, np.dtype(dtype))
            return self.text[r]
        data = self.program.constants[r]
        kind = np.dtype(dtype) if dtype is not None and is_weak(data) else self.dtype(r)
        return self.number(data, kind)

    def read_spread(self, r: int, dtype: Any, shape: tuple[int, ...]) -> str:
        """An operand of an elementwise op; where few numbers are broadcast, in the shape of the result.

        To repeat them first, once for all that read them, takes half the time of an op that broadcasts.
        """
        name = self.read(r, dtype)
        own = self.shape(r)
        if not own or own == shape or r not in self.text or math.prod(shape) > SMALL:
            return name
        if (r, shape) not in self._spread:
            self._spread[r, shape] = spread = self._buffer_named(shape, self.dtype(r))
            self.lines.append(f"{spread}[...] = {name}")
        spread = self._spread[r, shape]
        self._buffers[spread].last = self._place
        return spread

    @np.errstate(all="ignore")
    def number(self, data: Any, dtype: Any) -> str:
        """A number as an array of no axes, which NumPy takes in half the time of a Python number."""
        key = (repr(data), np.dtype(dtype).str)
        if key not in self._weak:
            self._weak[key] = self.share(f"n{len(self._weak)}", _locked(np.array(data, dtype)))
        return self._weak[key]

    def _narrowed(self, r: int, dtype: np.dtype[Any]) -> str:
        """A float64 scalar beside float32 arrays is a plain number to the engine: it takes their dtype."""
        name = self._buffer_named((), dtype)
        self.lines.append(f"{name}[()] = {self.text[r]}")
        return name

    def out(self, r: int, over: Sequence[int] = ()) -> str:
        """A place to write a register to: a new array if it is a result, else a buffer.

        `over` are operands that the op may write over, entry by entry.
        """
        shape, dtype = self.program.types[r]
        if r in self._results:
            self.text[r] = name = f"r{r}"
            self._fresh.add(r)
            self.lines.append(f"{name} = empty({shape}, {self.share(f'd_{dtype.name}', dtype)})")
            return name
        name = self._buffer_named(shape, dtype)
        buffer = self._buffers[name]
        for x in over:
            if x in self._base and self.text[x] in self._buffers and self.program.types[x] == self.program.types[r]:
                buffer.may_replace.append(self._base[x])
        self.text[r], self._base[r], self.fixed[r] = name, buffer, np.empty(shape, dtype)
        return name

    def spare(self, shape: tuple[int, ...], dtype: Any) -> str:
        """Working space for the lines of one instruction."""
        return self._buffer_named(shape, np.dtype(dtype))

    def _buffer_named(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> str:
        name = f"b{len(self.made)}"
        buffer = self._buffers[name] = _Buffer(shape, dtype, self._place)
        self.made.append((name, lambda env: _shaped(env["slots"][buffer.slot], shape, dtype)))
        return name

    def is_fixed(self, r: int) -> bool:
        """Whether a register's array is known beforehand, so that views of it are made once."""
        return r in self.fixed

    def view(self, r: int, of: int, look: Callable[[Array], Array], text: str) -> None:
        """Let a register be a view of another: made once if that one is fixed, else by `text` at each call."""
        if of in self.fixed:
            name = self.fixed_view(of, look)
            self.text[r] = name
            self.fixed[r] = look(self.fixed[of])
            if of in self._base:
                self._base[r] = self._base[of]
        else:
            self.text[r] = f"v{r}"
            self.lines.append(f"v{r} = {text}")

    def fixed_view(self, of: int, look: Callable[[Array], Array]) -> str:
        """The name of a view of a fixed register."""
        source = self.text[of]
        if of not in self._base:  # of a constant
            return self.share(f"z{len(self.env)}", look(self.env[source]))
        self._base[of].last = self._place
        name = f"w{len(self.made)}"
        self.made.append((name, lambda env: look(env[source])))
        return name

    def part_of_out(self, out: str, r: int, look: Callable[[Array], Array], text: str) -> str:
        """A view of the place that `out` gave for r, to write a part of it or in another shape."""
        if r in self._fresh:
            name = f"p{len(self.lines)}"
            self.lines.append(f"{name} = {text}")
            return name
        return self.fixed_view(r, look)

    def stand_for(self, r: int, other: int) -> None:
        """Let a register be another one."""
        if other in self.text:
            self.text[r] = self.text[other]
        else:
            self.text[r] = self.read(other)
        if other in self.fixed:
            self.fixed[r] = self.fixed[other]
        if other in self._base:
            self._base[r] = self._base[other]

    # --- the function ---------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Give every buffer a slot, and write the line that returns the results."""
        self._place = len(self.program.code)
        returned: list[str] = []
        for r in self.program.outputs:
            name = self.read(r)
            if r in self._fresh and name not in returned:
                returned.append(name)
            else:  # an input, a constant, a view, or a result that is given twice
                returned.append(f"array({name})")
        self.lines.append(f"return [{', '.join(returned)}]")
        self._give_slots()
        self.fixed = {}  # nobody looks any more

    def _give_slots(self) -> None:
        buffers = sorted(self._buffers.values(), key=lambda b: b.first)
        self.slots: list[int] = []  # sizes in bytes
        free: dict[int, list[int]] = {}
        waiting: list[_Buffer] = []  # in use, to be freed after their last place
        for buffer in buffers:
            size = _bytes(buffer.shape, buffer.dtype)
            for old in [b for b in waiting if b.last < buffer.first]:
                waiting.remove(old)
                free.setdefault(_bytes(old.shape, old.dtype), []).append(old.slot)
            over = next((b for b in buffer.may_replace if b in waiting and b.last == buffer.first), None)
            if over is not None:
                waiting.remove(over)
                buffer.slot = over.slot
            elif free.get(size):
                buffer.slot = free[size].pop()
            else:
                buffer.slot = len(self.slots)
                self.slots.append(size)
            waiting.append(buffer)

    def source(self) -> str:
        """The function as text, inside one that takes the arrays it names."""
        names = ", ".join([*self.env, *(name for name, _ in self.made)])
        inputs = "".join(f"x{n}, " for n in range(len(self.program.inputs)))
        unpack = [f"{inputs}= inputs"] if inputs else []
        body = "\n        ".join([*unpack, *self.lines])
        return f"def make({names}):\n    def run(inputs):\n        {body}\n    return run\n"

    def function(self) -> Callable[[Sequence[Any]], list[Any]]:
        """The function, with buffers of its own."""
        if not hasattr(self, "_make"):
            self.env |= {"empty": np.empty, "array": np.array}
            namespace: dict[str, Any] = {}
            exec(compile(self.source(), "<handgrad program>", "exec"), namespace)
            self._make = namespace["make"]
        env: dict[str, Any] = {"slots": [np.empty(size, np.uint8) for size in self.slots], **self.env}
        for name, make in self.made:
            env[name] = make(env)
        del env["slots"]
        return self._make(**env)


def _bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return int(np.prod(shape, dtype=np.int64)) * dtype.itemsize


def _shaped(slot: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    return slot.view(dtype).reshape(shape)


def _locked(array: Array) -> Array:
    """A copy that nobody can write to."""
    array = array.copy()
    array.flags.writeable = False
    return array
