"""What people write from habit in NumPy and expect to hold here: truths as numbers, dtypes, einsum's dots."""

import copy
import pickle
import re

import numpy as np
import pytest

import autograd as ag
import autograd.extend
import nn
from autograd import OPS, Value, compile, grad, names
from autograd.errors import DataError, ShapeError
from tests.autograd.judges import assert_close
from tests.sweep import sweep

X = np.array([0.5, -0.5, 2.0])


def test_no_op_computes_truths_in_few_bits():
    """NumPy gives float16 for `np.exp` of bools, int8 for `**`; every op of real numbers gives float64."""
    mask, one = Value(X) > 0, Value(0.5) > 0
    halves = []
    tried = 0
    for name, op in OPS.items():
        for inputs in ([mask], [one], [mask, mask], [mask.data], [True], [mask, Value(X)], [Value(X), mask.data]):
            try:
                with np.errstate(all="ignore"):
                    out = op(*inputs)
            except (TypeError, ValueError, LookupError):  # another number of inputs, or a matrix
                continue
            tried += 1
            if np.asarray(getattr(out, "_data", out)).dtype in (np.float16, np.int8):
                halves.append((name, inputs))
    assert not halves and tried > 300


def test_truths_add_up_as_numbers():
    mask = Value(np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])) > 0
    for f in (np.median, np.trapezoid):
        assert f(mask, axis=0).data.tolist() == f(mask.data * 1.0, axis=0).tolist()


@pytest.mark.parametrize("name", ["exp", "sqrt", "tanh", "cosh", "log1p", "round", "sigmoid", "softmax", "gelu"])
def test_a_function_of_a_mask_is_compiled_too(name):
    def f(x):
        return (getattr(ag, name)(x > 0) * x).sum()

    expected = (getattr(ag, name)((X > 0).astype(float)) * X).sum()
    for value, gradients in (compile(f)(X), (f(Value(X)).data, (grad(f)(X),))):
        assert_close(value, expected, name, tolerance=1e-14)
        assert_close(gradients[0], getattr(ag, name)((X > 0).astype(float)), name, tolerance=1e-14)
    assert (Value(X).mean() * 0 + getattr(ag, name)(Value(X) > 0)).dtype == np.float64


def test_a_float64_number_and_a_float32_one_are_float64():
    v = Value(np.array([1.0, 2.0]))
    for out in (v[1] / np.float32(0.3), np.float32(0.3) * v[1],
                v[1] - np.float16(0.3), np.hypot(v[1], np.float32(0.3))):
        assert out.dtype == np.float64
    assert (v[1] / np.float32(0.3)).data == np.float64(2.0) / np.float32(0.3)
    for out in (Value(np.float32(1.0)) / np.float32(0.3), Value(np.ones(2, np.float32)) * np.float32(0.3)):
        assert out.dtype == np.float32


def test_einsum_keeps_the_dots_as_numpy_does():
    x = np.ones((2, 3, 4))
    with pytest.raises(ValueError):
        np.einsum("jk...->j", x)
    with pytest.raises(ShapeError, match="leaves out the axes"):
        ag.einsum("jk...->j", Value(x))
    assert ag.einsum("jk...->j", Value(x[..., 0])).shape == np.einsum("jk...->j", x[..., 0]).shape
    assert ag.einsum("jk...->j...", Value(x)).shape == (2, 4)


V, W = Value(np.arange(1.0, 7).reshape(2, 3)), Value(np.ones((3, 2)))
CALLED = {"view": (3, 2), "permute": (1, 0), "unsqueeze": (0,), "mm": (W,), "bmm": (W,), "pow": (2,),
          "clamp": (0.0, 1.0),
          "masked_fill": (V.data > 2, 0.5), "expand": (2, 3)}  # fmt: skip


@sweep("name", names.SAME)
def test_a_name_of_torch_means_what_the_table_says(name):
    found = getattr(V, name)(*CALLED.get(name, ()))
    known = {"v": V, "w": W, "np": np, "where": ag.where, "mask": V.data > 2, "x": 0.5}
    if name == "requires_grad_":
        assert found is V and V.requires_grad
    else:
        expected = eval(names.SAME[name][1], known)
        assert type(found) is type(expected)
        assert np.array_equal(ag.extend.getval(found), ag.extend.getval(expected))


TABLES = {"v": (V, names.VALUE), "autograd": (ag, names.AUTOGRAD), "nn": (nn, names.NN),
          "functional": (nn.functional, names.FUNCTIONAL), "optim": (nn.optim, names.OPTIM)}  # fmt: skip


@sweep("owner", TABLES)
def test_a_name_from_elsewhere_says_what_to_write(owner):
    home, table = TABLES[owner]
    for name, text in table.items():
        with pytest.raises(AttributeError, match=re.escape(text.lstrip(". "))):
            getattr(home, name)
    with pytest.raises(AttributeError, match=r"has no (attribute ')?nonsense'?$"):
        home.nonsense


def test_what_the_tables_tell_to_write_is_there():
    """Names of ours in the tables exist: no hint leads to another error."""
    spaces = {"nn": nn, "v": V, "np": np, "autograd": ag}
    for table in (names.VALUE, names.AUTOGRAD, names.NN, names.FUNCTIONAL, names.OPTIM):
        for text in table.values():
            for home, name in re.findall(r"\b(nn(?:\.optim)?|v|np|autograd)\.(\w+)", text):
                owner = nn.optim if home == "nn.optim" else spaces[home]
                assert hasattr(owner, name), text


def test_the_page_of_names_is_what_the_code_says():
    from tools.names_table import PAGE, page

    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tools.names_table writes it again"


