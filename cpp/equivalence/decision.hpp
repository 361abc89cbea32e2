// The exact decision "is the model of G inside the model of H" (section 2.4; van Ommen, UAI 2024),
// under one condition or several, some with interventions.
//
// Draw random parameters of G in a large prime field and compute Sigma. If H can produce Sigma, its
// parameters follow node by node in topological order: row v of I - B_H is the linear combination
// eps_v of v and its parents that is uncorrelated with eps_p for every parent p (a BAP has no
// v <-> p). H contains the model of G exactly if the errors found in this way are uncorrelated at
// every non-adjacent pair of H: then Sigma = (I-B)^-1 Omega (I-B)^-T with an Omega that H permits.
//
// The answer is right with probability about 1 - d^3/p per draw: the entries of that Omega are
// rational functions of Sigma, and a random point decides whether they vanish on the (irreducible)
// model of G. Their denominators are the determinants of the linear systems; at Sigma = I, which
// every model contains, all of them are 1, so none vanishes identically on any model. A singular
// system is therefore an accident of the draw, never a property of G or H, and requires another draw.
//
// Under several conditions there is one Sigma for each. B and Omega are the same in all of them,
// except for the effects of the interventions: a condition has a kind and targets, and each parameter
// is absent, shared or specific there (data/intervention_kinds.hpp). The graph that remains of a BAP
// in a condition is a BAP, and its parameters follow from Sigma of that condition alone. So no
// condition without targets is necessary: H can produce the matrices of G exactly if in each
// condition the errors of H are uncorrelated at the pairs that are not adjacent there, and if shared
// parameters have the same values in all conditions.
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

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "data/intervention_kinds.hpp"
#include "equivalence/field.hpp"
#include "graph/graph.hpp"
#include "stop.hpp"

namespace bowfree {

struct Condition {
    InterventionKind kind = InterventionKind::perfect;
    std::vector<Word> targets;  ///< a set of nodes, as many words as a graph's

    bool is_target(int v) const { return contains(targets.data(), v); }
    bool has_targets() const {
        return std::ranges::any_of(targets, [](Word word) { return word != 0; });
    }
    /// Whether the edges with a head at v are removed.
    bool cuts(int v) const { return kind == InterventionKind::perfect && is_target(v); }
    /// The coefficient of p -> v.
    ParameterUse coefficient(int p, int v) const {
        return use_of_coefficient(kind, is_target(p), is_target(v));
    }
    /// The error covariance of u and v; with u = v, the error variance.
    ParameterUse error(int u, int v) const {
        return use_of_error(kind, u == v, is_target(u) || is_target(v));
    }

    bool operator==(const Condition&) const = default;
};
using Conditions = std::vector<Condition>;

/// The conditions; if there are none, one without targets.
Conditions one_or_more(Conditions conditions, int d);

/// The dimension of the model: the number of parameters that occur, counting shared ones once.
std::uint64_t count_parameters(const Graph& graph, const Conditions& conditions);

/// The skeleton, as bidirected edges.
Graph skeleton_of(const Graph& graph);

/// Whether two BAPs have the same skeleton.
bool same_skeleton(const Graph& G, const Graph& H);

/// Coefficients and error covariances, d x d and row-major; `B[i][j]` is the effect of j on i.
struct FieldModel {
    std::vector<field::Element> B, Omega;
};

/// Random parameters of a graph, bows allowed.
FieldModel random_parameters(const Graph& graph, field::Draw& draw);

/// Sigma = (I - B)^-1 Omega (I - B)^-T, d x d, of an acyclic graph. Here and below `order` is the
/// topological order of the graph, and `Stopped` is thrown when `stop` is raised.
std::vector<field::Element> covariance(const Graph& graph, const std::vector<int>& order,
                                       FieldModel model, const Stop& stop);

/// Sigma of each condition, at random parameters of an acyclic graph; bows are allowed.
using Covariances = std::vector<std::vector<field::Element>>;
Covariances random_covariances(const Graph& graph, const std::vector<int>& order,
                               const Conditions& conditions, std::uint64_t seed, const Stop& stop);

/// Finds rows of I - B and the errors from Sigma of one condition, parents first.
class RowSolver {
  public:
    /// `Sigma` is d x d and must outlive the object. Rows are found up to a factor, which is enough
    /// for a test for zero, or `scaled` to a diagonal of one.
    RowSolver(int d, const field::Element* Sigma, bool scaled)
        : d_(d),
          scaled_(scaled),
          Sigma_(Sigma),
          row_(d + 1),
          R_(static_cast<std::size_t>(d) * d),
          M_(R_.size()) {}

    /// Solves for row v, given those of the parents. Returns false when the system is singular.
    bool solve(int v, const std::vector<int>& parents, const Stop& stop);

    /// Keeps the row solved for last, for its children and for `error`. The parents must still exist.
    void keep();

