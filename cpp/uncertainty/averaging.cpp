#include "uncertainty/averaging.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "equivalence/decision.hpp"
#include "graph/key.hpp"

namespace bowfree {

namespace {

/// Stands for the skeleton and the v-structures of a graph.
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

}  // namespace

std::vector<int> first_equivalents(const std::vector<Graph>& graphs, std::uint64_t seed,
                                   const Stop& stop) {
    struct Representative {
        int index;
        Witness witness;
    };
    std::unordered_map<Key, std::vector<Representative>, KeyHash> known;
    std::vector<int> first;
    for (int g = 0; g < static_cast<int>(graphs.size()); ++g) {
        stop.check();
        auto& candidates = known[necessary_key(graphs[g])];
        const auto order = topological_order(graphs[g]);
        const auto same = std::find_if(candidates.begin(), candidates.end(), [&](const auto& rep) {
            // One skeleton has one dimension, so that one inclusion decides.
            return rep.witness.inside(graphs[g], order, stop).answer == Inclusion::yes;
        });
        if (same != candidates.end()) {
            first.push_back(same->index);
        } else {
            candidates.push_back({g, Witness(graphs[g], seed, stop)});
            first.push_back(g);
        }
    }
    return first;
}

namespace {

constexpr std::vector<double> ClassAverage::* matrices[] = {
    &ClassAverage::all_members, &ClassAverage::min_abs,  &ClassAverage::mean_abs,
    &ClassAverage::max_abs,     &ClassAverage::mean,     &ClassAverage::positive,
    &ClassAverage::negative,    &ClassAverage::directed, &ClassAverage::bidirected};

/// One component of the skeleton: its edges, and the nodes at their ends.
struct Component {
    std::vector<std::pair<int, int>> edges;
    std::vector<int> nodes;
};

using Laws = std::vector<std::vector<EffectMixture::Component>>;

/// Notes the effects of the member that was counted last, each with its standard error; `laws` has
/// one list for each ordered pair of nodes.
void note_effects(const EffectCounter& counter, const std::vector<int>& nodes, double n,
                  double zero, Laws& laws) {
    auto law = laws.begin();
    for (const int i : nodes)
        for (const int j : nodes) {
            const double effect = counter.effects()[static_cast<std::size_t>(i) * counter.d() + j];
            if (i != j && std::abs(effect) > zero) {
                const double error = std::sqrt(counter.variance(i, j) / n);
                // An effect without a standard error is known to its order of magnitude.
                law->push_back({1.0, effect, error > 0.0 ? error : std::abs(effect)});
            }
            ++law;
        }
}

/// Counts the permitted members of a component, in `seen` (4 * edge + kind) their edges and in
/// `laws` their effects. False when `stop` came after the first.
bool count_members(EffectCounter& counter, const ClassMembers& members, const Component& component,
                   const std::vector<std::uint8_t>& knowledge, std::vector<std::uint64_t>& seen,
                   double n, double zero, Laws& laws, const Stop& stop, const Stop& first_stop) {
    const int d = counter.d();
    const std::size_t n_edges = component.edges.size();
    const auto permitted = [&](const Edge* marks) {
        if (knowledge.empty()) return true;
        for (std::size_t e = 0; e < n_edges; ++e) {
            const auto [i, j] = component.edges[e];
            if (!(knowledge[i * d + j] >> static_cast<int>(marks[e]) & 1)) return false;
        }
        return true;
    };
    counter.reset();
    counter.obey(first_stop);
    for (std::uint64_t member = 0; member < members.n_members; ++member) {
        const Edge* marks = members.marks.data() + member * n_edges;
        if (!permitted(marks)) continue;
        try {
            counter.add(marked_graph(d, component.edges, marks), component.nodes);
        } catch (const Stopped&) {
            if (counter.tally().n_members == 0) throw;
            return false;
        }
        for (std::size_t e = 0; e < n_edges; ++e) ++seen[4 * e + static_cast<int>(marks[e])];
        note_effects(counter, component.nodes, n, zero, laws);
        if (counter.tally().n_members == 1) counter.obey(stop);
    }
    return true;
}

}  // namespace

ClassAverage::ClassAverage(int d) : laws(static_cast<std::size_t>(d) * d) {
    for (const auto matrix : matrices) (this->*matrix).assign(static_cast<std::size_t>(d) * d, 0.0);
}

ClassAverage& ClassAverage::operator+=(const ClassAverage& other) {
    for (const auto matrix : matrices)
        for (std::size_t at = 0; at < (this->*matrix).size(); ++at)
            (this->*matrix)[at] += (other.*matrix)[at];
    for (std::size_t at = 0; at < laws.size(); ++at) laws[at] += other.laws[at];
    return *this;
}

ClassSize add_class(EffectCounter& counter, const Graph& graph, double weight, double n,
                    const ClassOptions& options, const std::vector<std::uint8_t>& knowledge,
                    double zero, ClassAverage& average, const Stop& stop, const Stop& first_stop) {
    const int d = graph.d();
    const auto all_pairs = skeleton_edges(graph);
    ClassSize size;
    ClassAverage own(d);
    // A variable's effect on itself is 1. All other effects stay inside a component.
    for (int v = 0; v < d; ++v)
        for (auto* matrix : {&own.all_members, &own.min_abs, &own.mean_abs, &own.max_abs, &own.mean,
                             &own.positive})
            (*matrix)[v * d + v] = weight;
    for (const ClassFactor& factor : class_factors(graph, ClassMethod::exact, options, stop)) {
        Component component;
        for (const int e : factor.edges) {
            component.edges.push_back(all_pairs[e]);
            component.nodes.insert(component.nodes.end(),
                                   {all_pairs[e].first, all_pairs[e].second});
        }
        auto& nodes = component.nodes;
        std::sort(nodes.begin(), nodes.end());
        nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
        std::vector<std::uint64_t> seen(4 * component.edges.size());
        Laws laws(nodes.size() * nodes.size());
        size.complete &= count_members(counter, factor.members, component, knowledge, seen, n, zero,
                                       laws, stop, first_stop);
        const EffectTally& tally = counter.tally();
        size.components.push_back(tally.n_members);
        size.complete &= factor.members.complete;
        if (tally.n_members == 0) continue;
        const double share = weight / static_cast<double>(tally.n_members);
        auto law = laws.begin();
        for (const int i : nodes)
            for (const int j : nodes) own.laws[i * d + j].add(*law++, share);
        for (const int i : nodes)
            for (const int j : nodes) {
                if (i == j) continue;
                const std::size_t at = static_cast<std::size_t>(i) * d + j;
                own.all_members[at] = tally.min_abs[at] > zero ? weight : 0.0;
                own.min_abs[at] = weight * tally.min_abs[at];
                own.max_abs[at] = weight * tally.max_abs[at];
                own.mean_abs[at] = share * tally.sum_abs[at];
                own.mean[at] = share * tally.sum[at];
                own.positive[at] = share * tally.positive[at];
                own.negative[at] = share * tally.negative[at];
            }
        for (std::size_t e = 0; e < component.edges.size(); ++e) {
            const auto [i, j] = component.edges[e];
            const auto at = [&](int row, int column) { return row * d + column; };
            const auto part = [&](Edge kind) {
                return share * static_cast<double>(seen[4 * e + static_cast<int>(kind)]);
            };
            own.directed[at(j, i)] = part(Edge::forward);
            own.directed[at(i, j)] = part(Edge::backward);
            own.bidirected[at(i, j)] = own.bidirected[at(j, i)] = part(Edge::bidirected);
        }
    }
    average += own;
    return size;
}

}  // namespace bowfree
