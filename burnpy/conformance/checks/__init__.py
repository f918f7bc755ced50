"""The checks, one file a family, in the order in which they are run: what others rest on comes first."""

from burnpy.conformance.check import Check, registered

from burnpy.conformance.checks import (  # isort: skip - the order is that of the report
    returns as returns,
    values as values,
    laws as laws,
    adjoint as adjoint,
    indices as indices,
    types as types,
    special as special,
    errors as errors,
    behaviour as behaviour,
)

__all__ = ["all_checks"]


def all_checks() -> tuple[Check, ...]:
    """Return every check, in order."""
    return registered()
