"use strict";
// Marking: marking.py in the same order. Each number is judged from the learner's own earlier ones; a number that agrees
// with the key is right, one that follows from their own numbers follows, any other is wrong.
//
//   sheet.digits   significant digits asked for         sheet.given    [[id, number as text]]
//   sheet.lines    [[id, formula, number]]              sheet.parts    [{ step, name, shape, places, blanks: [[place, slips]] }]
//   sheet.slips    [[name, what it teaches]]            sheet.rounded  [[place, low, high]] of lines that are given
//   sheet.rules    the words and numbers of the Python files
//
// Places count the given numbers, then the lines; formulas are written as intervals.js reads them.
const marking = (() => {
  const { ZERO, whole, parse, subtract, multiply, divide, negate, magnitude, compare, min, max, adjusted, isZero,
    plain } = decimals;
  const { CannotJudge, exactly, middle, width, size, wider, contains, evaluate } = intervals;
  const { filled } = answers;
  const RIGHT = "right", FOLLOWS = "follows", WRONG = "wrong", MISSING = "missing";
  const ten = (power) => ({ c: 1n, e: power });
  const same = (x, y) => compare(x, y) === 0;

  // --- the sheet, its key computed from what is given ------------------------------------------------------------

  function prepared(sheet) {
    const names = [], numbers = [], formulas = [];
    for (const [id, text] of sheet.given) {
      names.push(id);
      numbers.push(exactly(parse(text)));
      formulas.push(null);
    }
    for (const [id, formula, number] of sheet.lines) {
      names.push(id);
      numbers.push(number === undefined ? evaluate(formula, numbers, exactly) : exactly(parse(number)));
      formulas.push(formula);
    }
    const parts = sheet.parts.map((part) => ({ ...part, blanks: part.blanks.map(([place, slips]) => {
      const exact = numbers[place], holdsZero = compare(exact.low, ZERO) <= 0 && compare(exact.high, ZERO) >= 0;
      const key = holdsZero ? ZERO : middle(exact), formula = formulas[place];
      return { id: names[place], place, formula, operands: operandsOf(formula), key, slips };
    }) }));
    for (const part of parts) {
      part.size = part.blanks.reduce((largest, blank) => max(largest, magnitude(blank.key)), ZERO);
      for (const blank of part.blanks) blank.part = part;
    }
    const blanks = parts.flatMap((part) => part.blanks);
    const byPlace = new Map(blanks.map((blank) => [blank.place, blank]));
    return { ...sheet, names, numbers, parts, blanks, byPlace, read: answers.reader(sheet.rules.answers) };
  }
  function operandsOf(formula, found = []) {
    if (typeof formula === "number" && !found.includes(formula)) found.push(formula);
    if (Array.isArray(formula)) for (const part of formula.slice(1)) operandsOf(part, found);
    return found;
  }

  // --- one set of answers ----------------------------------------------------------------------------------------

  function mark(sheet, texts) {              // texts: a Map from id to what was typed
    const given = sheet.read(texts, sheet.parts), rules = sheet.rules, notes = rules.notes;
    const HALF = parse("0.5"), NOISE = parse(rules.noise), TOO_WIDE = parse(rules.tooWide), NEARBY = parse(rules.nearby);
    const entries = new Map(), narrow = [...sheet.numbers], wide = [...sheet.numbers];
    for (const [place, low, high] of sheet.rounded) {
      narrow[place] = wide[place] = { low: parse(low), high: parse(high) };
    }
    const [filler, fillerText] = findFiller();
    const expected = (formula, numbers) => evaluate(formula, numbers, constant);

    function findFiller() {                  // a number that fills the sheet shows no work
      const found = sheet.blanks.map((blank) => given.get(blank.id)).filter((answer) => answer?.value);
      if (found.length < 3) return [null, ""];
      const counts = new Map();
      for (const answer of found) {
        const { c, e } = plain(answer.value), key = `${c}e${e}`;
        const seen = counts.get(key) ?? { value: answer.value, text: answer.text, count: 0 };
        counts.set(key, { ...seen, count: seen.count + 1 });
      }
      const most = [...counts.values()].reduce((a, b) => (b.count > a.count ? b : a));
      const inKey = sheet.blanks.filter((blank) => same(blank.key, most.value)).length / sheet.blanks.length;
      return most.count / found.length <= inKey + rules.oneNumber ? [null, ""] : [most.value, most.text.trim()];
    }

    // --- one blank

    function judged(blank) {
      const answer = given.get(blank.id) ?? { text: "" };
      if (!answer.value) {
        passOn(blank);
        return entry(MISSING, answer, { problem: answer.problem ?? "" });
      }
      const unit = unitThatCounts(answer, isZero(blank.key) ? blank.part.size : blank.key, blank.part.size);
      const distance = magnitude(subtract(answer.value, blank.key));
      const isRight = compare(distance, max(unit, multiply(decimalUnit(answer), HALF))) <= 0;
      const found = isRight ? entry(RIGHT, answer, { note: roundingNote(answer, blank, distance, unit), credit: 1 })
        : fromOwnNumbers(blank, answer);
      remember(blank, answer, unit, found.verdict);
      return found;
    }
    const entry = (verdict, answer, more) => ({ verdict, written: answer.text, used: [], note: "", problem: "", credit: 0, ...more });

    function fromOwnNumbers(blank, answer) {
      const used = ownNumbers(blank);
      let rounded, cut;
      try {
        [rounded, cut] = [expected(blank.formula, narrow), expected(blank.formula, wide)];
      } catch (error) {
        if (!(error instanceof CannotJudge)) throw error;
        return entry(WRONG, answer, { used, note: filled(notes.cannot, rules.reasons[error.message]) });
      }
      const about = middle(cut), unit = unitThatCounts(answer, isZero(about) ? size(cut) : about, blank.part.size);
      const coarse = decimalUnit(answer), half = multiply(coarse, HALF);
      if (!contains(wider(cut, max(unit, half)), answer.value)) {
        return entry(WRONG, answer, { used, note: tooShort(answer, blank) });
      }
      let note = contains(wider(rounded, multiply(unit, HALF)), answer.value) ? "" : notes["cut off"];
      if (note && compare(coarse, unit) > 0 && contains(wider(rounded, half), answer.value)) {
        note = filled(notes.decimals, sheet.digits);
      }
      if (compare(width(cut), multiply(size(cut), TOO_WIDE)) > 0) note = notes.unchecked;
      return entry(FOLLOWS, answer, { used, note, credit: filler && same(answer.value, filler) ? 0 : 1 });
    }

    function passOn(blank) {                 // a step that was skipped: what their own numbers give there
      if (blank.operands.every((place) => wide[place] === sheet.numbers[place])) return;
      try {
        [narrow[blank.place], wide[blank.place]] = [expected(blank.formula, narrow), expected(blank.formula, wide)];
      } catch (error) {
        if (!(error instanceof CannotJudge)) throw error;
      }
    }

    function constant(x) {                   // exact if it is short, else as anyone would round it
      const value = plain(x);
      if (isZero(value) || decimals.size(value.c) <= Math.max(sheet.digits, rules.short)) return exactly(value);
      return wider(exactly(value), multiply(asked(value), HALF));
    }

    // --- precision

    function asked(value) {                  // the unit of the last digit that the sheet asks for
      return ten(adjusted(value) - sheet.digits + 1);
    }
    function unitThatCounts(answer, value, largest) {
      const wanted = asked(!isZero(value) ? value : !isZero(largest) ? largest : whole(1));
      return max(min(answer.unit, wanted), multiply(largest, NOISE));
    }
    function decimalUnit({ value, unit }) {  // of a number rounded to decimals, as many as digits are asked for
      return isZero(value) ? ZERO : min(unit, ten(-sheet.digits));
    }
    function remember(blank, answer, unit, verdict) {   // what later lines are computed from: the number as written
      const { value } = answer;
      if (same(value, blank.key)) {
        narrow[blank.place] = wide[blank.place] = exactly(value);
        return;
      }
      if (!isZero(value)) {
        const isNear = compare(magnitude(subtract(value, blank.key)), unit) <= 0;
        unit = max(min(answer.unit, asked(value)), isNear ? unit : ZERO);
      }
      const rounding = verdict === WRONG ? ZERO : multiply(decimalUnit(answer), HALF);
      narrow[blank.place] = wider(exactly(value), max(multiply(unit, HALF), rounding));
      wide[blank.place] = wider(exactly(value), max(unit, rounding));
    }
    function ownNumbers(blank) {             // theirs that are not the key's; all of them if rounding made the difference
      const own = [], waiting = [...blank.operands];
      while (waiting.length) {
        const place = waiting.shift(), other = sheet.byPlace.get(place), found = other && entries.get(other.id);
        if (found?.verdict === MISSING) waiting.push(...other.operands);
        else if (found && !own.includes(other.id)) own.push(other.id);
      }
      const changed = own.filter((id) => entries.get(id).verdict !== RIGHT);
      return changed.length ? changed : own;
    }
    function roundingNote(answer, blank, distance, unit) {
      if (compare(distance, multiply(unit, HALF)) <= 0) return "";
      if (compare(distance, multiply(decimalUnit(answer), HALF)) <= 0) return filled(notes.decimals, sheet.digits);
      return notes[compare(magnitude(answer.value), magnitude(blank.key)) < 0 ? "cut off" : "too large"];
    }
    function tooShort(answer, blank) {       // right, if the digits it shows were all that was asked for?
      if (isZero(blank.key) || compare(answer.unit, asked(blank.key)) <= 0) return "";
      const distance = magnitude(subtract(answer.value, blank.key));
      const most = min(multiply(answer.unit, HALF), multiply(magnitude(blank.key), NEARBY));
      return compare(distance, most) <= 0 ? filled(notes["too short"], sheet.digits) : "";
    }

    // --- slips: slips.py finds the alternative lines, this computes them

    function explain(blank) {
      const answer = given.get(blank.id), names = slipsOf(blank, answer);
      if (!names.length) {
        return entries.get(blank.id).note === filled(notes["too short"], sheet.digits) ? null : { name: rules.unknown[0], teaches: rules.unknown[1], names };
      }
      if (names.length > 1) return { name: `${rules.several}${names.join("; ")}`, teaches: rules.which, names };
      return { name: names[0], teaches: sheet.slips.find(([name]) => name === names[0])[1], names };
    }
    function slipsOf(blank, answer) {
      const found = new Set(), { value } = answer;
      const unit = unitThatCounts(answer, isZero(value) ? blank.part.size : value, blank.part.size);
      const tolerance = max(unit, multiply(decimalUnit(answer), HALF));
      for (const [slip, formula] of blank.slips) {
        const interval = sharp(formula);
        if (interval && contains(wider(interval, tolerance), value)) found.add(sheet.slips[slip][0]);
      }
      const right = sharp(blank.formula);
      if (right && !isZero(size(right)) && !isZero(value)) {
        for (const [slip, number] of otherDigits(answer)) {
          if (contains(wider(right, tolerance), number)) found.add(rules.digits[slip]);
        }
      }
      return [...found];
    }
    function sharp(formula) {                // its interval, unless that is too vague to prove anything
      try {
        const found = expected(formula, wide);
        return compare(width(found), multiply(size(found), parse(rules.vague))) <= 0 ? found : null;
      } catch (error) {
        if (!(error instanceof CannotJudge)) throw error;
        return null;
      }
    }
    function otherDigits({ text, value }) {  // the numbers of which the one written is a slip of the pen
      const found = [["sign", negate(value)], ["point", multiply(value, whole(10))], ["point", divide(value, whole(10))]];
      if (text.includes("/")) return found;
      const digits = magnitude(value).c.toString();
      for (let i = 0; i + 1 < digits.length; i++) {
        const leads = i === 0 && digits[1] === "0" && digits.length + value.e > 1;   // 40 is no slip of the pen for 04
        if (digits[i] === digits[i + 1] || leads) continue;
        const c = BigInt(digits.slice(0, i) + digits[i + 1] + digits[i] + digits.slice(i + 2));
        found.push(["swapped", { c: value.c < 0n ? -c : c, e: value.e }]);
      }
      return found;
    }

    for (const blank of sheet.blanks) entries.set(blank.id, judged(blank));
    const wrong = sheet.blanks.filter((blank) => entries.get(blank.id).verdict === WRONG);
    return {
      entries, explain, score: score(sheet, entries), wrong, firstWrong: wrong[0] ?? null,
      notes: filler ? [filled(notes.filler, fillerText)] : [],
    };
  }

  // Every step one point, shared by its parts, theirs by their blanks.
  function score(sheet, entries) {
    const shares = new Map();
    for (const part of sheet.parts) {
      const credit = part.blanks.reduce((sum, blank) => sum + entries.get(blank.id).credit, 0) / part.blanks.length;
      shares.set(part.step, [...(shares.get(part.step) ?? []), credit]);
    }
    const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;
    return mean([...shares.values()].map(mean));
  }

  return { prepared, mark, RIGHT, FOLLOWS, WRONG, MISSING };
})();
