"""Random functions compiled and called at many points, held equal to the engine: what a program may never get wrong.

    python -m tools.fuzz_compile --count 100000 --log tools/fuzz_compile.log
    python -m tools.fuzz_compile --seed 1234     # one function again

A function has 1 to 9 lines: ops, every function of NumPy's namespace, exits (`.data`, `int(v)`, `if`), also under
`no_grad`, `grad` and `jvp`. It is traced at one point and called at five others, chosen to change every decision. A
TraceError is an answer, and counted; another number is a failure, and is reduced to fewer lines.
"""

from __future__ import annotations

import argparse
import copy
import math
import platform
import resource
import signal
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

import autograd as ag
import nn
from autograd.errors import TraceError
from autograd.ops import POINTWISE

from .child import in_a_child

PORTION = 100  # functions in one process
LIMIT, MEMORY = 3.0, 2 << 30  # processor seconds for one function, bytes for one process
# Functions about files, printing, buffers, settings of NumPy and chance: no function of numbers alone.
def _items(text: str) -> list[str]:
    return " ".join(text.split()).split("; ")


NO_NUMBERS = _items("""
    apply_along_axis; apply_over_axes; array2string; array_repr; array_str; asarray_chkfinite; base_repr;
    binary_repr; bmat; busday_count; busday_offset; busdaycalendar; can_cast; compare_chararrays; copyto;
    datetime_as_string; datetime_data; empty; empty_like; errstate; fill_diagonal; finfo; format_float_positional;
    format_float_scientific; from_dlpack; frombuffer; fromfile; fromfunction; fromiter; frompyfunc; fromregex;
    fromstring; genfromtxt; get_include; get_printoptions; getbufsize; geterr; geterrcall; iinfo; info; is_busday;
    isdtype; issubdtype; iterable; load; loadtxt; may_share_memory; memmap; mintypecode; ndenumerate; nditer;
    nested_iters; piecewise; place; printoptions; promote_types; put; put_along_axis; putmask; require; save;
    savetxt; savez; savez_compressed; set_printoptions; setbufsize; seterr; seterrcall; shares_memory; show_config;
    show_runtime; test; typename; vectorize
""")


def numpy_functions() -> list[str]:
    """The names of NumPy's functions of numbers, read from its namespace."""
    kinds = (np.ufunc, FunctionType, BuiltinFunctionType, type(np.sum))
    found = [name for name in dir(np) if isinstance(getattr(np, name), kinds) and not name.startswith("_")]
    return [name for name in found if name not in NO_NUMBERS]


