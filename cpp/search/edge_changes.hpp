// The gains of all single-edge changes of one graph.
#pragma once

#include <vector>

#include "search/move_table.hpp"

namespace bowfree {

/// A permitted change, and by how much it raises the log-likelihood per observation; minus infinity
/// when the two cannot be compared.
struct EdgeChange {
    Move move;
    double gain;
};

/// All changes of one pair that `rules` permit, pair by pair in the core's order. Only districts
/// with a changed arrowhead are fitted anew, and each distinct one once.
std::vector<EdgeChange> edge_changes(Scorer& scorer, const Graph& graph, const Rules& rules,
                                     const Stop& stop);

}  // namespace bowfree
