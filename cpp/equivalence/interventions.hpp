// Equivalence under several conditions, some with interventions: one G and H, one Sigma for each.
//
// B and Omega are the same in all conditions, except for the effects of the interventions: a
// condition has a kind and targets, and each parameter is absent, shared or specific there
// (data/intervention_kinds.hpp). The graph that remains of a BAP in a condition is a BAP. Its
// parameters follow from Sigma of that condition alone, node by node (decision.hpp), so no condition
// without targets is necessary: H can produce the matrices Sigma_e of G exactly if in each of them
// the errors of H are uncorrelated at the pairs that are not adjacent there, and if shared parameters
// have the same values in all conditions.
//
// Means contain no additional information if intercepts are shared like coefficients
// (data/conditions.hpp) and one condition has no targets. Suppose that x is set, or has a mechanism
// of its own, in condition e. Its variance there is free, and another value of it adds a multiple of
// t t^T to Sigma_e, where t are the total effects of x in G. H can follow only if (I - B)_v t = 0 in
// H for all v except x, whose error covariances are shared. The mean of G in e differs from that of
// the condition without targets by a multiple of t, so every v except x has the same intercept in H
// in both. (With more targets there are more such columns; noise does not change the means; for
// activities the tests confirm it.)
//
// All parameters that occur in some condition are found in this way. So the dimension of the model
// is their number, and two models are equal exactly if these numbers agree and one model is inside
// the other.
#pragma once

#include <cstdint>
#include <vector>

#include "data/intervention_kinds.hpp"
#include "equivalence/decision.hpp"
#include "equivalence/field.hpp"
#include "graph/graph.hpp"
#include "stop.hpp"

namespace bowfree {

struct Condition {
    InterventionKind kind = InterventionKind::perfect;
    std::vector<Word> targets;  ///< a set of nodes, as many words as a graph's

    bool is_target(int v) const { return contains(targets.data(), v); }
    /// Whether the edges with a head at v are removed.
    bool cuts(int v) const { return kind == InterventionKind::perfect && is_target(v); }
    /// The coefficient of p -> v.
    ParameterUse coefficient(int p, int v) const {
        return use_of_coefficient(kind, is_target(p), is_target(v));
    }
    /// The error covariance of u and v; with u = v, the error variance.
    ParameterUse error(int u, int v) const {
        return u == v ? use_of_variance(kind, is_target(v))
                      : use_of_covariance(kind, is_target(u) || is_target(v));
    }

    bool operator==(const Condition&) const = default;
};
using Conditions = std::vector<Condition>;

/// The dimension of the model: the number of parameters that occur, counting shared ones once.
std::uint64_t count_parameters(const Graph& graph, const Conditions& conditions);

/// Sigma of each condition, at random parameters of the acyclic graph G; bows are allowed.
using Covariances = std::vector<std::vector<field::Element>>;
Covariances random_covariances(const Graph& graph, const std::vector<int>& order,
                               const Conditions& conditions, std::uint64_t seed, const Stop& stop);

/// Finds rows of B and the errors from Sigma of one condition, parents first.
class RowSolver {
  public:
    RowSolver(int d, std::vector<field::Element> Sigma);

    /// Solves for the coefficients of v, `b[i]` being that of parents[i]. The rows of the parents
    /// must have been solved for. Returns false when the system is singular.
    bool solve(int v, const std::vector<int>& parents, const Stop& stop);
    const std::vector<field::Element>& b() const { return b_; }

    /// The error covariance of u and the node solved for last (their variance if they are the same).
    field::Element error(int u) const;

  private:
    const field::Element* row(int v) const { return R_.data() + static_cast<std::size_t>(v) * d_; }

    int d_;
    int v_ = -1;  // the node solved for last, and its parents
    std::vector<int> parents_;
    std::vector<field::Element> Sigma_, R_;  // row v of R: cov(eps_v, X)
    std::vector<field::Element> M_, b_;
};

/// The reason why H cannot produce the matrices.
enum class Conflict : std::uint8_t {
    none,
    correlated,   ///< errors of a pair that is not adjacent in `condition` are correlated
    coefficient,  ///< two conditions need different coefficients of a -> b
    error,        ///< two conditions need different error covariances (variances) of a and b
    dimension,    ///< one inclusion holds, but the models differ in dimension
};

struct ConditionsTest {
    Inclusion answer = Inclusion::yes;
    Conflict conflict = Conflict::none;
    int condition = -1, other = -1;  ///< the condition that fails, or the two that disagree
    int a = -1, b = -1;
};

/// The rows of one graph H under all conditions at once.
class ConditionRows {
  public:
    ConditionRows(int d, const Conditions& conditions, Covariances Sigma);

    /// Solves for v in every condition and compares. `before` are the nodes solved for, including the
    /// parents, and `adjacent[u]` says whether u and v are adjacent in H.
    ConditionsTest add_node(int v, const std::vector<int>& parents, const std::vector<int>& before,
                            const std::uint8_t* adjacent, const Stop& stop);

  private:
    /// The value of a shared parameter and the first condition in which it occurs.
    struct Shared {
        field::Element value = 0;
        int from = -1;
    };
    /// Returns false if an earlier condition has another value.
    static bool agree(Shared& shared, field::Element value, int condition);

    const Conditions& conditions_;
    std::vector<RowSolver> solvers_;
    std::vector<int> no_parents_;
    std::vector<Shared> coefficients_, errors_;
};

/// Whether the BAP H can produce these matrices.
ConditionsTest produces(const Graph& H, const std::vector<int>& order, const Conditions& conditions,
                        const Covariances& Sigma, const Stop& stop);

/// Whether the model of the acyclic graph G is inside that of the BAP H; "yes" needs two draws.
ConditionsTest inside(const Graph& G, const std::vector<int>& order_G, const Graph& H,
                      const std::vector<int>& order_H, const Conditions& conditions,
                      std::uint64_t seed, const Stop& stop);

/// Whether the models of two BAPs are equal.
ConditionsTest equal_models(const Graph& G, const std::vector<int>& order_G, const Graph& H,
                            const std::vector<int>& order_H, const Conditions& conditions,
                            std::uint64_t seed, const Stop& stop);

}  // namespace bowfree