def test_arguments_by_their_names_elsewhere():
    for found, expected in [
        (V.sum(dim=1, keepdim=True), V.sum(axis=1, keepdims=True)), (V.softmax(dim=0), V.softmax(axis=0)),
        (ag.concatenate([V, V], dim=1), ag.concatenate([V, V], axis=1)), (V.argmax(dim=1), V.argmax(axis=1)),
        (V.mean(dim=(0, 1)), V.mean()), (nn.functional.softmax(V, dim=-1), V.softmax()),
        (V.cumsum(dim=0), V.cumsum(axis=0)),
    ]:  # fmt: skip
        assert np.array_equal(found.data, expected.data)
    for name in names.NOT_THE_SAME:
        with pytest.raises(TypeError, match="torch"):
            getattr(V, name, getattr(ag, name))(*([V] if not hasattr(Value, name) else []), dim=1)
    assert nn.Linear(in_features=3, out_features=2).weight.shape == (3, 2)
    assert nn.GPT(11, 8, n_embd=4, n_head=2, n_layer=1).count() == nn.GPT(11, 8, 4, 2, 1).count()
    assert nn.optim.SGD([V], learning_rate=0.5).lr == 0.5
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        nn.Linear(3, 2, nonsense=1)
    for by in ({"argnum": 1}, {"argnums": 1}, {"wrt": 1}):
        assert grad(lambda x, y: x * y * y, **by)(2.0, 3.0) == 12.0
    with pytest.raises(TypeError, match="wrt"):
        grad(lambda x: x, has_aux=True)


def test_backward_as_in_torch():
    x = Value(3.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward(gradient=2.0)
    assert x.grad == 18.0
    for options, said in ({"create_graph": True}, "grad"), ({"inputs": [x]}, "inputs"):
        with pytest.raises(TypeError, match=said):
            y.backward(**options)
    with pytest.raises(TypeError, match=r"v\.shape\[0\]"):
        V.size(0)
    assert V.size == 6


def test_whole_numbers_are_indices():
    v = Value([3.0, 1.0, 2.0])
    assert "abc"[v.argmax()] == "a" and len(range(Value(3))) == 3 and [10, 20, 30][v[1]] == 20
    assert np.eye(3)[V.argmax(axis=1)].tolist() == [[0, 0, 1], [0, 0, 1]] and v.data[v > 1].tolist() == [3.0, 2.0]
    assert V[range(2), V.argmax(axis=1)].data.tolist() == [3.0, 6.0]
    assert [x.data for x in divmod(Value(7.5), 2)] == [x.data for x in divmod(7.5, Value(2.0))] == [3.0, 1.5]
    for wrong in (Value(1.5), V):
        with pytest.raises((TypeError, ShapeError)):
            "abc"[wrong]


def test_the_lecture_code_of_makemore_runs():
    """emb.view, p.nelement(), logits.max(1, keepdim) and the loss by hand, as in the lecture."""
    rng = np.random.default_rng(0)
    xs, ys = rng.integers(0, 27, (32, 3)), rng.integers(0, 27, 32)
    c, w1, b1, w2, b2 = (Value(rng.normal(size=s) * 0.1) for s in ((27, 2), (6, 20), (20,), (20, 27), (27,)))
    parameters = [c, w1, b1, w2, b2]
    assert sum(p.nelement() for p in parameters) == 54 + 120 + 20 + 540 + 27
    for p in parameters:
        p.requires_grad = True
    losses = []
    for _ in range(30):
        emb = c[xs]
        h = (emb.view(-1, 6) @ w1 + b1).tanh()
        logits = h @ w2 + b2
        counts = (logits - logits.max(1, keepdims=True)).exp()
        prob = counts / counts.sum(1, keepdims=True)
        loss = -prob[range(32), ys].log().mean()
        assert abs(float(loss) - float(nn.functional.cross_entropy(logits, ys))) < 1e-12
        for p in parameters:
            p.grad = None
        loss.backward()
        for p in parameters:
            p.data += -1.0 * p.grad
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.3


def product(x, y):
    return (x * y).sum()


@compile
def squared(x):
    return x * x


def test_a_compiled_function_gives_the_gradients_that_are_asked_for():
    x, y = np.ones(3), np.arange(3.0)
    value, grads = compile(product, wrt=0)(x, y)
    assert value == 3.0 and grads[0].tolist() == y.tolist() and grads[1] is None
    scalar = compile(lambda xs, p: sum((x * p).tanh() for x in xs), wrt=(1,))
    _, grads = scalar([0.01 * n for n in range(60)], 2.0)
    assert grads[0] is None
    assert_close(grads[1], grad(lambda p: sum((0.01 * n * p).tanh() for n in range(60)))(2.0), "p", tolerance=1e-13)
    for wrong, given in ((2, (x, y)), (1, (x, nn.Linear(3, 1)))):
        with pytest.raises(TypeError, match="wrt=2" if wrong == 2 else "freeze"):
            compile(lambda a, b: a.sum(), wrt=wrong if wrong == 2 else 0)(*given)


def test_a_compiled_function_can_be_pickled_and_copied():
    twin = pickle.loads(pickle.dumps(compile(product, wrt=1)))
    assert twin(2.0, 3.0) == copy.deepcopy(twin)(2.0, 3.0) == (6.0, (None, 2.0))
    assert pickle.loads(pickle.dumps(squared)) is squared


def test_a_sheet_of_a_large_graph_answers_at_once():
    v = Value(1.0)
    for _ in range(15_000):
        v = v * 1.0001 + 0.5
    with pytest.raises(DataError, match="30,000 results"):
        ag.worksheet(v)
