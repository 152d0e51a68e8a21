"""Every formula and layer against torch: its recorded answers always, torch itself where it is installed."""

import importlib.util

import numpy as np
import pytest

from nn import io
from tests.nn.cases import CASES, ours, theirs
from tests.nn.make_fixtures import FIXTURES
from tests.sweep import sweep

TOLERANCE = 1e-10

every_case = sweep("case", CASES, ids=lambda case: case.name)
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)"
)


@pytest.fixture(scope="module")
def answers():
    return io.read(FIXTURES)[0]


def agree(case, found, expected):
    expected = {name: array for name, array in expected.items() if name == "out" or name.startswith("d.")}
    assert found.keys() == expected.keys(), case.name
    for name, array in expected.items():
        assert np.shape(found[name]) == array.shape, f"{case.name}, {name}"
        scale = max(1.0, float(np.max(np.abs(array), initial=0.0)))
        np.testing.assert_allclose(found[name], array, rtol=0, atol=TOLERANCE * scale, err_msg=f"{case.name}, {name}")


@every_case
def test_agrees_with_the_recorded_answer_of_torch(case, answers):
    own = {name.removeprefix(f"{case.name}/"): a for name, a in answers.items() if name.startswith(f"{case.name}/")}
    assert own, f"no recorded answer for {case.name!r}: run python -m tests.nn.make_fixtures"
    parameters = {name.removeprefix("p."): array for name, array in own.items() if name.startswith("p.")}
    inputs = [own[f"in.{i}"] for i in range(len(case.shapes))]
    agree(case, ours(case, parameters, inputs, own["cotangent"]), own)


@needs_torch
@every_case
def test_agrees_with_torch(case):
    for seed in (1, 2):
        parameters, inputs = case.parameters(seed), case.inputs(seed)
        expected = theirs(case, parameters, inputs)
        agree(case, ours(case, parameters, inputs, expected["cotangent"]), expected)


def test_case_names_are_distinct():
    assert len({case.name for case in CASES}) == len(CASES)
