/* What Cython has no words for: registers.
 *
 * The innermost loops of the kernels, on vectors held in registers (BURNPY_WEIGH, BURNPY_ROW, BURNPY_RUNS).
 *
 * Transposes of small matrices in registers, y[c * sy + r] = x[r * sx + c]: the kernels vectorise over rows that lie apart by
 * transposing a block of them. Every variant moves the same elements as the plain loops of BURNPY_TRANSPOSE, which also do
 * the borders.
 *
 * Permutations, by which registers of outputs pick their inputs (burnpy_shuffled).
 *
 * Copies of a few bytes each, of a size that the compiler knows. Copies past the cache, for results too large to be found
 * there again: a plain store would first read what it overwrites. Half precision to single and back. */
#ifndef BURNPY_LOOPS_H
#define BURNPY_LOOPS_H

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Whether the compiler has a word for elements that change places between vectors. */
#if defined(__GNUC__) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define BURNPY_DEALS 1
#endif
#endif
#if defined(_MSC_VER)
#include <intrin.h>
#elif defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#if defined(__GNUC__)
#if defined(__AVX512F__)
#define BURNPY_REGISTER 64
#elif defined(__AVX__)
#define BURNPY_REGISTER 32
#else
#define BURNPY_REGISTER 16
#endif
#define BURNPY_INLINE static inline __attribute__((always_inline))
#define BURNPY_UNROLL _Pragma("GCC unroll 16")
#define BURNPY_UNROLL_BY_4 _Pragma("GCC unroll 4")
#define BURNPY_PREFETCH(x) __builtin_prefetch(x, 0, 2) /* into the second-level cache: more can be on its way there */
typedef float burnpy_vector_f32 __attribute__((vector_size(BURNPY_REGISTER), aligned(4), may_alias));
typedef double burnpy_vector_f64 __attribute__((vector_size(BURNPY_REGISTER), aligned(8), may_alias));
#else
#define BURNPY_INLINE static inline
#define BURNPY_UNROLL
#define BURNPY_UNROLL_BY_4
#define BURNPY_PREFETCH(x) ((void)0)
typedef float burnpy_vector_f32;
typedef double burnpy_vector_f64;
#endif
#define BURNPY_LINE 64 /* bytes of the caches */

#if defined(__AVX__)
#include <immintrin.h>
#define BURNPY_TILE_F32 8
#define BURNPY_TILE_F64 4

static inline void burnpy_tile_f32(const float *x, ptrdiff_t sx, float *y, ptrdiff_t sy) {
    /* Halves of rows r and r + 4 share a register, so that two rounds of shuffles within lanes finish the work. */
    __m256 r[4][2], t[4][2];
    for (int half = 0; half < 2; half++)
        for (int k = 0; k < 4; k++)
            r[k][half] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x + k * sx + 4 * half)),
                                              _mm_loadu_ps(x + (k + 4) * sx + 4 * half), 1);
    for (int half = 0; half < 2; half++) {
        t[0][half] = _mm256_unpacklo_ps(r[0][half], r[1][half]);
        t[1][half] = _mm256_unpackhi_ps(r[0][half], r[1][half]);
        t[2][half] = _mm256_unpacklo_ps(r[2][half], r[3][half]);
        t[3][half] = _mm256_unpackhi_ps(r[2][half], r[3][half]);
        float *q = y + 4 * half * sy;
        _mm256_storeu_ps(q, _mm256_shuffle_ps(t[0][half], t[2][half], 0x44));
        _mm256_storeu_ps(q + sy, _mm256_shuffle_ps(t[0][half], t[2][half], 0xee));
        _mm256_storeu_ps(q + 2 * sy, _mm256_shuffle_ps(t[1][half], t[3][half], 0x44));
        _mm256_storeu_ps(q + 3 * sy, _mm256_shuffle_ps(t[1][half], t[3][half], 0xee));
    }
}

static inline void burnpy_tile_f64(const double *x, ptrdiff_t sx, double *y, ptrdiff_t sy) {
    __m256d r[2][2];
    for (int half = 0; half < 2; half++) {
        for (int k = 0; k < 2; k++)
            r[k][half] = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(x + k * sx + 2 * half)),
                                              _mm_loadu_pd(x + (k + 2) * sx + 2 * half), 1);
        double *q = y + 2 * half * sy;
        _mm256_storeu_pd(q, _mm256_unpacklo_pd(r[0][half], r[1][half]));
        _mm256_storeu_pd(q + sy, _mm256_unpackhi_pd(r[0][half], r[1][half]));
    }
}

#elif defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define BURNPY_TILE_F32 4
#define BURNPY_TILE_F64 2

static inline void burnpy_tile_f32(const float *x, ptrdiff_t sx, float *y, ptrdiff_t sy) {
    __m128 a = _mm_loadu_ps(x), b = _mm_loadu_ps(x + sx), c = _mm_loadu_ps(x + 2 * sx), d = _mm_loadu_ps(x + 3 * sx);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(y, a);
    _mm_storeu_ps(y + sy, b);
    _mm_storeu_ps(y + 2 * sy, c);
    _mm_storeu_ps(y + 3 * sy, d);
}

static inline void burnpy_tile_f64(const double *x, ptrdiff_t sx, double *y, ptrdiff_t sy) {
    __m128d a = _mm_loadu_pd(x), b = _mm_loadu_pd(x + sx);
    _mm_storeu_pd(y, _mm_unpacklo_pd(a, b));
    _mm_storeu_pd(y + sy, _mm_unpackhi_pd(a, b));
}

#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#define BURNPY_TILE_F32 4
#define BURNPY_TILE_F64 2

static inline void burnpy_tile_f32(const float *x, ptrdiff_t sx, float *y, ptrdiff_t sy) {
    float32x4x2_t ab = vtrnq_f32(vld1q_f32(x), vld1q_f32(x + sx));
    float32x4x2_t cd = vtrnq_f32(vld1q_f32(x + 2 * sx), vld1q_f32(x + 3 * sx));
    vst1q_f32(y, vcombine_f32(vget_low_f32(ab.val[0]), vget_low_f32(cd.val[0])));
    vst1q_f32(y + sy, vcombine_f32(vget_low_f32(ab.val[1]), vget_low_f32(cd.val[1])));
    vst1q_f32(y + 2 * sy, vcombine_f32(vget_high_f32(ab.val[0]), vget_high_f32(cd.val[0])));
    vst1q_f32(y + 3 * sy, vcombine_f32(vget_high_f32(ab.val[1]), vget_high_f32(cd.val[1])));
}

static inline void burnpy_tile_f64(const double *x, ptrdiff_t sx, double *y, ptrdiff_t sy) {
    float64x2_t a = vld1q_f64(x), b = vld1q_f64(x + sx);
    vst1q_f64(y, vzip1q_f64(a, b));
    vst1q_f64(y + sy, vzip2q_f64(a, b));
}

#else
#define BURNPY_TILE_F32 1
#define BURNPY_TILE_F64 1
#define burnpy_tile_f32(x, sx, y, sy) (*(y) = *(x))
#define burnpy_tile_f64(x, sx, y, sy) (*(y) = *(x))
#endif

#define BURNPY_TRANSPOSE(name, real, tile, TILE)                                                                       \
    static inline void name(const real *x, ptrdiff_t sx, real *y, ptrdiff_t sy, ptrdiff_t rows, ptrdiff_t columns) {   \
        ptrdiff_t r, c, whole = columns - columns % TILE;                                                              \
        for (r = 0; r + TILE <= rows; r += TILE) {                                                                     \
            for (c = 0; c < whole; c += TILE)                                                                          \
                tile(x + r * sx + c, sx, y + c * sy + r, sy);                                                          \
            for (; c < columns; c++)                                                                                   \
                for (ptrdiff_t k = r; k < r + TILE; k++)                                                               \
                    y[c * sy + k] = x[k * sx + c];                                                                     \
        }                                                                                                              \
        for (; r < rows; r++)                                                                                          \
            for (c = 0; c < columns; c++)                                                                              \
                y[c * sy + r] = x[r * sx + c];                                                                         \
    }

BURNPY_TRANSPOSE(burnpy_transpose_f32, float, burnpy_tile_f32, BURNPY_TILE_F32)
BURNPY_TRANSPOSE(burnpy_transpose_f64, double, burnpy_tile_f64, BURNPY_TILE_F64)

