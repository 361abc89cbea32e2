"""Path effects averaged over graphs."""

import numpy as np
import pytest

import bowfree as bf
from bowfree.uncertainty.posterior import GraphPosterior

SEM = bf.random_sem(bf.parse("x -> m -> y <- x, z -> m"), rng=3)
DATA = SEM.sample(150, rng=2, as_frame="pandas")
ALL = bf.exhaustive_search(DATA, penalty=0.5)


@pytest.mark.parametrize("se", ["standard", "robust"])
def test_averages_over_all_graphs(se):
    """The mixture of the path effects of all graphs, the slow way."""
    average = bf.averaged_effects(ALL, se=se, window=12)
    found = average.path_effects(of="x", on="y", through="m", max_paths=30)
    n, moments = average._moments.n, bf.moments(DATA)
    prior = GraphPosterior().log_prior(4, bf.SearchSpace())
    ranked = list(ALL.ranking(window=30))
    # With robust weights there are n / scaling observations.
    price = 0.5 * np.log(moments.n) / moments.n - 0.5 * np.log(n) / n
    logs = np.array([n * (s + price * (4 + g.n_edges)) + prior[g.n_edges] for g, s in ranked])
    near = logs >= logs.max() - 12
    weights = np.where(near, np.exp(logs - logs.max()), 0.0)
    weights /= weights.sum()
    sums = dict.fromkeys([row.effect for row in found.rows], (0.0, 0.0))
    for (graph, _), weight in zip(ranked, weights, strict=True):
        if weight == 0.0 or "x" not in graph.ancestors("y"):
            continue
        fit = bf.fit(graph, moments)
        for row in bf.effects.path_effects(fit, of="x", on="y", through="m", max_paths=99).rows:
            if row.effect in sums and row.se == row.se:
                p, mean = sums[row.effect]
                sums[row.effect] = (p + weight, mean + weight * row.estimate)
    assert len(sums) >= 5
    for row in found.rows:
        assert (row.probability, row.mean) == pytest.approx(sums[row.effect], abs=1e-6)
    total = average.effect(of="x", on="y")
    assert (found.rows[0].lower, found.rows[0].upper) == pytest.approx(
        (total.lower, total.upper),
        abs=1e-3,  # similar components are merged
    )
    assert {row.mcse for row in found.rows} == {0.0}


def test_over_samples_of_chains():
    samples = bf.structure_mcmc(DATA, steps=10_000, rng=1)
    chains = bf.averaged_effects(samples)
    exact = bf.averaged_effects(ALL).path_effects(of="x", on="y", avoiding="m")
    found = chains.path_effects(of="x", on="y", avoiding="m")
    for name in ("total", "direct", "indirect", "avoiding m"):
        one, other = found.effect(name), exact.effect(name)
        assert one.probability == pytest.approx(other.probability, abs=0.03)
        assert one.mean == pytest.approx(other.mean, abs=0.03)
    assert 0 < found.effect("direct").mcse < 0.02
    assert "P(path)" in str(found)
    assert list(found.to_frame().columns) == [
        "effect",
        "probability",
        "mcse",
        "mean",
        "lower",
        "upper",
    ]


def test_bad_questions():
    average = bf.averaged_effects(ALL)
    with pytest.raises(bf.errors.GraphError, match="unknown node 'q'"):
        average.path_effects(of="q", on="y")
    with pytest.raises(bf.errors.GraphError, match="more than one of of, on, through and avoiding"):
        average.path_effects(of="x", on="y", through="y")
    some = bf.averaged_effects([bf.parse("x -> m -> y, z")], DATA)
    with pytest.raises(bf.errors.BowfreeError, match="graphs of a search or of chains"):
        some.path_effects(of="x", on="y")
    two = [bf.Condition(DATA[:70]), bf.Condition(DATA[70:], targets=["m"])]
    joint = bf.averaged_effects(bf.greedy_search(two, restarts=1, rng=1), steps=1000, rng=1)
    with pytest.raises(bf.errors.BowfreeError, match="one condition"):
        joint.path_effects(of="x", on="y")
