"use strict";
// Decimal numbers of 40 digits, as Python's `decimal` has them. A number is { c, e }: c × 10 ** e, c a BigInt.
// add, subtract, multiply, divide, sqrt, exp and ln are rounded correctly, half to even. So they give the same digits
// as intervals.py: there is only one correctly rounded result.
const decimals = (() => {
  const PRECISION = 40, LARGEST = 999999;    // digits; the largest power of ten, and its negative the smallest
  const ERROR = 10n ** 8n;                   // units of the last place: more than exp and ln lose on their way

  class NoResult extends Error {}            // too large, too small or not defined

  const tens = [1n];
  function ten(n) {
    while (tens.length <= n && n < 400) tens.push(tens[tens.length - 1] * 10n);
    return n < 400 ? tens[n] : 10n ** BigInt(n);
  }
  function size(c) {                         // how many digits; from the bits, since writing a number out takes longer
    if (c < 0n) c = -c;
    const hex = (c || 1n).toString(16), bits = 4 * hex.length - Math.clz32(parseInt(hex[0], 16)) + 28;
    let digits = Math.floor((bits - 1) * 0.30102999) + 1;   // log10 of 2, a little less: never too many
    while (c >= ten(digits)) digits += 1;
    return digits;
  }
  const adjusted = (x) => size(x.c) + x.e - 1;   // the power of ten of its first digit

  // c × 10 ** e to 40 digits. What was cut off before must not matter: see `sticky`.
  function rounded(c, e) {
    if (c === 0n) return ZERO;
    if (size(c) + e - 1 < -LARGEST) throw new NoResult();
    const drop = size(c) - PRECISION;
    if (drop > 0) {
      const unit = ten(drop), magnitude = c < 0n ? -c : c;
      const twice = 2n * (magnitude % unit);
      let kept = magnitude / unit;
      if (twice > unit || (twice === unit && kept & 1n)) kept += 1n;
      [c, e] = [c < 0n ? -kept : kept, e + drop];
    }
    if (size(c) + e - 1 > LARGEST) throw new NoResult();
    return { c, e };
  }
  // A quotient or root that was cut off after more than 41 digits: one more digit says whether anything was left.
  const sticky = (c, isExact, e) => rounded(10n * c + (isExact ? 0n : 1n), e - 1);

  const ZERO = { c: 0n, e: 0 };
  const whole = (n) => ({ c: BigInt(n), e: 0 });

  function parse(text) {                     // "-0.0250e3" keeps its zeros: { c: -250n, e: -1 }
    const [, sign, before, after = "", power = "0"] = /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text);
    const c = BigInt(before + after || "0");
    return rounded(sign === "-" ? -c : c, Number(power) - after.length);
  }
  const toNumber = (x) => Number(`${x.c}e${x.e}`);

  // --- arithmetic ------------------------------------------------------------------------------------------------

  function aligned(a, b) {                   // both with the smaller of their exponents
    const e = Math.min(a.e, b.e);
    return [a.c * ten(a.e - e), b.c * ten(b.e - e), e];
  }
  // Of a number far below the last digit of the other only its sign matters.
  const FAR = 2 * PRECISION + 5;
  const beside = (b, top) => (b.c !== 0n && adjusted(b) < top - FAR ? { c: b.c < 0n ? -1n : 1n, e: top - FAR } : b);
  function add(a, b) {
    if (a.c === 0n || b.c === 0n) return a.c === 0n ? rounded(b.c, b.e) : rounded(a.c, a.e);
    const top = Math.max(adjusted(a), adjusted(b)), [x, y, e] = aligned(beside(a, top), beside(b, top));
    return rounded(x + y, e);
  }
  const negate = (a) => ({ c: -a.c, e: a.e });
  const magnitude = (a) => (a.c < 0n ? negate(a) : a);
  const subtract = (a, b) => add(a, negate(b));
  const multiply = (a, b) => rounded(a.c * b.c, a.e + b.e);
  function divide(a, b) {
    if (b.c === 0n) throw new NoResult();
    const shift = Math.max(0, PRECISION + 2 + size(b.c) - size(a.c));
    const above = magnitude(a).c * ten(shift), below = magnitude(b).c, e = a.e - b.e - shift;
    const found = sticky(above / below, above % below === 0n, e);
    return (a.c < 0n) === (b.c < 0n) ? found : negate(found);
  }
  function sqrt(a) {
    if (a.c < 0n) throw new NoResult();
    if (a.c === 0n) return ZERO;
    let shift = Math.max(0, 2 * PRECISION + 4 - size(a.c));
    if ((a.e - shift) % 2) shift += 1;
    const square = a.c * ten(shift);
    let root = BigInt(Math.floor(Math.sqrt(Number(square))));
    for (let before = 0n; before !== root && before !== root + 1n; ) [before, root] = [root, (root + square / root) >> 1n];
    while (root * root > square) root -= 1n;
    while ((root + 1n) * (root + 1n) <= square) root += 1n;
    return sticky(root, root * root === square, (a.e - shift) / 2);
  }
  function compare(a, b) {                   // -1, 0 or 1
    if (sign(a) !== sign(b) || a.c === 0n) return Math.sign(sign(a) - sign(b));
    const gap = adjusted(a) - adjusted(b);
    if (gap) return Math.sign(gap) * sign(a);
    const [x, y] = aligned(a, b);
    return x < y ? -1 : x > y ? 1 : 0;
  }
  const min = (...all) => all.reduce((a, b) => (compare(b, a) < 0 ? b : a));
  const max = (...all) => all.reduce((a, b) => (compare(b, a) > 0 ? b : a));

  // --- exp and ln: fixed point with W decimals, more of them until the rounding is certain ------------------------

  function certain(value, W, shift) {        // value / 10 ** W × 10 ** shift to 40 digits; null if it is too near a tie
    const n = size(value), drop = n - PRECISION;
    if (drop < 12) return null;
    const tail = (value < 0n ? -value : value) % ten(drop), half = 5n * ten(drop - 1);
    const distance = tail < half ? half - tail : tail - half;
    return distance <= ERROR ? null : rounded(value, shift - W);
  }
  function fixed(x, W) {                     // cut off
    const shift = x.e + W;
    return shift >= 0 ? x.c * ten(shift) : x.c / ten(-shift);
  }
  function fixedExp(x, S) {                  // of |x| < 3: the series at x / 256, squared eight times
    const small = x / 256n;
    let sum = S, term = S;
    for (let n = 1n; term !== 0n; n += 1n) sum += term = (term * small) / (S * n);
    for (let i = 0; i < 8; i++) sum = (sum * sum) / S;
    return sum;
  }
  function fixedLn(m, S) {                   // of m from 1 to 10, by Halley's iteration on exp
    let y = (BigInt(Math.round(Math.log(Number(m) / Number(S)) * 2 ** 50)) * S) >> 50n;
    for (let change = S; change * change * change > S * S; ) {
      const e = fixedExp(y, S), step = (2n * S * (m - e)) / (m + e);
      y += step;
      change = step < 0n ? -step : step;
    }
    return y;
  }
  const knownLn10 = new Map();
  function ln10(W) {
    if (!knownLn10.has(W)) knownLn10.set(W, fixedLn(10n * ten(W), ten(W)));
    return knownLn10.get(W);
  }
  function exp(x) {
    if (x.c === 0n) return whole(1);
    const tensInIt = Math.round(toNumber(x) / Math.LN10);
    for (let W = 62; ; W += 40) {
      const rest = fixed(x, W) - BigInt(tensInIt) * ln10(W);
      const found = certain(fixedExp(rest, ten(W)), W, tensInIt);
      if (found) return found;
    }
  }
  function ln(x) {
    if (x.c <= 0n) throw new NoResult();
    const power = adjusted(x);
    for (let W = 62; ; W += 40) {
      const m = fixed({ c: x.c, e: x.e - power }, W);
      if (power === 0 && m === ten(W)) return ZERO;
      const found = certain(fixedLn(m, ten(W)) + BigInt(power) * ln10(W), W, 0);
      if (found) return found;
    }
  }

  // --- integers, and writing ----------------------------------------------------------------------------------

  function toWhole(x, mode) {                // the nearest BigInt, half to even; or the next one above
    if (x.e >= 0) return x.c * ten(x.e);
    const unit = ten(-x.e), below = x.c / unit - (x.c % unit < 0n ? 1n : 0n), rest = x.c - below * unit;
    if (mode === "ceiling") return rest ? below + 1n : below;
    return 2n * rest > unit || (2n * rest === unit && below & 1n) ? below + 1n : below;
  }
  const isWhole = (x) => x.e >= 0 || x.c % ten(-x.e) === 0n;
  const isZero = (x) => x.c === 0n;
  const sign = (x) => (x.c > 0n ? 1 : x.c < 0n ? -1 : 0);
  function plain({ c, e }) {                 // without trailing zeros: what tells numbers apart
    while (c !== 0n && c % 10n === 0n) [c, e] = [c / 10n, e + 1];
    return { c, e: c === 0n ? 0 : e };
  }

  return { NoResult, ZERO, whole, parse, add, subtract, multiply, divide, sqrt, exp, ln, negate, magnitude, compare,
    min, max, adjusted, toWhole, isWhole, isZero, sign, plain, size };
})();
