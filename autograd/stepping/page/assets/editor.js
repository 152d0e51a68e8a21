"use strict";
// Taking hold of a number: click, drag or arrow keys on a leaf's number, and a field in the panel.
const editor = (numbersOf, refresh, numberOf, act) => {
  const $ = id => document.getElementById(id);
  const box = $("hg-edit"), stage = $("hg-stage");
  const { page, leaves, root, original } = numbersOf, { top } = page.data;
  const PIXELS = 8, MOST_ROWS = 6, MOST_DIGITS = 12;
  const BUTTONS = [["undo", "undo", "Ctrl+Z"], ["redo", "redo", "Ctrl+Y"], ["reset", "reset all", "the first numbers; undo takes it back"]];
  let held = null;                             // { leaf, offset }: the number in the field

  const register = one => page.blocks[one.leaf.value].start + one.offset;
  const nameOf = one => one.leaf.name + lines.placeOf(page.blocks[one.leaf.value].shape, one.offset);
  const shown = x => numbers.cell(x).text;
  const ascii = x => String(x);
  const element = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

  // --- one number ------------------------------------------------------------------------------------------------

  function unitOf(x) {                         // one unit of the last digit shown, a tenth at most for integers
    const [mantissa, power] = shown(x).split("×10"), after = (mantissa.split(".")[1] || "").length;
    const exponent = power === undefined ? 0 : Math.floor(Math.log10(Math.abs(x)));
    return 10 ** (exponent - Math.max(after, 1));
  }
  function nudge(one, count, unit) {
    const x = page.values[register(one)];
    change(one, Number((Math.round(x / unit + count) * unit).toPrecision(12)));
  }
  function change(one, x) {
    if (!numbersOf.setEntry(one.leaf, one.offset, x)) return false;
    refresh();
    return true;
  }
  function hold(one, focusField = false) {
    held = one;
    paint();
    if (focusField) { const field = box.querySelector("input"); field?.focus(); field?.select(); }
  }
  function release() { held = null; paint(); }

  // --- the field in the panel ----------------------------------------------------------------------------------------

  function paint() {
    const changed = numbersOf.isChanged;
    box.hidden = !held && !changed && !numbersOf.canUndo && !numbersOf.canRedo;
    if (box.hidden) { box.replaceChildren(); return; }
    const active = document.activeElement, field = box.querySelector("input");
    if (field && field === active && held) { refreshTable(); return; }   // somebody is typing
    box.replaceChildren();
    if (held) box.append(fieldRow());
    box.append(element("table", { className: "hg-was" }), element("p", { className: "hg-edit-note" }));
    for (const [what, textContent, title] of BUTTONS) {
      box.append(element("button", { type: "button", id: `hg-${what}`, textContent, title, onclick: () => act(what) }), " ");
    }
    refreshTable();
  }
  function fieldRow() {
    const one = held, x = page.values[register(one)], was = original[register(one)];
    const field = element("input", { value: ascii(x), autocomplete: "off", size: 10, id: "hg-field", enterKeyHint: "done" });
    field.setAttribute("aria-label", `${nameOf(one)}, a number you can change`);
    // Nothing is changed before Enter: until then the note says what Enter would do.
    const say = text => { box.querySelector(".hg-edit-note").textContent = text; };
    const here = () => page.values[register(one)];
    field.oninput = () => {
      const asked = numberOf(field.value);
      const isNew = Number.isFinite(asked) && !Object.is(asked, here());
      say(isNew ? `Enter sets ${nameOf(one)} to ${ascii(asked)}; Esc keeps ${ascii(here())}` : "");
    };
    field.onkeydown = event => {
      const step = { ArrowUp: 1, ArrowDown: -1 }[event.key], asked = numberOf(field.value);
      if (step) { event.preventDefault(); arrow(one, step, event); field.value = ascii(here()); say(""); }
      else if (event.key === "Enter") {
        if (!Number.isFinite(asked)) {
          say(`${nameOf(one)} is still ${ascii(here())}: write a finite number, such as -0.25, 1/2, sqrt(2) or 1.8e-4`);
          return;
        }
        field.blur();
        if (Object.is(asked, here())) paint(); else change(one, asked);
      } else if (event.key === "Escape") { field.blur(); release(); }
    };
    field.onblur = () => { if (!Object.is(numberOf(field.value), here())) field.value = ascii(here()); say(""); };
    const button = (text, label, act) => {
      const made = element("button", { type: "button", textContent: text, onclick: act });
      made.setAttribute("aria-label", label);
      return made;
    };
    const by = step => () => { nudge(one, step, unitOf(page.values[register(one)])); field.value = ascii(page.values[register(one)]); };
    const row = element("div", { className: "hg-field" }, element("b", { textContent: `${nameOf(one)} = ` }),
      button("−", `less ${nameOf(one)}`, by(-1)), field, button("+", `more ${nameOf(one)}`, by(1)));
    if (!Object.is(x, was)) row.append(element("span", { className: "hg-lab", textContent: `was ${shown(was)}` }));
    return row;
  }
  function arrow(one, step, event) {
    nudge(one, step, unitOf(page.values[register(one)]) * (event.shiftKey ? 10 : event.altKey ? 0.1 : 1));
  }
  function refreshTable() {                    // what it does: the root, and gradients of the leaves
    $("hg-reset").hidden = !numbersOf.isChanged && !numbersOf.roles();
    $("hg-undo").disabled = !numbersOf.canUndo;
    $("hg-redo").disabled = !numbersOf.canRedo;
    const rows = [];
    const entry = (label, at, tint) => rows.push([label, original[at], page.values[at], tint]);
    if (page.blocks[root].size === 1) entry(top, page.blocks[root].start, "");
    const single = leaves.filter(leaf => page.blocks[leaf.value].size === 1 && leaf.gradient >= 0);
    for (const leaf of single.length <= MOST_ROWS ? single : []) {
      entry(`∂${top}/∂${leaf.name}`, page.blocks[leaf.gradient].start, "hg-gr");
    }
    if (held && held.leaf.gradient >= 0 && page.blocks[held.leaf.value].size > 1) {
      entry(`∂${top}/∂${nameOf(held)}`, page.blocks[held.leaf.gradient].start + held.offset, "hg-gr");
    }
    const cell = (textContent, className) => element("td", { textContent, className });
    const head = element("tr", {}, element("th"), element("th", { textContent: "was" }), element("th", { textContent: "now" }));
    box.querySelector(".hg-was").replaceChildren(head, ...rows.map(([label, before, after, tint]) => {
      const [was, now] = toldApart(before, after);
      const changed = was === now ? "" : " hg-changed";
      return element("tr", {}, element("th", { textContent: label }), cell(was, tint), cell(now, tint + changed));
    }));
  }
  function toldApart(was, now) {               // with as many digits as it takes to see that they differ
    for (let digits = numbers.DIGITS; digits <= MOST_DIGITS; digits++) {
      const texts = [was, now].map(x => numbers.cell(x, numbers.notation([x], digits)).text);
      if (texts[0] !== texts[1]) return texts;
    }
    return [shown(was), shown(now)];
  }

  // --- the numbers on the cards --------------------------------------------------------------------------------------

  const onNumber = event => event.target.closest?.(".hg-can");
  const numberAt = text => ({ leaf: leaves[text.dataset.leaf], offset: Number(text.dataset.offset) });
  let drag = null, moved = false;              // the number that is being dragged; whether it was
  stage.addEventListener("pointerdown", event => {
    const text = onNumber(event);
    if (!text) return;
    event.stopPropagation();                   // the graph stays where it is
    const one = numberAt(text), x = page.values[register(one)];
    drag = { one, from: event.clientX, unit: unitOf(x), done: 0 };
    moved = false;
  }, true);
  addEventListener("pointermove", event => {
    if (!drag) return;
    const count = Math.round((event.clientX - drag.from) / PIXELS);
    if (count === drag.done) return;
    if (!moved) hold(drag.one);
    moved = true;
    nudge(drag.one, count - drag.done, drag.unit);
    drag.done = count;
  });
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { drag = null; });
  // A finger taps at its touchend. The click that follows comes late, after a drag not always, and takes the focus away.
  for (const tap of ["touchend", "click"]) stage.addEventListener(tap, event => {
    const text = onNumber(event);
    if (!text) return;
    event.stopPropagation();
    if (moved) return;
    if (tap === "touchend" && event.cancelable) event.preventDefault();
    hold(numberAt(text), true);
  }, true);
  stage.addEventListener("keydown", event => {
    const text = onNumber(event);
    if (!text) return;
    const one = numberAt(text), step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (step) { arrow(one, step, event); if (!held || held.leaf !== one.leaf || held.offset !== one.offset) hold(one); else paint(); }
    else if (event.key === "Enter") hold(one, true);
    else if (event.key === "Escape") { change(one, original[register(one)]); release(); text.blur(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
  function next() {                            // the key E: the next number that can be changed
    const all = [...stage.querySelectorAll(".hg-can")];
    if (!all.length) return;
    const at = all.indexOf(document.activeElement);
    const text = all[(at + 1) % all.length];
    text.focus();
    hold(numberAt(text));
  }

  return { paint, next, forget: () => { held = null; } };
};