/* Copy bytes, or write zeros if `x` is NULL, as memcpy or memset would. */
static inline void burnpy_fill(char *y, const char *x, size_t bytes) {
    if (x)
        memcpy(y, x, bytes);
    else
        memset(y, 0, bytes);
}

/* The same past the cache. */
#if defined(__SSE2__) || defined(_M_X64)
static inline void burnpy_stream(void *y, const void *x, size_t bytes) {
    char *to = (char *)y;
    const char *from = (const char *)x;
    size_t head = (size_t)(-(uintptr_t)to & 63), i = head;
    if (bytes < head + 64) {
        burnpy_fill(to, from, bytes);
        return;
    }
    burnpy_fill(to, from, head);
    __m128 a = _mm_setzero_ps(), b = a, c = a, d = a;
    for (; i + 64 <= bytes; i += 64) {
        if (from) {
            a = _mm_loadu_ps((const float *)(from + i)), b = _mm_loadu_ps((const float *)(from + i + 16));
            c = _mm_loadu_ps((const float *)(from + i + 32)), d = _mm_loadu_ps((const float *)(from + i + 48));
        }
        _mm_stream_ps((float *)(to + i), a);
        _mm_stream_ps((float *)(to + i + 16), b);
        _mm_stream_ps((float *)(to + i + 32), c);
        _mm_stream_ps((float *)(to + i + 48), d);
    }
    burnpy_fill(to + i, from ? from + i : NULL, bytes - i);
}

/* Streamed stores become visible to other threads in any order unless fenced. */
static inline void burnpy_stream_end(void) { _mm_sfence(); }
#else
#define burnpy_stream(y, x, bytes) burnpy_fill((char *)(y), (const char *)(x), bytes)
#define burnpy_stream_end() ((void)0)
#endif

/* Whether memory is so new that the system will clear it, into the cache, when it is first written: of one page in the middle. */
static inline int burnpy_fresh(const void *y, size_t bytes) {
#if defined(__linux__)
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char present = 1;
    return mincore((void *)(((uintptr_t)y + bytes / 2) / page * page), 1, &present) == 0 && !(present & 1);
#else
    return bytes >= (size_t)1 << 25; /* what most allocators get from the system each time */
#endif
}

/* y[j * sy] = x[first[j] * sx], `size` bytes of each, steps in bytes. */
#define BURNPY_PICK(size)                                                                                              \
    BURNPY_UNROLL_BY_4 for (; j < runs; j++)                                                                           \
        memcpy(y + j * sy, x + first[j] * sx, size)

static void burnpy_pick(char *y, ptrdiff_t sy, const char *x, ptrdiff_t sx, const ptrdiff_t *first, ptrdiff_t runs,
                        ptrdiff_t size) {
    ptrdiff_t j = 0;
    if (runs && sx == 4 && sy == 4 && size == 4)
        BURNPY_UNROLL_BY_4 for (; j < runs; j++)
            memcpy(y + j * 4, x + first[j] * 4, 4);
    if (runs && sx == 12 && sy == 12 && size == 12) { /* one word too many, which the next pixel overwrites */
        ptrdiff_t safe = runs - 1;
        while (safe > 0 && first[safe - 1] == first[runs - 1])
            safe--;
        BURNPY_UNROLL_BY_4 for (; j < safe; j++)
            memcpy(y + j * 12, x + first[j] * 12, 16);
    }
    switch (size) { /* up to four elements of either type */
    case 4: BURNPY_PICK(4); break;
    case 8: BURNPY_PICK(8); break;
    case 12: BURNPY_PICK(12); break;
    case 16: BURNPY_PICK(16); break;
    case 24: BURNPY_PICK(24); break;
    case 32: BURNPY_PICK(32); break;
    default: BURNPY_PICK(size);
    }
}

/* y[row[e] * sy] = x[first[row[e]] * sx], likewise. */
#define BURNPY_PLACE(size)                                                                                             \
    BURNPY_UNROLL_BY_4 for (ptrdiff_t e = 0; e < count; e++)                                                           \
        memcpy(y + row[e] * sy, x + first[row[e]] * sx, size)

static void burnpy_place(char *y, ptrdiff_t sy, const char *x, ptrdiff_t sx, const ptrdiff_t *row, const ptrdiff_t *first,
                         ptrdiff_t count, ptrdiff_t size) {
    switch (size) {
    case 4: BURNPY_PLACE(4); break;
    case 8: BURNPY_PLACE(8); break;
    case 12: BURNPY_PLACE(12); break;
    case 24: BURNPY_PLACE(24); break;
    default: BURNPY_PLACE(size);
    }
}

/* y[row[e], ...] = w[e] * x[first[row[e]], ...], `inner` contiguous elements of each. */
#define BURNPY_SCATTER(name, real)                                                                                     \
    static inline void name##_of(real *y, const real *x, const ptrdiff_t *row, const ptrdiff_t *first, const real *w,  \
                                 ptrdiff_t count, ptrdiff_t inner) {                                                   \
        for (ptrdiff_t e = 0; e < count; e++)                                                                          \
            for (ptrdiff_t c = 0; c < inner; c++)                                                                      \
                y[row[e] * inner + c] = w[e] * x[first[row[e]] * inner + c];                                           \
    }                                                                                                                  \
    static void name(real *y, const real *x, const ptrdiff_t *row, const ptrdiff_t *first, const real *w,              \
                     ptrdiff_t count, ptrdiff_t inner) {                                                               \
        switch (inner) {                                                                                               \
        case 2: name##_of(y, x, row, first, w, count, 2); break;                                                       \
        case 3: name##_of(y, x, row, first, w, count, 3); break;                                                       \
        case 4: name##_of(y, x, row, first, w, count, 4); break;                                                       \
        default: name##_of(y, x, row, first, w, count, inner);                                                         \
        }                                                                                                              \
    }

BURNPY_SCATTER(burnpy_scatter_f32, float)
BURNPY_SCATTER(burnpy_scatter_f64, double)

/* IEEE 754 binary16 to binary32 and, to the nearest, ties to even, back: by the processor, or by choices instead of branches,
 * so that compilers vectorise the loops. */
#if defined(__F16C__) || (defined(_MSC_VER) && defined(__AVX2__))
#define BURNPY_CONVERTS
#endif

typedef union {
    uint32_t bits;
    float value;
} burnpy_word;

static inline float burnpy_single(uint16_t half) {
    burnpy_word word, scale = {0x77800000}; /* 2^112: from an exponent's bias of 15 to one of 127, subnormals too */
    word.bits = (uint32_t)(half & 0x7fff) << 13;
    word.value *= scale.value;
    word.bits |= (half & 0x7c00) == 0x7c00 ? 0x7f800000 : 0; /* infinity, NaN */
    word.bits |= (half & 0x7fff) > 0x7c00 ? 0x00400000 : 0; /* a quiet NaN, as processors make it */
    word.bits |= (uint32_t)(half & 0x8000) << 16;
    return word.value;
}

static inline uint16_t burnpy_half(float single) {
    burnpy_word word = {0}, tiny = {0};
    word.value = single;
    uint32_t size = word.bits & 0x7fffffff, sign = word.bits >> 16 & 0x8000;
    uint32_t normal = (size - 0x37fff001 + (size >> 13 & 1)) >> 13; /* bias 127 to 15, and half a unit less 1 or 0 */
    word.bits = size;
    tiny.value = word.value + 0.5f; /* whose last digit is the smallest subnormal: the addition rounds */
    uint32_t half = size < 0x38800000 ? tiny.bits - 0x3f000000 : normal;
    half = size >= 0x477ff000 ? 0x7c00 : half;
    uint32_t payload = size >> 13 & 0x3ff;
    half = size > 0x7f800000 ? 0x7e00 | payload : half; /* NaN stays NaN, a quiet one */
    return (uint16_t)(half | sign);
}

static void burnpy_from_half(float *y, const uint16_t *x, ptrdiff_t sx, ptrdiff_t count) {
    ptrdiff_t i = 0;
#ifdef __AVX512F__
    for (; sx == 1 && i + 16 <= count; i += 16)
        _mm512_storeu_ps(y + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(x + i))));
