"use strict";
// Matrices you can read: point at an entry of a result, on a card or in the panel, and those it was computed from light
// up; the line "one entry" follows. The same by focus: Tab to a table, arrows move in it, Escape leaves. `H` tints
// every table by the size of its numbers.
const pointing = changing => {
  const panel = document.getElementById("hg-text"), stage = document.getElementById("hg-graph");
  const { page } = changing;
  const lineOf = new Map();                    // by the block of the result
  page.lines.forEach((line, number) => { if (line.pieces && !lineOf.has(line.result)) lineOf.set(line.result, number); });
  let lit = [], tinted = false;

  // The registers that an entry was computed from.
  function sources(register) {
    const block = page.blockAt(register), number = lineOf.get(block.number);
    if (number === undefined) return [];
    return page.entry(number, register - block.start).uses.map(([use, offset]) => page.blocks[use].start + offset);
  }
  function clear() {
    for (const one of lit) one.classList.remove("hg-lit", "hg-pointed");
    lit = [];
  }
  function point(element) {
    clear();
    const register = Number(element.dataset.r), line = element.closest("[data-line]");
    const found = sources(register);
    if (!found.length) return;
    const mark = (one, name) => { one.classList.add(name); lit.push(one); };
    mark(element, "hg-pointed");
    const places = [line, stage].filter(Boolean);
    for (const from of found) {
      for (const place of places) for (const one of place.querySelectorAll(`[data-r="${from}"]`)) mark(one, "hg-lit");
    }
    follow(register);
  }
  function follow(register) {                  // the line "one entry" of the panel is about this entry
    const block = page.blockAt(register), resultOf = one => page.lines[one.dataset.entries].result;
    const fold = [...panel.querySelectorAll("[data-entries]")].find(one => resultOf(one) === block.number);
    if (!fold || fold.hidden) return;
    const number = Number(fold.dataset.entries);
    fold.innerHTML = changing.spellings.get(number).entries(number, register - block.start);
    fold.open = true;
  }

  // --- by pointer ------------------------------------------------------------------------------------------------

  const entryAt = event => event.target.closest?.("td[data-r], .hg-num[data-r], text[data-r]");
  for (const place of [panel, stage]) {
    place.addEventListener("pointerover", event => {
      const entry = entryAt(event);
      if (entry && event.buttons === 0) point(entry); else if (!entry && lit.length) clear();
    });
    place.addEventListener("pointerleave", clear);
  }
  panel.addEventListener("click", event => { const entry = entryAt(event); if (entry) point(entry); });

  // --- by keyboard -----------------------------------------------------------------------------------------------

  // The first entry of each result takes the focus; arrows go on from there.
  function prepare() {
    clear();
    for (const table of panel.querySelectorAll("[data-line] .hg-new table")) {
      const first = table.querySelector("td");
      if (!first || !sources(Number(first.dataset.r)).length) continue;
      for (const cell of table.querySelectorAll("td")) cell.tabIndex = -1;
      first.tabIndex = 0;
    }
    if (tinted) tint();
  }
  panel.addEventListener("focusin", event => { const entry = event.target.closest("td[data-r]"); if (entry) point(entry); });
  panel.addEventListener("keydown", event => {
    const cell = event.target.closest?.("td[data-r]");
    if (!cell) return;
    const rows = [...cell.closest("table").rows], i = cell.parentNode.rowIndex, j = cell.cellIndex;
    const to = { ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1], ArrowRight: [i, j + 1] }[event.key];
    if (to) rows[to[0]]?.cells[to[1]]?.focus();
    else if (event.key === "Escape") { cell.blur(); clear(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  // --- tint by size ------------------------------------------------------------------------------------------------

  function tint() {
    for (const table of panel.querySelectorAll(".hg-mx table")) {
      const cells = [...table.querySelectorAll("td[data-r]")], sizes = cells.map(cell => Math.abs(Number(cell.title)) || 0);
      const most = Math.max(...sizes.filter(Number.isFinite));
      cells.forEach((cell, i) => cell.style.setProperty("--size", tinted && most ? Math.min(1, sizes[i] / most) : 0));
      table.classList.toggle("hg-tint", tinted);
    }
  }
  function toggle() { tinted = !tinted; tint(); }

  return { prepare, toggle, sources };
};
