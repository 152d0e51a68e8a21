"""Programs for micrograd run with only their import lines changed (its training demo: tests/nn/test_scalar.py)."""

import copy
import math
import pickle
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
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


# --- autograd.micrograd: a gradient starts at 0.0 --------------------------------------------------------------

GPT = Path(__file__).with_name("fixtures") / "scalar_gpt.txt"
OWN_CLASS = re.compile(r"# >>> the class to replace.*?# <<< the class to replace\n", re.DOTALL)


@pytest.mark.slow
def test_a_scalar_gpt_runs_with_only_its_class_replaced():
    script = GPT.read_text(encoding="utf-8")
    own, ours = {}, {}
    exec(script, own)
    exec(OWN_CLASS.sub("from autograd.micrograd import Value\n", script), ours)
    assert ours["Value"] is not own["Value"] and len(ours["params"]) == len(own["params"]) > 1000
    assert own["losses"][-1] < own["losses"][0]
    assert ours["losses"] == pytest.approx(own["losses"], rel=1e-13)
    assert [p.data for p in ours["params"]] == pytest.approx([p.data for p in own["params"]], rel=1e-9, abs=1e-12)
    assert ours["samples"] == own["samples"]


LECTURE = """
from graphviz import Digraph

def trace(root):
    nodes, edges = set(), set()
    def build(v):
        if v not in nodes:
            nodes.add(v)
            for child in v._prev:
                edges.add((child, v))
                build(child)
    build(root)
    return nodes, edges

def draw_dot(root):
    dot = Digraph(format="svg", graph_attr={"rankdir": "LR"})
    nodes, edges = trace(root)
    for n in nodes:
        uid = str(id(n))
        dot.node(name=uid, label="{ %s | data %.4f | grad %.4f }" % (n.label, n.data, n.grad), shape="record")
        if n._op:
            dot.node(name=uid + n._op, label=n._op)
            dot.edge(uid + n._op, uid)
    for n1, n2 in edges:
        dot.edge(str(id(n1)), str(id(n2)) + n2._op)
    return dot

x1, x2 = Value(2.0, label="x1"), Value(0.0, label="x2")
w1, w2 = Value(-3.0, label="w1"), Value(1.0, label="w2")
b = Value(6.8813735870195432, label="b")
x1w1 = x1 * w1; x1w1.label = "x1*w1"
x2w2 = x2 * w2; x2w2.label = "x2*w2"
both = x1w1 + x2w2; both.label = "x1*w1 + x2*w2"
n = both + b; n.label = "n"
o = n.tanh(); o.label = "o"
"""


def lecture():
    from autograd.micrograd import Value

    namespace = {"Value": Value}
    exec(LECTURE, namespace)
    return namespace


def test_the_lectures_drawing_before_and_after_backward():
    found = lecture()
    before = found["draw_dot"](found["o"]).source
    assert before.count("grad 0.0000") == 10 and "x1*w1 + x2*w2 | data -6.0000" in before
    found["o"].backward()
    after = found["draw_dot"](found["o"]).source
    for shown in ("o | data 0.7071 | grad 1.0000", "n | data 0.8814 | grad 0.5000", "w1 | data -3.0000 | grad 1.0000",
                  "x1 | data 2.0000 | grad -1.5000", "w2 | data 1.0000 | grad 0.0000"):  # fmt: skip
        assert shown in after


def test_the_lectures_steps_by_hand():
    found = lecture()
    found["o"].grad = 1.0
    for name in ("o", "n", "b", "both", "x2w2", "x1w1"):
        found[name]._backward()
    by_hand = {name: found[name].grad for name in ("x1", "x2", "w1", "w2", "b", "n")}
    again = lecture()
    again["o"].backward()
    assert by_hand == {name: again[name].grad for name in by_hand}


def test_the_lectures_nudge_of_a_result():
    """`e.data += h` in the line after e was computed; later, when something may have used it, it is refused."""
    from autograd.errors import BackwardError
    from autograd.micrograd import Value

    a, b, c = Value(2.0), Value(-3.0), Value(10.0)
    e = a * b
    e.data += 0.25
    e.data += 0.25
    d = e + c
    assert d.data == 4.5
    d.backward()
    assert (a.grad, e.grad) == (-3.0, 1.0)
    with pytest.raises(BackwardError, match="result of mul; only a leaf's data may be set"):
        e.data += 0.5
    assert e.data == -5.5
    a.data += 1.0
    assert a.data == 3.0


def test_everything_made_from_its_values_starts_at_zero():
    from autograd import Value as Ours
    from autograd import exp, stack
    from autograd.micrograd import Value

    a, b = Value(0.5), Value([1.0, 2.0])
    results = [
        a + 1, 1 + a, a - b, 2.0 - a, a * a, a / 3, 1 / a, a**2, 2**a, -a, abs(a), b @ b, b[0], a < 1, b.sum(), b.T,
        a.exp(), exp(a), np.exp(b), np.ones(2) * b, Ours(2.0) * a, a * Ours(2.0), stack([a, a]), +a, b.mean(axis=0),
    ]  # fmt: skip
    for result in results:
        assert type(result) is Value and np.all(result.grad == 0.0) and np.shape(result.grad) == result.shape
    assert Ours(1.0).grad is None and (Ours(1.0) * 2).grad is None  # elsewhere None means what it did
    total = sum((r * 1.0).sum() for r in results if r.requires_grad)
    total.backward()
    plain_a, plain_b = Ours(0.5), Ours([1.0, 2.0])
    x, y = plain_a, plain_b
    plain = [
        x + 1, 1 + x, x - y, 2.0 - x, x * x, x / 3, 1 / x, x**2, 2**x, -x, abs(x), y @ y, y[0], y.sum(), y.T,
        x.exp(), exp(x), np.exp(y), np.ones(2) * y, Ours(2.0) * x, x * Ours(2.0), stack([x, x]), +x, y.mean(axis=0),
    ]  # fmt: skip
    sum((r * 1.0).sum() for r in plain).backward()
    assert a.grad == pytest.approx(x.grad, rel=1e-14) and b.grad == pytest.approx(y.grad, rel=1e-14)
    a.zero_grad()
    assert a.grad == 0.0


def test_a_plain_result_of_its_results_still_reaches_them():
    """`stack([ours, theirs])` gives our class, with a result of the other behind it: backward goes through both."""
    from autograd import Value as Ours
    from autograd import stack
    from autograd.micrograd import Value

    a = Value(3.0)
    joined = stack([Ours(1.0) * 2.0, a * a])
    joined.sum().backward()
    assert a.grad == 6.0


def test_copies_are_of_its_class():
    from autograd.micrograd import Value

    a = Value(2.0, label="a")
    b = a * a
    b.backward()
    for twin in (copy.deepcopy(b), pickle.loads(pickle.dumps(b)), copy.copy(b)):
        assert type(twin) is Value and twin.data == 4.0 and twin.grad == 1.0
    assert type(copy.copy(a)) is Value and copy.copy(a).label == "a"
