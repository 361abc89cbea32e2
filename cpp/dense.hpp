// Small dense linear algebra: row-major doubles, sizes of a few to a few dozen.
//
// Hand-written because the matrices are tiny (a district and its parents): a call into a general
// library would cost more than the arithmetic. Only `resize_large` allocates. Functions that can
// take long take a `Stop`, which may be null, and throw `Stopped` when it is raised.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "stop.hpp"

namespace bowfree {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// Four sums at a time, so that an addition need not wait for the one before it; always the same
/// four, so that every compiler gives the same bits.
inline double dot(const double* x, const double* y, int n) {
    double sum = 0.0;
    int i = 0;
    if (n >= 4) {
        double a = x[0] * y[0], b = x[1] * y[1], c = x[2] * y[2], d = x[3] * y[3];
        for (i = 4; i + 4 <= n; i += 4) {
            a += x[i] * y[i];
            b += x[i + 1] * y[i + 1];
            c += x[i + 2] * y[i + 2];
            d += x[i + 3] * y[i + 3];
        }
        sum = (a + b) + (c + d);
    }
    for (; i < n; ++i) sum += x[i] * y[i];
    return sum;
}

/// target[r * target_stride] -= dot(X + r * stride, y, n) for all rows; bit for bit, four rows at a
/// time on processors with wide vectors.
void subtract_dots(const double* X, std::ptrdiff_t stride, int rows, const double* y, int n,
                   double* target, std::ptrdiff_t target_stride);

/// y += a x
inline void axpy(double a, const double* x, double* y, int n) {
    for (int i = 0; i < n; ++i) y[i] += a * x[i];
}

/// Columns of a Cholesky factor that are worked on together: their rows stay in the cache while all
/// the others pass by. Matrices up to this size are one block.
inline constexpr int cholesky_block = 48;
/// Terms of a sum from which `subtract_dots` is faster than `dot`.
inline constexpr int wide_enough = 12;

/// Factors the symmetric n x n matrix A = L L^T in place; only the lower triangle is read and
/// written. Returns n on success, else the index of the first pivot that is not positive: rows
/// 0..index-1 then hold a valid factor, row index its part to the left of the diagonal, and entry
/// (index, index) the offending pivot.
[[nodiscard]] inline int cholesky(double* A, int n, const Stop* stop = nullptr) {
    const auto row = [&](int i) { return A + static_cast<std::ptrdiff_t>(i) * n; };
    for (int first = 0; first < n; first += cholesky_block) {
        const int end = first + cholesky_block < n ? first + cholesky_block : n;
        if (first > 0)  // what the blocks before explain
            for (int i = first; i < n; ++i) {
                if (stop) stop->check();
                subtract_dots(row(first), n, (i < end ? i + 1 : end) - first, row(i), first,
                              row(i) + first, 1);
            }
        for (int j = first; j < end; ++j) {
            if (stop) stop->check();
            double* Aj = row(j) + first;
            const int before = j - first;
            Aj[before] -= dot(Aj, Aj, before);
            if (!(Aj[before] > 0.0)) return j;
            Aj[before] = std::sqrt(Aj[before]);
            // The entries of a column do not wait for each other, and share a division.
            const double inverse = 1.0 / Aj[before];
            double* Ai = Aj + n;
            if (before >= wide_enough) {
                subtract_dots(Ai, n, n - j - 1, Aj, before, Ai + before, n);
                for (int i = j + 1; i < n; ++i, Ai += n) Ai[before] *= inverse;
            } else {
                for (int i = j + 1; i < n; ++i, Ai += n)
                    Ai[before] = (Ai[before] - dot(Ai, Aj, before)) * inverse;
            }
        }
    }
    return n;
}

/// What is left of a variance when others explain it to rounding: a pivot below this share of its
/// diagonal entry has no digit that means anything. Validated data stay above 1e-12.
inline constexpr double rounding_share = 1e-14;

/// The same for a matrix that may be singular to rounding: pivots that are nothing but rounding
/// are replaced by `substitute` times their diagonal entry. Infinity leaves the variable out (its
/// coefficient in a regression is zero). Returns how many were replaced.
[[nodiscard]] inline int cholesky_of_singular(double* A, int n, double substitute) {
    int replaced = 0;
    for (int j = 0; j < n; ++j) {
        double* Aj = A + static_cast<std::ptrdiff_t>(j) * n;
        const double variance = Aj[j];
        Aj[j] -= dot(Aj, Aj, j);
        if (!(Aj[j] > rounding_share * variance)) {
            Aj[j] = substitute * variance;
            ++replaced;
        }
        Aj[j] = std::sqrt(Aj[j]);
        const double inverse = 1.0 / Aj[j];
        double* Ai = Aj;
        for (int i = j + 1; i < n; ++i) {
            Ai += n;
            Ai[j] = (Ai[j] - dot(Ai, Aj, j)) * inverse;
        }
    }
    return replaced;
}

/// x := L^-1 x
inline void solve_lower(const double* L, int n, double* x) {
    for (int i = 0; i < n; ++i) {
        const double* Li = L + static_cast<std::ptrdiff_t>(i) * n;
        x[i] = (x[i] - dot(Li, x, i)) / Li[i];
    }
}

/// x := L^-T x
inline void solve_lower_transposed(const double* L, int n, double* x) {
    for (int i = n - 1; i >= 0; --i) {
        const double* Li = L + static_cast<std::ptrdiff_t>(i) * n;
        x[i] /= Li[i];
        axpy(-x[i], Li, x, i);
    }
}

/// X := L^-1 X for an n x columns matrix X.
inline void solve_lower(const double* L, int n, double* X, int columns) {
    for (int i = 0; i < n; ++i) {
        const double* Li = L + static_cast<std::ptrdiff_t>(i) * n;
        double* Xi = X + static_cast<std::ptrdiff_t>(i) * columns;
        for (int j = 0; j < i; ++j)
            axpy(-Li[j], X + static_cast<std::ptrdiff_t>(j) * columns, Xi, columns);
        const double inverse = 1.0 / Li[i];
        for (int c = 0; c < columns; ++c) Xi[c] *= inverse;
    }
}

/// X := L^-T X for an n x columns matrix X.
inline void solve_lower_transposed(const double* L, int n, double* X, int columns) {
    for (int i = n - 1; i >= 0; --i) {
        double* Xi = X + static_cast<std::ptrdiff_t>(i) * columns;
        for (int j = i + 1; j < n; ++j)
            axpy(-L[static_cast<std::ptrdiff_t>(j) * n + i],
                 X + static_cast<std::ptrdiff_t>(j) * columns, Xi, columns);
        const double inverse = 1.0 / L[static_cast<std::ptrdiff_t>(i) * n + i];
        for (int c = 0; c < columns; ++c) Xi[c] *= inverse;
    }
}

/// x := (L L^T)^-1 x, and the same for an n x columns matrix X.
inline void solve_factored(const double* L, int n, double* x) {
    solve_lower(L, n, x);
    solve_lower_transposed(L, n, x);
}
inline void solve_factored(const double* L, int n, double* X, int columns) {
    solve_lower(L, n, X, columns);
    solve_lower_transposed(L, n, X, columns);
}

/// W := (L L^T)^-1
inline void invert_factored(const double* L, int n, std::vector<double>& W) {
    W.assign(static_cast<std::size_t>(n) * n, 0.0);
    for (int i = 0; i < n; ++i) W[static_cast<std::size_t>(i) * (n + 1)] = 1.0;
    solve_factored(L, n, W.data(), n);
}

/// Diagonalizes a symmetric n x n matrix by cyclic Jacobi rotations: the eigenvalues end on the
/// diagonal of A. If V is not null, its columns are rotated along: an identity matrix becomes the
/// eigenvectors.
inline void diagonalize(double* A, int n, double* V = nullptr, const Stop* stop = nullptr) {
    constexpr int max_rounds = 60;        // they converge quadratically: about six are needed
    constexpr double negligible = 1e-30;  // squared, relative: rounding of the entries
    const auto at = [&](int i, int j) -> double& {
        return A[static_cast<std::ptrdiff_t>(i) * n + j];
    };
    for (int round = 0; round < max_rounds; ++round) {
        double off = 0.0, diagonal = 0.0;
        for (int i = 0; i < n; ++i) {
            diagonal += at(i, i) * at(i, i);
            for (int j = 0; j < i; ++j) off += at(i, j) * at(i, j);
        }
        if (off <= negligible * diagonal) break;
        for (int p = 0; p < n; ++p) {
            if (stop) stop->check();
            for (int q = p + 1; q < n; ++q) {
                if (at(p, q) == 0.0) continue;
                const double theta = (at(q, q) - at(p, p)) / (2.0 * at(p, q));
                const double t =
                    std::copysign(1.0, theta) / (std::abs(theta) + std::hypot(theta, 1.0));
                const double c = 1.0 / std::hypot(t, 1.0), s = t * c;
                for (int i = 0; i < n; ++i) {
                    const double x = at(i, p), y = at(i, q);
                    at(i, p) = c * x - s * y;
                    at(i, q) = s * x + c * y;
                }
                for (int i = 0; i < n; ++i) {
                    const double x = at(p, i), y = at(q, i);
                    at(p, i) = c * x - s * y;
                    at(q, i) = s * x + c * y;
                }
                for (int i = 0; V && i < n; ++i) {
                    double* Vi = V + static_cast<std::ptrdiff_t>(i) * n;
                    const double x = Vi[p], y = Vi[q];
                    Vi[p] = c * x - s * y;
                    Vi[q] = s * x + c * y;
                }
            }
        }
    }
}

/// The smallest eigenvalue of a symmetric n x n matrix; destroys A.
inline double smallest_eigenvalue(double* A, int n, const Stop* stop = nullptr) {
    diagonalize(A, n, nullptr, stop);
    double smallest = A[0];
    for (int i = 1; i < n; ++i)
        smallest = std::fmin(smallest, A[static_cast<std::ptrdiff_t>(i) * (n + 1)]);
    return smallest;
}

/// Resizes a matrix; new entries are zero. The system provides memory when it is first written to,
/// which takes seconds for gigabytes, so the work is done 8 MB at a time and `stop` is checked in
/// between.
inline void resize_large(std::vector<double>& matrix, std::size_t size, const Stop* stop) {
    constexpr std::size_t block = std::size_t{1} << 20;
    matrix.reserve(size);
    while (matrix.size() + block < size) {
        if (stop) stop->check();
        matrix.resize(matrix.size() + block);
    }
    matrix.resize(size);
}

}  // namespace bowfree
