// Maximum likelihood for one district: the contract of the fitting kernels.
//
// For a district C write A = (I - B)_C (k x m), E = A S A^T and Omega = Omega_C. The district's
// share of the log-likelihood is -n/2 (k log 2 pi + F) with
//
//     F(B, Omega) = log |Omega| + tr(Omega^-1 E).
//
// Kernels minimise F. They see S only (divisor n, see `bowfree.data`), never n or the penalty.
#pragma once

#include <cstdint>
#include <vector>

#include "district.hpp"

namespace bowfree {

/// A fit of one district and its own proof of quality.
struct DistrictFit {
    double objective = 0.0;      ///< F at the end
    std::vector<double> B;       ///< k x m, row-major, local numbers
    std::vector<double> Omega;   ///< k x k, row-major
    bool converged = false;      ///< certified: `decrement` below tolerance, Hessian definite
    double decrement = 0.0;      ///< half the squared Newton decrement: what F could still fall
    double gradient_norm = 0.0;  ///< largest gradient entry in the scaled parameters
    double smallest_eigenvalue = 0.0;  ///< of the error correlation matrix
    bool diverging = false;            ///< a coefficient runs to infinity while F still falls
    int n_iter = 0;                    ///< RICF sweeps plus Newton steps
    int n_optima = 1;                  ///< distinct local minima met over all starts
};

struct FitOptions {
    int n_starts = 1;        ///< 1: the canonical start only; more: best of that many
    std::uint64_t seed = 0;  ///< of the starts after the first
};

/// Fits a district from its canonical start (ordinary least squares), to convergence. `S` is the
/// d x d row-major covariance matrix (divisor n) of all variables. A pure function: no state, no
/// warm start; safe to call from many threads. Never NaN, bounded in time.
DistrictFit fit_district(const double* S, int d, const District& district,
                         const FitOptions& options = {});

/// Only the minimum of F, for scoring: the same value as `fit_district(...).objective`.
double district_objective(const double* S, int d, const District& district);

/// RICF as the paper runs it: start B = 0 and Omega = diag S, members in index order, stop after
/// `max_iter` sweeps or when the summed absolute change of B and Omega falls below `tol`.
DistrictFit ricf(const double* S, int d, const District& district, int max_iter, double tol);

}  // namespace bowfree
