"""Module: what it finds, what it prints, what it records, and how its errors speak."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import nn
from autograd import Value, no_grad
from autograd.errors import DataError, ShapeError
from nn import functional as F
from nn.module import evaluating
from nn.train import evaluated


class Net(nn.Module):
    def __init__(self):
        self.scale = nn.Parameter([2.0])
        self.stack = [nn.Linear(2, 3, rng=0), nn.Linear(3, 2, rng=1)]
        self.named = {"a": nn.LayerNorm(2), "b": (nn.Parameter(1.0),)}
        self.label = "not a parameter"
        self.hidden = None

    def forward(self, x):
        for layer in self.stack:
            x = layer(x)
        return self.named["a"](x) * self.scale + self.named["b"][0]


NAMES = ["scale", "stack.0.weight", "stack.0.bias", "stack.1.weight", "stack.1.bias", "named.a.gamma", "named.a.beta",
         "named.b.0"]  # fmt: skip


def test_parameters_are_found_in_order_with_dotted_names():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert net.parameters() == [p for _, p in net.named_parameters()]
    assert [name for name, _ in net.named_modules()] == ["", "stack.0", "stack.1", "named.a"]
    assert net.count() == 1 + 9 + 8 + 4 + 1


def test_a_parameter_knows_its_short_and_its_dotted_name():
    net = Net()
    weight = net.stack[1].weight
    assert weight.name == "weight"
    net.parameters()
    assert weight.path == "stack.1.weight"
    assert isinstance(weight, Value)
    assert nn.Parameter([1.0]).path == "a parameter of shape (1,)"


def test_private_attributes_are_trained_too():
    class Private(nn.Module):
        def __init__(self):
            self._w = nn.Parameter([1.0])
            self._inner = nn.Linear(1, 1, rng=0)

        def forward(self, x):
            return self._inner(x) * self._w

    net = Private()
    assert [name for name, _ in net.named_parameters()] == ["_w", "_inner.weight", "_inner.bias"]
    assert net(np.ones((1, 1))).parents[0].scope.path == "_inner"


def test_a_shared_parameter_and_module_count_once():
    net = Net()
    net.again = net.stack[0]
    net.tied = net.stack[1].weight
    assert [name for name, _ in net.named_parameters()] == NAMES


def test_modules_that_refer_to_each_other_are_found_once():
    net = Net()
    net.stack[0].owner = net
    assert len(net.parameters()) == len(NAMES)


def test_the_printed_tree():
    assert repr(nn.Linear(3, 2)) == "Linear(3 → 2)  weight (3, 2), bias (2,)  8 parameters"
    lines = repr(nn.GPT(5, 4, 8, 2, 3, rng=0)).splitlines()
    assert lines[0].startswith("GPT(5 tokens, block 4, width 8, 3 layers)") and lines[0].endswith("2,744 parameters")
    assert any(line.startswith("├── blocks.0..2 ×3: TransformerBlock") for line in lines)
    assert any("qkv: Linear(8 → 24)" in line and "weight (8, 24), bias (24,)" in line for line in lines)
    frozen = nn.Linear(1, 1).freeze()
    assert "weight (1, 1) frozen" in repr(frozen)


def test_training_mode_reaches_every_module():
    net = nn.TransformerBlock(2, 1, dropout=0.5, rng=0)
    assert net.eval() is net
    assert not any(module.training for _, module in net.named_modules())
    assert net.train().dropout.training


@pytest.mark.parametrize("evaluate", [lambda model: model.generate([1], 2),
                                      lambda model: evaluated(model, lambda: model.loss([1], [2]))],
                         ids=["generate", "evaluated"])  # fmt: skip
def test_after_an_evaluation_each_module_is_in_the_mode_it_was_in(evaluate):
    model = nn.GPT(3, 4, 4, 2, 2, rng=0)
    model.blocks[0].eval()
    before = {name: module.training for name, module in model.named_modules()}
    evaluate(model)
    assert {name: module.training for name, module in model.named_modules()} == before
    assert len(set(before.values())) == 2


def test_a_mode_comes_back_after_an_error():
    net = Net()

    def fails():
        assert not any(module.training for _, module in net.named_modules())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        evaluating(net, fails)
    assert all(module.training for _, module in net.named_modules())


def test_freezing_stops_gradients_and_optimizers():
    net = nn.Sequential(nn.Linear(2, 3, rng=0), nn.Linear(3, 1, rng=1))
    net[0].freeze()
    before = net.state_dict()
    net(np.ones((4, 2))).sum().backward()
    assert net[0].weight.grad is None and net[1].weight.grad is not None
    nn.optim.AdamW(net, lr=0.1).step()
    after = net.state_dict()
    assert all(np.array_equal(before[name], after[name]) == name.startswith("layers.0") for name in before)
    net.unfreeze()
    net(np.ones((4, 2))).sum().backward()
    assert net[0].weight.grad is not None


def test_gradients_reach_the_input_through_frozen_layers():
    x = Value(np.ones((1, 2)))
    nn.Linear(2, 3, rng=0).freeze()(x).sum().backward()
    assert x.grad is not None


def test_zero_grad_means_none():
    net = Net()
    net(np.ones((1, 2))).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())


# --- state --------------------------------------------------------------------------------------------------


def test_state_dict_is_a_copy_of_plain_arrays():
    net = Net()
    state = net.state_dict()
    assert list(state) == NAMES and all(type(array) is np.ndarray for array in state.values())
    state["scale"][:] = 99
    assert net.scale.data[0] == 2.0


def test_load_state_dict_fills_in_place():
    net, other = Net(), Net()
    weight = net.stack[0].weight
    other.stack[0].weight.data = np.full((2, 3), 7.0)
    net.load_state_dict(other.state_dict())
    assert net.stack[0].weight is weight
    np.testing.assert_array_equal(weight.data, 7.0)


def test_every_mismatch_is_said_at_once_and_nothing_changes():
    net = Net()
    before = net.state_dict()
    state = {**before, "stack.0.weight": np.zeros((3, 2)), "extra": np.zeros(2), "scale": np.zeros(1, np.float32)}
    del state["named.a.beta"]
    with pytest.raises(ShapeError) as caught:
        net.load_state_dict(state)
    message = str(caught.value)
    for words in ("missing: named.a.beta (2,)", "not expected: extra (2,)", "expected shape (2, 3), got (3, 2)",
                  "scale: expected dtype float64, got float32"):  # fmt: skip
        assert words in message
    after = net.state_dict()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def pickled(net):
    return pickle.loads(pickle.dumps(net))


@pytest.mark.parametrize("twin_of", [copy.deepcopy, pickled])
def test_copies_are_independent(twin_of):
    net = nn.Sequential(nn.Linear(2, 2, rng=0), nn.LayerNorm(2))
    net(np.ones((1, 2)))
    twin = twin_of(net)
    twin[0].weight.data = np.zeros((2, 2))
    assert net[0].weight.data.any()
    assert type(twin[0].weight) is nn.Parameter
    np.testing.assert_array_equal(twin(np.ones((1, 2))).shape, (1, 2))


def test_a_module_dies_by_reference_count():
    gc.disable()
    try:
        net = nn.GPT(3, 4, 4, 2, 1, rng=0)
        net.loss([[0, 1]], [[1, 2]]).backward()
        gone = weakref.ref(net)
        del net
        assert gone() is None
    finally:
        gc.enable()


# --- scopes -------------------------------------------------------------------------------------------------


def test_each_call_records_its_scope():
    model = nn.GPT(3, 4, 4, 2, 2, rng=0)
    loss = model.loss([[0, 1]], [[1, 2]])
    logits = next(p for p in loss.parents if p.op is not None)
    assert (logits.scope.path, logits.scope.kind) == ("head", "Linear")
    paths = set()
    kinds = {}
    stack, seen = [loss], set()
    while stack:
        node = stack.pop()
        if node.scope is not None:
            paths.add(node.scope.path)
            kinds[node.scope.path] = node.scope.kind
        stack += [p for p in node.parents if id(p) not in seen and not seen.add(id(p))]
    assert {"blocks.1.attention.qkv", "blocks.0.norm1", "blocks.0.feed_forward.down", "tokens"} <= paths
    assert kinds["blocks.1.attention"] == "MultiHeadAttention"


def test_two_calls_of_one_module_are_two_scopes():
    layer = nn.Linear(2, 2, rng=0)
    a, b = layer(np.ones(2)), layer(np.ones(2))
    assert a.scope is not b.scope and a.scope.module is layer


def test_the_name_of_a_call_is_what_its_caller_calls_it():
    shared = nn.Linear(2, 2, rng=0)

    class One(nn.Module):
        def __init__(self):
            self.first = shared

        def forward(self, x):
            return self.first(x)

    class Two(One):
        def __init__(self):
            self.other = shared

        def forward(self, x):
            return self.other(x)

    one, two = One(), Two()
    assert [net(np.ones(2)).scope.path for net in (one, two, one)] == ["first", "other", "first"]


@pytest.mark.parametrize(
    "change",
    [
        lambda net: net.layers.reverse(),
        lambda net: setattr(net, "layers", net.layers[::-1]),
        lambda net: net.layers.insert(0, nn.LayerNorm(2)),
        lambda net: net.layers.pop(0),
        lambda net: setattr(net, "layers", (net.layers[1],)),
    ],
    ids=["reversed", "replaced", "inserted", "removed", "alone"],
)
def test_the_name_of_a_call_follows_changes_of_its_caller(change):
    net = nn.Sequential(nn.Linear(2, 2, rng=0), nn.Linear(2, 2, rng=1))
    net(np.ones(2))
    change(net)
    out = net(np.ones(2))
    assert out.scope.module is net.layers[-1]
    assert out.scope.path == net.named_modules()[-1][0] == f"layers.{len(net) - 1}"


def test_no_scope_is_left_open_after_an_error():
    with pytest.raises(ShapeError):
        nn.GPT(3, 4, 4, 2, 1, rng=0)(np.zeros((1, 9), int))
    assert (Value(1.0) + 1.0).scope is None


# --- errors -------------------------------------------------------------------------------------------------


def test_an_error_names_the_layer_by_its_dotted_path():
    class Model(nn.Module):
        def __init__(self):
            self.blocks = [nn.TransformerBlock(4, 2, rng=0), nn.TransformerBlock(4, 2, rng=0)]
            self.blocks[1].feed_forward.down = nn.Linear(99, 4, rng=0)

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    with pytest.raises(ShapeError) as caught:
        Model()(np.ones((3, 4)))
    message = str(caught.value)
    assert message.startswith("blocks.1.feed_forward.down: Linear(99 → 4)")
    assert "(..., 99)" in message and "(3, 16)" in message


@pytest.mark.parametrize(
    "layer, x, expected, received",
    [
        (nn.Linear(3, 2), np.ones((2, 4)), "(..., 3)", "(2, 4)"),
        (nn.Linear(3, 2), 1.0, "(..., 3)", "()"),
        (nn.LayerNorm(3), np.ones((2, 4)), "(..., 3)", "(2, 4)"),
        (nn.RMSNorm(3), np.ones((2, 4)), "(..., 3)", "(2, 4)"),
        (nn.FeedForward(3, 2), np.ones((2, 4)), "(..., 3)", "(2, 4)"),
        (nn.MultiHeadAttention(4, 2), np.ones((2, 3)), "(..., tokens, 4)", "(2, 3)"),
        (nn.MultiHeadAttention(4, 2), np.ones(4), "(..., tokens, 4)", "(4,)"),
        (nn.TransformerBlock(4, 2), np.ones((2, 3)), "(..., tokens, 4)", "(2, 3)"),
        (nn.LearnedPositions(3, 4), np.ones((5, 4)), "at most 3 tokens", "(5, 4)"),
        (nn.LearnedPositions(3, 4), np.ones((2, 3)), "(..., tokens, 4)", "(2, 3)"),
        (nn.LearnedPositions(3, 4), np.ones(4), "(..., tokens, 4)", "(4,)"),
        (nn.SinusoidalPositions(4), np.ones((5, 3)), "(..., tokens, 4)", "(5, 3)"),
        (nn.SinusoidalPositions(4), np.ones(4), "(..., tokens, 4)", "(4,)"),
        (nn.GPT(3, 4, 4, 2, 1), np.zeros((1, 5), int), "at most 4 tokens", "(1, 5)"),
        (nn.MLP(3, [2]), np.ones((5, 4)), "(..., 3)", "(5, 4)"),
        (nn.MLP(3, [2]), [1.0, 2.0], "3 numbers", "2"),
    ],
    ids=lambda part: type(part).__name__ if isinstance(part, nn.Module) else "",
)
def test_a_wrong_shape_is_refused_with_both_shapes(layer, x, expected, received):
    with pytest.raises(ShapeError) as caught:
        layer(x)
    message = str(caught.value)
    assert type(layer).__name__ in message or "Neuron" in message or "Layer" in message
    assert expected in message and received in message


def test_errors_of_the_engine_say_in_which_layer_they_arose():
    class Clumsy(nn.Module):
        def forward(self, x):
            return x @ np.ones((5, 5))

    with pytest.raises(ShapeError) as caught:
        nn.Sequential(Clumsy())(Value(np.ones((2, 2))))
    assert "in layers.0 (Clumsy)" in caught.value.__notes__


def test_things_that_are_no_numbers_are_refused():
    with pytest.raises(DataError, match="numbers"):
        nn.Linear(2, 2)("ab")
    with pytest.raises(DataError, match="functions"):
        nn.Sequential(3)


def test_a_module_without_forward_says_so():
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Module()(1.0)


# --- inputs -------------------------------------------------------------------------------------------------


def test_plain_numbers_lists_and_values_are_taken():
    layer = nn.Linear(2, 3, rng=0)
    expected = layer(np.array([[1.0, 2.0]])).data
    for x in ([[1, 2]], ((1.0, 2.0),), [[Value(1.0), 2.0]], np.array([[1, 2]]), Value([[1.0, 2.0]])):
        np.testing.assert_allclose(layer(x).data, expected, rtol=1e-15)


def test_gradients_flow_into_a_list_of_values():
    a, b = Value(1.0), Value(2.0)
    nn.Linear(2, 3, rng=0)([a, b]).sum().backward()
    assert a.grad is not None and b.grad is not None


def test_plain_input_takes_the_dtype_of_the_layer():
    layer = nn.Linear(2, 3, rng=0, dtype=np.float32)
    out = layer(np.ones((1, 2)))
    assert out.dtype == np.float32
    out.sum().backward()
    assert layer.weight.grad.dtype == np.float32


def test_sequential_applies_functions_too():
    net = nn.Sequential(nn.Linear(2, 2, rng=0), F.tanh, nn.Linear(2, 1, rng=1))
    x = np.ones((1, 2))
    np.testing.assert_allclose(net(x).data, net[2](np.tanh(net[0](x).data)).data)
    assert len(net) == 3 and "tanh" in repr(net)


def test_modules_run_under_no_grad():
    with no_grad():
        assert nn.TransformerBlock(4, 2, rng=0)(np.ones((2, 4))).parents == ()
