#include "uncertainty/averaging.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "equivalence/atlas.hpp"
#include "graph/edge.hpp"
#include "graph/key.hpp"
#include "search/enumeration.hpp"

namespace bowfree {

namespace {

/// A key of the skeleton and the v-structures of a graph.
Key necessary_key(const Graph& graph) {
    const auto head = [&](int from, int at) {
        return graph.directed(from, at) || graph.bidirected(from, at);
    };
    const int d = graph.d();
    Key key = skeleton_key(graph);
    for (int k = 0; k < d; ++k)
        for (int j = 1; j < d; ++j)
            for (int i = 0; i < j; ++i)
                if (i != k && j != k && head(i, k) && head(j, k) && !graph.adjacent(i, j))
                    key ^= element_key(i * d + j, k, true);
    return key;
}

/// Numbers the classes of graphs in the order in which they come.
class ClassNumbers {
  public:
    ClassNumbers(const Conditions& conditions, std::uint64_t seed)
        : conditions_(conditions),
          seed_(seed),
          // If every condition removes edges, v-structures may be invisible in all of them.
          whole_(std::ranges::any_of(one_or_more(conditions, 0), [](const Condition& condition) {
              return condition.kind != InterventionKind::perfect || !condition.has_targets();
          })) {}

    int of(const Graph& graph, const Stop& stop) {
        auto& candidates = known_[whole_ ? necessary_key(graph) : skeleton_key(graph)];
        const auto order = topological_order(graph);
        const auto same = std::ranges::find_if(candidates, [&](auto& candidate) {
            return candidate.second.equal(graph, order, stop).answer == Inclusion::yes;
        });
        if (same != candidates.end()) return same->first;
        firsts_.push_back(graph);
        const int number = static_cast<int>(firsts_.size());
        candidates.emplace_back(number, InclusionOracle(firsts_.back(), conditions_, seed_));
        return number;
    }

