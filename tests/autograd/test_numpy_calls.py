"""Every NumPy function that is answered, in every parameter of NumPy's own signature, by place and by name.

The calls are made from the signatures: a function is tested here because it is answered, and a parameter because NumPy
has it. NumPy on plain data says what is right; where we have no such parameter, the error must name it.
"""

import inspect
import itertools

import numpy as np
import pytest

from autograd import Value, grad
from autograd.arrays.numpy_calls import BY_NUMPY, OnData, signature_of
from autograd.errors import HandgradError, ShapeError
from tests.sweep import sweep

RNG = np.random.default_rng(0)
MATRIX = RNG.uniform(0.5, 2.0, (2, 3))
OTHER = RNG.uniform(0.5, 2.0, (2, 3))
SPD = np.array([[2.0, 0.5, -0.3], [0.5, 1.2, 0.4], [-0.3, 0.4, 3.1]])  # symmetric, with positive eigenvalues
CUBE = RNG.uniform(0.5, 2.0, (2, 1, 3))
NONE = np._NoValue
MASK = MATRIX > 1  # to reduce some numbers only; a ufunc would leave the others undefined, which is refused
ARRAY = np.zeros(())  # to write a result into, which is refused; NumPy 2.4 crashes at np.cumsum(x, out=ARRAY)

# What to give to the parameters that must be given, by NumPy's name for them.
REQUIRED = {
    **dict.fromkeys(("a", "x", "x1", "m", "arr", "ary", "array", "v", "prototype", "a1"), MATRIX),
    **dict.fromkeys(("b", "x2", "a2"), OTHER),
    **{key: [MATRIX, OTHER] for key in ("arrays", "tup")},
    "newshape": (3, 2), "a_min": 0.5, "a_max": 1.5,  # NumPy 2.0 asks for these
    "condition": MATRIX > 1, "shape": (3, 2), "axis": 1, "axis1": 0, "axis2": 1, "source": 0, "destination": 1,
    "indices_or_sections": 1, "indices": [0, 1, 1], "pad_width": ((1, 0), (0, 2)), "fill_value": 3.0,
    "values": OTHER, "shift": 1, "val": MATRIX, "start": OTHER[0], "stop": MATRIX, "repeats": 2, "A": MATRIX, "reps": 2,
}  # fmt: skip

# Where these do not suit a function: the arguments that it must be given.
CALLS = {
    **{f: {"x": MATRIX / 3} for f in (np.arcsin, np.arccos, np.arctanh)}, np.arccosh: {"x": MATRIX + 1},
    np.matmul: {"x1": MATRIX, "x2": OTHER.T}, np.dot: {"a": MATRIX, "b": OTHER.T},
    np.where: {"condition": MATRIX > 1, "x": MATRIX, "y": OTHER},
    np.squeeze: {"a": CUBE}, np.dsplit: {"ary": CUBE, "indices_or_sections": [1]},
    **{f: {"arys": (MATRIX, OTHER[0])} for f in (np.atleast_1d, np.atleast_2d, np.atleast_3d)},
    np.broadcast_to: {"array": MATRIX, "shape": (4, 2, 3)},
    np.select: {"condlist": [MATRIX > 1.5, MATRIX < 1], "choicelist": [MATRIX, OTHER]},
    np.take_along_axis: {"arr": MATRIX, "indices": np.array([[2, 0], [1, 1]])},
    np.searchsorted: {"a": np.arange(3.0), "v": MATRIX}, np.result_type: {"arrays_and_dtypes": (MATRIX, np.float32)},
    **{f: {"x1": MATRIX > 1, "x2": OTHER > 1} for f in (np.bitwise_and, np.bitwise_or, np.bitwise_xor)},
    np.invert: {"x": MATRIX > 1},
    **{f: {"a": SPD} for f in (np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.cholesky, np.linalg.eigh,
                               np.linalg.eigvalsh, np.linalg.svd)},
    np.linalg.solve: {"a": SPD, "b": MATRIX[0]}, np.rollaxis: {"a": CUBE, "axis": 2}, np.gradient: {"f": MATRIX},
    np.partition: {"a": MATRIX, "kth": 1}, np.angle: {"z": MATRIX - 1},
    np.einsum: {"operands": ("ij,kj->ik", MATRIX, OTHER)},
    np.convolve: {"a": MATRIX[0], "v": OTHER[1, :2]}, np.trapezoid: {"y": MATRIX},
}  # fmt: skip

