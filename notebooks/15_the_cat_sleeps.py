# %% [markdown]
# # 15 · The cat sleeps
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
# The first slips, in the order of the sheet. `X` and `W_Q` are printed right, but their product is not: row 0 of X
# times column 0 of `W_Q` gives 0.13, and 0.23 is printed. Whatever is computed from it is then wrong too, even
# where the arithmetic is right.

# %%
row, column = found["X"][0], found["W_Q"][:, 0]
print(" + ".join(f"{x} × {w}" for x, w in zip(row, column)), "=", round(sum(row * column), 4))

# %%
slips = [one for one in findings if one.entry.verdict == "erratum"]
for one in slips[:5]:
    print(f"{one.entry.what:>8}  printed {one.entry.printed_text:>5}  right {one.entry.exact:.4g}")
follow = [one for one in slips if one.entry.follows is not None and one.entry.follows.gives_printed]
print(f"{len(slips)} wrong numbers; {len(follow)} of them are right arithmetic on wrong numbers")

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
check("15.1", yours)

# %% [markdown]
# **2.** With $p = \mathrm{sigmoid}(z)$, what is $\partial L/\partial z$ for that output? (It is as simple as
# for softmax.)

# %%
yours = None  # a number
check("15.2", yours)

# %% [markdown]
# **3.** The loss is the mean over all outputs. If it were the sum, by which factor would every gradient grow?

# %%
yours = None  # a number
check("15.3", yours, found=found)

# %% [markdown]
# **Next:** what turns these models into a GPT: lesson 16.
