// Markov chains over graphs and averages over classes, for `bowfree.uncertainty.mcmc` and
// `bowfree.uncertainty.averaging`.
#include <nanobind/stl/array.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/calls.hpp"
#include "bindings/data.hpp"
#include "uncertainty/averaging.hpp"
#include "uncertainty/structure_mcmc.hpp"

namespace bowfree::bindings {

namespace {

using namespace nb::literals;

/// Weight of a class, members of each of its components, and whether these are all.
using Part = std::tuple<double, std::vector<std::uint64_t>, bool>;
using AverageAndParts = std::tuple<Named, std::vector<Part>, double>;

/// Graphs as they travel, each by its edges, with a number: how many edges each has, the edges one
/// after the other (`PackedGraph`), the numbers.
using Packed = std::tuple<nb::ndarray<nb::numpy, std::uint32_t>,
                          nb::ndarray<nb::numpy, std::uint32_t>, nb::ndarray<nb::numpy, double>>;
using GivenPacked = std::tuple<Array<std::uint32_t, 1>, Array<std::uint32_t, 1>, Array<double, 1>>;

Packed to_packed(const std::vector<std::pair<PackedGraph, double>>& graphs) {
    std::vector<std::uint32_t> sizes, edges;
    std::vector<double> numbers;
    for (const auto& [graph, number] : graphs) {
        sizes.push_back(static_cast<std::uint32_t>(graph.edges().size()));
        edges.insert(edges.end(), graph.edges().begin(), graph.edges().end());
        numbers.push_back(number);
    }
    return {to_numpy(std::move(sizes)), to_numpy(std::move(edges)), to_numpy(std::move(numbers))};
}

/// Calls `visit(graph, number)` for each of them.
template <class Visit>
void for_each_packed(int d, const GivenPacked& given, Visit&& visit) {
    const auto& [sizes, edges, numbers] = given;
    expect_shape(numbers, {sizes.shape(0)}, "packed graphs must have a number each");
    std::size_t begin = 0;
    for (std::size_t g = 0; g < sizes.shape(0); ++g) {
        const std::size_t size = sizes.data()[g];
        if (size > edges.shape(0) - begin)
            throw std::invalid_argument("packed graphs have more edges than were sent");
        const std::uint32_t* first = edges.data() + begin;
        visit(PackedGraph(d, {first, first + size}), numbers.data()[g]);
        begin += size;
    }
    if (begin != edges.shape(0))
        throw std::invalid_argument("packed graphs have fewer edges than were sent");
}

/// `ChainState` and `ChainRecord` as Python objects.
using State = std::tuple<BitArrays, Rng::State, std::int64_t, std::int64_t, std::int64_t>;
using GivenState =
    std::tuple<std::pair<Bits, Bits>, Rng::State, std::int64_t, std::int64_t, std::int64_t>;
using Record =
    std::tuple<nb::ndarray<nb::numpy, double>, nb::ndarray<nb::numpy, std::uint8_t>, Packed>;
using GivenRecord = std::tuple<Array<double, 1>, Bytes, GivenPacked>;

/// Chains with the scorer that they refer to.
class PythonChains {
  public:
    PythonChains(const Data& data, double n, double penalty, std::size_t cache_bytes,
                 const Rules& rules, const std::vector<std::pair<Bits, Bits>>& starts,
                 double temperature, std::vector<double> log_prior, std::size_t keep, double window,
                 std::uint64_t seed, const std::vector<int>& sizes)
        : scorer_(conditions(data, sizes), n, penalty, cache_bytes, 0, sizes),
          d_(scorer_.d()),
          chains_(scorer_, rules, graphs(rules, starts),
                  posterior(n, temperature, std::move(log_prior)), keep, window, seed) {}

    PythonChains(const PythonChains&) = delete;  // the chains refer to the scorer
    PythonChains& operator=(const PythonChains&) = delete;

    void offer(const BitStack& parents, const BitStack& spouses) {
        const auto offered = to_graphs(parents, spouses);
        for (const Graph& graph : offered) expect_nodes(graph, d_);
        interruptibly([&](const Stop& stop) {
            for (const Graph& graph : offered) chains_.offer(graph, stop);
        });
    }

