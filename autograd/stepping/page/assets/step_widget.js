// The live face in a notebook: the stepper's page in a frame, its position and its leaves' numbers kept equal to Python's.
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.title = "stepper";
  const size = `display:block;box-sizing:border-box;width:100%;height:${model.get("height")}px`;
  frame.style.cssText = `${size};border:1px solid #8886;border-radius:6px`;
  frame.srcdoc = model.get("page");
  const tell = what => frame.contentWindow?.postMessage(what, "*");
  const move = () => tell({ handgradGoto: model.get("position") });
  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
  let isReady = false, shown = model.get("start");  // a page that loads knows nothing of what Python did meanwhile
  const change = () => {
    if (isReady && !same(model.get("leaves"), shown)) tell({ handgradLeaves: shown = model.get("leaves") });
  };
  const hear = event => {
    if (event.source !== frame.contentWindow) return;
    if (event.data?.handgradLeave) el.closest("[tabindex]")?.focus();
    if (event.data?.view !== 0) return;
    const { handgrad: position, leaves } = event.data;
    if (!isReady) { isReady = true; change(); move(); return; }
    if (leaves && !same(leaves, shown)) model.set("leaves", shown = leaves);
    else if (position === model.get("position")) return;
    model.set("position", position);
    model.save_changes();
  };
  const turn = () => { isReady = false; shown = model.get("start"); frame.srcdoc = model.get("page"); };
  window.addEventListener("message", hear);
  const heard = { "change:position": move, "change:leaves": change, "change:page": turn };
  for (const [event, act] of Object.entries(heard)) model.on(event, act);
  el.append(frame);
  return () => {
    window.removeEventListener("message", hear);
    for (const [event, act] of Object.entries(heard)) model.off(event, act);
  };
}
export default { render };
