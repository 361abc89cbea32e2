#include "model/peeling.hpp"

#include <algorithm>
#include <cstddef>

namespace bowfree {

namespace {

bool includes(const std::vector<int>& larger, const std::vector<int>& smaller) {
    return std::ranges::includes(larger, smaller);
}

/// The district of the given members and outside nodes (local numbers of `district`, in the order
/// of the result), with the edges among them. Spouses of `parent` get it as a parent.
District part(const District& district, const std::vector<int>& members,
              const std::vector<int>& outside, int parent = -1) {
    District result;
    result.k = static_cast<int>(members.size());
    result.nodes.reserve(members.size() + outside.size());
    std::vector<int> local(district.m(), -1);
    for (const auto* group : {&members, &outside})
        for (const int j : *group) {
            local[j] = result.m();
            result.nodes.push_back(district.nodes[j]);
        }
    result.parents.resize(result.k);
    for (int v = 0; v < result.k; ++v) {
        const std::vector<int>& given = district.parents[members[v]];
        result.parents[v].reserve(given.size() + (parent >= 0));
        for (const int p : given) result.parents[v].push_back(local[p]);
    }
    for (const auto& [a, b] : district.spouse_pairs) {
        if (a == parent || b == parent)
            result.parents[local[a == parent ? b : a]].push_back(local[parent]);
        else if (local[a] >= 0 && local[b] >= 0 && local[a] < result.k && local[b] < result.k)
            result.spouse_pairs.emplace_back(local[a], local[b]);
    }
    for (std::vector<int>& row : result.parents) {
        std::ranges::sort(row);
        const auto repeated = std::ranges::unique(row);  // v -> q and v <-> q
        row.erase(repeated.begin(), repeated.end());
    }
    return result;
}

/// Sorts local numbers by their nodes.
void sort_by_node(std::vector<int>& numbers, const District& district) {
    std::ranges::sort(numbers, [&](int a, int b) { return district.nodes[a] < district.nodes[b]; });
}

}  // namespace

std::optional<int> peelable(const District& district, const JointData* conditions) {
    const int k = district.k;
    if (k < 2 || (conditions && conditions->has_specific())) return std::nullopt;
    std::vector<char> spouses(static_cast<std::size_t>(k) * k);
    const auto are_spouses = [&](int a, int b) -> char& {
        return spouses[static_cast<std::size_t>(a) * k + b];
    };
    for (const auto& [a, b] : district.spouse_pairs) are_spouses(a, b) = are_spouses(b, a) = true;
    const auto blocks = [&](int v) {  // a condition sets v but not all of its spouses
        std::vector<int> others;
        for (int q = 0; q < k; ++q)
            if (are_spouses(v, q)) others.push_back(district.nodes[q]);
        return conditions->sets_without(district.nodes[v], others);
    };
    const auto fits = [&](int v) {
        if (conditions && blocks(v)) return false;
        for (int q = 0; q < k; ++q) {
            if (!are_spouses(v, q)) continue;
            if (!includes(district.parents[q], district.parents[v])) return false;
            for (int r = 0; r < q; ++r)
                if (are_spouses(v, r) && !are_spouses(q, r)) return false;
        }
        return true;
    };
    for (int v = 0; v < k; ++v)
        if (fits(v)) return v;
    return std::nullopt;
}

District alone(const District& district, int v) {
    std::vector<int> outside = district.parents[v];
    sort_by_node(outside, district);
    return part(district, {v}, outside);
}

District without(const District& district, int v) {
    std::vector<int> members, outside{v};
    members.reserve(district.k);
    outside.reserve(district.m());
    for (int u = 0; u < district.k; ++u)
        if (u != v) members.push_back(u);
    for (int j = district.k; j < district.m(); ++j) outside.push_back(j);
    sort_by_node(outside, district);
    return part(district, members, outside, v);
}

}  // namespace bowfree
