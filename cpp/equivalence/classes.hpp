// Equivalence classes of BAPs, listed: all BAPs of one skeleton that have the model of a given one.
//
// A member is a list of kinds, one per edge of the skeleton. The exact class is found without
// looking at the 3^m orientations: a BAP is built ancestors first. For one node at a time it is
// decided which neighbors are its parents, then the same for those parents, and so on; as soon as
// all parents of a node have their rows of I - B, the node's own row follows, and its constraints
// with the nodes before it are checked on the Sigma of the given graph. Given the BAP this order is
// determined, so each BAP is met exactly once and nothing has to be remembered. About three partial
// graphs are looked at per member on sparse graphs; building along topological orders met 170 at 15
// nodes, and pruning by induced subgraphs on four nodes cost more than it saved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "equivalence/interventions.hpp"
#include "graph/edge.hpp"
#include "graph/graph.hpp"
#include "stop.hpp"

namespace bowfree {

/// What each edge (i, j), i < j, of a skeleton is in a member; never `Edge::none`.
using EdgeKinds = std::vector<Edge>;

/// The kinds of an edge that is there.
inline constexpr Edge edge_kinds[] = {Edge::forward, Edge::backward, Edge::bidirected};

/// The edges (i, j), i < j, of the skeleton in lexicographic order.
std::vector<std::pair<int, int>> skeleton_edges(const Graph& graph);

/// The kinds of a BAP on the edges of its skeleton.
EdgeKinds kinds_of(const Graph& graph, const std::vector<std::pair<int, int>>& edges);

/// The BAP with these kinds on these edges.
Graph graph_of_kinds(int d, const std::vector<std::pair<int, int>>& edges, const Edge* kinds);

struct EdgeKindsHash {
    std::size_t operator()(const EdgeKinds& kinds) const;
};

struct ClassOptions {
    std::uint64_t seed = 0;
    std::uint64_t limit = UINT64_MAX;  ///< stop when this many members are listed
    /// Members agree under all of these; none: under one condition without targets. They must show
    /// every edge of the skeleton (interventions.hpp), or members of other skeletons are missed.
    Conditions conditions = {};
};

struct ClassMembers {
    EdgeKinds kinds;  ///< members x edges, row-major
    std::uint64_t n_members = 0;
    std::uint64_t n_visited = 0;  ///< partial graphs (exact) or candidates (walk) looked at
    bool complete = false;        ///< false when the limit or the stop ended the search
};

/// All BAPs with the skeleton and the model of `graph` (a BAP). When the stop is raised, here and
/// below, what was found so far comes back as not complete.
ClassMembers exact_class(const Graph& graph, const ClassOptions& options, const Stop& stop);

/// Those that a walk reaches from `graph` when each step changes the kinds of one edge and stays in
/// the class. Classes can split under such steps from five nodes on. One condition only.
ClassMembers edge_change_class(const Graph& graph, const ClassOptions& options, const Stop& stop);

/// A class is a product: of the classes of the connected components, or of independent choices.
struct ClassFactor {
    std::vector<int> edges;  ///< columns of `members`, as numbers of the skeleton's edges
    ClassMembers members;
};

enum class ClassMethod : std::uint8_t { exact, edge_changes };

/// The class as one factor per connected component that has an edge. A factor whose search was
/// ended early still lists the kinds of `graph` itself.
std::vector<ClassFactor> class_factors(const Graph& graph, ClassMethod method,
                                       const ClassOptions& options, const Stop& stop);

}  // namespace bowfree
