#include "model/likelihood.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "model/dense.hpp"
#include "model/peeling.hpp"

namespace bowfree {

namespace {

constexpr double tolerance = 1e-10;        // of the Newton decrement, in units of the score
constexpr double same_optimum = 1e-7;      // values of F closer than this are one optimum
constexpr double nearly_collinear = 1e-4;  // smallest eigenvalue of the error correlations
constexpr double huge = 10.0;              // a coefficient between standardised variables
constexpr double steep = 0.3;              // sweeps go on while one lowers F by more than this
constexpr int max_sweeps = 8;
constexpr int max_steps = 50;         // of Newton from each start asked for: 99.8 % need fewer
constexpr int max_rescue_steps = 40;  // from the starts that nobody asked for
constexpr int canonical_starts = 3;   // tried in turn while the best end point is not certified

/// Solves the normal equations gram x = rhs in place, both of size n.
void regress(double* gram, double* rhs, int n) {
    cholesky(gram, n);
    solve_lower(gram, n, rhs);
    solve_lower_transposed(gram, n, rhs);
}

/// The smallest eigenvalue of the correlation matrix of a covariance matrix.
double smallest_correlation_eigenvalue(std::vector<double> Omega, int k) {
    std::vector<double> sd(k);
    for (int v = 0; v < k; ++v) sd[v] = std::sqrt(Omega[v * k + v]);
    for (int v = 0; v < k; ++v)
        for (int w = 0; w < k; ++w) Omega[v * k + w] /= sd[v] * sd[w];
    return smallest_eigenvalue(Omega.data(), k);
}

}  // namespace

/// Scales the district's variables to variance one. Fits are equivariant under this scaling, and
/// every number that is compared with a threshold then has no unit.
void DistrictFitter::standardize(const District& district) {
    const int m = district.m();
    const std::vector<int>& nodes = district.nodes;
    sd_.resize(m);
    S_.resize(m * m);
    for (int i = 0; i < m; ++i) sd_[i] = std::sqrt(cov_[nodes[i] * d_ + nodes[i]]);
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j)
            S_[i * m + j] = i == j ? 1.0 : cov_[nodes[i] * d_ + nodes[j]] / (sd_[i] * sd_[j]);
    X_ = S_;
    cholesky(X_.data(), m);  // S is positive definite: `bowfree.model.moments` has seen to it
}

/// Puts `ricf_` on the given start. 0: ordinary least squares, with error covariances near those of
/// the residuals. 1: ordinary least squares, uncorrelated errors. 2: zero coefficients, covariances
/// as in 0. Then: random coefficients around least squares and around zero in turn, with random
/// correlations on the bidirected edges.
void DistrictFitter::set_start(int start, const District& district, Rng& random) {
    const int k = district.k, m = district.m();
    // Uniform on (-1, 1), by hand: the library's distributions differ between platforms.
    const auto uniform = [&] { return 0x1p-52 * static_cast<double>(random.next() >> 11) - 1.0; };
    start_.assign(k * m, 0.0);
    std::vector<double> coef;
    for (int v = 0; v < k; ++v) {
        const std::vector<int>& P = district.parents[v];
        const int n = static_cast<int>(P.size());
        coef.assign(n, 0.0);
        if (start < 2 || start % 2 == 1) {
            gram_.resize(n * n);
            for (int a = 0; a < n; ++a) {
                for (int b = 0; b <= a; ++b) gram_[a * n + b] = S_[P[a] * m + P[b]];
                coef[a] = S_[v * m + P[a]];
            }
            regress(gram_.data(), coef.data(), n);
        }
        for (int a = 0; a < n; ++a)
            start_[v * m + P[a]] = coef[a] + (start > 2 ? 2.0 * uniform() : 0.0);
    }
    ricf_.start(start_.data());
    if (start == 0 || start == 2) ricf_.correlate_errors();
    if (start <= 2) return;

    // At most 1 / degree on each edge: diagonally dominant, so positive definite.
    std::vector<double> A = ricf_.A(), Omega = ricf_.Omega();
    std::vector<int> degree(k);
    for (auto [a, b] : district.spouse_pairs) ++degree[a], ++degree[b];
    for (auto [a, b] : district.spouse_pairs)
        Omega[a * k + b] = Omega[b * k + a] = uniform() / std::max(degree[a], degree[b]) *
                                              std::sqrt(Omega[a * k + a] * Omega[b * k + b]);
    ricf_.start(A.data(), Omega.data());
}

/// A few RICF sweeps to the neighbourhood of an optimum, then Newton's method.
bool DistrictFitter::climb(int max_newton_steps) {
    double before = ricf_.objective();
    for (int sweep = 0; sweep < max_sweeps && ricf_.sweep(); ++sweep) {
        ++n_iter_;
        const double now = ricf_.objective();
        if (before - now < steep) break;
        before = now;
    }
    const int steps = newton_.n_steps();
    const bool certified = newton_.start() && newton_.run(tolerance, max_newton_steps);
    n_iter_ += newton_.n_steps() - steps;
    return certified;
}

