"""PyTorch's own samples for its operators (`op_db`), run through ours: results, gradients, gradients of gradients.

Each entry of WRITTEN says in our words what one of torch's functions does, with torch's arguments. Whatever has a
namesake in torch's table must be there, or in LEFT_OUT with the reason.
"""

import functools
import importlib.util
import math
import warnings

import numpy as np
import pytest

import autograd as ag
from autograd import OPS, Value, vjp
from autograd.ops import FUNCTIONS
from tests.autograd.judges import assert_close, uneven

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("torch") is None or importlib.util.find_spec("expecttest") is None,
        reason="NOT TESTED: torch's own samples need pip install torch==2.13.0 expecttest",
    ),
]


class Unsupported(Exception):
    """A sample asks for what our op says it does not have: another default, an argument of torch alone."""


def needs(condition):
    if not condition:
        raise Unsupported


def axes(dim):
    """torch's `dim`: a list without entries means all."""
    return None if dim is None or (isinstance(dim, tuple | list) and not dim) else tuple(np.atleast_1d(dim).tolist())


def on_vector(x, dim):
    """torch lets a scalar have an axis 0."""
    return axes(dim) if x.ndim else None


def reduced(f):
    def g(x, dim=None, keepdim=False, dtype=None):
        needs(dtype is None)
        return f(x, axis=on_vector(x, dim), keepdims=keepdim)

    return g


def spread(f):
    def g(x, dim=None, unbiased=None, correction=1, keepdim=False):
        if isinstance(dim, bool):  # var(x, unbiased)
            dim, unbiased = None, dim
        correction = (1 if correction is None else correction) if unbiased is None else int(unbiased)
        size = [x.shape[a] for a in axes(dim) or range(x.ndim)]
        needs(math.prod(size) > correction)  # torch gives NaN
        return f(x, axis=axes(dim), keepdims=keepdim, ddof=correction)

    return g


def along(f):
    def g(x, dim, dtype=None, **more):
        needs(dtype is None and x.ndim)
        return f(x, axis=dim, **more)

    return g


