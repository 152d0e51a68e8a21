"use strict";
// Taking hold of a number: click, drag or arrow keys on a leaf's number, a field in the panel, and the training loop.
const editor = (numbersOf, refresh) => {
  const $ = id => document.getElementById(id);
  const box = $("hg-edit"), stage = $("hg-stage");
  const { page, leaves, root, original } = numbersOf, { top } = page.data;
  const PIXELS = 8, CHART = { width: 360, height: 110 }, MOST_ROWS = 6, PAINT_MS = 100;
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

  function unitOf(x) {                         // one unit of the last digit shown, a tenth at most for whole numbers
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
  const parsed = text => {
    const plain = text.trim().replace(/−/g, "-").replace(/,/g, ".").replace(/×10\^?/, "e").slice(0, 400);
    return plain === "" ? NaN : Number(plain);
  };

  // --- the field in the panel ----------------------------------------------------------------------------------------

  function paint() {
    const changed = numbersOf.isChanged;
    box.hidden = !held && !changed;
    if (box.hidden) { box.replaceChildren(); return; }
    const active = document.activeElement, field = box.querySelector("input");
    if (field && field === active && held) { refreshTable(); return; }   // somebody is typing
    box.replaceChildren();
    if (held) box.append(fieldRow());
    box.append(element("table", { className: "hg-was" }), element("p", { className: "hg-edit-note" }));
    const button = element("button", { type: "button", id: "hg-reset", textContent: "reset all" });
    button.onclick = () => { numbersOf.reset(); held = null; trained.length = 0; refresh(); };
    box.append(button);
    refreshTable();
  }
  function fieldRow() {
    const one = held, x = page.values[register(one)], was = original[register(one)];
    const field = element("input", { value: ascii(x), inputMode: "decimal", autocomplete: "off", size: 10, id: "hg-field" });
    field.setAttribute("aria-label", `${nameOf(one)}, a number you can change`);
    const take = () => {
      const asked = parsed(field.value);
      const note = box.querySelector(".hg-edit-note");
      if (Number.isFinite(asked)) { note.textContent = ""; change(one, asked); return true; }
      note.textContent = "write a finite number, such as -0.25 or 1.8e-4; nothing was changed";
      return false;
    };
    field.oninput = () => { const asked = parsed(field.value); if (Number.isFinite(asked)) take(); };
    field.onkeydown = event => {
      const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (step) { event.preventDefault(); arrow(one, step, event); field.value = ascii(page.values[register(one)]); }
      else if (event.key === "Enter") { if (take()) { field.blur(); paint(); } }
      else if (event.key === "Escape") { change(one, was); field.blur(); release(); }
    };
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
    $("hg-reset").hidden = !numbersOf.isChanged;
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
    const cell = (x, tint) => element("td", { textContent: shown(x), className: tint });
    const head = element("tr", {}, element("th"), element("th", { textContent: "was" }), element("th", { textContent: "now" }));
    box.querySelector(".hg-was").replaceChildren(head, ...rows.map(([label, was, now, tint]) => element("tr", {},
      element("th", { textContent: label }), cell(was, tint), cell(now, `${tint}${shown(was) === shown(now) ? "" : " hg-changed"}`))));
  }

  // --- the numbers on the cards --------------------------------------------------------------------------------------

  const onNumber = event => event.target.closest?.(".hg-can");
  const numberAt = text => ({ leaf: leaves[text.dataset.leaf], offset: Number(text.dataset.offset) });
  let drag = null;
  stage.addEventListener("pointerdown", event => {
    const text = onNumber(event);
    if (!text) return;
    event.stopPropagation();                   // the graph stays where it is
    const one = numberAt(text), x = page.values[register(one)];
    drag = { one, from: event.clientX, unit: unitOf(x), done: 0, moved: false, text };
  }, true);
  addEventListener("pointermove", event => {
    if (!drag) return;
    const count = Math.round((event.clientX - drag.from) / PIXELS);
    if (count === drag.done) return;
    if (!drag.moved) hold(drag.one);
    drag.moved = true;
    nudge(drag.one, count - drag.done, drag.unit);
    drag.done = count;
  });
  addEventListener("pointerup", () => {
    if (drag && !drag.moved) { hold(drag.one, true); }
    drag = null;
  });
  stage.addEventListener("click", event => { if (onNumber(event)) event.stopPropagation(); }, true);
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

  // --- the loop --------------------------------------------------------------------------------------------------------

  const trained = [];                          // the loss before and after each update
  let eta = 0.1, running = 0;
  const parameters = leaves.filter(leaf => leaf.role === "parameter" && leaf.gradient >= 0);
  const canTrain = parameters.length > 0 && page.blocks[root].size === 1;
  const loss = () => page.read(root)[0];

  function advance() {
    if (!trained.length) trained.push(loss());
    numbersOf.update(eta);
    trained.push(loss());
  }
  function train(count) {
    cancelAnimationFrame(running);
    let left = count, painted = 0;
    const tick = now => {
      const until = performance.now() + 12;
      while (left > 0 && performance.now() < until) { advance(); left--; }
      if (left > 0) running = requestAnimationFrame(tick); else running = 0;
      if (!left || now - painted > PAINT_MS) { painted = now; refresh(); }
    };
    running = requestAnimationFrame(tick);
  }
  // The update, after the last backward step: in symbols, in numbers, and the training.
  function loop(panel) {
    if (!canTrain) return;
    const box = element("section", { className: "hg-to hg-loop" });
    box.innerHTML = "<h3>the update: each parameter moves against its gradient</h3>" +
      '<div class="hg-sym"><math><mi>w</mi><mo>←</mo><mi>w</mi><mo>−</mo><mi>η</mi><mo>·</mo>' +
      '<mfrac><mrow><mo>∂</mo><mi class="hg-top"></mi></mrow><mrow><mo>∂</mo><mi>w</mi></mrow></mfrac></math></div>';
    box.querySelector(".hg-top").textContent = top;
    for (const leaf of parameters.slice(0, MOST_ROWS)) box.append(updateLine(leaf));
    const more = parameters.length - MOST_ROWS;
    if (more > 0) box.append(element("p", { className: "hg-lab", textContent: `and ${more} more parameters` }));
    const slider = element("input", { type: "range", min: -3, max: 0, step: 0.01, value: Math.log10(eta), id: "hg-eta-slider" });
    const field = element("input", { value: eta, size: 6, id: "hg-eta", inputMode: "decimal", autocomplete: "off" });
    slider.setAttribute("aria-label", "step size η");
    field.setAttribute("aria-label", "step size η as a number");
    slider.oninput = () => { eta = Number((10 ** slider.value).toPrecision(2)); refresh(); $("hg-eta-slider").focus(); };
    field.onchange = () => { const asked = parsed(field.value); if (Number.isFinite(asked)) eta = asked; refresh(); };
    box.append(element("div", { className: "hg-eta" }, element("label", { htmlFor: "hg-eta", textContent: "η = " }), field, slider));
    const act = (text, run, id) => element("button", { type: "button", textContent: text, onclick: run, id });
    box.append(element("div", { className: "hg-eta" },
      act("update, then forward again", () => { advance(); refresh(0); }, "hg-update"), act("train 100", () => train(100), "hg-train")));
    box.append(chart());
    panel.append(box);
  }
  // One parameter's update in numbers, with the digits that make it come out.
  function updateLine(leaf) {
    const { size, shape } = page.blocks[leaf.value], row = element("div", { className: "hg-line" });
    row.append(element("b", { className: "hg-op", textContent: leaf.name }));
    if (!lines.shows(shape)) { row.append(`${shape.join("×")} numbers`); return row; }
    const [VALUE, GRADIENT, ETA, MOVED] = [0, 1, 2, 3];
    const block = (start, own = shape, many = size) => ({ start, shape: own, size: many, kind: "" });
    const sheet = { blocks: [block(0), block(size), block(3 * size, [], 1), block(2 * size)], start: new Float64Array(3 * size + 1) };
    const move = v => { for (let i = 0; i < size; i++) v[2 * size + i] = v[i] - v[3 * size] * v[size + i]; };
    const registers = Float64Array.from([...page.read(leaf.value), ...page.gradient(leaf.gradient), ...Array(size).fill(0), eta]);
    move(registers);
    const line = { result: MOVED, uses: [VALUE, GRADIENT, ETA], terms: [], work: move };
    const search = new digits.Digits(sheet, registers, [line]);
    const shownAs = (number, tint, brackets = 0) =>
      lines.html(lines.quantity(sheet, registers, number, search.notations.get(number)), tint, { brackets });
    const group = (sign, html) => `<span class="hg-q"><span class="hg-op">${sign}</span>${html}</span>`;
    row.insertAdjacentHTML("beforeend", group("←", shownAs(VALUE, "")) +
      group("−", `${shownAs(ETA, "")}<span class="hg-op">×</span>${shownAs(GRADIENT, "hg-gr", 1)}`) +
      group(search.confirms(line) ? search.sign(line) : "≈", shownAs(MOVED, "hg-new")));
    for (const one of row.querySelectorAll("[data-r]")) delete one.dataset.r;  // these are no registers of the page
    return row;
  }
  function chart() {
    const losses = trained.length ? trained : [loss()], { width, height } = CHART;
    let room = 8;
    while (room < losses.length - 1) room *= 2;
    const finite = losses.filter(Number.isFinite), high = Math.max(...finite), low = Math.min(0, ...finite);
    const x = i => 8 + i / room * (width - 16), y = v => 20 + (high - v) / (high - low || 1) * (height - 34);
    const points = losses.map((v, i) => (Number.isFinite(v) ? `${x(i).toFixed(1)},${y(v).toFixed(1)}` : "")).filter(Boolean);
    const says = `${top} after ${losses.length - 1} updates: ${shown(losses.at(-1))}, at the start ${shown(losses[0])}`;
    const figure = element("div", { className: "hg-chart" });
    const dot = point => { const [cx, cy] = point.split(","); return `<circle cx="${cx}" cy="${cy}" r="2.2"/>`; };
    const dots = losses.length <= 33 ? points.map(dot).join("") : "";
    figure.innerHTML = `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="">` +
      `<path d="M8,${height - 14}H${width - 8}" class="hg-axis"/><polyline points="${points.join(" ")}"/>${dots}` +
      `<text x="8" y="13">${shown(losses[0])}</text>` +
      `<text x="${width - 8}" y="13" text-anchor="end">now ${shown(losses.at(-1))}</text></svg>`;
    figure.querySelector("svg").setAttribute("aria-label", says);
    figure.append(element("p", { className: "hg-lab", textContent: says }));
    return figure;
  }

  return { paint, next, loop, advance, forget: () => { trained.length = 0; held = null; }, get eta() { return eta; } };
};
