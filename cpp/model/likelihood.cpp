#include "model/likelihood.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "dense.hpp"
#include "model/peeling.hpp"

namespace bowfree {

namespace {

// Certificates: differences of scores below the tolerance are never printed.
constexpr double tolerance = 1e-10;    // of the Newton decrement, in units of the score
constexpr double rounding = 1e-14;     // the same for fits of which only the score is used
constexpr double same_optimum = 1e-7;  // values of F closer than this are one optimum

// When a fit counts as diverging; chosen on the reference fits without a maximum.
constexpr double nearly_collinear = 1e-4;  // smallest eigenvalue of the error correlations
constexpr double huge = 10.0;              // a coefficient between standardized variables

// Effort, chosen on the districts of benchmarks/climbs.py.
constexpr double steep = 0.3;         // sweeps continue while one lowers F by more than this
constexpr int max_sweeps = 8;         // at most
constexpr int max_steps = 50;         // of Newton from each requested start: 99.8 % need fewer
constexpr int max_rescue_steps = 40;  // from other starts
constexpr int canonical_starts = 3;   // tried in turn while the best end is not certified

// If no start ends certified: steps from the best end, on rounded correlations.
constexpr int rounded_steps = 100;

// When and how long to search for other maxima. Of 380 districts of dense random graphs on data of
// another model, 22 had a higher one within 20 starts, all of them with a misfit of at least 2.1;
// nine in ten districts of greedy climbs have less than 1.
constexpr double gross_misfit = 1.0;
constexpr int max_starts = 60;
constexpr double max_extra_work = 1e9;  // multiplications: a second or so; up to 195 parameters

// A step of Newton takes n^3 / 6 multiplications for n parameters; `max_newton_work` for one start is
// about half a minute. Beyond 1300 parameters there are fewer steps, beyond 4900 none, and more
// sweeps, which are far cheaper.
constexpr double max_newton_work = 2e10;
constexpr int few_steps = 10;
constexpr double flat = 1e-6;  // as `steep`
constexpr int many_sweeps = 100;

/// Solves the normal equations gram x = rhs in place, of size n. A regressor that is a combination
/// of those before it, up to rounding, gets the coefficient zero. Returns whether there was none.
bool regress(double* gram, double* rhs, int n) {
    const int left_out = cholesky_of_singular(gram, n, infinity);
    solve_factored(gram, n, rhs);
    return left_out == 0;
}

/// The smallest eigenvalue of the correlation matrix of a covariance matrix.
double smallest_correlation_eigenvalue(std::vector<double> Omega, int k, const Stop* stop) {
    std::vector<double> sd(k);
    for (int v = 0; v < k; ++v) sd[v] = std::sqrt(Omega[v * k + v]);
    for (int v = 0; v < k; ++v)
        for (int w = 0; w < k; ++w) Omega[v * k + w] /= sd[v] * sd[w];
    return smallest_eigenvalue(Omega.data(), k, stop);
}

}  // namespace

/// Loads the district into sweeps and Newton's method.
void DistrictFitter::prepare() {
    const District& district = data_.district();
    if (data_.single()) {
        ricf_.reset(district, data_.S().data(), stop_);
        newton_.reset(district, data_.S().data(), data_.X().data(), ricf_, stop_);
        sweeps_ = &ricf_;
    } else {
        group_sweeps_.reset(district, data_.ordered_groups(), stop_);
        newton_.reset(district, data_.group_moments(), group_sweeps_, stop_);
        sweeps_ = &group_sweeps_;
    }
}

/// Loads a start into the sweeps. 0: ordinary least squares, with error covariances near those of
/// the residuals. 1: ordinary least squares, uncorrelated errors. 2: zero coefficients, covariances
/// as in 0. Others: random coefficients around least squares (odd) or zero (even), with random
/// correlations on the bidirected edges.
void DistrictFitter::set_start(int start, const District& district, Rng& random) {
    const int k = district.k, m = district.m();
    const auto uniform = [&] { return 2.0 * random.uniform() - 1.0; };  // on [-1, 1)
    start_.assign(k * m, 0.0);
    for (int v = 0; v < k; ++v) {
        const std::vector<int>& P = district.parents[v];
        const int n = static_cast<int>(P.size());
        coef_.assign(n, 0.0);
        if (start < 2 || start % 2 == 1) {
            const double* S = data_.regression_covariance(v);
            gram_.resize(n * n);
            for (int a = 0; a < n; ++a) {
                for (int b = 0; b <= a; ++b) gram_[a * n + b] = S[P[a] * m + P[b]];
                coef_[a] = S[v * m + P[a]];
            }
            (void)regress(gram_.data(), coef_.data(), n);  // singular or not, it is a start
        }
        for (int a = 0; a < n; ++a)
            start_[v * m + P[a]] = coef_[a] + (start > 2 ? 2.0 * uniform() : 0.0);
    }
    sweeps_->start(start_.data());
    if (start == 0 || start == 2) sweeps_->correlate_errors();
    if (start <= 2) return;

    // At most 1 / degree on each edge: diagonally dominant, so positive definite.
    std::vector<double> A = sweeps_->A(), Omega = sweeps_->Omega();
    std::vector<int> degree(k);
    for (auto [a, b] : district.spouse_pairs) ++degree[a], ++degree[b];
    for (auto [a, b] : district.spouse_pairs)
        Omega[a * k + b] = Omega[b * k + a] = uniform() / std::max(degree[a], degree[b]) *
                                              std::sqrt(Omega[a * k + a] * Omega[b * k + b]);
    sweeps_->start(A.data(), Omega.data());
}

/// Sweeps to the neighborhood of an optimum, then Newton's method. Returns whether the end is
/// certified.
bool DistrictFitter::optimize(int max_steps) {
    const double n = newton_.n_parameters(), affordable = 6.0 * max_newton_work / (n * n * n);
    const bool large = affordable < few_steps;
    if (affordable < max_steps) max_steps = static_cast<int>(affordable);
    double before = sweeps_->objective();
    for (int sweep = 0; sweep < (large ? many_sweeps : max_sweeps) && sweeps_->sweep(); ++sweep) {
        ++n_iter_;
        const double now = sweeps_->objective();
        if (before - now < (large ? flat : steep)) break;
        before = now;
    }
    if (!newton_.start()) newton_.start(start_.data());
    const int steps = newton_.n_steps();
    const bool certified = newton_.run(tolerance, max_steps, negligible_);
    n_iter_ += newton_.n_steps() - steps;
    return certified;
}

bool DistrictFitter::optimize_from(int start, const FitOptions& options, Rng& random) {
    if (stop_) stop_->check();
    set_start(start, data_.district(), random);
    return optimize(start < options.n_starts ? max_steps : max_rescue_steps);
}

/// Optimizes on rounded correlations, from all starts and with more steps from the best end, and
/// loads that end with the original correlations. Returns whether it is certified there, or nothing
/// if the correlations cannot be rounded; `on_rounded` is whether it was certified before.
std::optional<bool> DistrictFitter::refine_on_rounded(const District& given,
                                                      const FitOptions& options, bool& on_rounded) {
    if (!data_.round_off()) return std::nullopt;
    prepare();
    Rng random(options.seed);
    double best = infinity;
    bool certified = false;
    std::vector<double> point;
    for (int start = 0; start < std::max(options.n_starts, canonical_starts); ++start) {
        if (start >= options.n_starts && certified) break;
        const bool now = optimize_from(start, options, random);
        if (!(newton_.value() < best)) continue;
        best = newton_.value();
        certified = now;
        point = newton_.point();
    }
    if (point.empty()) return std::nullopt;  // no start has a finite likelihood
    newton_.start(point);
    const int steps = newton_.n_steps();
    on_rounded = certified = newton_.run(tolerance, rounded_steps);
    n_iter_ += newton_.n_steps() - steps;
    point = newton_.point();

    (void)data_.standardize(given);
    prepare();
    newton_.start(point);
    if (certified && newton_.run(tolerance, max_rescue_steps)) return true;
    newton_.start(point);
    return false;
}

/// The difference between F and its value for unconstrained members given the parents outside,
/// k + log |S| - log |S_outside|. Zero for a perfect fit; times n, a chi-square statistic.
double DistrictFitter::misfit(const District& district, double value) {
    const int k = district.k, m = district.m(), n = m - k;
    double free = k;
    for (int i = 0; i < m; ++i) free += 2.0 * std::log(data_.X()[i * m + i]);
    gram_.resize(n * n);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) gram_[i * n + j] = data_.S()[(k + i) * m + k + j];
    if (cholesky(gram_.data(), n) < n) return 0.0;
    for (int i = 0; i < n; ++i) free -= 2.0 * std::log(gram_[i * n + i]);
    return value - free;
}

