#include "search/climb.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

namespace bowfree {

Climber::Climber(Scorer& scorer, Graph start, const Rules& rules, const ClimbOptions& options,
                 Rng& rng, Workspace& workspace, Journal& journal)
    : rules_(&rules),
      options_(options),
      rng_(rng),
      stop_(workspace.stop),
      journal_(journal),
      table_(scorer, std::move(start), workspace),
      edge_cost_(scorer.edge_cost()) {
    record();
}

void Climber::record() {
    const double score = table_.score();
    if (journal_.path.empty() || score > journal_.path.back() + options_.tolerance)
        journal_.path.push_back(score);
    journal_.pool.offer(table_.key(), score, table_.graph());
}

bool Climber::is_wanted(const Move& move) const {
    const bool adds = table_.edge(move.i, move.j) == Edge::none;
    const bool deletes = move.edge == Edge::none;
    switch (options_.direction) {
        case Direction::forward:
            return adds;
        case Direction::backward:
            return deletes;
        case Direction::forward_change:
            return !deletes;
        case Direction::backward_change:
            return !adds;
        default:
            return true;
    }
}

Climber::Choice Climber::best_move(double edge_cost) {
    moves_.clear();
    table_.for_each_move(*rules_, [&](const Move& move) {
        if (is_wanted(move)) moves_.push_back(move);
    });
    if (options_.neighbours == 0) return best_of(moves_, edge_cost);
    // Random subsets, one after the other until one of them has a move that gains: a run still
    // ends in a local optimum of the whole neighbourhood.
    const int total = static_cast<int>(moves_.size());
    for (int k = 0; k + 1 < total; ++k) std::swap(moves_[k], moves_[k + rng_.below(total - k)]);
    for (int first = 0; first < total; first += options_.neighbours) {
        const int last = std::min(total, first + options_.neighbours);
        const Choice choice = best_of({moves_.begin() + first, moves_.begin() + last}, edge_cost);
        if (choice.found) return choice;
    }
    return {};
}

Climber::Choice Climber::best_of(const std::vector<Move>& moves, double edge_cost) {
    double best = options_.tolerance;
    for (const Move& move : moves) {
        stop_.check();
        best = std::max(best, table_.gain(move, edge_cost));
    }
    // Reservoir sampling among the moves that gain as much as the best, within the tolerance.
    Choice choice;
    int ties = 0;
    for (const Move& move : moves) {
        const double gain = table_.gain(move, edge_cost);
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

void Climber::record_neighbours() {
    const double score = table_.score();
    if (!journal_.pool.wants(score)) return;
    for (const Move& move : moves_) {
        stop_.check();
        const double near = score + table_.gain(move, edge_cost_);
        if (!journal_.pool.wants(near)) continue;
        Graph graph = table_.graph();
        set_edge(graph, move.i, move.j, move.edge);
        journal_.pool.offer(table_.key_after(move), near, graph);
    }
}

void Climber::climb_and_walk_plateau(int limit) {
    std::unordered_set<Key, KeyHash> seen;
    std::vector<Graph> waiting;
    int visited = 0;
    // Whenever `climb` returns true, `moves_` holds every permitted move of the current graph and
    // none of them gains.
    while (climb()) {
        if (visited == 0) seen.insert(table_.key());
        record_neighbours();
        for (const Move& move : moves_) {
            if (!(std::abs(table_.gain(move, edge_cost_)) <= options_.tolerance)) continue;
            if (!seen.insert(table_.key_after(move)).second) continue;
            waiting.push_back(table_.graph());
            set_edge(waiting.back(), move.i, move.j, move.edge);
        }
        if (waiting.empty() || ++visited >= limit) return;
        std::swap(waiting[rng_.below(static_cast<int>(waiting.size()))], waiting.back());
        table_.morph(waiting.back());
        waiting.pop_back();
        record();
        if (best_move(edge_cost_).found) {  // a way up: what waits here is of no interest any more
            waiting.clear();
            seen.clear();
            visited = 0;
        }
    }
}

}  // namespace bowfree
