"""`functools.lru_cache` that keeps a function's type.

By its own annotations a cached function takes anything hashable, so that no checker looks at what it is called with.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

__all__ = ["cached"]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def cached(maxsize: int, typed: bool = False) -> Callable[[FunctionT], FunctionT]:
    """Keep the results of the ``maxsize`` latest calls that differ in arguments or, ``typed``, in their types."""
    return cast(Callable[[FunctionT], FunctionT], functools.lru_cache(maxsize, typed))
