# %% [markdown]
# # 19 · One training step of a whole GPT
#
# From three tokens to new weights: every number of a small GPT, forward, backward and moved. You have met each
# part; here they stand in a row.

# %%
import matplotlib.pyplot as plt
import numpy as np
from exercise import check

import nn
from autograd import draw, step

np.set_printoptions(precision=4, suppress=True, linewidth=110)

# %% [markdown]
# ## The model and its tokens
#
# Five letters, at most three places, four features, two heads, one block, eight hidden units, ReLU. The model reads
# `b a d` and is asked for the next letter at each place: `a d e`.

# %%
letters = "abcde"
model = nn.GPT(vocab_size=5, block_size=3, d_model=4, n_heads=2, n_layers=1, d_hidden=8, activation="relu",
               bias=False, rng=3)  # fmt: skip
for parameter in model.parameters():  # larger start weights than a real GPT's, so that the numbers are not all near 0
    if parameter.ndim == 2:
        parameter.data = (parameter.data * 20).round(1)
ids, targets = np.array([1, 0, 3]), np.array([0, 3, 4])
{name: parameter.shape for name, parameter in model.named_parameters()}

# %% [markdown]
# (`bias=False` leaves the biases of the matrices out, to have fewer numbers. A real GPT starts its matrices at a
# spread of 0.02, and those at the end of a residual branch smaller still, so that the sum does not grow with the
# number of blocks.)
#
# ## Forward
#
# The whole forward pass, in NumPy. Each line is a lesson.

# %%
weights = {name: parameter.data.copy() for name, parameter in model.named_parameters()}
E, P, head = weights["tokens.weight"], weights["positions.weight"], weights["head.weight"]
WQ, WK, WV = np.split(weights["blocks.0.attention.qkv.weight"], 3, axis=1)  # packed side by side, lesson 17
WO = weights["blocks.0.attention.out.weight"]
W1, W2 = weights["blocks.0.feed_forward.up.weight"], weights["blocks.0.feed_forward.down.weight"]
COLUMNS = slice(0, 2), slice(2, 4)  # of head 1, of head 2


def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def norm(x):
    """x̂ and σ of each row; γ = 1 and β = 0 at the start."""
    sigma = np.sqrt(((x - x.mean(axis=-1, keepdims=True)) ** 2).mean(axis=-1, keepdims=True) + 1e-5)
    return (x - x.mean(axis=-1, keepdims=True)) / sigma, sigma


x0 = E[ids] + P  # lesson 16: what stands here, and where
n1, sigma1 = norm(x0)  # lesson 13
Q, K, V = n1 @ WQ, n1 @ WK, n1 @ WV  # lesson 8
future = np.triu(np.ones((3, 3), bool), k=1)
attn = [softmax(np.where(future, -np.inf, Q[:, own] @ K[:, own].T / np.sqrt(2))) for own in COLUMNS]  # lesson 17
heads = np.concatenate([a @ V[:, own] for a, own in zip(attn, COLUMNS)], axis=1)
x1 = x0 + heads @ WO  # lesson 12: the residual
n2, sigma2 = norm(x1)
hidden = n2 @ W1
act = np.maximum(hidden, 0)
x2 = x1 + act @ W2
n3, sigma3 = norm(x2)
logits = n3 @ head
chances = softmax(logits)
loss = -np.log(chances[np.arange(3), targets]).mean()  # lesson 7
print("x0, token and place:\n", x0, "\nheads side by side:\n", heads, "\nafter attention:\n", x1)
print("after the feed-forward part:\n", x2, "\nchances of a b c d e:\n", chances, "\nloss:", loss.round(4))

# %% [markdown]
# The model agrees:

# %%
L = nn.functional.cross_entropy(model(ids[None]), targets[None])
L.name = "L"
print(f"the model's loss {L.data:.6f}, ours {loss:.6f}")

# %% [markdown]
# ## Backward
#
# The same lines, from the last to the first. $d x$ stands for $\partial L / \partial x$.
#
# - The loss and the softmax together send $(P - \text{onehot}) / 3$; the 3 is the mean over three places.
# - A product $Y = X W$ sends $dY\, W^\top$ to $X$ and $X^\top dY$ to $W$.
# - A residual sends its gradient both ways, and what comes back from the branch is added.


# %%
d = {}  # the gradient of each parameter


def norm_back(g, hat, sigma, name):  # lesson 13: minus two means. γ is 1, so x̂ gets what y = γ x̂ + β gets
    d[f"{name}.gamma"], d[f"{name}.beta"] = (g * hat).sum(axis=0), g.sum(axis=0)  # every row uses them
    return (g - g.mean(axis=-1, keepdims=True) - hat * (g * hat).mean(axis=-1, keepdims=True)) / sigma


