// Half the objective of one district on one covariance matrix, in scaled parameters: value,
// gradient and Hessian.
//
// Write Omega = D^-1 R D^-1 with D = diag(u), u_v = 1 / sd(eps_v), and R the error correlations;
// put A = D (I - B)_C. Half the objective is then
//
//     f(A, R) = 1/2 log|R| - sum_v log u_v + 1/2 tr(R^-1 A S A^T),       A_vv = u_v,
//
// convex in the free entries of A for fixed R, and far better conditioned in flat valleys than the
// same function of (B, Omega): where an effect and an error covariance grow together without bound,
// A and R stay finite. f is minus the log-likelihood of the district per observation, up to a
// constant, so the Newton decrement is the possible gain of the score.
//
// S enters by its Cholesky factor X (S = X X^T) wherever it can: residuals are formed as rows of
// A X and squared afterwards, which keeps twice the digits of A S A^T when variables are nearly
// deterministic.
#pragma once

#include <vector>

#include "graph/district.hpp"
#include "stop.hpp"

namespace bowfree {

/// The free parameters of a district in scaled form, each by its entry of A or of R.
struct ScaledParameters {
    struct Entry {
        int row, column;
    };
    std::vector<Entry> entries;  ///< A row by row (u_v, then the parents of v), then R
    int n_rows = 0;              ///< how many are entries of A

    void list(const District& district);
    int size() const { return static_cast<int>(entries.size()); }
};

/// f of a district. Buffers are kept from district to district.
class HalfObjective {
  public:
    /// Loads a district. `S` and its Cholesky factor `X` are m x m, row-major. All arguments must
    /// outlive the work on the district; `Stopped` is thrown when `stop` is raised.
    void reset(const District& district, const double* S, const double* X, const Stop* stop);

    const ScaledParameters& parameters() const { return parameters_; }

    /// f at theta; infinity outside the domain.
    double evaluate(const double* theta);

    /// Gradient and, unless null, Hessian (n x n, lower triangle) at theta, which must be the
    /// argument of the last call of `evaluate`.
    void differentiate(const double* theta, double* gradient, double* hessian);

    /// The inverse of R at the point of the last `differentiate`, k x k.
    const std::vector<double>& W() const { return W_; }

    /// Adds the mean square of row v of A x, times `weight`, to `variances[rows[v]]` for every
    /// member v. R is not used.
    void add_variances(const double* theta, double weight, const std::vector<int>& rows,
                       double* variances);

  private:
    const double* S_ = nullptr;
    const double* X_ = nullptr;
    const Stop* stop_ = nullptr;
    int k_ = 0, m_ = 0, n_rows_ = 0, n_ = 0;  // members, variables, entries of A, parameters
    ScaledParameters parameters_;
    std::vector<double> L_, T_, W_, WY_, G_, Q_;  // see `evaluate` and `differentiate`
};

}  // namespace bowfree
