#include "model/newton.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "model/dense.hpp"

namespace bowfree {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// So few parameters take a millisecond or two: too little to ask in between whether to stop.
constexpr int soon_done = 50;

// Levenberg-Marquardt damping, relative to the Hessian's diagonal. The factors are the usual rule
// of thumb: be quick to distrust the model and slower to trust it again.
constexpr double first_damping = 1e-3;    // once a plain step has failed
constexpr double least_damping = 1e-7;    // below it: none
constexpr double most_damping = 1e12;     // beyond it the step is rounding
constexpr double after_failure = 8.0;     // the damping is multiplied by this,
constexpr double after_poor_step = 3.0;   // or this,
constexpr double after_good_step = 0.1;   // or this
constexpr double good = 0.5, poor = 0.1;  // share of the promised fall that a step brings

// An error is near a pole when the others determine 99 % of it: W_vv = 1 / (1 - 0.99).
constexpr double near_pole = 100.0;
constexpr double leaps[] = {1.0, 3.0, 9.0, 27.0, 81.0};  // step lengths that look across it
constexpr double shortened[] = {1.0, 0.3, 0.1};          // step lengths in a curved valley

// Along negative curvature: the largest parameter moves by half a unit at first (they are scaled to
// about one), then by a quarter of that, until it is too little to leave a saddle point.
constexpr double first_excursion = 0.5, next_excursion = 0.25, last_excursion = 1e-4;

}  // namespace

void Newton::reset(const District& district, const double* S, const double* X, Ricf& ricf,
                   const Stop* stop) {
    S_ = S;
    X_ = X;
    ricf_ = &ricf;
    k_ = district.k;
    m_ = district.m();
    n_steps_ = 0;

    entries_.clear();
    for (int v = 0; v < k_; ++v) {
        entries_.push_back({v, v});
        for (int p : district.parents[v]) entries_.push_back({v, p});
    }
    n_rows_ = static_cast<int>(entries_.size());
    for (auto [a, b] : district.spouse_pairs) entries_.push_back({a, b});
    n_ = static_cast<int>(entries_.size());
    stop_ = n_ > soon_done ? stop : nullptr;

    for (auto* vector : {&theta_, &trial_, &best_, &gradient_, &step_}) vector->resize(n_);
    for (auto* matrix : {&L_, &W_, &Q_, &Omega_}) matrix->resize(k_ * k_);
    for (auto* matrix : {&T_, &WY_, &G_, &A_}) matrix->resize(k_ * m_);
}

void Newton::scale(const double* A, const double* Omega, std::vector<double>& theta) const {
    const auto u = [&](int v) { return 1.0 / std::sqrt(Omega[v * k_ + v]); };
    for (int i = 0; i < n_rows_; ++i)
        theta[i] = u(entries_[i].row) * A[entries_[i].row * m_ + entries_[i].column];
    for (int i = n_rows_; i < n_; ++i) {
        const auto [a, b] = entries_[i];
        theta[i] = u(a) * u(b) * Omega[a * k_ + b];
    }
}

void Newton::unscale(const std::vector<double>& theta, double* A, double* Omega) const {
    std::fill_n(A, k_ * m_, 0.0);
    std::fill_n(Omega, k_ * k_, 0.0);
    double u = 1.0;
    for (int i = 0; i < n_rows_; ++i) {
        const auto [v, j] = entries_[i];
        if (v == j) {  // u_v comes first in its row
            u = theta[i];
            Omega[v * k_ + v] = 1.0 / (u * u);
        }
        A[v * m_ + j] = theta[i] / u;
    }
    for (int i = n_rows_; i < n_; ++i) {
        const auto [a, b] = entries_[i];
        Omega[a * k_ + b] = Omega[b * k_ + a] =
            theta[i] * std::sqrt(Omega[a * k_ + a] * Omega[b * k_ + b]);
    }
}

bool Newton::start() {
    scale(ricf_->A().data(), ricf_->Omega().data(), theta_);
    value_ = evaluate(theta_);
    return value_ < infinity;
}

