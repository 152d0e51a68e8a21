"""Graphs that people draw: each function makes one, after backward. `ZOO` has them by name."""

import numpy as np

import autograd as ag
import nn
from autograd import Value, scope

ZOO = {}
STEPS = 20_000  # of the loop whose graph has 10⁵ nodes


def zoo(make):
    ZOO[make.__name__] = make
    return make


def rng():
    return np.random.default_rng(0)


def array(r, *shape, name=None, **about):
    return Value(r.normal(size=shape) * 0.5, name=name, **about)


def data(r, *shape, name=None):
    return array(r, *shape, name=name, requires_grad=False)


def finished(root, name="loss"):
    root.name = root.name or name
    root.backward()
    return root


# --- scalars ------------------------------------------------------------------------------------------------------


@zoo
def neuron():
    x1, x2, w1, w2, b = (Value(0.3 * i - 0.7, name=name) for i, name in enumerate(["x1", "x2", "w1", "w2", "b"]))
    return finished((x1 * w1 + x2 * w2 + b).tanh(), "o")


def euler(steps):
    k, y = Value(0.7, name="k"), Value(1.0, name="y0")
    for _ in range(steps):
        y = y + 2.5 / steps * (-k * y * y)
    return finished(y, "y")


@zoo
def euler_50():
    return euler(50)


@zoo
def euler_1000():
    return euler(1000)


@zoo
def newton():
    a, x = Value(2.0, name="a"), Value(1.0, name="x0")
    for _ in range(6):
        x = x - (x * x - a) / (2 * x)
    return finished(x, "root")


@zoo
def nested_loops():
    w, t = Value(0.9, name="w"), Value(0.0, name="t0")
    for _ in range(6):
        s = w * t
        for _ in range(5):
            s = ag.sin(s) * w + 0.1
        t = t + s
    return finished(t, "t")


@zoo
def branches_in_a_loop():
    x, w = Value(0.5, name="x"), Value(0.9, name="w")
    for i in range(10):
        x = ag.sin(x * w) + w if i % 2 else ag.exp(x) * 0.1
    return finished(x, "y")


@zoo
def chain():
    x = Value(0.3, name="x")
    for _ in range(30):
        x = ag.sin(x)
    return finished(x, "y")


