"""A corrupt or hostile checkpoint is an error that names the fault, changes nothing and runs nothing."""

import json
import os
import pickle
import struct

import numpy as np
import pytest

import nn
from autograd.errors import HandgradError

REFUSED = (HandgradError, ValueError, KeyError)


@pytest.fixture
def saved(tmp_path):
    """A good file, and its bytes."""
    path = tmp_path / "model.safetensors"
    nn.save(nn.Linear(3, 2, rng=0), path)
    return path, path.read_bytes()


def refuses(path, content):
    """Loading raises and leaves the module as it was."""
    path.write_bytes(content)
    layer = nn.Linear(3, 2, rng=1)
    before = {name: array.copy() for name, array in layer.state_dict().items()}
    with pytest.raises(REFUSED) as raised:
        nn.load(layer, path)
    for name, array in layer.state_dict().items():
        np.testing.assert_array_equal(array, before[name])
    return str(raised.value)


class Payload:
    """Runs a command if it is ever unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_not_run(saved, tmp_path, protocol):
    mark = tmp_path / "ran"
    message = refuses(saved[0], pickle.dumps({"weight": Payload(mark)}, protocol=protocol))
    assert not mark.exists()
    assert "model.safetensors" in message


def test_a_torch_file_is_not_run(saved, tmp_path):
    torch = pytest.importorskip("torch")
    other, mark = tmp_path / "other.pt", tmp_path / "ran"
    torch.save({"weight": Payload(mark)}, other)
    refuses(saved[0], other.read_bytes())
    assert not mark.exists()


def test_every_truncation_is_refused(saved):
    path, content = saved
    for length in range(0, len(content), 7):
        assert "safetensors" in refuses(path, content[:length])


def test_flipped_bits_of_the_header_never_do_harm(saved):
    """A flip may by luck leave a header that still reads; then names and shapes must fit, or nothing changes."""
    path, content = saved
    (size,) = struct.unpack("<Q", content[:8])
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        spoilt = bytearray(content)
        spoilt[int(rng.integers(0, 8 + size))] ^= 1 << int(rng.integers(0, 8))
        path.write_bytes(bytes(spoilt))
        layer = nn.Linear(3, 2, rng=1)
        before = layer.weight.data.copy()
        try:
            nn.load(layer, path)
        except REFUSED:
            refused += 1
            np.testing.assert_array_equal(layer.weight.data, before)
        assert layer.weight.shape == (3, 2) and layer.bias.shape == (2,)
    assert refused > 200


def header(entries):
    text = json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text


@pytest.mark.parametrize(
    "entries",
    [
        {"weight": {"dtype": "F64", "shape": [3, 2], "data_offsets": [0, 1 << 60]}},  # beyond the end
        {"weight": {"dtype": "F64", "shape": [1 << 40, 1 << 40], "data_offsets": [0, 48]}},  # more than all memory
        {"weight": {"dtype": "F64", "shape": [-3, -2], "data_offsets": [0, 48]}},
        {"weight": {"dtype": "object", "shape": [3, 2], "data_offsets": [0, 48]}},
        {"weight": {"dtype": "F64", "shape": [2, 3], "data_offsets": [0, 48]}},  # transposed
        {"other": {"dtype": "F64", "shape": [3, 2], "data_offsets": [0, 48]}},
        {"../../etc/passwd": {"dtype": "F64", "shape": [3, 2], "data_offsets": [0, 48]}},
        {},
        [],
    ],
)
def test_hostile_headers_are_refused(saved, entries):
    refuses(saved[0], header(entries) + bytes(48))


def test_a_header_that_claims_to_be_huge(saved):
    refuses(saved[0], struct.pack("<Q", 1 << 62) + b"{}")


def test_numbers_that_are_not_finite_are_loaded_as_they_are(tmp_path):
    """NaN in a checkpoint is data, not damage: it comes back bit for bit."""
    layer = nn.Linear(3, 2, rng=0)
    layer.weight.data = np.full((3, 2), np.nan)
    nn.save(layer, tmp_path / "nan.safetensors")
    other = nn.Linear(3, 2, rng=1)
    nn.load(other, tmp_path / "nan.safetensors")
    assert np.isnan(other.weight.data).all()
