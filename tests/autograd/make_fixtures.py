"""Make `fixtures/torch.json`: torch's gradients on every op's samples, for machines without torch.

    python -m tests.autograd.make_fixtures          (needs torch; run again when samples change)
"""

import json
from pathlib import Path

import numpy as np

from tests.autograd.judges import case_name, cases, is_real, uneven

FIXTURES = Path(__file__).parent / "fixtures" / "torch.json"


def keyed_cases():
    """Every (key, op, sample) with a gradient."""
    for op, sample in cases(lambda op: op.differentiable):
        yield f"{op.name} {op.samples.index(sample)}: {case_name(sample)}", op, sample


def written(x):
    """An array as JSON: numbers with all their digits, infinities as text."""
    if isinstance(x, list):
        return [written(y) for y in x]
    return x if isinstance(x, bool | int) or np.isfinite(x) else repr(x)


def main() -> None:
    import torch

    from tests.autograd.in_torch import TORCH, answer

    record = {}
    for key, op, sample in keyed_cases():
        if op.name not in TORCH:
            continue
        inputs = sample.inputs(op.name)
        out, grads = answer(op.name, inputs, sample.settings, uneven)
        record[key] = {
            "inputs": [written(np.asarray(x).tolist()) for x in inputs if is_real(x)],
            "cotangent": uneven(out.shape).tolist(),
            "result": written(out.tolist()),
            "gradients": [written(g.tolist()) for g in grads],
        }
    FIXTURES.parent.mkdir(exist_ok=True)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(case)}" for name, case in record.items())
    FIXTURES.write_text(f'{{"torch": "{torch.__version__}", "cases": {{\n{lines}\n}}}}\n')
    print(f"{len(record)} cases, {FIXTURES.stat().st_size / 1e3:.0f} kB, by torch {torch.__version__}")


if __name__ == "__main__":
    main()
