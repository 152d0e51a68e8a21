"""Models whose backward is right, though something in them looks wrong: ties, sums that cancel, dead units.

Each is made for one precision: (what to capture, its inputs).
"""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


def of(function, *inputs):
    """A function of some arrays, as an entry of the table."""
    return lambda kind: (function, [x.to(kind) if x.is_floating_point() else x for x in map(torch.as_tensor, inputs)])


def layers(*made, inputs):
    return lambda kind: (nn.Sequential(*(m() for m in made)).to(kind), [inputs().to(kind)])


def randn(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def twice(x):
    """Rows beside themselves with the sign turned round, in another order."""
    return torch.cat([x, -x[:, torch.randperm(x.shape[1], generator=torch.Generator().manual_seed(0))]], 1)


SUSPICIOUS = {
    "rows that sum to 0, before a relu": of(lambda x: torch.relu(x.sum(1)).sum(), twice(randn(6, 40))),
    "a norm of constant rows, before a relu": layers(lambda: nn.LayerNorm(8), nn.ReLU, lambda: nn.Linear(8, 2),
                                                     inputs=lambda: torch.full((4, 8), 3.3)),
    "an instance norm of a constant image": layers(lambda: nn.InstanceNorm2d(3), nn.ReLU,
                                                   inputs=lambda: torch.full((2, 3, 4, 4), 0.7)),
    "a batch norm over two samples": layers(lambda: nn.Linear(4, 6), lambda: nn.BatchNorm1d(6), nn.ReLU,
                                            inputs=lambda: randn(2, 4)),
    "a batch norm of a constant channel": layers(lambda: nn.BatchNorm2d(2), nn.ReLU,
                                                 inputs=lambda: torch.ones(3, 2, 2, 2)),
    "a group norm of one channel a group": layers(lambda: nn.GroupNorm(4, 4), lambda: nn.Conv2d(4, 2, 1),
                                                  inputs=lambda: randn(2, 4, 3, 3)),
    "eight norms in a row": layers(*[lambda: nn.LayerNorm(6)] * 8, inputs=lambda: randn(3, 6)),
    "absolute deviations from a mean": of(lambda x: (x - x.mean(1, keepdim=True)).abs().sum(), randn(5, 7).round()),
    "the variance of equal numbers": of(lambda x: x.var(1).sum(), torch.full((3, 5), 0.1)),
    "a standard deviation of nearly equal numbers": of(
        lambda x: (x.var(1) + 1e-6).sqrt().sum(), 1 + 1e-2 * randn(3, 5)),
    "relu at exactly 0": of(lambda x: torch.relu(x).sum(), torch.tensor([0.0, 1.0, -1.0, 0.0])),
    "every unit dead": layers(lambda: nn.Linear(3, 4), nn.ReLU, lambda: nn.Linear(4, 1),
                              inputs=lambda: -1e3 * torch.ones(2, 3)),
    "abs at 0": of(lambda x: x.abs().sum(), torch.tensor([0.0, -2.0])),
    "a maximum of equal numbers": of(lambda x: (x.amax(1) ** 2).sum(), torch.ones(2, 4)),
    "the larger of two equal ones": of(lambda x, y: (torch.maximum(x, y) ** 2).sum(), torch.ones(3), torch.ones(3)),
    "max pooling of equal pixels": of(lambda x: F.max_pool2d(x, 2).square().sum(), torch.ones(1, 2, 4, 4)),
    "adaptive max pooling of rounded pixels": of(lambda x: F.adaptive_max_pool2d(x, 2).square().sum(),
                                                 randn(1, 2, 5, 5).round()),
    "a median of equal numbers": of(lambda x: (x.median(-1).values * 3).sum(), torch.ones(2, 5)),
    "the two largest of equal numbers": of(lambda x: (x.topk(2).values * torch.tensor([1, 2])).sum(), torch.ones(4)),
    "sorted equal numbers": of(lambda x: (x.sort().values * torch.tensor([1, 5, 2])).sum(), torch.ones(3)),
    "clamp at its bounds": of(lambda x: x.clamp(-1, 1).sum(), torch.tensor([-1.0, 0.0, 1.0, 2.0])),
    "hard activations at their corners": of(
        lambda x: (F.hardtanh(x) + F.relu6(x) + F.hardshrink(x) + F.softshrink(x)).sum(),
        torch.tensor([0.0, 1.0, -1.0, 6.0, 0.5, -0.5])),
    "hardswish and hardsigmoid": of(lambda x: (F.hardswish(x) + F.hardsigmoid(x)).sum(), randn(3, 4) * 3),
    "elu, celu, selu at 0": of(lambda x: (F.elu(x) + F.celu(x) + F.selu(x)).sum(), torch.tensor([0.0, 1.0, -1.0])),
    "a huber loss at its corner": of(lambda x: F.huber_loss(x, torch.zeros_like(x), delta=1.0),
                                     torch.tensor([1.0, -1.0, 0.5, 3.0])),
    "an l1 loss of what is equal": of(lambda x: F.l1_loss(x, x.detach()), randn(4)),
    "a norm at 0": of(lambda x: x.norm(dim=1).sum(), torch.zeros(2, 3)),
    "a cosine with a zero vector": of(lambda x, y: F.cosine_similarity(x, y).sum(),
                                      torch.tensor([[0.0, 0.0], [1.0, 2.0]]), randn(2, 2)),
    "normalized zeros": of(lambda x: F.normalize(x).sum(), torch.zeros(2, 3)),
    "a product with a zero in it": of(lambda x: x.prod(1).sum(), torch.tensor([[0.0, 2.0, 3.0], [1.0, 2.0, 0.5]])),
    "a running product with zeros": of(lambda x: x.cumprod(1).sum(), torch.tensor([[2.0, 0.0, 3.0, 0.0]])),
    "x to the power 0, and 0 squared": of(lambda x: (x**0 + x**2).sum(), torch.tensor([0.0, 1.0, -2.0])),
    "a softmax of very large scores": of(lambda x: (x * 1e4).softmax(-1).square().sum(), randn(3, 5)),
    "a softmax over one entry": of(lambda x: x.softmax(-1).sum(), randn(4, 1)),
    "a softmax that is summed": of(lambda x: x.softmax(-1).sum(), randn(4, 5)),
    "a mask of minus infinity": of(
        lambda x: x.masked_fill(torch.ones(4, 4, dtype=torch.bool).triu(1), float("-inf")).softmax(-1).square().sum(),
        randn(4, 4)),
    "logsumexp beside minus infinity": of(
        lambda x: torch.logsumexp(torch.cat([x, torch.full_like(x, float("-inf"))]), 0), randn(3)),
    "log of a saturated sigmoid": of(lambda x: F.logsigmoid(x).sum(), torch.tensor([-80.0, 0.0, 80.0])),
    "logits that are certain": of(lambda x: F.cross_entropy(x * 100, torch.tensor([0, 1])), randn(2, 3)),
    "targets that are all ignored but one": of(
        lambda x: F.cross_entropy(x, torch.tensor([-100, 1, -100]), label_smoothing=0.1), randn(3, 4)),
    "classes with weights": of(
        lambda x: F.cross_entropy(x, torch.tensor([0, 2]), weight=torch.tensor([0.1, 1.0, 5.0]).to(x.dtype)),
        randn(2, 3)),
    "a mean over fifty thousand numbers": of(lambda x: x.sin().mean(), randn(50_000)),
    "a sum that cancels": of(lambda x: ((x - x.mean()) * 3).sum().square(), randn(300)),
    "gradients of 1e-20": of(lambda x: (x.tanh() * 1e-20).sum(), randn(5)),
    "gradients of 1e20": of(lambda x: (x.tanh() * 1e20).sum(), randn(5)),
    "weights of very unlike sizes": of(lambda x, w: (x @ w).tanh().sum(), randn(3, 4),
                                       randn(4, 2) * torch.tensor([1e-4, 1e2])),
    "a turn and back": of(lambda x: F.l1_loss(x @ turn(x) @ turn(x).t(), x), randn(4, 6)),
    "the same layer three times": lambda kind: (Repeated().to(kind), [randn(2, 4).to(kind)]),
    "tied weights": lambda kind: (Tied().to(kind), [torch.tensor([[1, 2, 2, 0]])]),
    "a row of an embedding that is not used": lambda kind: (nn.Embedding(9, 3, padding_idx=1).to(kind),
                                                            [torch.tensor([1, 1, 4])]),
    "a parameter that is not used": lambda kind: (Unused().to(kind), [randn(2, 3).to(kind)]),
    "a frozen layer": lambda kind: (Frozen().to(kind), [randn(2, 3).to(kind)]),
    "dropout in training": layers(lambda: nn.Linear(4, 8), lambda: nn.Dropout(0.5), lambda: nn.Linear(8, 1),
                                  inputs=lambda: randn(3, 4)),
    "a checkpoint with dropout": lambda kind: (Kept().to(kind), [randn(3, 4).to(kind)]),
    "writes in place": of(lambda x: written_over(x), randn(3, 4)),
    "a view that is written to": of(lambda x: view_written(x), randn(3, 4)),
    "a straight-through estimator by detach": of(lambda x: ((x.round() - x).detach() + x).square().sum(), randn(5)),
    "a gradient penalty": lambda kind: (Critic().to(kind), [randn(4, 3).to(kind)]),
    "a running mean as a buffer": layers(lambda: nn.BatchNorm1d(3, momentum=0.5), inputs=lambda: randn(5, 3)),
    "normalized weights": lambda kind: (
        nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)).to(kind), [randn(2, 4).to(kind)]),
    "a low-rank matrix product": of(lambda x: (x @ x.t()).square().sum(), randn(6, 1)),
    "attention to one key": of(
        lambda q, k: F.scaled_dot_product_attention(q, k, k).sum(), randn(2, 3, 4), randn(2, 1, 4)),
    "causal attention, the first query alone": of(
        lambda q, k: F.scaled_dot_product_attention(q, k, k, is_causal=True)[:, 0].sum(),
        randn(2, 5, 4), randn(2, 5, 4)),
    "a whole encoder layer": lambda kind: (
        nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).to(kind), [randn(2, 4, 8).to(kind)]),
    "a GRU over equal steps": lambda kind: (First(nn.GRU(3, 4)).to(kind), [torch.ones(4, 2, 3).to(kind)]),
    "an LSTM over equal steps": lambda kind: (First(nn.LSTM(3, 4)).to(kind), [torch.ones(4, 2, 3).to(kind)]),
    "steps that cast to float32": of(lambda x: rms(x.float()).to(x.dtype).square().sum() + x.sum(), randn(3, 8)),
    "a mean of bfloat16 numbers": of(lambda x: x.bfloat16().mean().to(x.dtype) * x.sum(), randn(64)),
    "rows chosen twice": of(lambda x: x[torch.tensor([0, 0, 2, 0])].square().sum(), randn(3, 4)),
    "scattered onto one place": of(
        lambda x: torch.zeros(2, 4).to(x.dtype).index_add(0, torch.tensor([1, 1, 1]), x).square().sum(), randn(3, 4)),
    "an empty batch beside a full one": of(lambda x: torch.cat([x[:0], x]).sum() + x[:0].sum(), randn(3, 2)),
    "a convolution with stride, dilation and groups": layers(
        lambda: nn.Conv2d(4, 4, 3, stride=2, dilation=2, groups=2, padding=2), nn.ReLU,
        inputs=lambda: randn(2, 4, 7, 7)),
    "a transposed convolution": layers(lambda: nn.ConvTranspose2d(3, 2, 3, stride=2, output_padding=1),
                                       inputs=lambda: randn(2, 3, 3, 3)),
    "padding that reflects": layers(lambda: nn.ReflectionPad2d(2), lambda: nn.Conv2d(1, 2, 3),
                                    inputs=lambda: randn(1, 1, 4, 4)),
    "a resized image": of(lambda x: F.interpolate(x, size=(7, 5), mode="bilinear").square().sum(), randn(1, 2, 4, 4)),
    "twenty layers deep": layers(*[lambda: nn.Linear(6, 6), nn.Tanh] * 20, inputs=lambda: randn(3, 6)),
    "ten convolutions with norms": layers(
        *[lambda: nn.Conv2d(4, 4, 3, padding=1), lambda: nn.BatchNorm2d(4), nn.ReLU] * 10,
        inputs=lambda: randn(2, 4, 5, 5)),
}  # fmt: skip


