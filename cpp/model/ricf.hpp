// Residual iterative conditional fitting (RICF; Drton, Eichler and Richardson 2009), for a
// district.
//
// One step fits the equation of a single node v with everything else held fixed: regress x_v on its
// parents and on the pseudo-variables z_u, one per spouse u, that carry what the other errors say
// of eps_v. Each step maximizes the likelihood over row v of B and of Omega, so no step lowers it.
#pragma once

#include <vector>

#include "graph/district.hpp"
#include "stop.hpp"

namespace bowfree {

/// Sweeps over the members of a district, each of which lowers F; A and Omega are row-major.
class Sweeps {
  public:
    virtual ~Sweeps() = default;

    /// Sets B (k x m), with Omega = diag of the residual variances under that B, or of what
    /// rounding leaves of them.
    virtual void start(const double* B) = 0;

    /// Takes the covariances of the residuals on bidirected edges into Omega, shrunk until Omega is
    /// positive definite and F has fallen; where no share of them does that, Omega stays as it is.
    virtual void correlate_errors() = 0;

    /// Sets A = (I - B)_C and Omega. Returns false when Omega is not positive definite.
    virtual bool start(const double* A, const double* Omega) = 0;

    /// One sweep: every member once, in order. Returns false when a regression is singular to
    /// rounding; the state is then that after the last good step.
    virtual bool sweep() = 0;

    /// The update of a single member; as `sweep`.
    virtual bool step(int v) = 0;

    /// F at the current point.
    virtual double objective() const = 0;

    virtual const std::vector<double>& A() const = 0;      ///< (I - B)_C, k x m
    virtual const std::vector<double>& Omega() const = 0;  ///< k x k
};

/// RICF on one district after another, in local numbers (see district.hpp); buffers are kept
/// between districts. All matrices are row-major.
class Ricf final : public Sweeps {
  public:
    /// Takes up a district. `S` is the m x m covariance matrix of its variables; both must outlive
    /// the work on it, and so must `stop`, upon which a step throws `Stopped`.
    void reset(const District& district, const double* S, const Stop* stop = nullptr);

    void start(const double* B) override;
    void correlate_errors() override;
    bool start(const double* A, const double* Omega) override;
    bool sweep() override;
    bool step(int v) override;
    double objective() const override;

    /// Whether W, updated step by step, is still the inverse of Omega. Spoils the state.
    bool holds();

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
