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
    average = bf.averaged_effects([graph], data, knowledge=bf.Knowledge(required=edges))
    effects = bf.fit(graph, data).total_effects()
    for cause in "ac":
        averaged = average.effect(of=cause, on="b")
        fitted = effects.effect(of=cause, on="b")
        half = 1.959963984540054 * fitted.se
        assert averaged.lower == pytest.approx(fitted.estimate - half, abs=0.02 * fitted.se)
        assert averaged.upper == pytest.approx(fitted.estimate + half, abs=0.02 * fitted.se)
