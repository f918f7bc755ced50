# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""Apply taps along axes of a strided array: the one kernel, which knows no mode and no direction.

Along one axis the array is a view (outer, n, inner). Where inner elements are contiguous the kernel weighs whole rows
(`_rows`); where they are few, as along the last axis, it transposes a block of outer rows so that they become contiguous,
and weighs those (`_columns`); runs of a single weight 1, or of none, are copied (`_copies`). Four loops do without that:
`_dealt`, where outputs weigh in turns, `_shuffled`, where the inputs of a register of outputs lie in one or two registers,
`_scatter`, where most runs are empty, and `_signal`, where there is one row, or where most inputs are not weighed. Large
sources are asked for ahead, and large results written past the cache.
Several axes are done box by box of the output, so that what stands between two axes stays in cache (`_box`); where no input
is weighed twice, or few rows are before an axis that is halved, two of them are done together, row by row of the output
(`_both`, `_picked`). Half precision is converted
there too, on the way in and on the way out (`_convert`). Every output is the sum of its products from left to right,
whichever way it is reached, so that bits depend on neither path, box, thread nor instruction set.
"""

from cpython.buffer cimport PyBUF_RECORDS, PyBUF_RECORDS_RO, PyBuffer_Release, PyObject_GetBuffer
from libc.string cimport memcpy, memset

from burnpy.backends cimport _pool

import numpy as np

cdef extern from "_loops.h" nogil:
    void burnpy_transpose_f32(const float *x, Py_ssize_t sx, float *y, Py_ssize_t sy, Py_ssize_t rows, Py_ssize_t columns)
    void burnpy_transpose_f64(const double *x, Py_ssize_t sx, double *y, Py_ssize_t sy, Py_ssize_t rows, Py_ssize_t columns)
    void burnpy_row_f32(float *y, const float *x, Py_ssize_t sx, const float *w, Py_ssize_t count,
                        Py_ssize_t inner, Py_ssize_t ahead)
    void burnpy_row_f64(double *y, const double *x, Py_ssize_t sx, const double *w, Py_ssize_t count,
                        Py_ssize_t inner, Py_ssize_t ahead)
    void burnpy_rows_f32(float *y, Py_ssize_t sy, const float *x, Py_ssize_t sx, const Py_ssize_t *first, const float *w,
                         Py_ssize_t taps, Py_ssize_t runs, Py_ssize_t inner, bint far)
    void burnpy_rows_f64(double *y, Py_ssize_t sy, const double *x, Py_ssize_t sx, const Py_ssize_t *first, const double *w,
                         Py_ssize_t taps, Py_ssize_t runs, Py_ssize_t inner, bint far)
    void burnpy_runs_f32(const float *x, Py_ssize_t sx, float *y, Py_ssize_t sy, const Py_ssize_t *first, const float *w,
                         Py_ssize_t taps, Py_ssize_t runs)
    void burnpy_runs_f64(const double *x, Py_ssize_t sx, double *y, Py_ssize_t sy, const Py_ssize_t *first,
                         const double *w, Py_ssize_t taps, Py_ssize_t runs)
    void burnpy_singles_f32(const float *x, Py_ssize_t sx, float *y, Py_ssize_t sy, const Py_ssize_t *first,
                            const float *w, Py_ssize_t taps, Py_ssize_t runs)
    void burnpy_singles_f64(const double *x, Py_ssize_t sx, double *y, Py_ssize_t sy, const Py_ssize_t *first,
                            const double *w, Py_ssize_t taps, Py_ssize_t runs)
    void burnpy_phases_f32(const float *x, float *y, const float *w, Py_ssize_t taps, Py_ssize_t groups, int phases)
    void burnpy_phases_f64(const double *x, double *y, const double *w, Py_ssize_t taps, Py_ssize_t groups, int phases)
    bint BURNPY_DEALS
    Py_ssize_t BURNPY_LANES_F32, BURNPY_LANES_F64
    void burnpy_mixed_runs_f32(const float *x, Py_ssize_t sx, float *y, Py_ssize_t sy, const Py_ssize_t *first,
                               const float *w, const Py_ssize_t *taps, Py_ssize_t runs)
    void burnpy_mixed_runs_f64(const double *x, Py_ssize_t sx, double *y, Py_ssize_t sy, const Py_ssize_t *first,
                               const double *w, const Py_ssize_t *taps, Py_ssize_t runs)
    void burnpy_mixed_singles_f32(const float *x, Py_ssize_t sx, float *y, Py_ssize_t sy, const Py_ssize_t *first,
                                  const float *w, const Py_ssize_t *taps, Py_ssize_t runs)
    void burnpy_mixed_singles_f64(const double *x, Py_ssize_t sx, double *y, Py_ssize_t sy, const Py_ssize_t *first,
                                  const double *w, const Py_ssize_t *taps, Py_ssize_t runs)
    ctypedef struct burnpy_across:
        const void *weights
        Py_ssize_t count, step
    void burnpy_halves_f32(const float *x, float *y, const float *w, Py_ssize_t taps, Py_ssize_t groups,
                           const burnpy_across *rows)
    void burnpy_halves_f64(const double *x, double *y, const double *w, Py_ssize_t taps, Py_ssize_t groups,
                           const burnpy_across *rows)
    bint burnpy_quads(const float *x, float *y, const Py_ssize_t *first, const float *w, Py_ssize_t taps, Py_ssize_t runs,
                      Py_ssize_t ahead, const burnpy_across *rows)
    bint burnpy_pixels(const float *x, float *y, const Py_ssize_t *first, const float *w, Py_ssize_t taps, Py_ssize_t runs,
                       Py_ssize_t inner, const burnpy_across *rows)
    void burnpy_windows_f32(const float *x, float *y, const Py_ssize_t *first, const float *w, Py_ssize_t taps,
                            Py_ssize_t runs, Py_ssize_t inner, const burnpy_across *rows)
    void burnpy_windows_f64(const double *x, double *y, const Py_ssize_t *first, const double *w, Py_ssize_t taps,
                            Py_ssize_t runs, Py_ssize_t inner, const burnpy_across *rows)
    void burnpy_pick(char *y, Py_ssize_t sy, const char *x, Py_ssize_t sx, const Py_ssize_t *first, Py_ssize_t runs,
                     Py_ssize_t size)
    void burnpy_scatter_f32(float *y, const float *x, const Py_ssize_t *row, const Py_ssize_t *first, const float *w,
                            Py_ssize_t count, Py_ssize_t inner)
    void burnpy_scatter_f64(double *y, const double *x, const Py_ssize_t *row, const Py_ssize_t *first, const double *w,
                            Py_ssize_t count, Py_ssize_t inner)
    void burnpy_place(char *y, Py_ssize_t sy, const char *x, Py_ssize_t sx, const Py_ssize_t *row, const Py_ssize_t *first,
                      Py_ssize_t count, Py_ssize_t size)
    void burnpy_from_half(float *y, const unsigned short *x, Py_ssize_t sx, Py_ssize_t count)
    void burnpy_to_half(unsigned short *y, Py_ssize_t sy, const float *x, Py_ssize_t count)
    ctypedef struct burnpy_shuffle:
        const int *source
        const int *lowest
        const float *w
        const float *none
        Py_ssize_t elements, taps, stride, whole, unwhole, window, step, even, uneven, advance
        int registers, copies, once
    Py_ssize_t BURNPY_SHUFFLE_LANES, BURNPY_MOST_SHUFFLED, BURNPY_ABREAST
    Py_ssize_t BURNPY_MOST_PICKS, BURNPY_MOST_PIXEL_PICKS
    bint BURNPY_TWO_AS_ONE
    void burnpy_shuffled(const burnpy_shuffle *table, const float *x, Py_ssize_t lx, float *y, Py_ssize_t ly,
                         Py_ssize_t rows, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t high,
                         const burnpy_across *across)
    bint burnpy_shuffles_across(const burnpy_shuffle *table, Py_ssize_t count)
    int burnpy_best_build()
    void burnpy_ask(const char *x, Py_ssize_t sx, const Py_ssize_t *first, Py_ssize_t runs, Py_ssize_t size)
    void burnpy_stream(void *y, const void *x, size_t size)
    void burnpy_stream_end()
    bint burnpy_fresh(const void *y, size_t size)

ctypedef fused real:
    float
    double

cdef enum:
    DIMS = 7  # of arrays, more than anyone resizes
    VECTOR = 64  # bytes: what the innermost loops do at a time, a whole number of registers everywhere
    BLOCK = 16384  # bytes of transposed rows at a time: three blocks fit the first-level cache
    PAGE = 4096  # bytes; rows this far apart, or a multiple, compete for the same few lines of the cache
    STRIPE = 512  # bytes of a row that are weighed at a time, a whole number of registers everywhere
    SHORT = 1024  # bytes of a row up to which it pays to weigh many of them in one call
    SHARED = 24576  # bytes of the rows that several outputs weigh: they fit the first-level cache
    LARGE = 1 << 21  # bytes of output that are worth writing past the cache,
    FULL = 3 << 23  # if no cache holds as many bytes of input and output together,
    FULL_OF_OUTPUT = 1 << 24  # or as many of which MOSTLY are output,
    MOSTLY = 3  # unless as many times more is read than written, where little is saved
    FAR = 1 << 23  # bytes of input that no cache may be trusted to hold
    PIECE = 1 << 15  # bytes of input that are asked for at once: a small part of the second-level cache
    WORK_PER_ELEMENT = 6  # what it takes to write an element of the result, in multiply-adds
    PARTS_PER_THREAD = 4  # so that a thread that is held up does not hold up the others
    MOST_SHUFFLED = 1 << 18  # weights spread for them, each of 4 bytes
    PIXEL = 4  # contiguous elements, or fewer, that are weighed as one
    FEW = 3  # fewer rows than this do not pay for transposing them
    BRIEF = 4  # rows, or fewer, of any length that are weighed at the speed of memory, one output at a time
    SELDOM = 4  # one of so many inputs, or fewer, is weighed, where it does not pay to make sums of all of them

MAX_AXES = DIMS
BUILDS = ("baseline", "avx2", "avx512")
CPU_BUILDS = BUILDS[:burnpy_best_build() + 1]


cdef struct Axis:
    # One operator as the loops see it; `first` is NULL for the identity.
    Py_ssize_t runs  # that are given
    bint shares  # outputs have inputs in common
    bint far  # the source is so large that it is fetched from memory, which takes time to begin
    Py_ssize_t ahead  # how far from an input is the one, of another row, that is seen next in its place; or 0
    Py_ssize_t widest
    Py_ssize_t at, period, times, advance  # see `Operator`
    const Py_ssize_t *first
    const Py_ssize_t *offset
    const Py_ssize_t *taps  # of every run: its length, or 0 if one of its weights is zero
    const Py_ssize_t *alike  # of every run: where its stretch ends; see `_stretches`
    Py_ssize_t phases, regular, irregular  # see `_phases`
    const void *weights
    bint copies
    bint whole  # no run is empty
    bint sparse, scatters
    const Py_ssize_t *row  # of every weight: its output; of copies and what `scatters`, else NULL
    const burnpy_shuffle *shuffle  # NULL where there is none; see `_Shuffle`


cdef struct Layout:
    # A plan as the loops see it; see `Plan`.
    Axis[DIMS] axes
    Py_ssize_t[DIMS] n, m, extent
    int[DIMS] passes
    int steps
    bint both  # the first two axes are done together, an output of the one at a time
    Py_ssize_t scratch, inside, outside
    bint half
    bint far  # more than caches keep


cdef struct Call:
    # What threads share: boxes `start ... stop - 1` of a plan, in so many parts.
    const Layout *plan
    const char *x
    char *y
    const Py_ssize_t *x_strides
    const Py_ssize_t *y_strides
    Py_ssize_t item, real
    bint streams  # past the cache
    Py_ssize_t start, stop, parts


cdef struct Line:
    # A set of equal steps through source and target.
    Py_ssize_t count, sx, sy


cdef struct Rows:
    # An axis that is done together with a later one: outputs `start ... stop - 1` of it, and room for what stands between.
    const Axis *op
    int axis
    bint come_first
    Py_ssize_t start, stop
    void *aside


cdef class Operator:
    """An axis operator as the kernels read it: `burnpy.taps.Taps`, checked, with weights in the type computed in.

    Parameters
    ----------
    n, m : int
        Number of inputs and outputs.
    first : ndarray of intp, shape (m,)
    offset : ndarray of intp, shape (m + 1,)
    weights : ndarray of float32 or float64, shape (offset[m],)
    repeat : tuple (at, period, times, advance, longest), optional
        Of a long axis only a stretch is given, ``times`` periods shorter: outputs ``at - period ... at - 1`` are followed
        by that many repetitions of themselves, each ``advance`` inputs further on. ``n`` and ``m`` count them; the shapes
        of the arrays above do not. Boxes may be ``longest`` outputs wide: as far as runs after ``at`` go on like that.

    Raises
    ------
    ValueError
        If a run leaves the inputs, or starts or ends before its predecessor: what the loops rely on.
    """

    cdef readonly Py_ssize_t n, m
    cdef readonly Py_ssize_t longest
    cdef readonly Py_ssize_t itemsize
    cdef readonly Py_ssize_t widest  # the longest run
    cdef readonly double mean  # the mean run
    cdef readonly bint copies  # every run is a single weight of 1, or empty
    cdef Py_ssize_t at, period, times, advance
    cdef readonly Py_ssize_t phases  # how many outputs weigh in turns; see `_phases`
    cdef Py_ssize_t regular, irregular
    cdef readonly bint sparse  # so many inputs are not weighed that transposing them does not pay
    cdef readonly bint row_by_row  # along the last axis rows are not transposed
    cdef bint whole  # no run is empty
    cdef readonly bint scatters  # every run is a single weight, not 0, or empty
    cdef readonly bint apart  # runs have no input in common, and not all inputs are weighed, or most runs are empty
    cdef const Py_ssize_t[::1] row
    cdef const Py_ssize_t[::1] first
    cdef const Py_ssize_t[::1] offset
    cdef const Py_ssize_t[::1] taps
    cdef const Py_ssize_t[::1] alike
    cdef const float[::1] weights32
    cdef const double[::1] weights64
    cdef dict shuffles  # by the number of inner elements

    def __init__(self, Py_ssize_t n, Py_ssize_t m, const Py_ssize_t[::1] first, const Py_ssize_t[::1] offset, weights,
                 repeat=None):
        self.n, self.m = n, m
        self.at, self.period, self.times, self.advance, self.longest = repeat or (1, 1, 0, 0, m)
        m -= self.times * self.period
        n -= self.times * self.advance
        if (min(self.longest, self.period) < 1 or min(self.times, self.advance) < 0 or self.at < self.period
                or self.times and self.at + self.longest > m):
            raise ValueError(f"{repeat} does not say how some of {m} runs are repeated")
        if m < 1 or first.shape[0] != m or offset.shape[0] != m + 1 or offset[0] != 0 or offset[m] != len(weights):
            raise ValueError(f"first, offset and weights do not describe {m} runs")
        self.first, self.offset = first, offset
        self.itemsize = weights.itemsize
        self.mean = offset[m] / <double>m
        if self.itemsize == 4:
            self.weights32 = weights
        else:
            self.weights64 = weights
        self.copies = bool((weights == 1).all())
        self.sparse = self.n > self.mean * self.m * (1 if self.itemsize == 4 else 2)
        self.widest = 0
        cdef Py_ssize_t o, stop, last_first = 0, last_stop = 0
        for o in range(m):
            stop = first[o] + offset[o + 1] - offset[o]
            if first[o] < last_first or stop < last_stop or stop < first[o] or stop > n:
                raise ValueError(f"the run of output {o} leaves the {n} inputs, or starts or ends before its predecessor")
            self.copies = self.copies and stop <= first[o] + 1
            self.widest = max(self.widest, stop - first[o])
            last_first, last_stop = first[o], stop
        self.taps = _unbroken(offset, weights)
        taps = np.asarray(self.taps)
        self.alike = _stretches(taps)
        first_, offset_ = np.asarray(first), np.asarray(offset)
        few = self.copies and FEW * offset[m] < m
        self.apart = (few or offset[m] < n) and bool((np.diff(first_) >= np.diff(offset_[:m])).all())
        self.scatters = 0 < offset[m] < m and self.widest == 1 and not self.copies and bool((weights != 0).all())
        self.row = np.repeat(np.arange(m), np.diff(offset_)) if self.copies or self.scatters else np.empty(0, np.intp)
        self.phases, self.regular, self.irregular = _phases(first_, taps, offset_, weights)
        self.whole = bool((np.diff(offset_) > 0).all())
        self.row_by_row = self.copies or self.sparse or self.phases > 0
        self.shuffles = {}

    cdef object shuffle(self, Py_ssize_t inner):
        """Return the `_Shuffle` for pixels of so many contiguous elements, or None; it lives as long as the operator."""
        if inner not in self.shuffles:
            words = self.itemsize // sizeof(float)
            shuffle = None
            if BURNPY_SHUFFLE_LANES and inner <= PIXEL and (words == 1 or self.copies):
                weights = self.weights32 if words == 1 else np.ones(self.offset[self.first.shape[0]], np.float32)
                n = self.n - self.times * self.advance
                shuffle = _Shuffle(n, np.asarray(self.first), np.asarray(self.offset), weights, inner * words, self.copies)
            if shuffle is not None and not (<_Shuffle>shuffle).table.registers:
                shuffle = None
            self.shuffles.setdefault(inner, shuffle)
        return self.shuffles[inner]  # the first one, if threads have made several

    def span(self, Py_ssize_t size):
        """Return over how many inputs any block of ``size`` outputs reaches at most, blocks starting at multiples of it."""
        cdef Axis axis = self.view()
        cdef Py_ssize_t start, stop, j, widest = 0
        for start in range(0, self.m, size):
            stop = min(start + size, self.m)
            j = start - _repeated(&axis, start) * axis.period
            stop += j - start
            widest = max(widest, _end(&axis, stop - 1) - axis.first[j])
        return widest

    def is_done_with(self, Operator second, bint earlier):
        """Tell whether it is done together with ``second``, the next one, along an axis ``earlier`` than its own or not.

        An output of the earlier axis is best made at once if no input is weighed twice for it, or if so few are weighed
        that the rows of them stay in cache, where an axis that becomes half as long does them one by one.
        """
        if not earlier and second.phases == 1 and self.mean <= BRIEF:
            return True
        return second.apart and (self.row_by_row if earlier else self.apart and not (self.copies or second.copies))

    cdef Axis view(self) noexcept:
        cdef Axis axis
        axis.runs = self.first.shape[0]
        axis.far = False
        axis.ahead = 0
        axis.shares = self.mean * self.m > self.n
        axis.widest = self.widest
        axis.at, axis.period, axis.times, axis.advance = self.at, self.period, self.times, self.advance
        axis.first = &self.first[0]
        axis.offset = &self.offset[0]
        axis.taps = &self.taps[0]
        axis.alike = &self.alike[0]
        axis.copies, axis.whole = self.copies, self.whole
        axis.sparse, axis.scatters = self.sparse, self.scatters
        axis.row = &self.row[0] if self.row.shape[0] else NULL
        axis.phases, axis.regular, axis.irregular = self.phases, self.regular, self.irregular
        axis.shuffle = NULL
        axis.weights = NULL
        if self.offset[self.offset.shape[0] - 1]:
            axis.weights = <const void *>&self.weights32[0] if self.itemsize == 4 else <const void *>&self.weights64[0]
        return axis


cdef class _Shuffle:
    """Taps as permutations of registers take them: as many for every output, with weights of 0 where there are none.

    Without ``table.registers`` the inputs of a register of outputs lie too far apart.
    """

    cdef burnpy_shuffle table
    cdef const int[::1] source
    cdef const int[::1] lowest
    cdef const float[::1] weights
    cdef const float[::1] none

    def __init__(self, Py_ssize_t n, first, offset, weights, Py_ssize_t inner, bint copies):
        cdef Py_ssize_t lanes = BURNPY_SHUFFLE_LANES, taps = np.diff(offset).max()
        self.table.registers = 0
        elements = len(first) * inner
        if not 1 <= taps <= BURNPY_MOST_SHUFFLED or elements < lanes:
            return
        if elements * (taps + 3) > MOST_SHUFFLED or n * inner >> 31:
            return
        moved = np.minimum(first, n - taps)  # where a run would leave the inputs it gets weights of 0 before it
        source = (np.repeat(moved * inner, inner) + np.tile(np.arange(inner), len(first))).astype(np.int32)
        cdef Py_ssize_t others = (taps - 1) * inner, step = lanes, window
        lowest, reach = _reach(source, step, inner)
        if BURNPY_TWO_AS_ONE and step % inner and reach + others > 2 * lanes:  # whole pixels may do where parts do not
            pixels, narrower = _reach(source, step - step % inner, inner)
            if narrower + others <= 2 * lanes:
                step, lowest, reach = step - step % inner, pixels, narrower
        if reach > 2 * lanes:
            step //= 2
            lowest, reach = _reach(source, step, inner)
            if reach + others > 2 * lanes:
                return
        cdef int registers = 1 if reach <= lanes and step == lanes else 2
        if registers == 1 and reach + others > lanes and BURNPY_TWO_AS_ONE and reach + others <= 2 * lanes:
            registers = 2
        cdef bint once = reach + others <= registers * lanes
        window = registers * lanes + (0 if once else others)
        run = np.arange(taps)[:, None] + moved - first
        runs = np.where((run >= 0) & (run < np.diff(offset)), run + offset[:len(first)], len(weights))
        spread = np.repeat(np.append(weights, np.float32(0))[runs], inner, axis=1)
        more = np.zeros(lanes - step, np.float32)  # registers are loaded whole
        self.source, self.lowest = np.append(source, more.astype(np.int32)), lowest
        self.weights = np.append(spread, more)
        self.none = np.append(np.where((spread != 0).any(axis=0), np.float32(-0.0), np.float32(0)), more)
        zeros = np.concatenate(([-1], np.flatnonzero((spread == 0).any(axis=0)), [elements]))
        longest = int(np.argmax(np.diff(zeros)))
        cdef Py_ssize_t size = elements - step, advance = source[size // 2 + step] - source[size // 2] if size else 0
        unlike = (source[step:] - source[:size] != advance) | (spread[:, step:] != spread[:, :size]).any(axis=0)
        ends = np.concatenate(([-1], np.flatnonzero(unlike), [size]))
        alike = int(np.argmax(np.diff(ends)))
        even, uneven = (ends[alike] + 1, ends[alike + 1] + step) if advance else (0, 0)
        if uneven - even < 4 * step:  # too few to pay
            even = uneven = elements
        self.table = burnpy_shuffle(&self.source[0], &self.lowest[0], &self.weights[0], &self.none[0], elements, taps,
                                    inner, zeros[longest] + 1, zeros[longest + 1], window, step, even, uneven, advance,
                                    registers, copies, once)


def _reach(source, size, inner):
    """Return of every ``size`` successive inputs the least, and over how many inputs any such reach at most.

    Any that are made: if they are whole pixels of ``inner`` elements, such begin with one.
    """
    together = np.lib.stride_tricks.sliding_window_view(source, size)
    lowest = together.min(axis=1)
    return lowest, int((together.max(axis=1) - lowest)[::1 if size % inner else inner].max()) + 1


def _unbroken(const Py_ssize_t[::1] offset, weights):
    """Return the length of every run, or 0 where one of its weights is zero."""
    zeros = np.zeros(len(weights) + 1, np.intp)
    np.cumsum(weights == 0, out=zeros[1:])
    return np.where(np.diff(zeros[offset]) == 0, np.diff(offset), 0)


def _next_unlike(taps):
    """Return for every run the index of the next one that has another number of taps."""
    changes = np.append(np.flatnonzero(np.diff(taps)) + 1, len(taps))
    return np.repeat(changes, np.diff(changes, prepend=0))


def _stretches(taps):
    """Return for every run the index after the runs from there on that have as many taps.

    Where numbers of taps, not 0, change all the time, it is the negative index after that.
    """
    ends = np.unique(_next_unlike(taps))
    short = (np.diff(ends, prepend=0) < FEW) & (taps[ends - 1] != 0)
    beside = np.concatenate(([False], short, [False]))
    ends = ends * np.where(short & (beside[2:] | beside[:len(short)]), -1, 1)
    last = np.append((ends[:len(ends) - 1] > 0) | (ends[1:] > 0), True)  # of stretches that change, only where they end
    lengths = np.diff(np.abs(ends[last]), prepend=0)
    return np.repeat(ends[last], lengths)


def _phases(first, taps, offset, weights):
    """Return q, j0, j1: of outputs j0 ... j1 - 1 every q-th weighs alike, p inputs further on; q is 0 if none do.

    As where an axis becomes twice or four times as long, ``q, p = 2, 1`` or ``4, 1``, or half as long, ``1, 2``. Output j0
    begins a turn: the first half of it starts at one input, the second half at the next.
    """
    alike = _next_unlike(taps)
    start = int(np.argmax(alike - np.arange(len(alike))))
    stop, count = int(alike[start]), int(taps[start])
    if count and count % 2 == 0 and stop - start >= VECTOR:
        rows, starts = weights[offset[start]:offset[stop]].reshape(-1, count), first[start:stop]
        for q, p in ((1, 2), (2, 1), (4, 1)):
            unlike = np.flatnonzero((starts[q:] - starts[:-q] != p) | (rows[q:] != rows[:-q]).any(axis=1))
            ends = np.concatenate(([-1], unlike, [len(starts) - q]))  # near a border weights may be others
            longest = int(np.argmax(np.diff(ends)))
            j0, j1 = int(ends[longest]) + 1, int(ends[longest + 1]) + q
            if j1 - j0 >= VECTOR:
                if q > 1:
                    j0 = next(j for j in range(j0, j0 + q) if starts[j + q // 2 - 1] < starts[j + q // 2])
                return q, start + j0, start + j1
    return 0, 0, 0


cdef class Plan:
    """Operators along some axes of an array of a given shape, their order, and the boxes of output done at a time.

    Parameters
    ----------
    shape : tuple of 7 int
        Shape of the input, filled up with leading ones; no entry may be 0.
    operators : tuple of 7
        An `Operator` or None (the identity) for every axis; at least one operator.
    order : tuple of int
        The axes that have an operator, in the order in which to apply them.
    box : tuple of 7 int
        Shape of a box of output. What stands between two operators, and nothing else, is allocated, for one box.
    half : bool, default False
        Arrays are of float16, given as the uint16 of their bits; a box is converted to float32 before, and back after.
    """

    cdef readonly tuple operators  # keeps alive what `axes` points to
    cdef readonly tuple order, box
    cdef readonly Py_ssize_t boxes  # how many cover the output
    cdef readonly Py_ssize_t itemsize
    cdef readonly double work  # multiply-adds of all operators together, and what it takes to write the result, in as many
    cdef readonly bint large  # more output than a cache keeps
    cdef Layout layout

    def __init__(self, tuple shape, tuple operators, tuple order, tuple box, bint half=False):
        cdef int d
        cdef Operator operator
        if not len(shape) == len(operators) == len(box) == DIMS:
            raise ValueError(f"a plan is made for {DIMS} axes")
        if not order or sorted(order) != [d for d in range(DIMS) if operators[d] is not None]:
            raise ValueError("order must name every axis that has an operator, once")
        cdef Layout *layout = &self.layout
        layout.both = False
        self.operators, self.order, self.box = operators, order, box
        layout.steps = len(order)
        self.boxes = 1
        self.itemsize = operators[order[0]].itemsize
        layout.half = half
        if half and self.itemsize != 4:
            raise ValueError("half precision is computed in single, with weights of float32")
        for d in range(DIMS):
            layout.n[d] = layout.m[d] = shape[d]
            layout.axes[d].first = NULL
            if operators[d] is not None:
                operator = operators[d]
                if operator.n != layout.n[d] or operator.itemsize != self.itemsize:
                    raise ValueError(f"the operator of axis {d} takes another size or type")
                layout.m[d] = operator.m
                layout.axes[d] = operator.view()
            if layout.n[d] < 1 or not 1 <= box[d] <= (layout.m[d] if operators[d] is None else operators[d].longest):
                raise ValueError(f"axis {d} has a size or a box that is out of range")
            layout.extent[d] = box[d]
            self.boxes *= (layout.m[d] + layout.extent[d] - 1) // layout.extent[d]
        for d in range(layout.steps):
            layout.passes[d] = order[d]
        cdef _Shuffle shuffle = (<Operator>operators[max(order)]).shuffle(_product(shape[max(order) + 1:]))
        if shuffle is not None:
            layout.axes[<int>max(order)].shuffle = &shuffle.table
        if len(order) > 1:
            layout.both = not half and operators[order[0]].is_done_with(operators[order[1]], order[1] < order[0])
        layout.scratch = self._largest_between()
        if half:
            layout.outside = _product(box)
            layout.inside = _product(self._source_of_a_box())
        cdef double size = 1
        for d in range(DIMS):
            size *= layout.n[d]
        cdef double weighed = self._weighed()
        layout.far = not half and weighed * self.itemsize >= FAR
        self.work = 0
        for axis in order:
            size = size / layout.n[axis] * layout.m[axis]
            self.work += size * operators[axis].mean
        self.work += size * WORK_PER_ELEMENT
        full = FULL_OF_OUTPUT if size >= MOSTLY * weighed else FULL
        self.large = (not half and size * self.itemsize >= LARGE and (weighed + size) * self.itemsize >= full
                      and weighed < MOSTLY * size)

    @property
    def scratch(self):
        """Elements that stand between two operators."""
        return self.layout.scratch

    @property
    def inside(self):
        """Elements of a box's source, where they are converted."""
        return self.layout.inside

    @property
    def half(self):
        """Whether arrays are of float16."""
        return self.layout.half

    def _weighed(self):
        """Return how many elements of the source are looked at, or lie in a row with some that are."""
        return _product(
            n if operator is None or d == max(self.order) else min(n, operator.mean * operator.m)
            for d, (n, operator) in enumerate(zip(self.layout.n, self.operators)))

    def _source_of_a_box(self):
        """Return over how many inputs along every axis a box reaches at most."""
        return [self.box[d] if self.operators[d] is None else self.operators[d].span(self.box[d]) for d in range(DIMS)]

    def _largest_between(self):
        """Return the largest number of elements that stands between two operators, for any box."""
        extent = self._source_of_a_box()
        largest = done = 0
        if self.layout.both:
            first, second = self.order[:2]
            rows = self.operators[second].widest * self.box[first] if second < first else extent[second]
            largest = rows * _product(self.box[max(first, second) + 1:])
            extent[first], done = self.box[first], 1
        for axis in self.order[done:len(self.order) - 1]:
            extent[axis] = self.box[axis]
            largest = max(largest, _product(extent))
        return largest

    def run(self, x, y, Py_ssize_t start, Py_ssize_t stop, int threads=1):
        """Fill boxes ``start ... stop - 1`` of ``y`` from ``x``, both of the type of the weights, or uint16.

        Leading axes of one element may lack.
        Returns how many parts of the work were done by other threads.
        """
        cdef Py_buffer source, target  # memoryviews would take a quarter of a small call
        PyObject_GetBuffer(x, &source, PyBUF_RECORDS_RO)
        try:
            PyObject_GetBuffer(y, &target, PyBUF_RECORDS)
            try:
                return self._run(&source, &target, start, stop, threads)
            finally:
                PyBuffer_Release(&target)
        finally:
            PyBuffer_Release(&source)

    cdef Py_ssize_t _run(self, const Py_buffer *x, const Py_buffer *y, Py_ssize_t start, Py_ssize_t stop,
                         int threads) except -1:
        cdef Layout *layout = &self.layout
        cdef Py_ssize_t[DIMS] x_strides, y_strides
        cdef char kind = c"H" if layout.half else c"f" if self.itemsize == sizeof(float) else c"d"
        _check_buffer(x, layout.n, kind, x_strides)
        _check_buffer(y, layout.m, kind, y_strides)
        if start < 0 or stop > self.boxes:
            raise ValueError(f"the plan has fewer boxes, {self.boxes}, than {stop}, or start {start} is negative")
        cdef size_t scratch = self.itemsize * (2 * layout.scratch + layout.inside + layout.outside)
        cdef Call call = Call(layout, <const char *>x.buf, <char *>y.buf, &x_strides[0], &y_strides[0], x.itemsize,
                              self.itemsize, self.large and not burnpy_fresh(y.buf, y.len), start, stop, 1)
        if threads > 1:
            call.parts = max(min(stop - start, threads * PARTS_PER_THREAD), 1)
        return _pool.run(_part, &call, call.parts, threads, scratch + 3 * BLOCK + VECTOR * VECTOR)


