"use strict";
// A stepper's page in a frame, and a slider for each of its leaves beside it. The frame computes; this follows it.
const sliders = ({ frames, box, remake = () => {}, told = () => {} }) => {
  const REACH = 5, STEPS = 200;                // a slider goes from -5 to 5, or twice as far as its number
  let frame = null, coming = null, rows = new Map(), leaves = [], theme = "";
  let asked = {};                              // numbers that a page with fixed ones cannot follow: another is on its way
  const element = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };
  const tell = (message, to = frame) => to?.contentWindow?.postMessage(message, "*");

  // --- the frame -------------------------------------------------------------------------------------------------

  // Load a page; the one before stays in sight until the new one speaks.
  function show(page, title) {                 // its address, as `src`, or its text, as `srcdoc`
    asked = {};
    coming?.remove();
    coming = element("iframe", { title, className: "play-coming" });
    coming.setAttribute("sandbox", "allow-scripts allow-forms");
    Object.assign(coming, page);
    frames.append(coming);
  }
  addEventListener("message", event => {
    const state = event.data;
    if (coming && event.source === coming.contentWindow && state?.play === "state") {
      frame?.remove();
      frame = coming;
      coming = null;
      frame.classList.remove("play-coming");
      if (theme) tell({ play: "theme", theme });
      tell({ handgradGoto: state.steps });
    }
    if (!frame || event.source !== frame.contentWindow) return;
    if (state?.play === "state") follow(state);
    else if (Number.isInteger(state?.handgrad)) tell({ play: "state" });   // it moved or its numbers changed
  });

  // --- the sliders -----------------------------------------------------------------------------------------------

  function follow(state) {
    leaves = state.fixed ? state.leaves.map(leaf => ({ ...leaf, value: asked[leaf.name] ?? leaf.value })) : state.leaves;
    const names = leaves.map(leaf => leaf.name).join();
    if (names !== [...rows.keys()].join()) {
      rows = new Map(leaves.map(leaf => [leaf.name, row(leaf.name)]));
      box.replaceChildren(...[...rows.values()].map(one => one.element));
    }
    for (const leaf of leaves) rows.get(leaf.name).follow(leaf, state);
    told(state);
  }
  function row(name) {
    const slider = element("input", { type: "range", className: "play-slider" });
    const field = element("input", { className: "play-number", inputMode: "decimal", autocomplete: "off", size: 7 });
    const slope = element("output", { className: "play-slope" });
    slider.setAttribute("aria-label", `${name}, slider`);
    field.setAttribute("aria-label", `${name}, a number`);
    const reach = x => {
      const most = Math.abs(x) <= REACH ? REACH : 2 * Math.abs(x);
      if (most > slider.max || !slider.max) Object.assign(slider, { min: -most, max: most, step: most / STEPS * 2 });
    };
    Object.assign(slider, { min: -REACH, max: REACH, step: 2 * REACH / STEPS });
    slider.oninput = () => set(name, Number(slider.value));
    field.onchange = () => {
      const text = field.value.trim().replace(/−/g, "-").replace(",", "."), asked = text === "" ? NaN : Number(text);
      field.setAttribute("aria-invalid", !Number.isFinite(asked));
      if (Number.isFinite(asked)) set(name, asked);
    };
    field.onkeydown = event => {
      const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      set(name, Number((leaves.find(leaf => leaf.name === name).value + by * (event.shiftKey ? 1 : 0.1)).toPrecision(12)));
    };
    return {
      element: element("div", { className: "play-leaf" }, element("b", { textContent: name }), slider, field, slope),
      follow({ value, shownGrad }, { result }) {
        reach(value);
        slider.value = value;
        if (document.activeElement !== field || Number(field.value) !== value) field.value = String(value);
        slope.textContent = shownGrad ? `∂${result.name}/∂${name} = ${shownGrad}` : "";
      },
    };
  }
  function set(name, value) {
    const leaf = leaves.find(one => one.name === name);
    if (!leaf || !Number.isFinite(value)) return;
    leaf.value = asked[name] = value;
    tell({ play: "set", name, value });
    remake();
  }

  return {
    show,
    set,
    reset: () => tell({ play: "reset" }),
    theme: chosen => { theme = chosen; tell({ play: "theme", theme }); },
    start: values => { leaves = Object.entries(values).map(([name, value]) => ({ name, value, shownGrad: "" })); },
    values: () => Object.fromEntries(leaves.map(leaf => [leaf.name, leaf.value])),
    // Code with gaps for the numbers, filled in; floats as Python writes them.
    filled: pieces => pieces.map(piece => {
      if (typeof piece === "string") return piece;
      const x = leaves.find(leaf => leaf.name === piece.value).value;
      return Number.isInteger(x) && Math.abs(x) < 1e16 ? `${Object.is(x, -0) ? "-0" : x}.0` : String(x);
    }).join(""),
  };
};
// Copy a text, and say on the button that it happened; where copying is not allowed, show the text to be copied by hand.
const copied = async (button, text, fallback) => {
  const before = button.dataset.says ??= button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch {
    fallback();
    button.textContent = "mark and copy it below";
  }
  setTimeout(() => { button.textContent = before; }, 1600);
};
// The formula once more, with a mark under the characters that could not be read, and why.
const complained = (field, { error = "", at = 0, end = 0 }) => {
  const [box, where, message] = ["play-error", "play-where", "play-message"].map(id => document.getElementById(id));
  const text = field.value, isEmpty = !text.trim(), mark = document.createElement("mark");
  box.hidden = !error;
  field.setAttribute("aria-invalid", !!error);
  mark.textContent = text.slice(at, Math.max(end, at + 1)) || " ";
  where.replaceChildren(text.slice(0, at), mark, text.slice(Math.max(end, at + 1)));
  message.textContent = isEmpty ? "Type a formula, such as x*y + sin(x)." : `${error} (character ${at + 1})`;
  where.hidden = isEmpty;
};
