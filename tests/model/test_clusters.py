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


@pytest.mark.parametrize(
    "options",
    [
        {"clusters": np.repeat(np.arange(40), 5)},
        {"fixed_x": True, "se": "robust", "test": "satorra-bentler"},
    ],
)
def test_units_that_are_powers_of_two_change_no_bit(options):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4))
    graph, unit = bf.parse("a -> c <- b <-> a, c -> d"), 2.0 ** np.array([0, 13, -9, 4])
    one, other = (
        bf.fit(graph, dict(zip("abcd", (X * units).T, strict=True)), **options)
        for units in (np.ones(4), unit)
    )
    scale = dict(zip("abcd", unit, strict=True))
    for a, b in zip(one.estimates(), other.estimates(), strict=True):
        units = scale[a.b] / scale[a.a] if a.mark == "->" else scale[a.a] * scale[a.b]
        assert (a.estimate * units, a.se * units) == (b.estimate, b.se)
    assert one.scaled == other.scaled


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


@pytest.mark.parametrize(
    ("clusters", "problem"),
    [
        ("school", "no column 'school' of clusters"),
        ([1, 2, 3], "one label for each of the 60"),
        (np.ones(60), "at least two clusters"),
        (np.r_[np.nan, np.ones(59)], "missing labels"),
    ],
)
def test_bad_clusters(clusters, problem):
    data, _ = clustered(60, 1)
    with pytest.raises(bf.errors.DataError, match=problem):
        bf.fit(GRAPH, data, clusters=clusters)


def test_clusters_need_rows():
    with pytest.raises(bf.errors.DataError, match="observations in rows"):
        bf.fit(GRAPH, cov=np.eye(2), n=60, clusters=np.arange(60))
