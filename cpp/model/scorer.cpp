#include "model/scorer.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numbers>
#include <utility>

#include "graph/district.hpp"
#include "model/peeling.hpp"
#include "threads.hpp"

namespace bowfree {

namespace {

/// The key of a district: the XOR of `row_key` over its members, whose numbers begin at `first`.
Key key_of(const District& district, int first) {
    Key key;
    auto nodes = district.nodes;
    for (int& node : nodes) node += first;
    for (int v = 0; v < district.k; ++v) {
        key ^= member_key(nodes[v]);
        for (const int p : district.parents[v]) key ^= element_key(nodes[p], nodes[v], false);
    }
    for (const auto& [a, b] : district.spouse_pairs)
        key ^= element_key(nodes[a], nodes[b], true) ^ element_key(nodes[b], nodes[a], true);
    return key;
}

/// The number of parameters of the edges into a district of blocks, beyond one for each edge.
int count_extra(const District& district, const std::vector<int>& sizes) {
    const auto size = [&](int j) { return sizes[district.nodes[j]]; };
    int total = 0;
    for (int v = 0; v < district.k; ++v)
        for (const int p : district.parents[v]) total += size(p) * size(v) - 1;
    for (const auto& [a, b] : district.spouse_pairs) total += size(a) * size(b) - 1;
    return total;
}

}  // namespace

Scorer::Scorer(JointData data, double n, double penalty, std::size_t cache_bytes, int sweeps,
               std::vector<int> sizes)
    : data_(std::move(data)),
      edge_cost_(penalty * std::log(n) / n),
      constant_(-data_.d * (0.5 * std::log(2.0 * std::numbers::pi) + edge_cost_) -
                0.5 * data_.set_objective -
                edge_cost_ * (data_.n_set + data_.n_specific_variances + data_.n_own_intercepts)),
      sweeps_(sweeps),
      sizes_(std::move(sizes)),
      cache_(cache_bytes) {
    for (const int size : sizes_) constant_ -= edge_cost_ * size * (size - 1) / 2;
}

void Scorer::replace_score(Function function) {
    function_ = std::move(function);
    edge_cost_ = constant_ = 0.0;
}

Workspace::Workspace(const Scorer& scorer, const Stop& stop)
    : stop(stop), fitter(scorer.data(), &stop) {
    if (scorer.data().rows) errors.emplace(*scorer.data().rows, &stop);
}

ScoreCache::Entry Scorer::find_cached(const Key& key, Workspace& workspace) {
    const Entry entry = cache_.find(key);
    workspace.effort.cache_hits += entry.is_fitted();
    return entry;
}

double Scorer::objective(const Graph& graph, int node, const Key& key, Workspace& workspace) {
    Entry entry = find_cached(key, workspace);
    if (!entry.is_fitted()) {
        const District district = data_.district(graph, district_of(graph, node));
        entry = sizes_.empty() && !function_ ? compute(district, key, workspace)
                                             : compute_blocks(district, key, workspace);
    }
    workspace.count(entry.work);
    return entry.objective;
}

ScoreCache::Entry Scorer::estimate(const Graph& graph, int node, const Key& key,
                                   Workspace& workspace) {
    const Entry entry = cache_.find(key);
    if (entry.is_bounded()) return entry;
    return estimate(make_district(graph, district_of(graph, node)), key, workspace);
}

/// The bound of a district from which a member can be peeled is that of the rest, and its F is known
/// if nothing is left to be fitted.
ScoreCache::Entry Scorer::estimate(const District& district, const Key& key, Workspace& workspace) {
    Entry found;
    double bound = 0.0;
    if (const auto v = peelable(district)) {
        const District apart = alone(district, *v), others = without(district, *v);
        const Key rest_key = key_of(others, 0);
        Entry rest = cache_.find(rest_key);
        if (!rest.is_bounded()) rest = estimate(others, rest_key, workspace);
        const Entry one = entry_of_part(apart, workspace);
        const int merged = count_edges(district) - count_edges(apart) - count_edges(others);
        const double own = one.objective - 2.0 * edge_cost_ * merged;
        bound = own + rest.bound;
        if (rest.is_fitted())
            found = {one.objective + rest.objective - 2.0 * edge_cost_ * merged,
                     one.work + rest.work};
    } else if (district.k == 1) {
        found = compute(district, key, workspace);
        bound = found.objective;
    } else {
        bound = workspace.fitter.lower_bound(district);
    }
    found.bound =
        std::nextafter(static_cast<float>(bound), -std::numeric_limits<float>::infinity());
    cache_.store(key, found);
    const Entry stored = cache_.find(key);  // with F, if it was known
    return stored.is_bounded() ? stored : found;
}

void Scorer::compute_ahead(const std::vector<Wanted>& wanted, int n_threads, const Stop& stop) {
    const int n = static_cast<int>(wanted.size());
    std::atomic<int> next{0};
    run_jobs(std::min(n, n_threads), n_threads, stop, [&](int, const Stop& stopped) {
        Workspace workspace(*this, stopped);
        for (int k = 0; (k = next++) < n;) compute(wanted[k].district, wanted[k].key, workspace);
    });
}

ScoreCache::Entry Scorer::compute_blocks(const District& district, const Key& key,
                                         Workspace& workspace) {
    workspace.stop.check();
    Entry found{0.0, 0.0F};
    if (function_) {
        ++workspace.effort.fits;
        found.objective = -2.0 * function_(district);
    } else {
        found = entry_of_part(expand(district, sizes_), workspace);
        found.objective += 2.0 * edge_cost_ * count_extra(district, sizes_);
    }
    cache_.store(key, found);
    return found;
}

ScoreCache::Entry Scorer::compute(const District& district, const Key& key, Workspace& workspace) {
    workspace.stop.check();
    Entry found{0.0, 0.0F};
    const auto v = sweeps_ > 0 || workspace.errors
                       ? std::nullopt
                       : peelable(district, data_.is_observational() ? nullptr : &data_);
    if (workspace.errors) {
        ++workspace.effort.fits;
        const DistrictFit fit = workspace.fitter.fit(district, estimates_only);
        const int n = data_.rows->n();
        const double gain = data_.rows->power() * workspace.errors->gain(district, fit);
        found = {fit.canonical - 2.0 / n * gain,
                 static_cast<float>(workspace.fitter.work() + 100.0 * n * district.k)};
    } else if (v) {
        const District apart = alone(district, *v), others = without(district, *v);
        const Entry one = entry_of_part(apart, workspace);
        const Entry rest = entry_of_part(others, workspace);
        // Edges of a bow that have become one.
        const int merged = count_edges(district) - count_edges(apart) - count_edges(others);
        found = {one.objective + rest.objective - 2.0 * edge_cost_ * merged, one.work + rest.work};
    } else {
        ++workspace.effort.fits;
        if (sweeps_ > 0)
            found.objective = ricf(data_.conditions[0].S.data(), data_.d, district, sweeps_,
                                   ricf_tolerance, &workspace.stop)
                                  .objective;
        else
            found = {workspace.fitter.objective(district),
                     static_cast<float>(workspace.fitter.work())};
        if (data_.has_specific())
            found.objective += 2.0 * edge_cost_ * count_specific(data_, district);
        found.objective -= 2.0 * edge_cost_ * count_unidentified(district);
    }
    cache_.store(key, found);
    return found;
}

ScoreCache::Entry Scorer::entry_of_part(const District& district, Workspace& workspace) {
    // Columns of blocks are numbered after the nodes, so that their keys differ.
    const Key key = key_of(district, static_cast<int>(sizes_.size()));
    const Entry entry = find_cached(key, workspace);
    return entry.is_fitted() ? entry : compute(district, key, workspace);
}

double Scorer::objective(const Graph& graph, Workspace& workspace) {
    return sum_over_districts(graph, [&](const std::vector<int>& district) {
        return objective(graph, district.front(), rows_key(graph, district), workspace);
    });
}

double Scorer::score(const Graph& graph, Workspace& workspace, double least) {
    const auto with_objective = [&](double F) {
        return constant_ - 0.5 * F - edge_cost_ * count_edges(graph);
    };
    if (least > -infinity && has_bounds()) {
        const double most = with_objective(
            sum_over_districts(graph, [&](const std::vector<int>& district) -> double {
                const Key key = rows_key(graph, district);
                return estimate(graph, district.front(), key, workspace).bound;
            }));
        if (most + bound_rounding < least) return most;
    }
    return with_objective(objective(graph, workspace));
}

}  // namespace bowfree
