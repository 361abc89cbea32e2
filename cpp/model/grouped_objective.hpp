// The function that Newton's method minimizes: the objective of one district over all groups of
// conditions.
//
// For one covariance matrix it is f of half_objective.hpp; for several groups (conditions.hpp) the
// weighted sum of such functions. They share their parameters except those that are specific to a
// group (intervention_kinds.hpp). A specific mechanism or activity is a specific row, or entry, of
// A. Specific noise scales a row of A and the correlations in R: with r the ratio of the standard
// deviations of a target, u_v becomes r u_v, and so on. These ratios are parameters.
//
// The parameters theta are, in this order: the shared entries of A and R, as in half_objective.hpp;
// then the specific ones of each group.
#pragma once

#include <array>
#include <vector>

#include "data/conditions.hpp"
#include "graph/district.hpp"
#include "model/half_objective.hpp"
#include "stop.hpp"

namespace bowfree {

/// The objective of a district. Buffers are kept from district to district.
class GroupedObjective {
  public:
    /// Loads a district. `S` and its Cholesky factor `X` are m x m, row-major. All arguments must
    /// outlive the work on the district; `Stopped` is thrown when `stop` is raised.
    void reset(const District& district, const double* S, const double* X, const Stop* stop);

    /// The same with a covariance matrix for each group of conditions.
    void reset(const District& district, const std::vector<GroupMoments>& groups, const Stop* stop);

    int size() const { return n_; }                             ///< all parameters
    bool all_shared() const { return n_ == n_shared_; }         ///< none is specific
    const ScaledParameters& shared() const { return shared_; }  ///< the first of them
    const Stop* stop() const { return stop_; }                  ///< null for small districts

    /// f at theta; infinity outside the domain.
    double evaluate(const std::vector<double>& theta);

    /// Gradient and, unless null, Hessian (lower triangle) at theta, which must be the argument of
    /// the last call of `evaluate`.
    void differentiate(const std::vector<double>& theta, std::vector<double>& gradient,
                       std::vector<double>* hessian);

    /// The theta of A = (I - B)_C (k x m) and Omega (k x k), with the same values in all groups.
    void scale(const double* A, const double* Omega, std::vector<double>& theta) const;

    /// The theta of B (k x m) with uncorrelated errors and the residual variances of B; f is finite
    /// there.
    void scale_uncorrelated(const double* B, std::vector<double>& theta);

    /// The shared A and Omega of theta.
    void unscale(const std::vector<double>& theta, double* A, double* Omega) const;

    /// A and Omega in one group, by its number.
    void unscale(int group, const std::vector<double>& theta, double* A, double* Omega);

    /// The member whose error is most nearly determined by the others, over all groups, and its
    /// entry on the diagonal of R^-1, at the point of the last `differentiate`.
    struct Determined {
        int member;
        double inverse;
    };
    Determined most_determined() const;

    /// The smallest eigenvalue of R.
    double smallest_eigenvalue(const std::vector<double>& theta) const;

  private:
    /// f of one group. Its parameter i is theta[index[i]] (theta[i] if `index` is empty),
    /// multiplied by the `ratios[i]` that are not -1; base[i] is the corresponding shared
    /// parameter.
    struct Term {
        HalfObjective f;
        double weight = 1.0;
        std::vector<int> rows, index, base;
        std::vector<std::array<int, 2>> ratios;
        std::vector<double> theta, gradient, hessian;

        const double* values(const std::vector<double>& all);
    };

    void prepare(const District& district, const Stop* stop);
    Term& add_term(double weight);
    void index_parameters(Term& term, const GroupMoments& group, const std::vector<int>& in_A,
                          const std::vector<int>& in_R);
    void add_derivatives(const Term& term, const std::vector<double>& theta,
                         std::vector<double>& gradient, std::vector<double>* hessian) const;
    void spread_shared(std::vector<double>& theta) const;

    const Stop* stop_ = nullptr;
    int k_ = 0, m_ = 0, n_rows_ = 0, n_ = 0;  // members, variables, free entries of A, parameters
    int n_shared_ = 0;                        // the first of them; specific ones follow

    ScaledParameters shared_;      // of the whole district
    std::vector<char> is_used_;    // by shared parameter: whether some group uses it
    std::vector<int> start_from_;  // by specific parameter: the shared one, or -1 for a ratio
    std::vector<Term> terms_;      // the first n_terms_ are in use, the others keep buffers
    int n_terms_ = 0;
};

}  // namespace bowfree
