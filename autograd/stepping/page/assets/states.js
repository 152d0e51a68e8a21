"use strict";
// What is shown of a view when so many of its steps are done: which face of a card, and the state of cards and edges.
const states = (() => {
  const CARDS = ["todo", "done", "receiving", "now", "forward", "operand"];
  const EDGE_FACES = { todo: 0, plain: 0, done: 1, now: 2, forward: 3 };

  function faceAt(card, at) {
    let index = 0;
    while (index + 1 < card.since.length && card.since[index + 1] <= at) index++;
    return index;
  }
  const isBackward = (view, at) => at > 0 && view.steps[at - 1].kind === "backward";

  function ofCard(view, at, key) {
    const card = view.cards[key], step = at ? view.steps[at - 1] : null, backward = isBackward(view, at);
    if (step && step.card === key) return backward ? "now" : "forward";
    if (step && step.inputs.includes(key)) return backward ? "receiving" : "operand";
    if (!backward) return card.made > at ? "todo" : "";
    if (!card.wants) return "";
    const first = card.since.findIndex(since => since > view.forward);
    return first >= 0 && card.since[first] <= at ? "done" : "todo";
  }
  function ofEdge(view, at, edge) {
    const backward = isBackward(view, at), when = backward ? edge.sent : edge.used;
    if (when && when === at) return backward ? "now" : "forward";
    if (when && when < at) return backward ? "done" : "plain";
    return "todo";
  }
  function mark(group, state) {
    for (const name of CARDS) group.classList.toggle(`hg-is-${name}`, name === state);
  }
  return { EDGE_FACES, faceAt, isBackward, ofCard, ofEdge, mark };
})();
