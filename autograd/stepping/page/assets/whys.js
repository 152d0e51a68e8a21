"use strict";
// Why so little, why NaN: the answers of stepping/questions.py, of the numbers as they are now. `isBad(block)` says whether
// a block holds a NaN or an infinity that no mask put there.
const whys = (page, isBad) => {
  const LITTLE = 1e-3;
  const { made, reasons } = page.data;
  const shown = number => lines.plain(lines.quantity(page, page.values, number));
  const largest = entries => entries.reduce((most, x) => Math.max(most, Math.abs(x)), 0);

  // What a case of about.py asks of each number, or of each row: true or false for each.
  const each = test => (rows, limit) => rows.flatMap(row => row.map(x => test(x, limit)));
  const SO = {
    "near ±1": each((x, limit) => Math.abs(x) > limit),
    "near 0 or 1": each((x, limit) => x > limit || x < 1 - limit),
    "not above 0": each(x => x <= 0),
    "not 0": each(x => x !== 0),
    "0": each(x => x === 0),
    "row of zeros": rows => rows.map(row => row.reduce((sum, x) => sum + x, 0) === 0),
    "level row": (rows, limit) => rows.map(row => Math.max(...row) - Math.min(...row) <= limit * largest(rows.flat())),
    "row with one near 1": (rows, limit) => rows.map(row => Math.max(...row) > limit),
  };
  function rowsOf(number) {
    const entries = [...page.read(number)], width = page.blocks[number].shape.at(-1) ?? 1, rows = [];
    for (let i = 0; i < entries.length; i += width) rows.push(entries.slice(i, i + width));
    return rows;
  }
  function firstCase({ little, op, out, x, other, name }, step) {
    const blocks = { g: step.arrives, sent: little, out, x, other };
    for (const [of, so, when, says, limit] of reasons[op] ?? []) {
      if (blocks[of] === undefined) continue;
      const rows = rowsOf(Number(blocks[of])), found = SO[so](rows, limit), n = found.length, k = found.filter(Boolean).length;
      if (!n || !{ all: k === n, any: k > 0, one: n === 1, always: true }[when]) continue;
      const zeros = other !== undefined && page.blocks[other].shape.length ? "all zeros" : "0";
      const words = { op, name: name ?? "", k, n, zeros, largest: lines.rough(largest(rows.flat())) };
      return says.replace(/\{(\w+)\}/g, (_, word) => words[word]);
    }
    return "";
  }

  // Of one contribution, whose blocks `around` tells.
  function little(around, step) {
    const sent = Number(around.little), before = lines.norm(page.gradient(step.arrives)), after = lines.norm(page.gradient(sent));
    if (!Number.isFinite(after) || before === 0 || after > LITTLE * before) return "";
    const text = around.told || firstCase(around, step);
    if (!text && !after && lines.norm(page.read(sent))) {
      return "Its terms cancel; what is left of them is rounding error, which counts as 0.";
    }
    return text || `There, ${around.op} has a slope of about ${lines.rough(after / before)}.`;
  }

  // The first NaN or infinity of a step among `steps`, forward or back: the sentence, and the word for it.
  const wordFor = number => (page.read(number).some(Number.isNaN) ? "NaN" : "infinite");
  const at = block => made.find(one => one.value === block);
  function bad(step, steps) {
    const here = step.gives >= 0 ? [step.gives] : step.sends.map(([added]) => added);
    if (!here.some(isBad)) return [""];
    return forward(step.gives >= 0 ? step.gives : page.data.root) ?? back(steps) ?? [""];
  }
  function forward(to) {
    const before = new Set([to]);
    for (const one of [...made].reverse()) if (before.has(one.value)) for (const x of one.from) before.add(x);
    const first = made.find(one => before.has(one.value) && isBad(one.value) && !one.from.some(isBad));
    if (!first) return null;
    const word = wordFor(first.value);
    if (!first.op) return [`${first.name} was given as ${word}.`, word];
    const from = first.from.map(at).map(one => (one.named ? `${one.name} = ${shown(one.value)}` : `${one.name} (${shown(one.value)})`));
    return [`going forward, the first is made by ${first.op}, from ${from.join(" and ")}. ${first.remedy}`, word];
  }
  function back(steps) {
    for (const step of steps.filter(one => one.arrives >= 0 && !isBad(one.arrives))) {
      const place = step.sends.findIndex(([added]) => isBad(added));
      if (place < 0) continue;
      const [added] = step.sends[place], line = step.lines.find(number => page.lines[number].result === added);
      const numbers = line === undefined ? shown(added) : new lines.Spelling(page, step).text(line);
      const from = step.from.map(([name, block]) => `${name} = ${shown(block)}`).join(" and ");
      const told = `going back, the first is what ${step.name} sends to ${step.to[place]}: ${numbers}, with ${from}. ${at(step.of).remedy}`;
      return [told, wordFor(added)];
    }
    return null;
  }
  return { little, bad };
};
if (typeof module !== "undefined") module.exports = whys;
