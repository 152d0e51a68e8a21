"""Exchange of weights with PyTorch: the names and layouts of its modules, and of GPT-2, for ours.

`from_torch(module, state)` fills a module from the `state_dict()` of the matching torch module,
`to_torch(module)` gives such a dict of plain arrays. torch is not needed for either. The matches:

    Linear, LayerNorm, RMSNorm, Embedding    torch.nn.Linear, LayerNorm, RMSNorm, Embedding
    MultiHeadAttention                       torch.nn.MultiheadAttention
    TransformerBlock                         torch.nn.TransformerEncoderLayer (pre_norm is its norm_first)
    Sequential, your own modules             the same, part by part
    convolutions, batch and group norms,     the same: they keep torch's names and layouts
        recurrent layers
    GPT                                      GPT-2 as the `transformers` library names it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from autograd.errors import DataError

from .buffer import Place
from .containers import ModuleDict, ModuleList, Sequential
from .layers.attention import MultiHeadAttention
from .layers.feedforward import FeedForward
from .layers.linear import Linear
from .layers.norm import LayerNorm, RMSNorm
from .layers.transformer import GPT, TransformerBlock
from .module import Module, Parameter, check_same

__all__ = ["from_torch", "to_torch"]

# What an attribute of ours is called there; a part that is a module ends in the dot that follows (or does
# not). Attributes that are not in the table keep their name. torch's Linear holds its weight as (out, in).
TORCH: dict[type[Module], dict[str, str]] = {
    LayerNorm: {"gamma": "weight", "beta": "bias"},
    RMSNorm: {"gamma": "weight"},
    MultiHeadAttention: {"qkv": "in_proj_", "out": "out_proj."},
    TransformerBlock: {"attention": "self_attn.", "feed_forward": ""},
    FeedForward: {"up": "linear1.", "down": "linear2."},
    Sequential: {"layers": ""},
    ModuleList: {"parts": ""},
    ModuleDict: {"parts": ""},
}

# GPT-2 keeps its weights as (in, out), as we do, but for the last map.
GPT2: dict[type[Module], dict[str, str]] = {
    GPT: {
        "tokens": "transformer.wte.",
        "positions": "transformer.wpe.",
        "blocks": "transformer.h.",
        "norm": "transformer.ln_f.",
        "head": "lm_head.",
    },
    TransformerBlock: {"norm1": "ln_1.", "attention": "attn.", "norm2": "ln_2.", "feed_forward": "mlp."},
    LayerNorm: {"gamma": "weight", "beta": "bias"},
    MultiHeadAttention: {"qkv": "c_attn.", "out": "c_proj."},
    FeedForward: {"up": "c_fc.", "down": "c_proj."},
}
GPT2_BUFFERS = (".attn.bias", ".attn.masked_bias")  # its causal mask, stored among the weights


class Match(NamedTuple):
    """A parameter or buffer of ours and what it is over there."""

    ours: str
    theirs: str
    transposed: bool
    parameter: Parameter | Place

    def imported(self, array: np.ndarray) -> np.ndarray:
        """Their array in our layout and precision."""
        return (array.T if self.transposed and array.ndim == 2 else array).astype(self.parameter.dtype)

    def exported(self) -> np.ndarray:
        """Our data in their layout."""
        data = np.asarray(self.parameter.data)
        return np.ascontiguousarray(data.T) if self.transposed else data.copy()


def matches(module: Module) -> list[Match]:
    """Every parameter and buffer of a module, with its name and layout in torch."""
    names = GPT2 if isinstance(module, GPT) else TORCH
    _check_known(module)
    return list(_matches(module, names, "", "", set()))


def _matches(
    module: Module, names: dict[type[Module], dict[str, str]], ours: str, theirs: str, seen: set[int]
) -> Iterator[Match]:
    renamed = next((names[kind] for kind in type(module).__mro__ if kind in names), {})
    for path, part in module._own_parts():
        if id(part) in seen:
            continue
        seen.add(id(part))
        first, _, index = path.partition(".")
        if isinstance(part, Parameter):
            transposed = isinstance(module, Linear) and path == "weight" and (names is TORCH or theirs == "lm_head.")
            yield Match(f"{ours}{path}", f"{theirs}{renamed.get(path, path)}", transposed, part)
        else:
            there = renamed.get(first, f"{first}.") + (f"{index}." if index else "")
            yield from _matches(part, names, f"{ours}{path}.", f"{theirs}{there}", seen)
    for name, kind in module._buffers.items():
        if kind.persistent and isinstance(vars(module).get(name), np.ndarray):
            yield Match(f"{ours}{name}", f"{theirs}{name}", False, Place(module, name))


def _check_known(module: Module) -> None:
    for path, part in module.named_modules():
        where = f"{path or type(module).__name__}: "
        if isinstance(part, MultiHeadAttention) and (part.cross or part.n_kv_heads != part.n_heads):
            raise DataError(f"{where}torch has no module that packs these projections as this {part.extra()} does")
        if isinstance(part, FeedForward) and part.gate is not None:
            raise DataError(
                f"{where}torch has no module for a gated feed-forward layer (swiglu). Exchange its parts one by one, "
                "or choose another activation"
            )
    if isinstance(module, GPT) and isinstance(module.norm, RMSNorm):
        raise DataError("GPT-2 has layer norms; this GPT has RMS norms. Make it with norm='layer'")


def to_torch(module: Module) -> dict[str, np.ndarray]:
    """The module's weights under torch's names and in its layout: `{name: torch.from_numpy(array)}` loads there.

    >>> import nn
    >>> {name: array.shape for name, array in to_torch(nn.Linear(2, 3, rng=0)).items()}
    {'weight': (3, 2), 'bias': (3,)}
    """
    state = {match.theirs: match.exported() for match in matches(module)}
    if isinstance(module, GPT) and module.head is None:
        state["lm_head.weight"] = state["transformer.wte.weight"].copy()
    return state


def from_torch(module: Module, state: Mapping[str, Any]) -> None:
    """Fill a module in place from a torch `state_dict()` (of tensors or arrays), in the module's own precision.

    Every name or shape that does not fit is said at once, and then nothing changes.

    >>> import nn
    >>> layer = nn.Linear(2, 1, rng=0)
    >>> from_torch(layer, {"weight": np.array([[3.0, 4.0]]), "bias": np.array([0.5])})
    >>> layer.weight.data.tolist()
    [[3.0], [4.0]]
    """
    arrays = {name: _plain(name, tensor) for name, tensor in state.items()}
    if isinstance(module, GPT):
        arrays = _gpt2_arrays(module, arrays)
    found = matches(module)
    theirs = {match.theirs: match for match in found}
    fitting = {name: theirs[name].imported(array) if name in theirs else array for name, array in arrays.items()}
    own = {match.theirs: match.parameter.data for match in found}
    check_same(f"{type(module).__name__} (by torch's names)", own, fitting)
    for match in found:
        match.parameter.data = fitting[match.theirs]


def _gpt2_arrays(module: GPT, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """GPT-2's arrays with the full names, without its stored masks and, where tied, without the second name."""
    if not any(name.startswith("transformer.") for name in arrays):
        arrays = {name if name == "lm_head.weight" else f"transformer.{name}": a for name, a in arrays.items()}
    arrays = {name: array for name, array in arrays.items() if not name.endswith(GPT2_BUFFERS)}
    tokens, head = arrays.get("transformer.wte.weight"), arrays.get("lm_head.weight")
    if module.head is None and head is not None:
        if tokens is None or not np.array_equal(tokens, head):
            raise DataError(
                "lm_head.weight differs from wte.weight, but this GPT ties them; make it with tie_weights=False"
            )
        del arrays["lm_head.weight"]
    elif module.head is not None and head is None and tokens is not None:
        arrays["lm_head.weight"] = tokens  # the file relies on tying; ours starts from the same numbers
    return arrays


def _plain(name: str, tensor: Any) -> np.ndarray:
    """A torch tensor (or anything NumPy understands) as an array of floats."""
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu()
        tensor = tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor
        tensor = tensor.numpy()
    array = np.asarray(tensor)
    if array.dtype.kind not in "fiub":
        raise DataError(f"{name}: a state dict holds arrays of numbers; got {type(tensor).__name__}")
    return array
