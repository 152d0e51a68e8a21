"""What torch calls its operators, and which of our ops say the same."""

from . import algebra, images, indexing, layers, pointwise, reductions, shapes
from .table import ATEN, NotMapped, rule_for

__all__ = ["ATEN", "NotMapped", "algebra", "images", "indexing", "layers", "pointwise", "reductions", "rule_for",
           "shapes"]  # fmt: skip
