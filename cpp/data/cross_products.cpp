#include "data/cross_products.hpp"

#include <algorithm>

namespace bowfree {

namespace {

constexpr std::size_t block = 256;  // rows that are summed before they are added to the total
constexpr std::size_t high = 2;     // columns of X, and
constexpr std::size_t wide = 8;     // of Y, whose sums are kept in registers

/// Adds the products of some rows to `total`, for a full tile of columns.
void add_tile(const double* X, const double* Y, std::size_t rows, std::size_t d, std::size_t e,
              double* total) {
    double sums[high][wide] = {};
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t i = 0; i < high; ++i)
            for (std::size_t j = 0; j < wide; ++j) sums[i][j] += X[r * d + i] * Y[r * e + j];
    for (std::size_t i = 0; i < high; ++i)
        for (std::size_t j = 0; j < wide; ++j) total[i * e + j] += sums[i][j];
}

/// The same for any number of columns; every sum has the same order as in a full tile.
void add_rest(const double* X, const double* Y, std::size_t rows, std::size_t d, std::size_t e,
              std::size_t n_i, std::size_t n_j, double* total) {
    for (std::size_t i = 0; i < n_i; ++i)
        for (std::size_t j = 0; j < n_j; ++j) {
            double sum = 0.0;
            for (std::size_t r = 0; r < rows; ++r) sum += X[r * d + i] * Y[r * e + j];
            total[i * e + j] += sum;
        }
}

}  // namespace

std::vector<double> cross_products(const double* X, const double* Y, std::size_t n, std::size_t d,
                                   std::size_t e, const Stop& stop) {
    std::vector<double> total(d * e);
    const bool symmetric = X == Y && d == e;
    for (std::size_t first = 0; first < n; first += block) {
        stop.check();
        const std::size_t rows = std::min(block, n - first);
        const double *x = X + first * d, *y = Y + first * e;
        for (std::size_t i = 0; i < d; i += high)
            // Of a symmetric product, the tiles on and above the diagonal.
            for (std::size_t j = symmetric ? i / wide * wide : 0; j < e; j += wide) {
                double* sums = &total[i * e + j];
                if (i + high <= d && j + wide <= e)
                    add_tile(x + i, y + j, rows, d, e, sums);
                else
                    add_rest(x + i, y + j, rows, d, e, std::min(high, d - i), std::min(wide, e - j),
                             sums);
            }
    }
    if (symmetric)
        for (std::size_t i = 0; i < d; ++i)
            for (std::size_t j = 0; j < i; ++j) total[i * e + j] = total[j * e + i];
    return total;
}

}  // namespace bowfree
