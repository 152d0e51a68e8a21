"""Files: what is written comes back, whole or not at all, and misfits are named."""

import json
import os

import numpy as np
import pytest

import nn
from autograd.errors import DataError, ShapeError
from nn import io

MODELS = {
    "Linear": lambda seed: nn.Linear(2, 3, rng=seed),
    "GPT": lambda seed: nn.GPT(5, 4, 4, 2, 2, rng=seed, tie_weights=True),
    "float32": lambda seed: nn.GPT(5, 4, 4, 2, 1, rng=seed, dtype=np.float32),
    "MLP": lambda seed: nn.MLP(2, [3, 1], rng=seed),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back(name, tmp_path):
    saved, loaded = MODELS[name](0), MODELS[name](1)
    nn.save(saved, tmp_path / "model.safetensors")
    parameters = loaded.parameters()
    nn.load(loaded, str(tmp_path / "model.safetensors"))
    assert loaded.parameters() == parameters  # filled in place
    for (path, a), (_, b) in zip(saved.named_parameters(), loaded.named_parameters(), strict=True):
        assert np.array_equal(a.data, b.data) and type(a.data) is type(b.data) and a.dtype == b.dtype, path


def test_an_optimizer_comes_back(tmp_path):
    model = nn.Linear(2, 1, rng=0)
    optimizer = nn.optim.AdamW(model)
    model(np.ones((3, 2))).sum().backward()
    optimizer.step()
    nn.save(optimizer, tmp_path / "adamw.safetensors")
    other = nn.optim.AdamW(model)
    nn.load(other, tmp_path / "adamw.safetensors")
    assert other.steps == 1
    for name, array in optimizer.state_dict().items():
        np.testing.assert_array_equal(other.state_dict()[name], array)


def test_a_misfit_says_everything_and_changes_nothing(tmp_path):
    nn.save(nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3)), tmp_path / "a")
    model = nn.Sequential(nn.Linear(3, 3, rng=0), nn.RMSNorm(3))
    before = model.state_dict()
    with pytest.raises(ShapeError) as caught:
        nn.load(model, tmp_path / "a")
    assert "layers.0.weight: expected shape (3, 3), got (2, 3)" in str(caught.value)
    assert "not expected: layers.1.beta (3,)" in str(caught.value)
    assert all(np.array_equal(before[name], array) for name, array in model.state_dict().items())


def test_a_crash_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "model"
    nn.save(nn.Linear(1, 1, rng=0), path)
    old = path.read_bytes()

    def crash(descriptor):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(OSError, match="no space"):
        nn.save(nn.Linear(1, 1, rng=1), path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("content", [b"", b"half a file", b"\x08\x00\x00\x00\x00\x00\x00\x00{"])
def test_a_file_that_is_not_one_is_refused(tmp_path, content):
    (tmp_path / "broken").write_bytes(content)
    with pytest.raises(DataError, match=r"broken.*not a whole safetensors file"):
        nn.load(nn.Linear(1, 1), tmp_path / "broken")


@pytest.mark.parametrize(("dtype", "size", "called"), [("BF16", 2, "bfloat16"), ("F8_E4M3", 1, "F8_E4M3")])
def test_a_file_in_bfloat16_gets_a_sentence(tmp_path, dtype, size, called):
    header = json.dumps({"weight": {"dtype": dtype, "shape": [1, 1], "data_offsets": [0, size]}}).encode()
    (tmp_path / "half").write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * size)
    with pytest.raises(DataError, match=rf"weight is stored as {called}, which NumPy does not have.*v\.float\(\)"):
        nn.load(nn.Linear(1, 1), tmp_path / "half")


def test_every_dtype_of_numpy_comes_back(tmp_path):
    arrays = {
        np.dtype(kind).name: np.array([0, 1, 1], dtype=kind)
        for kind in "fdeqihblQIHB?"  # floats, integers of either kind, truth
    }
    io.write(arrays, tmp_path / "all")
    back, _ = io.read(tmp_path / "all")
    assert {name: array.dtype for name, array in back.items()} == {name: array.dtype for name, array in arrays.items()}


def test_keys_that_look_alike_have_names_of_their_own(tmp_path):
    class Odd(nn.Module):
        def __init__(self, start):
            keys = (1, "1", 1.5, "1.5", ("a", 2), "a.b", "[1]", "", "a b")
            self.parts = {key: nn.Parameter(start + i) for i, key in enumerate(keys)}
            self.parts["a"] = {"b": nn.Parameter(start + 100), 1: [nn.Parameter(start + 200)]}

    model = Odd(0.0)
    names = [name for name, _ in model.named_parameters()]
    assert names[:5] == ["parts.1", "parts['1']", "parts[1.5]", "parts['1.5']", "parts[('a', 2)]"]
    assert names[-2:] == ["parts.a.b", "parts.a.1.0"] and "parts['a.b']" in names and "parts.a b" in names
    assert len(set(names)) == len(names) == len(model.state_dict()) == 11
    nn.save(model, tmp_path / "odd")
    other = Odd(50.0)
    nn.load(other, tmp_path / "odd")
    assert [p.data for p in other.parameters()] == [p.data for p in model.parameters()]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        nn.load(nn.Linear(1, 1), tmp_path / "nowhere")


@pytest.mark.parametrize("way", ["save", "load"])
def test_a_model_comes_before_its_path(way, tmp_path):
    path = tmp_path / "a.safetensors"
    with pytest.raises(DataError, match=rf"nn\.{way}\(model, path\); got .a.s"):
        getattr(nn, way)("a.safetensors", path)
    assert not path.exists()


def test_a_missing_folder_is_named_and_not_made(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder '.*nowhere' for 'a.safetensors'; make it first"):
        nn.save(nn.Linear(1, 1), tmp_path / "nowhere" / "a.safetensors")
    assert not list(tmp_path.iterdir())


def test_transposed_arrays_are_written_as_they_read(tmp_path):
    array = np.arange(6.0).reshape(2, 3).T
    io.write({"a": array, "scalar": np.array(2.5)}, tmp_path / "a", {"note": "x"})
    arrays, metadata = io.read(tmp_path / "a")
    np.testing.assert_array_equal(arrays["a"], array)
    assert arrays["scalar"].shape == () and metadata == {"note": "x"}


def test_other_readers_of_safetensors_agree(tmp_path):
    from safetensors.numpy import load_file

    layer = nn.Linear(2, 3, rng=0)
    nn.save(layer, tmp_path / "a")
    np.testing.assert_array_equal(load_file(tmp_path / "a")["weight"], layer.weight.data)
