"use strict";
// Guess first: what somebody types is judged, and a wrong guess gets the hint that a worksheet would give.
const guessing = (changing, read) => {
  let right = 0, asked = 0;

  function judge(form, step, at) {             // is it right?
    const text = form.querySelector("input").value.trim(), output = form.querySelector("output");
    const guess = read(text), answer = Number(form.dataset.answer);
    if (Number.isNaN(guess)) { output.textContent = "write a number, such as -0.25, 1/2 or 1.8e-4"; return false; }
    const [mantissa, exponent] = text.split(/e/i), unit = 10 ** (Number(exponent || 0) - (mantissa.split(".")[1] || "").length);
    const slack = Math.max(.005 * Math.abs(answer), Math.min(.5 * unit, .05 * Math.abs(answer)));
    const isRight = Object.is(answer, guess) || Math.abs(guess - answer) <= slack;
    if (!form.dataset.judged) { asked++; right += isRight; form.dataset.judged = "yes"; }
    output.textContent = isRight ? "right" : hint(step, at, form, guess, answer, slack);
    return isRight;
  }
  // What a wrong guess may come from: the slips that worksheets know, tried on the numbers of a step.
  function hint(step, at, form, guess, answer, slack) {
    const is = x => Number.isFinite(x) && Math.abs(guess - x) <= Math.max(slack, 0.005 * Math.abs(x));
    if (is(-answer)) return "the sign is the other way";
    const { arrives = -1, gives = -1, sends = [], of } = step ?? {}, [added, total] = sends[at] ?? [];
    const number = block => changing.page.values[changing.page.blocks[block].start];
    if (gives < 0 && added !== undefined && changing.page.blocks[added].size === 1) {
      if (total !== added && is(number(total))) return "that is the total with the paths before; what does this path add?";
      if (is(number(arrives))) return "that is the gradient that arrives; multiply it by the op’s own slope";
      if (is(answer / number(arrives))) return "that is the op’s own slope; multiply it by the gradient that arrives";
      if (is(number(of))) return "that is a value; what was asked is a gradient";
    }
    for (const [slip, x] of changing?.isChanged ? [] : JSON.parse(form.dataset.slips ?? "[]")) if (is(x)) return slip;
    const tens = Math.log10(Math.abs(guess / answer));
    return Math.abs(tens - Math.round(tens)) < 0.002 && Math.round(tens) ? "the digits are right, the decimal point is not" : "not yet";
  }
  return { judge, restart() { right = asked = 0; }, get score() { return `${right} of ${asked} right at the first try`; } };
};
