"""Maximum likelihood: what a maximum must satisfy, the NumPy twin, and how a fit is shown."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import bowfree as bf
from bowfree import _core
from random_models import foreign_data, random_bap, random_covariance, random_parameters
from twins import graph_matrices, implied_covariance, log_likelihood, ricf

SEEDS = st.integers(0, 10**6)
few = settings(max_examples=40, deadline=None, derandomize=True)

#   x -> y -> z,  x <-> z:  three edges on three nodes, so that S is reproduced exactly
BOWLESS = bf.MixedGraph(list("xyz"), directed=[("x", "y"), ("y", "z")], bidirected=[("x", "z")])
S3 = np.array([[1.0, 0.5, 0.7], [0.5, 1.0, 0.8], [0.7, 0.8, 2.0]])


def test_smallest_example():
    fit = bf.fit(BOWLESS, cov=S3, n=100, ddof=0)
    # b_yx = 0.5 by regression; then cov(x, z) = b_zy 0.5 + Omega_xz and cov(y, z) = b_zy + 0.5
    # Omega_xz give b_zy = 0.6 and Omega_xz = 0.4.
    assert_allclose(fit.B, [[0, 0, 0], [0.5, 0, 0], [0, 0.6, 0]], atol=1e-12)
    assert_allclose(fit.Omega[0, 2], 0.4)
    assert_allclose(fit.Sigma, S3)
    assert_allclose(fit.loglik, log_likelihood(S3, S3, 100))
    assert_allclose(fit.score, (fit.loglik - 6 * math.log(100)) / 100)
    assert fit.converged
    assert [district.nodes for district in fit.certificate] == [("x", "z"), ("y",)]


def test_population_covariance_is_recovered():
    rng = np.random.default_rng(1)
    graph = random_bap(rng, 8, density=0.4)
    B, Omega = random_parameters(rng, *graph_matrices(graph))
    Sigma = implied_covariance(B, Omega)
    fit = bf.fit(graph, cov=Sigma, n=math.inf)
    assert_allclose(fit.B, B, atol=1e-6)
    assert_allclose(fit.Omega, Omega, atol=1e-6)
    assert_allclose(fit.loglik, log_likelihood(Sigma, Sigma, 1))
    assert fit.score == fit.loglik  # no penalty
    assert fit.rmsea < 1e-6


def test_penalty_is_a_number():
    one, half = (bf.fit(BOWLESS, cov=S3, n=100, penalty=penalty) for penalty in (1.0, 0.5))
    assert one.loglik == half.loglik
    assert_allclose(half.score - one.score, 0.5 * 6 * math.log(100) / 100)
    assert_allclose(half.bic, -2 * 100 * half.score)


@few
@given(seed=SEEDS, d=st.integers(2, 12))
def test_score_equations_vanish_at_the_optimum(seed, d):
    rng = np.random.default_rng(seed)
    graph, S = random_bap(rng, d, density=0.4), random_covariance(rng, d, 30 * d)
    fit = bf.fit(graph, cov=S, n=30 * d, ddof=0, n_starts=1)  # and no word of other maxima
    for kind, i, j in fit._parameters:
        # The step is in units of the parameter, so that the difference quotient is too.
        unit = math.sqrt(S[i, i] / S[j, j]) if kind == "B" else math.sqrt(S[i, i] * S[j, j])
        ends = []
        for step in (1e-5 * unit, -1e-5 * unit):
            B, Omega = fit.B.copy(), fit.Omega.copy()
            if kind == "B":
                B[i, j] += step
            else:
                Omega[i, j] += step
                Omega[j, i] = Omega[i, j]
            ends.append(log_likelihood(implied_covariance(B, Omega), S, 1))
        # Central differences: error h^2 f''' / 6 and rounding 1e-15 / h, relative to curvature.
        scale = max(1.0, 1 / np.linalg.eigvalsh(fit.Omega / np.outer(unit_sd(S), unit_sd(S)))[0])
        assert abs(ends[0] - ends[1]) / 2e-5 < 1e-6 * scale**2


def unit_sd(S):
    return np.sqrt(np.diag(S))


@few
@given(seed=SEEDS, d=st.integers(2, 9))
def test_never_below_the_numpy_twin(seed, d):
    rng = np.random.default_rng(seed)
    graph, S = random_bap(rng, d, density=0.4), random_covariance(rng, d, 30 * d)
    fit = bf.fit(graph, cov=S, n=1000, ddof=0, n_starts=5, rng=0)
    # The same maximum that plain sweeps reach from the least squares fit, when they get there.
    B, Omega, sweeps = ricf(
        S, *graph_matrices(graph), max_iter=300, tol=1e-9, start=(fit.B, fit.Omega)
    )
    assert sweeps > 0
    assert_allclose(B, fit.B, atol=1e-5)
    B, Omega, _ = ricf(S, *graph_matrices(graph), max_iter=50, tol=1e-9)
    assert fit.loglik > log_likelihood(implied_covariance(B, Omega), S, 1000) - 1e-7


@few
@given(seed=SEEDS, d=st.integers(2, 9), sweeps=st.integers(1, 12))
def test_ricf_is_the_numpy_twin_sweep_by_sweep(seed, d, sweeps):
    rng = np.random.default_rng(seed)
    graph, S = random_bap(rng, d), random_covariance(rng, d, 30 * d)
    B, Omega, _ = ricf(S, *graph_matrices(graph), max_iter=sweeps, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bf.errors.FitWarning)
        fit = bf.fit(graph, cov=S, n=100, ddof=0, method="ricf", max_iter=sweeps, tol=0.0)
    assert_allclose(fit.B, B, atol=1e-9)
    assert_allclose(fit.Omega, Omega, atol=1e-9)
    assert_allclose(fit.loglik, log_likelihood(fit.Sigma, S, 100), rtol=1e-10)


@few
@given(seed=SEEDS, d=st.integers(2, 12))
@pytest.mark.filterwarnings("ignore::bowfree.errors.FitWarning")
def test_an_edge_more_never_lowers_the_likelihood(seed, d):
    rng = np.random.default_rng(seed)
    graph, n = random_bap(rng, d, density=rng.uniform(0.1, 0.6)), 30 * d
    S = random_covariance(rng, d, n)
    small = bf.fit(graph, cov=S, n=n)
    more = small.modification_indices().rows
    if more:
        edge = more[rng.integers(len(more))]
        # The smaller model lies in the larger one, so the *global* maximum cannot fall; a single
        # start may stop at another local one, which is what more starts are for.
        larger = graph.add(f"{edge.a} {edge.mark} {edge.b}")
        assert bf.fit(larger, cov=S, n=n, n_starts=20, rng=0).loglik > small.loglik - 1e-7 * n


def test_ricf_that_does_not_converge_says_so():
    rng = np.random.default_rng(10)
    graph, S = random_bap(rng, 6, density=0.8), random_covariance(rng, 6, 100)
    with pytest.warns(bf.errors.FitWarning, match="no certified maximum after 2 iterations"):
        fit = bf.fit(graph, cov=S, n=100, method="ricf", max_iter=2)
    assert not fit.converged
    assert "NOT CERTIFIED" in str(fit.summary())


BAD_OPTIONS = {
    "method": ({"method": "em"}, "unknown method 'em'; choose one of newton, ricf"),
    "max_iter": ({"max_iter": 10}, "max_iter is an option of method='ricf'"),
    "ricf starts": ({"method": "ricf", "n_starts": 2}, "n_starts is an option of method='newton'"),
    "penalty": ({"penalty": -1.0}, "penalty = -1.0: must be a finite number >= 0"),
}


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_bad_options(options, message):
    with pytest.raises(bf.BowfreeError, match=message):
        bf.fit(BOWLESS, cov=S3, n=100, **options)


#   x -> y -> z:  the missing edge costs n log(1 - r^2), r the partial correlation of x and z. The
#   other numbers are lavaan's (0.6-14, likelihood = "normal").
SUMMARY = """\
Maximum likelihood fit of a path diagram (newton): closed form

  Observations                            200
  Free parameters                           5
  Districts                                 3
  Log-likelihood                     -851.840
  Score (penalty 1)                 -4.391656
  AIC                                1713.679
  BIC                                1730.171
  Chi-square                           18.475
  Degrees of freedom                        1
  P-value (chi-square)                < 0.001
  CFI                                   0.884
  TLI                                   0.651
  RMSEA                                 0.296
  RMSEA 90 % interval           0.188 – 0.420
  P-value (RMSEA <= 0.05)             < 0.001
  SRMR                                  0.087
