#include "search/enumeration.hpp"

#include <cassert>

namespace bowfree {

AllScores score_all(Scorer& scorer, const Rules& rules, const Stop& stop) {
    const int d = scorer.d();
    assert(d <= 5);
    Workspace workspace(scorer, stop);
    AllScores all;
    Graph graph(d);
    for (std::uint32_t code = 0; code < std::uint32_t{1} << 2 * n_pairs(d); ++code) {
        stop.check();
        std::uint32_t digits = code;
        for (int j = 1; j < d; ++j)
            for (int i = 0; i < j; ++i, digits >>= 2)
                set_edge(graph, i, j, static_cast<Edge>(digits & 3));
        if (!rules.permits(graph)) continue;
        all.codes.push_back(code);
        all.scores.push_back(scorer.score(graph, workspace));
    }
    return all;
}

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
