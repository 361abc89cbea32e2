// Residual iterative conditional fitting (RICF; Drton, Eichler and Richardson 2009), for a
// district.
//
// One step fits the equation of a single node v with everything else held fixed: regress x_v on its
// parents and on the pseudo-variables z_u, one per spouse u, that carry what the other errors say
// of eps_v. Each step maximises the likelihood over row v of B and of Omega, so no step lowers it.
#pragma once

#include <vector>

#include "district.hpp"

namespace bowfree {

/// The running state of RICF on one district, in local numbers (see district.hpp). All matrices are
/// row-major.
class Ricf {
  public:
    /// `S` is the m x m covariance matrix of the district's variables; it must outlive this object.
    Ricf(const District& district, const double* S);

    /// Sets B from a k x m matrix, with Omega = diag of the residual variances under that B.
    void start(const double* B);

    /// One sweep: every member once, in order. Returns false when a regression is singular to
    /// rounding; the state is then that after the last good step.
    bool sweep();

    /// F = log|Omega| + tr(Omega^-1 E) at the current point.
    double objective() const;

    const std::vector<double>& A() const { return A_; }          ///< (I - B)_C, k x m
    const std::vector<double>& Omega() const { return Omega_; }  ///< k x k

  private:
    bool step(int v);
    void refresh_row(int v);

    const District& district_;
    const double* S_;
    int k_, m_;
    std::vector<std::vector<int>> spouses_;
    std::vector<double> A_, R_, E_;  // A, A S and A S A^T
    std::vector<double> Omega_, W_;  // Omega and its inverse
    double log_det_ = 0.0;           // log |Omega|
    std::vector<double> Z_, ZE_, gram_, coef_, rhs_, direction_;
};

}  // namespace bowfree
