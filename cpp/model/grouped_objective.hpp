// What Newton's method minimizes for one district: the objective over all groups of conditions.
//
// The function of one covariance matrix is f of half_objective.hpp; with several groups of
// conditions (groups.hpp) it is the weighted sum of one such function for each group, all of the
// same parameters, but for those that a group has to itself (kinds.hpp). A mechanism or an activity
// of its own is a row of A, or an entry, of its own. Noise of its own scales a row of A and the
// correlations in R: with the target's ratio r of standard deviations, u_v becomes r u_v, and so
// on. Ratios are parameters, too.
//
// The parameters theta are, in this order: the free entries of A and the correlations in R that
// groups share, as in half_objective.hpp; then what single groups have to themselves.
#pragma once

#include <array>
#include <vector>

#include "data/conditions.hpp"
#include "graph/district.hpp"
#include "model/half_objective.hpp"
#include "stop.hpp"

namespace bowfree {

/// The objective of one district after another; buffers are kept between districts.
class GroupedObjective {
  public:
    /// Takes up a district. `S` and its Cholesky factor `X` are m x m, row-major; they must outlive
    /// the work on it, and so must `stop`, upon which `Stopped` is thrown.
    void reset(const District& district, const double* S, const double* X, const Stop* stop);

    /// The same with a covariance matrix for each group of conditions.
    void reset(const District& district, const std::vector<Group>& groups, const Stop* stop);

    int size() const { return n_; }                             ///< all parameters
    bool all_shared() const { return n_ == n_shared_; }         ///< no group has any to itself
    const ScaledParameters& shared() const { return shared_; }  ///< the first of them
    const Stop* stop() const { return stop_; }                  ///< null where all is soon done

    /// f at theta; infinity outside the domain.
    double evaluate(const std::vector<double>& theta);

    /// Gradient and, unless null, Hessian (lower triangle) at the theta that was evaluated last,
    /// which must be given again.
    void differentiate(const std::vector<double>& theta, std::vector<double>& gradient,
                       std::vector<double>* hessian);

    /// The theta of A = (I - B)_C (k x m) and Omega (k x k); the same values in all groups.
    void scale(const double* A, const double* Omega, std::vector<double>& theta) const;

    /// The theta of B (k x m) with uncorrelated errors of the variances that B leaves; f is finite
    /// there.
    void scale_uncorrelated(const double* B, std::vector<double>& theta);

    /// A and Omega of theta: what the groups share.
    void unscale(const std::vector<double>& theta, double* A, double* Omega) const;

    /// The same with what a group, by its number, has to itself.
    void unscale(int group, const std::vector<double>& theta, double* A, double* Omega);

    /// The member whose error is most nearly determined by the others in some group, and its entry
    /// on the diagonal of R^-1, where f was differentiated last.
    struct Determined {
        int member;
        double inverse;
    };
    Determined most_determined() const;

    /// The smallest eigenvalue of R.
    double smallest_eigenvalue(const std::vector<double>& theta) const;

  private:
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

    void take_up(const District& district, const Stop* stop);
    Term& add_term(double weight);
    void index_parameters(Term& term, const Group& group, const std::vector<int>& in_A,
                          const std::vector<int>& in_R);
    void add_derivatives(const Term& term, const std::vector<double>& theta,
                         std::vector<double>& gradient, std::vector<double>* hessian) const;
    void begin_alike(std::vector<double>& theta) const;

    const Stop* stop_ = nullptr;
    int k_ = 0, m_ = 0, n_rows_ = 0, n_ = 0;  // members, variables, free entries of A, parameters
    int n_shared_ = 0;  // the first of them: entries of A and R; those of single groups follow

    ScaledParameters shared_;     // of the whole district
    std::vector<char> in_use_;    // by shared parameter: whether some group has it
    std::vector<int> begins_as_;  // by other parameter: a shared one, or -1 for a ratio
    std::vector<Term> terms_;     // the first n_terms_ are in use, the others keep their buffers
    int n_terms_ = 0;
};

}  // namespace bowfree
