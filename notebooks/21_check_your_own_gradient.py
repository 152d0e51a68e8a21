# %% [markdown]
# # 21 · Check your own gradient
#
# You derived a gradient by hand. Is it right? Nudging every input and comparing is the oldest test there is;
# this lesson shows how to run it, how to read its report, and where it is blind.

# %%
import matplotlib.pyplot as plt
import numpy as np
from exercise import check

from autograd import Value, check_formula, check_grads, custom_op, draw, step, tanh

# %% [markdown]
# ## A formula of your own
#
# $f(x) = \sum x_i^3$. Somebody writes $2x^2$ for its gradient:

# %%
x = np.array([1.0, -2.0, 0.5])
print(check_formula(lambda x: (x**3).sum(), lambda x: 2 * x**2, x))

# %%
print(check_formula(lambda x: (x**3).sum(), lambda x: 3 * x**2, x))

# %% [markdown]
# ## An op of your own
#
# A rule is one line. `check_grads` holds it against differences, entry by entry.

# %%
softsign = custom_op(
    "softsign", forward=lambda x: x / (1 + abs(x)), vjp=lambda g, out, x: (g / (1 + abs(x)) ** 2,), reads="softsign(x)"
)
print(check_grads(lambda x: softsign(x).sum(), np.array([0.5, -2.0, 3.0])))

# %% [markdown]
# And because the rule is ordinary arithmetic, it can be drawn and stepped like any other:

# %%
a = Value(0.5, name="a")
loss = softsign(a * 3.0)
draw(loss, edges="rule")

# %%
step(loss, title="Your own op")

# %% [markdown]
# ## How small should the nudge be?
#
# Too large, and the curve bends; too small, and the last digits of the computer drown the difference.

# %%
nudges = 10.0 ** np.arange(-1, -15, -0.5)
true = 1 - np.tanh(0.7) ** 2
errors = [abs((tanh(0.7 + h) - tanh(0.7 - h)) / (2 * h) - true) for h in nudges]
fig, axes = plt.subplots(figsize=(5, 3))
axes.loglog(nudges, errors, "o-", color="tab:orange")
_ = axes.set(xlabel="nudge", ylabel="error of the difference")

# %% [markdown]
# ## A corner has no slope
#
# At a kink the left and right differences disagree. The report says so instead of calling the gradient wrong.

# %%
print(check_grads(lambda x: abs(x).sum(), np.array([0.0, 1.0])))

# %% [markdown]
# ## Exercises
#
# **1.** Derive the gradient of $f(x) = \sum x_i / (1 + x_i^2)$ and write it as a function of a NumPy array.

# %%
your_gradient = None  # lambda x: ...


def f(x):
    return (x / (1 + x**2)).sum()


points = np.array([0.3, -1.2, 2.0])
verdict = None if your_gradient is None else str(check_formula(f, your_gradient, points).verdict)
check("21.1", verdict)

# %% [markdown]
# **2.** What verdict does `check_grads` give for $|x|$ at 0?

# %%
yours = None  # a word
check("21.2", yours)

# %% [markdown]
# **3.** About which nudge is best for a central difference in double precision? Give its power of ten, such
# as −3.

# %%
yours = None  # a number
check("21.3", yours, nudges=nudges, errors=errors)

# %% [markdown]
# **Next:** the same for a whole model in PyTorch: lesson 22. Without PyTorch, go on to lesson 23.
