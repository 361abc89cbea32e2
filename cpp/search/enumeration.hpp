// All graphs on few nodes with their scores, and all neighbors of one graph with their gains.
#pragma once

#include <cstdint>
#include <vector>

#include "dense.hpp"
#include "search/move_table.hpp"

namespace bowfree {

/// The graph of a code: the pairs (0,1), (0,2), (1,2), (0,3), ... as digits in base 4, values as in
/// edge.hpp.
Graph graph_of_code(int d, std::uint32_t code);

struct AllScores {
    std::vector<std::uint32_t> codes;
    std::vector<double> scores;
};

/// Scores the permitted graphs on `scorer.d()` <= 5 nodes, in ascending order of their codes. Omits
/// graphs with so many edges that their scores are below `least`, whatever their likelihood.
AllScores score_all(Scorer& scorer, const Rules& rules, const Stop& stop, double least = -infinity);

/// A permitted change of one pair, and the resulting gain of log-likelihood per observation; minus
/// infinity when the two graphs cannot be compared.
struct EdgeChange {
    Move move;
    double gain;
};

/// All changes of one pair that `rules` permit, in the order of the pairs. Only districts with a
/// changed arrowhead are fitted again, and each distinct one once.
std::vector<EdgeChange> edge_changes(Scorer& scorer, const Graph& graph, const Rules& rules,
                                     const Stop& stop);

}  // namespace bowfree
