// Data: covariance matrices of several conditions, products of columns, and ranks.
#include "bindings/data.hpp"

#include <algorithm>

#include "bindings/bindings.hpp"
#include "bindings/calls.hpp"
#include "data/binormal.hpp"
#include "data/concordance.hpp"
#include "data/cross_products.hpp"
#include "data/missing_patterns.hpp"
#include "dense.hpp"
#include "model/error_evidence.hpp"

namespace bowfree::bindings {

namespace {

using namespace nb::literals;

/// Covariance matrices (K, d, d), shares of the observations, targets (K, d) and kinds; with the
/// constant, second moments (K, d + 1, d + 1).
JointData make_conditions(const Array<double, 3>& S, const std::vector<double>& weights,
                          const Bytes& targets, const std::vector<int>& kinds, bool constant) {
    const std::size_t K = S.shape(0), w = S.shape(1), d = w - constant;
    expect_shape(S, {weights.size(), w, w}, "S must have shape (K, d, d), with K weights");
    expect_shape(targets, {K, d}, "targets must have shape (K, d)");
    if (kinds.size() != K) throw std::invalid_argument("one kind per condition");
    std::vector<ConditionData> all;
    for (std::size_t e = 0; e < K; ++e)
        all.push_back({weights[e],
                       {S.data() + e * w * w, S.data() + (e + 1) * w * w},
                       {targets.data() + e * d, targets.data() + (e + 1) * d},
                       to_kind(kinds[e])});
    for (ConditionData& condition : all) condition.target.resize(w);
    for (std::size_t v = 0; v < d; ++v)
        if (std::ranges::all_of(all, [&](const ConditionData& c) { return c.target[v]; }))
            throw std::invalid_argument("no variable may be a target in every condition");
    return {std::move(all), static_cast<int>(d), constant};
}

/// A covariance matrix with the rows behind it (n, d), whose means are zero.
JointData make_data_with_rows(const Matrix& S, const Matrix& rows, double power) {
    JointData data = to_conditions(S, static_cast<int>(rows.shape(1)));
    data.rows = std::make_shared<const ErrorRows>(rows.data(), rows.shape(0), data.d, power);
    return data;
}

/// Points of the grid of margins, the scores of columns there, and their mean slopes.
auto error_scores(const Matrix& rows) {
    constexpr std::size_t M = MarginFamily::n_points;
    const std::size_t d = rows.shape(1);
    std::vector<double> points, scores, slopes, normal;
    interruptibly([&](const Stop& stop) {
        const ErrorRows errors(rows.data(), rows.shape(0), static_cast<int>(d));
        ErrorEvidence evidence(errors, &stop);
        for (std::size_t m = 0; m < M; ++m)
            points.push_back(errors.family().x(static_cast<int>(m)));
        for (int v = 0; v < errors.d(); ++v) {
            stop.check();
            const auto [margin, curvature] = evidence.margin(v);
            for (const double slope : margin.d_log_f) scores.push_back(-slope);
            slopes.push_back(curvature);
            normal.push_back(margin.p_normal);
        }
    });
    return std::tuple(to_numpy(std::move(points), {M}), to_numpy(std::move(scores), {d, M}),
                      to_numpy(std::move(slopes), {d}), to_numpy(std::move(normal), {d}));
}

/// The `ParameterUse` of each coefficient [head, tail] and error covariance in a condition.
auto parameter_uses(int kind, const Array<std::uint8_t, 1>& targets) {
    const std::size_t d = targets.shape(0);
    const InterventionKind its_kind = to_kind(kind);
    std::vector<std::uint8_t> coefficients(d * d), errors(d * d);
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j < d; ++j) {
            const bool head = targets.data()[i] != 0, tail = targets.data()[j] != 0;
            coefficients[i * d + j] =
                static_cast<std::uint8_t>(use_of_coefficient(its_kind, tail, head));
            errors[i * d + j] =
                static_cast<std::uint8_t>(use_of_error(its_kind, i == j, tail || head));
        }
    return std::pair(to_numpy(std::move(coefficients), {d, d}),
                     to_numpy(std::move(errors), {d, d}));
}

using Ranks = Array<std::int32_t, 1>;

auto multiply_columns(const Matrix& X, const Matrix& Y) {
    const std::size_t n = X.shape(0), d = X.shape(1), e = Y.shape(1);
    expect_shape(Y, {n, e}, "X and Y must have the same number of rows");
    return to_numpy(interruptibly([&](const Stop& stop) {
                        return cross_products(X.data(), Y.data(), n, d, e, stop);
                    }),
                    {d, e});
}

using Vector = Array<double, 1>;

auto terms_of_patterns(const Matrix& Sigma, const Bytes& observed, const Matrix& z,
                       const Array<double, 3>& scatter) {
    const std::size_t P = observed.shape(0), d = observed.shape(1);
    expect_shape(Sigma, {d, d}, "Sigma must have shape (d, d)");
    expect_shape(z, {P, d}, "z must have shape (P, d)");
    expect_shape(scatter, {P, d, d}, "scatter must have shape (P, d, d)");
    PatternTerms terms = interruptibly([&](const Stop& stop) {
        return pattern_terms(Sigma.data(), d, P, observed.data(), z.data(), scatter.data(), stop);
    });
    return std::tuple(to_numpy(std::move(terms.W), {P, d, d}),
                      to_numpy(std::move(terms.WTW), {P, d, d}),
                      to_numpy(std::move(terms.Wz), {P, d}), to_numpy(std::move(terms.log_det)),
                      to_numpy(std::move(terms.trace)));
}

/// The solution of A x = b, or nothing if A is not positive definite.
std::optional<nb::ndarray<nb::numpy, double>> solve_definite(const Matrix& A, const Vector& b) {
    const std::size_t n = b.shape(0);
    expect_shape(A, {n, n}, "A must have shape (n, n)");
    std::vector<double> L(A.data(), A.data() + n * n), x(b.data(), b.data() + n);
    const bool definite = interruptibly([&](const Stop& stop) {
        const int size = static_cast<int>(n);
        if (cholesky(L.data(), size, &stop) < size) return false;
        solve_factored(L.data(), size, x.data());
        return true;
    });
    if (!definite) return std::nullopt;
    return to_numpy(std::move(x));
}

auto eigen_decomposition(const Matrix& A) {
    const std::size_t n = A.shape(0);
    std::vector<double> D = to_square(A), V(n * n), values(n);
    interruptibly([&](const Stop& stop) {
        for (std::size_t i = 0; i < n; ++i) V[i * n + i] = 1.0;
        diagonalize(D.data(), static_cast<int>(n), V.data(), &stop);
        for (std::size_t i = 0; i < n; ++i) values[i] = D[i * n + i];
    });
    return std::pair(to_numpy(std::move(values)), to_numpy(std::move(V), {n, n}));
}

auto map_normal_density(const Vector& x) {
    std::vector<double> found(x.data(), x.data() + x.shape(0));
    for (double& value : found) value = normal_density(value);
    return to_numpy(std::move(found));
}

auto map_binormal_density(const Vector& h, const Vector& k, double r) {
    expect_shape(k, {h.shape(0)}, "h and k must have the same length");
    std::vector<double> found(h.shape(0));
    for (std::size_t i = 0; i < found.size(); ++i)
        found[i] = binormal_density(h.data()[i], k.data()[i], r);
    return to_numpy(std::move(found));
}

auto map_binormal_dependence(const Vector& h, const Vector& k, double r) {
    expect_shape(k, {h.shape(0)}, "h and k must have the same length");
    return to_numpy(binormal_dependence(h.data(), k.data(), h.shape(0), r));
}

auto count_concordance(const Ranks& x, const Ranks& y) {
    expect_shape(y, {x.shape(0)}, "x and y must have the same length");
    const int n = static_cast<int>(x.shape(0));
    for (const Ranks* ranks : {&x, &y})
        for (int i = 0; i < n; ++i)
            if (ranks->data()[i] < 0 || ranks->data()[i] >= n)
                throw std::invalid_argument("ranks must be at least 0 and below n");
    std::vector<std::int64_t> sum =
        interruptibly([&](const Stop& stop) { return concordance(x.data(), y.data(), n, &stop); });
    return to_numpy(std::move(sum), {x.shape(0)});
}

}  // namespace