  private:
    const Conditions& conditions_;
    std::uint64_t seed_;
    bool whole_;
    std::deque<Graph> firsts_;  // the oracles refer to them
    std::unordered_map<Key, std::vector<std::pair<int, InclusionOracle>>, KeyHash> known_;
};

/// Up to which number of nodes a table of all graphs is small.
constexpr int few_nodes = 5;

}  // namespace

std::vector<int> first_equivalents(const std::vector<Graph>& graphs, const Conditions& conditions,
                                   std::uint64_t seed, const Stop& stop) {
    ClassNumbers numbers(conditions, seed);
    std::vector<int> first;
    const int d = graphs.empty() ? 0 : graphs.front().d();
    if (d > few_nodes) {
        std::unordered_map<int, int> firsts;
        for (int g = 0; g < static_cast<int>(graphs.size()); ++g) {
            stop.check();
            first.push_back(firsts.try_emplace(numbers.of(graphs[g], stop), g).first->second);
        }
        return first;
    }
    // There are many graphs and few up to their labels, and relabeling preserves equivalence: of
    // 765,664 graphs on five nodes 64,000 remain.
    const std::vector<Relabeling> all = relabelings(d, conditions, stop);
    const bool observational = std::ranges::none_of(conditions, &Condition::has_targets);
    std::vector<int> number(std::size_t{1} << 2 * n_pairs(d));  // by code
    std::unordered_map<std::uint64_t, int> firsts;
    for (int g = 0; g < static_cast<int>(graphs.size()); ++g) {
        stop.check();
        const std::size_t skeleton = skeleton_bits(graphs[g]);
        const std::vector<int>& label = all[skeleton].label;
        std::uint32_t code = 0;
        for (int j = 1; j < d; ++j)
            for (int i = 0; i < j; ++i) {
                const auto [low, high] = std::minmax(label[i], label[j]);
                auto edge = static_cast<std::uint32_t>(get_edge(graphs[g], i, j));
                if (low != label[i]) edge = (edge >> 1 | edge << 1) & 3;
                code |= edge << 2 * pair_index(low, high);
            }
        // Graphs in which all pairs are adjacent permit every covariance matrix.
        if (observational && skeleton + 1 == all.size()) code = 0;
        if (number[code] == 0) number[code] = numbers.of(graph_of_code(d, code), stop);
        const std::uint64_t key = skeleton << 32 | number[code];
        first.push_back(firsts.try_emplace(key, g).first->second);
    }
    return first;
}

namespace {

constexpr std::vector<double> GraphSums::* matrices[] = {
    &GraphSums::positive, &GraphSums::negative, &GraphSums::directed, &GraphSums::bidirected,
    &GraphSums::without_se};

/// One component of the skeleton: its edges, and the nodes at their ends.
struct Component {
    std::vector<std::pair<int, int>> edges;
    std::vector<int> nodes;
};

void add_effect(std::size_t at, double effect, double error, double weight, const Batches& batches,
                GraphSums& sums) {
    if (error > 0.0)
        sums.mixtures[at].add({weight, effect, error, batches});
    else
        sums.without_se[at] += weight;
    (effect > 0.0 ? sums.positive : sums.negative)[at] += weight;
}

/// Adds the effects of the member that was counted last, each with its standard error, to `sums`.
void add_effects(const EffectCounter& counter, const std::vector<int>& nodes, double weight,
                 const AverageOptions& options, GraphSums& sums, const Batches& batches = {}) {
    const auto columns = counter.columns(nodes);
    for (const int j : columns)
        for (const int i : columns) {
            const std::size_t at = static_cast<std::size_t>(i) * counter.d() + j;
            const double effect = counter.effects()[at];
            if (i == j || !counter.exceeds_zero(i, j, std::abs(effect))) continue;
            add_effect(at, effect, std::sqrt(counter.variance(i, j) / options.n), weight, batches,
                       sums);
        }
}

void add_edge(const EffectCounter& counter, int i, int j, Edge edge, double weight,
              GraphSums& sums) {
    const auto d = static_cast<std::size_t>(counter.d());
    if (edge == Edge::none) return;
    const auto ends = counter.columns({j});
    for (const std::size_t a : counter.columns({i}))
        for (const std::size_t b : ends) {
            if (edge == Edge::forward) sums.directed[b * d + a] += weight;
            if (edge == Edge::backward) sums.directed[a * d + b] += weight;
            if (edge == Edge::bidirected)
                for (const auto at : {a * d + b, b * d + a}) sums.bidirected[at] += weight;
        }
}

/// Adds the permitted members of a component, each with weight 1, and tallies them in the counter.
/// Returns false if `stop` was raised after the first.
bool add_members(EffectCounter& counter, const ClassMembers& members, const Component& component,
                 const AverageOptions& options, GraphSums& sums, const Stop& stop,
                 const Stop& first_stop) {
    const int d = counter.n_nodes();
    const std::size_t n_edges = component.edges.size();
    const auto permitted = [&](const Edge* kinds) {
        if (options.knowledge.empty()) return true;
        for (std::size_t e = 0; e < n_edges; ++e) {
            const auto [i, j] = component.edges[e];
            if (!(options.knowledge[i * d + j] >> static_cast<int>(kinds[e]) & 1)) return false;
        }
        return true;
    };
    counter.reset();
    counter.use_stop(first_stop);
    for (std::uint64_t member = 0; member < members.n_members; ++member) {
        const Edge* kinds = members.kinds.data() + member * n_edges;
        if (!permitted(kinds)) continue;
        try {
            counter.add(graph_of_kinds(d, component.edges, kinds), component.nodes);
        } catch (const Stopped&) {
            if (counter.tally().n_members == 0) throw;
            return false;
        }
        add_effects(counter, component.nodes, 1.0, options, sums);
        for (std::size_t e = 0; e < n_edges; ++e) {
            const auto [i, j] = component.edges[e];
            add_edge(counter, i, j, kinds[e], 1.0, sums);
        }
        if (counter.tally().n_members == 1) counter.use_stop(stop);
    }
    return true;
}

}  // namespace

GraphSums::GraphSums(int d) : mixtures(static_cast<std::size_t>(d) * d) {
    for (const auto matrix : matrices) (this->*matrix).assign(static_cast<std::size_t>(d) * d, 0.0);
}

void GraphSums::add(const GraphSums& other, double scale, const Batches& shares) {
    for (const auto matrix : matrices)
        for (std::size_t at = 0; at < (this->*matrix).size(); ++at)
            (this->*matrix)[at] += scale * (other.*matrix)[at];
    for (std::size_t at = 0; at < mixtures.size(); ++at)
        mixtures[at].add(other.mixtures[at], scale, shares);
}

ClassSums::ClassSums(int d)
    : all_members(static_cast<std::size_t>(d) * d), min_abs(all_members), max_abs(all_members) {}

void add_graph(EffectCounter& counter, const Graph& graph, double weight,
               const AverageOptions& options, GraphSums& sums, const Batches& shares,
               GivenEffects given) {
    Batches batches = shares;
    for (double& part : batches) part *= weight;
    if (given.effects) {
        for (std::size_t at = 0; at < sums.mixtures.size(); ++at)
            if (given.effects[at] != 0.0)
                add_effect(at, given.effects[at], given.errors[at], weight, batches, sums);
    } else {
        std::vector<int> nodes(graph.d());
        std::iota(nodes.begin(), nodes.end(), 0);
        counter.add(graph, nodes);
        add_effects(counter, nodes, weight, options, sums, batches);
    }
    for (int j = 1; j < graph.d(); ++j)
        for (int i = 0; i < j; ++i) add_edge(counter, i, j, get_edge(graph, i, j), weight, sums);
}

ClassPart add_class(EffectCounter& counter, const WeightedClass& weighted,
                    const AverageOptions& options, GraphSums& sums, ClassSums& class_sums,
                    const Stop& stop, const Stop& first_stop) {
    const Graph& graph = weighted.graphs.front();
    const int d = counter.d();
    const auto all_pairs = skeleton_edges(graph);
    ClassPart part;
    GraphSums own(d);
    ClassSums whole(d);
    double n_members = 1.0;
    const auto keep_tally = [&](const std::vector<int>& columns) {
        const EffectTally& tally = counter.tally();
        for (const int i : columns)
            for (const int j : columns) {
                const std::size_t at = static_cast<std::size_t>(i) * d + j;
                whole.all_members[at] = counter.exceeds_zero(i, j, tally.min_abs[at]) ? 1.0 : 0.0;
                whole.min_abs[at] = tally.min_abs[at];
                whole.max_abs[at] = tally.max_abs[at];
            }
    };
    counter.use_stop(first_stop);
    counter.share_fit(&graph);
    // Effects stay inside a component of the skeleton, so components are added one by one.
    for (const ClassFactor& factor :
         class_factors(graph, ClassMethod::exact, options.members, stop)) {
        Component component;
        for (const int e : factor.edges) {
            component.edges.push_back(all_pairs[e]);
            component.nodes.insert(component.nodes.end(),
                                   {all_pairs[e].first, all_pairs[e].second});
        }
        auto& nodes = component.nodes;
        std::ranges::sort(nodes);
        nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
        GraphSums members(d);
        part.complete &=
            add_members(counter, factor.members, component, options, members, stop, first_stop);
        const std::uint64_t n_counted = counter.tally().n_members;
        part.components.push_back(n_counted);
        part.complete &= factor.members.complete;
        n_members *= static_cast<double>(n_counted);
        if (n_counted == 0) continue;
        own.add(members, 1.0 / static_cast<double>(n_counted));
        keep_tally(counter.columns(nodes));
    }
    const double sampled = std::accumulate(weighted.shares.begin(), weighted.shares.end(), 0.0);
    part.weight = sampled * std::pow(std::max(n_members, 1.0), weighted.power);
    if (!part.complete && weighted.graphs.size() > 1) {
        own = GraphSums(d);
        counter.reset();
        counter.use_stop(first_stop);
        for (std::size_t g = 0; g < weighted.graphs.size(); ++g)
            add_graph(counter, weighted.graphs[g], weighted.shares[g] / sampled, options, own);
        std::vector<int> all(d);
        std::iota(all.begin(), all.end(), 0);
        keep_tally(all);
    }
    sums.add(own, part.weight, weighted.batches);
    for (std::size_t at = 0; at < whole.min_abs.size(); ++at) {
        class_sums.all_members[at] += part.weight * whole.all_members[at];
        class_sums.min_abs[at] += part.weight * whole.min_abs[at];
        class_sums.max_abs[at] += part.weight * whole.max_abs[at];
    }
    return part;
}

}  // namespace bowfree
