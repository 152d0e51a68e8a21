"""Names from other libraries, and what to write for them here: one table for errors, for docs/names.md and for people.

    v.view(3, 2)     # torch's name for v.reshape(3, 2): it runs
    v.grad_fn        # AttributeError: a Value has no grad_fn (torch's name). Write v.op
    nn.Dense(3, 2)   # AttributeError: nn has no Dense. Write nn.Linear(n_in, n_out)

SAME and MAKERS hold the names that mean what one of ours means, and so run; the other tables only say what to write.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .op import OPS

# --- names of a Value that run: what they mean, and how it is written here --------------------------------------

SAME: dict[str, tuple[Callable[..., Any], str]] = {
    "view": (lambda v, *shape: v.reshape(*shape), "v.reshape(3, 2)"),
    "numel": (lambda v: v.size, "v.size"),
    "nelement": (lambda v: v.size, "v.size"),
    "dim": (lambda v: v.ndim, "v.ndim"),
    "permute": (lambda v, *axes: v.transpose(*axes), "v.transpose(1, 0)"),
    "unsqueeze": (lambda v, dim: v.expand_dims(dim), "v.expand_dims(0)"),
    "t": (lambda v: v.T, "v.T"),
    "mm": (lambda v, other: v @ other, "v @ w"),
    "bmm": (lambda v, other: v @ other, "v @ w"),
    "pow": (lambda v, n: v**n, "v ** 2"),
    "clamp": (lambda v, min=None, max=None: OPS["clip"](v, min, max), "v.clip(0.0, 1.0)"),
    "masked_fill": (lambda v, mask, x: OPS["where"](mask, x, v), "where(mask, x, v)"),
    "expand": (lambda v, *sizes: OPS["broadcast_to"](v, _expanded(v, sizes)), "v.broadcast_to((2, 3))"),
    "contiguous": (lambda v: v, "v"),
    "clone": (lambda v: v.copy(), "v.copy()"),
    "cpu": (lambda v: v, "v"),
    "float": (lambda v: v.astype(np.float32), "v.astype(np.float32)"),
    "double": (lambda v: v.astype(np.float64), "v.astype(np.float64)"),
    "long": (lambda v: v.astype(np.int64), "v.astype(int)"),
    "requires_grad_": (lambda v, requires_grad=True: _requiring(v, requires_grad), "v.requires_grad = True"),
}

# --- torch's ways to make a Value, as code for it that says `import autograd as torch` calls them -------------------

MAKERS: dict[str, tuple[Callable[..., Any], str]] = {
    "tensor": (lambda data, dtype=None, requires_grad=False: _made(np.array(data, dtype), requires_grad),
               "Value([1.0, 2.0], requires_grad=False)"),
    "zeros": (lambda *size, requires_grad=False: _made(np.zeros(_sizes(size)), requires_grad),
              "Value(np.zeros((2, 3)), requires_grad=False)"),
    "ones": (lambda *size, requires_grad=False: _made(np.ones(_sizes(size)), requires_grad),
             "Value(np.ones((2, 3)), requires_grad=False)"),
    "zeros_like": (lambda v: _made(np.zeros(v.shape, v.dtype)), "Value(np.zeros(v.shape), requires_grad=False)"),
    "ones_like": (lambda v: _made(np.ones(v.shape, v.dtype)), "Value(np.ones(v.shape), requires_grad=False)"),
    "arange": (lambda *ends: _made(np.arange(*ends)), "np.arange(3)"),
    "rand": (lambda *size, generator=None: _made(np.random.default_rng(generator).random(_sizes(size))),
             "Value(rng.random((2, 3)), requires_grad=False)"),
    "randn": (lambda *size, generator=None: _made(np.random.default_rng(generator).normal(size=_sizes(size))),
              "Value(rng.normal(size=(2, 3)), requires_grad=False)"),
    "randint": (lambda low, high, size, generator=None: np.random.default_rng(generator).integers(low, high, size),
                "rng.integers(0, 10, (2, 3))"),
    "multinomial": (lambda probs, num_samples, replacement=False, generator=None: _picked(
        probs, num_samples, replacement, generator), "rng.choice(len(p), size, p=p)"),
    "Generator": (lambda device=None: _Seed(), "np.random.default_rng(0)"),
    "cat": (lambda tensors, dim=0: OPS["concatenate"](tensors, dim), "concatenate([v, w], axis=0)"),
}


def _made(array: np.ndarray[Any, Any], requires_grad: bool = False) -> Any:
    """A Value; integers, which count or pick, stay a plain array."""
    from .engine import Value

    return Value(array, requires_grad=requires_grad) if array.dtype.kind == "f" else array


def _sizes(size: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], tuple | list) else size


class _Seed:
    """torch.Generator(): `manual_seed` gives the generator."""

    def manual_seed(self, seed: int) -> np.random.Generator:
        return np.random.default_rng(seed)


def _picked(probs: Any, count: int, replacement: bool, generator: Any) -> Any:
    rng, p = np.random.default_rng(generator), np.asarray(getattr(probs, "data", probs), np.float64)
    rows = [rng.choice(p.shape[-1], count, replacement, row / row.sum()) for row in p.reshape(-1, p.shape[-1])]
    return _made(np.array(rows).reshape(*p.shape[:-1], count))


# --- names that say what to write ---------------------------------------------------------------------------------

# A text that begins with a dot is a sentence of its own.
IN_PLACE = ". A Value is not changed in place: set a leaf's numbers as a whole, v.data = new, or compute another Value"
REAL = ". Leave it out: a Value holds real numbers"
ON_CPU = ". Leave it out: everything is a NumPy array in memory"

VALUE = {
    "grad_fn": "v.op", "is_leaf": "v.op is None", "ctx": "v.inputs", "creator": "v.op", "children": "v.parents",
    "prev": "v.parents", "value": "v.data", "val": "v.data", "_value": "v.data",
    "retain_grad": ". Leave it out: every node keeps its gradient",
    "register_hook": "v.hook(f)", "detach_": "v.detach()", "device": ON_CPU, "to": "v.astype(dtype)",
    "cuda": ON_CPU, "type": "v.dtype, or v.astype(dtype)", "half": "v.astype(np.float16)",
    "int": "v.astype(int)", "bool": "v != 0", "chunk": "v.split(n)", "unbind": "list(v)",
    "gather": "v.take_along_axis(indices, axis=1)",
    "index_select": "v.take(indices, axis=0)", "masked_select": "v[mask]", "topk": "v.sort()[-k:]",
    "narrow": "v[start:stop]", "select": "v[i]", "at": "autograd.set_at(v, index, new) or autograd.add_at",
    "eq": "v == w", "ne": "v != w", "lt": "v < w", "gt": "v > w", "le": "v <= w", "ge": "v >= w",
    "rsqrt": "1.0 / v.sqrt()", "square": "v ** 2", "reciprocal": "1.0 / v", "addmm": "c + a @ b",
    "mv": "v @ w", "ger": "v.outer(w)", "ptp": "np.ptp(v)", "conj": REAL, "real": REAL,
    "imag": "np.imag(v)", "nbytes": "v.data.nbytes", "itemsize": "v.dtype.itemsize", "strides": "v.data.strides",
    "flat": "v.ravel()", "base": "v.data.base", "ctypes": "v.data.ctypes", "fill": IN_PLACE, "itemset": IN_PLACE,
    "block_until_ready": ". Leave it out: results are there at once", "weak_type": "v.dtype",
    "argwhere": "np.argwhere(v)",
    "cross": "np.cross(v, w)", "kron": "np.kron(v, w)", "erfinv": "erfinv(v), from scipy.special as in docs/hips.md",
    "backprop": "v.backward()", "gradient": "v.grad", "derivative": "v.grad", "derivatives": "v.grad",
    "draw": "autograd.draw(v)", "step": "autograd.step(v)", "worksheet": "autograd.worksheet(v)",
}  # fmt: skip
EDITS = dict.fromkeys(
    ("abs_", "add_", "addcmul_", "bernoulli_", "ceil_", "clamp_", "clip_", "copy_", "cos_", "cumsum_", "div_", "exp_",
     "fill_", "fill_diagonal_", "floor_", "index_add_", "index_copy_", "index_fill_", "log_", "masked_fill_", "mul_",
     "neg_", "normal_", "pow_", "put_", "random_", "reciprocal_", "relu_", "resize_", "round_", "rsqrt_", "scatter_",
     "scatter_add_", "sigmoid_", "sign_", "sin_", "sqrt_", "squeeze_", "sub_", "t_", "tanh_", "transpose_", "tril_",
     "triu_", "uniform_", "unsqueeze_", "zero_"), IN_PLACE)  # fmt: skip

_ARRAYS = "np.{name}(...): plain numbers, which Values compute with"

AUTOGRAD = {
    "Tensor": "Value", "Variable": "Value", "from_numpy": "Value(array)",
    "mm": "v @ w", "bmm": "v @ w", "clamp": "clip(v, low, high)", "pow": "v ** n",
    "unsqueeze": "expand_dims(v, axis)", "permute": "transpose(v, axes)", "manual_seed": "nn.seed(0)",
    "seed": "nn.seed(0)", "enable_grad": ". Leave it out: gradients are on, outside of no_grad()",
    "set_grad_enabled": "no_grad()", "inference_mode": "no_grad()", "nn": "import nn", "optim": "nn.optim",
    "save": "nn.save(module, path)", "load": "nn.load(module, path)", "jit": "compile(f)", "function": "compile(f)",
    "vmap": ". Leave it out: ops take batch axes in front", "stop_gradient": "v.detach()", "detach": "v.detach()",
    "gradcheck": "check_grads(f, x)", "jacfwd": "jacobian(f)", "jacrev": "jacobian(f)", "gradient": "grad(f)",
    "derivative": "grad(f)", "Function": "custom_op(name, forward=..., vjp=...)",
    "custom_vjp": "custom_op(name, forward=..., vjp=...)", "GradientTape": "value.backward(), or grad(f)(x)",
    "Module": "nn.Module", "Parameter": "nn.Parameter", "Linear": "nn.Linear", "SGD": "nn.optim.SGD",
    "Adam": "nn.optim.Adam", "fit": "nn.fit", "draw_dot": "draw(v)", "visualize": "draw(v)", "show": "draw(v)",
    "device": ON_CPU, "cuda": ON_CPU,
    "float32": "np.float32", "float64": "np.float64", "long": "np.int64", "argwhere": "np.argwhere(v)",
    "masked_fill": "where(mask, x, v)", "sigmoid_": IN_PLACE, "check_gradients": "check_grads(f, x)",
    **{name: _ARRAYS.format(name=name) for name in ("eye", "array", "full", "empty", "asarray", "meshgrid")},
    "normal": "np.random.default_rng(0).normal(size=(2, 3))", "unbind": "list(v)",
}  # fmt: skip

NN = {
    "Dense": "nn.Linear(n_in, n_out)", "MultiheadAttention": "nn.MultiHeadAttention(d_model, n_heads)",
    "Transformer": "nn.TransformerBlock or nn.GPT", "TransformerEncoderLayer": "nn.TransformerBlock(d_model, n_heads)",
    "TransformerEncoder": "nn.Sequential of nn.TransformerBlock", "TransformerDecoderLayer":
    "nn.TransformerBlock(d_model, n_heads, causal=True)", "Block": "nn.TransformerBlock(d_model, n_heads)",
    "CausalSelfAttention": "nn.MultiHeadAttention(d_model, n_heads, causal=True)", "BatchNorm":
    "nn.BatchNorm1d or nn.BatchNorm2d", "InstanceNorm2d": "nn.GroupNorm(channels, channels)", "Conv3d":
    "nn.Conv2d: no volumes yet", "Dropout2d": "nn.Dropout(p)", "ParameterList": "[nn.Parameter(x), ...]: a list",
    "ParameterDict": "{name: nn.Parameter(x)}: a dict", "Unflatten": "x.reshape(...) in forward", "Upsample":
    "autograd.interpolate(x, ...)", "ZeroPad2d": "np.pad(x, ...) in forward", "Mish": "x * F.softplus(x).tanh()",
    "Hardswish": "x * np.clip(x + 3, 0, 6) / 6", "ReLU6": "nn.Hardtanh(0.0, 6.0)", "Softsign": "x / (1 + abs(x))",
    "PReLU": "nn.LeakyReLU(0.01)", "SELU": "nn.ELU()", "Swish": "nn.SiLU()", "PositionalEncoding":
    "nn.SinusoidalPositions(width)", "utils": "nn.optim.clip_grad_norm", "Tensor": "autograd.Value", "Value":
    "autograd.Value", "no_grad": "autograd.no_grad()", "DataLoader": "nn.train.Batches(arrays, batch_size)", "Trainer":
    "nn.fit(model, loss, data, optimizer, steps=...)", "DataParallel": ON_CPU, "parameter":
    "nn.Parameter(array)", "CTCLoss": "a function of your own: a loss is a formula", "Sigmoid2d": "nn.Sigmoid()",
    "CosineSimilarity": "(a * b).sum(-1) / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1))",
    **{name: f"nn.optim.{name}(model)" for name in ("SGD", "Adam", "AdamW", "RMSprop")},
}  # fmt: skip

FUNCTIONAL = {
    "scaled_dot_product_attention": "attention(q, k, v, mask)", "pad": "np.pad(x, ...)", "max_pool": "max_pool2d",
    "normalize": "x / np.linalg.norm(x, axis=-1, keepdims=True)", "interpolate": "autograd.interpolate(x, ...)",
    "cosine_similarity": "(a * b).sum(-1) / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1))",
    "relu6": "hardtanh(x, 0.0, 6.0)", "relu_": "relu(x)", "softmin": "softmax(-x)", "mae_loss": "l1_loss",
    "swish": "silu(x)", "mish": "x * softplus(x).tanh()", "unfold": "conv2d, which needs none", "bce":
    "binary_cross_entropy(p, y)", "nll": "nll_loss", "dropout2d": "dropout", "sdpa": "attention(q, k, v, mask)",
}  # fmt: skip

OPTIM = {
    "lr_scheduler": "a function of the step in place of lr, SGD(model, lr=cosine(0.1, 1000))",
    "CosineAnnealingLR": "cosine(peak, total)", "StepLR": "step_decay(start, every, factor)",
    "ExponentialLR": "exponential(start, factor)", "LinearLR": "linear(start, end, total)",
    "LambdaLR": "any function of the step", "ReduceLROnPlateau": "plateau(start, patience)",
    "OneCycleLR": "warmup(cosine(peak, total), steps)", "clip_grad_norm_": "clip_grad_norm(model, max_norm)",
    "Adagrad": "RMSprop or Adam", "LBFGS": "scipy.optimize.minimize(value_and_grad(f), x, jac=True)",
    "Momentum": "SGD(model, lr, momentum=0.9)", "RMSProp": "RMSprop(model, lr)",
}  # fmt: skip

# Names of arguments, and ours with the same meaning: taken where a function has ours and lacks the other.
ARGUMENTS = {
    "dim": "axis", "dims": "axis", "keepdim": "keepdims", "in_features": "n_in", "out_features": "n_out",
    "input_dim": "n_in", "output_dim": "n_out", "units": "n_out", "num_embeddings": "n", "embedding_dim": "width",
    "normalized_shape": "width", "n_embd": "d_model", "embed_dim": "d_model", "n_head": "n_heads",
    "num_heads": "n_heads", "n_layer": "n_layers", "num_layers": "n_layers", "dim_feedforward": "d_hidden",
    "context_length": "block_size", "max_len": "block_size", "vocab": "vocab_size", "learning_rate": "lr",
    "generator": "rng", "seed": "rng", "use_bias": "bias", "requires_gradient": "requires_grad",
}  # fmt: skip

# Where `dim=` has another meaning in torch than `axis=` has in NumPy.
NOT_THE_SAME = {
    "max": "torch's max(dim) gives numbers and places: write v.max(axis=1), and v.argmax(axis=1) for the places",
    "min": "torch's min(dim) gives numbers and places: write v.min(axis=1), and v.argmin(axis=1) for the places",
    "median": "torch's median(dim) gives the lower middle and its place: write np.median(v, axis=1) for the mean",
    "sort": "torch's sort(dim) gives numbers and places: write v.sort(axis=1), and v.argsort(axis=1) for the places",
    "std": "torch divides by n - 1: write v.std(dim=1, correction=1), or v.std(axis=1) for NumPy's, which divides by n",
    "var": "torch divides by n - 1: write v.var(dim=1, correction=1), or v.var(axis=1) for NumPy's, which divides by n",
    "split": "torch's split takes the size of a part: write v.split(n, axis=1), for n equal parts",
}


def _expanded(v: Any, sizes: tuple[Any, ...]) -> tuple[int, ...]:
    sizes = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], tuple | list) else sizes
    own = (1,) * (len(sizes) - v.ndim) + v.shape
    return tuple(n if size == -1 else size for n, size in zip(own, sizes, strict=True))


def _requiring(v: Any, requires_grad: bool) -> Any:
    v.requires_grad = requires_grad
    return v


class Elsewhere:
    """An attribute that Values have in another library: asked for, it says what to write here."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, v: Any, cls: type) -> Any:
        raise missing("a Value", self.name, VALUE | EDITS, v)


