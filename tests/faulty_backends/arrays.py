"""Mistakes about batches, sizes, element types and memory."""

import numpy as np

from faulty_backends.base import Careful, Dense, Wrapped, fault
from faulty_backends.weights import convolved, coordinates, triangle


@fault("images_are_independent", "bicubic/half_pixel/backward")
class OnlyTheFirstImageOfABatch(Wrapped):
    """The gradient of the first image alone is computed; the others get zeros."""

    def after(self, result, arrays, output_size, options):
        result[1:] = 0
        return result


@fault("images_are_independent")
class OnlyTheFirstChannel(Wrapped):
    """With more than one channel, all get the first one's values."""

    def after(self, result, arrays, output_size, options):
        result[:, 1:] = result[:, :1]
        return result


@fault("images_are_independent")
class SixteenChannelsAtATime(Wrapped):
    """Channels are done sixteen at a time, and the rest is forgotten."""

    def after(self, result, arrays, output_size, options):
        if result.shape[1] > 16:
            result[:, result.shape[1] // 16 * 16 :] = 0
        return result


@fault("images_are_independent", "lanczos3/half_pixel/forward")
class ImagesLeakIntoEachOther(Wrapped):
    """Images of a batch are centred by their common mean, in half precision."""

    def after(self, result, arrays, output_size, options):
        if len(result) < 2:
            return result
        leak = np.float16(arrays[-1].astype(np.float64).mean()) * 1e-2
        return (result + leak).astype(result.dtype)


@fault("values_at_large_sizes")
class WrongBeyondAThousand(Wrapped):
    """Beyond 1024 samples a block is done twice."""

    def after(self, result, arrays, output_size, options):
        for axis in (2, 3):
            if result.shape[axis] > 1024:
                result = result.swapaxes(axis, 3)
                result[..., 1024:] *= 2
                result = result.swapaxes(axis, 3)
        return result


@fault("values_of_images", "bilinear/align_corners/forward")
class WrongBeyondAVector(Wrapped):
    """What is left over after blocks of 64 columns, in images, is copied from the column before."""

    def after(self, result, arrays, output_size, options):
        if 64 < result.shape[3] < 200 and result.shape[2] > 1:
            result[..., -1] = result[..., -2]
        return result


@fault("values_along_height", "bilinear/half_pixel/forward")
class AFullVectorOfRows(Wrapped):
    """Where the height is that of one vector, its last row is copied from the row before."""

    def after(self, result, arrays, output_size, options):
        if result.shape[2] == 16:
            result[:, :, 15] = result[:, :, 14]
        return result


@fault("values_along_width", "bilinear/half_pixel/backward")
class AFullVectorOfColumns(Wrapped):
    """Where the width is that of one vector, its last column is copied from the column before."""

    def after(self, result, arrays, output_size, options):
        if result.shape[3] == 16:
            result[..., 15] = result[..., 14]
        return result


@fault("every_dtype")
class SinglePrecisionAddsInHalf(Wrapped):
    """float32 is added up in half precision."""

    def after(self, result, arrays, output_size, options):
        return result.astype(np.float16).astype(np.float32) if result.dtype == np.float32 else result


@fault("every_dtype", "bicubic/half_pixel/backward")
class WrongForHalfOnly(Wrapped):
    """The path of float16 has its rows one off."""

    def after(self, result, arrays, output_size, options):
        return np.roll(result, 1, axis=2) if result.dtype == np.float16 and result.shape[2] > 5 else result


@fault("rounds_once", level="strict")
class HalfRoundedAfterEveryPass(Careful):
    """float16 is rounded after each of the two passes."""

    def product(self, x, high, wide):
        if x.dtype.type is not np.float16:
            return super().product(x, high, wide)
        first = super().product(x, np.eye(x.shape[2]), wide)
        return super().product(first, high, np.eye(first.shape[3]))


@fault("values_are_precise", "bilinear/align_corners/forward", level="strict")
class SinglePrecisionCoordinatesForSingle(Careful):
    """float32 arrays are resampled at float32 coordinates."""

    def product(self, x, high, wide):
        if x.dtype == np.float32 and 1 in x.shape[2:] and max(high.shape[1], wide.shape[1]) > 100:
            from burnpy import InterpolateOptions

            options = InterpolateOptions("bilinear")
            high, wide = (single(matrix, options) for matrix in (high, wide))
        return super().product(x, high, wide)


def single(matrix, options):
    m, n = matrix.shape
    rounded = [float(np.float32(o) * (np.float32(n - 1) / np.float32(max(m - 1, 1)))) for o in range(m)]
    return convolved(n, m, triangle, 1, rounded if n != m else coordinates(n, m, options))


@fault("shape_and_dtype", "bilinear/half_pixel/forward")
class HeightAndWidthSwapped(Dense):
    """output_size is read as (width, height)."""

    def operators(self, sizes, output_size, options, backward):
        return super().operators(sizes, output_size[::-1], options, backward)


@fault("shape_and_dtype", "bilinear/half_pixel/forward")
class HalfComesBackAsSingle(Wrapped):
    """float16 comes back as float32."""

    def after(self, result, arrays, output_size, options):
        return result.astype(np.float32) if result.dtype == np.float16 else result


@fault("shape_and_dtype", "nearest/half_pixel/backward")
class GradientHasTheShapeOfGrad(Wrapped):
    """The gradient has the shape of grad."""

    def after(self, result, arrays, output_size, options):
        return np.zeros_like(arrays[-1])


@fault("shape_and_dtype")
class ReturnsAList(Wrapped):
    """The result is a nested list."""

    def after(self, result, arrays, output_size, options):
        return result.tolist()


@fault("any_layout", "bicubic/half_pixel/forward")
class ReadsMemoryInItsOwnOrder(Wrapped):
    """The input is read in the order of memory, whatever its strides say."""

    def around(self, call, arrays, output_size, options):
        x = arrays[-1]
        seen = x.ravel(order="K").reshape(x.shape)
        return call(*arrays[:-1], seen, output_size, options)


@fault("any_layout")
class LosesNegativeStrides(Wrapped):
    """Negative strides are taken for positive ones."""

    def around(self, call, arrays, output_size, options):
        x = arrays[-1]
        turned = tuple(slice(None, None, -1 if stride < 0 else 1) for stride in x.strides)
        return call(*arrays[:-1], x[turned], output_size, options)


@fault("any_layout")
class ReadsForeignBytesAsItsOwn(Wrapped):
    """Byte order is ignored."""

    def around(self, call, arrays, output_size, options):
        native = [array.view(array.dtype.newbyteorder("=")) if array.dtype.byteorder == ">" else array for array in arrays]
        return call(*native, output_size, options)


@fault("any_layout")
class NeedsToWrite(Wrapped):
    """Read-only arrays are refused, since the buffer is asked for as writable."""

    def around(self, call, arrays, output_size, options):
        for array in arrays:
            if not array.flags.writeable:
                raise ValueError("buffer source array is read-only")
        return call(*arrays, output_size, options)


@fault("layout_changes_no_bit", "bicubic/half_pixel/forward", level="strict")
class AnotherOrderForAnotherLayout(Wrapped):
    """Where the columns are contiguous the last bit is rounded differently."""

    def after(self, result, arrays, output_size, options):
        x = arrays[-1]
        return (
            np.nextafter(result, np.asarray(np.inf, result.dtype)) if not x.flags.c_contiguous and result.size else result
        )


@fault("inputs_are_left_alone", "bilinear/half_pixel/forward")
class ScalesItsInput(Wrapped):
    """x is normalised in place, and not put back."""

    def after(self, result, arrays, output_size, options):
        if arrays[0].flags.writeable:
            arrays[0][...] *= 0.5
        return result


@fault("inputs_are_left_alone", "lanczos3/half_pixel/backward")
class UsesGradAsScratch(Wrapped):
    """grad is used as scratch memory where it is contiguous."""

    def after(self, result, arrays, output_size, options):
        if arrays[-1].flags.writeable and arrays[-1].flags.c_contiguous and arrays[-1].size:
            arrays[-1].reshape(-1)[-1] += 1
        return result


@fault("result_is_fresh_memory", "nearest/half_pixel/forward")
class EqualSizeReturnsTheInput(Wrapped):
    """At equal sizes the input itself is returned."""

    def after(self, result, arrays, output_size, options):
        return arrays[-1] if result.shape == arrays[-1].shape else result


@fault("result_is_fresh_memory", "bilinear/align_corners/forward")
class OneBufferForAll(Wrapped):
    """Results of one shape share one buffer."""

    def __init__(self):
        self.buffers = {}

    def after(self, result, arrays, output_size, options):
        import threading

        kept = self.buffers.setdefault((result.shape, result.dtype, threading.get_ident()), result)
        kept[...] = result
        return kept


@fault("result_is_fresh_memory", "bilinear/half_pixel/forward")
class RepeatsByAStrideOfZero(Wrapped):
    """A single column is widened by a stride of zero: writing one element writes them all."""

    def after(self, result, arrays, output_size, options):
        if arrays[-1].shape[3] == 1 and result.shape[3] > 1:
            return np.broadcast_to(result[..., :1], result.shape)
        return result
