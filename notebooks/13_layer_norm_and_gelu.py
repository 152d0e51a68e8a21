# %% [markdown]
# # 13 · Layer norm and GELU, derived
#
# Two parts of a GPT block are still missing. Layer norm keeps numbers in a good range, and GELU is a ReLU without the
# corner.

# %%
import matplotlib.pyplot as plt
import numpy as np
from exercise import check

from autograd import Value, draw, gelu, grad, jacobian, layer_norm, step

# %% [markdown]
# ## Layer norm: subtract the mean, divide by the spread
#
# Each token's row has its own mean $\mu$ and its own spread $\sigma$:
#
# $$\mu = \frac{1}{n} \sum_i x_i \qquad \sigma = \sqrt{\frac{1}{n} \sum_i (x_i - \mu)^2 + \epsilon} \qquad
# \hat x_i = \frac{x_i - \mu}{\sigma} \qquad y_i = \gamma_i \hat x_i + \beta_i$$
#
# $\hat x$ has mean 0 and spread 1, whatever $x$ was. $\gamma$ and $\beta$ are learned, so a row may have another
# size if that helps. ε (0.00001) only prevents a division by 0.

# %%
x = np.array([1.0, 2.0, 6.0])
mu, sigma = x.mean(), x.std()
print("μ =", mu, "  σ =", sigma.round(4), "  x̂ =", ((x - mu) / sigma).round(4))

# %% [markdown]
# ## Its rule, derived
#
# A gradient $g_i$ arrives at each $\hat x_i$. What does one entry $x_j$ change?
#
# - The mean, by $\partial\mu/\partial x_j = 1/n$.
# - The variance $\sigma^2$, the mean of the $(x_i - \mu)^2$, by $2 (x_j - \mu) / n$. (That $\mu$ moves, too, adds
#   nothing: the $x_i - \mu$ add up to 0.)
# - So the spread, its root, by $\frac{1}{2 \sigma} \cdot \frac{2 (x_j - \mu)}{n} = \hat x_j / n$.
#
# The quotient rule on $\hat x_i = (x_i - \mu) / \sigma$ puts them together:
#
# $$\frac{\partial \hat x_i}{\partial x_j}
# = \frac{[i = j] - 1/n}{\sigma} - \frac{x_i - \mu}{\sigma^2} \cdot \frac{\hat x_j}{n}
# = \frac{1}{\sigma} \left([i = j] - \frac{1}{n} - \frac{\hat x_i \hat x_j}{n}\right)$$
#
# ($[i = j]$ is 1 if $i$ is $j$, else 0: an entry moves itself.) Multiply by $g_i$ and sum over $i$:
#
# $$\frac{\partial L}{\partial x_j}
# = \frac{1}{\sigma} \left(g_j - \text{mean}(g) - \hat x_j \, \text{mean}(g \hat x)\right)$$
#
# Two means, one subtraction each. The gradient has lost its own mean, because shifting a row changes nothing, and its
# share along $\hat x$, because stretching a row changes nothing.

# %%
hat, g = (x - mu) / sigma, np.array([1.0, 0.0, 0.0])
by_rule = (g - g.mean() - hat * (g * hat).mean()) / sigma
table = jacobian(lambda x: layer_norm(x, np.ones(3), np.zeros(3), eps=0.0))(x)
print("rule: ", by_rule.round(4), "  table:", (g @ table).round(4))
print("sum:", abs(by_rule.sum()).round(12), "  along x̂:", abs((by_rule * hat).sum()).round(12))

# %%
row = Value(x, name="x")
gamma, beta = Value(np.ones(3), name="gamma"), Value(np.zeros(3), name="beta")
y = layer_norm(row, gamma, beta)
y.name = "y"
L = (y * np.array([1.0, 0.0, 0.0])).sum()
L.name = "L"
step(L, title="Layer norm")

# %% [markdown]
# ## Where it stands: pre-norm
#
# The first transformers normalised *after* the residual sum. A GPT normalises *before* each part, and the residual
# goes round it untouched:
#
# $$x \leftarrow x + \text{attention}(\text{norm}(x)) \qquad x \leftarrow x + \text{ffn}(\text{norm}(x))$$
#
# So there is a path from the loss to the first embedding on which nothing is multiplied. One last norm stands
# before the head, since nothing has bounded the sum until then.
#
# ## GELU: how likely is it that a number counts?
#
# ReLU asks a hard question: is $x$ above 0? GELU asks how many of all (normally distributed) numbers are below $x$.
# That share is $\Phi(x)$, and
#
# $$\text{GELU}(x) = x \, \Phi(x) \qquad \text{GELU}'(x) = \Phi(x) + x \, \varphi(x)$$
#
# by the product rule, where $\varphi$, the bell curve, is the slope of $\Phi$.

# %%
line = np.linspace(-3, 3, 200)
fig, axes = plt.subplots(figsize=(5, 3))
axes.plot(line, gelu(line), label="GELU")
axes.plot(line, np.maximum(line, 0), ":", label="ReLU", color="gray")
axes.plot(line, [grad(gelu)(x) for x in line], label="slope of GELU", color="tab:orange")
_ = axes.legend()

# %% [markdown]
# Its slope has no jump. Below 0 it is small but not 0, so a unit that is off can come back.

# %%
unit = Value([-1.0, 0.0, 1.0], name="unit")
bent = gelu(unit)
bent.name = "bent"
total = bent.sum()
total.name = "L"
total.backward()
draw(total)

# %% [markdown]
# ## Exercises
#
# **1.** The row $(1, 3)$ goes through layer norm with $\gamma = 1$, $\beta = 0$ and no ε. What comes out?

# %%
yours = None  # [., .]
check("13.1", yours)

# %% [markdown]
# **2.** The gradient $(1, 1, 1, 1)$ arrives at $\hat x$ of any row. What does the row get?

# %%
yours = None  # [., ., ., .]
check("13.2", yours)

# %% [markdown]
# **3.** What is the slope of GELU at 0?

# %%
yours = None  # a number
check("13.3", yours)

# %% [markdown]
# **4.** *Write the backward line* of `out = (x - mean(x)) / sigma`, where `sigma` is the standard deviation of the row
# `x`. You may write `mean(...)`, and use `g`, `out`, `x` and `sigma`.

# %%
yours = None  # your line as text, "..."
check("13.4", yours)

# %% [markdown]
# **Next:** all parts of a block are there. Lesson 14 stacks two of them.
