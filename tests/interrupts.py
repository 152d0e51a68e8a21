"""Interrupting a call at every moment, or at random ones: what Ctrl-C in a notebook does.

    for _ in at_every_moment(lambda: loss.backward()):
        ...  # the call was interrupted here or there: look at what it left, and call it again

CPython runs signal handlers when a function begins, when a call has returned and when a loop goes back, and nowhere
else. `at_every_moment` raises at each of these moments in turn, so it leaves none out; `at_random_moments` sends real
signals, which also strike inside NumPy's calls and Python's own library.
"""

import dis
import functools
import random
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OURS = (str(ROOT / "autograd"), str(ROOT / "nn"))


class Interrupt(BaseException):
    """What is raised, as KeyboardInterrupt would be: no `except Exception` stops it."""


def at_every_moment(work, prepare=lambda: None, every=1, where=OURS):
    """Call `work` again and again, interrupted at its first moment, its second, and so on until it gets through.

    Yields the number of the moment after each interrupted call. `prepare` is called before each and never
    interrupted. `every=7` tries each seventh moment alone. Only moments in files below the folders `where` count.
    """
    moment = 0
    prepare()
    # The exception is kept till the next one, as a notebook keeps the last: generators that it left are not closed yet.
    while _kept := _interrupted(work, moment, where):
        yield moment
        moment += every
        prepare()


def _interrupted(work, moment, where):
    """Call `work` and raise at its moment number `moment`; the exception, or whether that was reached."""
    left = moment

    def here():
        nonlocal left
        left -= 1
        if left < 0:
            sys.settrace(None)
            raise Interrupt

    def watch(frame, event, _):  # a function begins, or a generator goes on
        if not frame.f_code.co_filename.startswith(where):
            return None
        watch_inside = inside(*_of_code(frame.f_code))
        frame.f_trace = watch_inside  # Python 3.13 asks for it before the next line
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        here()
        return watch_inside

    def inside(looks, handler):
        before = None  # the instruction that ran last

        def watch_inside(frame, event, _):
            nonlocal before
            if event == "opcode":
                now = frame.f_lasti
                # The exception of a signal belongs to the instruction before. A trace can only raise at the one after,
                # which is no true picture if that lies outside a `try` or `with` that the one before is in.
                if before in looks and handler(before) == handler(now):
                    here()
                before = now
            return watch_inside

        return watch_inside

    old = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 looks at this when tracing begins
    sys.settrace(watch)
    try:
        work()
    except Interrupt as error:
        return error
    finally:
        sys.settrace(old)
    return left < 0  # also where Python dropped the exception, in a generator that was being closed


_known = {}  # by identity: to hash a code object takes longer than all the rest


def _of_code(code):
    """After which instructions of a function CPython looks for signals, and where an exception at one goes."""
    if id(code) not in _known:
        instructions = dis.get_instructions(code)
        looks = {i.offset for i in instructions if i.opname.startswith("CALL") or "BACKWARD" in i.opname}
        entries = dis._parse_exception_table(code)

        @functools.cache
        def handler(at):
            return next((e.target for e in reversed(entries) if e.start <= at < e.end), None)

        _known[id(code)] = code, (looks, handler)
    return _known[id(code)][1]


needs_signals = pytest.mark.skipif(
    not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread(),
    reason="this system has no interval timer",
)


def strike():
    raise Interrupt


def press_ctrl_c():
    signal.raise_signal(signal.SIGINT)


def at_random_moments(work, times, prepare=lambda: None, seed=0, action=strike):
    """Call `work` `times` times, each after `prepare()`, and interrupt each by a signal at a random moment.

    Yields whether it ended in an exception: where the signal came late, where Python dropped its exception, or where
    `work` answers a `press_ctrl_c` itself, it does not.
    """
    rng = random.Random(seed)
    armed = False

    def handler(number, frame):
        nonlocal armed
        if armed:  # a signal may come late, after the work has ended
            armed = False
            action()

    prepare()
    start = time.process_time()
    work()
    longest = time.process_time() - start  # of the processor: on a busy machine the signals would come too late
    old = signal.signal(signal.SIGALRM, handler)
    # In a process that a script started in the background, Ctrl-C is ignored.
    old_ctrl_c = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for _ in range(times):
            hit = False
            prepare()
            start = time.process_time()
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, max(rng.uniform(0, 1.1 * longest), 1e-6))
                work()
                armed = False
                longest = 0.9 * longest + 0.1 * (time.process_time() - start)
            except (Interrupt, KeyboardInterrupt):
                hit = True
            finally:
                armed = False
                signal.setitimer(signal.ITIMER_REAL, 0)
            yield hit
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
        signal.signal(signal.SIGINT, old_ctrl_c)
