"""Every BAP scored: counts, optimum and weights, against scoring them one by one."""

import numpy as np
import pytest

import bowfree as bf
from graph_strategies import all_baps
from search_cases import simulate


def test_two_variables():
    """No edge and three equivalent edges: the edges share one score and one class."""
    result = bf.exhaustive_search(cov=[[1.0, 0.4], [0.4, 1.0]], n=200)
    assert len(result) == 4
    first, second = result.classes(window=1000)
    assert {str(g) for g in first.graphs} == {"x1 -> x2", "x1 <- x2", "x1 <-> x2"}
    assert second.graphs == (bf.MixedGraph(["x1", "x2"]),)
    assert first.probability + second.probability == pytest.approx(1, abs=1e-12)
    assert sum(result.edge_probabilities().values()) == pytest.approx(first.probability, abs=1e-12)


def test_every_score_is_that_of_its_graph():
    S, _ = simulate(31, 3)
    result = bf.exhaustive_search(cov=S, n=1000)
    ranking = dict(result.ranking(window=np.inf))
    assert len(ranking) == len(result) == 62
    for graph in all_baps(3):
        graph = graph.relabel(dict(zip(graph.nodes, result.moments.names, strict=True)))
        assert ranking[graph] == pytest.approx(bf.score(graph, cov=S, n=1000), abs=1e-12)
    weights = np.exp(1000 * (np.array(list(ranking.values())) - result.score))
    assert result.weights() == pytest.approx(weights / weights.sum(), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_best_class_is_the_exact_equivalence_class(seed):
    S, _ = simulate([33, seed], 4)
    result = bf.exhaustive_search(cov=S, n=1000)
    assert len(result) == 3608
    best = result.classes(window=1e-6)[0]
    assert set(best.graphs) == set(bf.equivalence_class(best.graphs[0]))


def test_limits_and_knowledge():
    S, _ = simulate(34, 4)
    dags = bf.exhaustive_search(cov=S, n=1000, graph_class="dag")
    assert len(dags) == 543
    known = bf.Knowledge(required=["x1 -> x2"], unconfounded=["x3"])
    some = bf.exhaustive_search(cov=S, n=1000, max_in_degree=1, knowledge=known)
    assert 0 < len(some) < 3608
    assert all(known.permits(graph) for graph, _ in some.ranking(np.inf))


def test_graph_classes_are_those_of_the_graphs():
    # Whether a graph is arid can take two rounds of shrinking: a <-> b <-> c, a -> c.
    S, _ = simulate(34, 4)
    arid = bf.exhaustive_search(cov=S[:3, :3], n=1000, graph_class="arid")
    assert len(arid) == 62  # on three nodes all BAPs are
    everything = [graph for graph, _ in bf.exhaustive_search(cov=S, n=1000).ranking(np.inf)]
    for graph_class in ("arid", "ancestral"):
        found = bf.exhaustive_search(cov=S, n=1000, graph_class=graph_class)
        expected = {graph for graph in everything if getattr(graph, f"is_{graph_class}")()}
        assert {graph for graph, _ in found.ranking(np.inf)} == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cov": np.eye(6), "n": 100}, "at most 5"),
        ({"cov": np.eye(2), "n": np.inf}, "n = inf"),
        ({"data": np.eye(3), "max_in_degree": 2}, "n = 3 observations do not determine"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(bf.errors.DataError, match=message):
        bf.exhaustive_search(**options)


def test_five_variables():
    S, _ = simulate(35, 5)
    result = bf.exhaustive_search(cov=S, n=1000)
    assert len(result) == len(np.unique(result.codes)) == 765_664
    for rank in np.random.default_rng(1).integers(len(result), size=50):
        graph = result.graph_at(rank)
        assert result.scores[rank] == pytest.approx(bf.score(graph, cov=S, n=1000), abs=1e-12)
        assert result.edge_counts()[rank] == graph.n_edges