    bool run(std::int64_t steps, std::int64_t thin, int n_threads, std::optional<double> seconds) {
        return in_time(seconds,
                       [&](const Stop& stop) { chains_.run(steps, thin, n_threads, stop); });
    }

    bool begin_segment(std::optional<double> seconds) {
        return in_time(seconds, [&](const Stop& stop) { chains_.begin_segment(stop); });
    }

    State state(std::size_t c) const {
        const ChainState& at = chains_.chains().at(c).state;
        return {to_bits(at.graph), at.rng.state(), at.clock, at.steps, at.accepted};
    }

    Record record(std::size_t c) const {
        const ChainRecord& noted = chains_.chains().at(c).record;
        return {to_numpy(std::vector(noted.scores)),
                to_numpy(std::vector(noted.states), {noted.scores.size(), n_pairs()}),
                to_packed(noted.pool.sorted_packed())};
    }

    void restore(std::size_t c, const GivenState& given, const std::optional<GivenRecord>& more) {
        const auto& [bits, rng, clock, steps, accepted] = given;
        const Graph graph = to_graph(bits.first, bits.second);
        expect_nodes(graph, d_);
        if (rng == Rng::State{} || accepted < 0 || accepted > steps || steps > clock)
            throw std::invalid_argument("this is not the state of a chain");
        ChainRecord record{chains_.empty_pool(), {}, {}};
        if (more) {
            const auto& [scores, states, pool] = *more;
            record.scores.assign(scores.data(), scores.data() + scores.size());
            record.states = to_states(states, scores.shape(0));
            for_each_packed(d_, pool, [&](PackedGraph graph, double weight) {
                const Key key = graph_key(graph.unpack());
                record.pool.offer(key, weight, std::move(graph));
            });
        }
        chains_.set_state(c, {graph, Rng(rng), clock, steps, accepted});
        chains_.add_record(c, record);
    }

    Packed jumps() const {
        std::vector<std::pair<PackedGraph, double>> graphs;
        for (const Scored& scored : chains_.list())
            graphs.emplace_back(PackedGraph(scored.graph), scored.score);
        return to_packed(graphs);
    }

    void set_jumps(const GivenPacked& given) {
        std::vector<Scored> list;
        for_each_packed(d_, given, [&](const PackedGraph& graph, double score) {
            list.push_back({graph.unpack(), score});
        });
        chains_.set_list(std::move(list));
    }

    auto memory() const {
        return to_numpy(std::vector(chains_.memory().states()),
                        {chains_.memory().size(), n_pairs()});
    }

    void add_to_memory(const Bytes& states) {
        const auto given = to_states(states, states.shape(0));
        interruptibly([&](const Stop& stop) { chains_.add_to_memory(given, stop); });
    }

    nb::typed<nb::list, Named> samples() const {
        nb::typed<nb::list, Named> found;
        for (const auto& [state, record] : chains_.chains()) {
            Named one;
            one["scores"] = to_numpy(std::vector(record.scores));
            one["states"] = to_numpy(std::vector(record.states), {record.scores.size(), n_pairs()});
            one["steps"] = state.steps;
            one["accepted"] = state.accepted;
            found.append(one);
        }
        return found;
    }

    ScoredStack pool() const {
        return to_scored_stack(d_,
                               interruptibly([&](const Stop& stop) { return chains_.pool(stop); }));
    }

  private:
    /// Returns false if time was up before the end of the work.
    template <class Work>
    static bool in_time(std::optional<double> seconds, Work&& work) {
        return interruptibly(seconds, [&](const Stop& stop) {
            try {
                work(stop);
                return true;
            } catch (const Stopped&) {
                return false;
            }
        });
    }

    static JointData conditions(const Data& data, const std::vector<int>& sizes) {
        auto joint = to_conditions(data);
        expect_sizes(sizes, joint);
        return joint;
    }

