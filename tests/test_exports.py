"""The public names are exactly what `__all__` says, sorted."""

import builtins
import inspect
import pkgutil
from importlib import import_module

import pytest

packages = pytest.mark.parametrize("package", ["autograd", "nn"])


@packages
def test_every_promised_name_exists(package):
    module = import_module(package)
    missing = [name for name in module.__all__ if not hasattr(module, name)]
    assert not missing


@packages
def test_nothing_public_is_left_out(package):
    module = import_module(package)
    visible = {
        name for name, member in vars(module).items()
        if not name.startswith("_") and not inspect.ismodule(member)
    }  # fmt: skip
    assert visible <= {*module.__all__, *dir(builtins)} and {*module.__all__} <= {*dir(module)}


@packages
def test_names_are_sorted_and_distinct(package):
    names = list(import_module(package).__all__)
    assert names == sorted(set(names))


@packages
def test_no_module_takes_the_place_of_a_public_function(package):
    """Importing `package.step` sets the attribute `step` of the package: a function of that name would be lost."""
    module = import_module(package)
    functions = {name for name in module.__all__ if not inspect.ismodule(getattr(module, name))}
    assert not functions & {part.name for part in pkgutil.iter_modules(module.__path__)}


def test_what_assert_grads_raises_can_be_caught_by_name():
    ag = import_module("autograd")
    with pytest.raises(ag.GradientError):
        ag.assert_grads(abs, 0.0)


def test_the_version_is_written_once():
    assert import_module("autograd").__version__ == import_module("autograd.version").__version__


@packages
def test_every_public_name_is_documented(package):
    module = import_module(package)
    members = {name: getattr(module, name) for name in module.__all__ if not name.startswith("_")}
    silent = [name for name, member in members.items() if callable(member) and not inspect.getdoc(member)]
    assert not silent


def test_every_op_says_what_it_is():
    ops = import_module("autograd").OPS
    silent = [op.name for op in ops.values() if op.__doc__ == f"`{op.reads}`"]  # what an op without a doc= says
    assert not silent


def test_a_star_import_leaves_the_builtins_alone():
    names = {}
    exec("from autograd import *", names)
    assert names["Value"] and not [name for name in dir(builtins) if name in names and name != "__doc__"]
    assert max(1, 2) == 2 and {"max", "sum", "abs", "round", "compile"} <= {*dir(import_module("autograd"))}


def test_what_is_listed_is_what_a_person_calls():
    """Tab after a name: no op that only rules call, nothing that is written as an operator, nothing of the engine's."""
    ag = import_module("autograd")
    inner = {name for name, op in ag.OPS.items() if op.inner}
    assert {"max_pick", "norm_pull", "product_of_others", "softmax_pull", "take_rows"} <= inner
    listed = {name for name in dir(ag.Value(2.0)) if not name.startswith("_")}
    assert not listed & (inner | {"touch", "stamp", "add", "mul", "div", "less", "getitem", "neg"})
    assert {"data", "grad", "backward", "detach", "name", "shape", "T", "exp", "sum", "softmax", "reshape"} <= listed
    assert len(listed) <= 155 and not inner & {*dir(ag)}
