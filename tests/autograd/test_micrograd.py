"""Programs for micrograd run with only their import lines changed (its training demo: tests/nn/test_scalar.py)."""

import math
from importlib.util import find_spec

import pytest

EXPRESSION = """
from micrograd.engine import Value

# every operator it has, in the expression whose results its README prints
a, b = Value(-4.0), Value(2.0)
c, d = a + b, a * b + b**3
c += c + 1
c += 1 + c + (-a)
d += d * 2 + (b + a).relu()
d += 3 * d + (b - a).relu()
e = c - d
f = e**2
g = f / 2.0
g += 10.0 / f
g.backward()
"""

REUSE = """
from micrograd.engine import Value

x = Value(-4.0)
z = 2 * x + 2 + x
q = z.relu() + z * x
h = (z * z).relu()
y = h + q + q * x
y.backward()
"""

NEURONS = """
import random
from micrograd.engine import Value

class Neuron:
    def __init__(self, size, bent=True):
        self.bent = bent
        self.w = [Value(random.uniform(-1, 1)) for _ in range(size)]
        self.b = Value(0)

    def __call__(self, x):
        total = sum((wi * xi for wi, xi in zip(self.w, x)), self.b)
        return total.relu() if self.bent else total

    def parameters(self):
        return self.w + [self.b]

random.seed(3)
hidden, last = [Neuron(3) for _ in range(4)], Neuron(4, bent=False)
parameters = [p for n in hidden + [last] for p in n.parameters()]
points = [([2.0, 3.0, -1.0], 1.0), ([3.0, -1.0, 0.5], 0.2), ([0.5, 1.0, 1.0], 0.4)]
losses = []
for step in range(20):
    guesses = [last([n([Value(v) for v in x]) for n in hidden]) for x, _ in points]
    loss = sum((guess - target)**2 for guess, (_, target) in zip(guesses, points))
    for p in parameters:
        p.grad = 0
    loss.backward()
    for p in parameters:
        p.data += -0.01 * p.grad
    losses.append(loss.data)
"""

TRACE = """
from micrograd.engine import Value

a, b = Value(2.0), Value(-3.0)
root = (a * b + a**2).relu() * 1.5 + a
root.backward()

nodes, edges = set(), set()
def build(v):
    if v not in nodes:
        nodes.add(v)
        for child in v._prev:
            edges.add((child, v))
            build(child)
build(root)
labels = sorted("%s data %.4f grad %.4f" % (n._op, n.data, n.grad) for n in nodes)
"""


def run(program):
    """The program's variables, after its import line was changed and nothing else."""
    namespace = {}
    exec(program.replace("from micrograd.engine import", "from autograd import"), namespace)
    return namespace


def test_the_readmes_expression_gives_the_readmes_numbers():
    found = run(EXPRESSION)
    assert f"{found['g'].data:.4f}" == "24.7041"
    assert f"{found['a'].grad:.4f}" == "138.8338"
    assert f"{found['b'].grad:.4f}" == "645.5773"


def test_a_node_used_many_times():
    """At x = -4: z = -10, q = 40, h = 100, y = 100 + 40 - 160; dy/dx by the chain rule on paper."""
    found = run(REUSE)
    assert found["y"].data == -20.0
    z, x = -10.0, -4.0
    dq = 3 * x + z  # relu(z) is flat here
    assert found["x"].grad == 2 * z * 3 + dq + dq * x + z * x == 46.0


def test_a_hand_written_network_learns():
    found = run(NEURONS)
    assert found["losses"][-1] < 0.5 * found["losses"][0]
    assert all(math.isfinite(p.grad) for p in found["parameters"])


def test_a_trace_by_prev_and_op():
    found = run(TRACE)
    ops = sorted(n._op for n in found["nodes"])
    assert ops == ["", "", "*", "*", "**", "+", "+", "relu"]
    assert len(found["edges"]) == 9
    assert " data 2.0000 grad 1.0000" in found["labels"]


@pytest.mark.skipif(find_spec("micrograd") is None, reason="NOT COMPARED: micrograd is not installed")
@pytest.mark.parametrize("program", [EXPRESSION, REUSE, NEURONS], ids=["expression", "reuse", "neurons"])
def test_beside_micrograd_itself(program):
    theirs = {}
    exec(program, theirs)
    ours = run(program)
    kind = type(ours["Value"](0.0))
    for name, value in ours.items():
        if isinstance(value, kind):
            assert value.data == pytest.approx(theirs[name].data, rel=1e-14)
            assert value.grad == pytest.approx(theirs[name].grad, rel=1e-14, abs=1e-300)
    assert ours.get("losses", []) == pytest.approx(theirs.get("losses", []), rel=1e-12)


def test_label_is_a_name():
    from autograd import Value, draw

    a, b = Value(2.0, label="a"), Value(-3.0)
    assert (a.name, a.label, b.name, b.label) == ("a", "a", None, "")
    e = a * b
    e.label = "e"
    e.backward()
    assert (e.name, e.label) == ("e", "e") and "name='e'" in repr(e) and "e = a" in draw(e).dot
    e.label = ""
    assert e.name is None
    with pytest.raises(TypeError, match=r"a Value's name is text; got 3"):
        e.label = 3
    with pytest.raises(TypeError, match=r"one of name='a' and label='b'"):
        Value(1.0, name="a", label="b")
