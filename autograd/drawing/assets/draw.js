"use strict";
// The page of one drawing. Python gave painted cards, edges, modules and a first arrangement; here they are shown,
// searched, panned and zoomed, and arranged anew when a module opens or closes.
(() => {
  const data = JSON.parse(document.getElementById("hg-data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const stage = document.getElementById("hg-stage"), svg = document.getElementById("hg-svg");
  const world = document.getElementById("hg-world"), panel = document.getElementById("hg-facts");
  const search = document.getElementById("hg-search"), found = document.getElementById("hg-found");
  const across = data.direction === "LR";
  const closed = new Set(data.closed);
  let view = { x: 0, y: 0, scale: 1 }, size = { width: 1, height: 1 }, boxes = {}, hits = [], hit = -1;

  // --- what is visible ------------------------------------------------------------------------------------

  // The outermost closed module around a card stands for it.
  function shown(key) {
    let stand = key;
    for (let home = data.homes[key] || ""; home; home = (data.modules[home] || {}).parent || "")
      if (closed.has(home)) stand = home;
    return stand;
  }

  function visibleGraph() {
    const order = [], seen = new Set(), edges = [], drawn = new Set();
    for (const key of Object.keys(data.cards)) {
      if (data.modules[key]) continue;
      const stand = shown(key);
      if (!seen.has(stand)) { seen.add(stand); order.push(stand); }
    }
    for (const [from, to, label, style, flow, title] of data.edges) {
      const tail = shown(from), head = shown(to), folded = tail !== from || head !== to;
      if (tail === head) continue;
      if (folded && drawn.has(tail + " " + head)) continue;
      drawn.add(tail + " " + head);
      edges.push({ tail, head, label: folded ? "" : label, style, flow, title });
    }
    return { order, edges };
  }

  // --- arrangement: ranks, order, places (as layered.py does it) -------------------------------------------

  const RANK_GAP = 44, CARD_GAP = 22, WAY = 14, TIP = 9, SWEEPS = 6, LABEL_HEIGHT = 16, LABEL_END = 18;
  const labelWidth = words => words.length * 6.7 + 6;

  function arrange(graph) {
    const spots = new Map(graph.order.map(key => {
      const card = data.cards[key];
      return [key, { breadth: across ? card.h : card.w, depth: across ? card.w : card.h, rank: 0, centre: 0,
        above: [], below: [], gap: CARD_GAP }];
    }));
    const incoming = new Map(graph.order.map(key => [key, []])), outgoing = new Map(graph.order.map(key => [key, []]));
    for (const edge of graph.edges) { incoming.get(edge.head).push(edge); outgoing.get(edge.tail).push(edge); }
    const waiting = new Map(graph.order.map(key => [key, incoming.get(key).length]));
    const ready = graph.order.filter(key => !waiting.get(key));
    for (let i = 0; i < ready.length; i++)
      for (const edge of outgoing.get(ready[i])) {
        const head = spots.get(edge.head);
        head.rank = Math.max(head.rank, spots.get(ready[i]).rank + 1);
        waiting.set(edge.head, waiting.get(edge.head) - 1);
        if (!waiting.get(edge.head)) ready.push(edge.head);
      }
    for (const key of ready)
      if (!incoming.get(key).length && outgoing.get(key).length)
        spots.get(key).rank = Math.min(...outgoing.get(key).map(edge => spots.get(edge.head).rank - 1));
    const lowest = Math.min(0, ...[...spots.values()].map(spot => spot.rank));
    for (const spot of spots.values()) spot.rank -= lowest;

    const ranks = [];
    const put = spot => { (ranks[spot.rank] = ranks[spot.rank] || []).push(spot); };
    spots.forEach(put);
    for (const edge of graph.edges) {
      const tail = spots.get(edge.tail), head = spots.get(edge.head);
      edge.way = [];
      for (let rank = tail.rank + 1; rank < head.rank; rank++)
        edge.way.push({ breadth: WAY, depth: 0, rank, centre: 0, above: [], below: [], gap: WAY / 2 });
      const middle = edge.way[Math.floor(edge.way.length / 2)];
      if (middle && edge.label) {
        const long = labelWidth(edge.label);
        [middle.breadth, middle.depth] = across ? [LABEL_HEIGHT, long] : [long, LABEL_HEIGHT];
      }
      edge.way.forEach(put);
      const chain = [tail, ...edge.way, head];
      for (let i = 1; i < chain.length; i++) { chain[i - 1].below.push(chain[i]); chain[i].above.push(chain[i - 1]); }
    }
    for (let rank = 0; rank < ranks.length; rank++) ranks[rank] = ranks[rank] || [];
    const number = rank => rank.forEach((spot, i) => { spot.place = (i + 0.5) / rank.length; });
    ranks.forEach(number);
    const mean = (spots, of) => spots.reduce((sum, spot) => sum + of(spot), 0) / spots.length;
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
      const down = sweep % 2 === 0;
      for (const rank of down ? ranks : [...ranks].reverse()) {
        for (const spot of rank) {
          const near = down ? spot.above : spot.below;
          spot.wish = near.length ? mean(near, other => other.place) : spot.place;
        }
        rank.sort((a, b) => a.wish - b.wish);
        number(rank);
      }
    }
    for (const rank of ranks) {
      let edge = -rank.reduce((sum, spot) => sum + spot.breadth + spot.gap, 0) / 2;
      for (const spot of rank) { spot.centre = edge + (spot.breadth + spot.gap) / 2; edge += spot.breadth + spot.gap; }
    }
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
      const down = sweep % 2 === 0;
      for (const rank of down ? ranks : [...ranks].reverse())
        pack(rank, rank.map(spot => {
          const near = down ? spot.above : spot.below;
          return near.length ? mean(near, other => other.centre) : spot.centre;
        }));
    }
    // So far away that the label of an edge to the next rank fits, and the ends of the edge show.
    const gaps = new Map(), gapAfter = rank => gaps.get(rank) || RANK_GAP;
    for (const { tail, head, label } of graph.edges) {
      const rank = spots.get(tail).rank, room = label ? (across ? labelWidth(label) : LABEL_HEIGHT) + 2 * LABEL_END : 0;
      if (spots.get(head).rank === rank + 1) gaps.set(rank, Math.max(gapAfter(rank), room));
    }
    const tops = [];
    let along = 0;
    ranks.forEach((rank, index) => {
      const depth = Math.max(0, ...rank.map(spot => spot.depth));
      tops.push([along, depth]);
      along += depth + gapAfter(index);
    });
    const turn = ([x, y]) => across ? [y, x] : [x, y];
    const placed = { boxes: {}, curves: [] };
    spots.forEach((spot, key) => {
      const [start, depth] = tops[spot.rank];
      placed.boxes[key] = turn([spot.centre - spot.breadth / 2, start + (depth - spot.depth) / 2]);
    });
    spots.forEach((spot, key) => {
      const edges = incoming.get(key).sort((a, b) => spots.get(a.tail).centre - spots.get(b.tail).centre);
      const room = Math.min(spot.breadth * 0.6, 26 * (edges.length - 1));
      edges.forEach((edge, i) => { edge.port = edges.length > 1 ? room * (i / (edges.length - 1) - 0.5) : 0; });
    });
    for (const edge of graph.edges) {
      const tail = spots.get(edge.tail), head = spots.get(edge.head);
      const [from, fromDepth] = tops[tail.rank], [to, toDepth] = tops[head.rank];
      const points = [[tail.centre + edge.port / 2, from + (fromDepth + tail.depth) / 2]];
      for (const spot of edge.way) points.push([spot.centre, tops[spot.rank][0]], [spot.centre, tops[spot.rank][0] + tops[spot.rank][1]]);
      const end = [head.centre + edge.port, to + (toDepth - head.depth) / 2];
      points.push([end[0], end[1] - TIP]);
      const curve = [points[0]];
      for (let i = 1; i < points.length; i++) {
        const [[x0, y0], [x1, y1]] = [points[i - 1], points[i]], middle = (y0 + y1) / 2;
        curve.push([x0, middle], [x1, middle], [x1, y1]);
      }
      const at = curve[3 * Math.floor((curve.length - 1) / 6)], next = curve[Math.min(curve.length - 1, 3 * Math.floor((curve.length - 1) / 6) + 3)];
      const label = edge.label ? turn([(at[0] + next[0]) / 2, (at[1] + next[1]) / 2]) : null;
      placed.curves.push([edge.tail, edge.head, curve.map(turn), [turn(points[0]), turn(end)], label, edge.style, edge.flow, edge.label, edge.title]);
    }
    return placed;
  }

  // Least moving that keeps order: spots that would overlap merge into one block about their mean wish.
  function pack(rank, wanted) {
    const blocks = [];
    rank.forEach((spot, i) => {
      const width = spot.breadth + spot.gap;
      blocks.push({ wishes: wanted[i] - width / 2, count: 1, width, first: i });
      while (blocks.length > 1) {
        const last = blocks[blocks.length - 1], before = blocks[blocks.length - 2];
        if (before.wishes / before.count + before.width <= last.wishes / last.count) break;
        before.wishes += last.wishes - last.count * before.width;
        before.count += last.count;
        before.width += last.width;
        blocks.pop();
      }
    });
    blocks.forEach((block, b) => {
      let edge = block.wishes / block.count;
      for (let i = block.first; i < (blocks[b + 1] ? blocks[b + 1].first : rank.length); i++) {
        rank[i].centre = edge + (rank[i].breadth + rank[i].gap) / 2;
        edge += rank[i].breadth + rank[i].gap;
      }
    });
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
      const wide = labelWidth(words);
      make("rect", { x: label[0] - wide / 2, y: label[1] - 8, width: wide, height: LABEL_HEIGHT, rx: 3, class: "hg-f-surface" }, group);
      make("text", { x: label[0], y: label[1] + 4, "text-anchor": "middle", "font-size": 11, class: "hg-f-grad" }, group).textContent = words;
    }
  }

  function paint(placed) {
    world.replaceChildren();
    boxes = {};
    for (const [key, [x, y]] of Object.entries(placed.boxes)) boxes[key] = { x, y, w: data.cards[key].w, h: data.cards[key].h };
    paintFrames();
    const edges = make("g", {}, world);
    for (const curve of placed.curves) paintEdge(curve, edges);
    for (const [key, box] of Object.entries(boxes)) {
      const card = data.cards[key], module = data.modules[key];
      const node = make("g", { class: "hg-node" + (module ? " hg-can-open" : ""), transform: `translate(${box.x},${box.y})`,
        tabindex: 0, role: module ? "button" : "img", "aria-label": card.title + (module ? "; press to open" : ""), "data-key": key }, world);
      node.innerHTML = card.svg;                     // painted by Python, its texts escaped there
      node.querySelectorAll("title").forEach(title => title.remove());
    }
    const all = [...Object.values(boxes), ...frames];
    const left = Math.min(...all.map(box => box.x)), top = Math.min(...all.map(box => box.y));
    size = { left, top, width: Math.max(...all.map(box => box.x + box.w)) - left, height: Math.max(...all.map(box => box.y + box.h)) - top };
    mark();
  }

  function frameRound(keys, inner, roomy) {
    const around = [...keys.map(key => boxes[key]), ...inner], [pad, below] = roomy ? [14, 25] : [6, 20];
    const x = Math.min(...around.map(b => b.x)) - pad, y = Math.min(...around.map(b => b.y)) - pad;
    return { x, y, w: Math.max(...around.map(b => b.x + b.w)) - x + pad, h: Math.max(...around.map(b => b.y + b.h)) - y + below };
  }
  const meet = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

  let frames = [];
  function paintFrames() {
    frames = [];
    const members = {};
    for (const key of Object.keys(boxes)) {
      let home = data.modules[key] ? data.modules[key].parent : data.homes[key];
      for (; home; home = (data.modules[home] || {}).parent) (members[home] = members[home] || []).push(key);
    }
    const outer = Object.entries(members).sort((a, b) => a[1].length - b[1].length);
    const drawn = [];
    for (const [key, keys] of outer) {
      if (closed.has(key)) continue;
      const results = keys.filter(one => data.modules[one] || !["parameter", "constant"].includes(data.cards[one].role));
      const inner = drawn.filter(([one]) => data.modules[one].parent === key).map(([, frame]) => frame);
      const strangers = Object.keys(boxes).filter(one => !keys.includes(one)).map(one => boxes[one]);
      const frame = frameRound(keys, inner, results.length > 1), small = frameRound(results, inner, results.length > 1);
      drawn.push([key, strangers.some(box => meet(frame, box)) ? small : frame]);   // parameters may stand among others
    }
    for (const [key, frame] of drawn.reverse()) {
      frames.push(frame);
      const group = make("g", { class: "hg-frame", tabindex: 0, role: "button", "aria-label": "close " + data.modules[key].name, "data-close": key }, world);
      make("rect", { x: frame.x, y: frame.y, width: frame.w, height: frame.h, rx: 12, class: "hg-f-scope-fill hg-s-scope-line", "stroke-width": 1.3 }, group);
      const name = make("text", { x: frame.x + 12, y: frame.y + frame.h - 6, "font-size": 12, "font-weight": 600, class: "hg-f-muted" }, group);
      name.textContent = "− " + data.modules[key].name + (data.modules[key].kind ? "  " + data.modules[key].kind : "");
    }
  }

  // --- the camera -----------------------------------------------------------------------------------------

  function look(glide) {
    world.classList.toggle("hg-glide", Boolean(glide));
    world.setAttribute("transform", `translate(${view.x.toFixed(1)},${view.y.toFixed(1)}) scale(${view.scale.toFixed(4)})`);
  }
  function fit(glide) {
    const room = stage.getBoundingClientRect();
    view.scale = Math.min(1.25, (room.width - 28) / size.width, (room.height - 28) / size.height);
    view.x = (room.width - size.width * view.scale) / 2 - size.left * view.scale;
    view.y = (room.height - size.height * view.scale) / 2 - size.top * view.scale;
    look(glide);
  }
  function zoomBy(factor, at) {
    const room = stage.getBoundingClientRect(), x = at ? at.x - room.left : room.width / 2, y = at ? at.y - room.top : room.height / 2;
    const scale = Math.min(6, Math.max(0.02, view.scale * factor));
    view.x = x - (x - view.x) * scale / view.scale;
    view.y = y - (y - view.y) * scale / view.scale;
    view.scale = scale;
    look();
  }
  function centre(key) {
    const room = stage.getBoundingClientRect(), box = boxes[key];
    if (!box) return;
    view.scale = Math.max(view.scale, 0.8);
    view.x = room.width / 2 - (box.x + box.w / 2) * view.scale;
    view.y = room.height / 2 - (box.y + box.h / 2) * view.scale;
    look(true);
  }

  // --- opening, closing, searching ------------------------------------------------------------------------

  function refresh(focus) {
    panel.hidden = true;
    paint(arrange(visibleGraph()));
    find(false);
    fit(true);
    const node = focus && world.querySelector(`[data-key="${CSS.escape(focus)}"],[data-close="${CSS.escape(focus)}"]`);
    if (node) node.focus({ preventScroll: true });
  }
  function open(key) { closed.delete(key); closeInside(key); refresh(key); }
  function close(key) { closed.add(key); refresh(key); }
  // What was never opened stays folded one level further in.
  function closeInside(key) {
    for (const [inner, module] of Object.entries(data.modules)) if (module.parent === key) closed.add(inner);
  }
  document.getElementById("hg-open").onclick = () => { closed.clear(); refresh(); };
  document.getElementById("hg-close").onclick = () => {
    for (const [key, module] of Object.entries(data.modules)) if (!module.parent) closed.add(key);
    refresh();
  };
  if (!Object.keys(data.modules).length) for (const id of ["hg-open", "hg-close"]) document.getElementById(id).hidden = true;

  function find(move) {
    const words = search.value.trim().toLowerCase();
    hits = [];
    if (words) for (const [key, card] of Object.entries(data.cards)) {
      if (!(card.name + " = " + card.expression).toLowerCase().includes(words)) continue;
      const stand = boxes[key] ? key : data.modules[key] ? "" : shown(key);
      if (boxes[stand] && !hits.includes(stand)) hits.push(stand);
    }
    hit = hits.length ? 0 : -1;
    found.textContent = !words ? "" : hits.length ? hits.length + " found" : "none";
    mark();
    if (move && hits.length) centre(hits[0]);
  }
  function mark() {
    world.querySelectorAll(".hg-ring").forEach(ring => ring.remove());
    hits.forEach((key, i) => {
      const box = boxes[key];
      if (box) make("rect", { x: box.x - 5, y: box.y - 5, width: box.w + 10, height: box.h + 10, rx: 10, class: "hg-ring" + (i === hit ? "" : " hg-hit") }, world);
    });
  }
  search.oninput = () => find(true);
  search.onkeydown = event => {
    if (event.key === "Enter" && hits.length) { hit = (hit + 1) % hits.length; mark(); centre(hits[hit]); }
    if (event.key === "Escape") { search.value = ""; find(false); search.blur(); }
    event.stopPropagation();
  };

  // --- what a card tells ----------------------------------------------------------------------------------

  const ORDER = ["value", "grad", "shape", "op", "rule", "line", "module", "holds", "folded"];
  function tell(key, at) {
    const card = data.cards[key];
    panel.replaceChildren();
    const head = document.createElement("h2");
    head.textContent = [card.name, card.expression].filter(Boolean).join(data.modules[key] ? "  " : " = ");
    const list = document.createElement("dl");
    for (const fact of ORDER) if (card.facts[fact]) {
      const term = document.createElement("dt"), words = document.createElement("dd");
      term.textContent = fact;
      words.textContent = card.facts[fact];
      if (fact === "grad") words.className = "hg-is-grad";
      list.append(term, words);
    }
    panel.append(head, list);
    panel.hidden = false;
    const own = panel.getBoundingClientRect();
    panel.style.left = Math.max(8, Math.min(innerWidth - own.width - 8, at.x + 16)) + "px";
    panel.style.top = (at.y + own.height + 24 > innerHeight ? Math.max(8, at.y - own.height - 16) : at.y + 16) + "px";
  }
  const nodeOf = event => event.target.closest && event.target.closest(".hg-node");
  stage.addEventListener("pointermove", event => {
    const node = nodeOf(event);
    if (node && !drag) tell(node.dataset.key, { x: event.clientX, y: event.clientY }); else panel.hidden = true;
  });
  stage.addEventListener("pointerleave", () => { panel.hidden = true; });
  stage.addEventListener("focusin", event => {
    const node = nodeOf(event);
    if (!node || !node.matches(":focus-visible")) return;
    const place = node.getBoundingClientRect();
    tell(node.dataset.key, { x: place.left, y: place.bottom });
  });

  // --- pointer and keys -----------------------------------------------------------------------------------

  let drag = null;
  const fingers = new Map();
  stage.addEventListener("pointerdown", event => {
    fingers.set(event.pointerId, event);
    drag = { x: event.clientX - view.x, y: event.clientY - view.y, far: 0, from: event };
  });
  addEventListener("pointermove", event => {
    if (!fingers.has(event.pointerId)) return;
    if (fingers.size === 2) {
      const [a, b] = [...fingers.values()], before = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
      fingers.set(event.pointerId, event);
      const [c, d] = [...fingers.values()], now = Math.hypot(c.clientX - d.clientX, c.clientY - d.clientY);
      zoomBy(now / before, { x: (c.clientX + d.clientX) / 2, y: (c.clientY + d.clientY) / 2 });
      if (drag) drag.far = 99;
      return;
    }
    fingers.set(event.pointerId, event);
    if (!drag) return;
    drag.far = Math.max(drag.far, Math.hypot(event.clientX - drag.from.clientX, event.clientY - drag.from.clientY));
    if (drag.far > 4) {
      stage.classList.add("hg-drag");
      view.x = event.clientX - drag.x;
      view.y = event.clientY - drag.y;
      look();
    }
  });
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, event => {
    fingers.delete(event.pointerId);
    stage.classList.remove("hg-drag");
    setTimeout(() => { drag = null; }, 0);           // after the click that follows
  });
  stage.addEventListener("click", event => {
    if (drag && drag.far > 4) return;
    activate(event.target);
  });
  function activate(target) {
    const node = target.closest(".hg-node"), frame = target.closest(".hg-frame");
    if (node && data.modules[node.dataset.key]) open(node.dataset.key);
    else if (!node && frame) close(frame.dataset.close);
  }
  stage.addEventListener("wheel", event => {
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), { x: event.clientX, y: event.clientY });
  }, { passive: false });
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (move) { view.x += move[0]; view.y += move[1]; look(); }
    else if (event.key === "f" || event.key === "F" || event.key === "0") fit(true);
    else if (event.key === "+" || event.key === "=") zoomBy(1.25);
    else if (event.key === "-") zoomBy(0.8);
    else if (event.key === "/") search.focus();
    else if (event.key === "Escape") panel.hidden = true;
    else if ((event.key === "Enter" || event.key === " ") && event.target.closest && event.target.closest("#hg-world")) activate(event.target);
    else return;
    event.preventDefault();
  });
  document.getElementById("hg-in").onclick = () => zoomBy(1.25);
  document.getElementById("hg-out").onclick = () => zoomBy(0.8);
  document.getElementById("hg-fit").onclick = () => fit(true);
  document.getElementById("hg-theme").onclick = () => {
    const dark = getComputedStyle(document.body).backgroundColor === "rgb(21, 24, 29)";
    document.documentElement.dataset.theme = dark ? "light" : "dark";
  };
  document.getElementById("hg-notes").textContent = data.notes.join(" · ");
  addEventListener("resize", () => fit());

  paint(data.placed || arrange(visibleGraph()));
  fit();
})();
