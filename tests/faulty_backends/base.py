"""What faults are made of: right backends with places to put a mistake, and the record of a fault."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnpy import DTypeError, InterpolateOptions, ShapeError
from burnpy.backends.ndarray import NdarrayBackend
from burnpy.backends.reference import axis_matrix
from burnpy.conformance import Level
from burnpy.protocol import check_grad_shape, check_image_shape, checked_sizes

FAULTS: list["Fault"] = []


@dataclass(frozen=True)
class Fault:
    """A believable mistake.

    ``about`` is the check that must catch it at ``level``; ``cells`` selects where it shows.
    """

    name: str
    sentence: str
    make: Callable[[], Any]
    about: str
    cells: str
    level: Level


def fault(about, cells="bilinear/half_pixel/forward", level: Level = "core"):
    """Enter a class into the zoo; its docstring says what the mistake is."""

    def enter(kind):
        kind.name = kind.__name__
        FAULTS.append(Fault(kind.__name__, " ".join(kind.__doc__.split()), kind, about, cells, level))
        return kind

    return enter


exact = functools.lru_cache(maxsize=4096)(axis_matrix)


class Dense:
    """Right: the product with a dense matrix along each axis. Mistakes in weights go into `axis`."""

    name = "dense"

    def interpolate(self, x, output_size, options):
        refuse(x, None, output_size, options)
        return self.product(x, *self.operators(x.shape[2:], output_size, options, False))

    def interpolate_backward(self, x, grad, output_size, options):
        refuse(x, grad, output_size, options)
        high, wide = self.operators(x.shape[2:], output_size, options, True)
        return self.product(grad, high.T, wide.T)

    def operators(self, sizes, output_size, options, backward):
        pairs = zip(sizes, output_size, strict=True)
        return [self.axis(n, m, options, axis, backward) for axis, (n, m) in enumerate(pairs)]

    def axis(self, n, m, options, axis, backward):
        return exact(n, m, options)

    def product(self, x, high, wide):
        return (high @ x.astype(np.float64) @ wide.T).astype(x.dtype)


def refuse(x, grad, output_size, options):
    """Refuse what the contract refuses."""
    for array in (x,) if grad is None else (x, grad):
        if not isinstance(array, np.ndarray) or array.dtype.name not in ("float16", "float32", "float64"):
            raise DTypeError("floating-point arrays only")
    if not isinstance(options, InterpolateOptions):
        raise TypeError("options must be InterpolateOptions")
    check_image_shape(x.shape, checked_sizes(output_size))
    if grad is not None:
        check_grad_shape(x.shape, grad.shape, output_size)
        if grad.dtype.type is not x.dtype.type:
            raise DTypeError("grad must have the dtype of x")


class Careful(Dense):
    """Right at level strict too: weights of zero take no part, sums start with their first product."""

    margin = 0

    def product(self, x, high, wide):
        y = x.astype(np.float64)
        for matrix, axis in ((wide, 3), (high, 2)):
            if matrix.shape[0] != matrix.shape[1]:
                y = np.moveaxis(np.stack([self.row(weights, np.moveaxis(y, axis, 0)) for weights in matrix]), 0, axis)
        return y.astype(x.dtype)

    def row(self, weights, rows):
        terms = [weights[i] * rows[i] for i in self.columns(weights)]
        return functools.reduce(np.add, terms) if terms else np.zeros(rows.shape[1:])

    def columns(self, weights):
        return np.flatnonzero(weights)


class Wrapped(NdarrayBackend):
    """Right: the compiled backend, with one place before and one after the work, in both directions."""

    name = "wrapped"
    supports: Any = None  # it says nothing of what it can

    def interpolate(self, x, output_size, options):
        return self.around(super().interpolate, (x,), output_size, options)

    def interpolate_backward(self, x, grad, output_size, options):
        return self.around(super().interpolate_backward, (x, grad), output_size, options)

    def around(self, call, arrays, output_size, options):
        """Make the call; the last of ``arrays`` is what the operator is applied to."""
        return self.after(call(*arrays, output_size, options), arrays, output_size, options)

    def after(self, result, arrays, output_size, options):
        return result


def with_options(options, **changes):
    """Return options with some changed."""
    settings = {"mode": options.mode, "align_corners": options.align_corners, "antialias": options.antialias}
    return InterpolateOptions(**{**settings, **changes})


__all__ = [
    "FAULTS",
    "Careful",
    "DTypeError",
    "Dense",
    "Fault",
    "ShapeError",
    "Wrapped",
    "exact",
    "fault",
    "refuse",
    "with_options",
]
