"""The layers that people bring from torch: values, gradients, state dicts, both dtypes, against torch itself."""

import numpy as np
import pytest

import nn
from autograd import Value
from autograd.errors import HandgradError
from tests.sweep import sweep

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)


def x_of(*shape):
    return np.random.default_rng(len(shape) + sum(shape)).normal(size=shape)


def case(kind, args, *inputs, theirs=None, **settings):
    return kind, (kind, args, settings, inputs, theirs or {})


CASES = [
    case("Conv1d", (3, 4, 3), (2, 3, 9)),
    case("Conv1d", (4, 6, 2, 2, 1, 2, 2), (2, 4, 11)),
    case("Conv1d", (3, 4, 4), (2, 3, 9), padding="same"),
    case("Conv1d", (3, 4, 3), (3, 9), bias=False),
    case("Conv2d", (2, 3, 3), (4, 2, 7, 5)),
    case("Conv2d", (2, 4, (3, 2), (2, 1), (1, 0), (1, 2), 2), (3, 2, 7, 6)),
    case("Conv2d", (2, 3, 4), (2, 2, 6, 5), padding="same"),
    case("Conv2d", (2, 3, 3), (2, 2, 6, 5), padding="same", dilation=2, padding_mode="reflect"),
    case("Conv2d", (2, 3, 3), (2, 2, 5, 5), padding=1, padding_mode="circular"),
    case("Conv2d", (2, 3, 3), (2, 2, 5, 4), padding=(2, 1), padding_mode="replicate"),
    case("Conv2d", (2, 3, 3), (2, 7, 5), padding="valid"),
    case("ConvTranspose1d", (3, 4, 3, 2, 1, 1), (2, 3, 5)),
    case("ConvTranspose2d", (4, 2, 3, 2, 1, 1, 2), (2, 4, 3, 4)),
    case("ConvTranspose2d", (2, 3, (2, 3)), (2, 2, 3, 4), bias=False, dilation=2),
    case("ConvTranspose2d", (2, 3, 2), (2, 3, 4)),
    case("MaxPool1d", (3,), (2, 3, 10)),
    case("MaxPool2d", (2,), (2, 3, 6, 7)),
    case("MaxPool2d", ((3, 2), (2, 1), (1, 0)), (2, 3, 6, 7), dilation=(1, 2)),
    case("MaxPool2d", (3, 2), (2, 3, 6, 8), ceil_mode=True),
    case("MaxPool2d", (3, 2, 1), (2, 3, 6, 8), ceil_mode=True),
    case("MaxPool2d", (2,), (3, 5, 5)),
    case("AvgPool1d", (3, 2, 1), (2, 3, 10), count_include_pad=False),
    case("AvgPool2d", (2,), (2, 3, 6, 7)),
    case("AvgPool2d", ((3, 2), 2, 1), (2, 3, 6, 7)),
    case("AvgPool2d", (3, 2, 1), (2, 3, 6, 8), count_include_pad=False, ceil_mode=True),
    case("AvgPool2d", (3, 2, 1), (2, 3, 6, 8), ceil_mode=True),
    case("AvgPool2d", (3, 2), (2, 3, 6, 8), divisor_override=5),
    case("AdaptiveAvgPool1d", (3,), (2, 3, 7)),
    case("AdaptiveAvgPool2d", (1,), (2, 3, 6, 7)),
    case("AdaptiveAvgPool2d", ((3, 2),), (2, 3, 6, 4)),
    case("AdaptiveAvgPool2d", ((4, None),), (2, 3, 7, 5)),
    case("BatchNorm1d", (3,), (6, 3)),
    case("BatchNorm1d", (3, 1e-3, 0.3), (6, 3, 4)),
    case("BatchNorm1d", (3,), (6, 3), affine=False),
    case("BatchNorm1d", (3,), (6, 3), momentum=None),
    case("BatchNorm2d", (3,), (4, 3, 2, 5)),
    case("BatchNorm2d", (3,), (4, 3, 2, 5), track_running_stats=False),
    case("GroupNorm", (2, 6), (4, 6, 3)),
    case("GroupNorm", (3, 6, 1e-3, False), (4, 6, 3, 2)),
    case("RNN", (3, 4), (5, 2, 3)),
    case("RNN", (3, 4, 2, "relu"), (5, 2, 3), bidirectional=True),
    case("GRU", (3, 4, 2), (5, 2, 3), bidirectional=True, batch_first=True),
    case("GRU", (3, 4), (5, 3), bias=False),
    case("LSTM", (3, 4), (5, 2, 3)),
    case("LSTM", (3, 4, 2), (2, 5, 3), batch_first=True, bidirectional=True),
    case("LSTM", (3, 4), (5, 3), bias=False),
    case("RNNCell", (3, 4), (2, 3), nonlinearity="relu"),
    case("GRUCell", (3, 4), (2, 3)),
    case("LSTMCell", (3, 4), (2, 3)),
    case("LSTMCell", (3, 4), (3,)),
    case("Flatten", (), (2, 3, 4)),
    case("Flatten", (0, 1), (2, 3, 4)),
    *[case(kind, args, (3, 4)) for kind, args in {
        "ReLU": (), "LeakyReLU": (0.2,), "ELU": (0.7,), "GELU": ("tanh",), "Softplus": (2.0,), "Hardtanh": (-0.5, 0.4),
        "Tanh": (), "Sigmoid": (), "LogSigmoid": (), "SiLU": (), "Softmax": (1,), "LogSoftmax": (0,), "Identity": (),
    }.items()],
    case("MSELoss", (), (3, 4), (3, 4)), case("L1Loss", (), (3, 4), (3, 4), reduction="sum"),
    case("HuberLoss", (), (3, 4), (3, 4), delta=0.5), case("SmoothL1Loss", (), (3, 4), (3, 4), beta=0.5),
    case("MSELoss", (), (3, 4), (3, 4), reduction="none"),
]  # fmt: skip


