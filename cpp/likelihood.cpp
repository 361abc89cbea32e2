#include "likelihood.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "dense.hpp"
#include "newton.hpp"
#include "ricf.hpp"

namespace bowfree {

namespace {

constexpr double tolerance = 1e-10;  // of the Newton decrement, in units of the score
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

}  // namespace

DistrictFit fit_district(const double* S, int d, const District& district,
                         const FitOptions& options) {
    (void)options;
    const Standardized data(S, d, district);
    DistrictFit fit;
    std::vector<double> B = least_squares(district, data.S.data());
    Ricf ricf(district, data.S.data());
    ricf.start(B.data());
    double before = ricf.objective();
    for (int sweep = 0; sweep < max_sweeps; ++sweep) {
        if (!ricf.sweep()) break;
        ++fit.n_iter;
        const double now = ricf.objective();
        if (before - now < 0.1) break;
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
    for (int v = 0; v < district.k; ++v) {
        fit.objective += 2.0 * std::log(data.sd[v]);
        for (int j = 0; j < district.m(); ++j)
            fit.B[v * district.m() + j] *= data.sd[v] / data.sd[j];
        for (int w = 0; w < district.k; ++w)
            fit.Omega[v * district.k + w] *= data.sd[v] * data.sd[w];
    }
    fit.decrement = newton.decrement();
    fit.gradient_norm = newton.gradient_norm();
    fit.smallest_eigenvalue = newton.smallest_eigenvalue();
    return fit;
}

double district_objective(const double* S, int d, const District& district) {
    return fit_district(S, d, district).objective;
}

}  // namespace bowfree
