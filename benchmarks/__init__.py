"""Measurements of burnpy beside others that do the same job: ``python -m benchmarks``."""
