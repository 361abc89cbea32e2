// A district and its incoming edges: what one factor of the likelihood depends on (section 3.1).
#pragma once

#include <utility>
#include <vector>

#include "graph/graph.hpp"

namespace bowfree {

/// A district C with its parents, in local numbers: the k members are 0..k-1, the parents outside C
/// are k..m-1. `make_district` sorts both by node, so equal districts with equal incoming edges
/// give equal objects.
struct District {
    std::vector<int> nodes;                         ///< global index of each local number, size m
    int k = 0;                                      ///< number of members
    std::vector<std::vector<int>> parents;          ///< per member: local numbers, ascending
    std::vector<std::pair<int, int>> spouse_pairs;  ///< local pairs (a, b), a < b, lexicographic

    int m() const { return static_cast<int>(nodes.size()); }
};

/// The district of `graph` whose members are `members` (ascending, as `districts` returns them).
District make_district(const Graph& graph, const std::vector<int>& members);

/// The number of edges into a district.
int count_edges(const District& district);

/// The number of directions in which the parameters of a district can change while its distribution
/// stays the same, at a random point: 0 without bows (both a -> b and a <-> b).
int count_unidentified(const District& district);

/// The district of columns if node v has sizes[v] columns, numbered consecutively: an edge between
/// two nodes connects all of their columns, and the columns of a node are pairwise spouses.
District expand(const District& district, const std::vector<int>& sizes);

/// The graph of these columns.
Graph expand(const Graph& graph, const std::vector<int>& sizes);

}  // namespace bowfree
