"""A second opinion on every worksheet number: 50-digit decimals, and not one derivative rule.

Nothing here comes from the engine. The forward passes are written out again on decimals (NumPy only holds the
tables), the inputs are the worksheet's own, and a gradient is what happens to the loss when one entry of one named
table is nudged up and down by 10⁻¹⁶: a central difference that, at 50 digits, is right to about 30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

import numpy as np

from examples.checking.sheet import load

DIGITS = 50
STEP = Decimal("1e-16")

Nudge = tuple[str, tuple[int, ...], Decimal]    # name of the table, index of the entry, how much
Tables = dict[str, Any]


class Trial:
    """One forward pass: files each table under its name, and nudges one entry of one table on the way."""

    def __init__(self, nudge: Nudge | None = None) -> None:
        self.tables: Tables = {}
        self.nudge = nudge

    def keep(self, name: str, table: Any) -> Any:
        if self.nudge and self.nudge[0] == name:
            table = table.copy()
            table[self.nudge[1]] += self.nudge[2]
        self.tables[name] = table
        return table


@cache
def second_opinion(name: str) -> Tables:
    """Every quantity of worksheet `name`, under the names `run()` uses.

    >>> round(second_opinion("example4")["P2(A)"], 6)
    Decimal('0.251880')
    """
    with localcontext(prec=DIGITS):
        return _JUDGES[name](load(name).inputs)


# ---- arithmetic on tables of decimals -------------------------------------------------------------------------------

def decimals(table: Any) -> np.ndarray:
    """Floats as the decimals their shortest spelling says: 0.1 becomes exactly 1/10.

    >>> decimals([0.1, 2])
    array([Decimal('0.1'), Decimal('2.0')], dtype=object)
    """
    return np.vectorize(lambda number: Decimal(repr(float(number))), otypes=[object])(table)


exp = np.frompyfunc(Decimal.exp, 1, 1)
log = np.frompyfunc(Decimal.ln, 1, 1)
relu = np.frompyfunc(lambda x: max(x, Decimal(0)), 1, 1)
sigmoid = np.frompyfunc(lambda x: 1 / (1 + (-x).exp()), 1, 1)


def softmax(table: np.ndarray) -> np.ndarray:
    """exp(x) / Σ exp(x) along the rows, unshifted: fifty digits need no maximum taken off."""
    powers = exp(table)
    return powers / powers.sum(axis=-1, keepdims=True)


def softmax_steps(trial: Trial, prefix: str, scores: np.ndarray, suffix: str = "") -> None:
    """File the maximum, the shifts, the exponentials and their sum."""
    trial.keep(f"{prefix}_max{suffix}", max(scores))
    shift = trial.keep(f"{prefix}_shift{suffix}", scores - max(scores))
    powers = trial.keep(f"{prefix}_exp{suffix}", exp(shift))
    trial.keep(f"{prefix}_expsum{suffix}", powers.sum())


def gradients(forward: Callable[[Nudge | None], Trial], loss: str, names: Iterable[str]) -> Tables:
    """dL/d(name) for each table named, by central differences."""
    base = forward(None).tables
    found = {}
    for name in names:
        found[f"dL/d{name}"] = slope = np.empty(base[name].shape, dtype=object)
        for index in np.ndindex(slope.shape):
            up, down = (forward((name, index, step)).tables[loss] for step in (STEP, -STEP))
            slope[index] = (up - down) / (2 * STEP)
    return found


# ---- the worksheets' models -----------------------------------------------------------------------------------------

def _attend(trial: Trial, X: Any, weights: Tables, d_k: Any, n: str = "", q: str = "W") -> np.ndarray:
    """Single-head attention without a mask; `n` numbers the pattern, `q` is how the weights are spelled."""
    X = trial.keep(f"X{n}", X)
    Q = trial.keep(f"Q{n}", X @ trial.keep(f"{q}Q", weights[f"{q}Q"]))
    K = trial.keep(f"K{n}", X @ trial.keep(f"{q}K", weights[f"{q}K"]))
    V = trial.keep(f"V{n}", X @ trial.keep(f"{q}V", weights[f"{q}V"]))
    score = trial.keep(f"score{n}", Q @ K.T)
    scaled = trial.keep(f"scaled{n}", score / Decimal(d_k).sqrt())
    attn = trial.keep(f"attn{n}", softmax(scaled))
    return trial.keep(f"out{n}", attn @ V)


def _predict(trial: Trial, out: np.ndarray, WO4: np.ndarray, target: int | None, n: str = "") -> None:
    ctx = trial.keep(f"ctx{n}", out[-1])
    logit = trial.keep(f"logit{n}", ctx @ trial.keep("WO4", WO4))
    P = trial.keep(f"P{n}", softmax(logit))
    if target is not None:
        trial.keep(f"L{n}", -P[target].ln())


def _mini(inputs: Tables, sequence: Iterable[str], target: int | None = None, n: str = "",
          nudge: Nudge | None = None, **changed: np.ndarray) -> Trial:
    """The model of examples 1 to 4 on one sequence, with some weights changed."""
    trial = Trial(nudge)
    weights = {name: decimals(inputs[name]) for name in ("WQ", "WK", "WV")}
    WO4 = changed.get("WO4", decimals(inputs["WO_2x4"]))
    X = decimals([inputs["tokens"][token] for token in sequence])
    _predict(trial, _attend(trial, X, weights | changed, inputs["d_k"], n), WO4, target, n)
    return trial


def _givens(inputs: Tables) -> Tables:
    """The inputs under the names the sheets use for them."""
    given: Tables = {name: decimals(value) for name, value in inputs["tokens"].items()}
    given |= {name: decimals(inputs[name]) for name in ("WO", "W1", "W2") if name in inputs}
    given |= {"d_k": Decimal(inputs["d_k"]), "scale": 1 / Decimal(inputs["d_k"]).sqrt()}
    if "eta" in inputs:
        given["eta"] = decimals(inputs["eta"])[()]
    if "target" in inputs:
        given["target"] = Decimal(_index(inputs, inputs["target"]))
    return given


def _index(inputs: Tables, token: str) -> int:
    return list(inputs["tokens"]).index(token)


def _named(inputs: Tables, tables: Tables) -> Tables:
    """Add transposes, and the entries of vectors over the tokens: `K^T`, `P(A)`."""
    tables = _givens(inputs) | tables
    for name, table in list(tables.items()):
        if np.ndim(table) == 2:
            tables[f"{name}^T"] = table.T
        if np.shape(table) == (len(inputs["tokens"]),):
            tables |= {f"{name}({token})": entry for token, entry in zip(inputs["tokens"], table)}
    return tables


def _example1(inputs: Tables) -> Tables:
    trial = _mini(inputs, inputs["sequence"])
    softmax_steps(trial, "attn", trial.tables["scaled"][-1])
    softmax_steps(trial, "out", trial.tables["logit"])
    return _named(inputs, trial.tables)


def _example2(inputs: Tables) -> Tables:
    target = _index(inputs, inputs["target"])
    before = _example1(inputs) | _mini(inputs, inputs["sequence"], target).tables
    slopes = gradients(lambda nudge: _mini(inputs, inputs["sequence"], target, nudge=nudge), "L", ["WO4", "logit"])
    slopes["dL/dWO"] = slopes.pop("dL/dWO4")
    live = decimals([[1, 0, 0, 0], [0, 0, 1, 0]])     # only the two weights the 2×2 matrix has on its diagonal
    WO4_new = before["WO4"] - decimals(inputs["eta"]) * slopes["dL/dWO"] * live
    after = _mini(inputs, inputs["sequence"], target, WO4=WO4_new)
    softmax_steps(after, "out", after.tables["logit"])
    new = {f"{name}_new": after.tables[name]
           for name in ("logit", "P", "L", "out_max", "out_shift", "out_exp", "out_expsum")}
    figure = Trial()
    fig_P = figure.keep("fig_P", softmax(figure.keep("fig_logit", decimals([1.0, 2.0, 0.5, 0.3]))))
    figure.keep("fig_L", -fig_P[target].ln())
    onehot = decimals([float(token == inputs["target"]) for token in inputs["tokens"]])
    return _named(inputs, before | slopes | new | figure.tables
                  | {"onehot": onehot, "WO4_new": WO4_new, "WO_new": WO4_new[:, [0, 2]] * decimals(np.eye(2))})


def _example3(inputs: Tables) -> Tables:
    target = _index(inputs, inputs["target"])
    before = _mini(inputs, inputs["sequence"], target).tables
    names = ("X", "WQ", "WK", "WV", "WO4", "Q", "K", "V", "score", "scaled", "attn", "out", "ctx", "logit")
    slopes = gradients(lambda nudge: _mini(inputs, inputs["sequence"], target, nudge=nudge), "L", names)
    eta = decimals(inputs["eta"])
    new = {f"{name}_new": before[name] - eta * slopes[f"dL/d{name}"] for name in ("WQ", "WK", "WV", "WO4")}
    slopes["dL/dWO"] = slopes.pop("dL/dWO4")
    dot = (slopes["dL/dattn"][-1] * before["attn"][-1]).sum()
    return _named(inputs, before | slopes | new | {"dot": dot})


def _example4(inputs: Tables) -> Tables:
    patterns = [(sequence, _index(inputs, token), str(n)) for n, (sequence, token) in enumerate(inputs["batch"], 1)]
    count = Decimal(len(patterns))
    tables: Tables = {"N": count}
    for sequence, target, n in patterns:
        tables |= _mini(inputs, sequence, target, n).tables
        slopes = gradients(lambda nudge: _mini(inputs, sequence, target, n, nudge),    # noqa: B023
                           f"L{n}", [f"logit{n}", f"ctx{n}", "WO4"])
        slopes[f"dL/dWO{n}"] = slopes.pop("dL/dWO4")
        tables |= slopes
    tables["L_mean"] = sum(tables[f"L{n}"] for *_, n in patterns) / count
    tables["dL/dWO"] = sum(tables[f"dL/dWO{n}"] for *_, n in patterns) / count
    tables["WO4_new"] = WO4_new = tables["WO4"] - decimals(inputs["eta"]) * tables["dL/dWO"]
    for sequence, target, n in patterns:
        after = _mini(inputs, sequence, target, n, WO4=WO4_new).tables
        tables |= {f"P{n}_new": after[f"P{n}"], f"L{n}_new": after[f"L{n}"]}
    tables["L_mean_new"] = sum(tables[f"L{n}_new"] for *_, n in patterns) / count
    return _named(inputs, tables)


def _example5(inputs: Tables) -> Tables:
    trial = Trial()
    weights = {name: decimals(inputs[name]) for name in ("WQ", "WK", "WV")}
    X = decimals([inputs["tokens"][token] for token in inputs["sequence"]])
    out = _attend(trial, X, weights, inputs["d_k"])
    act = trial.keep("act", relu(trial.keep("hidden", out @ decimals(inputs["W1"]))))
    ffn = trial.keep("ffn", act @ decimals(inputs["W2"]))
    trial.keep("final", out + ffn)
    demo = Decimal("-0.5")
    return _named(inputs, trial.tables | {"relu_demo_in": demo, "relu_demo_out": relu(demo)})


def _cat_sleeps(inputs: Tables) -> Tables:
    given = {name: decimals(table) for name, table in inputs.items()}
    d_k = given["W_K"].shape[-1]

    def forward(nudge: Nudge | None) -> Trial:
        trial = Trial(nudge)
        out = _attend(trial, given["X"], given, d_k, q="W_")
        hidden = trial.keep("hidden", relu(trial.keep("pre", out @ trial.keep("W_FFN1", given["W_FFN1"]))))
        logit = trial.keep("logit", (hidden @ trial.keep("W_FFN2", given["W_FFN2"]))[:, 0])
        p = trial.keep("p", sigmoid(logit))
        y = trial.keep("y", given["y"])
        bce = trial.keep("bce", -(y * log(p) + (1 - y) * log(1 - p)))
        trial.keep("L_sum", bce.sum())
        trial.keep("L", bce.sum() / len(bce))
        return trial

    tables = forward(None).tables
    names = ("X", "W_Q", "W_K", "W_V", "W_FFN1", "W_FFN2",
             "Q", "K", "V", "score", "scaled", "attn", "out", "pre", "hidden", "logit", "p")
    return tables | gradients(forward, "L", names) | {"d_k": Decimal(d_k), "scale": 1 / Decimal(d_k).sqrt()}


_JUDGES: dict[str, Callable[[Tables], Tables]] = {
    "example1": _example1, "example2": _example2, "example3": _example3,
    "example4": _example4, "example5": _example5, "cat_sleeps": _cat_sleeps,
}
