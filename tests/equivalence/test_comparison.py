"""Several graphs on the same data: nested pairs by chi-square, the others by Vuong's test."""

import math

import numpy as np
import pytest
from scipy.stats import chi2, kstest

import bowfree as bf
from bowfree.equivalence.comparison import case_logliks, weighted_chi2_tail
from bowfree.model.inference import case_scores

# chain    x -> y -> z      fork  x <- y -> z    (the same model)
# collider x -> y <- z      full  x -> y -> z <-> x    (contains all)
GRAPHS = {
    "chain": bf.parse("x -> y -> z"),
    "fork": bf.parse("x <- y -> z"),
    "collider": bf.parse("x -> y <- z"),
    "full": bf.parse("x -> y -> z <-> x"),
}
DATA = bf.LinearSEM(GRAPHS["chain"], [[0, 0, 0], [0.3, 0, 0], [0, 0.3, 0]], np.eye(3)).sample(
    200, rng=1, as_frame="pandas"
)


def test_smallest_example():
    found = bf.compare(GRAPHS, DATA)
    assert found.pair("chain", "fork").relation == "same model"
    nested = found.pair("full", "chain")
    assert (nested.a, nested.b, nested.relation, nested.df) == ("chain", "full", "nested", 1)
    chain = bf.fit(GRAPHS["chain"], DATA)
    assert nested.statistic == pytest.approx(chain.chi2, abs=1e-6)  # the full graph is saturated
    assert nested.p_value == pytest.approx(chain.p_value, abs=1e-6)
    apart = found.pair("chain", "collider")
    assert (apart.relation, apart.test) == ("not nested", "Vuong")
    assert len(found.pairs) == 6
    assert found.fit("chain").loglik == chain.loglik
    frame = found.to_frame()
    assert frame["d_bic"].min() == 0
    assert frame["bic"].tolist() == [fit.bic for fit in found.fits]


def test_cases_add_up():
    graph = bf.parse("a -> b -> c, a <-> c, c -> d <-> b")
    X = bf.random_sem(graph, rng=2).sample(50, rng=3)
    X = X - X.mean(axis=0)
    fit = bf.fit(graph, X)
    assert case_logliks(fit, X).sum() == pytest.approx(fit.loglik)
    # the score equations, and the derivative of the sum by finite differences off the maximum
    assert np.abs(case_scores(fit.B, fit.Omega, X, fit._parameters).sum(axis=0)).max() < 1e-5
    B, Omega = fit.B + 0.1 * (fit.B != 0), fit.Omega + 0.2 * np.eye(4)
    from dataclasses import replace

    off = replace(fit, B=B, Omega=Omega)
    slopes = case_scores(off.B, off.Omega, X, fit._parameters).sum(axis=0)
    for s, (kind, i, j) in enumerate(fit._parameters):
        step = np.zeros((4, 4))
        step[i, j] = 1e-5
        if kind == "B":
            ends = [replace(off, B=B + sign * step) for sign in (1, -1)]
        else:
            step[j, i] = 1e-5
            ends = [replace(off, Omega=Omega + sign * step) for sign in (1, -1)]
        up, down = (case_logliks(end, X).sum() for end in ends)
        assert slopes[s] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-4)


def test_weighted_sums_of_chi_squares():
    for k in (1, 2, 5, 20):
        for x in (0.1, k, 3.0 * k):
            assert weighted_chi2_tail(np.full(k, 2.5), 2.5 * x) == pytest.approx(
                chi2.sf(x, k), abs=1e-6
            )
    w = np.array([3.0, 2.0, 1.0, 0.1, 1e-12])
    sums = np.random.default_rng(0).chisquare(1, (200_000, 5)) @ w
    for x in (1.0, 5.0, 15.0):
        # four standard errors of a simulated share
        assert weighted_chi2_tail(w, x) == pytest.approx(np.mean(sums > x), abs=0.0045)


def test_models_that_meet_are_told_apart_at_the_stated_level():
    """Independence lies in both x -> y and y -> z: p-values of the first step are uniform."""
    one, other = bf.parse("x -> y, z"), bf.parse("x, y -> z")
    p = [
        bf.compare([one, other], bf.random_sem(bf.parse("x, y, z"), rng=k).sample(300, rng=k))
        .pairs[0]
        .p_distinguishable
        for k in range(120)
    ]
    assert kstest(p, "uniform").pvalue > 0.01


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"cov": DATA.cov(), "n": 200}, "needs the rows"),
        ({"data": bf.moments(DATA)}, "needs the rows"),
        ({"data": DATA, "shrinkage": 0.1}, "not that of these rows"),
    ],
)
def test_without_usable_rows_there_is_no_vuong(given, why):
    found = bf.compare(GRAPHS, **given)
    pair = found.pair("chain", "collider")
    assert (pair.relation, pair.test) == ("not nested", "")
    assert math.isnan(pair.p_value)
    assert why in found.vuong
    assert why in str(found)
    assert found.pair("chain", "full").test == "chi-square difference"
    nested = bf.compare([GRAPHS["chain"], GRAPHS["full"]], **given)
    assert nested.vuong == ""  # not requested


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: bf.compare([], DATA), "no graphs"),
        (lambda: bf.compare([bf.parse("x -> y"), bf.parse("x -> z")], DATA), "different variables"),
        (lambda: bf.compare(["x -> y"], DATA), "expected a graph"),
        (lambda: bf.compare(GRAPHS, DATA).fit("chian"), "did you mean 'chain'"),
        (lambda: bf.compare(GRAPHS, DATA).pair("chain", "chain"), "twice"),
    ],
)
def test_bad_questions(call, problem):
    with pytest.raises(bf.BowfreeError, match=problem):
        call()


def test_tests_are_those_that_are_valid_for_the_data():
    # Against the saturated graph the scaled difference is the scaled test itself.
    rng = np.random.default_rng(1)
    x = rng.standard_t(5, size=(300, 3))
    data = {"x": x[:, 0], "y": x[:, 0] + x[:, 1], "z": x[:, 0] + 2 * x[:, 1] + x[:, 2]}
    options = {"weights": 0.2 + rng.random(300)}
    chain, full = bf.parse("x -> y -> z"), bf.parse("x -> y -> z <- x")
    found = bf.compare({"chain": chain, "full": full}, data, **options)
    fit = bf.fit(chain, data, **options)
    assert fit.scaled is not None
    assert found.rows[0].chi2 == pytest.approx(fit.chi2_scaled)
    pair = found.pair("chain", "full")
    assert pair.test == "scaled chi-square difference"
    assert (pair.statistic, pair.p_value) == pytest.approx((fit.chi2_scaled, fit.p_value_scaled))
