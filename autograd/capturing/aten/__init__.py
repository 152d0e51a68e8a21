"""What torch calls its operators, and which of our ops say the same."""

from . import images, indexing, layers, pointwise, reductions, shapes
from .table import ATEN, NotMapped, rule_for

__all__ = ["ATEN", "NotMapped", "images", "indexing", "layers", "pointwise", "reductions", "rule_for", "shapes"]