def split(x, sizes, dim=0):
    n = x.shape[dim]
    sizes = [sizes] * -(-n // sizes) if isinstance(sizes, int) else sizes
    return ag.split(x, np.cumsum(sizes)[:-1].tolist(), dim)


def pad(x, widths, mode="constant", value=None):
    pairs = [tuple(widths[i : i + 2]) for i in range(0, len(widths), 2)][::-1]
    needs(min(map(min, pairs), default=0) >= 0)
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    mode = {"replicate": "edge", "circular": "wrap"}.get(mode, mode)
    return ag.pad(x, pairs, mode, constant_values=value or 0.0) if mode == "constant" else ag.pad(x, pairs, mode)


def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    needs(len(shape) == 1)
    weight, bias = np.ones(shape) if weight is None else weight, np.zeros(shape) if bias is None else bias
    return ag.layer_norm(x, weight, bias, eps=eps)


def group_norm(x, groups, weight=None, bias=None, eps=1e-5):
    channels = np.shape(x)[1]
    weight, bias = np.ones(channels) if weight is None else weight, np.zeros(channels) if bias is None else bias
    return ag.group_norm(x, weight, bias, groups, eps)


def batch_norm(x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    needs(training and np.ndim(x) > 1)
    channels = np.shape(x)[1]
    weight, bias = np.ones(channels) if weight is None else weight, np.zeros(channels) if bias is None else bias
    return ag.batch_norm(x, weight, bias, eps)


def rms_norm(x, shape, weight=None, eps=None):
    needs(len(shape) == 1)
    return ag.rms_norm(x, np.ones(shape) if weight is None else weight, eps=np.finfo(float).eps if eps is None else eps)


def cross_entropy(x, target, weight=None, size_average=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    needs(weight is None and x.ndim == 2 and target.dtype.kind in "iu")
    return ag.cross_entropy(x, target, reduction=reduction, ignore_index=ignore_index, label_smoothing=label_smoothing)


def attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    needs(dropout_p == 0.0 and scale is None and not enable_gqa)
    needs(not is_causal or q.shape[-2] == k.shape[-2])  # torch counts places from the first query, we from the last
    return ag.attention(q, k, v, attn_mask, causal=is_causal)


def sort(x, dim=-1, descending=False, stable=False):
    needs(not descending and x.ndim)
    return ag.sort(x, dim, stable=stable)


def norm(x, ord=None, dim=None, keepdim=False, dtype=None):
    needs(dtype is None and x.ndim)
    axis = dim if dim is None or isinstance(dim, int) else tuple(dim)
    needs(ord is None or axis is not None or x.ndim < 3)
    return ag.norm(x, ord, axis, keepdim)


def vector_norm(x, ord=2, dim=None, keepdim=False, dtype=None):
    needs(dtype is None and x.ndim and (dim is not None or x.ndim == 1) and len(axes(dim) or (0,)) == 1)
    return ag.norm(x, ord, (axes(dim) or (0,))[0], keepdim)


def solve(a, b, *, left=True):
    needs(left and (b.ndim == 1 or b.shape != a.shape[:-1]))  # torch also takes a batch of vectors
    return ag.solve(a, b)


def clamp(x, min=None, max=None):
    return ag.clip(x, min, max)


def einsum(operands, equation):
    """torch sums over the axes of `...` where the result has none; NumPy and ours refuse that."""
    inputs, arrow, result = equation.partition("->")
    if not arrow or "..." not in inputs or "..." in result:
        return ag.einsum(equation, *operands)
    out = ag.einsum(f"{inputs}->...{result}", *operands)
    return out.sum(axis=tuple(range(out.ndim - len(result.strip()))))


def tensordot(x, y, dims=2):
    if not isinstance(dims, int):
        needs(all(x.shape[i] == y.shape[j] for i, j in zip(*dims, strict=True)))  # torch repeats axes of size 1
    return ag.tensordot(x, y, dims if isinstance(dims, int) else [list(d) for d in dims])


def quotient(x, y, rounding_mode=None):
    return {None: ag.div, "floor": ag.floor_divide, "trunc": lambda x, y: ag.trunc(x / y)}[rounding_mode](x, y)


def joined(f):
    return lambda xs, *more, **named: f(xs if isinstance(xs, tuple | list) else [xs, *more], **named)


def each(f):
    return lambda *xs: f(*(xs[0] if isinstance(xs[0], tuple | list) else xs))


def with_defaults(f, **defaults):
    """A function with arguments of torch's that must be at their defaults."""

    def g(x, *args, **named):
        for name, default in defaults.items():
            needs(named.pop(name, default) == default)
        return f(x, *args, **named)

    return g


SAME = ["abs", "arccos", "add", "ceil", "cos", "cosh", "erf", "exp", "exp2", "expm1", "floor", "fmax", "fmin", "fmod",
        "hypot", "log", "log10", "log1p", "log2", "logaddexp", "maximum", "minimum", "mul", "neg", "sigmoid", "sign",
        "sin", "sinc",
        "sinh", "sqrt", "sub", "tan", "tanh", "trunc", "xlogy", "logical_and", "logical_not", "logical_or",
        "logical_xor",
        "fliplr", "flipud", "inner", "kron", "matmul", "outer", "ravel", "trace", "vdot", "tril", "triu", "stack",
        "hsplit",
        "vsplit", "dsplit", "floor_divide"]  # fmt: skip

WRITTEN = {
    **{name: getattr(ag, name) for name in SAME if name not in ("arccos", "add", "sub", "stack")},
    "add": lambda x, y, alpha=1: x + alpha * y, "sub": lambda x, y, alpha=1: x - alpha * y, "div": quotient,
    "acos": ag.arccos, "acosh": ag.arccosh, "asin": ag.arcsin, "asinh": ag.arcsinh, "atan": ag.arctan,
    "atan2": ag.arctan2, "atanh": ag.arctanh, "remainder": ag.mod, "clamp": clamp, "pow": lambda x, y: x**y,
    "lt": ag.less, "le": ag.less_equal, "gt": ag.greater, "ge": ag.greater_equal, "eq": ag.equal, "ne": ag.not_equal,
    "where": lambda x, condition, y: ag.where(condition, x, y), "nan_to_num": ag.nan_to_num,
    "round": lambda x, decimals=0: ag.round(x, decimals), "deg2rad": ag.radians, "rad2deg": ag.degrees,
    "erfc": ag.erfc, "lgamma": ag.gammaln, "digamma": ag.digamma, "logit": lambda x, eps=None: (
        needs(eps is None), ag.logit(x))[1], "polygamma": lambda x, n: ag.digamma(x, order=n),
    "logaddexp2": np.logaddexp2, "square": np.square, "reciprocal": np.reciprocal, "positive": lambda x: x,
    "nn.functional.relu": with_defaults(ag.relu, inplace=False),
    "nn.functional.silu": with_defaults(ag.silu, inplace=False),
    "nn.functional.gelu": ag.gelu,
    "nn.functional.leaky_relu": lambda x, negative_slope=0.01, inplace=False: ag.leaky_relu(x, negative_slope),
    "sum": reduced(ag.sum), "mean": reduced(ag.mean), "amax": reduced(ag.max), "amin": reduced(ag.min),
    "prod": reduced(ag.prod), "any": reduced(ag.any), "all": reduced(ag.all), "logsumexp": reduced(ag.logsumexp),
    "nansum": reduced(ag.nansum), "nanmean": reduced(ag.nanmean), "var": spread(ag.var), "std": spread(ag.std),
    "count_nonzero": lambda x, dim=None: ag.count_nonzero(x, on_vector(x, dim)),
    "softmax": along(ag.softmax), "log_softmax": along(ag.log_softmax), "cumsum": along(ag.cumsum),
    "logcumsumexp": along(ag.logcumsumexp),
    "cumprod": along(ag.cumprod),
    "trapezoid": lambda y, x=None, dx=1.0, dim=-1: ag.trapezoid(y, x, dx, dim),
    "argmax": lambda x, dim=None, keepdim=False: ag.argmax(x, dim if x.ndim else None, keepdim),
    "argmin": lambda x, dim=None, keepdim=False: ag.argmin(x, dim if x.ndim else None, keepdim),
    "linalg.norm": norm, "linalg.vector_norm": vector_norm,
    "linalg.matrix_norm": lambda x, ord="fro",
    dim=(-2, -1), keepdim=False, dtype=None: norm(x, ord, dim, keepdim, dtype),
    "reshape": ag.reshape, "transpose": lambda x, a, b: ag.swapaxes(x, a, b) if x.ndim else x,
    "permute": ag.transpose, "movedim": ag.moveaxis,
    "unsqueeze": ag.expand_dims, "squeeze": lambda x, dim=None: _squeeze(x, dim), "broadcast_to": ag.broadcast_to,
    "cat": lambda xs, dim=0: ag.concatenate([x for x in xs if x.shape != (0,)] or xs, dim), "stack": ag.stack,
    "split": split, "tensor_split": lambda x, parts, dim=0: ag.array_split(x, np.asarray(parts).tolist(), dim),
    "hstack": joined(ag.hstack), "vstack": joined(ag.vstack), "dstack": joined(ag.dstack),
    "column_stack": joined(ag.column_stack), "atleast_1d": each(ag.atleast_1d), "atleast_2d": each(ag.atleast_2d),
    "atleast_3d": each(ag.atleast_3d), "flip": lambda x, dims: ag.flip(x, tuple(np.atleast_1d(dims).tolist())),
    "rot90": lambda x, k=1, dims=(0, 1): ag.rot90(x, k, dims),
    "roll": lambda x, shifts, dims=None: _roll(x, shifts, dims),
    "tile": ag.tile, "repeat": ag.tile,
    "repeat_interleave": lambda x, repeats, dim=None, output_size=None: ag.repeat(x, repeats, dim),
    "diag": lambda x, diagonal=0: ag.diag(x, diagonal),
    "diagonal": lambda x, offset=0, dim1=0, dim2=1: ag.diagonal(x, offset, dim1, dim2),
    "linalg.diagonal": lambda x, offset=0, dim1=-2, dim2=-1: ag.diagonal(x, offset, dim1, dim2),
    "take": lambda x, index: ag.take(x, index), "take_along_dim": lambda x, indices, dim=None: (
        ag.take_along_axis(x, indices if dim is not None else indices.ravel(), dim)),
    "sort": sort, "argsort": lambda x, dim=-1, descending=False, stable=False: (needs(not descending and x.ndim),
                                                                             ag.argsort(x, dim, stable=stable))[1],
    "diff": lambda x, n=1, dim=-1, prepend=None, append=None: ag.diff(x, n, dim, prepend, append),
    "nn.functional.pad": pad, "dot": lambda x, y: np.dot(x, y), "einsum": einsum, "tensordot": tensordot,
    "cross": lambda x, y, dim=None: (needs(dim is not None), ag.cross(x, y, axis=dim))[1],
    "linalg.cross": lambda x, y, dim=-1: ag.cross(x, y, axis=dim),
    "linalg.inv": ag.inv, "linalg.solve": solve, "linalg.det": ag.det, "linalg.slogdet": ag.slogdet,
    "linalg.cholesky": lambda x, upper=False: ag.cholesky(x, upper),
    "linalg.eigvalsh": lambda x, UPLO="L": ag.eigvalsh(x),
    "linalg.eigh": lambda x, UPLO="L": ag.eigh(x), "linalg.svdvals": lambda x, driver=None: ag.singular_values(x),
    "linalg.pinv": lambda x, hermitian=False, **cut: (
        needs(not hermitian and all(t is None or np.max(t) < 0.01 for t in cut.values())), ag.pinv(x))[1],
    "nn.functional.layer_norm": layer_norm, "nn.functional.rms_norm": rms_norm,
    "nn.functional.group_norm": group_norm, "nn.functional.batch_norm": batch_norm,
    "nn.functional.linear": lambda x, w, b=None: (needs(w.ndim == 2), ag.linear(x, w.mT, b))[1],
    "nn.functional.cross_entropy": cross_entropy, "nn.functional.scaled_dot_product_attention": attention,
}  # fmt: skip

LEFT_OUT = {
    "equal": "torch.equal asks whether two whole tensors are equal; ours is torch.eq",
    "select": "torch.select picks one index; NumPy's select chooses by conditions",
    "scatter": "torch.scatter overwrites along an axis; ours adds at an index",
    "nonzero": "torch gives one matrix of places, NumPy one array an axis",
    "svd": "its vectors have a sign that LAPACK chooses; singular values are compared, differences judge the vectors",
    "max": "torch sends the gradient to one of several largest; its amax shares it, as ours does",
    "min": "as max",
    "median": "torch takes the lower of the two in the middle, NumPy and ours their mean",
    "norm": "torch.norm is linalg.norm, with older defaults",
    "linspace": "its samples are plain numbers",
    "interpolate": "torch's modes and sizes are translated by capture, whose tests compare them with torch",
    "one_hot": "no numbers go in",
    "softplus": "every sample sets beta and a threshold, above which torch takes x itself",
}


def _squeeze(x, dim):
    if dim is None:
        return ag.squeeze(x)
    ones = tuple(d for d in np.atleast_1d(dim).tolist() if x.ndim and x.shape[d] == 1)  # torch leaves others alone
    return ag.squeeze(x, ones) if ones else x


def _roll(x, shifts, dims):
    dims = dims if dims is None or np.size(dims) else None
    return ag.roll(x, tuple(shifts) if isinstance(shifts, tuple | list) else shifts, dims)


@functools.cache
def table():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return op_db


def entries(name):
    return [op for op in table() if op.name == name]


def test_whatever_has_a_namesake_is_compared():
    names = {}
    for op in table():
        for name in (op.name, *(alias.name for alias in op.aliases)):
            names.setdefault(name.split(".")[-1], set()).add(op.name)
    compared = {name.split(".")[-1] for name in WRITTEN}
    compared |= {alias.name.split(".")[-1] for op in table() if op.name in WRITTEN for alias in op.aliases}
    missing = {ours for ours in {*OPS, *FUNCTIONS} & names.keys() if ours not in compared and ours not in LEFT_OUT}
    assert not missing


OTHER_CALLS = {"complex", "with_dtype", "singular", "hermitian"}  # variants of the table that call something else
SYMMETRIC = {"linalg.eigh", "linalg.eigvalsh"}  # torch reads one triangle; we take the symmetric part


class Sample:
    """One call of torch's table: its tensors as arrays, and how to call a function with others in their place."""

    def __init__(self, sample):
        import torch

        self.tensors = []
        self.args = self.store((sample.input, *sample.args))
        self.kwargs = {name: self.store(x) for name, x in sample.kwargs.items()}
        self.real = [i for i, t in enumerate(self.tensors) if t.dtype == torch.float64]

    def store(self, x):
        import torch

        if isinstance(x, torch.Tensor):
            self.tensors.append(x)
            return _Place(len(self.tensors) - 1)
        if isinstance(x, tuple | list):
            return type(x)(map(self.store, x)) if not isinstance(x, torch.Size) else tuple(x)
        return x

    def call(self, f, filled):
        def fill(x):
            if isinstance(x, _Place):
                return filled[x.number]
            return type(x)(map(fill, x)) if isinstance(x, tuple | list) else x

        return f(*map(fill, self.args), **{name: fill(x) for name, x in self.kwargs.items()})

    def ours(self, f):
        """A function of the real arrays alone, whose results are one flat list; and those arrays."""
        arrays = [t.detach().numpy() for t in self.tensors]

        def g(*reals):
            filled = list(arrays)
            for i, x in zip(self.real, reals, strict=True):
                filled[i] = x
            return flat(self.call(f, filled))

        return g, [arrays[i][()] for i in self.real]


class _Place:
    def __init__(self, number):
        self.number = number


def flat(out):
    return [out] if not isinstance(out, tuple | list) else [x for part in out for x in flat(part)]


def compare(op, sample, second):
    """True if a gradient was compared, False if only results were."""
    import torch

    call = Sample(sample)
    f, xs = call.ours(WRITTEN[op.name])
    results = f(*(Value(x) for x in xs))
    tensors = [(t + t.mT) / 2 for t in call.tensors] if op.name in SYMMETRIC else call.tensors
    theirs = flat(call.call(op.op, tensors))
    if op.name == "sort":
        theirs = theirs[:1]
    if op.name == "linalg.eigh":  # the sign of an eigenvector is free
        results, theirs = [results[0], abs(results[1])], [theirs[0], abs(theirs[1])]
        plain, f = f, lambda *xs: [plain(*xs)[0], abs(plain(*xs)[1])]
    for got, expected in zip(results, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(got.data if isinstance(got, Value) else got, float),
                                   expected.detach().numpy().astype(float), rtol=1e-9, atol=1e-12)  # fmt: skip
    keep = [i for i, t in enumerate(theirs) if t.requires_grad]
    wanted = [call.tensors[i] for i in call.real if call.tensors[i].requires_grad]
    if not keep or not wanted:
        return False
    us = [uneven(tuple(theirs[i].shape), seed=i) for i in keep]

    def weighed(outs, wrap):
        return sum(((outs[i] * wrap(u)).sum() for i, u in zip(keep, us, strict=True)), start=wrap(np.zeros(())))

    total = weighed(theirs, torch.as_tensor)
    expected = torch.autograd.grad(total, wanted, allow_unused=True, create_graph=second)
    positions = [n for n, i in enumerate(call.real) if call.tensors[i].requires_grad]

    def loss(*moved):
        filled = list(xs)
        for n, x in zip(positions, moved, strict=True):
            filled[n] = x
        return weighed(f(*filled), lambda u: u)

    start = [xs[n] for n in positions]
    grads = vjp(loss, *start)[1](1.0)
    for got, e, x in zip(grads, expected, start, strict=True):
        e = np.zeros(np.shape(x)) if e is None else e.numpy(force=True)
        assert_close(got, e, op.name, tolerance=1e-8, floor=1.0)
    if second and any(e is not None and e.requires_grad for e in expected):
        pairs = [(e, uneven(tuple(e.shape), seed=7)) if e is not None else None for e in expected]
        outer = sum((p[0] * torch.as_tensor(p[1])).sum() for p in pairs if p is not None)
        again = torch.autograd.grad(outer, wanted, allow_unused=True)

        def gradient(*moved):
            found = vjp(loss, *moved)[1](1.0)
            return sum((g * p[1]).sum() for g, p in zip(found, pairs, strict=True) if p is not None)

        for got, e, x in zip(vjp(gradient, *start)[1](1.0), again, start, strict=True):
            e = np.zeros(np.shape(x)) if e is None else e.numpy(force=True)
            if np.isnan(e).any():  # at the tip of a norm, which torch's second derivative does not know
                continue
            assert_close(got, e, f"{op.name}, second order", tolerance=1e-7, floor=1.0)
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_agrees_on_torchs_own_samples(name):
    import torch

    run = 0
    for op in entries(name):
        if op.variant_test_name in OTHER_CALLS or torch.float64 not in op.dtypes:
            continue
        torch.manual_seed(0)
        differentiable = op.supports_autograd
        twice = differentiable and op.supports_gradgrad
        for i, sample in enumerate(op.sample_inputs("cpu", torch.float64, requires_grad=differentiable)):
            if sum(t.numel() for t in Sample(sample).tensors) > 3000:
                continue
            try:
                compare(op, sample, twice and i % 5 == 0)
                run += 1
            except Unsupported:
                continue
    assert run, f"no sample of torch's {name} was run"
