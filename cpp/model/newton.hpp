// Newton's method for one district in scaled parameters.
//
// The function, that of grouped_objective.hpp, is smooth but not convex: it may have valleys
// without a minimum, poles, and saddle points. A step that fails is damped, relaxed by sweeps, or
// extended across a pole (newton.cpp has one function for each). The end is certified if it is a
// minimum.
#pragma once

#include <vector>

#include "data/conditions.hpp"
#include "graph/district.hpp"
#include "model/grouped_objective.hpp"
#include "model/ricf.hpp"

namespace bowfree {

/// Minimizes f of a district. Buffers are kept from district to district.
class Newton {
  public:
    /// Loads a district. `S` and its Cholesky factor `X` are m x m, row-major; `sweeps` is set up
    /// for the same district. All arguments must outlive the work on the district; `Stopped` is
    /// thrown when `stop` is raised.
    void reset(const District& district, const double* S, const double* X, Sweeps& sweeps,
               const Stop* stop = nullptr);

    /// The same with a covariance matrix for each group of conditions.
    void reset(const District& district, const std::vector<GroupMoments>& groups, Sweeps& sweeps,
               const Stop* stop = nullptr);

    /// Sets the point to that of the sweeps. Returns false when their Omega is singular up to
    /// rounding.
    bool start();

    /// Sets the point to the given B (k x m) with uncorrelated errors; f is finite there.
    void start(const double* B);

    /// Sets the point to an earlier `point()`, for these data or others.
    void start(const std::vector<double>& point);
    const std::vector<double>& point() const { return theta_; }

    /// Iterates until the decrement is below `tolerance` or `max_steps` steps were tried.
    /// Returns true when certified: Hessian positive definite and decrement <= tolerance. With
    /// `negligible` > 0 a step after which an estimate of the decrement is below it is the last.
    bool run(double tolerance, int max_steps, double negligible = 0.0);

    int n_parameters() const { return n_; }
    double value() const { return value_; }          ///< f
    double decrement() const { return decrement_; }  ///< 1/2 g^T H^-1 g; infinity: H not definite
    int n_steps() const { return n_steps_; }
    double gradient_norm();  ///< largest |gradient entry| at the current point
    double smallest_eigenvalue() const { return f_.smallest_eigenvalue(theta_); }  ///< of R

    /// Writes A = (I - B)_C (k x m, unscaled) and Omega (k x k) of the current point.
    void parameters(double* A, double* Omega) const { f_.unscale(theta_, A, Omega); }

    /// A and Omega in one group, by its number.
    void parameters(int group, double* A, double* Omega) { f_.unscale(group, theta_, A, Omega); }

  private:
    void prepare(const District& district, Sweeps& sweeps);
    double evaluate(const std::vector<double>& theta);
    void differentiate(bool twice);
    int solve(double damping);
    double descend();
    double advance();
    double advance_and_relax();
    double leap();
    bool follow_negative_curvature(int pivot);

    GroupedObjective f_;
    Sweeps* sweeps_ = nullptr;
    int n_ = 0;  // parameters
    std::vector<double> theta_, trial_, best_, gradient_, hessian_, factor_, step_;
    std::vector<double> A_, Omega_;  // scratch of advance_and_relax
    bool evaluated_ = false;         // whether the last evaluation was at theta_
    double value_ = 0.0, decrement_ = 0.0, gain_ = 0.0;
    int n_steps_ = 0;
};

}  // namespace bowfree
