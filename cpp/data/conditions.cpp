#include "data/conditions.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

#include "dense.hpp"

namespace bowfree {

namespace {

/// a += weight * b
void add(std::vector<double>& a, double weight, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += weight * b[i];
}

}  // namespace

JointData::JointData(std::vector<double> S, int d)
    : d(d), specific_coefficients(d * d), specific_covariances(d * d) {
    conditions.push_back({1.0, std::move(S), std::vector<char>(d)});
}

JointData::JointData(std::vector<ConditionData> given, int d, bool constant)
    : d(d),
      constant(constant),
      specific_coefficients(width() * width()),
      specific_covariances(width() * width()) {
    const int w = width();
    const auto is_target = [](char target) { return target != 0; };
    int number = 0;
    for (ConditionData& condition : given) {
        condition.number = number++;
        if (std::ranges::none_of(condition.target, is_target))
            condition.kind = InterventionKind::perfect;
        const auto& target = condition.target;
        has_specific_ = has_specific_ || condition.kind != InterventionKind::perfect;
        for (int i = 0; i < d; ++i) {
            if (condition.kind != InterventionKind::perfect)
                n_specific_variances +=
                    use_of_error(condition.kind, true, target[i]) == ParameterUse::specific;
            if (constant && condition.kind != InterventionKind::perfect)
                n_own_intercepts +=
                    use_of_coefficient(condition.kind, false, target[i]) == ParameterUse::specific;
            for (int j = 0; j < d; ++j) {
                specific_coefficients[i * w + j] +=
                    use_of_coefficient(condition.kind, target[i], target[j]) ==
                    ParameterUse::specific;
                specific_covariances[i * w + j] +=
                    use_of_error(condition.kind, false, target[i] || target[j]) ==
                    ParameterUse::specific;
            }
        }
    }
    for (const ConditionData& condition : given)
        for (int t = 0; t < d; ++t) {
            if (condition.kind != InterventionKind::perfect || !condition.target[t]) continue;
            const double* row = &condition.S[static_cast<std::ptrdiff_t>(t) * w];
            double variance = row[t];
            if (constant) variance -= row[d] * row[d];
            if (variance < rounding_share * row[t]) variance = 0.0;
            n_set += variance > 0.0;
            n_own_intercepts += constant && variance > 0.0;
            set_objective +=
                condition.weight *
                (variance > 0.0 ? std::log(variance) + 1.0 : -std::log(2.0 * std::numbers::pi));
        }
    if (given.size() == 1) {
        conditions = std::move(given);
    } else {
        for (ConditionData& condition : given) {
            const auto same = std::ranges::find_if(conditions, [&](const ConditionData& other) {
                return condition.kind == InterventionKind::perfect &&
                       other.kind == InterventionKind::perfect && other.target == condition.target;
            });
            if (same == conditions.end()) {
                for (double& entry : condition.S) entry *= condition.weight;
                conditions.push_back(std::move(condition));
            } else {
                add(same->S, condition.weight, condition.S);
                same->weight += condition.weight;
            }
        }
        for (ConditionData& condition : conditions)
            for (double& entry : condition.S) entry /= condition.weight;
    }
    is_observational_ =
        !constant && conditions.size() == 1 &&
        std::none_of(conditions[0].target.begin(), conditions[0].target.end(), is_target);
}

namespace {

/// Whether some parameters of a district are specific to a condition.
bool has_specific(const ConditionData& condition, const District& district) {
    if (condition.kind == InterventionKind::perfect) return false;
    const auto target = [&](int j) { return condition.target[district.nodes[j]] != 0; };
    for (int v = 0; v < district.k; ++v) {
        if (use_of_error(condition.kind, true, target(v)) == ParameterUse::specific) return true;
        for (const int p : district.parents[v])
            if (use_of_coefficient(condition.kind, target(p), target(v)) == ParameterUse::specific)
                return true;
    }
    return false;
}

}  // namespace

District JointData::district(const Graph& graph, const std::vector<int>& members) const {
    District made = make_district(graph, members);
    if (!constant) return made;
    for (std::vector<int>& row : made.parents) row.push_back(made.m());
    made.nodes.push_back(d);
    return made;
}

bool JointData::sets_without(int v, const std::vector<int>& others) const {
    return std::ranges::any_of(conditions, [&](const ConditionData& condition) {
        return condition.target[v] &&
               std::ranges::any_of(others, [&](int q) { return !condition.target[q]; });
    });
}

std::vector<ConditionGroup> pool_conditions(const JointData& data, const District& district) {
    const int m = district.m(), w = data.width();
    std::vector<ConditionGroup> groups;
    std::vector<char> set(district.k);
    for (const ConditionData& condition : data.conditions) {
        for (int v = 0; v < district.k; ++v)
            set[v] =
                condition.kind == InterventionKind::perfect && condition.target[district.nodes[v]];
        if (std::ranges::find(set, 0) == set.end()) continue;  // no information about the district
        const bool specific = has_specific(condition, district);
        auto same = std::ranges::find_if(groups, [&](const ConditionGroup& group) {
            return !specific && group.condition < 0 && group.set == set;
        });
        if (same == groups.end())
            same = groups.insert(groups.end(), {0.0, set, std::vector<double>(m * m)});
        if (specific) {
            same->condition = condition.number;
            same->kind = condition.kind;
            for (const int node : district.nodes) same->target.push_back(condition.target[node]);
        }
        same->weight += condition.weight;
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < m; ++j)
                same->S[i * m + j] +=
                    condition.weight * condition.S[district.nodes[i] * w + district.nodes[j]];
    }
    for (ConditionGroup& group : groups)
        for (double& entry : group.S) entry /= group.weight;
    return groups;
}

