# %% [markdown]
# # 16 · From words to heads: what a GPT adds
#
# An embedding, positions, a causal mask and several heads turn the attention that you know into that of a GPT. Each
# takes a few lines, and its numbers can be worked out with a pencil.

# %%
import numpy as np
from exercise import check

from autograd import Value, concatenate, cross_entropy, draw, softmax, step, where
from nn.functional import attention, attention_weights, causal_mask
from nn.plot import maps

# %% [markdown]
# ## An embedding is a row of a table
#
# A model computes with numbers, so each token gets a row of its own. Token 2 comes twice here, token 1 not at all.

# %%
E = Value([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], name="E")
tokens = np.array([2, 0, 2])
X = E[tokens]
X.name = "X"
L = (X * np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).sum()
L.name = "L"
L.backward()
draw(L)

# %% [markdown]
# Backward, each row of the gradient goes to the row that it came from. Token 2 was read twice, so two rows are added:
# $(1, 2) + (5, 6) = (6, 8)$. Token 1 was not read, and its row gets 0.
#
# Reading rows is a matrix product with *one-hot* rows, which have a single 1. In Examples 1 to 4 the tokens A and B
# were such rows, and $X W_Q$ read a row of $W_Q$ for each of them.

# %%
one_hot = np.eye(3)[tokens]
print(one_hot, "times E is", one_hot @ E.data, sep="\n")

# %% [markdown]
# ## Positions: attention does not see the order
#
# A score compares two tokens, wherever they stand. Swap the first two, and the last one finds the same tokens with the
# same scores, so its result is the same:

# %%
x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
swapped = x[[1, 0, 2]]
print("as written:", attention(x, x, x)[-1].round(4))
print("swapped:   ", attention(swapped, swapped, swapped)[-1].round(4))

# %% [markdown]
# For a language that will not do: "dog bites man" is not "man bites dog". So a second table has a row for every
# *place*, and it is added to the token's row. The sum tells both what stands here and where.

# %%
places = np.array([[0.0, 0.0], [0.0, 0.5], [0.0, 1.0]])
here, there = x + places, swapped + places
print("as written:", attention(here, here, here)[-1].round(4))
print("swapped:   ", attention(there, there, there)[-1].round(4))

# %% [markdown]
# ## A causal mask: do not look ahead
#
# A GPT guesses each next token from those before it, at all places at once. So place $i$ must not see the places after
# it, or it would read the answer. Their scores are set to −∞ before the softmax, and $e^{-\infty} = 0$.
#
# The scores below are logarithms, so that $e^{\text{score}}$ is 1, 2, 3 or 9. Row 1 has $1$ and $3$, divided by their
# sum: $(0.25, 0.75, 0)$. The nines are never read.

# %%
score = Value(np.log([[1.0, 9.0, 9.0], [1.0, 3.0, 9.0], [1.0, 2.0, 1.0]]), name="score")
V = Value([[4.0], [8.0], [0.0]], name="V")
masked = where(causal_mask(3), score, -np.inf)
masked.name = "masked"
attn = softmax(masked)
attn.name = "attn"
out = attn @ V
out.name = "out"
step(out.sum(), title="Attention that does not look ahead")

# %% [markdown]
# Step to the end: above the diagonal the gradient of `score` is 0. What was not seen gets no gradient.
#
# ## Several heads
#
# One head gives each place one weighted mean. A place may want two: the verb before it, and the start of the
# sentence. So the columns are split, and each head runs the same attention on its own share. The results are put
# side by side, and one more matrix mixes them.

# %%
rng = np.random.default_rng(0)
Q, K, W = (rng.normal(size=(3, 4)) for _ in range(3))  # three places, four features
heads = [slice(0, 2), slice(2, 4)]  # two heads of two features
results = [attention(Q[:, own], K[:, own], W[:, own], causal_mask(3)) for own in heads]
concatenate(results, axis=-1).round(4)

# %% [markdown]
# Each head has a width of 2 here, so its scores are divided by $\sqrt 2$, not by $\sqrt 4$. The heads look at different
# places, at no extra cost: two products of half the width.

# %%
looks = {f"head {i}": attention_weights(Q[:, own], K[:, own], causal_mask(3)) for i, own in enumerate(heads, start=1)}
maps(looks, title="two heads, one mask")

# %% [markdown]
# ## All in one graph
#
# Token rows plus position rows, attention with a mask, a matrix to the tokens' logits, and the loss of the next
# token at every place. (One head; $Q$, $K$ and $V$ are $X$ itself, to keep it small.)

# %%
E, P = Value(E.data, name="E"), Value(places, name="P")
WO = Value([[0.5, -0.5, 0.0], [0.0, 0.5, -0.5]], name="WO")
X = E[tokens] + P
X.name = "X"
out = attention(X, X, X, causal_mask(3))
out.name = "out"
logit = out @ WO
logit.name = "logit"
L = cross_entropy(logit, np.array([0, 2, 1]))
L.name = "L"
step(L, title="A GPT without its blocks")

# %% [markdown]
# ## Exercises
#
# **1.** An embedding has two features, and the tokens are 1, 3, 1, 1. The gradient that arrives is 1 everywhere.
# What is the gradient of row 1 of the table?

# %%
yours = None  # [., .]
check("16.1", yours)

# %% [markdown]
# **2.** Four tokens, a causal mask, and all scores are equal. What are the attention weights of the second place?

# %%
yours = None  # [., ., ., .]
check("16.2", yours)

# %% [markdown]
# **3.** A GPT of width 64 has 16 heads. By which number is a score divided?

# %%
yours = None  # a number
check("16.3", yours)

# %% [markdown]
# **Next:** a GPT has thousands of weights, with gradients of very different sizes. Lesson 18 gives each weight a step
# size of its own.
