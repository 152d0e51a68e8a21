# %% [markdown]
# # 20 · Train a small GPT and look inside
#
# A GPT that reads and writes letters is trained in seconds. It is small enough that every number of it can be drawn,
# stepped through and checked.

# %%
import matplotlib.pyplot as plt
import numpy as np
from exercise import check

import nn
from autograd import draw, no_grad, step
from nn.plot import maps

text = "the cat sleeps. the dog sleeps. the cat eats. the dog eats. the bird sings. " * 4
letters = sorted(set(text))
codes = np.array([letters.index(letter) for letter in text])
print(len(letters), "letters:", "".join(letters))

# %%
BLOCK = 12
model = nn.GPT(vocab_size=len(letters), block_size=BLOCK, d_model=16, n_heads=2, n_layers=2, rng=0)
model.count()

# %% [markdown]
# ## Before training: one step, folded
#
# What a block sends back, and to whom:

# %%
window = codes[: BLOCK + 1]
loss = nn.functional.cross_entropy(model(window[None, :-1]), window[None, 1:])
loss.name = "loss"
step(loss, collapse=1, title="One training step of a GPT")

# %%
model.zero_grad()  # backward() adds to what is there
loss.backward()
draw(loss, collapse=1, flow=True)

# %% [markdown]
# ## Training
#
# The optimizer is lesson 18's Adam, with weight decay.

# %%
optimizer = nn.optim.AdamW(model.parameters(), lr=3e-3)
rng = np.random.default_rng(0)
history = []
for _ in range(150):
    starts = rng.integers(0, len(codes) - BLOCK - 1, size=8)
    batch = np.stack([codes[s : s + BLOCK + 1] for s in starts])
    loss = nn.functional.cross_entropy(model(batch[:, :-1]), batch[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(float(loss.data))
fig, axes = plt.subplots(figsize=(5, 3))
axes.plot(history)
axes.axhline(np.log(len(letters)), linestyle=":", color="gray")
_ = axes.set(xlabel="step", ylabel="loss", title="dotted: knowing nothing")


# %% [markdown]
# ## What does it say?


# %%
def continued(start, length=40):
    seen = [letters.index(letter) for letter in start]
    with no_grad():
        for _ in range(length):
            logits = model(np.array(seen[-BLOCK:])[None])
            seen.append(int(np.argmax(logits.data[0, -1])))
    return "".join(letters[code] for code in seen)


continued("the cat ")

# %% [markdown]
# ## Look inside
#
# How sure is it of each next letter of a sentence it has seen?

# %%
sentence = "the cat sleep"[: BLOCK + 1]
seen = np.array([letters.index(letter) for letter in sentence])
with no_grad():
    chances = nn.functional.softmax(model(seen[:-1])).data
fig, axes = plt.subplots(figsize=(6, 2.6))
axes.bar(range(len(seen) - 1), chances[np.arange(len(seen) - 1), seen[1:]])
_ = axes.set(xticks=range(len(seen) - 1), xticklabels=list(sentence[1:]), ylim=(0, 1), ylabel="probability of it")

# %% [markdown]
# And what does each letter look at, to know? A row is a letter that asks; it sees itself and what came before.

# %%
last_layer = {f"head {i}": head for i, head in enumerate(model.attention_maps(seen[:-1])[-1], start=1)}
maps(last_layer, title="the attention of the last layer", x_labels=sentence[:-1], y_labels=sentence[:-1])

# %% [markdown]
# ## Exercises
#
# **1.** A model that knows nothing spreads its chances evenly over the letters. What is its loss?

# %%
yours = None  # a number
check("20.1", yours, letters=letters)

# %% [markdown]
# **2.** How many parameters does the head (the last linear layer) of this model have, without a bias? It maps
# 16 features to the letters.

# %%
yours = None  # a number
check("20.2", yours, letters=letters)

# %% [markdown]
# **3.** Did training help? Say `True` if the mean loss of the last ten steps is below half of that of the
# first ten.

# %%
yours = None  # True or False
check("20.3", yours, history=history)

# %% [markdown]
# **Next:** you have taken a GPT from its first number to its first sentence. The last three lessons are tools for
# work of your own; lesson 21 checks a gradient that you derived.
