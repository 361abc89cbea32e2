#include "model/error_evidence.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "dense.hpp"

namespace bowfree {

namespace {

constexpr int max_improvements = 3;
constexpr double small_gain = 0.03;  // of the log evidence, at which improvements end
constexpr double probability_of_hidden_cause = 0.5;

double largest_value(const double* rows, std::size_t n, int d, std::vector<double>& sd) {
    sd.assign(d, 0.0);
    for (std::size_t r = 0; r < n; ++r)
        for (int v = 0; v < d; ++v) sd[v] += rows[r * d + v] * rows[r * d + v];
    for (double& s : sd) s = std::sqrt(s / static_cast<double>(n));
    double largest = 0.0;
    for (std::size_t r = 0; r < n; ++r)
        for (int v = 0; v < d; ++v) largest = std::max(largest, std::abs(rows[r * d + v]) / sd[v]);
    return largest;
}

}  // namespace

ErrorRows::ErrorRows(const double* rows, std::size_t n, int d, double power)
    : n_(static_cast<int>(n)), power_(power), family_(largest_value(rows, n, d, sd_)) {
    columns_.resize(n * d);
    for (std::size_t r = 0; r < n; ++r)
        for (int v = 0; v < d; ++v) columns_[v * n + r] = rows[r * d + v] / sd_[v];
}

ErrorEvidence::ErrorEvidence(const ErrorRows& rows, const Stop* stop)
    : rows_(rows), stop_(stop), fitter_(rows.family()) {}

/// The log density of the errors at B, up to the constant of the normal one; fills the margins, the
/// scores and their correlations.
double ErrorEvidence::evaluate(const District& district, const std::vector<double>& B) {
    const int k = district.k, n = rows_.n();
    double value = 0.0;
    for (int v = 0; v < k; ++v) {
        if (stop_) stop_->check();
        const int node = district.nodes[v];
        const bool alone = district.parents[v].empty();
        Error& error = alone ? without_parents_[node] : with_parents_[v];
        errors_[v] = &error;
        if (!alone || error.residual.empty()) {
            error.residual.assign(rows_.column(node), rows_.column(node) + n);
            for (const int p : district.parents[v])
                axpy(-B[v * district.m() + p], rows_.column(district.nodes[p]),
                     error.residual.data(), n);
            describe(error);
        }
        if (k > 1 && error.z.empty()) score(error);
        value += error.margin.log_evidence - n * std::log(error.sd);
    }
    return value - 0.5 * n * (k == 1 ? 1.0 : copula_objective(district));
}

/// Fills in everything but the residual and the scores.
void ErrorEvidence::describe(Error& error) {
    const int n = rows_.n();
    const MarginFamily& family = rows_.family();
    const double sd = std::sqrt(dot(error.residual.data(), error.residual.data(), n) / n);
    share_.assign(MarginFamily::n_points, 0.0);
    error.places.resize(n);
    Cumulants cumulants{0.0, -3.0 * n};
    for (int r = 0; r < n; ++r) {
        const double value = error.residual[r] / sd;
        const Place place = error.places[r] = family.place(value);
        share_[place.point] += 1.0 - place.share;
        share_[place.point + 1] += place.share;
        const double x = std::clamp(value, -6.0, 6.0), x2 = x * x;
        cumulants.third += x * x2;
        cumulants.fourth += x2 * x2;
    }
    for (double& share : share_) share /= n;
    fitter_.fit(share_, n, error.margin);
    error.sd = sd;
    error.cumulants = {cumulants.third / n, cumulants.fourth / n};
    error.z.clear();
}

void ErrorEvidence::score(Error& error) const {
    error.z.resize(rows_.n());
    for (int r = 0; r < rows_.n(); ++r) error.z[r] = at(error.margin.z, error.places[r]);
}

/// The minimum of log|R| + tr(R^-1 T) over correlation structures with the zeros of the district.
double ErrorEvidence::copula_objective(const District& district) {
    const int k = district.k, n = rows_.n();
    T_.assign(static_cast<std::size_t>(k) * k, 1.0);
    std::vector<double> length(k);
    for (int a = 0; a < k; ++a) length[a] = std::sqrt(dot(error(a).z.data(), error(a).z.data(), n));
    for (int a = 0; a < k; ++a)
        for (int b = 0; b < a; ++b)
            T_[a * k + b] = T_[b * k + a] =
                dot(error(a).z.data(), error(b).z.data(), n) / (length[a] * length[b]);
    District undirected;
    undirected.k = k;
    for (int a = 0; a < k; ++a) undirected.nodes.push_back(a);
    undirected.parents.resize(k);
    undirected.spouse_pairs = district.spouse_pairs;
    const DistrictFit fit = DistrictFitter(T_.data(), k, stop_).fit(undirected, estimates_only);
    R_ = fit.Omega;
    return fit.objective;
}

/// The log evidence of the factors of pairs.
double ErrorEvidence::pairs(const District& district) {
    double total = 0.0;
    for (const auto& [a, b] : district.spouse_pairs) {
        const double weight = probability_of_hidden_cause *
                              (1.0 - error(a).margin.p_normal * error(b).margin.p_normal);
        if (weight < 1e-6) continue;
        const double ratio = std::log(weight) + hidden_cause(a, b, T_[a * district.k + b]);
        const double rest = std::log1p(-weight), best = std::max(ratio, rest);
        total += best + std::log1p(std::exp(std::min(ratio, rest) - best));
    }
    return total;
}

/// The log-likelihood ratio of a hidden common cause against the Gaussian copula.
double ErrorEvidence::hidden_cause(int a, int b, double rho) {
    using Grid = HiddenCauses;
    constexpr int N = Grid::n_points;
    const int n = rows_.n();
    count_.assign(N * N, 0.0);
    const auto place = [](double z) {
        const double t = std::clamp((z - Grid::first) / Grid::step, 0.0, N - 1.001);
        return Place{static_cast<int>(t), t - static_cast<int>(t)};
    };
    double xy = 0.0;
    for (int r = 0; r < n; ++r) {
        const Place p = place(error(a).z[r]), q = place(error(b).z[r]);
        double* cell = &count_[p.point * N + q.point];
        cell[0] += (1.0 - p.share) * (1.0 - q.share);
        cell[1] += (1.0 - p.share) * q.share;
        cell[N] += p.share * (1.0 - q.share);
        cell[N + 1] += p.share * q.share;
        xy += error(a).residual[r] * error(b).residual[r];
    }
    const double c2 = 1.0 - rho * rho;
    double gaussian = 0.0;
    for (int p = 0; p < N; ++p)
        for (int q = 0; q < N; ++q) {
            const double x = Grid::first + p * Grid::step, y = Grid::first + q * Grid::step;
            gaussian -= 0.5 * count_[p * N + q] *
                        (std::log(c2) + (rho * rho * (x * x + y * y) - 2.0 * rho * x * y) / c2);
        }
    return rows_.hidden_causes().log_likelihood_ratio(count_, xy / (n * error(a).sd * error(b).sd),
                                                      error(a).cumulants, error(b).cumulants) -
           gaussian;
}

/// A step of Berndt, Hall, Hall and Hausman for the coefficients, from the last evaluation. Returns
/// false if there is none.
bool ErrorEvidence::improve(const District& district) {
    const int k = district.k, m = district.m(), n = rows_.n();
    std::vector<std::pair<int, int>> parameters;
    for (int v = 0; v < k; ++v)
        for (const int p : district.parents[v]) parameters.emplace_back(v, p);
    const bool all_normal =
        std::ranges::all_of(errors_, [](const Error* error) { return error->margin.normal; });
    if (parameters.empty() || all_normal) return false;
    std::vector<double> inverse(static_cast<std::size_t>(k) * k);
    if (k > 1) {
        std::vector<double> factor = R_;
        if (cholesky(factor.data(), k) < k) return false;
        for (int a = 0; a < k; ++a) {
            std::vector<double> unit(k);
            unit[a] = 1.0;
            solve_lower(factor.data(), k, unit.data());
            solve_lower_transposed(factor.data(), k, unit.data());
            std::ranges::copy(unit, inverse.begin() + a * k);
        }
    }
    const int q = static_cast<int>(parameters.size());
    std::vector<std::vector<double>> slopes(k, std::vector<double>(n)), scores;
    for (int v = 0; v < k; ++v) {
        if (district.parents[v].empty()) continue;
        for (int r = 0; r < n; ++r) {
            double slope = at(error(v).margin.d_log_f, error(v).places[r]);
            if (k > 1) {
                double rest = error(v).z[r];
                for (int b = 0; b < k; ++b) rest -= inverse[v * k + b] * error(b).z[r];
                slope += rest * at(error(v).margin.d_z, error(v).places[r]);
            }
            slopes[v][r] = -slope / error(v).sd;
        }
    }
    std::vector<double> step(q);
    for (const auto& [v, p] : parameters) {
        const double* x = rows_.column(district.nodes[p]);
        std::vector<double>& score = scores.emplace_back(n);
        for (int r = 0; r < n; ++r) score[r] = slopes[v][r] * x[r];
    }
    std::vector<double> H(static_cast<std::size_t>(q) * q);
    for (int i = 0; i < q; ++i) {
        for (const double score : scores[i]) step[i] += score;
        for (int j = 0; j <= i; ++j) H[i * q + j] = dot(scores[i].data(), scores[j].data(), n);
        H[i * q + i] *= 1.0001;
    }
    if (cholesky(H.data(), q) < q) return false;
    solve_lower(H.data(), q, step.data());
    if (0.5 * dot(step.data(), step.data(), q) < small_gain) return false;
    solve_lower_transposed(H.data(), q, step.data());
    direction_.assign(static_cast<std::size_t>(k) * m, 0.0);
    for (int i = 0; i < q; ++i)
        direction_[parameters[i].first * m + parameters[i].second] = step[i];
    return true;
}

std::pair<Margin, double> ErrorEvidence::margin(int v) {
    Error error;
    error.residual.assign(rows_.column(v), rows_.column(v) + rows_.n());
    describe(error);
    const double curvature = fitter_.curvature(share_, rows_.n(), error.margin);
    return {std::move(error.margin), curvature};
}

double ErrorEvidence::gain(const District& district, const DistrictFit& fit) {
    const int k = district.k, m = district.m(), n = rows_.n();
    with_parents_.resize(std::max<std::size_t>(with_parents_.size(), k));
    for (Error& error : with_parents_) error.margin = {};
    without_parents_.resize(rows_.d());
    errors_.resize(k);
    best_B_.assign(static_cast<std::size_t>(k) * m, 0.0);
    for (int v = 0; v < k; ++v)
        for (const int p : district.parents[v])
            best_B_[v * m + p] =
                fit.B[v * m + p] * rows_.sd(district.nodes[p]) / rows_.sd(district.nodes[v]);
    double log_sd = 0.0;
    for (int v = 0; v < k; ++v) log_sd += std::log(rows_.sd(district.nodes[v]));
    double best = evaluate(district, best_B_);
    bool at_best = true;  // whether the margins and scores are those of the best coefficients
    for (int step = 0; step < max_improvements && improve(district); ++step) {
        const std::vector<double> from = best_B_;
        double reached = best;
        for (const double length : {1.0, 0.4, 0.16}) {
            std::vector<double> B = from;
            axpy(length, direction_.data(), B.data(), k * m);
            reached = evaluate(district, B);
            at_best = reached > best;
            if (at_best) {
                best_B_ = std::move(B);
                break;
            }
        }
        const double gained = reached - best;
        if (!at_best || gained < small_gain) break;
        best = reached;
    }
    if (!at_best) evaluate(district, best_B_);
    const double extra = pairs(district);
    return best - n * log_sd + extra + 0.5 * n * fit.objective;
}

}  // namespace bowfree
