#include "equivalence/empirical.hpp"

#include <cmath>
#include <cstddef>
#include <unordered_set>
#include <utility>

#include "equivalence/colliders.hpp"
#include "model/scorer.hpp"

namespace bowfree {

namespace {

constexpr std::size_t cache_bytes = std::size_t{64} << 20;

/// A breadth-first search and the graphs it has found.
class Finder {
  public:
    Finder(const Graph& graph, const double* S, const EmpiricalOptions& options, const Stop& stop)
        : d_(graph.d()),
          edges_(skeleton_edges(graph)),
          options_(options),
          // Without a penalty, which is the same for all graphs of a skeleton.
          scorer_(JointData(std::vector<double>(S, S + static_cast<std::ptrdiff_t>(d_) * d_), d_),
                  1.0, 0.0, cache_bytes, options.sweeps),
          workspace_(scorer_, stop),
          own_(scorer_.objective(graph, workspace_)) {
        const EdgeKinds kinds = kinds_of(graph, edges_);
        seen_.insert(kinds);
        list(kinds, 0, own_);
    }

    /// The collider-invariant graphs: all combinations of the independent choices.
    void list_collider_invariant(const Graph& graph) {
        const auto factors = collider_factors(graph);
        std::vector<std::uint64_t> digit(factors.size());
        EdgeKinds kinds = graphs_.front();
        for (bool more = true; more;) {
            workspace_.stop.check();
            for (std::size_t f = 0; f < factors.size(); ++f)
                for (std::size_t c = 0; c < factors[f].edges.size(); ++c)
                    kinds[factors[f].edges[c]] =
                        factors[f].members.kinds[digit[f] * factors[f].edges.size() + c];
            if (seen_.insert(kinds).second) list(kinds, 0, objective(kinds));
            more = false;
            for (std::size_t f = 0; f < factors.size() && !more; ++f) {
                more = ++digit[f] < factors[f].members.n_members;
                if (!more) digit[f] = 0;
            }
        }
    }

    /// Breadth-first search from all graphs listed.
    void list_neighbors() {
        for (std::size_t next = 0; next < graphs_.size(); ++next)
            if (const int steps = depth_[next] + 1; steps <= options_.max_depth)
                for_each_edge_change(graphs_[next], [&](const EdgeKinds& candidate) {
                    try_candidate(candidate, steps);
                });
    }

    EmpiricalMembers found(bool complete) {
        EmpiricalMembers result;
        result.own = own_;
        result.objective = std::move(objective_);
        result.members.complete = complete;
        result.members.n_members = graphs_.size();
        result.members.n_visited = n_visited_;
        for (const EdgeKinds& kinds : graphs_)
            result.members.kinds.insert(result.members.kinds.end(), kinds.begin(), kinds.end());
        return result;
    }

  private:
    double objective(const EdgeKinds& kinds) {
        return scorer_.objective(graph_of_kinds(d_, edges_, kinds.data()), workspace_);
    }

    void list(const EdgeKinds& kinds, int steps, double value) {
        if (graphs_.size() >= options_.search.limit) throw Stopped{};  // there are more
        graphs_.push_back(kinds);
        depth_.push_back(steps);
        objective_.push_back(value);
        workspace_.stop.count_result();
    }

    void try_candidate(const EdgeKinds& candidate, int steps) {
        workspace_.stop.check();
        if (!seen_.insert(candidate).second) return;
        ++n_visited_;
        if (topological_order(graph_of_kinds(d_, edges_, candidate.data())).empty()) return;
        const double value = objective(candidate);
        if (std::abs(value - own_) <= 2 * options_.epsilon) list(candidate, steps, value);
    }

    int d_;
    std::vector<std::pair<int, int>> edges_;
    const EmpiricalOptions& options_;
    Scorer scorer_;
    Workspace workspace_;
    double own_;
    std::uint64_t n_visited_ = 0;
    std::vector<EdgeKinds> graphs_;
    std::vector<int> depth_;         // by graph: single-edge changes that led there
    std::vector<double> objective_;  // by graph
    std::unordered_set<EdgeKinds, EdgeKindsHash> seen_;
};

}  // namespace

EmpiricalMembers empirical_class(const Graph& graph, const double* S,
                                 const EmpiricalOptions& options, const Stop& stop) {
    Finder finder(graph, S, options, stop);
    try {
        finder.list_collider_invariant(graph);
        finder.list_neighbors();
    } catch (const Stopped&) {
        return finder.found(false);
    }
    return finder.found(true);
}

}  // namespace bowfree
