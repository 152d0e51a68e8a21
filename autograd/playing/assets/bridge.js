"use strict";
// At the end of a stepper's page in a frame: the page around it may read the numbers, change them and choose the theme.
(() => {
  if (parent === window) return;               // it stands alone
  const written = JSON.parse(document.getElementById("play-numbers").textContent);
  const shown = x => (typeof x === "number" ? numbers.cell(x).text : "");
  const now = ({ name }) => {
    const value = handgrad.get(name);
    return { name, value, shownValue: shown(value), shownGrad: shown(handgrad.grad(name)) };
  };
  function state() {
    const told = { play: "state", steps: handgrad.length, fixed: "" };
    try {
      return { ...told, leaves: written.leaves.map(now), result: now(written.result) };
    } catch (error) {                          // numbers that only Python can follow are as they were written
      return { ...told, ...written, fixed: error.message };
    }
  }
  const acts = {
    set: ({ name, value }) => handgrad.set(name, value),
    reset: () => handgrad.reset(),
    theme: ({ theme }) => { document.documentElement.dataset.theme = theme; },
    state: () => {},
  };
  addEventListener("message", event => {
    const asked = event.data?.play;
    if (event.source !== parent || !Object.hasOwn(acts, asked)) return;
    try { acts[asked](event.data); } catch { /* a page with fixed numbers says so in its state */ }
    if (asked === "state") parent.postMessage(state(), "*");
  });
  for (const id of ["hg-theme", "hg-home"]) document.getElementById(id)?.remove();   // the page around has them
  parent.postMessage(state(), "*");
})();