def numbers_in(result):
    """All arrays in a nest of results."""
    if isinstance(result, tuple | list):
        return [array for part in result for array in numbers_in(part)]
    return [result]


@pytest.mark.filterwarnings("ignore:Using padding=")
@sweep("kind, about", CASES)
def test_values_gradients_and_weights_are_torchs(kind, about):
    for dtype, tolerance in ((np.float64, 1e-11), (np.float32, 2e-5)):
        agree(*about, dtype, tolerance)


def agree(kind, args, settings, shapes, theirs, dtype, tolerance):
    of_torch = getattr(torch.nn, kind)(*args, **settings, **theirs).to(getattr(torch, np.dtype(dtype).name))
    takes_dtype = kind in ("Conv1d", "Conv2d") or kind.startswith(("ConvT", "Batch", "Group", "RNN", "GRU", "LSTM"))
    ours = getattr(nn, kind)(*args, **settings, **({"dtype": dtype} if takes_dtype else {}))
    for array in of_torch.state_dict().values():  # norms start with ones and zeros
        if array.is_floating_point():
            array += 0.3 * torch.rand(array.shape, dtype=array.dtype)
    nn.from_torch(ours, of_torch.state_dict())
    xs = [x_of(*shape).astype(dtype) for shape in shapes]
    for training in (True, False):
        of_torch.train(training)
        ours.train(training)
        given = [torch.tensor(x, requires_grad=True) for x in xs]
        expected, values = numbers_in(of_torch(*given)), [Value(x) for x in xs]
        got = numbers_in(ours(*values))
        weights = [np.random.default_rng(i).normal(size=e.shape).astype(dtype) for i, e in enumerate(expected)]
        if any(e.requires_grad for e in expected):
            ours.zero_grad()
            of_torch.zero_grad()
            sum((torch.tensor(w) * e).sum() for w, e in zip(weights, expected)).backward()
            sum(((w * e).sum() for w, e in zip(weights, got)), 0.0).backward()
        close(kind, [e.detach().numpy() for e in expected], got, tolerance, dtype)
        close(kind, [t.grad.numpy() for t in given], [v.grad for v in values], tolerance, dtype)
        for (name, p), q in zip(ours.named_parameters(), of_torch.parameters(), strict=True):
            close(f"{kind}.{name}", [q.grad.numpy()], [p.grad], 10 * tolerance, dtype)
    state = nn.to_torch(ours)
    assert list(state) == list(of_torch.state_dict()), kind
    for name, array in of_torch.state_dict().items():
        np.testing.assert_allclose(state[name], array.numpy(), rtol=tolerance, atol=tolerance, err_msg=f"{kind}.{name}")
        assert state[name].dtype == array.numpy().dtype, (kind, name)


