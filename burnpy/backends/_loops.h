/* What Cython has no words for: registers.
 *
 * The innermost loops of the kernels, on vectors held in registers (BURNPY_WEIGH, BURNPY_ROW, BURNPY_RUNS).
 *
 * Transposes of small matrices in registers, y[c * sy + r] = x[r * sx + c]: the kernels vectorise over rows that lie apart by
 * transposing a block of them. Every variant moves the same elements as the plain loops of BURNPY_TRANSPOSE, which also do
 * the borders.
 *
 * Copies of a few bytes each, of a size that the compiler knows. Copies past the cache, for results too large to be found
 * there again: a plain store would first read what it overwrites. Half precision to single and back. */
#ifndef BURNPY_LOOPS_H
#define BURNPY_LOOPS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(_MSC_VER)
#include <intrin.h>
#endif

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
    static inline void name(const real *x, ptrdiff_t sx, real *y, ptrdiff_t sy, ptrdiff_t rows, ptrdiff_t columns) {    \
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

#if defined(__SSE2__) || defined(_M_X64)
static inline void burnpy_stream(void *y, const void *x, size_t bytes) {
    char *to = (char *)y;
    const char *from = (const char *)x;
    size_t head = (size_t)(-(uintptr_t)to & 63);
    if (bytes < head + 64) {
        memcpy(to, from, bytes);
        return;
    }
    memcpy(to, from, head);
    for (to += head, from += head, bytes -= head; bytes >= 64; to += 64, from += 64, bytes -= 64) {
        __m128 a = _mm_loadu_ps((const float *)from), b = _mm_loadu_ps((const float *)(from + 16));
        __m128 c = _mm_loadu_ps((const float *)(from + 32)), d = _mm_loadu_ps((const float *)(from + 48));
        _mm_stream_ps((float *)to, a);
        _mm_stream_ps((float *)(to + 16), b);
        _mm_stream_ps((float *)(to + 32), c);
        _mm_stream_ps((float *)(to + 48), d);
    }
    memcpy(to, from, bytes);
}

/* Streamed stores become visible to other threads in any order unless fenced. */
static inline void burnpy_stream_end(void) { _mm_sfence(); }
#else
#define burnpy_stream(y, x, bytes) ((void)memcpy(y, x, bytes))
#define burnpy_stream_end() ((void)0)
#endif

/* y[j * sy] = x[first[j] * sx], `size` bytes of each, steps in bytes. */
#define BURNPY_PICK(size)                                                                                              \
    for (ptrdiff_t j = 0; j < runs; j++)                                                                               \
        memcpy(y + j * sy, x + first[j] * sx, size)

static void burnpy_pick(char *y, ptrdiff_t sy, const char *x, ptrdiff_t sx, const ptrdiff_t *first, ptrdiff_t runs,
                        size_t size) {
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

/* IEEE 754 binary16 to binary32 and, to the nearest, ties to even, back; choices instead of branches, so that compilers
 * vectorise the loops. */
typedef union {
    uint32_t bits;
    float value;
} burnpy_word;

static inline float burnpy_single(uint16_t half) {
    burnpy_word word, scale = {0x77800000}; /* 2^112: from an exponent's bias of 15 to one of 127, subnormals too */
    word.bits = (uint32_t)(half & 0x7fff) << 13;
    word.value *= scale.value;
    word.bits |= (half & 0x7c00) == 0x7c00 ? 0x7f800000 : 0; /* infinity, NaN */
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
    half = size > 0x7f800000 ? 0x7c00 | payload | (payload == 0) : half; /* NaN stays NaN */
    return (uint16_t)(half | sign);
}

static void burnpy_from_half(float *y, const uint16_t *x, ptrdiff_t sx, ptrdiff_t count) {
    if (sx == 1)
        for (ptrdiff_t i = 0; i < count; i++)
            y[i] = burnpy_single(x[i]);
    else
        for (ptrdiff_t i = 0; i < count; i++)
            y[i] = burnpy_single(x[i * sx]);
}

static void burnpy_to_half(uint16_t *y, ptrdiff_t sy, const float *x, ptrdiff_t count) {
    if (sy == 1)
        for (ptrdiff_t i = 0; i < count; i++)
            y[i] = burnpy_half(x[i]);
    else
        for (ptrdiff_t i = 0; i < count; i++)
            y[i * sy] = burnpy_half(x[i]);
}

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
typedef float burnpy_vector_f32 __attribute__((vector_size(BURNPY_REGISTER), aligned(4), may_alias));
typedef double burnpy_vector_f64 __attribute__((vector_size(BURNPY_REGISTER), aligned(8), may_alias));
#else
#define BURNPY_INLINE static inline
#define BURNPY_UNROLL
typedef float burnpy_vector_f32;
typedef double burnpy_vector_f64;
#endif

/* y[...] = sum of w[k] * x[k * sx + ...] from left to right, over a few vectors of contiguous elements. w[0] is not 0; if
 * `zeros` is set other weights may be, and are skipped. `vectors`, at most 16, is a constant where this is inlined. */
#define BURNPY_WEIGH(name, real, vector)                                                                               \
    BURNPY_INLINE void name(real *y, const real *x, ptrdiff_t sx, const real *w, ptrdiff_t count, int zeros,            \
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

/* One run over `inner` contiguous elements, in stripes of eight registers, then by 64 bytes, then one by one. */
#define BURNPY_ROW(name, real, vector, weigh, weigh_one)                                                               \
    static void name(real *y, const real *x, ptrdiff_t sx, const real *w, ptrdiff_t count, ptrdiff_t inner) {           \
        const ptrdiff_t stripe = 8 * sizeof(vector) / sizeof(real), few = 64 / sizeof(real);                           \
        for (; inner >= stripe; inner -= stripe, x += stripe, y += stripe)                                             \
            weigh(y, x, sx, w, count, 1, 8);                                                                           \
        for (; inner >= few; inner -= few, x += few, y += few)                                                         \
            weigh(y, x, sx, w, count, 1, 64 / sizeof(vector));                                                         \
        for (; inner; inner--, x++, y++)                                                                               \
            weigh_one(y, x, sx, w, count, 1, 1);                                                                       \
    }

BURNPY_ROW(burnpy_row_f32, float, burnpy_vector_f32, burnpy_weigh_f32, burnpy_weigh_one_f32)
BURNPY_ROW(burnpy_row_f64, double, burnpy_vector_f64, burnpy_weigh_f64, burnpy_weigh_one_f64)

/* Several runs of `taps` weights, none of them 0: of each the few elements that `weigh` does with `vectors`. The usual
 * numbers of taps are unrolled. */
#define BURNPY_RUNS(name, real, weigh, vectors)                                                                        \
    BURNPY_INLINE void name##_of(const real *x, ptrdiff_t sx, real *y, ptrdiff_t sy, const ptrdiff_t *first,            \
                                 const real *w, ptrdiff_t taps, ptrdiff_t runs) {                                      \
        for (ptrdiff_t j = 0; j < runs; j++, y += sy, w += taps)                                                       \
            weigh(y, x + first[j] * sx, sx, w, taps, 0, vectors);                                                      \
    }                                                                                                                  \
    static void name(const real *x, ptrdiff_t sx, real *y, ptrdiff_t sy, const ptrdiff_t *first, const real *w,         \
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

BURNPY_RUNS(burnpy_runs_f32, float, burnpy_weigh_f32, 64 / sizeof(burnpy_vector_f32))
BURNPY_RUNS(burnpy_runs_f64, double, burnpy_weigh_f64, 64 / sizeof(burnpy_vector_f64))
BURNPY_RUNS(burnpy_singles_f32, float, burnpy_weigh_one_f32, 1)
BURNPY_RUNS(burnpy_singles_f64, double, burnpy_weigh_one_f64, 1)

/* Whether this processor and its operating system run the build for AVX2. */
static inline int burnpy_has_avx2(void) {
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") != 0;
#elif defined(_M_X64)
    int leaf[4];
    __cpuid(leaf, 0);
    if (leaf[0] < 7)
        return 0;
    __cpuid(leaf, 1);
    if (!(leaf[2] & (1 << 27)) || (_xgetbv(0) & 6) != 6) /* the system saves the wide registers */
        return 0;
    __cpuidex(leaf, 7, 0);
    return (leaf[1] & (1 << 5)) != 0;
#else
    return 0;
#endif
}

#endif
