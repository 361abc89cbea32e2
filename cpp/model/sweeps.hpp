// What Newton's method asks of a slower, surer method: a few sweeps from where it stands.
#pragma once

#include <vector>

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

}  // namespace bowfree
