"""Tensors that share memory: views, detach, .data, writing in place. Forward was never the trouble; gradients were."""

import pytest

torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)")

from torch.nn import functional as F  # noqa: E402

from tests.autograd.capturing.against_torch import assert_same_run  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_float64")


def write_to_a_view(x):
    y = x * 2
    row = y[0]
    row.mul_(3)
    return y**2


def write_to_the_base(x):
    y = x * 2
    row = y[0]
    y.mul_(3)
    return row**2


def write_to_a_twisted_view(x):
    y = (x * 2).transpose(0, 1)
    part = y[1:, ::2]
    part.copy_(x[:2].mT[1:] * 3)
    return y.contiguous() ** 2


def two_views_that_overlap(x):
    y = x * 1.5
    a, b = y[:, :3], y[:, 1:]
    a.add_(x[:, :3])
    b.mul_(2)
    return a * y[:, :3] + b[:, :3]


def a_view_beside_what_is_written(x):
    y = x * 1.5
    a = y[:, :1]
    b = a * 2
    y[:, 2:].mul_(3)
    return (a * b).sin() + y[:, 1:]


def view_without_a_known_base(x):
    y = x * 2
    window = torch.as_strided(y, (2, 2), (4, 1), 1)
    return window**3 + y.unfold(1, 2, 1).sum(-1)[:2, :2]


def write_to_a_view_without_a_known_base(x):
    y = x * 2
    torch.as_strided(y, (2, 2), (4, 1), 1).mul_(x[:2, :2])
    return y.sin()


def detached_then_written(x):
    y = x * 2
    twin = y.detach()
    y.add_(1)
    return y * twin.sin()


def edited_without_gradient(x):
    y = x * 2
    with torch.no_grad():
        y.add_(1)
    return y.sin()


def edited_through_data(x):
    y = x * 2
    y.data.mul_(5)
    return (y * 3).sin()


def edited_through_a_detached_view(x):
    y = x * 2
    y.detach()[0].zero_()
    return (y + 1).exp()


def filled_row_by_row(x):
    out = torch.empty(3, 4)
    for i in range(3):
        out[i] = x[i] * (i + 1)
    return out.exp()


def part_of_it_stays_plain(x):
    out = torch.ones(3, 4)
    out[1:, :2] = x[:2, :2]
    return out * x


def zeroed_in_part(x):
    y = x * 2
    y[x > 0] = 0
    y[:, 3].zero_()
    return y**2


def filled_with_a_number_that_has_a_gradient(x):
    y = x * 2
    y[0] = x.sum()
    return y.cos()


def index_put_added(x):
    y = torch.zeros(4)
    y.index_put_((torch.tensor([0, 2, 2]),), x[:, 0], accumulate=True)
    return y.exp()


def relu_of_the_input_itself(x):
    F.relu_(x)
    return x * 2


def out_of_place_after_in_place(x):
    y = x * x
    z = y.view(-1)
    z += 1
    return y.view(2, 6).log() * z.view(2, 6)


def squeezed_in_place(x):
    y = (x * 2).unsqueeze(0)
    y.squeeze_(0)
    y.t_()
    return y**2


def split_and_written(x):
    y = x * 1.0
    a, b = y.tensor_split(2, dim=1)
    a = a + 1
    return torch.cat([b, a], dim=1).sin()


def numbers_then_a_sum_in_parts(x):
    y = x * 2
    y[0] = 0.0
    y[1] += 1
    return y**2 + x


def a_zeroed_part_then_all_of_it(x):
    y = x * 2
    y[:2].zero_()
    return F.relu_(y) + x


def all_of_it_zeroed(x):
    y = x * 2
    y.zero_()
    return (y + 1) * x


def zeroed_through_a_view(x):
    y = x * 2
    y.view(-1).zero_()
    y.add_(1)
    return y * x


def filled_then_added_to(x):
    y = x * 2
    y.fill_(3.0).add_(x)
    return y**2


def a_mask_written_through_its_data(x):
    mask = x > 0
    mask.data[0] = True
    return x * mask


def written_under_its_data(x):
    y = x * 2
    now = y.data
    y.mul_(3)
    return y * now


CASES = [f for f in list(globals().values()) if getattr(f, "__code__", None) and f.__code__.co_varnames[:1] == ("x",)]


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_gradients_through_shared_memory_are_those_of_torch(f):
    run = assert_same_run(f, torch.randn(3, 4))
    found = run.compare()
    assert found.ok, found
    assert not run.opaque
