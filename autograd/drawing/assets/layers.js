"use strict";
// Where cards and edges go, as layout/layered.py does it: ranks, then an order in each rank, then places.
// `layers(graph, cards, across, narrow)`: `graph` has `order` (keys, oldest first) and `edges`; `cards` give each key its
// width and height. `across` runs left to right. `narrow` is "stairs", where every other leaf of a card stands a rank
// higher, or "column", where each card has a rank of its own.
const layers = (() => {
  const RANK_GAP = 44, CARD_GAP = 22, WAY = 14, TIP = 9, SWEEPS = 6, LABEL_HEIGHT = 16, LABEL_END = 18;
  const SHARES = [.5, .4, .6, .3, .7, .2, .8];         // of a bend: where its label may stand
  const labelWidth = words => words.length * 7 + 6;
  const mean = (spots, of) => spots.reduce((sum, spot) => sum + of(spot), 0) / spots.length;

  function layers(graph, cards, across, narrow) {
    const spots = new Map(graph.order.map(key => [key, {
      breadth: across ? cards[key].h : cards[key].w, depth: across ? cards[key].w : cards[key].h, rank: 0, centre: 0,
      above: [], below: [], gap: CARD_GAP,
    }]));
    const incoming = new Map(graph.order.map(key => [key, []]));
    const outgoing = new Map(graph.order.map(key => [key, []]));
    for (const edge of graph.edges) { incoming.get(edge.head).push(edge); outgoing.get(edge.tail).push(edge); }
    giveRanks(graph, spots, incoming, outgoing, narrow);
    const ranks = withWays(graph, spots, across);
    if (narrow === "column") lanes(graph, spots);
    else { order(ranks); moveToNeighbours(ranks); }
    return placed(graph, spots, ranks, incoming, across);
  }

  // The longest path from the leaves; then every leaf moves next to its first use.
  function giveRanks(graph, spots, incoming, outgoing, narrow) {
    const waiting = new Map(graph.order.map(key => [key, incoming.get(key).length]));
    const ready = graph.order.filter(key => !waiting.get(key));
    for (let i = 0; i < ready.length; i++)
      for (const edge of outgoing.get(ready[i])) {
        const head = spots.get(edge.head);
        head.rank = Math.max(head.rank, spots.get(ready[i]).rank + 1);
        waiting.set(edge.head, waiting.get(edge.head) - 1);
        if (!waiting.get(edge.head)) ready.push(edge.head);
      }
    for (const key of ready)
      if (!incoming.get(key).length && outgoing.get(key).length)
        spots.get(key).rank = Math.min(...outgoing.get(key).map(edge => spots.get(edge.head).rank - 1));
    const ownLeaves = edges => edges.map(edge => edge.tail).filter(key => !incoming.get(key).length && outgoing.get(key).length === 1);
    if (narrow === "stairs") for (const edges of incoming.values())
      ownLeaves(edges).forEach((key, i) => { spots.get(key).rank -= i % 2; });
    if (narrow === "column") [...spots.values()].sort((a, b) => a.rank - b.rank).forEach((spot, i) => { spot.rank = i; });
    const lowest = Math.min(0, ...[...spots.values()].map(spot => spot.rank));
    for (const spot of spots.values()) spot.rank -= lowest;
  }

  // The spots of each rank. Edges that jump ranks bend round the cards between, through way-points.
  function withWays(graph, spots, across) {
    const ranks = [];
    const put = spot => { (ranks[spot.rank] = ranks[spot.rank] || []).push(spot); };
    spots.forEach(put);
    for (const edge of graph.edges) {
      const tail = spots.get(edge.tail), head = spots.get(edge.head);
      edge.way = [];
      for (let rank = tail.rank + 1; rank < head.rank; rank++)
        edge.way.push({ breadth: WAY, depth: 0, rank, centre: 0, above: [], below: [], gap: WAY / 2 });
      const middle = edge.way[Math.floor(edge.way.length / 2)];
      if (middle && edge.label) {
        const long = labelWidth(edge.label);
        [middle.breadth, middle.depth] = across ? [LABEL_HEIGHT, long] : [long, LABEL_HEIGHT];
      }
      edge.way.forEach(put);
      const chain = [tail, ...edge.way, head];
      for (let i = 1; i < chain.length; i++) { chain[i - 1].below.push(chain[i]); chain[i].above.push(chain[i - 1]); }
    }
    for (let rank = 0; rank < ranks.length; rank++) ranks[rank] = ranks[rank] || [];
    return ranks;
  }

  // Down and up a few times: each rank by the mean place of the neighbours in the rank before.
  function order(ranks) {
    const number = rank => rank.forEach((spot, i) => { spot.place = (i + 0.5) / rank.length; });
    ranks.forEach(number);
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
      const down = sweep % 2 === 0;
      for (const rank of down ? ranks : [...ranks].reverse()) {
        for (const spot of rank) {
          const near = down ? spot.above : spot.below;
          spot.wanted = near.length ? mean(near, other => other.place) : spot.place;
        }
        rank.sort((a, b) => a.wanted - b.wanted);
        number(rank);
      }
    }
  }

  // Each rank starts packed about zero; then spots move towards their neighbours, keeping order and gaps.
  function moveToNeighbours(ranks) {
    for (const rank of ranks) {
      let edge = -rank.reduce((sum, spot) => sum + spot.breadth + spot.gap, 0) / 2;
      for (const spot of rank) { spot.centre = edge + (spot.breadth + spot.gap) / 2; edge += spot.breadth + spot.gap; }
    }
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
      const down = sweep % 2 === 0;
      for (const rank of down ? ranks : [...ranks].reverse())
        pack(rank, rank.map(spot => {
          const near = down ? spot.above : spot.below;
          return near.length ? mean(near, other => other.centre) : spot.centre;
        }));
    }
  }

  // One card a rank: the cards stand below one another, and edges that jump ranks run beside them in lanes.
  function lanes(graph, spots) {
    const side = Math.max(...[...spots.values()].map(spot => spot.breadth)) / 2 + CARD_GAP / 2, taken = [];
    for (const edge of graph.edges) if (edge.way.length) {
      let lane = 0;
      while (edge.way.some(spot => (taken[lane] || new Set()).has(spot.rank))) lane++;
      taken[lane] = taken[lane] || new Set();
      for (const spot of edge.way) { taken[lane].add(spot.rank); spot.centre = side + (lane + 0.5) * WAY; }
    }
  }

  // Least moving that keeps order: spots that would overlap merge into one block at the mean of where they should be.
  function pack(rank, wanted) {
    const blocks = [];
    rank.forEach((spot, i) => {
      const width = spot.breadth + spot.gap;
      blocks.push({ starts: wanted[i] - width / 2, count: 1, width, first: i });
      while (blocks.length > 1) {
        const last = blocks[blocks.length - 1], before = blocks[blocks.length - 2];
        if (before.starts / before.count + before.width <= last.starts / last.count) break;
        before.starts += last.starts - last.count * before.width;
        before.count += last.count;
        before.width += last.width;
        blocks.pop();
      }
    });
    blocks.forEach((block, b) => {
      let edge = block.starts / block.count;
      for (let i = block.first; i < (blocks[b + 1] ? blocks[b + 1].first : rank.length); i++) {
        rank[i].centre = edge + (rank[i].breadth + rank[i].gap) / 2;
        edge += rank[i].breadth + rank[i].gap;
      }
    });
  }

  // Boxes by key, and curves: [tail, head, points, tips, label's place, style, flow, label, title].
  function placed(graph, spots, ranks, incoming, across) {
    const turn = ([x, y]) => across ? [y, x] : [x, y];
    const tops = topsOf(graph, spots, ranks, across), answer = { boxes: {}, curves: [] };
    spots.forEach((spot, key) => {
      const [start, depth] = tops[spot.rank];
      answer.boxes[key] = turn([spot.centre - spot.breadth / 2, start + (depth - spot.depth) / 2]);
    });
    spots.forEach((spot, key) => {                     // several edges arrive side by side, so that a * a shows two
      const edges = incoming.get(key).sort((a, b) => spots.get(a.tail).centre - spots.get(b.tail).centre);
      const room = Math.min(spot.breadth * 0.6, 26 * (edges.length - 1));
      edges.forEach((edge, i) => { edge.port = edges.length > 1 ? room * (i / (edges.length - 1) - 0.5) : 0; });
    });
    const labels = [];                                 // as far as they are placed: [x, y, half the width]
    // The place on this bend nearest to its middle where a label covers no other.
    const free = ([from, , , to], long) => {
      const places = SHARES.map(share => {
        const eased = share * share * (3 - 2 * share), middle = (a, b, t) => a + (b - a) * t;
        return [middle(from[0], to[0], across ? share : eased), middle(from[1], to[1], across ? eased : share), long / 2];
      });
      const isFree = ([x, y, half]) => labels.every(one => Math.abs(one[0] - x) > one[2] + half || Math.abs(one[1] - y) > LABEL_HEIGHT);
      labels.push(places.find(isFree) || places[0]);
      return labels.at(-1).slice(0, 2);
    };
    for (const edge of graph.edges) {
      const tail = spots.get(edge.tail), head = spots.get(edge.head);
      const [from, fromDepth] = tops[tail.rank], [to, toDepth] = tops[head.rank];
      const points = [[tail.centre + edge.port / 2, from + (fromDepth + tail.depth) / 2]];
      for (const { centre, rank } of edge.way) points.push([centre, tops[rank][0]], [centre, tops[rank][0] + tops[rank][1]]);
      const end = [head.centre + edge.port, to + (toDepth - head.depth) / 2];
      points.push([end[0], end[1] - TIP]);
      const curve = [points[0]];
      for (let i = 1; i < points.length; i++) {
        const [[x0, y0], [x1, y1]] = [points[i - 1], points[i]], middle = (y0 + y1) / 2;
        curve.push([x0, middle], [x1, middle], [x1, y1]);
      }
      const half = 3 * Math.floor((curve.length - 1) / 6);
      const label = edge.label ? free(curve.slice(half, half + 4).map(turn), labelWidth(edge.label)) : null;
      answer.curves.push([edge.tail, edge.head, curve.map(turn), [turn(points[0]), turn(end)], label, edge.style, edge.flow,
        edge.label, edge.title]);
    }
    return answer;
  }

  // Where each rank begins and how deep it is: so far from the last that the label of an edge between the two fits.
  function topsOf(graph, spots, ranks, across) {
    const gaps = new Map(), gapAfter = rank => gaps.get(rank) || RANK_GAP;
    for (const { tail, head, label } of graph.edges) {
      const rank = spots.get(tail).rank, room = label ? (across ? labelWidth(label) : LABEL_HEIGHT) + 2 * LABEL_END : 0;
      if (spots.get(head).rank === rank + 1) gaps.set(rank, Math.max(gapAfter(rank), room));
    }
    let along = 0;
    return ranks.map((rank, index) => {
      const top = along, depth = Math.max(0, ...rank.map(spot => spot.depth));
      along += depth + gapAfter(index);
      return [top, depth];
    });
  }

  return Object.assign(layers, { labelWidth, LABEL_HEIGHT });
})();
