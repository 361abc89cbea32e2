#include "graph/district.hpp"

#include <algorithm>
#include <numeric>

#include "graph/edge.hpp"

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

District expand(const District& district, const std::vector<int>& sizes) {
    District columns;
    std::vector<int> local, first(sizes.size());  // the first column of each local and global node
    std::exclusive_scan(sizes.begin(), sizes.end(), first.begin(), 0);
    for (int j = 0; j < district.m(); ++j) {
        const int node = district.nodes[j];
        local.push_back(columns.m());
        for (int c = 0; c < sizes[node]; ++c) columns.nodes.push_back(first[node] + c);
        if (j < district.k) columns.k = columns.m();
    }
    const auto size = [&](int j) { return sizes[district.nodes[j]]; };
    for (int v = 0; v < district.k; ++v) {
        std::vector<int> parents;
        for (const int p : district.parents[v])
            for (int c = 0; c < size(p); ++c) parents.push_back(local[p] + c);
        for (int c = 0; c < size(v); ++c) {
            columns.parents.push_back(parents);
            for (int b = 0; b < c; ++b)
                columns.spouse_pairs.emplace_back(local[v] + b, local[v] + c);
        }
    }
    for (const auto& [a, b] : district.spouse_pairs)
        for (int c = 0; c < size(a); ++c)
            for (int e = 0; e < size(b); ++e)
                columns.spouse_pairs.emplace_back(local[a] + c, local[b] + e);
    std::ranges::sort(columns.spouse_pairs);
    return columns;
}

Graph expand(const Graph& graph, const std::vector<int>& sizes) {
    std::vector<int> first(sizes.size() + 1);
    std::partial_sum(sizes.begin(), sizes.end(), first.begin() + 1);
    Graph columns(first.back());
    for (int v = 0; v < graph.d(); ++v)
        for (int column = first[v]; column < first[v + 1]; ++column) {
            for (int before = first[v]; before < column; ++before)
                set_edge(columns, before, column, Edge::bidirected);
            for (int u = 0; u < v; ++u)
                for (int other = first[u]; other < first[u + 1]; ++other)
                    set_edge(columns, other, column, get_edge(graph, u, v));
        }
    return columns;
}

}  // namespace bowfree
