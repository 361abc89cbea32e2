"""The bootstrap of a given graph: a slow twin, intervals, the test of Bollen and Stine."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import norm

import bowfree as bf
from bowfree.errors import TimeIsUp
from bowfree.model import resampling

# x -> y <-> z
GRAPH = bf.parse("x -> y <-> z")
MODEL = bf.LinearSEM(
    GRAPH, [[0, 0, 0], [0.8, 0, 0], [0, 0, 0]], [[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]]
)
DATA = MODEL.sample(150, rng=1, as_frame="pandas")


def test_slow_twin():
    found = bf.bootstrap_fit(GRAPH, DATA, n_bootstrap=40, rng=7)
    slopes = []
    for seed in np.random.default_rng(7).integers(0, 2**63, size=40):
        drawn = np.random.default_rng(seed).integers(0, 150, size=150)
        slopes.append(bf.fit(GRAPH, DATA.iloc[drawn]).edge("x -> y").estimate)
    row = found.edge("x", "->", "y")
    assert (row.lower, row.upper) == pytest.approx(tuple(np.quantile(slopes, [0.025, 0.975])))
    assert row.se == pytest.approx(np.std(slopes, ddof=1))
    assert row.bias == pytest.approx(np.mean(slopes) - found.fit.edge("x -> y").estimate)
    effect = found.effect(of="x", on="y")  # one path, one edge
    assert (effect.lower, effect.upper) == pytest.approx((row.lower, row.upper))


def test_every_parameter_has_its_own_draws():
    found = bf.bootstrap_fit(GRAPH, DATA, n_bootstrap=60, rng=1)
    for row, normal in zip(found.estimates(), bf.fit(GRAPH, DATA).estimates(), strict=True):
        assert (row.a, row.mark, row.b) == normal.edge
        assert row.estimate == normal.estimate
        assert 0.6 * normal.se < row.se < 1.6 * normal.se  # normal theory holds here
        assert row.lower < row.estimate < row.upper
    assert found.variance("y") == found.estimates()[-2]
    assert found.edge("z <-> y").estimate == found.fit.Omega[1, 2]
    assert found.effect(of="y", on="x").upper == 0.0  # no path, no draw
    assert [(row.a, row.b) for row in found.effects()] == [("x", "y")]
    assert len(found.to_frame()) == len(found) == len(found.estimates()) + 1


def acceleration_of_the_slope():
    """By hand, from the slopes without one row each."""
    X = DATA[["x", "y"]].to_numpy()
    slopes = []
    for k in range(len(X)):
        x, y = np.delete(X, k, axis=0).T
        slopes.append(np.cov(x, y)[0, 1] / np.var(x, ddof=1))
    deviations = np.mean(slopes) - slopes
    return np.sum(deviations**3) / (6 * np.sum(deviations**2) ** 1.5)


@pytest.mark.parametrize("interval", ["percentile", "bias-corrected", "bca", "normal"])
def test_intervals_by_hand(interval):
    graph = bf.parse("x -> y")
    found = bf.bootstrap_fit(graph, DATA, n_bootstrap=200, rng=3, interval=interval)
    row, draws = found.edge("x -> y"), found.draws[:, 0]
    z = norm.ppf([0.025, 0.975])
    if interval == "normal":
        expected = row.estimate - row.bias + z * row.se
    else:
        shift = norm.ppf(np.mean(draws < row.estimate)) if interval != "percentile" else 0.0
        a = acceleration_of_the_slope() if interval == "bca" else 0.0
        levels = norm.cdf(shift + (shift + z) / (1 - a * (shift + z)))
        expected = np.quantile(draws, levels)
    assert (row.lower, row.upper) == pytest.approx(tuple(expected))
    assert found.interval == interval
    assert interval in str(found)


def test_bollen_and_stine():
    wrong = bf.parse("x -> y, z")
    right = bf.bootstrap_fit(GRAPH, DATA, n_bootstrap=100, bollen_stine=True, rng=1)
    rejected = bf.bootstrap_fit(wrong, DATA, n_bootstrap=100, bollen_stine=True, rng=1)
    rows = resampling._rows_under_model(rejected.fit).sample.deviations
    np.testing.assert_allclose(np.cov(rows.T, ddof=0), rejected.fit.Sigma, atol=1e-12)
    assert right.bollen_stine_p_value > 0.05
    assert rejected.bollen_stine_p_value == 1 / 101
    assert "Bollen-Stine p-value 0.0099" in str(rejected)
    assert abs(right.chi2_draws.mean() - right.fit.df) < 1.0
    plain = bf.bootstrap_fit(GRAPH, DATA, n_bootstrap=40, rng=1)
    assert math.isnan(plain.bollen_stine_p_value)


def test_same_for_every_number_of_threads():
    plain = bf.bootstrap_fit(GRAPH, DATA, n_bootstrap=50, bollen_stine=True, rng=2)
    with ThreadPoolExecutor(2) as executor:
        for options in ({"n_jobs": 2}, {"executor": executor}):
            other = bf.bootstrap_fit(
                GRAPH, DATA, n_bootstrap=50, bollen_stine=True, rng=2, **options
            )
            assert other.draws.tobytes() == plain.draws.tobytes()
            assert other.chi2_draws.tobytes() == plain.chi2_draws.tobytes()
    assert pickle.loads(pickle.dumps(plain)).edge("x -> y") == plain.edge("x -> y")


def test_a_result_brings_its_data():
    fit = bf.fit(GRAPH, DATA)
    plain = bf.bootstrap_fit(GRAPH, DATA, n_bootstrap=40, rng=1)
    for found in (
        bf.bootstrap_fit(fit, n_bootstrap=40, rng=1),
        bf.bootstrap_fit(GRAPH, bf.moments(DATA), n_bootstrap=40, rng=1),
    ):
        assert found.draws.tobytes() == plain.draws.tobytes()
    search = bf.greedy_search(DATA, rng=1, restarts=1, rounds=0)
    with pytest.warns(bf.errors.LearnedGraphWarning):
        bf.bootstrap_fit(search, n_bootstrap=40, rng=1)


def test_failed_fits_are_left_out_and_counted(monkeypatch):
    real, calls = resampling.refit, []

    def sometimes(*args):
        calls.append(1)
        return None if len(calls) % 4 == 0 else real(*args)

    monkeypatch.setattr(resampling, "refit", sometimes)
    found = bf.bootstrap_fit(GRAPH, DATA, n_bootstrap=40, rng=1)
    assert (found.n_bootstrap, found.n_failed, found.complete) == (30, 10, True)
    assert "10 samples without a certified fit" in str(found)


def test_too_few_rows():
    data = bf.random_sem(bf.parse("a, b, c"), rng=1).sample(4, rng=2)
    with pytest.raises(bf.BowfreeError, match="samples have no certified fit: too few rows"):
        bf.bootstrap_fit(bf.parse("a <-> b <-> c <-> a"), data, n_bootstrap=40, rng=1)


@pytest.mark.parametrize(
    ("data", "options", "problem"),
    [
        (None, {}, "neither was"),
        (bf.moments(DATA).without_rows(), {}, "needs the rows themselves"),
        (DATA, {"interval": "exact"}, "unknown interval 'exact'"),
        (DATA, {"n_bootstrap": 20}, "too few for intervals of level 0.95"),
        (DATA, {"confidence": 95}, "must be a number between 0 and 1"),
        (DATA, {"bollen_stine": True, "correlation": "kendall"}, "one table of complete rows"),
        (DATA[["x", "y"]], {}, "no column for the graph's node 'z'"),
    ],
)
def test_bad_arguments(data, options, problem):
    with pytest.raises(bf.BowfreeError, match=problem):
        bf.bootstrap_fit(GRAPH, data, **options)


@pytest.mark.parametrize("n_done", [1, 10])
@pytest.mark.parametrize("event", [TimeIsUp("over"), KeyboardInterrupt()])
def test_time_limit_and_interrupt_keep_the_samples_that_are_done(event, n_done, monkeypatch):
    whole = bf.bootstrap_fit(GRAPH, DATA, n_bootstrap=40, rng=1)
    real, calls = resampling.fit_moments, []

    def fit_moments(*args, **options):
        calls.append(1)
        assert 0 < options["seconds"] <= 1e6
        if len(calls) > n_done:
            raise event
        return real(*args, **options)

    monkeypatch.setattr(resampling, "fit_moments", fit_moments)
    try:
        found = bf.bootstrap_fit(GRAPH, DATA, n_bootstrap=40, rng=1, time_limit=1e6)
    except bf.errors.WorkInterrupted as interrupt:
        found = interrupt.result
    assert (found.n_bootstrap, found.n_failed, found.complete) == (n_done, 0, False)
    np.testing.assert_array_equal(found.draws, whole.draws[:n_done])
    np.testing.assert_array_equal(found.total_effects, whole.total_effects[:n_done])
    assert math.isnan(found.edge("x -> y").se) == (n_done == 1)
    assert math.isnan(found.fit.edge("x -> y").se) == (n_done == 1)


def test_it_is_the_bootstrap_of_a_fit():
    fit = bf.fit(GRAPH, DATA, se="bootstrap", n_bootstrap=40, rng=7)
    found = bf.bootstrap_fit(GRAPH, DATA, n_bootstrap=40, rng=7)
    assert fit.estimates() == found.fit.estimates()
    np.testing.assert_allclose(fit.standard_errors().covariance, np.cov(found.draws, rowvar=False))
    assert "percentile" in str(fit.summary())


# Data of every kind: a standard error of 60 samples is that of the sandwich within 30 %.
INCOMPLETE = DATA.assign(y=DATA.y.where(DATA.x < 1))
CODES = DATA.apply(lambda x: np.digitize(x, [-1, 0, 1]))
KINDS = {
    "fiml": (INCOMPLETE, {"missing": "fiml"}),
    "two-stage": (INCOMPLETE, {"missing": "two-stage"}),
    "ranks": (DATA, {"correlation": "spearman"}),
    "categories": (CODES, {"ordinal": list("xyz")}),
    "weights": (DATA, {"weights": np.linspace(1, 2, 150)}),
    "heavy tails": (DATA**3, {}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_data_of_every_kind(kind):
    data, options = KINDS[kind]
    found = bf.fit(GRAPH, data, se="bootstrap", n_bootstrap=60, rng=1, **options)
    sandwich = bf.fit(GRAPH, data, se="robust", **options)
    assert found.edge("x -> y").estimate == pytest.approx(sandwich.edge("x -> y").estimate)
    assert found.edge("x -> y").se / sandwich.edge("x -> y").se == pytest.approx(1, abs=0.35)
