"use strict";
// The first page: a formula that was made beforehand, in a frame, with sliders; and links to the lessons that were built.
(() => {
  const $ = id => document.getElementById(id);
  const formulas = $("play-samples");
  const panel = sliders({
    frames: $("play-frames"), box: $("play-leaves"),
    told(state) {
      $("play-result").textContent = `= ${state.result.shownValue}`;
      $("play-code").textContent = panel.filled(code());
    },
  });
  const code = () => JSON.parse(formulas.selectedOptions[0].dataset.code);
  function choose() {
    const { page } = formulas.selectedOptions[0].dataset;
    panel.show(page, `${formulas.value}, step by step`);
    $("play-alone").href = page;
  }
  formulas.onchange = choose;
  $("play-reset").onclick = () => panel.reset();
  $("play-copy").onclick = event => copied(event.currentTarget, panel.filled(code()), () => { $("play-python").open = true; });
  choose();

  for (const page of lessons) {                // of notebooks/built.js
    const card = document.querySelector(`[data-page="notebooks/${page}"]`);
    if (card) card.href = card.dataset.page;
  }
  const list = $("lessons-list"), heading = list.firstElementChild;
  $("lessons-how").hidden = list.open = heading.hidden = lessons.length > 0;  // until then, only titles to unfold
})();
