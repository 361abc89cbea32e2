// Constraints on graphs besides being a BAP: class, limits, and the user's knowledge.
//
// Every rule is hereditary: a graph that satisfies it still does after an edge is removed (except
// required edges, which may not be removed). Hence random walks and searches by single-edge changes
// can reach every permitted graph from the graph of the required edges.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/edge.hpp"

namespace bowfree {

enum class GraphClass : std::uint8_t { bap, dag, bidirected, ancestral, arid };

struct Rules {
    static constexpr int unlimited = -1;

    GraphClass graph_class = GraphClass::bap;
    int max_in_degree = unlimited;  ///< arrowheads at a node
    int max_edges = unlimited;
    int max_district = unlimited;         ///< nodes of the largest district
    std::vector<std::uint8_t> knowledge;  ///< d x d; bit e of [i, j], i < j: pair may be Edge e
    /// Bits of a pair that must be a bow, i -> j or j -> i besides i <-> j. The other bits permit
    /// i <-> j alone, so that no move changes the pair.
    static constexpr std::uint8_t forward_bow = 1 << 4, backward_bow = 1 << 5;

    /// Rules about one pair: knowledge, and the kinds of edges of the class.
    bool permits_edge(int d, int i, int j, Edge edge) const {
        if (edge == Edge::bidirected && graph_class == GraphClass::dag) return false;
        if (is_directed(edge) && graph_class == GraphClass::bidirected) return false;
        return knowledge.empty() || (knowledge[i * d + j] >> static_cast<int>(edge) & 1);
    }

    /// Rules about the two nodes: whether pair (i, j) may change from `before` to `after`.
    bool permits_heads(const Graph& graph, int i, int j, Edge before, Edge after) const {
        if (max_in_degree == unlimited) return true;
        const bool more_at_i = head_at_first(after) && !head_at_first(before);
        const bool more_at_j = head_at_second(after) && !head_at_second(before);
        return !(more_at_i && in_degree(graph, i) >= max_in_degree) &&
               !(more_at_j && in_degree(graph, j) >= max_in_degree);
    }

    /// Whether `permits_whole` checks anything.
    bool has_global_rules() const { return max_district != unlimited || has_global_class(); }
    /// Whether `permits_class` checks anything.
    bool has_global_class() const {
        return graph_class == GraphClass::ancestral || graph_class == GraphClass::arid;
    }

    /// Rules about the whole graph: largest district and class.
    bool permits_whole(const Graph& graph) const;
    /// The rule of the class alone.
    bool permits_class(const Graph& graph) const;

    /// All rules, acyclicity included, and no bows but those of the knowledge.
    bool permits(const Graph& graph) const;
};

/// Whether no spouse of a node is its ancestor. The graph must be acyclic.
bool is_ancestral(const Graph& graph);

/// Whether the reachable closure of every node is the node itself; it is found by alternating
/// "district of v" and "ancestors of v" within the remaining nodes until nothing changes. Then no
/// set of two or more nodes is connected by bidirected edges and has directed paths within it to
/// one of its nodes, and the parameters are identified everywhere.
bool is_arid(const Graph& graph);

}  // namespace bowfree