/// The lowest F over the starts; `details`, unless null, gets the description of its end.
double DistrictFitter::solve(const District& given, const FitOptions& options,
                             DistrictFit* details) {
    const bool single = data_.single();
    const bool definite = data_.standardize(given);
    const District& district = data_.district();
    prepare();
    n_iter_ = 0;
    negligible_ = details ? 0.0 : rounding;  // estimates are of the order of the root

    Rng random(options.seed);
    double best = infinity;
    bool best_certified = false;
    std::vector<double> optima;
    const auto count = [&](bool counts) {
        const double value = 2.0 * newton_.value();
        const auto same = [&](double other) { return std::abs(value - other) < same_optimum; };
        if (counts && std::ranges::none_of(optima, same)) optima.push_back(value);
    };
    const auto end_here = [&](bool certified) {
        best = 2.0 * newton_.value();
        best_certified = certified;
        if (details) describe(certified, options.diagnostics, *details);
    };
    for (int start = 0; start < std::max(options.n_starts, canonical_starts); ++start) {
        if (start >= options.n_starts && best_certified) break;
        const bool certified = optimize_from(start, options, random) && definite;
        if (details) count(certified);
        if (2.0 * newton_.value() < best) end_here(certified);
    }
    const double n = newton_.n_parameters(), step = n * n * n / 6.0;
    if (!best_certified && definite && n_iter_ * step < max_extra_work) {
        bool on_rounded = false;
        if (const auto certified = refine_on_rounded(given, options, on_rounded)) {
            if (details) count(*certified);
            end_here(*certified);
            if (details) details->rounded = on_rounded && !*certified;
        }
    }
    const int n_iter = n_iter_;
    const double canonical = best;
    work_ += step * n_iter;
    if (details && single && options.more_starts && definite &&
        misfit(district, best) > gross_misfit) {
        const bool affordable = max_starts * max_rescue_steps * step < max_extra_work;
        details->more_starts = affordable ? MoreStarts::done : MoreStarts::too_large;
        for (int start = options.n_starts; affordable && start < max_starts; ++start) {
            if (stop_) stop_->check();
            set_start(start, district, random);
            const bool certified = optimize(max_rescue_steps),
                       lower = 2.0 * newton_.value() < best - same_optimum;
            count(certified || 2.0 * newton_.value() < canonical - same_optimum);
            if (lower) end_here(certified);
        }
    }
    // F in the original units; a group that sets v has no term for it.
    const auto in_units = [&](double value) {
        for (int v = 0; v < given.k; ++v) {
            double weight = single ? 1.0 : 0.0;
            for (const ConditionGroup& group : data_.original_groups())
                weight += group.set[v] ? 0.0 : group.weight;
            value += weight * (2.0 * std::log(data_.sd(v)));
        }
        return value * data_.share();
    };
    best = in_units(best);
    if (details) {
        details->decrement *= data_.share();
        details->objective = best;
        details->canonical = in_units(canonical);
        details->n_iter = n_iter;
        details->n_optima = std::max(1, static_cast<int>(optima.size()));
    }
    return best;
}

