"""A layer's product with its weights, each row of which makes one output: the layout (out, in) of torch's Linear."""

import numpy as np

from autograd.errors import ShapeError
from autograd.op import Op, rank_of, shape_of
from autograd.samples import Sample

from ..matrices.linear import flat, outer, product
from .softmax import summed


def _normalize_linear_rows(x, weight, bias=None):
    if rank_of(weight) != 2 or shape_of(weight)[1:] != shape_of(x)[-1:]:
        raise ShapeError(f"linear_rows: weight is a matrix (out, in), and x has `in` features; got shapes "
                         f"{shape_of(weight)} and {shape_of(x)}. For a weight (in, out) write linear(x, weight, bias).")
    if bias is not None and shape_of(bias) != shape_of(weight)[:1]:
        raise ShapeError(f"linear_rows: weight of shape {shape_of(weight)} needs a bias of shape "
                         f"{shape_of(weight)[:1]}; got {shape_of(bias)}")
    return (x, weight, bias), {}


def _linear_rows(x, weight, bias):
    out = product(x, weight.T)
    return out if bias is None else out + bias


def _dweight(g, out, x, weight, bias):
    return outer(g, x) if rank_of(x) == 1 else product(flat(g).mT, flat(x))


def _batched(op, n, x, weight, bias):
    if weight.ndim > 3:
        return None
    out = np.matmul(x.reshape(n, -1, x.shape[-1]), weight.mT).reshape(*x.shape[:-1], -1)
    return out if bias is None else out + bias.reshape(n, *(1,) * (x.ndim - 2), -1)


linear_rows = Op("linear_rows", "linear_rows(x, weight, bias)", normalize=_normalize_linear_rows,
                 forward=_linear_rows,
                 vjp=(lambda g, out, x, weight, bias: product(g, weight),
                      _dweight,
                      lambda g, out, x, weight, bias: None if bias is None else summed(g, bias)),
                 definition=lambda x, weight, bias=None: x @ weight.mT if bias is None else x @ weight.mT + bias,
                 samples=[Sample("2,3 4,3 4"), Sample("3 4,3 4"), Sample("5,2,3 4,3 4"), Sample("2,3 4,3", None)],
                 lower=True, batch=_batched,
                 doc="`x @ weight.mT + bias`: weight is (out, in), as torch's Linear keeps it.", inner=True)