# What to try in the parameters that may be given. The first is what NumPy takes anyway, where that can be said.
OPTIONAL = {
    "axis": [None, 0, 1, -1, (0, 1), 5], "keepdims": [False, True, NONE], "dtype": [None, np.float64, np.float32, "f4"],
    "out": [None, ARRAY], "where": [True, NONE, MASK], "initial": [NONE, 2.0], "order": ["C", "F"],
    "casting": ["same_kind", "unsafe"], "subok": [True, False], "signature": [], "copy": [None, True],
    "device": [None, "cpu"], "shape": [None, (4,)], "optimize": [False, True, "greedy"], "k": [0, 1, -1],
    "ddof": [0, 1], "correction": [NONE, 1], "mean": [NONE, np.ones((2, 1))], "mode": ["raise", "wrap", "clip"],
    "a_min": [None, 1.0, NONE], "a_max": [None, 1.5, NONE], "min": [NONE, 1.0], "max": [NONE, 1.5],
    "axes": [None, (1, 0), (0, -1)], "ord": [None, 2, "fro"], "atol": [1e-8, 2.0],
    "equal_nan": [False, True], "indices_or_sections": [3, [1]], "a": [MATRIX],
    "nan": [0.0, 1.0], "posinf": [None, 2.0], "neginf": [None, 2.0], "default": [0, 2.5],
    "n": [1, 0, 2], "prepend": [NONE, 1.0, OTHER], "append": [NONE, 1.0], "offset": [0, 1, -1], "decimals": [0, 1],
    "axis1": [0, 1, -1, 5], "axis2": [1, 0, -1], "kind": [None, "stable"], "stable": [None, True],
    "descending": [False, True],
    "upper": [False, True], "UPLO": ["L", "U", "X"], "full_matrices": [True, False], "compute_uv": [True, False],
    "hermitian": [False, True], "rcond": [None, 0.1], "rtol": [NONE, 1e-5, 2.0], "axisa": [-1, 1], "axisb": [-1, 1],
    "num": [50, 3, 1], "endpoint": [True, False], "retstep": [False, True], "tol": [100],
    "overwrite_input": [False, True], "x": [None, MATRIX[0], OTHER], "dx": [1.0, 0.5],
    "axisc": [-1, 0], "weights": [None, OTHER], "returned": [False], "side": ["left", "right"], "sorter": [None],
}  # fmt: skip

TRIED = {  # where a function has its own meaning for a name
    (np.pad, "mode"): ["constant"], (np.convolve, "mode"): ["full", "same", "valid", "no"],
    (np.trapezoid, "axis"): [-1, 1, 5],
    (np.split, "axis"): [0, 1, -1, 5], (np.array_split, "axis"): [0, 1, -1, 5], (np.append, "axis"): [None, 0, 1, 5],
    (np.roll, "axis"): [None, 0, 1, -1, 5], (np.repeat, "axis"): [None, 0, 1, 5], (np.diff, "axis"): [0, 1, -1, 5],
    (np.rot90, "axes"): [(0, 1), (1, 0), (0, 5)], (np.rot90, "k"): [1, 0, 2, -1],
    **{(f, "axis"): [None, 0, 1, -1, 5] for f in (np.cumprod, np.sort, np.argsort)},
    **{(f, "order"): [None] for f in (np.sort, np.argsort)},
    (np.take_along_axis, "axis"): [-1, 1, None],
    (np.cumsum, "axis"): [None, 0, 1, -1, 5],
    (np.linalg.norm, "ord"): [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf, 3, "no"],
    (np.tensordot, "axes"): [2, 0],
    (np.linspace, "axis"): [0, 1, -1], (np.cross, "axis"): [None, 1, -1, 5], (np.linalg.pinv, "rtol"): [NONE, 0.1],
    (np.rollaxis, "start"): [0, 1, -1], (np.gradient, "axis"): [None, 0, -1, (0, 1), 5],
    (np.gradient, "edge_order"): [1, 2], (np.partition, "axis"): [-1, 0, 5], (np.partition, "order"): [None],
    (np.partition, "kind"): ["introselect"], (np.angle, "deg"): [False, True],
    (np.stack, "axis"): [0, 1, -1, 5], (np.squeeze, "axis"): [None, 1, -2, 0],
}  # fmt: skip

# The only parameters that an answer may lack. Another one is a parameter that somebody forgot.
MAY_LACK = {"out", "casting", "subok", "signature", "copy", "device", "mean",
            "hermitian", "rcond", "overwrite_input", "rtol", "returned", "retstep", "descending"}