def give_other_names(value: type) -> None:
    """Give Value the names of the tables. As attributes of their own they cost nothing when others are read."""
    for name, (means, _) in SAME.items():
        setattr(value, name, means)
    for name in (VALUE | EDITS).keys() - vars(value).keys():
        setattr(value, name, Elsewhere(name))


def backward_options(grad: Any, options: dict[str, Any]) -> Any:
    """The gradient to start from, by torch's name too. The graph is kept as long as a name refers to it."""
    if options.pop("create_graph", False):
        raise TypeError("backward() makes no graph of gradients. Write grad(f)(x), and grad(grad(f)) for second ones")
    options.pop("retain_graph", None)
    grad = options.pop("gradient", grad)
    if options:
        raise TypeError(f"backward() takes the gradient to start from; got {', '.join(options)}=")
    return grad


class Count(int):
    """How many numbers a Value holds: `v.size`, as in NumPy; torch's `v.size()` says what to write."""

    def __call__(self, *axis: Any) -> Any:
        raise TypeError(f"v.size is a number, {int(self)}, as in NumPy. Write v.shape, or v.shape[0]")


def of_autograd(name: str) -> Any:
    """What `autograd.name` means that is none of ours: a function that runs, or an error that says what to write."""
    if name in MAKERS:
        return MAKERS[name][0]
    raise missing("autograd", name, AUTOGRAD)


