// Chains over graphs, and averages over classes; `bowfree.uncertainty.structure_mcmc` and
// `bowfree.uncertainty.averaging` drive them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <numeric>
#include <tuple>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/calls.hpp"
#include "uncertainty/averaging.hpp"
#include "uncertainty/structure_mcmc.hpp"

namespace bowfree::bindings {

namespace {

/// Members of each component of a class, and whether these are all.
using Size = std::pair<std::vector<std::uint64_t>, bool>;
using AverageAndSizes = std::pair<Named, std::vector<Size>>;

Named structure_chains(const Matrix& S, double n, double penalty, std::size_t cache_bytes,
                       const Rules& rules, const std::vector<std::pair<Bits, Bits>>& starts,
                       std::int64_t steps, std::int64_t burn_in, std::int64_t thin, double temper,
                       std::size_t keep, double window, bool one_per_class, std::uint64_t seed,
                       int n_threads) {
    const int d = static_cast<int>(S.shape(0));
    std::vector<Graph> graphs;
    for (const auto& [parents, spouses] : starts) {
        graphs.push_back(to_graph(parents, spouses));
        expect_nodes(graphs.back(), d);
    }
    expect_nodes(rules, d);
    const ChainOptions options{steps, burn_in, thin, n / temper, keep, window, one_per_class};
    Scorer scorer(to_square(S), d, n, penalty, cache_bytes);
    std::vector<ChainRecord> records;
    std::vector<double> pool_scores;
    GraphStack pool_graphs(d);
    interruptibly([&](const Stop& stop) {
        records = run_chains(scorer, rules, graphs, options, seed, n_threads, stop);
        Pool pool(keep, window);
        for (const auto& record : records) pool.merge(record.pool);
        // A graph that was only looked at has the score of its neighbour plus a gain, with their
        // rounding; scored afresh it is the same whoever met it.
        Workspace workspace(scorer, stop);
        for (const Scored& scored : pool.sorted()) {
            pool_scores.push_back(scorer.score(scored.graph, workspace));
            pool_graphs.push(scored.graph);
        }
    });
    const std::size_t pairs = static_cast<std::size_t>(d) * (d - 1) / 2;
    nb::list chains;
    for (auto& record : records) {
        nb::dict chain;
        const std::size_t samples = record.scores.size();
        chain["scores"] = to_numpy(std::move(record.scores));
        chain["states"] = to_numpy(std::move(record.states), {samples, pairs});
        chain["accepted"] = record.accepted;
        chain["fits"] = record.effort.fits;
        chains.append(chain);
    }
    auto [parents, spouses] = std::move(pool_graphs).to_python();
    Named found;
    found["chains"] = chains;
    found["pool_parents"] = parents;
    found["pool_spouses"] = spouses;
    found["pool_scores"] = to_numpy(std::move(pool_scores));
    return found;
}

auto first_of_class(const BitStack& parents, const BitStack& spouses, std::uint64_t seed) {
    const auto graphs = to_graphs(parents, spouses);
    return to_numpy(
        interruptibly([&](const Stop& stop) { return first_equivalents(graphs, seed, stop); }));
}

AverageAndSizes average_classes(EffectCounter& counter, const BitStack& parents,
                                const BitStack& spouses, const std::vector<double>& weights,
                                double n, double level, std::uint64_t limit, double zero,
                                const Bytes& knowledge, std::optional<double> seconds) {
    const auto graphs = to_graphs(parents, spouses);
    if (weights.size() != graphs.size())
        throw std::invalid_argument("one weight per graph is needed");
    for (const Graph& graph : graphs) expect_nodes(graph, counter.d());
    const auto d = static_cast<std::size_t>(counter.d());
    if (knowledge.size() > 0)
        expect_shape(knowledge, {d, d}, "knowledge must have shape (d, d) or (0, 0)");
    const std::vector<std::uint8_t> masks(knowledge.data(), knowledge.data() + knowledge.size());
    const ClassOptions options{0, limit};
    ClassAverage average(counter.d());
    std::vector<Size> sizes;
    interruptibly(seconds, [&](const Stop& stop) {
        // Without a member of the best class there is no result, so that one is waited for.
        const Stop patient(&handle_signals);
        try {
            for (std::size_t c = 0; c < graphs.size(); ++c) {
                const auto [components, complete] =
                    add_class(counter, graphs[c], weights[c], n, options, masks, zero, average,
                              stop, c == 0 ? patient : stop);
                sizes.emplace_back(components, complete);
            }
        } catch (const Stopped&) {
        }
    });
    const auto matrix = [d](std::vector<double>& values) {
        return to_numpy(std::move(values), {d, d});
    };
    const double looked_at = std::accumulate(weights.begin(), weights.begin() + sizes.size(), 0.0);
    std::vector<double> lower(d * d), upper(d * d);
    interruptibly([&](const Stop& stop) {
        for (std::size_t at = 0; at < d * d; ++at) {
            stop.check();
            std::tie(lower[at], upper[at]) = average.laws[at].interval(level, looked_at);
        }
    });
    for (std::size_t v = 0; v < d; ++v) lower[v * d + v] = upper[v * d + v] = 1.0;
    Named found;
    found["lower"] = matrix(lower);
    found["upper"] = matrix(upper);
    found["probability_all_members"] = matrix(average.all_members);
    found["min_abs"] = matrix(average.min_abs);
    found["mean_abs"] = matrix(average.mean_abs);
    found["max_abs"] = matrix(average.max_abs);
    found["mean"] = matrix(average.mean);
    found["positive"] = matrix(average.positive);
    found["negative"] = matrix(average.negative);
    found["directed"] = matrix(average.directed);
    found["bidirected"] = matrix(average.bidirected);
    return {found, sizes};
}

}  // namespace

void bind_uncertainty(nb::module_& m) {
    m.def("structure_chains", &structure_chains, nb::arg("S"), nb::arg("n"), nb::arg("penalty"),
          nb::arg("cache_bytes"), nb::arg("rules"), nb::arg("starts"), nb::kw_only(),
          nb::arg("steps"), nb::arg("burn_in"), nb::arg("thin"), nb::arg("temper"), nb::arg("keep"),
          nb::arg("window"), nb::arg("one_per_class"), nb::arg("seed"), nb::arg("n_threads"),
          "Metropolis-Hastings chains, one per start, on one cache of scores. Returns the samples "
          "of each chain, and the best distinct graphs met by any.");
    m.def("first_of_class", &first_of_class, nb::arg("parents"), nb::arg("spouses"),
          nb::arg("seed"), "For each BAP the index of the first one that is equivalent to it.");
    m.def("average_classes", &average_classes, nb::arg("counter"), nb::arg("parents"),
          nb::arg("spouses"), nb::arg("weights"), nb::arg("n"), nb::arg("level"), nb::arg("limit"),
          nb::arg("zero"), nb::arg("knowledge"), nb::arg("seconds").none(),
          "Weighted sums over the exact classes of these BAPs, and (members of each component, "
          "complete) of each class. When time is up, of the first classes only.");
}

}  // namespace bowfree::bindings
