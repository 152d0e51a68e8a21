# %% [markdown]
# # 14 · Example 6: a complete transformer
#
# Two blocks, each with attention, a feed-forward layer, layer norms and residuals; an embedding in front, a head at
# the end. Only layer norm is new. (The embedding picks a row of a table for each token; lesson 16 looks into it.)

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
# Each row is shifted to mean 0 and scaled to variance 1:
#
# $$\hat x = \frac{x - \mu}{\sigma} \qquad \frac{\partial L}{\partial x} = \frac{g - m_1 - \hat x\, m_2}{\sigma}$$
#
# where $m_1$ is the mean of $g$ and $m_2$ the mean of $g \hat x$. By hand, for the row $(1, 1, 3, 3)$: the mean
# $\mu$ is 2, the distances from it are −1, −1, 1, 1, the mean of their squares is 1, so $\sigma = 1$ and $\hat x =
# (-1, -1, 1, 1)$. Let $g = (1, 0, 0, 0)$ arrive. Then $m_1 = 0.25$ and $m_2 = -0.25$, and $g - m_1 - \hat x\, m_2 =
# (0.5, -0.5, 0, 0)$.

# %%
x = Value([[1.0, 1.0, 3.0, 3.0]], name="x")
y = (layer_norm(x) * np.array([[1.0, 0.0, 0.0, 0.0]])).sum()
y.backward()
print("layer norm:", layer_norm(x).data.round(4), " gradient:", x.grad.round(4) + 0.0)
step(y, title="Inside a layer norm").inside(-1)

# %% [markdown]
# (Under the root a tiny 0.00001 is added to the variance, so that a row of equal numbers does not divide by 0.)
#
# A change that lifts all features of a row alike, or stretches them alike, has no effect, and the gradient has no
# part in these two directions: it sums to 0. Ask for the gradient of the plain sum, and nothing is left:

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
check("14.1", yours, example=example)

# %% [markdown]
# **2.** A row $(3, 3, 3)$ goes through layer norm (γ = 1, β = 0). What comes out?

# %%
yours = None  # [., ., .]
check("14.2", yours)

# %% [markdown]
# **3.** How many contributions does the embedding get from the two tokens of one pattern?

# %%
yours = None  # a number
check("14.3", yours, loss=loss)

# %% [markdown]
# **Next:** lesson 15 holds a printed worksheet against the engine. Or go straight on to lesson 16, which leads to a
# GPT.
