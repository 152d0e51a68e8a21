"""The pytest plugin, run by pytest on small files of its own."""

import re
from importlib import metadata

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

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
def run(pytester):
    """Run pytest with the plugin on a file, in this process: to start another takes ten times as long."""

    def run(text, *arguments):
        pytester.makepyfile(text)
        return pytester.runpytest_inprocess(
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
    assert "entry  handgrad  measured ± bound  handgrad / measured  verdict" in said
    assert "a path is missing from the graph" in said
    assert "check_subject" not in said  # no traceback through the checker


WRONG = """
    import numpy as np
    import pytest
    import autograd as ag

    half = ag.custom_op("half_of_it", forward=lambda x: x * x, vjp=lambda g, out, x: (g * x,))
"""


class TestMarker:
    """The test is the function to check: its inputs are the marker's, or its defaults."""

    def test_defaults_are_inputs(self, run):
        result = run(WRONG + """
    @pytest.mark.gradcheck
    def test_bare(x=np.ones(3)):
        return half(x).sum()

    @pytest.mark.gradcheck(order=2)
    def test_settings(x=np.ones(3)):
        return half(x).sum()

    @pytest.mark.gradcheck(order=2)
    def test_good(x=np.ones(3)):
        return (x * x).sum()
    """)
        result.assert_outcomes(passed=1, failed=2)
        result.stdout.fnmatch_lines(["test_bare: wrong *", "test_settings: wrong *"])

    def test_nothing_to_check_is_a_failure(self, run):
        result = run("""
            import pytest
            @pytest.mark.gradcheck
            def test_nothing():
                pass
            @pytest.mark.gradcheck
            def test_no_default(x):
                pass
            @pytest.mark.gradcheck
            def test_fixture_alone(tmp_path):
                pass
            def test_other():
                pass
        """)
        result.assert_outcomes(passed=1, failed=3)
        result.stdout.fnmatch_lines([
            "test_nothing cannot be checked: it takes no inputs. Give inputs, *",
            "test_no_default cannot be checked: x has no default; *",
            "test_fixture_alone cannot be checked: it takes no inputs. *",
        ])  # fmt: skip

    def test_every_marker_is_checked(self, run):
        result = run("""
            import pytest
            @pytest.mark.gradcheck(0.0)
            @pytest.mark.gradcheck(1.0)
            @pytest.mark.gradcheck(order=2)
            def test_size(x):
                return abs(x)
            @pytest.mark.gradcheck(0.0)
            @pytest.mark.gradcheck(1.0)
            def test_default(x=2.0):
                return abs(x)
        """, "-v")  # fmt: skip
        result.assert_outcomes(passed=2, failed=2)
        result.stdout.fnmatch_lines([
            "*::test_size?gradcheck1? FAILED*", "*::test_size?gradcheck2? PASSED*",
            "*::test_default?gradcheck1? FAILED*", "*::test_default?gradcheck2? PASSED*",
            "test_size: kink *", "test_default: kink *",
        ])  # fmt: skip

    def test_fixtures_and_parametrized_arguments_are_held(self, run):
        result = run(WRONG + """
    @pytest.mark.gradcheck(np.ones(3))
    def test_fixture(tmp_path, x):
        assert tmp_path.exists()
        return half(x).sum()

    @pytest.mark.parametrize("n", [2, 3])
    @pytest.mark.gradcheck(np.ones(3))
    def test_power(x, n):
        return (x**n).sum()

    @pytest.mark.parametrize("n", [2, 3])
    @pytest.mark.gradcheck
    def test_power_of_default(n, x=np.ones(3)):
        return (x**n).sum()

    class TestMethods:
        @pytest.mark.gradcheck(2.0)
        def test_method(self, x, tmp_path):
            return x * x
    """)
        result.assert_outcomes(passed=5, failed=1)
        result.stdout.fnmatch_lines(["test_fixture: wrong *", "  x?0? *"])  # by its own name

    def test_a_marker_of_the_module_sets_options_only(self, run):
        run("""
            import pytest
            import autograd as ag
            pytestmark = pytest.mark.gradcheck(order=2)
            def test_with(gradcheck):
                assert gradcheck(ag.tanh, 0.3).order == 2
            def test_without():
                pass
        """).assert_outcomes(passed=2)

    def test_what_cannot_be_checked_fails_alone_and_without_the_plugin_s_frames(self, run):
        result = run("""
            import pytest
            @pytest.mark.gradcheck(1.0, 2.0)
            def test_two(x):
                return x
            @pytest.mark.gradcheck(True)
            def test_whole(x):
                return x
            @pytest.mark.gradcheck(1.0)
            def test_fails(x):
                raise RuntimeError("boo")
            def test_other():
                pass
        """)
        result.assert_outcomes(passed=1, failed=3)
        result.stdout.fnmatch_lines([
            "test_two takes 1 input (x); @pytest.mark.gradcheck gives 2 inputs",
            "DataError: there is nothing to check*",
            '>*raise RuntimeError("boo")',
        ])  # fmt: skip
        said = result.stdout.str()
        assert "pytest_plugin" not in said and "check_grads" not in said and "hidden" not in said


def test_a_failure_of_the_fixture_shows_its_line(run):
    result = run("""
        def test_two(gradcheck):
            gradcheck(lambda x: x * x, 1.0)
            gradcheck(lambda x: abs(x), 0.0)
        def test_whole(gradcheck):
            gradcheck(lambda x: x, True)
    """)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines([
        ">*gradcheck(lambda x: abs(x), 0.0)", "E* <lambda>: kink *", "*.py:3: Failed",
        ">*gradcheck(lambda x: x, True)", "E*DataError: there is nothing to check*", "*.py:5: Failed",
    ])  # fmt: skip
    assert "pytest_plugin" not in result.stdout.str() and "Subject" not in result.stdout.str()


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
    weights = [re.search(r"results weighted with (.*)\)", r.stdout.str())[1] for r in (result, again)]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    "file, arguments, message",
    [
        ("def test_x(): pass", ["--gradcheck-seed=soon"], "an integer or the word random"),
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
