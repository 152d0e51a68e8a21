# %% [markdown]
# # 23 · The backward pass as a program
#
# Backpropagation is a list of ordinary computations. `compile` writes that list down as NumPy code: one line an op,
# forward and backward, in your own names. You can read it, run it without this library, and it is faster.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
from exercise import check

from autograd import Value, compile, draw, softmax, step, tanh

# %% [markdown]
# ## A formula with two names
#
# `compile(f)` calls `f` once, records what it computes, and gives back a function. That function returns the value and
# the gradients, and its `source` is the program.


# %%
def formula(a, b):
    return tanh(a * b + a**2)


g = compile(formula)
result, slopes = g(2.0, -3.0)
print(f"{result:.6f}, with the slopes {slopes[0]:.6f} and {slopes[1]:.6f}")

# %%
print(g.source)

# %% [markdown]
# Read it from the top. The forward lines have numbers. Then come the backward lines, in the opposite order: the last op
# of the forward pass is the first to send its gradient on. The number at the end of a backward line says which forward
# line its rule belongs to. `d_a` is a sum, because two paths lead to `a`.
#
# The steps below are the same lines with the numbers put in. Compare the rule of `tanh` in both.

# %%
a, b = Value(2.0, name="a"), Value(-3.0, name="b")
L = formula(a, b)
L.name = "L"
step(L, title="The same, step by step")

# %% [markdown]
# ## It needs NumPy alone
#
# The text is a whole program. Here it runs in a namespace of its own, where there is no `Value`:

# %%
alone = {}
exec(g.source, alone)
result, slopes = alone["formula"](2.0, -3.0)
print(f"{result:.6f}, with the slopes {slopes[0]:.6f} and {slopes[1]:.6f}")

# %% [markdown]
# ## One attention head
#
# How far is an attention head from giving back what it read? Seven lines of forward pass, and `X` is used four times.


# %%
def distance(X, W_Q, W_K, W_V):
    Q = X @ W_Q
    K = X @ W_K
    V = X @ W_V
    score = Q @ K.T / np.sqrt(2.0)
    attn = softmax(score)
    out = attn @ V
    return ((out - X) ** 2).sum()


X, W = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([[0.2, 0.1], [0.0, 0.3]])
head = compile(distance)
value, gradients = head(X, W, W.T, W + 0.5)
print(head.source)

# %% [markdown]
# Softmax takes several lines going forward: subtract the largest entry, take exponentials, divide by their sum. Going
# back it takes four: `d_attn * attn`, its sum over the row, `attn` times that sum, and the difference. Every line that
# begins with `d_` computes a gradient of the drawing below.

# %%
names = ("X", "W_Q", "W_K", "W_V")
leaves = [Value(data, name=name) for name, data in zip(names, (X, W, W.T, W + 0.5))]
loss = distance(*leaves)
loss.backward()
draw(loss, title="one attention head")

# %% [markdown]
# The program and the engine agree, up to the rounding of the last digit. The largest difference of each gradient:

# %%
largest = [np.abs(leaf.grad - found).max() for leaf, found in zip(leaves, gradients)]
print("largest differences:", ", ".join(f"{leaf.name} {gap:.1g}" for leaf, gap in zip(leaves, largest)))

# %% [markdown]
# From a shell, `handgrad source example3` prints the program of Example 3, with the names of the book.
#
# ## Why it is faster
#
# The engine builds a graph of `Value`s for every call, then walks through it. The program was written once, so a call
# is only the arithmetic.


# %%
def seconds(call, times=200):
    call()
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


engine = seconds(lambda: distance(*leaves).backward())
program = seconds(lambda: head(X, W, W.T, W + 0.5))
fig, axes = plt.subplots(figsize=(5, 2))
axes.barh(["graph", "program"], [engine * 1e6, program * 1e6], color=["tab:gray", "tab:blue"])
_ = axes.set(xlabel="microseconds for the value and its gradients")

# %% [markdown]
# What a program cannot do: follow a branch. If your function decides by a number (`if x > 0`), another input may need
# another program, and `compile` refuses it by name instead of giving a wrong answer. Write `where(x > 0, ...)`.
#
# ## Exercises
#
# **1.** In the program of the attention head: how many terms are added up in `d_X`?

# %%
yours = None  # a number
check("23.1", yours, loss=loss)

# %% [markdown]
# **2.** `d_V` is computed by a backward line. What is the number of the forward line that it belongs to?

# %%
yours = None  # a number
check("23.2", yours, source=head.source)

# %% [markdown]
# **3.** `compile(lambda a: a * a + a)(3.0)` gives the value and the gradient. Which two numbers? Work them out by hand.

# %%
yours = None  # [value, gradient]
check("23.3", yours)

# %% [markdown]
# **That was the last lesson.** Make a worksheet from a formula of your own (`handgrad worksheet --help`), type one into
# `handgrad play`, or train something (`examples/char_gpt.py`).