    std::vector<Graph> graphs(const Rules& rules,
                              const std::vector<std::pair<Bits, Bits>>& starts) const {
        std::vector<Graph> found;
        for (const auto& [parents, spouses] : starts) {
            found.push_back(to_graph(parents, spouses));
            expect_nodes(found.back(), d_);
        }
        expect_nodes(rules, d_);
        return found;
    }

    std::vector<std::uint8_t> to_states(const Bytes& states, std::size_t samples) const {
        expect_shape(states, {samples, n_pairs()}, "states must have shape (samples, pairs)");
        std::vector<std::uint8_t> found(states.data(), states.data() + states.size());
        if (std::ranges::any_of(found, [](std::uint8_t state) { return state > 3; }))
            throw std::invalid_argument("states are 0, 1, 2 or 3");
        return found;
    }

    std::size_t n_pairs() const { return bowfree::n_pairs(d_); }

    GraphPosterior posterior(double n, double temperature, std::vector<double> log_prior) const {
        if (!log_prior.empty() && log_prior.size() != n_pairs() + 1)
            throw std::invalid_argument(
                "log_prior must have an entry for 0, 1, ..., d (d - 1) / 2");
        for (double& value : log_prior) value /= temperature;
        return {n / temperature, std::move(log_prior)};
    }