/// Describes the current point of Newton's method, in the original units and order.
void DistrictFitter::describe(bool certified, bool diagnostics, DistrictFit& fit) {
    const District& district = data_.district();
    const std::vector<int>& given = data_.original();
    const int k = district.k, m = district.m();
    std::vector<double> A(k * m), Omega(k * k);
    double largest = 0.0;
    const auto write = [&](std::vector<double>& own_B, std::vector<double>& own_Omega) {
        own_B.resize(k * m);
        own_Omega.resize(k * k);
        for (int v = 0; v < k; ++v) {
            const int row = given[v];
            for (int j = 0; j < m; ++j) {
                const double coefficient = v == j ? 0.0 : -A[v * m + j];
                largest = std::max(largest, std::abs(coefficient));
                own_B[row * m + given[j]] = coefficient * data_.sd(row) / data_.sd(given[j]);
            }
            for (int w = 0; w < k; ++w)
                own_Omega[row * k + given[w]] =
                    Omega[v * k + w] * data_.sd(row) * data_.sd(given[w]);
        }
    };
    newton_.parameters(A.data(), Omega.data());
    write(fit.B, fit.Omega);
    fit.condition_fits.clear();
    for (std::size_t g = 0; g < data_.original_groups().size(); ++g) {
        const int condition = data_.original_groups()[g].condition;
        if (condition < 0) continue;
        newton_.parameters(static_cast<int>(g), A.data(), Omega.data());
        ConditionFit& own = fit.condition_fits.emplace_back(condition);
        write(own.B, own.Omega);
    }
    fit.converged = certified;
    fit.rounded = false;
    fit.decrement = newton_.decrement();
    if (!diagnostics) return;
    fit.gradient_norm = newton_.gradient_norm();
    fit.smallest_eigenvalue = newton_.smallest_eigenvalue();
    fit.diverging = !certified && fit.smallest_eigenvalue < nearly_collinear && largest > huge;
}

