// What the pages' JavaScript is held to: faults, not taste. Scripts of one page are joined, so each may use what others
// declare at their top; HANDGRAD_SHARED names those. `handgrad` is what a stepper's page gives scripts.
const BROWSER = `addEventListener atob Blob cancelAnimationFrame clearInterval clearTimeout confirm CSS customElements DecompressionStream document DOMPoint Element
  Event EventSource fetch FormData getComputedStyle handgrad history HTMLElement innerHeight innerWidth KeyboardEvent localStorage location matchMedia module
  navigator Node Option parent performance PointerEvent print queueMicrotask requestAnimationFrame ResizeObserver Response scrollTo setInterval setTimeout TextDecoder
  URL URLSearchParams window`;
const shared = (process.env.HANDGRAD_SHARED || "").split(" ").filter(Boolean);
const readable = names => Object.fromEntries(names.map(name => [name, "readonly"]));

export default [{
  languageOptions: {
    ecmaVersion: 2022, sourceType: "script", globals: { ...readable(BROWSER.split(/\s+/)), ...readable(shared) },
  },
  linterOptions: { reportUnusedDisableDirectives: "error" },
  rules: {
    "no-undef": "error", "no-unused-vars": ["error", { varsIgnorePattern: `^(${shared.join("|")})$`, caughtErrors: "none" }],
    eqeqeq: "error", "no-var": "error", "no-eval": "error", "no-implied-eval": "error",
    "no-new-func": "error", "no-unreachable": "error", "no-dupe-keys": "error", "no-fallthrough": "error",
    "no-cond-assign": ["error", "except-parens"], "no-empty": "error", "no-self-assign": "error", "use-isnan": "error",
    "valid-typeof": "error", "no-loss-of-precision": "error", "no-sparse-arrays": "error", "no-unsafe-finally": "error",
    "no-const-assign": "error", "no-dupe-else-if": "error", "no-duplicate-case": "error", "no-invalid-regexp": "error",
    "no-prototype-builtins": "error", "no-unsafe-optional-chaining": "error", "no-unused-expressions": ["error", {
      allowShortCircuit: true, allowTernary: true }],
  },
}, { files: ["**/*_widget.js"], languageOptions: { sourceType: "module" } }];
