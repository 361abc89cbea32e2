// The score of eq. (score), computed district by district with a cache.
//
// The cache contains F = min log|Omega| + tr(...) of districts, see likelihood.hpp. Members that
// can be fitted separately are peeled off first (peeling.hpp), and the parts are cached too: many
// districts consist of the same parts. The penalty of an edge, `edge_cost`, is added outside. The
// penalty of specific parameters (intervention_kinds.hpp) is part of F, because their number
// depends on the district.
//
// A node may be a block of columns, the indicators of the categories of a nominal variable. The
// district of nodes is then expanded to one of columns (district.hpp), an edge has as many
// parameters as pairs of columns, and the columns of a node have free covariances. Instead of the
// likelihood, the score of a district can be any function of it.
//
// A district with bows, which knowledge may require, can have fewer identified parameters than
// edges. The penalty counts the former: F of such a district includes minus twice the difference.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "dense.hpp"
#include "graph/graph.hpp"
#include "graph/key.hpp"
#include "model/error_evidence.hpp"
#include "model/likelihood.hpp"
#include "model/score_cache.hpp"
#include "stop.hpp"

namespace bowfree {

/// Rounding errors of a bound of the score, generously.
inline constexpr double bound_rounding = 1e-8;

/// Counters of one run.
struct Effort {
    std::int64_t fits = 0;        ///< districts fitted
    std::int64_t cache_hits = 0;  ///< districts found in the cache instead
    std::int64_t candidates = 0;  ///< moves whose gain was computed
    double work = 0.0;            ///< of all scores used, cached or not
};

/// Thrown when a run reaches its work limit.
struct WorkLimitReached : Stopped {};

class Scorer;

/// The state of one run: its stop, the buffers of its fits, and its counters. For one thread.
struct Workspace {
    Workspace(const Scorer& scorer, const Stop& stop);
    const Stop& stop;
    DistrictFitter fitter;
    std::optional<ErrorEvidence> errors;  ///< if they may be non-Gaussian
    Effort effort;
    double work_limit = std::numeric_limits<double>::infinity();
    int n_threads = 1;  ///< that may compute scores ahead of the run, for the cache

    /// Counts the work of a score, the same whether it was computed or found in the cache, so that
    /// a run ends at the same point whatever other runs have done.
    void count(double work) {
        effort.work += work;
        if (effort.work > work_limit) throw WorkLimitReached{};
    }
};

/// Thread-safe: threads share a scorer and have a workspace each.
class Scorer {
  public:
    /// The cost of a node or an edge is penalty * log(n) / n, n being the number of observations of
    /// all conditions. With `sweeps` > 0, F is the value after that number of sweeps of the paper's
    /// RICF, for observational data only. `sizes` are the numbers of columns of the nodes, for
    /// observational data only; empty: one each.
    Scorer(JointData data, double n, double penalty, std::size_t cache_bytes, int sweeps = 0,
           std::vector<int> sizes = {});

    /// A term of the score for each district, without any penalty; called by several threads.
    using Function = std::function<double(const District&)>;
    void replace_score(Function function);

    int d() const { return sizes_.empty() ? data_.d : static_cast<int>(sizes_.size()); }
    /// Whether a score is that of one observational sample with one column for each node.
    bool is_plain() const { return data_.is_observational() && sizes_.empty() && !function_; }
    const JointData& data() const { return data_; }
    double edge_cost() const { return edge_cost_; }

    /// F of the district of `graph` that contains `node`, plus twice the cost of its specific
    /// parameters; `key` must be the key of the district. All methods with a workspace throw
    /// `Stopped` when its stop is raised or its work limit is reached. Interrupted fits are not
    /// cached.
    double objective(const Graph& graph, int node, const Key& key, Workspace& workspace);

    /// What is known about this F without a fit. Only if `has_bounds`, and then with a lower bound.
    using Entry = ScoreCache::Entry;
    Entry estimate(const Graph& graph, int node, const Key& key, Workspace& workspace);
    /// F of an entry that contains it, counted as by `objective`.
    static double use(const Entry& entry, Workspace& workspace) {
        ++workspace.effort.cache_hits;
        workspace.count(entry.work);
        return entry.objective;
    }
    bool has_bounds() const { return is_plain() && !data_.rows && sweeps_ == 0; }

    /// Computes the scores of districts that are not in the cache, on several threads. Later calls
    /// of `objective` find them there; nothing else changes. The data must be plain.
    struct Wanted {
        District district;
        Key key;
    };
    void compute_ahead(const std::vector<Wanted>& wanted, int n_threads, const Stop& stop);
    bool is_cached(const Key& key) { return cache_.find(key).is_fitted(); }

    /// The sum of F over all districts.
    double objective(const Graph& graph, Workspace& workspace);

    /// The score of the graph, with districts added in the order of `districts`. If it is certainly
    /// less than `least`, the result may be another number less than `least`.
    double score(const Graph& graph, Workspace& workspace, double least = -infinity);

    /// The part of the score that all graphs share: -(d/2) log 2 pi, the penalty of the nodes, and
    /// the contribution of set variables and specific variances (conditions.hpp).
    double constant() const { return constant_; }

    std::size_t cache_bytes() { return cache_.bytes(); }

  private:
    Entry find_cached(const Key& key, Workspace& workspace);
    Entry estimate(const District& district, const Key& key, Workspace& workspace);
    Entry entry_of_part(const District& district, Workspace& workspace);
    Entry compute_blocks(const District& district, const Key& key, Workspace& workspace);
    Entry compute(const District& district, const Key& key, Workspace& workspace);

    JointData data_;
    double edge_cost_, constant_;
    int sweeps_;
    std::vector<int> sizes_;
    Function function_;
    ScoreCache cache_;
};

}  // namespace bowfree
