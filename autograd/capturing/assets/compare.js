// The report's two buttons; everything else stands in the page.
(() => {
  const by = (id) => document.getElementById(id), root = document.documentElement;
  by("hg-copy").onclick = async () => {
    const text = JSON.parse(by("hg-report").textContent);
    try { await navigator.clipboard.writeText(text); } catch { // no clipboard in a plain file or a sandboxed frame
      const field = document.body.appendChild(document.createElement("textarea"));
      field.value = text; field.select(); document.execCommand("copy"); field.remove();
    }
    by("hg-copy").textContent = "copied";
  };
  by("hg-theme").onclick = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = root.style.colorScheme = dark ? "light" : "dark";
  };
})();
