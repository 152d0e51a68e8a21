"""Stash: what a fused op's forward keeps for its rule."""

import weakref


class Stash:
    """Intermediate results kept beside an op's output for as long as that output lives."""

    def __init__(self):
        self._kept = {}

    def keep(self, out, saved):
        """Remember `saved` until the array `out` is gone."""
        key = id(out)
        self._kept[key] = (weakref.ref(out, lambda _: self._kept.pop(key, None)), saved)

    def find(self, out):
        """What was kept beside `out`, or None."""
        kept = self._kept.get(id(out))
        return kept[1] if kept is not None and kept[0]() is out else None
