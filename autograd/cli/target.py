"""What a command is given: `FILE.py`, `FILE.py:NAME`, or the name of a worked example."""

from __future__ import annotations

import difflib
import inspect
import os
import runpy
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograd.version import __version__

from . import CommandError

if TYPE_CHECKING:
    from autograd.engine import Value

HOME = Path(__file__).resolve().parents[2]  # the folder that holds autograd/ and, in the source, examples/
# Folders whose lines are not the user's: ours, Python's own and those of installed packages.
NOT_THEIRS = tuple(
    f"{folder}{os.sep}"
    for folder in (HOME / "autograd", HOME / "nn", *map(sysconfig.get_path, ("stdlib", "purelib", "platlib")))
)
USUAL_NAMES = ("loss", "L", "root", "out", "output", "y")  # looked for, in this order, when no name is given
MOST_LISTED = 8  # names in a message


def is_file(what: str) -> bool:
    return ".py" in what


def split(what: str) -> tuple[Path, str]:
    """`FILE.py:NAME` as its two parts."""
    path, dot, name = what.partition(".py:")
    return (Path(f"{path}.py"), name) if dot else (Path(what), "")


# --- a file of the user's ----------------------------------------------------------------------------------


def run_script(path: Path) -> dict[str, Any]:
    """Everything the file defines, by name. Its own folder is on the path while it runs, as with `python FILE.py`."""
    if not path.is_file():
        raise CommandError(_missing(path))
    folder, argv = str(path.resolve().parent), sys.argv
    sys.path.insert(0, folder)
    sys.argv = [str(path)]
    try:
        return runpy.run_path(str(path))
    except SystemExit as stop:
        raise CommandError(
            f"{path.name} ended itself with exit status {stop.code}. Put what ends it under "
            'if __name__ == "__main__":, which does not run here'
        ) from None
    except Exception as error:
        raise failed(path.name, error) from error
    finally:
        sys.argv = argv
        sys.path.remove(folder)


def _missing(path: Path) -> str:
    """That there is no such file, and which there are."""
    folder = path if path.is_dir() else path.parent
    files = {file.stem: str(file) for file in sorted(folder.glob("*.py"))}
    said = f"{str(path)!r} is a folder, not a Python file" if path.is_dir() else f"there is no file {str(path)!r}"
    if near := difflib.get_close_matches(path.stem, files, 1):
        return f"{said}; did you mean {files[near[0]]}?"
    return f"{said}; {f'there are {listed(files.values())}' if files else 'give FILE.py'}"


def failed(what: str, error: BaseException) -> CommandError:
    """An error in the user's code, with the line of it that they wrote, if it came to that."""
    if isinstance(error, SyntaxError) and "null byte" in str(error):
        return CommandError(f"{what} is not a text file, so it cannot be Python code; give another file")
    if isinstance(error, SyntaxError) and error.filename:
        return CommandError(f"{what} failed: {type(error).__name__}: {error.msg} ({error.filename}:{error.lineno})")
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith((*NOT_THEIRS, "<frozen"))]
    place = f" ({theirs[-1].filename}:{theirs[-1].lineno})" if theirs else ""
    return CommandError(f"{what} failed: {type(error).__name__}: {error}{place}")


