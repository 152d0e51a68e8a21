"""`import nn` beside a foreign package called `autograd` stops with an error that names the clash and the cure."""

import subprocess
import sys
from pathlib import Path

import pytest

import autograd
from nn import _clash

ROOT = Path(__file__).parents[2]


def test_a_foreign_autograd_is_named_with_the_cure(tmp_path):
    (tmp_path / "autograd").mkdir()
    (tmp_path / "autograd" / "__init__.py").write_text("from numpy import *\n")
    script = f"""
import sys
sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]
try:
    import nn
except ImportError as error:
    print(type(error).__name__, [base.__name__ for base in type(error).__mro__], error)
"""
    ran = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert ran.stdout.startswith("ClashError")
    assert "HandgradError" in ran.stdout
    assert str(tmp_path / "autograd") in ran.stdout
    assert "pip uninstall autograd" in ran.stdout and "handgrad" in ran.stdout


def test_ours_is_accepted():
    _clash.check_ours(autograd)
    with pytest.raises(ImportError, match="two virtual environments"):
        _clash.check_ours(sys)
