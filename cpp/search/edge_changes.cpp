#include "search/edge_changes.hpp"

namespace bowfree {

std::vector<EdgeChange> edge_changes(Scorer& scorer, const Graph& graph, const Rules& rules,
                                     const Stop& stop) {
    Workspace workspace(scorer, stop);
    MoveTable table(scorer, graph, workspace);
    std::vector<EdgeChange> changes;
    table.for_each_move(
        rules, [&](const Move& move) { changes.push_back({move, table.gain(move, 0.0)}); });
    return changes;
}

}  // namespace bowfree
