# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""The kernels, compiled for AVX-512."""
include "_kernels.pyx"
