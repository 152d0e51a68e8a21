"use strict";
// Exercises on a page: an answer is right if it is the word, or if each number lies between two that Python wrote down.
const NUMBER = /[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?:\s*\/\s*\d+\.?\d*)?/gi;   // 0.25, 2.5e-1 and 1/4
const valued = text => text.split("/").map(Number).reduce((above, below) => above / below);
const are = count => (count === 1 ? "is" : "are");

function judged(text, { word, least, greatest, hint }) {
  if (word !== undefined) {
    return text.trim().toLowerCase().replace(/["'.]/g, "") === word ? "Right." : `Not yet. ${hint}`;
  }
  const found = (text.replace(/−/g, "-").match(NUMBER) || []).map(valued), wanted = least.length;
  if (found.length !== wanted) {
    return `Write ${wanted === 1 ? "one number" : `${wanted} numbers`}; there ${are(found.length)} ${found.length}.`;
  }
  const off = numbers => numbers.filter((x, i) => !(least[i] <= x && x <= greatest[i])).length, wrong = off(found);
  if (!wrong) return "Right.";
  if (!off(found.map(x => -x))) return "Almost: the sign is the other way round.";
  return `Not yet. ${wanted > 1 ? `${wrong} of ${wanted} numbers ${are(wrong)} off. ` : ""}${hint}`;
}

// A backward line is computed at a few points and held against finite differences, which Python wrote down. Rows are
// arrays; a number meets every entry of one.
function held(text, { line, names, hint }) {
  try {
    const right = line.every(([given, slope]) => {
      const found = computed(text, given), wanted = [slope].flat(), scale = Math.max(1, ...wanted.map(Math.abs));
      return wanted.every((x, i) => Math.abs((Array.isArray(found) ? found[i] : found) - x) <= 1e-6 * scale);
    });
    return right ? "Right." : `Not yet: finite differences give other numbers. ${hint}`;
  } catch (error) {
    return `That cannot be computed: ${error.message}. The line may use ${names}.`;
  }
}

const each = f => (...xs) => {
  const row = xs.find(Array.isArray);
  return row ? row.map((_, i) => f(...xs.map(x => (Array.isArray(x) ? x[i] : x)))) : f(...xs);
};
const total = x => [x].flat().reduce((a, b) => a + b, 0);
const CALLS = {
  ...Object.fromEntries(["exp", "log", "sqrt", "tanh", "abs"].map(name => [name, each(Math[name])])),
  max: (...xs) => (xs.length > 1 ? each(Math.max)(...xs) : Math.max(...[xs[0]].flat())),
  sum: total, mean: x => total(x) / [x].flat().length,
};

function computed(text, given) {              // + - * / ** ( ), names and CALLS, read from left to right
  const tokens = text.replace(/−/g, "-").replace(/\^/g, "**").match(/\d+\.?\d*(?:e[-+]?\d+)?|\.\d+|\w+|\*\*|\S/gi) || [];
  let at = 0;
  const isNumber = token => token === ")" || /^[\d.]/.test(token) || Object.hasOwn(given, token);
  const called = tokens.findIndex((token, i) => token === "(" && i && isNumber(tokens[i - 1]));
  if (called > 0) throw Error(`to multiply, write ${tokens[called - 1]} * (…)`);
  const next = token => tokens[at] === token && ++at;
  const need = token => {
    const place = at < tokens.length ? `before “${tokens[at]}”` : "at the end";
    if (!next(token)) throw Error(`“${token}” is missing ${place}`);
  };
  const list = () => {
    const found = [sum()];
    while (next(",")) found.push(sum());
    need(")");
    return found;
  };
  function atom() {
    const token = tokens[at++];
    if (token === undefined) throw Error("it stops too early");
    if (token === "(") return list()[0];
    if (/^[\d.]/.test(token)) return Number(token);
    if (Object.hasOwn(CALLS, token) && next("(")) return CALLS[token](...list());
    if (Object.hasOwn(given, token)) return given[token];
    throw Error(`“${token}” is no name here`);
  }
  function power() {
    const base = atom();
    return next("**") ? each(Math.pow)(base, sign()) : base;
  }
  function sign() {
    return next("-") ? each(x => -x)(sign()) : next("+") ? sign() : power();
  }
  function product() {
    for (let found = sign(); ;) {
      if (next("*")) found = each((x, y) => x * y)(found, sign());
      else if (next("/")) found = each((x, y) => x / y)(found, sign());
      else return found;
    }
  }
  function sum() {
    for (let found = product(); ;) {
      if (next("+")) found = each((x, y) => x + y)(found, product());
      else if (next("-")) found = each((x, y) => x - y)(found, product());
      else return found;
    }
  }
  const found = sum();
  if (at < tokens.length) throw Error(`“${tokens[at]}” is one too many`);
  return found;
}

for (const form of document.querySelectorAll("form.exercise")) {
  const bytes = Uint8Array.from(atob(form.dataset.rule), letter => letter.charCodeAt(0));
  const rule = JSON.parse(new TextDecoder().decode(bytes));
  if (rule.python) {
    const command = Object.assign(document.createElement("code"), { textContent: "make notebooks" });
    form.replaceChildren("The answer to this one is code. Work on it in the notebook: ", command);
    continue;
  }
  if (rule.line) form.querySelector("input").placeholder = `a formula of ${rule.names}`;
  const field = form.querySelector("input"), output = form.querySelector("output");
  form.onsubmit = event => {
    event.preventDefault();
    if (!field.value.trim()) return;
    output.textContent = rule.line ? held(field.value, rule) : judged(field.value, rule);
    form.classList.toggle("right", output.textContent === "Right.");
  };
}

function reachable() {                        // what scrolls sideways can be scrolled with the arrow keys
  for (const box of document.querySelectorAll("pre, figure, .wide, math[display=block]")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("resize", reachable);
reachable();