SCALAR_OPS = sorted({op.name for file in POINTWISE for op in vars(file).values() if isinstance(op, ag.Op)})
METHODS = _items("""
    sum; mean; max; min; prod; std; var; argmax; argmin; any; all; cumsum; item; tolist; numpy; detach; copy; ravel;
    flatten; squeeze; transpose; argsort; round
""")
SIGNS = _items("+; -; *; /; //; %; **; <; <=; >; >=; ==; !=; &; |; ^; @")
OTHERS = _items("""
    -{a}; +{a}; ~{a}; abs({a}); round({a}); round({a}, 1); divmod({a}, {b}); pow({a}, 2); {a} ** 3; {a}.data;
    {a}.data.sum(); {a}.shape; {a}.data.max(); {a}.data.argmax(); {a}.astype(float); {a}.astype(np.float32);
    {a}.data.astype(int); {a}.astype(bool); {a}.reshape(-1); {a}[0]; {a}[-1]; {a}[::-1]; {a}[..., 0]; {a}[1:];
    {a}[None]; {a}[k]; {a}[k[0]]; {a}[int({b})]; {a}[{b}]; {a}.data[0]; np.take({a}, k); {a}[int(np.argmax({b}))];
    {a}[{b} > 0]; {a}[{b}.argmax()]; float({a}); int({a}); bool({a}); len({a}); list({a}); sum({a}); max({a});
    min({a}); sorted({a}); any({a}); all({a}); max({a}, {b}); min({a}, {r}); sorted({a}.data); max({a}.tolist());
    hash({a}.data); {r} in {a}; {a}.item() in [{r}, 0.5]; [{a}, {b}].index({b}); not {a}; {a} and {b}; {a} or {b};
    math.exp({a}); math.floor({a}); math.isnan({a}); math.sqrt({a}.data); complex({a}); list(range(int({a}) % 2));
    list(range(int({a}) % 3)); ag.Value({a}.data); copy.copy({a}); copy.deepcopy({a}); {a} if {b} > {r} else {c};
    {a} if {b}.sum() > {r} else {c}; {a} if {b}.data.max() < {r} else {c}; {a} if np.isfinite({b}).all() else {c};
    {a} if {b}.any() else {c}; {a} if isinstance({b}, np.ndarray) else {c}; {a} if isinstance({b}, float) else {c};
    {a} if np.isscalar({b}) else {c}; {a} if np.ndim({b}) else {c};
    np.where({a} > {r}, {b}, {c}); ag.where({a} > {b}, {b}, {c}); ag.where({a}, {b}, {c}); np.clip({a}, -1.0, {b});
    np.where({a} > 0); {a}.dtype == np.float64; np.linalg.norm({a}); np.linalg.norm({a}.data); np.sum([{a}, {b}]);
    [v * {r} for v in {a}]; {a}[::2]; zip({a}, {b}); [p * q for p, q in zip({a}, {b})]; dict(a={a}); ({a}, {b});
    np.stack([{a}, {b}]); np.concatenate([{a}, {b}]); np.array([{a}, {b}]); np.maximum.reduce({a});
    np.add.outer({a}, {b}); ag.softmax({a}, axis=-1); ag.logsumexp({a}, axis=-1); ag.one_hot(k, 3);
    ag.max({a}, axis=0); ag.roll({a}, 1); ag.log_softmax({a}); ag.cumprod({a}); ag.sort({a}); ag.median({a});
    ag.layer_norm({a}); ag.diff({a}); ag.norm({a}); np.float64({a})
""")
EXPRESSIONS = [
    *(f"np.{name}({args})" for name in numpy_functions() for args in ("{a}", "{a}, {b}")),
    *(f"ag.{name}({args})" for name in SCALAR_OPS if hasattr(ag, name) for args in ("{a}", "{a}, {b}")),
    *(f"{{{one}}} {sign} {{{other}}}" for sign in SIGNS for one, other in ("ab", "ab", "ar", "ra")),
    *(f"{{a}}.{name}({axis})" for name in METHODS for axis in ("", "axis=-1")),
    *(3 * OTHERS),
]
STATEMENTS = [
    *12 * ["{v} = {e}"],
    *3 * ["with ag.no_grad():\n        {v} = {e}"],
    *2 * ["{v} = ag.grad(lambda z: total({z}))({a})"],
    "{v} = ag.jvp(lambda z: {z}, ({a},), (ones({a}),))[1]",
    "{v} = ag.value_and_grad(lambda z: total({z}))({a})[0]",
    *2 * ["if {q}:\n        {v} = {e}\n    else:\n        {v} = {f}"],
    "{v} = {a}\n    while {v}.sum() > 1.5 and abs({v}.sum()) < 1e9:\n        {v} = {v} * 0.25",
    "{v} = {a}\n    for n in range(int({b}.sum()) % 3):\n        {v} = {v} + {c} * n",
    "try:\n        {v} = {e}\n    except (ValueError, ArithmeticError):\n        {v} = {a}",
    "{v} = [p for p in {a}.ravel() if p > {r}]",
    "m.total = m.total * 0.5 + {a}.data.sum()", "m.count += 1", "m.row = {a}.data", "{v} = {a} * m.total + m.count",
    "{v} = {a} + m.row", "if {q}:\n        m.total = m.total + 1.0\n    {v} = {a} * m.total",
    "{v} = compiled(lambda z: total({z}))({a})[1][0]",
]
CONDITIONS = _items("""
    {a}.sum() > {r}; {a}.data.sum() > {b}.data.sum(); np.isnan({a}).any(); np.all({a} > {r}); {a}.max() == {r};
    np.allclose({a}, {b}); np.array_equal({a}, {b}); {a}.argmax() == 0; k[0] == 1; k.sum() > 2; {a}.sum();
    int({a}.sum()) % 2; s > {r}; s.data == {r}; {r} in {a}.data; {a}.sum().item() <= {r}; not np.isfinite({a}).all()
""")
CONSTANTS = ["0", "1", "2", "-1", "0.5", "-0.25", "3", "1e5", "2.0", "np.inf", "np.float32(0.5)", "np.arange(3.0)"]


