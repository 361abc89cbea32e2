#include "uncertainty/class_average.hpp"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>

#include "equivalence/equivalence.hpp"

namespace bowfree {

namespace {

/// Stands for the skeleton and the v-structures of a graph.
Key necessary_key(const Graph& graph) {
    const auto head = [&](int from, int at) {
        return graph.directed(from, at) || graph.bidirected(from, at);
    };
    const int d = graph.d();
    Key key;
    for (int j = 1; j < d; ++j)
        for (int i = 0; i < j; ++i)
            if (graph.adjacent(i, j)) key ^= element_key(i, j, false);
    for (int k = 0; k < d; ++k)
        for (int j = 1; j < d; ++j)
            for (int i = 0; i < j; ++i)
                if (i != k && j != k && head(i, k) && head(j, k) && !graph.adjacent(i, j))
                    key ^= element_key(i * d + j, k, true);
    return key;
}

}  // namespace

std::vector<int> first_equivalents(const std::vector<Graph>& graphs, std::uint64_t seed) {
    struct Representative {
        int index;
        Witness witness;
    };
    std::unordered_map<Key, std::vector<Representative>, KeyHash> known;
    std::vector<int> first;
    for (int g = 0; g < static_cast<int>(graphs.size()); ++g) {
        auto& candidates = known[necessary_key(graphs[g])];
        const auto order = topological_order(graphs[g]);
        const auto same = std::find_if(candidates.begin(), candidates.end(), [&](const auto& rep) {
            // One skeleton has one dimension, so that one inclusion decides.
            return rep.witness.inside(graphs[g], order).answer == Inclusion::yes;
        });
        if (same != candidates.end()) {
            first.push_back(same->index);
        } else {
            candidates.push_back({g, Witness(graphs[g], seed)});
            first.push_back(g);
        }
    }
    return first;
}

ClassAverage::ClassAverage(int d) {
    for (auto* matrix : {&probability, &min_abs, &mean_abs, &max_abs, &mean, &positive, &negative,
                         &directed, &bidirected})
        matrix->assign(static_cast<std::size_t>(d) * d, 0.0);
}

ClassSize add_class(EffectCounter& counter, const Graph& graph, double weight,
                    const ClassOptions& options, const std::vector<std::uint8_t>& knowledge,
                    double zero, ClassAverage& average) {
    const int d = graph.d();
    const auto all_edges = skeleton_edges(graph);
    ClassSize size;
    const auto late = [&] {
        return options.deadline && std::chrono::steady_clock::now() > *options.deadline;
    };
    // A variable's effect on itself is 1. All other effects stay inside a component.
    for (int v = 0; v < d; ++v)
        for (auto* matrix : {&average.probability, &average.min_abs, &average.mean_abs,
                             &average.max_abs, &average.mean, &average.positive})
            (*matrix)[v * d + v] += weight;
    for (const ClassFactor& factor : class_factors(graph, ClassMethod::exact, options)) {
        std::vector<std::pair<int, int>> edges;
        std::vector<int> nodes;
        for (const int e : factor.edges) {
            edges.push_back(all_edges[e]);
            nodes.insert(nodes.end(), {all_edges[e].first, all_edges[e].second});
        }
        std::sort(nodes.begin(), nodes.end());
        nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
        const std::size_t n_edges = edges.size();
        const auto permitted = [&](const std::uint8_t* marks) {
            if (knowledge.empty()) return true;
            for (std::size_t e = 0; e < n_edges; ++e)  // mark m of a class is state m + 1 of a pair
                if (!(knowledge[edges[e].first * d + edges[e].second] >> (marks[e] + 1) & 1))
                    return false;
            return true;
        };
        std::vector<std::uint64_t> seen(3 * n_edges);
        counter.reset();
        for (std::uint64_t member = 0; member < factor.members.n_members; ++member) {
            const std::uint8_t* marks = factor.members.marks.data() + member * n_edges;
            if (!permitted(marks)) continue;
            if (late() && counter.tally().n_members > 0) {
                size.complete = false;
                break;
            }
            counter.add(marked_graph(d, edges, marks), nodes);
            for (std::size_t e = 0; e < n_edges; ++e) ++seen[3 * e + marks[e]];
        }
        const EffectTally& tally = counter.tally();
        size.components.push_back(tally.n_members);
        size.complete &= factor.members.complete;
        if (tally.n_members == 0) continue;
        const double share = weight / static_cast<double>(tally.n_members);
        for (const int i : nodes)
            for (const int j : nodes) {
                if (i == j) continue;
                const std::size_t at = static_cast<std::size_t>(i) * d + j;
                average.probability[at] += tally.min_abs[at] > zero ? weight : 0.0;
                average.min_abs[at] += weight * tally.min_abs[at];
                average.max_abs[at] += weight * tally.max_abs[at];
                average.mean_abs[at] += share * tally.sum_abs[at];
                average.mean[at] += share * tally.sum[at];
                average.positive[at] += share * tally.positive[at];
                average.negative[at] += share * tally.negative[at];
            }
        for (std::size_t e = 0; e < n_edges; ++e) {
            const auto [i, j] = edges[e];
            const auto at = [&](int row, int column) { return row * d + column; };
            const auto part = [&](Mark mark) {
                return share * static_cast<double>(seen[3 * e + mark]);
            };
            average.directed[at(j, i)] += part(forward);
            average.directed[at(i, j)] += part(backward);
            average.bidirected[at(i, j)] += part(both);
            average.bidirected[at(j, i)] += part(both);
        }
    }
    return size;
}

}  // namespace bowfree
