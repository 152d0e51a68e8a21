"use strict";
// A formula that somebody types, as the data of a stepper's page. How each op is computed, derived and told is a pattern
// that playing/field.py wrote; here they are put together, and laid out by layout.js. Needs typed.js and program.js.
const formulas = patterns => {
  const { read, Mistake } = typed(patterns.grammar), DATA = new RegExp(`^(?:${patterns.data})$`);
  const MOST_CARDS = 40;
  const { escaped } = formulaPicture;
  const written = x => String(x).replace("-", "−");

  // --- the graph ---------------------------------------------------------------------------------------------------

  function graphOf(text, given) {
    const leaves = new Map(), nodes = [], stack = [];
    const leaf = name => {
      if (!leaves.has(name)) {
        const x = given[name] ?? patterns.first[leaves.size % patterns.first.length];
        leaves.set(name, { name, start: x, args: [], users: [], level: 0 });
      }
      return leaves.get(name);
    };
    for (const part of read(text)) {
      if (part.number !== undefined) stack.push(part.number);
      else if (!part.op) stack.push(leaf(part.name));
      else {
        const args = stack.splice(-part.count), isNumber = args.every(x => typeof x === "number");
        if (isNumber) { stack.push(number(part, args)); continue; }
        const key = `${part.op} ${args.map(x => (typeof x === "number" ? "c" : "v")).join("")}`;
        const op = patterns.ops[key], sends = op.sends.filter(({ place }) => !args[place].sends || args[place].sends.length);
        const node = { op, word: part.op, args, sends, users: [], level: 0 };   // where a gradient goes, if any does
        nodes.push(node);
        stack.push(node);
      }
    }
    const [root] = stack;
    if (!root.op) throw new Mistake("it computes nothing from a variable; try x*y + sin(x)", 0, text.length);
    if (nodes.length + leaves.size > MOST_CARDS) {
      const many = nodes.length + leaves.size;
      throw new Mistake(`it makes ${many} cards, and ${MOST_CARDS} are as many as a page follows`, 0, text.length);
    }
    const top = leaves.has("L") ? "f" : "L", taken = new Set([...leaves.keys(), top]);
    let count = 0;
    for (const node of nodes) {
      if (node === root) node.name = top;
      else do node.name = `t${++count}`; while (taken.has(node.name));
    }
    return { leaves: [...leaves.values()], nodes, root, top };
  }
  function number({ op, at }, args) {          // what is computed from numbers alone is a number
    const x = program.FUNCTIONS[op](...args);
    if (Number.isFinite(x)) return x;
    throw new Mistake(`this is ${x}: ${op === "div" && !args[1] ? "it divides by 0" : `${op} has no value here`}`, at);
  }

  // --- names in the patterns' places ---------------------------------------------------------------------------------

  const GREEK = Object.fromEntries("alpha α beta β gamma γ delta δ eta η theta θ lambda λ mu μ sigma σ tau τ omega ω phi φ"
    .split(" ").map((word, i, all) => [word, all[i + 1]]));
  function mathml(x) {
    if (x < 0) return `<mo stretchy="false">(</mo><mn>${written(x)}</mn><mo stretchy="false">)</mo>`;
    if (typeof x === "number") return `<mn>${x}</mn>`;
    const [, letter, index] = x.match(/^([A-Za-z])_?(\d+|[A-Z])$/) ?? [];
    if (letter) return `<msub><mi>${letter}</mi><mn>${index}</mn></msub>`;
    const word = GREEK[x] ?? x;
    return word.length === 1 ? `<mi>${word}</mi>` : `<mi mathvariant="normal">${escaped(word)}</mi>`;
  }
  const NAME = "[\\u4e00-\\u9fff]";
  // `names`: of each letter, a name or a number.
  function named(text, names) {
    const plain = x => (typeof x === "number" ? (x < 0 ? `(${x})` : String(x)) : x);
    return text.replace(new RegExp(`<mi>(${NAME})</mi>`, "g"), (_, letter) => mathml(names[letter] ?? letter))
      .replace(new RegExp(NAME, "g"), letter => escaped(plain(names[letter] ?? letter)));
  }

  // --- the program and the panels --------------------------------------------------------------------------------------

  function pageOf(text, given = {}) {
    const { leaves, nodes, root, top } = graphOf(text, given), all = [...leaves, ...nodes];
    const blocks = [], constants = [], lines = [], known = new Map(patterns.constants.map(([block, x]) => [block, x]));
    const shared = new Map();                  // blocks of the patterns' own numbers
    const block = x => {
      if (x !== undefined) constants.push([blocks.length, x]);
      return blocks.push(1) - 1;
    };
    for (const node of all) node.value = block();
    const numberAt = new Map();
    const operand = x => {
      if (typeof x !== "number") return x.value;
      if (!numberAt.has(x)) numberAt.set(x, block(x));
      return numberAt.get(x);
    };
    function line(number, at) {                // a line of a pattern, with these blocks in place of its own
      const moved = old => {
        if (at.has(old)) return at.get(old);
        if (!known.has(old)) at.set(old, block());   // a line that a rule names on its way
        else if (!shared.has(old)) shared.set(old, block(known.get(old)));
        return at.get(old) ?? shared.get(old);
      };
      const one = patterns.lines[number], list = found => found?.map(moved);
      const groups = one.groups.map(group => ({ ...group, places: group.places.map(([first]) => [moved(first)]) }));
      const pieces = one.pieces?.map(piece => (typeof piece === "string" ? piece : [moved(piece[0]), ...piece.slice(1)]));
      lines.push({ ...one, result: moved(one.result), groups, ...(pieces ? { pieces } : {}),
        uses: list(one.uses), named: list(one.named), terms: list(one.terms) });
      return lines.length - 1;
    }
    const names = ({ op, args, name }) => Object.fromEntries([[patterns.top, top], [op.out[0], name],
      ...op.inputs.map(([letter], i) => [letter, typeof args[i] === "number" ? args[i] : args[i].name])]);
    const placed = ({ op, args, value }) =>
      new Map([[op.out[1], value], ...op.inputs.map(([, old], i) => [old, operand(args[i])])]);
    const NUMBERED = /data-(line|entries|block|at|little|out|x|other)="(\d+)"/g;
    const renumbered = (html, at, lineAt) => html.replace(/ data-slips="[^"]*"/g, "").replace(NUMBERED, (_, kind, old) =>
      `data-${kind}="${(kind === "line" || kind === "entries" ? lineAt : at).get(Number(old)) ?? old}"`);
    const write = (node, numbers, at, ...texts) => {
      const lineAt = new Map(numbers.map(number => [number, line(number, at)])), letters = names(node);
      return [[...lineAt.values()], ...texts.map(html => named(renumbered(html, at, lineAt), letters))];
    };

    const steps = [], forward = [], sends = [], cards = new Map(all.map((node, i) => [node, `n${i}`]));
    for (const [i, node] of nodes.entries()) {
      const [used, panel] = write(node, node.op.lines, placed(node), node.op.panel);
      node.made = i + 1;
      node.reading = named(node.op.reading, names(node));  // names and numbers: nothing in it is escaped
      forward.push(...used);
      for (const x of new Set(node.args)) if (x.users) x.users.push(node);
      steps.push({ kind: "forward", node, panel, inputs: node.args.filter(x => x.users),
        numbers: { lines: used, ledgers: [], sends: [], arrives: -1, gives: node.value } });
    }
    const paths = new Map(), received = new Map(all.map(node => [node, []])), one = block(1);
    const reached = new Set([root]);
    for (const node of [...nodes].reverse()) for (const { place } of reached.has(node) ? node.sends : []) {
      const to = node.args[place];
      reached.add(to);
      paths.set(to, (paths.get(to) ?? 0) + 1);
    }
    const gradient = node => (node === root ? (root.sends.length ? one : -1) : received.get(node).at(-1)?.total ?? -1);
    for (const node of [...nodes].reverse()) {
      if (!reached.has(node) || !node.sends.length) continue;
      const arrives = gradient(node), parts = [], ledgers = [], told = [];
      const base = new Map([...placed(node), [node.op.arrives[0], arrives]]);
      for (const send of node.sends) {
        const to = node.args[send.place], before = received.get(to).at(-1)?.total ?? -1, at = new Map(base);
        at.set(send.added, block());
        const [used, panel] = write(node, send.lines, at, send.panel);
        const added = at.get(send.added), total = before < 0 ? added : block(), many = paths.get(to);
        const path = received.get(to).push({ node, added, total, at: steps.length + 1 });
        sends.push([used, added, total, before, to.value]);
        parts.push([added, total]);
        told.push(...used);
        if (many > 1) ledgers.push(received.get(to).map(sent => [sent.added, sent.total]));
        send.html = many === 1 ? panel : panel.replace("only path", `path ${path} of ${many}`)
          .replace("</section>", `${ledger(to, path, many, ledgers.length - 1, top)}</section>`);
      }
      const [, first] = write(node, [], base, node.op.arrives[1]), to = node.sends.map(({ place }) => node.args[place]);
      const why = node.op.why ? `<details><summary>why this rule?</summary><p>${escaped(node.op.why)}</p></details>` : "";
      const panel = `${first}${node.sends.map(send => send.html).join("")}<section class="hg-why">${why}</section>`;
      const from = node.args.filter(x => x.users).map(x => [x.name, x.value]);
      const about = { of: node.value, name: node.name, to: to.map(x => x.name), from };
      steps.push({ kind: "backward", node, inputs: to, panel,
        numbers: { lines: told, ledgers, sends: parts, arrives, gives: -1, ...about } });
    }
    function ledger(to, path, many, number) {  // the paths that meet at a card: those before, this one, those to come
      const slot = (block, tint, before) =>
        `<span class="hg-slot" data-block="${block}" data-tint="${tint}"${before ? ` data-before="${before}"` : ""}></span>`;
      const rows = received.get(to).map((sent, i, all) => {
        const isNow = i === path - 1, tint = isNow ? "hg-gr hg-sm hg-answer" : "hg-gr hg-sm";
        const row = isNow ? '<tr class="hg-now">' : '<tr class="hg-past" data-shows="whole">';
        return `${row}<td><span class="hg-via">via </span>${escaped(sent.node.name)}</td>` +
          `<td>${slot(sent.added, tint)}</td><td>${slot(sent.total, tint, isNow && i ? all[i - 1].total : 0)}</td></tr>`;
      });
      const more = many > path ? `<tr class="hg-todo"><td colspan="3">and ${many - path} more to come</td></tr>` : "";
      return `<table class="hg-ledger" data-ledger="${number}"><caption>ledger of ∂${top}/∂${escaped(to.name)}</caption><thead><tr>` +
        `<th>path</th><th>adds</th><th>total</th></tr></thead><tbody>${rows.join("")}${more}</tbody></table>`;
    }

    const isData = leaves.map(({ name }) => DATA.test(name)), rate = block(0.1), { update } = patterns;
    if (isData.every(Boolean)) isData.fill(false);
    const moving = leaves.filter(leaf => gradient(leaf) >= 0), updates = [];
    const moves = moving.map(leaf => {
      const to = block(), known = [[update.value, leaf.value], [update.rate, rate], [update.gradient, gradient(leaf)]];
      const at = new Map([...known, [update.new, to]]);
      const lineAt = new Map(update.lines.map(number => [number, line(number, at)])), used = [...lineAt.values()];
      const panel = named(renumbered(update.panel, at, lineAt), { [patterns.top]: top, [update.name]: leaf.name });
      const numbers = { lines: used, ledgers: [], sends: [], arrives: gradient(leaf), gives: -1 };
      if (updates.length < 6) updates.push({ panel, numbers });
      return { lines: used, replaced: [[to, leaf.value]], gradient: gradient(leaf), data: +isData[leaves.indexOf(leaf)] };
    });
    const count = { forward: nodes.length, backward: steps.length - nodes.length }, done = { forward: 0, backward: 0 };
    const asks = ({ kind, node, inputs }) => `${escaped(node.reading)}. ${kind === "forward" ? "What will it be?"
      : `What will it send to ${inputs.map(x => `<b>${escaped(x.name)}</b>`).join(" and ")}?`}`;
    const nextUp = one => `<div class="hg-next hg-asks"><p><b>Next</b> ${one ? asks(one)
      : "update: each parameter moves against its gradient."}</p></div>`;
    const shown = steps.map(({ kind, node, panel, inputs, numbers }, i) => {
      const title = `${kind === "forward" ? "Forward" : "Backward"} ${++done[kind]} of ${count[kind]}`;
      const where = `<p class="hg-where"><b>${title}</b><span class="hg-code">${escaped(node.reading)}</span></p>`;
      const { reading, name } = node, on = { card: cards.get(node), inputs: [...new Set(inputs.map(x => cards.get(x)))] };
      return { kind, title, reading, name, ...on, say: `${title}. ${reading}`, panel: where + panel + nextUp(steps[i + 1]), numbers };
    });
    const start = `<h2>How ${top} comes about, and what changes it</h2><p>First <b>forward</b>: ${count.forward} steps, from ` +
      `the numbers to ${top}. Then <b class="hg-grad-word">backward</b>: ${count.backward} steps, from ${top} to every ` +
      `gradient.</p>${nextUp(steps[0])}`;
    const view = { title: text.trim(), svg: "", forward: nodes.length, start, steps: shown, updates, from: null,
      ...formulaPicture({ leaves, nodes, root, all, cards, received, steps, one, isData }) };
    const live = {
      functions: patterns.functions, registers: blocks.length, blocks, constants, lines, forward, sends, root: root.value, top,
      leaves: leaves.map(leaf => ({ name: leaf.name, value: leaf.value, gradient: gradient(leaf), start: [leaf.start] })),
      names: Object.fromEntries(all.map(node => [node.name, [node.value, gradient(node)]])), reasons: patterns.reasons, masked: [],
      update: { by: update.by, rate, moves, switchable: 1 },
      made: all.map(({ name, value, args, op, word }) => ({ name, named: 1, value, called: name,
        from: args.filter(x => x.users).map(x => x.value), ...(op ? { op: word, remedy: "Look at its inputs." } : {}) })),
    };
    const { svg, ...rest } = view;
    return { data: { at: steps.length, smallest: 11.5, grammar: patterns.grammar, tags: {}, views: [{ ...rest, svg: "" }], live },
      graph: svg, top, names: leaves.map(leaf => leaf.name), code: code(leaves, nodes, top, root.sends.length > 0) };
  }
  function code(leaves, nodes, top, moves) {          // as Python, with gaps for the numbers
    const functions = [...new Set(nodes.filter(node => /^\w+\(/.test(node.reading.split(" = ")[1])).map(node => node.word))];
    return [`from autograd import Value${functions.map(name => `, ${name}`).join("")}\n\n`,
      ...leaves.flatMap(({ name }) => [`${name} = Value(`, { value: name }, `, name="${name}")\n`]),
      ...nodes.map(node => `${node.reading.replaceAll("−", "-")}\n`),
      `\n${moves ? `${top}.backward()\n` : ""}print("${top} =", ${top}.data)\n`,
      ...(moves ? leaves : []).map(({ name }) => `print("d${top}/d${name} =", ${name}.grad)\n`)];
  }
  return { pageOf, Mistake };
};
if (typeof module !== "undefined") module.exports = formulas;
