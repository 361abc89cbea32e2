#include "model/group_sweeps.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dense.hpp"

namespace bowfree {

namespace {

/// The members that a group sets, or does not set.
std::vector<int> members_with(const ConditionGroup& group, bool set) {
    std::vector<int> members;
    for (std::size_t v = 0; v < group.set.size(); ++v)
        if ((group.set[v] != 0) == set) members.push_back(static_cast<int>(v));
    return members;
}

/// A submatrix of a k x k matrix.
std::vector<double> block(const std::vector<double>& matrix, int k, const std::vector<int>& rows,
                          const std::vector<int>& columns) {
    std::vector<double> taken;
    taken.reserve(rows.size() * columns.size());
    for (const int i : rows)
        for (const int j : columns) taken.push_back(matrix[i * k + j]);
    return taken;
}

}  // namespace

void GroupSweeps::reset(const District& district, const std::vector<ConditionGroup>& groups,
                        const Stop* stop) {
    district_ = &district;
    groups_ = &groups;
    stop_ = stop;
    k_ = district.k;
    m_ = district.m();
    has_specific_ = std::ranges::any_of(
        groups, [](const ConditionGroup& group) { return group.condition >= 0; });
    A_.resize(k_ * m_);
    Omega_.resize(k_ * k_);
    regressed_.k = k_;
    regressed_.parents.assign(k_, {});
    regressed_.spouse_pairs = district.spouse_pairs;
    tail_.clear();
    head_.clear();
    const std::vector<int> same = first_with_same_groups(groups, k_);
    std::vector<int> place(k_ * m_, -1);  // of the regressor x_p for v, among all variables
    for (int v = 0; v < k_; ++v)
        for (const int p : district.parents[v]) {
            int& its = place[same[v] * m_ + p];
            if (its < 0) {
                its = k_ + static_cast<int>(tail_.size());
                tail_.push_back(p);
                head_.push_back(same[v]);
            }
            regressed_.parents[v].push_back(its);
        }
    regressed_.nodes.resize(k_ + tail_.size());
    std::iota(regressed_.nodes.begin(), regressed_.nodes.end(), 0);
}

/// Mean products of residuals, for each pair over the groups that set neither; zero if there are
/// none.
std::vector<double> GroupSweeps::residual_moments() const {
    std::vector<double> E(k_ * k_), weight(k_ * k_), AS(k_ * m_);
    for (const ConditionGroup& group : *groups_) {
        const std::vector<int> left = members_with(group, false);
        for (const int v : left) {
            if (stop_) stop_->check();
            for (int j = 0; j < m_; ++j) AS[v * m_ + j] = dot(&A_[v * m_], &group.S[j * m_], m_);
        }
        for (const int v : left)
            for (const int w : left) {
                E[v * k_ + w] += group.weight * dot(&AS[v * m_], &A_[w * m_], m_);
                weight[v * k_ + w] += group.weight;
            }
    }
    for (int i = 0; i < k_ * k_; ++i)
        if (weight[i] > 0.0) E[i] /= weight[i];
    return E;
}

void GroupSweeps::start(const double* B) {
    for (int v = 0; v < k_; ++v)
        for (int j = 0; j < m_; ++j) A_[v * m_ + j] = (v == j ? 1.0 : 0.0) - B[v * m_ + j];
    const std::vector<double> E = residual_moments();
    std::ranges::fill(Omega_, 0.0);
    for (int v = 0; v < k_; ++v) Omega_[v * k_ + v] = std::max(E[v * k_ + v], rounding_share);
}

void GroupSweeps::correlate_errors() {
    const double before = objective();
    const std::vector<double> E = residual_moments();
    for (double share : {1.0, 0.8, 0.6, 0.4, 0.2, 0.0}) {
        for (auto [a, b] : district_->spouse_pairs)
            Omega_[a * k_ + b] = Omega_[b * k_ + a] = share * E[a * k_ + b];
        if (objective() < before) break;
    }
}

bool GroupSweeps::start(const double* A, const double* Omega) {
    A_.assign(A, A + k_ * m_);
    Omega_.assign(Omega, Omega + k_ * k_);
    std::vector<double> L = Omega_;
    return cholesky(L.data(), k_) == k_;
}

/// F, or infinity when Omega is not positive definite.
double GroupSweeps::objective() const {
    std::vector<double> whole = Omega_;
    if (cholesky(whole.data(), k_) < k_) return infinity;
    double F = 0.0;
    for (const ConditionGroup& group : *groups_) {
        const std::vector<int> left = members_with(group, false);
        const int r = static_cast<int>(left.size());
        std::vector<double> L = block(Omega_, k_, left, left), AS(r * m_), E(r * r);
        if (cholesky(L.data(), r) < r) return infinity;
        for (int a = 0; a < r; ++a) {
            if (stop_) stop_->check();
            for (int j = 0; j < m_; ++j)
                AS[a * m_ + j] = dot(&A_[left[a] * m_], &group.S[j * m_], m_);
        }
        for (int a = 0; a < r; ++a)
            for (int b = 0; b < r; ++b) E[a * r + b] = dot(&AS[a * m_], &A_[left[b] * m_], m_);
        solve_factored(L.data(), r, E.data(), r);
        double own = 0.0;
        for (int a = 0; a < r; ++a) own += 2.0 * std::log(L[a * r + a]) + E[a * r + a];
        F += group.weight * own;
    }
    return F;
}

/// Computes the completed moments of responses and regressors under the current A and Omega.
bool GroupSweeps::complete() {
    const int size = regressed_.m(), n_regressors = size - k_;
    moments_.clear();
    resize_large(moments_, static_cast<std::size_t>(size) * size, stop_);
    std::vector<double> with_x(k_ * m_), own(k_ * k_);
    for (const ConditionGroup& group : *groups_) {
        const std::vector<int> left = members_with(group, false), set = members_with(group, true);
        const int r = static_cast<int>(left.size()), s = static_cast<int>(set.size());
        // `with_x`: covariances of responses with variables; `own`: of responses with each other.
        for (const int v : left)
            for (int j = 0; j < m_; ++j) with_x[v * m_ + j] = group.S[v * m_ + j];
        if (s > 0) {
            std::vector<double> L = block(Omega_, k_, left, left);
            std::vector<double> K = block(Omega_, k_, left, set);  // becomes Omega_RR^-1 Omega_RT
            if (cholesky(L.data(), r) < r) return false;
            solve_factored(L.data(), r, K.data(), s);
            for (int t = 0; t < s; ++t) {
                // The imputed error is a linear form in the variables: row t of K^T A_R.
                std::vector<double> form(m_);
                for (int a = 0; a < r; ++a) axpy(K[a * s + t], &A_[left[a] * m_], form.data(), m_);
                for (int j = 0; j < m_; ++j)
                    with_x[set[t] * m_ + j] = dot(form.data(), &group.S[j * m_], m_);
                for (int u = 0; u < s; ++u) {
                    double known = 0.0, explained = 0.0;
                    for (int a = 0; a < r; ++a) {
                        known += K[a * s + u] * dot(&with_x[set[t] * m_], &A_[left[a] * m_], m_);
                        explained += K[a * s + u] * Omega_[left[a] * k_ + set[t]];
                    }
                    own[set[t] * k_ + set[u]] = known + Omega_[set[t] * k_ + set[u]] - explained;
                }
                for (const int v : left)
                    own[set[t] * k_ + v] = own[v * k_ + set[t]] = with_x[set[t] * m_ + v];
            }
        }
        for (const int v : left)
            for (const int w : left) own[v * k_ + w] = group.S[v * m_ + w];
        for (int v = 0; v < k_; ++v) axpy(group.weight, &own[v * k_], &moments_[v * size], k_);
        for (int c = 0; c < n_regressors; ++c) {
            if (group.set[head_[c]]) continue;
            if (stop_) stop_->check();
            double* row = &moments_[static_cast<std::size_t>(k_ + c) * size];
            for (int v = 0; v < k_; ++v) {
                row[v] += group.weight * with_x[v * m_ + tail_[c]];
                moments_[static_cast<std::size_t>(v) * size + k_ + c] = row[v];
            }
            for (int other = 0; other < n_regressors; ++other)
                if (!group.set[head_[other]])
                    row[k_ + other] += group.weight * group.S[tail_[c] * m_ + tail_[other]];
        }
    }
    return true;
}

bool GroupSweeps::update(int v) {
    if (stop_) stop_->check();
    if (has_specific_ || !complete()) return false;
    const int size = regressed_.m();
    regressed_A_.assign(static_cast<std::size_t>(k_) * size, 0.0);
    for (int w = 0; w < k_; ++w) {
        regressed_A_[w * size + w] = 1.0;
        for (const int r : regressed_.parents[w])
            regressed_A_[w * size + r] = A_[w * m_ + tail_[r - k_]];
    }
    ricf_.reset(regressed_, moments_.data(), stop_);
    if (!ricf_.start(regressed_A_.data(), Omega_.data())) return false;
    const bool done = v < 0 ? ricf_.sweep() : ricf_.step(v);
    for (int w = 0; w < k_; ++w)
        for (const int r : regressed_.parents[w])
            A_[w * m_ + tail_[r - k_]] = ricf_.A()[w * size + r];
    Omega_ = ricf_.Omega();
    return done;
}

}  // namespace bowfree
