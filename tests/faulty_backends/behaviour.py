"""Mistakes about special values, errors, state, and what the backend says of itself."""

import random
import threading
import time
from collections.abc import Callable

import numpy as np

from burnpy import UnsupportedError
from faulty_backends.base import Careful, Dense, Wrapped, exact, fault, with_options
from faulty_backends.weights import Nearest


@fault("non_finite_values_stay_in_their_window")
class OneNanSpoilsTheBatch(Wrapped):
    """All is scaled by the largest value, so that one NaN makes everything NaN."""

    def after(self, result, arrays, output_size, options):
        top = np.max(np.abs(arrays[-1])) if arrays[-1].size else 1
        return result if np.isfinite(top) else result * np.asarray(np.nan, result.dtype)


@fault("non_finite_values_stay_in_their_window", "bicubic/half_pixel/backward")
class NanBecomesZero(Wrapped):
    """NaN and infinities are turned into zeros."""

    def around(self, call, arrays, output_size, options):
        return call(
            *arrays[:-1], np.where(np.isfinite(arrays[-1]), arrays[-1], 0).astype(arrays[-1].dtype), output_size, options
        )


@fault("non_finite_values_stay_in_their_window", "bilinear/half_pixel/forward")
class NanSpreadsAlongTheRow(Wrapped):
    """A NaN spreads along its row, by a running sum."""

    def after(self, result, arrays, output_size, options):
        bad = np.isnan(result).any(axis=3, keepdims=True)
        return np.where(bad, np.asarray(np.nan, result.dtype), result)


@fault("non_finite_values_reach_just_their_outputs", "bilinear/align_corners/forward", level="strict")
class ZeroTimesNan(Careful):
    """Weights of zero beside the others are multiplied: a NaN leaks to its neighbours."""

    def columns(self, weights):
        some = np.flatnonzero(weights)
        return np.arange(max(some[0] - 1, 0), min(some[-1] + 2, len(weights))) if len(some) else some


@fault("minus_zero_survives", "nearest/half_pixel/forward", level="strict")
class SumsStartFromZero(Wrapped):
    """Sums start from +0, and -0 is lost."""

    def after(self, result, arrays, output_size, options):
        return result if result.shape == arrays[-1].shape else result + np.asarray(0.0, result.dtype)


@fault("denormals_are_kept", "bilinear/half_pixel/forward", level="strict")
class FlushesDenormals(Wrapped):
    """Denormal numbers are flushed to zero."""

    def after(self, result, arrays, output_size, options):
        tiny = np.finfo(result.dtype).tiny
        return np.where(np.abs(result) < tiny, np.copysign(np.asarray(0, result.dtype), result), result)


@fault("huge_values_do_not_overflow", "bilinear/half_pixel/forward")
class SumsBeforeDividing(Wrapped):
    """Weights are whole numbers, and their sum is divided out at the end: eight times the result must be finite."""

    def after(self, result, arrays, output_size, options):
        if result.shape == arrays[-1].shape:
            return result
        eight = np.asarray(8, result.dtype)
        return result * eight / eight


@fault("averages_stay_in_range", "bilinear/half_pixel/forward", level="strict")
class InterpolatesByADifference(Wrapped):
    """a + (b - a) t: the difference of two large values of other signs overflows."""

    def after(self, result, arrays, output_size, options):
        x = arrays[-1]
        with np.errstate(over="ignore", invalid="ignore"):
            overflows = x.size and not np.isfinite(np.ptp(x)) and np.isfinite(x).all()
        return np.full_like(result, np.nan) if overflows and result.shape != x.shape else result


@fault("equal_size_is_identity", "bicubic/half_pixel/forward")
class EqualSizeSwapsTheLeadingAxes(Wrapped):
    """At equal sizes batch and channels are swapped, where that goes unseen in the shape."""

    def after(self, result, arrays, output_size, options):
        same = result.shape == arrays[-1].shape and result.shape[0] == result.shape[1]
        return np.ascontiguousarray(result.swapaxes(0, 1)) if same else result


