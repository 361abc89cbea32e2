// Newton's method for one district in scaled parameters.
//
// The function is that of grouped_objective.hpp, smooth but not convex: along some valleys it has
// no minimum at all, across poles it goes on, and at a saddle point it has no gradient. So a step
// that fails is damped, relaxed by sweeps, or leaps (newton.cpp has one function for each), and
// where the method stops, it says what it can certify.
#pragma once

#include <vector>

#include "data/conditions.hpp"
#include "graph/district.hpp"
#include "model/grouped_objective.hpp"
#include "model/ricf.hpp"

namespace bowfree {

/// The minimization of f for one district after another; buffers are kept between districts.
class Newton {
  public:
    /// Takes up a district. `S` and its Cholesky factor `X` are m x m, row-major; they and
    /// `sweeps` (set up for the same district) must outlive the work on it, and so must `stop`,
    /// upon which `Stopped` is thrown.
    void reset(const District& district, const double* S, const double* X, Sweeps& sweeps,
               const Stop* stop = nullptr);

    /// The same with a covariance matrix for each group of conditions.
    void reset(const District& district, const std::vector<Group>& groups, Sweeps& sweeps,
               const Stop* stop = nullptr);

    /// Sets the point to where the sweeps stand. Returns false when their Omega is singular to
    /// rounding.
    bool start();

    /// Sets the point to the given B (k x m) with uncorrelated errors; f is finite there.
    void start(const double* B);

    /// Sets the point to what `point` was, for these data or for others.
    void start(const std::vector<double>& point);
    const std::vector<double>& point() const { return theta_; }

    /// Iterates until the decrement is below `tolerance` or `max_steps` steps were tried.
    /// Returns true when certified: Hessian positive definite and decrement <= tolerance.
    bool run(double tolerance, int max_steps);

    int n_parameters() const { return n_; }
    double value() const { return value_; }          ///< f
    double decrement() const { return decrement_; }  ///< 1/2 g^T H^-1 g; infinity: H not definite
    int n_steps() const { return n_steps_; }
    double gradient_norm();  ///< largest |gradient entry| at the current point
    double smallest_eigenvalue() const { return f_.smallest_eigenvalue(theta_); }  ///< of R

    /// Writes A = (I - B)_C (k x m, unscaled) and Omega (k x k) of the current point.
    void parameters(double* A, double* Omega) const { f_.unscale(theta_, A, Omega); }

    /// The same with what a group, by its number, has to itself.
    void parameters(int group, double* A, double* Omega) { f_.unscale(group, theta_, A, Omega); }

  private:
    void take_up(const District& district, Sweeps& sweeps);
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
    bool evaluated_ = false;         // the last evaluation was that of theta_
    double value_ = 0.0, decrement_ = 0.0, gain_ = 0.0;
    int n_steps_ = 0;
};

}  // namespace bowfree
