"""Stash: what a fused op's forward keeps for its rule."""

import weakref


class Stash:
    """Intermediate results kept beside an op's output for as long as that output lives."""

    def __init__(self):
        self._kept = {}

    def keep(self, out, saved):
        """Remember `saved` until the array `out` is gone."""
        note = _Note(out, self._forget)
        note.saved = saved
        note.key = key = id(out)
        self._kept[key] = note

    def find(self, out):
        """What was kept beside `out`, or None."""
        note = self._kept.get(id(out))
        return note.saved if note is not None and note() is out else None

    def _forget(self, note):
        self._kept.pop(note.key, None)


class _Note(weakref.ref):
    """A weak reference to an array, with what was kept beside it."""

    __slots__ = ("key", "saved")
    key: int
    saved: object
