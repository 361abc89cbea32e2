#include "graph/district.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "graph/edge.hpp"
#include "rng.hpp"

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

int count_edges(const District& district) {
    auto total = district.spouse_pairs.size();
    for (const auto& parents : district.parents) total += parents.size();
    return static_cast<int>(total);
}

namespace {

/// Gauss-Jordan elimination of the first `pivots` columns, with row exchanges; returns the rank.
int eliminate(std::vector<std::vector<double>>& rows, int pivots) {
    constexpr double zero = 1e-9;  // entries are of order one
    std::size_t rank = 0;
    for (int c = 0; c < pivots && rank < rows.size(); ++c) {
        const auto largest = std::max_element(
            rows.begin() + static_cast<std::ptrdiff_t>(rank), rows.end(),
            [&](const auto& a, const auto& b) { return std::abs(a[c]) < std::abs(b[c]); });
        if (std::abs((*largest)[c]) < zero) continue;
        std::swap(rows[rank], *largest);
        const auto& pivot = rows[rank];
        for (std::size_t r = 0; r < rows.size(); ++r) {
            if (r == rank) continue;
            const double factor = rows[r][c] / pivot[c];
            for (std::size_t k = 0; k < pivot.size(); ++k) rows[r][k] -= factor * pivot[k];
        }
        ++rank;
    }
    return static_cast<int>(rank);
}

}  // namespace

// As in bowfree.graph.identification: B is determined by the entries (i, j) of
// (I - B) Sigma (I - B)^T that must be zero, and their derivatives are entries of
// G = (I - B)^-1 Omega. Parents outside the district have free covariances.
int count_unidentified(const District& district) {
    const auto is_parent = [&](int a, int b) {
        return std::ranges::binary_search(district.parents[b], a);
    };
    if (std::ranges::none_of(district.spouse_pairs, [&](const auto& pair) {
            return is_parent(pair.first, pair.second) || is_parent(pair.second, pair.first);
        }))
        return 0;
    const int k = district.k, m = district.m();
    Rng rng(2012);
    std::vector<std::vector<double>> G(m, std::vector<double>(2 * m));  // [I - B | Omega]
    std::vector<std::pair<int, int>> arrows;                            // tail, head
    for (int i = 0; i < m; ++i) {
        G[i][i] = 1.0;
        G[i][m + i] = 1.0 + rng.uniform();
        for (int j = k; j < i; ++j) G[i][m + j] = G[j][m + i] = rng.uniform() / m;
    }
    std::vector<char> free(static_cast<std::size_t>(m) * m);
    for (const auto& [a, b] : district.spouse_pairs) {
        G[a][m + b] = G[b][m + a] = rng.uniform() / m;
        free[a * m + b] = true;
    }
    for (int v = 0; v < k; ++v)
        for (const int p : district.parents[v]) {
            G[v][p] = -0.5 - rng.uniform();
            arrows.emplace_back(p, v);
        }
    eliminate(G, m);
    for (int i = 0; i < m; ++i)
        for (int j = m; j < 2 * m; ++j) G[i][j] /= G[i][i];
    std::vector<std::vector<double>> zeros;
    for (int i = 0; i < k; ++i)
        for (int j = i + 1; j < m; ++j) {
            if (free[i * m + j]) continue;
            auto& row = zeros.emplace_back();
            for (const auto& [tail, head] : arrows)
                row.push_back((head == i ? G[tail][m + j] : 0.0) +
                              (head == j ? G[tail][m + i] : 0.0));
            const double scale = std::abs(*std::ranges::max_element(
                row, [](double a, double b) { return std::abs(a) < std::abs(b); }));
            if (scale > 0.0)
                for (double& x : row) x /= scale;
        }
    const int n = static_cast<int>(arrows.size());
    return n - eliminate(zeros, n);
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
