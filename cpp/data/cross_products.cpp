#include "data/cross_products.hpp"

#include <algorithm>

// Wider registers where the processor has them. AVX2 has no fused multiply-add, so that the results
// have the same bits.
#if defined(__x86_64__) && defined(__GNUC__)
#define BOWFREE_HAS_AVX2_VARIANT
#endif

namespace bowfree {

namespace {

constexpr std::size_t block = 256;  // rows that are summed before they are added to the total
constexpr std::size_t high = 4;     // columns of X, and
constexpr std::size_t wide = 8;     // of Y, whose sums are kept in registers

std::size_t padded(std::size_t columns) { return (columns + high - 1) / high * high; }

#ifdef __GNUC__
#define BOWFREE_INLINE [[gnu::always_inline]] inline
#else
#define BOWFREE_INLINE inline
#endif

/// Adds the products of `high` columns of X and `width` columns of Y to `total`.
template <std::size_t width>
BOWFREE_INLINE void add_tile(const double* X, const double* Y, std::size_t rows, std::size_t d,
                             std::size_t e, double* total) {
    double sums[high][width] = {};
    for (std::size_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
        for (std::size_t i = 0; i < high; ++i) {
#pragma GCC unroll 8
            for (std::size_t j = 0; j < width; ++j) sums[i][j] += X[r * d + i] * Y[r * e + j];
        }
    }
    for (std::size_t i = 0; i < high; ++i)
        for (std::size_t j = 0; j < width; ++j) total[i * e + j] += sums[i][j];
}

/// Adds X^T Y to `total`, for X of rows x d and Y of rows x e, d and e being multiples of `high`.
/// If `upper`, tiles below the diagonal are left out.
BOWFREE_INLINE void add_tiles(const double* X, const double* Y, std::size_t rows, std::size_t d,
                              std::size_t e, bool upper, double* total) {
    for (std::size_t i = 0; i < d; i += high)
        for (std::size_t j = upper ? i / wide * wide : 0; j < e; j += wide)
            if (j + wide <= e)
                add_tile<wide>(X + i, Y + j, rows, d, e, total + i * e + j);
            else
                add_tile<wide / 2>(X + i, Y + j, rows, d, e, total + i * e + j);
}

using AddTiles = void (*)(const double*, const double*, std::size_t, std::size_t, std::size_t, bool,
                          double*);

#ifdef BOWFREE_HAS_AVX2_VARIANT
[[gnu::target("avx2")]]
void add_tiles_avx2(const double* X, const double* Y, std::size_t rows, std::size_t d,
                    std::size_t e, bool upper, double* total) {
    add_tiles(X, Y, rows, d, e, upper, total);
}
#endif

AddTiles fastest_add_tiles() {
#ifdef BOWFREE_HAS_AVX2_VARIANT
    if (__builtin_cpu_supports("avx2")) return add_tiles_avx2;
#endif
    return [](auto... arguments) { add_tiles(arguments...); };
}

/// Copies rows of d columns into rows of `padded(d)`.
void copy_rows(const double* from, std::size_t rows, std::size_t d, double* to) {
    for (std::size_t r = 0; r < rows; ++r) std::copy_n(from + r * d, d, to + r * padded(d));
}

}  // namespace

std::vector<double> cross_products(const double* X, const double* Y, std::size_t n, std::size_t d,
                                   std::size_t e, const Stop& stop) {
    const bool symmetric = X == Y && d == e;
    const std::size_t width = padded(e);
    std::vector<double> x(block * padded(d)), y(symmetric ? 0 : block * width);
    std::vector<double> total(padded(d) * width), result(d * e);
    const AddTiles add = fastest_add_tiles();
    for (std::size_t first = 0; first < n; first += block) {
        stop.check();
        const std::size_t rows = std::min(block, n - first);
        copy_rows(X + first * d, rows, d, x.data());
        if (!symmetric) copy_rows(Y + first * e, rows, e, y.data());
        add(x.data(), symmetric ? x.data() : y.data(), rows, padded(d), width, symmetric,
            total.data());
    }
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j < e; ++j)
            result[i * e + j] = symmetric && j < i ? total[j * width + i] : total[i * width + j];
    return result;
}

}  // namespace bowfree
