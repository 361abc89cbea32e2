// Newton's method for one district in scaled parameters.
//
// The function is f of half_objective.hpp; with several groups of conditions (groups.hpp) it is the
// weighted sum of one such function for each group, all of the same parameters, but for those that
// a group has to itself (kinds.hpp). A mechanism or an activity of its own is a row of A, or an
// entry, of its own. Noise of its own scales a row of A and the correlations in R: with the
// target's ratio r of standard deviations, u_v becomes r u_v, and so on. Ratios are parameters,
// too.
#pragma once

#include <array>
#include <vector>

#include "model/district.hpp"
#include "model/groups.hpp"
#include "model/half_objective.hpp"
#include "model/sweeps.hpp"

namespace bowfree {

/// The minimisation of f for one district after another; buffers are kept between districts.
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
    double gradient_norm();              ///< largest |gradient entry| at the current point
    double smallest_eigenvalue() const;  ///< of R

    /// Writes A = (I - B)_C (k x m, unscaled) and Omega (k x k) of the current point.
    void parameters(double* A, double* Omega) const { unscale(theta_, A, Omega); }

    /// The same with what a group, by its number, has to itself.
    void parameters(int group, double* A, double* Omega);

  private:
    using Entry = HalfObjective::Entry;

    /// f of one group, and which of our parameters its own are: all of them if `index` is empty.
    /// With `ratios`, a parameter is multiplied by those that are not -1. `base` is its place among
    /// the shared parameters.
    struct Term {
        HalfObjective f;
        double weight = 1.0;
        std::vector<int> rows, index, base;
        std::vector<std::array<int, 2>> ratios;
        std::vector<double> theta, gradient, hessian;

        const double* own(const std::vector<double>& all);
    };

    void take_up(const District& district, Sweeps& sweeps, const Stop* stop);
    Term& add_term(double weight);
    void index_parameters(Term& term, const Group& group, const std::vector<int>& in_A,
                          const std::vector<int>& in_R);
    void add_derivatives(const Term& term, bool twice);
    void begin_alike(std::vector<double>& theta) const;
    void resize();
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

    Sweeps* sweeps_ = nullptr;
    const Stop* stop_ = nullptr;
    int k_ = 0, m_ = 0, n_rows_ = 0, n_ = 0;  // members, variables, free entries of A, parameters
    int n_shared_ = 0;  // the first of them: entries of A and R; those of single groups follow

    std::vector<Entry> entries_;  // as those of HalfObjective, for the whole district
    std::vector<char> in_use_;    // by shared parameter: whether some group has it
    std::vector<int> begins_as_;  // by other parameter: a shared one, or -1 for a ratio
    std::vector<Term> terms_;     // the first n_terms_ are in use, the others keep their buffers
    int n_terms_ = 0;
    std::vector<double> theta_, trial_, best_, gradient_, hessian_, factor_, step_;
    std::vector<double> A_, Omega_;  // scratch of advance_and_relax
    bool evaluated_ = false;         // the last evaluation was that of theta_
    double value_ = 0.0, decrement_ = 0.0, gain_ = 0.0;
    int n_steps_ = 0;
};

}  // namespace bowfree
