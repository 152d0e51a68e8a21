// A stepper's page takes the place of what stands in for it: its text is kept compressed, in an attribute.
(() => {
  for (const kept of document.querySelectorAll("[data-handgrad-page]")) {
    const { handgradPage, title, height } = kept.dataset;
    kept.removeAttribute("data-handgrad-page");
    const bytes = Uint8Array.from(atob(handgradPage), character => character.charCodeAt(0));
    const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    new Response(unpacked).text().then(page => {
      const frame = document.createElement("iframe");
      frame.setAttribute("sandbox", "allow-scripts");
      frame.title = title;
      const size = `display:block;box-sizing:border-box;width:100%;height:${height}px`;
      frame.style.cssText = `${size};border:1px solid #8886;border-radius:6px`;
      frame.srcdoc = page;
      const around = kept.parentElement;
      around.replaceChildren(frame);
      addEventListener("message", event => {   // Esc gives the keys back to the notebook
        if (event.source === frame.contentWindow && event.data?.handgradLeave) around.closest("[tabindex]")?.focus();
      });
    });
  }
})();
