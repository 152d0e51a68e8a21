"use strict";
// Exercises on a page: an answer is right if it is the word, or if each number lies between two that Python wrote down.
for (const form of document.querySelectorAll("form.exercise")) {
  const bytes = Uint8Array.from(atob(form.dataset.rule), letter => letter.charCodeAt(0));
  const rule = JSON.parse(new TextDecoder().decode(bytes));
  const field = form.querySelector("input"), output = form.querySelector("output");
  if (rule.python) form.replaceChildren("The answer to this one is code: work on it in the notebook, ", Object.assign(document.createElement("code"), { textContent: "make notebooks" }), ".");
  const numbers = text => (text.replace(/−/g, "-").match(/[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?/gi) || []).map(Number);
  const judged = text => {
    if (rule.word !== undefined) return text.trim().toLowerCase().replace(/["'.]/g, "") === rule.word ? "Right." : `Not yet. ${rule.hint}`;
    const found = numbers(text), wanted = rule.least.length;
    if (found.length !== wanted) return `Write ${wanted === 1 ? "one number" : `${wanted} numbers`}; there ${found.length === 1 ? "is" : "are"} ${found.length}.`;
    const wrong = found.filter((x, i) => !(rule.least[i] <= x && x <= rule.greatest[i])).length;
    if (!wrong) return "Right.";
    return `Not yet. ${wanted > 1 ? `${wrong} of ${wanted} numbers ${wrong === 1 ? "is" : "are"} off. ` : ""}${rule.hint}`;
  };
  form.onsubmit = event => {
    event.preventDefault();
    if (!field.value.trim()) return;
    output.textContent = judged(field.value);
    form.classList.toggle("right", output.textContent === "Right.");
  };
}
