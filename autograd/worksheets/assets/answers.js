"use strict";
// What was typed, as a number with the unit of its last place: the part of answers.py that reads text. The patterns,
// the spellings and the words come from there (`rules.answers`).
const answers = (() => {
  const { ZERO, parse, divide, adjusted, isZero } = decimals;
  const filled = (words, ...parts) => words.replace(/\{(\d)\}/g, (_, i) => parts[i]);

  function reader(rules) {
    const whole = {}, problem = (key, ...parts) => filled(rules.problems[key], ...parts);
    for (const [name, pattern] of Object.entries(rules.patterns)) whole[name] = new RegExp(`^(?:${pattern})$`, "is");
    const powerOfTen = new RegExp(rules.patterns["power of ten"], "is");
    const unit = (exponent) => ({ c: 1n, e: exponent });

    function respelled(text) {
      const plain = [...text].map((c) => rules.spellings[c] ?? c);
      const skipSpaces = () => { while (plain.length && rules.spaces.includes(plain[0])) plain.shift(); };
      skipSpaces();
      if (plain[0] === rules.about) plain.shift();
      skipSpaces();
      while (plain.length && rules.spaces.includes(plain[plain.length - 1])) plain.pop();
      return plain.join("");
    }
    function usesDecimalComma(texts) {       // decided once: a comma that can only be a decimal one, and no point
      const plain = texts.map(respelled);
      const commas = plain.some((text) => whole.comma.test(text) && !whole.ambiguous.test(text));
      return commas && !plain.some((text) => whole.number.test(text) && text.includes("."));
    }
    function fraction(text, above, below) {
      if (BigInt(below) === 0n) return { text, problem: problem("zero", respelled(text)) };
      const value = divide(parse(above), parse(below));
      return { text, value, unit: isZero(value) ? ZERO : unit(adjusted(value) - rules.significant + 1) };
    }
    function whyNot(text) {
      if (whole["not finite"].test(text)) return "not finite";
      if (text.endsWith("%")) return "per cent";
      return whole["with more"].test(text) ? "with more" : "none";
    }
    function read(text, comma) {             // { text, value, unit }, or { text, problem }, or { text } if it is empty
      const short = respelled(text);
      if (!short) return { text };
      const length = [...short].length;
      if (length > rules.longest) return { text: [...text].slice(0, rules.longest).join(""), problem: problem("long", length) };
      if (short.startsWith("=")) return { text, problem: problem("formula", short) };
      const parts = whole.fraction.exec(short);
      if (parts) return fraction(text, parts[1], parts[2]);
      let plain = short.replace(powerOfTen, "e$1");
      if (plain.includes(",")) {
        if (whole.ambiguous.test(plain) && !comma) {
          return { text, problem: problem("ambiguous", short, plain.replaceAll(",", "."), plain.replaceAll(",", "")) };
        }
        if (!whole.comma.test(plain)) return { text, problem: problem("comma", short) };
        plain = plain.replaceAll(",", ".");
      }
      if (!whole.number.test(plain)) return { text, problem: problem(whyNot(short), short) };
      const value = parse(plain), [, after = "", power = "0"] = /(?:\.(\d*))?(?:e([+-]?\d+))?$/i.exec(plain);
      if (!isZero(value) && Math.abs(adjusted(value)) > rules.largest) return { text, problem: problem("size", short) };
      let exponent = Number(power) - after.length;
      if (!isZero(value)) exponent = Math.max(exponent, adjusted(value) - rules.significant + 1);
      return { text, value, unit: unit(exponent) };
    }
    function rowsOf(text) {                  // of a whole table: a row on a line or before a semicolon
      const rows = text.replace(/^[\s[\]]+|[\s[\]]+$/g, "").split(new RegExp(rules.rowEnds));
      return rows.map((row) => row.split(/\s+/).filter(Boolean)).filter((row) => row.length);
    }
    function inWords(rows, columns) {
      const numbers = [...new Set(columns)].sort((a, b) => a - b).join(" or ");
      return `${rows} row${rows > 1 ? "s" : ""} of ${numbers} number${numbers === "1" ? "" : "s"}`;
    }
    function spread(texts, parts) {          // whole tables that were typed under their names, entry by entry
      const found = new Map(texts);
      for (const part of parts.filter(({ name, shape }) => shape.length && texts.has(name))) {
        const text = texts.get(part.name), rows = rowsOf(text), width = part.shape[part.shape.length - 1];
        const count = part.shape.reduce((a, b) => a * b), flat = rows.flat();
        found.delete(part.name);
        const fits = rows.every((row) => row.length === width) && flat.length === count;
        const problem = fits ? "" : filled(rules.problems.shape, part.name, inWords(count / width, [width]), inWords(rows.length, rows.map((row) => row.length)));
        part.blanks.forEach((blank, i) => found.set(blank.id, fits ? flat[part.places[i]] : { text, problem }));
      }
      return found;
    }
    return (texts, parts) => {               // a Map from id or table to text, as one from id to answer
      const found = spread(texts, parts);
      const comma = usesDecimalComma([...found.values()].filter((text) => typeof text === "string"));
      return new Map([...found].map(([id, text]) => [id, typeof text === "string" ? read(text, comma) : text]));
    };
  }
  return { reader, filled };
})();
