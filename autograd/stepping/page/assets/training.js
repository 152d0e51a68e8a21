"use strict";
// The loop closed: after the last backward step the update of the parameters, in symbols and in numbers, by gradient
// descent or by Adam as the page's author chose; a step size to play with; the loss while it trains.
const training = (numbersOf, refresh) => {
  const $ = id => document.getElementById(id);
  const { page, leaves, root } = numbersOf, { top, optimizer } = page.data;
  const CHART = { width: 360, height: 110 }, MOST_ROWS = 6, MOST_BY_ADAM = 2, PAINT_MS = 100, SLIDER = [-4, 0];
  const parameters = leaves.filter(leaf => leaf.role === "parameter" && leaf.gradient >= 0);
  const canTrain = parameters.length > 0 && page.blocks[root].size === 1;
  const trained = [];                          // the loss before and after each update
  let eta = optimizer.rate, running = 0, moments = null;
  const loss = () => page.read(root)[0];
  const shown = x => numbers.cell(x).text;
  const element = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

  // --- the step ----------------------------------------------------------------------------------------------------

  const [beta1, beta2] = optimizer.betas || [];
  function forget() { trained.length = 0; moments = null; stop(); }
  function fresh() {                           // Adam's two moments of each parameter, and how many steps it took
    return { t: 0, of: new Map(parameters.map(leaf => {
      const { size } = page.blocks[leaf.value];
      return [leaf, { m: new Float64Array(size), v: new Float64Array(size) }];
    })) };
  }
  function byAdam() {                          // in the order in which nn.optim.Adam computes it
    moments ??= fresh();
    const t = ++moments.t, correction = 1 / (1 - beta2 ** t) ** 0.5, rate = eta / (1 - beta1 ** t);
    for (const leaf of parameters) {
      const w = page.read(leaf.value), g = page.read(leaf.gradient), { m, v } = moments.of.get(leaf);
      for (let i = 0; i < w.length; i++) {
        let slope = g[i];
        if (optimizer.decay && optimizer.decoupled) w[i] *= 1 - eta * optimizer.decay;
        else if (optimizer.decay) slope += w[i] * optimizer.decay;
        m[i] = m[i] * beta1 + slope * (1 - beta1);
        v[i] = v[i] * beta2 + slope * slope * (1 - beta2);
        w[i] -= m[i] / (Math.sqrt(v[i]) * correction + optimizer.eps) * rate;
      }
    }
    page.run();
  }
  function advance() {
    if (!trained.length) trained.push(loss());
    if (optimizer.betas) byAdam(); else numbersOf.update(eta);
    trained.push(loss());
  }
  function stop() { cancelAnimationFrame(running); running = 0; }
  function train(count) {
    stop();
    let left = count, painted = 0;
    const tick = now => {
      const until = performance.now() + 12;
      while (left > 0 && performance.now() < until) { advance(); left--; }
      running = left > 0 ? requestAnimationFrame(tick) : 0;
      if (!left || now - painted > PAINT_MS) { painted = now; refresh(); }
    };
    running = requestAnimationFrame(tick);
  }

  // --- the panel ---------------------------------------------------------------------------------------------------

  const mi = text => `<mi>${text}</mi>`, mo = text => `<mo>${text}</mo>`, sub = (x, i) => `<msub>${mi(x)}<mn>${i}</mn></msub>`;
  const hat = x => `<mover>${mi(x)}<mo>^</mo></mover>`;
  const slope = `<mfrac><mrow>${mo("∂")}<mi class="hg-top"></mi></mrow><mrow>${mo("∂")}${mi("w")}</mrow></mfrac>`;
  const kept = i => mo("(") + "<mn>1</mn>" + mo("−") + sub("β", i) + mo(")");
  const corrected = (x, i) => hat(x) + mo("=") +
    `<mfrac>${mi(x)}<mrow><mn>1</mn>${mo("−")}<msubsup>${mi("β")}<mn>${i}</mn>${mi("t")}</msubsup></mrow></mfrac>`;
  const SYMBOLS = optimizer.betas ? [
    mi("m") + mo("←") + sub("β", 1) + mi("m") + mo("+") + kept(1) + mi("g"),
    mi("v") + mo("←") + sub("β", 2) + mi("v") + mo("+") + kept(2) + `<msup>${mi("g")}<mn>2</mn></msup>`,
    corrected("m", 1) + mo(",") + corrected("v", 2),
    mi("w") + mo("←") + mi("w") + mo("−") + mi("η") +
      `<mfrac>${hat("m")}<mrow><msqrt>${hat("v")}</msqrt>${mo("+")}${mi("ε")}</mrow></mfrac>`,
  ] : [mi("w") + mo("←") + mi("w") + mo("−") + mi("η") + mo("·") + slope];

  // The update, after the last backward step: in symbols, in numbers, and the training.
  function loop(panel) {
    if (!canTrain) return;
    const box = element("section", { className: "hg-to hg-loop" });
    const how = optimizer.betas ? "by its mean gradient m over the root of its mean square v" : "against its gradient";
    const name = optimizer.betas ? ` by ${optimizer.name}` : "";
    box.append(element("h3", { textContent: `the update${name}: each parameter moves ${how}` }));
    const formula = symbols => `<div class="hg-sym"><math displaystyle="true">${symbols}</math></div>`;
    box.insertAdjacentHTML("beforeend", SYMBOLS.map(formula).join(""));
    for (const one of box.querySelectorAll(".hg-top")) one.textContent = top;
    if (optimizer.betas) {
      const decay = optimizer.decay ? `, weight decay ${optimizer.decay}${optimizer.decoupled ? " before each move" : " in g"}` : "";
      const told = `β₁ = ${beta1}, β₂ = ${beta2}, ε = ${optimizer.eps}${decay}; this is step t = ${(moments?.t ?? 0) + 1}`;
      box.append(element("p", { className: "hg-lab", textContent: told }));
    }
    box.append(stepSize());
    const act = (text, run, id) => element("button", { type: "button", textContent: text, onclick: run, id });
    box.append(element("div", { className: "hg-eta" },
      act("update, then forward again", () => { stop(); advance(); refresh(0); }, "hg-update"),
      act("train 100", () => train(100), "hg-train")));
    if (!optimizer.betas) box.append(element("p", { className: "hg-lab", textContent: forecast() }));
    box.append(chart());
    const most = optimizer.betas ? MOST_BY_ADAM : MOST_ROWS;
    const rows = parameters.filter(leaf => lines.shows(page.blocks[leaf.value].shape)).slice(0, most);
    for (const leaf of rows) box.append(...(optimizer.betas ? adamLines(leaf) : [descentLine(leaf)]));
    const more = parameters.length - rows.length;
    const rest = `and ${more} more parameter${more > 1 ? "s" : ""}`;
    if (more > 0) box.append(element("p", { className: "hg-lab", textContent: rest }));
    panel.append(box);
  }
  // What the gradient promises of one update, and what comes of it: they part where the step is too large.
  function forecast() {
    const squares = leaf => page.read(leaf.gradient).reduce((sum, g) => sum + g * g, 0);
    const promised = eta * parameters.reduce((sum, leaf) => sum + squares(leaf), 0);
    const before = loss(), kept = page.values.slice();
    numbersOf.update(eta);
    const really = before - loss();
    page.values.set(kept);
    page.run();
    const change = x => `${x < 0 ? "rise" : "fall"} by ${lines.rough(Math.abs(x))}`;
    return `By its slope ${top} should ${change(promised)} (η times the sum of all squared gradients); it will ${change(really)}.`;
  }
  function stepSize() {
    const [min, max] = SLIDER, value = Math.log10(eta);
    const slider = element("input", { type: "range", min, max, step: 0.01, value, id: "hg-eta-slider" });
    const field = element("input", { value: eta, size: 6, id: "hg-eta", inputMode: "decimal", autocomplete: "off" });
    slider.setAttribute("aria-label", "step size η");
    slider.setAttribute("aria-valuetext", String(eta));
    slider.oninput = () => { eta = Number((10 ** slider.value).toPrecision(2)); refresh(); $("hg-eta-slider").focus(); };
    field.onchange = () => {
      const asked = Number(field.value.trim().replace(",", ".") || NaN);
      if (Number.isFinite(asked)) eta = asked;
      refresh();
    };
    return element("div", { className: "hg-eta" }, element("label", { htmlFor: "hg-eta", textContent: "η = " }), field, slider);
  }

  // --- one parameter's update in numbers, with the digits that make it come out ----------------------------------------

  // A few quantities of one shape (and some plain numbers) as a sheet of registers of its own, and lines over them.
  function sheetOf(quantities, steps) {
    const blocks = [];
    let used = 0;
    for (const { shape, entries } of quantities) {
      blocks.push({ start: used, shape, size: entries.length, kind: "" });
      used += entries.length;
    }
    const registers = Float64Array.from(quantities.flatMap(({ entries }) => [...entries]));
    const at = (v, number, i) => v[blocks[number].start + (blocks[number].size > 1 ? i : 0)];
    const made = steps.map(({ result, uses, f }) => ({
      result, uses, terms: [],
      work: v => { for (let i = 0; i < blocks[result].size; i++) v[blocks[result].start + i] = f(...uses.map(use => at(v, use, i))); },
    }));
    for (const line of made) line.work(registers);
    const sheet = { blocks, start: new Float64Array(used) };
    return { sheet, registers, made, search: new digits.Digits(sheet, registers, made) };
  }
  // `pieces` are texts and numbers of quantities; the last is the result, after the sign that the digits allow.
  function row({ sheet, registers, made, search }, number, pieces, name) {
    const line = made[number], found = element("div", { className: "hg-line" });
    const shownAs = (one, tint, brackets = 0) =>
      lines.html(lines.quantity(sheet, registers, one, search.notations.get(one)), tint, { brackets });
    const html = pieces.map(piece => (typeof piece === "string" ? `<span class="hg-op">${piece}</span>` : shownAs(...piece)));
    const sign = search.confirms(line) ? search.sign(line) : "≈";
    found.append(element("b", { className: "hg-op", textContent: name }));
    found.insertAdjacentHTML("beforeend", html.map(one => `<span class="hg-q">${one}</span>`).join("") +
      `<span class="hg-q"><span class="hg-op">${sign}</span>${shownAs(line.result, "hg-new")}</span>`);
    for (const one of found.querySelectorAll("[data-r]")) delete one.dataset.r;  // these are no registers of the page
    return found;
  }
  const plain = x => ({ shape: [], entries: [x] });
  const empty = (shape, size) => ({ shape, entries: new Float64Array(size) });
  function descentLine(leaf) {
    const { size, shape } = page.blocks[leaf.value];
    const [VALUE, GRADIENT, ETA, MOVED] = [0, 1, 2, 3];
    const sheet = sheetOf(
      [{ shape, entries: page.read(leaf.value) }, { shape, entries: page.gradient(leaf.gradient) }, plain(eta), empty(shape, size)],
      [{ result: MOVED, uses: [VALUE, GRADIENT, ETA], f: (w, g, step) => w - step * g }]);
    return row(sheet, 0, ["←", [VALUE, ""], "−", [ETA, ""], "×", [GRADIENT, "hg-gr", 1]], leaf.name);
  }
  function adamLines(leaf) {
    const { size, shape } = page.blocks[leaf.value], t = (moments?.t ?? 0) + 1;
    const { m, v } = (moments ?? fresh()).of.get(leaf), values = page.read(leaf.value).slice();
    const gradient = page.gradient(leaf.gradient).slice();
    for (let i = 0; optimizer.decay && i < size; i++) {
      if (optimizer.decoupled) values[i] *= 1 - eta * optimizer.decay; else gradient[i] += optimizer.decay * values[i];
    }
    const [VALUE, G, ETA, M, V, NEW_M, NEW_V, M_HAT, V_HAT, MOVED] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    const given = [values, gradient].map(entries => ({ shape, entries })), old = [m, v].map(entries => ({ shape, entries }));
    const sheet = sheetOf([...given, plain(eta), ...old, ...Array.from({ length: 5 }, () => empty(shape, size))], [
      { result: NEW_M, uses: [M, G], f: (mean, g) => beta1 * mean + (1 - beta1) * g },
      { result: NEW_V, uses: [V, G], f: (square, g) => beta2 * square + (1 - beta2) * g * g },
      { result: M_HAT, uses: [NEW_M], f: mean => mean / (1 - beta1 ** t) },
      { result: V_HAT, uses: [NEW_V], f: square => square / (1 - beta2 ** t) },
      { result: MOVED, uses: [VALUE, ETA, M_HAT, V_HAT],
        f: (w, step, mean, square) => w - step * mean / (Math.sqrt(square) + optimizer.eps) },
    ]);
    const share = beta => String(Number((1 - beta).toPrecision(12)));
    return [
      row(sheet, 0, ["←", String(beta1), "×", [M, ""], "+", share(beta1), "×", [G, "hg-gr", 1]], `${leaf.name}: m`),
      row(sheet, 1, ["←", String(beta2), "×", [V, ""], "+", share(beta2), "×", [G, "hg-gr", 1], "²"], "v"),
      row(sheet, 2, ["=", [NEW_M, ""], `/ (1 − ${beta1}<sup>${t}</sup>)`], "m̂"),
      row(sheet, 3, ["=", [NEW_V, ""], `/ (1 − ${beta2}<sup>${t}</sup>)`], "v̂"),
      row(sheet, 4, ["←", [VALUE, ""], "−", [ETA, ""], "×", [M_HAT, "", 1], "/ (√", [V_HAT, ""], "+ ε)"], "w"),
    ];
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

  return { loop, canTrain, forget };
};
