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
    : d(d), own_coefficients(d * d), own_covariances(d * d) {
    all.push_back({1.0, std::move(S), std::vector<char>(d)});
}

JointData::JointData(std::vector<ConditionData> given, int d, bool constant)
    : d(d),
      constant(constant),
      own_coefficients(width() * width()),
      own_covariances(width() * width()) {
    const int w = width();
    const auto is_target = [](char target) { return target != 0; };
    int number = 0;
    for (ConditionData& condition : given) {
        condition.number = number++;
        if (std::none_of(condition.target.begin(), condition.target.end(), is_target))
            condition.kind = Kind::perfect;
        const auto& target = condition.target;
        has_own_ = has_own_ || condition.kind != Kind::perfect;
        for (int i = 0; i < d; ++i) {
            if (condition.kind != Kind::perfect)
                n_own_variances += use_of_variance(condition.kind, target[i]) == Use::own;
            if (constant && condition.kind != Kind::perfect)
                n_own_intercepts +=
                    use_of_coefficient(condition.kind, false, target[i]) == Use::own;
            for (int j = 0; j < d; ++j) {
                own_coefficients[i * w + j] +=
                    use_of_coefficient(condition.kind, target[i], target[j]) == Use::own;
                own_covariances[i * w + j] +=
                    use_of_covariance(condition.kind, target[i] || target[j]) == Use::own;
            }
        }
    }
    for (const ConditionData& condition : given)
        for (int t = 0; t < d; ++t) {
            if (condition.kind != Kind::perfect || !condition.target[t]) continue;
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
        all = std::move(given);
    } else {
        for (ConditionData& condition : given) {
            const auto same = std::find_if(all.begin(), all.end(), [&](const ConditionData& other) {
                return condition.kind == Kind::perfect && other.kind == Kind::perfect &&
                       other.target == condition.target;
            });
            if (same == all.end()) {
                for (double& entry : condition.S) entry *= condition.weight;
                all.push_back(std::move(condition));
            } else {
                add(same->S, condition.weight, condition.S);
                same->weight += condition.weight;
            }
        }
        for (ConditionData& condition : all)
            for (double& entry : condition.S) entry /= condition.weight;
    }
    plain_ = !constant && all.size() == 1 &&
             std::none_of(all[0].target.begin(), all[0].target.end(), is_target);
}

namespace {

/// Whether a condition has parameters of a district to itself.
bool has_own(const ConditionData& condition, const District& district) {
    if (condition.kind == Kind::perfect) return false;
    const auto target = [&](int j) { return condition.target[district.nodes[j]] != 0; };
    for (int v = 0; v < district.k; ++v) {
        if (use_of_variance(condition.kind, target(v)) == Use::own) return true;
        for (const int p : district.parents[v])
            if (use_of_coefficient(condition.kind, target(p), target(v)) == Use::own) return true;
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

bool JointData::parts(int v, const std::vector<int>& others) const {
    return std::any_of(all.begin(), all.end(), [&](const ConditionData& condition) {
        return condition.target[v] && std::any_of(others.begin(), others.end(),
                                                  [&](int q) { return !condition.target[q]; });
    });
}

std::vector<Pooled> pool(const JointData& conditions, const District& district) {
    const int m = district.m(), w = conditions.width();
    std::vector<Pooled> groups;
    std::vector<char> set(district.k);
    for (const ConditionData& condition : conditions.all) {
        for (int v = 0; v < district.k; ++v)
            set[v] = condition.kind == Kind::perfect && condition.target[district.nodes[v]];
        if (std::find(set.begin(), set.end(), 0) == set.end()) continue;  // it says nothing
        const bool own = has_own(condition, district);
        auto same = std::find_if(groups.begin(), groups.end(), [&](const Pooled& group) {
            return !own && group.condition < 0 && group.set == set;
        });
        if (same == groups.end())
            same = groups.insert(groups.end(), {0.0, set, std::vector<double>(m * m)});
        if (own) {
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
    for (Pooled& group : groups)
        for (double& entry : group.S) entry /= group.weight;
    return groups;
}

std::vector<int> left_alone_alike(const std::vector<Pooled>& groups, int k) {
    std::vector<int> first(k);
    for (int v = 0; v < k; ++v)
        while (first[v] < v &&
               std::any_of(
                   groups.begin(), groups.end(),
                   [&](const Pooled& group) { return group.set[first[v]] != group.set[v]; }))
            ++first[v];
    return first;
}

int count_own(const JointData& conditions, const District& district) {
    const auto& nodes = district.nodes;
    const int w = conditions.width();
    int own = 0;
    for (int v = 0; v < district.k; ++v)
        for (const int p : district.parents[v])
            own += conditions.own_coefficients[nodes[p] * w + nodes[v]];
    for (const auto& [a, b] : district.spouse_pairs)
        own += conditions.own_covariances[nodes[a] * w + nodes[b]];
    return own;
}

District members_left(const District& district, const std::vector<char>& set) {
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

District told_of(const District& district, const std::vector<Pooled>& groups) {
    District told = district;
    std::erase_if(told.spouse_pairs, [&](const std::pair<int, int>& pair) {
        return std::all_of(groups.begin(), groups.end(), [&](const Pooled& group) {
            return group.set[pair.first] || group.set[pair.second];
        });
    });
    return told;
}

}  // namespace bowfree
