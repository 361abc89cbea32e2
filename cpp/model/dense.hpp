// Small dense linear algebra: row-major doubles, sizes of a few to a few dozen.
//
// Hand-written because the matrices are tiny (a district and its parents): a call into a general
// library would cost more than the arithmetic. Nothing here allocates.
#pragma once

#include <cmath>
#include <cstddef>

namespace bowfree {

inline double dot(const double* x, const double* y, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum += x[i] * y[i];
    return sum;
}

/// y += a x
inline void axpy(double a, const double* x, double* y, int n) {
    for (int i = 0; i < n; ++i) y[i] += a * x[i];
}

/// Factors the symmetric n x n matrix A = L L^T in place; only the lower triangle is read and
/// written. Returns n on success, else the index of the first pivot that is not positive: rows
/// 0..index-1 then hold a valid factor and entry (index, index) the offending pivot.
inline int cholesky(double* A, int n) {
    // Column by column: the entries of one column do not wait for each other, and share a division.
    for (int j = 0; j < n; ++j) {
        double* Aj = A + static_cast<std::ptrdiff_t>(j) * n;
        Aj[j] -= dot(Aj, Aj, j);
        if (!(Aj[j] > 0.0)) return j;
        Aj[j] = std::sqrt(Aj[j]);
        const double inverse = 1.0 / Aj[j];
        double* Ai = Aj;
        for (int i = j + 1; i < n; ++i) {
            Ai += n;
            Ai[j] = (Ai[j] - dot(Ai, Aj, j)) * inverse;
        }
    }
    return n;
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

/// The smallest eigenvalue of a symmetric n x n matrix, by cyclic Jacobi rotations; destroys A.
inline double smallest_eigenvalue(double* A, int n) {
    const auto at = [&](int i, int j) -> double& {
        return A[static_cast<std::ptrdiff_t>(i) * n + j];
    };
    for (int round = 0; round < 60; ++round) {
        double off = 0.0, diagonal = 0.0;
        for (int i = 0; i < n; ++i) {
            diagonal += at(i, i) * at(i, i);
            for (int j = 0; j < i; ++j) off += at(i, j) * at(i, j);
        }
        if (off <= 1e-32 * diagonal) break;
        for (int p = 0; p < n; ++p)
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
            }
    }
    double smallest = at(0, 0);
    for (int i = 1; i < n; ++i) smallest = std::fmin(smallest, at(i, i));
    return smallest;
}

}  // namespace bowfree
