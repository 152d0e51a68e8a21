# %% [markdown]
# # 12 · Example 5: feed-forward layers and the residual
#
# After attention each position goes through two linear layers with a ReLU between them, and what came in is
# added to what came out. That addition, the *residual*, is a path on which a gradient arrives unchanged.

# %%
import numpy as np
from exercise import check
from IPython.display import SVG

from autograd import Value, draw, explain, relu, step
from examples import example5_feed_forward as example

result = example.graph()
draw(result, title="Example 5")

# %%
step(result, title="Example 5: feed-forward and residual")

# %% [markdown]
# ## Two paths
#
# `out` is used twice: in the feed-forward layers and in the residual sum. The ledger shows how much each path
# brings back.

# %%
print(step(result).ledger("out"))

# %%
SVG(example.plots()["residual.svg"])

# %% [markdown]
# ## A ReLU that is off
#
# Where its input is not above 0, ReLU passes nothing back. A unit that is off for every input can never learn
# again.

# %%
x = Value([-0.5, -2.0, 0.3], name="x")
y = (relu(x) * np.array([1.0, 1.0, 2.0])).sum()
y.backward()
print(x.grad)
dead = Value([-0.5, -2.0], name="dead")
silent = relu(dead).sum()
silent.backward()
explain(dead)

# %% [markdown]
# ## Exercises
#
# **1.** $h = (0.2, -0.1, 0)$ goes through ReLU and the gradient $(5, 7, 9)$ arrives. What is sent on?

# %%
yours = None  # [., ., .]
check("12.1", yours)

# %% [markdown]
# **2.** $z = x + f(x)$, and the slope of $f$ at $x$ is 0.01. What is the slope of $z$, and what would it be
# without the residual?

# %%
yours = None  # [with, without]
check("12.2", yours)

# %% [markdown]
# **3.** Twenty such layers in a row, each with slope 0.01 inside. What is the slope of the whole with
# residuals? (Two decimals.)

# %%
yours = None  # a number
check("12.3", yours)

# %% [markdown]
# **Next:** one part of a transformer block is missing, layer norm: lesson 13.
