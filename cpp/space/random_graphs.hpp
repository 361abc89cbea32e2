// Random BAPs: the random walk of section 3.2, corrected to be uniform, and the naive sampler. (The
// paper calls the walk a Markov chain; here a chain is one of structure_mcmc.hpp, which uses data.)
#pragma once

#include <cstdint>
#include <vector>

#include "rng.hpp"
#include "space/rules.hpp"
#include "stop.hpp"

namespace bowfree {

/// One step draws an ordered pair (i, j) and a coin. `printed` is the algorithm as the paper states
/// it: a directed edge i -> j is added when (i, j) and heads are drawn, but removed when (i, j) or
/// (j, i) is. Removal is twice as likely as addition, so the stationary distribution is
/// proportional to 2^-(directed edges). `symmetric` removes i -> j only when (i, j) is drawn; a
/// bidirected edge is added by either order and removed by either. Every step then has the
/// probability of its reverse, and the uniform distribution is stationary under every hereditary
/// constraint.
enum class WalkStep : std::uint8_t { symmetric, printed };

/// A random walk over the graphs that `rules` permit; `start` must be one of them. `rules` must
/// outlive the walk.
class RandomWalk {
  public:
    RandomWalk(Graph start, const Rules& rules, WalkStep step, Rng rng);

    /// Takes `steps` steps; throws `Stopped` when `stop` is raised.
    void advance(std::int64_t steps, const Stop& stop);
    const Graph& graph() const { return graph_; }

  private:
    void step();
    bool may_become(int i, int j, Edge edge);
    bool reaches(int from, int to);

    Graph graph_;
    const Rules& rules_;
    WalkStep step_;
    Rng rng_;
    int n_edges_ = 0;
    std::vector<Word> seen_, frontier_;  // scratch of `reaches`
};

/// The naive sampler: a uniform triangular matrix over {none, directed, bidirected}, without the
/// kinds that `graph_class` excludes, with its nodes permuted uniformly. Not uniform on graphs.
Graph sample_naive(int d, GraphClass graph_class, Rng& rng);

}  // namespace bowfree
