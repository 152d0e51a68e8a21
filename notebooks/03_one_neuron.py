# %% [markdown]
# # 3 · One neuron learns
#
# A neuron multiplies its inputs by weights, adds a bias and bends the sum. Here one neuron learns from one example,
# by hand, and the loss goes down.

# %%
import matplotlib.pyplot as plt
import numpy as np
from exercise import check

from autograd import Value, draw, step, tanh

# %% [markdown]
# ## Forward: a weighted sum, then a bend
#
# $z = w_1 x_1 + w_2 x_2 + b$ and $y = \tanh(z)$. The weights say how much each input counts, the bias shifts the sum,
# and tanh keeps the result between −1 and 1. We want $y$ to be 1 for the input $(2, -1)$, so the loss is
# $L = (y - 1)^2$.
#
# `x1` and `x2` are *data*: nobody may change them. `w1`, `w2` and `b` are *parameters*: learning changes those.


# %%
def neuron(w1, w2, b):
    x1, x2 = Value(2.0, name="x1", requires_grad=False), Value(-1.0, name="x2", requires_grad=False)
    z = w1 * x1 + w2 * x2 + b
    z.name = "z"
    y = tanh(z)
    y.name = "y"
    loss = (y - 1.0) ** 2
    loss.name = "L"
    return loss


parameters = w1, w2, b = Value(0.5, name="w1"), Value(1.0, name="w2"), Value(0.25, name="b")
L = neuron(*parameters)
draw(L)

# %% [markdown]
# ## Backward, by hand
#
# Three slopes, multiplied from the loss back to a weight:
#
# 1. $L = (y - 1)^2$, so $\partial L / \partial y = 2 (y - 1)$.
# 2. $y = \tanh(z)$, so $\partial y / \partial z = 1 - y^2$. tanh is flat where $y$ is near 1 or −1.
# 3. $z = w_1 x_1 + w_2 x_2 + b$, so $\partial z / \partial w_1 = x_1$: the weight's slope is its input.

# %%
z = 0.5 * 2.0 + 1.0 * -1.0 + 0.25
y = np.tanh(z)
dy = 2 * (y - 1)
dz = dy * (1 - y**2)
print(f"z = {z}, y = {y:.4f}, dL/dy = {dy:.4f}, dL/dz = {dz:.4f}")
print(f"dL/dw1 = {dz * 2.0:.4f}, dL/dw2 = {dz * -1.0:.4f}, dL/db = {dz:.4f}")

# %%
step(L, title="One neuron")

# %% [markdown]
# ## A step against the gradient
#
# The gradient of `w1` is negative: a larger `w1` makes the loss smaller. So each parameter moves *against* its
# gradient, by a small share $\eta$ of it, the *learning rate*:
#
# $$w \leftarrow w - \eta \, \frac{\partial L}{\partial w}$$

# %%
eta = 0.1
history = []
parameters = w1, w2, b = Value(0.5, name="w1"), Value(1.0, name="w2"), Value(0.25, name="b")
for number in range(10):
    L = neuron(*parameters)
    history.append(L.data)
    for p in parameters:
        p.zero_grad()
    L.backward()
    for p in parameters:
        p.data -= eta * p.grad
    print(f"{number}: L = {history[-1]:.4f}   w1 = {w1.data:.4f}, w2 = {w2.data:.4f}, b = {b.data:.4f}")

# %%
fig, axes = plt.subplots(figsize=(5, 3))
axes.plot(history, "o-", color="tab:orange")
_ = axes.set(xlabel="step", ylabel="L", title="the loss goes down")

# %% [markdown]
# ## A step that is too large
#
# The gradient is the slope *here*. It says nothing about far away. With $L = (w - 3)^2$ a step multiplies the
# distance to 3 by $1 - 2\eta$:

# %%
for eta in (0.1, 0.5, 0.9, 1.1):
    w = Value(0.0)
    path = []
    for _ in range(5):
        w.zero_grad()
        ((w - 3.0) ** 2).backward()
        w.data -= eta * w.grad
        path.append(round(w.data, 3))
    print(f"η = {eta}: {path}")

# %% [markdown]
# 0.5 arrives at once, 0.9 jumps from side to side and comes nearer, 1.1 jumps further away each time.
#
# ## Exercises
#
# **1.** A neuron without tanh: $z = w x + b$ with $x = 4$, and $\partial L/\partial z = -0.5$ arrives. What are
# $\partial L/\partial w$ and $\partial L/\partial b$?

# %%
yours = None  # [∂L/∂w, ∂L/∂b]
check("3.1", yours)

# %% [markdown]
# **2.** $w = 1$, $\partial L/\partial w = -2$, $\eta = 0.05$. What is $w$ after the step?

# %%
yours = None  # a number
check("3.2", yours)

# %% [markdown]
# **3.** The output of a tanh neuron is $y = 0.99$. By which factor is the gradient multiplied on its way back through
# the tanh? (It is small: such a neuron is *saturated* and learns slowly.)

# %%
yours = None  # a number
check("3.3", yours)

# %% [markdown]
# **4.** *Write the backward line* of `out = tanh(x)`: what `x` gets, as a formula of `g` (what arrives), `out` and `x`.

# %%
yours = None  # your line as text, "..."
check("3.4", yours)

# %% [markdown]
# **Next:** four neurons in two layers, and the mistake that everybody makes once: lesson 4.
