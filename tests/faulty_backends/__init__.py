"""Backends that are wrong, each by one believable mistake, and backends that are right by another route.

`FAULTS` lists the wrong ones with the check that is about each.
"""

from faulty_backends import arrays, behaviour, gradients, weights
from faulty_backends.base import FAULTS, Dense, Fault, Wrapped

__all__ = ["FAULTS", "Dense", "Fault", "Wrapped", "arrays", "behaviour", "gradients", "weights"]