void bind_data(nb::module_& m) {
    nb::class_<JointData>(m, "JointData", "Covariance matrices of several conditions.")
        .def(
            "__init__",
            [](JointData* self, const Array<double, 3>& S, const std::vector<double>& weights,
               const Bytes& targets, const std::vector<int>& kinds, bool constant) {
                new (self) JointData(make_conditions(S, weights, targets, kinds, constant));
            },
            "S"_a, "weights"_a, "targets"_a, "kinds"_a, "constant"_a,
            "S: (K, d, d), divisor n. weights: shares of the observations. targets: uint8 (K, d). "
            "kinds: of the interventions, see cpp/data/intervention_kinds.hpp. constant: S are "
            "second moments, (K, d + 1, d + 1); the last variable is always one.");

    m.def("data_with_rows", &make_data_with_rows, "S"_a, "rows"_a, "power"_a,
          "A covariance matrix with its rows (n, d), for errors that may be non-Gaussian.");
    m.def(
        "error_scores", &error_scores, "rows"_a,
        "The estimated densities of columns with mean zero, in their standard deviations: points\n"
        "(m,), minus the derivatives of the log densities there (d, m), and their mean slopes\n"
        "(d,), as if no row had influenced the density at its own place, and the probabilities "
        "that they are normal (d,).");
    m.def("parameter_uses", &parameter_uses, "kind"_a, "targets"_a,
          "The use of each coefficient [head, tail] and each error covariance in a condition: 0\n"
          "absent, 1 shared with other conditions, 2 specific to it.");

    m.def("cross_products", &multiply_columns, "X"_a, "Y"_a,
          "X^T Y, with the same bits on every processor.");
    m.def("pattern_terms", &terms_of_patterns, "Sigma"_a, "observed"_a, "z"_a, "scatter"_a,
          "For each pattern of missing values: W (the inverse of the observed block of Sigma),\n"
          "W T W, W z, log |Sigma_oo| (infinite if Sigma is not definite) and tr(W T), with T the\n"
          "scatter about the mean of the model. Zeros for missing cells.");
    m.def("solve_definite", &solve_definite, "A"_a, "b"_a,
          "The solution of A x = b; None if A is not positive definite.");
    m.def("eigen_decomposition", &eigen_decomposition, "A"_a,
          "Eigenvalues of a symmetric matrix, in no order, and eigenvectors in columns.");
    m.def("normal_density", &map_normal_density, "x"_a);
    m.def("binormal_density", &map_binormal_density, "h"_a, "k"_a, "r"_a);
    m.def("binormal_dependence", &map_binormal_dependence, "h"_a, "k"_a, "r"_a,
          "P(X <= h, Y <= k) - P(X <= h) P(Y <= k) of standard normals with correlation r; 0 at\n"
          "infinite points.");
    m.def("concordance", &count_concordance, "x"_a, "y"_a,
          "For each row the number of rows in the same order in x and y, minus those in opposite\n"
          "order; x and y are dense ranks, int32 from 0.");
}

}  // namespace bowfree::bindings
