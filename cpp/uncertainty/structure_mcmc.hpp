// Markov chains over graphs. Their stationary distribution has the weights
//
//   (exp(n score(G)) * prior(number of edges of G)) ^ (1 / temperature)
//
// for the graphs that the rules permit (`GraphPosterior`). There are four kinds of steps, each of
// which preserves this distribution:
//
//   - *change*: one of the d (d - 1) / 2 pairs and one of the three states that the pair is not in
//     are drawn uniformly. The reverse step has the same probability, so a change is accepted with
//     the ratio of the weights; changes that the rules forbid are rejected. The rules are
//     hereditary, so every permitted graph is reached through the graph of the required edges.
//   - *exchange*: an edge is removed and another pair is joined, both drawn uniformly, with one of
//     the three kinds of edge. The number of edges stays, so the reverse step has the same
//     probability. Where the number of edges or of arrowheads at a node is limited, changes alone
//     would have to pass through graphs with one edge less.
//   - *jump*: if the graph is in a list of good graphs, one is drawn from the list in proportion to
//     the weights and always accepted: a Gibbs step on the list. (Otherwise nothing happens.) Jumps
//     connect members of a class, and classes, that changes would connect only through improbable
//     graphs. The list must not change while samples are drawn, or the chain would not preserve the
//     distribution. It is renewed between segments and contains the graphs of largest weight that
//     are known, and those sampled in previous segments. The latter include graphs of regions that
//     are rarely visited and hard to leave, which have no graph of large weight.
//   - *splice*: a set U of nodes is drawn, and one of the graphs sampled in previous segments; the
//     edges among U become those of that graph, the others stay. A version x of the edges among U
//     is thus proposed with the share s(x) of the samples that have it, whatever the present
//     version is. So a splice from version x to y is accepted with the ratio of the weights times
//     s(x) / s(y), and never if no sample has x. Regions that are hard to leave differ from the
//     rest at a few nodes while all other edges vary; a jump would have to match these as well.
//     The samples are fixed for a segment, like the list.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "rng.hpp"
#include "search/move_table.hpp"
#include "search/pool.hpp"
#include "uncertainty/graph_memory.hpp"

namespace bowfree {

/// The logarithm of the weight of a graph.
struct GraphPosterior {
    double per_score = 0.0;  ///< n / temperature
    std::vector<double>
        log_prior;  ///< by the number of edges, divided by the temperature; empty: 0

    double operator()(double score, int n_edges) const {
        return per_score * score + prior(n_edges);
    }
    double prior(int n_edges) const { return log_prior.empty() ? 0.0 : log_prior[n_edges]; }
};

/// The state of a chain. Together with the graphs to jump to and to splice from, it determines the
/// next steps.
struct ChainState {
    Graph graph;
    Rng rng;
    std::int64_t clock = 0;                ///< steps of any kind
    std::int64_t steps = 0, accepted = 0;  ///< in this segment; changes and exchanges
};

/// Samples of a chain, and the best graphs it has visited.
struct ChainRecord {
    Pool pool;                         ///< graphs of largest weight, visited or proposed
    std::vector<double> scores;        ///< per sample of this segment
    std::vector<std::uint8_t> states;  ///< samples x pairs, values as in edge.hpp; the pairs are
                                       ///< (0,1), (0,2), (1,2), (0,3), ...
};

struct Chain {
    ChainState state;
    ChainRecord record;
};

class StructureChains {
  public:
    /// Chain number c starts at `starts[c]`, with the c-th stream of random numbers. Pool and list
    /// keep at most `keep` graphs, with a log weight within `window` of the best.
    StructureChains(Scorer& scorer, Rules rules, const std::vector<Graph>& starts,
                    GraphPosterior posterior, std::size_t keep, double window, std::uint64_t seed);

    /// Adds a graph to those that chains may jump to.
    void offer(const Graph& graph, const Stop& stop);

    /// Runs `steps` steps of every chain. Every thin-th graph is a sample; with `thin` = 0 there
    /// are no samples. When `stop` is raised, the chains keep their states and records, and
    /// `Stopped` is thrown.
    void run(std::int64_t steps, std::int64_t thin, int n_threads, const Stop& stop);

    /// Begins a new segment: renews the lists for jumps and splices, and deletes the samples. When
    /// `stop` is raised, nothing has changed.
    void begin_segment(const Stop& stop);

    /// Sets the state of a chain that was continued in another process, and appends its record.
    /// Throws if the rules forbid the graph.
    void set_state(std::size_t c, ChainState state);
    void add_record(std::size_t c, const ChainRecord& record);

    /// The graphs to jump to, with their scores.
    const std::vector<Scored>& list() const { return list_; }
    void set_list(std::vector<Scored> list);
    /// The graphs to splice from.
    const GraphMemory& memory() const { return memory_; }
    void add_to_memory(const std::vector<std::uint8_t>& states, const Stop& stop) {
        memory_.add(states, stop);
    }

    /// The best graphs known to any chain, by decreasing weight. Their scores are computed again,
    /// because that of a proposed graph was the score of its neighbor plus a gain, with rounding.
    std::vector<Scored> pool(const Stop& stop) const;

    const std::vector<Chain>& chains() const { return chains_; }
    /// A pool of this size and window, without graphs.
    Pool empty_pool() const { return {keep_, window_}; }

  private:
    void run_one(Chain& chain, std::int64_t steps, std::int64_t thin, const Stop& stop) const;
    /// `score` is that of the table's graph, before and after.
    void change(Chain& chain, MoveTable& table, double& score) const;
    void exchange(Chain& chain, MoveTable& table, Workspace& workspace, double& score) const;
    void jump(Chain& chain, MoveTable& table, double& score) const;
    void splice(Chain& chain, MoveTable& table, Workspace& workspace, double& score) const;
    /// Offers a graph to the pool and goes there if `chance`, uniform on [0, 1), is below the ratio of
    /// the weights times that of the shares.
    bool accepts(Chain& chain, MoveTable& table, Workspace& workspace, double& score,
                 const Graph& next, double chance, double share_before = 1.0,
                 double share_after = 1.0) const;
    void offer_samples(const ChainRecord& record, Pool& pool, const Stop& stop) const;

    Scorer& scorer_;
    Rules rules_;
    GraphPosterior posterior_;
    std::size_t keep_;
    double window_;
    Pool known_;
    std::vector<Chain> chains_;
    Pool sampled_;                   // sampled in previous segments, each once
    GraphMemory memory_;             // the same, with multiplicity
    std::vector<Scored> list_;       // targets of jumps
    std::vector<double> cumulated_;  // cumulated weights of the list
    std::unordered_set<Key, KeyHash> in_list_;
};

}  // namespace bowfree
