// Fits of districts: score equations, invariance, peeling, groups of conditions, scores.
#include <cmath>

#include "data/concordance.hpp"
#include "dense.hpp"
#include "model/canonical_order.hpp"
#include "model/group_sweeps.hpp"
#include "model/half_objective.hpp"
#include "model/hidden_cause.hpp"
#include "model/information.hpp"
#include "model/likelihood.hpp"
#include "model/peeling.hpp"
#include "model/scorer.hpp"
#include "tests/check.hpp"
#include "tests/examples.hpp"

using namespace bowfree;
using namespace bowfree::tests;

namespace {

District only_district(const Graph& graph) {
    return make_district(graph, districts(graph).front());
}

/// One district from which no member can be peeled: a cycle of bidirected edges, and 0 -> 2.
Graph hard_graph() { return graph_of(4, "0->2 0<->1 1<->2 2<->3 0<->3"); }

}  // namespace

TEST(many_dot_products_are_single_ones_bit_for_bit) {
    constexpr int rows = 7, stride = 31;
    Rng rng(1);
    Matrix X(rows * stride), y(stride);
    for (double& entry : X) entry = rng.uniform() - 0.5;
    for (double& entry : y) entry = rng.uniform() - 0.5;
    for (int n = 0; n < stride; ++n) {
        Matrix target(rows, 1.0);
        subtract_dots(X.data(), stride, rows, y.data(), n, target.data(), 1);
        for (int r = 0; r < rows; ++r)
            CHECK_EQUAL(target[r], 1.0 - dot(&X[r * stride], y.data(), n));
    }
}

TEST(a_blocked_cholesky_factor_times_its_transpose_is_the_matrix) {
    constexpr int n = 100;  // more than two blocks
    Rng rng(1);
    Matrix A(n * n), M(n * n);
    for (double& entry : A) entry = rng.uniform();
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) M[i * n + j] = dot(&A[i * n], &A[j * n], n) + (i == j);
    Matrix L = M;
    CHECK_EQUAL(cholesky(L.data(), n), n);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j)
            CHECK_CLOSE(dot(&L[i * n], &L[j * n], j + 1), M[i * n + j], 1e-10);
    Matrix indefinite{1.0, 0.0, 2.0, 1.0};
    CHECK_EQUAL(cholesky(indefinite.data(), 2), 1);
}

TEST(the_smallest_eigenvalue_of_a_known_matrix) {
    Matrix A{2.0, 1.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 5.0};
    CHECK_CLOSE(smallest_eigenvalue(A.data(), 3), 1.0, 1e-12);
}

TEST(half_objective_derivatives_agree_with_differences) {
    const Graph graph = hard_graph();
    const District district = only_district(graph);
    const Matrix S = sample_of(graph, 100, 1);
    Matrix X = S;
    CHECK_EQUAL(cholesky(X.data(), 4), 4);
    HalfObjective f;
    f.reset(district, S.data(), X.data(), nullptr);
    const int n = f.parameters().size();
    Rng rng(2);
    std::vector<double> theta(n), gradient(n), other(n), hessian(n * n);
    for (int i = 0; i < n; ++i) {
        const auto [row, column] = f.parameters().entries[i];
        const double u = 2.0 * rng.uniform() - 1.0;
        theta[i] = i >= f.parameters().n_rows ? 0.2 * u : row == column ? 1.0 + 0.3 * u : 0.5 * u;
    }
    f.evaluate(theta.data());
    f.differentiate(theta.data(), gradient.data(), hessian.data());
    constexpr double h = 1e-5;
    for (int i = 0; i < n; ++i) {
        std::vector<double> low = theta, high = theta, gradient_low(n), gradient_high(n);
        low[i] -= h;
        high[i] += h;
        const double f_low = f.evaluate(low.data());
        f.differentiate(low.data(), gradient_low.data(), nullptr);
        const double f_high = f.evaluate(high.data());
        f.differentiate(high.data(), gradient_high.data(), nullptr);
        CHECK_CLOSE(gradient[i], (f_high - f_low) / (2 * h), 1e-7);
        for (int j = 0; j <= i; ++j)
            CHECK_CLOSE(hessian[i * n + j], (gradient_high[j] - gradient_low[j]) / (2 * h), 1e-6);
    }
}

TEST(population_covariances_are_fitted_exactly) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Graph graph = random_graph(6, seed);
        Rng rng(seed);
        const Model model = random_model(graph, rng);
        const Matrix Sigma = implied_covariance(graph, model);
        DistrictFitter fitter(Sigma.data(), 6);
        for (const auto& members : districts(graph)) {
            const District district = make_district(graph, members);
            const DistrictFit fit = fitter.fit(district);
            CHECK(fit.converged);
            const int k = district.k, m = district.m();
            for (int v = 0; v < k; ++v) {
                for (int j = 0; j < m; ++j)
                    CHECK_CLOSE(fit.B[v * m + j],
                                model.B[district.nodes[v] * 6 + district.nodes[j]], 1e-4);
                for (int w = 0; w < k; ++w)
                    CHECK_CLOSE(fit.Omega[v * k + w],
                                model.Omega[district.nodes[v] * 6 + district.nodes[w]], 1e-4);
            }
        }
    }
}

