"""One test over many cases: as cheap as a loop, and it names every case that fails.

    @sweep("op, sample", cases(), ids=case_name, slow=lambda op, sample: sample is not op.samples[0])
    def test_something(op, sample):
        ...

It reads like `pytest.mark.parametrize`, but makes one item or two: `[first]`, and `[rest]` with the slow cases.
An item of pytest costs milliseconds in every worker before anything is tested; thousands of generated ones would take
longer than what they test. `pytest -k tanh` runs only the cases that have this word in their name.
"""

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest


@dataclass
class Part:
    """The cases of one item: a tuple of values each. `ids` names a value."""

    cases: list
    ids: Callable

    def name(self, case):
        return "-".join(word for value in case if (word := str(self.ids(value))))

    def narrow(self, words):
        """Keep the cases that have one of the words in their names, if there are any."""
        chosen = [case for case in self.cases if any(word in self.name(case).lower() for word in words)]
        self.cases = chosen or self.cases


def sweep(names, cases, *, ids=str, slow=lambda *case: False):
    """Turn a test of one case into a test of all: `names` are its arguments, `ids` names a value of one."""
    arguments = [name.strip() for name in names.split(",")]
    parts = {"first": [], "rest": []}
    for case in cases:
        values = tuple(case) if len(arguments) > 1 else (case,)
        parts["rest" if slow(*values) else "first"].append(values)
    marks = {"first": (), "rest": pytest.mark.slow}
    parameters = [pytest.param(Part(found, ids), id=key, marks=marks[key]) for key, found in parts.items() if found]

    def decorate(test):
        @functools.wraps(test)
        def over_all(*self, swept, **fixtures):
            run_all(lambda case: test(*self, **dict(zip(arguments, case, strict=True)), **fixtures), swept)

        signature = inspect.signature(test)
        kept = [p for p in signature.parameters.values() if p.name not in arguments]
        swept = inspect.Parameter("swept", inspect.Parameter.KEYWORD_ONLY)
        over_all.__signature__ = signature.replace(parameters=[*kept, swept])
        return pytest.mark.parametrize("swept", parameters)(over_all)

    return decorate


def run_all(test, part):
    """Run every case, then raise what failed, all together."""
    failed, skipped = {}, []
    for case in part.cases:
        try:
            test(case)
        except pytest.skip.Exception as reason:
            skipped.append(f"{part.name(case)}: {reason}")
        except (Exception, pytest.fail.Exception) as problem:
            failure = problem if isinstance(problem, Exception) else AssertionError(str(problem))
            failure.add_note(f"in the case {part.name(case)}")
            failed[part.name(case)] = failure
    if failed:
        said = f"{len(failed)} of {len(part.cases)} cases failed: {', '.join(failed)}"
        raise ExceptionGroup(said, list(failed.values()))
    if len(skipped) == len(part.cases):
        pytest.skip(skipped[0])


def answer_keywords(items, keyword):
    """Let `pytest -k` find the names of cases too, and run only the cases that it finds."""
    words = re.findall(r"\w+", keyword.lower())
    for item in items:
        part = item.callspec.params.get("swept") if hasattr(item, "callspec") else None
        if part is not None:
            item.extra_keyword_matches.update(map(part.name, part.cases))
            if "not" not in words:
                part.narrow(words)


def slow_but(cases, quick):
    """Cases for `parametrize`, all of them slow but those in `quick`."""
    return [case if case in quick else pytest.param(case, marks=pytest.mark.slow) for case in cases]