#endif
#ifdef BURNPY_CONVERTS
    for (; sx == 1 && i + 8 <= count; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x + i))));
#endif
    if (sx == 1)
        for (; i < count; i++)
            y[i] = burnpy_single(x[i]);
    else
        for (; i < count; i++)
            y[i] = burnpy_single(x[i * sx]);
}

static void burnpy_to_half(uint16_t *y, ptrdiff_t sy, const float *x, ptrdiff_t count) {
    ptrdiff_t i = 0;
#ifdef __AVX512F__
    for (; sy == 1 && i + 16 <= count; i += 16)
        _mm256_storeu_si256((__m256i *)(y + i), _mm512_cvtps_ph(_mm512_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#endif
#ifdef BURNPY_CONVERTS
    for (; sy == 1 && i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    if (sy == 1)
        for (; i < count; i++)
            y[i] = burnpy_half(x[i]);
    else
        for (; i < count; i++)
            y[i * sy] = burnpy_half(x[i]);
}

/* Ask for inputs x[(first[j] - first[0]) * sx ...], `size` bytes of each, that will be read, though not at once; and for what
 * lies between them, if little does. Always inlined: a compiler may drop calls that change nothing. */
BURNPY_INLINE void burnpy_ask(const char *x, ptrdiff_t sx, const ptrdiff_t *first, ptrdiff_t runs, ptrdiff_t size) {
    const ptrdiff_t bytes = (first[runs - 1] - first[0]) * sx + size;
    if (bytes <= 2 * BURNPY_LINE * runs)
        for (ptrdiff_t i = 0; i < bytes; i += BURNPY_LINE)
            BURNPY_PREFETCH(x + i);
    else
        for (ptrdiff_t j = 0; j < runs; j++)
            for (ptrdiff_t i = 0; i < size; i += BURNPY_LINE)
                BURNPY_PREFETCH(x + (first[j] - first[0]) * sx + i);
}

/* y[...] = sum of w[k] * x[k * sx + ...] from left to right, over a few vectors of contiguous elements. w[0] is not 0; if
 * `zeros` is set other weights may be, and are skipped. `vectors`, at most 16, is a constant where this is inlined. */
#define BURNPY_WEIGH(name, real, vector)                                                                               \
    BURNPY_INLINE void name(real *y, const real *x, ptrdiff_t sx, const real *w, ptrdiff_t count, int zeros,           \
                            int vectors) {                                                                             \
        vector sums[16];                                                                                               \
        const ptrdiff_t lanes = sizeof(vector) / sizeof(real);                                                         \
        BURNPY_UNROLL for (int v = 0; v < vectors; v++)                                                                \
            sums[v] = w[0] * *(const vector *)(x + v * lanes);                                                         \
        for (ptrdiff_t k = 1; k < count; k++) {                                                                        \
            x += sx;                                                                                                   \
            if (zeros && w[k] == 0)                                                                                    \
                continue;                                                                                              \
            BURNPY_UNROLL for (int v = 0; v < vectors; v++)                                                            \
                sums[v] += w[k] * *(const vector *)(x + v * lanes);                                                    \
        }                                                                                                              \
        BURNPY_UNROLL for (int v = 0; v < vectors; v++)                                                                \
            *(vector *)(y + v * lanes) = sums[v];                                                                      \
    }

BURNPY_WEIGH(burnpy_weigh_f32, float, burnpy_vector_f32)
BURNPY_WEIGH(burnpy_weigh_f64, double, burnpy_vector_f64)
BURNPY_WEIGH(burnpy_weigh_one_f32, float, float)
BURNPY_WEIGH(burnpy_weigh_one_f64, double, double)

/* Elements that lie closer are too late to be asked for when memory has to bring them. */
#define BURNPY_SOON 1024

/* One run over `inner` contiguous elements, in stripes of eight registers, then of four, two and one, of which the last begins so
 * early that it ends with the row: what is done twice is the same twice. Rows shorter than a register are done one by one.
 * And several runs of `taps` weights, none of them 0. */
#define BURNPY_ROW(name, rows, real, vector, weigh, weigh_one)                                                         \
    BURNPY_INLINE void name##_of(real *y, const real *x, ptrdiff_t sx, const real *w, ptrdiff_t count, int zeros,      \
                                 ptrdiff_t inner, ptrdiff_t ahead) {                                                   \
        const ptrdiff_t lanes = sizeof(vector) / sizeof(real), stripe = 8 * lanes, few = 64 / sizeof(real);            \
        const real *next = x + (count * sx > BURNPY_SOON ? count * sx : BURNPY_SOON);                                  \
        const ptrdiff_t width = inner;                                                                                 \
        for (ptrdiff_t c = 0; inner >= stripe; inner -= stripe, x += stripe, y += stripe) {                            \
            for (ptrdiff_t line = ahead * (stripe / few); line > 0; line--) {                                          \
                BURNPY_PREFETCH(next + c);                                                                             \
                if ((c += few) >= width)                                                                               \
                    c = 0, next += sx;                                                                                 \
            }                                                                                                          \
            weigh(y, x, sx, w, count, zeros, 8);                                                                       \
        }                                                                                                              \
        if (inner >= 4 * lanes) {                                                                                      \
            weigh(y, x, sx, w, count, zeros, 4);                                                                       \
            inner -= 4 * lanes, x += 4 * lanes, y += 4 * lanes;                                                        \
        }                                                                                                              \
        if (inner >= 2 * lanes) {                                                                                      \
            weigh(y, x, sx, w, count, zeros, 2);                                                                       \
            inner -= 2 * lanes, x += 2 * lanes, y += 2 * lanes;                                                        \
        }                                                                                                              \
        if (inner >= lanes) {                                                                                          \
            weigh(y, x, sx, w, count, zeros, 1);                                                                       \
            inner -= lanes, x += lanes, y += lanes;                                                                    \
        }                                                                                                              \
        if (inner && width >= lanes) {                                                                                 \
            weigh(y + inner - lanes, x + inner - lanes, sx, w, count, zeros, 1);                                       \
            return;                                                                                                    \
        }                                                                                                              \
        for (; inner; inner--, x++, y++)                                                                               \
            weigh_one(y, x, sx, w, count, zeros, 1);                                                                   \
    }                                                                                                                  \
    static void name(real *y, const real *x, ptrdiff_t sx, const real *w, ptrdiff_t count, ptrdiff_t inner,            \
                     ptrdiff_t ahead) {                                                                                \
        name##_of(y, x, sx, w, count, 1, inner, ahead);                                                                \
    }                                                                                                                  \
    BURNPY_INLINE void rows##_of(real *y, ptrdiff_t sy, const real *x, ptrdiff_t sx, const ptrdiff_t *first, const real *w,\
                                 ptrdiff_t taps, ptrdiff_t runs, ptrdiff_t inner, int far) {                           \
        for (ptrdiff_t j = 0; j < runs; j++, y += sy, w += taps)                                                       \
            name##_of(y, x + first[j] * sx, sx, w, taps, 0, inner, far && j + 1 < runs ? first[j + 1] - first[j] : 0); \
    }                                                                                                                  \
    static void rows(real *y, ptrdiff_t sy, const real *x, ptrdiff_t sx, const ptrdiff_t *first, const real *w,        \
                     ptrdiff_t taps, ptrdiff_t runs, ptrdiff_t inner, int far) {                                       \
        switch (taps) {                                                                                                \
        case 1: rows##_of(y, sy, x, sx, first, w, 1, runs, inner, far); break;                                         \
        case 2: rows##_of(y, sy, x, sx, first, w, 2, runs, inner, far); break;                                         \
        case 3: rows##_of(y, sy, x, sx, first, w, 3, runs, inner, far); break;                                         \
        case 4: rows##_of(y, sy, x, sx, first, w, 4, runs, inner, far); break;                                         \
        case 6: rows##_of(y, sy, x, sx, first, w, 6, runs, inner, far); break;                                         \
        case 8: rows##_of(y, sy, x, sx, first, w, 8, runs, inner, far); break;                                         \
        default: rows##_of(y, sy, x, sx, first, w, taps, runs, inner, far);                                            \
        }                                                                                                              \
    }

BURNPY_ROW(burnpy_row_f32, burnpy_rows_f32, float, burnpy_vector_f32, burnpy_weigh_f32, burnpy_weigh_one_f32)
BURNPY_ROW(burnpy_row_f64, burnpy_rows_f64, double, burnpy_vector_f64, burnpy_weigh_f64, burnpy_weigh_one_f64)

/* Several runs of `taps` weights, none of them 0: of each the few elements that `weigh` does with `vectors`. The usual
 * numbers of taps are unrolled. */
#define BURNPY_RUNS(name, real, weigh, vectors)                                                                        \
    BURNPY_INLINE void name##_of(const real *x, ptrdiff_t sx, real *y, ptrdiff_t sy, const ptrdiff_t *first,           \
                                 const real *w, ptrdiff_t taps, ptrdiff_t runs) {                                      \
        for (ptrdiff_t j = 0; j < runs; j++, y += sy, w += taps)                                                       \
            weigh(y, x + first[j] * sx, sx, w, taps, 0, vectors);                                                      \
    }                                                                                                                  \
    static void name(const real *x, ptrdiff_t sx, real *y, ptrdiff_t sy, const ptrdiff_t *first, const real *w,        \
                     ptrdiff_t taps, ptrdiff_t runs) {                                                                 \
        switch (taps) {                                                                                                \
        case 2: name##_of(x, sx, y, sy, first, w, 2, runs); break;                                                     \
        case 3: name##_of(x, sx, y, sy, first, w, 3, runs); break;                                                     \
        case 4: name##_of(x, sx, y, sy, first, w, 4, runs); break;                                                     \
        case 5: name##_of(x, sx, y, sy, first, w, 5, runs); break;                                                     \
        case 6: name##_of(x, sx, y, sy, first, w, 6, runs); break;                                                     \
        case 8: name##_of(x, sx, y, sy, first, w, 8, runs); break;                                                     \
        default: name##_of(x, sx, y, sy, first, w, taps, runs);                                                        \
        }                                                                                                              \
    }

