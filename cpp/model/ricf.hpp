// Residual iterative conditional fitting (RICF; Drton, Eichler and Richardson 2009), for a
// district.
//
// One step fits the equation of a single node v with everything else held fixed: regress x_v on its
// parents and on the pseudo-variables z_u, one per spouse u, that carry what the other errors say
// of eps_v. Each step maximises the likelihood over row v of B and of Omega, so no step lowers it.
#pragma once

#include <vector>

#include "model/district.hpp"
#include "stop.hpp"

namespace bowfree {

/// RICF on one district after another, in local numbers (see district.hpp); buffers are kept
/// between districts. All matrices are row-major.
class Ricf {
  public:
    /// Takes up a district. `S` is the m x m covariance matrix of its variables; both must outlive
    /// the work on it, and so must `stop`, upon which a step throws `Stopped`.
    void reset(const District& district, const double* S, const Stop* stop = nullptr);

    /// Sets B (k x m), with Omega = diag of the residual variances under that B, or of what
    /// rounding leaves of them.
    void start(const double* B);

    /// Takes the covariances of the residuals on bidirected edges into Omega, shrunk until Omega is
    /// positive definite and F has fallen; where no share of them does that, Omega stays as it is.
    void correlate_errors();

    /// Sets A = (I - B)_C and Omega. Returns false when Omega is not positive definite.
    bool start(const double* A, const double* Omega);

    /// One sweep: every member once, in order. Returns false when a regression is singular to
    /// rounding; the state is then that after the last good step.
    bool sweep();

    /// F = log|Omega| + tr(Omega^-1 E) at the current point.
    double objective() const;

    /// Whether W, updated step by step, is still the inverse of Omega. Spoils the state.
    bool holds();

    const std::vector<double>& A() const { return A_; }          ///< (I - B)_C, k x m
    const std::vector<double>& Omega() const { return Omega_; }  ///< k x k

    /// The update of a single member; as `sweep`.
    bool step(int v);

  private:
    void refresh_row(int v);
    bool invert_omega();

    const District* district_ = nullptr;
    const double* S_ = nullptr;
    const Stop* stop_ = nullptr;
    int k_ = 0, m_ = 0;
    std::vector<std::vector<int>> spouses_;
    std::vector<double> A_, R_, E_;  // A, A S and A S A^T
    std::vector<double> Omega_, W_;  // Omega and its inverse
    double log_det_ = 0.0;           // log |Omega|
    std::vector<double> Z_, ZE_, gram_, coef_, rhs_, direction_;
};

}  // namespace bowfree
