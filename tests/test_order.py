"""Every test is run once, and what is dear is dealt out first."""

from collections import Counter
from types import SimpleNamespace

import pytest

from tests.order import HERE, SECONDS, dealt


def items_of(**counts):
    return [
        SimpleNamespace(path=HERE / path.replace("__", "/"), number=i) for path, n in counts.items() for i in range(n)
    ]


def test_each_dear_file_is_there():
    assert [name for name in SECONDS if not (HERE / name).is_file()] == []


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_dear_files_come_first_and_stay_whole(workers):
    dear = sorted(SECONDS, key=SECONDS.get, reverse=True)[:4]
    items = items_of(first=50, **{name.replace("/", "__"): 5 for name in dear}, last=51)
    new = dealt(items, workers)
    assert Counter(map(id, new)) == Counter(map(id, items))
    parts = [new[len(new) * i // workers : len(new) * (i + 1) // workers] for i in range(workers)]
    of_parts = [list(dict.fromkeys(item.path for item in part)) for part in parts]
    for name in dear:
        assert sum(HERE / name in of_part for of_part in of_parts) == 1
    for of_part in of_parts:
        names = [path in [HERE / name for name in dear] for path in of_part]
        assert names == sorted(names, reverse=True) and any(names)


def test_what_is_cheap_stays_in_its_order():
    items = items_of(one=7, other=4)
    assert dealt(items, 2) == items


def test_a_file_larger_than_a_part():
    items = items_of(**{"test_tools.py": 20}, one=2)
    assert dealt(items, 3) == items


def test_the_order_is_asked_for(pytestconfig):
    """pytest only sees hooks whose names begin with pytest_."""
    hooks = pytestconfig.hook.pytest_collection_modifyitems.get_hookimpls()
    assert "dealt" in {name for hook in hooks for name in hook.function.__code__.co_names}
