"use strict";
// The first page: a formula that is typed, as a stepper's page in a frame, with sliders; and links to the lessons that were built.
(() => {
  const $ = id => document.getElementById(id), json = id => JSON.parse($(id).textContent);
  const TYPING_MS = 150, made = formulas(json("play-patterns")), template = json("play-page"), field = $("play-formula");
  let page = null, known = {}, waiting = 0, address = "";

  const panel = sliders({
    frames: $("play-frames"), box: $("play-leaves"),
    told(state) {
      $("play-result").textContent = `= ${state.result.shownValue}`;
      $("play-code").textContent = panel.filled(page.code);
    },
  });
  const safe = data => JSON.stringify(data).replace(/</g, "\\u003c");
  function read() {
    clearTimeout(waiting);
    Object.assign(known, panel.values());
    try { page = made.pageOf(field.value, known); }
    catch (error) {
      if (!(error instanceof made.Mistake)) throw error;
      complained(field, { error: error.message, at: error.at, end: error.end });
      return;
    }
    complained(field, {});
    $("play-top").textContent = `${page.top} =`;
    const numbers = { leaves: page.names.map(name => ({ name })), result: { name: page.top } };
    const parts = {
      title: "handgrad", subtitle: `${page.top} = <span id="hg-root"></span>`, graph: page.graph,
      data: safe(page.data), numbers: safe(numbers),
    };
    const text = template.replace(/\{\{(\w+)\}\}/g, (_, part) => parts[part]);
    panel.show({ srcdoc: text }, `${field.value}, step by step`);
    URL.revokeObjectURL(address);
    $("play-alone").href = address = URL.createObjectURL(new Blob([text], { type: "text/html" }));
    history.replaceState(null, "", `#formula=${encodeURIComponent(field.value)}`);
  }
  field.oninput = () => { clearTimeout(waiting); waiting = setTimeout(read, TYPING_MS); };
  field.onkeydown = event => { if (event.key === "Enter") read(); };
  for (const button of document.querySelectorAll("[data-values]")) button.onclick = () => {
    field.value = button.textContent;
    panel.start({});
    known = JSON.parse(button.dataset.values);
    read();
  };
  $("play-reset").onclick = () => panel.reset();
  $("play-copy").onclick = event => copied(event.currentTarget, panel.filled(page.code), () => { $("play-python").open = true; });
  const asked = new URLSearchParams(location.hash.slice(1)).get("formula");
  if (asked) { field.value = asked; read(); } else document.querySelector("[data-values]").click();

  for (const page of lessons) {                // of notebooks/built.js
    const card = document.querySelector(`[data-page="notebooks/${page}"]`);
    if (card) card.href = card.dataset.page;
  }
  $("lessons-how").hidden = lessons.length > 0;
})();