void Newton::start(const double* B) {
    std::fill(theta_.begin(), theta_.end(), 0.0);
    for (int i = 0; i < n_rows_;) {
        // The row of I - B, then what it leaves of x_v, as a row of A X.
        const int v = entries_[i].row;
        std::fill_n(A_.begin(), m_, 0.0);
        int end = i;
        for (; end < n_rows_ && entries_[end].row == v; ++end) {
            const int j = entries_[end].column;
            theta_[end] = v == j ? 1.0 : -B[v * m_ + j];
            axpy(theta_[end], X_ + j * m_, A_.data(), j + 1);
        }
        const double variance = std::max(dot(A_.data(), A_.data(), m_), rounding_share);
        for (; i < end; ++i) theta_[i] /= std::sqrt(variance);
    }
    value_ = evaluate(theta_);
}

/// f at theta; infinity outside the domain. Leaves L, the Cholesky factor of R, and T = L^-1 A X
/// for `differentiate`.
double Newton::evaluate(const std::vector<double>& theta) {
    if (stop_) stop_->check();
    std::fill(L_.begin(), L_.end(), 0.0);
    for (int v = 0; v < k_; ++v) L_[v * k_ + v] = 1.0;
    for (int i = n_rows_; i < n_; ++i) L_[entries_[i].column * k_ + entries_[i].row] = theta[i];
    evaluated_ = &theta == &theta_;
    if (cholesky(L_.data(), k_) < k_) return infinity;

    std::fill(T_.begin(), T_.end(), 0.0);
    double value = 0.0, product = 1.0;
    for (int i = 0; i < n_rows_; ++i) {
        const auto [v, j] = entries_[i];
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

/// Gradient and, if wanted, Hessian (lower triangle) at theta_.
///
/// With W = R^-1, G = W A S and Q = W A S A^T W:
///     df/dA_vj = G_vj - [v = j] / u_v               df/dR_ab = W_ab - Q_ab
///     d2f/dA_vj dA_wl = W_vw S_jl + [v = w = j = l] / u_v^2
///     d2f/dA_vj dR_ab = -(W_va G_bj + W_vb G_aj)
///     d2f/dR_ab dR_cd = -(W_ac W_bd + W_ad W_bc) + W_ac Q_bd + W_ad Q_bc + Q_ac W_bd + Q_ad W_bc
void Newton::differentiate(bool twice) {
    if (!evaluated_) evaluate(theta_);
    std::fill(W_.begin(), W_.end(), 0.0);
    for (int v = 0; v < k_; ++v) W_[v * k_ + v] = 1.0;
    solve_lower(L_.data(), k_, W_.data(), k_);
    solve_lower_transposed(L_.data(), k_, W_.data(), k_);
    WY_ = T_;  // becomes W A X
    solve_lower_transposed(L_.data(), k_, WY_.data(), m_);
    for (int v = 0; v < k_; ++v) {
        for (int j = 0; j < m_; ++j) G_[v * m_ + j] = dot(&WY_[v * m_], X_ + j * m_, j + 1);
        for (int w = 0; w <= v; ++w)
            Q_[v * k_ + w] = Q_[w * k_ + v] = dot(&WY_[v * m_], &WY_[w * m_], m_);
    }

    for (int i = 0; i < n_rows_; ++i) {
        const auto [v, j] = entries_[i];
        gradient_[i] = G_[v * m_ + j];
        if (v == j) gradient_[i] -= 1.0 / theta_[i];
    }
    for (int i = n_rows_; i < n_; ++i) {
        const auto [a, b] = entries_[i];
        gradient_[i] = W_[a * k_ + b] - Q_[a * k_ + b];
    }
    if (!twice) return;

    for (int i = 0; i < n_rows_; ++i) {
        const auto [v, j] = entries_[i];
        if (stop_) stop_->check();
        double* H = &hessian_[static_cast<std::ptrdiff_t>(i) * n_];
        const double *Wv = &W_[v * k_], *Sj = S_ + j * m_;
        for (int c = 0; c <= i; ++c) H[c] = Wv[entries_[c].row] * Sj[entries_[c].column];
        if (v == j) H[i] += 1.0 / (theta_[i] * theta_[i]);
    }
    for (int i = n_rows_; i < n_; ++i) {
        const auto [a, b] = entries_[i];
        if (stop_) stop_->check();
        double* H = &hessian_[static_cast<std::ptrdiff_t>(i) * n_];
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
    }
}

bool Newton::run(double tolerance, int max_steps) {
    decrement_ = infinity;
    if (max_steps == 0) return false;
    for (auto* matrix : {&hessian_, &factor_}) matrix->resize(static_cast<std::size_t>(n_) * n_);
    double damping = 0.0;  // Levenberg-Marquardt shift, relative to the Hessian's diagonal
    bool moved = true;     // a point whose derivatives and plain step are not known yet
    for (int step = 0; step < max_steps; ++step) {
        ++n_steps_;
        if (moved) {
            differentiate(true);
            const int pivot = solve(0.0);
            decrement_ = pivot == n_ ? gain_ : infinity;
            if (decrement_ <= tolerance) {
                advance();  // a bonus: what is left to gain is within the tolerance
                return true;
            }
            if (damping == 0.0) {
                if (pivot == n_ ? descend() > 0.0 : follow_negative_curvature(pivot)) continue;
                damping = first_damping;
            }
            moved = false;
        }
        const double fall = solve(damping) == n_ ? descend() : 0.0;
        if (fall > 0.0) {
            moved = true;
            if (fall > good * gain_)
                damping = damping > least_damping ? after_good_step * damping : 0.0;
            if (fall < poor * gain_) damping *= after_poor_step;
        } else {
            damping *= after_failure;
            if (damping > most_damping) return false;
        }
    }
    return false;
}

/// Solves (H + damping |diag H|) step = -gradient; `gain_` is the fall of f that the quadratic
/// model then promises. Returns n_, or the pivot at which the matrix proved not definite.
int Newton::solve(double damping) {
    for (int i = 0; i < n_; ++i) {
        if (stop_) stop_->check();  // a large Hessian takes a while to copy, too
        const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(i) * n_;
        std::copy_n(&hessian_[row], i + 1, &factor_[row]);
        factor_[row + i] += damping * std::abs(hessian_[row + i]);
    }
    const int pivot = cholesky(factor_.data(), n_, stop_);
    if (pivot < n_) return pivot;
    for (int i = 0; i < n_; ++i) step_[i] = -gradient_[i];
    solve_lower(factor_.data(), n_, step_.data());
    gain_ = 0.5 * dot(step_.data(), step_.data(), n_);
    solve_lower_transposed(factor_.data(), n_, step_.data());
    return n_;
}

/// Moves along the step, one way or another. Returns by how much f fell (0: not moved).
double Newton::descend() {
    double fall = advance();
    if (fall <= 0.0) fall = advance_and_relax();
    if (fall <= 0.0) fall = leap();
    return fall;
}

/// Moves to theta + step if f falls there, and on, doubling the step, while that pays more than a
/// quadratic would.
double Newton::advance() {
    double best = value_;
    bool at_best = false;  // whether the last evaluation was that of the best point
    for (double length = 1.0;; length *= 2.0) {
        for (int i = 0; i < n_; ++i) trial_[i] = theta_[i] + length * step_[i];
        const double value = evaluate(trial_);
        at_best = value < best;
        if (!at_best) break;
        const double fall = best - value;
        best = value;
        best_.swap(trial_);
        if (fall < gain_) break;
    }
    const double fall = value_ - best;
    if (fall > 0.0) {
        theta_.swap(best_);
        value_ = best;
        evaluated_ = at_best;
    }
    return fall;
}

/// In a curved valley a long step ends up on its wall, where f is higher. Two RICF sweeps bring it
/// back to the floor, further along: each sweep solves every equation of its own exactly.
double Newton::advance_and_relax() {
    for (const double length : shortened) {
        for (int i = 0; i < n_; ++i) trial_[i] = theta_[i] + length * step_[i];
        if (evaluate(trial_) == infinity) continue;
        unscale(trial_, A_.data(), Omega_.data());
        if (!ricf_->start(A_.data(), Omega_.data()) || !ricf_->sweep() || !ricf_->sweep()) continue;
        scale(ricf_->A().data(), ricf_->Omega().data(), trial_);
        const double value = evaluate(trial_), fall = value_ - value;
        if (!(fall > poor * length * gain_)) continue;
        theta_.swap(trial_);
        value_ = value;
        evaluated_ = true;
        return fall;
    }
    return 0.0;
}

/// Crosses a pole. Where the pseudo-variables of node v become collinear with its parents, row v of
/// B and Omega runs to infinity, and f, minimised over that row, is smooth again on the far side,
/// with the signs of the row reversed. So we look far along the step in all parameters but those of
/// the node whose error is most nearly determined by the others, and fit this node anew.
double Newton::leap() {
    int v = 0;
    for (int w = 1; w < k_; ++w)
        if (W_[w * k_ + w] > W_[v * k_ + v]) v = w;
    if (W_[v * k_ + v] < near_pole) return 0.0;

    double best = value_;
    for (const double length : leaps) {
        for (int i = 0; i < n_; ++i) {
            const auto [a, b] = entries_[i];
            const bool free = a == v || (i >= n_rows_ && b == v);
            trial_[i] = free ? (a == b ? 1.0 : 0.0) : theta_[i] + length * step_[i];
        }
        if (evaluate(trial_) == infinity) break;
        unscale(trial_, A_.data(), Omega_.data());
        if (!ricf_->start(A_.data(), Omega_.data()) || !ricf_->step(v) || !ricf_->sweep()) continue;
        scale(ricf_->A().data(), ricf_->Omega().data(), trial_);
        const double value = evaluate(trial_);
        if (!(value < best)) continue;
        best = value;
        best_.swap(trial_);
    }
    const double fall = value_ - best;
    if (!(fall > poor * gain_)) return 0.0;
    theta_.swap(best_);
    value_ = best;
    return fall;
}

/// The Cholesky factorisation of the Hessian broke down at `pivot`: f curves downwards along
/// (-L^-T l, 1), where (L, l) are the finished rows and the row of the pivot. A saddle point has no
/// gradient to leave by, so we walk along this direction, to the side that falls.
bool Newton::follow_negative_curvature(int pivot) {
    const auto row = [&](int i) { return &factor_[static_cast<std::ptrdiff_t>(i) * n_]; };
    std::fill(step_.begin(), step_.end(), 0.0);
    for (int i = 0; i < pivot; ++i) step_[i] = -row(pivot)[i];
    for (int i = pivot - 1; i >= 0; --i) {
        step_[i] /= row(i)[i];
        axpy(-step_[i], row(i), step_.data(), i);
    }
    step_[pivot] = 1.0;
    double size = 0.0;
    for (double entry : step_) size = std::max(size, std::abs(entry));
    const bool rises = dot(gradient_.data(), step_.data(), n_) > 0.0;
    double length = (rises ? -first_excursion : first_excursion) / size;
    for (; std::abs(length) * size > last_excursion; length *= next_excursion) {
        for (int i = 0; i < n_; ++i) trial_[i] = theta_[i] + length * step_[i];
        const double value = evaluate(trial_);
        if (!(value < value_)) continue;
        theta_.swap(trial_);
        value_ = value;
        evaluated_ = true;
        return true;
    }
    return false;
}

double Newton::gradient_norm() {
    differentiate(false);
    double largest = 0.0;
    for (double g : gradient_) largest = std::max(largest, std::abs(g));
    return largest;
}

double Newton::smallest_eigenvalue() const {
    std::vector<double> R(k_ * k_);
    for (int v = 0; v < k_; ++v) R[v * k_ + v] = 1.0;
    for (int i = n_rows_; i < n_; ++i) {
        const auto [a, b] = entries_[i];
        R[a * k_ + b] = R[b * k_ + a] = theta_[i];
    }
    return bowfree::smallest_eigenvalue(R.data(), k_, stop_);
}

}  // namespace bowfree
