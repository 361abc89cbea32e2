"""Numbers do not depend on units, on the order of columns or rows, on names, or on signs."""

import numpy as np
import pytest

import bowfree as bf

# b has parents inside its district (c) and outside it (a): coefficients of both kinds.
GRAPH = bf.parse("a -> b <-> c -> e -> b")


@pytest.fixture(scope="module")
def data():
    return bf.random_sem(GRAPH, rng=1).sample(750, rng=3, as_frame="pandas")


def test_intervals_of_averages_have_units(data):
    """The interval of an effect changes with the units as the effect does, bit for bit."""
    plain = bf.averaged_effects([GRAPH], data)
    scale = np.array([2.0**10, 1.0, 2.0**-7, 2.0**3])
    scaled = bf.averaged_effects([GRAPH], data * scale)
    units = scale[:, None] / scale
    for name in ("mean", "lower", "upper", "min_abs", "max_abs"):
        np.testing.assert_array_equal(getattr(scaled, name), getattr(plain, name) * units)
    np.testing.assert_array_equal(scaled.probability, plain.probability)


@pytest.mark.parametrize("order", ["abce", "ecba", "cabe"])
def test_interval_of_one_graph_is_that_of_its_fit(order):
    """With a class of one member, the interval is the normal interval of the total effect.

    The parents of b are inside its district (c) and outside it (a). The tolerance is for the
    information, observed in the average and expected in the fit.
    """
    graph = bf.parse("a -> b <- c <-> e <-> b").reorder(list(order))
    edges = ["a -> b", "c -> b", "c <-> e", "e <-> b"]
    data = bf.random_sem(graph, rng=5).sample(500, rng=6, as_frame="pandas")
    knowledge = bf.Knowledge(required=edges)
    average = bf.averaged_effects([graph], data, knowledge=knowledge, se="standard")
    effects = bf.fit(graph, data).total_effects()
    for cause in "ac":
        averaged = average.effect(of=cause, on="b")
        fitted = effects.effect(of=cause, on="b")
        half = 1.959963984540054 * fitted.se
        assert averaged.lower == pytest.approx(fitted.estimate - half, abs=0.02 * fitted.se)
        assert averaged.upper == pytest.approx(fitted.estimate + half, abs=0.02 * fitted.se)


@pytest.mark.parametrize("options", [{}, {"correlation": "spearman"}, {"weights": "w"}])
def test_intervals_of_averages_are_those_of_robust_fits(options):
    """Skewed data: with a class of one member, the interval is that of the robust total effect."""
    graph = bf.parse("a -> b <- c <-> e <-> b, b -> f, f <-> a")
    edges = ["a -> b", "c -> b", "c <-> e", "e <-> b", "b -> f", "f <-> a"]
    data = bf.random_sem(graph, rng=5).sample(600, rng=6, as_frame="pandas")
    data = data + 0.3 * data**2
    data["w"] = np.random.default_rng(7).uniform(0.2, 3, size=len(data))
    if "weights" not in options:
        data = data.drop(columns="w")
    knowledge = bf.Knowledge(required=edges)
    average = bf.averaged_effects([graph], data, knowledge=knowledge, **options)
    assert average.se == "robust"
    effects = bf.fit(graph, data, se="robust-huber-white", **options).total_effects()
    for cause, on in (("a", "b"), ("c", "b"), ("c", "f"), ("b", "f"), ("a", "f")):
        half = 1.959963984540054 * effects.effect(of=cause, on=on).se
        averaged = average.effect(of=cause, on=on)
        assert (averaged.upper - averaged.lower) / 2 == pytest.approx(half, rel=2e-3)
