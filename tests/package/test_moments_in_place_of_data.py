"""Every function that takes data also takes moments of any kind."""

import inspect

import numpy as np
import pytest

import bowfree as bf

GRAPH = bf.parse("a -> b -> c, d <-> c")
DATA = bf.random_sem(GRAPH, rng=1).sample(300, rng=1, as_frame="pandas")
QUICK = bf.search.Strategy(restarts=1, rounds=0)


def score_on_the_workbench(data):
    bench = bf.workbench(data, graph=GRAPH)
    bench.close()
    return bench.fit.score


# How each function is called, and what of its answer is compared.
CALLS = {
    "moments": lambda data: bf.moments(data).S,
    "fit": lambda data: bf.fit(GRAPH, data).B,
    "score": lambda data: bf.score(GRAPH, data),
    "district_scores": lambda data: bf.model.district_scores(GRAPH, data).total,
    "constraint_tests": lambda data: [t.statistic for t in bf.constraint_tests(GRAPH, data)],
    "empirical_class": lambda data: len(bf.empirical_class(GRAPH, data, limit=50)),
    "greedy_search": lambda data: bf.greedy_search(data, rng=1, strategy=QUICK).score,
    "compare": lambda data: bf.compare([GRAPH, bf.MixedGraph(GRAPH.nodes)], data).fits[0].loglik,
    "edge_changes": lambda data: bf.edge_changes(GRAPH, data).rows[0].score,
    "exhaustive_search": lambda data: bf.exhaustive_search(data).scores[:5],
    "exact_search": lambda data: bf.exact_search(data, graph_class="dag").score,
    "effect_bounds": lambda data: bf.effect_bounds(bf.equivalence_class(GRAPH), data).lower,
    "structure_mcmc": lambda data: (
        bf.structure_mcmc(data, steps=100, burn_in=10, thin=5, chains=1, rng=1).directed
    ),
    "averaged_effects": lambda data: bf.averaged_effects([GRAPH], data, rng=1).mean,
    "workbench": score_on_the_workbench,
}
# These draw rows anew: they take moments that have their rows with them.
RESAMPLING = {
    "stability_selection": lambda data: (
        bf.stability_selection(data, n_halves=4, strategy=QUICK, rng=1).frequency
    ),
    "bootstrap": lambda data: (
        bf.bootstrap(data, n_resamples=20, confidence=0.9, strategy=QUICK, rng=1).directed
    ),
    "choose_penalty": lambda data: (
        bf.choose_penalty(data, penalties=[0.5, 1.0], cv=2, strategy=QUICK, rng=1).best
    ),
}
# These look at the distribution of complete rows, and refuse everything else.
COMPLETE = {
    "independence_tests": lambda data: bf.independence_tests(GRAPH, data).p_value,
    "exclude_members": lambda data: len(bf.exclude_members(GRAPH, data).members),
    "nongaussianity": lambda data: [row.skewness for row in bf.nongaussianity(GRAPH, data).rows],
}

incomplete = DATA.mask(np.random.default_rng(1).random(DATA.shape) < 0.1)
SOURCES = {
    "rows": bf.moments(DATA),
    "incomplete rows": bf.moments(incomplete, missing="fiml"),
    "two stages": bf.moments(incomplete, missing="two-stage"),
    "ranks": bf.moments(np.exp(DATA), correlation="kendall"),
    "categories": bf.moments((DATA > 0).astype(float), ordinal=list("ab")),
    "weights": bf.moments(DATA, weights=np.linspace(1, 2, 300)),
    "shrunk": bf.moments(DATA, shrinkage=0.1),
    "a matrix": bf.moments(cov=DATA.cov(), n=300),
    "conditions": bf.moments([bf.Condition(DATA[:150]), bf.Condition(DATA[150:])]),
}


def test_all_functions_are_here():
    functions = {
        name
        for name in bf.__all__
        if inspect.isroutine(getattr(bf, name))
        and "data" in inspect.signature(getattr(bf, name)).parameters
    }
    others = {"district_scores", "bootstrap_fit"}  # below bf.model, and tested with the model
    assert functions - others == {*CALLS, *RESAMPLING, *COMPLETE} - others


@pytest.mark.parametrize("name", {**CALLS, **RESAMPLING, **COMPLETE})
def test_moments_are_as_good_as_rows(name):
    call = {**CALLS, **RESAMPLING, **COMPLETE}[name]
    np.testing.assert_allclose(call(SOURCES["rows"]), call(DATA), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", CALLS)
def test_moments_of_any_kind(name, source):
    assert np.all(np.isfinite(np.asarray(CALLS[name](SOURCES[source]), dtype=float)))


@pytest.mark.parametrize("name", RESAMPLING)
def test_resampling_needs_rows(name):
    for source in ("a matrix", "weights", "ranks"):
        with pytest.raises(bf.errors.DataError, match="resampling requires observations in rows"):
            RESAMPLING[name](SOURCES[source])
