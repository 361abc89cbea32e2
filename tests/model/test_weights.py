"""Sampling weights, and rows in clusters: moments, robust inference, and a bootstrap of clusters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bowfree as bf

CHAIN = bf.parse("a -> b -> c")
SEM = bf.LinearSEM(CHAIN, [[0, 0, 0], [0.8, 0, 0], [0, -0.7, 0]], np.eye(3))
DATA = SEM.sample(200, rng=1, as_frame="pandas")
WEIGHTS = np.random.default_rng(1).integers(1, 4, size=200)


def test_smallest_example():
    # A weight of two is a row given twice.
    moments = bf.moments({"x": [0.0, 2.0, 3.0]}, weights=[1, 1, 1])
    assert_allclose(moments.S, bf.moments({"x": [0.0, 2.0, 3.0]}).S)
    weighted = bf.moments({"x": [0.0, 2.5]}, weights=[1, 2])
    assert_allclose(weighted.mean, [5 / 3])
    assert_allclose(weighted.S, bf.moments({"x": [0.0, 2.5, 2.5]}).S)


def test_gamma_and_its_slow_twin():
    moments = bf.moments(DATA, weights=WEIGHTS)
    w = WEIGHTS / WEIGHTS.mean()
    total = 0.0
    for row, weight in zip(DATA.to_numpy() - moments.mean, w, strict=True):
        share = weight * (np.outer(row, row) - moments.S)[np.tril_indices(3)]
        total = total + np.outer(share, share) / 200
    assert_allclose(moments.Gamma, total)


def test_standard_errors_cover_a_sample_drawn_unequally():
    # Rows with large a are drawn more often, and weighted down: the slope of b on a is as it was,
    # and its standard error is that over samples, where counting rows would claim more.
    rng = np.random.default_rng(2)
    estimates, errors, naive = [], [], []
    for _ in range(150):
        data = SEM.sample(1200, rng=rng, as_frame="pandas")
        keep = 0.1 + 0.9 * (data["a"] > 0.5)
        drawn = rng.random(1200) < keep
        fit = bf.fit(CHAIN, data[drawn], weights=1 / keep[drawn])
        estimates.append(fit.B[1, 0])
        errors.append(fit.edge("a -> b").se)
        plain = bf.fit(CHAIN, cov=fit.S, n=fit.n, ddof=0)
        naive.append(plain.edge("a -> b").se)
    spread = np.std(estimates)
    assert abs(np.mean(estimates) - 0.8) < 4 * spread / np.sqrt(150)
    # 150 samples know a standard deviation to 6 %; the sandwich is a few percent low by itself.
    assert 0.8 < np.mean(errors) / spread < 1.1
    assert np.mean(naive) / spread < 0.7


def test_weights_in_a_column():
    data = DATA.assign(w=WEIGHTS)
    by_name = bf.moments(data, weights="w")
    assert by_name.names == ("a", "b", "c")
    assert_allclose(by_name.S, bf.moments(DATA, weights=WEIGHTS).S)
    assert_allclose(bf.fit(CHAIN, data, weights="w").B, bf.fit(CHAIN, DATA, weights=WEIGHTS).B)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), r"weights has shape \(3,\): must be one weight"),
        (np.r_[0, np.ones(199)], "weights has 0 in row 0: must be positive numbers"),
        (np.r_[np.ones(199), np.nan], "weights has nan in row 199: must be positive"),
        (["x"] * 200, "weights = .*: must be numbers"),
        ("w", "has no column for the graph's node 'w'"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(bf.errors.DataError, match=message):
        bf.moments(DATA, weights=weights)


GRAPH = bf.parse("x -> y")


def clustered(n_clusters, size, seed=1):
    """Return columns with an effect of the cluster on both variables, and its labels."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_clusters), size)
    common = rng.normal(size=(2, n_clusters))[:, labels]
    x = common[0] + rng.normal(size=len(labels))
    return {"x": x, "y": 0.5 * x + common[1] + rng.normal(size=len(labels))}, labels


def test_a_cluster_for_each_row_is_the_plain_sandwich():
    data, _ = clustered(60, 1)
    robust = {"se": "robust-huber-white", "test": "yuan-bentler"}
    alone = bf.fit(GRAPH, data, clusters=np.arange(60))
    plain = bf.fit(GRAPH, data, **robust)
    assert (alone.se, alone.test) == tuple(robust.values())
    ratio = [a.se / b.se for a, b in zip(alone.estimates(), plain.estimates(), strict=True)]
    assert ratio == pytest.approx([np.sqrt(60 / 59)] * 3)
    assert [row.estimate for row in alone.estimates()] == [r.estimate for r in plain.estimates()]


def test_standard_error_of_a_slope_by_hand():
    data, labels = clustered(40, 5)
    x, y = (column - column.mean() for column in data.values())
    error = y - x * (x @ y) / (x @ x)
    sums = np.bincount(labels, weights=x * error)
    expected = np.sqrt(40 / 39 * np.sum(sums**2)) / (x @ x)
    assert bf.fit(GRAPH, data, clusters=labels).edge("x -> y").se == pytest.approx(expected)


def test_repeated_rows_add_nothing():
    data, labels = clustered(50, 1)
    once = bf.fit(GRAPH, data, clusters=labels)
    thrice = {name: np.repeat(column, 3) for name, column in data.items()}
    again = bf.fit(GRAPH, thrice, clusters=[f"person {k}" for k in np.repeat(labels, 3)])
    for a, b in zip(once.estimates(), again.estimates(), strict=True):
        assert (a.estimate, a.se) == pytest.approx((b.estimate, b.se))


def test_bootstrap_resamples_clusters():
    data, labels = clustered(60, 6)
    fit = bf.fit(GRAPH, data, clusters=labels)
    for interval in ("percentile", "bca"):
        drawn = bf.fit(
            GRAPH, data, clusters=labels, se="bootstrap", n_bootstrap=400, interval=interval, rng=1
        )
        assert drawn.edge("x -> y").se == pytest.approx(fit.edge("x -> y").se, rel=0.2)
    rows = bf.fit(GRAPH, data, se="bootstrap", n_bootstrap=400, rng=1)
    assert rows.edge("x -> y").se < 0.8 * fit.edge("x -> y").se
