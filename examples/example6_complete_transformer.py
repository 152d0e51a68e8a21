"""Example 6, complete transformer: two blocks of attention, feed-forward, layer norm and residuals, trained end to end.

The book gives no numbers for it, so these are ours, and every one is a keyword of `run`:

    d_model = 4      with two features a layer norm's row is always [−1, 1] or [1, −1] and almost nothing flows back
    d_hidden = 8     the width inside the feed-forward network
    n_blocks = 2     as the book says
    eps = 1e-5       under the root of the layer norm
    seed = 0         embeddings and weights are drawn from it
    pre_norm = False each layer norm stands after its residual, x = norm(x + f(x)); True: x = x + f(norm(x))

    handgrad example 6
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import nn
from autograd import Value, no_grad, relu, softmax, step
from autograd.graph import leaves, scope, topological
from examples.example4_multiple_patterns import BATCH, Pattern, first_all_right
from examples.mini_transformer import TOKENS, Steps, Tables, attend, slopes, without
from examples.page import Page, listed, written
from examples.plots import curve_svg, curve_text, map_svg, map_text, points_svg
from examples.report import exercises
from nn import functional as F

TITLE = "Example 6: complete transformer"
TRAINING = ("batch", "eta", "epochs")       # the keywords of `run` that are not the model's


class Block(nn.Module):
    """One transformer block: attention and a feed-forward network, each with a residual and a layer norm.

    Its steps carry the names of Examples 1 to 5 (Q, K, V, score, scaled, attn, out, hidden, act, ffn), and `sum_attn`,
    `norm_attn`, `sum_ffn`, `norm_ffn` for the residuals and layer norms round the two parts.
    """

    def __init__(self, d_model: int, d_hidden: int, eps: float, rng: np.random.Generator) -> None:
        self.WQ, self.WK, self.WV, self.WO = (nn.Linear(d_model, d_model, bias=False, rng=rng) for _ in range(4))
        self.norm1 = nn.LayerNorm(d_model, eps)
        self.W1, self.W2 = nn.Linear(d_model, d_hidden, rng=rng), nn.Linear(d_hidden, d_model, rng=rng)
        self.norm2 = nn.LayerNorm(d_model, eps)

    def forward(self, steps: Steps, x: Value, *, causal: bool, pre_norm: bool) -> Value:
        if pre_norm:
            norm_attn = self.norm1(x)
            steps.keep(norm_attn=norm_attn)
            sum_attn = x + self.attention(steps, norm_attn, causal)
            norm_ffn = self.norm2(sum_attn)
            steps.keep(sum_attn=sum_attn, norm_ffn=norm_ffn)
            sum_ffn = sum_attn + self.feed_forward(steps, norm_ffn)
            steps.keep(sum_ffn=sum_ffn)
            return sum_ffn
        sum_attn = x + self.attention(steps, x, causal)
        norm_attn = self.norm1(sum_attn)
        steps.keep(sum_attn=sum_attn, norm_attn=norm_attn)
        sum_ffn = norm_attn + self.feed_forward(steps, norm_attn)
        norm_ffn = self.norm2(sum_ffn)
        steps.keep(sum_ffn=sum_ffn, norm_ffn=norm_ffn)
        return norm_ffn

    def attention(self, steps: Steps, x: Value, causal: bool) -> Value:
        out = attend(steps, x, self.WQ.weight, self.WK.weight, self.WV.weight, d_k=x.shape[-1], causal=causal)
        proj = out @ self.WO.weight
        steps.keep(proj=proj)
        return proj

    def feed_forward(self, steps: Steps, x: Value) -> Value:
        with scope("feed-forward"):
            hidden = self.W1(x)
            act = relu(hidden)
            ffn = self.W2(act)
            steps.keep(hidden=hidden, act=act, ffn=ffn)
            return ffn


class Transformer(nn.Module):
    """Embeddings, blocks, output projection, softmax: what comes after a sequence of tokens."""

    def __init__(self, *, d_model: int = 4, d_hidden: int = 8, n_blocks: int = 2, eps: float = 1e-5, seed: int = 0,
                 causal: bool = False, pre_norm: bool = False) -> None:
        rng = np.random.default_rng(seed)
        self.embedding = nn.Embedding(len(TOKENS), d_model, rng=rng)
        self.blocks = [Block(d_model, d_hidden, eps, rng) for _ in range(n_blocks)]
        self.head = nn.Linear(d_model, len(TOKENS), bias=False, rng=rng)
        self.causal, self.pre_norm = causal, pre_norm

    def forward(self, batch: Sequence[Pattern]) -> Steps:
        """A forward pass of the whole batch; tables of block 1 end in 1 (`Q1`), those of block 2 in 2."""
        steps = Steps()
        x = self.embedding([[_index(token) for token in sequence] for sequence, _ in batch])
        steps.keep(X=x)
        for number, block in enumerate(self.blocks, 1):
            steps.n = str(number)
            x = block(steps, x, causal=self.causal, pre_norm=self.pre_norm)
        steps.n = ""
        logit = self.head(x[:, -1])
        P = softmax(logit)
        L = F.cross_entropy(logit, [_index(target) for _, target in batch])
        steps.keep(logit=logit, P=P, L=L)
        return steps


def _index(token: str) -> int:
    if token not in TOKENS:
        raise ValueError(f"batch: expected tokens among {', '.join(TOKENS)}, got {token!r}")
    return list(TOKENS).index(token)


def run(*, batch: Sequence[Pattern] = BATCH, eta: float = 0.05, epochs: int = 100, **model: Any) -> Tables:
    """The forward pass, every gradient, and the same after training; `model` takes the keywords of Transformer.

    Tables have a leading axis for the pattern: `attn1[2]` is block 1's attention map for the third. Parameters go by
    their dotted names: `blocks.0.norm1.gamma`, `dL/dblocks.0.norm1.gamma`.

    >>> found = run(epochs=0)
    >>> found["attn1"].shape, found["dL/dblocks.1.norm2.beta"].shape
    ((3, 2, 2), (4,))
    """
    transformer = Transformer(**model)
    steps = transformer(batch)
    steps["L"].backward()
    weights = dict(transformer.named_parameters())
    found = steps.data() | transformer.state_dict() | slopes(steps | weights)
    history = train(transformer, batch, eta, epochs)
    after = transformer(batch).data() | transformer.state_dict()
    return found | {f"{name}_new": table for name, table in after.items()} | {"eta": eta, "epochs": epochs} | history


def train(transformer: Transformer, batch: Sequence[Pattern], eta: float, epochs: int) -> Tables:
    """Adam on every parameter: the loss before each epoch and after the last, and which patterns were right."""
    optimizer = nn.optim.Adam(transformer.parameters(), lr=eta)
    targets = [_index(target) for _, target in batch]
    losses, right = [], []
    for epoch in range(epochs + 1):
        steps = transformer(batch)
        losses.append(float(steps["L"].data))
        right.append(np.argmax(steps["P"].data, axis=-1) == targets)
        if epoch < epochs:
            optimizer.zero_grad()
            steps["L"].backward()
            optimizer.step()
    return {"losses": np.array(losses), "right": np.array(right)}


TAKES = (run, Transformer)
DRAWINGS: dict[str, dict[str, Any]] = {
    "graph.svg": {"collapse": ["attention", "feed-forward", "LayerNorm"]}, "graph_blocks.svg": {"collapse": "blocks.*"},
    "graph_whole.svg": {"collapse": False}}


def graph(*, batch: Sequence[Pattern] = BATCH[:1], **given: Any) -> Value:
    """The loss after backward; of the first pattern only, so that a drawing stays readable."""
    loss = Transformer(**without(given, "eta", "epochs"))(batch)["L"]
    loss.backward()
    return loss


def optimizer(loss: Value) -> nn.optim.Adam:
    """What the worksheet trains with, for a page that shows its updates."""
    return nn.optim.Adam([leaf for leaf in leaves(loss) if isinstance(leaf, nn.Parameter)], lr=0.05)


def verify(step: float = 1e-6, **model: Any) -> list[str]:
    """Every gradient of every parameter against a central difference of the loss; what disagrees, in sentences."""
    return [f"{name}{list(at)}: backward gives {ours:.9g}, a central difference {measured:.9g}"
            for name, at, ours, measured in differences(step, **model)
            if abs(ours - measured) > 1e-7 + 1e-5 * abs(measured)]


def differences(step: float = 1e-6, **model: Any) -> Iterator[tuple[str, tuple[int, ...], float, float]]:
    """Name, index, gradient and central difference, for every number of every parameter."""
    transformer = Transformer(**model)
    transformer(BATCH)["L"].backward()
    gradients = {name: weight.grad for name, weight in transformer.named_parameters()}

    def loss_with(weight: nn.Parameter, table: np.ndarray) -> float:
        weight.data = table
        with no_grad():
            return float(transformer(BATCH)["L"].data)

    for name, weight in transformer.named_parameters():
        start = weight.data.copy()
        for at in np.ndindex(start.shape):
            nudge = np.zeros_like(start)
            nudge[at] = step
            measured = (loss_with(weight, start + nudge) - loss_with(weight, start - nudge)) / (2 * step)
            yield name, at, float(gradients[name][at]), measured
        weight.data = start


# ---- the worksheet --------------------------------------------------------------------------------------------------

def main(page: Page | None = None, **given: Any) -> None:
    page = page or Page()
    found = run(**given)
    batch = given.get("batch", BATCH)
    page.title(TITLE, "Goal: all the parts together, two blocks deep, trained from beginning to end.")
    page.part("Given (ours: the book leaves the numbers open)")
    page.say(*str(Transformer(**without(given, *TRAINING))).splitlines())
    page.say("patterns: " + ", ".join(f"[{', '.join(sequence)}] → {target}" for sequence, target in batch))
    page.say(f"Adam, η = {found['eta']:g}, {found['epochs']} epochs")
    page.matrix("embeddings", found["embedding.weight"], list(TOKENS))
    exercises(page, EXERCISES, given)
    page.part("Before and after")
    page.compare("", [(f"P({target}) after [{', '.join(sequence)}]", found["P"][n][_index(target)],
                       found["P_new"][n][_index(target)]) for n, (sequence, target) in enumerate(batch)]
                 + [("L", float(found["L"]), float(found["L_new"]))])
    page.part("Held against the printed worksheet")
    page.note("The book prints no number for this example; `handgrad example 6 --check` holds every gradient against",
              "a central difference instead.")


def forward_trace(page: Page, **given: Any) -> Tables:
    """Exercise 1: the complete forward pass of the first pattern, table by table, with the formula of each."""
    found = run(**given | {"epochs": 0})
    batch = given.get("batch", BATCH)
    page.matrix("X", found["X"][0], batch[0][0])
    loss = graph(**given | {"batch": batch[:1]})
    names = [node.name for node in topological(loss) if node.op is not None and node.name]
    page.computed(step(loss), *names, entries=False)
    page.value("L, the mean over all patterns", value=float(found["L"]))
    return found


def intermediates(page: Page, **given: Any) -> Tables:
    """Exercise 2: every intermediate of every block, its shape and range, and what a layer norm does to a row."""
    found = run(**given | {"epochs": 0})
    transformer = Transformer(**without(given, *TRAINING))
    names = list(transformer(given.get("batch", BATCH)))
    for name in names:
        table = np.asarray(found[name])
        page.say(f"{name:<12}{'×'.join(map(str, table.shape)) or 'number':<8}{table.min():>10.4f} … {table.max():.4f}")
    row = found["norm_attn1"][0][-1]
    page.say("", f"norm_attn1, last row of the first pattern: {listed(row)}",
             f"mean {row.mean():.1e}, variance {row.var():.6f} (1 but for ε), since γ = 1 and β = 0 at the start")
    return {name: found[name] for name in names}


def full_backprop(page: Page, **given: Any) -> Tables:
    """Exercise 3: the gradient of every parameter, γ and β included, each beside central differences."""
    found = run(**given | {"epochs": 0})
    names = [name for name in found if f"dL/d{name}" in found and "." in name]
    worst: dict[str, float] = dict.fromkeys(names, 0.0)
    if "batch" not in given:
        for name, _, ours, measured in differences(**without(given, *TRAINING)):
            worst[name] = max(worst[name], abs(ours - measured))
    page.say(f"{'parameter':<24}{'shape':>7}{'|gradient|':>13}   largest difference from a central difference")
    for name in names:
        slope = found[f"dL/d{name}"]
        page.say(f"{name:<24}{'×'.join(map(str, slope.shape)):>7}{np.linalg.norm(slope):>13.4e}   {worst[name]:.0e}")
    for name in names:
        if "gamma" in name or "beta" in name:
            page.matrix(f"dL/d{name}", found[f"dL/d{name}"])
    two = run(**given | {"epochs": 0, "d_model": 2})
    page.say("", "With two features only: |dL/d embeddings| = "
             f"{np.linalg.norm(two['dL/dembedding.weight']):.1e}, against "
             f"{np.linalg.norm(found['dL/dembedding.weight']):.1e} here.")
    return {f"dL/d{name}": found[f"dL/d{name}"] for name in names} | {"worst": worst, "two_features": two}


def training(page: Page, **given: Any) -> Tables:
    """Exercise 4: the complete model trained, and the first epoch at which every pattern is right."""
    found = run(**given)
    losses = found["losses"].tolist()
    page.say(*curve_text(losses))
    first = first_all_right(found["right"].tolist())
    page.say(f"loss {written(losses[0])} → {written(losses[-1])}; all patterns right from epoch {first}")
    return {"losses": losses, "first_all_right": first}


def representations(page: Page, **given: Any) -> Tables:
    """Exercise 5: embeddings and attention maps, before and after training."""
    found = run(**given)
    page.matrix("embeddings before", found["embedding.weight"], list(TOKENS))
    page.matrix("embeddings after", found["embedding.weight_new"], list(TOKENS))
    near = {when: _cosines(found[f"embedding.weight{suffix}"]) for when, suffix in (("before", ""), ("after", "_new"))}
    for when, cosines in near.items():
        page.say(f"cosine of A and B, {when}: {cosines[0, 1]:.3f}")
    page.note("C and D are only ever predicted, never read: their embeddings do not move.")
    for n, (sequence, _) in enumerate(given.get("batch", BATCH)):
        for block in range(1, given.get("n_blocks", 2) + 1):
            maps = [map_text(label, found[f"attn{block}{suffix}"][n], sequence)
                    for label, suffix in (("before", ""), ("after", "_new"))]
            page.say("", f"[{', '.join(sequence)}], block {block}: attention before and after")
            page.say(*(f"{left:<28}{right}" for left, right in zip(*maps)))
    return {"cosines": near, "embeddings": (found["embedding.weight"], found["embedding.weight_new"])}


def _cosines(table: np.ndarray) -> np.ndarray:
    unit = table / np.linalg.norm(table, axis=-1, keepdims=True)
    return unit @ unit.T


EXERCISES: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("1. Trace the complete forward pass", forward_trace),
    ("2. All intermediate values", intermediates),
    ("3. Full backpropagation", full_backprop),
    ("4. Train the complete model", training),
    ("5. Analyse the learned representations", representations),
)


def plots(**given: Any) -> dict[str, str]:
    """Loss, embeddings (their first two principal directions) and attention maps, before and after training."""
    found = run(**given)
    before, after = found["embedding.weight"], found["embedding.weight_new"]
    both = np.concatenate([before, after])
    directions = np.linalg.svd(both - both.mean(axis=0))[2][:2]
    sequence = given.get("batch", BATCH)[0][0]
    maps = {f"block {block}, {when}": found[f"attn{block}{suffix}"][0]
            for block in range(1, given.get("n_blocks", 2) + 1) for when, suffix in (("before", ""), ("after", "_new"))}
    first = first_all_right(found["right"].tolist())
    marks = {} if first is None else {first: f"all patterns right from epoch {first}"}
    losses = {"L": found["losses"].tolist()}
    return {"loss.svg": curve_svg(losses, "Mean loss of the three patterns", "epochs", "L", marks),
            "attention.svg": map_svg(maps, sequence, f"Attention of [{', '.join(sequence)}]"),
            "embeddings.svg": points_svg(before @ directions.T, after @ directions.T, list(TOKENS),
                                         "Embeddings, in their two main directions")}


if __name__ == "__main__":
    main()
