"""Mutation testing: is every small mistake in a rule or formula noticed by our own tests?

    python -m tools.mutate                      # all of autograd/ops and nn/functional/
    python -m tools.mutate autograd.ops.reduce --list

Each mutant is imported in a process of its own in place of the real module, and the tests are run until one fails. If
those of its own op, and those of ties, masks and other hard inputs, pass, it is evaluated: a mutant that changes no
value, gradient or second gradient of any op on any sample, or of any call in the tests of functions, is equivalent. One
that does and passes all other tests too has survived, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import importlib
import importlib.abc
import importlib.util
import itertools
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .child import in_a_child
from .mutants import ROOT, Mutant, mutants_of, path_of

SAME = 1e-10  # values closer than this, relative to their size, are the same

Outcome = tuple[str, str]  # "killed", "equivalent" or "survived"; and by which test


class Import(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the mutant when its module is imported."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name == self.mutant.module:
            return importlib.util.spec_from_loader(name, self, origin=str(path_of(name)))
        return None

    def exec_module(self, module: Any) -> None:
        module.__file__ = str(path_of(self.mutant.module))
        exec(compile(self.mutant.code, module.__file__, "exec"), module.__dict__)


# --- the suites ---------------------------------------------------------------------------------------------


Test = tuple[str, Callable[[], Any]]
Tests = tuple[Iterator[Test], Iterator[Test]]  # those nearest to the mutant, and the others


def tests_in(module: str) -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """The tests of a test module that need no fixture, and the arguments of each of their cases.

    They are called directly: starting pytest for every mutant would take most of the time.
    """
    for name, test in vars(importlib.import_module(module)).items():
        if not name.startswith("test_"):
            continue
        marks = [m for m in getattr(test, "pytestmark", ()) if m.name == "parametrize"]
        named = [arg.strip() for mark in marks for arg in names_in(mark)]
        cases = [getattr(case, "values", case) for case in marks[0].args[1]] if marks else [()]
        if named == ["swept"]:  # a test of many cases (tests/sweep.py): here, many tests
            test, cases = test.__wrapped__, [case for (part,) in cases for case in part.cases]
            named = list(test.__code__.co_varnames[: len(cases[0])])
        if len(named) != test.__code__.co_argcount or len(marks) > 1:
            continue
        for case in cases:
            yield name, test, case if isinstance(case, tuple) else (case,)


def names_in(mark: Any) -> list[str]:
    """The arguments that a `parametrize` gives: "x, y", or ("x", "y")."""
    names = mark.args[0]
    return names.split(",") if isinstance(names, str) else list(names)


MEANINGS = ("tests.robustness.test_hard_inputs", "tests.nn.test_functional", "tests.autograd.test_pitfalls",
            "tests.autograd.test_functions")  # fmt: skip


def tests_of_ops(owner: str) -> Tests:
    """The generated tests of the mutant's own op and what ops mean to their users; then the tests of every other op."""
    cases = [case for case in tests_in("tests.autograd.test_ops") if case[2] and hasattr(case[2][0], "samples")]

    def chosen(own: bool) -> Iterator[Test]:
        for name, test, case in cases:
            if (case[0].name == owner) == own:
                yield name, lambda test=test, case=case: test(*case)

    def meanings() -> Iterator[Test]:
        for module in MEANINGS:
            for name, test, case in tests_in(module):
                yield name, lambda test=test, case=case: test(*case)

    return itertools.chain(chosen(True), meanings()), chosen(False)


def tests_of_formulas(owner: str) -> Tests:
    """The tests of nn's formulas: their own, the recorded answers of torch, differences, and their doctests."""
    return _formula_tests(), iter(())


def _formula_tests() -> Iterator[Test]:
    for module in ("tests.nn.test_functional", "tests.nn.test_gradients"):
        for name, test, case in tests_in(module):
            yield name, lambda test=test, case=case: test(*case)
    parity = importlib.import_module("tests.nn.test_parity")
    recorded = parity.io.read(parity.FIXTURES)[0]
    test = parity.test_agrees_with_the_recorded_answer_of_torch.__wrapped__  # of one case
    for case in parity.CASES:
        yield case.name, lambda case=case: test(case, recorded)
    yield "doctests", lambda: _doctests("nn.functional")


