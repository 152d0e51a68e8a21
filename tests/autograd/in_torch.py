"""The ops in torch's words: a second implementation of each, by other people. Needs torch.

Each function takes an op's inputs as tensors, and a sample's settings as the op itself would.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def dims(x, axis):
    """An axis, several, or all, as torch wants them."""
    if axis is None:
        return tuple(range(x.ndim))
    return axis if isinstance(axis, tuple) else (axis,)


def reduced(f):
    return lambda x, axis=None, keepdims=False, **settings: f(x, dim=dims(x, axis), keepdim=keepdims, **settings)


def prod(x, axis=None, keepdims=False):
    for d in sorted((d % max(x.ndim, 1) for d in dims(x, axis)), reverse=True):
        x = torch.prod(x, dim=d, keepdim=keepdims)
    return x


def spread(f):
    return lambda x, axis=None, ddof=0, keepdims=False: f(x, dim=dims(x, axis), correction=ddof, keepdim=keepdims)


def softmax(x, axis=-1):
    return torch.exp(log_softmax(x, axis))


def log_softmax(x, axis=-1):
    return x - torch.logsumexp(x, dim=dims(x, axis), keepdim=True)


def getitem(x, index):
    parts = index if isinstance(index, tuple) else (index,)
    if any(isinstance(p, slice) and p.step is not None and p.step < 0 for p in parts):  # torch has no negative steps
        assert index == np.s_[::-1]
        return torch.flip(x, (0,))
    return x[tuple(torch.as_tensor(p) if isinstance(p, np.ndarray) else p for p in parts)]


def scatter(x, index, shape):
    rows = torch.as_tensor(index).reshape(-1)
    return torch.zeros(shape, dtype=x.dtype).index_add(0, rows, x.reshape(len(rows), *shape[1:]))


def pad(x, width, **settings):
    pairs = np.broadcast_to(np.asarray(width), (x.ndim, 2))
    return F.pad(x, [int(n) for pair in pairs[::-1] for n in pair])


def dot(*xs):
    half = len(xs) // 2
    total = sum(x * y for x, y in zip(xs[:half], xs[half : 2 * half], strict=True))
    return total + xs[-1] if len(xs) % 2 else total


def attention(q, k, v, mask=None, causal=False):
    queries, keys = q.shape[-2], k.shape[-2]
    if causal and queries != keys:  # torch counts places from the first, we from the last: new queries, old keys
        mask, causal = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries), False
    with sdpa_kernel(SDPBackend.MATH):  # the fast kernels cannot be differentiated twice
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)


def attention_weights(q, k, mask=None, causal=False):
    """The weights are what attention does to the identity."""
    identity = torch.eye(k.shape[-2], dtype=q.dtype).expand(*k.shape[:-2], -1, -1)
    return attention(q, k, identity, mask, causal)


def self_attention(qkv, mask=None, heads=1, kv_heads=None, causal=False):
    """Queries, keys and values side by side, cut into heads; several query heads may share one of keys and values."""
    kv_heads = kv_heads or heads
    d = qkv.shape[-1] // (heads + 2 * kv_heads)
    parts = qkv.split([heads * d, kv_heads * d, kv_heads * d], -1)
    q, k, v = (x.unflatten(-1, (-1, d)).transpose(-2, -3) for x in parts)
    k, v = (x.repeat_interleave(heads // kv_heads, dim=-3) for x in (k, v))
    return attention(q, k, v, mask, causal).transpose(-2, -3).flatten(-2)


def cross_entropy(logits, targets, reduction="mean", ignore_index=None, label_smoothing=0.0):
    return F.cross_entropy(logits, targets, reduction=reduction, label_smoothing=label_smoothing,
                           ignore_index=-100 if ignore_index is None else ignore_index)  # fmt: skip


def conv(x, weight, bias=None, **settings):
    return (F.conv1d if x.ndim == 3 else F.conv2d)(x, weight, bias, **settings)


def conv_transpose(x, weight, bias=None, size=None, **settings):
    function = F.conv_transpose1d if x.ndim == 3 else F.conv_transpose2d
    usual = function(x, weight, bias, **settings).shape[2:]
    more = 0 if size is None else [n - m for n, m in zip(size, usual, strict=True)]
    return function(x, weight, bias, output_padding=more, **settings)


def pooled(in_one, in_two):
    return lambda x, window, **settings: (in_one if x.ndim == 3 else in_two)(x, window, **settings)


def interpolate(x, size, mode="nearest", aligned=False):
    mode = {"linear": "linear" if x.ndim == 3 else "bilinear", "cubic": "bicubic"}.get(mode, mode)
    return F.interpolate(x, size, mode=mode, align_corners=None if mode == "nearest" else aligned)


def set_at(x, values, index):
    parts = index if isinstance(index, tuple) else (index,)
    out = x.clone()
    out[tuple(torch.as_tensor(p) if isinstance(p, np.ndarray) else p for p in parts)] = values
    return out


def add_at(x, values, index):
    if isinstance(index, np.ndarray):  # a row may be named twice
        return x.index_add(0, torch.as_tensor(index), values)
    return set_at(x, getitem(x, index) + values, index)


TORCH = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "neg": torch.neg, "power": torch.pow,
    "power_slope": lambda x, y: y * x ** (y - 1),
    "exponent_slope": lambda x, y: x**y * x.log(),
    "exp": torch.exp, "expm1": torch.expm1, "log": torch.log, "xlogy": torch.xlogy, "log1p": torch.log1p,
    "sqrt": torch.sqrt, "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "arctan": torch.arctan,
    **{name: getattr(torch, name) for name in (
        "exp2", "log2", "log10", "arcsin", "arccos", "arctan2", "arcsinh", "arccosh", "arctanh", "hypot", "logaddexp",
        "fmax", "fmin", "nan_to_num")},
    "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "softplus": F.softplus,
    "silu": F.silu, "relu": torch.relu, "leaky_relu": lambda x, slope=0.01: F.leaky_relu(x, slope), "erf": torch.erf,
    "gelu": F.gelu, "abs": torch.abs, "maximum": torch.maximum, "minimum": torch.minimum, "where": torch.where,
    "clip": lambda x, low=None, high=None: torch.clamp(x, low, high),
    "alias": torch.clone, "copy": torch.clone, "astype": lambda x, dtype: x.to(getattr(torch, dtype)),
    "reshape": torch.reshape, "swapaxes": lambda x, a, b: torch.swapaxes(x, a, b),
    "transpose": lambda x, axes=None: torch.permute(x, axes or tuple(range(x.ndim))[::-1]),
    "expand_dims": lambda x, axis: x[tuple(None if i in [d % (x.ndim + np.size(axis)) for d in dims(x, axis)]
                                           else slice(None) for i in range(x.ndim + np.size(axis)))],
    "squeeze": lambda x, axis=None: torch.squeeze(x) if axis is None else torch.squeeze(x, axis),
    "broadcast_to": lambda x, shape: torch.broadcast_to(x, shape), "sum_to": lambda x, shape: x.sum_to_size(shape),
    "moveaxis": torch.moveaxis,
    "concatenate": lambda *xs, axis=0: torch.cat(xs, dim=axis), "stack": lambda *xs, axis=0: torch.stack(xs, dim=axis),
    "getitem": getitem, "scatter": scatter, "pad": pad,
    "tril": lambda x, k=0: torch.tril(x, k), "triu": lambda x, k=0: torch.triu(x, k),
    "roll": lambda x, shift, axis=None: torch.roll(x, shift, axis), "mod": torch.remainder, "fmod": torch.fmod,
    "take_along_axis": lambda x, indices, axis=-1: torch.take_along_dim(x, indices, axis),
    "inv": torch.linalg.inv, "solve": torch.linalg.solve, "pinv": torch.linalg.pinv, "det": torch.linalg.det,
    "logabsdet": lambda x: torch.linalg.slogdet(x)[1],
    "cholesky": lambda x: torch.linalg.cholesky((x + x.mT) / 2),
    "eigenvalues": lambda x: torch.linalg.eigvalsh((x + x.mT) / 2), "singular_values": torch.linalg.svdvals,
    "erfc": torch.erfc,
    "flip": lambda x, axis=None: torch.flip(x, dims(x, axis)),
    "sum": reduced(torch.sum), "mean": reduced(torch.mean), "var": spread(torch.var), "std": spread(torch.std),
    "norm": reduced(torch.linalg.vector_norm), "prod": prod, "max": reduced(torch.amax), "min": reduced(torch.amin),
    "cumsum": lambda x, axis=None: torch.cumsum(x.reshape(-1) if axis is None else x, 0 if axis is None else axis),
    "matmul": torch.matmul, "dot": dot, "einsum": lambda *xs, subscripts: torch.einsum(subscripts, *xs),
    "softmax": softmax, "log_softmax": log_softmax, "logsumexp": reduced(torch.logsumexp),
    "softmax_pull": lambda d, p, axis=-1: p * (d - (d * p).sum(dim=dims(p, axis), keepdim=True)),
    "layer_norm": lambda x, gamma, beta, eps=1e-5: F.layer_norm(x, x.shape[-1:], gamma, beta, eps),
    "rms_norm": lambda x, gamma, eps=1e-5: F.rms_norm(x, x.shape[-1:], gamma, eps),
    "linear": lambda x, weight, bias=None: F.linear(x, weight.mT, bias),
    "attention_weights": attention_weights, "attention": attention, "self_attention": self_attention,
    "cross_entropy": cross_entropy, "linear_rows": F.linear, "conv": conv, "conv_transpose": conv_transpose,
    "max_pool": pooled(F.max_pool1d, F.max_pool2d), "avg_pool": pooled(F.avg_pool1d, F.avg_pool2d),
    "batch_norm": lambda x, gamma, beta, eps=1e-5: F.batch_norm(x, None, None, gamma, beta, training=True, eps=eps),
    "group_norm": lambda x, gamma, beta, groups=1, eps=1e-5: F.group_norm(x, groups, gamma, beta, eps),
    "interpolate": interpolate, "add_at": add_at, "set_at": set_at,
    "logcumsumexp": lambda x, axis=-1: torch.logcumsumexp(x, axis),
}  # fmt: skip


def as_tensor(x):
    """An input as torch takes it: real numbers ask for a gradient; masks, targets and None stay as they are."""
    if x is None:
        return None
    tensor = torch.as_tensor(np.array(x))
    return tensor.requires_grad_() if tensor.is_floating_point() else tensor


def answer(name, inputs, settings, cotangent):
    """The result of an op in torch, and the gradients of its real inputs for the cotangent of that shape."""
    out, _, grads = _traced(name, inputs, settings, cotangent)
    return out.detach().numpy(), [g.detach().numpy() for g in grads]


def second_answer(name, inputs, settings, cotangent):
    """The gradients of sum(w · gradient) over all first gradients, with w another cotangent."""
    _, real, grads = _traced(name, inputs, settings, cotangent)
    total = sum((g * torch.tensor(cotangent(tuple(g.shape), seed=7))).sum() for g in grads)
    if not total.requires_grad:
        return [np.zeros(tuple(t.shape)) for t in real]
    second = torch.autograd.grad(total, real, allow_unused=True)
    return [np.zeros(tuple(t.shape)) if g is None else g.numpy(force=True) for g, t in zip(second, real, strict=True)]


def _traced(name, inputs, settings, cotangent):
    tensors = [as_tensor(x) for x in inputs]
    out = TORCH[name](*tensors, **settings)
    real = [t for t in tensors if t is not None and t.requires_grad]
    u = torch.tensor(cotangent(tuple(out.shape)))  # a copy: the array is read-only
    grads = torch.autograd.grad(out, real, u, allow_unused=True, create_graph=True)
    return out, real, [torch.zeros_like(t) if g is None else g for g, t in zip(grads, real, strict=True)]
