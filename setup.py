"""Build of the compiled kernels; everything else is declared in pyproject.toml.

The one kernel file is compiled for any processor, and on x86-64 also for AVX2 and AVX-512; which one runs is
chosen at import.
"""

import sys
import sysconfig

from Cython.Build import cythonize
from setuptools import Extension, setup

MSVC = sys.platform == "win32"
# No contraction and no fast-math: the bits of a result must not depend on the compiler's choice of instructions.
FLAGS = ["/O2", "/fp:precise"] if MSVC else ["-O3", "-ffp-contract=off", "-fno-math-errno"]


def kernels(name: str, *flags: str, optional: bool = False) -> Extension:
    """Return one build of the kernels."""
    return Extension(
        f"burnpy.backends.{name}",
        [f"burnpy/backends/{name}.pyx"],
        extra_compile_args=[*FLAGS, *flags],
        depends=["burnpy/backends/_kernels.pyx", "burnpy/backends/_loops.h"],
        optional=optional,
    )


pool = Extension(
    "burnpy.backends._pool",
    ["burnpy/backends/_pool.pyx"],
    extra_compile_args=FLAGS,
    depends=["burnpy/backends/_pool.h"],
)
extensions = [pool, kernels("_kernels")]
if sysconfig.get_platform().endswith(("x86_64", "amd64")):
    avx2 = ["-mavx2", "-mf16c"]
    avx512 = [*avx2, *(f"-mavx512{part}" for part in ("f", "vl", "bw", "dq"))]
    extensions.append(kernels("_kernels_avx2", *(["/arch:AVX2"] if MSVC else avx2), optional=True))
    extensions.append(kernels("_kernels_avx512", *(["/arch:AVX512"] if MSVC else avx512), optional=True))

setup(ext_modules=cythonize(extensions, language_level=3))
