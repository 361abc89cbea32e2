#include "search/kicks.hpp"

#include <algorithm>
#include <utility>

namespace bowfree {

namespace {

// Set by hand; benchmarks/bench_strategies.py judges what comes out as a whole.
constexpr int instead = 3;  // random changes, when there is no arrow that can be reversed
constexpr double raised_costs[] = {8.0, 4.0,
                                   2.0};  // halved, so that the strongest edges come first

/// The move that makes the pair {a, b} hold a -> b.
Move arrow(int a, int b) {
    return a < b ? Move{a, b, Edge::forward} : Move{b, a, Edge::backward};
}

Edge edge_between(const MoveTable& table, int a, int b) {
    return table.edge(std::min(a, b), std::max(a, b));
}

bool try_move(Climber& climber, const Move& move) {
    MoveTable& table = climber.table();
    if (table.edge(move.i, move.j) == move.edge) return true;
    if (!table.permits(climber.rules(), move)) return false;
    table.apply(move);
    return true;
}

}  // namespace

void change_randomly(Climber& climber, Rng& rng, int n) {
    const int d = climber.table().d();
    if (d < 2) return;
    for (int k = 0; k < n; ++k) {
        const int a = rng.below(d);
        int b = rng.below(d - 1);
        b += b >= a;
        const int i = std::min(a, b), j = std::max(a, b);
        try_move(climber, {i, j, other_edge(climber.table().edge(i, j), rng)});
    }
}

void isolate_node(Climber& climber, Rng& rng) {
    const int d = climber.table().d(), v = rng.below(d);
    for (int u = 0; u < d; ++u)
        if (u != v) try_move(climber, {std::min(u, v), std::max(u, v), Edge::none});
}

void move_in_order(Climber& climber, Rng& rng) {
    const MoveTable& table = climber.table();
    const int d = table.d(), v = rng.below(d);
    const bool to_the_end = rng.coin();
    for (int u = 0; u < d; ++u) {
        if (u == v || edge_between(table, u, v) == Edge::none) continue;
        const Move wanted = to_the_end ? arrow(u, v) : arrow(v, u);
        if (!try_move(climber, wanted)) try_move(climber, {wanted.i, wanted.j, Edge::none});
    }
}

void reverse_with_parents(Climber& climber, Rng& rng) {
    const Graph& graph = climber.table().graph();
    std::vector<std::pair<int, int>> arrows;
    for (int to = 0; to < graph.d(); ++to)
        for_each_node(graph.parents(to), graph.words(),
                      [&](int from) { arrows.emplace_back(from, to); });
    if (arrows.empty()) return change_randomly(climber, rng, instead);
    const auto [from, to] = arrows[rng.below(static_cast<int>(arrows.size()))];
    if (!try_move(climber, arrow(to, from))) return change_randomly(climber, rng, instead);
    for (int u = 0; u < graph.d(); ++u) {
        if (u == from || u == to) continue;
        if (!graph.directed(u, from) && !graph.directed(u, to)) continue;
        for (const int v : {from, to})
            if (edge_between(climber.table(), u, v) == Edge::none) try_move(climber, arrow(u, v));
    }
}

void raise_penalty(Climber& climber) {
    for (const double factor : raised_costs) climber.climb(factor);
}

}  // namespace bowfree
