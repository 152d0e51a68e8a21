# %% [markdown]
# # 1 · A scalar by hand
#
# Four numbers, three operations, one result. By the end you can say, for each number, how much the result
# would change if you nudged it, and you will have computed every one of these by hand.

# %%
import matplotlib.pyplot as plt
import numpy as np
from exercise import check

from autograd import Value, draw, step

# %% [markdown]
# ## Forward
#
# A `Value` is a number that remembers how it was made. Names are for us: they show up in pictures.

# %%
a, b, c, f = Value(2.0, name="a"), Value(-3.0, name="b"), Value(10.0, name="c"), Value(-2.0, name="f")
e = a * b
e.name = "e"
d = e + c
d.name = "d"
L = d * f
L.name = "L"
L

# %%
draw(L)

# %% [markdown]
# The row marked `grad` shows a dash: nobody has asked yet.
#
# ## One nudge
#
# What happens to $L$ if $a$ grows by a thousandth? Compute everything again and look.


# %%
def result(a=2.0, b=-3.0, c=10.0, f=-2.0):
    return (a * b + c) * f


nudge = 0.001
round((result(a=2.0 + nudge) - result()) / nudge, 4)

# %% [markdown]
# $L$ moves six times as far as $a$ does. This number is the *gradient* of $L$ with respect to $a$, written
# $\partial L / \partial a$. In this formula it is 6 wherever $a$ is. Most formulas are curves, and a curve has
# another slope at each place: that of the line that touches it there. Below is $M = x \cdot x + x$, with slope 3 at
# 1 and 7 at 3.

# %%
line = np.linspace(-1, 4, 50)
fig, axes = plt.subplots(figsize=(5, 3))
axes.plot(line, line * line + line)
for place in (1.0, 3.0):
    near = np.array([place - 0.8, place + 0.8])
    axes.plot(near, place * place + place + (2 * place + 1) * (near - place), color="tab:orange")
    axes.plot(place, place * place + place, "o", color="tab:orange")
_ = axes.set(xlabel="x", ylabel="M", title="a curve has another slope at each place")

# %% [markdown]
# ## Backward, step by step
#
# Nudging every number costs one forward pass each. Going *backward* finds all slopes in one pass. Each card
# needs only two things: the gradient that arrives at it, and its own numbers.
#
# - A **product** sends to each factor the gradient times the *other* factor.
# - A **sum** hands the gradient on unchanged.
#
# Press → and try to say the next orange number before it appears. (`G` hides the numbers until you have
# guessed.)

# %%
step(L, title="A scalar by hand")

# %% [markdown]
# Stepping left no trace: no gradient is set yet. `backward()` does the same walk and keeps the results.
# It *adds* them to what is there, so the first two lines empty that first.

# %%
for v in (a, b, c, f):
    v.zero_grad()
print(a.grad)
L.backward()
{v.name: v.grad for v in (a, b, c, f)}

# %% [markdown]
# ## Exercises
#
# Work them out on paper first. Your answers are held against the engine's.
#
# **1.** With $a=4$, $b=0.5$, $c=1$, $f=3$ and the same formula $L = (a \cdot b + c) \cdot f$: what is
# $\partial L/\partial b$?

# %%
yours = None  # a number
check("1.1", yours)

# %% [markdown]
# **2.** What are $\partial L/\partial c$ and $\partial L/\partial f$ there? Write them as a list.

# %%
yours = None  # [∂L/∂c, ∂L/∂f]
check("1.2", yours)

# %% [markdown]
# **3.** $N = x \cdot x + x$ at $x = -2$. How many paths lead from $N$ back to $x$, and what is the slope?
# (Each path adds its share.)

# %%
yours = None  # [number of paths, ∂N/∂x]
check("1.3", yours)

# %% [markdown]
# **Next:** what happens where paths meet, and why the order of the steps matters: lesson 2.
