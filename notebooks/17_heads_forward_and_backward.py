# %% [markdown]
# # 17 · Two heads, forward and backward
#
# A GPT computes all heads at once, in one packed matrix. Here the heads are taken apart, and each number goes
# forward and back on its own.

# %%
import numpy as np
from exercise import check

import nn
from autograd import Value, concatenate, draw, softmax, step, where
from nn.functional import causal_mask
from nn.plot import maps

# %% [markdown]
# ## Three products
#
# Two tokens, four features, two heads of two features each. $Q$, $K$ and $V$ are products with three matrices, as in
# Example 1. The matrices have four columns: the first two belong to head 1, the last two to head 2.

# %%
X = Value([[1.0, 0.0, 2.0, -1.0], [0.0, 1.0, 1.0, 1.0]], name="X", requires_grad=False)
WQ = Value([[0.5, 0.0, 1.0, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.5], [0.0, 0.0, 0.5, 0.0]], name="WQ")
WK = Value([[1.0, 0.0, 0.0, 0.5], [0.0, 0.0, 0.5, 0.0], [0.0, 0.5, 0.5, 0.0], [0.5, 0.0, 0.0, 1.0]], name="WK")
WV = Value([[0.0, 1.0, 0.5, 0.0], [1.0, 0.0, 0.0, 0.5], [0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]], name="WV")
WO = Value([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.5], [0.0, 0.0, 1.0, 0.0], [0.5, 0.0, 0.0, 1.0]], name="WO")
Q, K, V = X @ WQ, X @ WK, X @ WV
Q.name, K.name, V.name = "Q", "K", "V"
print("Q", Q.data, "K", K.data, "V", V.data, sep="\n")

# %% [markdown]
# ## One head
#
# A head takes its two columns of each and does what you know: scores, divided by $\sqrt 2$ (its own width), a mask, a
# softmax, a weighted mean of its values.


# %%
def head(number):
    own = slice(2 * number - 2, 2 * number)
    q, k, v = Q[:, own], K[:, own], V[:, own]
    scores = q @ k.T / np.sqrt(2.0)
    attn = softmax(where(causal_mask(2), scores, -np.inf))
    out = attn @ v
    for value, name in ((q, "Q"), (k, "K"), (v, "V"), (scores, "scores"), (attn, "attn"), (out, "out")):
        value.name = f"{name}_{number}"
    return attn, out


(attn_1, out_1), (attn_2, out_2) = head(1), head(2)
maps({"head 1": attn_1.data, "head 2": attn_2.data}, title="what each head looks at")

# %% [markdown]
# The first token sees only itself: its row is $(1, 0)$ in both heads. The second divides its attention, and each
# head in its own way.
#
# ## Side by side, then mixed
#
# The heads' results stand side by side again, four columns, and $W_O$ mixes them. Without it head 1 could never
# write to the features that head 2 reads.
#
# A loss is one number. Here it is the sum of the entries of $Y$, each times a number that we choose, so that each
# entry gets a gradient of its own: that number.

# %%
heads = concatenate([out_1, out_2], axis=-1)
heads.name = "heads"
Y = heads @ WO
Y.name = "Y"
L = (Y * np.array([[1.0, 0.0, -1.0, 0.5], [0.0, 1.0, 0.5, -1.0]])).sum()
L.name = "L"
for W in (WQ, WK, WV, WO):
    W.zero_grad()  # backward() adds to what is there: every run of this cell begins at 0
L.backward()
draw(L)

# %% [markdown]
# ## Backward: the split undone
#
# - *Side by side* has no arithmetic, so neither has its rule: of the gradient's four columns the first two,
#   $G_1$, go to head 1, and the last two, $G_2$, to head 2.
# - Each head goes back on its own: $V_1$ gets $\text{attn}_1^\top G_1$, `attn_1` gets $G_1 V_1^\top$, then softmax's
#   rule, the division by $\sqrt 2$, and $Q_1$ and $K_1$.
# - A slice goes back as a table that is 0 outside of it. The heads' two tables fill different columns, so adding
#   them puts them side by side again. No head has touched the other's numbers.

# %%
G = heads.grad
print("to head 1:\n", G[:, :2], "\nto head 2:\n", G[:, 2:])
print("V_1 by hand:\n", (attn_1.data.T @ G[:, :2]).round(4))
print("V, first two columns:\n", V.grad[:, :2].round(4))

# %%
step(L, title="Two heads")

# %% [markdown]
# ## Packed, as a GPT does it
#
# $X W_Q$, $X W_K$ and $X W_V$ are one product with the three matrices side by side, and all heads are one stack. The
# numbers are the same. `nn.MultiHeadAttention` holds that packed matrix:

# %%
layer = nn.MultiHeadAttention(4, 2, bias=False, causal=True)
layer.qkv.weight.data = np.concatenate([WQ.data, WK.data, WV.data], axis=1)
layer.out.weight.data = WO.data.copy()
print("largest difference:", np.abs(layer(X.data[None]).data[0] - Y.data).max())

# %% [markdown]
# ## Exercises
#
# **1.** A width of 64 and 8 heads: how wide is a head, and how many columns has the packed matrix?

# %%
yours = None  # [width of a head, columns]
check("17.1", yours)

# %% [markdown]
# **2.** `attn_1` is $\begin{pmatrix}1 & 0\\ 0.5 & 0.5\end{pmatrix}$, and $G_1 = \begin{pmatrix}2 & 0\\ 4 &
# -2\end{pmatrix}$ arrives at `out_1`. What does $V_1$ get?

# %%
yours = None  # [[., .], [., .]]
check("17.2", yours)

# %% [markdown]
# **3.** In the graph above, what is the gradient of the score of token 0 looking at token 1, in either head?

# %%
yours = None  # a number
check("17.3", yours)

# %% [markdown]
# **Next:** a GPT has thousands of weights, with gradients of very different sizes. Lesson 18 gives each weight a step
# size of its own.