"""


def test_summary():
    fit = bf.fit(bf.MixedGraph(list("xyz"), directed=[("x", "y"), ("y", "z")]), cov=S3, n=200)
    assert_allclose(fit.chi2, -200 * math.log(1 - 0.3**2 / (0.75 * 1.36)))
    assert str(fit.summary()).startswith(SUMMARY)
    assert str(fit) == str(fit.summary())


def test_summary_tables():
    fit = bf.fit(BOWLESS, cov=S3, n=200)
    text = str(fit.summary())
    head = "                Estimate  Std.Err  z-value  P(>|z|) ci.lower ci.upper  Std.all\n"
    regressions = head + (
        "  y ~\n"
        "    x              0.500    0.061    8.165  < 0.001    0.380    0.620    0.500\n"
        "  z ~\n"
        "    y              0.600    0.091    6.599  < 0.001    0.422    0.778    0.424\n"
    )
    covariances = head + (
        "  x ~~\n    z              0.398    0.099    4.027  < 0.001    0.204    0.592    0.338\n"
    )
    assert f"\nRegressions:\n{regressions}" in text
    assert f"\nCovariances:\n{covariances}" in text
    assert text.endswith(
        "  z                1.393    0.144    9.679  < 0.001    1.111    1.675    0.700"
    )
    assert fit.summary()._text(80) == text  # the tables fit into 80 columns


def n_iterations(graph):
    return bf.fit(graph, cov=random_covariance(np.random.default_rng(1), 4, 100), n=100).n_iter


@pytest.mark.parametrize(
    "text",
    [
        "a <-> b <-> c, d",  # the ends first, and b is left with the parents a and c
        "a <-> b, a <-> c, a <-> d",  # a star, from its leaves
        "a <-> b, a <-> c, b <-> c, c <-> d",  # the spouses b, c of a are spouses
        "a -> b, a -> c, b <-> c, d",  # b has no parent that c has not
    ],
)
def test_closed_forms(text):
    """Nothing is left to iterate on when all members can be peeled off."""
    assert n_iterations(bf.parse(text)) == 0


#   a <-> b <-> c         a -> b <- c
def test_a_chain_of_spouses_is_a_regression():
    S = random_covariance(np.random.default_rng(2), 3, 100)
    chain, collider = (bf.fit(bf.parse(t), cov=S, n=100) for t in ("a <-> b <-> c", "a -> b <- c"))
    assert_allclose(chain.loglik, collider.loglik, rtol=1e-14)
    assert_allclose(chain.Sigma, collider.Sigma, atol=1e-12)
    a, b = 0, 1
    assert_allclose(chain.Omega[a, b], collider.B[b, a] * chain.Omega[a, a], rtol=1e-12)


def first_peelable(graph):
    """Return the first node whose spouses are pairwise spouses and have all of its parents."""
    for v in graph.nodes:
        Q = graph.spouses(v)
        if Q and all(
            set(graph.parents(v)) <= set(graph.parents(q)) and set(Q) - {q} <= set(graph.spouses(q))
            for q in Q
        ):
            return v
    return None


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), d=st.integers(3, 8))
def test_a_spouse_may_be_read_as_a_child(seed, d):
    rng = np.random.default_rng(seed)
    graph, S = random_bap(rng, d, bidirected=0.6), random_covariance(rng, d, 30 * d)
    v = first_peelable(graph)
    assume(v is not None)
    fit = bf.fit(graph, cov=S, n=500, ddof=0, n_starts=10, rng=0)

    # The parameters are a fixed point of plain sweeps over the whole graph, none peeled off.
    D, U = graph_matrices(graph)
    B, Omega, _ = ricf(S, D, U, max_iter=3, tol=0.0, start=(fit.B, fit.Omega))
    assert_allclose(B, fit.B, atol=1e-4)
    assert fit.loglik > log_likelihood(implied_covariance(B, Omega), S, 500) - 1e-7

    # Where no cycle forbids it, the graph with v -> q for v <-> q has the same likelihood.
    spouses = set(graph.spouses(v))
    bidirected = [(a, b) for a, b in graph.bidirected if v not in (a, b)]
    read = bf.MixedGraph(graph.nodes, [*graph.directed, *((v, q) for q in spouses)], bidirected)
    if read.is_bap():
        other = bf.fit(read, cov=S, n=500, ddof=0, n_starts=10, rng=0)
        assert_allclose(other.loglik, fit.loglik, rtol=1e-9)


def reordered(graph, S, order):
    """Return core arguments of the same problem with its columns in another order."""
    relabelled = bf.MixedGraph([graph.nodes[i] for i in order], graph.directed, graph.bidirected)
    return np.ascontiguousarray(S[np.ix_(order, order)]), *relabelled._bits()


@pytest.mark.parametrize(("d", "n_cases"), [(5, 50), (8, 50), (12, 60)])
def test_order_of_columns(d, n_cases):
    # Such problems have many maxima; fitted in the order of the columns, six per cent of those
    # with d = 12 have another score after a permutation.
    rng = np.random.default_rng(d)
    for _ in range(n_cases):
        graph, S = foreign_data(rng, d)
        one = _core.fit_graph(S, *graph._bits())
        other = _core.fit_graph(*reordered(graph, S, rng.permutation(d)))
        assert_allclose(sum(other.objective), sum(one.objective), rtol=1e-12)
        assert sorted(other.converged) == sorted(one.converged)


@pytest.mark.parametrize(("d", "n_cases"), [(5, 50), (8, 50), (12, 60)])
def test_units(d, n_cases):
    rng = np.random.default_rng(100 + d)
    for _ in range(n_cases):
        graph, S = foreign_data(rng, d)
        unit = 10 ** rng.uniform(-9, 9, size=d)
        one = _core.fit_graph(S, *graph._bits())
        other = _core.fit_graph(S * np.outer(unit, unit), *graph._bits())
        F = sum(other.objective) - 2 * np.log(unit).sum()
        assert_allclose(F, sum(one.objective), rtol=1e-9)


#   Found by trying: coefficients run to infinity, or a valley is too long. How far a plain walk
#   gets there depends on the last bit of a correlation, by up to half a unit of F.
@pytest.mark.parametrize(("d", "seed"), [(10, 115), (10, 465), (12, 6), (12, 29), (12, 57)])
def test_units_where_no_maximum_is_reached(d, seed):
    rng = np.random.default_rng(seed)
    graph, S = foreign_data(rng, d)
    one = _core.fit_graph(S, *graph._bits())
    assert not all(one.converged)
    for _ in range(3):
        unit = 10 ** rng.uniform(-6, 6, size=d)
        other = _core.fit_graph(S * np.outer(unit, unit), *graph._bits())
        F = sum(other.objective) - 2 * np.log(unit).sum()
        assert_allclose(F, sum(one.objective), rtol=1e-11)
        assert_allclose(other.B * unit / unit[:, None], one.B, rtol=1e-11)


def test_units_that_are_powers_of_two_change_no_bit():
    rng = np.random.default_rng(1)
    for _ in range(20):
        graph, S = foreign_data(rng, 9)
        unit = 2.0 ** rng.integers(-60, 60, size=9)
        one = _core.fit_graph(S, *graph._bits())
        other = _core.fit_graph(S * np.outer(unit, unit), *graph._bits())
        assert_array_equal(other.B * unit / unit[:, None], one.B)
        assert_array_equal(other.Omega / np.outer(unit, unit), one.Omega)


#   All correlations equal: nothing but the graph tells the variables apart.
@pytest.mark.parametrize("r", [0.0, 0.3])
def test_ties_are_broken_by_the_graph(r):
    rng = np.random.default_rng(3)
    S = (1 - r) * np.eye(8) + r
    for _ in range(40):
        graph = random_bap(rng, 8, density=0.6)
        one = _core.fit_graph(S, *graph._bits())
        other = _core.fit_graph(*reordered(graph, S, rng.permutation(8)))
        assert_allclose(sum(other.objective), sum(one.objective), rtol=1e-9)


IV = bf.parse("z -> x -> y <-> x")


def iv_data(n, strength, rng):
    """Return rows of z -> x -> y, x <-> y, with an effect of 0.5 and hidden confounding."""
    rng = np.random.default_rng(rng)
    z, hidden, e, f = rng.standard_normal((4, n))
    x = strength * z + hidden + e
    return {"z": z, "x": x, "y": 0.5 * x + hidden + f}


def test_one_instrument():
    """The estimate is the ratio of covariances, its standard error that of two-stage squares."""
    data = iv_data(400, 0.7, 1)
    fit = bf.fit(IV, data)
    S = bf.moments(data, graph=IV).S
    z, x, y = (IV.nodes.index(name) for name in "zxy")
    ratio = S[z, y] / S[z, x]
    row = fit.edge("x -> y")
    assert row.estimate == pytest.approx(ratio, rel=1e-8)
    error = S[y, y] - 2 * ratio * S[x, y] + ratio**2 * S[x, x]
    assert row.se == pytest.approx(np.sqrt(error * S[z, z] / S[z, x] ** 2 / 400), rel=1e-6)
    assert (fit.df, fit.chi2) == (0, pytest.approx(0, abs=1e-8))


def test_two_instruments_are_a_test():
    """With one instrument too many, chi-square tests whether they agree."""
    graph = bf.parse("z -> x -> y <-> x <- w")
    p_values = []
    for seed in range(200):
        data = iv_data(300, 0.7, seed)
        rng = np.random.default_rng(1000 + seed)
        data["w"] = rng.standard_normal(300)
        data["x"] = data["x"] + 0.6 * data["w"]
        data["y"] = data["y"] + 0.3 * data["w"]
        fit = bf.fit(graph, data)
        assert fit.df == 2  # z and w are independent, and both are instruments
        p_values.append(fit.p_value)
    assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.1


def test_weak_instruments():
    """The warning states about the F statistic of the first stage."""
    data = iv_data(300, 0.12, 5)
    with pytest.warns(bf.errors.FitWarning, match="weak") as caught:
        bf.fit(IV, data)
    r2 = np.corrcoef(data["z"], data["x"])[0, 1] ** 2
    stated = float(str(caught[0].message).split("about ")[1].split(",")[0])
    assert stated == pytest.approx(300 * r2 / (1 - r2), rel=0.02)


@pytest.mark.parametrize("text", ["x -> y <-> x", "z -> x -> y <-> x, z -> y"])
def test_not_identified(text):
    graph = bf.parse(text)
    with pytest.raises(bf.errors.GraphError, match=r"do not determine .*x <-> y.*instrument"):
        bf.fit(graph, cov=np.eye(len(graph)) + 0.2, n=100)


def test_bootstrap_and_search_functions():
    data = iv_data(200, 0.9, 3)
    resampled = bf.bootstrap_fit(IV, data, n_bootstrap=100, rng=1).edge("x -> y")
    assert resampled.lower < 0.5 < resampled.upper
    for function in (bf.edge_changes, bf.constraint_tests):
        with pytest.raises(bf.errors.GraphError, match="bow"):
            function(IV, data)
    with pytest.raises(bf.errors.GraphError, match="bow"):
        bf.fit(IV, data, method="ricf")
    with pytest.raises(bf.errors.GraphError, match="bow"):
        bf.equivalence_class(bf.fit(IV, data))
