"""Lists of floats on their way into a program: in C and plainly the same are read, and the same refused."""

import gc
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest

from autograd import Value, compile
from autograd.program.backends.c import compiler
from autograd.program.backends.c.library import _Runner, library_of
from autograd.program.program import Program
from autograd.program.tracing.inputs import read_plainly
from tests.sweep import sweep

needs_c = pytest.mark.skipif(not compiler.is_here(), reason="NOT TESTED: no C compiler")


@pytest.fixture(autouse=True)
def quickly(monkeypatch):
    monkeypatch.setattr(compiler, "FLAGS", (*compiler.FLAGS, "-O0"))
    monkeypatch.setattr(compiler, "NATIVE", "-O0")


def scores(p, scale):
    """Scalar code, long enough to become ops on arrays."""
    sums = [sum(w * x for w, x in zip(row, p["x"])) + b for row, b in zip(p["rows"], p["b"])]
    return sum((scale * s).tanh() if hasattr(s, "tanh") else np.tanh(scale * s) for s in sums)


def parameters(rows=24, columns=6):
    rng = np.random.default_rng(0)
    return {"rows": rng.normal(size=(rows, columns)).tolist(), "x": rng.normal(size=columns).tolist(),
            "b": rng.normal(size=rows).tolist()}  # fmt: skip


class Number(float):
    """A float that is no Python float."""


class Row(list):
    """A list that is no Python list."""


def put(*path_and_value):
    """Parameters with one thing replaced."""
    *path, value = path_and_value
    p = parameters()
    at = p
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return p


ODD = {
    "as it was": parameters(),
    "an int": put("rows", 3, 2, 2),
    "a bool": put("b", 0, True),
    "np.float64": put("rows", 23, 5, np.float64(0.5)),
    "np.float32": put("x", 1, np.float32(0.5)),
    "a float of a subclass": put("x", 1, Number(0.5)),
    "a Value": put("b", 3, Value(0.25)),
    "an array of no axes": put("b", 3, np.array(0.25)),
    "None": put("rows", 0, 0, None),
    "a text": put("rows", 0, 0, "0.5"),
    "a fraction": put("b", 1, Fraction(1, 2)),
    "a list for a number": put("b", 1, [0.5]),
    "a number for a list": put("rows", 1, 0.5),
    "a longer row": put("rows", 5, [0.5] * 7),
    "a shorter row": put("rows", 5, [0.5] * 5),
    "an empty row": put("rows", 5, []),
    "a row fewer": {**parameters(), "rows": parameters()["rows"][:-1]},
    "a row that is a tuple": put("rows", 2, (0.5,) * 6),
    "a row of a subclass": put("rows", 2, Row([0.5] * 6)),
    "a row that is an array": put("rows", 2, np.full(6, 0.5)),
    "rows that are a tuple": {**parameters(), "rows": tuple(parameters()["rows"])},
    "other order of keys": dict(reversed(parameters().items())),
    "not finite": put("rows", 0, [np.inf, -np.inf, float("nan"), -0.0, 5e-324, 1e308]),
}


def outcome(g, *args):
    """What a call gives, nested as it is; the kind of error if it is refused."""
    try:
        with np.errstate(all="ignore"):
            return repr(_rounded(g(*args)))
    except (TypeError, ValueError, AttributeError) as error:
        return type(error).__name__


def _rounded(x):
    if isinstance(x, dict):
        return {key: _rounded(part) for key, part in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(map(_rounded, x))
    return x if x is None else np.round(np.asarray(x, float), 9).tolist()


@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=needs_c)])
@sweep("odd", list(ODD), slow=lambda odd: odd not in ("np.float64", "not finite"))
def test_odd_lists_give_what_the_interpreter_gives(backend, odd):
    g = compiled(backend)
    want = outcome(compile(scores, "interpreter"), ODD[odd], 0.5)
    assert outcome(g, ODD[odd], 0.5) == want
    assert outcome(g, parameters(), 0.5) == outcome(compiled("interpreter"), parameters(), 0.5)


KEPT = {}


