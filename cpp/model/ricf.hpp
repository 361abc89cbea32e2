// Residual iterative conditional fitting (RICF; Drton, Eichler and Richardson 2009), for a
// district.
//
// One step fits the equation of a single node v with everything else held fixed: it regresses x_v
// on its parents and on the pseudo-variables z_u, one per spouse u, which contain the information
// of the other errors about eps_v. A step maximizes the likelihood over row v of B and of Omega, so
// no step lowers it.
#pragma once

#include <vector>

#include "graph/district.hpp"
#include "stop.hpp"

namespace bowfree {

/// An iterative method that visits the members of a district one by one, each time lowering F.
/// Newton's method uses it to approach an optimum and to leave difficult points. A and Omega are
/// row-major.
class Sweeps {
  public:
    virtual ~Sweeps() = default;

    /// Sets B (k x m) and Omega = diag of the residual variances under that B, bounded below by
    /// rounding.
    virtual void start(const double* B) = 0;

    /// Sets Omega on bidirected edges to the residual covariances, shrunk until Omega is positive
    /// definite and F has fallen; if no shrinkage achieves that, to zero.
    virtual void correlate_errors() = 0;

    /// Sets A = (I - B)_C and Omega. Returns false when Omega is not positive definite.
    virtual bool start(const double* A, const double* Omega) = 0;

    /// Visits every member once, in order. Returns false when a regression is singular up to
    /// rounding; the state is then that after the last regular step.
    virtual bool sweep() = 0;

    /// Visits a single member; returns like `sweep`.
    virtual bool step(int v) = 0;

    /// F at the current point.
    virtual double objective() const = 0;

    virtual const std::vector<double>& A() const = 0;      ///< (I - B)_C, k x m
    virtual const std::vector<double>& Omega() const = 0;  ///< k x k
};

/// RICF in local numbers (see district.hpp). Buffers are kept from district to district.
class Ricf final : public Sweeps {
  public:
    /// Loads a district. `S` is the m x m covariance matrix of its variables. All arguments must
    /// outlive the work on the district; a step throws `Stopped` when `stop` is raised.
    void reset(const District& district, const double* S, const Stop* stop = nullptr);

    void start(const double* B) override;
    void correlate_errors() override;
    bool start(const double* A, const double* Omega) override;
    bool sweep() override;
    bool step(int v) override;
    double objective() const override;

    /// Whether W, which is updated step by step, is still the inverse of Omega. Changes the state.
    bool inverse_is_accurate();

    const std::vector<double>& A() const override { return A_; }
    const std::vector<double>& Omega() const override { return Omega_; }

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