def _doctests(module: str) -> None:
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        assert not doctest.testmod(importlib.import_module(module), optionflags=options).failed


def values_of_ops() -> list[Any]:
    """Every op on every sample, as it is and as if it were large, and the calls in the tests of functions: values,
    gradients, and those of these.
    """
    judges = importlib.import_module("tests.autograd.judges")
    found: list[Any] = []
    for size in (contextlib.nullcontext, judges.everything_is_large):
        with size():
            for op, sample in judges.cases(lambda op: True):
                f, xs = judges.of_the_reals(*op.on(sample))
                found.append(np.asarray(judges.plain(f(*xs)), dtype=float))
                if op.differentiable:
                    found += _gradients(f, xs, judges.uneven)
    functions = importlib.import_module("tests.autograd.test_functions")
    for f, xs in map(functions.as_function, functions.CALLS):
        found += [np.asarray(f(*xs), dtype=float), *_gradients(f, xs, judges.uneven)]
    return found


def _gradients(f: Any, xs: list[Any], uneven: Any) -> list[Any]:
    from autograd import vjp

    out, pull = vjp(f, *xs)
    u = uneven(np.shape(out))
    firsts = pull(u)

    def weighed(*ys: Any) -> Any:
        total = 0.0
        for i, g in enumerate(vjp(f, *ys)[1](u)):
            total = total + (g * uneven(np.shape(g.data), seed=i)).sum()
        return total

    from autograd import Value

    leaves = [Value(x) for x in xs]
    total = weighed(*leaves)
    if total.requires_grad:
        total.backward()
    return [np.asarray(g) for g in firsts] + [
        np.zeros(x.shape) if x.grad is None else np.asarray(x.grad) for x in leaves
    ]


def values_of_formulas() -> list[Any]:
    """nn's formulas on the inputs that its tests have: values and gradients."""
    cases = importlib.import_module("tests.nn.cases")
    smooth = importlib.import_module("tests.nn.test_gradients").SMOOTH
    judges = importlib.import_module("tests.autograd.judges")
    found: list[Any] = []
    for case in cases.functions():
        answer = cases.ours(case, {}, case.inputs(0), judges.uneven(np.shape(case.ours(*case.inputs(0)))))
        found += [np.asarray(a) for a in answer.values()]
    for f, xs in smooth.values():
        found += [np.asarray(f(*xs)), *_gradients(f, list(xs), judges.uneven)]
    return found


SUITES = {
    "autograd.ops": (tests_of_ops, values_of_ops),
    "nn": (tests_of_formulas, values_of_formulas),
}


def suite_of(module: str) -> tuple[Any, Any]:
    return next(suite for package, suite in SUITES.items() if module.startswith(package))


# --- one mutant ---------------------------------------------------------------------------------------------


def judged(mutant: Mutant, baseline: list[Any]) -> Outcome:
    """What becomes of a mutant, found out in this very process."""
    warnings.simplefilter("error")  # as in the suite
    sys.meta_path.insert(0, Import(mutant))
    tests, values = suite_of(mutant.module)
    name = "import"
    try:
        near, far = tests(mutant.owner)
        for name, test in near:  # noqa: B007
            test()
        if not changes_values(values, baseline):
            return "equivalent", ""
        for name, test in far:  # noqa: B007
            test()
    except BaseException:
        return "killed", name
    return "survived", ""


