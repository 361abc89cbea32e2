// Newton's method for one district in scaled parameters.
//
// Write Omega = D^-1 R D^-1 with D = diag(u), u_v = 1 / sd(eps_v), and R the error correlations;
// put A = D (I - B)_C. Half the objective is then
//
//     f(A, R) = 1/2 log|R| - sum_v log u_v + 1/2 tr(R^-1 A S A^T),       A_vv = u_v,
//
// convex in the free entries of A for fixed R, and far better conditioned in flat valleys than the
// same function of (B, Omega): where an effect and an error covariance grow together without bound,
// A and R stay finite. f is minus the district's log-likelihood per sample, up to a constant, so
// the Newton decrement reads directly as "what the score could still gain".
//
// S enters by its Cholesky factor X (S = X X^T) only: residuals are formed as rows of A X and
// squared afterwards, which keeps twice the digits of A S A^T when variables are nearly
// deterministic.
#pragma once

#include <utility>
#include <vector>

#include "district.hpp"

namespace bowfree {

class Newton {
  public:
    /// `S` and its Cholesky factor `X` are m x m, row-major, and must outlive this object.
    Newton(const District& district, const double* S, const double* X);

    /// Sets the point from A = (I - B)_C (k x m, unscaled) and Omega (k x k).
    /// Returns false when Omega is not positive definite.
    bool start(const double* A, const double* Omega);

    /// Iterates until the decrement is below `tolerance` or `max_steps` steps were tried.
    /// Returns true when certified: Hessian positive definite and decrement <= tolerance.
    bool run(double tolerance, int max_steps);

    double value() const { return value_; }          ///< f
    double decrement() const { return decrement_; }  ///< 1/2 g^T H^-1 g at the last full step
    double gradient_norm() const;                    ///< largest |gradient entry|
    double smallest_eigenvalue() const;              ///< of R
    int n_steps() const { return n_steps_; }

    /// Writes B (k x m) and Omega (k x k) of the current point.
    void parameters(double* B, double* Omega) const;

  private:
    struct Entry {
        int row, column;
    };

    double evaluate(const std::vector<double>& theta);
    void differentiate();
    int solve(double damping);
    double advance(double length);
    bool follow_negative_curvature(int pivot);

    const District& district_;
    const double* S_;
    const double* X_;
    int k_, m_, n_rows_, n_;  // members, variables, free entries of A, all parameters

    // theta = free entries of A (row by row: u_v, then its parents), then the correlations in R.
    std::vector<Entry> entries_;
    std::vector<double> theta_, trial_, best_, gradient_, hessian_, factor_, step_;
    std::vector<double> L_, T_, W_, G_, Q_, WY_;  // Cholesky factor of R; L^-1 A X; R^-1; ...
    double value_ = 0.0, decrement_ = 0.0, gain_ = 0.0;
    int n_steps_ = 0;
};

}  // namespace bowfree