def compiled(backend):
    """Compiled once for plain lists of floats."""
    if backend not in KEPT:
        KEPT[backend] = compile(scores, backend)
        KEPT[backend](parameters(), 0.5)
    assert KEPT[backend]._versions()
    return KEPT[backend]


# --- the reader on its own ------------------------------------------------------------------------------------------

NESTS = {
    "a float": ([0.5], [()]),
    "a list": ([[0.5, 1.5]], [(2,)]),
    "lists of lists": ([[[1.0], [2.0], [3.0]], 4.0, [[[5.0, 6.0]]]], [(3, 1), (), (1, 1, 2)]),
}
WRONG = {
    "an int": ([[1]], [(1,)]),
    "a bool": ([True], [()]),
    "np.float64": ([[np.float64(1.0)]], [(1,)]),
    "None": ([[0.5, None]], [(2,)]),
    "a tuple": ([(0.5, 0.5)], [(2,)]),
    "too long": ([[0.5, 0.5, 0.5]], [(2,)]),
    "too short": ([[0.5]], [(2,)]),
    "empty": ([[]], [(2,)]),
    "too deep": ([[[0.5]]], [(1,)]),
    "too flat": ([0.5], [(1,)]),
    "the last": ([[[0.5, 0.5], [0.5, "x"]]], [(2, 2)]),
}


def reader():
    program = Program((), {0: 1.0}, (), (0,), (((), np.dtype(float)),))
    return library_of([program])[0].reader


@needs_c
def test_c_reads_nests_of_floats_and_nothing_else():
    read = reader()
    for nests, shapes in NESTS.values():
        want = [number for nest in nests for number in np.ravel(nest).tolist()]
        assert read(shapes)(nests).tolist() == want == read_plainly(shapes)(want).tolist()
    for name, (nests, shapes) in WRONG.items():
        assert read(shapes)(nests) is None, name


@needs_c
def test_without_the_reader_lists_are_read_plainly(monkeypatch):
    want = compiled("c")(parameters(), 0.5)
    monkeypatch.setattr(_Runner, "reader", None)  # as in a Python without a lock
    g = compile(scores, "c")
    for _ in range(2):
        assert g(parameters(), 0.5) == want


@needs_c
def test_reading_keeps_nothing():
    read = reader()([(4, 50), (3,)])
    rows, wrong = [[float(j) for j in range(50)] for _ in range(4)], [0.5, 0.5, None]
    counted = [rows, rows[0], rows[0][7], wrong]

    def blocks():
        gc.collect()
        return sys.getallocatedblocks()

    for last in ([0.5, 0.25, 0.125], wrong):
        read([rows, last])
        references, before = [sys.getrefcount(x) for x in counted], blocks()
        for _ in range(10_000):
            read([rows, last])
        assert [sys.getrefcount(x) for x in counted] == references
        assert blocks() - before < 100


@pytest.fixture
def edited():
    """A list that another thread goes on editing: all ones or all twos, of 300 or of 299."""
    versions = [[float(number)] * length for length in (300, 299) for number in (1, 2)]
    shared, lengths, done = list(versions[0]), [2], threading.Event()

    def edit():
        while not done.is_set():
            for version in versions[: lengths[0]]:
                shared[:] = version

    thread = threading.Thread(target=edit)
    thread.start()
    yield shared, lengths
    done.set()
    thread.join()


@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=needs_c)])
def test_a_list_that_another_thread_edits_is_read_at_one_moment(backend, edited):
    g = compile(lambda xs: sum(x * 1.0 for x in xs), backend)
    g([1.0] * 300)
    shared, _ = edited
    assert {round(g(shared)[0], 6) for _ in range(1000)} <= {300.0, 600.0}


@needs_c
def test_a_list_whose_length_another_thread_changes_is_read_or_refused(edited):
    read = reader()([(300,)])
    shared, lengths = edited
    lengths[0] = 4
    found = [read([shared]) for _ in range(5000)]
    assert all(vector is None or len(set(vector.tolist())) == 1 for vector in found)
