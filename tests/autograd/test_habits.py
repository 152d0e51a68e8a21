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
from autograd.errors import DataError, ShapeError, StepError
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


WORDS = ["emma", "olivia", "ava", "isabella", "sophia", "charlotte", "mia", "amelia"]
STOI = {s: i + 1 for i, s in enumerate(sorted(set("".join(WORDS))))} | {".": 0}


def dataset(words, block_size=3):
    xs, ys = [], []
    for word in words:
        context = [0] * block_size
        for letter in word + ".":
            xs.append(context)
            ys.append(STOI[letter])
            context = [*context[1:], STOI[letter]]
    return xs, ys


def test_the_mlp_of_makemore_runs_with_its_imports_changed():
    """The lecture's lines as they are, but for the size and the number of steps."""
    import autograd as torch
    import nn.functional as F

    X, Y = map(torch.tensor, dataset(WORDS))
    g = torch.Generator().manual_seed(2147483647)
    C = torch.randn((27, 4), generator=g)
    W1 = torch.randn((12, 30), generator=g) * (5 / 3) / (12**0.5)
    b1 = torch.randn(30, generator=g) * 0.01
    W2 = torch.randn((30, 27), generator=g) * 0.01
    b2 = torch.randn(27, generator=g) * 0
    parameters = [C, W1, b1, W2, b2]
    assert sum(p.nelement() for p in parameters) == 27 * 4 + 12 * 30 + 30 + 30 * 27 + 27
    for p in parameters:
        p.requires_grad = True
    lossi = []
    for i in range(60):
        ix = torch.randint(0, X.shape[0], (32,), generator=g)
        emb = C[X[ix]]
        h = torch.tanh(emb.view(-1, 12) @ W1 + b1)
        logits = h @ W2 + b2
        loss = F.cross_entropy(logits, Y[ix])
        counts = logits.exp()
        prob = counts / counts.sum(1, keepdims=True)
        assert abs((-prob[torch.arange(32), Y[ix]].log().mean() - loss).item()) < 1e-12
        assert torch.cat([emb[:, 0, :], emb[:, 1, :], emb[:, 2, :]], 1).shape == (32, 12)
        for p in parameters:
            p.grad = None
        loss.backward()
        lr = 0.1 if i < 50 else 0.01
        for p in parameters:
            p.data += -lr * p.grad
        lossi.append(loss.log10().item())
    assert lossi[-1] < lossi[0] - 0.1

    context, out = [0] * 3, []
    while len(out) < 10:
        emb = C[torch.tensor([context])]
        h = torch.tanh(emb.view(1, -1) @ W1 + b1)
        probs = F.softmax(h @ W2 + b2, dim=1)
        ix = torch.multinomial(probs, num_samples=1, generator=g).item()
        context = context[1:] + [ix]
        out.append(ix)
    assert all(0 <= ix < 27 for ix in out)


def test_the_batch_norm_of_makemore_runs_with_its_imports_changed():
    """But for `std(0, keepdim=True)`, which says that torch divides by n - 1: `correction=1` means the same in both."""
    import autograd as torch
    import nn.functional as F

    g = torch.Generator().manual_seed(1)

    class Linear:
        def __init__(self, fan_in, fan_out, bias=True):
            self.weight = torch.randn((fan_in, fan_out), generator=g) / fan_in**0.5
            self.bias = torch.zeros(fan_out) if bias else None

        def __call__(self, x):
            self.out = x @ self.weight
            if self.bias is not None:
                self.out += self.bias
            return self.out

        def parameters(self):
            return [self.weight] + ([] if self.bias is None else [self.bias])

    class BatchNorm1d:
        def __init__(self, dim, eps=1e-5, momentum=0.1):
            self.eps, self.momentum, self.training = eps, momentum, True
            self.gamma, self.beta = torch.ones(dim), torch.zeros(dim)
            self.running_mean, self.running_var = torch.zeros(dim), torch.ones(dim)

        def __call__(self, x):
            if self.training:
                xmean = x.mean(0, keepdim=True)
                xvar = x.var(0, keepdim=True, correction=1)
            else:
                xmean, xvar = self.running_mean, self.running_var
            xhat = (x - xmean) / torch.sqrt(xvar + self.eps)
            self.out = self.gamma * xhat + self.beta
            if self.training:
                with torch.no_grad():
                    self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * xmean
                    self.running_var = (1 - self.momentum) * self.running_var + self.momentum * xvar
            return self.out

        def parameters(self):
            return [self.gamma, self.beta]

    class Tanh:
        def __call__(self, x):
            self.out = torch.tanh(x)
            return self.out

        def parameters(self):
            return []

    X, Y = map(torch.tensor, dataset(WORDS))
    C = torch.randn((27, 4), generator=g)
    layers = [Linear(12, 20, bias=False), BatchNorm1d(20), Tanh(), Linear(20, 27, bias=False), BatchNorm1d(27)]
    with torch.no_grad():
        layers[-1].gamma *= 0.1
        layers[0].weight *= 5 / 3
    parameters = [C] + [p for layer in layers for p in layer.parameters()]
    for p in parameters:
        p.requires_grad = True
    losses, ud = [], []

    def loss_of(x, y):
        x = C[x].view(x.shape[0], -1)
        for layer in layers:
            x = layer(x)
        return F.cross_entropy(x, y)

    for _ in range(40):
        loss = loss_of(X, Y)
        for p in parameters:
            p.grad = None
        loss.backward()
        for p in parameters:
            p.data += -0.1 * p.grad
        with torch.no_grad():
            ud.append([(0.1 * p.grad.std() / p.data.std()).item() for p in parameters if p.ndim == 2])
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.3 and all(map(np.isfinite, ud[-1]))
    assert layers[1].running_mean.shape == (1, 20) and not layers[1].running_mean.requires_grad
    for layer in layers:
        layer.training = False

    @torch.no_grad()
    def split_loss(x, y):
        return loss_of(x, y).item()

    assert abs(split_loss(X, Y) - losses[-1]) < 0.5
    for torchs in (lambda: V.std(0, keepdim=True), lambda: V.max(1, keepdim=True)):
        with pytest.raises(TypeError, match="torch"):
            torchs()


