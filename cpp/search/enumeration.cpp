#include "search/enumeration.hpp"

#include <bit>
#include <cassert>
#include <cmath>

namespace bowfree {

namespace {

/// The largest number of edges of a graph with a score of at least `least`, whose log-likelihood is
/// at most that of the unrestricted model.
double most_edges(const Scorer& scorer, double least) {
    const double none_omitted = infinity;
    if (!scorer.is_plain() || scorer.data().rows) return none_omitted;
    std::vector<double> L = scorer.data().conditions.front().S;
    if (cholesky(L.data(), scorer.d()) < scorer.d()) return none_omitted;
    double F = scorer.d();
    for (int v = 0; v < scorer.d(); ++v) F += 2.0 * std::log(L[v * scorer.d() + v]);
    return (scorer.constant() - 0.5 * F - least) / scorer.edge_cost();
}

}  // namespace

AllScores score_all(Scorer& scorer, const Rules& rules, const Stop& stop, double least) {
    const int d = scorer.d();
    assert(d <= 5);
    const double most = most_edges(scorer, least);
    Workspace workspace(scorer, stop);
    AllScores all;
    Graph graph(d);
    for (std::uint32_t code = 0; code < std::uint32_t{1} << 2 * n_pairs(d); ++code) {
        if (std::popcount((code | code >> 1) & 0x55555555U) > most) continue;
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
