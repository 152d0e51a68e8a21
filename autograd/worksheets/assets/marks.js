"use strict";
// What the page says about the answers: a sign in each field, a verdict on each step, the first wrong number explained.
(() => {
  const { data, fields, fieldOf, texts, whenCleared, $ } = page;
  const sheet = marking.prepared(data.marking);
  const fieldFor = (blank) => fieldOf.get(blank.id) ?? fieldOf.get(blank.part.name);
  const blanksOf = new Map();
  for (const blank of sheet.blanks) blanksOf.set(fieldFor(blank), [...(blanksOf.get(fieldFor(blank)) ?? []), blank]);
  const asSlope = (id) => (sheet.called[id] ?? id).replace(/^d(.*?)\/d/, "∂$1/∂");
  const SIGNS = { right: "✓", follows: "↳", wrong: "✗", missing: "◌" };
  const ORDER = ["wrong", "follows", "right", "missing"];    // a step has the verdict of its worst entry
  const element = (tag, className, text) => Object.assign(document.createElement(tag), { className, textContent: text });

  function show() {
    const marks = marking.mark(sheet, texts());
    for (const [field, blanks] of blanksOf) showField(field, blanks, marks);
    const steps = stepsOf(marks);
    for (const step of steps) showStep(step, marks);
    showScore(steps, marks);
    showFirst(marks);
  }
  function showField(field, blanks, marks) { // of a whole matrix, its worst entry
    const cell = field.parentElement, entries = blanks.map((blank) => marks.entries.get(blank.id));
    const worst = entries.some((entry) => entry.problem) ? "problem" : ORDER.find((v) => entries.some((entry) => entry.verdict === v));
    if (worst === marking.MISSING) delete cell.dataset.verdict; else cell.dataset.verdict = worst;
    const said = blanks.map((blank, i) => [blank, entries[i]]).filter(([, entry]) => entry.problem || entry.note || (blanks.length > 1 && entry.verdict === marking.WRONG));
    const words = said.map(([blank, entry]) => `${blanks.length > 1 && !entry.problem ? `${asSlope(blank.id)}: ` : ""}${entry.problem || entry.note || entry.verdict}`);
    cell.title = [...new Set(words)].join("; ");
    const name = asSlope(field.dataset.id);
    field.setAttribute("aria-label", [name, worst === marking.MISSING ? "" : worst, cell.title].filter(Boolean).join(", "));
    field.setAttribute("aria-invalid", worst === marking.WRONG || worst === "problem");
  }
  function stepsOf(marks) {
    const found = new Map();
    for (const blank of sheet.blanks) {
      const { step } = blank.part, entry = marks.entries.get(blank.id);
      found.set(step, [...(found.get(step) ?? []), entry]);
    }
    return [...found].map(([number, entries]) => {
      const left = entries.filter((entry) => entry.verdict === marking.MISSING).length;
      const verdict = ORDER.find((verdict) => entries.some((entry) => entry.verdict === verdict));
      const used = new Set(entries.filter((entry) => entry.verdict === marking.FOLLOWS).flatMap((entry) => entry.used));
      const from = new Set(sheet.blanks.filter((blank) => used.has(blank.id)).map((blank) => blank.part.step));
      from.delete(number);
      const said = new Set(entries.map((entry) => entry.problem || entry.note).filter(Boolean));
      const counts = entries.some((entry) => entry.verdict === marking.FOLLOWS && entry.credit);
      return { number, counts, said: [...said], verdict: left && verdict === "right" ? "missing" : verdict, left, count: entries.length, from: [...from] };
    });
  }
  function showStep({ number, verdict, said, left, count, from }, marks) {
    const box = $(`step${number}`), label = box.querySelector(".verdict");
    const isFirst = marks.firstWrong?.part.step === number;
    const own = from.length ? `follows from your step${from.length > 1 ? "s" : ""} ${from.join(", ")}` : "follows from your numbers";
    label.textContent = `${SIGNS[verdict]} ${{ right: "right", follows: own, wrong: isFirst ? "first wrong step" : "wrong",
      missing: left < count ? `${left} of ${count} left` : "not answered" }[verdict]}`;
    label.className = `verdict ${verdict}`;
    box.classList.toggle("first", isFirst);
    box.querySelector(".said").textContent = said.join("; ");
  }
  function showScore(steps, marks) {
    const most = Object.values(sheet.weights).reduce((a, b) => a + b, 0), all = Math.round(most * 10) / 10;
    const points = Math.round(marks.score * most * 10) / 10;
    $("points").textContent = `${points} / ${all}`;
    const words = { right: "right", follows: "follow", wrong: "wrong", missing: "to do" };
    const counts = Object.keys(words).map((verdict) => [verdict, steps.filter((step) => step.verdict === verdict).length]);
    const some = counts.filter(([, n]) => n);
    $("segments").replaceChildren(...some.map(([verdict, n]) => {
      const part = element("span", verdict, "");
      part.style.flexGrow = n;
      return part;
    }));
    $("counts").replaceChildren(...some.map(([verdict, n]) => element("span", verdict, `${SIGNS[verdict]} ${n} ${words[verdict]}`)));
    $("notes").textContent = marks.notes.join(" ");
    const follow = steps.filter((step) => step.verdict === "follows" && step.counts).map((step) => step.number);
    $("follow").hidden = !follow.length;
    if (follow.length) {
      const which = follow.length > 1 ? `Steps ${follow.join(", ")} are` : `Step ${follow[0]} is`;
      $("follow").textContent = `${which} right from your own numbers, so ${follow.length > 1 ? "they count" : "it counts"} in full. ` +
        "If you correct an earlier number, work them out again.";
    }
    $("said").textContent = `${points} of ${all} points`;
  }
  function showFirst(marks) {
    const blank = marks.firstWrong, card = $("first");
    card.hidden = $("go").hidden = !blank;
    if (!blank) return;
    const entry = marks.entries.get(blank.id), slip = marks.explain(blank), step = blank.part.step;
    card.replaceChildren(element("p", "small", `step ${step} · first wrong number: ${asSlope(blank.id)}`));
    card.append(element("h3", "", slip && slip.names.length === 1 ? sentence(slip.name) : "This number does not follow."));
    const rows = blank.operands.map((place) => [sheet.names[place], operandText(place, marks)]);
    const table = element("table", "", "");
    for (const [name, value] of rows.slice(0, 12)) table.append(row("", asSlope(name), value));
    table.append(row("yours", "you wrote", entry.written.trim()));
    card.append(table);
    const formula = data.formulas[blank.id];
    if (formula) card.append(element("p", "", `The line: ${asSlope(blank.id)} = ${formula}`));
    if (slip) card.append(element("p", "", slip.teaches));
    if (slip && slip.names.length > 1) card.append(element("p", "small", `It may be ${slip.name}.`));
    else if (slip) card.append(element("p", "small", slip.names.length ? `Slip: ${slip.name}; no other known slip gives this number.` : `${sentence(slip.name)}`));
    if (entry.note) card.append(element("p", "small", sentence(entry.note)));
    $("go").textContent = `go to step ${step}`;
    $("go").onclick = () => {
      $(`step${step}`).scrollIntoView({ block: "center" });
      fieldFor(blank).focus();
    };
  }
  const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;
  function operandText(place, marks) {       // as the learner has it, or as it is given
    const blank = sheet.byPlace.get(place);
    if (!blank) return data.shown[sheet.names[place]] ?? "";
    const written = marks.entries.get(blank.id).written.trim();
    return written ? `${written} (yours)` : "not answered";
  }
  function row(className, ...cells) {
    const found = element("tr", className, "");
    found.append(...cells.map((text) => element("td", "", text)));
    return found;
  }
  function written({ key, part }) {          // a key number with the digits or decimals that are asked for
    const { c, e } = decimals.plain(key);
    if (c === 0n) return "0";
    const drop = Math.max(0, part.decimals === null ? decimals.size(c) - sheet.digits : -e - part.decimals);
    const kept = decimals.toWhole({ c, e: -drop });
    const number = Number(`${kept}e${e + drop}`);
    return e + drop >= 0 || Math.abs(number) < 1e-7 ? String(number) : number.toFixed(Math.min(100, -(e + drop)));
  }
  function inRows(blanks) {
    const width = blanks.length > 1 ? blanks[0].part.shape.at(-1) : 1;
    const lines = [];
    for (let i = 0; i < blanks.length; i += width) lines.push(blanks.slice(i, i + width).map(written).join("  "));
    return lines.join("\n");
  }
  for (const field of fields) field.addEventListener("change", show);
  $("reveal").onclick = () => {
    const isShown = document.body.classList.toggle("showing");
    $("reveal").textContent = isShown ? "hide the right numbers" : "show the right numbers";
    for (const [field, blanks] of blanksOf) {
      field.parentElement.querySelector(".shown")?.remove();
      if (isShown) field.parentElement.append(element("span", "shown", inRows(blanks)));
    }
  };
  whenCleared.push(show);
  show();
  window.handgrad = {                      // for teachers who script the page
    mark(answers) {                        // an object or a list of pairs, from id to text
      const marks = marking.mark(sheet, new Map(Array.isArray(answers) ? answers : Object.entries(answers)));
      const entries = sheet.blanks.map((blank) => {
        const { verdict, used, note, problem } = marks.entries.get(blank.id);
        const slip = verdict === marking.WRONG ? marks.explain(blank) : null;
        return [blank.id, { verdict, used, note, problem, mistake: slip?.name ?? null, teaches: slip?.teaches ?? null }];
      });
      return { score: marks.score, firstWrong: marks.firstWrong?.id ?? null, notes: marks.notes, entries: Object.fromEntries(entries) };
    },
  };
})();
