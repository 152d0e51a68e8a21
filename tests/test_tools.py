"""The attackers themselves: fuzzing and mutation find what is planted, and nothing else."""

import subprocess
import sys

import numpy as np
import pytest

from autograd import OPS, Op
from autograd.ops import running
from autograd.ops.fused import dense, recurrent
from autograd.ops.images import channels, convolution, interpolation, pooling
from autograd.ops.indexing import placing
from tools import fuzz, mutants, mutate, oracles, versions
from tools.graphs import build
from tools.makers import MAKERS
from tools.program import Leaf, Program, Step

MATRICES = {"inv", "solve", "pinv", "det", "cofactors", "logabsdet", "cholesky", "eigenvalues", "eigenvectors",
            "singular_values", "left_singular_vectors", "right_singular_vectors"}  # few random matrices suit them


def some_programs(count, first=0):
    programs = (build(seed) for seed in range(first, first + count))
    return [p for p in programs if p.steps]


@pytest.mark.slow
def test_random_graphs_agree_with_whoever_judges():
    judges = oracles.installed()
    judges.pop("jax", None)  # it compiles each graph: too slow for here
    for i, program in enumerate(some_programs(60)):
        fuzz.examine(program, judges, second=i % 3 == 0)


def test_without_another_engine_differences_judge():
    for i, program in enumerate(some_programs(15, first=500)):
        assert fuzz.examine(program, {}, second=i % 5 == 0) == "differences"


def test_graphs_are_grown_from_most_of_the_table():
    grown = {op.name for op in OPS.values() if op.differentiable}
    helpers = {name for name in grown if name.endswith(("_pull", "_slope", "_others")) or name == "over"}
    whole_models = (channels, convolution, dense, interpolation, placing, pooling, recurrent, running)  # against torch
    helpers |= {op.name for family in whole_models for op in vars(family).values() if isinstance(op, Op)}
    unused = grown - MAKERS.keys() - helpers
    own_tests = {"take_along_axis", "put_along_axis", "gammaln", "digamma"} | MATRICES  # torch's trigamma has 9 digits
    own_tests |= {"bounded_log", "of_target"}  # the losses'
    assert unused - own_tests <= {"alias", "astype", "sum_to", "scatter", "dot", "attention_weights", "self_attention",
                                  "take_rows", "put_rows"}  # fmt: skip


def test_a_seed_is_a_graph():
    assert repr(build(7)) == repr(build(7))
    assert repr(build(7)) != repr(build(8))


@pytest.mark.slow
def test_a_planted_mistake_is_found_shrunk_and_printed(monkeypatch):
    monkeypatch.setattr(OPS["tanh"], "vjp", lambda g, out, x: (g * (1 - out),))
    program = Program((
        Leaf(np.array([[0.5, -1.25], [2.0, 0.75]])),
        Leaf(np.array([0.3, 0.4])),
        Step("mul", (0, 1)),
        Step("tanh", (2,)),
        Step("exp", (1,)),
        Step("sum", (3,), (("axis", -1), ("keepdims", False))),
    ))  # fmt: skip
    judges = {k: v for k, v in oracles.installed().items() if k != "jax"}
    with pytest.raises(fuzz.Disagreement):
        fuzz.examine(program, judges, second=False)
    small = fuzz.shrink(program, judges, second=False)
    assert [step.op for step in small.steps] == ["tanh"]
    code = fuzz.as_code(small)
    namespace = {}
    exec(code, namespace)  # it runs
    assert "ag.OPS['tanh']" in code and namespace["loss"].data is not None


@pytest.mark.slow
def test_programs_are_written_as_code_that_computes_the_same(capsys):
    for program in some_programs(40, first=900):
        namespace = {}
        exec(fuzz.as_code(program), namespace)
        single = any(np.asarray(x).dtype == np.float32 for x in oracles.leaf_data(program))
        expected = fuzz.ours(program, second=False)
        assert float(namespace["loss"].data) == pytest.approx(
            expected[0], rel=1e-4 if single else 1e-12, abs=1e-4 if single else 1e-12
        )


@pytest.mark.slow
def test_mutants_are_generated_from_the_source():
    found = list(mutants.mutants_of("autograd.ops.arithmetic"))
    kinds = {m.kind for m in found}
    assert {"lost path", "scaled by 2", "flipped sign", "swapped inputs", "dropped factor", "dropped term"} <= kinds
    assert {"mul", "div", "power"} <= {m.owner for m in found}
    assert {"lost transpose"} <= {m.kind for m in mutants.mutants_of("autograd.ops.matrices.linear")}
    for m in found:
        compile(m.code, m.module, "exec")
        assert m.before != m.after


def test_a_test_that_fails_without_a_mutant_ends_the_run(monkeypatch):
    def fails():
        raise AssertionError("1 is not 2")

    suite = {"autograd.ops": (lambda owner: ([("passes", int), ("ours", fails)], []), list)}
    monkeypatch.setattr(mutate, "SUITES", suite)
    monkeypatch.setattr(mutate, "in_a_child", lambda work, limit: work())
    with pytest.raises(SystemExit, match="fail without any mutant: ours: AssertionError: 1 is not 2"):
        mutate.run(["autograd.ops.arithmetic"], every=1)


@pytest.mark.slow
def test_some_mutants_are_killed():
    command = [sys.executable, "-m", "tools.mutate", "autograd.ops.arithmetic", "--every", "12", "--trust"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=mutants.ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    row = next(line for line in done.stdout.splitlines() if "arithmetic.py" in line)
    made, killed, equivalent, survived = (int(cell) for cell in row.split("|")[2:6])
    assert (made, survived) == (killed + equivalent, 0) and killed > 5


# --- versions -----------------------------------------------------------------------------------------------------


def test_the_lowest_versions_are_those_of_pyproject():
    pins = versions.lowest()
    assert "numpy==2" in pins and "pytest==8.3" in pins and not any("handgrad" in pin for pin in pins)
    names = [pin.partition("==")[0] for pin in pins]
    assert len(set(names)) == len(names)  # one bound for each


def test_this_python_is_found_and_others_are_said_not_to_be_here(monkeypatch, tmp_path, capsys):
    here = f"3.{sys.version_info.minor}"
    assert here in versions.pythons() and versions.pythons()[0] == "3.11"
    assert versions.interpreter(here) is not None
    monkeypatch.setattr(versions, "NEWEST", 99)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert versions.main(["3.98", "3.99"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "not here: 3.98, 3.99."
    with pytest.raises(SystemExit):
        versions.main(["2.7"])
    assert "no version '2.7'; choose from 3.11, " in capsys.readouterr().err


@pytest.mark.slow
def test_a_version_under_which_tests_fail_is_said_to(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(versions, "HOME", tmp_path)
    monkeypatch.setattr(versions, "ROOT", tmp_path)
    monkeypatch.setattr(versions, "pythons", lambda: [f"3.{sys.version_info.minor}"])
    monkeypatch.setattr(versions, "environment", lambda name, python: python)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_it.py").write_text("def test_good():\n    pass\n\n\ndef test_bad():\n    assert False\n")
    assert versions.main(["lowest", "--tests", "test_it.py::test_good", "--jobs", "0"]) == 0
    assert "1 passed" in capsys.readouterr().out
    assert versions.main(["lowest", "--tests", "test_it.py", "--jobs", "0"]) == 1
    assert "1 failed, 1 passed" in (shown := capsys.readouterr().out) and "see lowest.log" in shown
