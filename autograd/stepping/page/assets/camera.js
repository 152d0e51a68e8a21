"use strict";
// Which part of the graph is in view: all of it if it can be read, else the cards of the step; or what the reader chose
// with mouse, wheel, fingers, buttons or the map. `scene()` tells what is shown; `seen(box)` hears which part of it comes
// into view; `readable()` is the scale at which the smallest text can be read: only what the reader asks for is smaller.
// `copy(key)` shows a card's numbers once more.
const cameraOn = (stage, scene, seen, readable, copy) => {
  const MOST = 1.4, LARGE = [1, 1.6, 2.2];  // scales: of a small graph; for a projector the least, of the cards of a step, that
  const FIRST = 9 / 11;                    // of the first view the text may be smaller
  const MARGIN = 22, BUTTON = 56, CAPTION = 12, MAP = 206;  // px: around the lit cards; below them, for
  // the button in the graph; of a caption; of the map's corner
  const CAMERA_MS = 220, ZOOM = 1.25;
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let camera = null, moving = 0, area = null;
  let whole = false, held = null;          // the whole graph asked for; a part of it that the reader chose by hand
  let isLarge = false;                     // for a projector
  const stageArea = () => (area ??= stage.getBoundingClientRect());  // measured once: asking lays the page out again

  const boxOf = key => scene().view.cards[key].box;
  // Of a card the part with numbers: before backward the place of its gradient is empty.
  function filledOf(key) {
    const [x, y, width, height] = boxOf(key), empty = scene().cards[key].querySelector(".hg-unknown > text");
    const isBelow = empty && !scene().cards[key].querySelector(".hg-grad") && empty.getAttribute("x") < x + MARGIN;
    return [x, y, width, isBelow ? empty.getAttribute("y") - CAPTION - y : height];
  }
  const around = keys => {
    const boxes = keys.map(filledOf), x = Math.min(...boxes.map(box => box[0])), y = Math.min(...boxes.map(box => box[1]));
    return [x, y, Math.max(...boxes.map(box => box[0] + box[2])) - x, Math.max(...boxes.map(box => box[1] + box[3])) - y];
  };
  // The part of the graph to show: all of it, or the card of the step and what it reads or sends to. Cards that are too far
  // away for that are repeated by `dock`, which gives the height that they take at the top.
  function target() {
    if (held) return held;
    const { view, position, size } = scene(), { width, height } = stageArea();
    const [least, wanted, most] = isLarge ? LARGE : [readable(), readable(), MOST];
    const all = Math.min(width / size.width, (height - BUTTON) / size.height), step = view.steps[Math.max(position - 1, 0)];
    if (whole || !step || all >= (position ? least : least * FIRST)) {
      dock([]);
      return centred(size.width / 2, size.height / 2, Math.min(all, most), { width, height: height - BUTTON });
    }
    const room = (keys, top) => {              // the scale at which there is room for these cards
      const [, , wide, tall] = around(keys);
      return Math.min(width / (wide + 2 * MARGIN), (height - BUTTON - top) / (tall + 2 * MARGIN), wanted);
    };
    const needed = [step.card, ...new Set(step.inputs)], near = [step.card];
    let far = needed.slice(1), top = 0;
    if (!position || room(needed, 0) >= least) near.push(...far.splice(0));
    top = dock(far);
    const apart = key => Math.hypot(boxOf(key)[0] - boxOf(step.card)[0], boxOf(key)[1] - boxOf(step.card)[1]);
    for (const key of [...far].sort((a, b) => apart(a) - apart(b))) {
      if (room([...near, key], top) >= least) near.push(...far.splice(far.indexOf(key), 1));
    }
    if (far.length < docked.length) top = dock(far);
    if (position && room(near, top) < least) top = dock(far = needed);  // the card itself is too large
    const [x, y, wide, tall] = around(near), scale = Math.max(room(near, top), least), tallest = height - BUTTON - top;
    const box = centred(x + wide / 2, y + tall / 2, scale, { width, height: height - BUTTON });
    if (wide * scale > width - MARGIN) box.x = x - MARGIN;
    box.y = y + tall / 2 - (top + tallest / 2) / scale;
    if (tall * scale > tallest - MARGIN) box.y = y - (top + MARGIN / 2) / scale;
    if (!far.length) {                         // no more empty paper than need be
      const lowest = size.height + BUTTON / scale - box.height;
      box.x = box.width > size.width ? (size.width - box.width) / 2 : clamp(box.x, 0, size.width - box.width);
      box.y = lowest < 0 ? lowest / 2 : clamp(box.y, 0, lowest);
    }
    return box;
  }
  const clamp = (value, low, high) => Math.max(low, Math.min(value, high));
  const centred = (x, y, scale, { width, height }) => ({
    x: x - width / scale / 2, y: y - height / scale / 2, width: width / scale, height: (height + BUTTON) / scale,
  });

  // --- cards that are far away, repeated at the top, each with a line to where it is; and the map ------------------

  const copies = document.getElementById("hg-copies"), map = document.getElementById("hg-map");
  const strings = document.getElementById("hg-strings");
  let docked = [];
  function dock(keys) {                        // the height that they take
    const own = scene().view.steps[scene().position - 1]?.card;
    docked = [...keys];
    copies.hidden = strings.hidden = !keys.length;
    copies.classList.toggle("hg-all", keys.includes(own));
    copies.replaceChildren(...keys.map(copy));
    for (const one of copies.children) one.classList.toggle("hg-own", one.dataset.card === own);
    lines.breakRows(copies);
    return keys.length ? copies.offsetHeight + 8 : 0;
  }
  function drawStrings(box, scale) {
    const { left, top } = copies.hidden ? {} : stage.getBoundingClientRect();
    strings.innerHTML = docked.map((key, i) => {
      const at = copies.children[i].getBoundingClientRect(), [x, y, wide, tall] = boxOf(key);
      const to = [(x + wide / 2 - box.x) * scale, (y + tall - box.y) * scale];
      return `<path d="M${at.left + at.width / 2 - left},${at.bottom - top}L${to.join()}"/>`;
    }).join("");
  }
  let marks = null;                            // the map's mark of each card
  function drawMap() {                         // every card, and a frame around what is in view
    const { view, position, size } = scene(), step = view.steps[position - 1];
    if (!marks) {
      const rect = ({ box: [x, y, wide, tall] }) => `<rect x="${x}" y="${y}" width="${wide}" height="${tall}"/>`;
      map.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
      map.style.aspectRatio = `${size.width} / ${size.height}`;
      map.innerHTML = `${Object.values(view.cards).map(rect).join("")}<rect class="hg-frame"/>`;
      marks = Object.fromEntries(Object.keys(view.cards).map((key, i) => [key, map.children[i]]));
    }
    const near = new Set(step?.inputs);
    for (const key in marks) marks[key].setAttribute("class", step?.card === key ? "hg-here" : near.has(key) ? "hg-near" : "");
  }
  function frame(box) {                        // out of the way of the cards of the step
    const { size, view, position } = scene(), step = view.steps[position - 1], { width, height } = stageArea();
    const scale = width / box.width, isAll = box.width >= size.width && box.height >= size.height;
    const isBelow = key => {
      const [x, y, wide, tall] = boxOf(key), left = (x - box.x) * scale, bottom = (y + tall - box.y) * scale;
      return left < MAP && left + wide * scale > 0 && bottom > height - MAP && bottom - tall * scale < height;
    };
    const cards = step && !held ? [step.card, ...step.inputs].filter(key => !docked.includes(key)) : [];
    map.toggleAttribute("hidden", isAll || cards.some(isBelow));
    for (const side of ["x", "y", "width", "height"]) map.lastChild?.setAttribute(side, box[side]);
  }
  const travel = event => {
    if (!event.buttons) return;
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
    look(held = { ...camera, x: at.x - camera.width / 2, y: at.y - camera.height / 2 });
  };
  map.addEventListener("pointerdown", event => { map.setPointerCapture(event.pointerId); travel(event); });
  map.addEventListener("pointermove", travel);

  function look(box) {                     // a transform: nothing in the drawing is laid out again
    camera = box;
    const scale = stageArea().width / box.width;
    seen(box);
    frame(box);
    drawStrings(box, scale);
    scene().svg.style.transform = `translate(${-box.x * scale}px, ${-box.y * scale}px) scale(${scale})`;
  }
  function aim() {
    if (!scene().svg || !stageArea().width) return;
    drawMap();
    const to = target(), from = camera;
    cancelAnimationFrame(moving);
    if (!from || calm.matches || held) { look(to); return; }
    const start = performance.now();
    const tick = now => {
      const share = Math.min(1, (now - start) / CAMERA_MS), eased = 1 - (1 - share) ** 3;
      const between = {};
      for (const side in to) between[side] = from[side] + (to[side] - from[side]) * eased;
      look(between);
      if (share < 1) moving = requestAnimationFrame(tick);
    };
    moving = requestAnimationFrame(tick);
  }

  // One finger (or the mouse) moves the graph, two fingers zoom it.
  const fingers = new Map();               // by pointer, where each was last
  let dragged = false;
  stage.addEventListener("pointerdown", event => {
    if (!fingers.size) dragged = false;
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  addEventListener("pointermove", event => {
    const before = fingers.get(event.pointerId), now = { x: event.clientX, y: event.clientY };
    if (!before) return;
    if (!dragged && Math.hypot(now.x - before.x, now.y - before.y) < 4) return;
    dragged = true;
    stage.classList.add("hg-dragging");
    fingers.set(event.pointerId, now);
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    const apart = (a, b) => Math.hypot(a.x - b.x, a.y - b.y) || 1;
    if (other) zoom(apart(before, other) / apart(now, other), (now.x + other.x) / 2, (now.y + other.y) / 2);
    const scale = camera.width / stageArea().width, share = other ? 2 : 1;  // two fingers move it by their middle
    look(held = { ...camera, x: camera.x - (now.x - before.x) * scale / share, y: camera.y - (now.y - before.y) * scale / share });
  });
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, event => {
    fingers.delete(event.pointerId);
    if (!fingers.size) stage.classList.remove("hg-dragging");
  });
  function zoom(factor, x, y) {            // the point of the graph at this place of the window stays there
    const area = stage.getBoundingClientRect(), px = (x - area.left) / area.width, py = (y - area.top) / area.height;
    const width = clamp(camera.width * factor, 80, scene().size.width * 6), ratio = width / camera.width;
    look(held = {
      x: camera.x + px * (camera.width - width), y: camera.y + py * camera.height * (1 - ratio),
      width, height: camera.height * ratio,
    });
  }
  const isFramed = parent !== window;      // then the wheel and a finger scroll the page around; with Ctrl they zoom
  if (isFramed) stage.style.touchAction = "pan-y";
  stage.addEventListener("wheel", event => {
    if (isFramed && !event.ctrlKey) return;
    event.preventDefault();
    zoom(Math.exp(clamp(event.deltaY, -60, 60) / 300), event.clientX, event.clientY);
  }, { passive: false });

  // --- find a card, zoom by buttons -----------------------------------------------------------------------------------

  const nameOf = card => card.says[0].split(/[;,](?= |$)/)[0];
  function show(key) {                     // a card, in the middle
    const [x, y, width, height] = boxOf(key), area = stageArea(), scale = Math.max(camera ? area.width / camera.width : 0, readable());
    held = centred(x + width / 2, y + height / 2, scale, { width: area.width, height: area.height - BUTTON });
    aim();
  }
  const field = document.getElementById("hg-find"), offered = document.getElementById("hg-found");
  let latest = -1;
  function find() {                        // the next card whose name has this in it
    const { view, cards } = scene(), asked = field.value.trim().toLowerCase();
    const named = test => Object.keys(view.cards).filter(key => test(nameOf(view.cards[key]).toLowerCase()));
    const exact = named(name => name.split(" = ")[0] === asked), found = exact.length ? exact : named(name => name.includes(asked));
    field.setAttribute("aria-invalid", asked !== "" && !found.length);
    if (!asked || !found.length) return;
    latest = (latest + 1) % found.length;
    show(found[latest]);
    for (const key in cards) cards[key].classList.toggle("hg-found", key === found[latest]);
  }
  field.onfocus = () => offered.replaceChildren(...Object.values(scene().view.cards).map(card => new Option(nameOf(card).split(" = ")[0])));
  field.oninput = () => { latest = -1; if (field.value.length > 1) find(); };
  field.onkeydown = event => { if (event.key === "Enter") find(); else if (event.key === "Escape") field.blur(); };
  for (const [id, factor] of [["hg-in", 1 / ZOOM], ["hg-out", ZOOM]]) document.getElementById(id).onclick = () => {
    const { left, top, width, height } = stage.getBoundingClientRect();
    zoom(factor, left + width / 2, top + height / 2);
  };

  addEventListener("resize", () => { camera = area = null; aim(); });

  return {
    aim, get dragged() { return dragged; },
    release() { held = null; },            // the reader's choice no longer holds
    measure() { area = marks = null; },            // the stage may have another size
    boxes: () => (stageArea().width ? [target(), camera].filter(Boolean) : []),  // in view soon, and now
    show, nameOf,
    toggleWhole() { whole = !whole; held = null; aim(); return whole; },
    setLarge(on) { isLarge = on; camera = held = area = null; aim(); },
  };
};
