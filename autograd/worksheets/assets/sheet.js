"use strict";
// The page of a sheet: keeps what is typed over a reload, and writes it to a file.
const page = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const fields = [...document.querySelectorAll("[data-id]")], fieldOf = new Map(fields.map((f) => [f.dataset.id, f]));
  const whenCleared = [];
  const texts = () => new Map(fields.filter((f) => f.value.trim()).map((f) => [f.dataset.id, f.value]));

  // --- kept in the browser ---------------------------------------------------------------------------------------

  const store = `handgrad-${data.labels.sheet}`;
  let kept = {};
  try { kept = JSON.parse(localStorage.getItem(store) ?? "{}"); } catch { /* a private window keeps nothing */ }
  function keep() {
    try { localStorage.setItem(store, JSON.stringify(kept)); } catch { /* as above */ }
  }
  for (const field of [...fields, $("who")]) {
    const name = field.dataset.id ?? "";
    field.value = kept[name] ?? "";
    field.addEventListener("input", () => {
      kept[name] = field.value;
      keep();
      delete field.parentElement.dataset.verdict;
    });
  }

  // --- files, paper, colours ---------------------------------------------------------------------------------------

  $("export").onclick = () => {
    const name = $("who").value;
    const text = JSON.stringify({ ...data.labels, name, answers: Object.fromEntries(texts()) }, null, 1);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = `${name.replace(/[^\p{L}\p{N} _-]/gu, "").trim() || "answers"}.json`;
    link.click();
  };
  $("print").onclick = () => print();
  $("clear").onclick = () => {
    if (!confirm("Delete every answer on this page?")) return;
    kept = { "": $("who").value };
    keep();
    for (const field of fields) field.value = "";
    for (const each of whenCleared) each();
  };
  const root = document.documentElement;
  $("theme").onclick = () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    try { localStorage.setItem("hg-theme", root.dataset.theme); } catch { /* not kept */ }
  };
  try { const theme = localStorage.getItem("hg-theme"); if (theme) root.dataset.theme = theme; } catch { /* none */ }
  document.addEventListener("keydown", (event) => {   // Enter goes on to the next blank
    const at = fields.indexOf(event.target);
    if (event.key === "Enter" && at >= 0 && event.target.tagName === "INPUT") (fields[at + 1] ?? event.target).focus();
  });

  return { data, fields, fieldOf, texts, whenCleared, $ };
})();