std::vector<int> first_with_same_groups(const std::vector<ConditionGroup>& groups, int k) {
    std::vector<int> first(k);
    for (int v = 0; v < k; ++v)
        while (first[v] < v && std::ranges::any_of(
                                   groups,
                                   [&](const ConditionGroup& group) {
                                       return group.set[first[v]] != group.set[v];
                                   }))
            ++first[v];
    return first;
}

int count_specific(const JointData& data, const District& district) {
    const auto& nodes = district.nodes;
    const int w = data.width();
    int total = 0;
    for (int v = 0; v < district.k; ++v)
        for (const int p : district.parents[v])
            total += data.specific_coefficients[nodes[p] * w + nodes[v]];
    for (const auto& [a, b] : district.spouse_pairs)
        total += data.specific_covariances[nodes[a] * w + nodes[b]];
    return total;
}

District unset_members(const District& district, const std::vector<char>& set) {
    District left;
    std::vector<int> local(district.m(), -1);
    const auto number = [&](int j) {
        local[j] = left.m();
        left.nodes.push_back(j);
    };
    for (int v = 0; v < district.k; ++v)
        if (!set[v]) number(v);
    left.k = left.m();
    std::vector<char> needed(district.m());
    for (int v = 0; v < left.k; ++v)
        for (const int p : district.parents[left.nodes[v]]) needed[p] = local[p] < 0;
    for (int j = 0; j < district.m(); ++j)
        if (needed[j]) number(j);
    left.parents.resize(left.k);
    for (int v = 0; v < left.k; ++v) {
        for (const int p : district.parents[left.nodes[v]]) left.parents[v].push_back(local[p]);
        std::sort(left.parents[v].begin(), left.parents[v].end());
    }
    for (const auto& [a, b] : district.spouse_pairs)
        if (!set[a] && !set[b]) left.spouse_pairs.emplace_back(local[a], local[b]);
    return left;
}

District without_uninformed_pairs(const District& district,
                                  const std::vector<ConditionGroup>& groups) {
    District informed = district;
    std::erase_if(informed.spouse_pairs, [&](const std::pair<int, int>& pair) {
        return std::ranges::all_of(groups, [&](const ConditionGroup& group) {
            return group.set[pair.first] || group.set[pair.second];
        });
    });
    return informed;
}

}  // namespace bowfree
