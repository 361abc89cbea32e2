// The score of eq. (score), district by district, through the cache.
//
// Of a district only F = min log|Omega| + tr(...) is cached, see likelihood.hpp. Members that can
// be fitted on their own are peeled off first (peeling.hpp), and the parts are cached too: many
// districts come down to the same few. The penalty is added outside: an edge costs `edge_cost`,
// whatever it is and wherever it lies. Only parameters that a condition has to itself (kinds.hpp)
// are paid for inside, with F: how many there are is a matter of the district.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "graph/graph.hpp"
#include "graph/key.hpp"
#include "model/likelihood.hpp"
#include "model/score_cache.hpp"
#include "stop.hpp"

namespace bowfree {

/// What a run did; every run counts for itself, so no counter is shared.
struct Effort {
    std::int64_t fits = 0;        ///< districts fitted
    std::int64_t cache_hits = 0;  ///< districts found in the cache instead
    std::int64_t candidates = 0;  ///< moves whose gain was worked out
    double work = 0.0;            ///< behind all scores asked for, by whomever it was done
};

/// Thrown when the work that was set aside for a run is done.
struct Exhausted : Stopped {};

class Scorer;

/// What belongs to one run alone: when it has to end, the buffers of its fits, and its counters.
struct Workspace {
    Workspace(const Scorer& scorer, const Stop& stop);
    const Stop& stop;
    DistrictFitter fitter;
    Effort effort;
    double most_work = std::numeric_limits<double>::infinity();

    /// Counts the work behind a score. It is the same whether the score was found here or in the
    /// cache, so that a run ends at the same place whatever others have done.
    void count(double work) {
        effort.work += work;
        if (effort.work > most_work) throw Exhausted{};
    }
};

class Scorer {
  public:
    /// The cost of a node or an edge is penalty * log(n) / n, n being the number of observations of
    /// all conditions. With `sweeps`, a district's F is what so many sweeps of the paper's RICF
    /// reach, which may be short of the minimum; it is still a pure function of the district. They
    /// are for one condition without targets.
    Scorer(JointData data, double n, double penalty, std::size_t cache_bytes, int sweeps = 0);

    int d() const { return data_.d; }
    const JointData& data() const { return data_; }
    double edge_cost() const { return edge_cost_; }

    /// F of the district of `graph` that contains `node`, with twice the price of what conditions
    /// have of it to themselves; `key` must be the district's key. This and all that rests on it
    /// throws `Stopped` when the workspace's stop is raised, or its work is done; nothing of a fit
    /// that was cut short gets into the cache.
    double objective(const Graph& graph, int node, const Key& key, Workspace& workspace);

    /// The sum of F over all districts.
    double objective(const Graph& graph, Workspace& workspace);

    /// The whole graph's score, districts added in canonical order: a pure function of the graph.
    double score(const Graph& graph, Workspace& workspace);

    /// Part of the score that is the same for all graphs: -(d/2) log 2 pi, the nodes' penalty, and
    /// what set variables and other targets have to themselves (groups.hpp).
    double constant() const { return constant_; }

    std::size_t cache_bytes() { return cache_.bytes(); }

  private:
    using Known = ScoreCache::Known;
    std::optional<Known> recall(const Key& key, Workspace& workspace);
    Known look_up(const District& district, Workspace& workspace);
    Known work_out(const District& district, const Key& key, Workspace& workspace);

    JointData data_;
    double edge_cost_, constant_;
    int sweeps_;
    ScoreCache cache_;
};

}  // namespace bowfree