def turn(x):
    """An orthogonal matrix."""
    return torch.linalg.qr(randn(6, 6))[0].to(x.dtype)


def rms(x):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


def written_over(x):
    h = x * 2
    h[0] = 0.0
    h += x
    h.mul_(0.5)
    return h.square().sum()


def view_written(x):
    h = x * 1.0
    h[:, :2].mul_(3)
    h.view(-1)[::2] += 1
    return h.square().sum()


class Repeated(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        for _ in range(3):
            x = torch.tanh(self.layer(x)) + x
        return x.sum()


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids):
        return F.cross_entropy(self.head(self.table(ids))[0], ids[0])


class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x):
        return self.used(x).sum() + 0 * self.unused(x).sum()


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3).requires_grad_(False), nn.Linear(3, 1)

    def forward(self, x):
        return self.b(torch.relu(self.a(x))).sum()


class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x):
        return checkpoint(self.body, x, use_reentrant=False).sum()


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 6), nn.Softplus(), nn.Linear(6, 1))

    def forward(self, x):
        x = x * 1.0
        score = self.body(x).sum()
        (g,) = torch.autograd.grad(score, x, create_graph=True)
        return score + ((g.norm(dim=1) - 1) ** 2).mean()


class First(nn.Module):
    """What a recurrent layer returns first."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0].square().sum()