    Scorer scorer_;
    int d_;
    StructureChains chains_;
};

auto first_of_class(const BitStack& parents, const BitStack& spouses, std::uint64_t seed,
                    const GivenConditions& given) {
    const auto graphs = to_graphs(parents, spouses);
    const Conditions conditions = to_conditions(static_cast<int>(parents.shape(1)), given);
    return to_numpy(interruptibly(
        [&](const Stop& stop) { return first_equivalents(graphs, conditions, seed, stop); }));
}

AverageAndParts average_classes(EffectCounter& counter, const BitStack& parents,
                                const BitStack& spouses, const std::vector<double>& shares,
                                const std::vector<Batches>& batches,
                                const std::vector<std::size_t>& sizes, std::size_t n_classes,
                                int power, double n, double level, std::uint64_t limit,
                                const Bytes& knowledge, const GivenConditions& conditions,
                                std::optional<double> seconds,
                                const std::optional<Array<double, 4>>& given) {
    const auto graphs = to_graphs(parents, spouses);
    if (shares.size() != graphs.size() || (!batches.empty() && batches.size() != graphs.size()) ||
        std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}) != graphs.size())
        throw std::invalid_argument("one share per graph, and sizes that sum to the graphs");
    for (const Graph& graph : graphs) expect_nodes(graph, counter.n_nodes());
    const auto d = static_cast<std::size_t>(counter.d());
    const auto nodes = static_cast<std::size_t>(counter.n_nodes());
    if (knowledge.size() > 0)
        expect_shape(knowledge, {nodes, nodes}, "knowledge must have shape (d, d) or (0, 0)");
    if (given && (given->shape(0) > graphs.size() || given->shape(1) != 2 || given->shape(2) != d ||
                  given->shape(3) != d))
        throw std::invalid_argument("given effects must have shape (graphs, 2, d, d)");
    const auto given_effects = [&](std::size_t g) -> GivenEffects {
        if (!given || g >= given->shape(0)) return {};
        return {given->data() + 2 * g * d * d, given->data() + (2 * g + 1) * d * d};
    };
    const AverageOptions options{n,
                                 {0, limit, to_conditions(counter.n_nodes(), conditions)},
                                 {knowledge.data(), knowledge.data() + knowledge.size()}};
    GraphSums sums(counter.d());
    ClassSums class_sums(counter.d());
    std::vector<Part> parts;
    double of_classes = 0.0, total = 0.0;
    Batches totals{};
    // The shares of the batches in the weight of some graphs; those of one class may be equivalent.
    const auto batch_shares = [&](std::size_t first, std::size_t last) {
        Batches found{};
        if (batches.empty()) return found;
        const double sum = std::accumulate(shares.begin() + first, shares.begin() + last, 0.0);
        for (std::size_t g = first; g < last; ++g)
            for (int b = 0; b < n_batches; ++b) found[b] += batches[g][b] / sum;
        return found;
    };
    const auto count = [&](double weight, const Batches& parts) {
        total += weight;
        for (int b = 0; b < n_batches; ++b) totals[b] += weight * parts[b];
    };
    interruptibly(seconds, [&](const Stop& stop) {
        const Stop until_first = with_grace(seconds);  // member of the heaviest class
        std::size_t next = 0;
        try {
            for (std::size_t c = 0; c < sizes.size(); ++c) {
                const std::size_t first = next;
                next += sizes[c];
                if (c < n_classes) {
                    const WeightedClass weighted{{graphs.begin() + first, graphs.begin() + next},
                                                 {shares.begin() + first, shares.begin() + next},
                                                 batch_shares(first, next),
                                                 power};
                    const ClassPart part = add_class(counter, weighted, options, sums, class_sums,
                                                     stop, c == 0 ? until_first : stop);
                    parts.emplace_back(part.weight, part.components, part.complete);
                    of_classes += part.weight;
                    count(part.weight, weighted.batches);
                } else {
                    counter.use_stop(stop);
                    counter.share_fit(sizes[c] > 1 ? &graphs[first] : nullptr);
                    for (std::size_t g = first; g < next; ++g) {
                        const Batches parts = batch_shares(g, g + 1);
                        add_graph(counter, graphs[g], shares[g], options, sums, parts,
                                  given_effects(g));
                        count(shares[g], parts);
                    }
                }
            }
        } catch (const Stopped&) {
            if (total == 0.0) throw;
        }
    });
    std::vector<double> lower(d * d), upper(d * d), lower_error(d * d), upper_error(d * d);
    std::vector<double> mean(d * d), mean_abs(d * d);
    interruptibly([&](const Stop& stop) {
        for (std::size_t at = 0; at < d * d; ++at) {
            stop.check();
            const double rest = total - sums.without_se[at];
            const Interval found = sums.mixtures[at].interval(level, rest);
            lower[at] = found.lower;
            upper[at] = found.upper;
            const auto [effect, absolute] = sums.mixtures[at].means(found, rest);
            mean[at] = effect;
            mean_abs[at] = absolute;
            if (batches.empty()) continue;
            Batches parts = totals;
            for (double& part : parts) part *= rest / total;
            const Interval errors = sums.mixtures[at].errors(level, rest, parts);
            lower_error[at] = errors.lower;
            upper_error[at] = errors.upper;
        }
    });
    // From sums to probabilities and means; the effect of a variable on itself is 1.
    const auto matrix = [d](std::vector<double>& values, double weight, double diagonal) {
        for (double& value : values) value /= weight;
        for (std::size_t v = 0; v < d; ++v) values[v * d + v] = diagonal;
        return to_numpy(std::move(values), {d, d});
    };
    Named found;
    found["lower"] = matrix(lower, 1.0, 1.0);
    found["upper"] = matrix(upper, 1.0, 1.0);
    found["lower_mcse"] = matrix(lower_error, 1.0, 0.0);
    found["upper_mcse"] = matrix(upper_error, 1.0, 0.0);
    found["probability_all_members"] = matrix(class_sums.all_members, of_classes, 1.0);
    found["min_abs"] = matrix(class_sums.min_abs, of_classes, 1.0);
    found["max_abs"] = matrix(class_sums.max_abs, of_classes, 1.0);
    found["mean_abs"] = matrix(mean_abs, 1.0, 1.0);
    found["mean"] = matrix(mean, 1.0, 1.0);
    found["positive"] = matrix(sums.positive, total, 1.0);
    found["negative"] = matrix(sums.negative, total, 0.0);
    found["without_se"] = matrix(sums.without_se, total, 0.0);
    found["directed"] = matrix(sums.directed, total, 0.0);
    found["bidirected"] = matrix(sums.bidirected, total, 0.0);
    return {found, parts, total};
}

}  // namespace

