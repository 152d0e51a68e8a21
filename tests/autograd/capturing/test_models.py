"""Well-known kinds of models: results to 1e-12, every gradient to 1e-10, no opaque node; torch agrees throughout."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)")

from tests.autograd.capturing.against_torch import assert_same_run, captured  # noqa: E402
from tests.autograd.capturing.models import MODELS  # noqa: E402
from tests.autograd.capturing.zoo import ZOO  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_float64")


QUICK = ("CNN", "ResNet", "Llama block", "mixture of experts", "LSTM by hand")


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in MODELS])
def test_a_model_is_the_same_model(name):
    run = assert_same_run(*MODELS[name]())
    found = run.compare()
    assert found.ok, found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["CNN", "VAE", "U-net", "mixture of experts", "Llama block"])
def test_finite_differences_agree(name):
    torch.manual_seed(3)
    report = assert_same_run(*MODELS[name]()).check()
    assert report.verdict in ("pass", "kink"), report


def test_float32_models_agree_too():
    torch.set_default_dtype(torch.float32)
    run = captured(*MODELS["ResNet"]())
    assert run.result.dtype == "float64"  # our side, at torch's float32 numbers
    assert np.array_equal(run.result.data, run.result.data.astype(np.float32))
    assert run.gap < 1e-5
    assert run.compare().ok


@pytest.mark.slow
@pytest.mark.parametrize("name", ZOO)
def test_an_architecture_is_the_same_architecture(name):
    rounded = {"backward": 1e-6} if name == "Mamba" else {}  # it casts to float32: torch rounds the gradient there
    found = assert_same_run(*ZOO[name](), **rounded).compare()
    assert found.ok, found
