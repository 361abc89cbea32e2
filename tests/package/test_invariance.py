"""Intervals of averages over one graph are those of its fit; see also test_metamorphic.py."""

import numpy as np
import pytest

import bowfree as bf


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
