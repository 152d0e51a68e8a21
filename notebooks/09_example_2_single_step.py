# %% [markdown]
# # 9 · Example 2: a single training step
#
# The model of Example 1 should answer C. We measure how wrong it is, find the gradient of that with respect
# to the output matrix, and move the weights once.

# %%
import numpy as np
from exercise import check
from IPython.display import SVG

from autograd import draw, step
from examples import example2_single_step as example

found = example.run()
for name in ("P", "L", "dL/dlogit"):
    print(f"{name:10} {np.round(found[name], 4)}")

# %% [markdown]
# ## The loss
#
# $L = -\log P(C)$. If $P(C)$ were 1 the loss would be 0; at a quarter it is $\log 4 \approx 1.386$.

# %%
loss = example.graph()
draw(loss, title="Example 2")

# %% [markdown]
# ## The most useful gradient in all of this
#
# Softmax and −log together are called *cross-entropy*. With logits $z$,
#
# $$L = -\log \frac{e^{z_C}}{\sum_j e^{z_j}} = -z_C + \log \sum_j e^{z_j}$$
#
# The slope of the last term in $z_i$ is $e^{z_i} / \sum_j e^{z_j}$, which is $P_i$ again. The first term adds −1, for C
# alone. So
#
# $$\frac{\partial L}{\partial \text{logit}} = P - \text{onehot}(C)$$
#
# what the model said, minus what was true (`onehot(C)` is 1 for C and 0 for the others). The stepper goes there in
# small steps, through −log and through softmax. Go to the gradient of `logit` and check it, entry by entry.

# %%
stepper = step(loss, title="Example 2: one training step")
stepper.goto("P")
stepper

# %%
print("dL/dlogit ", found["dL/dlogit"].round(4))
print("P − onehot", (found["P"] - np.eye(4)[2]).round(4))

# %% [markdown]
# ## One step down
#
# $W \leftarrow W - \eta \, \partial L / \partial W$ with $\eta = 0.1$. The loss must fall:

# %%
print(f"L before {found['L']:.6f}, after {found['L_new']:.6f}")

# %%
SVG(example.plots()["loss.svg"])

# %% [markdown]
# All eight weights of $W_{O4}$ have a gradient. The printed worksheet moves two of them, those for A and C that are not
# 0. Another reading of it moves three, and plain gradient descent all eight, which is fastest.
#
# ## Exercises
#
# **1.** Suppose the target were A (index 0). What is $\partial L/\partial \text{logit}$ then? Four numbers.

# %%
yours = None  # [., ., ., .]
check("9.1", yours, example=example)

# %% [markdown]
# **2.** $\partial L / \partial W_{O4}$ has the entries $\text{ctx}_i \cdot (\partial L/\partial
# \text{logit})_j$. Which is the largest in size? Give row and column.

# %%
yours = None  # [row, column]
check("9.2", yours, found=found)

# %% [markdown]
# **3.** What is the sum of the four entries of $\partial L/\partial \text{logit}$, whatever the target?

# %%
yours = None  # a number
check("9.3", yours, found=found)

# %% [markdown]
# **Next:** only the last matrix has learned. Lesson 10 sends the gradient back to all of them.