cdef int _check_buffer(const Py_buffer *array, const Py_ssize_t *planned, char kind, Py_ssize_t *strides) except -1:
    """Find the strides of all axes, or refuse an array of another type or shape."""
    cdef Py_ssize_t d, lead = <int>DIMS - array.ndim
    if array.format[0] != kind or array.format[1] != 0:
        raise ValueError(f"x or y is of type {array.format.decode()!r}, a mismatch: {chr(kind)!r} was planned")
    for d in range(DIMS):
        strides[d] = array.strides[d - lead] if d >= lead else 0
        if lead < 0 or planned[d] != (array.shape[d - lead] if d >= lead else 1) or strides[d] % array.itemsize:
            raise ValueError(f"axis {d} of x or y has not the size that was planned, or is not aligned")
    return 0


cdef void _part(const void *job, Py_ssize_t part, void *scratch) noexcept nogil:
    cdef const Call *call = <const Call *>job
    cdef Py_ssize_t count = call.stop - call.start, b
    for b in range(call.start + count * part // call.parts, call.start + count * (part + 1) // call.parts):
        if call.real == sizeof(float):
            _box(call.plan, call.x, call.x_strides, call.y, call.y_strides, call.item, call.streams, b, <float *>scratch)
        else:
            _box(call.plan, call.x, call.x_strides, call.y, call.y_strides, call.item, call.streams, b, <double *>scratch)
    burnpy_stream_end()


def _product(sizes):
    """Return the product, as Python computes it: without overflow."""
    product = 1
    for size in sizes:
        product *= size
    return product


cdef void _box(const Layout *plan, const char *x, const Py_ssize_t *x_strides, char *y, const Py_ssize_t *y_strides,
               Py_ssize_t item, bint streams, Py_ssize_t index, real *blocks) noexcept nogil:
    """Make one box of output: every operator in its order, the results in between packed into scratch memory."""
    cdef Py_ssize_t[DIMS] start, stop, extent, steps, sy, packed  # of output; of the source, with its strides
    cdef Py_ssize_t count
    cdef int d, p, axis
    cdef Rows rows
    cdef bint both
    cdef Axis op
    cdef real *between = blocks + (3 * BLOCK + VECTOR * VECTOR) // sizeof(real)
    cdef real *inside = between + 2 * plan.scratch
    cdef real *target
    for d in range(DIMS - 1, -1, -1):
        count = (plan.m[d] + plan.extent[d] - 1) // plan.extent[d]
        start[d] = index % count * plan.extent[d]
        index //= count
        stop[d] = min(start[d] + plan.extent[d], plan.m[d])
        extent[d] = stop[d] - start[d]
        steps[d], sy[d] = x_strides[d] // item, y_strides[d] // item
        y += start[d] * y_strides[d]
        if plan.axes[d].first == NULL:
            x += start[d] * x_strides[d]
        else:
            count = _repeated(&plan.axes[d], start[d])
            start[d] -= count * plan.axes[d].period
            stop[d] -= count * plan.axes[d].period
            x += (count * plan.axes[d].advance + plan.axes[d].first[start[d]]) * x_strides[d]
            extent[d] = _end(&plan.axes[d], stop[d] - 1) - plan.axes[d].first[start[d]]
    cdef const real *source = <const real *>x
    if plan.half:
        _convert(<unsigned short *>x, steps, extent, <float *>inside, True)
        source = inside
        _pack(extent, steps)
    p = 0
    while p < plan.steps:
        axis = plan.passes[p]
        both = p == 0 and plan.both
        if both:
            d = min(axis, plan.passes[1])
            rows = Rows(&plan.axes[d], d, d == axis, start[d], stop[d], between + plan.scratch)
            axis = max(axis, plan.passes[1])
            extent[d] = stop[d] - start[d]
        extent[axis] = stop[axis] - start[axis]
        op = plan.axes[axis]
        op.far = p == 0 and plan.far
        target = between + plan.scratch if source == between else between
        p += 2 if both else 1
        _pack(extent, packed)
        if p == plan.steps and plan.half:
            target = inside + plan.inside
        elif p == plan.steps:
            target = <real *>y
            memcpy(packed, sy, sizeof(packed))
        _apply(source, steps, target, packed, extent, axis, &op, start[axis], stop[axis], &rows if both else NULL,
               p == plan.steps and streams, blocks)
        source = target
        memcpy(steps, packed, sizeof(steps))
    if plan.half:
        _convert(<unsigned short *>y, sy, extent, <float *>source, False)


cdef void _pack(const Py_ssize_t *extent, Py_ssize_t *steps) noexcept nogil:
    """Return the strides of an array without gaps."""
    cdef Py_ssize_t count = 1
    cdef int d
    for d in range(DIMS - 1, -1, -1):
        steps[d] = count
        count *= extent[d]


cdef void _convert(unsigned short *halves, const Py_ssize_t *steps, const Py_ssize_t *extent, float *packed,
                   bint inwards) noexcept nogil:
    """Convert a box of half precision to packed single precision, or back; fastest where the last axis is contiguous."""
    cdef Py_ssize_t i, rest, rows = 1, inner = extent[DIMS - 1]
    cdef unsigned short *row
    cdef int d
    for d in range(DIMS - 1):
        rows *= extent[d]
    for i in range(rows):
        row, rest = halves, i
        for d in range(DIMS - 2, -1, -1):
            row += rest % extent[d] * steps[d]
            rest //= extent[d]
        if inwards:
            burnpy_from_half(packed, row, steps[DIMS - 1], inner)
        else:
            burnpy_to_half(row, steps[DIMS - 1], packed, inner)
        packed += inner


cdef inline Py_ssize_t _repeated(const Axis *op, Py_ssize_t j) noexcept nogil:
    """Return how many repetitions to go back from output ``j`` to one that is given."""
    return 0 if j <= op.at else min((j - op.at + op.period - 1) // op.period, op.times)


cdef inline Py_ssize_t _end(const Axis *op, Py_ssize_t j) noexcept nogil:
    """Return the input after the last one that output ``j`` weighs."""
    return op.first[j] + op.offset[j + 1] - op.offset[j]


cdef void _apply(const real *x, const Py_ssize_t *sx, real *y, const Py_ssize_t *sy, const Py_ssize_t *extent,
                 int axis, const Axis *op, Py_ssize_t j0, Py_ssize_t j1, const Rows *rows, bint large,
                 real *blocks) noexcept nogil:
    """Apply outputs ``j0 ... j1 - 1`` of one operator along ``axis``; ``x`` starts at the first input of ``j0``.

    What is ``large`` is made in ``blocks`` and copied past the cache, if inner elements suffice. With ``rows`` their axis
    is done too; ``extent`` along it is that of the result.
    """
    cdef Line[DIMS] lines
    cdef Line line
    cdef Py_ssize_t inner = 1, total = 1, i, rest
    cdef int d, innermost = DIMS - 1, outer = 0, longest = 0
    cdef const real *px
    cdef real *py
    while innermost > axis and (extent[innermost] == 1 or (sx[innermost] == inner and sy[innermost] == inner)):
        inner *= extent[innermost]
        innermost -= 1
    for d in range(innermost + 1):  # the other axes, neighbours with a common step merged
        if d == axis or rows != NULL and d == rows.axis or extent[d] == 1:
            continue
        line = Line(extent[d], sx[d], sy[d])
        if outer and lines[outer - 1].sx == line.count * line.sx and lines[outer - 1].sy == line.count * line.sy:
            line.count *= lines[outer - 1].count
            outer -= 1
        lines[outer] = line
        total *= extent[d]
        outer += 1
    if total * inner == 0:  # no input at all is within reach of this box
        return
    for d in range(1, outer):
        if lines[d].count >= lines[longest].count:
            longest = d
    if outer == 0 or rows != NULL and not rows.op.copies:  # room is for the rows of one line
        longest = -1
    line = lines[longest] if longest >= 0 else Line(1, 0, 0)
    for i in range(total // line.count):
        px, py, rest = x, y, i
        for d in range(outer - 1, -1, -1):
            if d != longest:
                px += rest % lines[d].count * lines[d].sx
                py += rest % lines[d].count * lines[d].sy
                rest //= lines[d].count
        if rows == NULL:
            _line(px, sx[axis], py, sy[axis], &line, op, j0, j1, op.first[j0], inner, large, blocks)
        elif rows.op.copies:
            _picked(px, sx[axis], sx[rows.axis], py, sy[axis], sy[rows.axis], &line, op, j0, j1, rows, inner,
                    large and rows.op.whole, blocks)
        else:
            _both(px, sx[axis], sx[rows.axis], py, sy[axis], sy[rows.axis], &line, op, j0, j1, rows, inner, large,
                  blocks)


cdef void _picked(const real *x, Py_ssize_t sx, Py_ssize_t step_x, real *y, Py_ssize_t sy, Py_ssize_t step_y,
                  const Line *line, const Axis *op, Py_ssize_t j0, Py_ssize_t j1, const Rows *rows, Py_ssize_t inner,
                  bint large, real *blocks) noexcept nogil:
    """Apply an operator to those rows that are copied, and write zeros between them."""
    cdef Py_ssize_t i, j, stop, at, ahead, done = 0, base = op.first[j0]
    cdef Py_ssize_t seen = (_end(op, j1 - 1) - base) * sx * <Py_ssize_t>sizeof(real)
    cdef Py_ssize_t piece = max(PIECE * (j1 - j0) // seen, 1) if op.far and seen > 0 else 0
    cdef const real *source
    for i in range(rows.start, rows.stop):
        if rows.op.offset[i + 1] == rows.op.offset[i]:
            continue
        at = i - rows.start
        _zeros(y, sy, step_y, done, at, line, j1 - j0, inner)
        done = at + 1
        source = x + (rows.op.first[i] - rows.op.first[rows.start]) * step_x
        # From an input to the one in its place in the next row.
        ahead = (rows.op.first[i + 1] - rows.op.first[i]) * step_x if piece and i + 1 < rows.stop else 0
        j = j0
        while j < j1:  # a piece of a row is done while the same piece of the next row is on its way
            stop = min(j + piece, j1) if ahead else j1
            if ahead:
                burnpy_ask(<const char *>(source + ahead + (op.first[j] - base) * sx), sx * sizeof(real), op.first + j,
                           stop - j, inner * sizeof(real))
            _line(source + (op.first[j] - base) * sx, sx, y + at * step_y + (j - j0) * sy, sy, line, op, j, stop,
                  op.first[j], inner, large, blocks)
            j = stop
    _zeros(y, sy, step_y, done, rows.stop - rows.start, line, j1 - j0, inner)


cdef void _both(const real *x, Py_ssize_t sx, Py_ssize_t step_x, real *y, Py_ssize_t sy, Py_ssize_t step_y,
                const Line *line, const Axis *op, Py_ssize_t j0, Py_ssize_t j1, const Rows *rows, Py_ssize_t inner,
                bint large, real *blocks) noexcept nogil:
    """Apply the operators along two axes to what lies along ``line``, a single one: an output of ``rows`` at a time."""
    cdef const Axis *down = rows.op
    cdef Py_ssize_t i, r, j, base = op.first[j0], size = (j1 - j0) * inner, seen = _end(op, j1 - 1) - base
    cdef bint few = (op.offset[j1] - op.offset[j0]) * SELDOM < seen and (inner <= PIXEL or inner * sizeof(real) >= VECTOR)
    cdef bint packed = rows.come_first and sx == inner and sy == inner
    cdef bint direct = packed and (few or op.sparse and sizeof(real) == 4 and inner <= PIXEL)
    cdef bint halves = BURNPY_DEALS and packed and inner == 1 and op.phases == 1 and op.widest == 2
    cdef bint shuffles = packed and inner > 1 and op.phases == 1 and _shuffles(op, inner, sizeof(real), 1)
    cdef bint permuted
    cdef const real *source
    cdef real *target
    cdef real *aside = <real *>rows.aside
    cdef burnpy_across across
    cdef Axis own = op[0]
    for i in range(rows.start, rows.stop):
        source, target = x + (down.first[i] - down.first[rows.start]) * step_x, y + (i - rows.start) * step_y
        permuted = shuffles and burnpy_shuffles_across(op.shuffle, down.taps[i])
        if (direct or halves or permuted) and down.taps[i]:
            across = burnpy_across(<const real *>down.weights + down.offset[i], down.taps[i], step_x)
            # Every output asks for what the one in its place in the next row will see.
            own.ahead = (down.first[i + 1] - down.first[i]) * step_x if op.far and i + 1 < rows.stop else 0
            if permuted and _shuffled(source, target, line, &own, j0, j1, base, inner, large, blocks, &across, aside):
                pass
            elif halves:
                _dealt(source, target, &own, j0, j1, base, large, blocks, &across, aside)
            else:
                _signal(source, inner, target, inner, &own, j0, j1, base, inner, &across, aside)
        elif rows.come_first:
            for j in range(1 if sx == inner else seen):
                _rows(source + j * sx, step_x, aside + j * inner, 0, down, i, i + 1, down.first[i],
                      seen * inner if sx == inner else inner, NULL)
            _line(aside, inner, target, sy, line, op, j0, j1, base, inner, large, blocks)
        else:
            for r in range(down.offset[i + 1] - down.offset[i]):
                _line(source + r * step_x, sx, aside + r * size, inner, line, op, j0, j1, base, inner, False, blocks)
            for j in range(1 if sy == inner else j1 - j0):
                _rows(aside + j * inner, size, target + j * sy, 0, down, i, i + 1, down.first[i],
                      size if sy == inner else inner, blocks if large and sy == inner else NULL)


cdef void _zeros(real *y, Py_ssize_t sy, Py_ssize_t step, Py_ssize_t start, Py_ssize_t stop, const Line *line,
                 Py_ssize_t count, Py_ssize_t inner) noexcept nogil:
    """Fill rows ``start ... stop - 1``, ``step`` apart, of ``count`` times ``inner`` elements, each along ``line``."""
    cdef Py_ssize_t r, lane, j, size = inner * sizeof(real)
    if sy == inner:  # one row without gaps
        size *= count
        count = 1
        if line.count == 1 and step * <Py_ssize_t>sizeof(real) == size and start < stop:
            size *= stop - start
            stop = start + 1
    for r in range(start, stop):
        for lane in range(line.count):
            for j in range(count):
                memset(y + r * step + lane * line.sy + j * sy, 0, size)


cdef void _line(const real *x, Py_ssize_t sx, real *y, Py_ssize_t sy, const Line *line, const Axis *op, Py_ssize_t j0,
                Py_ssize_t j1, Py_ssize_t base, Py_ssize_t inner, bint large, real *blocks) noexcept nogil:
    """Apply one operator to every row along ``line``, by the loops that suit its elements."""
    cdef Py_ssize_t lane = 0, lanes, vector = VECTOR // sizeof(real)
    cdef bint packed = sx == inner and sy == inner
    cdef bint transpose = (not op.copies and inner < vector and line.count >= FEW and op.widest * inner * VECTOR <= BLOCK
                           and not (op.sparse and packed and inner <= PIXEL))
    if _shuffles(op, inner, sizeof(real), line.count) and packed:
        if _shuffled(x, y, line, op, j0, j1, base, inner, large, blocks, NULL, NULL):
            return
    while lane < line.count:
        lanes = 1
        if op.copies and large and sy == inner and inner * sizeof(real) <= 2 * STRIPE:
            _copies_aside(x, sx, y, op, j0, j1, base, inner, blocks)
        elif op.copies:
            _copies(x, sx, y, sy, op, j0, j1, base, inner, large)
        elif BURNPY_DEALS and op.phases and packed and inner == 1:
            _dealt(x, y, op, j0, j1, base, large, blocks, NULL, NULL)
        elif op.scatters and packed and 1 < inner <= PIXEL:
            _scatter(x, y, op, j0, j1, base, inner)
        elif transpose and line.count - lane >= FEW:
            lanes = min(vector, line.count - lane)
            _columns(x, sx, line.sx, y, sy, line.sy, op, j0, j1, base, inner, lanes, large, blocks)
        elif inner == 1 or packed and inner <= PIXEL:
            _signal(x, sx, y, sy, op, j0, j1, base, inner, NULL, NULL)
        else:
            _rows(x, sx, y, sy, op, j0, j1, base, inner, blocks if large and inner >= vector else NULL)
        lane += lanes
        x += lanes * line.sx
        y += lanes * line.sy


cdef inline bint _shuffles(const Axis *op, Py_ssize_t inner, Py_ssize_t size, Py_ssize_t rows) noexcept nogil:
    """Tell whether permutations are faster than the other loops, by measurement."""
    cdef const burnpy_shuffle *table = op.shuffle
    if table == NULL or inner * size != table.stride * sizeof(float):
        return False
    if FEW * op.offset[op.runs] < op.runs and (table.copies or inner > 1):  # most outputs are empty: see `_scatter`
        return False
    cdef Py_ssize_t picks = table.taps * table.registers
    if inner > 1:
        return table.copies or picks <= BURNPY_MOST_PIXEL_PICKS
    return not op.phases and (rows < FEW or picks <= BURNPY_MOST_PICKS)


cdef bint _shuffled(const real *x, real *y, const Line *line, const Axis *op, Py_ssize_t j0, Py_ssize_t j1,
                    Py_ssize_t base, Py_ssize_t inner, bint large, real *blocks, const burnpy_across *rows,
                    real *aside) noexcept nogil:
    """Do what `_line` does where registers of outputs pick their inputs by permutations, unless there are too few.

    With ``rows`` inputs are sums of those; ``aside`` is room for some.
    """
    cdef const burnpy_shuffle *table = op.shuffle
    cdef Py_ssize_t words = sizeof(real) // sizeof(float), lanes = BURNPY_SHUFFLE_LANES, stride = table.stride
    cdef Py_ssize_t low = op.first[j0] * stride, high = _end(op, j1 - 1) * stride, whole = j1, r, j, stop
    cdef Py_ssize_t lane_x = line.sx * words, lane_y = line.sy * words, lines, row, size
    cdef Py_ssize_t most = BLOCK // BURNPY_ABREAST // sizeof(float) // stride
    cdef const float *source = <const float *>x - base * stride
    cdef float *target = <float *>y
    if high - low < table.window or table.source[j0 * stride] < low:
        return False
    while whole > j0 and table.source[(whole - 1) * stride] + table.taps * stride > high:
        whole -= 1  # weights of 0 after its run are of inputs that are not there
    if (whole - j0) * stride < lanes:
        return False
    if large:
        r = 0
        while r < line.count:
            lines = min(BURNPY_ABREAST, line.count - r)
            j = j0
            while j < whole:
                stop = min(j + most, whole)
                if (stop - j) * stride < lanes:
                    j = stop - (lanes + stride - 1) // stride
                size = (stop - j) * stride
                burnpy_shuffled(table, source + r * lane_x, lane_x, <float *>blocks, size, lines, j * stride,
                                stop * stride, high, rows)
                for row in range(lines):
                    burnpy_stream(target + (r + row) * lane_y + (j - j0) * stride, <float *>blocks + row * size,
                                  size * sizeof(float))
                j = stop
            r += lines
    else:
        burnpy_shuffled(table, source, lane_x, target, lane_y, line.count, j0 * stride, whole * stride, high, rows)
    for r in range(line.count if whole < j1 else 0):
        j = op.first[whole] - base
        if op.copies:
            _copies(x + r * line.sx + j * inner, inner, y + r * line.sy + (whole - j0) * inner, inner, op, whole, j1,
                    op.first[whole], inner, False)
        else:
            _signal(x + r * line.sx + j * inner, inner, y + r * line.sy + (whole - j0) * inner, inner, op, whole, j1,
                    op.first[whole], inner, rows, aside)
    return True


cdef void _copies(const real *x, Py_ssize_t sx, real *y, Py_ssize_t sy, const Axis *op,
                  Py_ssize_t j0, Py_ssize_t j1, Py_ssize_t base, Py_ssize_t inner, bint large) noexcept nogil:
    """`_rows` where every run is one weight of 1, or empty. Inner elements are contiguous in both."""
    cdef Py_ssize_t i, j = j0, stop, size = inner * sizeof(real), count = op.offset[j1] - op.offset[j0]
    x -= base * sx
    if sy == inner and size <= VECTOR and count < j1 - j0:
        memset(y, 0, (j1 - j0) * size)
        burnpy_place(<char *>(y - j0 * sy), size, <const char *>x, sx * sizeof(real), op.row + op.offset[j0], op.first,
                     count, size)
        return
    while j < j1:
        stop = min(op.alike[j], j1)
        if op.taps[j] == 0:
            for i in range(stop - j):
                if large:
                    burnpy_stream(y + i * sy, NULL, size)
                else:
                    memset(y + i * sy, 0, size)
        elif large and size > VECTOR:
            for i in range(j, stop):
                burnpy_stream(y + (i - j) * sy, x + op.first[i] * sx, size)
        else:
            burnpy_pick(<char *>y, sy * sizeof(real), <const char *>x, sx * sizeof(real), op.first + j, stop - j, size)
        y += (stop - j) * sy
        j = stop


cdef void _copies_aside(const real *x, Py_ssize_t sx, real *y, const Axis *op, Py_ssize_t j0, Py_ssize_t j1,
                        Py_ssize_t base, Py_ssize_t inner, real *blocks) noexcept nogil:
    """`_copies` of few elements each, made in cache and copied past it."""
    cdef Py_ssize_t j = j0, stop, most = BLOCK // sizeof(real) // inner
    while j < j1:
        stop = min(j + most, j1)
        _copies(x, sx, blocks, inner, op, j, stop, base, inner, False)
        burnpy_stream(y + (j - j0) * inner, blocks, (stop - j) * inner * sizeof(real))
        j = stop


cdef void _scatter(const real *x, real *y, const Axis *op, Py_ssize_t j0, Py_ssize_t j1, Py_ssize_t base,
                   Py_ssize_t inner) noexcept nogil:
    """`_signal` of a few contiguous elements where most runs are empty, and the others a single weight."""
    cdef Py_ssize_t start = op.offset[j0], count = op.offset[j1] - start
    memset(y, 0, (j1 - j0) * inner * sizeof(real))
    if real is float:
        burnpy_scatter_f32(y - j0 * inner, x - base * inner, op.row + start, op.first,
                           <const float *>op.weights + start, count, inner)
    else:
        burnpy_scatter_f64(y - j0 * inner, x - base * inner, op.row + start, op.first,
                           <const double *>op.weights + start, count, inner)


cdef void _columns(const real *x, Py_ssize_t sx, Py_ssize_t lane_x, real *y, Py_ssize_t sy, Py_ssize_t lane_y,
                   const Axis *op, Py_ssize_t j0, Py_ssize_t j1, Py_ssize_t base, Py_ssize_t inner, Py_ssize_t lanes,
                   bint large, real *blocks) noexcept nogil:
    """`_rows` for ``lanes`` of them at once: lanes are made contiguous, weighed together, and put back in place."""
    cdef Py_ssize_t vector = VECTOR // sizeof(real), wide = inner * vector, most = BLOCK // sizeof(real) // wide
    cdef Py_ssize_t j = j0, stop, i0, r, apart = most * inner + vector
    cdef bint aside = sy == inner and (large or lane_y * sizeof(real) % PAGE == 0)
    cdef real *across = blocks
    cdef real *result = across + BLOCK // sizeof(real)
    cdef real *rows = result + BLOCK // sizeof(real)
    while j < j1:
        i0, stop = op.first[j], min(j + most, j1)
        while _end(op, stop - 1) - i0 > most:
            stop = j + (stop - j) // 2
        if lanes < vector:  # what the other lanes hold is never read, but should not be slow to compute with
            memset(across, 0, (_end(op, stop - 1) - i0) * wide * sizeof(real))
        _across(x + (i0 - base) * sx, sx, lane_x, across, _end(op, stop - 1) - i0, inner, lanes)
        _lanes(across, result, op, j, stop, inner)
        if aside:
            _back(result, rows, inner, apart, stop - j, inner, lanes)
            for r in range(lanes):
                _put(y + r * lane_y + (j - j0) * sy, rows + r * apart, (stop - j) * inner, large)
        else:
            _back(result, y + (j - j0) * sy, sy, lane_y, stop - j, inner, lanes)
        j = stop


cdef void _dealt(const real *x, real *y, const Axis *op, Py_ssize_t j0, Py_ssize_t j1, Py_ssize_t base, bint large,
                 real *blocks, const burnpy_across *rows, real *aside) noexcept nogil:
    """`_signal` of contiguous elements, where outputs weigh alike in turns: a register of turns at once.

    With ``rows`` turns are of a single output.
    """
    cdef Py_ssize_t lanes = BURNPY_LANES_F32 if real is float else BURNPY_LANES_F64
    cdef Py_ssize_t most = BLOCK // sizeof(real), j = j0, stop, groups, wait
    cdef const real *w
    cdef real *target
    x -= base
    while j < j1:
        stop = min(j + most, j1)
        target = blocks if large else y + j - j0
        wait = op.regular - j if j < op.regular else (op.phases - (j - op.regular) % op.phases) % op.phases
        groups = (min(stop, op.irregular) - j) // op.phases // lanes * lanes
        if wait == 0 and groups > 0:
            stop = j + groups * op.phases
            w = <const real *>op.weights + op.offset[j]
            if op.phases == 1:
                if real is float:
                    burnpy_halves_f32(x + op.first[j], target, w, op.taps[j], groups, rows)
                else:
                    burnpy_halves_f64(x + op.first[j], target, w, op.taps[j], groups, rows)
            elif real is float:
                burnpy_phases_f32(x + op.first[j], target, w, op.taps[j], groups, op.phases)
            else:
                burnpy_phases_f64(x + op.first[j], target, w, op.taps[j], groups, op.phases)
        else:
            if wait:
                stop = min(stop, j + wait)
            _signal(x + op.first[j], 1, target, 1, op, j, stop, op.first[j], 1, rows, aside)
        if large:
            burnpy_stream(y + j - j0, blocks, (stop - j) * sizeof(real))
        j = stop


cdef inline void _put(real *y, const real *x, Py_ssize_t size, bint large) noexcept nogil:
    if large:
        burnpy_stream(y, x, size * sizeof(real))
    else:
        memcpy(y, x, size * sizeof(real))


cdef void _across(const real *x, Py_ssize_t sx, Py_ssize_t lane, real *block, Py_ssize_t n, Py_ssize_t inner,
                  Py_ssize_t lanes) noexcept nogil:
    """Copy ``block[i, c, r] = x[r * lane + i * sx + c]``."""
    cdef Py_ssize_t i, c, r, vector = VECTOR // sizeof(real)
    if sx == inner:
        _transpose(x, lane, block, vector, lanes, n * inner)
    else:
        for i in range(n):
            for c in range(inner):
                for r in range(lanes):
                    block[(i * inner + c) * vector + r] = x[r * lane + i * sx + c]


cdef void _back(const real *block, real *y, Py_ssize_t sy, Py_ssize_t lane, Py_ssize_t m, Py_ssize_t inner,
                Py_ssize_t lanes) noexcept nogil:
    """Copy ``y[r * lane + j * sy + c] = block[j, c, r]``."""
    cdef Py_ssize_t j, c, r, vector = VECTOR // sizeof(real)
    if sy == inner:
        _transpose(block, vector, y, lane, m * inner, lanes)
    else:
        for j in range(m):
            for c in range(inner):
                for r in range(lanes):
                    y[r * lane + j * sy + c] = block[(j * inner + c) * vector + r]


cdef inline void _transpose(const real *x, Py_ssize_t sx, real *y, Py_ssize_t sy, Py_ssize_t rows,
                            Py_ssize_t columns) noexcept nogil:
    """Copy ``y[c * sy + r] = x[r * sx + c]``."""
    if real is float:
        burnpy_transpose_f32(x, sx, y, sy, rows, columns)
    else:
        burnpy_transpose_f64(x, sx, y, sy, rows, columns)


cdef void _rows(const real *x, Py_ssize_t sx, real *y, Py_ssize_t sy, const Axis *op, Py_ssize_t j0, Py_ssize_t j1,
                Py_ssize_t base, Py_ssize_t inner, real *aside) noexcept nogil:
    """``y[j - j0] = sum_k w[j, k] * x[first[j] - base + k]``, each a row of contiguous inner elements: the general loop.

    Where outputs share inputs, in columns so narrow that those stay in cache. With ``aside`` rows are made there, as many
    as follow one another and fit, and copied past the cache.
    """
    cdef Py_ssize_t c = 0, j, stop, r, size, rows = 1, width = inner, block = BLOCK // sizeof(real)
    cdef bint brief = aside == NULL and inner * sizeof(real) <= SHORT
    cdef bint apart = False  # empty rows are so long that they are no part of what is made aside
    cdef real *target
    cdef const real *w
    if op.shares and op.widest * inner * sizeof(real) > SHARED:
        width = max(SHARED // (op.widest * STRIPE), 1) * STRIPE // sizeof(real)
    if aside != NULL:
        width = min(width, block)
        if sy == width:
            rows = block // width
        apart = width * sizeof(real) >= 4 * STRIPE
    while c < inner:
        size = min(width, inner - c)
        j = j0
        while j < j1:
            target = y + (j - j0) * sy + c
            if brief and op.taps[j] and op.alike[j] > 0:
                stop = min(op.alike[j], j1)
                w = <const real *>op.weights + op.offset[j]
                if real is float:
                    burnpy_rows_f32(target, sy, x + c - base * sx, sx, op.first + j, w, op.taps[j], stop - j, size, op.far)
                else:
                    burnpy_rows_f64(target, sy, x + c - base * sx, sx, op.first + j, w, op.taps[j], stop - j, size, op.far)
                j = stop
            elif aside == NULL:
                _row(x + c, sx, target, op, j, base, size)
                j += 1
            elif apart and op.offset[j + 1] == op.offset[j]:
                burnpy_stream(target, NULL, size * sizeof(real))
                j += 1
            else:
                stop = j + 1
                while stop < min(j + rows, j1) and not (apart and op.offset[stop + 1] == op.offset[stop]):
                    stop += 1
                for r in range(stop - j):
                    _row(x + c, sx, aside + r * size, op, j + r, base, size)
                burnpy_stream(target, aside, (stop - j) * size * sizeof(real))
                j = stop
        c += size


cdef inline void _row(const real *x, Py_ssize_t sx, real *y, const Axis *op, Py_ssize_t j, Py_ssize_t base,
                      Py_ssize_t inner) noexcept nogil:
    cdef Py_ssize_t ahead = _end(op, j + 1) - _end(op, j) if op.far and j + 1 < op.runs else 0
    cdef const real *w = <const real *>op.weights + op.offset[j]
    cdef Py_ssize_t count = op.offset[j + 1] - op.offset[j]
    x += (op.first[j] - base) * sx
    while count and w[0] == 0:
        w += 1
        count -= 1
        x += sx
    if count == 0:
        memset(y, 0, inner * sizeof(real))
    elif real is float:
        burnpy_row_f32(y, x, sx, w, count, inner, ahead)
    else:
        burnpy_row_f64(y, x, sx, w, count, inner, ahead)


cdef void _lanes(const real *x, real *y, const Axis *op, Py_ssize_t j0, Py_ssize_t j1, Py_ssize_t inner) noexcept nogil:
    """`_rows` of ``inner`` whole vectors, packed, from the first input of ``j0`` on: runs of like length in tight loops."""
    cdef Py_ssize_t j = j0, stop, c, vector = VECTOR // sizeof(real), step = inner * vector
    cdef const real *w
    cdef const real *start = x - op.first[j0] * step
    cdef bint mixed
    while j < j1:
        stop = _alike(op, j, j1, &mixed)
        w = <const real *>op.weights + op.offset[j]
        if op.taps[j] == 0:
            _rows(x, step, y, step, op, j, stop, op.first[j0], step, NULL)
        else:
            for c in range(inner):
                _runs(start + c * vector, y + c * vector, step, op, j, stop, mixed, w)
        y += (stop - j) * step
        j = stop


cdef inline void _runs(const real *x, real *y, Py_ssize_t step, const Axis *op, Py_ssize_t j, Py_ssize_t stop, bint mixed,
                       const real *w) noexcept nogil:
    if real is float:
        if mixed:
            burnpy_mixed_runs_f32(x, step, y, step, op.first + j, w, op.taps + j, stop - j)
        else:
            burnpy_runs_f32(x, step, y, step, op.first + j, w, op.taps[j], stop - j)
    else:
        if mixed:
            burnpy_mixed_runs_f64(x, step, y, step, op.first + j, w, op.taps + j, stop - j)
        else:
            burnpy_runs_f64(x, step, y, step, op.first + j, w, op.taps[j], stop - j)


cdef inline Py_ssize_t _alike(const Axis *op, Py_ssize_t j, Py_ssize_t j1, bint *mixed) noexcept nogil:
    """Return where the runs end, from ``j`` on, that have the same number of taps; ``mixed`` if others, but none 0."""
    cdef Py_ssize_t stop = op.alike[j]
    mixed[0] = stop < 0
    return min(-stop if mixed[0] else stop, j1)


cdef void _signal(const real *x, Py_ssize_t sx, real *y, Py_ssize_t sy, const Axis *op, Py_ssize_t j0, Py_ssize_t j1,
                  Py_ssize_t base, Py_ssize_t inner, const burnpy_across *rows, real *aside) noexcept nogil:
    """`_rows` of a single element, or of up to four that follow one another: runs of like length in tight loops.

    With ``rows`` what they weigh is the sum of some; ``aside`` is room for it, and inner elements follow one another.
    """
    cdef Py_ssize_t j = j0, stop, taps, size
    cdef const real *w
    cdef const real *start = x - base * sx
    cdef bint mixed, done
    while j < j1:
        stop = _alike(op, j, j1, &mixed)
        w = <const real *>op.weights + op.offset[j]
        taps = op.taps[j]
        done = False
        if real is float:
            if taps and not mixed and sx == inner and sy == inner and inner <= PIXEL:
                if inner > 1:
                    done = burnpy_pixels(start, y, op.first + j, w, taps, stop - j, inner, rows)
                else:
                    done = burnpy_quads(start, y, op.first + j, w, taps, stop - j, op.ahead, rows)
        if done:
            pass
        elif rows != NULL and taps and not mixed:
            if real is float:
                burnpy_windows_f32(start, y, op.first + j, w, taps, stop - j, inner, rows)
            else:
                burnpy_windows_f64(start, y, op.first + j, w, taps, stop - j, inner, rows)
        elif rows != NULL:
            size = (_end(op, stop - 1) - op.first[j]) * inner
            if real is float:
                burnpy_row_f32(aside, start + op.first[j] * inner, rows.step, <const real *>rows.weights, rows.count,
                               size, 0)
            else:
                burnpy_row_f64(aside, start + op.first[j] * inner, rows.step, <const real *>rows.weights, rows.count,
                               size, 0)
            _signal(aside, inner, y, inner, op, j, stop, op.first[j], inner, NULL, NULL)
        elif taps == 0 or inner > 1:
            _rows(start + op.first[j] * sx, sx, y, sy, op, j, stop, op.first[j], inner, NULL)
        else:
            _singles(start, sx, y, sy, op, j, stop, mixed, w)
        y += (stop - j) * sy
        j = stop


cdef inline void _singles(const real *x, Py_ssize_t sx, real *y, Py_ssize_t sy, const Axis *op, Py_ssize_t j,
                          Py_ssize_t stop, bint mixed, const real *w) noexcept nogil:
    if real is float:
        if mixed:
            burnpy_mixed_singles_f32(x, sx, y, sy, op.first + j, w, op.taps + j, stop - j)
        else:
            burnpy_singles_f32(x, sx, y, sy, op.first + j, w, op.taps[j], stop - j)
    else:
        if mixed:
            burnpy_mixed_singles_f64(x, sx, y, sy, op.first + j, w, op.taps + j, stop - j)
        else:
            burnpy_singles_f64(x, sx, y, sy, op.first + j, w, op.taps[j], stop - j)
