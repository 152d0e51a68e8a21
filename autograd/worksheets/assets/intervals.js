"use strict";
// Interval arithmetic in decimal: intervals.py in the same order, function by function.
const intervals = (() => {
  const { NoResult, ZERO, whole, parse, add, subtract, multiply, divide, sqrt, exp, ln, negate, magnitude, compare,
    min, max, toWhole, isWhole, isZero, sign } = decimals;
  const ONE = whole(1), TWO = whole(2), GUARD = parse("1e-36"), TINY = parse("1e-60"), NEARLY_ONE = parse("0.99999999999999999999");
  const LARGEST_EXPONENT = whole(100000), LARGEST_ANGLE = whole(100000);

  class CannotJudge extends Error {}         // its message is a key of intervals.py's REASONS

  const interval = (low, high) => ({ low, high });
  const exactly = (x) => interval(x, x);
  const middle = (x) => divide(add(x.low, x.high), TWO);
  const width = (x) => subtract(x.high, x.low);
  const size = (x) => max(magnitude(x.low), magnitude(x.high));
  const wider = (x, by) => interval(subtract(x.low, by), add(x.high, by));
  const contains = (x, number) => compare(x.low, number) <= 0 && compare(number, x.high) <= 0;
  const reaches = (x, number, unit) => {     // less than a unit away?
    const less = multiply(unit, NEARLY_ONE);
    return compare(subtract(x.low, less), number) < 0 && compare(number, add(x.high, less)) < 0;
  };
  const mayBeZero = (x) => sign(x.low) <= 0 && sign(x.high) >= 0;

  function outward(low, high) {              // bounds that hold although the arithmetic itself rounds
    return interval(subtract(low, multiply(magnitude(low), GUARD)), add(high, multiply(magnitude(high), GUARD)));
  }
  function ofCorners(f, x, y) {
    const found = [f(x.low, y.low), f(x.low, y.high), f(x.high, y.low), f(x.high, y.high)];
    return outward(min(...found), max(...found));
  }
  function div(x, y) {
    if (mayBeZero(y)) throw new CannotJudge("divide");
    return ofCorners(divide, x, y);
  }
  function power(x, y) {
    if (compare(y.low, y.high) === 0 && isWhole(y.low)) return wholePower(x, toWhole(y.low));
    if (sign(x.low) <= 0) throw new CannotJudge("power");
    return ofCorners(powerOf, x, y);
  }
  function wholePower(x, n) {
    if (n < 0n) return div(exactly(ONE), wholePower(x, -n));
    const ends = [wholePowerOf(x.low, n), wholePowerOf(x.high, n)];
    return outward(n && n % 2n === 0n && mayBeZero(x) ? ZERO : min(...ends), max(...ends));
  }

  // --- functions -------------------------------------------------------------------------------------------------

  function expOf(x) {
    if (compare(magnitude(x), LARGEST_EXPONENT) > 0) throw new CannotJudge("exp");
    return exp(x);
  }
  function wholePowerOf(x, n) {
    let result = ONE;
    while (n) {
      if (n % 2n) result = multiply(result, x);
      n /= 2n;
      if (n) x = multiply(x, x);
    }
    return result;
  }
  const powerOf = (x, y) => expOf(multiply(y, ln(x)));
  const sigmoidOf = (x) => divide(ONE, add(ONE, expOf(negate(x))));
  function tanhOf(x) {
    const e = expOf(multiply(TWO, x));
    return divide(subtract(e, ONE), add(e, ONE));
  }
  const isLarge = (term) => compare(magnitude(term), TINY) > 0;
  function sineSeries(x, term, n) {
    let total = term;
    const square = multiply(x, x);
    while (isLarge(term)) {
      term = divide(multiply(negate(term), square), whole((n + 1) * (n + 2)));
      [total, n] = [add(total, term), n + 2];
    }
    return total;
  }
  const PI = parse("3.141592653589793238462643383279502884197"), TURN = multiply(TWO, PI), QUARTER = divide(PI, TWO);
  const turned = (x) => subtract(x, multiply(TURN, whole(toWhole(divide(x, TURN)))));
  function sinOf(x) {
    x = turned(x);
    return sineSeries(x, x, 1);
  }
  const cosOf = (x) => sineSeries(turned(x), ONE, 0);
  function arctanOf(x) {
    let halvings = 0;
    while (compare(magnitude(x), parse("0.05")) > 0) {
      x = divide(x, add(ONE, sqrt(add(ONE, multiply(x, x)))));
      halvings += 1;
    }
    let total = x, term = x, n = 1;
    const square = multiply(x, x);
    while (isLarge(term)) {
      [term, n] = [multiply(negate(term), square), n + 2];
      total = add(total, divide(term, whole(n)));
    }
    return multiply(total, whole(2 ** halvings));
  }
  function erfOf(x) {
    if (compare(magnitude(x), whole(12)) > 0) return sign(x) < 0 ? negate(ONE) : ONE;
    let total = x, term = x, n = 0;
    const square = multiply(x, x);
    while (isLarge(term)) {
      n += 1;
      term = divide(multiply(term, multiply(TWO, square)), whole(2 * n + 1));
      total = add(total, term);
    }
    return multiply(multiply(total, expOf(negate(square))), divide(TWO, sqrt(PI)));
  }
  const rising = (f) => (x) => outward(f(x.low), f(x.high));
  function log(x) {
    if (sign(x.low) <= 0) throw new CannotJudge("log");
    return outward(ln(x.low), ln(x.high));
  }
  function root(x) {
    if (sign(x.low) < 0) throw new CannotJudge("sqrt");
    return outward(sqrt(x.low), sqrt(x.high));
  }
  const wave = (f, top) => (x) => {
    if (compare(size(x), LARGEST_ANGLE) > 0) throw new CannotJudge("angle");
    const ends = [f(x.low), f(x.high)];
    let low = min(...ends), high = max(...ends);
    if (hasTurn(x, top)) high = ONE;
    if (hasTurn(x, add(top, PI))) low = negate(ONE);
    return outward(low, high);
  };
  function hasTurn(x, at) {
    const turns = whole(toWhole(divide(subtract(x.low, at), TURN), "ceiling"));
    return compare(add(at, multiply(turns, TURN)), x.high) <= 0;
  }
  const abs = (x) => (sign(x.low) >= 0 ? x : sign(x.high) <= 0 ? neg(x) : interval(ZERO, size(x)));
  const neg = (x) => interval(negate(x.high), negate(x.low));
  const comparison = (holds, fails) => (x, y) =>
    holds(x, y) ? exactly(ONE) : fails(x, y) ? exactly(ZERO) : interval(ZERO, ONE);
  function where(condition, x, y) {
    if (sign(condition.low) > 0) return x;
    if (isZero(condition.high)) return y;
    return interval(min(x.low, y.low), max(x.high, y.high));
  }
  const below = (x, y) => compare(x.high, y.low) < 0, atMost = (x, y) => compare(x.high, y.low) <= 0;
  const above = (x, y) => below(y, x), atLeast = (x, y) => atMost(y, x);
  const same = (x, y) => [x.high, y.low, y.high].every((end) => compare(x.low, end) === 0);
  const apart = (x, y) => below(x, y) || below(y, x);

  const FUNCTIONS = {
    add: (x, y) => outward(add(x.low, y.low), add(x.high, y.high)),
    sub: (x, y) => outward(subtract(x.low, y.high), subtract(x.high, y.low)),
    mul: (x, y) => ofCorners(multiply, x, y),
    div, neg, power, exp: rising(expOf), log, sqrt: root, tanh: rising(tanhOf), sigmoid: rising(sigmoidOf),
    sin: wave(sinOf, QUARTER), cos: wave(cosOf, ZERO), arctan: rising(arctanOf), erf: rising(erfOf),
    relu: (x) => interval(max(x.low, ZERO), max(x.high, ZERO)),
    abs, sign: (x) => interval(whole(sign(x.low)), whole(sign(x.high))),
    maximum: (x, y) => interval(max(x.low, y.low), max(x.high, y.high)),
    minimum: (x, y) => interval(min(x.low, y.low), min(x.high, y.high)),
    less: comparison(below, atLeast), less_equal: comparison(atMost, above),
    greater: comparison(above, atMost), greater_equal: comparison(atLeast, below),
    equal: comparison(same, apart), not_equal: comparison(apart, same),
    where,
  };

  // A formula is the place of a number in `numbers`, a constant as text, or [function, argument, ...].
  function evaluate(formula, numbers, constant) {
    if (typeof formula === "number") return numbers[formula];
    if (typeof formula === "string") return constant(parse(formula));
    const [name, ...parts] = formula, given = parts.map((part) => evaluate(part, numbers, constant));
    try {
      return FUNCTIONS[name](...given);
    } catch (error) {
      if (error instanceof NoResult) throw new CannotJudge("range");
      throw error;
    }
  }

  return { CannotJudge, FUNCTIONS, interval, exactly, middle, width, size, wider, contains, reaches, evaluate };
})();
