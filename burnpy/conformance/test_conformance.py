"""What ``pytest --pyargs burnpy.conformance --burnpy-backend NAME`` collects: one test for every check in every cell."""

from burnpy.conformance.author import Outcome


def test_conformance(burnpy_check: Outcome) -> None:
    """Judge one check in one cell."""
    burnpy_check()
