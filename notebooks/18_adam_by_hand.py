# %% [markdown]
# # 18 · Adam by hand
#
# Gradient descent has one step size for all weights. Adam gives each weight its own, from two running means that fit on
# a slip of paper.

# %%
import matplotlib.pyplot as plt
import numpy as np
from exercise import check

import nn
from autograd import Value, draw, step

# %% [markdown]
# ## A valley that is steep one way and flat the other
#
# $L = \frac{1}{2} x^2 + 50 y^2$ has the gradient $(x, 100 y)$. At $(1, 1)$ the two slopes are 1 and 100.


# %%
def valley(x, y):
    return 0.5 * x**2 + 50.0 * y**2


x, y = Value(1.0, name="x"), Value(1.0, name="y")
L = valley(x, y)
L.name = "L"
L.backward()
draw(L)

# %%
step(L, title="A valley")

# %% [markdown]
# A step $w \leftarrow w - \eta g$ multiplies $y$ by $1 - 100 \eta$. With $\eta > 0.02$ that is below −1, and $y$ jumps
# from side to side, further each time. With $\eta = 0.015$ it is safe, but $x$ is only multiplied by $0.985$: after 100
# steps, a fifth of the way is still left.
#
# ## Two running means
#
# Adam remembers, for each weight, the mean $m$ of its gradients and the mean $v$ of their squares. Old ones fade:
#
# $$m \leftarrow 0.9\, m + 0.1\, g \qquad v \leftarrow 0.999\, v + 0.001\, g^2$$
#
# Both start at 0, so at first they are too small. After $t$ steps they hold $1 - 0.9^t$ and $1 - 0.999^t$ of what they
# should, so Adam divides by that:
#
# $$\hat m = \frac{m}{1 - 0.9^t} \qquad \hat v = \frac{v}{1 - 0.999^t} \qquad
# w \leftarrow w - \eta \, \frac{\hat m}{\sqrt{\hat v} + 10^{-8}}$$
#
# Here are the first three steps of $x$ and $y$ as a plain loop:

# %%
eta, w = 0.1, np.array([1.0, 1.0])
m, v = np.zeros(2), np.zeros(2)
for t in (1, 2, 3):
    g = np.array([w[0], 100 * w[1]])
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g**2
    m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.999**t)
    w = w - eta * m_hat / (np.sqrt(v_hat) + 1e-8)
    print(f"{t}: g = {g.round(4)}, m̂ = {m_hat.round(4)}, √v̂ = {np.sqrt(v_hat).round(4)}, w = {w.round(4)}")

# %% [markdown]
# Look at step 1. $\hat m = g$ and $\sqrt{\hat v} = |g|$, so the step is $\eta$ times the sign of the gradient: 0.1,
# whether the slope is 1 or 100. That is the whole idea. The size of a gradient cancels; what counts is whether its sign
# lasts. If a gradient is 1 and then −1, $\hat m = (0.9 \cdot 0.1 - 0.1) / 0.19 = -0.053$ while $\sqrt{\hat v} = 1$:
# hardly a step.
#
# The optimizer of `nn` computes the same numbers:

# %%
x, y = Value(1.0, name="x"), Value(1.0, name="y")
optimizer = nn.optim.Adam([x, y], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    valley(x, y).backward()
    optimizer.step()
print(f"x = {x.data:.6f}, y = {y.data:.6f}")

# %% [markdown]
# ## Side by side


# %%
def losses(make, steps=100):
    x, y = Value(1.0), Value(1.0)
    optimizer, history = make([x, y]), []
    for _ in range(steps):
        loss = valley(x, y)
        history.append(float(loss))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return history


fig, axes = plt.subplots(figsize=(5, 3))
axes.semilogy(losses(lambda p: nn.optim.SGD(p, lr=0.015)), label="gradient descent, η = 0.015")
axes.semilogy(losses(lambda p: nn.optim.Adam(p, lr=0.1)), label="Adam, η = 0.1")
axes.set(xlabel="step", ylabel="L")
_ = axes.legend()

# %% [markdown]
# Each dip of Adam's curve is a pass through the lowest point: $m$ still holds the old gradients, so it goes too far and
# comes back. In exchange, one $\eta$ suits weights whose gradients differ by a factor of 100.
#
# *AdamW*, which trains GPTs, also makes every weight a little smaller at each step: $w \leftarrow w - \eta \lambda w$.
# This *weight decay* stands beside the step above and does not go through $m$ and $v$.
#
# ## Exercises
#
# **1.** A weight is 1, its first gradient is −250, and $\eta = 0.01$. What is the weight after Adam's first step?

# %%
yours = None  # a number
check("18.1", yours)

# %% [markdown]
# **2.** The first two gradients of a weight are 2 and 0. What is $\hat m$ after the second step?

# %%
yours = None  # a number
check("18.2", yours)

# %% [markdown]
# **3.** A model has 7,328 weights. How many numbers does Adam have to remember besides them?

# %%
yours = None  # a number
check("18.3", yours)

# %% [markdown]
# **Next:** all parts are there. Lesson 20 puts them together and trains a GPT.
