"""Fits of graphs with bows whose parameters are identified: instruments."""

import numpy as np
import pytest

import bowfree as bf

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
