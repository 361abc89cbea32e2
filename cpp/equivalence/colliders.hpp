// The graphs with the skeleton and the collider triples of a given BAP (Theorem, sufficient).
//
// Two heads at a node make a collider triple, so a node with two or more heads has the same heads
// in every such graph ("fixed"), and any other node ("free") has at most one head, on any of its
// edges. Every edge needs a head, so the n nodes of a connected piece of the free-free graph supply
// heads to its n - 1 or more edges: the piece is a tree (a cycle would be a directed one), and
//
//   - if an edge from a fixed node with a tail there points into the tree, all kinds are determined;
//   - otherwise one node of the tree, the root, has its head to spare. All edges of the tree point
//     away from the root, and the root may have no head, a head on an edge of the tree (which is
//     then bidirected; either end of it may be called the root), or a head on one of the root -> c
//     edges into fixed nodes c. With n nodes and o such edges these are n + (n - 1) + o graphs.
//
// The trees choose independently: no directed edge enters a tree that has a choice, so no directed
// cycle can arise. The class is a product, counted without listing unbounded.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "equivalence/classes.hpp"
#include "graph/graph.hpp"

namespace bowfree {

/// A tree of free nodes that has a choice.
struct ColliderTree {
    std::vector<int> nodes;
    std::vector<std::pair<int, int>> inner;  ///< edges of the tree
    std::vector<std::pair<int, int>> outer;  ///< (free node, fixed node), head at the fixed node

    std::uint64_t n_options() const { return nodes.size() + inner.size() + outer.size(); }
};

std::vector<ColliderTree> collider_trees(const Graph& graph);

/// The trees' options as factors of the class, over the edges of the skeleton of `graph`.
std::vector<ClassFactor> collider_factors(const Graph& graph);

}  // namespace bowfree
