"""Build of the compiled kernels; everything else is declared in pyproject.toml."""

import sys

from Cython.Build import cythonize
from setuptools import Extension, setup

# No contraction and no fast-math: the bits of a result must not depend on the compiler's choice of instructions.
FLAGS = ["/O2", "/fp:precise"] if sys.platform == "win32" else ["-O3", "-ffp-contract=off", "-fno-math-errno"]

kernels = Extension(
    "burnpy.backends._kernels",
    ["burnpy/backends/_kernels.pyx"],
    extra_compile_args=FLAGS,
    depends=["burnpy/backends/_loops.h"],
)

setup(ext_modules=cythonize([kernels], language_level=3))
