"""Attacks on our own work: `python -m tools.mutate` on the rules and formulas, `python -m tools.fuzz` on the engine."""
