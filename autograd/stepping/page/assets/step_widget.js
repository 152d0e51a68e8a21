// The live face in a notebook: the stepper's page in a frame, its position kept equal to Python's.
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.title = "stepper";
  frame.style.cssText = `width:100%;height:${model.get("height")}px;border:1px solid #D3D8DF;border-radius:6px;background:#fff`;
  frame.srcdoc = model.get("page");
  const tell = () => frame.contentWindow?.postMessage({ handgradGoto: model.get("position") }, "*");
  let isReady = false;                         // a page that loads knows nothing of where Python went meanwhile
  const hear = event => {
    if (event.source !== frame.contentWindow || event.data?.view !== 0) return;
    if (event.data.handgrad === model.get("position")) { isReady = true; return; }
    if (!isReady) { isReady = true; tell(); return; }
    model.set("position", event.data.handgrad);
    model.save_changes();
  };
  const turn = () => { isReady = false; frame.srcdoc = model.get("page"); };
  window.addEventListener("message", hear);
  model.on("change:position", tell);
  model.on("change:page", turn);
  el.append(frame);
  return () => {
    window.removeEventListener("message", hear);
    model.off("change:position", tell);
    model.off("change:page", turn);
  };
}
export default { render };
