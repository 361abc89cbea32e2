#include "search/climb.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <unordered_set>

namespace bowfree {

namespace {

bool comes_before(const Move& a, const Move& b) {
    return std::tie(a.j, a.i, a.edge) < std::tie(b.j, b.i, b.edge);
}

}  // namespace

Climber::Climber(Scorer& scorer, Graph start, const Rules& rules, const ClimbOptions& options,
                 Rng& rng, Workspace& workspace, Trace& trace, Screen::Memory* memory)
    : rules_(&rules),
      options_(options),
      rng_(rng),
      stop_(workspace.stop),
      trace_(trace),
      table_(scorer, std::move(start), workspace, memory),
      edge_cost_(scorer.edge_cost()) {
    record();
}

void Climber::record() {
    const double score = table_.score();
    if (trace_.path.empty() || score > trace_.path.back() + options_.tolerance)
        trace_.path.push_back(score);
    trace_.pool.offer(table_.key(), score, table_.graph());
}

bool Climber::is_wanted(const Move& move) const {
    const bool adds = table_.edge(move.i, move.j) == Edge::none;
    const bool deletes = move.edge == Edge::none;
    switch (options_.direction) {
        case Direction::forward: return adds;
        case Direction::backward: return deletes;
        case Direction::forward_change: return !deletes;
        case Direction::backward_change: return !adds;
        default: return true;
    }
}

Climber::Choice Climber::best_move(double edge_cost) {
    if (options_.neighbors > 0) return best_of_random_moves(edge_cost);
    found_.clear();
    double best = options_.tolerance;
    table_.visit_best(
        *rules_, edge_cost, options_.tolerance, [&](const Move& move) { return is_wanted(move); },
        [&](const Move& move, double gain) {
            found_.emplace_back(move, gain);
            best = std::max(best, gain);
            return std::max(options_.tolerance, best - options_.tolerance);
        });
    // The draw must not depend on the order in which the moves were visited.
    std::ranges::sort(found_,
                      [](const auto& a, const auto& b) { return comes_before(a.first, b.first); });
    return draw(best);
}

/// Compares random subsets of the moves, one after the other until one has a move with a gain, so
/// that a climb still ends in a local optimum of the whole neighborhood.
Climber::Choice Climber::best_of_random_moves(double edge_cost) {
    std::vector<Move> moves;
    table_.for_each_move(*rules_, [&](const Move& move) {
        if (is_wanted(move)) moves.push_back(move);
    });
    const int total = static_cast<int>(moves.size());
    for (int k = 0; k + 1 < total; ++k) std::swap(moves[k], moves[k + rng_.below(total - k)]);
    for (int first = 0; first < total; first += options_.neighbors) {
        const int last = std::min(total, first + options_.neighbors);
        double best = options_.tolerance;
        found_.clear();
        for (int k = first; k < last; ++k) {
            stop_.check();
            found_.emplace_back(moves[k], table_.gain(moves[k], edge_cost));
            best = std::max(best, found_.back().second);
        }
        if (const Choice choice = draw(best); choice.found) return choice;
    }
    return {};
}

/// Reservoir sampling among the moves found that gain as much as the best, within the tolerance.
Climber::Choice Climber::draw(double best) {
    Choice choice;
    int ties = 0;
    for (const auto& [move, gain] : found_) {
        if (!(gain > options_.tolerance && gain >= best - options_.tolerance)) continue;
        if (rng_.below(++ties) == 0) choice = {true, move};
    }
    return choice;
}

bool Climber::climb(double cost_factor) {
    for (std::int64_t step = 0; step != options_.max_steps; ++step) {
        const Choice choice = best_move(cost_factor * edge_cost_);
        if (!choice.found) return true;
        table_.apply(choice.move);
        record();
    }
    return false;
}

void Climber::climb_unscreened() {
    while (options_.max_steps < 0 && options_.neighbors == 0) {
        table_.screen_exchanges(false);
        const Choice choice = best_move(edge_cost_);
        table_.screen_exchanges(true);
        if (!choice.found) return;
        table_.apply(choice.move);
        record();
        climb();
    }
}

/// Offers the neighbors of the current graph to the pool.
void Climber::record_neighbors() {
    const double score = table_.score();
    Pool& pool = trace_.pool;
    if (!pool.wants(score)) return;
    const PackedGraph here(table_.graph());
    // At most `keep` neighbors of one graph remain in the pool: the smallest gain of the `keep` best
    // so far is the floor for the others.
    std::priority_queue<double, std::vector<double>, std::greater<>> offered;
    const auto floor = [&] {
        const double wanted = std::max(pool.bar(), trace_.bar) - score;
        return offered.size() < pool.keep() ? wanted : std::max(wanted, offered.top());
    };
    table_.visit_best(
        *rules_, edge_cost_, floor(), [&](const Move& move) { return is_wanted(move); },
        [&](const Move& move, double gain) {
            if (pool.wants(score + gain)) {
                pool.offer(table_.key_after(move), score + gain,
                           here.with(move.i, move.j, move.edge));
                offered.push(gain);
                if (offered.size() > pool.keep()) offered.pop();
            }
            return floor();
        });
}

/// Finds the moves to graphs of equal score.
void Climber::list_equals() {
    found_.clear();
    table_.visit_best(
        *rules_, edge_cost_, -options_.tolerance, [&](const Move& move) { return is_wanted(move); },
        [&](const Move& move, double gain) {
            if (gain <= options_.tolerance) found_.emplace_back(move, gain);
            return -options_.tolerance;
        });
    std::ranges::sort(found_,
                      [](const auto& a, const auto& b) { return comes_before(a.first, b.first); });
}

void Climber::climb_and_walk_plateau(int limit) {
    // Graphs that are still to be visited are stored as moves from visited ones: with a thousand
    // nodes there are thousands of them, and a graph takes a quarter of a megabyte.
    struct Waiting {
        int from;
        Move move;
    };
    std::unordered_set<Key, KeyHash> seen;
    std::vector<PackedGraph> visited_graphs;
    std::vector<Waiting> waiting;
    int visited = 0;
    while (climb()) {
        if (visited == 0) {
            if (walked_.contains(table_.key())) return;
            seen.insert(table_.key());
        }
        record_neighbors();
        list_equals();
        visited_graphs.emplace_back(table_.graph());
        for (const auto& [move, gain] : found_)
            if (seen.insert(table_.key_after(move)).second)
                waiting.push_back({static_cast<int>(visited_graphs.size()) - 1, move});
        if (waiting.empty() || ++visited >= limit) return walked_.merge(seen);
        std::swap(waiting[rng_.below(static_cast<int>(waiting.size()))], waiting.back());
        const auto [from, move] = waiting.back();
        waiting.pop_back();
        table_.set_graph(visited_graphs[from].with(move.i, move.j, move.edge).unpack());
        record();
        if (best_move(edge_cost_).found) {  // the plateau is not a local maximum
            waiting.clear();
            visited_graphs.clear();
            seen.clear();
            visited = 0;
        }
    }
}

}  // namespace bowfree
