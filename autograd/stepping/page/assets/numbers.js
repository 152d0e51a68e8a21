"use strict";
// Numbers as formula/numbers.py prints them, digit for digit: four significant digits for a whole table, exact numbers
// short, one power of ten for very large or small ones.
const numbers = (() => {
  const DIGITS = 4, READ_DIGITS = 13, EXACT = 0.5e-12, PLAIN = [-3, 5];
  const MINUS = "−", ALMOST_ZERO = "≈0";
  const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

  // --- decimals ------------------------------------------------------------------------------------------------

  // A float as it is read: |x| is whole × 10 ** exponent, without the digits that rounding may have changed. A whole
  // number of 13 digits is exact in a float, and so is its division by a power of ten with a remainder.
  function read(x) {
    const [mantissa, exponent] = Math.abs(x).toExponential(READ_DIGITS - 1).split("e");
    return [Number(mantissa.replace(".", "")), Number(exponent) - READ_DIGITS + 1];
  }
  // |x| × 10 ** places as the digits of the nearest integer, ties to even, and whether it is just that.
  function scaled(x, places) {
    const [whole, exponent] = read(x), up = exponent + places;
    if (up >= 0) return { digits: String(whole) + "0".repeat(up), exact: true };
    const by = 10 ** Math.min(-up, 2 * READ_DIGITS), rest = Math.floor(whole / by), twice = 2 * (whole - rest * by);
    const raised = twice > by || (twice === by && rest % 2 === 1);
    return { digits: String(rest + raised), exact: twice === 0 };
  }
  function decimal(digits, decimals) {       // an integer with so many of its digits after the point
    if (!decimals) return digits;
    const text = digits.padStart(decimals + 1, "0");
    return `${text.slice(0, -decimals)}.${text.slice(-decimals)}`;
  }
  function rounded(x, places) {              // the number that a reader sees
    if (!Number.isFinite(x)) return x;
    const { digits } = scaled(x, places);
    return (Math.sign(x) || 1) * Number(places >= 0 ? decimal(digits, places) : `${digits}e${-places}`) + 0;
  }

  // --- notation: a power of ten taken out of all, and the decimals ---------------------------------------------

  function notation(entries, digits = DIGITS) {
    let largest = 0;
    for (const x of entries) if (Number.isFinite(x)) largest = Math.max(largest, Math.abs(x));
    if (largest === 0) return { exponent: 0, decimals: 0 };
    const first = READ_DIGITS - 1 + read(largest)[1];      // of its first digit
    const leading = first + scaled(largest, digits - 1 - first).digits.length - digits;  // 9.9996 leads at 10
    const exponent = PLAIN[0] <= first && first < PLAIN[1] ? 0 : leading;
    return { exponent, decimals: Math.max(0, digits - 1 - (leading - exponent)) };
  }
  const unit = how => Number(`1e${how.exponent - how.decimals}`);
  const asPrinted = (entries, how) => Array.from(entries, x => rounded(x, how.decimals - how.exponent));

  function cellOf(x, { exponent, decimals }) {
    if (x === 0) return { text: "0", kind: "zero" };
    if (!Number.isFinite(x)) return { text: x !== x ? "NaN" : x > 0 ? "∞" : MINUS + "∞", kind: "bad" };
    const { digits, exact } = scaled(x, decimals - exponent);
    if (digits === "0") return { text: ALMOST_ZERO, kind: "number" };
    let text = decimal(digits, decimals);
    if (decimals && exact) text = text.replace(/0+$/, "").replace(/\.$/, "");  // 0.1 × 0.1 is read as 0.01
    return { text: (x < 0 ? MINUS : "") + text, kind: "number" };
  }
  function plainCell(x, kind) {              // integers and truth values are never rounded
    if (kind === "truth") return { text: x ? "True" : "False", kind: "number" };
    return { text: String(x).replace("-", MINUS), kind: x === 0 ? "zero" : "number" };
  }

  // On cards entries that are so much larger than the others that they would take all their digits, as the −10⁹ of a
  // mask, are written apart: those above this bound (see drawing/cards.py).
  const FAR_SIZE = 5e3, FAR_RATIO = 1e3, MOSTLY = 0.01;
  function farFrom(entries) {
    const sizes = [...entries].map(Math.abs).filter(x => x > 0 && Number.isFinite(x)).sort((x, y) => x - y);
    let bound = Infinity;
    for (let i = 1; i < sizes.length; i++) if (sizes[i] >= FAR_SIZE && sizes[i] / sizes[i - 1] >= FAR_RATIO) bound = sizes[i - 1];
    return bound;
  }
  const notationOfMost = entries => { const bound = farFrom(entries); return notation([...entries].filter(x => Math.abs(x) <= bound)); };
  function farCell(x) {
    const step = 10 ** Math.floor(Math.log10(Math.abs(x)) + MOSTLY), times = Math.round(x / step);
    const isRound = Math.abs(x / step - times) < MOSTLY * Math.abs(x / step);
    return { text: cell(isRound ? times * step : x).text.replace("1×", ""), kind: x < 0 ? "zero" : "number" };
  }

  // --- tables --------------------------------------------------------------------------------------------------

  // Rows of cells that share their decimals and one power of ten.
  function table(entries, width, how = notation(entries), kind = "", among = null) {
    const bound = among && !kind ? farFrom(among) : Infinity;
    const written = x => (Math.abs(x) > bound && Number.isFinite(x) ? farCell(x) : cellOf(x, how));
    const cells = Array.from(entries, x => (kind ? plainCell(x, kind) : written(x)));
    const rows = [];
    for (let i = 0; i < cells.length; i += width) rows.push(cells.slice(i, i + width));
    return { rows, exponent: kind ? 0 : how.exponent };
  }
  const beforePoint = text => text.split(".")[0].length;
  const columns = ({ rows }) => rows[0].map((_, j) => {
    const texts = rows.map(row => row[j].text);
    return [Math.max(...texts.map(beforePoint)), Math.max(...texts.map(text => text.length - beforePoint(text)))];
  });
  const characters = table => columns(table).reduce((sum, [before, after]) => sum + before + after + 1,
    table.exponent ? power(table.exponent).length : 0);
  // A single row that is wider than so many characters as two rows; else the table itself.
  function within(table, room) {
    const [row] = table.rows, half = Math.ceil(row.length / 2);
    if (table.rows.length > 1 || row.length < 2 || characters(table) <= room) return table;
    const rest = [...row.slice(half), ...Array(2 * half - row.length).fill({ text: "", kind: "number" })];
    return { ...table, rows: [row.slice(0, half), rest] };
  }
  const power = exponent => "×10" + [...String(exponent)].map(digit => SUPERSCRIPTS[digit]).join("");

  // A lone number; its power of ten, if it needs one, stays with it.
  function cell(x, how = notation([x]), kind = "") {
    if (kind) return plainCell(x, kind);
    const one = cellOf(x, how);
    const isBare = !how.exponent || one.kind === "zero" || one.text === ALMOST_ZERO;
    return isBare ? one : { ...one, text: one.text + power(how.exponent) };
  }
  const close = (x, y, slack = EXACT, more = 0) =>
    Object.is(x, y) || x === y || (x !== x && y !== y) ||
    (Number.isFinite(y) && Math.abs(x - y) <= slack * Math.abs(y) + more);

  return {
    DIGITS, EXACT, MINUS, ALMOST_ZERO, rounded, notation, notationOfMost, unit, asPrinted, table, columns, characters, within,
    cell, power, close,
  };
})();
if (typeof module !== "undefined") module.exports = numbers;
