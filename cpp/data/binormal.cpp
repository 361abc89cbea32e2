#include "data/binormal.hpp"

#include <array>
#include <cmath>
#include <numbers>

namespace bowfree {

namespace {

constexpr int n_nodes = 64;

struct Quadrature {
    std::array<double, n_nodes> node, weight;
};

/// Nodes and weights of Gauss and Legendre on [0, 1], by Newton's method.
Quadrature gauss_legendre() {
    Quadrature found{};
    for (int i = 0; i < n_nodes; ++i) {
        double x = std::cos(std::numbers::pi * (i + 0.75) / (n_nodes + 0.5)), slope = 0.0;
        for (int step = 0; step < 10; ++step) {  // converges in four or five
            double before = 1.0, value = x;
            for (int n = 2; n <= n_nodes; ++n) {
                const double next = ((2 * n - 1) * x * value - (n - 1) * before) / n;
                before = value;
                value = next;
            }
            slope = n_nodes * (x * value - before) / (x * x - 1.0);
            x -= value / slope;
        }
        found.node[i] = (1.0 - x) / 2.0;
        found.weight[i] = 1.0 / ((1.0 - x * x) * slope * slope);
    }
    return found;
}

}  // namespace

double normal_density(double x) {
    return std::exp(-x * x / 2.0) / std::sqrt(2.0 * std::numbers::pi);
}

double binormal_density(double h, double k, double r) {
    if (!std::isfinite(h) || !std::isfinite(k)) return 0.0;
    const double rest = 1.0 - r * r;
    return std::exp(-(h * h + k * k - 2.0 * r * h * k) / (2.0 * rest)) /
           (2.0 * std::numbers::pi * std::sqrt(rest));
}

std::vector<double> binormal_dependence(const double* h, const double* k, std::size_t n, double r) {
    static const Quadrature rule = gauss_legendre();
    const double top = std::asin(r);
    std::array<double, n_nodes> sine{}, half{}, share{};
    for (int i = 0; i < n_nodes; ++i) {
        // Dense where the integrand changes fastest.
        const double left = 1.0 - rule.node[i], t = top * (1.0 - left * left);
        sine[i] = std::sin(t);
        half[i] = 1.0 / (2.0 * std::cos(t) * std::cos(t));
        share[i] = rule.weight[i] * 2.0 * left * top / (2.0 * std::numbers::pi);
    }
    std::vector<double> found(n);
    for (std::size_t p = 0; p < n; ++p) {
        if (!std::isfinite(h[p]) || !std::isfinite(k[p])) continue;
        const double squares = h[p] * h[p] + k[p] * k[p], product = 2.0 * h[p] * k[p];
        for (int i = 0; i < n_nodes; ++i)
            found[p] += share[i] * std::exp(-(squares - product * sine[i]) * half[i]);
    }
    return found;
}

}  // namespace bowfree
