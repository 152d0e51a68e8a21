"""HIPS autograd's `getval`, `isbox` and `primitive`, at their older address."""

from .extend import Box, getval, isbox, notrace_primitive, primitive

__all__ = ["Box", "getval", "isbox", "notrace_primitive", "primitive"]
