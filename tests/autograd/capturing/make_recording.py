"""Make `recording.json`: operators as real models call them, with torch's results and gradients, to test without it.

    python -m tests.autograd.capturing.make_recording          (needs torch; run again when the table grows)
"""

import json
from pathlib import Path

import numpy as np

RECORDING = Path(__file__).parent / "recording.json"
MOST = 2  # calls kept of one operator
LONGEST = 8000  # characters of one call


def encoded(x):
    """An argument as JSON: tensors by their numbers, and whether a gradient flows to them."""
    import torch

    if isinstance(x, torch.Tensor):
        kind = str(x.dtype).removeprefix("torch.")
        return {"value" if x.requires_grad else "array": written(x.detach().tolist()), "dtype": kind,
                "shape": list(x.shape)}  # fmt: skip
    if isinstance(x, torch.dtype):
        return {"kind": str(x).removeprefix("torch.")}
    if isinstance(x, list | tuple):
        return [encoded(part) for part in x]
    if isinstance(x, float) and not np.isfinite(x):
        return {"number": repr(x)}
    return x


def written(x):
    """Numbers with all their digits, infinities as text."""
    if isinstance(x, list):
        return [written(y) for y in x]
    return x if isinstance(x, bool | int) or np.isfinite(x) else repr(x)


def decoded(x, as_value):
    """The argument again: `as_value` makes a Value of what a gradient flows to."""
    if isinstance(x, list):
        return [decoded(part, as_value) for part in x]
    if not isinstance(x, dict):
        return x
    if "kind" in x:
        return x["kind"]
    if "number" in x:
        return float(x["number"])
    data = x.get("value", x.get("array"))
    array = np.array(data, dtype=x["dtype"]).reshape(x["shape"])
    return as_value(array) if "value" in x else array


def recorded(call):
    """One call with what torch makes of it; None if it takes what JSON cannot say."""
    import torch
    from torch.utils._pytree import tree_flatten, tree_unflatten

    from autograd.capturing.torch.tensors import functional_twin, name_of, tensors_in

    function, args, kwargs = call.again
    if getattr(function, "namespace", "") != "aten":
        return None
    function = functional_twin(function)
    if function._schema.is_mutable:  # in place only
        return None
    flat, structure = tree_flatten((args, kwargs))
    flat = [x.detach().clone().requires_grad_(i in call.carried) if isinstance(x, torch.Tensor) else x
            for i, x in enumerate(flat)]  # fmt: skip
    args, kwargs = tree_unflatten(flat, structure)
    with torch.enable_grad():
        results = tensors_in(function(*args, **kwargs))
    generator = torch.Generator().manual_seed(0)
    followed = [r for r in results if r.requires_grad]
    starts = [torch.randn(r.shape, generator=generator, dtype=r.dtype).round(decimals=3) for r in followed]
    leaves = [x for x in flat if isinstance(x, torch.Tensor) and x.requires_grad]
    grads = torch.autograd.grad(followed, leaves, starts, allow_unused=True)
    said = {
        "op": name_of(function), "args": encoded(args), "kwargs": {k: encoded(v) for k, v in kwargs.items()},
        "results": [encoded(r) for r in results], "starts": [encoded(u) for u in starts],
        "gradients": [encoded(leaf.detach() * 0 if g is None else g.detach()) for g, leaf in zip(grads, leaves)],
    }  # fmt: skip
    try:
        json.dumps(said)
    except TypeError:  # a memory format, a device
        return None
    return said


def main() -> None:
    import torch

    from autograd.capturing.aten import rule_for
    from tests.autograd.capturing.against_torch import captured
    from tests.autograd.capturing.gpt import GPT, tokens
    from tests.autograd.capturing.models import MODELS
    from tests.autograd.capturing.test_traps import ACTIVATIONS, FUNCTIONS, LOSSES

    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    runs = [captured(GPT(flash=flash), *tokens()) for flash in (False, True)]
    runs += [captured(*make()) for make in MODELS.values()]
    runs += [captured(f, torch.randn(3, 4)) for f in FUNCTIONS.values()]
    runs += [captured(getattr(torch.nn.functional, name), torch.randn(3, 4) * 3) for name in ACTIVATIONS]
    runs += [captured(getattr(torch.nn.functional, name), torch.rand(3, 4), torch.rand(3, 4)) for name in LOSSES]
    cases: dict[str, list[str]] = {}
    for call in (call for run in runs for call in run._recorder.calls):
        if rule_for(call.name) is None or call.function is not None:
            continue
        said = recorded(call)
        kept = cases.setdefault(call.name, [])
        line = json.dumps(said)
        if said is not None and len(kept) < MOST and len(line) < LONGEST and line not in kept:
            kept.append(line)
    lines = [line for kept in cases.values() for line in kept]
    RECORDING.write_text(f'{{"torch": "{torch.__version__}", "calls": [\n' + ",\n".join(lines) + "\n]}\n")
    print(f"{len(lines)} calls of {sum(map(bool, cases.values()))} operators, {RECORDING.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
