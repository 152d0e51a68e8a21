# %% [markdown]
# # 5 · Example 2: a single training step
#
# The model of Example 1 should answer C. We measure how wrong it is, find the gradient of that with respect
# to the output matrix, and move the weights once.

# %%
import numpy as np
from exercise import check
from IPython.display import SVG

from autograd import draw, explain, step
from examples import example2_single_step as example

found = example.run()
{name: found[name] for name in ("P", "L", "dL/dlogit")}

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
# Step to `logit`: after softmax and −log, its gradient is simply
#
# $$\frac{\partial L}{\partial \text{logit}} = P - \text{onehot}(C)$$
#
# what the model said, minus what was true. Check it in the panel, entry by entry.

# %%
stepper = step(loss, title="Example 2: one training step")
stepper.goto("P")
stepper

# %%
found["dL/dlogit"], found["P"] - np.eye(4)[2]

# %% [markdown]
# ## One step down
#
# $W \leftarrow W - \eta \, \partial L / \partial W$ with $\eta = 0.1$. The loss must fall:

# %%
found["L"], found["L_new"]

# %%
SVG(example.plots()["loss.svg"])

# %% [markdown]
# Why does the worksheet's update touch so few weights? Ask a gradient why it is what it is:

# %%
explain(loss.parents[0], loss)

# %% [markdown]
# ## Exercises
#
# **1.** Suppose the target were A (index 0). What is $\partial L/\partial \text{logit}$ then? Four numbers.

# %%
yours = None  # [., ., ., .]
check("5.1", yours, example=example)

# %% [markdown]
# **2.** $\partial L / \partial W_O$ has the entries $\text{ctx}_i \cdot (\partial L/\partial
# \text{logit})_j$. Which is the largest in size? Give row and column.

# %%
yours = None  # [row, column]
check("5.2", yours, found=found)

# %% [markdown]
# **3.** What is the sum of the four entries of $\partial L/\partial \text{logit}$, whatever the target?

# %%
yours = None  # a number
check("5.3", yours, found=found)
