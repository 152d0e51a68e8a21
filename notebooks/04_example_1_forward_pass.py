# %% [markdown]
# # 4 · Example 1: a forward pass
#
# One attention head reads the tokens A and B and says how likely each of A, B, C, D comes next. Every table
# here is small enough to compute with a pencil.

# %%
from exercise import check
from IPython.display import SVG

from autograd import draw, step
from examples import example1_forward_pass as example

found = example.run()
{name: found[name] for name in ("X", "WQ", "WK", "WV", "WO4")}

# %% [markdown]
# ## The whole computation
#
# $$Q, K, V = X W_Q, X W_K, X W_V \qquad \text{weights} = \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt 2}\right) \qquad
# \text{out} = \text{weights} \cdot V$$
#
# Only the last row of `out` is read: what the model knows at position B.

# %%
draw(example.graph(), title="Example 1")

# %% [markdown]
# ## Step by step
#
# Press →. At each step, say the next table before you look. "open softmax as small steps" shows what is
# inside it: subtract the largest, take exponentials, divide by their sum.

# %%
step(example.graph(), backward=False, title="Example 1: the forward pass")

# %% [markdown]
# ## Who looks at whom

# %%
SVG(example.plots()["attention.svg"])

# %% [markdown]
# Each row sums to 1. The two tokens look at each other almost as much as at themselves: the scores, 0.007 and
# 0, are nearly equal. Softmax turns small differences into small differences.

# %% [markdown]
# ## Exercises
#
# **1.** With $W_Q = W_K = I$ (the identity), what is the matrix of raw scores $Q K^\top$ for the tokens A, B?

# %%
yours = None  # 2×2
check("4.1", yours, example=example)

# %% [markdown]
# **2.** And the attention weights of the last position (row 1)? Two digits will do: $e^{0.7071} \approx
# 2.028$.

# %%
yours = None  # [., .]
check("4.2", yours, example=example)

# %% [markdown]
# **3.** Add 5 to every score of a row. By how much does the row of attention weights change?

# %%
yours = None  # a number
check("4.3", yours, found=found)
