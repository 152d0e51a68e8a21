# %% [markdown]
# # 5 · Write your own Value
#
# The engine that takes these steps fits on a page. You write it here, line by line, and hold it against this
# project's own.

# %%
import math

import matplotlib.pyplot as plt
from exercise import check

from autograd import Value, draw, step

# %% [markdown]
# ## What a number must remember
#
# To go back, a result must know two things: which numbers it was made from, and how to send a gradient on to them.
# So a `Mine` holds its number, its gradient, its parents, and, for each parent, the *local slope*: how much the
# result changes when that parent changes a little.


# %%
class Mine:
    def __init__(self, data, parents=(), slopes=()):
        self.data = data
        self.grad = 0.0
        self.parents = parents  # the numbers that it was made from
        self.slopes = slopes  # d(this)/d(parent), one for each

    def __add__(self, other):
        return Mine(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Mine(self.data * other.data, (self, other), (other.data, self.data))


a, b = Mine(2.0), Mine(-3.0)
product = a * b
product.data, product.slopes

# %% [markdown]
# $a b$ changes by $b$ for each unit of $a$, and by $a$ for each unit of $b$: the slopes are the *other* factor. A sum
# changes by 1 for each unit of either.
#
# ## Backward: an order, and one line
#
# A node may pass its gradient on when it is complete. So visit every result before its parents. `order` lists parents
# before results (first go deep, then add yourself), and backward walks that list from its end.


# %%
def order(root):
    found, seen = [], set()

    def visit(node):
        if node not in seen:
            seen.add(node)
            for parent in node.parents:
                visit(parent)
            found.append(node)

    visit(root)
    return found


def backward(root):
    root.grad = 1.0
    for node in reversed(order(root)):
        for parent, slope in zip(node.parents, node.slopes):
            parent.grad += slope * node.grad  # the chain rule; += because paths add up


a, b = Mine(2.0), Mine(-3.0)
loss = a * b + a * a
backward(loss)
a.grad, b.grad

# %% [markdown]
# Check it by the rules of lesson 1: $\partial L/\partial a = b + 2a = 1$ and $\partial L/\partial b = a = 2$.
#
# The one line with `+=` is all of backprop. Write `=` in its place, and `a` keeps only the last path.
#
# ## More operations
#
# An operation needs its number and its slope, nothing else. The engine stays as it is:


# %%
def power(x, n):
    return Mine(x.data**n, (x,), (n * x.data ** (n - 1),))


def tanh(x):
    y = math.tanh(x.data)
    return Mine(y, (x,), (1 - y**2,))


def relu(x):
    return Mine(max(x.data, 0.0), (x,), (1.0 if x.data > 0 else 0.0,))


# %% [markdown]
# ## Hold it against the engine
#
# The same formula, once with yours and once with the project's. Then a third judge that knows no rule at all: a
# nudge.


# %%
def formula(a, b, tanh, power):
    return tanh(a * b + power(a, 2)) * b


mine = Mine(0.7), Mine(-0.4)
backward(formula(*mine, tanh, power))
theirs = a, b = Value(0.7, name="a"), Value(-0.4, name="b")
L = formula(a, b, lambda x: x.tanh(), lambda x, n: x**n)
L.name = "L"
L.backward()
nudged = formula(Mine(0.7 + 1e-6), Mine(-0.4), tanh, power).data - formula(Mine(0.7), Mine(-0.4), tanh, power).data
print("yours ", [round(x.grad, 6) for x in mine])
print("theirs", [round(x.grad, 6) for x in theirs])
print("a nudge of a:", round(nudged / 1e-6, 6))

# %%
step(L, title="The same formula in the engine")

# %% [markdown]
# ## It trains
#
# The neuron of lesson 3, on your engine:

# %%
w1, w2, bias = Mine(0.5), Mine(1.0), Mine(0.25)
history = []
for _ in range(30):
    y = tanh(w1 * Mine(2.0) + w2 * Mine(-1.0) + bias)
    loss = power(y + Mine(-1.0), 2)
    history.append(loss.data)
    for p in (w1, w2, bias):
        p.grad = 0.0
    backward(loss)
    for p in (w1, w2, bias):
        p.data -= 0.1 * p.grad
fig, axes = plt.subplots(figsize=(5, 3))
axes.plot(history, color="tab:orange")
_ = axes.set(xlabel="step", ylabel="L", title="trained by your own engine")

# %% [markdown]
# ## What the project's engine adds
#
# Three things, and you can read them in `autograd/engine.py`: a rule is kept apart from its slopes, so that it can
# be printed and differentiated again; the order comes from a counter instead of a recursion, so that a graph may be
# a million nodes deep (`visit` stops at a thousand); and numbers may be arrays, which lesson 6 is about. Each
# gradient is drawn where it belongs:

# %%
draw(L)

# %% [markdown]
# ## Exercises
#
# **1.** You add `exp`: `Mine(math.exp(x.data), (x,), (slope,))`. What is the slope at $x = 0.5$?

# %%
yours = None  # a number
check("5.1", yours)

# %% [markdown]
# **2.** In `backward` somebody wrote `parent.grad = slope * node.grad`, without the `+`. Which gradient does $x$
# get in $x \cdot x$ at $x = 5$, and which one is right?

# %%
yours = None  # [without the +, right]
check("5.2", yours)

# %% [markdown]
# **3.** A quotient $x / y$ at $x = 3$, $y = 2$: what are its two slopes?

# %%
yours = None  # [slope of x, slope of y]
check("5.3", yours)

# %% [markdown]
# **4.** *Write the backward line* of `out = x / y` for `y`: a formula of `g`, `out`, `x` and `y`.

# %%
yours = None  # your line as text, "..."
check("5.4", yours)

# %% [markdown]
# **Next:** the same for tables of numbers, all at once: lesson 6.
