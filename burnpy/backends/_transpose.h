/* Transposes of small matrices in registers: y[c * sy + r] = x[r * sx + c].
 *
 * The kernels vectorise over rows that lie apart in memory by transposing a block of them, and Cython has no words for
 * shuffles. Every variant moves the same elements as the plain loop at the end, which also does the borders. */
#ifndef BURNPY_TRANSPOSE_H
#define BURNPY_TRANSPOSE_H

#include <stddef.h>

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

#endif