def missing(owner: str, name: str, table: dict[str, str], obj: Any = None) -> AttributeError:
    """The error for a name that is not here: what to write, if the table knows it."""
    known = table.get(name, "")
    instead = known if not known or known.startswith(".") else f". Write {known}"
    return AttributeError(f"{owner} has no {name}{instead}", name=name, obj=obj)


def renamed(name: str, parameters: Any, settings: dict[str, Any]) -> dict[str, Any] | None:
    """Arguments by our names, where all that a function lacks is known by another name; else None."""
    lacking = [key for key in settings if key not in parameters]
    if not lacking or not all(ARGUMENTS.get(key) in parameters for key in lacking):
        return None
    if name in NOT_THE_SAME and not {"dim", "keepdim"}.isdisjoint(lacking) and "correction" not in settings:
        raise TypeError(NOT_THE_SAME[name])
    return {ARGUMENTS[key] if key in lacking else key: value for key, value in settings.items()}


def by_other_names(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, which also takes its arguments by the names that other libraries have for them: `sum(v, dim=1)`."""
    parameters = inspect.signature(f).parameters
    known = parameters.keys()
    if known.isdisjoint(ARGUMENTS.values()) or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return f

    @functools.wraps(f)
    def called(*args: Any, **settings: Any) -> Any:
        if settings and not settings.keys() <= known:
            settings = renamed(f.__name__.rstrip("_"), known, settings) or settings
        return f(*args, **settings)

    return called


def take_other_names(cls: type) -> None:
    """Let one of our layers or optimizers be made with the names of other libraries: `nn.Linear(in_features=3, …)`."""
    made = vars(cls).get("__init__")
    if made is not None and cls.__module__.startswith("nn."):
        cls.__init__ = by_other_names(made)  # type: ignore[misc]
