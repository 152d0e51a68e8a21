# %% [markdown]
# # 11 · Example 4: several patterns at once
#
# A batch is nothing but several losses, averaged. Because a sum hands its gradient on unchanged, the gradient
# of the batch is the average of the patterns' gradients.

# %%
import numpy as np
from exercise import check
from IPython.display import SVG

from autograd import draw, step
from examples import example4_multiple_patterns as example

loss = example.graph()
draw(loss, collapse="attention*", title="Example 4")

# %% [markdown]
# The three patterns share one set of weights. Step to the end and look at `WO4`: one path per pattern.

# %%
stepper = step(loss, title="Example 4: a batch")
print(stepper.ledger("WO4"))

# %%
stepper.goto("WO4")
stepper

# %% [markdown]
# ## Averages commute with gradients

# %%
found = example.run()
of_each = np.stack([found[f"dL/dWO{n}"] for n in (1, 2, 3)])
print("gradients of each pattern, shape", of_each.shape)
print("their mean\n", of_each.mean(axis=0).round(4))
print("what the engine sends to WO4\n", stepper.ledger("WO4").total.round(4))

# %%
SVG(example.plots()["loss.svg"])

# %% [markdown]
# ## Exercises
#
# **1.** Three patterns have losses 1.2, 0.6 and 0.9. What is the mean loss, and what gradient arrives at each
# of the three?

# %%
yours = None  # [mean, gradient at each]
check("11.1", yours)

# %% [markdown]
# **2.** With `reduction="sum"` in place of the mean, by which factor do all weight gradients grow for three
# patterns?

# %%
yours = None  # a number
check("11.2", yours, example=example, stepper=stepper)

# %% [markdown]
# **3.** How many contributions does $W_Q$ get in a batch of three patterns?

# %%
yours = None  # a number
check("11.3", yours, stepper=stepper)

# %% [markdown]
# **Next:** attention alone does not make a transformer. Lesson 12 adds the layers after it.
