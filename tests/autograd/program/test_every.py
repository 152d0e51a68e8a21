"""Every op, every function of NumPy's namespace and every exit, compiled at one point and called at five others.

The points change every comparison, floor and argmax; there are NaN, infinities, ties, one entry, none, and float32.
"""


import numpy as np
import pytest

from autograd.program.tracing.exits import EXITS
from tests.sweep import sweep
from tools.fuzz_compile import SCALAR_OPS, Function, examine, numpy_functions, on_edge

MODES = {
    "plain": "v0 = {e}", "no_grad": "with ag.no_grad():\n        v0 = {e}",
    "grad": "v0 = ag.grad(lambda x: total({e}))(x)", "jvp": "v0 = ag.jvp(lambda x: {e}, (x,), (ones(x),))[1]",
}  # fmt: skip
READS = {
    ".data": "x.data * s", ".numpy()": "x.numpy()", ".tolist()": "x.tolist()", "item()": "x.sum().item()",
    "detach()": "x.detach() * x", "copy": "copy.deepcopy(x) * x",
    "bool(v)": "x if x.sum() else y",
    "in": "x if 0.5 in x else y", "int(v)": "int(x.sum()) % 2", "an index": "x[k[0]]",
    "text": "(str(x), x)[1]", "text that is read": "x * float(f'{s:.1f}')",
    "float(v)": "float(x.sum())", "np.asarray(v)": "np.asarray(x.data)",
    "an array of places": "x.data[x.data.argsort()]",
    "an index of an array": "np.arange(3.0)[x.data.argsort()]",
    "mask": "x[x > 0]", "np.nonzero": "np.nonzero(x)", "hash": "{x.sum().data: 1}", "pickle": "pickle.dumps(x)",
    "backward()": "x.sum().backward()", "edit": "x.data.fill(0.0)",
}  # fmt: skip


def points(width, dtype=np.float64):
    """Traced at any of these, called at all."""
    rng = np.random.default_rng(width)
    rows = [rng.normal(size=(2, width)) for _ in range(3)]
    rows += [-rows[0][:, ::-1] * 1e5, np.full((2, width), 0.5), rows[1].copy()]
    rows[5][:, :1], rows[5][1:, -1:] = np.nan, np.inf
    ids = rng.integers(0, max(width, 1), (6, 3))
    return tuple((a.astype(dtype), b.astype(dtype), float(n) - 2.5, k) for n, ((a, b), k) in enumerate(zip(rows, ids)))


FINITE = {"np.inner(x, y)"}  # its gradient is a product of BLAS, which leaves out factors 0, so that 0 * NaN may be 0
KINDS = {"three": points(3), "one": points(1), "none": points(0), "float32": points(3, np.float32)}


def check(expression, mode, kind, first, backend="numpy"):
    found = KINDS[kind]
    if expression in FINITE and mode == "grad":
        found = tuple(point for point in found if np.isfinite(point[0]).all() and np.isfinite(point[1]).all())
    first %= len(found)
    found = found[first:] + found[:first]
    for gradients in (False, True) if mode == "plain" else (False,):
        function = Function((MODES[mode].format(e=expression),), found, gradients)
        how, place = examine(function, backend)
        assert how != "unequal" or on_edge(function, found[place]), (function.code, found[place])


@sweep("e", [*(f"np.{name}(x)" for name in numpy_functions()), *(f"np.{name}(x, y)" for name in numpy_functions())])
def test_every_function_of_numpy(e):
    check(e, "plain", "three", len(e) % 6)


@sweep("e", [*(f"ag.{name}(x)" for name in SCALAR_OPS), *(f"ag.{name}(x, y)" for name in SCALAR_OPS)])
def test_every_op_of_each_number(e):
    check(e, "plain", "three", len(e) % 6)


@sweep("how", list(EXITS))
def test_every_exit(how):
    assert how in READS, "an exit without a line here"
    for mode in MODES:
        check(READS[how], mode, "three", 0)


def everything():
    of_numpy = [f"np.{name}{args}" for name in numpy_functions() for args in ("(x)", "(x, y)", "(x.data)")]
    ours = [f"ag.{name}{args}" for name in SCALAR_OPS for args in ("(x)", "(x, y)", "(x, s)")]
    return [(e, mode) for e in (*of_numpy, *ours, *READS.values()) for mode in MODES]


@pytest.mark.nightly
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("backend", ["numpy", "interpreter", "c", "jax"])
def test_everything_everywhere(kind, backend):
    if backend == "jax":
        pytest.importorskip("jax")
    failed = []
    for e, mode in everything():
        try:
            check(e, mode, kind, (len(e) + len(mode)) % 6, backend)
        except AssertionError as error:
            failed.append(str(error))
    assert not failed, "\n".join(failed)