TEST(peeling_leaves_the_objective_as_it_is) {
    // 0 <-> 1 with 2 a parent of both: 0 can be read as a parent of 1.
    const Graph graph = graph_of(3, "2->0 2->1 0<->1");
    const District district = make_district(graph, {0, 1});
    CHECK(peelable(district).has_value());
    CHECK(!peelable(only_district(hard_graph())).has_value());
    const Matrix S = sample_of(graph, 50, 2);
    const double F = DistrictFitter(S.data(), 3).fit(district).objective;
    const DistrictFit direct = ricf(S.data(), 3, district, 2000, 1e-13);
    CHECK_CLOSE(direct.objective, F, 1e-9);
}

TEST(regressions_on_markov_blankets_bound_a_fit) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const int d = 6;
        const Matrix S = sample_of(sparse_graph(d, seed + 100, 8), 200, seed);
        DistrictFitter fitter(S.data(), d);
        const Graph graph = random_graph(d, seed);
        for (const auto& members : districts(graph)) {
            const District district = make_district(graph, members);
            const double bound = fitter.lower_bound(district);
            CHECK(bound > -infinity && bound <= fitter.fit(district).objective + 1e-9);
        }
    }
    // Two nodes with all parents but each other's: as good as any distribution.
    const Matrix S = sample_of(sparse_graph(4, 1, 5), 200, 1);
    DistrictFitter fitter(S.data(), 4);
    const District full = make_district(graph_of(4, "0->2 0->3 1->2 1->3 2<->3"), {2, 3});
    CHECK_CLOSE(fitter.lower_bound(full), fitter.fit(full).objective, 1e-9);
    const District bow = make_district(graph_of(4, "2->3 2<->3"), {2, 3});
    CHECK_EQUAL(fitter.lower_bound(bow), -infinity);
}

TEST(a_score_above_the_least_one_is_exact) {
    const Matrix S = sample_of(sparse_graph(6, 1, 8), 500, 1);
    Scorer scorer(JointData(S, 6), 500, 0.5, std::size_t{1} << 24);
    Scorer plain(JointData(S, 6), 500, 0.5, std::size_t{1} << 24);
    const Stop stop;
    Workspace workspace(scorer, stop), other(plain, stop);
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const Graph graph = random_graph(6, seed);
        const double exact = plain.score(graph, other);
        for (const double least : {exact + 1.0, exact + 0.01, exact, exact - 1.0}) {
            const double found = scorer.score(graph, workspace, least);
            CHECK(found == exact || (exact < least && found < least && found >= exact));
        }
    }
    CHECK(workspace.effort.fits > 0);
}

