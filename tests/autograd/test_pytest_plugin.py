"""The pytest plugin, run by pytest on small files of its own."""

import re
from importlib import metadata

import pytest

pytest_plugins = ["pytester"]

GOOD_AND_BAD = """
    import numpy as np
    import pytest
    import autograd as ag

    def leaves_the_graph(x):
        return x * x.data

    def test_good(gradcheck):
        report = gradcheck(ag.softmax, np.array([1.0, 2.0]), order=2)
        assert report.ok

    def test_bad(gradcheck):
        gradcheck(leaves_the_graph, 3.0)

    @pytest.mark.gradcheck(2.0, np.ones(3))
    def test_is_a_function(x, y):
        return (x * y).sum()

    @pytest.mark.gradcheck(2.0)
    def test_is_a_wrong_function(x):
        return x * x.data

    @pytest.mark.gradcheck(order=2, mode="forward")
    def test_options_of_the_fixture(gradcheck):
        assert gradcheck(ag.tanh, 0.3).mode == "forward"
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest with the plugin on a file."""
    monkeypatch.setenv("PYTHONPATH", str(pytest.__file__ and __import__("autograd").__path__[0] + "/.."))

    def run(text, *arguments):
        pytester.makepyfile(text)
        return pytester.runpytest_subprocess(
            "-p", "no:gradcheck", "-p", "autograd.pytest_plugin", "-p", "no:cacheprovider", "-W", "error",
            "--strict-markers",
            *arguments,
        )  # fmt: skip

    return run


def test_fixture_and_marker(run):
    result = run(GOOD_AND_BAD)
    result.assert_outcomes(passed=3, failed=2)
    said = result.stdout.str()
    assert "leaves_the_graph: wrong  (1 entry of 1 input, seed 0)" in said
    assert "test_is_a_wrong_function: wrong" in said
    assert "entry  gradient  difference  ratio  verdict" in said
    assert "a path is missing from the graph" in said
    assert "check_subject" not in said  # no traceback through the checker


def test_the_seed_is_printed_and_replayable(run):
    file = """
        import numpy as np
        import autograd as ag
        def test_seed(gradcheck):
            report = gradcheck(ag.tanh, 0.3)
            print("seed", report.seed)
        def test_bad(gradcheck):
            gradcheck(lambda x: x * x.data, np.array([3.0, 4.0]))
    """
    result = run(file, "--gradcheck-seed=random", "-s")
    seed = re.search(r"gradcheck: seed (\d+) \(again with --gradcheck-seed=\1\)", result.stdout.str())[1]
    assert f"seed {seed}" in result.stdout.str()
    assert f"again with --gradcheck-seed={seed}" in result.stdout.str()
    again = run(file, f"--gradcheck-seed={seed}", "-s")
    weights = [re.search(r"results weighted with (.*);", r.stdout.str())[1] for r in (result, again)]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    "file, arguments, message",
    [
        ("def test_x(): pass", ["--gradcheck-seed=soon"], "a whole number or the word random"),
        ("import pytest\n@pytest.mark.gradcheck(1.0, 2.0)\ndef test_x(x): return x", [], "gives 2 inputs"),
        ("import pytest\n@pytest.mark.gradcheck(1.0, precision=2)\ndef test_x(x): return x", [], "got precision"),
    ],
)
def test_misuse_is_explained(run, file, arguments, message):
    result = run(file, *arguments)
    assert result.ret != 0
    assert message in result.stdout.str() + result.stderr.str()


def test_the_marker_is_known(run):
    assert "gradcheck(*inputs" in run("", "--markers").stdout.str()


def test_the_entry_point_is_declared():
    try:
        points = metadata.distribution("handgrad").entry_points
    except metadata.PackageNotFoundError:
        pytest.skip("handgrad is not installed here")
    assert any(p.group == "pytest11" and p.value == "autograd.pytest_plugin" for p in points)