@zoo
def sines_and_cosines():
    x = Value(0.3, name="x")
    for i in range(40):
        x = [ag.sin, ag.cos, ag.tanh, ag.exp][(i * i + i // 3) % 4](x) * (1 + i / 7)
    return finished(ag.tanh(x), "y")


@zoo
def varied_factors():
    x = Value(0.3, name="x")
    return finished(sum(x * i for i in range(1, 11)), "y")


@zoo
def line_of_8_points():
    r, w, b, loss = rng(), Value(0.5, name="w"), Value(0.1, name="b"), 0
    for x, y in r.normal(size=(8, 2)).tolist():
        loss = loss + (w * x + b - y) ** 2
    return finished(loss / 8)


@zoo
def logistic_regression():
    r, w, b, loss = rng(), [Value(0.2 * i, name=f"w{i}") for i in range(3)], Value(0.1, name="b"), 0
    for i, x in enumerate(r.normal(size=(6, 3)).tolist()):
        p = ag.sigmoid(sum(wi * xi for wi, xi in zip(w, x)) + b)
        loss = loss - (i % 2 * ag.log(p) + (1 - i % 2) * ag.log(1 - p))
    return finished(loss / 6)


@zoo
def polynomial():
    c, x = [Value(0.1 * i, name=f"c{i}") for i in range(8)], Value(0.7, name="x")
    y = c[7]
    for i in range(6, -1, -1):
        y = y * x + c[i]
    return finished(y, "p")


@zoo
def scoped_steps():
    x, w = Value(0.3, name="x"), Value(0.5, name="w")
    for i in range(20):
        with scope(f"step[{i}]"):
            x = ag.sin(x * w) + 0.1 * x
    return finished(x, "y")


def loop(steps):
    x, w = Value(0.3, name="x"), Value(0.9, name="w")
    for _ in range(steps):
        x = ag.sin(x * w) * 0.5 + w - 0.1
    return finished(x, "y")


@zoo
def nodes_100_000():
    return loop(STEPS)


# --- neurons and layers -------------------------------------------------------------------------------------------


def mlp(samples, sizes=(16, 16, 1)):
    model, r = nn.MLP(2, list(sizes), rng=0), rng()
    outs = [model([Value(a, requires_grad=False) for a in x]) for x in r.normal(size=(samples, 2)).tolist()]
    return finished(sum((out - (-1) ** i) ** 2 for i, out in enumerate(outs)))


@zoo
def mlp_on_1():
    return finished(nn.MLP(2, [16, 16, 1], rng=0)([1.0, -2.0]), "out")


@zoo
def mlp_on_2():
    return mlp(2)


@zoo
def mlp_on_3():
    return mlp(3)


@zoo
def mlp_on_10():
    return mlp(10)


@zoo
def mlp_4_4_1():
    return mlp(1, (4, 4, 1))


class Neuron:
    """As people write one for micrograd, without a module."""

    def __init__(self, r, n):
        self.w, self.b = [Value(float(w)) for w in r.normal(size=n)], Value(0.0)

    def __call__(self, x):
        return sum((w * xi for w, xi in zip(self.w, x)), self.b).tanh()


@zoo
def own_mlp():
    r = rng()
    layers = [[Neuron(r, 3) for _ in range(4)], [Neuron(r, 4) for _ in range(4)], [Neuron(r, 4)]]
    loss = Value(0.0)
    for x, y in zip(r.normal(size=(4, 3)).tolist(), (1.0, -1.0, -1.0, 1.0)):
        for layer in layers:
            x = [unit(x) for unit in layer]
        loss = loss + (x[0] - y) ** 2
    return finished(loss)


@zoo
def mlp_of_matrices():
    r = rng()
    x, y = data(r, 5, 3, name="x"), data(r, 5, 2, name="y")
    h = ag.tanh(x @ array(r, 3, 4, name="W1") + array(r, 4, name="b1"))
    return finished(ag.mean((h @ array(r, 4, 2, name="W2") + array(r, 2, name="b2") - y) ** 2))


@zoo
def deep_mlp():
    r = rng()
    h = data(r, 5, 4, name="x")
    for i in range(12):
        h = ag.relu(h @ array(r, 4, 4, name=f"W{i}") + array(r, 4, name=f"b{i}"))
    return finished(h.sum())


@zoo
def residual_blocks():
    r = rng()
    x = data(r, 2, 8, name="x")
    for i in range(3):
        with scope(f"blocks.{i}", "Block"):
            h = ag.layer_norm(x, array(r, 8, name=f"gamma{i}"), array(r, 8, name=f"beta{i}"))
            x = x + ag.relu(h @ array(r, 8, 8, name=f"A{i}")) @ array(r, 8, 8, name=f"B{i}")
    return finished((x**2).sum())


@zoo
def mixture_of_experts():
    r = rng()
    x, out = data(r, 2, 6, name="x"), 0
    gates = ag.softmax(x @ array(r, 6, 4, name="gate"))
    for i in range(4):
        expert = ag.relu(x @ array(r, 6, 8, name=f"A{i}")) @ array(r, 8, 6, name=f"B{i}")
        out = out + gates[:, i : i + 1] * expert
    return finished((out**2).sum())


@zoo
def u_net():
    r, skips, d = rng(), [], 16
    h = x = data(r, 1, 16, name="x")
    for i in range(3):
        h = ag.relu(h @ array(r, d, d // 2, name=f"down{i}"))
        h.name, d = f"enc{i}", d // 2
        skips.append(h)
    h = ag.relu(h @ array(r, d, d, name="mid"))
    h.name = "bottleneck"
    for i in (2, 1, 0):
        h = ag.relu(ag.concatenate([h, skips[i]], axis=1) @ array(r, 2 * d, 2 * d, name=f"up{i}"))
        h.name, d = f"dec{i}", 2 * d
    return finished(ag.mean((h - x) ** 2))


@zoo
def gan():
    r = rng()
    w_g, w_d, z, real = array(r, 2, 3, name="Wg"), array(r, 3, 1, name="Wd"), data(r, 4, 2, name="z"), data(r, 4, 3)
    real.name = "real"

    def judged(x):
        return ag.sigmoid(ag.tanh(x) @ w_d)

    fake = ag.tanh(z @ w_g)
    d_loss = -(ag.log(judged(real)).mean() + ag.log(1 - judged(fake)).mean())
    g_loss = -ag.log(judged(fake)).mean()
    fake.name, d_loss.name, g_loss.name = "fake", "d_loss", "g_loss"
    return finished(d_loss + g_loss)


@zoo
def tree():
    r = rng()
    w, number = array(r, 3, 6, name="W"), iter(range(99))

    def node(depth):
        if not depth:
            return array(r, 3, name=f"leaf{next(number)}")
        return ag.tanh(w @ ag.concatenate([node(depth - 1), node(depth - 1)]))

    return finished(node(4).sum())


@zoo
def word_to_vec():
    r, loss = rng(), 0
    e, c = array(r, 9, 4, name="E"), array(r, 9, 4, name="C")
    for centre in range(7):
        for offset in range(3):
            loss = loss - ag.log(ag.sigmoid((e[centre] * c[(centre + offset) % 9]).sum()))
    return finished(loss)


@zoo
def convolutions():
    r = rng()
    h = data(r, 1, 3, 8, 8, name="x")
    for i, (n, m) in enumerate([(3, 4), (4, 4), (4, 2)]):
        h = ag.relu(nn.functional.conv2d(h, array(r, m, n, 3, 3, name=f"K{i}"))) if hasattr(nn.functional, "conv2d") \
            else ag.relu(h[:, :1] * array(r, 1, m, 1, 1, name=f"K{i}"))  # fmt: skip
    return finished((h**2).sum())


# --- sequences ----------------------------------------------------------------------------------------------------


def rnn(steps, named=True):
    r = rng()
    w_x, w_h, b, h = array(r, 4, 3, name="Wx"), array(r, 4, 4, name="Wh"), array(r, 4, name="b"), data(r, 4, name="h0")
    for i in range(steps):
        h = ag.tanh(w_x @ data(r, 3, name=f"x{i}" if named else None) + w_h @ h + b)
        h.name = f"h{i + 1}" if named else None
    return finished((h**2).sum())


@zoo
def rnn_5():
    return rnn(5)


@zoo
def rnn_2():
    return rnn(2)


@zoo
def rnn_without_names():
    return rnn(8, named=False)


@zoo
def lstm_20():
    r = rng()
    w, u = ({gate: array(r, 4, n, name=f"{name}{gate}") for gate in "ifog"} for name, n in (("W", 3), ("U", 4)))
    h, c = data(r, 4, name="h0"), data(r, 4, name="c0")
    for t in range(20):
        x = data(r, 3, name=f"x{t}")
        i, f, o = (ag.sigmoid(w[gate] @ x + u[gate] @ h) for gate in "ifo")
        c = f * c + i * ag.tanh(w["g"] @ x + u["g"] @ h)
        h = o * ag.tanh(c)
        c.name, h.name = f"c{t + 1}", f"h{t + 1}"
    return finished((h**2).sum())


@zoo
def attention():
    r = rng()
    x = data(r, 3, 4, name="X")
    q, k, v = (x @ array(r, 4, 2, name=f"W{letter}") for letter in "QKV")
    q.name, k.name, v.name = "Q", "K", "V"
    weights = ag.softmax(q @ k.T / 2**0.5)
    weights.name = "A"
    return finished((weights @ v).sum(), "L")


@zoo
def attention_of_4_heads():
    r, heads = rng(), []
    x = data(r, 3, 8, name="X")
    for i in range(4):
        q, k, v = (x @ array(r, 8, 2, name=f"W{letter}{i}") for letter in "qkv")
        heads.append(ag.softmax(q @ k.T / 2**0.5) @ v)
    return finished((ag.concatenate(heads, axis=1) @ array(r, 8, 8, name="Wo")).sum(), "L")


def gpt(layers):
    r = rng()
    model = nn.GPT(vocab_size=11, block_size=8, d_model=8, n_heads=2, n_layers=layers, rng=r)
    ids, targets = r.integers(0, 11, (2, 2, 8))
    return finished(nn.functional.cross_entropy(model(ids), targets))


@zoo
def gpt_of_1_block():
    return gpt(1)


@zoo
def gpt_of_4_blocks():
    return gpt(4)


@zoo
def gpt_of_12_blocks():
    return gpt(12)


# --- what hangs together in no way --------------------------------------------------------------------------------


def tangle(count, seed, shapes=False):
    """`count` ops that read whatever was made before them."""
    r = np.random.default_rng(seed)
    pool = [Value(r.normal(size=3) if shapes and i % 2 else 0.1 * i, name=f"a{i}") for i in range(3)]
    ops = [ag.sin, ag.tanh, lambda x: x * 0.5, lambda x: x + 0.1, ag.sigmoid, lambda x: -x]
    for _ in range(count):
        one, other = (pool[int(r.integers(max(0, len(pool) - 6), len(pool)))] for _ in range(2))
        pick = int(r.integers(0, len(ops) + 2))
        pool.append(ops[pick](one) if pick < len(ops) else ag.tanh(one * other))
    return finished(ag.sum(sum(pool[-6:])), "y")


@zoo
def tangle_of_80():
    return tangle(80, 1, shapes=True)


@zoo
def tangle_of_1000():
    return tangle(1000, 2)
