// The page of one drawing. Python gave painted cards, edges, modules and a first arrangement. The page shows the whole
// graph, or one module at a time: its cards, and round them labels that say where its inputs come from.
(() => {
  const data = JSON.parse(document.getElementById("hg-data").textContent);
  const SVG = "http://www.w3.org/2000/svg", FROM = "from ", TO = "to ";
  const by = id => document.getElementById(id);
  const stage = by("hg-stage"), world = by("hg-world"), panel = by("hg-tooltip"), overview = by("hg-overview");
  const search = by("hg-search"), found = by("hg-found");
  const hasModules = Object.keys(data.modules).length > 0;
  const READABLE = 11 / data.smallest, LARGEST = 1.25, EDGE = 14, PAD = 14, NARROW = 860, MOST_SCREENS = 2.5;   // READABLE: no text is below 11 px
  const LEAVES = ["input", "parameter", "constant"], OWN = ["parameter", "constant"];   // OWN: what a module may own
  const closed = new Set(data.closed), atFirst = data.closed;
  let opened = false;                                 // the reader asked for all modules open
  let focus = "";                                     // the module on screen; "": the whole graph
  let cards = data.cards, boxes = {}, frames = [], hits = [], hit = -1;
  let view = { x: 0, y: 0, scale: 1 }, size = { left: 0, top: 0, width: 1, height: 1 };

  // --- the tree of modules --------------------------------------------------------------------------------

  const homeOf = key => (key in data.modules ? data.modules[key].parent : data.homes[key]) || "";
  function around(key) {                              // the modules round a card or module, innermost first
    const chain = [];
    for (let home = homeOf(key); home; home = homeOf(home)) chain.push(home);
    return chain;
  }
  const inside = key => Object.keys(data.modules).filter(one => data.modules[one].parent === key);
  // The same module of the next block: `blocks.1.attention` after `blocks.0.attention`; "" if there is none.
  function neighbour(step) {
    if (!focus) return "";
    const parts = data.modules[focus].name.split("."), at = parts.findLastIndex(part => /^\d+$/.test(part));
    if (at < 0) return "";
    parts[at] = String(Number(parts[at]) + step);
    return Object.keys(data.modules).find(key => data.modules[key].name === parts.join(".")) || "";
  }

  // --- what is visible ------------------------------------------------------------------------------------

  // Which card stands for a card: in the whole graph the outermost closed module round it; in a module the module one
  // level further in; and for what is elsewhere, the largest module that does not hold this one.
  function shown(key) {
    const chain = around(key);
    if (!focus) return chain.findLast(home => closed.has(home)) || key;
    const here = chain.indexOf(focus);
    if (here >= 0) return here ? chain[here - 1] : key;
    const path = new Set([focus, ...around(focus)]), common = chain.findIndex(home => path.has(home));
    return chain[(common < 0 ? chain.length : common) - 1] || key;
  }
  const isHere = key => !focus || around(key).includes(focus);

  function visibleGraph() {
    const order = [], seen = new Set(), edges = [], drawn = new Set(), labels = {};
    const add = key => { if (!seen.has(key)) { seen.add(key); order.push(key); } };
    for (const key of Object.keys(data.cards)) if (!data.modules[key] && isHere(key)) {
      const stand = shown(key), isLeaf = LEAVES.includes(data.cards[key].role);
      if (stand === key || !isLeaf) add(stand);       // a module stands where its first result does
    }
    for (const [from, to, label, style, flow, title] of data.edges) {
      if (!isHere(from) && !isHere(to)) continue;
      let tail = shown(from), head = shown(to);
      const folded = tail !== from || head !== to;
      if (tail === head) continue;
      if (!isHere(from)) { labels[FROM + tail] = way(FROM, tail, from); tail = FROM + tail; }
      if (!isHere(to)) { labels[TO + head] = way(TO, head, from); head = TO + head; }
      if (folded && drawn.has(tail + " " + head)) continue;
      drawn.add(tail + " " + head);
      edges.push({ tail, head, label: folded ? "" : label, style, flow, title });
    }
    Object.keys(labels).forEach(add);
    return { order, edges, labels };
  }
  // A label for what is outside the module: `from norm1  4×8`.
  function way(word, key, sent) {
    const name = data.cards[key].short, shape = data.cards[sent].tooltip.shape || "";
    const words = word + (name.length > 24 ? name.slice(0, 23) + "…" : name) + (shape && word === FROM ? "  " + shape : "");
    return { w: words.length * 7.4 + 28, h: 24, words, leads: key };
  }

  // --- painting -------------------------------------------------------------------------------------------

  function make(name, attributes, parent) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (parent) parent.appendChild(element);
    return element;
  }
  const text = points => points.map(([x, y]) => x.toFixed(1) + "," + y.toFixed(1));

  function paintEdge([tail, head, points, tips, label, style, flow, words, title], parent) {
    const [token, width, dash, end, length] = data.styles[style];
    const group = make("g", { class: "hg-edge", "data-tail": tail, "data-head": head }, parent);
    if (title) make("title", {}, group).textContent = title;
    let [from, to] = tips, path = points;
    if (end === "tail") { [from, to] = [to, from]; path = [...points].reverse(); }
    const last = path[path.length - 1];
    const away = Math.hypot(to[0] - last[0], to[1] - last[1]) > 0.5 ? last : path[path.length - 2];
    const angle = Math.atan2(to[1] - away[1], to[0] - away[0]);
    const back = [to[0] - length * Math.cos(angle), to[1] - length * Math.sin(angle)], half = 0.42 * length;
    const side = sign => [back[0] - sign * half * Math.sin(angle), back[1] + sign * half * Math.cos(angle)];
    const [first, ...rest] = text(path);
    const d = "M" + text([from])[0] + "L" + first + "C" + rest.join(" ") + "L" + text([back])[0];
    if (flow) make("path", { d, class: "hg-s-grad-line", fill: "none", "stroke-width": flow, "stroke-opacity": 0.55 }, group);
    make("path", { d, class: "hg-s-" + token, fill: "none", "stroke-width": width, "stroke-dasharray": dash || "none" }, group);
    make("path", { d: "M" + text([to, side(1), side(-1)]).join("L") + "Z", class: "hg-f-" + token }, group);
    if (label && words) {
      const wide = layers.labelWidth(words), high = layers.LABEL_HEIGHT;
      make("rect", { x: label[0] - wide / 2, y: label[1] - 8, width: wide, height: high, rx: 3, class: "hg-f-surface" }, group);
      make("text", { x: label[0], y: label[1] + 4, "text-anchor": "middle", "font-size": data.smallest, class: "hg-f-grad" }, group)
        .textContent = words;
    }
  }

  function paintCard(key, box) {
    const card = cards[key], module = data.modules[key];
    const kind = card.words ? " hg-way-out" : module || card.leads ? " hg-can-open" : "";
    const says = card.words ? card.words + "; press to go there" : card.title + (module || card.leads ? "; press to open" : "");
    const acts = kind && { "aria-roledescription": "card" };
    const node = make("g", { class: "hg-node" + kind, transform: `translate(${box.x},${box.y})`, tabindex: 0,
      role: kind ? "group" : "img", ...acts, "aria-label": says, "data-key": key }, world);
    if (card.words) {
      make("rect", { width: card.w, height: card.h, rx: 12, class: "hg-f-constant-fill hg-s-constant-line" }, node);
      make("text", { x: card.w / 2, y: 16.5, "text-anchor": "middle", "font-size": 12, class: "hg-f-muted", "xml:space": "preserve" }, node)
        .textContent = card.words;
    } else {
      node.innerHTML = card.svg;                      // painted by Python, its texts escaped there
      node.querySelectorAll("title").forEach(title => title.remove());
    }
  }

  function paint(placed) {
    world.replaceChildren();
    boxes = {};
    for (const [key, [x, y]] of Object.entries(placed.boxes)) boxes[key] = { x, y, w: cards[key].w, h: cards[key].h };
    if (placed.frames) placedFrames(placed.frames); else paintFrames();
    const edges = make("g", {}, world);
    for (const curve of placed.curves) paintEdge(curve, edges);
    for (const frame of frames) paintName(frame);
    for (const [key, box] of Object.entries(boxes)) paintCard(key, box);
    const bends = placed.curves.flatMap(curve => curve[2]).map(([x, y]) => ({ x, y, w: 0, h: 0 }));
    const all = [...Object.values(boxes), ...frames, ...bends];
    const left = Math.min(...all.map(box => box.x)), top = Math.min(...all.map(box => box.y));
    size = { left, top, width: Math.max(...all.map(box => box.x + box.w)) - left, height: Math.max(...all.map(box => box.y + box.h)) - top };
    mark();
  }

  const frameName = key => "− " + data.modules[key].name + (data.modules[key].kind ? "  " + data.modules[key].kind : "");
  const nameWidth = key => frameName(key).length * 7.4 + 8;
  function frameRound(key, keys, inner, roomy) {
    const round = [...keys.map(key => boxes[key]), ...inner], [pad, below] = roomy ? [PAD, 25] : [6, 20];
    const x = Math.min(...round.map(b => b.x)) - pad, y = Math.min(...round.map(b => b.y)) - pad;
    const w = Math.max(...round.map(b => b.x + b.w)) - x + pad, h = Math.max(...round.map(b => b.y + b.h)) - y + below;
    return { key, x, y, h, w: roomy ? Math.max(w, nameWidth(key) + 16) : w };
  }
  const meet = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

  function paintFrames() {
    frames = [];
    const members = {};
    for (const key of Object.keys(boxes)) if (!cards[key].words)
      for (const home of room().width < NARROW && focus ? [] : around(key)) {   // a phone has no room for frames
        (members[home] = members[home] || []).push(key);
        if (home === focus) break;
      }
    const outer = Object.entries(members).sort((a, b) => a[1].length - b[1].length);
    const drawn = [];
    for (const [key, keys] of outer) {
      if (closed.has(key) && !focus) continue;
      const results = keys.filter(one => data.modules[one] || !OWN.includes(cards[one].role));
      const inner = drawn.filter(([one]) => data.modules[one].parent === key).map(([, frame]) => frame);
      const others = Object.keys(boxes).filter(one => !keys.includes(one)).map(one => boxes[one]);
      const frame = frameRound(key, keys, inner, results.length > 1), small = frameRound(key, results, inner, results.length > 1);
      drawn.push([key, others.some(box => meet(frame, box)) ? small : frame]);   // parameters may stand among others
    }
    for (const [key, frame] of drawn.reverse()) {
      frames.push(frame);
      const group = make("g", { class: "hg-frame", tabindex: 0, role: "group", "aria-roledescription": "frame", "aria-label": "close " + data.modules[key].name, "data-close": key }, world);
      make("rect", { x: frame.x, y: frame.y, width: frame.w, height: frame.h, rx: 12, class: "hg-f-scope-fill hg-s-scope-line", "stroke-width": 1.3 }, group);
    }
  }
  // The frames of the folded picture: pressed, they open what they stand for.
  function placedFrames(given) {
    frames = given;
    for (const frame of frames) {
      const about = frame.leads ? { tabindex: 0, role: "button", "aria-label": "open " + frame.words, "data-leads": frame.leads } : {};
      const group = make("g", { class: "hg-frame", ...about }, world);
      make("rect", { x: frame.x, y: frame.y, width: frame.w, height: frame.h, rx: 12, class: "hg-f-scope-fill hg-s-scope-line", "stroke-width": 1.3 }, group);
    }
  }
  // Over the edges, on a patch of the frame's own colour, so that none strikes it through.
  function paintName({ key, x, y, h, words, leads }) {
    const said = words ? (leads ? "+ " : "") + words : frameName(key);
    const group = make("g", { class: "hg-frame", ...(words ? { "data-leads": leads } : { "data-close": key }) }, world);
    make("rect", { x: x + 8, y: y + h - 20, width: said.length * 7.4 + 8, height: 17, rx: 3, class: "hg-f-scope-fill", "fill-opacity": 0.85 }, group);
    make("text", { x: x + 12, y: y + h - 6, "font-size": 12, "font-weight": 600, class: "hg-f-muted", "xml:space": "preserve" }, group)
      .textContent = said;
  }

  // --- the camera -----------------------------------------------------------------------------------------

  const room = () => stage.getBoundingClientRect();
  const fitting = (placed = size) => Math.min((room().width - 2 * EDGE) / placed.width, (room().height - 2 * EDGE) / placed.height);
  function look(glide) {
    world.classList.toggle("hg-glide", Boolean(glide));
    world.setAttribute("transform", `translate(${view.x.toFixed(1)},${view.y.toFixed(1)}) scale(${view.scale.toFixed(4)})`);
  }
  // In the middle of the stage; what is larger than the stage begins at its edge, across the flow near its first card.
  function show(scale, glide) {
    const { width, height } = room(), first = Object.values(boxes).reduce((a, b) => (b.y < a.y ? b : a));
    const along = (start, length, space, centre) => {
      if (length * scale <= space - 2 * EDGE) return (space - length * scale) / 2 - start * scale;
      const wanted = space / 2 - centre * scale;
      return Math.min(EDGE - start * scale, Math.max(space - EDGE - (start + length) * scale, wanted));
    };
    view = { scale, x: along(size.left, size.width, width, first.x + first.w / 2),
      y: along(size.top, size.height, height, size.top) };
    look(glide);
  }
  const readable = glide => show(Math.min(LARGEST, Math.max(READABLE, fitting())), glide);
  const whole = glide => show(Math.min(LARGEST, fitting()), glide);
  function zoomBy(factor, at) {
    const space = room(), x = at ? at.x - space.left : space.width / 2, y = at ? at.y - space.top : space.height / 2;
    const scale = Math.min(6, Math.max(0.02, view.scale * factor));
    view = { scale, x: x - (x - view.x) * scale / view.scale, y: y - (y - view.y) * scale / view.scale };
    look();
  }
  function centre(key) {
    const { width, height } = room(), box = boxes[key], scale = Math.max(view.scale, READABLE);
    if (!box) return;
    view = { scale, x: width / 2 - (box.x + box.w / 2) * scale, y: height / 2 - (box.y + box.h / 2) * scale };
    look(true);
  }
  function keepInSight(key) {                         // a card that gets the keyboard's focus
    const box = boxes[key], { width, height } = room();
    const x = box.x * view.scale + view.x, y = box.y * view.scale + view.y;
    if (x < 0 || y < 0 || x + box.w * view.scale > width || y + box.h * view.scale > height) centre(key);
  }

  // --- going from view to view ----------------------------------------------------------------------------

  const widthOf = placed => {
    const sides = Object.entries(placed.boxes).map(([key, [x]]) => [x, x + cards[key].w]);
    for (const [x] of placed.curves.flatMap(curve => curve[2])) sides.push([x, x]);
    return Math.max(...sides.map(([, right]) => right)) - Math.min(...sides.map(([left]) => left));
  };
  const fits = placed => (widthOf(placed) + (focus ? 2 * PAD : 0)) * READABLE <= room().width - 2 * EDGE;
  const narrowest = arrangements => arrangements.reduce((a, b) => (widthOf(b) < widthOf(a) ? b : a));
  // A module runs top to bottom; so does the whole graph where it is too wide to be read. On a phone, one card a line.
  function arranged(graph) {
    cards = { ...data.cards, ...graph.labels };
    const across = !focus && data.direction === "LR", first = layers(graph, cards, across);
    if (fits(first)) return first;
    const down = across ? layers(graph, cards, false) : first;
    if (fits(down)) return down;
    const stairs = layers(graph, cards, false, "stairs");
    if (fits(stairs) || room().width >= NARROW) return narrowest([first, down, stairs]);
    return narrowest([stairs, layers(graph, cards, false, "column")]);
  }
  let isFirst = true;                                 // the reader opened and closed nothing yet
  function refresh(target) {
    isFirst = false;
    panel.hidden = true;
    const isFolded = !opened && closed.size === atFirst.length && atFirst.every(key => closed.has(key));
    if (!focus && isFolded && foldedFits()) paintFolded();
    else paint(arranged(visibleGraph()));
    find(false);
    readable(true);
    showPath();
    const node = target && world.querySelector(`[data-key="${CSS.escape(target)}"],[data-close="${CSS.escape(target)}"]`);
    if (node) node.focus({ preventScroll: true });
  }
  // The picture with what repeats folded, if a window this wide can show it; else its modules, closed.
  function foldedFits() {
    if (data.folded) cards = data.folded.cards;
    return Boolean(data.folded) && fits(data.folded);
  }
  function paintFolded() {
    cards = data.folded.cards;
    paint(data.folded);
  }
  function go(key, target) {
    focus = key;
    overview.classList.remove("hg-shown");
    refresh(target || key);
  }
  const up = () => go(homeOf(focus), focus);
  // What closes in the whole graph closes with all that is in it.
  function fold(key) { if (focus) up(); else { closed.add(key); opened = false; refresh(key); } }

  function button(words, action, parent) {
    const made = document.createElement(parent.tagName === "H1" ? "a" : "button");
    if (made.tagName === "A") { made.href = "#"; made.setAttribute("role", "button"); } else made.type = "button";
    made.textContent = words;
    made.onclick = event => { event.preventDefault(); action(); };
    parent.appendChild(made);
    return made;
  }
  function showPath() {
    const path = by("hg-path"), chain = focus ? around(focus).reverse() : [];
    path.textContent = focus ? "" : data.title;
    document.title = focus ? `${data.modules[focus].name}, ${data.title}` : data.title;
    if (focus) {
      const separate = () => { path.appendChild(document.createElement("i")).textContent = "›"; };
      button("whole graph", () => go(""), path);
      for (const key of chain) { separate(); button(data.cards[key].short, () => go(key), path); }
      separate();
      path.append(data.cards[focus].short + " ");
      path.appendChild(document.createElement("small")).textContent = data.modules[focus].kind;
    }
    for (const [id, used] of [["hg-up", focus], ["hg-previous", focus], ["hg-next", focus], ["hg-open", hasModules && !focus], ["hg-close", hasModules && !focus]])
      by(id).hidden = !used;
    by("hg-previous").disabled = !neighbour(-1);
    by("hg-next").disabled = !neighbour(1);
    overview.hidden = !hasModules;
    by("hg-menu").classList.toggle("hg-used", hasModules);
    by("hg-menu").setAttribute("aria-expanded", overview.classList.contains("hg-shown"));
    if (hasModules) showOverview(new Set([focus, ...chain]));
  }
  function showOverview(path) {
    overview.replaceChildren();
    overview.appendChild(document.createElement("h2")).textContent = "overview";
    if (Object.values(data.modules).some(module => module.norm))
      overview.appendChild(document.createElement("p")).textContent = "‖grad‖ of parameters";
    const list = (key, parent) => {
      const items = parent.appendChild(document.createElement("ul"));
      for (const one of inside(key)) {
        const item = items.appendChild(document.createElement("li")), made = button("", () => go(one), item);
        for (const words of [data.cards[one].short, data.modules[one].norm]) made.appendChild(document.createElement("span")).textContent = words;
        made.setAttribute("aria-current", one === focus);
        if (path.has(one) && inside(one).length) list(one, item);
      }
    };
    list("", overview);
    const here = overview.querySelector("[aria-current=true]");
    if (here) here.scrollIntoView({ block: "nearest" });
  }
  overview.addEventListener("keydown", event => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], all = [...overview.querySelectorAll("button")];
    if (!step) return;
    (all[all.indexOf(document.activeElement) + step] || document.activeElement).focus();
    event.preventDefault();
    event.stopPropagation();
  });
  by("hg-menu").onclick = () => {
    by("hg-menu").setAttribute("aria-expanded", overview.classList.toggle("hg-shown"));
  };
  by("hg-open").onclick = () => { closed.clear(); opened = true; refresh(); };
  by("hg-close").onclick = () => {
    closed.clear();
    for (const key of data.folded && foldedFits() ? atFirst : inside("")) closed.add(key);
    opened = false;
    refresh();
  };
  by("hg-up").onclick = up;
  by("hg-previous").onclick = () => step(-1);
  by("hg-next").onclick = () => step(1);
  function step(by) { const next = neighbour(by); if (next) go(next); }

  // --- searching ------------------------------------------------------------------------------------------

  // Enter goes from hit to hit, also to those that are not on screen.
  function find(move) {
    const words = search.value.trim().toLowerCase();
    hits = !words ? [] : Object.keys(data.cards)
      .filter(key => (data.cards[key].name + " = " + data.cards[key].expression).toLowerCase().includes(words))
      .filter(key => !data.modules[key] || boxes[key]);
    hit = -1;
    found.textContent = !words ? "" : hits.length ? hits.length + " found" : "none";
    mark();
    const first = hits.findIndex(key => boxes[standing(key)]);
    if (move && first >= 0) { hit = first; mark(); centre(standing(hits[first])); }
  }
  const standing = key => (boxes[key] ? key : isHere(key) ? shown(key) : "");
  function mark() {
    world.querySelectorAll(".hg-ring").forEach(ring => ring.remove());
    const current = hit >= 0 ? standing(hits[hit]) : "";
    for (const key of new Set(hits.map(standing))) {
      const box = boxes[key];
      if (box) make("rect", { x: box.x - 5, y: box.y - 5, width: box.w + 10, height: box.h + 10, rx: 10, class: "hg-ring" + (key === current ? "" : " hg-hit") }, world);
    }
  }
  function nextHit() {
    if (!hits.length) return;
    const wanted = (hit + 1) % hits.length, key = hits[wanted];
    if (!boxes[key]) { focus = homeOf(key); refresh(); }
    hit = wanted;
    mark();
    centre(standing(key));
  }
  search.oninput = () => find(true);
  search.onkeydown = event => {
    if (event.key === "Enter") nextHit();
    if (event.key === "Escape") { search.value = ""; find(false); search.blur(); }
    event.stopPropagation();
  };

  // --- what is said about a card ----------------------------------------------------------------------------------

  const ORDER = ["value", "grad", "shape", "op", "rule", "line", "module", "holds", "folded"];
  function showTooltip(key, at) {
    const card = cards[key];
    panel.hidden = !card.tooltip;
    if (panel.hidden) return;
    panel.replaceChildren();
    const head = document.createElement("h2"), list = document.createElement("dl");
    head.textContent = [card.name, card.expression].filter(Boolean).join(data.modules[key] ? "  " : " = ");
    for (const one of ORDER) if (card.tooltip[one]) {
      const term = document.createElement("dt"), words = document.createElement("dd");
      term.textContent = one;
      words.textContent = card.tooltip[one];
      if (one === "grad") words.className = "hg-is-grad";
      list.append(term, words);
    }
    panel.append(head, list);
    const own = panel.getBoundingClientRect();
    panel.style.left = Math.max(8, Math.min(innerWidth - own.width - 8, at.x + 16)) + "px";
    panel.style.top = (at.y + own.height + 24 > innerHeight ? Math.max(8, at.y - own.height - 16) : at.y + 16) + "px";
  }
  const nodeOf = event => event.target.closest && event.target.closest(".hg-node");
  stage.addEventListener("pointermove", event => {
    if (event.pointerType === "touch") return;        // a finger asks by tapping
    const node = nodeOf(event);
    if (node && !drag) showTooltip(node.dataset.key, { x: event.clientX, y: event.clientY }); else panel.hidden = true;
  });
  stage.addEventListener("pointerleave", event => { if (event.pointerType !== "touch") panel.hidden = true; });
  stage.addEventListener("focusin", event => {
    const node = nodeOf(event);
    if (!node || !node.matches(":focus-visible")) return;
    keepInSight(node.dataset.key);
    const place = node.getBoundingClientRect();
    showTooltip(node.dataset.key, { x: place.left, y: place.bottom });
  });

  // --- pointer and keys -----------------------------------------------------------------------------------

  let drag = null;
  const fingers = new Map();
  stage.addEventListener("pointerdown", event => {
    fingers.set(event.pointerId, event);
    drag = { x: event.clientX - view.x, y: event.clientY - view.y, far: fingers.size > 1 ? 99 : 0, from: event };
  });
  addEventListener("pointermove", event => {
    if (!fingers.has(event.pointerId)) return;
    const before = [...fingers.values()];
    fingers.set(event.pointerId, event);
    if (fingers.size === 2) pinch(before, [...fingers.values()]);
    else if (drag) pan(event);
  });
  function pinch(before, now) {
    const apart = ([a, b]) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    const between = ([a, b]) => ({ x: (a.clientX + b.clientX) / 2, y: (a.clientY + b.clientY) / 2 });
    const from = between(before), to = between(now);
    view.x += to.x - from.x;
    view.y += to.y - from.y;
    zoomBy(apart(now) / Math.max(1, apart(before)), to);
  }
  function pan(event) {
    drag.far = Math.max(drag.far, Math.hypot(event.clientX - drag.from.clientX, event.clientY - drag.from.clientY));
    if (drag.far <= 4) return;
    stage.classList.add("hg-drag");
    view.x = event.clientX - drag.x;
    view.y = event.clientY - drag.y;
    look();
  }
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, event => {
    if (!fingers.delete(event.pointerId)) return;
    stage.classList.remove("hg-drag");
    const [left] = fingers.values();                  // after a pinch, the finger that stays goes on panning
    if (left) drag = { x: left.clientX - view.x, y: left.clientY - view.y, far: 99, from: left };
    else setTimeout(() => { drag = null; }, 0);       // after the click that follows
  });
  stage.addEventListener("click", event => {
    if (drag && drag.far > 4) return;
    overview.classList.remove("hg-shown");
    activate(event.target);
    const node = nodeOf(event);
    if (event.pointerType === "touch" && node && !node.classList.contains("hg-can-open"))
      showTooltip(node.dataset.key, { x: event.clientX, y: event.clientY });
    else panel.hidden = true;
  });
  function activate(target) {
    const node = target.closest(".hg-node"), frame = target.closest("g.hg-frame"), key = node && node.dataset.key;
    if (!node) {
      if (frame && frame.dataset.leads) go(frame.dataset.leads);
      else if (frame && frame.dataset.close) fold(frame.dataset.close);
    }
    else if (data.modules[key]) go(key);
    else if (cards[key].leads) leave(cards[key].leads);
  }
  // To where a label points: into a module, or to the view that a card stands in.
  function leave(key) {
    go(data.modules[key] ? key : homeOf(key), key);
    if (!data.modules[key]) centre(standing(key));
  }
  stage.addEventListener("wheel", event => {
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), { x: event.clientX, y: event.clientY });
  }, { passive: false });
  function home() { if (focus) go(""); whole(true); }
  const KEYS = {
    f: home, F: home, 0: home, "+": () => zoomBy(1.25), "=": () => zoomBy(1.25), "-": () => zoomBy(0.8),
    "/": () => search.focus(), "[": () => step(-1), "]": () => step(1),
    Escape: () => { if (!panel.hidden) panel.hidden = true; else if (focus) up(); },
  };
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    const onCard = event.target.closest && event.target.closest("#hg-world");
    if (move) { view.x += move[0]; view.y += move[1]; look(); }
    else if (KEYS[event.key]) KEYS[event.key]();
    else if ((event.key === "Enter" || event.key === " ") && onCard) activate(event.target);
    else return;
    event.preventDefault();
  });
  by("hg-in").onclick = () => zoomBy(1.25);
  by("hg-out").onclick = () => zoomBy(0.8);
  by("hg-fit").onclick = home;
  by("hg-theme").onclick = () => {
    const dark = getComputedStyle(document.body).backgroundColor === "rgb(21, 24, 29)";
    document.documentElement.dataset.theme = dark ? "light" : "dark";
  };
  by("hg-notes").textContent = data.notes.join(" · ");

  // It begins with the drawing itself. What is too wide to be read, and fills screen after screen, begins with its modules
  // closed, if nobody asked for them to be open; what is only too wide, in the page's own arrangement if that fits.
  function begin() {
    closed.clear();
    atFirst.forEach(key => closed.add(key));
    showPath();
    if (foldedFits()) { paintFolded(); readable(); return; }
    if (data.folded) inside("").forEach(key => closed.add(key));
    if (data.placed) paint(data.placed);
    if (!data.placed || !fits(data.placed)) {
      const screens = size.width * size.height * READABLE ** 2 / (room().width * room().height);
      const folds = data.placed && !data.chosen && screens > MOST_SCREENS;
      if (folds) inside("").forEach(key => closed.add(key));
      const own = arranged(visibleGraph());
      if (!data.placed || folds || fits(own) || room().width < NARROW) paint(own);
    }
    readable();
  }
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) readable(); else if (isFirst) begin(); else refresh();
    width = innerWidth;
  });
  begin();
})();
