"""Containers: Sequential runs its modules one after the other; ModuleList and ModuleDict only hold them."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from autograd.errors import DataError

from .module import Module

__all__ = ["ModuleDict", "ModuleList", "Sequential"]


class Sequential(Module):
    """Modules or plain functions, each applied to what the one before gave.

    >>> from autograd import relu
    >>> from nn import Linear
    >>> Sequential(Linear(2, 3, rng=0), relu, Linear(3, 1, rng=1))([[1.0, 2.0]]).shape
    (1, 1)
    """

    def __init__(self, *layers: Module | Callable[[Any], Any]) -> None:
        for layer in layers:
            if not callable(layer):
                raise DataError(f"Sequential takes modules and functions; got {layer!r:.60} ({type(layer).__name__})")
        self.layers = list(layers)

    def forward(self, x: Any) -> Any:
        """What the last layer gives; x as it is, if there are none."""
        for layer in self.layers:
            x = layer(x)
        return x

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, index: int | slice) -> Any:
        return Sequential(*self.layers[index]) if isinstance(index, slice) else self.layers[index]

    def __iter__(self) -> Iterator[Module | Callable[[Any], Any]]:
        return iter(self.layers)

    def append(self, layer: Module | Callable[[Any], Any]) -> Sequential:
        """Add a layer at the end."""
        self.layers = [*self.layers, layer]
        return self


class ModuleList(Module):
    """A list of modules, as in torch; a plain list as an attribute does the same.

    >>> from nn import Linear
    >>> parts = ModuleList([Linear(2, 2, rng=i) for i in range(3)])
    >>> len(parts), parts.count(), [name for name, _ in parts.named_parameters()][:2]
    (3, 18, ['parts.0.weight', 'parts.0.bias'])
    """

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        self.parts = list(modules)

    def append(self, module: Module) -> ModuleList:
        """Add a module at the end."""
        self.parts = [*self.parts, module]
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add several at the end."""
        self.parts = [*self.parts, *modules]
        return self

    def insert(self, index: int, module: Module) -> None:
        """Add a module in front of another."""
        self.parts = [*self.parts[:index], module, *self.parts[index:]]

    def __getitem__(self, index: int | slice) -> Any:
        return ModuleList(self.parts[index]) if isinstance(index, slice) else self.parts[index]

    def __setitem__(self, index: int, module: Module) -> None:
        parts = [*self.parts]
        parts[index] = module
        self.parts = parts

    def __iter__(self) -> Iterator[Module]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)


class ModuleDict(Module):
    """Modules by name, as in torch; a plain dict as an attribute does the same.

    >>> from nn import Linear
    >>> heads = ModuleDict({"left": Linear(2, 1, rng=0), "right": Linear(2, 1, rng=1)})
    >>> list(heads), heads["left"]([1.0, 2.0]).shape
    (['left', 'right'], (1,))
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] = ()) -> None:
        self.parts = dict(modules)

    def __getitem__(self, name: str) -> Module:
        return self.parts[name]

    def __setitem__(self, name: str, module: Module) -> None:
        self.parts = {**self.parts, name: module}

    def __delitem__(self, name: str) -> None:
        self.parts = {key: part for key, part in self.parts.items() if key != name}

    def __contains__(self, name: object) -> bool:
        return name in self.parts

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self.parts.keys()

    def values(self) -> ValuesView[Module]:
        """The modules."""
        return self.parts.values()

    def items(self) -> ItemsView[str, Module]:
        """Names and modules."""
        return self.parts.items()

    def update(self, modules: Mapping[str, Module]) -> None:
        """Add several."""
        self.parts = {**self.parts, **modules}