LENIENT = {np.clip}  # one bound may be left out


def calls(function):
    """Every call to try: the parameter it is about, positional arguments, keyword arguments."""
    parameters = list(signature_of(function).parameters.values())
    base = CALLS.get(function) or {
        p.name: REQUIRED[p.name] for p in parameters
        if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    }  # fmt: skip
    first = list(itertools.takewhile(lambda p: p.name in base, parameters))
    args = [x for p in first for x in (base[p.name] if p.kind is p.VAR_POSITIONAL else [base[p.name]])]
    yield "", args, {}
    by_name = {p.name: base[p.name] for p in first if p.kind is p.POSITIONAL_OR_KEYWORD}
    if by_name:
        yield "", [base[p.name] for p in first if p.kind is p.POSITIONAL_ONLY], by_name
    for p in parameters[len(first) :]:
        if p.kind is p.VAR_KEYWORD:
            continue
        before = [q.default for q in parameters[len(first) : parameters.index(p)]]
        for value in TRIED.get((function, p.name)) or (() if p.kind is p.VAR_POSITIONAL else OPTIONAL[p.name]):
            if value is NONE and p.default is not NONE:
                continue
            if p.kind is not p.POSITIONAL_ONLY:
                yield p.name, args, {p.name: value}
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
                yield p.name, [*args, *before, value], {}


def as_values(x):
    """The same arguments, with Values for arrays of real numbers."""
    if isinstance(x, list | tuple):
        return type(x)(as_values(part) for part in x)
    if isinstance(x, np.ndarray) and x.dtype.kind == "b" and x is not MASK:
        return Value(x * 1.0) > 0.5
    return Value(x) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x


def plain(x):
    if isinstance(x, list | tuple):
        return [plain(part) for part in x]
    return x.data if isinstance(x, Value) else x


def attempt(function, args, kwargs):
    """The result, or the exception that came instead."""
    try:
        return function(*args, **kwargs)
    except (TypeError, ValueError, IndexError, HandgradError) as error:
        return error


def name_of(function):
    return BY_NUMPY[function].name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:'where' used without 'out'")
@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")
@sweep("function", BY_NUMPY, ids=name_of)
def test_a_call_means_what_numpy_means(function):
    for parameter, args, kwargs in calls(function):
        said = f"{name_of(function)}(*{args}, **{kwargs})"
        of_ufunc = isinstance(function, np.ufunc)
        refused = any(x is ARRAY or (x is MASK and of_ufunc) for x in (*args, *kwargs.values()))
        expected = None if refused else attempt(function, args, kwargs)
        got = attempt(function, as_values(args), {k: as_values(x) if k in REQUIRED else x for k, x in kwargs.items()})
        if refused:
            assert isinstance(got, TypeError), said
        elif isinstance(expected, Exception):
            assert isinstance(got, Exception) or function in LENIENT, f"{said} raises in NumPy: {expected}"
        elif isinstance(got, TypeError) and f"takes no {parameter};" in str(got):
            assert parameter in MAY_LACK, f"{said}: {got}"
        else:
            assert not isinstance(got, Exception), f"{said}: {got}"
            assert_same(got, expected, said)


@pytest.mark.parametrize("call", [
    lambda x: x.clip(min=1.0), lambda x: x.clip(max=1.2), lambda x: x.clip(1.0, 1.2), lambda x: x.clip(min=1, max=1.2),
    lambda x: x.item(4), lambda x: x.item(1, 2), lambda x: x.item((0, 1)), lambda x: x.item(6), lambda x: x.item(),
    lambda x: x[0, 0].item(),
])  # fmt: skip
def test_methods_take_what_an_arrays_take(call):
    expected, got = attempt(call, (MATRIX,), {}), attempt(call, (Value(MATRIX),), {})
    if isinstance(expected, Exception):
        assert isinstance(got, type(expected))
    else:
        np.testing.assert_array_equal(plain(got), expected)


def test_a_bound_is_given_once():
    with pytest.raises(ValueError, match=r"clip: give each bound once: clip\(x, low, high\) or clip"):
        Value(MATRIX).clip(1.0, min=2.0)


SINGLE = MATRIX.astype(np.float32)


