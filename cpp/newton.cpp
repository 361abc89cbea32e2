#include "newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dense.hpp"

namespace bowfree {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}

Newton::Newton(const District& district, const double* S, const double* X)
    : district_(district), S_(S), X_(X), k_(district.k), m_(district.m()) {
    for (int v = 0; v < k_; ++v) {
        entries_.push_back({v, v});
        for (int p : district.parents[v]) entries_.push_back({v, p});
    }
    n_rows_ = static_cast<int>(entries_.size());
    for (auto [a, b] : district.spouse_pairs) entries_.push_back({a, b});
    n_ = static_cast<int>(entries_.size());
    for (auto* vector : {&theta_, &trial_, &best_, &gradient_, &step_}) vector->resize(n_);
    hessian_.resize(n_ * n_);
    factor_.resize(n_ * n_);
    L_.resize(k_ * k_);
    W_.resize(k_ * k_);
    Q_.resize(k_ * k_);
    T_.resize(k_ * m_);
    WY_.resize(k_ * m_);
    G_.resize(k_ * m_);
}

bool Newton::start(const double* A, const double* Omega) {
    std::vector<double> u(k_);
    for (int v = 0; v < k_; ++v) u[v] = 1.0 / std::sqrt(Omega[v * k_ + v]);
    for (int i = 0; i < n_rows_; ++i) {
        const auto [v, j] = entries_[i];
        theta_[i] = u[v] * A[v * m_ + j];
    }
    for (int i = n_rows_; i < n_; ++i) {
        const auto [a, b] = entries_[i];
        theta_[i] = u[a] * u[b] * Omega[a * k_ + b];
    }
    value_ = evaluate(theta_);
    return value_ < infinity;
}

/// f at theta; infinity outside the domain. Leaves L (of R) and T = L^-1 A X for `differentiate`.
double Newton::evaluate(const std::vector<double>& theta) {
    std::fill(L_.begin(), L_.end(), 0.0);
    for (int v = 0; v < k_; ++v) L_[v * k_ + v] = 1.0;
    for (int i = n_rows_; i < n_; ++i) L_[entries_[i].column * k_ + entries_[i].row] = theta[i];
    if (cholesky(L_.data(), k_) < k_) return infinity;

    std::fill(T_.begin(), T_.end(), 0.0);
    double value = 0.0;
    for (int i = 0; i < n_rows_; ++i) {
        const auto [v, j] = entries_[i];
        axpy(theta[i], X_ + j * m_, &T_[v * m_], j + 1);  // row j of X ends at its diagonal
        if (v != j) continue;
        if (!(theta[i] > 0.0)) return infinity;
        value += std::log(L_[v * k_ + v] / theta[i]);
    }
    solve_lower(L_.data(), k_, T_.data(), m_);
    value += 0.5 * dot(T_.data(), T_.data(), k_ * m_);
    return value;
}

/// Gradient and Hessian at theta_; `evaluate(theta_)` must have been the last evaluation.
///
/// With W = R^-1, G = W A S and Q = W A S A^T W:
///     df/dA_vj = G_vj - [v = j] / u_v               df/dR_ab = W_ab - Q_ab
///     d2f/dA_vj dA_wl = W_vw S_jl + [v = w = j = l] / u_v^2
///     d2f/dA_vj dR_ab = -(W_va G_bj + W_vb G_aj)
///     d2f/dR_ab dR_cd = -(W_ac W_bd + W_ad W_bc) + W_ac Q_bd + W_ad Q_bc + Q_ac W_bd + Q_ad W_bc
void Newton::differentiate() {
    std::fill(W_.begin(), W_.end(), 0.0);
    for (int v = 0; v < k_; ++v) W_[v * k_ + v] = 1.0;
    solve_lower(L_.data(), k_, W_.data(), k_);
    solve_lower_transposed(L_.data(), k_, W_.data(), k_);
    WY_ = T_;
    solve_lower_transposed(L_.data(), k_, WY_.data(), m_);
    for (int v = 0; v < k_; ++v) {
        for (int j = 0; j < m_; ++j) G_[v * m_ + j] = dot(&WY_[v * m_], X_ + j * m_, j + 1);
        for (int w = 0; w <= v; ++w)
            Q_[v * k_ + w] = Q_[w * k_ + v] = dot(&WY_[v * m_], &WY_[w * m_], m_);
    }

    for (int i = 0; i < n_rows_; ++i) {
        const auto [v, j] = entries_[i];
        double* H = &hessian_[i * n_];
        const double *Wv = &W_[v * k_], *Sj = S_ + j * m_;
        for (int c = 0; c <= i; ++c) H[c] = Wv[entries_[c].row] * Sj[entries_[c].column];
        gradient_[i] = G_[v * m_ + j];
        if (v == j) {
            gradient_[i] -= 1.0 / theta_[i];
            H[i] += 1.0 / (theta_[i] * theta_[i]);
        }
    }
    for (int i = n_rows_; i < n_; ++i) {
        const auto [a, b] = entries_[i];
        double* H = &hessian_[i * n_];
        const double *Wa = &W_[a * k_], *Wb = &W_[b * k_], *Qa = &Q_[a * k_], *Qb = &Q_[b * k_];
        const double *Ga = &G_[a * m_], *Gb = &G_[b * m_];
        for (int c = 0; c < n_rows_; ++c) {
            const auto [v, j] = entries_[c];
            H[c] = -(Wa[v] * Gb[j] + Wb[v] * Ga[j]);
        }
        for (int r = n_rows_; r <= i; ++r) {
            const auto [c, d] = entries_[r];
            H[r] =
                Wa[c] * (Qb[d] - Wb[d]) + Wa[d] * (Qb[c] - Wb[c]) + Qa[c] * Wb[d] + Qa[d] * Wb[c];
        }
        gradient_[i] = Wa[b] - Qa[b];
    }
}

