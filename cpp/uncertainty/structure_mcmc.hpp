// Markov chains over graphs: they stay at a graph G in proportion to
//
//   exp(n score(G) / temper) * prior(number of edges of G)
//
// among the graphs that the rules permit (a `GraphLaw`). Four kinds of steps, each of which keeps
// that law:
//
//   - *change*: one of the d (d - 1) / 2 pairs and one of the three states that the pair is not in,
//     both uniformly. The step back is drawn with the same probability, so that a change is
//     accepted with the ratio of the laws; what the rules forbid is rejected, which keeps the
//     balance. The rules are hereditary, so every permitted graph is reached through the graph of
//     the required edges.
//   - *exchange*: an edge is removed and another pair is joined, both drawn uniformly, with one of
//     the three kinds of edge. The number of edges stays, so the step back is drawn with the same
//     probability. Where the number of edges or of arrowheads at a node is limited, changes alone
//     would have to pass through graphs with one edge less.
//   - *jump*: when the graph is in a list of good graphs, one is drawn from the list in proportion
//     to the law, and always accepted: a Gibbs step on the list. (Elsewhere the chain stays.) It
//     leads at once from one member of a class to another, and from one class to the next, where
//     changes would have to cross a valley. The list stays as it is while samples are taken: what a
//     chain learned on its way must not bend the way. Between two legs of the way it is renewed: it
//     has the heaviest graphs known, and those that the chains sampled on the legs before. These
//     are there for the sake of rare places that are hard to leave, none of whose graphs are among
//     the heaviest: a chain that met one comes out, and in again, by jumps from then on.
//   - *splice*: a set U of nodes is drawn, and one of the graphs sampled on the legs before; the
//     edges among U become those of that graph, the others stay. A chain that does this proposes a
//     version x of the edges among U with the share s(x) of the samples that have it, whatever it
//     has there itself. So the change from version x to y is accepted with the ratio of the laws
//     times s(x) / s(y), and never when no sample has x. Places that are hard to leave differ from
//     the rest at a few nodes, while all other edges come and go: whole graphs, as in a jump, would
//     have to be right about these, too. The samples are fixed for a leg, like the list.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "rng.hpp"
#include "search/move_table.hpp"
#include "search/pool.hpp"
#include "uncertainty/graph_memory.hpp"

namespace bowfree {

/// How much weight a graph has, as a logarithm.
struct GraphLaw {
    double per_score = 0.0;         ///< n / temper
    std::vector<double> log_prior;  ///< by the number of edges, over temper; empty: all equal

    double operator()(double score, int n_edges) const {
        return per_score * score + prior(n_edges);
    }
    double prior(int n_edges) const { return log_prior.empty() ? 0.0 : log_prior[n_edges]; }
};

/// Where a chain is: with the graphs to jump to and to splice from, all that its next steps depend
/// on.
struct ChainPlace {
    Graph graph;
    Rng rng;
    std::int64_t clock = 0;                ///< steps of any kind
    std::int64_t steps = 0, accepted = 0;  ///< of this leg; changes and exchanges
};

/// What a chain leaves behind.
struct ChainNotes {
    Pool pool;  ///< heaviest graphs met, by the law, whether moved to or only looked at
    std::vector<double> scores;        ///< per sample of this leg
    std::vector<std::uint8_t> states;  ///< samples x pairs, values as in edge.hpp; the pairs are
                                       ///< (0,1), (0,2), (1,2), (0,3), ...
};

struct Chain {
    ChainPlace place;
    ChainNotes notes;
};

class StructureChains {
  public:
    /// Chain number c starts at `starts[c]`, on the c-th stream of random numbers. Pool and list
    /// keep at most `keep` graphs, with a law within `window` of the best.
    StructureChains(Scorer& scorer, Rules rules, const std::vector<Graph>& starts, GraphLaw law,
                    std::size_t keep, double window, std::uint64_t seed);

    /// Makes a graph known: the chains may jump to it.
    void offer(const Graph& graph, const Stop& stop);

    /// Every chain takes so many steps. Every thin-th graph is a sample; with `thin` = 0 nothing is
    /// noted but the pool. Walks may be cut into pieces as one likes. When `stop` is raised the
    /// chains end where they are, with what they have noted, and `Stopped` comes out.
    void walk(std::int64_t steps, std::int64_t thin, int n_threads, const Stop& stop);

    /// A new leg begins, with jumps among the best graphs that any chain knows by now and those
    /// that were sampled on the legs so far, and splices of these. Their samples are forgotten: the
    /// law is kept by a list that stays. When `stop` is raised nothing has changed.
    void begin_leg(const Stop& stop);

    /// A chain goes on elsewhere and comes back: from here on chain number c is at `place`, and
    /// what it noted on the way comes after what it had noted before. Walks of different chains may
    /// come back in any order. Throws when the rules forbid the place's graph.
    void go_on(std::size_t c, ChainPlace place);
    void add_notes(std::size_t c, const ChainNotes& notes);

    /// The graphs to jump among, with their scores; those of another process make this one's jumps
    /// the same.
    const std::vector<Scored>& list() const { return list_; }
    void set_list(std::vector<Scored> list);
    /// The same for the graphs to splice from.
    const GraphMemory& memory() const { return memory_; }
    void add_to_memory(const std::vector<std::uint8_t>& states, const Stop& stop) {
        memory_.add(states, stop);
    }

    /// The best graphs known to any chain, heaviest first, each with its score worked out afresh: a
    /// graph that was only looked at had the score of its neighbor plus a gain, with their
    /// rounding.
    std::vector<Scored> pool(const Stop& stop) const;

    const std::vector<Chain>& chains() const { return chains_; }
    /// A pool of this size and window, without graphs.
    Pool empty_pool() const { return Pool(keep_, window_); }

  private:
    void walk_one(Chain& chain, std::int64_t steps, std::int64_t thin, const Stop& stop) const;
    /// `score` is that of the table's graph, before and after.
    void change(Chain& chain, MoveTable& table, double& score) const;
    void exchange(Chain& chain, MoveTable& table, Workspace& workspace, double& score) const;
    void jump(Chain& chain, MoveTable& table, double& score) const;
    void splice(Chain& chain, MoveTable& table, Workspace& workspace, double& score) const;
    void offer_samples(const ChainNotes& notes, Pool& pool, const Stop& stop) const;

    Scorer& scorer_;
    Rules rules_;
    GraphLaw law_;
    std::size_t keep_;
    double window_;
    Pool known_;
    std::vector<Chain> chains_;
    Pool met_;                       // sampled on the legs before, each once
    GraphMemory memory_;             // the same, as often as they were sampled
    std::vector<Scored> list_;       // where jumps lead
    std::vector<double> cumulated_;  // law of the list, added up
    std::unordered_set<Key, KeyHash> in_list_;
};

}  // namespace bowfree
