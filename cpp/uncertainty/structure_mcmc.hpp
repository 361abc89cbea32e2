// Metropolis-Hastings over graphs: a chain whose stationary law is proportional to
// exp(n score / temper) on the graphs that the rules permit.
//
// A step draws one of the d (d - 1) / 2 pairs and one of the three states that the pair is not in,
// both uniformly. The step back is drawn with the same probability, so that the ratio of proposals
// is one, and a move is accepted with probability min(1, exp(n gain / temper)). What the rules
// forbid is rejected, which keeps the balance. The rules are hereditary, so every permitted graph
// is reached through the graph of the required edges.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "rng.hpp"
#include "search/move_table.hpp"
#include "search/pool.hpp"

namespace bowfree {

struct ChainOptions {
    std::int64_t steps = 0;  ///< after the burn-in
    std::int64_t burn_in = 0;
    std::int64_t thin = 1;        ///< every so many steps the graph is noted
    double inverse_temper = 0.0;  ///< n / temper
    std::size_t keep = 0;         ///< graphs in the pool
    double window = 0.0;          ///< of the pool, in units of the score
    bool one_per_class = false;   ///< the pool keeps one graph of each skeleton and score
};

/// What a chain leaves behind.
struct ChainRecord {
    explicit ChainRecord(Pool kept) : pool(std::move(kept)) {}
    std::vector<double> scores;        ///< per sample
    std::vector<std::uint8_t> states;  ///< samples x pairs, values as in edge.hpp; the pairs are
                                       ///< (0,1), (0,2), (1,2), (0,3), ...
    std::int64_t accepted = 0;         ///< of the steps after the burn-in
    Pool pool;                         ///< best graphs met, whether moved to or only looked at
    Effort effort;
};

/// Runs a chain from `start`; throws `Stopped` when the stop is raised.
ChainRecord run_chain(Scorer& scorer, const Rules& rules, const Graph& start,
                      const ChainOptions& options, Rng rng, const Stop& stop);

/// Runs a chain from each of the starts, number c on the c-th stream of random numbers.
std::vector<ChainRecord> run_chains(Scorer& scorer, const Rules& rules,
                                    const std::vector<Graph>& starts, const ChainOptions& options,
                                    std::uint64_t seed, int n_threads, const Stop& stop);

}  // namespace bowfree
