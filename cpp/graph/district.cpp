#include "graph/district.hpp"

#include <algorithm>

namespace bowfree {

District make_district(const Graph& graph, const std::vector<int>& members) {
    District district;
    district.k = static_cast<int>(members.size());
    district.nodes = members;

    // Local numbers: members first, then the parents outside, ascending.
    std::vector<int> local(graph.d(), -1);
    for (int v = 0; v < district.k; ++v) local[members[v]] = v;
    for (int v : members)
        for_each_node(graph.parents(v), graph.words(), [&](int p) {
            if (local[p] != -1) return;
            local[p] = district.k;  // marks it; the number follows when all are listed
            district.nodes.push_back(p);
        });
    std::sort(district.nodes.begin() + district.k, district.nodes.end());
    for (int j = district.k; j < district.m(); ++j) local[district.nodes[j]] = j;

    district.parents.resize(district.k);
    for (int v = 0; v < district.k; ++v) {
        for_each_node(graph.parents(members[v]), graph.words(),
                      [&](int p) { district.parents[v].push_back(local[p]); });
        std::sort(district.parents[v].begin(), district.parents[v].end());
        for_each_node(graph.spouses(members[v]), graph.words(), [&](int w) {
            if (local[w] > v) district.spouse_pairs.emplace_back(v, local[w]);
        });
    }
    return district;
}

}  // namespace bowfree
