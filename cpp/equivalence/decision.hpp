// The exact decision "is the model of G inside the model of H" (section 2.4; van Ommen, UAI 2024).
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
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "equivalence/field.hpp"
#include "graph/graph.hpp"
#include "stop.hpp"

namespace bowfree {

enum class Inclusion : std::uint8_t { no, yes, singular };

/// An answer; if it is "no", with the non-adjacent pair of H whose constraint fails.
struct InclusionTest {
    Inclusion answer = Inclusion::yes;
    int a = -1;
    int b = -1;
};

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

/// Sigma at random parameters.
std::vector<field::Element> random_covariance(const Graph& graph, const std::vector<int>& order,
                                              std::uint64_t seed, const Stop& stop);

/// Whether the BAP H can produce `Sigma`.
InclusionTest produces(const Graph& H, const std::vector<int>& order, const field::Element* Sigma,
                       const Stop& stop);

/// Whether the model of the acyclic graph G is inside that of the BAP H; "yes" needs two draws.
InclusionTest inside(const Graph& G, const std::vector<int>& order_G, const Graph& H,
                     const std::vector<int>& order_H, std::uint64_t seed, const Stop& stop);

/// Decides whether the model of a graph G is inside those of several graphs H, with Sigma of G at two
/// draws.
class InclusionOracle {
  public:
    InclusionOracle(const Graph& G, std::uint64_t seed, const Stop& stop);

    int d() const { return G_.d(); }
    InclusionTest inside(const Graph& H, const std::vector<int>& order, const Stop& stop) const;
    InclusionTest inside(const Graph& H, const Stop& stop) const {
        return inside(H, topological_order(H), stop);
    }

  private:
    std::uint64_t seed_;
    Graph G_;
    std::vector<int> order_;
    std::array<std::vector<field::Element>, 2> Sigma_;
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