/* Rows, `step` apart, whose sum is what runs weigh, so that two axes are done at once; or none but the one given. */
typedef struct {
    const void *weights; /* of `count` rows, none of them 0 */
    ptrdiff_t count, step;
} burnpy_across;

#define BURNPY_OVER_ROWS(sum, real, rows, load)                                                                        \
    if ((rows).count) {                                                                                                \
        const real *weights = (const real *)(rows).weights;                                                            \
        sum = weights[0] * sum;                                                                                        \
        BURNPY_UNROLL_BY_4 for (ptrdiff_t r = 1, at = (rows).step; r < (rows).count; r++, at += (rows).step)           \
            sum += weights[r] * load;                                                                                  \
    }

/* As many elements of the sum of rows as `type` has. */
#define BURNPY_OF_ROWS(name, real, type)                                                                               \
    BURNPY_INLINE type name(const real *x, burnpy_across rows) {                                                       \
        type sum = *(const type *)x;                                                                                   \
        BURNPY_OVER_ROWS(sum, real, rows, *(const type *)(x + at));                                                    \
        return sum;                                                                                                    \
    }

BURNPY_OF_ROWS(burnpy_of_f32, float, burnpy_vector_f32)
BURNPY_OF_ROWS(burnpy_of_f64, double, burnpy_vector_f64)

/* What one run makes of as many elements as `type` has, `inner` elements from one input to the next. */
#define BURNPY_WINDOW(name, real, type)                                                                                \
    BURNPY_INLINE type name(const real *x, const real *w, ptrdiff_t taps, ptrdiff_t inner, burnpy_across rows) {       \
        type sum = *(const type *)x;                                                                                   \
        BURNPY_OVER_ROWS(sum, real, rows, *(const type *)(x + at));                                                    \
        sum = w[0] * sum;                                                                                              \
        BURNPY_UNROLL_BY_4 for (ptrdiff_t k = 1; k < taps; k++) {                                                      \
            const real *from = x + k * inner;                                                                          \
            type next = *(const type *)from;                                                                           \
            BURNPY_OVER_ROWS(next, real, rows, *(const type *)(from + at));                                            \
            sum += w[k] * next;                                                                                        \
        }                                                                                                              \
        return sum;                                                                                                    \
    }

BURNPY_WINDOW(burnpy_window_f32, float, burnpy_vector_f32)
BURNPY_WINDOW(burnpy_window_f64, double, burnpy_vector_f64)
BURNPY_WINDOW(burnpy_window_one_f32, float, float)
BURNPY_WINDOW(burnpy_window_one_f64, double, double)

/* Several runs of `taps` weights, none of them 0, each of `inner` contiguous elements; the last register of those begins so
 * early that it ends with them. */
#define BURNPY_WINDOWS(name, real, vector, window, window_one)                                                         \
    BURNPY_INLINE void name##_of(const real *x, real *y, const ptrdiff_t *first, const real *w, ptrdiff_t taps,        \
                                 ptrdiff_t runs, ptrdiff_t inner, burnpy_across rows) {                                \
        const ptrdiff_t lanes = sizeof(vector) / sizeof(real);                                                         \
        for (ptrdiff_t j = 0; j < runs; j++, y += inner, w += taps) {                                                  \
            const real *from = x + first[j] * inner;                                                                   \
            ptrdiff_t c = 0;                                                                                           \
            for (; c + lanes <= inner; c += lanes)                                                                     \
                *(vector *)(y + c) = window(from + c, w, taps, inner, rows);                                           \
            if (inner < lanes)                                                                                         \
                for (; c < inner; c++)                                                                                 \
                    y[c] = window_one(from + c, w, taps, inner, rows);                                                 \
            else if (c < inner)                                                                                        \
                *(vector *)(y + inner - lanes) = window(from + inner - lanes, w, taps, inner, rows);                   \
        }                                                                                                              \
    }                                                                                                                  \
    static void name(const real *x, real *y, const ptrdiff_t *first, const real *w, ptrdiff_t taps, ptrdiff_t runs,    \
                     ptrdiff_t inner, const burnpy_across *rows) {                                                     \
        if (taps == 2 && rows->count == 2)                                                                             \
            name##_of(x, y, first, w, 2, runs, inner, (burnpy_across){rows->weights, 2, rows->step});                  \
        else                                                                                                           \
            name##_of(x, y, first, w, taps, runs, inner, *rows);                                                       \
    }

BURNPY_WINDOWS(burnpy_windows_f32, float, burnpy_vector_f32, burnpy_window_f32, burnpy_window_one_f32)
BURNPY_WINDOWS(burnpy_windows_f64, double, burnpy_vector_f64, burnpy_window_f64, burnpy_window_one_f64)

#ifdef BURNPY_DEALS
typedef float burnpy_quad __attribute__((vector_size(16), aligned(4), may_alias));

#define BURNPY_SHUFFLE __builtin_shufflevector
typedef int64_t burnpy_words __attribute__((vector_size(16)));
static inline burnpy_quad burnpy_pairs(const float *a, const float *b) {
    int64_t first, second;
    memcpy(&first, a, 8);
    memcpy(&second, b, 8);
    return (burnpy_quad)(burnpy_words){first, second};
}

BURNPY_OF_ROWS(burnpy_quad_of, float, burnpy_quad)

BURNPY_INLINE burnpy_quad burnpy_pairs_of(const float *a, const float *b, burnpy_across rows) {
    burnpy_quad sum = burnpy_pairs(a, b);
    BURNPY_OVER_ROWS(sum, float, rows, burnpy_pairs(a + at, b + at));
    return sum;
}

/* Calls with numbers of taps and of rows that the compiler knows. */
#define BURNPY_BY_TAPS(call, taps, rows)                                                                               \
    switch (taps) {                                                                                                    \
    case 2: BURNPY_BY_ROWS(call, 2, rows); break;                                                                      \
    case 4: BURNPY_BY_ROWS(call, 4, rows); break;                                                                      \
    case 6: BURNPY_BY_ROWS(call, 6, rows); break;                                                                      \
    default: BURNPY_BY_ROWS(call, taps, rows);                                                                         \
    }
