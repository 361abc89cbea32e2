#include "uncertainty/structure_mcmc.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/key.hpp"
#include "threads.hpp"

namespace bowfree {

namespace {

/// Stands for a skeleton and a score: equivalent graphs have both in common. A score within
/// rounding of the border of two cells can fall in either; then a class is kept twice.
Key class_key(Key skeleton, double score) {
    constexpr double cell = 1e-7;  // a thousand times what the fits leave open
    const auto place = static_cast<std::uint64_t>(std::llround(score / cell));
    return skeleton ^= Key{scatter(place), scatter(~place)};
}

}  // namespace

ChainRecord run_chain(Scorer& scorer, const Rules& rules, const Graph& start,
                      const ChainOptions& options, Rng rng, const Stop& stop) {
    ChainRecord record(Pool(options.keep, options.window));
    Workspace workspace(scorer, stop);
    MoveTable table(scorer, start, workspace);
    const int d = table.d();
    const double edge_cost = scorer.edge_cost();
    double score = table.score();
    Key skeleton = skeleton_key(start);
    record.pool.offer(options.one_per_class ? class_key(skeleton, score) : table.key(), score,
                      table.graph());

    for (std::int64_t step = 1 - options.burn_in; step <= options.steps; ++step) {
        stop.check();
        if (d > 1) {
            const int a = rng.below(d);
            int b = rng.below(d - 1);
            b += b >= a;
            const int i = std::min(a, b), j = std::max(a, b);
            const Move move{i, j, other_edge(table.edge(i, j), rng)};
            const double chance = rng.uniform();
            if (table.permits(rules, move)) {
                const double gain = table.gain(move, edge_cost);
                Key skeleton_after = skeleton;
                if (move.edge == Edge::none || table.edge(i, j) == Edge::none)
                    skeleton_after ^= element_key(i, j, false);
                if (record.pool.wants(score + gain)) {
                    Graph seen = table.graph();
                    set_edge(seen, i, j, move.edge);
                    record.pool.offer(options.one_per_class
                                          ? class_key(skeleton_after, score + gain)
                                          : table.key_after(move),
                                      score + gain, seen);
                }
                if (chance < std::exp(options.inverse_temper * gain)) {
                    table.apply(move);
                    skeleton = skeleton_after;
                    score = table.score();
                    record.accepted += step > 0;
                }
            }
        }
        if (step > 0 && step % options.thin == 0) {
            record.scores.push_back(score);
            for (int j = 1; j < d; ++j)
                for (int i = 0; i < j; ++i)
                    record.states.push_back(static_cast<std::uint8_t>(table.edge(i, j)));
        }
    }
    record.effort = workspace.effort;
    return record;
}

std::vector<ChainRecord> run_chains(Scorer& scorer, const Rules& rules,
                                    const std::vector<Graph>& starts, const ChainOptions& options,
                                    std::uint64_t seed, int n_threads, const Stop& stop) {
    std::vector<ChainRecord> records(starts.size(),
                                     ChainRecord(Pool(options.keep, options.window)));
    run_jobs(static_cast<int>(starts.size()), n_threads, stop, [&](int c, const Stop& its_stop) {
        const Rng rng(seed, static_cast<std::uint64_t>(c));
        records[c] = run_chain(scorer, rules, starts[c], options, rng, its_stop);
    });
    return records;
}

}  // namespace bowfree