def close(name, expected, got, tolerance, dtype):
    for e, g in zip(expected, got, strict=True):
        g = getattr(g, "data", g) if isinstance(g, Value) else g
        assert np.shape(g) == e.shape and np.asarray(g).dtype == dtype, name
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_a_given_start_state(kind):
    theirs, ours = getattr(torch.nn, kind)(3, 4, 2), getattr(nn, kind)(3, 4, 2)
    theirs = theirs.double()
    nn.from_torch(ours, theirs.state_dict())
    x, h, c = x_of(5, 2, 3), x_of(2, 2, 4), x_of(2, 2, 4) / 2
    state = (Value(h), Value(c)) if kind == "LSTM" else Value(h)
    given = tuple(torch.tensor(a, requires_grad=True) for a in ((h, c) if kind == "LSTM" else (h,)))
    expected = numbers_in(theirs(torch.tensor(x), given if kind == "LSTM" else given[0]))
    got = numbers_in(ours(x, state))
    close(kind, [e.detach().numpy() for e in expected], got, 1e-12, np.float64)
    sum(e.sin().sum() for e in expected).backward()
    sum((np.sin(e).sum() for e in got), 0.0).backward()
    close(kind, [t.grad.numpy() for t in given], [v.grad for v in numbers_in(state)], 1e-12, np.float64)
    with pytest.raises(HandgradError, match="start state"):
        ours(x, np.zeros((1, 2, 4)) if kind != "LSTM" else np.zeros((2, 2, 4)))


@pytest.mark.parametrize("settings", [{}, {"weight": [1.0, 2.0, 0.5]}, {"ignore_index": 1}, {"reduction": "sum"},
                                      {"weight": [1.0, 2.0, 0.5], "reduction": "none"}])  # fmt: skip
def test_losses_of_classes(settings):
    z, y = x_of(5, 3), np.array([0, 1, 2, 1, 0])
    theirs = {k: torch.tensor(v, dtype=torch.float64) if k == "weight" else v for k, v in settings.items()}
    for ours, other, given in ((nn.CrossEntropyLoss, torch.nn.CrossEntropyLoss, z),
                               (nn.NLLLoss, torch.nn.NLLLoss, nn.functional.log_softmax(z))):  # fmt: skip
        v, t = Value(given), torch.tensor(given, requires_grad=True)
        got, expected = ours(**settings)(v, y), other(**theirs)(t, torch.tensor(y))
        close("loss", [expected.detach().numpy()], [got], 1e-12, np.float64)
        got.sum().backward()
        expected.sum().backward()
        close("loss", [t.grad.numpy()], [v.grad], 1e-12, np.float64)


@pytest.mark.filterwarnings("ignore:reduction")
@pytest.mark.parametrize("reduction", ["mean", "sum", "batchmean", "none"])
def test_kl_div(reduction):
    q, p = nn.functional.log_softmax(x_of(4, 3)), nn.functional.softmax(x_of(3, 4).T)
    p[0, 0] = 0.0
    for log_target in (False, True):
        target = np.log(p + 0.1) if log_target else p
        expected = torch.nn.KLDivLoss(reduction=reduction, log_target=log_target)(torch.tensor(q), torch.tensor(target))
        got = nn.KLDivLoss(reduction, log_target)(q, target)
        close("kl_div", [expected.numpy()], [got], 1e-12, np.float64)


def test_binary_losses():
    z, y = x_of(4, 3), (x_of(3, 4).T > 0).astype(float)
    p = 1 / (1 + np.exp(-z))
    pairs = [(nn.BCELoss()(p, y), torch.nn.BCELoss()(torch.tensor(p), torch.tensor(y))),
             (nn.BCEWithLogitsLoss(pos_weight=2.0)(z, y), torch.nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2.0))(
                 torch.tensor(z), torch.tensor(y)))]  # fmt: skip
    for got, expected in pairs:
        close("loss", [expected.numpy()], [got], 1e-12, np.float64)
