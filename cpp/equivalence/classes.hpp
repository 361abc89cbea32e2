// Equivalence classes of BAPs as lists: all BAPs of one skeleton that have the model of a given one.
//
// A member is a list of edge kinds, one for each edge of the skeleton. The exact class is found
// without enumerating the 3^m orientations: BAPs are built ancestors first. For one node at a time
// the search decides which neighbors are its parents, then does the same for those parents, and so
// on; when all parents of a node have their rows of I - B, the row of the node follows, and its
// constraints with the nodes before it are checked on the Sigma of the given graph. A BAP determines
// this order, so each is found exactly once, and no list of visited graphs is necessary. On sparse
// graphs about three partial graphs are visited per member; building along topological orders
// visited 170 with 15 nodes, and pruning by induced subgraphs on four nodes cost more than it saved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "equivalence/decision.hpp"
#include "graph/edge.hpp"
#include "graph/graph.hpp"
#include "stop.hpp"

namespace bowfree {

/// The kind of each edge (i, j), i < j, of a skeleton; never `Edge::none`.
using EdgeKinds = std::vector<Edge>;

/// The possible kinds of an edge.
inline constexpr Edge edge_kinds[] = {Edge::forward, Edge::backward, Edge::bidirected};

/// The edges (i, j), i < j, of the skeleton in lexicographic order.
std::vector<std::pair<int, int>> skeleton_edges(const Graph& graph);

/// The kinds of the edges of a BAP; `edges` are those of its skeleton.
EdgeKinds kinds_of(const Graph& graph, const std::vector<std::pair<int, int>>& edges);

/// The BAP with edges of these kinds.
Graph graph_of_kinds(int d, const std::vector<std::pair<int, int>>& edges, const Edge* kinds);

/// Calls `visit` with every list of kinds that differs from `kinds` in one edge at most.
template <class Visit>
void for_each_edge_change(EdgeKinds kinds, Visit&& visit) {
    for (Edge& edge : kinds) {
        const Edge before = edge;
        for (const Edge kind : edge_kinds) {
            edge = kind;
            visit(std::as_const(kinds));
        }
        edge = before;
    }
}

struct EdgeKindsHash {
    std::size_t operator()(const EdgeKinds& kinds) const;
};

struct ClassOptions {
    std::uint64_t seed = 0;
    std::uint64_t limit = UINT64_MAX;  ///< of the number of members
    /// Members have the same model under all of these; none: one condition without targets. If an
    /// edge of the skeleton is absent in all conditions, members of other skeletons are missed.
    Conditions conditions = {};
};

struct ClassMembers {
    EdgeKinds kinds;  ///< members x edges, row-major
    std::uint64_t n_members = 0;
    std::uint64_t n_visited = 0;  ///< partial graphs (exact) or candidates (edge changes)
    bool complete = false;        ///< false when the limit or the stop ended the search
};

/// All BAPs with the skeleton and the model of `graph` (a BAP). When the stop is raised, here and
/// below, the result is incomplete.
ClassMembers exact_class(const Graph& graph, const ClassOptions& options, const Stop& stop);

/// The members that are reached from `graph` by changing one edge at a time within the class. With
/// five nodes or more some classes are not connected in this way. For one condition only.
ClassMembers edge_change_class(const Graph& graph, const ClassOptions& options, const Stop& stop);

/// A factor of a class, which is the product of the classes of its connected components, or of
/// independent choices.
struct ClassFactor {
    std::vector<int> edges;  ///< columns of `members`, as numbers of the skeleton's edges
    ClassMembers members;
};

enum class ClassMethod : std::uint8_t { exact, edge_changes };

/// The class as one factor for each connected component with an edge. An incomplete factor contains
/// at least the kinds of `graph` itself.
std::vector<ClassFactor> class_factors(const Graph& graph, ClassMethod method,
                                       const ClassOptions& options, const Stop& stop);

}  // namespace bowfree