def changes_values(values: Callable[[], list[Any]], baseline: list[Any]) -> bool:
    """Whether some value, gradient or second gradient on some sample is another than it was."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            now = values()
        except Exception:
            return True
    return len(now) != len(baseline) or not all(map(equal, now, baseline))


def equal(a: Any, b: Any) -> bool:
    if a.shape != b.shape:
        return False
    scale = max(1.0, float(np.max(np.abs(b[np.isfinite(b)]), initial=0.0)))
    return bool(np.allclose(a, b, rtol=SAME, atol=SAME * scale, equal_nan=True))


def check_all_pass(module: str) -> None:
    """Without a mutant every test must pass: else what fails anyway would count as a kill."""

    def work() -> str:
        warnings.simplefilter("error")
        name = "import"
        try:
            for name, test in itertools.chain(*suite_of(module)[0]("")):  # noqa: B007
                test()
        except BaseException as error:
            return f"{name}: {type(error).__name__}: {error}"
        return ""

    broken = in_a_child(work, limit=1200)
    if broken != "":
        raise SystemExit(f"the tests of {module} fail without any mutant: {broken}")


def baseline_of(module: str) -> list[Any]:
    """The real module's values."""
    _, values = suite_of(module)

    def work() -> Any:
        warnings.simplefilter("ignore")
        return [(list(a.shape), a.astype(float).ravel().tolist()) for a in values()]

    found = in_a_child(work)
    if found is None:
        raise RuntimeError(f"the values of {module} could not be computed")
    return [np.array(numbers).reshape(shape) for shape, numbers in found]


# --- the run ------------------------------------------------------------------------------------------------


def modules() -> list[str]:
    """All that is attacked: the families of ops, and nn's formulas."""
    families = sorted(p.stem for p in (ROOT / "autograd" / "ops").glob("*.py") if not p.stem.startswith("_"))
    return [f"autograd.ops.{family}" for family in families] + ["nn.functional"]


Outcomes = tuple[dict[str, Counter[str]], Counter[str], list[Mutant]]


def run(names: list[str], every: int, trust: bool = False) -> Outcomes:
    """Attack; the outcomes by module and by kind, and the survivors."""
    by_module: dict[str, Counter[str]] = {}
    by_kind: Counter[str] = Counter()
    survivors = []
    for name in names:
        if not trust:
            check_all_pass(name)
        baseline = baseline_of(name)
        counts = by_module[name] = Counter()
        for mutant in list(mutants_of(name))[::every]:
            outcome, test = in_a_child(lambda m=mutant, b=baseline: judged(m, b)) or ("killed", "time")
            counts[outcome] += 1
            by_kind[mutant.kind] += 1
            if outcome == "survived":
                survivors.append(mutant)
            if outcome != "killed" or "-v" in sys.argv:
                print(f"{outcome:<10} {mutant}{'  by ' + test if test else ''}", file=sys.stderr, flush=True)
    return by_module, by_kind, survivors


def table(by_module: dict[str, Counter[str]], by_kind: Counter[str], seconds: float) -> str:
    """The outcome as Markdown."""
    lines = ["| attacked | mutants | killed | equivalent | survived |", "| --- | ---: | ---: | ---: | ---: |"]
    total: Counter[str] = Counter()
    for name, counts in by_module.items():
        total += counts
        lines.append(_row(f"`{name.replace('.', '/')}.py`", counts))
    lines.append(_row("**all**", total))
    kinds = ", ".join(f"{kind} {n}" for kind, n in by_kind.most_common())
    return "\n".join([*lines, "", f"Kinds: {kinds}. {seconds / 60:.0f} minutes on one core."])


def _row(name: str, counts: Counter[str]) -> str:
    numbers = (sum(counts.values()), counts["killed"], counts["equivalent"], counts["survived"])
    return f"| {name} | {' | '.join(f'{n:,}' for n in numbers)} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("modules", nargs="*", default=modules(), help="such as autograd.ops.reduce; all without")
    parser.add_argument("--every", type=int, default=1, help="only every n-th mutant: a quick look")
    parser.add_argument("--trust", action="store_true", help="do not try first whether all tests pass without a mutant")
    parser.add_argument("--list", action="store_true", help="print the mutants, attack nothing")
    parser.add_argument("--log", help="write the table to this file too")
    parser.add_argument("-v", action="store_true", help="a line for the killed as well")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    if arguments.list:
        for name in arguments.modules:
            for mutant in mutants_of(name):
                print(mutant)
        return 0
    importlib.import_module("pytest")  # once, here, and not in every child
    begin = time.monotonic()
    by_module, by_kind, survivors = run(arguments.modules, arguments.every, arguments.trust)
    text = table(by_module, by_kind, time.monotonic() - begin)
    print(text)
    if arguments.log:
        with open(arguments.log, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main())
