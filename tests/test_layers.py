"""Imports point one way: each layer imports those below it, at the top of a module or inside of a function."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import autograd

ROOT = Path(__file__).resolve().parent.parent
ORDER = (
    "base", "ops", "derivatives", "micrograd", "extend", "hips", "core", "tracer",
    "wrap_util", "program", "check", "custom", "pytest_plugin", "test_util",
    "nn", "numpy", "misc", "scipy", "formula", "drawing", "stepping", "worksheets", "playing", "capturing", "cli",
)  # fmt: skip
ENTRANCES = {"autograd/__init__.py", "autograd/__main__.py"}  # they may import everything
EXCEPTIONS = {  # this list may only shrink
    ("base", "formula"): "an Expr prints itself",
    ("base", "derivatives"): "a rule that differentiates its op's definition",
}


def layer_of(name):
    """The layer of a module, by its dotted name; None outside of the project and for `import autograd` itself."""
    home, _, rest = name.partition(".")
    part = rest.split(".")[0]
    return "nn" if home == "nn" else None if home != "autograd" or not part else part if part in ORDER else "base"


def imports(path):
    """The modules that a file imports anywhere; for a name that `autograd` imports when asked, its home."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = path.relative_to(ROOT).parts[:-1]
    for_types = {id(inside) for node in ast.walk(tree) if isinstance(node, ast.If) and is_for_types(node.test)
                 for inside in ast.walk(node)}  # fmt: skip
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            name = ".".join([*above, *filter(None, [node.module])])
            yield from [f"autograd.{home_of(a.name)}" for a in node.names] if name == "autograd" else [name]
        elif isinstance(node, ast.Attribute) and is_called(node.value, "ag", "autograd"):
            yield f"autograd.{home_of(node.attr)}"


def is_called(node, *names):
    return isinstance(node, ast.Name) and node.id in names


def is_for_types(test):
    return is_called(test, "TYPE_CHECKING")


def home_of(name):
    """Where a public name of `autograd` is written; base, if it is not imported when it is asked for."""
    return autograd._LAZY.get(name, name if name in ORDER else "op")


def edges_upwards():
    for path in sorted([*ROOT.glob("autograd/**/*.py"), *ROOT.glob("nn/**/*.py")]):
        file = path.relative_to(ROOT)
        own = layer_of(".".join(file.with_suffix("").parts))
        if file.as_posix() not in ENTRANCES:
            for other in filter(None, map(layer_of, imports(path))):
                if ORDER.index(other) > ORDER.index(own):
                    yield (own, other), file.as_posix()


def test_imports_point_down():
    found = list(edges_upwards())
    assert not [(edge, file) for edge, file in found if edge not in EXCEPTIONS]
    assert {edge for edge, _ in found} == set(EXCEPTIONS), "take out an exception that is none any more"


def test_importing_autograd_loads_no_reader():
    code = "import autograd, sys; print(*{m.split('.')[1] for m in sys.modules if m.startswith('autograd.')})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"engine", "ops", "derivatives"} <= set(loaded)
    assert not {name for name in loaded if layer_of(f"autograd.{name}") in ORDER[ORDER.index("extend") :]}


def test_every_package_lists_its_modules():
    unlisted = []
    for package in [*ROOT.glob("autograd/**/__init__.py"), ROOT / "nn" / "__init__.py"]:
        told = package.read_text(encoding="utf-8")
        modules = {path.stem for path in package.parent.glob("*.py")} - {"__init__", "version"}
        unlisted += [f"{package.parent.relative_to(ROOT)}: {module}" for module in sorted(modules)
                     if not module.startswith("_") and not re.search(rf"\b{module}\b", told)]  # fmt: skip
    assert not unlisted
