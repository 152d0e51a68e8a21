# %% [markdown]
# # 8 · Example 1: a forward pass
#
# One attention head reads the tokens A and B and says how likely each of A, B, C, D comes next. This is the first
# worked example of a book of transformers computed by hand; every table is small enough for a pencil.

# %%
from exercise import check
from IPython.display import SVG

from autograd import draw, step
from examples import example1_forward_pass as example

found = example.run()
for name in ("X", "WQ", "WK", "WV", "WO4"):
    print(f"{name}\n{found[name]}")

# %% [markdown]
# Each row of $X$ is a token: $(1, 0)$ is A, $(0, 1)$ is B.
#
# ## The whole computation
#
# $$Q, K, V = X W_Q, X W_K, X W_V \qquad \text{attn} = \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt 2}\right) \qquad
# \text{out} = \text{attn} \cdot V$$
#
# Each token asks a question, its row of $Q$ (query). Each token offers an answer to questions of some kind, its row
# of $K$ (key), and has something to tell, its row of $V$ (value). A score is the product of a question and a key:
# large if they fit.
#
# Why divided by $\sqrt 2$? A score is a sum of products, 2 here. Products of either sign partly cancel, so a sum of
# $d$ of them grows like $\sqrt d$, not like $d$. Divided by $\sqrt d$, scores have the same size at any width. Without
# it, the scores of a wide head would lie so far apart that softmax gives one token everything, and its slopes
# $p (1 - p)$ would be nearly 0 (lesson 7): the head could not learn.
#
# Softmax makes the scores of a row weights that sum to 1, and `out` is the mean of the rows of $V$ by these
# weights.
#
# Only the last row of `out` is read, what the model knows at B. It is called `ctx` (context). One more matrix makes
# four numbers of it, a *logit* for each token that may come next, and softmax makes the logits probabilities:
#
# $$\text{logit} = \text{ctx} \cdot W_{O4} \qquad P = \mathrm{softmax}(\text{logit})$$

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
check("8.1", yours, example=example)

# %% [markdown]
# **2.** And the attention weights of the last position (row 1)? Two digits will do: $e^{0.7071} \approx
# 2.028$.

# %%
yours = None  # [., .]
check("8.2", yours, example=example)

# %% [markdown]
# **3.** Add 5 to every score of a row. By how much does the row of attention weights change?

# %%
yours = None  # a number
check("8.3", yours, found=found)

# %% [markdown]
# **Next:** the model says C with probability 0.25. Lesson 9 makes it a little more sure, in one step.
