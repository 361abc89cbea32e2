#include "model/newton.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "dense.hpp"

namespace bowfree {

// Levenberg-Marquardt damping, relative to the Hessian's diagonal, with the usual factors.
constexpr double first_damping = 1e-3;    // once a plain step has failed
constexpr double least_damping = 1e-7;    // below it: no damping
constexpr double most_damping = 1e12;     // beyond it the step is rounding
constexpr double after_failure = 8.0;     // the damping is multiplied by this,
constexpr double after_poor_step = 3.0;   // or this,
constexpr double after_good_step = 0.1;   // or this
constexpr double good = 0.5, poor = 0.1;  // actual decrease over predicted decrease

// A step is doubled if f falls by more than this, relative to the quadratic model. If f is a cubic
// polynomial along the step, and smaller at twice its length, then it falls by at least 8/7.
constexpr double far = 8.0 / 7.0;

// Newton's method converges quadratically. After a step of a small gain, what is left to be gained is
// known from how far the fall of f differs from the gain: 9/4 (fall - gain)^2 / gain along a cubic
// polynomial, without computing derivatives again.
constexpr double short_step = 1e-6, left_by_cubic = 9.0 / 4.0;

// An error is near a pole when the others determine 99 % of it: W_vv = 1 / (1 - 0.99).
constexpr double near_pole = 100.0;
constexpr double leaps[] = {1.0, 3.0, 9.0, 27.0, 81.0};  // step lengths that look across it
constexpr double shortened[] = {1.0, 0.3, 0.1};          // step lengths in a curved valley

// Along negative curvature: the largest parameter moves by half a unit at first (parameters are
// scaled to about one), then by a quarter of that, until the move is too small to leave a saddle
// point.
constexpr double first_excursion = 0.5, next_excursion = 0.25, last_excursion = 1e-4;

void Newton::reset(const District& district, const double* S, const double* X, Sweeps& sweeps,
                   const Stop* stop) {
    f_.reset(district, S, X, stop);
    prepare(district, sweeps);
}

void Newton::reset(const District& district, const std::vector<GroupMoments>& groups,
                   Sweeps& sweeps, const Stop* stop) {
    f_.reset(district, groups, stop);
    prepare(district, sweeps);
}

void Newton::prepare(const District& district, Sweeps& sweeps) {
    sweeps_ = &sweeps;
    n_ = f_.size();
    n_steps_ = 0;
    A_.resize(district.k * district.m());
    Omega_.resize(district.k * district.k);
    for (auto* vector : {&theta_, &trial_, &best_, &gradient_, &step_}) vector->resize(n_);
}

bool Newton::start() {
    f_.scale(sweeps_->A().data(), sweeps_->Omega().data(), theta_);
    value_ = evaluate(theta_);
    return value_ < infinity;
}

void Newton::start(const double* B) {
    f_.scale_uncorrelated(B, theta_);
    value_ = evaluate(theta_);
}

void Newton::start(const std::vector<double>& point) {
    theta_ = point;
    value_ = evaluate(theta_);
}

/// f at theta; infinity outside the domain.
double Newton::evaluate(const std::vector<double>& theta) {
    evaluated_ = &theta == &theta_;
    return f_.evaluate(theta);
}

/// Gradient and, if wanted, Hessian (lower triangle) at theta_.
void Newton::differentiate(bool twice) {
    if (!evaluated_) evaluate(theta_);
    f_.differentiate(theta_, gradient_, twice ? &hessian_ : nullptr);
}

bool Newton::run(double tolerance, int max_steps, double negligible) {
    decrement_ = infinity;
    if (max_steps == 0) return false;
    for (auto* matrix : {&hessian_, &factor_})
        resize_large(*matrix, static_cast<std::size_t>(n_) * n_, f_.stop());
    double damping = 0.0;  // Levenberg-Marquardt shift, relative to the Hessian's diagonal
    bool moved = true;     // whether derivatives and undamped step are still to be computed
    for (int step = 0; step < max_steps; ++step) {
        ++n_steps_;
        if (moved) {
            differentiate(true);
            const int pivot = solve(0.0);
            decrement_ = pivot == n_ ? gain_ : infinity;
            if (decrement_ <= tolerance) {
                advance();  // an extra step; the possible gain is below the tolerance
                return true;
            }
            if (damping == 0.0) {
                const double fall = pivot == n_ ? descend() : 0.0;
                if (fall > 0.0 && gain_ <= short_step) {
                    const double left = left_by_cubic * (fall - gain_) * (fall - gain_) / gain_;
                    if (left <= negligible) {
                        decrement_ = left;
                        return true;
                    }
                }
                if (fall > 0.0 || (pivot < n_ && follow_negative_curvature(pivot))) continue;
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

/// Solves (H + damping |diag H|) step = -gradient; `gain_` becomes the decrease of f in the
/// quadratic model. Returns n_, or the pivot at which the matrix is not positive definite.
int Newton::solve(double damping) {
    for (int i = 0; i < n_; ++i) {
        if (f_.stop()) f_.stop()->check();  // copying a large Hessian takes a while
        const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(i) * n_;
        std::copy_n(&hessian_[row], i + 1, &factor_[row]);
        factor_[row + i] += damping * std::abs(hessian_[row + i]);
    }
    const int pivot = cholesky(factor_.data(), n_, f_.stop());
    if (pivot < n_) return pivot;
    for (int i = 0; i < n_; ++i) step_[i] = -gradient_[i];
    solve_lower(factor_.data(), n_, step_.data());
    gain_ = 0.5 * dot(step_.data(), step_.data(), n_);
    solve_lower_transposed(factor_.data(), n_, step_.data());
    return n_;
}

/// Moves along the step by one of three methods. Returns the decrease of f (0: not moved).
double Newton::descend() {
    double fall = advance();
    if (fall <= 0.0) fall = advance_and_relax();
    if (fall <= 0.0) fall = leap();
    return fall;
}

/// Moves to theta + step if f is lower there, and doubles the step while f falls by more than in a
/// quadratic model.
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
        if (fall < far * gain_) break;
    }
    const double fall = value_ - best;
    if (fall > 0.0) {
        theta_.swap(best_);
        value_ = best;
        evaluated_ = at_best;
    }
    return fall;
}

/// In a curved valley a long step leads to its wall, where f is higher. Two sweeps lead back to the
/// floor, further along, because each solves every single equation exactly.
double Newton::advance_and_relax() {
    if (!f_.all_shared()) return 0.0;  // sweeps do not support specific parameters
    for (const double length : shortened) {
        for (int i = 0; i < n_; ++i) trial_[i] = theta_[i] + length * step_[i];
        if (evaluate(trial_) == infinity) continue;
        f_.unscale(trial_, A_.data(), Omega_.data());
        if (!sweeps_->start(A_.data(), Omega_.data()) || !sweeps_->sweep() || !sweeps_->sweep())
            continue;
        f_.scale(sweeps_->A().data(), sweeps_->Omega().data(), trial_);
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
/// B and Omega tends to infinity, and f, minimized over that row, is smooth again on the other
/// side, with the signs of the row reversed. So we try long steps in all parameters except those of
/// the node whose error is most nearly determined by the others, and fit this node again.
double Newton::leap() {
    if (!f_.all_shared()) return 0.0;
    const auto [v, steepest] = f_.most_determined();
    if (steepest < near_pole) return 0.0;

    double best = value_;
    for (const double length : leaps) {
        for (int i = 0; i < n_; ++i) {
            const auto [a, b] = f_.shared().entries[i];
            const bool free = a == v || (i >= f_.shared().n_rows && b == v);
            trial_[i] = free ? (a == b ? 1.0 : 0.0) : theta_[i] + length * step_[i];
        }
        if (evaluate(trial_) == infinity) break;
        f_.unscale(trial_, A_.data(), Omega_.data());
        if (!sweeps_->start(A_.data(), Omega_.data()) || !sweeps_->step(v) || !sweeps_->sweep())
            continue;
        f_.scale(sweeps_->A().data(), sweeps_->Omega().data(), trial_);
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

/// The Cholesky factorization of the Hessian broke down at `pivot`: f curves downwards along
/// (-L^-T l, 1), where (L, l) are the finished rows and the row of the pivot. At a saddle point the
/// gradient is zero, so we move along this direction, to the side on which f falls.
bool Newton::follow_negative_curvature(int pivot) {
    const auto row = [&](int i) { return &factor_[static_cast<std::ptrdiff_t>(i) * n_]; };
    std::ranges::fill(step_, 0.0);
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

}  // namespace bowfree