@fault("equal_size_gives_the_same_bits", "lanczos3/half_pixel/forward", level="strict")
class EqualSizeRoundsOnce(Wrapped):
    """At equal sizes values are divided by a sum of weights that is not quite one."""

    def after(self, result, arrays, output_size, options):
        if result.shape != arrays[-1].shape:
            return result
        zero = np.asarray(0, result.dtype)
        return np.where(np.isfinite(result) & (result > 0), np.nextafter(result, zero), result)


@fault("linear", "bicubic/half_pixel/forward")
class ClipsAtAHundred(Wrapped):
    """Results are clipped to plus and minus 100."""

    def after(self, result, arrays, output_size, options):
        finite = np.isfinite(result) & (np.abs(arrays[-1]).max(initial=0) < 5000)
        return np.where(finite, np.clip(result, -100, 100), result)


@fault("adjoint_of_every_basis_vector", "bilinear/half_pixel/backward")
class ShortcutForOneEntry(Wrapped):
    """A gradient with one entry takes a shortcut that forgets the second neighbour in small images."""

    def after(self, result, arrays, output_size, options):
        if np.count_nonzero(arrays[-1]) == 1 and arrays[-1].max(initial=0) == 1 and result.size < 7:
            result.reshape(-1)[np.argmin(np.where(result == 0, np.inf, np.abs(result)))] = 0
        return result


@fault("indices_are_exact", "nearest/half_pixel/forward", level="strict")
class NearestIndexInSingle(Nearest):
    """The index of nearest is computed in float32."""

    def index(self, o, n, m):
        return int(np.float32(o) * (np.float32(n) / np.float32(m)))


@fault("indices_are_exact", "nearest_exact/align_corners/backward", level="strict")
class NearestExactIndexInDouble(Nearest):
    """The index of nearest_exact is computed in float64."""

    def index(self, o, n, m):
        return int((o + 0.5) * (n / m))


@fault("refuses_bad_shapes", "bilinear/align_corners/forward")
class GuessesTheBatch(Wrapped):
    """An image without batch axis is taken for a batch of one."""

    def around(self, call, arrays, output_size, options):
        return call(*(array[None] if array.ndim == 3 else array for array in arrays), output_size, options)


@fault("refuses_bad_shapes", "nearest/half_pixel/forward")
class SwallowsErrors(Wrapped):
    """Whatever goes wrong, an empty array comes back."""

    def around(self, call, arrays, output_size, options):
        try:
            return call(*arrays, output_size, options)
        except Exception:
            return np.zeros((0,))


@fault("refuses_bad_sizes", "bilinear/align_corners/forward")
class NegativeSizesLoseTheirSign(Wrapped):
    """Negative sizes are taken without their sign."""

    def around(self, call, arrays, output_size, options):
        size = tuple(abs(size) if isinstance(size, int) else size for size in output_size)
        return call(*arrays, size, options)


@fault("refuses_a_mismatched_grad", "bilinear/half_pixel/backward")
class TakesTheSizeFromGrad(Wrapped):
    """output_size is ignored backward: it is read off grad."""

    def around(self, call, arrays, output_size, options):
        if len(arrays) == 1:
            return call(*arrays, output_size, options)
        grad = arrays[-1]
        good = (
            isinstance(output_size, tuple)
            and len(output_size) == 2
            and all(isinstance(s, int) and s > 0 for s in output_size)
        )
        return call(*arrays, grad.shape[2:] if good and grad.ndim == 4 else output_size, options)


@fault("refuses_unknown_options", "bilinear/half_pixel/forward")
class UnknownOptionsAreBilinear(Wrapped):
    """Options that it does not know are taken for bilinear."""

    def around(self, call, arrays, output_size, options):
        from burnpy import InterpolateOptions

        known = isinstance(options, InterpolateOptions)
        return call(*arrays, output_size, options if known else InterpolateOptions("bilinear"))


@fault("raises_shape_error", "bilinear/half_pixel/forward", level="strict")
class RaisesRuntimeError(Wrapped):
    """Bad shapes raise RuntimeError."""

    def around(self, call, arrays, output_size, options):
        try:
            return call(*arrays, output_size, options)
        except ValueError as error:
            raise RuntimeError(str(error)) from error


