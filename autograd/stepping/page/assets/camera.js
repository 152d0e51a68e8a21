"use strict";
// Which part of the graph is in view: all of it if it can be read, else the cards of the step; or what the reader chose
// with mouse, wheel or fingers. `scene()` tells what is shown; `seen(box)` hears which part of it comes into view;
// `readable` is the scale at which the smallest text can be read: only what the reader asks for is smaller.
const cameraOn = (stage, scene, seen, readable) => {
  const USUAL = [readable, readable, 1.4], LARGE = [1, 1.6, 2.2];  // scales: the least, of the cards of a step, of a small graph
  const MARGIN = 22, BUTTON = 56;          // px: around the lit cards; below them, for the button in the graph
  const CAMERA_MS = 220;
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let camera = null, moving = 0, area = null;
  let whole = false, held = null;          // the whole graph asked for; a part of it that the reader chose by hand
  let isLarge = false;                     // for a projector
  const stageArea = () => (area ??= stage.getBoundingClientRect());  // measured once: asking lays the page out anew

  function target() {
    if (held) return held;
    const { view, position, size } = scene();
    const { width, height } = stageArea(), [least, wanted, most] = isLarge ? LARGE : USUAL;
    const area = { width, height: height - BUTTON };
    const all = Math.min(area.width / size.width, area.height / size.height);
    const step = position ? view.steps[position - 1] : view.steps[0];
    const keys = step ? [step.card, ...step.inputs] : [];
    if (whole || all >= least || !keys.length) {
      return centred(size.width / 2, size.height / 2, Math.min(all, most), area);
    }
    let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
    for (const key of keys) {
      const [x, y, width, height] = view.cards[key].box;
      left = Math.min(left, x); top = Math.min(top, y);
      right = Math.max(right, x + width); bottom = Math.max(bottom, y + height);
    }
    const scale = Math.min(area.width / (right - left + 2 * MARGIN), area.height / (bottom - top + 2 * MARGIN), wanted);
    const box = centred((left + right) / 2, (top + bottom) / 2, Math.max(scale, least), area);
    if (scale < least) {                   // the card itself, and of its inputs what there is room for
      const [x, y, width, height] = view.cards[step.card].box, tall = area.height / least;
      box.x = Math.min(x - MARGIN, Math.max(box.x, x + width + MARGIN - box.width));
      box.y = Math.min(y - MARGIN, Math.max(box.y, y + height + MARGIN - tall));
    }
    const lowest = size.height + BUTTON / Math.max(scale, least) - box.height;
    box.x = box.width > size.width ? (size.width - box.width) / 2 : clamp(box.x, 0, size.width - box.width);
    box.y = lowest < 0 ? lowest / 2 : clamp(box.y, 0, lowest);
    return box;
  }
  const clamp = (value, low, high) => Math.max(low, Math.min(value, high));
  const centred = (x, y, scale, { width, height }) => ({
    x: x - width / scale / 2, y: y - height / scale / 2, width: width / scale, height: (height + BUTTON) / scale,
  });
  function look(box) {                     // a transform: nothing in the drawing is laid out anew
    camera = box;
    const scale = stageArea().width / box.width;
    seen(box);
    scene().svg.style.transform = `translate(${-box.x * scale}px, ${-box.y * scale}px) scale(${scale})`;
  }
  function aim() {
    if (!scene().svg || !stageArea().width) return;
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

  addEventListener("resize", () => { camera = area = null; aim(); });

  return {
    aim, get dragged() { return dragged; },
    release() { held = null; },            // the reader's choice no longer holds
    measure() { area = null; },            // the stage may have another size
    boxes: () => (stageArea().width ? [target(), camera].filter(Boolean) : []),  // in view soon, and now
    toggleWhole() { whole = !whole; held = null; aim(); return whole; },
    setLarge(on) { isLarge = on; camera = held = area = null; aim(); },
  };
};