#define BURNPY_BY_ROWS(call, taps, rows)                                                                               \
    if (!rows)                                                                                                         \
        call(taps, ((burnpy_across){NULL, 0, 0}));                                                                     \
    else if (rows->count == taps)                                                                                      \
        call(taps, ((burnpy_across){rows->weights, taps, rows->step}));                                                \
    else                                                                                                               \
        call(taps, *rows)

/* A sum begins with its first term, not with 0. */
BURNPY_INLINE burnpy_quad burnpy_plus(burnpy_quad sum, burnpy_quad term, int begun) {
    if (begun)
        return sum + term;
    return term;
}

/* Of four runs of an even number of weights, none of them 0, of single elements: they are multiplied as they lie, and the
 * products transposed, so that each sum is made in its order. */
BURNPY_INLINE burnpy_quad burnpy_four(const float *x, const ptrdiff_t *first, const float *w, ptrdiff_t taps,
                                      burnpy_across rows) {
    const float *a = x + first[0], *b = x + first[1], *c = x + first[2], *d = x + first[3];
    burnpy_quad sum = {0};
    BURNPY_UNROLL for (ptrdiff_t k = 0; k + 4 <= taps; k += 4) {
        burnpy_quad p = *(const burnpy_quad *)(w + k) * burnpy_quad_of(a + k, rows);
        burnpy_quad q = *(const burnpy_quad *)(w + taps + k) * burnpy_quad_of(b + k, rows);
        burnpy_quad r = *(const burnpy_quad *)(w + 2 * taps + k) * burnpy_quad_of(c + k, rows);
        burnpy_quad s = *(const burnpy_quad *)(w + 3 * taps + k) * burnpy_quad_of(d + k, rows);
        burnpy_quad pq = BURNPY_SHUFFLE(p, q, 0, 4, 1, 5), rs = BURNPY_SHUFFLE(r, s, 0, 4, 1, 5);
        sum = burnpy_plus(sum, BURNPY_SHUFFLE(pq, rs, 0, 1, 4, 5), k > 0);
        sum += BURNPY_SHUFFLE(pq, rs, 2, 3, 6, 7);
        pq = BURNPY_SHUFFLE(p, q, 2, 6, 3, 7), rs = BURNPY_SHUFFLE(r, s, 2, 6, 3, 7);
        sum += BURNPY_SHUFFLE(pq, rs, 0, 1, 4, 5);
        sum += BURNPY_SHUFFLE(pq, rs, 2, 3, 6, 7);
    }
    if (taps % 4) {
        ptrdiff_t k = taps - 2;
        burnpy_quad pq = burnpy_pairs_of(a + k, b + k, rows), rs = burnpy_pairs_of(c + k, d + k, rows);
        if (taps == 2) { /* weights that follow one another */
            pq = *(const burnpy_quad *)w * pq;
            rs = *(const burnpy_quad *)(w + 4) * rs;
        } else {
            pq = burnpy_pairs(w + k, w + taps + k) * pq;
            rs = burnpy_pairs(w + 2 * taps + k, w + 3 * taps + k) * rs;
        }
        sum = burnpy_plus(sum, BURNPY_SHUFFLE(pq, rs, 0, 2, 4, 6), k > 0);
        sum += BURNPY_SHUFFLE(pq, rs, 1, 3, 5, 7);
    }
    return sum;
}

BURNPY_INLINE void burnpy_quads_of(const float *x, float *restrict y, const ptrdiff_t *first, const float *w, ptrdiff_t taps,
                                   ptrdiff_t runs, ptrdiff_t ahead, burnpy_across rows) {
    const int dense = (first[runs - 1] - first[0]) * 2 * (ptrdiff_t)sizeof(float) <= runs * 64; /* two in 64 bytes */
    ptrdiff_t j = 0;
    for (; j + 4 <= runs; j += 4) {
        const float *later = x + ahead;
        for (ptrdiff_t r = 0; ahead && r < (rows.count ? rows.count : 1); r++, later += rows.step) {
            BURNPY_PREFETCH(later + first[j]);
            BURNPY_PREFETCH(later + first[j + 2]);
            if (!dense) {
                BURNPY_PREFETCH(later + first[j + 1]);
                BURNPY_PREFETCH(later + first[j + 3]);
            }
        }
        *(burnpy_quad *)(y + j) = burnpy_four(x, first + j, w + j * taps, taps, rows);
    }
    if (j < runs) { /* the last outputs are some of those before as well, made twice, alike */
        j = runs - 4;
        *(burnpy_quad *)(y + j) = burnpy_four(x, first + j, w + j * taps, taps, rows);
    }
}

/* Several such runs of single elements; false if there are too few, or their weights are not even in number. */
static int burnpy_quads(const float *x, float *y, const ptrdiff_t *first, const float *w, ptrdiff_t taps, ptrdiff_t runs,
                        ptrdiff_t ahead, const burnpy_across *rows) {
    if (runs < 4 || taps % 2)
        return 0;
#define BURNPY_QUADS(taps, rows) burnpy_quads_of(x, y, first, w, taps, runs, ahead, rows)
    BURNPY_BY_TAPS(BURNPY_QUADS, taps, rows)
    return 1;
}

/* Runs of pixels of 2 to 4 contiguous elements, all elements of one at a time. What a pixel has no element for is read from
 * the next one and overwritten by it, so the last is done element by element, and so are those that end where the inputs
 * end. */
BURNPY_WINDOW(burnpy_pixel, float, burnpy_quad)

BURNPY_INLINE void burnpy_pixels_of(const float *x, float *y, const ptrdiff_t *first, const float *w, ptrdiff_t taps,
                                    ptrdiff_t runs, ptrdiff_t inner, burnpy_across rows) {
    const ptrdiff_t last = (first[runs - 1] + taps) * inner - 4;
    ptrdiff_t j = 0, safe = runs - 1;
    while (safe > 0 && (first[safe - 1] + taps - 1) * inner > last)
        safe--;
    for (; j < safe; j++)
        *(burnpy_quad *)(y + j * inner) = burnpy_pixel(x + first[j] * inner, w + j * taps, taps, inner, rows);
    for (; j < runs; j++)
        for (ptrdiff_t c = 0; c < inner; c++)
            y[j * inner + c] = burnpy_window_one_f32(x + first[j] * inner + c, w + j * taps, taps, inner, rows);
}

static int burnpy_pixels(const float *x, float *y, const ptrdiff_t *first, const float *w, ptrdiff_t taps, ptrdiff_t runs,
                         ptrdiff_t inner, const burnpy_across *rows) {
#define BURNPY_PIXELS(taps, rows) burnpy_pixels_of(x, y, first, w, taps, runs, inner, rows)
    BURNPY_BY_TAPS(BURNPY_PIXELS, taps, rows)
    return 1;
}
#else
#define burnpy_quads(x, y, first, w, taps, runs, ahead, rows) 0
#define burnpy_pixels(x, y, first, w, taps, runs, inner, rows) 0
#endif

/* Several runs whose number of weights, none of them 0, changes from one to the next: of each the few elements of `weigh`. */
#define BURNPY_MIXED(name, real, weigh, vectors)                                                                       \
    static void name(const real *x, ptrdiff_t sx, real *y, ptrdiff_t sy, const ptrdiff_t *first, const real *w,         \
                     const ptrdiff_t *taps, ptrdiff_t runs) {                                                          \
        for (ptrdiff_t j = 0; j < runs; j++, y += sy, w += taps[j - 1])                                                \
            weigh(y, x + first[j] * sx, sx, w, taps[j], 0, vectors);                                                   \
    }

BURNPY_MIXED(burnpy_mixed_runs_f32, float, burnpy_weigh_f32, 64 / sizeof(burnpy_vector_f32))
BURNPY_MIXED(burnpy_mixed_runs_f64, double, burnpy_weigh_f64, 64 / sizeof(burnpy_vector_f64))

/* The same of single elements, whose runs are mostly of one weight or two. */
#define BURNPY_MIXED_SINGLES(name, real)                                                                               \
    static void name(const real *x, ptrdiff_t sx, real *y, ptrdiff_t sy, const ptrdiff_t *first,                        \
                     const real *w, const ptrdiff_t *taps, ptrdiff_t runs) {                                           \
        for (ptrdiff_t j = 0; j < runs; w += taps[j++]) {                                                              \
            const real *from = x + first[j] * sx;                                                                      \
            real sum = w[0] * from[0];                                                                                 \
            if (taps[j] > 1)                                                                                           \
                sum += w[1] * from[sx];                                                                                \
            for (ptrdiff_t k = 2; k < taps[j]; k++)                                                                    \
                sum += w[k] * from[k * sx];                                                                            \
            y[j * sy] = sum;                                                                                           \
        }                                                                                                              \
    }