@fault("raises_shape_error", "nearest/half_pixel/forward", level="strict")
class SizeZeroIsEmpty(Wrapped):
    """An output size of 0 gives an empty array."""

    def around(self, call, arrays, output_size, options):
        if tuple(output_size) in ((0, 2), (5, 0)):
            return np.empty((*arrays[-1].shape[:2], *output_size), arrays[-1].dtype)
        return call(*arrays, output_size, options)


@fault("raises_dtype_error", "bilinear/half_pixel/forward", level="strict")
class IntegersAreConverted(Wrapped):
    """Integers are converted silently."""

    def around(self, call, arrays, output_size, options):
        convert = [array.astype(float) if getattr(array, "dtype", None) == np.int32 else array for array in arrays]
        return call(*convert, output_size, options)


@fault("raises_dtype_error", "bilinear/half_pixel/backward", level="strict")
class MixedTypesArePromoted(Wrapped):
    """A grad of another dtype is converted silently."""

    def around(self, call, arrays, output_size, options):
        x, grad = arrays[0], arrays[-1]
        if len(arrays) == 1:
            return call(x, output_size, options)
        both = all(isinstance(array, np.ndarray) and array.dtype.kind == "f" for array in arrays)
        return call(x, grad.astype(x.dtype) if both else grad, output_size, options)


@fault("empty_batches_are_fine", "bilinear/half_pixel/forward", level="strict")
class EmptyBatchesRaise(Wrapped):
    """A batch without images raises."""

    def around(self, call, arrays, output_size, options):
        if 0 in getattr(arrays[-1], "shape", ())[:2]:
            raise ValueError("zero-size array")
        return call(*arrays, output_size, options)


@fault("numpy_integers_are_sizes", "bilinear/half_pixel/forward", level="strict")
class NumpyIntegersAreRefused(Wrapped):
    """NumPy integers are not taken as sizes."""

    def around(self, call, arrays, output_size, options):
        if any(isinstance(size, np.integer) for size in output_size):
            raise TypeError("sizes must be int")
        return call(*arrays, output_size, options)


@fault("works_after_an_error", "bilinear/half_pixel/forward")
class AnErrorLeavesItHalfDone(Wrapped):
    """After an error the next call reuses the half-filled scratch of the failed one."""

    dirty = False

    def around(self, call, arrays, output_size, options):
        if self.dirty:
            self.dirty = False
            return np.zeros_like(call(*arrays, output_size, options))
        try:
            return call(*arrays, output_size, options)
        except Exception:
            self.dirty = (isinstance(arrays[-1], np.ndarray) and arrays[-1].ndim != 4) or min(output_size) < 0
            raise


@fault("same_call_same_bits", "bilinear/half_pixel/forward")
class LastBitAtRandom(Wrapped):
    """The order of additions, and so the last bit, is left to chance."""

    def after(self, result, arrays, output_size, options):
        if result.shape == arrays[-1].shape or not result.size or random.random() < 0.5:
            return result
        return np.nextafter(result, np.asarray(np.inf, result.dtype))


@fault("same_call_same_bits", "bilinear/align_corners/forward")
class SecondCallTakesAnotherPath(Wrapped):
    """From the second call at a size on a tuned path is used, which rounds differently."""

    def __init__(self):
        self.seen = set()

    def after(self, result, arrays, output_size, options):
        key = (arrays[-1].shape, result.shape, result.dtype)
        if key in self.seen and result.shape != arrays[-1].shape and result.size:
            return np.nextafter(result, np.asarray(np.inf, result.dtype))
        self.seen.add(key)
        return result


@fault("threads_do_not_disturb_each_other", "bilinear/half_pixel/forward")
class OneScratchForAllThreads(Wrapped):
    """The input of a call is kept on the object, where another thread's call replaces it."""

    def around(self, call, arrays, output_size, options):
        self.source = arrays[-1]
        if threading.active_count() > 1:
            time.sleep(1e-4)
        source = self.source if getattr(self.source, "shape", 0) == getattr(arrays[-1], "shape", 0) else arrays[-1]
        return call(*arrays[:-1], source, output_size, options)


class Caching(Dense):
    """Right, with a cache of operators under a key that forgets something."""

    key: Callable[..., object]

    def __init__(self):
        self.cache = {}

    def axis(self, n, m, options, axis, backward):
        key = self.key(n, m, options, axis, backward)
        if key not in self.cache:
            self.cache[key] = self.made(n, m, options, backward)
        return self.cache[key]

    def made(self, n, m, options, backward):
        return exact(n, m, options)


