#include "model/error_margin.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "dense.hpp"

namespace bowfree {

namespace {

constexpr double scales[] = {0.5, 2.0, 8.0};  // of the prior; equally probable
constexpr double probability_of_normal = 0.5;
constexpr double ridge = 0.05;  // share of the prior precision that does not depend on differences
constexpr int max_steps = 40;
constexpr double small_gain = 0.01;  // of the log posterior: the last step of Newton's method
constexpr double negligible = 1e-3;  // posterior probability of a scale

/// The four uniform cubic B-splines at t in [0, 1] of their interval, and their derivatives.
void cubic_splines(double t, double* values, double* slopes) {
    const double r = 1.0 - t;
    values[0] = r * r * r / 6.0;
    values[1] = (3.0 * t * t * t - 6.0 * t * t + 4.0) / 6.0;
    values[2] = (3.0 * r * r * r - 6.0 * r * r + 4.0) / 6.0;
    values[3] = t * t * t / 6.0;
    slopes[0] = -r * r / 2.0;
    slopes[1] = (3.0 * t * t - 4.0 * t) / 2.0;
    slopes[2] = -(3.0 * r * r - 4.0 * r) / 2.0;
    slopes[3] = t * t / 2.0;
}

/// Phi on a fine grid, to invert it.
struct NormalTable {
    static constexpr double end = 6.5, step = 0.01;
    std::vector<double> F;
    NormalTable() {
        for (int k = 0; k <= static_cast<int>(2.0 * end / step); ++k)
            F.push_back(0.5 * std::erfc(-(-end + k * step) / std::numbers::sqrt2));
    }
};

const NormalTable& normal_table() {
    static const NormalTable table;
    return table;
}

}  // namespace

MarginFamily::MarginFamily(double largest) {
    const double end = std::asinh(std::max(6.0, 1.25 * largest)) + 0.15;
    step_ = 2.0 * end / (n_points - 1);
    const double knot = step_ * per_knot;
    for (int m = 0; m < n_points; ++m) {
        const double u = -end + m * step_;
        x_.push_back(std::sinh(u));
        width_.push_back(std::cosh(u) * step_);
        log_width_.push_back(std::log(width_.back()));
    }
    columns_per_x_ = 1.0 / step_;  // sinh is at least as steep as u
    last_column_ = std::floor((x_.back() - x_.front()) * columns_per_x_);
    for (int column = 0, m = 0; column <= static_cast<int>(last_column_); ++column) {
        while (m + 2 < n_points && x_[m + 1] <= x_.front() + column * step_) ++m;
        first_point_.push_back(m);
    }
    splines_.resize(4 * (per_knot + 1));
    slopes_.resize(4 * (per_knot + 1));
    for (int k = 0; k <= per_knot; ++k) {
        cubic_splines(static_cast<double>(k) / per_knot, &splines_[4 * k], &slopes_[4 * k]);
        for (int s = 0; s < 4; ++s) slopes_[4 * k + s] /= knot;
    }
    // A random walk in steps of one knot has a variance proportional to the distance in u.
    constexpr int K = n_splines;
    precision_.assign(static_cast<std::size_t>(K) * K, 0.0);
    for (int k = 0; k < K; ++k) precision_[k * K + k] += ridge;
    for (int k = 0; k + 1 < K; ++k) {
        const double weight = 1.0 / knot;
        precision_[k * K + k] += weight;
        precision_[(k + 1) * K + k + 1] += weight;
        precision_[k * K + k + 1] -= weight;
        precision_[(k + 1) * K + k] -= weight;
    }
    std::vector<double> factor = precision_;
    (void)cholesky(factor.data(), K);
    for (int k = 0; k < K; ++k) log_det_ += 2.0 * std::log(factor[k * K + k]);
}

MarginFitter::MarginFitter(const MarginFamily& family)
    : family_(&family),
      mean_(MarginFamily::n_features),
      density_(MarginFamily::n_points),
      gradient_(MarginFamily::n_features),
      hessian_(static_cast<std::size_t>(MarginFamily::n_features) * MarginFamily::n_features),
      trial_(MarginFamily::n_features) {}

/// The log posterior of theta, up to a constant; leaves the probabilities of the points.
double MarginFitter::evaluate(double n, double precision, const std::vector<double>& theta) {
    constexpr int M = MarginFamily::n_points, K = MarginFamily::n_splines;
    double largest = -std::numeric_limits<double>::infinity();
    for (int m = 0; m < M; ++m) {
        const double x = family_->x(m);
        double e = family_->log_width(m) + (theta[0] + theta[1] * x) * x;
        if (size_ > 2) {
            const double* s = family_->splines(m);
            const double* t = &theta[2 + MarginFamily::first_spline(m)];
            e += s[0] * t[0] + s[1] * t[1] + s[2] * t[2] + s[3] * t[3];
        }
        density_[m] = e;
        largest = std::max(largest, e);
    }
    double Z = 0.0;
    for (double& value : density_) Z += value = std::exp(value - largest);
    for (double& value : density_) value /= Z;
    double value = n * (dot(theta.data(), mean_.data(), size_) - std::log(Z) - largest);
    if (size_ > 2) {
        const double* Q = family_->precision().data();
        const double* t = &theta[2];
        double quadratic = 0.0;
        for (int k = 0; k < K; ++k) quadratic += t[k] * dot(Q + k * K, t, K);
        value -= 0.5 * precision * quadratic;
    }
    return value;
}

/// The gradient and minus the Hessian of the log posterior at the last evaluation.
void MarginFitter::derive(double n, double precision, const std::vector<double>& theta) {
    constexpr int M = MarginFamily::n_points, K = MarginFamily::n_splines;
    const int size = size_;
    std::ranges::fill(gradient_, 0.0);
    std::ranges::fill(hessian_, 0.0);
    double* H = hessian_.data();
    for (int m = 0; m < M; ++m) {
        const double w = density_[m], x = family_->x(m), x2 = x * x;
        gradient_[0] += w * x;
        gradient_[1] += w * x2;
        H[0] += w * x2;
        H[size] += w * x2 * x;
        H[size + 1] += w * x2 * x2;
        if (size == 2) continue;
        const double* s = family_->splines(m);
        const int first = 2 + MarginFamily::first_spline(m);
        for (int a = 0; a < 4; ++a) {
            const double ws = w * s[a];
            double* row = H + static_cast<std::ptrdiff_t>(first + a) * size;
            gradient_[first + a] += ws;
            row[0] += ws * x;
            row[1] += ws * x2;
            for (int b = 0; b <= a; ++b) row[first + b] += ws * s[b];
        }
    }
    for (int a = 0; a < size; ++a)
        for (int b = 0; b <= a; ++b)
            H[a * size + b] = n * (H[a * size + b] - gradient_[a] * gradient_[b]);
    for (int a = 0; a < size; ++a) {
        gradient_[a] = n * (mean_[a] - gradient_[a]);
        H[a * size + a] += 1e-8 * n;
    }
    if (size == 2) return;
    const double* Q = family_->precision().data();
    for (int a = 0; a < K; ++a) {
        gradient_[2 + a] -= precision * dot(Q + a * K, &theta[2], K);
        for (int b = 0; b <= a; ++b) H[(2 + a) * size + 2 + b] += precision * Q[a * K + b];
    }
}

/// Newton's method from `theta`; returns Laplace's approximation of the log evidence.
double MarginFitter::maximize(double n, double precision, std::vector<double>& theta) {
    double value = evaluate(n, precision, theta), log_det = 0.0;
    for (int step = 0; step < max_steps; ++step) {
        derive(n, precision, theta);
        if (cholesky(hessian_.data(), size_) < size_) break;
        log_det = 0.0;
        for (int a = 0; a < size_; ++a) log_det += 2.0 * std::log(hessian_[a * size_ + a]);
        solve_lower(hessian_.data(), size_, gradient_.data());
        const double possible = 0.5 * dot(gradient_.data(), gradient_.data(), size_);
        solve_lower_transposed(hessian_.data(), size_, gradient_.data());
        if (possible < small_gain) {
            axpy(1.0, gradient_.data(), theta.data(), size_);
            value += possible;
            break;
        }
        double reached = value, length = 1.0;
        for (int cut = 0; cut < 20; ++cut, length *= 0.4) {
            trial_ = theta;
            axpy(length, gradient_.data(), trial_.data(), size_);
            reached = evaluate(n, precision, trial_);
            if (reached > value) break;
        }
        if (!(reached > value)) break;
        theta = trial_;
        value = reached;
    }
    double evidence = value - 0.5 * log_det;
    if (size_ > 2)
        evidence +=
            0.5 * (MarginFamily::n_splines * std::log(precision) + family_->log_det_precision());
    return evidence;
}

void MarginFitter::fit(const std::vector<double>& share, double n, Margin& margin) {
    constexpr int M = MarginFamily::n_points;
    std::ranges::fill(mean_, 0.0);
    for (int m = 0; m < M; ++m) {
        if (share[m] == 0.0) continue;
        const double x = family_->x(m);
        mean_[0] += share[m] * x;
        mean_[1] += share[m] * x * x;
        const double* s = family_->splines(m);
        for (int a = 0; a < 4; ++a) mean_[2 + MarginFamily::first_spline(m) + a] += share[m] * s[a];
    }
    const double variance = mean_[1] - mean_[0] * mean_[0];
    std::vector<double> theta(MarginFamily::n_features);
    theta[0] = mean_[0] / variance;
    theta[1] = -0.5 / variance;
    size_ = 2;
    const double normal = maximize(n, 0.0, theta);
    double best = std::log(probability_of_normal);
    std::vector<double> evidence{best}, best_theta = theta;
    margin.normal = true;
    margin.precision = 0.0;
    size_ = MarginFamily::n_features;
    const bool warm = !margin.starts.empty();
    margin.starts.resize(std::size(scales));
    for (std::size_t s = 0; s < std::size(scales); ++s) {
        const double scale = scales[s];
        if (warm && margin.starts[s].empty()) continue;
        if (warm) theta = margin.starts[s];
        const double here = maximize(n, 1.0 / (scale * scale), theta) - normal +
                            std::log((1.0 - probability_of_normal) / std::size(scales));
        evidence.push_back(here);
        margin.starts[s] = theta;
        if (here > best) {
            best = here;
            best_theta = theta;
            margin.normal = false;
            margin.precision = 1.0 / (scale * scale);
        }
    }
    double sum = 0.0;
    for (const double here : evidence) sum += std::exp(here - best);
    std::size_t used = 1;
    for (auto& start : margin.starts)
        if (!start.empty() && std::exp(evidence[used++] - best) < negligible) start.clear();
    margin.log_evidence = best + std::log(sum);
    margin.p_normal = std::exp(evidence[0] - margin.log_evidence);
    margin.theta = std::move(best_theta);
    describe(margin);
}

/// An observation at x moves theta by H^-1 F'(x) dx, with F the features and H minus the Hessian of
/// the log posterior, and d log f / dx there by F'(x)^T H^-1 F'(x) dx.
double MarginFitter::curvature(const std::vector<double>& share, double n, const Margin& margin) {
    constexpr int M = MarginFamily::n_points;
    size_ = margin.normal ? 2 : MarginFamily::n_features;
    evaluate(n, margin.precision, margin.theta);
    derive(n, margin.precision, margin.theta);
    double total = 0.0;
    const bool definite = cholesky(hessian_.data(), size_) == size_;
    for (int m = 0; m < M; ++m) {
        if (share[m] == 0.0) continue;
        const int below = std::max(m - 1, 0), above = std::min(m + 1, M - 1);
        total -= share[m] * (margin.d_log_f[above] - margin.d_log_f[below]) /
                 (family_->x(above) - family_->x(below));
        std::ranges::fill(gradient_, 0.0);
        gradient_[0] = 1.0;
        gradient_[1] = 2.0 * family_->x(m);
        if (size_ > 2)
            for (int a = 0; a < 4; ++a)
                gradient_[2 + MarginFamily::first_spline(m) + a] =
                    family_->slopes(m)[a] * family_->du(m);
        if (definite) solve_lower(hessian_.data(), size_, gradient_.data());
        total -= share[m] * dot(gradient_.data(), gradient_.data(), size_);
    }
    return total;
}

void MarginFitter::describe(Margin& margin) {
    constexpr int M = MarginFamily::n_points;
    size_ = margin.normal ? 2 : MarginFamily::n_features;
    evaluate(1.0, 0.0, margin.theta);
    margin.d_log_f.resize(M);
    margin.z.resize(M);
    margin.d_z.resize(M);
    const NormalTable& table = normal_table();
    double F = 0.0;
    std::size_t k = 0;
    for (int m = 0; m < M; ++m) {
        double slope = 0.0;
        if (!margin.normal) {
            const double* s = family_->slopes(m);
            const double* t = &margin.theta[2 + MarginFamily::first_spline(m)];
            slope = (s[0] * t[0] + s[1] * t[1] + s[2] * t[2] + s[3] * t[3]) * family_->du(m);
        }
        margin.d_log_f[m] = margin.theta[0] + 2.0 * margin.theta[1] * family_->x(m) + slope;
        const double middle = F + 0.5 * density_[m];
        F += density_[m];
        while (k + 2 < table.F.size() && table.F[k + 1] < middle) ++k;
        const double share = (middle - table.F[k]) / (table.F[k + 1] - table.F[k]);
        const double z = -NormalTable::end +
                         (static_cast<double>(k) + std::clamp(share, 0.0, 1.0)) * NormalTable::step;
        const double phi = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
        margin.z[m] = z;
        margin.d_z[m] = std::min(density_[m] / family_->width(m) / phi, 50.0);
    }
}

}  // namespace bowfree