void bind_uncertainty(nb::module_& m) {
    nb::class_<PythonChains>(m, "StructureChains",
                             "Markov chains over graphs, one per start, on one cache of scores.")
        .def(nb::init<const Data&, double, double, std::size_t, const Rules&,
                      const std::vector<std::pair<Bits, Bits>>&, double, std::vector<double>,
                      std::size_t, double, std::uint64_t, const std::vector<int>&>(),
             "S"_a, "n"_a, "penalty"_a, "cache_bytes"_a, "rules"_a, "starts"_a, nb::kw_only(),
             "temperature"_a, "log_prior"_a, "keep"_a, "window"_a, "seed"_a,
             "sizes"_a = std::vector<int>{})
        .def("offer", &PythonChains::offer, "parents"_a, "spouses"_a,
             "Adds graphs to those that chains may jump to.")
        .def("run", &PythonChains::run, "steps"_a, "thin"_a, "n_threads"_a, "seconds"_a.none(),
             "Runs steps of every chain and records every thin-th graph; with thin = 0 none. "
             "Returns False if time was up.")
        .def("begin_segment", &PythonChains::begin_segment, "seconds"_a.none() = nb::none(),
             "Begins a new segment: renews the graphs to jump to and to splice from, and deletes "
             "the samples. Returns False if time was up; then nothing has changed.")
        .def("state", &PythonChains::state, "chain"_a,
             "State of a chain: graph, random numbers, all steps, steps and accepted proposals of "
             "this segment.")
        .def("record", &PythonChains::record, "chain"_a,
             "Record of a chain: scores and states of its samples, and its best graphs.")
        .def("restore", &PythonChains::restore, "chain"_a, "state"_a,
             "record"_a.none() = nb::none(),
             "Sets the state of a chain that was continued elsewhere, and appends its record.")
        .def("jumps", &PythonChains::jumps, "The graphs to jump to, with their scores.")
        .def("set_jumps", &PythonChains::set_jumps, "graphs"_a, "Sets the graphs to jump to.")
        .def("memory", &PythonChains::memory, "The graphs to splice from: their states.")
        .def("add_to_memory", &PythonChains::add_to_memory, "states"_a,
             "Adds graphs to splice from.")
        .def("samples", &PythonChains::samples, "Samples of each chain.")
        .def("pool", &PythonChains::pool, "The best distinct graphs that any chain has found.");
    m.def(
        "summarize_mixture",
        [](const Array<double, 1>& weights, const Array<double, 1>& estimates,
           const Array<double, 1>& errors, double level, double total, double neglected) {
            for (const auto* array : {&estimates, &errors})
                expect_shape(*array, {weights.shape(0)}, "one estimate and error for each weight");
            EffectMixture mixture;
            for (std::size_t k = 0; k < weights.shape(0); ++k)
                mixture.add({weights.data()[k], estimates.data()[k], errors.data()[k]});
            const Interval found = mixture.interval(level, total, neglected);
            return std::tuple(mixture.means(found, total).effect, found.lower, found.upper);
        },
        "weights"_a, "estimates"_a, "errors"_a, "level"_a, "total"_a, "neglected"_a,
        "Mean and interval of a mixture of normals, with the rest of the total weight at zero; [0, "
        "0] "
        "if the share of the others is at most `neglected`.");
    m.def("first_of_class", &first_of_class, "parents"_a, "spouses"_a, "seed"_a,
          "conditions"_a = GivenConditions{},
          "For each BAP the index of the first one that is equivalent to it, under conditions "
          "(kind, targets).");
    m.def("average_classes", &average_classes, "counter"_a, "parents"_a, "spouses"_a, "shares"_a,
          "batches"_a, "sizes"_a, "n_classes"_a, "power"_a, "n"_a, "level"_a, "limit"_a,
          "knowledge"_a, "conditions"_a, "seconds"_a.none(), "given"_a = nb::none(),
          "Average over graphs that are sorted by class, `sizes` of each. `batches` are the parts "
          "of their shares in each batch of samples, or empty. All members of the first "
          "`n_classes` classes count, and the listed graphs of the others. `given`, of shape "
          "(m, 2, d, d), has effects and their standard errors in the first m graphs, if these do "
          "not belong to such classes. Returns the averages, "
          "(weight, members of each component, complete) for each class, and the weight of all "
          "graphs that were used before time was up.");
}

}  // namespace bowfree::bindings