    /// The entry of the row solved for last at its i-th parent: minus the coefficient if scaled.
    field::Element entry(std::size_t i) const { return row_[i]; }

    /// The error covariance of u, whose row was kept, and the node solved for last.
    field::Element error(int u) const {
        return combine(R_.data() + static_cast<std::size_t>(u) * d_);
    }

    /// The first node of `before` whose error must not be correlated with that of the node solved for
    /// last, but is; -1 if there is none.
    int correlated(std::span<const int> before, const Word* adjacent,
                   const Condition& condition) const;

  private:
    /// The combination of the entries of a vector at the parents and at v, with those of the row.
    field::Element combine(const field::Element* vector) const {
        const field::Element* factor = row_.data();
        field::Sum sum;
        for (const int p : *parents_) sum.add(*factor++, vector[p]);
        sum.add(*factor, vector[v_]);
        return sum.value();
    }

    int d_;
    bool scaled_;
    const field::Element* Sigma_;
    int v_ = -1;  // the node solved for last, its parents, and its row there and at v
    const std::vector<int>* parents_ = nullptr;
    std::vector<field::Element> row_;
    std::vector<field::Element> R_, M_;  // row v of R: cov(eps_v, X); scratch
};

enum class Inclusion : std::uint8_t { no, yes, singular };

/// The reason why H cannot produce the matrices.
enum class Conflict : std::uint8_t {
    none,
    correlated,   ///< errors of a pair that is not adjacent in `condition` are correlated
    coefficient,  ///< two conditions need different coefficients of a -> b
    error,        ///< two conditions need different error covariances (variances) of a and b
    dimension,    ///< one inclusion holds, but the models differ in dimension
};

struct InclusionTest {
    Inclusion answer = Inclusion::yes;
    Conflict conflict = Conflict::none;
    int condition = -1, other = -1;  ///< the condition that fails, or the two that disagree
    int a = -1, b = -1;              ///< the pair that fails
};

/// The rows of one graph H under all conditions at once. The arguments must outlive it.
class ConditionRows {
  public:
    ConditionRows(int d, const Conditions& conditions, const Covariances& Sigma);

    /// Solves for v in every condition and compares. `before` are the nodes solved for, including the
    /// parents, and `adjacent` contains those of them that are adjacent to v in H.
    InclusionTest add_node(int v, const std::vector<int>& parents, std::span<const int> before,
                           const Word* adjacent, const Stop& stop);

  private:
    /// The value of a shared parameter and the first condition in which it occurs.
    struct Shared {
        field::Element value = 0;
        int from = -1;
    };
    /// Returns false if an earlier condition has another value.
    static bool agree(Shared& shared, field::Element value, int condition);

    const Conditions& conditions_;
    bool several_;
    std::size_t d_;
    std::vector<RowSolver> solvers_;
    std::vector<Shared> coefficients_, errors_;
};

/// Whether the BAP H can produce the matrices of `rows`, which may have served another graph.
InclusionTest produces(const Graph& H, const std::vector<int>& order, ConditionRows& rows,
                       const Stop& stop);

/// Compares the model of an acyclic graph G with those of BAPs H. "Yes" needs two draws, which serve
/// all H. The graph must outlive the object.
class InclusionOracle {
  public:
    InclusionOracle(const Graph& G, Conditions conditions, std::uint64_t seed)
        : G_(&G),
          order_(topological_order(G)),
          conditions_(std::make_unique<Conditions>(one_or_more(std::move(conditions), G.d()))),
          seed_(seed) {}

    /// The topological order of G; empty if it has a cycle.
    const std::vector<int>& order() const { return order_; }

    /// Whether the model of G is inside that of H.
    InclusionTest inside(const Graph& H, const std::vector<int>& order, const Stop& stop);
    /// Whether the models of G and H are equal.
    InclusionTest equal(const Graph& H, const std::vector<int>& order, const Stop& stop);

  private:
    struct Draw {
        Covariances Sigma;
        ConditionRows rows;
    };

    const Graph* G_;
    std::vector<int> order_;
    std::unique_ptr<const Conditions> conditions_;  // at a fixed place, for the rows
    std::uint64_t seed_;
    std::vector<Draw> draws_;  // those made so far
};

/// Thrown when a system is singular at a random point: the caller tries another draw.
struct SingularDraw {};

/// Thrown after `max_draws` singular draws, which has probability below 1e-90.
class NoRegularDraw : public std::runtime_error {
  public:
    NoRegularDraw() : std::runtime_error("no regular random point found; use another seed") {}
};

/// The seed of draw number `draw` (0, 1, then the replacements of singular draws).
inline std::uint64_t draw_seed(std::uint64_t seed, int draw) {
    return seed + 0xd1342543de82ef95u * static_cast<std::uint64_t>(draw + 1);
}

inline constexpr int max_draws = 8;

}  // namespace bowfree
