"""Mistakes outside of a backward: gradients that end, hooks that change them, saved numbers that are written over.

The line that does it says so.
"""

import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Model(nn.Module):
    """Layers with residuals, of over 20 modules; `spoil` is called in the middle of them."""

    def __init__(self, spoil):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 4), nn.Tanh()) for _ in range(6))
        self.spoil = spoil

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            y = layer(x)
            x = x + (self.spoil(x, y, layer) if i == 3 else y)
        return x.square().sum()


def detach(x, y, layer):
    return y.detach()  # here


def data(x, y, layer):
    return y * y.data  # here


def no_grad(x, y, layer):
    with torch.no_grad():
        scale = y.abs().mean()  # here
    return y / scale


def set_grad_enabled(x, y, layer):
    with torch.set_grad_enabled(False):
        again = layer(x) * 2  # here
    return y + again


def to_numpy(x, y, layer):
    return y * torch.from_numpy(np.tanh(y.detach().numpy()))  # here


def copied_to_a_tensor(x, y, layer):
    return y * torch.tensor(y.tolist(), dtype=y.dtype)  # here


def an_item(x, y, layer):
    return y / y.norm().item()  # here


def a_float(x, y, layer):
    return y * float(y.max())  # here


def cast_to_integers(x, y, layer):
    return y + (10 * y).long() / 10  # here


def cast_by_int(x, y, layer):
    return y * (y * 100).int()  # here


def frozen_target(x, y, layer):
    target = y.clone().detach()  # here
    return y - target * 0.5


def a_new_leaf(x, y, layer):
    z = y.detach().requires_grad_()  # here
    return y + z.sin()


def a_written_weight(x, y, layer):
    layer[1].weight.data.mul_(1.5)  # here
    return y


def a_written_input(x, y, layer):
    z = layer[1](x)
    x.data.add_(0.5)  # here
    return y + z


def a_hook_that_scales(x, y, layer):
    y.register_hook(lambda g: 0.5 * g)  # here
    return y


def a_hook_that_clips(x, y, layer):
    y.register_hook(lambda g: g.clamp(-1e-3, 1e-3))  # here
    return y


def a_hook_that_forgets(x, y, layer):
    y.register_hook(torch.zeros_like)  # here
    return y


def dropout_drawn_again(x, y, layer):
    return checkpoint(masked, y, use_reentrant=False, preserve_rng_state=False)


def masked(y):
    return nn.functional.dropout(y, 0.5)  # here


ENDS = {detach: "detach()", data: ".data", no_grad: "no_grad", set_grad_enabled: "no_grad", to_numpy: ".numpy()",
        copied_to_a_tensor: ".tolist()", an_item: ".item()", a_float: "float()", cast_to_integers: "a cast to int64",
        cast_by_int: "a cast to int32", frozen_target: "detach()", a_new_leaf: "detach()"}  # fmt: skip
SAVED = [a_written_weight, a_written_input, dropout_drawn_again]  # other numbers on the way back than on the way there
HOOKS = [a_hook_that_scales, a_hook_that_clips, a_hook_that_forgets]
