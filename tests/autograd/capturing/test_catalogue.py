"""A catalogue of mistakes that people make, and of right models that look suspicious: which are called wrong?"""

import inspect

import pytest

torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)")

import autograd as ag  # noqa: E402
from tests.autograd.capturing import written  # noqa: E402
from tests.autograd.capturing.planted import SLIPS, large, small, with_slip  # noqa: E402
from tests.autograd.capturing.suspicious import SUSPICIOUS  # noqa: E402

KINDS = [torch.float64, torch.float32]
FUNCTIONS = {name: f for name, f in vars(written).items() if inspect.isclass(f) and f.__module__ == written.__name__}


def assert_found(found, slip, file, line):
    """It alone is named, by its line and argument, and finite differences say that torch is wrong."""
    assert {d.op for d in found.calls} == {slip.function}, found
    named = [d for d in found.calls if d.argument == slip.argument]
    assert named, found
    assert (named[0].file, named[0].line) == (file, line), found
    assert named[0].wrong == "torch", found


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("slip", SLIPS, ids=str)
def test_a_mistake_is_found(slip, kind, tmp_path):
    function, file, line = with_slip(slip, tmp_path)
    torch.manual_seed(0)
    loss, inputs = small(function, kind)
    assert_found(ag.capture(loss, *inputs).compare(), slip, file, line)


@pytest.mark.parametrize("number", [n if n % 9 == 0 else pytest.param(n, marks=pytest.mark.nightly)
                                    for n in range(len(SLIPS))])  # fmt: skip
def test_a_mistake_is_found_in_a_large_model(number, tmp_path):
    slip, kind = SLIPS[number], KINDS[number % 2]
    function, file, line = with_slip(slip, tmp_path)
    torch.manual_seed(0)
    model, inputs, place = large(function, kind, number)
    found = ag.capture(model, *inputs).compare()
    assert_found(found, slip, file, line)
    assert found.first.module == place


@pytest.mark.parametrize("kind", [*KINDS, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_without_the_mistake_all_agree(name, kind):
    torch.manual_seed(0)
    loss, inputs = small(FUNCTIONS[name], kind)
    found = ag.capture(loss, *inputs).compare()
    assert found.ok, found


@pytest.mark.parametrize("kind", [*KINDS, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", SUSPICIOUS)
def test_what_looks_suspicious_is_right(name, kind):
    torch.manual_seed(0)
    f, inputs = SUSPICIOUS[name](kind)
    found = ag.capture(f, *inputs).compare()
    assert found.ok, found
