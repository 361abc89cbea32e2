#include "model/ricf.hpp"

#include <algorithm>
#include <cmath>

#include "dense.hpp"

namespace bowfree {

// Sweeps over so few members take some microseconds: no need to check for a stop within one.
constexpr int few_members = 16;

// Tolerance for the relative difference between log|Omega| updated and recomputed.
constexpr double drift = 1e-6;

void Ricf::reset(const District& district, const double* S, const Stop* stop) {
    district_ = &district;
    S_ = S;
    k_ = district.k;
    stop_ = k_ > few_members ? stop : nullptr;
    m_ = district.m();

    if (static_cast<int>(spouses_.size()) < k_) spouses_.resize(k_);
    for (int v = 0; v < k_; ++v) spouses_[v].clear();
    for (auto [a, b] : district.spouse_pairs) {
        spouses_[a].push_back(b);
        spouses_[b].push_back(a);
    }
    std::size_t most = 0;
    for (int v = 0; v < k_; ++v)
        most = std::max(most, district.parents[v].size() + spouses_[v].size());

    for (auto* matrix : {&A_, &R_}) matrix->resize(k_ * m_);
    for (auto* matrix : {&E_, &Omega_, &W_, &Z_, &ZE_}) matrix->resize(k_ * k_);
    gram_.resize(most * most);
    for (auto* vector : {&coef_, &rhs_}) vector->resize(most);
    direction_.resize(k_);
}

void Ricf::start(const double* B) {
    for (int v = 0; v < k_; ++v) {
        for (int j = 0; j < m_; ++j) A_[v * m_ + j] = (v == j ? 1.0 : 0.0) - B[v * m_ + j];
    }
    for (int v = 0; v < k_; ++v) refresh_row(v);
    std::ranges::fill(Omega_, 0.0);
    std::ranges::fill(W_, 0.0);
    log_det_ = 0.0;
    for (int v = 0; v < k_; ++v) {
        const double variance = std::max(E_[v * k_ + v], rounding_share * S_[v * m_ + v]);
        Omega_[v * k_ + v] = variance;
        W_[v * k_ + v] = 1.0 / variance;
        log_det_ += std::log(variance);
    }
}

void Ricf::correlate_errors() {
    const double before = objective();
    for (double share : {1.0, 0.8, 0.6, 0.4, 0.2, 0.0}) {
        for (auto [a, b] : district_->spouse_pairs)
            Omega_[a * k_ + b] = Omega_[b * k_ + a] = share * E_[a * k_ + b];
        if (invert_omega() && objective() < before) break;
    }
}

bool Ricf::start(const double* A, const double* Omega) {
    std::copy_n(A, k_ * m_, A_.begin());
    std::copy_n(Omega, k_ * k_, Omega_.begin());
    for (int v = 0; v < k_; ++v) refresh_row(v);
    return invert_omega();
}

/// Recomputes W and log|Omega| from Omega. Returns false, and changes nothing, when Omega is not
/// positive definite.
bool Ricf::invert_omega() {
    Z_ = Omega_;  // scratch: the Cholesky factor of Omega
    if (cholesky(Z_.data(), k_) < k_) return false;
    invert_factored(Z_.data(), k_, W_);
    log_det_ = 0.0;
    for (int v = 0; v < k_; ++v) log_det_ += 2.0 * std::log(Z_[v * k_ + v]);
    return true;
}

void Ricf::refresh_row(int v) {
    double* Rv = &R_[v * m_];
    for (int j = 0; j < m_; ++j) Rv[j] = S_[v * m_ + j];
    for (int p : district_->parents[v]) axpy(A_[v * m_ + p], S_ + p * m_, Rv, m_);
    for (int w = 0; w < k_; ++w) {
        double sum = R_[w * m_ + v];
        for (int p : district_->parents[v]) sum += R_[w * m_ + p] * A_[v * m_ + p];
        E_[v * k_ + w] = E_[w * k_ + v] = sum;
    }
}

bool Ricf::sweep() {
    for (int v = 0; v < k_; ++v)
        if (!step(v)) return false;
    return true;
}

bool Ricf::step(int v) {
    const std::vector<int>& P = district_->parents[v];
    const std::vector<int>& Q = spouses_[v];
    const int np = static_cast<int>(P.size()), nq = static_cast<int>(Q.size()), n = np + nq;
    const double* Wv = &W_[v * k_];
    if (stop_) stop_->check();
    if (!(Wv[v] > 0.0)) return false;

    // Rows u of (Omega_{-v,-v})^-1, from W by a Schur complement; column v is zero.
    for (int a = 0; a < nq; ++a) {
        if (stop_) stop_->check();
        double* Za = &Z_[a * k_];
        const double* Wu = &W_[Q[a] * k_];
        const double ratio = Wu[v] / Wv[v];
        for (int j = 0; j < k_; ++j) Za[j] = Wu[j] - ratio * Wv[j];
        Za[v] = 0.0;
        for (int j = 0; j < k_; ++j) ZE_[a * k_ + j] = dot(Za, &E_[j * k_], k_);
    }

    // Normal equations of x_v on its parents and the pseudo-variables z = Z eps.
    for (int a = 0; a < np; ++a) {
        for (int b = 0; b <= a; ++b) gram_[a * n + b] = S_[P[a] * m_ + P[b]];
        rhs_[a] = S_[v * m_ + P[a]];
    }
    for (int a = 0; a < nq; ++a) {
        if (stop_) stop_->check();
        const double* Za = &Z_[a * k_];
        double* row = &gram_[(np + a) * n];
        const auto with_variable = [&](int j) {
            double sum = 0.0;
            for (int i = 0; i < k_; ++i) sum += Za[i] * R_[i * m_ + j];
            return sum;
        };
        for (int b = 0; b < np; ++b) row[b] = with_variable(P[b]);
        for (int b = 0; b <= a; ++b) row[np + b] = dot(&ZE_[a * k_], &Z_[b * k_], k_);
        rhs_[np + a] = with_variable(v);
    }
    if (cholesky(gram_.data(), n) < n) return false;
    std::copy_n(rhs_.begin(), n, coef_.begin());
    solve_lower(gram_.data(), n, coef_.data());
    const double t = S_[v * m_ + v] - dot(coef_.data(), coef_.data(), n);
    if (!(t > 0.0)) return false;
    solve_lower_transposed(gram_.data(), n, coef_.data());

    // log|Omega| = log|Omega_{-v,-v}| + log t, and |Omega_{-v,-v}| = |Omega| W_vv.
    log_det_ += std::log(Wv[v] * t);

    // Row v of B and Omega.
    for (int a = 0; a < np; ++a) A_[v * m_ + P[a]] = -coef_[a];
    std::ranges::fill(direction_, 0.0);
    for (int a = 0; a < nq; ++a) axpy(coef_[np + a], &Z_[a * k_], direction_.data(), k_);
    double explained = 0.0;
    for (int a = 0; a < nq; ++a) {
        const double omega = coef_[np + a];
        Omega_[v * k_ + Q[a]] = Omega_[Q[a] * k_ + v] = omega;
        explained += omega * direction_[Q[a]];
    }
    Omega_[v * k_ + v] = t + explained;

    // W = K + (1/t) g g^T with K = W - W_v W_v^T / W_vv and g = (K omega, -1 at v).
    direction_[v] = -1.0;
    const double inverse_t = 1.0 / t, inverse_pivot = 1.0 / Wv[v];
    std::copy_n(Wv, k_, ZE_.begin());  // scratch: the old row v of W
    for (int i = 0; i < k_; ++i)
        for (int j = 0; j < k_; ++j)
            W_[i * k_ + j] +=
                direction_[i] * direction_[j] * inverse_t - ZE_[i] * ZE_[j] * inverse_pivot;

    refresh_row(v);
    return true;
}

double Ricf::objective() const {
    double trace = 0.0;
    for (int i = 0; i < k_ * k_; ++i) trace += W_[i] * E_[i];
    return log_det_ + trace;
}

bool Ricf::inverse_is_accurate() {
    const double updated = objective(), log_det = log_det_;
    return std::isfinite(updated) && invert_omega() &&
           std::abs(log_det - log_det_) <= drift * std::max(1.0, std::abs(log_det_));
}

}  // namespace bowfree
