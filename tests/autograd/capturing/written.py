"""autograd.Functions as people write them, with a right backward. `planted` makes them wrong, one line at a time."""

import torch
from torch.autograd import Function
from torch.nn import functional as F


class LayerNorm(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        mean = x.mean(-1, keepdim=True)
        rstd = torch.rsqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5)
        h = (x - mean) * rstd
        ctx.save_for_backward(h, rstd, weight)
        return h * weight + bias

    @staticmethod
    def backward(ctx, g):
        h, rstd, weight = ctx.saved_tensors
        gw = g * weight
        dx = (gw - gw.mean(-1, keepdim=True) - h * (gw * h).mean(-1, keepdim=True)) * rstd
        dweight = (g * h).flatten(0, -2).sum(0)
        dbias = g.flatten(0, -2).sum(0)
        return dx, dweight, dbias


class RMSNorm(Function):
    @staticmethod
    def forward(ctx, x, weight):
        rstd = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
        ctx.save_for_backward(x, rstd, weight)
        return x * rstd * weight

    @staticmethod
    def backward(ctx, g):
        x, rstd, weight = ctx.saved_tensors
        gw = g * weight
        h = x * rstd
        dx = rstd * (gw - h * (gw * h).mean(-1, keepdim=True))
        dweight = (g * h).flatten(0, -2).sum(0)
        return dx, dweight


