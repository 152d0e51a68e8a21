# %% [markdown]
# # 2 · The chain rule, and why order matters
#
# Slopes multiply along a path and add up where paths meet. The second half of that sentence is the reason why
# backprop must go through the graph in a certain order.

# %%
import matplotlib.pyplot as plt
from exercise import check

from autograd import Value, draw, explain, step, tanh

# %% [markdown]
# ## Along one path, slopes multiply
#
# If $u$ grows three times as fast as $x$, and $y$ half as fast as $u$, then $y$ grows $3 \cdot 0.5$ times as
# fast as $x$. Below, $u = 3x$ and $y = \tanh(u)$. The slope of tanh at 0.6 is 0.7116, so $x$ gets $0.7116 \cdot 3 =
# 2.135$.

# %%
x = Value(0.2, name="x")
u = x * 3.0
u.name = "u"
y = tanh(u)
y.name = "y"
step(y, title="Slopes multiply")

# %% [markdown]
# ## Where paths meet, shares are added

# %%
x = Value(2.0, name="x")
a = x * 3.0
a.name = "a"
b = a * x
b.name = "b"
L = b + a
L.name = "L"
draw(L, edges="rule")

# %% [markdown]
# $a$ feeds both $b$ and $L$. Its gradient is complete only when both have sent their share, and only then may
# $a$ pass it on. The ledger lists what arrives:

# %%
steps = step(L)
print(steps.ledger("a"))
print(steps.ledger("x"))

# %% [markdown]
# ### What goes wrong in another order
#
# Here is backprop by hand, with $a$ treated *before* $b$ has sent its share:

# %%
gradient = {"L": 1.0, "b": 0.0, "a": 0.0, "x": 0.0}
gradient["b"] += gradient["L"]  # L = b + a
gradient["a"] += gradient["L"]
gradient["x"] += gradient["a"] * 3.0  # too early: b has not sent anything to a yet
gradient["a"] += gradient["b"] * x.data  # b = a * x
gradient["x"] += gradient["b"] * a.data
x.zero_grad()  # backward() adds to what is there
L.backward()
print("too early:", gradient["x"], "  right:", x.grad)

# %% [markdown]
# The cure is an order in which every result comes before its inputs: a *topological order*, backwards. The
# engine gets it for free. Each Value carries the number of its creation, and a result is always younger than
# its inputs, so "newest first" is such an order.

# %%
for one in steps:
    if one.kind == "backward":
        print(f"{one.node.stamp:>6}  {one.reading}")

# %% [markdown]
# ## Many slopes below one: a vanishing gradient
#
# A chain of layers $x \to \tanh(1.2\, x)$. The slope of a layer is 1.2 times the slope of tanh, which is 1 at 0 and
# smaller everywhere else; here the product is soon 0.68 a layer. Thirty layers multiply thirty such numbers.

# %%
depths, slopes = range(1, 31), []
for depth in depths:
    start = Value(1.5, name="start")
    end = start
    for _ in range(depth):
        end = tanh(end * 1.2)
    end.backward()
    slopes.append(start.grad)
fig, axes = plt.subplots(figsize=(5, 3))
axes.semilogy(depths, slopes, "o-", color="tab:orange")
_ = axes.set(xlabel="layers of tanh", ylabel="gradient at the start")

# %% [markdown]
# `explain` says what shrank a gradient most:

# %%
w = Value(9.0, name="w")
loss = tanh(w) * 2.0
loss.backward()
explain(w)

# %% [markdown]
# ## Exercises
#
# **1.** $L = x \cdot y$ with $y = x + 1$, at $x = 4$. By hand: $\partial L/\partial x$?

# %%
yours = None  # a number
check("2.1", yours)

# %% [markdown]
# **2.** Stacked diamonds: $x_1 = x_0 + x_0$, $x_2 = x_1 + x_1$, and so on up to $x_{10}$. How many *paths*
# lead from $x_{10}$ to $x_0$, and how many backward steps does the engine need?

# %%
yours = None  # [paths, steps]
check("2.2", yours)

# %% [markdown]
# **3.** In the order above ("newest first"), which node comes right after $L$ in the graph $L = b + a$?

# %%
yours = None  # "a" or "b"
check("2.3", yours, steps=steps)

# %% [markdown]
# **4.** *Write the backward line.* `out = a * b`, and `g` is the gradient that arrives at `out`. What does `b` get?
# Write a formula of `g`, `out`, `a` and `b`; it is held against finite differences.

# %%
yours = None  # your line as text, "..."
check("2.4", yours)

# %% [markdown]
# **Next:** put to work: one neuron that learns, lesson 3.
