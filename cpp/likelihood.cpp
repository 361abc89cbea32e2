#include "likelihood.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "dense.hpp"
#include "newton.hpp"
#include "ricf.hpp"

namespace bowfree {

namespace {

constexpr double tolerance = 1e-10;    // of the Newton decrement, in units of the score
constexpr double far_from_flat = 0.1;  // sweeps go on while one lowers F by more than this
constexpr int max_sweeps = 8;
constexpr int max_newton_steps = 200;

/// The district's variables scaled to variance one. Fits are equivariant under this scaling, and
/// every number that is compared with a threshold then has no unit.
struct Standardized {
    std::vector<double> sd, S, X;  // m; m x m correlations; their Cholesky factor

    Standardized(const double* cov, int d, const District& district)
        : sd(district.m()), S(sd.size() * sd.size()) {
        const int m = district.m();
        const auto& nodes = district.nodes;
        for (int i = 0; i < m; ++i) sd[i] = std::sqrt(cov[nodes[i] * d + nodes[i]]);
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < m; ++j)
                S[i * m + j] = i == j ? 1.0 : cov[nodes[i] * d + nodes[j]] / (sd[i] * sd[j]);
        X = S;
        cholesky(X.data(), m);  // S is positive definite: `bowfree.data` has seen to it
    }
};

/// Coefficients of the ordinary least squares regression of each member on its parents, k x m.
std::vector<double> least_squares(const District& district, const double* S) {
    const int m = district.m();
    std::vector<double> B(district.k * m), gram, coef;
    for (int v = 0; v < district.k; ++v) {
        const auto& P = district.parents[v];
        const int n = static_cast<int>(P.size());
        gram.resize(n * n);
        coef.resize(n);
        for (int a = 0; a < n; ++a) {
            for (int b = 0; b <= a; ++b) gram[a * n + b] = S[P[a] * m + P[b]];
            coef[a] = S[v * m + P[a]];
        }
        cholesky(gram.data(), n);
        solve_lower(gram.data(), n, coef.data());
        solve_lower_transposed(gram.data(), n, coef.data());
        for (int a = 0; a < n; ++a) B[v * m + P[a]] = coef[a];
    }
    return B;
}

/// B of the given start: 0 least squares, 1 zero (the paper's), then random ones around both.
std::vector<double> starting_point(int start, const District& district, const double* S,
                                   std::mt19937_64& random) {
    if (start == 0) return least_squares(district, S);
    const int m = district.m();
    std::vector<double> B(district.k * m);
    if (start == 1) return B;
    if (start % 2 == 0) B = least_squares(district, S);
    // Uniform by hand: the standard library's distributions differ between platforms.
    const auto uniform = [&] {
        return 4.0 * (static_cast<double>(random() >> 11) * 0x1p-53) - 2.0;
    };
    for (int v = 0; v < district.k; ++v)
        for (int p : district.parents[v]) B[v * m + p] += uniform();
    return B;
}

/// A few RICF sweeps from B to the neighbourhood of an optimum, then Newton's method.
DistrictFit climb(const District& district, const Standardized& data, const double* B) {
    DistrictFit fit;
    Ricf ricf(district, data.S.data());
    ricf.start(B);
    for (double before = ricf.objective(); fit.n_iter < max_sweeps && ricf.sweep();) {
        ++fit.n_iter;
        const double now = ricf.objective();
        if (before - now < far_from_flat) break;
        before = now;
    }
    Newton newton(district, data.S.data(), data.X.data());
    newton.start(ricf.A().data(), ricf.Omega().data());
    fit.converged = newton.run(tolerance, max_newton_steps);
    fit.n_iter += newton.n_steps();
    fit.B.resize(district.k * district.m());
    fit.Omega.resize(district.k * district.k);
    newton.parameters(fit.B.data(), fit.Omega.data());
    fit.objective = 2.0 * newton.value();
    fit.decrement = newton.decrement();
    fit.gradient_norm = newton.gradient_norm();
    fit.smallest_eigenvalue = newton.smallest_eigenvalue();
    return fit;
}

}  // namespace

DistrictFit fit_district(const double* S, int d, const District& district,
                         const FitOptions& options) {
    const Standardized data(S, d, district);
    std::mt19937_64 random(options.seed);
    DistrictFit best;
    std::vector<double> optima;
    for (int start = 0; start < options.n_starts; ++start) {
        const auto B = starting_point(start, district, data.S.data(), random);
        DistrictFit fit = climb(district, data, B.data());
        const auto same = [&](double value) { return std::abs(value - fit.objective) < 1e-7; };
        if (fit.converged && std::none_of(optima.begin(), optima.end(), same))
            optima.push_back(fit.objective);
        if (start == 0 || fit.objective < best.objective) best = std::move(fit);
    }
    best.n_optima = std::max(1, static_cast<int>(optima.size()));

    // Back to the variables' own units.
    const int k = district.k, m = district.m();
    for (int v = 0; v < k; ++v) {
        best.objective += 2.0 * std::log(data.sd[v]);
        for (int j = 0; j < m; ++j) best.B[v * m + j] *= data.sd[v] / data.sd[j];
        for (int w = 0; w < k; ++w) best.Omega[v * k + w] *= data.sd[v] * data.sd[w];
    }
    return best;
}

double district_objective(const double* S, int d, const District& district) {
    return fit_district(S, d, district).objective;
}

}  // namespace bowfree