@dataclass(frozen=True)
class Function:
    """A random function: its lines, and the points at which it is called; the first is traced."""

    lines: tuple[str, ...]
    points: tuple[tuple[Any, ...], ...]
    gradients: bool

    @property
    def code(self) -> str:
        names = ["x", "y", "s", *(f"v{n}" for n in range(len(self.lines)))]
        last = f"total({', '.join(names)})" if self.gradients else f"[{', '.join(names)}]"
        first = [f"v{n} = 0.0" for n in range(len(self.lines))]
        return "\n    ".join(["def f(x, y, s, k):", *first, *self.lines, f"return {last}\n"])

    @property
    def single(self) -> bool:
        """Whether some of it is in 32 bits."""
        return self.points[0][0].dtype == np.float32 or "float32" in self.code

    @property
    def remembers(self) -> bool:
        """Whether a call depends on those before it."""
        return "m." in self.code

    def make(self) -> Any:
        space = {"np": np, "ag": ag, "math": math, "copy": copy, "total": total, "ones": ones, "compiled": ag.compile}
        space["m"] = Memory()
        exec(self.code, space)
        return space["f"]


class Memory(nn.Module):
    """What a function keeps from one call to the next."""

    def __init__(self) -> None:
        self.total, self.count, self.row = 1.0, 0, 0.0


def total(*results: Any) -> Any:
    """One number of everything that a function computed, with another weight for each."""
    found: Any = 0.0
    for n, x in enumerate(results, 1):
        if isinstance(x, (list, tuple)):
            found = found + total(*x)
        elif hasattr(x, "dtype") or isinstance(x, (bool, int, float)):
            if hasattr(x, "dtype") and x.dtype.kind not in "fiub":
                continue
            found = found + ag.sum(ag.where(np.isnan(x), 0.0, x) if n % 2 else x) * (1.0 + 0.125 * n)
    return found


def ones(x: Any) -> Any:
    return np.ones(np.shape(x), x.dtype) if np.shape(x) else 1.0


def grown(seed: int) -> Function:
    """The function of a seed."""
    rng = np.random.default_rng(seed)

    def of(items: Any) -> Any:
        return items[rng.integers(len(items))]

    def filled(text: str, names: list[str]) -> str:
        return text.format(a=of(names), b=of(names), c=of(names), r=of(CONSTANTS))

    lines: list[str] = []
    points = points_of(rng)
    gradients = bool(rng.integers(2))
    wanted = min(9, int(rng.geometric(0.45)))
    for _ in range(20 * wanted):
        n = len(lines)
        if n == wanted:
            break
        names = ["x", "y", "s", *(f"v{m}" for m in range(n))]
        names += names[3:] * 2  # what was computed is read more often
        texts = {letter: filled(of(EXPRESSIONS), names) for letter in "ef"}
        z = filled(of(EXPRESSIONS), ["z", "z", "x", "s"])
        named = {letter: of(names) for letter in "abc"}
        q = filled(of(CONDITIONS), names)
        line = of(STATEMENTS).format(v=f"v{n}", z=z, q=q, r=of(CONSTANTS), **texts, **named)
        function = Function((*lines, line), points, gradients)
        if rng.integers(50) == 0 or runs(function):
            lines.append(line)
    return Function(tuple(lines), points, gradients)


