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
// S enters by its Cholesky factor X (S = X X^T) wherever it can: residuals are formed as rows of
// A X and squared afterwards, which keeps twice the digits of A S A^T when variables are nearly
// deterministic.
#pragma once

#include <vector>

#include "model/district.hpp"
#include "model/ricf.hpp"

namespace bowfree {

/// The minimisation of f for one district after another; buffers are kept between districts.
class Newton {
  public:
    /// Takes up a district. `S` and its Cholesky factor `X` are m x m, row-major; they and
    /// `ricf` (set up for the same district) must outlive the work on it, and so must `stop`, upon
    /// which `Stopped` is thrown.
    void reset(const District& district, const double* S, const double* X, Ricf& ricf,
               const Stop* stop = nullptr);

    /// Sets the point to where `ricf` stands. Returns false when its Omega is singular to rounding.
    bool start();

    /// Sets the point to the given B (k x m) with uncorrelated errors; f is finite there.
    void start(const double* B);

    /// Iterates until the decrement is below `tolerance` or `max_steps` steps were tried.
    /// Returns true when certified: Hessian positive definite and decrement <= tolerance.
    bool run(double tolerance, int max_steps);

    int n_parameters() const { return n_; }
    double value() const { return value_; }          ///< f
    double decrement() const { return decrement_; }  ///< 1/2 g^T H^-1 g; infinity: H not definite
    int n_steps() const { return n_steps_; }
    double gradient_norm();              ///< largest |gradient entry| at the current point
    double smallest_eigenvalue() const;  ///< of R

    /// Writes A = (I - B)_C (k x m, unscaled) and Omega (k x k) of the current point.
    void parameters(double* A, double* Omega) const { unscale(theta_, A, Omega); }

  private:
    struct Entry {
        int row, column;
    };

    double evaluate(const std::vector<double>& theta);
    void differentiate(bool twice);
    int solve(double damping);
    double descend();
    double advance();
    double advance_and_relax();
    double leap();
    bool follow_negative_curvature(int pivot);
    void scale(const double* A, const double* Omega, std::vector<double>& theta) const;
    void unscale(const std::vector<double>& theta, double* A, double* Omega) const;

    const double* S_ = nullptr;
    const double* X_ = nullptr;
    Ricf* ricf_ = nullptr;
    const Stop* stop_ = nullptr;
    int k_ = 0, m_ = 0, n_rows_ = 0, n_ = 0;  // members, variables, free entries of A, parameters

    // theta = free entries of A (row by row: u_v, then its parents), then the correlations in R.
    std::vector<Entry> entries_;
    std::vector<double> theta_, trial_, best_, gradient_, hessian_, factor_, step_;
    std::vector<double> L_, T_, W_, WY_, G_, Q_;  // see `evaluate` and `differentiate`
    std::vector<double> A_, Omega_;               // scratch of advance_and_relax
    bool evaluated_ = false;                      // L and T are those of theta_
    double value_ = 0.0, decrement_ = 0.0, gain_ = 0.0;
    int n_steps_ = 0;
};

}  // namespace bowfree
