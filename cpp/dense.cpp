#include "dense.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace bowfree {

namespace {

#if defined(__x86_64__) && defined(__GNUC__)

const bool has_wide_vectors = __builtin_cpu_supports("avx2");

/// The first rows of `subtract_dots`, in groups of four. The four sums of `dot` are the lanes of a
/// vector. Returns the number of rows done.
__attribute__((target("avx2"))) int subtract_wide(const double* X, std::ptrdiff_t stride, int rows,
                                                  const double* y, int n, double* target,
                                                  std::ptrdiff_t target_stride) {
    int r = 0;
    for (; r + 4 <= rows; r += 4, X += 4 * stride) {
        const double *a = X, *b = a + stride, *c = b + stride, *d = c + stride;
        __m256d part = _mm256_loadu_pd(y);
        __m256d sum_a = _mm256_mul_pd(_mm256_loadu_pd(a), part);
        __m256d sum_b = _mm256_mul_pd(_mm256_loadu_pd(b), part);
        __m256d sum_c = _mm256_mul_pd(_mm256_loadu_pd(c), part);
        __m256d sum_d = _mm256_mul_pd(_mm256_loadu_pd(d), part);
        int i = 4;
        for (; i + 4 <= n; i += 4) {
            part = _mm256_loadu_pd(y + i);
            sum_a = _mm256_add_pd(sum_a, _mm256_mul_pd(_mm256_loadu_pd(a + i), part));
            sum_b = _mm256_add_pd(sum_b, _mm256_mul_pd(_mm256_loadu_pd(b + i), part));
            sum_c = _mm256_add_pd(sum_c, _mm256_mul_pd(_mm256_loadu_pd(c + i), part));
            sum_d = _mm256_add_pd(sum_d, _mm256_mul_pd(_mm256_loadu_pd(d + i), part));
        }
        const __m256d ab = _mm256_hadd_pd(sum_a, sum_b), cd = _mm256_hadd_pd(sum_c, sum_d);
        __m256d sums = _mm256_add_pd(_mm256_permute2f128_pd(ab, cd, 0x20),
                                     _mm256_permute2f128_pd(ab, cd, 0x31));
        for (; i < n; ++i)
            sums = _mm256_add_pd(
                sums, _mm256_mul_pd(_mm256_set_pd(d[i], c[i], b[i], a[i]), _mm256_set1_pd(y[i])));
        double found[4];
        _mm256_storeu_pd(found, sums);
        for (int k = 0; k < 4; ++k) target[(r + k) * target_stride] -= found[k];
    }
    return r;
}

#else

constexpr bool has_wide_vectors = false;
int subtract_wide(const double*, std::ptrdiff_t, int, const double*, int, double*, std::ptrdiff_t) {
    return 0;
}

#endif

}  // namespace

void subtract_dots(const double* X, std::ptrdiff_t stride, int rows, const double* y, int n,
                   double* target, std::ptrdiff_t target_stride) {
    int r = 0;
    if (has_wide_vectors && n >= 4) r = subtract_wide(X, stride, rows, y, n, target, target_stride);
    for (; r < rows; ++r) target[r * target_stride] -= dot(X + r * stride, y, n);
}

}  // namespace bowfree
