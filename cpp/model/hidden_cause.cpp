#include "model/hidden_cause.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "dense.hpp"

namespace bowfree {

namespace {

/// A mixture of three normals with mean zero and variance one.
struct Shape {
    std::array<double, 3> weight, mean, variance;

    Shape mirrored() const { return {weight, {-mean[0], -mean[1], -mean[2]}, variance}; }
    Cumulants cumulants() const {
        Cumulants k{0.0, -3.0};
        for (int i = 0; i < 3; ++i) {
            const double m = mean[i], v = variance[i];
            k.third += weight[i] * m * (m * m + 3.0 * v);
            k.fourth += weight[i] * (m * m * (m * m + 6.0 * v) + 3.0 * v * v);
        }
        return k;
    }
};

/// Best approximations of an exponential, a gamma (shape 4), a log-normal, a uniform and a Laplace
/// distribution; the normal one; then the first three mirrored.
const std::array<Shape, 9>& shapes() {
    static const std::array<Shape, 9> all = [] {
        std::array<Shape, 9> s{{
            {{0.316, 0.461, 0.223}, {-0.777, -0.106, 1.323}, {0.022, 0.195, 1.424}},
            {{0.327, 0.501, 0.172}, {-0.829, 0.097, 1.287}, {0.167, 0.436, 1.228}},
            {{0.511, 0.395, 0.094}, {-0.489, 0.129, 2.105}, {0.023, 0.197, 3.844}},
            {{0.205, 0.590, 0.205}, {-1.303, 0.0, 1.303}, {0.074, 0.465, 0.074}},
            {{0.242, 0.195, 0.563}, {0.0, 0.0, 0.0}, {2.624, 0.070, 0.626}},
            {{0.4, 0.3, 0.3}, {0.0, 0.0, 0.0}, {1.0, 1.0, 1.0}},
        }};
        for (int k = 0; k < 3; ++k) s[6 + k] = s[k].mirrored();
        return s;
    }();
    return all;
}
constexpr int n_shapes = 9;
constexpr int n_closest = 3;        // shapes of e and f that are considered
constexpr double promising = 10.0;  // distance from the best cause with the closest shapes
constexpr double ratios[] = {0.6, 1.0, 1.0 / 0.6};  // each with its inverse, in the opposite order
constexpr int n_ratios = 3;
constexpr double correlation_step = 0.025;
constexpr int n_correlations = 37;
constexpr double largest_share = 0.93;  // of the variance of an error that a hidden cause explains

// Gauss-Hermite quadrature with six nodes, for the standard normal distribution.
constexpr double nodes[] = {-3.3242574335521193, -1.8891758777537107, -0.6167065901925942,
                            0.6167065901925942,  1.8891758777537107,  3.3242574335521193};
constexpr int n_nodes = 18;  // of a mixture
constexpr double node_weights[] = {0.0025557844020562, 0.0886157460419145, 0.4088284695560293,
                                   0.4088284695560293, 0.0886157460419145, 0.0025557844020562};

double normal_density(double x, double variance) {
    return std::exp(-0.5 * x * x / variance) / std::sqrt(2.0 * std::numbers::pi * variance);
}

const std::array<Cumulants, n_shapes>& shape_cumulants() {
    static const std::array<Cumulants, n_shapes> all = [] {
        std::array<Cumulants, n_shapes> found;
        for (int k = 0; k < n_shapes; ++k) found[k] = shapes()[k].cumulants();
        return found;
    }();
    return all;
}

/// The shapes of e that agree best with the cumulants of a h + e, the best first.
std::array<int, n_closest> closest(const Cumulants& x, const Cumulants& h, double a) {
    const double s2 = 1.0 - a * a;
    const double third = (x.third - a * a * a * h.third) / (s2 * std::sqrt(s2));
    const double fourth = std::min((x.fourth - a * a * a * a * h.fourth) / (s2 * s2), 13.0);
    std::array<std::pair<double, int>, n_shapes> found;
    for (int k = 0; k < n_shapes; ++k) {
        const Cumulants& of = shape_cumulants()[k];
        const double u = third - of.third, v = (fourth - of.fourth) / 3.0;
        found[k] = {u * u + v * v, k};
    }
    std::ranges::partial_sort(found, found.begin() + n_closest);
    std::array<int, n_closest> best{};
    for (int k = 0; k < n_closest; ++k) best[k] = found[k].second;
    return best;
}

/// The share of x that is due to h: a, given that a c is the correlation and a / c the ratio.
std::pair<double, double> loadings(double correlation, double ratio) {
    const double a2 =
        std::clamp(correlation * ratio, correlation * correlation / largest_share, largest_share);
    const double a = std::sqrt(a2);
    return {a, correlation / a};
}

}  // namespace

/// The error a h + s e, with the density of e tabulated at the points where the normal score is on
/// the grid: by node of h and point, and integrated over h.
struct HiddenCauses::Axis {
    std::vector<double> given_h, total;

