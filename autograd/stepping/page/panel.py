"""One step as HTML: what arrives, what goes to each input in symbols and numbers, the explanations, the next question.

Numbers are tables with drawn brackets; MathML carries fractions and indices only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.expr import Expr
from autograd.formula.lines import Line
from autograd.formula.text import clipped, visible, xml
from autograd.formula.writers.html import (
    BREAK,
    ROOMY,
    MathML,
    after_d,
    infix,
    math,
    number_html,
    slope_mathml,
    symbol_mathml,
    table_width,
    value_html,
)
from autograd.formula.writers.pieces import Number

from .. import questions
from ..folding import Rest
from ..stepper import Stepper
from ..steps import BACKWARD, Contribution, Step
from .live import Live
from .spelling import Spelling

LONGEST_LEDGER = 12  # paths shown before the middle of a long ledger is left out
SAME_AGAIN = "the same as before with other numbers; step(…, collapse=False) shows all of it"
GRADIENT = "hg-gr hg-sm"  # of a number in a table
LONGEST_LINE = 90  # characters of a code line

LEGEND = """<ul class="hg-legend">
<li><span class="hg-can">0.5</span> dashed blue: a number that you can change. Click it or press <kbd>E</kbd>,
type a number, <i>1/2</i> or <i>sqrt(2)</i>; Enter keeps it.</li>
<li><span class="hg-changed">0.5</span> dotted violet: changed by you. <kbd>Ctrl</kbd>+<kbd>Z</kbd> takes it back.</li>
<li>Point at a number of a result: the numbers that it was computed from light up.</li>
<li>Drag the graph to move it, <kbd>+</kbd> <kbd>−</kbd> zoom, <kbd>/</kbd> finds a card.</li></ul>"""



class Panels:
    """The panels of one stepper's steps. With the program of a `live` page, numbers say where it keeps them."""

    def __init__(self, stepper: Stepper, live: Live | None = None) -> None:
        self.stepper, self.words, self.live = stepper, stepper.words, live
        self.numbers = Spelling(live)

    def start(self) -> str:
        """Before the first step: what this is and how to read it."""
        steps = self.stepper.steps
        forward = sum(step.kind != BACKWARD for step in steps)
        backward = len(steps) - forward
        root = xml(self.words.name(self.stepper.root))
        lines = [f"<h2>How {root} comes about, and what changes it</h2>"]
        if not steps:
            lines.append(f"<p>There is nothing to compute: {root} was given. On its own it changes one to one.</p>")
        if forward:
            lines.append(
                f"<p>First <b>forward</b>: {_steps(forward)}. Each computes one card from the cards above it.</p>"
            )
        if backward:
            top = xml(self.words.top)
            slope = math(self._slope_by(after_d("x")), spoken=f"d {self.words.top} by d x")
            meant = f"{top}, which is short for {root}," if self.words.is_of_root and top != root else top
            lines += [
                f'<p>Then <b class="hg-grad-word">backward</b>: {_steps(backward)}. Each sends the gradient of '
                f"{root if self.words.is_of_root else top} one card further up. Everything orange is a gradient.</p>",
                f'<p class="hg-meaning">{slope} says how much {meant} changes when x changes a little. '
                "To pass it on, a card needs only two things: the gradient that arrives, and its own numbers.</p>",
                "<p>Where several paths meet at a card, their gradients are added up, one after the other.</p>",
            ]
        return "".join(lines) + ("" if self.live is None else LEGEND) + self.next_up(0)

    def panel(self, step: Step, button: str = "") -> str:
        """One step; `button` opens it up, where something smaller is inside."""
        body = self.answer(step)
        body = button + body if step.module is not None else body + button
        if isinstance(step.module, Rest):
            body = f'<p class="hg-lab">{SAME_AGAIN}</p>{body}'
        return f"{self._where(step)}{body}{self._explanations(step)}{self.next_up(step.index + 1)}"

    def answer(self, step: Step) -> str:
        """What a step computes, or sends: its lines alone."""
        return "".join(self.parts(step))

    def parts(self, step: Step) -> list[str]:
        """The same in parts: what arrives and what is computed on the way, then what goes to each input."""
        return self._backward(step) if step.kind == BACKWARD else [self._forward(step)]

    # --- parts ----------------------------------------------------------------------------------------------------

    def _where(self, step: Step) -> str:
        line, source = step.twin.line or "", ""
        found = re.match(r"(.*?:\d+):? ?(.*)", line)
        code = step.reading
        if found:
            source = f"<i>{xml(found[1])}</i> "
            code = found[2] or code
        return (
            f'<p class="hg-where"><b>{xml(step.title)}</b>'
            f'<span class="hg-code">{source}{xml(clipped(visible(code), LONGEST_LINE))}</span></p>'
        )

    def _forward(self, step: Step) -> str:
        if not step.lines:
            inner = self._gives(step)
            return f'<section class="hg-to"><h3>module <b>{xml(step.name)}</b> gives</h3>{inner}</section>'
        guess = self.numbers.guess(step.value, step.name, self.numbers.value(step.twin))
        return f'<section class="hg-to"><h3>computes <b>{xml(step.name)}</b></h3>{self._lines(step)}{guess}</section>'

    def _gives(self, step: Step) -> str:
        """What leaves a whole module: its result, or several by name."""
        tint = "hg-sm hg-answer" if len(step.exits) > 1 else "hg-answer"
        numbers = [self.numbers.kept(value_html(self.words.data(x), tint), self.numbers.value(x), tint)
                   for x in step.exits]  # fmt: skip
        if len(numbers) == 1:
            return f'<div class="hg-line">{numbers[0]}</div>'
        rows = (f"<tr><td>{xml(self.words.name(x))}</td><td>{one}</td></tr>" for x, one in zip(step.exits, numbers))
        return f'<table class="hg-ledger"><tbody>{"".join(rows)}</tbody></table>'

    def update(self, step: Step) -> str:
        """The update of one parameter."""
        return f'<section class="hg-to"><h3>moves <b>{xml(step.name)}</b></h3>{self._lines(step)}</section>'

    def _lines(self, step: Step) -> str:
        """The lines that lead to a value, in symbols and numbers."""
        *named, last = step.lines
        name, made = self._written(self.words.symbol(step.twin)), self._written(last.formula)
        sides = [made] if name == made else [name, f"{infix(last.sign)}{made}"]  # without a name, by its formula
        symbols = math(*sides, spoken=f"{step.name} {last.sign} {self.words.names.written(last.formula)}")
        return f'{self._named(step, named)}<div class="hg-sym">{symbols}</div>{self.numbers.line(step, last)}'

    def _named(self, step: Step, lines: list[Line]) -> str:
        """The steps that a rule or a definition names, one below the other."""
        rows = []
        for line in lines:
            name = line.result.name
            formula = f"{infix(line.sign)}{self._written(line.formula)}"
            symbols = math(formula, spoken=f"{name} {line.sign} {self.words.names.written(line.formula)}")
            says = f'<span class="hg-says">{xml(line.says)}</span>' if line.says else ""
            numbers = self.numbers.line(step, line)
            rows.append(
                f'<div class="hg-named"><div class="hg-name">{math(symbol_mathml(name), spoken=name)}</div>'
                f'<div class="hg-does"><div class="hg-sym">{symbols}{says}</div>{numbers}</div></div>'
            )
        return f'<div class="hg-lines">{"".join(rows)}</div>' if rows else ""

    def _backward(self, step: Step) -> list[str]:
        if len(step.arrivals) > 1:
            return [self._arrivals(step), self._module(step)]
        slope = self.slope(step.twin)
        arrived = number_html(step.printed(step.arrives), "hg-gr")
        number = self.numbers.kept(arrived, self.numbers.gradient(step.twin), "hg-gr")
        hooked = ", from a hook" if step.starts_hooked else ""
        arrives = (
            f'<div class="hg-eq"><span class="hg-lab">arrives at {xml(step.name)}{hooked}</span><div class="hg-line">'
            f'{slope}<span class="hg-q"><span class="hg-op">=</span>{number}</span></div></div>'
        )
        if step.module is not None:
            return [arrives + self._module(step)]
        own = {id(contribution.line.result) for contribution in step.contributions if contribution.line is not None}
        named = self._named(step, [line for line in step.lines if id(line.result) not in own])
        if named:
            named = f'<section class="hg-to"><h3>on the way</h3>{named}</section>'
        sections = [self._contribution(contribution) for contribution in step.contributions]
        if not sections:
            sections = ['<p class="hg-lab">No input asks for a gradient: this path ends here.</p>']
        return [arrives + named, *sections]

    def _arrivals(self, step: Step) -> str:
        """What arrives at each result of a whole module."""
        rows = "".join(
            f"<tr><td>{xml(self.words.name(e.node))}</td><td>"
            f"{self.numbers.kept(value_html(e.value, GRADIENT), self.numbers.gradient(e.node), GRADIENT)}</td></tr>"
            for e in step.arrivals
        )
        return (
            f'<div class="hg-eq"><span class="hg-lab">arrives at {xml(step.name)}</span>'
            f'<table class="hg-ledger"><tbody>{rows}</tbody></table></div>'
        )

    def _module(self, step: Step) -> str:
        """A whole module at once: what leaves it, its inputs first, then its parameters."""
        sent = sorted(step.contributions, key=lambda contribution: contribution.twin.op is None)
        tint = "hg-gr hg-sm hg-answer"
        rows = "".join(
            f"<tr><td>{xml(self.words.name(c.twin))}</td>"
            f"<td>{self.numbers.kept(value_html(c.added.value, tint), self.numbers.added(c)[0], tint)}</td>"
            f"<td>{self.numbers.kept(value_html(c.summed.value, tint), self.numbers.added(c)[1], tint)}</td></tr>"
            for c in sent
        )
        return (
            f'<section class="hg-to"><h3>all that <b>{xml(step.name)}</b> sends</h3><table class="hg-ledger"><thead>'
            f"<tr><th>to</th><th>adds</th><th>total</th></tr></thead><tbody>{rows}</tbody></table></section>"
        )

    def _contribution(self, contribution: Contribution) -> str:
        name = self.words.name(contribution.twin)
        chip = f"path {contribution.path} of {contribution.paths}" if contribution.paths > 1 else "only path"
        head = f'<h3>to <b>{xml(name)}</b> <span class="hg-chip">{chip}</span></h3>'
        line = contribution.line
        assert line is not None
        numbers = self.numbers.line(contribution.step, line)
        added, _ = self.numbers.added(contribution)
        slope, slips = self.words.slope(contribution.twin), _slips(contribution)
        guess = self.numbers.guess(contribution.value, slope, added, slips)
        small = self._why_little(contribution)
        symbols = f'<div class="hg-sym">{self._rule(contribution, self._general(contribution))}</div>'
        rest = f"{small}{self._ledger(contribution)}"
        if contribution.left is not None:
            left = value_html(contribution.left, "hg-gr")
            rest += f'<div class="hg-line"><span class="hg-lab">a hook makes it</span>{left}</div>'
        return f'<section class="hg-to">{head}{symbols}{numbers}{guess}{rest}</section>'

    def _why_little(self, contribution: Contribution) -> str:
        """Why next to nothing is sent, if so. A page asks again when numbers were changed."""
        little, op = questions.why_sent_little(contribution), contribution.step.twin.op
        added = self.numbers.added(contribution)[0]
        if added is None or op is None:
            return _question("why so little?", little) if little else ""
        told = op.about.small if isinstance(op.about.small, str) else ""
        mark = f' data-little="{added.number}" data-op="{xml(op.name)}" data-told="{xml(told)}"'
        mark += self.numbers.around(contribution)
        return _question("why so little?", little, mark + " hidden" * (not little))

    def _general(self, contribution: Contribution) -> list[str]:
        """For plain numbers the chain rule in its general form, before the op's own."""
        step, line = contribution.step, contribution.line
        assert line is not None
        if np.ndim(step.value) or np.ndim(contribution.value) or line.formula.op is None or len(contribution.lines) > 1:
            return []
        here, there = self._after_d(step.twin), self._after_d(contribution.twin)
        if contribution.operand != self.words.name(contribution.twin):  # one of several, by number
            there = after_d(contribution.operand)
        return [f"{self._slope_by(here)}{BREAK}{infix('·')}{slope_mathml(here, there)}"]

    def _rule(self, contribution: Contribution, general: Sequence[str] = ()) -> str:
        slope = self._slope_by(self._after_d(contribution.twin))
        assert contribution.line is not None
        first, *others = [*general, self._written(contribution.line.formula)]
        sides = [slope, f"{infix('+=')}{first}", *(f"{infix('=')}{side}" for side in others)]
        return math(*sides, spoken=contribution.own_symbols)

    def _written(self, formula: Expr) -> str:
        return MathML(self.words.top, self.words.symbol).write_formula(formula)

    def _ledger(self, contribution: Contribution) -> str:
        """Every path that meets at the parent: done, now, to come. Of those done the total if not all sums come out."""
        if contribution.paths < 2:
            return ""
        entries = self.stepper.received[contribution.twin]
        if len(entries) > LONGEST_LEDGER:
            entries = [one for one in entries if abs(one.path - contribution.path) < LONGEST_LEDGER // 2]
        earlier, later = entries[0].path - 1, contribution.paths - entries[-1].path
        rows = [self._ledger_row(entry, contribution) for entry in entries]
        rows.insert(entries.index(contribution), self._done_so_far(contribution))
        if earlier:
            rows.insert(0, self._row(contribution, "whole", f'<td colspan="3">{_paths(earlier)} before</td>'))
        if later:
            rows.append(f'<tr class="hg-todo"><td colspan="3">and {_paths(later)} more</td></tr>')
        slope = xml(self.words.slope(contribution.twin))
        wide = " hg-wide" if _is_wide(contribution) else ""
        mark = self.numbers.ledger(contribution)
        return (
            f'<table class="hg-ledger{wide}"{mark}><caption>ledger of {slope}</caption><thead><tr><th>path</th>'
            f"<th>adds</th><th>total</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
        )

    def _ledger_row(self, entry: Contribution, now: Contribution) -> str:
        via = f'<span class="hg-via">via </span>{xml(entry.via)}'
        if entry.path > now.path:
            return f'<tr class="hg-todo"><td>{via}</td><td>to come</td><td>—</td></tr>'
        tint = "hg-gr hg-sm hg-answer" if entry is now else "hg-gr hg-sm"
        added = self.numbers.kept(number_html(now.step.printed(entry.added), tint), self.numbers.added(entry)[0], tint)
        cells = f"<td>{via}</td><td>{added}</td><td>{self._total(entry, now)}</td>"
        return f'<tr class="hg-now">{cells}</tr>' if entry is now else self._row(now, "whole", cells)

    def _done_so_far(self, now: Contribution) -> str:
        """The rows that stand for those of the paths before, where there are not digits enough to add them all up."""
        if now.previous is None:
            return ""
        paths = f"{_paths(now.path - 1)} before"
        total = self._row(now, "last", f"<td>{paths}</td><td></td><td>{self._total(now.previous, now)}</td>")
        says = "the sum takes more digits than fit here"
        return total + self._row(now, "none", f'<td colspan="3">{paths}; {says}</td>')

    def _row(self, now: Contribution, shows: str, cells: str) -> str:
        """A row that is there while the ledger `shows` so much of the paths before; a page asks again when numbers were
        changed."""
        is_there = now.shows_before == shows
        mark = f' data-shows="{shows}"{"" if is_there else " hidden"}' if self.live is not None else ""
        state = "hg-todo" if shows == "none" else "hg-past"
        return f'<tr class="{state}"{mark}>{cells}</tr>' if is_there or mark else ""

    def _total(self, entry: Contribution, now: Contribution) -> str:
        """The total with one contribution; in the row of this step with the entries marked that it changes."""
        before = entry.previous if entry is now else None
        tint = "hg-gr hg-sm hg-answer" if entry is now else "hg-gr hg-sm"
        changed_from = None if before is None else before.summed.value
        earlier = None if before is None else self.numbers.added(before)[1]
        number = number_html(now.step.printed(entry.summed), tint, changed_from)
        return self.numbers.kept(number, self.numbers.added(entry)[1], tint, earlier)

    def _explanations(self, step: Step) -> str:
        answers = [("why now?", questions.why_now(self.stepper, step))]
        if step.kind == BACKWARD:
            rule = questions.why_this_rule(step)
            if rule:
                answers.insert(0, ("why this rule?", "\n".join(rule)))
            for contribution in step.contributions:
                if contribution.paths > 1 and contribution.path > 1:
                    text = questions.why_plus(self.stepper, contribution.twin).removeprefix("Why +=: ")
                    answers.append(("why +=?", text))
                    break
        asked = [_question(question, answer) for question, answer in answers]
        bad = self._why_bad(step)
        if bad or self.live is not None:
            question = "why NaN?" if "NaN" in bad.partition(":")[0] else "why infinite?"
            asked.append(_question(question, bad.partition(": ")[2], " data-bad" + " hidden" * (not bad)))
        return f'<section class="hg-why">{"".join(asked)}</section>'

    def _why_bad(self, step: Step) -> str:
        if step.kind != BACKWARD:
            return "" if np.all(np.isfinite(step.value)) else questions.why_bad_value(step.twin)
        bad = next((c for c in step.contributions if not np.all(np.isfinite(c.value))), None)
        if bad is None:
            return ""
        return questions.why_bad_value(self.stepper.root) or questions.why_bad_gradient(self.stepper, bad.twin)

    def next_up(self, position: int) -> str:
        """The question for the next step, with all that is needed to answer it."""
        if position >= len(self.stepper):
            return self._finish()
        step = self.stepper.steps[position]
        if step.kind != BACKWARD:
            asked = f"<b>Next</b> {xml(step.reading)}. {questions.asked_of(step)}"
            return f'<div class="hg-next hg-asks"><p>{asked}</p></div>'
        first = (
            " Backprop starts here, with " + self.slope(step.twin) + " = 1."
            if step.number == 1 and np.ndim(step.incoming) == 0 and step.incoming == 1
            else ""
        )
        question = questions.asked_of(step, lambda name: f"<b>{xml(name)}</b>")
        rules = "".join(f'<div class="hg-sym">{self._rule(c)}</div>' for c in step.contributions if len(c.lines) == 1)
        return f'<div class="hg-next hg-asks"><p><b>Next</b> {xml(step.reading)}.{first} {question}</p>{rules}</div>'

    def _finish(self) -> str:
        known = self.stepper.walk.incoming
        leaves = [node for node in self.stepper.walk.nodes if node.op is None and node in known]
        sent = self.stepper.received
        known = {leaf: sent[leaf][-1].on_card if sent.get(leaf) else known[leaf] for leaf in leaves}
        if not leaves:
            return '<div class="hg-next"><p><b>Done.</b> Every card has its value.</p></div>'
        rows, tint = [], "hg-gr hg-sm"
        for leaf in leaves[:LONGEST_LEDGER]:
            number = self.numbers.kept(value_html(known[leaf], tint), self.numbers.gradient(leaf), tint, as_card=True)
            rows.append(f"<tr><td>{xml(self.words.name(leaf))}</td><td>{number}</td></tr>")
        wide = " hg-wide" if any(table_width(Number(known[leaf])) > ROOMY - 8 for leaf in leaves) else ""
        if len(leaves) > LONGEST_LEDGER:
            rows.append(f'<tr><td colspan="2">and {len(leaves) - LONGEST_LEDGER} more</td></tr>')
        told = "These are the numbers that <code>backward()</code> leaves in <code>.grad</code>."
        if self.stepper.stands_for:  # of what is inside a module
            told = "This is what the module sends; where other paths meet it, they are added outside."
        table = f'<table class="hg-ledger{wide}"><tbody>{"".join(rows)}</tbody></table>'
        return f'<div class="hg-next"><p><b>Done.</b> {told}</p>{table}</div>'

    def slope(self, node: Any) -> str:
        return math(self._slope_by(self._after_d(node)), spoken=self.words.slope(node))

    def _slope_by(self, below: str) -> str:
        """The gradient of the root by what `after_d` wrote."""
        return slope_mathml(symbol_mathml(self.words.top), below)

    def _after_d(self, node: Value) -> str:
        return MathML(self.words.top, self.words.symbol).below(node)


def _slips(contribution: Contribution) -> list[tuple[str, Any]]:
    """The wrong rules that the op's block lists, each with what it teaches and the number that it gives."""
    step, op, found = contribution.step, contribution.step.twin.op, []
    if op is None or contribution.place != 0:
        return []
    for slip in op.about.slips:
        if slip.rule is not None:
            x, *others = (one.data if isinstance(one, Value) else one for one in step.twin.inputs)
            try:
                found.append((slip.teaches, slip.rule(step.incoming, step.value, x, *others, **op.settings)))
            except Exception:  # a rule on formulas alone
                continue
    return found


def _question(question: str, answer: str, marks: str = "") -> str:
    written = "<br>".join(map(xml, answer.split("\n")))
    return f"<details{marks}><summary>{question}</summary><p>{written}</p></details>"


def _is_wide(now: Contribution) -> bool:
    """Are its tables too wide to stand beside one another?"""
    rows = now.ledger() if now.shows_before == "whole" else now.ledger()[-2:]
    return any(sum(table_width(now.step.printed(q)) for q in (one.added, one.summed)) > ROOMY - 8 for one in rows)


def _paths(number: int) -> str:
    return f"{number} path{'s' if number != 1 else ''}"


def _steps(number: int) -> str:
    return f"{number} step{'s' if number != 1 else ''}"