/// The lowest F over the starts; all about its end point goes into `details`, unless null.
double DistrictFitter::solve(const District& district, const FitOptions& options,
                             DistrictFit* details) {
    standardize(district);
    ricf_.reset(district, S_.data());
    newton_.reset(district, S_.data(), X_.data(), ricf_);
    n_iter_ = 0;

    Rng random(options.seed);
    double best = std::numeric_limits<double>::infinity();
    bool best_certified = false;
    std::vector<double> optima;
    for (int start = 0; start < std::max(options.n_starts, canonical_starts); ++start) {
        if (start >= options.n_starts && best_certified) break;
        set_start(start, district, random);
        const bool certified = climb(start < options.n_starts ? max_steps : max_rescue_steps);
        const double value = 2.0 * newton_.value();
        const auto same = [&](double other) { return std::abs(value - other) < same_optimum; };
        if (certified && std::none_of(optima.begin(), optima.end(), same)) optima.push_back(value);
        if (!(value < best)) continue;
        best = value;
        best_certified = certified;
        if (details) describe(district, certified, *details);
    }
    for (int v = 0; v < district.k; ++v) best += 2.0 * std::log(sd_[v]);
    if (details) {
        details->objective = best;
        details->n_iter = n_iter_;
        details->n_optima = std::max(1, static_cast<int>(optima.size()));
    }
    return best;
}

/// Reads the end point of the last climb off the kernels, in the variables' own units.
void DistrictFitter::describe(const District& district, bool certified, DistrictFit& fit) {
    const int k = district.k, m = district.m();
    fit.B.resize(k * m);
    fit.Omega.resize(k * k);
    newton_.parameters(fit.B.data(), fit.Omega.data());
    double largest = 0.0;
    for (double coefficient : fit.B) largest = std::max(largest, std::abs(coefficient));
    for (int v = 0; v < k; ++v) {
        for (int j = 0; j < m; ++j)
            fit.B[v * m + j] = v == j ? 0.0 : -fit.B[v * m + j] * sd_[v] / sd_[j];
        for (int w = 0; w < k; ++w) fit.Omega[v * k + w] *= sd_[v] * sd_[w];
    }
    fit.converged = certified;
    fit.decrement = newton_.decrement();
    fit.gradient_norm = newton_.gradient_norm();
    fit.smallest_eigenvalue = newton_.smallest_eigenvalue();
    fit.diverging = !certified && fit.smallest_eigenvalue < nearly_collinear && largest > huge;
}

DistrictFit DistrictFitter::fit(const District& district, const FitOptions& options) {
    if (const auto v = peelable(district)) return fit_peeled(district, *v, options);
    DistrictFit fit;
    if (district.k > 1) {
        solve(district, options, &fit);
        return fit;
    }
    // One node: ordinary least squares.
    const int m = district.m(), v = district.nodes[0];
    fit.B.assign(m, 0.0);
    fit.objective = objective(district);
    fit.Omega.assign(1, std::exp(fit.objective - 1.0));
    fit.converged = true;
    gram_.resize((m - 1) * (m - 1));
    for (int a = 1; a < m; ++a) {
        for (int b = 1; b <= a; ++b)
            gram_[(a - 1) * (m - 1) + b - 1] = cov_[district.nodes[a] * d_ + district.nodes[b]];
        fit.B[a] = cov_[v * d_ + district.nodes[a]];
    }
    regress(gram_.data(), fit.B.data() + 1, m - 1);
    return fit;
}

/// Fits member v and the others apart, and reads row v back into theirs (see peeling.hpp).
DistrictFit DistrictFitter::fit_peeled(const District& district, int v, const FitOptions& options) {
    const int k = district.k, m = district.m();
    const District one = alone(district, v), rest = without(district, v);
    const DistrictFit own = fit(one);
    DistrictFit fit = this->fit(rest, options);
    fit.objective = own.objective + fit.objective;

    std::vector<int> local(d_);  // by node: its number in `district`
    for (int j = 0; j < m; ++j) local[district.nodes[j]] = j;
    std::vector<double> B(k * m), Omega(k * k);
    const double omega = own.Omega[0];
    for (int j = 1; j < one.m(); ++j) B[v * m + local[one.nodes[j]]] = own.B[j];
    Omega[v * k + v] = omega;
    std::vector<double> alpha(k);
    for (int q = 0; q < rest.k; ++q) {
        const int row = local[rest.nodes[q]];
        for (int j = 0; j < rest.m(); ++j)
            B[row * m + local[rest.nodes[j]]] = fit.B[q * rest.m() + j];
        for (int r = 0; r < rest.k; ++r)
            Omega[row * k + local[rest.nodes[r]]] = fit.Omega[q * rest.k + r];
    }
    for (const auto& [a, b] : district.spouse_pairs) {
        if (a != v && b != v) continue;
        const int q = a == v ? b : a;
        alpha[q] = std::exchange(B[q * m + v], 0.0);
        axpy(alpha[q], &B[v * m], &B[q * m], m);
        Omega[v * k + q] = Omega[q * k + v] = alpha[q] * omega;
    }
    for (int q = 0; q < k; ++q) axpy(alpha[q] * omega, alpha.data(), &Omega[q * k], k);
    fit.B = std::move(B);
    fit.Omega = std::move(Omega);
    fit.smallest_eigenvalue = smallest_correlation_eigenvalue(fit.Omega, k);
    return fit;
}

double DistrictFitter::objective(const District& district) {
    if (district.k > 1) return solve(district, {}, nullptr);
    // One node: its residual variance is the last pivot when S is factored parents first.
    const int m = district.m();
    gram_.resize(m * m);
    for (int a = 0; a < m; ++a) {
        const int i = district.nodes[m - 1 - a];
        for (int b = 0; b <= a; ++b) gram_[a * m + b] = cov_[i * d_ + district.nodes[m - 1 - b]];
    }
    cholesky(gram_.data(), m);
    return 2.0 * std::log(gram_[m * m - 1]) + 1.0;
}

}  // namespace bowfree
