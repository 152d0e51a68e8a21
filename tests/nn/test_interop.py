"""Weights to and from PyTorch's own modules, both ways; and GPT-2's names."""

import importlib.util

import numpy as np
import pytest

import nn
from autograd import Value
from autograd.errors import DataError, ShapeError
from nn import io
from tests.nn.make_fixtures import STATES
from tests.nn.pairs import PAIRS, run_theirs

RNG = np.random.default_rng(0)


needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)"
)


def shaken(module):
    for p in module.parameters():
        p.data = RNG.normal(0, 0.5, p.shape)
    return module


@needs_torch
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("direction", ["to torch", "from torch"])
def test_weights_and_gradients_travel(name, direction):
    import torch

    make, make_theirs = PAIRS[name]
    ours, theirs = shaken(make()), make_theirs(torch).double()
    if direction == "to torch":
        theirs.load_state_dict({n: torch.from_numpy(a) for n, a in nn.to_torch(ours).items()})
    else:
        for p in theirs.parameters():
            torch.nn.init.normal_(p, 0, 0.5)
        nn.from_torch(ours, theirs.state_dict())
    data = RNG.normal(size=(2, 3, 4))
    x, tx = Value(data), torch.tensor(data, requires_grad=True)
    out, expected = ours(x), run_theirs(theirs, tx)
    np.testing.assert_allclose(out.data, expected.detach().numpy(), rtol=0, atol=1e-10)
    above = RNG.normal(size=out.shape)
    out.backward(above)
    expected.backward(torch.tensor(above))
    np.testing.assert_allclose(x.grad, tx.grad.numpy(), rtol=0, atol=1e-10)
    gradients = {m.theirs: m for m in nn.interop.matches(ours)}
    for there, parameter in theirs.named_parameters():
        match = gradients[there]
        np.testing.assert_allclose(
            match.parameter.grad, match.imported(parameter.grad.numpy()), rtol=0, atol=1e-10, err_msg=there
        )


@needs_torch
def test_embedding_travels():
    import torch

    theirs, ours = torch.nn.Embedding(5, 3), nn.Embedding(5, 3)
    nn.from_torch(ours, theirs.state_dict())
    np.testing.assert_allclose(ours([4, 0]).data, theirs(torch.tensor([4, 0])).detach().numpy())


@pytest.mark.parametrize("name", PAIRS)
def test_a_recorded_state_dict_of_torch_gives_its_output(name):
    own = {key.removeprefix(f"{name}/"): a for key, a in io.read(STATES)[0].items() if key.startswith(f"{name}/")}
    state = {key.removeprefix("state."): array for key, array in own.items() if key.startswith("state.")}
    ours = PAIRS[name][0]()
    nn.from_torch(ours, state)
    np.testing.assert_allclose(ours(own["x"]).data, own["out"], rtol=0, atol=1e-10)
    back = nn.to_torch(ours)
    assert back.keys() == state.keys()
    assert all(np.array_equal(back[key], state[key]) for key in state)


@pytest.mark.parametrize("name", PAIRS)
def test_there_and_back_without_torch(name):
    first, second = shaken(PAIRS[name][0]()), PAIRS[name][0]()
    nn.from_torch(second, nn.to_torch(first))
    for path, array in first.state_dict().items():
        np.testing.assert_array_equal(second.state_dict()[path], array)


GPT2_NAMES = [
    "transformer.wte.weight",
    "transformer.wpe.weight",
    "transformer.h.0.ln_1.weight",
    "transformer.h.0.ln_1.bias",
    "transformer.h.0.attn.c_attn.weight",
    "transformer.h.0.attn.c_attn.bias",
    "transformer.h.0.attn.c_proj.weight",
    "transformer.h.0.attn.c_proj.bias",
    "transformer.h.0.ln_2.weight",
    "transformer.h.0.ln_2.bias",
    "transformer.h.0.mlp.c_fc.weight",
    "transformer.h.0.mlp.c_fc.bias",
    "transformer.h.0.mlp.c_proj.weight",
    "transformer.h.0.mlp.c_proj.bias",
    "transformer.ln_f.weight",
    "transformer.ln_f.bias",
    "lm_head.weight",
]


@pytest.mark.parametrize("tied", [True, False])
def test_gpt2_has_its_names_and_layout(tied):
    model = shaken(nn.GPT(5, 6, 4, 2, 1, tie_weights=tied))
    state = nn.to_torch(model)
    assert sorted(state) == sorted(GPT2_NAMES)
    assert state["transformer.h.0.attn.c_attn.weight"].shape == (4, 12)  # GPT-2 keeps (in, out)
    assert state["lm_head.weight"].shape == (5, 4)
    other = nn.GPT(5, 6, 4, 2, 1, tie_weights=tied)
    nn.from_torch(other, state)
    ids = [[1, 2, 3]]
    np.testing.assert_array_equal(model(ids).data, other(ids).data)


def test_gpt2_files_without_prefix_with_masks_and_in_half_precision():
    model = shaken(nn.GPT(5, 6, 4, 2, 1, tie_weights=True))
    state = {n.removeprefix("transformer."): a.astype(np.float32) for n, a in nn.to_torch(model).items()}
    del state["lm_head.weight"]
    state["h.0.attn.bias"] = np.tri(6, dtype=bool)[None, None]
    state["h.0.attn.masked_bias"] = np.array(-1e4, np.float32)
    other = nn.GPT(5, 6, 4, 2, 1, tie_weights=True)
    nn.from_torch(other, state)
    assert other.tokens.weight.dtype == np.float64
    np.testing.assert_allclose(other([[1, 2]]).data, model([[1, 2]]).data, rtol=1e-3, atol=1e-4)
    untied = nn.GPT(5, 6, 4, 2, 1)
    nn.from_torch(untied, state)
    np.testing.assert_allclose(untied([[1, 2]]).data, other([[1, 2]]).data, rtol=1e-12)


def test_a_head_that_is_not_tied_is_refused_by_a_tied_model():
    state = nn.to_torch(shaken(nn.GPT(5, 6, 4, 2, 1)))
    with pytest.raises(DataError, match="tie_weights=False"):
        nn.from_torch(nn.GPT(5, 6, 4, 2, 1, tie_weights=True), state)


def test_misfits_are_all_named_and_nothing_changes():
    layer = shaken(nn.TransformerBlock(4, 2, 8))
    before = layer.state_dict()
    state = nn.to_torch(layer)
    state["linear1.weight"] = np.zeros((4, 4))
    state["extra"] = np.zeros(1)
    del state["norm2.bias"]
    with pytest.raises(ShapeError) as caught:
        nn.from_torch(layer, state)
    for words in ("missing: norm2.bias (4,)", "not expected: extra (1,)", "linear1.weight: expected shape"):
        assert words in str(caught.value)
    assert all(np.array_equal(before[name], array) for name, array in layer.state_dict().items())


@pytest.mark.parametrize(
    "module",
    [nn.MultiHeadAttention(4, 2, n_kv_heads=1), nn.MultiHeadAttention(4, 2, d_context=3),
     nn.FeedForward(4, activation="swiglu"), nn.GPT(5, 6, 4, 2, 1, norm="rms")],
    ids=["grouped", "cross", "swiglu", "RMS GPT"],
)  # fmt: skip
def test_what_torch_has_no_module_for_is_refused(module):
    with pytest.raises(DataError):
        nn.to_torch(module)


def test_something_that_is_no_array_is_refused():
    with pytest.raises(DataError, match="weight: a state dict holds arrays"):
        nn.from_torch(nn.Linear(1, 1), {"weight": "a", "bias": [0.0]})
