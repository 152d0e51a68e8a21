"""Make the fixtures: torch's answer to every case, and state dicts of its modules, for machines without torch.

    python -m tests.nn.make_fixtures          (needs torch; run again when `cases.py` changes)
"""

from pathlib import Path

import numpy as np

from nn import io
from tests.nn.cases import CASES, Arrays, Case, theirs
from tests.nn.pairs import PAIRS, recorded

FIXTURES = Path(__file__).parent / "fixtures" / "parity.safetensors"
STATES = FIXTURES.with_name("states.safetensors")
SEED = 0


def answer(case: Case) -> Arrays:
    """Inputs, parameters, cotangent, output and gradients of one case."""
    parameters, inputs = case.parameters(SEED), case.inputs(SEED)
    found = {f"p.{name}": array for name, array in parameters.items()}
    found |= {f"in.{i}": array for i, array in enumerate(inputs)}
    return found | theirs(case, parameters, inputs)


def main() -> None:
    import torch

    arrays = {f"{case.name}/{name}": np.asarray(a) for case in CASES for name, a in answer(case).items()}
    FIXTURES.parent.mkdir(exist_ok=True)
    io.write(arrays, FIXTURES, {"torch": torch.__version__})
    states = {f"{name}/{key}": array for name in PAIRS for key, array in recorded(torch, name).items()}
    io.write(states, STATES, {"torch": torch.__version__})
    print(f"{len(CASES)} cases, {FIXTURES.stat().st_size / 1e3:.0f} kB, by torch {torch.__version__}")


if __name__ == "__main__":
    main()
