# %% [markdown]
# # 6 · Tensors and broadcasting
#
# Nothing new happens when numbers come in tables. A matrix product is many sums of products, and every entry
# gets its gradient by the two rules you know. This lesson finds the short way to write that down.

# %%
import matplotlib.pyplot as plt
import numpy as np
from exercise import check

from autograd import Value, draw, step, zoom

# %%
X = Value([[1.0, 2.0], [3.0, -1.0], [0.5, 0.0]], name="X")  # three samples, two features
W = Value([[0.5, -1.0], [0.25, 2.0]], name="W")
b = Value([0.1, -0.2], name="b")
Z = X @ W
Z.name = "Z"
Y = Z + b
Y.name = "Y"
L = (Y * Y).sum()
L.name = "L"
draw(L)

# %% [markdown]
# ## One entry of a matrix product
#
# $Z_{01} = X_{00} W_{01} + X_{01} W_{11}$: a row times a column. `zoom` shows a tensor op as the scalars it
# is made of.

# %%
zoom(Z)

# %% [markdown]
# Who uses $W_{01}$? Every row of $Z$, in column 1. So its gradient collects one term from each row:
#
# $$\frac{\partial L}{\partial W_{01}} = \sum_i X_{i0} \, G_{i1}, \qquad G = \frac{\partial L}{\partial Z}$$
#
# which is row 0 of $X^\top$ times column 1 of $G$. Hence the rule: $\partial L/\partial W = X^\top G$, and in
# the same way $\partial L/\partial X = G\, W^\top$. Shapes leave no choice: each gradient has the shape of
# what it belongs to.
#
# Step through it. "one entry" opens the arithmetic of a single number.

# %%
step(L, title="A linear layer")

# %% [markdown]
# ## Broadcasting
#
# `b` has two entries but was added to three rows: each entry was *used* three times. So three contributions
# arrive, one from each row of the gradient of $Y$, and they are summed. Undoing a broadcast is a sum, always.

# %%
for v in (X, W, b):
    v.zero_grad()  # backward() adds to what is there
L.backward()
for row in Y.grad:
    print("from a row:", row)
print("their sum:", Y.grad.sum(axis=0), "  b.grad:", b.grad)

# %% [markdown]
# A picture of a gradient: which weights would raise the loss?

# %%
fig, axes = plt.subplots(1, 2, figsize=(6, 2.4))
for ax, (name, table) in zip(axes, {"W": W.data, "∂L/∂W": W.grad}.items()):
    widest = np.abs(table).max()
    ax.imshow(table, cmap="PuOr_r", vmin=-widest, vmax=widest)
    for (i, j), entry in np.ndenumerate(table):
        ink = "0.95" if abs(entry) > 0.6 * widest else "0.1"  # light on dark, dark on light
        ax.text(j, i, f"{entry:.3g}", ha="center", va="center", color=ink)
    ax.set(title=name, xticks=[], yticks=[])

# %% [markdown]
# ## A nudge still tells the truth
#
# One entry, one millionth, one number to compare:

# %%
nudged = W.data.copy()
nudged[0, 1] += 1e-6
Y2 = X.data @ nudged + b.data
print(f"nudged: {((Y2 * Y2).sum() - L.data) / 1e-6:.3f}, by the rule: {W.grad[0, 1]:.3f}")

# %% [markdown]
# ## Exercises
#
# **1.** $G = \begin{pmatrix}1 & 0\\ 0 & 2\end{pmatrix}$ arrives at $Z = X W$ with $X = \begin{pmatrix}1 & 2\\
# 3 & 4\end{pmatrix}$. By hand: $\partial L/\partial W$ (a 2×2 list)?

# %%
yours = None  # [[., .], [., .]]
check("6.1", yours)

# %% [markdown]
# **2.** A scalar $s$ is added to a 4×5 matrix, and the loss is the sum of all entries. $\partial L/\partial
# s$?

# %%
yours = None  # a number
check("6.2", yours)

# %% [markdown]
# **3.** The loss is now the *mean* of all entries of that matrix. $\partial L/\partial s$?

# %%
yours = None  # a number
check("6.3", yours)

# %% [markdown]
# **Next:** the bend that turns scores into probabilities, and its loss: lesson 7.
