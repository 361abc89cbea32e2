#include "model/peeling.hpp"

#include <algorithm>

namespace bowfree {

namespace {

std::vector<std::vector<int>> spouse_lists(const District& district) {
    std::vector<std::vector<int>> spouses(district.k);
    for (const auto& [a, b] : district.spouse_pairs) {
        spouses[a].push_back(b);
        spouses[b].push_back(a);
    }
    return spouses;  // ascending, because the pairs are in lexicographic order
}

bool includes(const std::vector<int>& larger, const std::vector<int>& smaller) {
    return std::includes(larger.begin(), larger.end(), smaller.begin(), smaller.end());
}

/// The district of the given members and outside nodes (local numbers of `district`, both in the
/// order wanted), with the edges among them.
District part(const District& district, const std::vector<int>& members,
              const std::vector<int>& outside) {
    District result;
    result.k = static_cast<int>(members.size());
    std::vector<int> local(district.m(), -1);
    for (const auto* group : {&members, &outside})
        for (const int j : *group) {
            local[j] = result.m();
            result.nodes.push_back(district.nodes[j]);
        }
    for (const int v : members) {
        auto& row = result.parents.emplace_back();
        for (const int p : district.parents[v]) row.push_back(local[p]);
        std::sort(row.begin(), row.end());
    }
    for (const auto& [a, b] : district.spouse_pairs)
        if (local[a] >= 0 && local[b] >= 0 && local[a] < result.k && local[b] < result.k)
            result.spouse_pairs.emplace_back(local[a], local[b]);
    return result;
}

/// Sorts local numbers by the nodes that they stand for.
void sort_by_node(std::vector<int>& numbers, const District& district) {
    std::sort(numbers.begin(), numbers.end(),
              [&](int a, int b) { return district.nodes[a] < district.nodes[b]; });
}

}  // namespace

std::optional<int> peelable(const District& district) {
    if (district.k < 2) return std::nullopt;
    const auto spouses = spouse_lists(district);
    for (int v = 0; v < district.k; ++v) {
        const bool fits = std::all_of(spouses[v].begin(), spouses[v].end(), [&](int q) {
            if (!includes(district.parents[q], district.parents[v])) return false;
            return std::all_of(spouses[v].begin(), spouses[v].end(), [&](int r) {
                return r == q || std::binary_search(spouses[q].begin(), spouses[q].end(), r);
            });
        });
        if (fits) return v;
    }
    return std::nullopt;
}

District alone(const District& district, int v) {
    std::vector<int> outside = district.parents[v];
    sort_by_node(outside, district);
    return part(district, {v}, outside);
}

District without(const District& district, int v) {
    District read = district;  // with v -> q for v <-> q
    for (const auto& [a, b] : district.spouse_pairs) {
        if (a != v && b != v) continue;
        auto& row = read.parents[a == v ? b : a];
        row.insert(std::upper_bound(row.begin(), row.end(), v), v);
    }
    std::vector<int> members, outside{v};
    for (int u = 0; u < district.k; ++u)
        if (u != v) members.push_back(u);
    for (int j = district.k; j < district.m(); ++j) outside.push_back(j);
    sort_by_node(outside, district);
    return part(read, members, outside);
}

}  // namespace bowfree