def functions_of(made: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """The functions that a file itself defines, but for those whose name begins with an underscore."""
    return {
        name: f for name, f in made.items()
        if inspect.isfunction(f) and f.__module__ == made["__name__"] and not name.startswith("_")
    }  # fmt: skip


def listed(names: Iterable[str], last: str = "and") -> str:
    """`a, b and c`; of many the first few."""
    *others, end = each = list(names)
    if len(each) > MOST_LISTED:
        return f"{', '.join(each[:MOST_LISTED])} {last} {len(each) - MOST_LISTED} more"
    return f"{', '.join(others)} {last} {end}" if others else end


# --- the Value that is meant -------------------------------------------------------------------------------


def root_of(what: str, backward: bool = False) -> tuple[Value, dict[str, Any]]:
    """The graph meant by `FILE.py`, `FILE.py:NAME` or `example3`, and the names around it.

    `backward` gives the result of a function its gradients; the file could not, since it never saw the result.
    """
    if not is_file(what):
        return from_example(what), {}
    path, name = split(what)
    made = run_script(path)
    name = name or _likely(made, path)
    if name not in made:
        raise CommandError(f"{path.name} has no {name!r}; {_known(made, name)}")
    called = f"{path.name}:{name}"
    root = _as_value(made[name], called)
    if backward and root is not made[name]:
        _backprop(root, called)
    return root, made


def from_example(name: str) -> Value:
    if Path(name).exists() or Path(name).suffix:
        raise CommandError(f"{name} is not a Python file; give FILE.py, FILE.py:NAME, or an example such as example3")
    check_examples()
    from examples import EXAMPLES, UnknownExample, find

    if name.strip().lower() == "all":
        raise CommandError(f"one example at a time: {', '.join(example.name for example in EXAMPLES)}")
    try:
        root: Value = find(name).module.graph()
    except UnknownExample as error:
        file, colon, value = name.partition(":")
        if Path(f"{file}.py").is_file():
            raise CommandError(f"there is no example called {file!r}; did you mean {file}.py{colon}{value}?") from None
        raise CommandError(f"{error}, or give FILE.py or FILE.py:NAME") from None
    return root


def check_examples() -> None:
    """Make `examples` importable, or say where to get it: it is part of the source, not of the installed package."""
    if not (HOME / "examples" / "mini_transformer.py").is_file():
        raise CommandError(
            f"the worked examples are not part of the installed package. Get the source of handgrad {__version__} "
            "(clone its repository, or unpack its source distribution) and run it in that folder: "
            "python -m autograd example"
        )
    if str(HOME) not in sys.path:
        sys.path.insert(0, str(HOME))  # the console command starts in its own folder


def _likely(made: dict[str, Any], path: Path) -> str:
    """The Value with a usual name, the only result that nothing else was made from, or the only function."""
    from autograd.engine import Value
    from autograd.graph import topological

    values = {name: value for name, value in made.items() if isinstance(value, Value)}
    usual = [name for name in USUAL_NAMES if name in values]
    if usual:
        return usual[0]
    results = {value: name for name, value in values.items() if value.op is not None}
    used = {node for result in results for node in topological(result) if node is not result}
    ends = [name for result, name in results.items() if result not in used]
    if len(ends) == 1:
        return ends[0]
    functions = [name for name, f in functions_of(made).items() if not _without_default(f)]
    if not values and len(functions) == 1:
        return functions[0]
    names = [f"{path}:{name}" for name in (values or functions) if not name.startswith("_")]
    if names:
        which = "Value" if values else "function"
        raise CommandError(f"which {which} of {path.name}? Write {listed(names, 'or')}")
    raise CommandError(
        f"{path.name} makes no Value. Compute one in it, such as loss = Value(2.0, name='x') ** 2; or write a function "
        f"whose parameters have defaults, such as def f(x=2.0), and give {path}:f"
    )


def _known(made: dict[str, Any], name: str) -> str:
    """What a file has that can be drawn: what is spelled nearly so, else all."""
    from autograd.engine import Value

    values = [name for name, value in made.items() if isinstance(value, Value) and not name.startswith("_")]
    functions = list(functions_of(made))
    if near := difflib.get_close_matches(name, values + functions):
        return f"did you mean {listed(near, 'or')}?"
    found = [f"the {kind}{'s' * (len(names) > 1)} {listed(names)}"
             for kind, names in (("Value", values), ("function", functions)) if names]  # fmt: skip
    return f"it has {' and '.join(found)}" if found else "it has no Value and no function"


def _as_value(chosen: Any, called: str) -> Value:
    from autograd.engine import Value

    if isinstance(chosen, Value):
        return chosen
    if not callable(chosen):
        raise CommandError(f"{called} is of type {type(chosen).__name__}, not a Value or a function that returns one")
    result = _result_of(chosen, called)
    if not isinstance(result, Value):
        raise CommandError(
            f"the function {called} returned no Value ({type(result).__name__}). Let it compute with Values, or give "
            "its parameters floats or float arrays as defaults: def f(x=0.7)"
        )
    return result


def _result_of(function: Callable[..., Any], called: str) -> Any:
    """What a function gives at its defaults (or `check_inputs`), the floats and float arrays among them as Values."""
    from autograd.check.subjects.inputs import NoInputs, inputs_of

    if missing := _without_default(function):
        raise CommandError(f"{called} needs a default for {listed(missing)} to start from, such as {missing[0]}=0.7")
    every = inspect.signature(function).parameters.values()
    parameters = [p for p in every if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    try:
        given = inputs_of(function) if parameters else ()
    except NoInputs as unsaid:
        raise CommandError(f"{called} does not say where to start from: {unsaid}") from None
    try:
        return function(*(_varied(x, p.name) for x, p in zip(given, parameters)))
    except Exception as error:
        raise failed(called, error) from error


def _without_default(function: Callable[..., Any]) -> list[str]:
    """The parameters of a function that nothing says where to start from."""
    if hasattr(function, "check_inputs"):
        return []
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _varied(x: Any, name: str) -> Any:
    """A float or float array as a named Value; integers, flags and similar as they are."""
    import numpy as np

    from autograd.engine import Value

    is_float = isinstance(x, float | np.floating) or (isinstance(x, np.ndarray) and x.dtype.kind == "f")
    return Value(x, name=name) if is_float else x


def _backprop(root: Value, called: str) -> None:
    """Backprop from a number that has seen none yet; what the file's own passes left behind does not count."""
    from autograd.graph import topological

    if root.grad is not None or root.size != 1 or not root.requires_grad:
        return
    for node in topological(root):
        node.grad = None
    try:
        root.backward()
    except Exception as error:
        raise failed(called, error) from error
