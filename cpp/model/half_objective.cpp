#include "model/half_objective.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "dense.hpp"

namespace bowfree {

void ScaledParameters::list(const District& district) {
    entries.clear();
    for (int v = 0; v < district.k; ++v) {
        entries.push_back({v, v});
        for (const int p : district.parents[v]) entries.push_back({v, p});
    }
    n_rows = size();
    for (const auto& [a, b] : district.spouse_pairs) entries.push_back({a, b});
}

void HalfObjective::reset(const District& district, const double* S, const double* X,
                          const Stop* stop) {
    S_ = S;
    X_ = X;
    stop_ = stop;
    k_ = district.k;
    m_ = district.m();
    parameters_.list(district);
    n_rows_ = parameters_.n_rows;
    n_ = parameters_.size();
    for (auto* matrix : {&L_, &W_, &Q_}) matrix->resize(k_ * k_);
    for (auto* matrix : {&T_, &WY_, &G_}) matrix->resize(k_ * m_);
}

/// Stores L, the Cholesky factor of R, and T = L^-1 A X for `differentiate`.
double HalfObjective::evaluate(const double* theta) {
    if (stop_) stop_->check();
    std::ranges::fill(L_, 0.0);
    for (int v = 0; v < k_; ++v) L_[v * k_ + v] = 1.0;
    for (int i = n_rows_; i < n_; ++i)
        L_[parameters_.entries[i].column * k_ + parameters_.entries[i].row] = theta[i];
    if (cholesky(L_.data(), k_) < k_) return infinity;

    std::ranges::fill(T_, 0.0);
    double value = 0.0, product = 1.0;
    for (int i = 0; i < n_rows_; ++i) {
        const auto [v, j] = parameters_.entries[i];
        axpy(theta[i], X_ + j * m_, &T_[v * m_], j + 1);  // row j of X ends at its diagonal
        if (v != j) continue;
        if (!(theta[i] > 0.0)) return infinity;
        product *= L_[v * k_ + v] / theta[i];
        if (v % 8 == 7) value += std::log(std::exchange(product, 1.0));  // one logarithm for eight
    }
    value += std::log(product);
    solve_lower(L_.data(), k_, T_.data(), m_);
    value += 0.5 * dot(T_.data(), T_.data(), k_ * m_);
    return std::isfinite(value) ? value : infinity;
}

/// With W = R^-1, G = W A S and Q = W A S A^T W:
///     df/dA_vj = G_vj - [v = j] / u_v               df/dR_ab = W_ab - Q_ab
///     d2f/dA_vj dA_wl = W_vw S_jl + [v = w = j = l] / u_v^2
///     d2f/dA_vj dR_ab = -(W_va G_bj + W_vb G_aj)
///     d2f/dR_ab dR_cd = -(W_ac W_bd + W_ad W_bc) + W_ac Q_bd + W_ad Q_bc + Q_ac W_bd + Q_ad W_bc
void HalfObjective::differentiate(const double* theta, double* gradient, double* hessian) {
    invert_factored(L_.data(), k_, W_);
    WY_ = T_;  // becomes W A X
    solve_lower_transposed(L_.data(), k_, WY_.data(), m_);
    for (int v = 0; v < k_; ++v) {
        for (int j = 0; j < m_; ++j) G_[v * m_ + j] = dot(&WY_[v * m_], X_ + j * m_, j + 1);
        for (int w = 0; w <= v; ++w)
            Q_[v * k_ + w] = Q_[w * k_ + v] = dot(&WY_[v * m_], &WY_[w * m_], m_);
    }

    for (int i = 0; i < n_rows_; ++i) {
        const auto [v, j] = parameters_.entries[i];
        gradient[i] = G_[v * m_ + j];
        if (v == j) gradient[i] -= 1.0 / theta[i];
    }
    for (int i = n_rows_; i < n_; ++i) {
        const auto [a, b] = parameters_.entries[i];
        gradient[i] = W_[a * k_ + b] - Q_[a * k_ + b];
    }
    if (!hessian) return;

    for (int i = 0; i < n_rows_; ++i) {
        const auto [v, j] = parameters_.entries[i];
        if (stop_) stop_->check();
        double* H = hessian + static_cast<std::ptrdiff_t>(i) * n_;
        const double *Wv = &W_[v * k_], *Sj = S_ + j * m_;
        for (int c = 0; c <= i; ++c)
            H[c] = Wv[parameters_.entries[c].row] * Sj[parameters_.entries[c].column];
        if (v == j) H[i] += 1.0 / (theta[i] * theta[i]);
    }
    for (int i = n_rows_; i < n_; ++i) {
        const auto [a, b] = parameters_.entries[i];
        if (stop_) stop_->check();
        double* H = hessian + static_cast<std::ptrdiff_t>(i) * n_;
        const double *Wa = &W_[a * k_], *Wb = &W_[b * k_], *Qa = &Q_[a * k_], *Qb = &Q_[b * k_];
        const double *Ga = &G_[a * m_], *Gb = &G_[b * m_];
        for (int c = 0; c < n_rows_; ++c) {
            const auto [v, j] = parameters_.entries[c];
            H[c] = -(Wa[v] * Gb[j] + Wb[v] * Ga[j]);
        }
        for (int r = n_rows_; r <= i; ++r) {
            const auto [c, d] = parameters_.entries[r];
            H[r] =
                Wa[c] * (Qb[d] - Wb[d]) + Wa[d] * (Qb[c] - Wb[c]) + Qa[c] * Wb[d] + Qa[d] * Wb[c];
        }
    }
}

void HalfObjective::add_variances(const double* theta, double weight, const std::vector<int>& rows,
                                  double* variances) {
    std::ranges::fill(T_, 0.0);
    for (int i = 0; i < n_rows_; ++i) {
        const auto [v, j] = parameters_.entries[i];
        axpy(theta[i], X_ + j * m_, &T_[v * m_], j + 1);
    }
    for (int v = 0; v < k_; ++v) variances[rows[v]] += weight * dot(&T_[v * m_], &T_[v * m_], m_);
}

}  // namespace bowfree
