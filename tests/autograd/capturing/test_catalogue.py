"""A catalogue of mistakes that people make, and of right models that look suspicious: which are called wrong?"""

import inspect
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)")

import autograd as ag  # noqa: E402
from tests.autograd.capturing import beside, written  # noqa: E402
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


def taken_in_turn(names, kinds):
    """Each with one of the precisions daily, with the others at night."""
    return [pytest.param(name, kind, id=f"{name}-{kind}", marks=[pytest.mark.nightly] * ((n - k) % len(kinds) > 0))
            for n, name in enumerate(names) for k, kind in enumerate(kinds)]  # fmt: skip


@pytest.mark.parametrize("slip, kind", taken_in_turn(SLIPS, KINDS))
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


@pytest.mark.parametrize("name, kind", taken_in_turn(FUNCTIONS, [*KINDS, torch.bfloat16]))
def test_without_the_mistake_all_agree(name, kind):
    torch.manual_seed(0)
    loss, inputs = small(FUNCTIONS[name], kind)
    found = ag.capture(loss, *inputs).compare()
    assert found.ok, found


@pytest.mark.parametrize("name, kind", taken_in_turn(SUSPICIOUS, [*KINDS, torch.bfloat16]))
def test_what_looks_suspicious_is_right(name, kind):
    torch.manual_seed(0)
    f, inputs = SUSPICIOUS[name](kind)
    found = ag.capture(f, *inputs).compare()
    assert found.ok, found


# --- mistakes outside of a backward ----------------------------------------------------------------------------


def spoilt(mistake, kind):
    """What is said of a model with a mistake in it, and its line."""
    torch.manual_seed(0)
    found = ag.capture(beside.Model(mistake).to(kind), torch.randn(3, 4).to(kind)).compare()
    lines, start = inspect.getsourcelines(beside.masked if mistake is beside.dropout_drawn_again else mistake)
    return found, (beside.__file__, start + next(i for i, line in enumerate(lines) if "# here" in line))


@pytest.mark.filterwarnings("ignore:Converting a tensor")
@pytest.mark.parametrize("mistake", beside.ENDS, ids=lambda f: f.__name__)
def test_where_a_gradient_ends(mistake):
    """In float64: that numbers which left torch come back is seen by how the loss moves, here by a thousandth."""
    found, place = spoilt(mistake, torch.float64)
    assert found.ok
    assert [(cut.how, (cut.file, cut.line)) for cut in found.cuts] == [(beside.ENDS[mistake], place)]
    told = "the loss moves by" in str(found) or "no gradient reaches" in str(found)
    assert told != beside.ENDS[mistake].startswith("a cast")  # the loss is flat between two integers


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("mistake", [*beside.SAVED, *beside.HOOKS], ids=lambda f: f.__name__)
def test_a_mistake_between_calls(mistake, kind):
    found, place = spoilt(mistake, kind)
    assert (found.first.file, found.first.line) == place
    assert ("hook" if mistake in beside.HOOKS else "used other numbers than its forward") in str(found)


def test_numbers_that_are_only_looked_at_end_nothing():
    def loss(x):
        h = x.sin()
        assert h.max().item() < 2
        assert len(h.tolist()) == 3
        assert h.detach().numpy().shape == (3,)
        return h.sum()

    assert not ag.capture(loss, torch.randn(3)).compare().cuts


# --- what the page says of all this ----------------------------------------------------------------------------


def test_the_page_counts_them():
    text = (Path(__file__).parents[3] / "docs" / "capture.md").read_text(encoding="utf-8")
    between = len(beside.SAVED) + len(beside.HOOKS)
    for said in (f"| {len(SLIPS)} wrong lines in {len(FUNCTIONS)} backward functions", f"| {len(beside.ENDS)} places",
                 f"| {between} mistakes between calls", f"| {len(FUNCTIONS)} right backward functions",
                 f"| {len(SUSPICIOUS)} right models"):  # fmt: skip
        assert said in text, said