DistrictFit DistrictFitter::fit(const District& district, const FitOptions& options) {
    work_ = 0.0;
    DistrictFit fit = fit_parts(district, options);
    if (options.diagnostics && district.k > 1 && peelable(district, data_.conditions()))
        fit.smallest_eigenvalue = smallest_correlation_eigenvalue(fit.Omega, district.k, stop_);
    return fit;
}

DistrictFit DistrictFitter::fit_parts(const District& district, const FitOptions& options) {
    if (stop_) stop_->check();
    if (district.k == 1) return fit_single_node(district);
    if (const auto v = peelable(district, data_.conditions()))
        return fit_peeled(district, *v, options);
    (void)data_.gather(district);
    DistrictFit fit;
    solve(district, options, &fit);
    return fit;
}

/// One node: ordinary least squares, unless conditions have specific parameters. It is equivariant
/// under changes of units, so it needs no standardization.
DistrictFit DistrictFitter::fit_single_node(const District& district) {
    const int m = district.m(), v = district.nodes[0];
    DistrictFit fit;
    bool singular = false;
    if (!data_.gather(district)) {
        solve(district, {}, &fit);
        return fit;
    }
    fit.Omega.assign(1, residual_variance(district, singular));
    fit.objective = fit.canonical = data_.share() * (std::log(fit.Omega[0]) + 1.0);
    fit.B.assign(m, 0.0);
    gram_.resize((m - 1) * (m - 1));
    for (int a = 1; a < m; ++a) {
        for (int b = 1; b <= a; ++b)
            gram_[(a - 1) * (m - 1) + b - 1] =
                data_.covariance(district.nodes[a], district.nodes[b]);
        fit.B[a] = data_.covariance(v, district.nodes[a]);
    }
    const bool regular = regress(gram_.data(), fit.B.data() + 1, m - 1);
    fit.converged = regular && !singular;
    return fit;
}

/// Fits member v and the others separately and transforms the estimates back (see peeling.hpp).
DistrictFit DistrictFitter::fit_peeled(const District& district, int v, const FitOptions& options) {
    const int k = district.k, m = district.m();
    const District one = alone(district, v), rest = without(district, v);
    const DistrictFit own = fit_single_node(one);
    DistrictFit fit = fit_parts(rest, options);
    fit.objective = own.objective + fit.objective;
    fit.canonical = own.canonical + fit.canonical;
    fit.converged = own.converged && fit.converged;
    fit.rounded = own.converged && fit.rounded;

    std::vector<int> local(data_.d());  // by node: its number in `district`
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
    return fit;
}

double DistrictFitter::objective(const District& district) {
    work_ = 0.0;
    if (!data_.gather(district) || district.k > 1) return solve(district, {}, nullptr);
    bool singular = false;
    return data_.share() * (std::log(residual_variance(district, singular)) + 1.0);
}

