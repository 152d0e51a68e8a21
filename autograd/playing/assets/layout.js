"use strict";
// The cards and edges of a typed formula: rows by depth, the cards of a row near those that they are joined to.
const formulaPicture = (() => {
  const WIDE = 7.9, ROLE = 6.6, TALL = 70, GAP = 34, ROOM = 40, LONGEST = 40;
  const escaped = text => text.replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

  function picture({ leaves, nodes, root, all, cards, received, steps, one, isData }) {
    for (const node of nodes) node.level = 1 + Math.max(...node.args.map(x => x.level ?? 0));
    for (const leaf of leaves) leaf.level = Math.min(...leaf.users.map(user => user.level)) - 1;
    const edges = nodes.flatMap(head => [...new Set(head.args.filter(x => x.users))].map(tail => ({ tail, head, via: [] })));
    const rows = Array.from({ length: root.level + 1 }, () => []);
    for (const node of all) {
      const expression = node.op ? node.reading.split(" = ")[1] : "";
      node.says = expression.length > LONGEST ? `${expression.slice(0, 19)}…${expression.slice(-19)}` : expression;
      node.role = node === root ? "output" : node.op ? "result" : isData[leaves.indexOf(node)] ? "input" : "parameter";
      const word = "first NaN", header = node.name + (node.says ? ` = ${node.says}` : "");
      Object.assign(node, { width: Math.max(122, 28 + header.length * WIDE + word.length * ROLE), near: [] });
      rows[node.level].push(node);
    }
    for (const edge of edges) {                // long edges go through places of their own
      let last = edge.tail;
      for (let level = edge.tail.level + 1; level < edge.head.level; level++) {
        const place = { level, width: 8, near: [] };
        rows[level].push(place);
        edge.via.push(place);
        last.near.push(place); place.near.push(last);
        last = place;
      }
      last.near.push(edge.head); edge.head.near.push(last);
    }
    const wish = one => one.near.reduce((sum, other) => sum + other.x, 0) / (one.near.length || 1);
    for (const row of rows) row.reduce((x, one) => { one.x = x + one.width / 2; return x + one.width + GAP; }, 0);
    for (let turn = 0; turn < 12; turn++) for (const row of turn % 2 ? rows : [...rows].reverse()) {
      row.forEach(one => { one.wish = wish(one); });
      row.sort((a, b) => a.wish - b.wish);
      const put = (from, step) => {            // as wished, but without overlaps, from one side
        let last = null;
        for (let i = from; row[i]; last = row[i], i += step) {
          const room = last ? (last.width + row[i].width) / 2 + GAP : 0, x = row[i].wish;
          row[i].next = last ? (step > 0 ? Math.max(x, last.next + room) : Math.min(x, last.next - room)) : x;
        }
        return row.map(one => one.next);
      };
      const left = put(0, 1), right = put(row.length - 1, -1);
      row.forEach((one, i) => { one.x = (left[i] + right[i]) / 2; });
    }
    const least = Math.min(...all.map(node => node.x - node.width / 2)) - 14;
    for (const one of rows.flat()) { one.x -= least; one.y = 14 + one.level * (TALL + ROOM); }
    const size = [Math.max(...all.map(node => node.x + node.width / 2)) + 14, 28 + rows.length * (TALL + ROOM) - ROOM].map(Math.ceil);
    const groups = [], found = { cards: {}, edges: {} };
    edges.forEach(({ tail, head, via }, i) => {
      const stepAt = kind => steps.findIndex(step => step.kind === kind && step.node === head && step.inputs.includes(tail)) + 1;
      found.edges[`e${i}`] = { faces: curves(tail, head, via), sent: stepAt("backward"), used: stepAt("forward") };
      groups.push(`<g id="hg-v0-e${i}" class="hg-edge"><title>${escaped(`${tail.name} → ${head.name}`)}</title></g>`);
    });
    for (const node of all) {
      const key = cards.get(node), start = root.sends.length ? [{ total: one, at: nodes.length + 1 }] : [];
      const got = node === root ? start : received.get(node);
      const made = node.made ?? 0, header = node.op ? `${node.name} = ${node.says}` : node.name;
      const captions = got.map((_, i) => (i + 1 < got.length ? `grad ${i + 1} of ${got.length} paths` : "grad"));
      const looks = [...(made ? [[0, false, ""]] : []), [made, true, ""], ...got.map(({ at }, i) => [at, true, captions[i]])];
      const other = { input: "parameter", parameter: "input" }[node.role];
      const paint = role => looks.map(([, isKnown, caption]) => face(node, role, isKnown, caption));
      found.cards[key] = {
        box: [node.x - node.width / 2, node.y, node.width, TALL], role: node.role, made, wants: got.length > 0,
        faces: paint(node.role), turned: other && got.length ? paint(other) : [], since: looks.map(([since]) => since),
        says: looks.map(([, isKnown, caption]) =>
          `${header}, ${node.role}; ${isKnown ? "value" : "not computed yet"}; ${caption || "gradient none yet"}`),
        step: steps.findIndex(step => step.kind === "backward" && step.node === node),
        numbers: looks.map(([, isKnown, caption], i) =>
          [isKnown ? [node.value] : [], caption ? [got[i - looks.length + got.length].total] : []]),
      };
      groups.push(`<g id="hg-v0-${key}" class="hg-card hg-${node.role}"></g>`);
    }
    const sizes = `width="${size[0]}" height="${size[1]}" viewBox="0 0 ${size.join(" ")}"`;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" class="hg" ${sizes} role="img">` +
      `<g font-family="var(--mono)" font-size="13" fill="var(--hg-ink)">${groups.join("")}</g></svg>`;
    return { ...found, svg };
  }
  function face({ x, y, width, name, op, says }, role, isKnown, caption) {
    const left = x - width / 2, right = left + width, bottom = y + TALL, inset = left + (role === "parameter" ? 13 : 10);
    const look = `class="hg-frame hg-f-${role}-fill hg-s-${role}-line" stroke-width="${role === "output" ? 1.8 : 1.4}"`;
    const box = (at, more) => `<rect x="${left + at}" y="${y + at}" width="${width - 2 * at}" height="${TALL - 2 * at}" ${more}/>`;
    const frames = {
      parameter: box(0, look) + `<rect x="${left}" y="${y}" width="5" height="${TALL}" class="hg-f-parameter-line"/>`,
      input: `<path d="M${left + 13},${y}H${right}V${bottom}H${left}V${y + 13}Z" ${look}/>`,
      output: box(0, `rx="9" ${look}`) + box(4, 'rx="6" class="hg-s-output-line" fill="none"'), result: box(0, `rx="8" ${look}`),
    };
    const text = (at, down, said, more = "") => `<text x="${at}" y="${y + down}" ${more}>${said}</text>`;
    const small = 'font-size="11.5" font-family="var(--sans)"', end = 'text-anchor="end"';
    const word = { output: "loss", result: "" }[role] ?? role, hue = { grad: ' class="hg-f-grad"', value: "" };
    const number = (kind, down) => text(right - 10, down, "", `data-n="" data-kind="${kind}" ${end} font-weight="600"${hue[kind]}`);
    const unknown = down => text(right - 10, down, "—", `class="hg-f-muted" ${end}`);
    const header = `<tspan font-weight="700">${escaped(name)}</tspan>${op ? `<tspan class="hg-f-muted"> = ${escaped(says)}</tspan>` : ""}`;
    const tint = `x="${inset - 4}" y="${y + 46}" width="${right - inset - 3}" height="17" rx="3"`;
    return frames[role] + text(inset, 19, header) +
      text(right - 10, 18.5, word, `data-word="" class="hg-f-${role}-line" font-weight="600" ${end} ${small}`) +
      text(inset, 40, "value", `class="hg-f-muted" ${small}`) + (isKnown ? number("value", 40) : unknown(40)) +
      (caption ? `<rect ${tint} class="hg-f-grad-fill"/>` : "") +
      text(inset, 59, caption || "grad", `class="hg-f-${caption ? "grad" : "muted"}" ${small}`) +
      (caption ? number("grad", 59) : unknown(59));
  }
  function curves(tail, head, via) {           // its line and its arrowhead: forward, and backward small, large
    const start = [tail.x, tail.y + TALL], end = [head.x, head.y];
    const points = [start, ...via.flatMap(({ x, y }) => [[x, y], [x, y + TALL]]), end];
    const path = points.slice(1).reduce(([text, [x, y]], [a, b]) =>
      [`${text}C${x},${(y + b) / 2} ${a},${(y + b) / 2} ${a},${b}`, [a, b]], [`M${start.join()}`, start])[0];
    const arrow = ([x, y], long) => `M${x},${y}L${x - Math.abs(long) / 2.2},${y - long}L${x + Math.abs(long) / 2.2},${y - long}Z`;
    return [[end, 8], [start, -8], [start, -13], [end, 13]].map(([at, long]) => `<path d="${path}"/><path d="${arrow(at, long)}"/>`);
  }
  return Object.assign(picture, { escaped });
})();
if (typeof module !== "undefined") module.exports = formulaPicture;
