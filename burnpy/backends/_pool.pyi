from collections.abc import Callable
from typing import NoReturn

def forget() -> None: ...
def helpers() -> int: ...

# What Cython adds to every module:
__test__: dict[str, str]
__pyx_capi__: dict[str, object]

__reduce_cython__: Callable[..., NoReturn]
__setstate_cython__: Callable[..., NoReturn]
