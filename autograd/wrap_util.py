"""HIPS autograd's `unary_to_nary`, at its address."""

from .hips import unary_to_nary

__all__ = ["unary_to_nary"]