@sweep("name", names.MAKERS)
def test_a_way_to_make_a_value_means_what_the_table_says(name):
    given = {"tensor": ([1.0, 2.0],), "zeros": (2, 3), "ones": ((2, 3),), "zeros_like": (V,), "ones_like": (V,),
             "arange": (3,), "rand": (2, 3), "randn": ((2, 3),), "randint": (0, 10, (2, 3)),
             "multinomial": (np.array([[0.5, 0.5], [0.0, 1.0]]), 2, True), "Generator": (),
             "cat": ([V, V], 1)}[name]  # fmt: skip
    made = getattr(ag, name)(*given)
    known = {"Value": Value, "np": np, "v": V, "w": V, "rng": np.random.default_rng(0)}
    if name == "Generator":
        assert made.manual_seed(3).random() == np.random.default_rng(3).random()
    elif name == "multinomial":
        assert made.shape == (2, 2) and made[1].tolist() == [1, 1]
    elif name == "cat":
        assert np.array_equal(made.data, ag.concatenate([V, V], axis=1).data)
    else:
        expected = eval(names.MAKERS[name][1], known)
        assert type(made) is type(expected) and made.shape == expected.shape and made.dtype == expected.dtype
        assert not getattr(made, "requires_grad", False)
        assert name.startswith("rand") or np.array_equal(ag.extend.getval(made), ag.extend.getval(expected))


def test_an_array_filled_entry_by_entry_says_what_to_write():
    def filled(x):
        out = np.zeros((2, 2))
        out[0, 0] = x[0] * x[0]
        return np.trace(out) * x[0]

    for run in (ag.grad, ag.value_and_grad, ag.hessian, ag.jacobian):
        with pytest.raises(DataError, match=r"Make the array from its entries, stack\("):
            run(filled)(np.ones(1))
    with pytest.raises(DataError, match="from its entries"):
        ag.check_grads(filled, np.ones(1))
    with pytest.raises(ValueError) as caught:  # NumPy's own words come last where the engine runs no function
        filled(Value(np.ones(1)))
    assert "stack" in str(caught.value.__cause__)


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


@pytest.mark.slow
def test_large_graphs_are_folded_or_refused_in_a_sentence():
    """In time that grows with their size: 10⁵ nodes take ten seconds and less."""
    v = Value(1.0)
    for _ in range(11_000):
        v = v * 1.0001 + 0.5
    stepper = ag.step(v)
    assert len(stepper) < 20
    with pytest.raises(StepError, match=r"22\s000 results are too many"):
        stepper.html()
    assert len(ag.draw(v).svg) < 100_000
    nodes = [Value(float(n)) for n in range(5)]
    rng = np.random.default_rng(0)
    for n in rng.integers(-40, 0, (1_500, 2)):
        a, b = (nodes[max(i, -len(nodes))] for i in n)
        nodes.append(a * 0.5 + b if n[0] % 2 else a.tanh())
    tangle = sum(nodes[-40:])
    assert len(ag.draw(tangle).svg) < 1_000_000 and len(ag.step(tangle)) > 1000
    assert len(ag.draw(sum(Value(1.0) for _ in range(5_000))).svg) < 100_000


def test_a_sheet_of_a_large_graph_answers_at_once():
    v = Value(1.0)
    for _ in range(15_000):
        v = v * 1.0001 + 0.5
    with pytest.raises(DataError, match="30,000 results"):
        ag.worksheet(v)
