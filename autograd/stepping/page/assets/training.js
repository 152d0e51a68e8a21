"use strict";
// The loop closed: after the last backward step the update of the parameters, by the optimizer that the page's author
// chose; a step size to play with; the loss while it trains.
const training = (numbersOf, refresh) => {
  const $ = id => document.getElementById(id);
  const { page, root } = numbersOf, { top, update: { by, rate, moves } } = page.data;
  const CHART = { width: 360, height: 110 }, UPDATE_MS = 12, PAINT_MS = 100, SLIDER = [-4, 0];
  const hasUpdate = moves.length > 0 && page.blocks[root].size === 1, trained = numbersOf.losses;
  let running = 0;
  const loss = () => page.read(root)[0];
  const canTrain = () => !whyNot();
  function whyNot() {                          // finite gradients of NaN lead nowhere
    const click = page.data.update.switchable ? ": click the word input on a card" : "";
    if (!hasUpdate || moves.every(move => move.data)) return `no leaf is a parameter${click}`;
    return Number.isFinite(loss()) ? "" : `${top} is ${shown(loss())}, so its gradients lead nowhere: change a number first`;
  }
  const shown = x => numbers.cell(x).text;
  const element = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

  // --- the step ----------------------------------------------------------------------------------------------------

  function advance() {
    if (!trained.length) trained.push(loss());
    numbersOf.update(page.values[rate]);
    trained.push(loss());
  }
  function stop() { cancelAnimationFrame(running); running = 0; }
  function train(count) {
    stop();
    numbersOf.remember();
    let left = count, painted = 0, painting = 0;
    const tick = now => {
      const until = performance.now() + Math.max(UPDATE_MS, painting);  // at least half of the time
      while (left > 0 && performance.now() < until) { advance(); left--; }
      running = left > 0 ? requestAnimationFrame(tick) : 0;
      if (left && now - painted < PAINT_MS) return;
      const before = performance.now();
      refresh();
      painted = now;
      painting = performance.now() - before;
    };
    running = requestAnimationFrame(tick);
  }

  // --- the panel ---------------------------------------------------------------------------------------------------

  // The update, after the last backward step: the training, and the lines of some parameters as Python wrote them.
  function loop(panel, updates) {
    if (!hasUpdate) return;
    const box = element("section", { className: "hg-to" }), all = element("div", { className: "hg-loop" }, box);
    const label = textContent => element("p", { className: "hg-lab", textContent });
    const act = (text, run, id) => element("button", { type: "button", textContent: text, onclick: run, id });
    box.append(element("h3", { textContent: `the update by ${by}: each parameter moves by its own gradient` }), stepSize());
    panel.append(all);
    if (whyNot()) {
      const why = `Nothing is updated: ${whyNot()}.`;
      box.append(element("p", { className: "hg-edit-note", textContent: why }), trained.length ? chart() : "");
      return;
    }
    box.append(element("div", { className: "hg-eta" },
      act("update, then forward again", () => { stop(); numbersOf.remember(); advance(); refresh(0); }, "hg-update"),
      act("train 100", () => train(100), "hg-train")));
    box.append(label(forecast()), chart());
    const moving = updates.filter((_, i) => !moves[i].data);
    for (const { panel: lines, numbers } of moving) {
      all.append(element("div", { innerHTML: lines }));
      numbersOf.fill(all.lastChild, numbers);
    }
    const more = moves.filter(move => !move.data).length - moving.length;
    if (more > 0) all.append(label(`and ${more} more parameter${more > 1 ? "s" : ""}`));
  }
  function forecast() {
    const { promised, really } = numbersOf.forecast();
    const change = x => `${x < 0 ? "rise" : "fall"} by ${lines.rough(Math.abs(x))}`;
    const how = "each gradient times how far its parameter moves, summed";
    return `By its slope ${top} should ${change(promised)} (${how}); it will ${change(really)}.`;
  }
  function stepSize() {
    const [min, max] = SLIDER, eta = page.values[rate], value = Math.log10(eta);
    const slider = element("input", { type: "range", min, max, step: 0.01, value, id: "hg-eta-slider" });
    const field = element("input", { value: eta, size: 6, id: "hg-eta", inputMode: "decimal", autocomplete: "off" });
    slider.setAttribute("aria-label", "step size η");
    slider.setAttribute("aria-valuetext", String(eta));
    slider.oninput = () => { page.values[rate] = Number((10 ** slider.value).toPrecision(2)); refresh(); $("hg-eta-slider").focus(); };
    field.onchange = () => {
      const asked = Number(field.value.trim().replace(",", ".") || NaN);
      if (Number.isFinite(asked)) page.values[rate] = asked;
      refresh();
    };
    return element("div", { className: "hg-eta" }, element("label", { htmlFor: "hg-eta", textContent: "η = " }), field, slider);
  }

  // --- the loss ----------------------------------------------------------------------------------------------------

  function chart() {
    const losses = trained.length ? trained : [loss()], { width, height } = CHART;
    let room = 8;
    while (room < losses.length - 1) room *= 2;
    const finite = losses.filter(Number.isFinite), high = Math.max(...finite), low = Math.min(0, ...finite);
    const x = i => 8 + i / room * (width - 16), y = v => 20 + (high - v) / (high - low || 1) * (height - 34);
    const points = losses.map((v, i) => (Number.isFinite(v) ? `${x(i).toFixed(1)},${y(v).toFixed(1)}` : "")).filter(Boolean);
    const says = `${top} after ${losses.length - 1} updates: ${shown(losses.at(-1))}, at the start ${shown(losses[0])}`;
    const figure = element("div", { className: "hg-chart" });
    const dot = point => { const [cx, cy] = point.split(","); return `<circle cx="${cx}" cy="${cy}" r="2.2"/>`; };
    const dots = losses.length <= 33 ? points.map(dot).join("") : "";
    figure.innerHTML = `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="">` +
      `<path d="M8,${height - 14}H${width - 8}" class="hg-axis"/><polyline points="${points.join(" ")}"/>${dots}` +
      `<text x="8" y="13">${shown(losses[0])}</text>` +
      `<text x="${width - 8}" y="13" text-anchor="end">now ${shown(losses.at(-1))}</text></svg>`;
    figure.querySelector("svg").setAttribute("aria-label", says);
    figure.append(element("p", { className: "hg-lab", textContent: says }));
    return figure;
  }

  return { loop, get canTrain() { return canTrain(); }, stop };
};
