"use strict";
// Marking: marking.py in the same order. Each number is judged from the learner's own earlier ones; a number that agrees
// with the key is right, one that follows from their own numbers follows, any other is wrong.
//
//   sheet.digits   significant digits asked for         sheet.given    [[id, number as text]]
//   sheet.lines    [[id, formula, number]]              sheet.parts    [{ step, name, shape, places, blanks: [[place, slips]] }]
//   sheet.slips    [[name, what it teaches, of an op]]  sheet.rounded  [[place, low, high]] of lines that are given
//   sheet.called   the names of a book, by id
//   sheet.weights  what each step counts, by number     sheet.rules    the words and numbers of the Python files
//
// Places count the given numbers, then the lines; formulas are written as intervals.js reads them.
const marking = (() => {
  const { ZERO, whole, parse, subtract, multiply, divide, negate, magnitude, compare, min, max, adjusted, isZero,
    plain } = decimals;
  const { CannotJudge, exactly, middle, width, size, wider, contains, reaches, evaluate } = intervals;
  const { filled } = answers;
  const RIGHT = "right", FOLLOWS = "follows", WRONG = "wrong", MISSING = "missing";
  const ten = (power) => ({ c: 1n, e: power });
  const asSlope = (name) => name.replace(/^d(.*?)\/d/, "∂$1/∂");
  function rounded(x, digits) {              // half to even, as Python's Decimal does
    const drop = decimals.size(x.c) - digits;
    if (drop <= 0) return x;
    const unit = 10n ** BigInt(drop), size = x.c < 0n ? -x.c : x.c, rest = 2n * (size % unit);
    const up = rest > unit || (rest === unit && (size / unit) % 2n === 1n), c = size / unit + (up ? 1n : 0n);
    return { c: x.c < 0n ? -c : c, e: x.e + drop };
  }
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
    const steps = Object.entries(sheet.weights).map(([number, weight]) => ({
      weight, parts: parts.filter((part) => part.step === Number(number)),
    }));
    return { ...sheet, names, numbers, parts, steps, blanks, byPlace, read: answers.reader(sheet.rules.answers) };
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
      const unit = unitThatCounts(blank.part, answer, isZero(blank.key) ? blank.part.size : blank.key);
      const distance = magnitude(subtract(answer.value, blank.key));
      const isRight = compare(distance, unit) < 0 || compare(distance, multiply(decimalUnit(blank, answer), HALF)) <= 0;
      const found = isRight ? entry(RIGHT, answer, { note: roundingNote(answer, blank, distance, unit), credit: 1 })
        : fromOwnNumbers(blank, answer);
      remember(blank, answer, unit, found.verdict);
      return found;
    }
    const entry = (verdict, answer, more) => ({ verdict, written: answer.text, used: [], note: "", problem: "", credit: 0, ...more });

    function fromOwnNumbers(blank, answer) {
      const used = ownNumbers(blank);
      let close, cut;
      try {
        [close, cut] = [expected(blank.formula, narrow), expected(blank.formula, wide)];
      } catch (error) {
        if (!(error instanceof CannotJudge)) throw error;
        return entry(WRONG, answer, { used, note: filled(notes.cannot, rules.reasons[error.message]) });
      }
      const about = middle(cut), unit = unitThatCounts(blank.part, answer, isZero(about) ? size(cut) : about);
      const coarse = decimalUnit(blank, answer), half = multiply(coarse, HALF);
      if (!fits(cut, answer.value, unit, half) || !fitsConstants(blank, answer.value, unit, half)) {
        return entry(WRONG, answer, { used, note: tooShort(answer, blank) });
      }
      let note = contains(wider(close, multiply(unit, HALF)), answer.value) ? "" : notes["cut off"];
      if (note && compare(coarse, unit) > 0 && contains(wider(close, half), answer.value)) {
        note = filled(notes.decimals, sheet.digits);
      }
      if (compare(width(cut), multiply(size(cut), TOO_WIDE)) > 0) note = notes.unchecked;
      return entry(FOLLOWS, answer, { used, note, credit: 1 });
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
      return isShort(value) ? exactly(value) : wider(exactly(value), multiply(asked(value), HALF));
    }
    function isShort(value) {
      return isZero(value) || decimals.size(value.c) <= Math.max(sheet.digits, rules.short);
    }
    const fits = (x, value, unit, half) => reaches(x, value, unit) || contains(wider(x, half), value);
    function fitsConstants(blank, value, unit, half) {   // some way to write the line's long constants gives the number
      if (constantsOf(blank.formula).every((x) => isShort(plain(parse(x))))) return true;
      const written = (digits) => (x) => {
        const exact = plain(x);
        return exactly(isShort(exact) || digits > sheet.digits + rules.more ? exact : rounded(exact, digits));
      };
      for (let digits = sheet.digits; digits <= sheet.digits + rules.more + 1; digits++) {
        if (fits(evaluate(blank.formula, wide, written(digits)), value, unit, half)) return true;
      }
      return false;
    }
    function constantsOf(formula) {
      return typeof formula === "string" ? [formula] : Array.isArray(formula) ? formula.slice(1).flatMap(constantsOf) : [];
    }

    // --- precision

    function asked(value, decimals = null) {  // the unit of the last digit that the sheet, or this step, asks for
      return ten(decimals === null ? adjusted(value) - sheet.digits + 1 : -decimals);
    }
    function unitThatCounts(part, answer, value) {
      const largest = part.size, wanted = asked(!isZero(value) ? value : !isZero(largest) ? largest : whole(1), part.decimals);
      return max(min(answer.unit, wanted), multiply(largest, NOISE));
    }
    function decimalUnit(blank, { value, unit }) {  // of a number rounded to decimals, as many as digits are asked for
      return isZero(value) || blank.part.decimals !== null ? ZERO : min(unit, ten(-sheet.digits));
    }
    function remember(blank, answer, unit, verdict) {   // what later lines are computed from: the number as written
      const { value } = answer;
      if (same(value, blank.key)) {
        narrow[blank.place] = wide[blank.place] = exactly(value);
        return;
      }
      if (!isZero(value)) {
        const isNear = compare(magnitude(subtract(value, blank.key)), unit) <= 0;
        unit = max(min(answer.unit, asked(value, blank.part.decimals)), isNear ? unit : ZERO);
      }
      const rounding = verdict === WRONG ? ZERO : multiply(decimalUnit(blank, answer), HALF);
      narrow[blank.place] = wider(exactly(value), max(multiply(unit, HALF), rounding));
      wide[blank.place] = wider(exactly(value), max(unit, rounding));
    }
    function ownNumbers(blank) {             // theirs that are not the key's; all of them if rounding made the difference
      const own = [], behind = new Set(blank.operands);
      for (const place of behind) {          // the set grows while it is read, through steps that were skipped
        const other = sheet.byPlace.get(place), found = other && entries.get(other.id);
        if (found?.verdict === MISSING) other.operands.forEach((one) => behind.add(one));
        else if (found) own.push(other.id);
      }
      const changed = own.filter((id) => entries.get(id).verdict !== RIGHT);
      return changed.length ? changed : own;
    }
    function roundingNote(answer, blank, distance, unit) {
      if (compare(distance, multiply(unit, HALF)) <= 0) return "";
      if (compare(distance, multiply(decimalUnit(blank, answer), HALF)) <= 0) return filled(notes.decimals, sheet.digits);
      if (isRounded(answer, blank, unit)) return "";
      return notes[compare(magnitude(answer.value), magnitude(blank.key)) < 0 ? "cut off" : "too large"];
    }
    function isRounded(answer, blank, unit) {   // what the learner's own numbers give, correctly rounded?
      try {
        return contains(wider(expected(blank.formula, narrow), multiply(unit, HALF)), answer.value);
      } catch (error) {
        if (!(error instanceof CannotJudge)) throw error;
        return false;
      }
    }
    function tooShort(answer, blank) {       // right, if the digits it shows were all that was asked for?
      if (isZero(blank.key) || compare(answer.unit, asked(blank.key, blank.part.decimals)) <= 0) return "";
      const distance = magnitude(subtract(answer.value, blank.key)), near = multiply(magnitude(blank.key), NEARBY);
      const isWhole = compare(answer.unit, whole(1)) >= 0;   // 1 for 0.6 may be a slip; 0.01 for 0.0071 is rounded
      const most = isWhole ? min(multiply(answer.unit, HALF), near) : multiply(answer.unit, HALF);
      return compare(distance, most) <= 0 ? tooShortNote(blank) : "";
    }
    function tooShortNote({ part: { decimals } }) {
      return filled(notes["too short"], decimals === null ? sheet.digits : `${decimals} decimal${decimals === 1 ? "" : "s"}`);
    }

    // --- slips: slips.py finds the alternative lines, this computes them

    function explain(blank) {
      if (isShortened(blank)) return null;
      const { names, copied } = slipsOf(blank);
      if (!names.length) return { name: rules.unknown[0], teaches: rules.unknown[1], names };
      const wrote = copied ? filled(rules.copied, copied) : "";
      if (names.length > 1) return { name: `${rules.several}${names.join("; ")}`, teaches: wrote + rules.which, names };
      return { name: names[0], teaches: wrote + sheet.slips.find(([name]) => name === names[0])[1], names };
    }
    function slipsOf(blank) {                // of several, the one that gives all wrong numbers of the table
      const own = ownSlips(blank);
      const all = blank.part.blanks.filter((other) => entries.get(other.id).verdict === WRONG).map(ownSlips)
        .filter(({ names }) => names.length);
      const common = own.names.filter((name) => all.every(({ names }) => names.includes(name)));
      return { ...own, names: common.length === 1 ? common : own.names };
    }
    const known = new Map();
    const isShortened = (blank) => entries.get(blank.id).note === tooShortNote(blank);   // rounded too early, no slip
    function ownSlips(blank) {
      if (isShortened(blank)) return { names: [], copied: "" };
      if (!known.has(blank)) known.set(blank, findSlips(blank, given.get(blank.id)));
      return known.get(blank);
    }
    function findSlips(blank, answer) {
      const found = new Map(), { value } = answer;     // names, and whether an op's block lists the slip
      let copied = "";
      const unit = unitThatCounts(blank.part, answer, isZero(value) ? blank.part.size : value);
      const tolerance = max(unit, multiply(decimalUnit(blank, answer), HALF));
      for (const [slip, formula] of blank.slips) {
        const interval = sharp(formula);
        if (!interval || !contains(wider(interval, tolerance), value)) continue;
        const [name, , ofOp] = sheet.slips[slip];
        if (!found.has(name)) found.set(name, ofOp);
        if (!copied && typeof formula === "number") copied = asSlope(sheet.called[sheet.names[formula]] ?? sheet.names[formula]);
      }
      const right = sharp(blank.formula);
      if (right && !isZero(size(right)) && !isZero(value)) {
        for (const [slip, number] of otherDigits(answer)) {
          if (contains(wider(right, tolerance), number) && !found.has(rules.digits[slip])) found.set(rules.digits[slip], false);
        }
      }
      const all = [...found.keys()], ofOps = all.filter((name) => found.get(name));
      return { names: ofOps.length ? ofOps : all, copied };
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

    // --- the score: what each step earns, by what it counts

    function score() {
      const earned = sheet.steps.map((step) => credit(step.parts) * step.weight);
      const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
      return sum(earned) / sum(sheet.steps.map((step) => step.weight));
    }
    function credit(parts) {                 // shared by its tables, theirs by their entries; lost with the step's idea
      const shares = [];
      for (const { blanks } of parts) {
        const verdict = (blank) => entries.get(blank.id).verdict;
        const right = blanks.filter((blank) => [RIGHT, FOLLOWS].includes(verdict(blank)));
        if (isFilled(right)) for (const { id } of blanks) entries.get(id).credit = 0;
        if (blanks.some((blank) => verdict(blank) === WRONG && isIdea(slipsOf(blank).names, right))) return 0;
        shares.push(blanks.reduce((sum, blank) => sum + entries.get(blank.id).credit, 0) / blanks.length);
      }
      return shares.reduce((a, b) => a + b, 0) / shares.length;
    }
    const isFilled = (right) => filler && right.every((blank) => same(given.get(blank.id).value, filler));
    function isIdea(names, right) {          // was the slip made wherever it makes a difference?
      if (!names.length || Object.values(rules.digits).some((name) => names.includes(name))) return false;
      return !right.some((other) => other.slips.some(([slip, formula]) =>
        names.includes(sheet.slips[slip][0]) && differ(sharp(other.formula), sharp(formula))));
    }
    const differ = (a, b) => a && b && (compare(a.high, b.low) < 0 || compare(b.high, a.low) < 0);

    for (const blank of sheet.blanks) entries.set(blank.id, judged(blank));
    const wrong = sheet.blanks.filter((blank) => entries.get(blank.id).verdict === WRONG);
    return {
      entries, explain, score: score(), wrong, firstWrong: wrong[0] ?? null,
      notes: filler ? [filled(notes.filler, fillerText)] : [],
    };
  }

  return { prepared, mark, RIGHT, FOLLOWS, WRONG, MISSING };
})();
