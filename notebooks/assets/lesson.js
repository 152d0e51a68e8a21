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

for (const form of document.querySelectorAll("form.exercise")) {
  const bytes = Uint8Array.from(atob(form.dataset.rule), letter => letter.charCodeAt(0));
  const rule = JSON.parse(new TextDecoder().decode(bytes));
  if (rule.python) {
    const command = Object.assign(document.createElement("code"), { textContent: "make notebooks" });
    form.replaceChildren("The answer to this one is code. Work on it in the notebook: ", command);
    continue;
  }
  const field = form.querySelector("input"), output = form.querySelector("output");
  form.onsubmit = event => {
    event.preventDefault();
    if (!field.value.trim()) return;
    output.textContent = judged(field.value, rule);
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
