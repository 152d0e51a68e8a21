"use strict";
// The page of `handgrad play`: what is typed goes to the server on this computer, which answers with a page to show.
(() => {
  const $ = id => document.getElementById(id);
  const TYPING_MS = 180, MOVING_MS = 250;
  const field = $("play-formula"), samples = $("play-samples");
  let code = [], fixed = "", asked = 0, waiting = 0, known = {};   // known: the last number of every name

  const panel = sliders({
    frames: $("play-frames"), box: $("play-leaves"),
    told(state) {
      fixed = state.fixed;
      $("play-top").textContent = `${state.result.name} =`;
      $("play-result").textContent = state.result.shownValue && `= ${state.result.shownValue}`;
      remember();
      write();
    },
    remake() { if (fixed) later(MOVING_MS); },   // a page with fixed numbers is made again for others
  });
  const later = delay => { clearTimeout(waiting); waiting = setTimeout(read, delay); };

  async function read() {
    const number = ++asked, formula = field.value;
    Object.assign(known, panel.values());
    const values = Object.fromEntries(Object.entries(known).filter(([name]) => formula.includes(name)).slice(-64));
    let answer;
    try {
      const body = JSON.stringify({ formula, values }), headers = { "Content-Type": "application/json" };
      answer = await (await fetch("formula", { method: "POST", headers, body })).json();
    } catch { ended(); return; }
    if (number !== asked) return;              // something else was typed since
    if (field.value === formula) complained(field, answer);
    if (answer.error) return;
    code = answer.code;
    panel.start(answer.values);
    $("play-note").textContent = answer.note;
    panel.show({ src: answer.page }, `${formula}, step by step`);
  }
  function write() { $("play-code").textContent = code.length ? panel.filled(code) : ""; }
  function remember() {
    const state = new URLSearchParams({ formula: field.value, values: JSON.stringify(panel.values()) });
    history.replaceState(null, "", `#${state}`);
  }
  function recall() {
    const state = new URLSearchParams(location.hash.slice(1));
    if (!state.get("formula")) return choose();
    field.value = state.get("formula");
    let values = {};
    try { values = JSON.parse(state.get("values") || "{}"); } catch { /* an address that was cut */ }
    panel.start(values && typeof values === "object" ? values : {});
    samples.value = field.value;               // none is chosen if there is no such sample
    read();
  }
  function choose() {
    const chosen = samples.selectedOptions[0] ?? samples.options[0];
    field.value = chosen.value;
    panel.start(JSON.parse(chosen.dataset.values));
    read();
  }
  function ended() { $("play-ended").hidden = false; }

  field.oninput = () => { samples.value = field.value; later(TYPING_MS); };
  field.onkeydown = event => { if (event.key === "Enter") later(0); };
  samples.onchange = choose;
  $("play-copy").onclick = event => copied(event.currentTarget, panel.filled(code), () => { $("play-python").open = true; });
  $("play-save").onclick = () => {
    const query = new URLSearchParams({ formula: field.value, values: JSON.stringify(panel.values()) });
    Object.assign(document.createElement("a"), { href: `save?${query}`, download: "" }).click();
  };
  $("play-reset").onclick = () => panel.reset();
  $("play-theme").onclick = () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    panel.theme(root.dataset.theme = dark ? "light" : "dark");
  };
  // The server ends when this connection does, so closing the page ends it.
  const alive = new EventSource("alive");
  alive.onerror = ended;
  alive.onopen = () => { $("play-ended").hidden = true; };
  recall();
})();