BURNPY_MIXED_SINGLES(burnpy_mixed_singles_f32, float)
BURNPY_MIXED_SINGLES(burnpy_mixed_singles_f64, double)

BURNPY_RUNS(burnpy_runs_f32, float, burnpy_weigh_f32, 64 / sizeof(burnpy_vector_f32))
BURNPY_RUNS(burnpy_runs_f64, double, burnpy_weigh_f64, 64 / sizeof(burnpy_vector_f64))
BURNPY_RUNS(burnpy_singles_f32, float, burnpy_weigh_one_f32, 1)
BURNPY_RUNS(burnpy_singles_f64, double, burnpy_weigh_one_f64, 1)

/* Loops for outputs that weigh alike in turns, where an axis becomes twice or four times as long, or half as long. A register
 * of consecutive groups of outputs is made at once, and elements change places between registers: LOW and HIGH deal those of
 * two registers out in turns, EVENS and ODDS pick every second one, in an order that IN_ORDER puts right. */
#ifdef BURNPY_DEALS
#if BURNPY_REGISTER == 64
#define BURNPY_LOW_F32(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define BURNPY_HIGH_F32(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define BURNPY_EVENS_F32(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define BURNPY_ODDS_F32(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define BURNPY_IN_ORDER_F32(a) (a)
#define BURNPY_LOW_F64(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define BURNPY_HIGH_F64(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define BURNPY_EVENS_F64(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define BURNPY_ODDS_F64(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#define BURNPY_IN_ORDER_F64(a) (a)
#elif BURNPY_REGISTER == 32 /* within halves of a register, where that is cheaper */
#define BURNPY_LOW_F32(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define BURNPY_HIGH_F32(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define BURNPY_EVENS_F32(a, b) __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14)
#define BURNPY_ODDS_F32(a, b) __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15)
#define BURNPY_IN_ORDER_F32(a) __builtin_shufflevector(a, a, 0, 1, 4, 5, 2, 3, 6, 7)
#define BURNPY_LOW_F64(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define BURNPY_HIGH_F64(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define BURNPY_EVENS_F64(a, b) __builtin_shufflevector(a, b, 0, 4, 2, 6)
#define BURNPY_ODDS_F64(a, b) __builtin_shufflevector(a, b, 1, 5, 3, 7)
#define BURNPY_IN_ORDER_F64(a) __builtin_shufflevector(a, a, 0, 2, 1, 3)
#else
#define BURNPY_LOW_F32(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define BURNPY_HIGH_F32(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define BURNPY_EVENS_F32(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define BURNPY_ODDS_F32(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7)
#define BURNPY_IN_ORDER_F32(a) (a)
#define BURNPY_LOW_F64(a, b) __builtin_shufflevector(a, b, 0, 2)
#define BURNPY_HIGH_F64(a, b) __builtin_shufflevector(a, b, 1, 3)
#define BURNPY_EVENS_F64(a, b) __builtin_shufflevector(a, b, 0, 2)
#define BURNPY_ODDS_F64(a, b) __builtin_shufflevector(a, b, 1, 3)
#define BURNPY_IN_ORDER_F64(a) (a)
#endif

/* y[g] = sum of w[k] * x[2 * g + k], an even number of `taps`, for a multiple of as many groups as a register holds; x, or
 * the sum of some rows of it. */
#define BURNPY_HALVES(name, real, vector, of, evens, odds, in_order)                                                   \
    BURNPY_INLINE void name##_of(const real *x, real *restrict y, const real *w, ptrdiff_t taps, ptrdiff_t groups,     \
                                 burnpy_across rows) {                                                                 \
        const ptrdiff_t lanes = sizeof(vector) / sizeof(real);                                                         \
        for (; groups; groups -= lanes, x += 2 * lanes, y += lanes) {                                                  \
            vector a = of(x, rows), b = of(x + lanes, rows), sum = w[0] * evens(a, b);                                 \
            sum += w[1] * odds(a, b);                                                                                  \
            BURNPY_UNROLL for (ptrdiff_t k = 2; k < taps; k += 2) {                                                    \
                a = of(x + k, rows), b = of(x + k + lanes, rows);                                                      \
                sum += w[k] * evens(a, b);                                                                             \
                sum += w[k + 1] * odds(a, b);                                                                          \
            }                                                                                                          \
            *(vector *)y = in_order(sum);                                                                              \
        }                                                                                                              \
    }                                                                                                                  \
    static void name(const real *x, real *y, const real *w, ptrdiff_t taps, ptrdiff_t groups,                          \
                     const burnpy_across *rows) {                                                                      \
        const burnpy_across none = {NULL, 0, 0};                                                                       \
        if (rows && taps == 2 && rows->count == 2)                                                                     \
            name##_of(x, y, w, 2, groups, (burnpy_across){rows->weights, 2, rows->step});                              \
        else if (rows)                                                                                                 \
            name##_of(x, y, w, taps, groups, *rows);                                                                   \
        else                                                                                                           \
            switch (taps) {                                                                                            \
            case 2: name##_of(x, y, w, 2, groups, none); break;                                                        \
            case 4: name##_of(x, y, w, 4, groups, none); break;                                                        \
            case 6: name##_of(x, y, w, 6, groups, none); break;                                                        \
            case 8: name##_of(x, y, w, 8, groups, none); break;                                                        \
            case 12: name##_of(x, y, w, 12, groups, none); break;                                                      \
            default: name##_of(x, y, w, taps, groups, none);                                                           \
            }                                                                                                          \
    }

BURNPY_HALVES(burnpy_halves_f32, float, burnpy_vector_f32, burnpy_of_f32, BURNPY_EVENS_F32, BURNPY_ODDS_F32, BURNPY_IN_ORDER_F32)
BURNPY_HALVES(burnpy_halves_f64, double, burnpy_vector_f64, burnpy_of_f64, BURNPY_EVENS_F64, BURNPY_ODDS_F64, BURNPY_IN_ORDER_F64)

/* y[g * phases + r] = sum of w[r * taps + k] * x[g + k], or, in the second half of 2 or 4 `phases`, x[g + 1 + k]; for a
 * multiple of as many groups as a register holds. */
