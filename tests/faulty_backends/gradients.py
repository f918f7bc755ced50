"""Mistakes in the backward direction alone."""

from collections.abc import Callable
from typing import Any

import numpy as np

from faulty_backends.base import Dense, exact, fault, refuse, with_options


@fault("adjoint_to_forward", "nearest_exact/half_pixel/backward")
class GradientOfNearestForNearestExact(Dense):
    """nearest_exact is accepted, and its gradient is nearest's."""

    def axis(self, n, m, options, axis, backward):
        return exact(n, m, with_options(options, mode="nearest") if backward else options)


@fault("adjoint_of_every_basis_vector", "bicubic/align_corners/backward")
class GradientOfBilinearForBicubic(Dense):
    """The gradient of bicubic is that of bilinear."""

    def axis(self, n, m, options, axis, backward):
        return exact(n, m, with_options(options, mode="bilinear") if backward else options)


@fault("constants_are_preserved", "bilinear/half_pixel/backward")
class GradientDividedByTheScale(Dense):
    """The gradient is divided by the scale, as an average would be."""

    def interpolate_backward(self, x, grad, output_size, options):
        result = super().interpolate_backward(x, grad, output_size, options)
        return (result * (x[0, 0].size / grad[0, 0].size if grad.size else 1)).astype(x.dtype)


@fault("adjoint_of_every_basis_vector", "nearest/align_corners/backward")
class GradientWritesInsteadOfAdding(Dense):
    """Where several outputs took one sample, the last gradient is written and the others are lost."""

    def axis(self, n, m, options, axis, backward):
        matrix = exact(n, m, options).copy()
        if backward:
            for i in range(n):
                matrix[np.flatnonzero(matrix[:, i])[:-1], i] = 0
        return matrix


@fault("adjoint_to_forward", "bicubic/align_corners/backward")
class GradientForgetsAlignCorners(Dense):
    """The gradient is that of half-pixel coordinates."""

    def axis(self, n, m, options, axis, backward):
        return exact(n, m, with_options(options, align_corners=False) if backward else options)


@fault("adjoint_of_every_basis_vector", "lanczos3/half_pixel/backward")
class GradientForgetsTheBorder(Dense):
    """The outputs at the lower and right borders hand nothing back."""

    def axis(self, n, m, options, axis, backward):
        matrix = exact(n, m, options).copy()
        if backward and m > n:
            matrix[-1] = 0
        return matrix


@fault("values_along_height", "lanczos3/half_pixel/backward")
class GradientRenormalised(Dense):
    """The transposed weights are divided by their sum, as the forward ones are."""

    def axis(self, n, m, options, axis, backward):
        matrix = exact(n, m, options)
        if not backward:
            return matrix
        sums = matrix.sum(axis=0)
        return matrix / np.where(np.abs(sums) > 1e-9, sums, 1)


@fault("agrees_with_central_differences", "bilinear/align_corners/backward")
class GradientIsTheResizeBack(Dense):
    """The gradient is taken for the resize in the other direction."""

    def interpolate_backward(self, x, grad, output_size, options):
        refuse(x, grad, output_size, options)
        return Dense.interpolate(self, grad, x.shape[2:], options)


@fault("adjoint_to_forward", "bilinear/antialias/backward")
class GradientWithoutAntialias(Dense):
    """The gradient of the antialiased filter is that of the plain one."""

    def axis(self, n, m, options, axis, backward):
        return exact(n, m, with_options(options, antialias=False) if backward else options)


class GradientThatReadsX(Dense):
    """Right, with a place for what x does to the gradient."""

    changed: Callable[..., Any]

    def interpolate_backward(self, x, grad, output_size, options):
        return self.changed(x, super().interpolate_backward(x, grad, output_size, options))


@fault("gradient_ignores_the_values_of_x", "bilinear/half_pixel/backward")
class GradientMaskedByX(GradientThatReadsX):
    """The gradient is zero where x is, as that of a rectifier would be."""

    def changed(self, x, result):
        return np.where(x == 0, 0, result).astype(x.dtype)


@fault("gradient_ignores_the_values_of_x", "bicubic/half_pixel/backward")
class GradientStartsFromX(GradientThatReadsX):
    """The buffer of the gradient is made as 0 * x, which is NaN where x is."""

    def changed(self, x, result):
        return (result + 0 * x).astype(x.dtype)


@fault("values_of_images", "bilinear/half_pixel/backward")
class GradientMixesThePasses(Dense):
    """The second pass of the gradient halves what the first has done, unless an axis is thin."""

    def operators(self, sizes, output_size, options, backward):
        high, wide = super().operators(sizes, output_size, options, backward)
        return [high, wide * 0.5] if backward and min(high.shape) > 2 and min(wide.shape) > 2 else [high, wide]