def softmax_back(g, p):  # lesson 7: minus the average
    return p * (g - (g * p).sum(axis=-1, keepdims=True))


dlogits = (chances - np.eye(5)[targets]) / 3
d["head.weight"] = n3.T @ dlogits
dx2 = norm_back(dlogits @ head.T, n3, sigma3, "norm")
d["blocks.0.feed_forward.down.weight"] = act.T @ dx2
dhidden = (dx2 @ W2.T) * (hidden > 0)
d["blocks.0.feed_forward.up.weight"] = n2.T @ dhidden
dx1 = dx2 + norm_back(dhidden @ W1.T, n2, sigma2, "blocks.0.norm2")  # the residual's path, and the branch's
d["blocks.0.attention.out.weight"] = heads.T @ dx1
dheads = dx1 @ WO.T
dQ, dK, dV = np.zeros((3, 4)), np.zeros((3, 4)), np.zeros((3, 4))
for a, own in zip(attn, COLUMNS):  # each head on its own
    dV[:, own] = a.T @ dheads[:, own]
    dscores = softmax_back(dheads[:, own] @ V[:, own].T, a) / np.sqrt(2)
    dQ[:, own], dK[:, own] = dscores @ K[:, own], dscores.T @ Q[:, own]
d["blocks.0.attention.qkv.weight"] = np.concatenate([n1.T @ dQ, n1.T @ dK, n1.T @ dV], axis=1)
dx0 = dx1 + norm_back(dQ @ WQ.T + dK @ WK.T + dV @ WV.T, n1, sigma1, "blocks.0.norm1")  # n1 is used three times
d["positions.weight"] = dx0
d["tokens.weight"] = np.zeros((5, 4))
np.add.at(d["tokens.weight"], ids, dx0)  # each row back to its letter
print("dlogits:\n", dlogits, "\ndx0:\n", dx0)

# %% [markdown]
# Thirty lines. The engine finds the same, for every parameter:

# %%
model.zero_grad()
L.backward()
gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
for name, by_hand in d.items():
    print(f"{name:36} largest difference {np.abs(gradients[name] - by_hand).max():.1g}")

# %% [markdown]
# Now at your own pace: each card of the model, each number, forward and back.

# %%
step(L, title="One training step of a GPT")

# %%
draw(L, collapse=1, flow=True)

# %% [markdown]
# ## New weights
#
# Plain gradient descent: $W \leftarrow W - \eta\, dW$. (Adam, lesson 18, would scale each entry.) The letters `c`
# and `e` were not read, so their rows of the table stay.

# %%
eta = 0.5
moved = {name: weights[name] - eta * d[name] for name in weights}
print("letters, before and after:\n", np.concatenate([E, moved["tokens.weight"]], axis=1))
for name, parameter in model.named_parameters():
    parameter.data = moved[name]
after = nn.functional.cross_entropy(model(ids[None]), targets[None])
print(f"loss before {loss:.4f} and after {after.data:.4f}")

# %%
fig, axes = plt.subplots(1, 2, figsize=(7, 2.6), sharey=True)
for ax, (title, shown) in zip(axes, {"before": chances, "after": nn.functional.softmax(model(ids)).data}.items()):
    ax.imshow(shown, cmap="Blues", vmin=0, vmax=1)
    ax.set(title=title, xticks=range(5), xticklabels=letters, yticks=range(3), yticklabels=[letters[i] for i in ids])
    for place, target in enumerate(targets):
        ax.text(target, place, f"{shown[place, target]:.2f}", ha="center", va="center", color="tab:orange")

# %% [markdown]
# The orange numbers are the chances of the right letters. That was one step; a GPT that writes is thousands of the
# same.
#
# ## Exercises
#
# **1.** At place 0 the chances are `chances[0]` above, and the target is `a`. What is the first entry of
# `dlogits[0]`? (Do not forget the mean over three places.)

# %%
yours = None  # a number
check("19.1", yours, chances=chances)

# %% [markdown]
# **2.** Which rows of the token table's gradient are 0? Write the letters' numbers, 0 for `a`.

# %%
yours = None  # [., .]
check("19.2", yours)

# %% [markdown]
# **3.** How many numbers does this model learn? Count γ and β of the three norms, too.

# %%
yours = None  # a number
check("19.3", yours, model=model)

# %% [markdown]
# **Next:** the same step, thousands of times, until it writes: lesson 20.