@pytest.mark.parametrize("call", [
    lambda m, v, single: np.nanmean(single, axis=0), lambda m, v, single: np.nanmean(single),
    lambda m, v, single: np.average(m, axis=0, weights=single[:, 0]),
    lambda m, v, single: np.average(single, weights=m), lambda m, v, single: np.cross(single, v),
    lambda m, v, single: np.linspace(single, single[0], 4), lambda m, v, single: np.linspace(m, single[0], 4),
    lambda m, v, single: np.linalg.norm(single, 0, axis=1), lambda m, v, single: np.einsum("ij,j->i", single, v),
    lambda m, v, single: np.take(m, [True, False], axis=0), lambda m, v, single: np.take(single, []),
    lambda m, v, single: np.vdot(v, m[:, 0]),
])  # fmt: skip
def test_mixed_precision_and_odd_indices_mean_what_numpy_means(call):
    given = (MATRIX, MATRIX[0], SINGLE)
    expected, got = attempt(call, given, {}), attempt(call, tuple(map(Value, given)), {})
    if isinstance(expected, Exception):
        assert isinstance(got, ShapeError), got
    else:
        assert_same(got, expected, "")
        exact = 1e-14 if np.asarray(expected).dtype == np.float64 else 1e-6
        np.testing.assert_allclose(plain(got), expected, rtol=exact)


@pytest.mark.parametrize("subscripts", ["ij->", "ij->i", "ij->j", "ij,ij->j"])
def test_einsum_over_no_rows_has_a_gradient_of_no_rows(subscripts):
    x = Value(np.zeros((0, 3)))
    np.einsum(subscripts, *[x] * len(subscripts.split("->")[0].split(","))).sum().backward()
    assert x.grad.shape == (0, 3)


def assert_same(got, expected, said):
    """Equal numbers, shapes and dtypes, also in lists."""
    if isinstance(expected, list | tuple):
        assert len(got) == len(expected), said
        for part, other in zip(got, expected, strict=True):
            assert_same(part, other, said)
        return
    if isinstance(expected, np.dtype):
        assert got == expected, said
        return
    got = plain(got)
    assert np.shape(got) == np.shape(expected), said
    assert np.asarray(got).dtype == np.asarray(expected).dtype, said
    if "empty_like" not in said:
        np.testing.assert_allclose(np.asarray(got, float), np.asarray(expected, float), rtol=3e-7, err_msg=said)


@sweep("function", BY_NUMPY, ids=name_of)
def test_nothing_is_dropped_in_silence(function):
    """A parameter that an answer lacks is refused as soon as it is not at its default; so is one that NumPy lacks."""
    answer = BY_NUMPY[function]
    if isinstance(answer, OnData):
        return
    for parameter in signature_of(function).parameters.values():
        lacks = parameter.name not in {*answer.options, *answer.paired, "dtype"}
        if lacks and parameter.kind is not parameter.VAR_KEYWORD and parameter.name not in _stored():
            assert not answer.at_rest(parameter.name, object()), parameter.name
            assert f"takes no {parameter.name};" in str(answer.refused(parameter.name, 1))


def _stored():
    from autograd.arrays.numpy_calls import _OF_STORAGE

    return _OF_STORAGE


@pytest.mark.parametrize("call, instead", [
    (lambda v: np.mean(v, out=np.zeros(())), "np.mean of a Value takes no out; .*use the result"),
    (lambda v: np.exp(v, where=v.data > 1, out=None), "np.exp of a Value takes no where; .*Select in the result"),
    (lambda v: np.var(v, mean=np.ones(())), "np.var of a Value takes no mean; .*v.data"),
    (lambda v: np.isnan(v, out=np.zeros((2, 3), bool)), "np.isnan"),
    (lambda v: v.sum(0, np.float64), r"sum: keepdims is True or False; got .*float64.*astype"),
    (lambda v: np.argmax(v, 0, None, keepdims="yes"), "argmax: keepdims is True or False"),
])  # fmt: skip
def test_what_is_not_there_is_refused_with_what_to_write_instead(call, instead):
    with pytest.raises(TypeError, match=instead):
        call(Value(MATRIX))


def test_a_positional_dtype_is_no_keepdims():
    v = Value(MATRIX)
    assert np.sum(v, 0, np.float64).shape == (3,)
    np.testing.assert_allclose((v - np.mean(v.T, 0, float)[:, None]).data, MATRIX - np.mean(MATRIX.T, 0)[:, None])


def test_a_dtype_casts_before_the_sum_and_the_gradient_comes_back_in_the_inputs_own():
    x = np.array([2.0**24, 1.0, 1.0], np.float32)
    v = Value(x)
    total = np.sum(v, dtype=np.float64)
    assert total.data == np.sum(x, dtype=np.float64) == 2.0**24 + 2
    total.backward()
    assert v.grad.dtype == np.float32


