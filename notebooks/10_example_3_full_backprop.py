# %% [markdown]
# # 10 · Example 3: full backpropagation
#
# The gradient goes all the way back, through the attention weights, to every matrix and to the tokens themselves. This
# is the heart of the book.

# %%
import numpy as np
from exercise import check
from IPython.display import SVG

from autograd import draw, step
from examples import example3_full_backprop as example

loss = example.graph()
draw(loss, title="Example 3", edges="rule")

# %% [markdown]
# ## Step through it
#
# Fourteen steps forward, fourteen back. Three places deserve a pause:
#
# - `out → attn, V`: a matrix product sends to each side the gradient times the other side, transposed.
# - `attn → scaled`: through softmax. Each row's gradients sum to zero, because raising all scores alike
#   changes nothing.
# - `X`: three paths meet (V, K, Q). Watch `grad 1 of 3 paths` become 2, then 3.

# %%
stepper = step(loss, title="Example 3: full backpropagation")
stepper

# %% [markdown]
# The ledger of $X$, from Python (lesson 23 shows the same backward pass as a program):

# %%
print(stepper.ledger("X"))

# %% [markdown]
# ## Where the gradient gets lost
#
# The edges are as wide as the gradient that flows along them, one decade of size a fixed width:

# %%
draw(loss, flow=True, title="gradient flow")

# %%
stages = ("logit", "ctx", "out", "attn", "scaled", "score", "Q", "K", "V")
found = example.run()
for stage in stages:
    size = np.linalg.norm(found[f"dL/d{stage}"])
    print(f"{stage:>7} {size:9.2e} " + "█" * max(1, int(48 + 10 * np.log10(size))))

# %% [markdown]
# From `logit` to $Q$ it shrinks 3,500-fold: every factor on the way (0.1 three times, a near-even softmax,
# $1/\sqrt 2$) is small. That is why, in this example, $W_Q$ and $W_K$ hardly learn at first.

# %%
SVG(example.plots()["loss.svg"])

# %% [markdown]
# ## Exercises
#
# **1.** A row of attention weights is $p = (0.5, 0.5)$ and the gradient $g = (1, 3)$ arrives at it. What goes
# on to the scores? The rule is $p_i (g_i - \sum_j g_j p_j)$.

# %%
yours = None  # [., .]
check("10.1", yours)

# %% [markdown]
# **2.** Look at $\partial L/\partial X$ after the step of $V$ (path 1 of 3). Which share of its final entry
# [1][0] is already there? (Percent, whole.)

# %%
yours = None  # percent
check("10.2", yours, stepper=stepper)

# %% [markdown]
# **3.** If all entries of $W_V$ were zero, which of $W_Q$, $W_K$, $W_V$, $W_{O4}$ would still get a gradient
# that is not zero? Say how many of the four.

# %%
yours = None  # how many
check("10.3", yours, example=example)

# %% [markdown]
# **Next:** one pattern is learned. Lesson 11 learns three at once.
