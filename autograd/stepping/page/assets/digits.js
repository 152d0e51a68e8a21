"use strict";
// How many digits to print, so that each line of arithmetic, done with the digits shown, gives the digits shown: the
// search of formula/digits.py, on the registers of the page.
const digits = (() => {
  const MOST_DIGITS = 12, MOST_IN_COLUMNS = 8, MARGIN = 1e-6, JUST = 1e-10, SURE = 1e-14, ROUNDS = 80;
  const WIDEST = 44, WIDEST_IN_LEDGER = 48, ROOM = 11, COLUMN_GROWTH = 3;

  const pagesOf = shape => {                   // the tables that an array is shown as
    const [rows, columns] = [1, 1, ...shape].slice(-2);
    const size = shape.reduce((a, b) => a * b, 1);
    return { rows, columns, pages: size / (rows * columns) };
  };
  function widthOf(entries, shape, how, kind) {  // characters of the widest row, as a panel breaks it
    if (!shape.length) return 0;
    const { rows, columns } = pagesOf(shape);
    let most = 0;
    for (let i = 0; i < entries.length; i += rows * columns) {
      const one = numbers.table(entries.slice(i, i + rows * columns), columns, how, kind);
      most = Math.max(most, numbers.characters(numbers.within(one, WIDEST)));
    }
    return most;
  }

  const same = (one, other) => one.exponent === other.exponent && one.decimals === other.decimals;

  // Quantities have keys: a block's number, or "block.offset" for one entry. `lines` are { result, uses, terms, code }.
  class Digits {
    constructor(page, registers, ownLines, sums = [], columns = [], hand = page.start.slice()) {
      const lines = [...ownLines, ...sums];
      this.page = page;
      this.lines = lines;
      this.registers = registers;
      this.values = new Map();
      this.shortest = new Map();
      this.hand = hand;                        // registers to work in
      for (const line of lines) for (const key of [line.result, ...line.uses]) this.know(key);
      this.notations = new Map(this.shortest);
      this.seen = new Map();
      this.leftOut = new Set();
      const groups = [...columns.map(keys => [keys, true]), ...lines.map(line => [line.terms, false])];
      this.groups = groups.map(([keys, inColumns]) => [keys.filter(key => this.values.has(key)), inColumns]);
      this.inLedgers = new Set(sums.flatMap(line => [line.result, ...line.uses]));
      this.inColumns = new Set(this.groups.flatMap(([keys, inColumns]) => (inColumns ? keys : [])));
      this.evenOut();
      this.atFirst = new Map(this.notations);
      for (;;) {
        this.solve();
        const failed = this.asked().filter(line => !this.confirms(line));
        if (!this.loosen(failed)) {
          if (!failed.length) break;
          for (const line of failed) this.leftOut.add(line);
        }
        this.notations = new Map(this.shortest);  // without them the others need fewer digits
      }
    }
    loosen(failed) {                           // gives up the equal decimals of a ledger that does not come out with few
      const stuck = new Set(failed.map(line => line.result)), places = how => how.decimals - how.exponent;
      for (const [key, now] of this.notations) {
        if (places(now) > places(this.atFirst.get(key)) + COLUMN_GROWTH) stuck.add(key);
      }
      const loosened = this.groups.map(([group, inColumns]) => inColumns && group.some(key => stuck.has(key)));
      this.groups = this.groups.map(([group, inColumns], i) => [group, inColumns && !loosened[i]]);
      return loosened.includes(true);
    }
    place(key) {                               // a block, or one register of it
      if (typeof key === "number") return this.page.blocks[key];
      const [block, offset] = key.split(".").map(Number), whole = this.page.blocks[block];
      return { start: whole.start + offset, size: 1, shape: [], kind: whole.kind };
    }
    know(key) {
      if (this.values.has(key)) return;
      const { start, size } = this.place(key), entries = this.registers.slice(start, start + size);
      this.values.set(key, entries);
      this.shortest.set(key, numbers.notation(entries));
    }
    asked() { return this.lines.filter(line => !this.leftOut.has(line)); }

    printed(key, how = this.notations.get(key)) {
      const name = `${key} ${how.exponent} ${how.decimals}`;
      let found = this.seen.get(name);
      if (!found) this.seen.set(name, found = numbers.asPrinted(this.values.get(key), how));
      return found;
    }
    known(key) {                               // the numbers that a reader sees; with the digits of a card what no line shows whole
      if (this.notations.has(key)) return this.printed(key);
      const entries = this.page.read(key, this.registers);
      return this.place(key).kind ? entries : numbers.asPrinted(entries, numbers.notation(entries));
    }
    byHand(line) {                             // what a line comes to, computed with the numbers as they are printed
      for (const key of line.uses) this.hand.set(this.known(key), this.place(key).start);
      if (line.work) line.work(this.hand); else this.page.execute(line.code, this.hand);
      const { start, size } = this.place(line.result);
      return this.hand.slice(start, start + size);
    }
    confirms(line) {
      const how = this.notations.get(line.result), found = this.byHand(line), printed = this.printed(line.result);
      const most = (0.5 - MARGIN) * numbers.unit(how);
      return found.every((x, i) => Math.abs(x - printed[i]) < most || x === printed[i] ||
        (x !== x && printed[i] !== printed[i]));
    }
    sign(line) {
      const printed = this.known(line.result), how = this.notations.get(line.result);
      const slack = JUST * (how ? numbers.unit(how) : Math.max(0, ...printed.map(Math.abs).filter(Number.isFinite)));
      const { start } = this.place(line.result);
      const cancels = i => line.terms.length > 0 || this.registers[start + i] === 0;  // terms that cancel leave rounding errors
      return this.byHand(line).every((x, i) => numbers.close(x, printed[i], SURE, cancels(i) ? slack : 0)) ? "=" : "≈";
    }

    // --- the search --------------------------------------------------------------------------------------------

    solve() {
      this.evenOut();
      for (let round = 0; round < ROUNDS; round++) {
        let changed = false;
        for (const line of this.asked().reverse()) {
          if (this.confirms(line)) continue;     // where no operand has more digits, another digit of the result may do
          const grown = line.uses.map(key => this.grow(key)).some(Boolean);
          changed = grown || this.grow(line.result) || changed;
        }
        changed = this.roundToCards() || changed;
        if (!changed) return;
        this.evenOut();
      }
    }
    grow(key) {                                // one more decimal for a quantity that is not exact already
      if (this.isExact(key)) return false;
      const now = this.notations.get(key), entries = this.values.get(key);
      const longest = numbers.notation(entries, this.inColumns.has(key) ? MOST_IN_COLUMNS : MOST_DIGITS);
      const longer = { exponent: now.exponent, decimals: now.decimals + 1 };
      if (now.decimals + (longest.exponent - now.exponent) >= longest.decimals) return false;
      if (!this.fits(key, longer)) return false;
      this.notations.set(key, longer);
      return true;
    }
    fits(key, how) {
      const { shape, kind } = this.place(key), room = this.inLedgers.has(key) ? WIDEST_IN_LEDGER : WIDEST;
      const most = Math.max(room, shape.length > 1 ? ROOM * shape.at(-1) : 0);
      return widthOf(this.values.get(key), shape, how, kind) <= most;
    }
    isExact(key) {
      const entries = this.values.get(key);
      return this.printed(key).every((x, i) => numbers.close(x, entries[i]));
    }
    roundToCards() {                           // a longer spelling must round to the shorter one that a card shows
      let changed = false;
      for (const [key, now] of [...this.notations]) {
        const short = this.shortest.get(key);
        if (same(now, short) || this.isExact(key)) continue;
        const onCard = this.printed(key, short), most = (0.5 - MARGIN) * numbers.unit(short);
        if (this.printed(key, now).some((x, i) => Math.abs(x - onCard[i]) >= most)) changed = this.grow(key) || changed;
      }
      return changed;
    }
    evenOut() {                                // terms of a sum share their power of ten, in a ledger also decimals, if that fits
      for (const [group, inColumns] of this.groups) {
        const rounded = group.filter(key => !this.isExact(key));
        if (rounded.length < 2) continue;
        const exponent = Math.max(...rounded.map(key => this.notations.get(key).exponent));
        const decimals = rounded.map(key => {
          const now = this.notations.get(key);
          return now.decimals + exponent - now.exponent;
        });
        const most = Math.max(...decimals);
        const evened = rounded.map((key, i) => ({ exponent, decimals: Math.max(0, inColumns ? most : decimals[i]) }));
        if (!rounded.every((key, i) => same(this.notations.get(key), evened[i]) || this.fits(key, evened[i]))) continue;
        rounded.forEach((key, i) => this.notations.set(key, evened[i]));
      }
    }
  }
  return { Digits, widthOf, pagesOf, WIDEST };
})();
if (typeof module !== "undefined") module.exports = digits;