def test_values_may_stand_in_any_argument_that_asks_for_data():
    v = Value(MATRIX)
    assert np.allclose(v, b=v)
    assert np.allclose(a=MATRIX, b=v, rtol=Value(1e-5))
    assert np.array_equal(MATRIX, v)


@pytest.mark.parametrize("axes", [([0, 1],), ([0, 1], [1, 0]), ([0, 0], [0]), ([Ellipsis, 1], [1, Ellipsis])])
def test_einsum_takes_lists_of_axes(axes):
    square = RNG.normal(size=(3, 3))
    np.testing.assert_allclose(np.einsum(Value(square), *axes).data, np.einsum(square, *axes), rtol=1e-14)
    np.testing.assert_allclose(np.einsum(Value(square), [0, 1], square, [1, 2], [2, 0]).data, (square @ square).T)


def test_concatenate_without_an_axis_joins_all_numbers_in_order():
    parts = [MATRIX, OTHER.T, np.array(3.0)]
    out = np.concatenate([Value(x) for x in parts], axis=None)
    np.testing.assert_array_equal(out.data, np.concatenate(parts, axis=None))


@pytest.mark.parametrize("index", [..., None, (), (None, ...), (..., None, None)])
def test_a_scalar_can_be_indexed_where_numpy_can(index):
    expected = np.array(2.0)[index]
    assert np.shape(Value(2.0)[index]) == np.shape(expected)
    assert grad(lambda x: (x[index] * 3.0).sum())(2.0) == 3.0
    with pytest.raises(IndexError):
        Value(2.0)[0]


def test_signatures_are_known_also_where_numpy_does_not_say():
    """What is written down for functions in C is what newer versions of NumPy say themselves."""
    from autograd.arrays.numpy_calls import _IN_C, _UFUNC

    in_c = {f.__name__ for f in BY_NUMPY if not isinstance(f, np.ufunc) and not hasattr(f._implementation, "__code__")}
    assert in_c <= _IN_C.keys(), "NumPy 2.0 does not tell what these take, and autograd could not be imported with it"
    for name, written in _IN_C.items():
        try:
            said = inspect.signature(getattr(np, name))
        except ValueError:
            continue
        assert str(said) == str(inspect.signature(written))
    try:
        said = inspect.signature(np.add).parameters
    except ValueError:
        return
    assert {name: p.default for name, p in said.items() if name in _UFUNC} == _UFUNC


def test_the_page_of_answered_functions_is_what_the_code_says():
    from tools.numpy_table import PAGE, page

    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tools.numpy_table writes it again"


# What HIPS autograd differentiates of NumPy, from its own list; what NumPy 2 has no more is left out.
HIPS = """
    abs absolute add amax amin angle append arccos arccosh arcsin arcsinh arctan arctan2 arctanh array_split
    atleast_1d atleast_2d atleast_3d broadcast_to clip column_stack concatenate conj conjugate cos cosh cross
    cumsum deg2rad degrees diag diagonal diff divide dot dsplit einsum exp exp2 expand_dims expm1 fabs fliplr
    flipud fmax fmin gradient hsplit hstack hypot imag inner kron linspace log log10 log1p log2 logaddexp
    logaddexp2 matmul max maximum mean min minimum mod moveaxis multiply nan_to_num negative outer pad partition
    power prod rad2deg radians ravel real real_if_close reciprocal remainder repeat reshape roll rot90 select
    sin sinc sinh sort split sqrt square squeeze stack std subtract sum swapaxes take tan tanh tensordot tile
    trace transpose tril triu true_divide var vsplit vstack where linalg.cholesky linalg.det linalg.eig
    linalg.eigh linalg.inv linalg.norm linalg.pinv linalg.slogdet linalg.solve linalg.svd
""".split()  # noqa: SIM905 (a list literal would be as long again)
COMPLEX = {"linalg.eig"}  # a Value is real


def test_what_another_engine_answers_is_answered():
    answered = {answer.name.removeprefix("np.") for answer in BY_NUMPY.values()}
    of_objects = {name for name in HIPS if _numpy(name) in BY_NUMPY}
    assert set(HIPS) - answered - of_objects == COMPLEX


def _numpy(name):
    home, _, function = name.rpartition(".")
    return getattr(getattr(np, home) if home else np, function, None)
