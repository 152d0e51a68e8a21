"""The first thing `nn` looks at: is the package `autograd` beside it ours?

PyPI's `autograd` (HIPS) is imported under the same name. Where it comes first, nothing here works, and the
errors would be confusing. So the error names it and says what to do.
"""

from importlib import util
from pathlib import Path
from types import ModuleType

CURE = (
    "`nn` belongs to handgrad and runs on its package `autograd`, but `import autograd` finds another one:\n"
    "  {found}\n"
    "PyPI's `autograd` (HIPS) uses the same import name; the two cannot share an environment. Write\n"
    "  pip uninstall autograd\n"
    "  pip install --force-reinstall --no-deps handgrad\n"
    "or keep them in two virtual environments."
)


def check_ours(autograd: ModuleType) -> None:
    """Raise ClashError unless `autograd` is handgrad's: it has a table of ops."""
    if hasattr(autograd, "OPS"):
        return
    ours = Path(__file__).resolve().parents[1] / "autograd" / "errors.py"
    spec = util.spec_from_file_location("handgrad_errors", ours)
    assert spec is not None and spec.loader is not None
    errors = util.module_from_spec(spec)
    spec.loader.exec_module(errors)
    raise errors.ClashError(CURE.format(found=getattr(autograd, "__file__", None) or autograd))
