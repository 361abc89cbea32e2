#include "model/standardized.hpp"

#include <algorithm>
#include <cmath>

#include "dense.hpp"

namespace bowfree {

namespace {

// The number of bits of rounded correlations: the rounding is far coarser than the errors of the
// correlations, and far below the smallest pivot of their Cholesky factor.
constexpr int fewest_bits = 26, most_bits = 40, bits_below_pivot = 12;

/// The Cholesky factor of a covariance matrix that may be singular, of variables with variances up
/// to about one; a variance of zero is replaced by one at the level of rounding.
std::vector<double> factor(std::vector<double> S, int m) {
    for (int i = 0; i < m; ++i) S[i * m + i] = std::max(S[i * m + i], rounding_share);
    (void)cholesky_of_singular(S.data(), m, rounding_share);
    return S;
}

}  // namespace

StandardizedDistrict::StandardizedDistrict(const JointData& conditions)
    : cov_(conditions.conditions[0].S.data()), d_(conditions.width()) {
    if (!conditions.is_observational()) conditions_ = &conditions;
}

bool StandardizedDistrict::gather(const District& district) {
    if (!conditions_) return true;
    const int m = district.m();
    gathered_ = pool_conditions(*conditions_, district);
    share_ = 0.0;
    for (const ConditionGroup& group : gathered_) share_ += group.weight;
    for (ConditionGroup& group : gathered_) group.weight /= share_;
    if (gathered_.size() != 1 ||
        std::find(gathered_[0].set.begin(), gathered_[0].set.end(), 1) != gathered_[0].set.end())
        return false;
    pooled_.resize(static_cast<std::size_t>(d_) * d_);
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j)
            pooled_[static_cast<std::ptrdiff_t>(district.nodes[i]) * d_ + district.nodes[j]] =
                gathered_[0].S[i * m + j];
    cov_ = pooled_.data();
    gathered_.clear();
    return true;
}

bool StandardizedDistrict::standardize(const District& given) {
    if (!single()) {
        standardize_groups(given);
        return factorize();
    }
    const int m = given.m();
    const std::vector<int>& nodes = given.nodes;
    sd_.resize(m);
    R_.resize(m * m);
    for (int i = 0; i < m; ++i) {
        const double* row = cov_ + static_cast<std::ptrdiff_t>(nodes[i]) * d_;
        sd_[i] = std::sqrt(row[nodes[i]]);
        for (int j = 0; j < i; ++j)
            R_[i * m + j] = R_[j * m + i] = row[nodes[j]] / (sd_[i] * sd_[j]);
        R_[i * m + i] = 1.0;
    }
    canonical_.compute(given, R_.data());
    apply_order();
    return factorize();
}

/// Scales and orders the variables by the pooled covariance matrix of all groups.
void StandardizedDistrict::standardize_groups(const District& given) {
    const int k = given.k, m = given.m();
    std::vector<double> S(m * m);
    for (const ConditionGroup& group : gathered_)
        axpy(group.weight, group.S.data(), S.data(), m * m);
    sd_.resize(m);
    R_.resize(m * m);
    for (int i = 0; i < m; ++i) sd_[i] = std::sqrt(S[i * m + i]);
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j) R_[i * m + j] = S[i * m + j] / (sd_[i] * sd_[j]);
    canonical_.compute(without_uninformed_pairs(given, gathered_), R_.data());
    apply_order();

    const std::vector<int>& order = canonical_.original();
    ordered_.clear();
    ordered_.reserve(gathered_.size());  // the groups refer to them
    for (const ConditionGroup& group : gathered_) {
        ConditionGroup& ordered = ordered_.emplace_back(group.weight, std::vector<char>(k), S_,
                                                        group.condition, group.kind, group.target);
        for (std::size_t j = 0; j < group.target.size(); ++j)
            ordered.target[j] = group.target[order[j]];
        for (int v = 0; v < k; ++v) ordered.set[v] = group.set[order[v]];
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < m; ++j)
                ordered.S[i * m + j] =
                    group.S[order[i] * m + order[j]] / (sd_[order[i]] * sd_[order[j]]);
    }
    make_groups();
}

/// Computes S, which is R in canonical order.
void StandardizedDistrict::apply_order() {
    const std::vector<int>& order = canonical_.original();
    const int m = static_cast<int>(order.size());
    S_.resize(m * m);
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j) S_[i * m + j] = R_[order[i] * m + order[j]];
}

/// Computes the moments of the groups, for the objective and for starts.
void StandardizedDistrict::make_groups() {
    const int m = district().m();
    pool_by_member();
    groups_.clear();
    for (const ConditionGroup& ordered : ordered_) {
        GroupMoments& kernel = groups_.emplace_back();
        kernel.weight = ordered.weight;
        kernel.district = unset_members(district(), ordered.set);
        for (const int i : kernel.district.nodes)
            for (const int j : kernel.district.nodes) kernel.S.push_back(ordered.S[i * m + j]);
        kernel.X = factor(kernel.S, kernel.district.m());
        kernel.source = &ordered;
    }
}

/// Computes the matrices of `regression_covariance`; members with the same groups share one.
void StandardizedDistrict::pool_by_member() {
    const int k = district().k, m = district().m();
    same_groups_ = first_with_same_groups(ordered_, k);
    regression_S_.resize(k);
    for (int v = 0; v < k; ++v) {
        if (same_groups_[v] != v) continue;
        regression_S_[v].assign(m * m, 0.0);
        double weight = 0.0;
        for (const ConditionGroup& ordered : ordered_) {
            if (ordered.set[v]) continue;
            axpy(ordered.weight, ordered.S.data(), regression_S_[v].data(), m * m);
            weight += ordered.weight;
        }
        for (double& entry : regression_S_[v]) entry /= weight;
    }
}

bool StandardizedDistrict::round_off() {
    const int m = district().m();
    double smallest = 1.0;  // pivot
    for (int i = 0; i < m; ++i) smallest = std::min(smallest, X_[i * m + i] * X_[i * m + i]);
    const int bits = std::max(fewest_bits, bits_below_pivot - std::ilogb(smallest));
    if (bits > most_bits) return false;
    const auto shorten = [&](std::vector<double>& matrix) {
        for (double& entry : matrix)
            entry = std::ldexp(std::nearbyint(std::ldexp(entry, bits)), -bits);
    };
    shorten(S_);
    for (ConditionGroup& group : ordered_) shorten(group.S);
    if (!single()) make_groups();
    return factorize();
}

/// Computes X from S. Returns whether S is positive definite beyond rounding.
bool StandardizedDistrict::factorize() {
    X_ = S_;
    return cholesky_of_singular(X_.data(), district().m(), rounding_share) == 0;
}

}  // namespace bowfree
