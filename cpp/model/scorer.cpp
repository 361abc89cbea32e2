#include "model/scorer.hpp"

#include <cmath>
#include <numbers>
#include <utility>

#include "graph/district.hpp"
#include "model/peeling.hpp"

namespace bowfree {

namespace {

/// The key of a district that need not be one of a graph: `row_key` of its members, put together.
Key key_of(const District& district) {
    Key key;
    const auto& nodes = district.nodes;
    for (int v = 0; v < district.k; ++v) {
        key ^= member_key(nodes[v]);
        for (const int p : district.parents[v]) key ^= element_key(nodes[p], nodes[v], false);
    }
    for (const auto& [a, b] : district.spouse_pairs)
        key ^= element_key(nodes[a], nodes[b], true) ^ element_key(nodes[b], nodes[a], true);
    return key;
}

}  // namespace

Scorer::Scorer(JointData data, double n, double penalty, std::size_t cache_bytes, int sweeps)
    : data_(std::move(data)),
      edge_cost_(penalty * std::log(n) / n),
      constant_(-data_.d * (0.5 * std::log(2.0 * std::numbers::pi) + edge_cost_) -
                0.5 * data_.set_objective - edge_cost_ * (data_.n_set + data_.n_own_variances + data_.n_own_intercepts)),
      sweeps_(sweeps),
      cache_(cache_bytes) {}

Workspace::Workspace(const Scorer& scorer, const Stop& stop)
    : stop(stop), fitter(scorer.data(), &stop) {}

std::optional<ScoreCache::Known> Scorer::recall(const Key& key, Workspace& workspace) {
    const auto known = cache_.find(key);
    workspace.effort.cache_hits += known.has_value();
    return known;
}

double Scorer::objective(const Graph& graph, int node, const Key& key, Workspace& workspace) {
    auto known = recall(key, workspace);
    if (!known) known = work_out(data_.district(graph, district_of(graph, node)), key, workspace);
    workspace.count(known->work);
    return known->objective;
}

ScoreCache::Known Scorer::work_out(const District& district, const Key& key, Workspace& workspace) {
    workspace.stop.check();
    Known found{0.0, 0.0F};
    const auto v =
        sweeps_ > 0 ? std::nullopt : peelable(district, data_.plain() ? nullptr : &data_);
    if (v) {
        const Known one = look_up(alone(district, *v), workspace);
        const Known rest = look_up(without(district, *v), workspace);
        found = {one.objective + rest.objective, one.work + rest.work};
    } else {
        ++workspace.effort.fits;
        if (sweeps_ > 0)
            found.objective = ricf(data_.all[0].S.data(), data_.d, district, sweeps_,
                                   ricf_tolerance, &workspace.stop)
                                  .objective;
        else
            found = {workspace.fitter.objective(district),
                     static_cast<float>(workspace.fitter.work())};
        if (data_.has_own()) found.objective += 2.0 * edge_cost_ * count_own(data_, district);
    }
    cache_.store(key, found);
    return found;
}

ScoreCache::Known Scorer::look_up(const District& district, Workspace& workspace) {
    const Key key = key_of(district);
    if (const auto known = recall(key, workspace)) return *known;
    return work_out(district, key, workspace);
}

double Scorer::objective(const Graph& graph, Workspace& workspace) {
    return sum_over_districts(graph, [&](const std::vector<int>& district) {
        return objective(graph, district.front(), rows_key(graph, district), workspace);
    });
}

double Scorer::score(const Graph& graph, Workspace& workspace) {
    const double F = objective(graph, workspace);
    return constant_ - 0.5 * F - edge_cost_ * count_edges(graph);
}

}  // namespace bowfree
