// Equivalence classes of BAPs, listed: all BAPs of one skeleton that have the model of a given one.
//
// A member is a list of marks, one per edge of the skeleton. The exact class is found without
// looking at the 3^m orientations: a BAP is built node by node in topological order. When node v
// joins the set U of nodes placed, every neighbour in U becomes a parent or a spouse of v, row v of
// I - B follows from the rows of the parents, and the constraints of v with U are checked at once on
// the Sigma of the given graph. The order built is the canonical one (smallest free node first), so
// each BAP is met exactly once and nothing has to be remembered.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "graph.hpp"

namespace bowfree {

/// What an edge (i, j), i < j, of the skeleton is in a member.
enum Mark : std::uint8_t { forward = 0, backward = 1, both = 2 };  // i -> j, i <- j, i <-> j

/// The edges (i, j), i < j, of the skeleton in lexicographic order.
std::vector<std::pair<int, int>> skeleton_edges(const Graph& graph);

/// The BAP with these marks on these edges.
Graph marked_graph(int d, const std::vector<std::pair<int, int>>& edges, const std::uint8_t* marks);

struct ClassOptions {
    std::uint64_t seed = 0;
    std::uint64_t limit = UINT64_MAX;  ///< stop when this many members are listed
    std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt;
};

struct ClassMembers {
    std::vector<std::uint8_t> marks;  ///< members x edges, row-major
    std::uint64_t n_members = 0;
    std::uint64_t n_visited = 0;  ///< partial graphs (exact) or candidates (walk) looked at
    bool complete = false;        ///< false when the limit or the deadline ended the search
};

/// All BAPs with the model of `graph` (a BAP).
ClassMembers exact_class(const Graph& graph, const ClassOptions& options);

/// Those that a walk reaches from `graph` when each step changes the marks of one edge and stays in
/// the class. Classes can split under such steps from five nodes on.
ClassMembers edge_change_class(const Graph& graph, const ClassOptions& options);

}  // namespace bowfree
