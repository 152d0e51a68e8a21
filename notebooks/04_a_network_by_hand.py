# %% [markdown]
# # 4 · A network of four neurons, trained by hand
#
# Two inputs, three neurons, one output: the smallest network with a hidden layer. It learns in ten steps, and then we
# forget one line.

# %%
import matplotlib.pyplot as plt
import numpy as np
from exercise import check

from autograd import Value, draw, step, tanh

# %% [markdown]
# ## The network
#
# Three neurons look at the same two inputs, each with its own weights. A fourth looks at what the three say:
#
# $$h_i = \tanh(a_i x_1 + b_i x_2 + c_i) \qquad y = v_1 h_1 + v_2 h_2 + v_3 h_3 + d$$
#
# That is $3 \cdot 3 + 4 = 13$ parameters. Without the tanh the two layers would be one: a weighted sum of weighted
# sums is a weighted sum.


# %%
def start():
    """The 13 parameters, as short numbers."""
    numbers = {
        "a1": 0.5, "b1": -0.4, "c1": 0.1, "a2": -0.3, "b2": 0.8, "c2": 0.0, "a3": 0.2, "b3": 0.6, "c3": -0.2,
        "v1": 0.7, "v2": -0.5, "v3": 0.4, "d": 0.1,
    }  # fmt: skip
    return {name: Value(number, name=name) for name, number in numbers.items()}


def output(p, x1, x2):
    h1 = tanh(p["a1"] * x1 + p["b1"] * x2 + p["c1"])
    h2 = tanh(p["a2"] * x1 + p["b2"] * x2 + p["c2"])
    h3 = tanh(p["a3"] * x1 + p["b3"] * x2 + p["c3"])
    h1.name, h2.name, h3.name = "h1", "h2", "h3"
    y = p["v1"] * h1 + p["v2"] * h2 + p["v3"] * h3 + p["d"]
    y.name = "y"
    return y


p = start()
y = output(p, 1.0, 2.0)
L = (y - 1.0) ** 2
L.name = "L"
draw(L)

# %% [markdown]
# ## One number by hand
#
# What is $\partial L / \partial a_1$? There is one path, $L \leftarrow y \leftarrow h_1 \leftarrow a_1$, and four
# slopes on it:
#
# $$\frac{\partial L}{\partial a_1} = 2 (y - 1) \cdot v_1 \cdot (1 - h_1^2) \cdot x_1$$

# %%
for each in p.values():
    each.zero_grad()  # backward() adds to what is there: every run of this cell begins at 0
h1 = np.tanh(0.5 * 1.0 - 0.4 * 2.0 + 0.1)
by_hand = 2 * (y.data - 1) * 0.7 * (1 - h1**2) * 1.0
L.backward()
print(f"by hand {by_hand:.4f}, the engine {p['a1'].grad:.4f}")

# %% [markdown]
# Look at the slopes: the gradient of a hidden weight contains the output weight $v_1$. A neuron that the output
# ignores, $v_1 = 0$, learns nothing.

# %%
step(L, title="A network of four neurons")

# %% [markdown]
# ## Ten steps
#
# Four points, whose targets no single neuron can match: 1 where exactly one input is 1 (*exclusive or*). The loss
# is the mean of four squares.

# %%
POINTS = [(0.0, 0.0, 0.0), (0.0, 1.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 0.0)]


def loss_of(p):
    return sum((output(p, x1, x2) - target) ** 2 for x1, x2, target in POINTS) / len(POINTS)


def train(steps, eta, forget=False):
    p, history = start(), []
    for _ in range(steps):
        L = loss_of(p)
        history.append(L.data)
        if not forget:
            for each in p.values():
                each.zero_grad()
        L.backward()
        for each in p.values():
            each.data -= eta * each.grad
    return p, history


p, history = train(steps=10, eta=0.2)
[round(loss, 4) for loss in history]

# %% [markdown]
# Ten steps are a start. A few hundred more, and the network has learned it:

# %%
p, long_history = train(steps=400, eta=0.5)
for x1, x2, target in POINTS:
    print(f"({x1:g}, {x2:g}) -> {round(output(p, x1, x2).data, 3) + 0.0:.3f}, wanted {target:g}")

# %% [markdown]
# ## The forgotten line
#
# `backward` *adds* to `.grad`. A parameter that is used twice needs that, and so does a batch in several parts. So
# before each pass the old gradients must go: `zero_grad`. Who forgets it moves by the sum of all gradients so far,
# like a ball that rolls on without friction:

# %%
_, forgotten = train(steps=60, eta=0.2, forget=True)
_, right = train(steps=60, eta=0.2)
fig, axes = plt.subplots(figsize=(5, 3))
axes.plot(right, label="with zero_grad")
axes.plot(forgotten, label="forgotten", color="tab:orange")
axes.set(xlabel="step", ylabel="L")
_ = axes.legend()

# %% [markdown]
# The first step is the same. From the second on, the old slopes push along. Sometimes it even looks faster for a
# while, which is why this mistake is so hard to see. (Adam, in lesson 18, rolls on purpose, but with friction.)
#
# ## Exercises
#
# **1.** A parameter's gradients in the first three steps are 1, 0.5 and −0.5 (suppose that they do not depend on
# where it is), and $\eta = 0.1$. How far does it move in three steps with `zero_grad`, and how far without? Write
# both moves, with sign.

# %%
yours = None  # [with, without]
check("4.1", yours)

# %% [markdown]
# **2.** $y = v_1 h_1 + v_2 h_2 + d$ with $h_1 = 0.5$, $h_2 = -1$, and $\partial L/\partial y = 3$. What are the
# gradients of $v_1$, $v_2$ and $d$?

# %%
yours = None  # [., ., .]
check("4.2", yours)

# %% [markdown]
# **3.** How many parameters has a network with 2 inputs, two hidden layers of 16 neurons and 1 output, each neuron
# with a bias?

# %%
yours = None  # a number
check("4.3", yours)

# %% [markdown]
# **Next:** who computes all these slopes? Lesson 5 writes an engine that does, in fifty lines.