#define BURNPY_PHASES(name, real, vector, low, high)                                                                   \
    BURNPY_INLINE void name##_of(const real *x, real *restrict y, const real *w, ptrdiff_t taps, ptrdiff_t groups,     \
                                 int phases) {                                                                         \
        const ptrdiff_t lanes = sizeof(vector) / sizeof(real);                                                         \
        for (; groups; groups -= lanes, x += lanes) {                                                                  \
            vector sums[4];                                                                                            \
            BURNPY_UNROLL for (int r = 0; r < phases; r++) {                                                           \
                const real *from = x + r / (phases / 2);                                                               \
                sums[r] = w[r * taps] * *(const vector *)from;                                                         \
                BURNPY_UNROLL for (ptrdiff_t k = 1; k < taps; k++)                                                     \
                    sums[r] += w[r * taps + k] * *(const vector *)(from + k);                                          \
            }                                                                                                          \
            if (phases == 4)                                                                                           \
                for (int r = 0; r < 2; r++) {                                                                          \
                    vector even = sums[r], odd = sums[r + 2];                                                          \
                    sums[r] = low(even, odd);                                                                          \
                    sums[r + 2] = high(even, odd);                                                                     \
                }                                                                                                      \
            for (int r = 0; r < phases; r += 2, y += 2 * lanes) {                                                      \
                *(vector *)y = low(sums[r], sums[r + 1]);                                                              \
                *(vector *)(y + lanes) = high(sums[r], sums[r + 1]);                                                   \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void name(const real *x, real *y, const real *w, ptrdiff_t taps, ptrdiff_t groups, int phases) {            \
        if (phases == 2)                                                                                               \
            switch (taps) {                                                                                            \
            case 2: name##_of(x, y, w, 2, groups, 2); break;                                                           \
            case 4: name##_of(x, y, w, 4, groups, 2); break;                                                           \
            case 6: name##_of(x, y, w, 6, groups, 2); break;                                                           \
            default: name##_of(x, y, w, taps, groups, 2);                                                              \
            }                                                                                                          \
        else                                                                                                           \
            switch (taps) {                                                                                            \
            case 2: name##_of(x, y, w, 2, groups, 4); break;                                                           \
            case 4: name##_of(x, y, w, 4, groups, 4); break;                                                           \
            case 6: name##_of(x, y, w, 6, groups, 4); break;                                                           \
            default: name##_of(x, y, w, taps, groups, 4);                                                              \
            }                                                                                                          \
    }

BURNPY_PHASES(burnpy_phases_f32, float, burnpy_vector_f32, BURNPY_LOW_F32, BURNPY_HIGH_F32)
BURNPY_PHASES(burnpy_phases_f64, double, burnpy_vector_f64, BURNPY_LOW_F64, BURNPY_HIGH_F64)
#else
#define BURNPY_DEALS 0
#define burnpy_halves_f32(x, y, w, taps, groups, rows) ((void)0)
#define burnpy_halves_f64(x, y, w, taps, groups, rows) ((void)0)
#define burnpy_phases_f32(x, y, w, taps, groups, phases) ((void)0)
#define burnpy_phases_f64(x, y, w, taps, groups, phases) ((void)0)
#endif
#define BURNPY_LANES_F32 ((ptrdiff_t)(sizeof(burnpy_vector_f32) / sizeof(float)))
#define BURNPY_LANES_F64 ((ptrdiff_t)(sizeof(burnpy_vector_f64) / sizeof(double)))

/* Where a register of outputs, or part of one, weighs inputs that lie in one register or two, as it does unless an axis becomes
 * less than about a third as long: y[e] = sum of w[k][e] * x[source[e] + k * stride], the elements of a register picked by a
 * permutation. Every output has `taps` weights; 0 stands for none, and its product for -0, which changes no sum; `none` is the
 * sum of an output without any. */
typedef struct {
    const int32_t *source, *lowest; /* `lowest[e]` is the least of `step` sources from `e` on */
    const float *w, *none;
    ptrdiff_t elements, taps, stride; /* w[k] is `elements` after w[k - 1] */
    ptrdiff_t whole, unwhole;         /* the first output from which on no weight is 0, and the next that has one */
    ptrdiff_t window, step;           /* elements from the first one on that are loaded, and outputs made of them */
    ptrdiff_t even, uneven, advance;  /* of outputs between these, those `step` on weigh alike, `advance` elements on */
    int registers, copies, once;      /* `once`: all inputs lie in the same register or two */
} burnpy_shuffle;

#define BURNPY_MOST_SHUFFLED 16 /* taps */
#define BURNPY_ABREAST 4 /* rows, or fewer, done with weights and indices that stay in registers, while rows stay in cache */
#if defined(__AVX512F__)
#define BURNPY_SHUFFLE_LANES 16
#define BURNPY_TWO_AS_ONE 1 /* elements of two registers are picked at the price of one */
#define BURNPY_MOST_PICKS 16
#define BURNPY_MOST_PIXEL_PICKS 8
typedef __m512 burnpy_floats;
typedef __m512i burnpy_indices;

static inline burnpy_floats burnpy_load(const float *x) { return _mm512_loadu_ps(x); }
static inline void burnpy_store(float *y, burnpy_floats v) { _mm512_storeu_ps(y, v); }
static inline void burnpy_store_some(float *y, burnpy_floats v, ptrdiff_t count) {
    _mm512_mask_storeu_ps(y, (__mmask16)((1u << count) - 1), v);
}
static inline burnpy_indices burnpy_indices_from(const int32_t *source) { return _mm512_loadu_si512(source); }
static inline burnpy_indices burnpy_further(burnpy_indices index, int32_t by) {
    return _mm512_add_epi32(index, _mm512_set1_epi32(by));
}
BURNPY_INLINE burnpy_floats burnpy_picked(burnpy_indices index, burnpy_floats v) { return _mm512_permutexvar_ps(index, v); }
BURNPY_INLINE burnpy_floats burnpy_picked_of_two(burnpy_indices index, burnpy_floats v, burnpy_floats next) {
    return _mm512_permutex2var_ps(v, index, next);
}
static inline burnpy_floats burnpy_minus_zero(void) { return _mm512_set1_ps(-0.0f); }
typedef __mmask16 burnpy_chosen;
static inline burnpy_chosen burnpy_nonzero(burnpy_floats w) {
    return _mm512_cmp_ps_mask(w, _mm512_setzero_ps(), _CMP_NEQ_UQ);
}
static inline burnpy_floats burnpy_choose(burnpy_chosen chosen, burnpy_floats v, burnpy_floats none) {
    return _mm512_mask_mov_ps(none, chosen, v);
}

#elif defined(__AVX2__)
#define BURNPY_SHUFFLE_LANES 8
#define BURNPY_TWO_AS_ONE 0
#define BURNPY_MOST_PICKS 6
#define BURNPY_MOST_PIXEL_PICKS 4
typedef __m256 burnpy_floats;
typedef __m256i burnpy_indices;

static inline burnpy_floats burnpy_load(const float *x) { return _mm256_loadu_ps(x); }
static inline void burnpy_store(float *y, burnpy_floats v) { _mm256_storeu_ps(y, v); }
static inline void burnpy_store_some(float *y, burnpy_floats v, ptrdiff_t count) {
    (void)count; /* half of them: others are not chosen where two registers are not as one */
    _mm_storeu_ps(y, _mm256_castps256_ps128(v));
}
static inline burnpy_indices burnpy_indices_from(const int32_t *source) {
    return _mm256_loadu_si256((const __m256i *)source);
}
static inline burnpy_indices burnpy_further(burnpy_indices index, int32_t by) {
    return _mm256_add_epi32(index, _mm256_set1_epi32(by));
}
BURNPY_INLINE burnpy_floats burnpy_picked(burnpy_indices index, burnpy_floats v) { return _mm256_permutevar8x32_ps(v, index); }
BURNPY_INLINE burnpy_floats burnpy_picked_of_two(burnpy_indices index, burnpy_floats v, burnpy_floats next) {
    return _mm256_blendv_ps(burnpy_picked(index, v), burnpy_picked(index, next),
                            _mm256_castsi256_ps(_mm256_slli_epi32(index, 28)));
}
static inline burnpy_floats burnpy_minus_zero(void) { return _mm256_set1_ps(-0.0f); }
typedef __m256 burnpy_chosen;
static inline burnpy_chosen burnpy_nonzero(burnpy_floats w) {
    return _mm256_cmp_ps(w, _mm256_setzero_ps(), _CMP_NEQ_UQ);
}
static inline burnpy_floats burnpy_choose(burnpy_chosen chosen, burnpy_floats v, burnpy_floats none) {
    return _mm256_blendv_ps(none, v, chosen);
}
#else
#define BURNPY_SHUFFLE_LANES 0
#define BURNPY_TWO_AS_ONE 0
#define BURNPY_MOST_PICKS 0
#define BURNPY_MOST_PIXEL_PICKS 0
#define burnpy_shuffled(table, x, lx, y, ly, rows, start, stop, high, across) ((void)(table))
#define burnpy_shuffles_across(table, count) 0
#endif

#if BURNPY_SHUFFLE_LANES
BURNPY_INLINE burnpy_floats burnpy_inputs(const float *x, burnpy_indices index, int registers, burnpy_across across) {
    burnpy_floats v = burnpy_of_f32(x, across);
    if (registers == 1)
        return burnpy_picked(index, v);
    return burnpy_picked_of_two(index, v, burnpy_of_f32(x + BURNPY_SHUFFLE_LANES, across));
}

/* Some registers of outputs of every row, that weigh alike; `w` and so on are loaded first, which the compiler could not do
 * for fear of `y`. */
BURNPY_INLINE void burnpy_shuffled_blocks(const float *x, ptrdiff_t lx, float *y, ptrdiff_t ly, ptrdiff_t rows,
                                          burnpy_indices index, const float *w, ptrdiff_t next, const float *none,
                                          ptrdiff_t taps, ptrdiff_t stride, int registers, int once, ptrdiff_t step, int zeros,
                                          int copies, burnpy_across across, ptrdiff_t blocks, ptrdiff_t advance) {
    burnpy_floats weights[BURNPY_MOST_SHUFFLED], nothing = burnpy_load(none);
    burnpy_chosen used[BURNPY_MOST_SHUFFLED];
    burnpy_indices from[BURNPY_MOST_SHUFFLED];
    BURNPY_UNROLL for (ptrdiff_t k = 0; k < taps; k++) {
        weights[k] = burnpy_load(w + k * next);
        used[k] = burnpy_nonzero(weights[k]);
        from[k] = burnpy_further(index, once ? (int32_t)(k * stride) : 0);
    }
    for (ptrdiff_t r = 0; r < rows; r++, x += lx, y += ly) {
        const float *inputs = x;
        for (ptrdiff_t b = 0; b < blocks; b++, inputs += advance) {
            burnpy_floats sum = burnpy_inputs(inputs, index, registers, across);
            if (!copies)
                sum = weights[0] * sum;
            if (zeros)
                sum = burnpy_choose(used[0], sum, nothing);
            BURNPY_UNROLL for (ptrdiff_t k = 1; k < taps; k++) {
                burnpy_floats product =
                    weights[k] * burnpy_inputs(once ? inputs : inputs + k * stride, from[k], registers, across);
                if (zeros)
                    product = burnpy_choose(used[k], product, burnpy_minus_zero());
                sum += product;
            }
            if (step < BURNPY_SHUFFLE_LANES)
                burnpy_store_some(y + b * step, sum, step);
            else
                burnpy_store(y + b * step, sum);
        }
    }
}

BURNPY_INLINE void burnpy_shuffled_of(const burnpy_shuffle *given, const float *x, ptrdiff_t lx, float *y, ptrdiff_t ly,
                                      ptrdiff_t rows, ptrdiff_t start, ptrdiff_t stop, ptrdiff_t high, ptrdiff_t taps,
                                      int registers, int once, int some, int copies, burnpy_across across) {
    const burnpy_shuffle table = *given;
    const ptrdiff_t step = some ? table.step : BURNPY_SHUFFLE_LANES, last = high - table.window;
    const int evens = registers == 2 && once; /* others do not gain enough to be asked each time */
    const ptrdiff_t even = table.even > table.whole ? table.even : table.whole;
    const ptrdiff_t uneven = table.uneven < table.unwhole ? table.uneven : table.unwhole;
    for (ptrdiff_t r = 0; r < rows; r += BURNPY_ABREAST) {
        const ptrdiff_t few = rows - r < BURNPY_ABREAST ? rows - r : BURNPY_ABREAST;
        for (ptrdiff_t next = start; next < stop; next += step) {
            const ptrdiff_t e = next < stop - step ? next : stop - step; /* the last outputs are made twice, alike */
            const ptrdiff_t base = table.lowest[e] < last ? table.lowest[e] : last;
            const burnpy_indices index = burnpy_further(burnpy_indices_from(table.source + e), -(int32_t)base);
            const float *from = x + r * lx + base, *w = table.w + e, *none = table.none + e;
            float *to = y + r * ly + e - start;
            if (evens && e >= even && e < uneven - step && base + table.advance <= last) {
                const ptrdiff_t many = ((uneven < stop ? uneven : stop) - e) / step, seen = (last - base) / table.advance;
                const ptrdiff_t blocks = many < seen ? many : seen;
                burnpy_shuffled_blocks(from, lx, to, ly, few, index, w, table.elements, none, taps, table.stride, registers,
                                       once, step, 0, copies, across, blocks, table.advance);
                next = e + (blocks - 1) * step;
                continue;
            }
            if (e >= table.whole && e + step <= table.unwhole)
                burnpy_shuffled_blocks(from, lx, to, ly, few, index, w, table.elements, none, taps, table.stride, registers,
                                       once, step, 0, copies, across, 1, 0);
            else
                burnpy_shuffled_blocks(from, lx, to, ly, few, index, w, table.elements, none, taps, table.stride, registers,
                                       once, step, 1, copies, across, 1, 0);
        }
    }
}

#define BURNPY_SHUFFLED(taps, copies)                                                                                  \
    if (table->step < BURNPY_SHUFFLE_LANES)                                                                            \
        burnpy_shuffled_of(table, x, lx, y, ly, rows, start, stop, high, taps, 2, 1, 1, copies, none);                 \
    else if (table->registers == 1 && table->once)                                                                     \
        burnpy_shuffled_of(table, x, lx, y, ly, rows, start, stop, high, taps, 1, 1, 0, copies, none);                 \
    else if (table->registers == 1)                                                                                    \
        burnpy_shuffled_of(table, x, lx, y, ly, rows, start, stop, high, taps, 1, 0, 0, copies, none);                 \
    else if (table->once)                                                                                              \
        burnpy_shuffled_of(table, x, lx, y, ly, rows, start, stop, high, taps, 2, 1, 0, copies, none);                 \
    else                                                                                                               \
        burnpy_shuffled_of(table, x, lx, y, ly, rows, start, stop, high, taps, 2, 0, 0, copies, none)

/* Whether the outputs of a table may weigh the sum of rows of a number instead of one. */
static inline int burnpy_shuffles_across(const burnpy_shuffle *table, ptrdiff_t count) {
    return count == 2 && table->taps == 2 && table->registers == 2 && table->once;
}

/* Outputs `start ... stop - 1`, of which there are at least a register, of every row, or of what lies across; inputs before
 * `high` may be read. */
static void burnpy_shuffled(const burnpy_shuffle *table, const float *x, ptrdiff_t lx, float *y, ptrdiff_t ly, ptrdiff_t rows,
                            ptrdiff_t start, ptrdiff_t stop, ptrdiff_t high, const burnpy_across *across) {
    const burnpy_across none = {NULL, 0, 0};
    if (across) {
        const burnpy_across two = {across->weights, 2, across->step};
        if (table->step < BURNPY_SHUFFLE_LANES)
            burnpy_shuffled_of(table, x, lx, y, ly, rows, start, stop, high, 2, 2, 1, 1, 0, two);
        else
            burnpy_shuffled_of(table, x, lx, y, ly, rows, start, stop, high, 2, 2, 1, 0, 0, two);
        return;
    }
    switch (table->taps) {
    case 1:
        if (table->copies) {
            BURNPY_SHUFFLED(1, 1);
        } else {
            BURNPY_SHUFFLED(1, 0);
        }
        break;
    case 2: BURNPY_SHUFFLED(2, 0); break;
    case 3: BURNPY_SHUFFLED(3, 0); break;
    case 4: BURNPY_SHUFFLED(4, 0); break;
    case 6: BURNPY_SHUFFLED(6, 0); break;
    case 8: BURNPY_SHUFFLED(8, 0); break;
    default: BURNPY_SHUFFLED(table->taps, 0);
    }
}
#endif

/* Which builds this processor and its operating system run: 0, any processor's; 1, AVX2's, which also converts half precision;
 * 2, AVX-512's, if it is not one of the first with it, which slow down for it: those lack VBMI. */
static inline int burnpy_best_build(void) {
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
    unsigned a, b, c, d;
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__get_cpuid(1, &a, &b, &c, &d) || !(c & (1 << 29)))
        return 0;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi")
               ? 2
               : 1;
#elif defined(_M_X64)
    const int wide = 1 << 16 | 1 << 17 | 1 << 30 | (int)(1u << 31); /* AVX-512 F, DQ, BW, VL */
    int leaf[4];
    __cpuid(leaf, 0);
    if (leaf[0] < 7)
        return 0;
    __cpuid(leaf, 1);
    if (!(leaf[2] & (1 << 29)) || !(leaf[2] & (1 << 27)) || (_xgetbv(0) & 6) != 6) /* the system saves wide registers */
        return 0;
    __cpuidex(leaf, 7, 0);
    if (!(leaf[1] & (1 << 5)))
        return 0;
    return (leaf[1] & wide) == wide && leaf[2] & (1 << 1) && (_xgetbv(0) & 0xe6) == 0xe6 ? 2 : 1;
#else
    return 0;
#endif
}

#endif
