"use strict";
// Any entry of any array: the line that made it and the lines of its gradient, with numbers.
const entriesOf = (changing, views) => {
  const { page, names } = changing, { lines: all, sends, data: { top } } = page;
  const steps = views.flatMap(view => view.steps.map(step => step.numbers)).filter(Boolean);
  const lineOf = new Map();                    // by the block of the result
  all.forEach((line, number) => { if (line.pieces && !lineOf.has(line.result)) lineOf.set(line.result, number); });
  const stepOf = new Map(steps.flatMap(step => step.lines.map(number => [number, step])));
  let spelled = new Map(), runs = -1;
  function spelling(number) {                  // with the digits of the panel of its step
    if (runs !== page.runs) { spelled = new Map(); runs = page.runs; }
    const step = stepOf.get(number) ?? { lines: [number], ledgers: [], sends: [], arrives: -1, gives: all[number].result };
    if (!spelled.has(step)) spelled.set(step, new lines.Spelling(page, step));
    return spelled.get(step);
  }
  const shown = register => numbers.cell(page.values[register]).text;
  const nameOf = new Map(page.data.made.map(({ called, value }) => [value, called]));
  // A number that was only moved here, as an embedding's are: from where.
  function origin(number, offset) {
    const { pieces, uses: [[block, at] = []] } = page.entry(number, offset), isValue = nameOf.has(block);
    if (pieces.length !== 1 || block === undefined) return "";
    const value = page.windowOf(block), name = isValue ? nameOf.get(block) : nameOf.has(value) ? `∂${top}/∂${nameOf.get(value)}` : "";
    return name ? `= ${name}${place(block, at)} ` : "";
  }
  const place = (block, offset) => lines.placeOf(page.blocks[block].shape, offset);

  // The lines of one entry: texts, and HTML for the panel.
  function ofValue(name, block, offset) {
    const number = lineOf.get(block), what = name + place(block, offset);
    if (number === undefined) return [[`${what} = ${shown(page.blocks[block].start + offset)}, given`]];
    const from = `${what} ${origin(number, offset)}`;
    return [[from + spelling(number).entryText(number, offset), `${from}=`, number, offset]];
  }
  function ofGradient(name, value, gradient, offset) {
    const what = `∂${top}/∂${name}${place(value, offset)}`, total = shown(page.blocks[gradient].start + offset);
    const paths = sends.filter(send => send.to === value && send.lines.length);
    if (!paths.length) return [[`${what} = ${total}, where backprop starts`]];
    const told = paths.map(({ added }) => {
      const number = lineOf.get(added);
      return number === undefined ? [`${what} += ${shown(page.blocks[added].start + offset)}`]
        : [`${what} +${origin(number, offset)}${spelling(number).entryText(number, offset)}`, `${what} +=`, number, offset];
    });
    const isRounding = page.values[page.blocks[gradient].start + offset] !== 0 && page.gradient(gradient)[offset] === 0;
    const rounded = isRounding ? ` (${total} is rounding)` : "";
    const [[text, , number, at]] = told;
    if (told.length === 1) return [[text.replace(" +=", " =") + rounded, `${what} =`, number, at, rounded]];
    const terms = paths.map(({ added }) => page.values[page.blocks[added].start + offset]);
    const parts = terms.map((x, i) => (i && x < 0 ? `(${numbers.cell(x).text})` : numbers.cell(x).text)).join(" + ");
    const ofPrinted = terms.map(x => numbers.asPrinted([x], numbers.notation([x]))[0]).reduce((a, b) => a + b);
    return [...told, [`${what} = ${parts} ${numbers.cell(ofPrinted).text === total ? "=" : "≈"} ${total}${rounded}`]];
  }

  function offsetOf(name, block, index) {
    const { shape } = page.blocks[block], asked = [].concat(index ?? []);
    const isIn = asked.length === shape.length && asked.every((i, axis) => Number.isInteger(i) && i >= 0 && i < shape[axis]);
    if (!isIn) throw new Error(`entry: ${name} has shape ${shape.join("×") || "()"}; there is no entry [${asked.join(", ")}]`);
    return asked.reduce((offset, i, axis) => offset * shape[axis] + i, 0);
  }
  function told(name, index, kind = "value") {
    const [value, gradient] = names[name], offset = offsetOf(name, value, index);
    if (kind !== "value" && kind !== "grad") throw new Error(`entry: asks for "value" or "grad", got ${JSON.stringify(kind)}`);
    if (kind === "value") return ofValue(name, value, offset);
    if (gradient < 0) throw new Error(`entry: ${name} has no gradient`);
    return ofGradient(name, value, gradient, offset);
  }
  const html = (parts, tint) => parts.map(([text, what, number, offset, rounded = ""]) => {
    const inside = number === undefined ? `<span class="hg-num ${tint}">${text}</span>` : spelling(number).entryHtml(number, offset, what);
    return number === undefined ? `<div class="hg-line hg-arith">${inside}</div>` : inside + rounded;
  }).join("");
  // For the panel: both, of a block that belongs to a node.
  function panel(name, value, gradient, offset) {
    lines.show(page, value, offset);
    const number = lineOf.get(value);
    for (const [block, at] of number === undefined ? [] : page.entry(number, offset).uses) lines.show(page, block, at);
    return html(ofValue(name, value, offset), "") + (gradient < 0 ? "" : html(ofGradient(name, value, gradient, offset), "hg-gr"));
  }
  // A field for an index in the panel of a step.
  let wanted = "";
  function offer(box, step, refresh) {
    const about = step?.numbers && (step.numbers.of ?? step.numbers.gives), { shape } = page.blocks[about] ?? {};
    if (!shape?.length) return;
    const gradient = step.numbers.arrives >= 0 ? step.numbers.arrives
      : Object.values(names).find(([value]) => value === about)?.[1] ?? -1;
    const form = document.createElement("form");
    form.className = "hg-ask";
    form.innerHTML = '<label>entry <input size="8" autocomplete="off" aria-label="index of an entry"></label><div></div>';
    const [field, answer] = [form.querySelector("input"), form.querySelector("div")];
    field.placeholder = `[${shape.map(size => size - 1).join(", ")}]`;
    field.value = wanted;
    form.onsubmit = event => {
      event.preventDefault();
      event.stopPropagation();
      wanted = field.value;
      tell();                                  // the windows turn to it
      refresh();
      box.querySelector(".hg-ask input").focus();
    };
    function tell() {
      try {
        const offset = offsetOf(step.name, about, (wanted.match(/-?\d+(\.\d+)?/g) ?? []).map(Number));
        answer.innerHTML = panel(step.name, about, gradient, offset);
      } catch (error) { answer.textContent = error.message; }
    }
    box.querySelector(".hg-where").after(form);
    if (wanted) tell();
  }
  return { offer, forget: () => { wanted = ""; }, text: (...asked) => told(...asked).map(([text]) => text).join("\n") };
};
