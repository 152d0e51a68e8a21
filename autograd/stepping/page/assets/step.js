"use strict";
// The stepper's page: what is shown for a position, how many steps of the current view are done. Python painted the
// cards and wrote the panels; where it wrote the numbers as a program too (live.js), they are filled in here.
(() => {
  const data = JSON.parse(document.getElementById("hg-data").textContent);
  const unpacked = text => text.replace(/[\ue000-\uf8ff]/g, code => data.tags[code] ?? code);  // see stepping/page/packing.py
  const $ = id => document.getElementById(id);
  const root = document.documentElement, body = document.body;
  const stage = $("hg-stage"), panel = $("hg-text"), side = $("hg-panel"), slider = $("hg-slider");
  const READABLE = 11, NARROW = 860, READABLE_NARROW = 10.5;  // px
  const PAINTED_AT_ONCE = 120, NEAR = 120, CATCH_UP_MS = 30, SLICE_MS = 8;
  const PLAY_MS = 1600, NAMING_MS = 150, ADDRESS_MS = 10000, MOST_ADDRESSES = 80;

  let viewNumber = -1, view = null, position = 0;
  let shown = {};                 // what each card and edge shows now, so that only changes touch the page
  let elements = {};
  let large = false;              // for a projector
  let quiz = false, hidden = false;
  let timer = 0;
  const changing = live(data);            // null: the numbers stay as they are
  const trainer = changing && training(changing, refresh);
  const asked = changing && entriesOf(changing, data.views);
  const numberOf = typed(data.grammar).number, guess = guessing(changing, numberOf);
  const hand = changing && editor(changing, refresh, numberOf, change), pointer = changing && pointing(changing);
  let stamp = 0;                          // counts changes of numbers
  const camera = cameraOn(stage, () => ({ view, position, size, svg: elements.svg, cards: elements.cards }), box => {
    for (const key of [...waiting]) if (isIn(box, view.cards[key].box)) paintCard(key);
  }, () => (innerWidth <= NARROW ? READABLE_NARROW : READABLE) / data.smallest, copyOf);

  // --- views -----------------------------------------------------------------------------------------------

  function copyOf(key) {                   // a card once more, where it is too far away to be in view with the card of the step
    const card = view.cards[key], made = document.createElement("div"), face = states.faceAt(card, position - hidden);
    const isBackward = states.isBackward(view, position) && !hidden, [, , width, height] = card.box;
    const inside = card.numbers[face]?.flat().length ? changing.copy(card.numbers[face], isBackward)
      : `<svg viewBox="${card.box.join(" ")}" width="${width}" height="${height}">${unpacked(card.faces[face])}</svg>`;
    made.className = "hg-copy";
    made.dataset.card = key;
    made.innerHTML = `<button type="button" title="show this card"></button><span>${inside}</span>`;
    made.firstChild.textContent = camera.nameOf(card).split(" = ")[0];
    made.firstChild.onclick = () => camera.show(key);
    return made;
  }

  function openView(number, at) {
    if (number !== viewNumber) {
      if (number !== 0 || viewNumber > 0) {
        if (viewNumber <= 0) mainGraph = stage.innerHTML;
        stage.innerHTML = number === 0 ? mainGraph : unpacked(data.views[number].svg);
      }
      viewNumber = number;
      view = data.views[number];
      prepare();
    }
    position = Math.max(0, Math.min(at, view.steps.length));
    camera.release();
    render();
  }
  let mainGraph = "";

  function prepare() {
    const svg = stage.querySelector("svg");
    svg.removeAttribute("width");
    svg.removeAttribute("height");
    svg.setAttribute("role", "group");
    const backdrop = svg.querySelector(":scope > rect");
    if (backdrop) backdrop.remove();       // the page paints the surface; the camera would show its edge
    const prefix = `hg-v${viewNumber}-`;
    elements = { svg, cards: {}, edges: {} };
    shown = { cards: {}, edges: {} };
    camera.measure();
    waiting.clear();
    for (const key in view.cards) {
      const group = $(prefix + key);
      elements.cards[key] = group;
      const own = view.cards[key].step;
      if (own >= 0 || view.cards[key].made) {
        group.setAttribute("tabindex", "0");
        group.setAttribute("role", "group");  // no button: its name is said in words, not as it is printed
        group.setAttribute("aria-roledescription", "card, Enter goes to its step");
        const { made } = view.cards[key];
        // Going forward, a card leads to the step that makes it; from the last of these on, to its backward step.
        const go = () => jump(own < 0 || (position < view.forward && view.forward < view.steps.length) ? made || position : own + 1);
        group.addEventListener("click", () => { if (!camera.dragged) go(); });
        group.addEventListener("keydown", event => { if (event.key === "Enter") { event.preventDefault(); go(); } });
      }
    }
    for (const key in view.edges) elements.edges[key] = $(prefix + key);
    orderOfFocus();
    const box = svg.getAttribute("viewBox").split(" ").map(Number);
    size = { width: box[2], height: box[3] };
    svg.style.width = `${size.width}px`;
    svg.style.height = `${size.height}px`;
    stage.classList.add("hg-live");
    slider.max = view.steps.length;
    const back = view.steps.length - view.forward;
    $("hg-forward").style.flex = Math.max(view.forward, .001);
    $("hg-backward").style.flex = Math.max(back, .001);
    $("hg-backward").hidden = !back;
    $("hg-forward").textContent = `forward ${view.forward}`;
    $("hg-backward").textContent = `backward ${back}`;
    $("hg-title").textContent = view.from ? `${view.of} › ${view.title}` : view.title;
    $("hg-leave").hidden = !view.from;
    if (view.from) $("hg-leave").textContent = `back to step ${view.from[1]}`;
  }
  let size = { width: 1, height: 1 };

  function orderOfFocus() {                // cards take focus in step order
    const keys = Object.keys(view.cards).filter(key => elements.cards[key].hasAttribute("tabindex"));
    keys.sort((a, b) => view.cards[a].made - view.cards[b].made);
    for (const key of keys) elements.cards[key].parentNode.append(elements.cards[key]);
  }

  // --- one moment ------------------------------------------------------------------------------------------

  // Of a large graph only the cards in view are painted at once, the others when there is time, or when they come into view.
  const waiting = new Set();
  let troubled = ["", ""], catching = 0;       // the first card with a NaN or an infinity, and the word for it
  function paint() {
    const keys = Object.keys(view.cards);
    const [bad, word] = changing ? changing.trouble(keys.map(key => view.cards[key].numbers.at(-1)[0])) : [-1, ""];
    troubled = [keys[bad], word];
    const near = keys.length > PAINTED_AT_ONCE ? camera.boxes() : [];
    for (const key of keys) {
      if (!near.length || near.some(box => isIn(box, view.cards[key].box))) paintCard(key); else waiting.add(key);
    }
    for (const key in view.edges) {
      const state = states.ofEdge(view, position, view.edges[key]);
      if (shown.edges[key] === state) continue;
      elements.edges[key].innerHTML = unpacked(view.edges[key].faces[states.EDGE_FACES[state]]);
      states.mark(elements.edges[key], state);
      shown.edges[key] = state;
    }
    catchUp(0);
  }
  function paintCard(key) {
    waiting.delete(key);
    const card = view.cards[key], group = elements.cards[key], step = position ? view.steps[position - 1] : null;
    const secret = hidden && step && (states.isBackward(view, position) ? step.inputs.includes(key) : step.card === key);
    const face = states.faceAt(card, secret ? position - 1 : position);
    const state = states.ofCard(view, position, key), turned = isTurned(card);
    const before = shown.cards[key] || {}, isNew = before.face !== face || before.turned !== turned;
    if (isNew) {
      group.innerHTML = unpacked((turned ? card.turned : card.faces)[face]);
      group.setAttribute("aria-label", turned ? card.says[face].replace(`, ${card.role}`, `, ${otherRole(card)}`) : card.says[face]);
      for (const role of card.turned.length ? ["parameter", "input"] : []) {
        group.classList.toggle(`hg-${role}`, (role === card.role) !== turned);
      }
      if (card.turned.length) offerRole(group.querySelector("[data-word]"), turned ? otherRole(card) : card.role);
    }
    const word = key === troubled[0] ? troubled[1] : "";
    if (changing && (isNew || before.stamp !== stamp)) renumber(group, card, face, word);
    if (before.state !== state) states.mark(group, state);
    shown.cards[key] = { face, state, stamp, turned };
  }
  // A leaf's role, which a click switches where nobody said which leaves are parameters.
  const isTurned = card => card.turned.length > 0 && changing.isTurned(card.numbers[0][0][0]);
  const otherRole = card => (card.role === "input" ? "parameter" : "input");
  function offerRole(word, role) {
    word.classList.add("hg-role");
    word.setAttribute("tabindex", "0");
    word.setAttribute("role", "button");
    word.setAttribute("aria-label", `${role}: ${role === "input" ? "data, stays in training" : "moves in training"}; press to switch`);
  }
  // The arrows of a window, on cards and in the panel.
  for (const kind of ["click", "keydown"]) for (const place of [stage.parentNode, panel]) place.addEventListener(kind, event => {
    const arrow = event.target.closest?.("[data-window]");
    if (!arrow || (kind === "keydown" && (place === panel || (event.key !== "Enter" && event.key !== " ")))) return;
    event.preventDefault();
    event.stopPropagation();
    const { window, axis, by } = arrow.dataset;
    lines.turn(changing.page, Number(window), Number(axis), Number(by));
    refresh();
    place.querySelector(`[data-window="${window}"][data-axis="${axis}"][data-by="${by}"]`)?.focus();
  }, true);
  for (const kind of ["click", "keydown"]) stage.addEventListener(kind, event => {
    const card = event.target.closest?.(".hg-role") && view.cards[event.target.closest(".hg-card").id.slice(`hg-v${viewNumber}-`.length)];
    if (!card || camera.dragged || (kind === "keydown" && event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    event.stopPropagation();
    if (changing.turn(card.numbers[0][0][0])) refresh();
  }, true);
  function catchUp(most) {                   // paint for so many milliseconds, and go on after the next frame
    const until = performance.now() + most;
    for (const key of most ? [...waiting] : []) if (performance.now() < until) paintCard(key);
    clearTimeout(catching);
    if (waiting.size) catching = setTimeout(catchUp, CATCH_UP_MS, SLICE_MS);
  }
  const isIn = (box, [x, y, width, height]) =>
    x + width > box.x - NEAR && x < box.x + box.width + NEAR && y + height > box.y - NEAR && y < box.y + box.height + NEAR;

  function renumber(group, card, face, word) {    // a card's numbers as they are now
    changing.card(group, card.numbers[face], word);
    clearTimeout(naming);
    naming = setTimeout(nameCards, NAMING_MS);
  }
  let naming = 0;
  function nameCards() {                   // what screen readers say of the cards: a moment later, since it takes its time
    for (const key in view.cards) {
      if (waiting.has(key)) continue;
      const card = view.cards[key], { face } = shown.cards[key], says = [card.says[face].split(";")[0]];
      const [values, gradients] = card.numbers[face];
      if (values.length) says.push(`value ${values.map(changing.shown).join(", ")}`);
      if (gradients.length) says.push(`gradient ${gradients.map(changing.shown).join(", ")}`);
      elements.cards[key].setAttribute("aria-label", changing.isChanged ? says.join("; ") : card.says[face]);
    }
  }
  // Numbers were changed: everything follows, at another position if one is given.
  function refresh(at = position) {
    stamp++;
    if (at !== position) { position = at; camera.release(); }
    render(true);
  }

  function change(what) {                      // undo, redo, reset
    if (!changing) return;
    trainer.stop();
    if (changing[what]() === false) return;
    hand.forget();
    refresh();
  }

  function render(stay = false) {
    const step = position ? view.steps[position - 1] : null;
    paint();
    const open = stay ? [...panel.querySelectorAll("details")].map(one => one.open) : [];
    panel.innerHTML = unpacked(step ? step.panel : view.start);
    if (changing) {
      changing.fill(panel, step?.numbers, view.steps.map(one => one.numbers));
      if (!viewNumber && position === view.steps.length && view.forward < position) {
        trainer.loop(panel, view.updates.map(one => ({ ...one, panel: unpacked(one.panel) })));
      }
      hand.paint();
      pointer.prepare();
      asked.offer(panel, step, refresh);
    }
    if (data.fixed && !step) panel.append(note(`The numbers of this page are fixed: ${data.fixed}.`));
    [...panel.querySelectorAll("details")].forEach((one, i) => { if (open[i]) one.open = true; });
    breakRows();
    if (!stay) side.scrollTop = 0;
    veil();
    const upcoming = view.steps[position];
    buttons();
    $("hg-back").disabled = $("hg-first").disabled = position === 0;
    slider.value = position;
    const label = step ? `${step.title}, ${step.reading}` : "start";
    slider.setAttribute("aria-valuetext", label);
    $("hg-status").textContent = step ? (hidden ? `${step.title}. ${step.reading}. Guess.` : said(step)) : "Start.";
    for (const note of panel.querySelectorAll(".hg-next")) {
      note.classList.toggle("hg-is-forward", !!upcoming && upcoming.kind === "forward");
    }
    camera.aim();
    outside(step ? `${label} · ${view.title}` : view.title);
    tellHost();
  }

  const breakRows = () => lines.breakRows(panel);
  addEventListener("resize", breakRows);
  panel.addEventListener("toggle", breakRows, true);

  let toldOfChange = false;
  function tellHost() {                        // where the page is, and the leaves' numbers, if some were changed
    if (parent === window) return;
    const told = { handgrad: position, view: viewNumber }, isChanged = changing?.isChanged ?? false;
    if (isChanged || toldOfChange) told.leaves = data.live.leaves.map(({ name }) => [name, window.handgrad.get(name)]);
    toldOfChange = isChanged;
    parent.postMessage(told, "*");
  }

  function said(step) {                     // for somebody who cannot see it; Python's sentence has Python's numbers
    if (!changing?.isChanged) return step.say;
    const { gives, sends } = step.numbers, blocks = gives >= 0 ? [gives] : sends.map(([added]) => added);
    const told = blocks.map(changing.shown).join(" and ");
    return `${step.title}. ${step.reading} ${gives >= 0 ? "gives" : "sends"} ${told || "nothing"}.`;
  }
  const note = text => Object.assign(document.createElement("p"), { className: "hg-lab", textContent: text });

  function veil() {
    const root = $("hg-root"), known = !quiz || position - hidden >= data.views[0].forward || !!viewNumber;
    if (root) {
      root.dataset.was ??= root.textContent;
      root.textContent = known ? changing ? numbers.cell(changing.page.read(changing.root)[0]).text : root.dataset.was : "?";
    }
    body.classList.toggle("hg-quiz", quiz);
    body.classList.toggle("hg-hide", hidden);
    if (!quiz) return;
    for (const answer of panel.querySelectorAll(".hg-answer")) {
      if (hidden && !answer.querySelector(":scope > .hg-mark")) {
        answer.insertAdjacentHTML("beforeend", '<span class="hg-mark">?</span>');
      }
      answer.toggleAttribute("aria-hidden", hidden);
    }
  }

  // --- moving ----------------------------------------------------------------------------------------------

  function jump(to) {
    to = Math.max(0, Math.min(to, view.steps.length));
    if (to === position && !hidden) return;
    hidden = quiz && to > position;
    position = to;
    asked?.forget();
    camera.release();
    render();
  }
  function forward() {
    if (hidden) { hidden = false; render(); return; }
    if (canUpdate()) showUpdate(); else jump(position + 1);
  }
  function play(on) {
    clearInterval(timer);
    timer = on ? setInterval(() => { position >= view.steps.length ? play(false) : forward(); }, PLAY_MS) : 0;
    $("hg-play").setAttribute("aria-pressed", !!timer);
    $("hg-play").setAttribute("aria-label", timer ? "pause" : "play");
  }
  const fit = () => $("hg-fit").setAttribute("aria-pressed", camera.toggleWhole());
  function largeType(on = !large) {
    large = on;
    body.classList.toggle("hg-large", large);
    $("hg-large").setAttribute("aria-pressed", large);
    keep("hg-large", large ? "yes" : "");
    camera.setLarge(large);
  }
  function guessFirst() {
    quiz = !quiz;
    hidden = false;
    guess.restart();
    $("hg-quiz").setAttribute("aria-pressed", quiz);
    $("hg-score").textContent = quiz ? "→ does a step, → again shows its numbers" : "";
    render();
  }

  function judge(form) {
    const isRight = guess.judge(form, view.steps[position - 1].numbers, [...panel.querySelectorAll(".hg-guess")].indexOf(form));
    if (form.dataset.judged) $("hg-score").textContent = guess.score;
    if (isRight) { hidden = false; veil(); paint(); buttons(); }
  }
  function buttons() {
    const upcoming = view.steps[position], updates = canUpdate(), next = $("hg-next");
    next.disabled = !upcoming && !hidden && !updates;
    next.classList.toggle("hg-is-forward", !hidden && upcoming?.kind === "forward");
    next.classList.toggle("hg-is-update", updates);
    $("hg-next-word").textContent = hidden ? "Show it" : upcoming || updates ? "Next: " : "Finished";
    $("hg-next-name").textContent = hidden ? "" : upcoming?.name ?? (updates ? "update" : "");
  }
  // After the last backward step comes the update, at the end of its panel.
  const canUpdate = () => !hidden && !viewNumber && view.forward < view.steps.length && position === view.steps.length &&
    !!trainer?.canTrain;
  const showUpdate = () => { panel.querySelector(".hg-loop").scrollIntoView(); $("hg-update").focus({ preventScroll: true }); };

  // --- links, keys, themes, paper -----------------------------------------------------------------------------

  let recent = [], later = 0, title = "";
  function outside(text) {                // title and address, which take as long as a step: once for a script's steps
    if (!title) queueMicrotask(() => { document.title = title; title = ""; remember(); });
    title = text;
  }
  function remember() {                   // browsers refuse to change the address too often, as while dragging
    const now = performance.now();
    clearTimeout(later);
    recent = recent.filter(time => now - time < ADDRESS_MS);
    if (recent.length >= MOST_ADDRESSES) { later = setTimeout(remember, 500); return; }
    recent.push(now);
    const edits = changing ? changing.edits() : "";
    const roles = changing ? changing.roles() : "";
    const also = { in: viewNumber || "", set: edits, roles };
    const link = `#step=${position}${Object.entries(also).map(([key, text]) => (text ? `&${key}=${text}` : "")).join("")}`;
    try { history.replaceState(null, "", link); } catch { /* a sandboxed frame has no address of its own */ }
  }
  function recall() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const number = Number(asked.get("in") || 0), at = Number(asked.get("step") ?? data.at);
    if (changing) changing.applyRoles(asked.get("roles"));
    if (changing && (asked.get("set") || changing.isChanged)) { changing.applyEdits(asked.get("set")); stamp++; }
    openView(data.views[number] ? number : 0, Number.isFinite(at) ? Math.trunc(at) : 0);
  }
  addEventListener("hashchange", recall);

  const leave = () => { document.activeElement.blur(); parent.postMessage({ handgradLeave: true }, "*"); };  // to a notebook's keys
  const actions = {
    ArrowRight: forward, ArrowLeft: () => jump(position - 1), Home: () => jump(0),
    End: () => jump(view.steps.length), " ": () => play(!timer), f: fit, F: fit, g: guessFirst, G: guessFirst,
    Escape: () => { if (view.from) openView(...view.from); else leave(); }, e: () => hand?.next(), E: () => hand?.next(),
    "/": () => $("hg-find").focus(), "+": () => $("hg-in").click(), "-": () => $("hg-out").click(),
    h: () => pointer?.toggle(), H: () => pointer?.toggle(), l: () => largeType(), L: () => largeType(),
  };
  addEventListener("keydown", event => {
    const undo = (event.ctrlKey || event.metaKey) && { z: event.shiftKey ? "redo" : "undo", y: "redo" }[event.key.toLowerCase()];
    if (undo && !event.target.closest?.("input, textarea")) { event.preventDefault(); change(undo); return; }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = event.target instanceof Element ? event.target : body;
    if (at.closest("input, select, textarea")) return;
    if (event.key === " " && at.closest("button, summary, a")) return;
    const act = actions[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  $("hg-next").onclick = forward;
  $("hg-back").onclick = actions.ArrowLeft;
  $("hg-first").onclick = actions.Home;
  $("hg-play").onclick = actions[" "];
  $("hg-fit").onclick = fit;
  $("hg-quiz").onclick = guessFirst;
  $("hg-large").onclick = () => largeType();
  $("hg-leave").onclick = actions.Escape;
  slider.oninput = () => { play(false); jump(Number(slider.value)); };
  panel.addEventListener("click", event => {
    const button = event.target.closest("[data-view]");
    if (button) openView(Number(button.dataset.view), 0);
  });
  panel.addEventListener("submit", event => { event.preventDefault(); judge(event.target); });

  $("hg-theme").onclick = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    keep("hg-theme", root.dataset.theme);
  };
  function keep(name, value) {
    try { localStorage.setItem(name, value); } catch { /* nothing is kept in a sandboxed frame */ }
  }
  const kept = name => { try { return localStorage.getItem(name) || ""; } catch { return ""; } };
  if (kept("hg-theme")) root.dataset.theme = kept("hg-theme");

  let folded = [];
  addEventListener("beforeprint", () => {
    for (const key of [...waiting]) paintCard(key);
    folded = [...panel.querySelectorAll("details:not([open])")];
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of folded) one.open = false; });

  // A host (a notebook's widget) hears where the page is and what was changed, and may move it and change it.
  addEventListener("message", event => {
    if (event.source !== parent || parent === window) return;
    const asked = event.data?.handgradGoto;
    if (changing && event.data?.handgradLeaves) {
      for (const [name, value] of event.data.handgradLeaves) changing.set(name, value);
      refresh();
    }
    if (Number.isInteger(asked) && asked !== position) viewNumber === 0 ? jump(asked) : openView(0, asked);
  });
  // What can be seen of an element, as text: a formula as it is read aloud, arithmetic on one line, a table row by row.
  const INLINE = ["a", "b", "i", "code", "small", "label", "output"];
  const plain = node => {
    if (node.nodeType === Node.TEXT_NODE) return node.data.replace(/\s+/g, " ");
    const display = node.nodeType === Node.ELEMENT_NODE ? getComputedStyle(node).display : "none";
    if (display === "none" || (display !== "contents" && !node.checkVisibility())) return "";
    if (node.localName === "math") return node.getAttribute("aria-hidden") ? "" : ` ${node.getAttribute("aria-label")} `;
    const inside = [...node.childNodes].map(plain).join(""), tag = node.localName;
    if (INLINE.includes(tag)) return inside;
    return tag === "span" ? ` ${inside} ` : tag === "td" ? `\t${inside}` : tag === "sup" ? `^${inside}` : `\n${inside}\n`;
  };
  const fixed = () => { throw new Error(`the numbers of this page are fixed: ${data.fixed}`); };
  const numbersOf = () => changing ?? fixed();
  window.handgrad = {
    get position() { return position; }, get view() { return viewNumber; }, get length() { return view.steps.length; },
    goto: at => {
      const last = data.views[0].steps.length;
      const isStep = Number.isInteger(at) && at >= 0 && at <= last;
      if (!isStep) throw new Error(`goto: expected an integer of steps, 0 to ${last}, got ${at}`);
      if (viewNumber) openView(0, at); else jump(at);
    },
    names: () => Object.keys(numbersOf().names),
    get: name => numbersOf().nested(changing.blockOf(name)[0]),
    grad: name => numbersOf().nested(changing.blockOf(name)[1]),
    set: (name, value) => { numbersOf().set(name, value); refresh(); },
    reset: () => numbersOf() && change("reset"),
    entry: (name, index, kind) => { numbersOf().blockOf(name); return asked.text(name, index, kind); },
    undo: () => numbersOf() && change("undo"),
    redo: () => numbersOf() && change("redo"),
    update: eta => { numbersOf().remember(); numbersOf().update(eta); refresh(); },
    text: () => plain(panel).replace(/ *\t */g, "\t").replace(/ +/g, " ").replace(/\s*\n\s*/g, "\n").trim(),
  };
  recall();
  if (kept("hg-large")) largeType(true);
})();
