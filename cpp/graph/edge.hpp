// Pair states: which of the two ends of a pair of nodes have an arrowhead, in a graph without bows.
//
//     pair (i, j), i < j      none      i -> j     i <- j     i <-> j
//     value                   00        01         10         11
//     bit 0: arrowhead at j, bit 1: arrowhead at i
//
// Beside the adjacency words of graph.hpp this is the second encoding of graphs in the core: a list
// of states, for all pairs in the order of `pair_index` or for a given list of pairs. A move of the
// search sets one pair to a state, be it an addition, a deletion, a reversal or a change of type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/graph.hpp"

namespace bowfree {

enum class Edge : std::uint8_t { none = 0, forward = 1, backward = 2, bidirected = 3 };

inline constexpr Edge all_edges[] = {Edge::none, Edge::forward, Edge::backward, Edge::bidirected};

/// Arrowhead at the larger node j of the pair.
inline bool head_at_second(Edge edge) { return static_cast<int>(edge) & 1; }
/// Arrowhead at the smaller node i of the pair.
inline bool head_at_first(Edge edge) { return static_cast<int>(edge) & 2; }
inline bool is_directed(Edge edge) { return edge == Edge::forward || edge == Edge::backward; }

/// The index of pair (i, j), i < j, in the order (0,1), (0,2), (1,2), (0,3), ...
inline std::size_t pair_index(int i, int j) {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(j - 1) / 2 +
           static_cast<std::size_t>(i);
}
/// The number of pairs of d nodes.
inline std::size_t n_pairs(int d) { return pair_index(0, d); }

inline Edge get_edge(const Graph& graph, int i, int j) {
    if (graph.bidirected(i, j)) return Edge::bidirected;
    if (graph.directed(i, j)) return Edge::forward;
    return graph.directed(j, i) ? Edge::backward : Edge::none;
}

/// Adds an edge to a pair that has none.
inline void add_edge(Graph& graph, int i, int j, Edge edge) {
    if (edge == Edge::forward) graph.add_directed(i, j);
    if (edge == Edge::backward) graph.add_directed(j, i);
    if (edge == Edge::bidirected) graph.add_bidirected(i, j);
}

/// Replaces the edge of a pair.
inline void set_edge(Graph& graph, int i, int j, Edge edge) {
    graph.remove_directed(i, j);
    graph.remove_directed(j, i);
    graph.remove_bidirected(i, j);
    add_edge(graph, i, j, edge);
}

/// The number of arrowheads at node i: parents and spouses, the in-degree of section 3.2.
inline int in_degree(const Graph& graph, int i) {
    return count(graph.parents(i), graph.words()) + count(graph.spouses(i), graph.words());
}

}  // namespace bowfree
