# %% [markdown]
# # 22 · Your own PyTorch model, explained
#
# You have a model in PyTorch, and perhaps a backward pass that you wrote yourself. `capture` runs it once, for
# real, and records the run as a graph that you can draw, step through and judge. (This lesson needs torch: `pip
# install torch`.)

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch
from exercise import check
from torch import nn

from autograd import capture, draw, step

# %% [markdown]
# ## A model and a run

# %%
torch.manual_seed(0)


class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 3)
        self.fc2 = nn.Linear(3, 1)

    def forward(self, x, y):
        h = torch.tanh(self.fc1(x))
        out = self.fc2(h)
        error = out - y
        return (error**2).mean()


model = Regression().double()
x = torch.tensor([[1.0, -0.5], [0.3, 2.0]]).double()
y = torch.tensor([[1.0], [-1.0]]).double()
run = capture(model, x, y)
print(run)

# %% [markdown]
# `run.result` is the loss, as a Value. Parameters and inputs have the names that you know, and so have the
# results: `h`, `out`, `error` are the variables on the left of your own lines.

# %%
run.result.backward()
draw(run.result, collapse=False)

# %%
step(run.result, collapse=False, title="Backprop through a PyTorch model")

# %% [markdown]
# ## Is torch's backward right?
#
# Two engines, one run. Both start from $\partial L/\partial L = 1$ and walk back; at every node the two gradients
# must be equal.

# %%
print(run.compare())

# %% [markdown]
# ## A mistake of one's own
#
# Normalising a row: $h = (x - m) / s$. Somebody writes its backward as $g / s$, as if the mean $m$ and the spread
# $s$ were constants. The loss still falls in training, a little slower. Who notices?


# %%
class RowNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5)
        h = (x - x.mean(-1, keepdim=True)) / s
        ctx.save_for_backward(h, s)
        return h

    @staticmethod
    def backward(ctx, g):
        _, s = ctx.saved_tensors
        return g / s


class Norm(nn.Module):
    def forward(self, x):
        h = RowNorm.apply(x)
        return h


wrong = nn.Sequential(nn.Linear(2, 4), Norm(), nn.Tanh(), nn.Linear(4, 1)).double()
found = capture(lambda x: wrong(x).square().mean(), x).compare()
found

# %% [markdown]
# Read the picture upwards, from the loss. The gradients agree up to `RowNorm`, and from there on none does. The
# finite differences take sides, and the report says which terms the line leaves out. (`print(found)` says the same
# as text, `found.save("report.html")` writes it as a page.) By hand: a nudge of one $x_j$ moves the mean and the
# spread of its row too, so two terms are missing:
#
# $$\frac{\partial L}{\partial x} = \frac{g - m_1 - h\, m_2}{s}$$
#
# where $m_1$ is the mean of $g$ and $m_2$ the mean of $g h$, row by row. A quick sign of it: each row of the
# right gradient sums to 0.

# %%
fig, axes = plt.subplots(figsize=(5, 3))
places = np.arange(4)
axes.bar(places - 0.2, found.first.ours[0], 0.4, label="handgrad", color="tab:orange")
axes.bar(places + 0.2, found.first.theirs[0], 0.4, label="torch, with g / s", color="tab:gray")
axes.set(xlabel="entry of the first row", ylabel="gradient", xticks=places)
_ = axes.legend()

# %% [markdown]
# ## Exercises
#
# **1.** What does the first row of the right gradient sum to?

# %%
yours = None  # a number
check("22.1", yours, found=found)

# %% [markdown]
# **2.** Write the right backward, for one row. Here are $g$, $h$ and $s$; what is $\partial L/\partial x$?

# %%
g, h, s = np.array([1.0, 0.0, -1.0, 2.0]), np.array([1.0, -1.0, 1.0, -1.0]), 2.0
yours = None  # [., ., ., .]
check("22.2", yours, g=g, h=h, s=s)

# %% [markdown]
# **3.** How many of the run's gradients did the two engines agree on before the first that differs?

# %%
yours = None  # a number
check("22.3", yours, found=found)

# %% [markdown]
# **Next:** a backward pass that you can read as code: lesson 23.