/// Take the members in an order in which children follow their parents. Whatever the parameters,
/// an error of the last member depends on the variables before it through its Markov blanket among
/// them: the members that bidirected edges connect with it, and the parents of all of these. So F is
/// at least that of the regressions of every member on its blanket, which need no iterations.
/// The blankets are smallest, and the bound is best, if members with few spouses come last.
double DistrictFitter::lower_bound(const District& district) {
    constexpr int bits = 64;
    constexpr double least_share = 1e-6;  // of a variance: with less, rounding could be visible
    const int k = district.k, m = district.m();
    if (m > bits || data_.conditions()) return -infinity;
    Word parents[bits] = {}, spouses[bits] = {};
    for (int v = 0; v < k; ++v)
        for (const int p : district.parents[v]) parents[v] |= Word{1} << p;
    for (const auto& [a, b] : district.spouse_pairs) {
        spouses[a] |= Word{1} << b;
        spouses[b] |= Word{1} << a;
    }
    double F = k;
    gram_.resize(m * m);
    for (Word members = ~Word{0} >> (bits - k); members != 0;) {
        Word with_children = 0, blanket = ~Word{0};
        for_each_node(&members, 1, [&](int v) { with_children |= parents[v]; });
        int last = -1, fewest = 0;
        const Word ends = members & ~with_children;
        for_each_node(&ends, 1, [&](int v) {
            Word connected = Word{1} << v, found = parents[v];
            for (Word fresh = connected; fresh != 0;) {
                Word next = 0;
                for_each_node(&fresh, 1, [&](int u) {
                    next |= spouses[u];
                    found |= parents[u];
                });
                fresh = next & members & ~connected;
                connected |= fresh;
            }
            found |= connected ^ (Word{1} << v);
            const int further = std::popcount(found & ~parents[v] & ~spouses[v]);
            if (last >= 0 && further >= fewest) return;
            last = v;
            blanket = found;
            fewest = further;
        });
        if (last < 0 || (parents[last] & spouses[last]) != 0) return -infinity;  // a bow
        list_nodes(&blanket, 1, blanket_);
        blanket_.push_back(last);
        const int n = static_cast<int>(blanket_.size());
        for (int a = 0; a < n; ++a)
            for (int b = 0; b <= a; ++b)
                gram_[a * n + b] =
                    data_.covariance(district.nodes[blanket_[a]], district.nodes[blanket_[b]]);
        const double variance = gram_[n * n - 1];
        if (cholesky(gram_.data(), n) < n) return -infinity;
        const double residual = gram_[n * n - 1] * gram_[n * n - 1];
        if (!(residual > least_share * variance)) return -infinity;
        F += std::log(residual);
        members ^= Word{1} << last;
    }
    return F;
}

/// One node: its residual variance is the last pivot when S is factored parents first.
double DistrictFitter::residual_variance(const District& district, bool& singular) {
    const int m = district.m();
    gram_.resize(m * m);
    for (int a = 0; a < m; ++a)
        for (int b = 0; b <= a; ++b)
            gram_[a * m + b] =
                data_.covariance(district.nodes[m - 1 - a], district.nodes[m - 1 - b]);
    singular = cholesky_of_singular(gram_.data(), m, infinity) > 0;
    const double sd = gram_[m * m - 1];
    if (sd < infinity) return sd * sd;
    return rounding_share * data_.covariance(district.nodes[0], district.nodes[0]);
}

DistrictFit ricf(const double* S, int d, const District& district, int max_iter, double tol,
                 const Stop* stop) {
    const int k = district.k, m = district.m();
    std::vector<double> local(m * m);
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j) local[i * m + j] = S[district.nodes[i] * d + district.nodes[j]];

    DistrictFit fit;
    fit.B.assign(k * m, 0.0);
    Ricf state;
    state.reset(district, local.data(), stop);
    state.start(fit.B.data());
    std::vector<double> A, Omega;  // before a sweep
    while (fit.n_iter < max_iter && !fit.converged) {
        A = state.A();
        Omega = state.Omega();
        ++fit.n_iter;
        if (stop) stop->check();
        if (!state.sweep()) break;
        double change = 0.0;
        for (int i = 0; i < k * m; ++i) change += std::abs(A[i] - state.A()[i]);
        for (int i = 0; i < k * k; ++i) change += std::abs(Omega[i] - state.Omega()[i]);
        fit.converged = change < tol;
    }
    for (int v = 0; v < k; ++v)
        for (int p : district.parents[v]) fit.B[v * m + p] = -state.A()[v * m + p];
    fit.Omega = state.Omega();
    fit.objective = fit.canonical = state.objective();
    if (state.inverse_is_accurate()) return fit;

    fit.converged = false;
    fit.B.assign(k * m, 0.0);
    state.start(fit.B.data());
    fit.Omega = state.Omega();
    fit.objective = fit.canonical = state.objective();
    return fit;
}

}  // namespace bowfree