double Newton::gradient_norm() const {
    double largest = 0.0;
    for (double g : gradient_) largest = std::max(largest, std::abs(g));
    return largest;
}

bool Newton::run(double tolerance, int max_steps) {
    double damping = 0.0;  // Levenberg-Marquardt shift, relative to the Hessian's diagonal
    differentiate();
    bool moved = true;  // is this a point whose plain Newton step was not looked at yet?
    for (int end = n_steps_ + max_steps; n_steps_ < end; ++n_steps_) {
        if (moved) {
            const int pivot = solve(0.0);
            if (pivot < n_) {
                decrement_ = infinity;
                if (damping == 0.0 && follow_negative_curvature(pivot)) continue;
            } else {
                decrement_ = gain_;
                const bool certified = decrement_ <= tolerance;
                if (damping == 0.0 || certified) {
                    const double gain = gain_, fall = advance(1.0);
                    if (certified) return true;  // that step was a bonus, within the tolerance
                    if (fall > 0.0) continue;
                }
            }
            moved = false;
            if (damping == 0.0) damping = 1e-3;
        }
        if (solve(damping) == n_) {
            const double gain = gain_, fall = advance(1.0);
            if (fall > 0.0) {
                moved = true;
                if (fall > 0.5 * gain) damping = damping > 1e-7 ? 0.1 * damping : 0.0;
                if (fall < 0.1 * gain) damping *= 3.0;
                continue;
            }
        }
        damping *= 8.0;
        if (damping > 1e12) return false;
    }
    return false;
}

/// Solves (H + damping |diag H|) step = -gradient. Returns n_, or the pivot that failed.
int Newton::solve(double damping) {
    factor_ = hessian_;
    for (int i = 0; i < n_; ++i) factor_[i * n_ + i] += damping * std::abs(hessian_[i * n_ + i]);
    const int pivot = cholesky(factor_.data(), n_);
    if (pivot < n_) return pivot;
    for (int i = 0; i < n_; ++i) step_[i] = -gradient_[i];
    solve_lower(factor_.data(), n_, step_.data());
    gain_ = 0.5 * dot(step_.data(), step_.data(), n_);
    solve_lower_transposed(factor_.data(), n_, step_.data());
    return n_;
}

/// Moves to theta + length * step if f falls there, and on, doubling the length, while it keeps
/// falling faster than a quadratic would. Returns the fall (0: not moved).
double Newton::advance(double length) {
    double best = value_;
    for (;; length *= 2.0) {
        for (int i = 0; i < n_; ++i) trial_[i] = theta_[i] + length * step_[i];
        const double value = evaluate(trial_);
        if (!(value < best)) break;
        const double fall = best - value;
        best = value;
        best_.swap(trial_);
        if (fall < gain_) break;
    }
    const double fall = value_ - best;
    if (fall > 0.0) {
        theta_.swap(best_);
        value_ = best;
    }
    evaluate(theta_);
    if (fall > 0.0) differentiate();
    return fall;
}

/// The Cholesky factorisation of the Hessian broke down at `pivot`: f curves downwards along
/// (-L^-T l, 1), where (L, l) are the finished rows and the row of the pivot. A saddle point has no
/// gradient to leave by, so we walk along this direction, whichever side falls.
bool Newton::follow_negative_curvature(int pivot) {
    std::fill(step_.begin(), step_.end(), 0.0);
    for (int i = 0; i < pivot; ++i) step_[i] = -factor_[pivot * n_ + i];
    for (int i = pivot - 1; i >= 0; --i) {
        step_[i] /= factor_[i * n_ + i];
        for (int j = 0; j < i; ++j) step_[j] -= factor_[i * n_ + j] * step_[i];
    }
    step_[pivot] = 1.0;
    double size = 0.0;
    for (int i = 0; i <= pivot; ++i) size = std::max(size, std::abs(step_[i]));
    const double sign = dot(gradient_.data(), step_.data(), n_) > 0.0 ? -1.0 : 1.0;
    for (double length = 0.5 / size; length * size > 1e-4; length *= 0.25)
        if (advance(sign * length) > 0.0) return true;
    return false;
}

double Newton::smallest_eigenvalue() const {
    std::vector<double> R(k_ * k_);
    for (int v = 0; v < k_; ++v) R[v * k_ + v] = 1.0;
    for (int i = n_rows_; i < n_; ++i) {
        const auto [a, b] = entries_[i];
        R[a * k_ + b] = R[b * k_ + a] = theta_[i];
    }
    return bowfree::smallest_eigenvalue(R.data(), k_);
}

void Newton::parameters(double* B, double* Omega) const {
    std::vector<double> u(k_);
    for (int i = 0; i < n_rows_; ++i)
        if (entries_[i].row == entries_[i].column) u[entries_[i].row] = theta_[i];
    std::fill_n(B, k_ * m_, 0.0);
    std::fill_n(Omega, k_ * k_, 0.0);
    for (int i = 0; i < n_rows_; ++i) {
        const auto [v, j] = entries_[i];
        if (v != j) B[v * m_ + j] = -theta_[i] / u[v];
    }
    for (int v = 0; v < k_; ++v) Omega[v * k_ + v] = 1.0 / (u[v] * u[v]);
    for (int i = n_rows_; i < n_; ++i) {
        const auto [a, b] = entries_[i];
        Omega[a * k_ + b] = Omega[b * k_ + a] = theta_[i] / (u[a] * u[b]);
    }
}

}  // namespace bowfree
