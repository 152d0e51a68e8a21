"use strict";
// Numbers and lines of arithmetic as HTML, as formula/writers/html.py writes them. Every entry carries its register, so that
// pointing at one can light up those it was computed from.
const lines = (() => {
  const ROOMY = 33, TABLE_SIZE = 13, SMALLEST_SIZE = 11, MOST_LISTED = 65, MOST_IN_A_ROW = 5, FIGURE_SPACE = "\u2007";
  const SIGNS = "=≈→", OPERATORS = [...SIGNS, ..."+−×⊙·/^@*", "**", "^⊙", "+="];
  const ROUGH_DIGITS = 3, MOST_THAT_FIT = 4, FRAME = 8;  // columns; px

  const escaped = text => text.replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
  const product = sizes => sizes.reduce((a, b) => a * b, 1);
  function shows(shape) {                      // entry by entry, in one table or a few
    const [rows, columns] = [1, 1, ...shape].slice(-2), outer = product(shape.slice(0, -2));
    if (!shape.length) return true;
    if (rows < 1 || columns < 1 || outer < 1 || outer > limits.slices) return false;
    return rows <= limits.rows && columns <= (shape.length > 1 ? limits.columns : limits.vector);
  }
  const rough = x => numbers.cell(x, numbers.notation([x], ROUGH_DIGITS)).text;
  function span(low, high) {                   // a range; its ends share one notation
    const { rows, exponent } = numbers.table([low, high], 2, numbers.notation([low, high], ROUGH_DIGITS));
    const text = rows[0].map(cell => cell.text).join(" … ");
    return exponent ? `(${text})${numbers.power(exponent)}` : text;
  }
  const norm = entries => Math.hypot(...entries);

  // --- one quantity --------------------------------------------------------------------------------------------

  // What is to be shown: entries with their shape, the registers they are in, and their notation.
  function quantity(page, registers, number, how, { offset = -1, turned = 0 } = {}) {
    const block = page.blocks[number];
    const isMask = page.data.masked.includes(number);  // its −∞ stand there on purpose
    if (offset >= 0) {
      const at = block.start + offset;
      return { entries: [registers[at]], at: [at], shape: [], how, kind: block.kind, isMask };
    }
    let at = Array.from({ length: block.size }, (_, i) => block.start + i), shape = block.shape;
    if (turned && shape.length > 1) [at, shape] = transposed(at, shape);
    return { entries: at.map(i => registers[i]), at, shape, how, kind: block.kind, isMask, window: page.windowOf(number), turned };
  }
  const markOf = (one, q, x) => (one.kind === "bad" && q.isMask && x === -Infinity ? "zero" : one.kind);

  // --- windows: of a large array some rows and columns of one table, which the reader moves -------------------------

  const windows = new Map();                   // by block: the table, the first row, the first column
  function viewOf(q) {
    const [rows, columns] = [1, ...q.shape].slice(-2), tables = product(q.shape.slice(0, -2));
    let [table, row, column] = windows.get(q.window) ?? [0, 0, 0];
    if (q.turned) [row, column] = [column, row];
    table = Math.min(table, tables - 1);
    const some = (from, size, most) => {
      const first = Math.min(from, size - 1) - Math.min(from, size - 1) % most;
      return Array.from({ length: Math.min(most, size - first) }, (_, i) => first + i);
    };
    const down = some(row, rows, limits.rows), across = some(column, columns, limits.columns);
    const at = down.flatMap(i => across.map(j => (table * rows + i) * columns + j));
    const which = (what, shown, size) => {
      const ends = shown.length > 1 ? `${what}s ${shown[0]}–${shown.at(-1)}` : `${what} ${shown[0]}`;
      return shown.length < size ? `${ends} of ${size}` : ends;
    };
    const axes = [["table", [table], tables], ["row", down, rows], ["column", across, columns]]
      .map(([what, shown, size], axis) => ({
        says: which(what, shown, size), moves: shown.length < size,
        axis: q.turned && axis ? 3 - axis : axis, by: axis ? [0, limits.rows, limits.columns][axis] : 1,
      })).filter((_, axis) => axis > 1 || (axis ? q.shape.length > 1 : tables > 1));
    return { at, down: q.shape.length > 1 ? down : null, across, axes };
  }
  function turn(page, number, axis, by) {      // a window by so many tables, rows or columns, within the array
    const { shape, size } = page.blocks[number], [rows, columns] = [1, ...shape].slice(-2);
    const most = [size / (rows * columns), rows, columns], where = [...windows.get(number) ?? [0, 0, 0]];
    where[axis] = Math.max(0, Math.min(most[axis] - 1, where[axis] + by));
    windows.set(number, where);
  }
  function show(page, number, offset) {        // move the window so that an entry is in it
    const { shape } = page.blocks[number], [rows, columns] = [1, ...shape].slice(-2);
    windows.set(page.windowOf(number), [Math.floor(offset / (rows * columns)), Math.floor(offset / columns) % rows, offset % columns]);
  }
  const ARROWS = [["‹", -1], ["›", 1]];
  const turner = (window, { axis, by }, sign) => {
    const says = `${["table", "rows", "columns"][axis]} ${sign < 0 ? "before" : "after"}`;
    return `class="hg-turn" data-window="${window}" data-axis="${axis}" data-by="${sign * by}" aria-label="${says}"`;
  };

  function transposed(at, shape) {
    const [rows, columns] = shape.slice(-2), turned = [];
    for (let page = 0; page < at.length; page += rows * columns) {
      for (let j = 0; j < columns; j++) for (let i = 0; i < rows; i++) turned.push(at[page + i * columns + j]);
    }
    return [turned, [...shape.slice(0, -2), columns, rows]];
  }
  function plain(q) {                          // as text on one line
    if (!q.shape.length) return numbers.cell(q.entries[0], q.how, q.kind).text;
    if (!shows(q.shape)) return `[${q.shape.join("×")}]`;
    const tables = pages(q).map(({ table }) => {
      const rows = table.rows.map(row => `[${row.map(cell => cell.text).join(", ")}]`);
      return (rows.length === 1 ? rows[0] : `[${rows.join(", ")}]`) + (table.exponent ? numbers.power(table.exponent) : "");
    });
    return tables.length > 1 || isStack(q.shape) ? `[${tables.join(", ")}]` : tables[0];
  }
  const isStack = shape => shape.length > 2 && product(shape.slice(0, -2)) > 1;
  function pages(q) {
    const { rows, columns } = digits.pagesOf(q.shape), size = rows * columns, found = [];
    for (let i = 0; i < q.entries.length; i += size) {
      const entries = q.entries.slice(i, i + size);
      found.push({ table: numbers.table(entries, columns, q.how || numbers.notation(entries), q.kind), first: i, columns });
    }
    return found;
  }
  function widthOf(q) {
    if (!q.shape.length || !q.entries.length) return 0;
    return shows(q.shape) ? digits.widthOf(q.entries, q.shape, q.how, q.kind) : ROOMY;
  }

  const IF_NEGATIVE = 1, IF_RAISED = 2;        // as in formula/writers/arithmetic.py
  const isBracketed = (text, when) =>
    (when & IF_NEGATIVE && text.startsWith(numbers.MINUS)) || (when & IF_RAISED && text.includes("×10"));

  function html(q, tint = "", { brackets = 0, before = null } = {}) {
    if (!q.shape.length) {
      const one = numbers.cell(q.entries[0], q.how, q.kind);
      const mark = { zero: " hg-z", bad: " hg-bad" }[markOf(one, q, q.entries[0])] || "";
      const text = isBracketed(one.text, brackets) ? `(${raised(one.text)})` : raised(one.text);
      return `<span class="hg-num ${tint}${mark}" data-r="${q.at[0]}" title="${q.entries[0]}">${text}</span>`;
    }
    if (!q.entries.length) return `<span class="hg-num ${tint}">[${q.shape.join("×")}]</span>`;
    if (!shows(q.shape)) return windowHtml(q, tint, before);
    const tables = pages(q).map(page => tableHtml(q, page, tint, before));
    return isStack(q.shape) ? `<span class="hg-pages">${tables.join("")}</span>` : tables[0];
  }
  function windowHtml(q, tint, before) {
    const { at, down, across, axes } = viewOf(q), pick = list => at.map(i => list[i]);
    const part = { ...q, entries: pick(q.entries), at: pick(q.at) };
    const table = numbers.table(part.entries, across.length, q.how || numbers.notation(q.entries), q.kind);
    const foot = axes.map(axis => axis.says + (axis.moves ? ARROWS.map(([text, sign]) =>
      ` <button type="button" ${turner(q.window, axis, sign)}>${text}</button>`).join("") : "")).join(", ");
    const html = tableHtml(part, { table, first: 0, down, across }, tint, before && pick(before));
    return `<span class="hg-window">${html}<small class="hg-foot">${foot}</small></span>`;
  }
  function tableHtml(q, { table: whole, first, down, across }, tint, before) {
    const table = across ? whole : numbers.within(whole, digits.WIDEST), widths = numbers.columns(table), columns = widths.length;
    const rows = table.rows.map((row, i) => row.map((one, j) => {
      const place = first + i * columns + j;
      if (!one.text) return "";                // a broken row ends here
      const marks = { zero: ["hg-z"], bad: ["hg-bad"] }[markOf(one, q, q.entries[place])] || [];
      if (before && before[place] !== q.entries[place]) marks.push("hg-ch");
      const point = one.text.split(".")[0].length;
      const pad = FIGURE_SPACE.repeat(widths[j][1] - (one.text.length - point));
      return `<td class="${marks.join(" ")}" data-r="${q.at[place]}" title="${q.entries[place]}">${one.text}${pad}</td>`;
    }).join("")).map((row, i) => `<tr>${down ? `<th>${down[i]}</th>` : ""}${row}</tr>`).join("");
    const heads = across ? `<tr>${down ? "<th></th>" : ""}${across.map(j => `<th>${j}</th>`).join("")}</tr>` : "";
    const characters = numbers.characters(table), size = Math.max(SMALLEST_SIZE, TABLE_SIZE * ROOMY / characters);
    const small = characters > ROOMY ? ` style="font-size:${size.toFixed(1)}px"` : "";
    const power = table.exponent ? `<small class="hg-e10">×10<sup>${String(table.exponent).replace("-", "−")}</sup></small>` : "";
    const classes = `hg-mx ${table === whole ? "" : "hg-broken "}${tint}`;
    return `<span class="hg-q"><span class="${classes}"><table${small}><tbody>${heads}${rows}</tbody></table></span>${power}</span>`;
  }
  // A table that is too wide for the box around it takes two lines a row.
  function breakRows(place) {
    const tables = [...place.querySelectorAll(".hg-mx table")].filter(table => table.rows[0].cells.length > MOST_THAT_FIT);
    for (const table of tables) table.classList.remove("hg-two");
    const right = one => one.getBoundingClientRect().right, around = "section, .hg-eq, .hg-ask, .hg-copy, #hg-text";
    for (const table of tables.filter(one => right(one.closest(".hg-q")) > right(one.closest(around)) - FRAME)) {
      table.style.setProperty("--half", Math.ceil(table.rows[0].querySelectorAll("td, th + th").length / 2));
      table.classList.add("hg-two");
    }
  }
  function raised(text) {
    const [mantissa, power] = text.split("×10");
    if (power === undefined) return mantissa;
    const digitsOf = [...power].map(c => "−0123456789"["⁻⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(c)]).join("");
    return `${mantissa}<small>×10<sup>${digitsOf}</sup></small>`;
  }

  // --- lines: texts and quantities ------------------------------------------------------------------------------

  function termsOf(pieces) {                   // parted before each plus that is in no bracket
    const found = [[]];
    let depth = 0;
    for (const piece of pieces) {
      const text = typeof piece === "string" ? piece : "";
      if (!depth && /^ [+−] /.test(text)) found.push([]);
      depth += text.split("(").length - text.split(")").length;
      found.at(-1).push(piece);
    }
    return found;
  }
  // Pieces parted at the spaces of the texts, except after an operator: what no line end may part.
  function units(pieces) {
    const found = [];
    let unit = [];
    for (const piece of pieces.flatMap(one => (typeof one === "string" ? one.match(/ *[^ ]+| +$/g) || [] : [one]))) {
      const alone = unit.length === 1 && typeof unit[0] === "string" && OPERATORS.includes(unit[0].trim());
      if (typeof piece === "string" && piece.startsWith(" ") && unit.length && !alone) { found.push(unit); unit = []; }
      unit.push(piece);
    }
    if (unit.length) found.push(unit);
    return found;
  }
  function grouped(pieces) {
    const groups = [];
    for (const unit of units(pieces)) {
      const wide = unit.reduce((sum, piece) => sum + (typeof piece === "string" ? 0 : widthOf(piece)), 0) > ROOMY - 12;
      if (wide) groups.push(...unit.map(piece => [piece])); else groups.push(unit);
    }
    const written = groups.map(group => group.map(pieceHtml).join("")).filter(Boolean);
    return written.map(group => `<span class="hg-q">${group}</span>`).join("");
  }
  function pieceHtml(piece) {
    if (typeof piece !== "string") return html(piece, piece.gradient ? "hg-gr" : "", { brackets: piece.brackets });
    const text = piece.trim(), raised = /^(ᵀ|\^⊙\S+)$/.test(text) ? " hg-raised" : "";
    return text ? `<span class="hg-op${raised}">${escaped(text)}</span>` : "";
  }
  function pieceText(piece) {
    if (typeof piece === "string") return piece;
    const text = plain(piece);
    return !piece.shape.length && isBracketed(text, piece.brackets) ? `(${text})` : text;
  }
  // Slots filled; `written` gives a quantity's notation.
  function filled(page, registers, pieces, written) {
    return pieces.flatMap(piece => {
      if (typeof piece === "string") return piece;
      const [number, offset, turned, brackets, gradient] = piece;
      const q = { ...quantity(page, registers, number, written(number, offset), { offset, turned }), brackets, gradient };
      return shows(q.shape) && q.shape.length && isBracketed(plain(q), brackets) ? ["(", q, ")"] : q;
    });
  }
  function equals(sign, q) {                   // an entry that rounds to 0 in its table's digits is `≈ 0`, not `= ≈0`
    return plain(q) === numbers.ALMOST_ZERO ? ["≈", { ...q, entries: [0] }] : [sign, q];
  }
  function answer(sign, q, tint) {
    [sign, q] = equals(sign, q);
    return `<span class="hg-q"><span class="hg-op">${sign}</span>${html(q, tint)}</span>`;
  }

  // --- the numbers of one step ------------------------------------------------------------------------------------

  class Spelling {
    constructor(page, step) {
      this.page = page;
      this.step = step;
      step.last = step.gives >= 0 ? step.lines.at(-1) : -1;
      this.registers = page.cleaned(step);
      this.confirmed = new Map();
      const all = step.lines.map(number => page.lines[number]).filter(line => line.shown);
      const whole = new Set(step.ledgers.filter(ledger => ledger.length > 1));
      for (let failed = [null]; failed.length;) {  // as Step._with_ledger does: of a ledger that does not come out the last sum
        const sums = new Map(step.ledgers.map(ledger => [ledger, this.sums(whole.has(ledger) ? ledger : ledger.slice(-2))]));
        const confirmed = line => this.digits.confirms(line), columns = [...whole].map(ledger => ledger.flat());
        this.digits = new digits.Digits(page, this.registers, all, [...sums.values()].flat(), columns);
        failed = [...whole].filter(ledger => !sums.get(ledger).every(confirmed));
        for (const ledger of failed) whole.delete(ledger);
        this.shownOf = ledger => (whole.has(ledger) || ledger.length < 2 ? "whole" : sums.get(ledger).every(confirmed) ? "last" : "none");
      }
    }
    sums(ledger) {                             // the running sums of a ledger whose numbers are shown
      const { page } = this, shown = ledger.filter(([, total]) => shows(page.blocks[total].shape));
      return shown.slice(1).map(([added, total], i) => {
        const before = shown[i][1];
        return { result: total, uses: [before, added], terms: [before, added, total], work: v => page.add(v, before, added, total) };
      });
    }
    // How much of a ledger is shown of the paths before, and whether its tables are too wide to stand beside one another.
    ledger(number) {
      const ledger = this.step.ledgers[number], showing = this.shownOf(ledger);
      const rows = showing === "whole" ? ledger : ledger.slice(-2);
      const wide = rows.some(row => row.reduce((sum, block) => sum + widthOf(this.quantity(block)), 0) > ROOMY - 8);
      return { showing, wide };
    }
    written(number) { return this.digits.notations.get(number); }
    quantity(number) { return quantity(this.page, this.registers, number, this.written(number)); }

    // Does the line in numbers say more than its result, and does it come out?
    showsArithmetic(line) { return !!line.pieces && (!line.shown || this.confirms(line)); }
    confirms(line) {                           // asked again for every entry
      if (!this.confirmed.has(line)) this.confirmed.set(line, this.digits.confirms(line));
      return this.confirmed.get(line);
    }

    line(number) {
      const line = this.page.lines[number], result = this.quantity(line.result);
      const tint = line.gradient ? "hg-gr hg-new hg-answer" : "hg-new hg-answer";
      if (!this.showsArithmetic(line)) return answer("=", result, tint);
      const left = filled(this.page, this.registers, line.pieces, block => this.written(block));
      return grouped(left) + answer(this.digits.sign(line), result, tint);
    }

    text(number) {                             // the same as plain text
      const line = this.page.lines[number], result = this.quantity(line.result);
      if (!this.showsArithmetic(line)) return plain(result);
      const left = filled(this.page, this.registers, line.pieces, block => this.written(block));
      const [sign, q] = equals(this.digits.sign(line), result);
      return `${left.map(pieceText).join("")} ${sign} ${plain(q)}`;
    }

    // One entry: its arithmetic, the sign and its result; just the result where no digits confirm it.
    entry(number, offset) {
      const line = this.page.lines[number], entry = this.page.entry(number, offset);
      const result = { ...quantity(this.page, this.registers, line.result, this.written(line.result), { offset }), kind: "" };
      if (entry.pieces.length === 1) return { left: [], sign: "=", result };   // a number that was only moved
      const key = ([one, at]) => `${one}.${at}`;
      const own = `${line.result}.${offset}`;
      const scalar = {
        result: own, uses: entry.uses.map(key), code: entry.code,
        terms: entry.terms.length ? [...entry.terms.map(key), own] : [],
      };
      const shared = line.shown && this.confirms(line) ? new Shared(this, scalar) : null;
      const search = shared?.confirms(scalar) ? shared : new digits.Digits(this.page, this.registers, [scalar]);
      if (!search.confirms(scalar)) return { left: [], sign: "=", result };
      const left = filled(this.page, this.registers, entry.pieces, (one, at) => search.notations.get(`${one}.${at}`));
      return { left, sign: search.sign(scalar), result: { ...result, how: search.notations.get(scalar.result) } };
    }
    entryText(number, offset) {                // `= 1 × 2 + 3 × 4 = 14`
      const { left, sign, result } = this.entry(number, offset), [mark, q] = equals(sign, result);
      return left.length ? `= ${left.map(pieceText).join("")} ${mark} ${plain(q)}` : `${mark} ${plain(q)}`;
    }
    entryHtml(number, offset, place = placeOf(this.page.blocks[this.page.lines[number].result].shape, offset)) {
      const line = this.page.lines[number], { left, sign, result } = this.entry(number, offset);
      const tint = line.gradient ? "hg-gr hg-new" : "hg-new", terms = termsOf(left);
      if (terms.length > MOST_IN_A_ROW) {        // a long sum, one term below the other
        const rows = terms.map(term => `<div class="hg-term">${grouped(term)}</div>`).join("");
        return `<div class="hg-line hg-arith hg-terms"><i>${place}</i>${rows}${answer(sign, result, tint)}</div>`;
      }
      return `<div class="hg-line hg-arith"><i>${place}</i>${grouped(left)}${answer(sign, result, tint)}</div>`;
    }
    // The entry with the largest result, or `first`, then others, folded.
    entries(number, first = -1) {
      const line = this.page.lines[number], { start, size, shape } = this.page.blocks[line.result];
      if (first < 0) {                         // of those equal up to rounding errors the first
        const sizes = [...this.registers.slice(start, start + size)].map(Math.abs), most = Math.max(...sizes);
        first = Math.max(0, sizes.findIndex(x => x >= most * (1 - 1e-6)));
      }
      const order = [first, ...Array.from({ length: size }, (_, i) => i).filter(i => i !== first)].slice(0, MOST_LISTED);
      const all = order.map(offset => this.entryHtml(number, offset));
      const says = size > all.length ? `${all.length - 1} more` : `all ${size} entries`;
      const rest = size > 1 ? `<details><summary>${says}</summary>${all.slice(1).join("")}</details>` : "";
      return `<summary>one entry: ${placeOf(shape, first)}</summary>${all[0]}${rest}`;
    }
  }

  // A line's entry spelled with the digits of the whole line.
  class Shared extends digits.Digits {
    constructor(spelling, scalar) {
      super(spelling.page, spelling.registers, [], [], [], spelling.digits.hand);
      for (const key of [scalar.result, ...scalar.uses]) {
        this.know(key);
        this.notations.set(key, spelling.written(Number(key.split(".")[0])) || this.shortest.get(key));
      }
    }
  }

  function placeOf(shape, offset) {
    const index = [];
    for (const size of [...shape].reverse()) { index.unshift(offset % size); offset = Math.floor(offset / size); }
    return index.map(i => `[${i}]`).join("");
  }
  return { Spelling, quantity, html, rough, norm, span, plain, shows, placeOf, pages, viewOf, turn, show, turner, breakRows, ARROWS };
})();
if (typeof module !== "undefined") module.exports = lines;
