"""Printed programs: what a person reads, and that it runs alone."""

import subprocess
import sys

import numpy as np
import pytest

import autograd as ag
import nn
from autograd import compile
from autograd.cli import main
from autograd.program.passes.core import is_core
from autograd.program.source import identifier, literal
from tests.autograd.judges import every_op, every_sample
from tests.autograd.program.programs import assert_near, bits, weighed


def run(source, name, *args, **more):
    namespace = {}
    exec(source, namespace)
    return namespace[name](*args, **more)


@every_op(is_core)
def test_a_core_op_has_words_in_numpy(op):
    known = op.written or op.numpy or hasattr(np, op.name) or op.name == "getitem"
    assert known, f"{op.name}: say in `numpy` or `written` what it is in NumPy"


@pytest.mark.slow
@every_sample()
def test_the_printed_program_gives_what_the_compiled_one_gives(op, sample):
    loss, xs = weighed(op, sample)
    g = compile(loss if op.differentiable else op.on(sample)[0], gradients=op.differentiable)
    want = g(*xs)
    got = run(g.source, "loss" if op.differentiable else "f", *xs)
    if not op.differentiable:
        want, got = (want, ()), (got, ())
    assert_near(got[0], want[0])
    for ours, theirs in zip(got[1], want[1], strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert_near(ours, theirs)


@pytest.mark.parametrize("f", [
    lambda x, y: np.exp(x).sum() * np.sin(y).sum(),
    lambda x, y: (x @ y).sum() * x.sum(),
    lambda x, y: np.sum(x.T @ (x * np.tanh(x))) * (np.exp(x) / np.cos(y)).sum(),
])  # fmt: skip
def test_results_that_are_each_others_slopes_have_names(f):
    """In u * v the slope in u is v itself: a line of the forward pass, which may stand before the line of u."""
    x, y = np.array([[0.5, 1.5], [0.25, 2.0]]), np.array([[1.0, 0.5], [0.75, -0.5]])
    g = compile(f)
    value, grads = g(x, y)
    ours, slopes = run(g.source, "program", x, y)
    for got, want in zip((ours, *slopes), (value, *grads), strict=True):
        assert_near(got, want)


def hidden(params, x, targets):
    h = ag.tanh(x @ params["w1"] + params["b1"])
    logits = h @ params["w2"]
    return nn.functional.cross_entropy(logits, targets)


def inputs():
    rng = np.random.default_rng(0)
    params = {"w1": rng.normal(size=(4, 3)), "b1": rng.normal(size=3), "w2": rng.normal(size=(3, 2))}
    return params, rng.normal(size=(5, 4)), rng.integers(0, 2, 5)


def test_it_has_the_users_names_and_says_what_each_backward_line_is_for():
    g = compile(hidden)
    g(*inputs())
    source = g.source
    for line in ("def hidden(params, x, targets):", "w1 = np.asarray(params['w1'])", "h = np.tanh(", "logits = h @ w2"):
        assert line in source, line
    backward = source[source.index("# backward") :]
    assert "d_w2 = h.T @ d_logits" in backward
    number = next(line.split("(")[-1].split(")")[0] for line in source.splitlines() if "logits = h @ w2" in line)
    assert f"# ({number}) logits" in next(line for line in backward.splitlines() if "d_w2 =" in line)
    lines = [line for line in backward.splitlines()[1:] if "=" in line]
    assert all("# (" in line for line in lines), "every backward line says its forward line"


def test_it_runs_in_a_fresh_process_without_us(tmp_path):
    args = inputs()
    g = compile(hidden)
    value, (grads, dx, none) = g(*args)
    assert none is None
    (tmp_path / "printed.py").write_text(g.source)
    np.savez(tmp_path / "given.npz", x=args[1], targets=args[2], **args[0])
    (tmp_path / "ask.py").write_text(
        "import sys\nsys.modules['autograd'] = sys.modules['nn'] = None\n"
        "import numpy as np\nfrom printed import hidden\ng = np.load('given.npz')\n"
        "value, (grads, dx, none) = hidden({k: g[k] for k in ('w1', 'b1', 'w2')}, g['x'], g['targets'])\n"
        "assert none is None\nnp.savez('got.npz', value=value, dx=dx, **grads)\n"
    )
    subprocess.run([sys.executable, "ask.py"], cwd=tmp_path, check=True)
    got = np.load(tmp_path / "got.npz")
    assert_near(got["value"], value)
    assert_near(got["dx"], dx)
    for name, grad in grads.items():
        assert_near(got[name], grad)


def test_a_module_is_a_dict_by_dotted_names():
    model, x = nn.Sequential(nn.Linear(2, 3, rng=0), nn.LayerNorm(3)), np.ones((4, 2))
    g = compile(lambda model, x: (model(x) ** 2).sum())
    value, (grads, dx) = g(model, x)
    got, (got_grads, got_dx) = run(g.source, "program", model.state_dict(), x)
    assert_near(got, value)
    assert_near(got_dx, dx)
    for name, grad in grads.items():
        assert_near(got_grads[name], grad)


def test_what_is_captured_or_drawn_is_asked_for():
    outside = nn.Parameter([1.0, 2.0], name="outside")
    layer = nn.Dropout(0.5, rng=0)
    g = compile(lambda x: (layer(x * outside)).sum())
    g(np.ones(2))
    mask = np.array([2.0, 0.0])
    value, (dx,) = run(g.source, "program", np.ones(2), outside=np.array([3.0, 4.0]), drawn=mask)
    assert value == 6.0
    np.testing.assert_array_equal(dx, [6.0, 0.0])


def test_a_literal_gives_the_same_bits():
    rng = np.random.default_rng(0)
    for data in (rng.normal(size=(3, 4)), rng.normal(size=5).astype(np.float32), np.arange(9), np.zeros((0, 3)),
                 np.array([np.nan, np.inf, -np.inf, -0.0]), np.ones((7, 9), np.float32), np.array([True, False])):
        assert bits(eval(literal(data), {"np": np})) == bits(data)
    made = {
        "~np.tri(64, 64, 0, bool)": np.triu(np.ones((64, 64), bool), 1), "np.tri(3, 5, 2, bool)": np.tri(3, 5, 2, bool),
        "np.arange(12).reshape(3, 4)": np.arange(12).reshape(3, 4), "np.arange(9, -1, -2)": np.arange(9, -1, -2),
        "np.full((3, 3), -0.0, 'float64')": np.full((3, 3), -0.0),
    }  # fmt: skip
    for text, data in made.items():
        assert literal(data) == text and bits(eval(text, {"np": np})) == bits(data)
    mixed, large = np.array([0.0, -0.0] * 3), np.array([2**62, -(2**62), 3, 4, 5])
    assert literal(mixed).startswith("np.array(") and literal(large).startswith("np.array(")


def test_a_name_is_one_that_python_takes():
    assert [identifier(n) for n in ("blocks.0.weight", "lambda", "2x", "<lambda>", "", "np")] == [
        "blocks_0_weight", "lambda_", "x2x", "lambda_", "x", "np_",
    ]  # fmt: skip


@pytest.mark.parametrize("example", ["example2", "example3", "example4", "example5", "example6", "cat_sleeps"])
def test_a_worked_example_prints_a_backward_pass_that_runs(example, capsys):
    from examples import find

    assert main(["source", example]) == 0
    source = capsys.readouterr().out
    root = find(example).module.graph()
    leaves = [x for x in ag.graph.leaves(root) if x.requires_grad]
    value, grads = run(source, example, *(x.data for x in leaves))
    assert value == pytest.approx(root.item(), rel=1e-14)
    for x, grad in zip(leaves, grads, strict=True):
        np.testing.assert_allclose(grad, x.grad, rtol=1e-12, atol=1e-16)


def test_the_command_writes_a_file_and_explains_what_it_cannot_do(tmp_path, capsys):
    made = "from autograd import Value\nx = Value([1.0, 2.0])\ny = (x * x).sum()\nz = x * 2\n"
    (tmp_path / "mine.py").write_text(made)
    assert main(["source", str(tmp_path / "mine.py:y"), "-o", str(tmp_path / "out.py")]) == 0
    assert run((tmp_path / "out.py").read_text(), "mine", np.array([1.0, 2.0]))[0] == 5.0
    capsys.readouterr()
    assert main(["source", str(tmp_path / "mine.py:z")]) == 0  # several numbers: the forward pass alone
    np.testing.assert_array_equal(run(capsys.readouterr().out, "mine", np.array([1.0, 2.0])), [2.0, 4.0])
