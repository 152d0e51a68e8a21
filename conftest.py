"""What pytest leaves alone: doctests import every module they look at, and some need a library that is an extra."""

from importlib.util import find_spec

TORCH_MODULES = ("calls", "recorder", "tensors", "torch", "torch_backward", "watching")
NEEDS = {
    "torch": [*(f"autograd/capturing/{name}.py" for name in TORCH_MODULES),
              "tests/autograd/in_torch.py", "tests/autograd/capturing/gpt.py",
              "tests/autograd/capturing/models.py", "tests/autograd/capturing/zoo.py",
              "tests/autograd/capturing/against_torch.py"],
    "jax": [f"autograd/capturing/{name}.py" for name in ("jax", "jaxpr", "recognise")],
}  # fmt: skip

collect_ignore = [path for library, paths in NEEDS.items() if find_spec(library) is None for path in paths]