@fault("calls_leave_no_trace", "bilinear/half_pixel/forward")
class CacheForgetsAlignCorners(Caching):
    """Operators are kept without align_corners in the key."""

    def key(self, n, m, options, axis, backward):
        return n, m, options.mode, options.antialias


@fault("calls_leave_no_trace", "bicubic/half_pixel/backward")
class CacheForgetsAntialias(Caching):
    """Operators are kept without antialias in the key."""

    def key(self, n, m, options, axis, backward):
        return n, m, options.mode, options.align_corners


@fault("calls_leave_no_trace", "bicubic/align_corners/forward")
class CacheForgetsTheMode(Caching):
    """Operators are kept without the mode in the key."""

    def key(self, n, m, options, axis, backward):
        return n, m, options.align_corners, options.antialias


@fault("calls_leave_no_trace", "lanczos3/half_pixel/forward")
class CacheForgetsTheDtype(Caching):
    """Weights are kept in the precision in which they were first asked for."""

    dtype = "float64"

    def interpolate(self, x, output_size, options):
        self.dtype = getattr(x, "dtype", "float64")
        return super().interpolate(x, output_size, options)

    def key(self, n, m, options, axis, backward):
        return n, m, options

    def made(self, n, m, options, backward):
        return exact(n, m, options).astype(self.dtype).astype(np.float64)


@fault("calls_leave_no_trace", "nearest/half_pixel/forward")
class CacheForgetsTheSizes(Caching):
    """Operators are kept under the ratio of the sizes, and cut to fit."""

    def key(self, n, m, options, axis, backward):
        return n, m, options.mode.is_nearest, options.align_corners, options.antialias


@fault("many_sizes_leave_no_trace", "bilinear/half_pixel/forward", level="strict")
class ForgetsThePrecisionWhenFull(Wrapped):
    """When its cache of 256 sizes is full, plans are made anew in another order of passes."""

    def __init__(self):
        self.recent = []

    def after(self, result, arrays, output_size, options):
        self.recent.append(tuple(output_size))
        full = len(set(self.recent[-300:])) > 256
        return np.nextafter(result, np.asarray(np.inf, result.dtype)) if full and result.size else result


@fault("declares_what_it_can", "lanczos3/half_pixel/forward")
class ClaimsEverything(Wrapped):
    """supports() says True for lanczos3, which it refuses."""

    def supports(self, mode, *, align_corners, antialias, backward, dtype):
        return True

    def around(self, call, arrays, output_size, options):
        if options.mode == "lanczos3":
            raise UnsupportedError("no lanczos3 here")
        return call(*arrays, output_size, options)


@fault("declares_what_it_can", "bilinear/half_pixel/backward")
class ClaimsTooLittle(Wrapped):
    """supports() denies the gradient, which it has."""

    def supports(self, mode, *, align_corners, antialias, backward, dtype):
        return not backward


@fault("declares_what_it_can", "bicubic/half_pixel/forward")
class PlainNotImplemented(Wrapped):
    """What is unsupported raises NotImplementedError and not UnsupportedError."""

    def supports(self, mode, *, align_corners, antialias, backward, dtype):
        return mode != "bicubic"

    def around(self, call, arrays, output_size, options):
        if options.mode == "bicubic":
            raise NotImplementedError("bicubic")
        return call(*arrays, output_size, options)


@fault("declares_what_it_can", "bilinear/antialias/forward")
class ClaimsWhatItHasOnlyUpwards(Wrapped):
    """supports() says True, but shrinking with antialias is refused."""

    def supports(self, mode, *, align_corners, antialias, backward, dtype):
        return True

    def around(self, call, arrays, output_size, options):
        if options.antialias and output_size[0] < arrays[0].shape[2]:
            raise UnsupportedError("antialias is for growing only")
        return call(*arrays, output_size, options)


@fault("values_along_height", "lanczos3/half_pixel/forward")
class FallsBackToBicubic(Dense):
    """What it lacks is answered by another mode."""

    def axis(self, n, m, options, axis, backward):
        return exact(n, m, with_options(options, mode="bicubic"))
