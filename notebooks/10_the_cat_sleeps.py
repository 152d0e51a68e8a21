# %% [markdown]
# # 10 · The cat sleeps
#
# A worksheet that was printed with a slip in nearly every number. We compute it, see where the first slip is,
# and what followed from it.

# %%

from exercise import check
from IPython.display import SVG

from autograd import draw, step
from examples import cat_sleeps as example
from examples.checking.verdict import check as against_print
from examples.checking.verdict import tally

loss = example.graph()
draw(loss, title="The cat sleeps")

# %%
step(loss, title="The cat sleeps")

# %%
SVG(example.plots()["attention.svg"])

# %% [markdown]
# ## Held against the printed sheet
#
# Every printed number gets a verdict: exact, rounded, drift (the author rounded on the way) or erratum.

# %%
found = example.run()
findings = against_print("cat_sleeps", found)
dict(tally(findings))

# %% [markdown]
# ## Training

# %%
SVG(example.plots()["loss.svg"])

# %% [markdown]
# ## Exercises
#
# **1.** The loss of one output is $-\log p$ where the target is 1. The model says $p = 0.8$. The loss?

# %%
yours = None  # a number
check("10.1", yours)

# %% [markdown]
# **2.** With $p = \mathrm{sigmoid}(z)$, what is $\partial L/\partial z$ for that output? (It is as simple as
# for softmax.)

# %%
yours = None  # a number
check("10.2", yours)

# %% [markdown]
# **3.** The loss is the mean over all outputs. If it were the sum, by which factor would every gradient grow?

# %%
yours = None  # a number
check("10.3", yours, found=found)
