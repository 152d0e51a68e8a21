"""Mistakes that people make in a backward: one line of `written` in the place of another, and models to plant it in."""

import linecache
import random
import re
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from tests.autograd.capturing import written
from tests.autograd.capturing.gpt import GPT, tokens

SOURCE = Path(written.__file__)


class Slip(NamedTuple):
    """The line of a Function's backward that is right, what stands there instead, and what is then wrong."""

    function: str
    what: str
    right: str
    wrong: str
    argument: str
    shown: str = ""  # the line that computes the wrong gradient, where that is a later one

    def __str__(self):
        return f"{self.function}: {self.what}"


def slips():
    """Those of `slips.txt`: where and what, the right line, the wrong one, and the later line that shows it, if any."""
    for block in re.split(r"\n(?=\w)", SOURCE.with_name("slips.txt").read_text(encoding="utf-8").rstrip()):
        head, right, wrong, *shown = block.splitlines()
        function, argument, what = re.fullmatch(r"(\w+), (\w+): (.*)", head).groups()
        yield Slip(function, what, right.removeprefix("  - "), wrong.removeprefix("  + "), argument,
                   "".join(shown).removeprefix("  shows "))  # fmt: skip


SLIPS = list(slips())


def with_slip(slip, folder):
    """The Function with the slip in it, its file, and the number of the line that computes the wrong gradient."""
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    start = lines.index(f"class {slip.function}(Function):")
    at = next(i for i in range(start, len(lines)) if lines[i].strip() == slip.right)
    lines[at] = lines[at].replace(slip.right, slip.wrong)
    shown = next(i for i in range(start, len(lines)) if lines[i].strip() == (slip.shown or slip.wrong))
    file = str(folder / "planted.py")
    Path(file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    linecache.checkcache(file)
    names = {"__name__": "planted"}
    exec(compile("\n".join(lines), file, "exec"), names)
    return names[slip.function], file, shown + 1


# --- models of one call ----------------------------------------------------------------------------------------

randn, rand = torch.randn, torch.rand
ANGLES = torch.arange(5.0)[:, None] * torch.tensor([1.0, 0.1])
AT = torch.tensor([[0, 2, 2], [1, 1, 1], [3, 0, 3]])
SMALL = {  # what each Function is called with
    "LayerNorm": lambda: (randn(3, 4, 5), rand(5) + 0.5, randn(5)),
    "RMSNorm": lambda: (randn(3, 4, 5), rand(5) + 0.5),
    "BatchNorm": lambda: (randn(3, 2, 4, 4), rand(2) + 0.5, randn(2)),
    "GroupNorm": lambda: (randn(2, 4, 3, 3), 2),
    "Softmax": lambda: (randn(3, 4, 5),),
    "LogSoftmax": lambda: (randn(3, 5),),
    "CrossEntropy": lambda: (randn(6, 4), torch.tensor([0, 1, 2, 3, 1, 1])),
    "BinaryCrossEntropy": lambda: (randn(6, 2), (randn(6, 2) > 0) * 1.0),
    "MeanSquares": lambda: (randn(6, 2), randn(6, 2)),
    "Huber": lambda: (randn(6, 2), randn(6, 2)),
    "Dropout": lambda: (randn(5, 6),),
    "Linear": lambda: (randn(2, 3, 4), randn(4, 4), randn(4)),
    "Conv2d": lambda: (randn(2, 3, 4, 4), randn(3, 3, 3, 3), randn(3)),
    "MaxPool": lambda: (randn(2, 3, 4, 4),),
    "AvgPool": lambda: (randn(2, 3, 4, 4),),
    "Upsample": lambda: (randn(2, 3, 2, 2),),
    "Embedding": lambda: (randn(5, 3), torch.tensor([[0, 1, 1], [4, 1, 0]])),
    "Attention": lambda: (randn(2, 4, 4), randn(2, 4, 4), randn(2, 4, 4)),
    "Rotary": lambda: (randn(2, 5, 4), ANGLES.cos(), ANGLES.sin()),
    "SwiGlu": lambda: (randn(3, 4), randn(3, 4)),
    "ScaleShift": lambda: (randn(2, 3, 4), randn(4), randn(4)),
    "Divide": lambda: (randn(3, 4), rand(3, 4) + 0.5),
    "SquareRoot": lambda: (rand(3, 4) + 0.1,),
    "Gather": lambda: (randn(3, 4), AT),
    "LstmCell": lambda: (randn(3, 8), randn(3, 2)),
    "Recomputed": lambda: (randn(3, 4), randn(4, 4)),
}  # the others: one array
CONSTANTS = {"BinaryCrossEntropy": 1, "Huber": 1, "Rotary": 2}  # how many of the last ones have no gradient


def small(function, kind):
    """A loss of one call of a Function between other steps, and its inputs."""
    inputs = SMALL.get(function.__name__, lambda: (randn(3, 4),))()
    inputs = [x.to(kind) if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in inputs]

    constant = CONSTANTS.get(function.__name__, 0)

    def loss(*given):
        given = [x * 1.25 if isinstance(x, torch.Tensor) and x.requires_grad else x for x in given]
        out = function.apply(*(x.detach() if i >= len(given) - constant else x for i, x in enumerate(given)))
        return sum((y * torch.linspace(0.5, 1.5, y.numel()).to(y.dtype).reshape(y.shape)).sin().sum()
                   for y in (out if isinstance(out, tuple) else (out,)))  # fmt: skip

    return loss, inputs


# --- models of more than twenty modules ------------------------------------------------------------------------

TURNS = torch.arange(6.0)[:, None] * torch.tensor([1.0, 0.3, 0.1, 0.03])
OF_WORDS = {  # after a layer of width 8: (batch, time, 8)
    "LayerNorm": ([rand(8) + 0.5, randn(8)], lambda f, x, w, b: f(x, w, b)),
    "RMSNorm": ([rand(8) + 0.5], lambda f, x, w: f(x, w)),
    "Linear": ([randn(8, 8) / 3, randn(8)], lambda f, x, w, b: f(x, w, b)),
    "ScaleShift": ([randn(8), randn(8)], lambda f, x, w, b: f(x, w, b)),
    "Recomputed": ([randn(8, 8) / 3], lambda f, x, w: f(x, w)),
    "Attention": ([], lambda f, x: f(x, x.sin(), x.cos())),
    "Rotary": ([], lambda f, x: f(x, TURNS.cos().to(x.dtype), TURNS.sin().to(x.dtype))),
    "SwiGlu": ([], lambda f, x: f(x, x.cos())),
    "Divide": ([], lambda f, x: f(x.sin(), 2 + x.cos())),
    "SquareRoot": ([], lambda f, x: x * f(x * x + 1)),
    "LogSumExp": ([], lambda f, x: x * f(x)[..., None]),
    "Gather": ([], lambda f, x: f(x, torch.tensor([0, 0, 2, 3, 5, 5, 6, 1]).expand(x.shape))),
    "LstmCell": ([], lambda f, x: sum(f(torch.cat([x, x.sin(), x.cos(), -x], -1), x * x))),
}
OF_IMAGES = {  # after a layer of 4 channels: (batch, 4, 6, 6)
    "BatchNorm": ([rand(4) + 0.5, randn(4)], lambda f, x, w, b: f(x, w, b)),
    "GroupNorm": ([], lambda f, x: f(x, 2)),
    "Conv2d": ([randn(4, 4, 3, 3) / 4, randn(4)], lambda f, x, w, b: f(x, w, b)),
    "MaxPool": ([], lambda f, x: F.interpolate(f(x), scale_factor=2)),
    "AvgPool": ([], lambda f, x: F.interpolate(f(x), scale_factor=2)),
    "Upsample": ([], lambda f, x: F.avg_pool2d(f(x), 2)),
}
AT_THE_END = ("CrossEntropy", "BinaryCrossEntropy", "MeanSquares", "Huber")


class Layer(nn.Module):
    """A layer, and after it a Function."""

    def __init__(self, before, function, weights, call):
        super().__init__()
        self.before, self.function, self.call = before, function, call
        self.weights = nn.ParameterList([w.clone() for w in weights])

    def forward(self, x):
        return self.call(self.function.apply, self.before(x), *self.weights)


class Words(GPT):
    """A GPT of four layers, whose loss may be another one."""

    def __init__(self, function=None):
        super().__init__(d=8, layers=4, dropout=0.0)
        self.function = function

    def forward(self, ids, targets):
        logits, loss = super().forward(ids, targets)
        if self.function is None:
            return loss
        logits, targets = logits.flatten(0, 1), targets.flatten().clamp(min=0)
        hot = F.one_hot(targets, 11).to(logits.dtype)
        other = {"CrossEntropy": targets, "MeanSquares": logits.cos()}.get(self.function.__name__, hot)
        return 2 * self.function.apply(logits, other)


class Images(nn.Module):
    """Convolutions with residuals."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(2, 4, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.SiLU(), nn.Conv2d(4, 4, 1))
            for _ in range(5)
        )
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = x + block(x)
        return self.head(x.mean((2, 3))).square().sum()


def large(function, kind, seed):
    """A model of over 20 modules with a Function at a random place; its inputs, and the module where it is."""
    name, chance = function.__name__, random.Random(seed)
    inputs = tokens() if name not in OF_IMAGES else (torch.randn(3, 2, 6, 6).to(kind),)
    if name in AT_THE_END:
        return Words(function).to(kind), inputs, ""
    model = Images() if name in OF_IMAGES else Words()
    if name == "Embedding":
        place = "transformer.wte"
        table = model.get_submodule(place)
        table.forward = lambda ids: function.apply(table.weight, ids)
        return model.to(kind), inputs, place
    known = {**OF_WORDS, **OF_IMAGES}.get(name, ([], lambda f, x: f(x)))
    places = ([f"blocks.{i}.{j}" for i in range(5) for j in range(4)] if name in OF_IMAGES else
              [f"transformer.h.{i}.{part}" for i in range(4) for part in
               ("ln_1", "ln_2", "attn.c_proj", "mlp.c_proj")])  # fmt: skip
    place = chance.choice(places)
    model.set_submodule(place, Layer(model.get_submodule(place), function, *known))
    assert len(list(model.modules())) > 20
    return model.to(kind), inputs, place