def runs(function: Function) -> bool:
    """Whether the engine can call it at its first point."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return isinstance(answer(engine(replace(function, gradients=False), function.make()), function.points[0]), list)


def points_of(rng: np.random.Generator) -> tuple[tuple[Any, ...], ...]:
    """Six points of the same shapes, among which every comparison, floor and argmax changes; in any order."""
    width, height = int(rng.choice([0, 1, 2, 3, 3, 3])), int(rng.choice([1, 2, 2]))
    dtype = np.float32 if rng.integers(5) == 0 else np.float64
    shape_y = (width,) if rng.integers(2) else (height, width)
    found = []
    for kind in rng.permutation(6):
        xs = [rng.integers(-8, 9, shape) / 4 for shape in ((width,), shape_y, ())]
        if kind == 1:
            xs = [x * 1e5 for x in xs]
        if kind == 2:
            xs = [np.full_like(x, 0.5) for x in xs]
        if kind == 3:
            xs = [np.zeros_like(x) for x in xs]
        if kind == 4:
            for x in xs[:2]:
                x.ravel()[:1] = of_special(rng)
        if kind == 5:
            xs = [rng.normal(size=x.shape) for x in xs]
        ids = rng.integers(0, max(width, 1), 3)
        found.append((xs[0].astype(dtype), xs[1].astype(dtype), float(xs[2]), ids))
    return tuple(found)


def of_special(rng: np.random.Generator) -> float:
    return float(rng.choice([np.nan, np.inf, -np.inf]))


# --- comparing --------------------------------------------------------------------------------------------------------


def answer(call: Any, point: Any) -> Any:
    """What a call gives, as a flat list of arrays; the type of the error that it raises."""
    try:
        return flat(call(*[x.copy() if isinstance(x, np.ndarray) else x for x in point]))
    except TraceError:
        return TraceError
    except Exception as error:
        return type(error)


def flat(x: Any) -> list[Any]:
    if isinstance(x, (list, tuple)):
        return [part for item in x for part in flat(item)]
    if isinstance(x, dict):
        return flat(list(x.values()))
    x = np.asarray(x) if isinstance(x, memoryview) else getattr(x, "_data", x)
    return [np.asarray(x)] if isinstance(x, (np.ndarray, np.generic, bool, int, float)) else []


def engine(function: Function, f: Any) -> Any:
    """The function as the engine computes it."""
    if function.gradients:
        return lambda *xs: ag.value_and_grad(f, (0, 1, 2))(*xs)
    return lambda x, y, s, k: f(ag.Value(x), ag.Value(y), ag.Value(s), k)


def alike(one: Any, other: Any, single: bool) -> bool:
    """Whether two answers are the same up to rounding."""
    if not isinstance(one, list) or not isinstance(other, list):
        return isinstance(one, type) and isinstance(other, type)
    if len(one) != len(other):
        return False
    for a, b in zip(one, other):
        if a.shape != b.shape:
            return False
        if a.dtype != b.dtype and a.dtype.kind == b.dtype.kind == "f" and b.dtype != np.float16:
            return False
        if a.dtype.kind not in "fiub" or b.dtype.kind not in "fiub":
            continue
        rtol = 1e-2 if b.dtype == np.float16 else 1e-3 if single else 1e-9
        finite = np.abs(b[np.isfinite(b)]).max(initial=0.0) if b.size else 0.0
        if not np.allclose(a, b, rtol, rtol * max(1.0, float(finite)) * 1e-3, equal_nan=True):
            return False
    return True


def on_edge(function: Function, point: Any) -> bool:
    """Whether the engine itself gives something else a few roundings away: an answer there depends on the last bit."""
    f = engine(function, function.make())
    single = function.single
    if function.remembers:
        return False
    here = answer(f, point)
    for step in (1e-6, -1e-6) if single else (1e-14, -1e-14):
        there = [*(np.multiply(x, 1 + step, dtype=np.asarray(x).dtype) for x in point[:3]), point[3]]
        if not alike(answer(f, there), here, single):
            return True
    return False


def examine(function: Function, backend: str = "numpy") -> tuple[str, int]:
    """How a function fared, in a word, and the point at which it failed: "equal", "refused", "raised", "unequal"."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        eager = engine(function, function.make())
        wants = [answer(eager, point) for point in function.points]
        compiled = ag.compile(function.make(), backend, gradients=function.gradients)
        single = function.single
        refused = False
        for n, (point, want) in enumerate(zip(function.points, wants)):
            got = answer(compiled, point)
            if got is TraceError:
                refused = True
            if function.remembers and (isinstance(got, type) or isinstance(want, type)):
                break  # an error may come before or after what is kept
            if got is TraceError:
                continue
            if not alike(got, want, single):
                if ag.errors.BackwardError in (got, want) or want in LENIENT or got is ag.errors.AxisError:
                    continue
                return "unequal", n
        return ("refused" if refused else "raised" if all(isinstance(w, type) for w in wants) else "equal"), -1


