"""Rows in clusters: robust standard errors and tests, and a bootstrap of clusters."""

import numpy as np
import pytest

import bowfree as bf

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
