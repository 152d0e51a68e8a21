"""`handgrad capture FILE.py:function`."""

import pytest

from autograd.cli import main

pytest.importorskip("torch", reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)")

MODEL = """
import torch
from torch import nn

class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * g * x

class Square(nn.Module):
    def forward(self, x):
        return Wrong.apply(x)

def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1)).double(), torch.ones(2, 3).double()

def wrong():
    model = nn.Sequential(nn.Linear(3, 2), Square()).double()
    return (lambda x: model(x).sum()), (torch.ones(2, 3).double(),)

def nothing():
    return 3

def failing():
    return (lambda x: layer(x)), (torch.ones(4),)  # the line that fails is here

layer = nn.Linear(3, 2)
cut = lambda: (lambda x: layer(x).detach(), torch.ones(3))
"""
FAILS_AT = 1 + MODEL[: MODEL.index("# the line")].count("\n")


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    return "model.py"


def test_a_right_model(model, capsys):
    assert main(["capture", model, "--check"]) == 0
    out = capsys.readouterr().out
    assert "Sequential: 3 nodes, 4 parameters" in out
    assert "all agree" in out
    assert "pass" in out


def test_a_wrong_one_is_named_by_module_and_line(model, capsys):
    assert main(["capture", f"{model}:wrong"]) == 1
    out = capsys.readouterr().out
    assert "torch's backward of Wrong is wrong" in out
    assert "module         1" in out
    assert "model.py:14: return 3 * g * x" in out


def test_it_draws_and_steps(model, capsys, tmp_path):
    assert main(["capture", f"{model}:wrong", "-o", "graph.svg", "--step", "steps.html"]) == 1
    assert "0.weight" in (tmp_path / "graph.svg").read_text()
    assert (tmp_path / "steps.html").stat().st_size > 10_000


@pytest.mark.parametrize("what, words", [("nothing", "return model, x, y"), ("absent", "no function 'absent'"),
                                         ("layer", "no function 'layer'"), ("cut", "no result of <lambda> has a"),
                                         ("failing", "failing failed: RuntimeError"),
                                         ("failing", f"model.py:{FAILS_AT})")])  # fmt: skip
def test_what_cannot_be_captured_is_told(model, capsys, what, words):
    assert main(["capture", f"{model}:{what}"]) == 2
    assert words in capsys.readouterr().err


def test_the_comparison_is_written_as_a_report(model, capsys, tmp_path):
    assert main(["capture", f"{model}:wrong", "--compare", "-o", "report.html"]) == 1
    assert "wrote report.html" in capsys.readouterr().out
    assert "torch's backward of Wrong is wrong." in (tmp_path / "report.html").read_text()
    assert main(["capture", f"{model}:wrong", "--compare", "-o", "report.xyz"]) == 2
    assert "a comparison is written as .html" in capsys.readouterr().err
