// The graphs with the skeleton and the collider triples of a given BAP (Theorem, sufficient).
//
// Two heads at a node form a collider triple, so a node with two or more heads has the same heads in
// every such graph ("fixed"), and any other node ("free") has at most one head, on any of its edges.
// Every edge needs a head, so the n nodes of a connected component of the free-free graph have at
// least n - 1 edges among them: the component is a tree (a cycle would be a directed one), and
//
//   - if an edge with a tail at a fixed node points into the tree, all its edges are determined;
//   - otherwise one node of the tree, the root, can have a head elsewhere. All edges of the tree
//     point away from the root, and the root has no head, a head on an edge of the tree (which is
//     then bidirected; either of its ends may be called the root), or a head on one of the edges
//     root -> c into fixed nodes c. With n nodes and o such edges there are n + (n - 1) + o graphs.
//
// The trees are independent: no directed edge enters a tree that is not determined, so no directed
// cycle can arise. The class is a product and can be counted without listing its members.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "equivalence/classes.hpp"
#include "graph/graph.hpp"

namespace bowfree {

/// A tree of free nodes that is not determined.
struct ColliderTree {
    std::vector<int> nodes;
    std::vector<std::pair<int, int>> inner;  ///< edges of the tree
    std::vector<std::pair<int, int>> outer;  ///< (free node, fixed node), head at the fixed node

    std::uint64_t n_options() const { return nodes.size() + inner.size() + outer.size(); }
};

std::vector<ColliderTree> collider_trees(const Graph& graph);

/// The options of each tree as a factor of the class; edges are those of the skeleton of `graph`.
std::vector<ClassFactor> collider_factors(const Graph& graph);

}  // namespace bowfree
