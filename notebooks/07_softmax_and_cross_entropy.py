# %% [markdown]
# # 7 · Softmax and cross-entropy, derived
#
# A network says three numbers; we want three probabilities, and a loss that asks for the right one. Both rules come
# out in a few lines, and together they are one subtraction.

# %%
import matplotlib.pyplot as plt
import numpy as np
from exercise import check

from autograd import Value, cross_entropy, draw, jacobian, log, softmax, step

# %% [markdown]
# ## From scores to probabilities
#
# Scores, the *logits*, may be any numbers. Probabilities are positive and add up to 1. So: make them positive with
# $e^s$, then divide by their sum.
#
# $$p_i = \frac{e^{s_i}}{\sum_j e^{s_j}}$$

# %%
s = np.array([1.0, 2.0, 0.0])
e = np.exp(s)
print("e^s =", e.round(4), "  sum =", e.sum().round(4), "  p =", (e / e.sum()).round(4))

# %% [markdown]
# A constant added to all scores changes nothing: it is a common factor above and below. Programs subtract the largest
# score first, so that no $e^s$ is too large to write.
#
# ## Its slopes: two cases
#
# Call the sum $Z$. By the quotient rule, a score changes *its own* probability by
#
# $$\frac{\partial p_i}{\partial s_i} = \frac{e^{s_i} Z - e^{s_i} e^{s_i}}{Z^2} = p_i (1 - p_i)$$
#
# and *another* one, through $Z$ alone, by
#
# $$\frac{\partial p_i}{\partial s_j} = \frac{0 - e^{s_i} e^{s_j}}{Z^2} = - p_i p_j$$
#
# All nine slopes of three scores, as a table: row $i$ belongs to $p_i$, column $j$ to $s_j$. Each column adds up to 0:
# if one score grows, what its probability gains, the others lose. Each row does, too: a constant added to all scores
# changes no probability.

# %%
table = jacobian(softmax)(s)
print(table.round(4))
print("each column adds up to", abs(table.sum(axis=0)).round(12), "  each row to", abs(table.sum(axis=1)).round(12))

# %% [markdown]
# ## Its rule
#
# A gradient $g_i$ arrives at each $p_i$. A score collects from all of them:
#
# $$\frac{\partial L}{\partial s_j} = g_j \, p_j (1 - p_j) - \sum_{i \ne j} g_i \, p_i p_j
# = p_j \left(g_j - \sum_i g_i p_i\right)$$
#
# In words: each entry gets its own gradient minus the *average* gradient, times its probability. The average is one
# number for the whole row, so the rule is two short lines.

# %%
g = np.array([1.0, 0.0, -2.0])
p = softmax(s)
average = (g * p).sum()
print("average:", average.round(4), "  rule:", (p * (g - average)).round(4), "  table:", (g @ table).round(4))

# %% [markdown]
# ## The loss: how surprised are we?
#
# The right class is $t$, and the model gave it the probability $p_t$. The loss is $L = -\log p_t$: 0 if the model was
# sure, large if it said "impossible".

# %%
chances = np.linspace(0.01, 1, 200)
fig, axes = plt.subplots(figsize=(5, 3))
axes.plot(chances, -np.log(chances))
_ = axes.set(xlabel="probability of the right class", ylabel="L")

# %%
scores = Value(s, name="s")
P = softmax(scores)
P.name = "P"
L = -log(P[0])
L.name = "L"
step(L, title="Softmax, then −log P[0]")

# %% [markdown]
# ## Together: P − onehot
#
# Only the target sends a gradient: $g_t = -1/p_t$, the others 0. Put that into the rule. The average is
# $g_t p_t = -1$, so
#
# $$\frac{\partial L}{\partial s_t} = p_t \left(-\frac{1}{p_t} + 1\right) = p_t - 1 \qquad
# \frac{\partial L}{\partial s_j} = p_j (0 + 1) = p_j$$
#
# The gradient of the logits is the probabilities, with 1 subtracted at the target: $P - \text{onehot}$. It says:
# push the right score up, the others down, each by as much as it was wrong. `cross_entropy` is both steps as one
# op.

# %%
scores.zero_grad()  # backward() adds to what is there: every run of this cell begins at 0
L.backward()
print("P − onehot:", (P.data - np.array([1.0, 0.0, 0.0])).round(4), "  s.grad:", scores.grad.round(4))
logits = Value(s, name="logits")
both = cross_entropy(logits, 0)
both.name = "L"
both.backward()
print("cross_entropy:", logits.grad.round(4))
draw(both)

# %% [markdown]
# ## Exercises
#
# **1.** $P = (0.2, 0.5, 0.3)$ and the target is class 2 (the last). What is the gradient of the logits?

# %%
yours = None  # [., ., .]
check("7.1", yours)

# %% [markdown]
# **2.** Two scores are equal, and the gradient $(3, 1)$ arrives at the two probabilities. What do the scores get?

# %%
yours = None  # [., .]
check("7.2", yours)

# %% [markdown]
# **3.** A model that knows nothing gives each of 10 classes the same probability. What is its loss?

# %%
yours = None  # a number
check("7.3", yours)

# %% [markdown]
# **4.** *Write the backward line* of `out = softmax(s)` for a row `s`. You may write `sum(...)` over the row, and use
# `g`, `out` and `s`.

# %%
yours = None  # your line as text, "..."
check("7.4", yours)

# %% [markdown]
# **Next:** three matrix products and a softmax are attention: lesson 8.