def reduced(function: Function, backend: str) -> Function:
    """The same with fewer lines and points, as long as it is unequal."""
    changed = True
    while changed:
        changed = False
        smaller = [replace(function, lines=(*function.lines[:n], "pass", *function.lines[n + 1 :]))
                   for n in range(len(function.lines)) if function.lines[n] != "pass"]
        smaller += [replace(function, points=function.points[:n] + function.points[n + 1 :])
                    for n in range(len(function.points)) if len(function.points) > 1]
        for less in smaller:
            if examine(less, backend)[0] == "unequal":
                function, changed = less, True
                break
    return function


def shown(function: Function, backend: str) -> str:
    """A failure as text: the code, the points, and both answers at the last one."""
    function = reduced(function, backend)
    eager = engine(function, function.make())
    compiled = ag.compile(function.make(), backend, gradients=function.gradients)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        gots = [answer(compiled, point) for point in function.points]
        wants = [answer(eager, point) for point in function.points]
    code = "\n".join(line for line in function.code.splitlines() if line != "    pass" and not line.endswith(" = 0.0"))
    rows = [f"  {point}\n    got  {got}\n    want {want}" for point, got, want in zip(function.points, gots, wants)]
    return "\n".join([code, *rows])


# --- the run ----------------------------------------------------------------------------------------------------------


# No path to an input: zeros, or an error. A float has no .sum(), an array has. What is not needed is not checked.
# 1 / 0 and math.floor of infinity are ops; an id out of range is found when the program runs.
LENIENT = (AttributeError, TypeError, OverflowError, ZeroDivisionError, ag.errors.AxisError)


class TooLong(BaseException):
    """A function that makes lists of 200,000 numbers, say."""


def _give_up(*_: Any) -> None:
    raise TooLong


def portion(seeds: range, backend: str) -> dict[str, Any]:
    tally: Counter[str] = Counter()
    failures = []
    signal.signal(signal.SIGVTALRM, _give_up)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for seed in seeds:
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
        try:
            function = grown(seed)
            how, place = examine(function, backend)
        except TooLong:
            how = "too long"
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        if how == "unequal":
            if on_edge(function, function.points[place]):
                how = "on an edge"
            else:
                failures.append(seed)
                print(f"\nseed {seed}, {backend}:\n{shown(function, backend)}", file=sys.stderr, flush=True)
        tally[how] += 1
    return {"tally": tally, "failures": failures, "seconds": time.process_time()}


def run(first: int, count: int, backend: str, log: str | None) -> int:
    begin, seconds, tally, failures = time.monotonic(), 0.0, Counter[str](), []
    for start in range(first, first + count, PORTION):
        seeds = range(start, min(start + PORTION, first + count))
        found = in_a_child(lambda seeds=seeds: portion(seeds, backend), limit=3600)
        if found is None:
            print(f"seeds {seeds} crashed or took too long", file=sys.stderr, flush=True)
            failures.append(start)
            continue
        tally.update(found["tally"])
        failures += found["failures"]
        seconds += found["seconds"]
        print(f"{seeds.stop - first:,} in {seconds:.0f} s {dict(tally)}", file=sys.stderr, flush=True)
    text = (
        f"versions   handgrad {ag.__version__}, Python {platform.python_version()}, numpy {np.__version__}, {backend}\n"
        f"functions  seeds {first} to {first + count - 1}, in {(time.monotonic() - begin) / 60:.0f} minutes\n"
        f"answers    {', '.join(f'{how}: {n:,}' for how, n in tally.most_common())}\n"
        f"failures   {len(failures)}{': seeds ' if failures else ''}{', '.join(map(str, failures))}\n"
    )
    print(text)
    if log:
        with open(log, "w", encoding="utf-8") as file:
            file.write(text)
    return len(failures)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz_compile", description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--backend", default="numpy")
    parser.add_argument("--seed", type=int, help="one function: print its code and examine it")
    parser.add_argument("--log", help="write the summary to this file too")
    arguments = parser.parse_args()
    if arguments.seed is not None:
        print(grown(arguments.seed).code, examine(grown(arguments.seed), arguments.backend))
        return run(arguments.seed, 1, arguments.backend, None)
    return min(1, run(arguments.first, arguments.count, arguments.backend, arguments.log))


if __name__ == "__main__":
    sys.exit(main())
