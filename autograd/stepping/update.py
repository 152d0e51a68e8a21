"""How a page updates the parameters: as an optimizer of `nn.optim` does, from its first step on."""

from __future__ import annotations

from typing import Any

USUAL_RATE = 0.1  # of gradient descent, to begin with


def update_of(optimizer: Any) -> dict[str, Any]:
    """What a page needs to know of an optimizer; without one it descends along the gradient."""
    if optimizer is None:
        return {"name": "SGD", "rate": USUAL_RATE}
    name, rate = type(optimizer).__name__, getattr(optimizer, "rate", None)
    if rate is None:
        raise TypeError(f"step: expected optimizer=nn.optim.SGD(…), Adam(…) or AdamW(…), got {name}")
    if hasattr(optimizer, "betas") and not optimizer.amsgrad:
        return {"name": name, "rate": rate, "betas": list(optimizer.betas), "eps": optimizer.eps,
                "decay": optimizer.weight_decay, "decoupled": optimizer.decoupled}  # fmt: skip
    if name == "SGD" and not optimizer.momentum and not optimizer.weight_decay:
        return {"name": name, "rate": rate}
    raise ValueError(
        f"step: a page updates by SGD without momentum and weight decay, by Adam or AdamW without amsgrad; got {name}"
    )
