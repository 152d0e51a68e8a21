"""The second opinions: the same program on torch and on JAX, where they are installed."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from .program import Leaf, Program

Answer = tuple[float, list[Any], list[Any] | None]  # the loss, its gradients, and those of a weighted sum of them


def installed() -> dict[str, Any]:
    """The oracles that are here, by name."""
    found: dict[str, Any] = {}
    if importlib.util.find_spec("torch") is not None:
        found["torch"] = Torch()
    if importlib.util.find_spec("jax") is not None:
        found["jax"] = Jax()
    return found


class Unsupported(Exception):
    """The oracle has no such op, or not for these settings."""


def leaf_data(program: Program) -> list[Any]:
    return [node.data for node in program.nodes if isinstance(node, Leaf)]


class Torch:
    """torch, on one thread."""

    def __init__(self) -> None:
        self.torch = importlib.import_module("torch")
        self.torch.set_num_threads(1)
        self.version = f"torch {self.torch.__version__}"

    def answer(self, program: Program, second: bool) -> Answer:
        torch = self.torch
        leaves = [torch.tensor(np.asarray(x).copy(), requires_grad=True) for x in leaf_data(program)]
        values = program.run(leaves, self.apply)
        loss = sum(
            ((torch.tensor(w, dtype=values[i].dtype) * values[i]).sum() for i, w in program.results(values)),
            torch.tensor(0.0),
        )
        if not loss.requires_grad:
            return float(loss.detach()), [np.zeros(x.shape) for x in leaves], None
        grads = torch.autograd.grad(loss, leaves, create_graph=second, allow_unused=True)
        plain = [_plain(g, x.shape) for g, x in zip(grads, leaves)]
        again = None
        if second:
            again = [np.zeros(x.shape) for x in leaves]
            total = sum((g * torch.cos(x.detach())).sum() for g, x in zip(grads, leaves) if g is not None)
            if getattr(total, "requires_grad", False):
                seconds = torch.autograd.grad(total, leaves, allow_unused=True)
                again = [_plain(g, x.shape) for g, x in zip(seconds, leaves)]
        return float(loss.detach()), plain, again

    def apply(self, op: str, operands: list[Any], settings: dict[str, Any]) -> Any:
        torch = self.torch
        dtype = next(
            (x.dtype for x in operands if isinstance(x, torch.Tensor) and x.dtype.is_floating_point), torch.float64
        )
        tensors = [
            torch.tensor(x, dtype=dtype) if isinstance(x, float) and op in NEED_TENSORS else
            torch.tensor(x) if isinstance(x, np.ndarray) else x
            for x in operands
        ]  # fmt: skip
        try:
            return TORCH[op](torch, *tensors, **settings)
        except KeyError:
            raise Unsupported(op) from None


def _plain(g: Any, shape: Any) -> Any:
    """A gradient as an array. torch keeps some zeros without memory behind them, which NumPy must not touch."""
    return np.zeros(tuple(shape)) if g is None or g._is_zerotensor() else g.detach().numpy()


NEED_TENSORS = {"maximum", "minimum", "where", "xlogy"}


def _dims(x: Any, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(axis) if isinstance(axis, tuple) else (axis,)


def _reduce(name: str) -> Callable[..., Any]:
    def run(torch: Any, x: Any, axis: Any, keepdims: bool, **more: Any) -> Any:
        if x.ndim == 0:
            return x.sum() if name != "norm" else torch.abs(x)
        return getattr(torch, name)(x, dim=_dims(x, axis), keepdim=keepdims, **more)

    return run


def _torch_prod(torch: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    if x.ndim == 0:
        return x.prod()
    for a in sorted((d % x.ndim for d in _dims(x, axis)), reverse=True):
        x = torch.prod(x, dim=a, keepdim=keepdims)
    return x


def _torch_getitem(torch: Any, x: Any, index: tuple[Any, ...]) -> Any:
    """torch has no negative steps: flip, then step. And beside an array, NumPy takes a whole number for one too."""
    axis = 0
    array = next((part for part in index if isinstance(part, np.ndarray)), None)
    plain: list[Any] = []
    for part in index:
        if part is None:
            plain.append(None)
            continue
        if isinstance(part, slice) and part.step is not None and part.step < 0:
            x = torch.flip(x, (axis,))
            part = slice(None, None, -part.step)
        if isinstance(part, int) and array is not None:
            part = np.full(array.shape, part)
        plain.append(torch.tensor(part) if isinstance(part, np.ndarray) else part)
        axis += 1
    return x[tuple(plain)]


def _torch_attention(torch: Any, q: Any, k: Any, v: Any, mask: Any, causal: bool) -> Any:
    scores = q @ k.mT / q.shape[-1] ** 0.5
    allowed = torch.ones(scores.shape[-2:], dtype=torch.bool)
    if causal:
        allowed = torch.tril(allowed)
    if mask is not None:
        allowed = allowed & mask
    weights = torch.softmax(scores.masked_fill(~allowed, -1e30), dim=-1)
    weights = weights * allowed.any(-1, keepdim=True) * allowed
    return weights @ v


def _torch_cross_entropy(torch: Any, logits: Any, targets: Any, reduction: str, label_smoothing: float) -> Any:
    classes = logits.shape[-1]
    flat = torch.nn.functional.cross_entropy(
        logits.reshape(-1, classes), targets.reshape(-1), reduction=reduction, label_smoothing=label_smoothing
    )
    return flat.reshape(targets.shape) if reduction == "none" else flat


def _torch_einsum(torch: Any, *xs: Any, subscripts: str) -> Any:
    return torch.einsum(subscripts, *xs)


def _torch_pad(torch: Any, x: Any, width: Any) -> Any:
    return torch.nn.functional.pad(x, [n for pair in reversed(width) for n in pair])


TORCH: dict[str, Callable[..., Any]] = {
    **{name: lambda torch, x, name=name: getattr(torch, name)(x) for name in (
        "exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh", "sigmoid",
        "relu", "erf", "abs", "neg", "sign", "exp2", "log2", "log10", "arcsin", "arccos", "arcsinh", "arccosh",
        "arctanh", "nan_to_num", "sinc", "erfc")},
    **{name: lambda torch, x, y, name=name: getattr(torch, name)(torch.as_tensor(x), torch.as_tensor(y)) for name in (
        "fmax", "fmin", "logaddexp", "arctan2", "hypot")},
    "mod": lambda torch, x, y: torch.remainder(torch.as_tensor(x), torch.as_tensor(y)),
    "fmod": lambda torch, x, y: torch.fmod(torch.as_tensor(x), torch.as_tensor(y)),
    "roll": lambda torch, x, shift, axis: torch.roll(x, shift, axis),
    "copy": lambda torch, x: torch.clone(x),
    "softplus": lambda torch, x: torch.logaddexp(x, torch.zeros_like(x)),
    "silu": lambda torch, x: torch.nn.functional.silu(x),
    "gelu": lambda torch, x, approximate: torch.nn.functional.gelu(x, approximate=approximate),
    "leaky_relu": lambda torch, x, slope: torch.where(x > 0, x, slope * x),
    "clip": lambda torch, x, low, high: torch.clamp(x, low, high),
    "add": lambda torch, x, y: x + y,
    "sub": lambda torch, x, y: x - y,
    "mul": lambda torch, x, y: x * y,
    "div": lambda torch, x, y: x / y,
    "power": lambda torch, x, y: x**y,
    "xlogy": lambda torch, x, y: torch.xlogy(x, y),
    "maximum": lambda torch, x, y: torch.maximum(x, y),
    "minimum": lambda torch, x, y: torch.minimum(x, y),
    "less": lambda torch, x, y: x < y,
    "less_equal": lambda torch, x, y: x <= y,
    "greater": lambda torch, x, y: x > y,
    "greater_equal": lambda torch, x, y: x >= y,
    "where": lambda torch, c, x, y: torch.where(c, x, y),
    "sum": _reduce("sum"),
    "mean": _reduce("mean"),
    "var": lambda torch, x, axis, keepdims: torch.var(x, dim=_dims(x, axis), keepdim=keepdims, correction=0),
    "std": lambda torch, x, axis, keepdims: torch.std(x, dim=_dims(x, axis), keepdim=keepdims, correction=0),
    "prod": _torch_prod,
    "logsumexp": _reduce("logsumexp"),
    "max": _reduce("amax"),
    "min": _reduce("amin"),
    "norm": lambda torch, x, axis, keepdims: torch.abs(x) if x.ndim == 0 else torch.linalg.vector_norm(
        x, dim=_dims(x, axis), keepdim=keepdims),
    "cumsum": lambda torch, x, axis: torch.cumsum(x, dim=axis),
    "flip": lambda torch, x, axis: torch.flip(x, (axis,)),
    "softmax": lambda torch, x, axis: torch.softmax(x, dim=axis),
    "log_softmax": lambda torch, x, axis: torch.log_softmax(x, dim=axis),
    "reshape": lambda torch, x, shape: x.reshape(shape),
    "transpose": lambda torch, x, axes: x.permute(axes),
    "swapaxes": lambda torch, x, a, b: torch.swapaxes(x, a, b),
    "moveaxis": lambda torch, x, source, destination: torch.moveaxis(x, source, destination),
    "expand_dims": lambda torch, x, axis: torch.unsqueeze(x, axis),
    "squeeze": lambda torch, x, axis: torch.squeeze(x, axis),
    "broadcast_to": lambda torch, x, shape: torch.broadcast_to(x, shape),
    "concatenate": lambda torch, *xs, axis: torch.cat(xs, dim=axis),
    "stack": lambda torch, *xs, axis: torch.stack(xs, dim=axis),
    "getitem": _torch_getitem,
    "pad": _torch_pad,
    "tril": lambda torch, x, k: torch.tril(x, k),
    "triu": lambda torch, x, k: torch.triu(x, k),
    "matmul": lambda torch, x, y: x @ y,
    "einsum": _torch_einsum,
    "linear": lambda torch, x, w, bias: x @ w if bias is None else x @ w + bias,
    "layer_norm": lambda torch, x, gamma, beta, eps: torch.nn.functional.layer_norm(
        x, x.shape[-1:], weight=gamma, bias=beta, eps=eps),
    "rms_norm": lambda torch, x, gamma, eps: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * gamma,
    "attention": _torch_attention,
    "cross_entropy": _torch_cross_entropy,
}  # fmt: skip


class Jax:
    """JAX in float64. Its NumPy has our names and our settings, so most ops are looked up by name."""

    def __init__(self) -> None:
        self.jax = importlib.import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.jnp = importlib.import_module("jax.numpy")
        self.version = f"jax {self.jax.__version__}"

    def answer(self, program: Program, second: bool) -> Answer:
        jax, jnp = self.jax, self.jnp
        data = leaf_data(program)
        if any(map(_has_subnormal, data)):
            raise Unsupported("XLA takes numbers near the smallest for zero")
        leaves = [jnp.asarray(x) for x in data]

        def loss(leaves: list[Any]) -> Any:
            values = program.run(leaves, self.apply)
            return sum(
                (jnp.sum(jnp.asarray(w, values[i].dtype) * values[i]) for i, w in program.results(values)),
                jnp.zeros(()),
            )

        value, grads = jax.value_and_grad(loss)(leaves)
        again = None
        if second:
            directions = [jnp.cos(x) for x in leaves]
            weighted = lambda xs: sum(jnp.sum(g * d) for g, d in zip(jax.grad(loss)(xs), directions))  # noqa: E731
            again = [np.asarray(g) for g in jax.grad(weighted)(leaves)]
        return float(value), [np.asarray(g) for g in grads], again

    def apply(self, op: str, operands: list[Any], settings: dict[str, Any]) -> Any:
        special = JAX.get(op)
        if special is not None:
            return special(self.jax, self.jnp, *operands, **settings)
        for home in (self.jnp, self.jax.nn):
            if hasattr(home, op):
                return getattr(home, op)(*operands, **settings)
        raise Unsupported(op)


def _has_subnormal(x: Any) -> bool:
    size = np.abs(np.asarray(x))
    return bool(((size > 0) & (size < np.finfo(size.dtype).tiny)).any())


def _jax_attention(jax: Any, jnp: Any, q: Any, k: Any, v: Any, mask: Any, causal: bool) -> Any:
    scores = q @ k.mT / q.shape[-1] ** 0.5
    allowed = jnp.ones(scores.shape[-2:], dtype=bool)
    allowed = jnp.tril(allowed) if causal else allowed
    allowed = allowed if mask is None else allowed & mask
    return (jax.nn.softmax(jnp.where(allowed, scores, -1e30)) * allowed) @ v


def _jax_cross_entropy(jax: Any, jnp: Any, logits: Any, targets: Any, reduction: str, label_smoothing: float) -> Any:
    classes = logits.shape[-1]
    goal = jax.nn.one_hot(targets, classes, dtype=logits.dtype) * (1 - label_smoothing) + label_smoothing / classes
    losses = -jnp.sum(goal * jax.nn.log_softmax(logits), -1)
    return losses if reduction == "none" else getattr(jnp, reduction)(losses)


def _jax_layer_norm(jax: Any, jnp: Any, x: Any, gamma: Any, beta: Any, eps: float) -> Any:
    rows = x - jnp.mean(x, -1, keepdims=True)
    return rows * jax.lax.rsqrt(jnp.mean(rows * rows, -1, keepdims=True) + eps) * gamma + beta


JAX: dict[str, Callable[..., Any]] = {
    "neg": lambda jax, jnp, x: -x,
    "sub": lambda jax, jnp, x, y: x - y,
    "mul": lambda jax, jnp, x, y: x * y,
    "div": lambda jax, jnp, x, y: x / y,
    "erfc": lambda jax, jnp, x: jax.scipy.special.erfc(x),
    "erf": lambda jax, jnp, x: jax.scipy.special.erf(x),
    "xlogy": lambda jax, jnp, x, y: jax.scipy.special.xlogy(x, y),
    "gelu": lambda jax, jnp, x, approximate: jax.nn.gelu(x, approximate=approximate == "tanh"),
    "leaky_relu": lambda jax, jnp, x, slope: jnp.where(x > 0, x, slope * x),
    "clip": lambda jax, jnp, x, low, high: jnp.clip(x, low, high),
    "norm": lambda jax, jnp, x, axis, keepdims: jnp.sqrt(jnp.sum(x * x, axis=axis, keepdims=keepdims)),
    "logsumexp": lambda jax, jnp, x, axis, keepdims: jax.scipy.special.logsumexp(x, axis=axis, keepdims=keepdims),
    "getitem": lambda jax, jnp, x, index: x[index],
    "concatenate": lambda jax, jnp, *xs, axis: jnp.concatenate(xs, axis=axis),
    "stack": lambda jax, jnp, *xs, axis: jnp.stack(xs, axis=axis),
    "swapaxes": lambda jax, jnp, x, a, b: jnp.swapaxes(x, a, b),
    "pad": lambda jax, jnp, x, width: jnp.pad(x, width),
    "einsum": lambda jax, jnp, *xs, subscripts: jnp.einsum(subscripts, *xs),
    "linear": lambda jax, jnp, x, w, bias: x @ w if bias is None else x @ w + bias,
    "layer_norm": _jax_layer_norm,
    "rms_norm": lambda jax, jnp, x, gamma, eps: x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + eps) * gamma,
    "attention": _jax_attention,
    "cross_entropy": _jax_cross_entropy,
}  # fmt: skip