TEST(a_step_over_groups_minimizes_the_expected_objective_of_its_row) {
    // EM: the errors of set members are replaced by their expectations given the others; row v of
    // B and Omega then minimizes the expected objective, which is checked by differences. One child
    // of 0 is a target and the other is not.
    const Graph graph = graph_of(4, "0->2 0->3 0<->1 1<->2 2<->3");
    std::vector<ConditionData> conditions;
    for (const int target : {-1, 0, 2}) {
        ConditionData condition{1.0 / 3.0, sample_of(graph, 200, 10 + target),
                                std::vector<char>(4)};
        if (target >= 0) condition.target[target] = 1;
        conditions.push_back(std::move(condition));
    }
    const JointData data(std::move(conditions), 4);
    const District district = data.district(graph, {0, 1, 2, 3});
    const std::vector<ConditionGroup> groups = pool_conditions(data, district);
    GroupSweeps sweeps;
    sweeps.reset(district, groups, nullptr);
    const Matrix zero(16);
    sweeps.start(zero.data());
    CHECK(sweeps.sweep() && sweeps.sweep());
    const Matrix A = sweeps.A(), Omega = sweeps.Omega();  // of the expectations
    const auto expected = [&](const Matrix& A_now, const Matrix& Omega_now) {
        double total = 0.0;
        for (const ConditionGroup& group : groups) {
            // Errors as linear forms in x, and the variance that is left of a set member's own.
            Matrix form = A_now, left(16);
            for (int t = 0; t < 4; ++t) {
                if (!group.set[t]) continue;
                std::vector<int> others;
                for (int v = 0; v < 4; ++v)
                    if (v != t) others.push_back(v);
                Matrix L(9), K(3);
                for (int a = 0; a < 3; ++a) {
                    for (int b = 0; b < 3; ++b) L[a * 3 + b] = Omega[others[a] * 4 + others[b]];
                    K[a] = Omega[others[a] * 4 + t];
                }
                CHECK_EQUAL(cholesky(L.data(), 3), 3);
                solve_lower(L.data(), 3, K.data());
                solve_lower_transposed(L.data(), 3, K.data());
                left[t * 4 + t] = Omega[t * 4 + t];
                for (int j = 0; j < 4; ++j) form[t * 4 + j] = 0.0;
                for (int a = 0; a < 3; ++a) {
                    left[t * 4 + t] -= K[a] * Omega[others[a] * 4 + t];
                    axpy(K[a], &A[others[a] * 4], &form[t * 4], 4);
                }
            }
            Matrix L = Omega_now, E = left;
            CHECK_EQUAL(cholesky(L.data(), 4), 4);
            for (int v = 0; v < 4; ++v)
                for (int w = 0; w < 4; ++w)
                    for (int i = 0; i < 4; ++i)
                        for (int j = 0; j < 4; ++j)
                            E[v * 4 + w] += form[v * 4 + i] * group.S[i * 4 + j] * form[w * 4 + j];
            solve_lower(L.data(), 4, E.data(), 4);
            solve_lower_transposed(L.data(), 4, E.data(), 4);
            for (int v = 0; v < 4; ++v)
                total += group.weight * (2.0 * std::log(L[v * 4 + v]) + E[v * 4 + v]);
        }
        return total;
    };
    for (int v = 0; v < 4; ++v) {
        CHECK(sweeps.start(A.data(), Omega.data()));
        CHECK(sweeps.step(v));
        constexpr double h = 1e-5;
        const auto slope = [&](auto change) {
            double F[2];
            for (const int side : {0, 1}) {
                Matrix A_now = sweeps.A(), Omega_now = sweeps.Omega();
                change(A_now, Omega_now, side == 0 ? -h : h);
                F[side] = expected(A_now, Omega_now);
            }
            return (F[1] - F[0]) / (2 * h);
        };
        for (const int p : district.parents[v])
            CHECK_CLOSE(slope([&](Matrix& A_now, Matrix&, double by) { A_now[v * 4 + p] += by; }),
                        0.0, 1e-7);
        for (int w = 0; w < 4; ++w)
            if (w == v || graph.bidirected(v, w))
                CHECK_CLOSE(slope([&](Matrix&, Matrix& Omega_now, double by) {
                                Omega_now[v * 4 + w] += by;
                                if (w != v) Omega_now[w * 4 + v] += by;
                            }),
                            0.0, 1e-7);
    }
}

TEST(coefficient_variances_of_one_regression) {
    // One parent: the variance of the coefficient is residual variance / variance of the parent.
    const Graph graph = graph_of(2, "0->1");
    const Matrix S = sample_of(graph, 60, 6);
    const JointData data(S, 2);
    const District district = data.district(graph, {1});
    const DistrictFit fit = DistrictFitter(data).fit(district);
    const std::vector<double> V = coefficient_covariance(data, district, fit);
    CHECK_EQUAL(V.size(), 1u);
    CHECK_CLOSE(V[0], fit.Omega[0] / S[0], 1e-10);
}

TEST(scores_do_not_depend_on_the_cache) {
    const Matrix S = sample_of(sparse_graph(7, 1, 9), 300, 1);
    Scorer large(JointData(S, 7), 300.0, 1.0, std::size_t{1} << 20);
    Scorer none(JointData(S, 7), 300.0, 1.0, 0);
    const Stop stop;
    Workspace workspace(large, stop), other(none, stop);
    for (int round = 0; round < 2; ++round)
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            const Graph graph = random_graph(7, seed);
            CHECK_EQUAL(large.score(graph, workspace), none.score(graph, other));
        }
    CHECK(workspace.effort.cache_hits > 0);
    CHECK_EQUAL(workspace.effort.work, other.effort.work);
}

TEST(concordance_counts_pairs) {
    const std::vector<std::int32_t> x{0, 1, 2, 2}, y{1, 0, 2, 3};
    const std::vector<std::int64_t> found = concordance(x.data(), y.data(), 4);
    for (int i = 0; i < 4; ++i) {
        std::int64_t sum = 0;
        for (int j = 0; j < 4; ++j) {
            const auto sign = [](int a, int b) { return (a > b) - (a < b); };
            sum += sign(x[i], x[j]) * sign(y[i], y[j]);
        }
        CHECK_EQUAL(found[i], sum);
    }
}

TEST(hidden_causes_do_not_depend_on_which_error_comes_first) {
    constexpr int N = HiddenCauses::n_points;
    const HiddenCauses causes;
    for (const double r : {0.2, -0.6})
        for (const Cumulants x : {Cumulants{0.1, 0.0}, {1.5, 3.0}, {0.1, -1.2}}) {
            const Cumulants y{0.8, 1.0};
            std::vector<double> count(N * N), exchanged(N * N);
            for (const auto& [p, q] : {std::pair{3, 9}, {12, 14}, {20, 11}}) {
                count[p * N + q] += 2.0;
                exchanged[q * N + p] += 2.0;
            }
            CHECK_CLOSE(causes.log_likelihood_ratio(count, r, x, y),
                        causes.log_likelihood_ratio(exchanged, r, y, x), 1e-9);
        }
}
