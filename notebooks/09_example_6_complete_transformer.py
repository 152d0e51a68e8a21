# %% [markdown]
# # 9 · Example 6: a complete transformer
#
# Two blocks, each with attention, a feed-forward layer, layer norms and residuals; an embedding in front, a
# head at the end. Sixty operations, and not one that you have not met.

# %%
import numpy as np
from exercise import check
from IPython.display import SVG

from autograd import Value, draw, explain, layer_norm, step
from examples import example6_complete_transformer as example

loss = example.graph()
draw(loss, collapse="blocks.*", title="Example 6, two blocks")

# %% [markdown]
# ## Folded, then opened
#
# With `collapse`, a whole module is one step: what arrives, and what it sends to its inputs and parameters.
# Each closed module can be opened on the page ("open blocks.0 as small steps").

# %%
step(loss, collapse="blocks.*", title="Example 6, block by block")

# %% [markdown]
# ## Layer norm
#
# Each row is shifted to mean 0 and scaled to variance 1. So a change that lifts all features of a row alike,
# or stretches them alike, has no effect, and the gradient has no part in these two directions.

# %%
x = Value([[1.0, 2.0, 4.0]], name="x")
y = (layer_norm(x) * np.array([[1.0, 0.0, 0.0]])).sum()
y.backward()
print("gradient:", x.grad.round(6), " sum over the row:", x.grad.sum().round(12))
step(y, title="Inside a layer norm").inside(-1)

# %%
z = Value([[1.0, 2.0, 4.0]], name="z")
flat = layer_norm(z).sum()
flat.backward()
explain(z)

# %% [markdown]
# ## Training it

# %%
plots = example.plots()
SVG(plots["loss.svg"])

# %%
SVG(plots["attention.svg"])

# %% [markdown]
# ## Exercises
#
# **1.** How many numbers does the model learn? Count the entries of all its parameters.

# %%
yours = None  # a number
check("9.1", yours, example=example)

# %% [markdown]
# **2.** A row $(3, 3, 3)$ goes through layer norm (γ = 1, β = 0). What comes out?

# %%
yours = None  # [., ., .]
check("9.2", yours)

# %% [markdown]
# **3.** How many contributions does the embedding get from the two tokens of one pattern?

# %%
yours = None  # a number
check("9.3", yours, loss=loss)
