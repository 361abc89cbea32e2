// What a graph must satisfy besides being a BAP: class, limits, and the user's knowledge.
//
// Every rule here is hereditary: a graph that satisfies it still does after an edge is removed
// (required edges, which may not be removed, aside). That is why the sampler's chain can reach
// every permitted graph from the one that has the required edges only, and why the search never
// has to cross forbidden ground.
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

    /// Rules that look at one pair only: knowledge and the class's kinds of edges.
    bool permits_edge(int d, int i, int j, Edge edge) const {
        if (edge == Edge::bidirected && graph_class == GraphClass::dag) return false;
        if (is_directed(edge) && graph_class == GraphClass::bidirected) return false;
        return knowledge.empty() || (knowledge[i * d + j] >> static_cast<int>(edge) & 1);
    }

    /// Rules that look at the two nodes: may pair (i, j), now `before`, become `after`?
    bool permits_heads(const Graph& graph, int i, int j, Edge before, Edge after) const {
        if (max_in_degree == unlimited) return true;
        const bool more_at_i = head_at_first(after) && !head_at_first(before);
        const bool more_at_j = head_at_second(after) && !head_at_second(before);
        return !(more_at_i && in_degree(graph, i) >= max_in_degree) &&
               !(more_at_j && in_degree(graph, j) >= max_in_degree);
    }

    /// True when `permits_whole` has something to say; else callers skip the copy it needs.
    bool looks_at_whole() const { return max_district != unlimited || class_looks_at_whole(); }
    /// The same for `permits_class`.
    bool class_looks_at_whole() const {
        return graph_class == GraphClass::ancestral || graph_class == GraphClass::arid;
    }

    /// Rules that look at the whole graph, with the edge already in place.
    bool permits_whole(const Graph& graph) const;
    /// Of these, the one that the class makes.
    bool permits_class(const Graph& graph) const;

    /// All rules at once, acyclicity and bow-freeness included: is `graph` one of ours?
    bool permits(const Graph& graph) const;
};

/// No spouse of a node is also its ancestor (acyclicity is the caller's to check).
bool is_ancestral(const Graph& graph);

/// No node's reachable closure has a second node: alternate "district of v" and "ancestors of v"
/// inside what is left until nothing changes. Then no subset of nodes both hangs together by
/// bidirected edges and flows into one of its nodes, and parameters are identified everywhere.
bool is_arid(const Graph& graph);

}  // namespace bowfree
