"use strict";
// The program that Python wrote (stepping/page/live.py), run: lines of scalar instructions over one row of registers.
const program = (() => {
  const JITTERS = 3, FURTHER = 64, NOISE = 8, TINY = 1e-12, LARGEST_SHAKEN = 64;

  function erf(x) {
    const size = Math.abs(x);
    if (size > 6) return Math.sign(x);
    if (size > 2.5) {                          // 1 − erfc, by its continued fraction from the end
      let below = 0;
      for (let k = 60; k > 0; k--) below = k / 2 / (size + below);
      return Math.sign(x) * (1 - Math.exp(-size * size) / Math.sqrt(Math.PI) / (size + below));
    }
    let term = x, sum = x;                     // a series whose terms have one sign
    for (let k = 1; Math.abs(term) > 1e-18 * Math.abs(sum); k++) sum += term *= 2 * x * x / (2 * k + 1);
    return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
  }
  function power(x, y) {
    if (y === 2) return x * x;
    if (y === -1) return 1 / x;
    if (y === 0.5) return Math.sqrt(x);
    if (y === 0 || x === 1) return 1;
    return Math.pow(x, y);
  }
  const sigmoid = x => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)));
  const larger = (x, y) => (x !== x || y !== y ? NaN : x >= y ? x : y);

  const FUNCTIONS = {
    alias: x => x, neg: x => -x, abs: Math.abs, sign: Math.sign, relu: x => (x > 0 ? x : x === x ? 0 : NaN),
    exp: Math.exp, expm1: Math.expm1, log: Math.log, log1p: Math.log1p, sqrt: Math.sqrt, erf, sigmoid,
    sin: Math.sin, cos: Math.cos, tan: Math.tan, arctan: Math.atan, sinh: Math.sinh, cosh: Math.cosh, tanh: Math.tanh,
    add: (x, y) => x + y, sub: (x, y) => x - y, mul: (x, y) => x * y, div: (x, y) => x / y, power,
    maximum: larger, minimum: (x, y) => -larger(-x, -y),
    less: (x, y) => +(x < y), less_equal: (x, y) => +(x <= y), greater: (x, y) => +(x > y),
    greater_equal: (x, y) => +(x >= y), equal: (x, y) => +(x === y), not_equal: (x, y) => +(x !== y),
    where: (chosen, x, y) => (chosen ? x : y),
  };

  // By how many rounding errors to move a number: as if at random, but told by its first digits, its place and how many there
  // are, as in formula/noise.py, so that Python moves it by as many, in whatever order it computes.
  const SHAKES = [-3, -2, -1, 1, 2, 3];
  const single = new Float32Array(1), bits = new Uint32Array(single.buffer);
  function shake(x, place, size, turn) {
    single[0] = Math.abs(x);
    let mixed = (bits[0] + Math.imul(place, 0x9E3779B1) + Math.imul(turn, 0x61C88647) + Math.imul(size, 0x85EBCA6B)) >>> 0;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7FEB352D);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846CA68B) >>> 0;
    return SHAKES[mixed % SHAKES.length];
  }

  // Where a number of an entry stands: the first place and a step along each axis, a row's first and a step, or a list.
  function placeOf([first, ...steps], sizes, i) {
    if (Array.isArray(first)) return steps.length ? first[Math.floor(i / sizes.at(-1))] + steps[0] * (i % sizes.at(-1)) : first[i];
    for (let axis = steps.length - 1; axis >= 0; i = Math.floor(i / sizes[axis--])) first += steps[axis] * (i % sizes[axis]);
    return first;
  }

  class Program {
    constructor(data) {
      this.data = data;
      let start = 0;
      this.blocks = data.blocks.flatMap(block => (typeof block === "number" ? Array(block).fill([[], ""]) : [block]))
        .map(([shape, kind], number) => {
          const size = shape.reduce((a, b) => a * b, 1);
          start += size;
          return { number, start: start - size, shape, kind, size };
        });
      this.lines = data.lines.map(line => (Array.isArray(line) ? this.like(line) : line));
      this.sends = data.sends.map(([lines, added, total, before, to]) => ({ lines, added, total, before, to }));
      this.functions = data.functions.map(name => FUNCTIONS[name]);
      const onTheWay = this.lines.reduce((most, line) => line.groups.reduce((most, group) => Math.max(most, group.code.length), most), 0);
      this.start = new Float64Array(data.registers + onTheWay);
      for (const line of this.lines) this.expand(line);
      for (const [register, value] of data.constants) this.start[register] = Number(value);
      for (const leaf of data.leaves) leaf.start.forEach((x, i) => { this.start[this.blocks[leaf.value].start + i] = Number(x); });
      this.values = this.start.slice();
      this.run();
    }

    // A line that is computed as the one with this number, with its own blocks in place of that one's.
    like([number, ...own]) {
      const one = this.data.lines[number], blocks = new Map(one.blocks.map((old, i) => [old, own[i]]));
      const starts = new Map([...blocks].map(([old, mine]) => [this.blocks[old].start, this.blocks[mine].start]));
      const moved = old => blocks.get(old) ?? old, list = found => found?.map(moved);
      const groups = one.groups.map(group => ({ ...group, places: group.places.map(([x]) => [starts.get(x) ?? x]) }));
      const pieces = one.pieces?.map(piece => (typeof piece === "string" ? piece : [moved(piece[0]), ...piece.slice(1)]));
      return { ...one, result: moved(one.result), groups, ...(pieces ? { pieces } : {}),
        uses: list(one.uses), named: list(one.named), terms: list(one.terms) };
    }

    // The code of all entries of a line, of which Python wrote that of one in each group.
    expand(line) {
      const { start, size, shape } = this.blocks[line.result], all = [];
      line.entryAt = Array(size);              // of each entry: its group, its place there, where its code begins
      for (const group of line.groups) {
        const { code, places, at } = group, sizes = at ? [at.length] : shape, many = at ? at.length : size;
        group.sizes = sizes;
        for (let i = 0; i < many; i++) {
          const offset = at ? at[i] : i, from = all.length, here = places.map(place => placeOf(place, sizes, i));
          for (let c = 0; c < code.length;) {
            const last = c + 2 + this.functions[code[c]].length;
            const number = k => (k < places.length ? here[k] : this.data.registers + k - places.length);
            all.push(code[c], last === code.length ? start + offset : number(code[c + 1]));
            for (c += 2; c < last; c++) all.push(number(code[c]));
          }
          line.entryAt[offset] = { group, i, from, to: all.length };
        }
      }
      line.code = Int32Array.from(all);
    }
    blockAt(register) {                        // blocks are in the order of their registers
      let low = 0, high = this.blocks.length - 1;
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (this.blocks[middle].start <= register) low = middle; else high = middle - 1;
      }
      while (low > 0 && register >= this.blocks[low].start + this.blocks[low].size) low--;
      return this.blocks[low];
    }
    // One entry of a line: its code, the numbers that it is computed from and those it adds up, as [block, offset], and
    // the pieces that it is shown as.
    entry(number, offset) {
      const line = this.lines[number], { group, i, from, to } = line.entryAt[offset];
      const find = place => {
        const register = placeOf(group.places[place], group.sizes, i), block = this.blockAt(register);
        return [block.number, register - block.start];
      };
      const pieces = group.pieces.map(piece => (typeof piece === "string" ? piece : [...find(piece[0]), ...piece.slice(2)]));
      return { code: line.code.subarray(from, to), pieces, uses: group.uses.map(find), terms: group.terms.map(find) };
    }

    // The block by whose index an array is shown: of a gradient that of its value, so that they are seen together.
    windowOf(number) {
      this.ofValue ??= new Map(this.sends.flatMap(({ added, total, to }) => [[added, to], [total, to]]));
      return this.ofValue.get(number) ?? number;
    }

    read(number, values = this.values) {
      const { start, size } = this.blocks[number];
      return values.subarray(start, start + size);
    }

    // One line's code on some registers.
    execute(code, v) {
      for (let i = 0; i < code.length;) {
        const f = this.functions[code[i]];
        if (f.length === 1) { v[code[i + 1]] = f(v[code[i + 2]]); i += 3; }
        else if (f.length === 2) { v[code[i + 1]] = f(v[code[i + 2]], v[code[i + 3]]); i += 4; }
        else { v[code[i + 1]] = f(v[code[i + 2]], v[code[i + 3]], v[code[i + 4]]); i += 5; }
      }
    }

    // The forward and the backward pass.
    run() {
      const v = this.values, { lines, sends, data: { forward } } = this;
      for (const line of forward) this.execute(lines[line].code, v);
      for (const send of sends) {
        for (const line of send.lines) this.execute(lines[line].code, v);
        if (send.before >= 0) this.add(v, send.before, send.added, send.total);
      }
      this.noise = null;
      this.runs = (this.runs || 0) + 1;
    }
    // One step of the optimizer: what it computes takes the place of the parameters and of what it remembers.
    update(rate) {
      const { lines, data: { update } } = this;
      this.values[update.rate] = rate;
      const moving = update.moves.filter(move => !move.data);
      for (const { lines: own } of moving) for (const line of own) this.execute(lines[line].code, this.values);
      for (const [after, before] of moving.flatMap(move => move.replaced)) this.read(before).set(this.read(after));
      this.run();
    }
    add(v, x, y, sum) {
      const a = this.blocks[x].start, b = this.blocks[y].start, { start, size } = this.blocks[sum];
      for (let i = 0; i < size; i++) v[start + i] = v[a + i] + v[b + i];
    }

    // --- rounding noise: what is no larger than its own rounding errors is 0 -------------------------------------

    // How far rounding may have moved each value that is nothing but rounding errors, what each send adds, each total.
    noises() {
      if (this.noise) return this.noise;
      this.noise = new Map();                  // by block
      const scratch = this.values.slice();
      for (const { lines, result } of this.nodes()) this.measure(lines, result, scratch);
      for (const send of this.sends) {
        const own = send.lines.length ? this.noiseOf(send, scratch) : this.noise.get(send.added);
        const before = send.before >= 0 ? this.noise.get(send.before) : null;
        if (send.added !== send.total) this.noise.set(send.added, own);
        this.noise.set(send.total, before ? own.map((x, i) => x + before[i]) : own);
      }
      return this.noise;
    }
    noiseOf({ lines, added }, scratch) {
      return this.shaken(lines, this.usedBy(lines), added, this.values, scratch, this.noise);
    }
    usedBy(lines) {                            // the blocks that some lines are computed from
      const uses = new Set(lines.flatMap(line => this.lines[line].named));
      for (const line of lines) uses.delete(this.lines[line].result);
      return [...uses];
    }
    nodes() {                                  // the lines of each node
      if (this.grouped) return this.grouped;
      const values = new Set(this.data.made.map(one => one.value));
      this.grouped = [];
      let lines = [];
      for (const line of this.data.forward) {
        const { result } = this.lines[line];
        lines.push(line);
        if (values.has(result)) { this.grouped.push({ lines, result }); lines = []; }
      }
      return this.grouped;
    }
    measure(lines, result, scratch) {          // a value: terms that cancel, or what is computed from such a value
      if (this.blocks[result].kind) return;
      const uses = this.usedBy(lines);
      let most = 0;
      for (const use of uses) for (const x of this.read(use)) most = Math.max(most, Math.abs(x));
      const here = this.read(result);
      if (!here.some(x => x !== 0 && Math.abs(x) <= TINY * most) && !uses.some(use => this.noise.has(use))) return;
      const moved = this.shaken(lines, uses, result, this.values, scratch, this.noise);
      if (here.some((x, i) => x !== 0 && Math.abs(x) <= NOISE * moved[i])) this.noise.set(result, moved);
    }
    // How much a result moves when the blocks it is computed from move by their rounding errors, or by their
    // `noises`. A comparison that jumps is no rounding error: there each block is moved alone, and those that make it
    // jump are left out, as in formula/noise.py. `v` is a copy of the registers `from`.
    shaken(lines, uses, result, from, v, noises = null) {
      const there = this.read(result, from), move = (times, some) => this.moved(times, lines, some, result, from, v, noises);
      const jumps = (moved, some) => {
        const small = Array.from(moved, (x, i) => there[i] !== 0 && Math.abs(there[i]) <= NOISE * x);
        const far = small.some(Boolean) ? move(FURTHER, some) : moved;
        return small.map((is, i) => moved[i] === Infinity || (is && far[i] < FURTHER / 8 * moved[i]));
      };
      const moved = move(1, uses), jumped = jumps(moved, uses);
      if (!jumped.some(Boolean)) return moved;
      const steady = moved.map((x, i) => (jumped[i] ? 0 : x));
      for (const use of uses) {
        const alone = move(1, [use]), leaps = jumps(alone, [use]);
        alone.forEach((x, i) => { if (jumped[i] && !leaps[i]) steady[i] += x; });
      }
      return steady;
    }
    moved(times, lines, uses, result, from, v, noises) {
      const moved = new Float64Array(this.blocks[result].size);
      for (let turn = 0; turn < JITTERS; turn++) {
        for (const use of uses) {
          const { start, size, kind } = this.blocks[use], noise = noises?.get(use);
          if (kind) continue;
          for (let i = 0; i < size; i++) {
            const x = from[start + i], slack = Math.abs(x) * 2.3e-16;
            const by = noise ? Math.max(noise[i] / SHAKES.at(-1), slack) : slack;
            v[start + i] = x + times * shake(x, i, size, turn) * by;
          }
        }
        for (const line of lines) this.execute(this.lines[line].code, v);
        const here = this.read(result, v), there = this.read(result, from);
        for (let i = 0; i < moved.length; i++) {
          const by = Math.abs(here[i] - there[i]), lost = by !== by && Number.isFinite(there[i]);
          if (by > moved[i] || lost) moved[i] = lost ? Infinity : by;
        }
      }
      for (const use of uses) {
        const { start, size } = this.blocks[use];
        v.set(from.subarray(start, start + size), start);
      }
      return moved;
    }
    clean(block, noise, v) {
      const { start, size } = this.blocks[block];
      for (let i = 0; i < size; i++) if (Math.abs(v[start + i]) <= NOISE * noise[i]) v[start + i] = 0;
    }

    // A value or a gradient without its rounding noise, as cards show it.
    gradient(number) {
      const v = this.read(number).slice(), noise = this.noises().get(number);
      return noise ? v.map((x, i) => (Math.abs(x) <= NOISE * noise[i] ? 0 : x)) : v;
    }

    // The registers as one step shows them: rounding errors taken for the 0 they stand for.
    cleaned(step) {
      const v = this.values.slice();
      const known = block => { const noise = this.noises().get(block); if (noise) this.clean(block, noise, v); };
      for (const { result } of this.nodes()) known(result);
      if (step.arrives >= 0) known(step.arrives);
      const sent = new Set([...step.ledgers.flat(2), ...step.sends.flat()]);
      for (const number of step.lines) {
        const line = this.lines[number];
        if (sent.has(line.result) || number === step.last) continue;
        this.execute(line.code, v);            // a line that a rule names
        if (line.named.every(block => this.blocks[block].size <= LARGEST_SHAKEN)) {
          this.clean(line.result, this.shaken([number], [...new Set(line.named)], line.result, v, v.slice()), v);
        }
      }
      for (const block of sent) known(block);
      return v;
    }
  }
  return { Program, FUNCTIONS };
})();
if (typeof module !== "undefined") module.exports = program;
