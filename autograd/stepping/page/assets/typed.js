"use strict";
// What somebody types, a number such as 1/2 or a formula, in postfix order: numbers, names, and functions with how many
// they take. `table` is that of formula/grammar.py; what can be read, and what is said of the rest, is as in playing/parser.py.
const typed = table => {
  const { constants, also, raised, functions, sums, products, powers } = table, LONGEST = 2000, DEEPEST = 50;
  const TOKEN = new RegExp(`\\s*(?:((?:\\d+(?:\\.(?![\\p{L}_])\\d*)?|\\.\\d+)(?:[eE][+-]?\\d+)?)|([${raised}]+)` +
    "|([\\p{L}_][\\p{L}\\p{Nd}_]*)|(\\*\\*|[-+*/^(),×·⋅÷−])|($))", "yu");
  const KINDS = ["number", "raised", "name", "symbol", "end"];

  class Mistake extends Error {
    constructor(message, at, end = at + 1) { super(message); Object.assign(this, { at, end }); }
  }
  function tokens(text) {
    const found = [];
    for (TOKEN.lastIndex = 0; !found.length || found.at(-1).kind !== "end";) {
      const from = TOKEN.lastIndex, match = TOKEN.exec(text), rest = text.slice(from);
      if (!match) {
        const at = from + rest.length - rest.trimStart().length;
        throw new Mistake(`cannot use '${text[at]}' in a formula${text[at] === "|" ? "; write abs(x) for |x|" : ""}`, at);
      }
      const kind = KINDS[match.slice(1).findIndex(part => part !== undefined)], word = match[0].trimStart();
      found.push({ kind, text: word, at: TOKEN.lastIndex - word.length, end: TOKEN.lastIndex });
    }
    return found;
  }

  function read(text) {
    if (text.length > LONGEST) throw new Mistake(`a formula of ${text.length} characters is too long (at most ${LONGEST})`, LONGEST);
    const all = tokens(text), parts = [], open = [];
    let place = 0, depth = 0;
    const next = () => all[place], take = () => all[place++];
    const symbol = () => (next().kind === "symbol" ? also[next().text] ?? next().text : "");
    function unexpected() {
      const token = next(), last = all[place - 1];
      if (token.kind === "end") {
        if (open.length) return new Mistake(`'${open.at(-1).text}' is never closed`, open.at(-1).at);
        return new Mistake(`something must follow '${last.text}'`, last.at, last.end);
      }
      if (token.text === ")") return new Mistake("unmatched ')'", token.at);
      const isMissing = token.kind === "number" && last && last.kind !== "symbol";
      const said = isMissing ? `an operator is missing before '${token.text}'` : `did not expect '${token.text}' here`;
      return new Mistake(said, token.at, token.end);
    }
    const apply = (op, count, at) => parts.push({ op, count, at });
    function deeper(rule) {
      if (++depth > DEEPEST) throw new Mistake(`nested too deeply: at most ${DEEPEST} brackets or powers in one another`, next().at);
      rule();
      depth--;
    }
    function sum() {
      product();
      for (let sign = symbol(); sign in sums; sign = symbol()) {
        const { at } = take();
        product();
        apply(sums[sign], 2, at);
      }
    }
    function product() {
      unary();
      for (let divided = false; ;) {
        let sign = symbol();
        const token = next();
        if (sign in products) { take(); divided = sign === "/"; }
        else if (token.kind === "name" || sign === "(") {      // 2x
          const twoWays = "after / it can be read in two ways: write * before it, or brackets around the divisor";
          if (divided) throw new Mistake(twoWays, token.at, token.end);
          sign = "*";
        } else return;
        unary();
        apply(products[sign], 2, token.at);
      }
    }
    function unary() {
      const signs = [];
      while (symbol() in sums) signs.push([symbol(), take().at]);
      power();
      for (const [sign, at] of signs.reverse()) if (sign === "-") apply("neg", 1, at);
    }
    function power() {
      atom();
      const token = next();
      const digits = () => [...take().text].map(digit => raised.indexOf(digit)).join("");
      if (token.kind === "raised") parts.push({ number: Number(digits()), at: token.at });
      else if (symbol() in powers) { take(); deeper(unary); }
      else return;
      apply(powers["**"], 2, token.at);
    }
    function atom() {
      const token = next();
      if (token.kind === "number") {
        const x = Number(take().text);
        if (x === Infinity) throw new Mistake("this number is too large; the largest float is 1.8e308", token.at, token.end);
        parts.push({ number: x, at: token.at });
      } else if (token.kind === "name") {
        take();
        if (symbol() === "(") call(token); else named(token);
      } else if (token.text === "(") bracketed(() => deeper(sum));
      else throw unexpected();
    }
    function named({ text: name, at, end }) {
      name = also[name] ?? name;
      if (Object.hasOwn(constants, name)) parts.push({ number: constants[name], name, at });
      else if (Object.hasOwn(functions, name)) throw new Mistake(`${name} is a function: write ${name}(...)`, at, end);
      else parts.push({ name, at });
    }
    function call({ text: name, at, end }) {
      if (!Object.hasOwn(functions, name)) {
        throw new Mistake(`there is no function '${name}'${name.length === 1 ? `; to multiply, write ${name} * (...)` : " here"}`, at, end);
      }
      let count = 0;
      bracketed(() => {
        for (; symbol() !== ")"; count++) {
          if (count) { if (symbol() !== ",") throw unexpected(); take(); }
          deeper(sum);
        }
      });
      const wanted = functions[name];
      if (count !== wanted) throw new Mistake(`${name} takes ${wanted} input${wanted > 1 ? "s" : ""}; got ${count}`, at, end);
      apply(name, count, at);
    }
    function bracketed(inside) {
      open.push(take());
      inside();
      if (symbol() !== ")") throw unexpected();
      take();
      open.pop();
    }
    if (next().kind === "end") throw new Mistake("it is empty; type one such as x*y + sin(x)", 0);
    sum();
    if (next().kind !== "end") throw unexpected();
    return parts;
  }

  // A number as people write one, 1/2, sqrt(2), -3e-2, 1.8×10⁻⁴, worked out; NaN for anything else.
  function number(text) {
    const stack = [];
    const power = (_, digits) => `e${[...digits].map(one => "-0123456789"["⁻⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(one)] ?? one).join("")}`;
    const plain = text.slice(0, 400).replace(/^(\s*[-−+]?\d*),(\d+\s*)$/, "$1.$2")
      .replace(/×10\^?([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|-?\d+)/, power);
    try {
      for (const { number: x, name, op, count } of read(plain)) {
        if (op) stack.push(program.FUNCTIONS[op](...stack.splice(-count)));
        else if (x !== undefined) stack.push(x);
        else throw new Mistake(`${name} is no number`, 0);
      }
      return stack[0];
    } catch { return NaN; }
  }
  return { read, number, Mistake };
};
if (typeof module !== "undefined") module.exports = typed;
