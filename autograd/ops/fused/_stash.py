"""Stash: what a fused op's forward keeps for its rule.

A forward function may leave what its rule will need again (attention's weights, a normalised row) in a stash: the rule
takes it from there when it runs on numbers, and builds it from ops when it runs on Values.
"""

import weakref

from autograd.modes import modes


class Stash:
    """Intermediate results kept beside an op's output until its rule takes them, or that output is gone."""

    def __init__(self):
        self._kept = {}

    def keep(self, out, saved):
        """Remember `saved` for the rule, until the array `out` is gone."""
        if not modes.recording:  # no rule will come for it
            return
        note = _Note(out, self._forget)
        note.saved = saved
        note.taken = False
        note.key = key = id(out)
        self._kept[key] = note

    def take(self, out, compute):
        """What was kept beside `out`; `compute()`, if nothing was.

        The first call takes it out: when the rule is done, the memory is free for the rules that run next, while it
        is still in the processor's cache. A second call computes it again and keeps it, since there may be a third.
        """
        note = self._kept.get(id(out))
        if note is None or note() is not out:
            return compute()
        saved = note.saved
        if not note.taken:
            note.taken, note.saved = True, None
        elif saved is None:
            note.saved = saved = compute()
        return saved

    def _forget(self, note):
        self._kept.pop(note.key, None)


class _Note(weakref.ref):
    """A weak reference to an array, with what was kept beside it."""

    __slots__ = ("key", "saved", "taken")
    key: int
    saved: object
    taken: bool