class BatchNorm(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        mean = x.mean((0, 2, 3), keepdim=True)
        rstd = torch.rsqrt(x.var((0, 2, 3), unbiased=False, keepdim=True) + 1e-5)
        h = (x - mean) * rstd
        ctx.save_for_backward(h, rstd, weight)
        return h * weight[:, None, None] + bias[:, None, None]

    @staticmethod
    def backward(ctx, g):
        h, rstd, weight = ctx.saved_tensors
        n = g.numel() / g.shape[1]
        dbias = g.sum((0, 2, 3))
        dweight = (g * h).sum((0, 2, 3))
        scale = weight[:, None, None] * rstd
        dx = scale * (g - dbias[:, None, None] / n - h * dweight[:, None, None] / n)
        return dx, dweight, dbias


class GroupNorm(Function):
    @staticmethod
    def forward(ctx, x, groups):
        y = x.reshape(len(x), groups, -1)
        rstd = torch.rsqrt(y.var(-1, unbiased=False, keepdim=True) + 1e-5)
        h = (y - y.mean(-1, keepdim=True)) * rstd
        ctx.save_for_backward(h, rstd)
        return h.reshape(x.shape)

    @staticmethod
    def backward(ctx, g):
        h, rstd = ctx.saved_tensors
        gy = g.reshape(h.shape)
        dy = (gy - gy.mean(-1, keepdim=True) - h * (gy * h).mean(-1, keepdim=True)) * rstd
        return dy.reshape(g.shape), None


class Softmax(Function):
    @staticmethod
    def forward(ctx, x):
        p = torch.exp(x - x.amax(-1, keepdim=True))
        p = p / p.sum(-1, keepdim=True)
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        dx = p * (g - (g * p).sum(-1, keepdim=True))
        return dx


class LogSoftmax(Function):
    @staticmethod
    def forward(ctx, x):
        y = x - torch.logsumexp(x, -1, keepdim=True)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        dx = g - y.exp() * g.sum(-1, keepdim=True)
        return dx


class CrossEntropy(Function):
    @staticmethod
    def forward(ctx, logits, targets):
        p = torch.softmax(logits, -1)
        ctx.save_for_backward(p, targets)
        return -torch.log(p.gather(-1, targets[:, None])).mean()

    @staticmethod
    def backward(ctx, g):
        p, targets = ctx.saved_tensors
        hot = F.one_hot(targets, p.shape[-1])
        dlogits = g * (p - hot) / len(targets)
        return dlogits, None


class BinaryCrossEntropy(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return (x.clamp(min=0) - x * y + torch.log1p(torch.exp(-x.abs()))).mean()

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        dx = g * (torch.sigmoid(x) - y) / x.numel()
        return dx, None


class MeanSquares(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return (x - y).square().mean()

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        dx = g * 2 * (x - y) / x.numel()
        dy = -dx
        return dx, dy


class Huber(Function):
    @staticmethod
    def forward(ctx, x, y):
        d = x - y
        ctx.save_for_backward(d)
        return torch.where(d.abs() < 0.5, 0.5 * d * d, 0.5 * (d.abs() - 0.25)).sum()

    @staticmethod
    def backward(ctx, g):
        (d,) = ctx.saved_tensors
        dx = g * torch.where(d.abs() < 0.5, d, 0.5 * torch.sign(d))
        return dx, None


class Gelu(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        t = torch.tanh(0.7978845608028654 * (x + 0.044715 * x**3))
        inner = 0.7978845608028654 * (1 + 3 * 0.044715 * x**2)
        dx = g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner)
        return dx


class Silu(Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        dx = g * (s + x * s * (1 - s))
        return dx


class Tanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        dx = g * (1 - y * y)
        return dx


class Sigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = 1 / (1 + torch.exp(-x))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        dx = g * y * (1 - y)
        return dx


class LeakyRelu(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, 0.1 * x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        dx = torch.where(x > 0, g, 0.1 * g)
        return dx


class Softplus(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.log1p(torch.exp(-x.abs())) + x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        dx = g * torch.sigmoid(x)
        return dx


class Clamp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-0.7, 0.7)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        dx = g * ((x > -0.7) & (x < 0.7))
        return dx


class Dropout(Function):
    @staticmethod
    def forward(ctx, x):
        mask = (torch.rand_like(x) > 0.3) / 0.7
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        dx = g * mask
        return dx


class Linear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x @ weight.T + bias

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        dx = g @ weight
        dweight = g.flatten(0, -2).T @ x.flatten(0, -2)
        dbias = g.flatten(0, -2).sum(0)
        return dx, dweight, dbias


class Conv2d(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return F.conv2d(x, weight, bias, padding=1)

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        dx = F.conv_transpose2d(g, weight, padding=1)
        dweight = F.conv2d(x.transpose(0, 1), g.transpose(0, 1), padding=1).transpose(0, 1)
        dbias = g.sum((0, 2, 3))
        return dx, dweight, dbias


class MaxPool(Function):
    @staticmethod
    def forward(ctx, x):
        n, c, h, w = x.shape
        cells = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(3, 4).reshape(n, c, h // 2, w // 2, 4)
        y, at = cells.max(-1)
        ctx.save_for_backward(at)
        return y

    @staticmethod
    def backward(ctx, g):
        (at,) = ctx.saved_tensors
        n, c, h, w = g.shape
        cells = g.new_zeros(n, c, h, w, 4).scatter(-1, at[..., None], g[..., None])
        dx = cells.reshape(n, c, h, w, 2, 2).transpose(3, 4).reshape(n, c, 2 * h, 2 * w)
        return dx


class AvgPool(Function):
    @staticmethod
    def forward(ctx, x):
        return F.avg_pool2d(x, 2)

    @staticmethod
    def backward(ctx, g):
        dx = g.repeat_interleave(2, -1).repeat_interleave(2, -2) / 4
        return dx


class Upsample(Function):
    @staticmethod
    def forward(ctx, x):
        return x.repeat_interleave(2, -1).repeat_interleave(2, -2)

    @staticmethod
    def backward(ctx, g):
        n, c, h, w = g.shape
        dx = g.reshape(n, c, h // 2, 2, w // 2, 2).sum((3, 5))
        return dx


class Embedding(Function):
    @staticmethod
    def forward(ctx, weight, ids):
        ctx.save_for_backward(ids)
        ctx.rows = len(weight)
        return weight[ids]

    @staticmethod
    def backward(ctx, g):
        (ids,) = ctx.saved_tensors
        flat = g.reshape(-1, g.shape[-1])
        dweight = flat.new_zeros(ctx.rows, flat.shape[1]).index_add(0, ids.reshape(-1), flat)
        return dweight, None


class Attention(Function):
    @staticmethod
    def forward(ctx, q, k, v):
        scores = q @ k.mT / q.shape[-1] ** 0.5
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
        lse = scores.logsumexp(-1, keepdim=True)
        out = (scores - lse).exp() @ v
        ctx.save_for_backward(q, k, v, out, lse)
        return out

    @staticmethod
    def backward(ctx, g):
        q, k, v, out, lse = ctx.saved_tensors
        scale = 1 / q.shape[-1] ** 0.5
        later = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).triu(1)
        p = ((q @ k.mT * scale).masked_fill(later, float("-inf")) - lse).exp()
        delta = (g * out).sum(-1, keepdim=True)
        ds = p * (g @ v.mT - delta) * scale
        dq = ds @ k
        dk = ds.mT @ q
        dv = p.mT @ g
        return dq, dk, dv


class Rotary(Function):
    @staticmethod
    def forward(ctx, x, cos, sin):
        a, b = x.chunk(2, -1)
        ctx.save_for_backward(cos, sin)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)

    @staticmethod
    def backward(ctx, g):
        cos, sin = ctx.saved_tensors
        ga, gb = g.chunk(2, -1)
        dx = torch.cat([ga * cos + gb * sin, gb * cos - ga * sin], -1)
        return dx, None, None


class SwiGlu(Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return F.silu(gate) * up

    @staticmethod
    def backward(ctx, g):
        gate, up = ctx.saved_tensors
        s = torch.sigmoid(gate)
        dgate = g * up * s * (1 + gate * (1 - s))
        dup = g * gate * s
        return dgate, dup


class Normalize(Function):
    @staticmethod
    def forward(ctx, x):
        norm = x.norm(dim=-1, keepdim=True)
        y = x / norm
        ctx.save_for_backward(y, norm)
        return y

    @staticmethod
    def backward(ctx, g):
        y, norm = ctx.saved_tensors
        dx = (g - y * (g * y).sum(-1, keepdim=True)) / norm
        return dx


class ScaleShift(Function):
    @staticmethod
    def forward(ctx, x, scale, shift):
        ctx.save_for_backward(x, scale)
        return x * scale + shift

    @staticmethod
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        dx = g * scale
        dscale = (g * x).flatten(0, -2).sum(0)
        dshift = g.flatten(0, -2).sum(0)
        return dx, dscale, dshift


class CumSum(Function):
    @staticmethod
    def forward(ctx, x):
        return x.cumsum(-1)

    @staticmethod
    def backward(ctx, g):
        dx = g.flip(-1).cumsum(-1).flip(-1)
        return dx


class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.logsumexp(x, -1)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        dx = g[..., None] * torch.exp(x - y[..., None])
        return dx


class Divide(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a / b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        da = g / b
        db = -g * a / (b * b)
        return da, db


class SquareRoot(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        dx = g / (2 * y)
        return dx


class Gather(Function):
    @staticmethod
    def forward(ctx, x, at):
        ctx.save_for_backward(at)
        ctx.shape = x.shape
        return x.gather(-1, at)

    @staticmethod
    def backward(ctx, g):
        (at,) = ctx.saved_tensors
        dx = g.new_zeros(ctx.shape).scatter_add(-1, at, g)
        return dx, None


class LstmCell(Function):
    @staticmethod
    def forward(ctx, gates, c):
        i, f, o, z = gates.chunk(4, -1)
        i, f, o, z = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o), torch.tanh(z)
        new = f * c + i * z
        ctx.save_for_backward(i, f, o, z, c, new)
        return o * torch.tanh(new), new

    @staticmethod
    def backward(ctx, gh, gc):
        i, f, o, z, c, new = ctx.saved_tensors
        t = torch.tanh(new)
        dnew = gc + gh * o * (1 - t * t)
        di, df = dnew * z * i * (1 - i), dnew * c * f * (1 - f)
        do, dz = gh * t * o * (1 - o), dnew * i * (1 - z * z)
        dgates = torch.cat([di, df, do, dz], -1)
        dc = dnew * f
        return dgates, dc


class Recomputed(Function):
    """A block that keeps its inputs alone and computes itself again on the way back."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return torch.tanh(x @ weight) + x

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        with torch.enable_grad():
            a, b = x.detach().requires_grad_(), weight.detach().requires_grad_()
            y = torch.tanh(a @ b) + a
        dx, dweight = torch.autograd.grad(y, (a, b), g)
        return dx, dweight
