"use strict";
// Numbers that can be changed: the leaves' numbers on cards, the field in the panel, the update and the training.
// `live(data)` gives the page's numbers a program, or null where Python wrote none.
const live = data => {
  if (!data.live) return null;
  const MOST_UNDONE = 100;
  const page = new program.Program(data.live), { leaves, names, root, update: { rate, moves, switchable } } = data.live;
  const original = page.values.slice(), losses = [];   // the loss before and after each update
  const blockOf = name => {
    if (!Object.hasOwn(names, name)) throw new Error(`nothing here is called ${name}; there are ${Object.keys(names).join(", ")}`);
    return names[name];
  };

  // --- reading and changing ----------------------------------------------------------------------------------------

  function nested(number, values = page.values) {
    if (number < 0) return null;
    const block = page.blocks[number], entries = page.read(number, values);
    const build = (shape, first, step) => {
      if (!shape.length) return entries[first];
      const inner = step / shape[0];
      return Array.from({ length: shape[0] }, (_, i) => build(shape.slice(1), first + i * inner, inner));
    };
    return build(block.shape, 0, block.size);
  }
  function flat(value, shape, name) {          // the numbers of a nested array of this shape
    if (!shape.length) {
      if (typeof value !== "number" || !Number.isFinite(value)) throw new Error(`${name}: expected a finite number, got ${value}`);
      return [value];
    }
    if (!Array.isArray(value) || value.length !== shape[0]) {
      throw new Error(`${name}: expected nested arrays of shape ${page.blocks[blockOf(name)[0]].shape.join("×")}`);
    }
    return value.flatMap(part => flat(part, shape.slice(1), name));
  }
  const leafOf = name => {
    const leaf = leaves.find(one => one.name === name);
    if (!leaf) throw new Error(`${name} is computed, so it cannot be set; change one of ${leaves.map(one => one.name).join(", ")}`);
    return leaf;
  };
  function set(name, value) {
    blockOf(name);
    const { start, shape } = page.blocks[leafOf(name).value], entries = flat(value, shape, name);
    remember();
    page.values.set(entries, start);
    page.run();
  }
  function setEntry(leaf, offset, value) {
    if (!Number.isFinite(value)) return false;
    const register = page.blocks[leaf.value].start + offset;
    remember(register);
    page.values[register] = value;
    page.run();
    return true;
  }
  function restore() {                         // all numbers but the step size
    const eta = page.values[rate];
    page.values.set(original);
    page.values[rate] = eta;
  }
  function reset() {
    remember();
    restore();
    losses.length = 0;
    page.run();
  }
  function update(eta) {                       // one step of the optimizer on the parameters
    if (typeof eta !== "number" || !Number.isFinite(eta)) throw new Error(`update: expected a finite step size, got ${eta}`);
    if (moves.every(move => move.data)) throw new Error("update: there is no parameter with a gradient");
    page.update(eta);
    return nested(root);
  }
  // What the gradients promise of one update, and what comes of it: they part where the step is too large.
  function forecast() {
    const kept = page.values.slice(), loss = () => page.read(root)[0], before = loss();
    page.update(kept[rate]);
    const really = before - loss();
    let promised = 0;
    for (const { gradient, replaced: [[, value]] } of moves.filter(move => !move.data)) {
      const g = page.read(gradient, kept), was = page.read(value, kept);
      page.read(value).forEach((x, i) => { promised += g[i] * (was[i] - x); });
    }
    page.values.set(kept);
    page.run();
    return { promised, really };
  }
  // --- undone, done again: the leaves, what the optimizer remembers, roles, the losses -------------------------------

  const kept = [...new Set([...leaves.map(leaf => leaf.value), ...moves.flatMap(move => move.replaced.map(([, before]) => before))])];
  const past = [], future = [];
  let latest = -1;                             // the register that changed last: a drag is one change
  const state = () => ({ numbers: kept.map(block => page.read(block).slice()), data: moves.map(move => move.data), losses: [...losses] });
  function remember(register = -1) {
    if (register >= 0 && register === latest) return;
    latest = register;
    future.length = 0;
    past.push(state());
    if (past.length > MOST_UNDONE) past.shift();
  }
  function travel(from, to) {
    if (!from.length) return false;
    to.push(state());
    const { numbers, data, losses: were } = from.pop();
    latest = -1;
    kept.forEach((block, i) => page.read(block).set(numbers[i]));
    moves.forEach((move, i) => { move.data = data[i]; });
    losses.splice(0, Infinity, ...were);
    page.run();
    return true;
  }

  // --- roles: training moves parameters; where nobody said which these are, a click on the word switches -------------

  const startsAsData = moves.map(move => move.data);
  const moveOf = block => moves.findIndex(move => move.replaced[0][1] === block);
  const isTurned = block => { const at = moveOf(block); return at >= 0 && moves[at].data !== startsAsData[at]; };
  function turn(block) {
    if (!switchable || moveOf(block) < 0) return false;
    remember();
    const move = moves[moveOf(block)];
    move.data = +!move.data;
    return true;
  }
  const roles = () => moves.flatMap((move, i) => (move.data === startsAsData[i] ? [] : i)).join(".");
  const applyRoles = text => {
    const turned = new Set((text || "").split("."));
    moves.forEach((move, i) => { move.data = switchable && turned.has(String(i)) ? +!startsAsData[i] : startsAsData[i]; });
  };

  // What was changed, for the address: leaf.entry:number,…
  let known = { runs: 0, edits: "" };
  function edits() {
    if (known.runs === page.runs) return known.edits;
    const found = [];
    leaves.forEach((leaf, number) => {
      const { start, size } = page.blocks[leaf.value];
      for (let i = 0; i < size; i++) {
        if (!Object.is(page.values[start + i], original[start + i])) found.push(`${number}.${i}:${page.values[start + i]}`);
      }
    });
    known = { runs: page.runs, edits: found.join(",") };
    return known.edits;
  }
  function applyEdits(text) {                  // what makes no sense is left out
    restore();
    for (const edit of (text || "").split(",")) {
      const [place, value] = edit.split(":"), [number, offset] = (place || "").split(".").map(Number);
      const leaf = leaves[number], x = value ? Number(value) : NaN;
      if (leaf && offset >= 0 && offset < page.blocks[leaf.value].size && Number.isFinite(x)) {
        page.values[page.blocks[leaf.value].start + offset] = x;
      }
    }
    page.run();
  }

  // --- cards ---------------------------------------------------------------------------------------------------------

  const CHARACTER = 13 * 0.608, COLUMN_GAP = 12, BRACKET = 7, NUMBER = 13, ROW = 17, SLICE_GAP = 5, INDEX_LINE = 15;  // as in measure.py
  const CAPTION_CHARACTER = 6.1;
  const isLeaf = new Map(leaves.map(leaf => [leaf.value, leaf]));
  const nameOf = new Map(Object.entries(names).flatMap(([name, [value]]) => [[value, name]]));

  // Write the numbers of a card again, in the room they have: those of some blocks of values and of gradients, one each
  // unless it is a module's. `trouble` is a word in its corner, about its value.
  function card(group, [values, gradients], trouble) {
    const [value] = values;
    const word = group.querySelector(":scope > text[data-word]");
    if (word) {
      word.dataset.was ??= word.textContent.startsWith("first ") ? "" : word.textContent;
      word.textContent = values.length && trouble || word.dataset.was;
      word.classList.toggle("hg-f-bad", values.length > 0 && !!trouble);
    }
    group.classList.toggle("hg-is-bad", [...values, ...gradients].some(isBad));
    group.classList.toggle("hg-was-bad", !!group.querySelector(":scope > .hg-frame.hg-s-bad"));
    const block = kind => (kind === "grad" ? gradients : values)[0] ?? -1;
    for (const text of group.querySelectorAll(":scope > text[data-n]")) {
      const number = block(text.dataset.kind);
      if (number >= 0) scalar(text, number, value);
    }
    for (const text of group.querySelectorAll(":scope > text[data-fact]")) {
      text.textContent = text.dataset.fact === "norm" ? normOf(gradients) : rangeOf(values);
      fit(text);
    }
    for (const table of group.querySelectorAll(".hg-table")) {
      const number = block(table.dataset.kind);
      if (number >= 0) matrix(table, number, value);
    }
  }
  // The same numbers as HTML, for a copy of the card.
  function copy([values, gradients], isBackward) {
    const table = (block, tint) => lines.html({ ...lines.quantity(page, page.values, block), entries: [...page.gradient(block)] }, tint);
    return [...values.map(block => table(block, "")), ...(isBackward ? gradients : []).map(block => table(block, "hg-gr"))].join("");
  }
  const masked = new Set(page.data.masked);    // blocks in which −∞ stands on purpose
  const isMask = (x, number) => x === -Infinity && masked.has(number);
  const isBad = number => !page.read(number).every(x => Number.isFinite(x) || isMask(x, number));
  // Of cards in forward order, each with its blocks of values, the first that holds a NaN or an infinity; the word for it.
  function trouble(cards) {
    const at = cards.findIndex(values => values.some(isBad));
    return at < 0 ? [-1, ""] : [at, cards[at].some(number => page.read(number).some(Number.isNaN)) ? "first NaN" : "first ∞"];
  }
  // Facts of a large array, or of a module's outputs. What a mask hides is no score and does not count.
  const normOf = blocks => (blocks.length ? lines.rough(lines.norm(blocks.flatMap(number => [...page.gradient(number)]))) : "—");
  function rangeOf(blocks) {
    const entries = blocks.flatMap(number => [...page.read(number)].filter(x => !isMask(x, number)));
    if (!entries.length) return "—";
    return entries.length > 1 ? lines.span(Math.min(...entries), Math.max(...entries)) : lines.rough(entries[0]);
  }
  function mark(text, number, offset, value, index) {
    const kind = number === value ? "value" : "grad", start = page.blocks[number].start + offset;
    text.dataset.name = nameOf.get(value) ?? "";
    text.dataset.index = index;
    text.dataset.kind = kind;
    text.dataset.r = start;
    text.classList.toggle("hg-changed", wasChanged(start));
    const leaf = kind === "value" ? isLeaf.get(number) : null;
    if (!leaf) return;
    text.classList.add("hg-can");
    text.dataset.leaf = leaves.indexOf(leaf);
    text.dataset.offset = offset;
    text.setAttribute("tabindex", text.previousElementSibling?.matches(".hg-can") ? "-1" : "0");  // E goes on from the first
    text.setAttribute("role", "spinbutton");
    text.setAttribute("aria-label", leaf.name + lines.placeOf(page.blocks[number].shape, offset));
    text.setAttribute("aria-valuenow", page.values[start]);
  }
  const atFirst = new Map();                   // the text of an original number, by register
  function wasChanged(register) {
    if (Object.is(page.values[register], original[register])) return false;
    if (!atFirst.has(register)) atFirst.set(register, numbers.cell(original[register]).text);
    return numbers.cell(page.values[register]).text !== atFirst.get(register);
  }
  function write(text, cell) {
    if (text.textContent === cell.text) return false;
    text.textContent = cell.text;
    for (const kind of ["muted", "bad"]) text.classList.remove(`hg-f-${kind}`);
    text.removeAttribute("fill");
    if (cell.kind !== "number") text.classList.add(cell.kind === "zero" ? "hg-f-muted" : "hg-f-bad");
    return true;
  }
  function scalar(text, number, value) {
    const cell = numbers.cell(page.gradient(number)[0], undefined, page.blocks[number].kind);
    if (write(text, cell)) {
      if (cell.kind === "zero") text.classList.remove("hg-f-muted");
      fit(text);
    }
    mark(text, number, 0, value, "");
  }
  function fit(text) {                         // smaller, if there is no room beside its caption
    const before = text.previousElementSibling, room = text.getAttribute("x") - (before?.getAttribute("x") ?? 0) - 34;
    const wide = text.textContent.length * CHARACTER;
    text.style.fontSize = wide > room ? `${Math.max(8, NUMBER * room / wide)}px` : "";
  }
  // A table on a card, in the room it has: columns aligned on the decimal point, smaller if need be; as Python paints it.
  function matrix(group, number, value) {
    const { shape, kind } = page.blocks[number], entries = page.gradient(number), isWhole = lines.shows(shape);
    if (!entries.length) return;
    const how = numbers.notationOfMost(entries), columns = shape.at(-1);
    const all = Array.from(entries, (_, i) => i), view = isWhole ? { at: all } : lines.viewOf({ shape, window: value });
    const shownAt = view.at, across = view.across?.length ?? columns;
    const table = numbers.table(shownAt.map(i => entries[i]), across, how, kind, entries);
    const tall = isWhole && shape.length > 2 ? shape.at(-2) : table.rows.length;
    const labels = isWhole && shape.length > 2 ? table.rows.map((_, i) => (i % tall ? "" : `[${lines.placeOf(shape, i * columns)
      .slice(1, -1).split("][").slice(0, -2).join(", ")}]`)) : view.down?.map(String) ?? [];
    const wide = texts => Math.max(0, ...texts.map(text => text.length * CAPTION_CHARACTER));
    const { left, right, top } = Object.fromEntries(Object.entries(group.dataset).map(([key, text]) => [key, Number(text)]));
    const start = left + (labels.length ? wide(labels) + 6 : 0), widths = numbers.columns(table), points = [];
    let x = start + BRACKET;
    for (const [before, after] of widths) { points.push(x + before * CHARACTER); x += (before + after) * CHARACTER + COLUMN_GAP; }
    const end = x - COLUMN_GAP + BRACKET, hue = number === value ? "muted" : "grad";
    const caption = (x, y, text, more = "") => `<text x="${x}" y="${y}" class="hg-cap" ${more}>${text}</text>`;
    let y = top + 26, body = "";
    if (view.across) {
      view.across.forEach((j, k) => { body += caption(points[k] + widths[k][1] * CHARACTER, y - 2, j, 'text-anchor="end"'); });
      y += INDEX_LINE;
    }
    table.rows.forEach((row, i) => {
      if (i % tall === 0) {
        const [upper, lower] = [y - 12, y - 13 + ROW * Math.min(tall, table.rows.length - i)];
        body += `<path class="hg-s-${hue}" fill="none" stroke-width="1.2" d="M${start + 4},${upper}H${start}V${lower}H${start + 4}` +
          `M${end - 4},${upper}H${end}V${lower}H${end - 4}"/>`;
      }
      if (labels[i]) body += caption(left, y, labels[i]);
      row.forEach((cell, j) => {
        const kind = isMask(entries[shownAt[i * across + j]], number) ? "zero" : cell.kind, point = cell.text.split(".")[0].length;
        const look = { zero: ' class="hg-f-muted"', bad: ' class="hg-f-bad"' }[kind] ?? "";
        const x = points[j] + (cell.text.length - point) * CHARACTER;
        body += `<text data-n="" x="${x}" y="${y}" text-anchor="end"${look}>${cell.text}</text>`;
      });
      y += ROW + (labels.length && (i + 1) % tall === 0 && isWhole ? SLICE_GAP : 0);
    });
    const scale = Math.min(1, (right - left) / (end - left)), shift = `${left * (1 - scale)} ${(top + 26) * (1 - scale)}`;
    const fitted = scale < 1 ? ` transform="translate(${shift}) scale(${scale})"` : "";
    group.innerHTML = `<g${fitted}>${body}</g>` + (isWhole ? "" : foot(left, y + 4, value, view.axes));
    [...group.querySelectorAll("[data-n]")].forEach((text, i) => {
      mark(text, number, shownAt[i], value, lines.placeOf(shape, shownAt[i]).slice(1, -1).replaceAll("][", ","));
    });
    const above = group.parentNode.querySelector("text"), power = table.exponent ? ` ${numbers.power(table.exponent)}` : "";
    above.textContent = above.textContent.replace(/ ?×10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+$/, "") + power;
  }
  function foot(x, y, window, axes) {          // which rows and columns these are, and where to turn to others
    return axes.map((axis, i) => {
      let text = `<text x="${x}" y="${y}" class="hg-cap">${axis.says}${i < axes.length - 1 ? "," : ""}</text>`;
      x += axis.says.length * CAPTION_CHARACTER + 8;
      for (const [sign, by] of axis.moves ? lines.ARROWS : []) {
        text += `<g role="button" tabindex="0" ${lines.turner(window, axis, by)}>` +
          `<rect x="${x - 4}" y="${y - 13}" width="18" height="17" rx="4"/><text x="${x + 5}" y="${y}">${sign}</text></g>`;
        x += 21;
      }
      x += 4;
      return text;
    }).join("");
  }

  // --- the panel -------------------------------------------------------------------------------------------------------

  const spellings = new Map();                 // by the number of a line that was shown
  const opened = new Set();                    // lines whose entries, not written before, were asked for
  function later(slot, number) {
    const text = () => spellings.get(number).entries(number);
    slot.open = opened.has(number);
    slot.innerHTML = slot.open ? text() : "<summary>one entry</summary>";
    slot.ontoggle = () => {
      if (slot.open) opened.add(number); else opened.delete(number);
      if (slot.open && !slot.querySelector(".hg-line")) slot.innerHTML = text();  // else pointing at one wrote it
    };
  }
  const answers = whys(page, isBad);
  // The numbers of a panel again; `steps` are those of its view, in order.
  function fill(panel, step, steps = []) {
    const spelling = step ? new lines.Spelling(page, step) : null;
    for (const slot of panel.querySelectorAll("[data-line]")) slot.innerHTML = spelling.line(Number(slot.dataset.line));
    for (const slot of panel.querySelectorAll("[data-entries]")) {
      const number = Number(slot.dataset.entries);
      spellings.set(number, spelling);
      later(slot, number);
    }
    for (const slot of panel.querySelectorAll(".hg-slot")) {
      const number = Number(slot.dataset.block), before = slot.dataset.before;
      const asCard = !spelling || slot.dataset.card !== undefined, registers = asCard ? page.values : spelling.registers;
      const q = lines.quantity(page, registers, number, asCard ? undefined : spelling.written(number));
      if (asCard) q.entries = [...page.gradient(number)];
      slot.innerHTML = lines.html(q, slot.dataset.tint, { before: before === undefined ? null : page.read(Number(before), registers) });
    }
    for (const table of spelling ? panel.querySelectorAll("[data-ledger]") : []) {
      const { showing, wide } = spelling.ledger(Number(table.dataset.ledger));
      table.classList.toggle("hg-wide", wide);
      for (const row of table.querySelectorAll("[data-shows]")) row.hidden = row.dataset.shows !== showing;
    }
    for (const why of edits() ? panel.querySelectorAll("[data-little], [data-bad]") : []) {
      const [text, word] = !step ? [""] : why.dataset.bad === undefined ? [answers.little(why.dataset, step)] : answers.bad(step, steps);
      why.hidden = !text;
      why.querySelector("p").textContent = text;
      if (why.dataset.bad !== undefined) why.querySelector("summary").textContent = word === "NaN" ? "why NaN?" : "why infinite?";
    }
    for (const form of panel.querySelectorAll(".hg-guess[data-at]")) form.dataset.answer = page.values[form.dataset.at];
  }

  const shown = number => lines.plain(lines.quantity(page, page.values, number));

  return {
    page, leaves, names, root, original, losses, nested, blockOf, set, setEntry, reset, update, forecast, edits, applyEdits, card, copy,
    trouble, fill, shown, spellings, remember, turn, isTurned, roles, applyRoles,
    undo: () => travel(past, future), redo: () => travel(future, past),
    get canUndo() { return past.length > 0; }, get canRedo() { return future.length > 0; },
    get isChanged() { return edits() !== ""; },
  };
};