    Axis(const Shape& h, const Shape& e, double a);
};

HiddenCauses::Axis::Axis(const Shape& h, const Shape& e, double a)
    : given_h(static_cast<std::size_t>(n_nodes) * n_points) {
    const double s2 = 1.0 - a * a, s = std::sqrt(s2);
    // The quantiles, by walking up the distribution function.
    constexpr double low = -7.0, fine = 0.1;
    const auto F = [&](double x) {
        double sum = 0.0;
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
                const double mean = a * h.mean[i] + s * e.mean[j];
                const double sd = std::sqrt(a * a * h.variance[i] + s2 * e.variance[j]);
                sum += h.weight[i] * e.weight[j] * 0.5 *
                       std::erfc(-(x - mean) / (sd * std::numbers::sqrt2));
            }
        return sum;
    };
    double x = low, before = F(x), after = F(x + fine);
    for (int p = 0; p < n_points; ++p) {
        const double z = first + p * step;
        const double wanted = 0.5 * std::erfc(-z / std::numbers::sqrt2);
        while (after < wanted && x < 20.0) {
            x += fine;
            before = after;
            after = F(x + fine);
        }
        const double share = after > before ? (wanted - before) / (after - before) : 0.0;
        const double quantile = x + fine * std::clamp(share, 0.0, 1.0);
        double sum = 0.0;
        for (int i = 0; i < 3; ++i)
            for (int q = 0; q < 6; ++q) {
                const double value = h.mean[i] + nodes[q] * std::sqrt(h.variance[i]);
                double density = 0.0;
                for (int j = 0; j < 3; ++j)
                    density += e.weight[j] * normal_density(quantile - a * value - s * e.mean[j],
                                                            s2 * e.variance[j]);
                given_h[(6 * i + q) * n_points + p] = density;
                sum += h.weight[i] * node_weights[q] * density;
            }
        total.push_back(sum);
    }
}

constexpr int n_axes = (n_correlations + 1) * n_ratios * n_shapes * n_shapes;

HiddenCauses::HiddenCauses() : tables_(n_axes * n_shapes) {}
HiddenCauses::~HiddenCauses() = default;

/// Axes are slow to make, and all of them take 35 megabytes, so they are kept until the program ends.
const HiddenCauses::Axis& HiddenCauses::axis(int h, int e, int ratio, int correlation) {
    static std::mutex mutex;
    static std::vector<std::unique_ptr<const Axis>> axes(n_axes);
    const int index = ((correlation * n_ratios + ratio) * n_shapes + h) * n_shapes + e;
    {
        const std::scoped_lock lock(mutex);
        if (axes[index]) return *axes[index];
    }
    const double a = loadings(correlation_step * correlation, ratios[ratio]).first;
    auto made = std::make_unique<const Axis>(shapes()[h], shapes()[e], a);
    const std::scoped_lock lock(mutex);
    if (!axes[index]) axes[index] = std::move(made);
    return *axes[index];
}

const HiddenCauses::Table& HiddenCauses::table(int h, int e, int f, int ratio,
                                               int correlation) const {
    const int index =
        (((correlation * n_ratios + ratio) * n_shapes + h) * n_shapes + e) * n_shapes + f;
    if (const Table* found = tables_[index].load(std::memory_order_acquire)) return *found;
    const Axis &x = axis(h, e, ratio, correlation),
               &y = axis(h, f, n_ratios - 1 - ratio, correlation);
    auto made = std::make_unique<Table>(n_points * n_points);
    for (int p = 0; p < n_points; ++p) {
        double* joint = &(*made)[p * n_points];
        axpy(1e-12 * x.total[p], y.total.data(), joint, n_points);
        for (int k = 0; k < n_nodes; ++k)
            axpy(shapes()[h].weight[k / 6] * node_weights[k % 6] * x.given_h[k * n_points + p],
                 &y.given_h[k * n_points], joint, n_points);
        for (int q = 0; q < n_points; ++q)
            joint[q] = std::log(joint[q] / (x.total[p] * y.total[q]));
    }
    const std::scoped_lock lock(mutex_);
    if (const Table* found = tables_[index].load(std::memory_order_acquire)) return *found;
    tables_[index].store(made.get(), std::memory_order_release);
    return *owned_tables_.emplace_back(std::move(made));
}

double HiddenCauses::log_likelihood_ratio(const std::vector<double>& count, double r,
                                          const Cumulants& x, const Cumulants& y) const {
    const bool negative = r < 0.0;
    const int nearest = std::clamp(static_cast<int>(std::lround(std::abs(r) / correlation_step)), 1,
                                   n_correlations);
    const Cumulants other{negative ? -y.third : y.third, y.fourth};
    std::vector<double> mirrored = count;
    if (negative)
        for (int p = 0; p < n_points; ++p)
            std::reverse(&mirrored[p * n_points], &mirrored[p * n_points] + n_points);
    const auto value = [&](int h, int e, int f, int ratio) {
        const Table& log_copula = table(h, e, f, ratio, nearest);
        return dot(mirrored.data(), log_copula.data(), n_points * n_points);
    };
    struct Cause {
        int h, ratio;
        std::array<int, n_closest> e, f;
        double value;
    };
    std::vector<Cause> causes;
    double best = -infinity;
    for (int h = 0; h < n_shapes; ++h) {
        const Cumulants& of_h = shape_cumulants()[h];
        for (int ratio = 0; ratio < n_ratios; ++ratio) {
            const auto [a, c] = loadings(correlation_step * nearest, ratios[ratio]);
            const auto e = closest(x, of_h, a), f = closest(other, of_h, c);
            const double first = value(h, e[0], f[0], ratio);
            best = std::max(best, first);
            causes.push_back({h, ratio, e, f, first});
        }
    }
    const double enough = best - promising;
    for (const auto& [h, ratio, e, f, reached] : causes) {
        if (reached < enough) continue;
        double of_e = reached, of_f = reached;
        int best_e = e[0], best_f = f[0];
        for (int k = 1; k < n_closest; ++k) {
            if (const double here = value(h, e[k], f[0], ratio); here > of_e) {
                of_e = here;
                best_e = e[k];
            }
            if (const double here = value(h, e[0], f[k], ratio); here > of_f) {
                of_f = here;
                best_f = f[k];
            }
        }
        best = std::max({best, of_e, of_f, value(h, best_e, best_f, ratio)});
    }
    return best;
}

}  // namespace bowfree
