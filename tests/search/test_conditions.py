"""One search over several conditions: interventions identify what observations cannot."""

import numpy as np
import pytest

import bowfree as bf
from bowfree.search import plan
from conditions_twin import ConditionModel
from random_models import random_bap
from search_cases import neighbors

QUICK = {"restarts": 4, "rounds": 1}


def conditions(rng, graph, targets, n=400):
    """Return rows of the graph under perfect interventions."""
    names = [tuple(graph.nodes[t] for t in chosen) for chosen in targets]
    model = ConditionModel(graph, "perfect", names)
    made = []
    for k, (_, Sigma) in enumerate(model.distributions(model.random(rng, graph))):
        X = rng.normal(size=(n, len(graph))) @ np.linalg.cholesky(Sigma).T + 3 * k
        rows = dict(zip(graph.nodes, X.T, strict=True))
        made.append(bf.Condition(rows, targets=names[k], name=f"c{k}"))
    return made


def test_a_hidden_cause_is_told_from_an_effect():
    truth = bf.parse("x <-> y")
    data = conditions(np.random.default_rng(2), truth, [(), (0,), (1,)])
    assert str(bf.exhaustive_search(data).graph) == "x <-> y"
    assert str(bf.greedy_search(data, rng=1, **QUICK).graph) == "x <-> y"


@pytest.mark.parametrize("seed", range(4))
def test_greedy_search_finds_what_an_exhaustive_one_finds(seed):
    rng = np.random.default_rng([3, seed])
    graph = random_bap(rng, 4, density=0.6)
    data = conditions(rng, graph, [(), (0,), (1, 2)])
    exact, found = bf.exhaustive_search(data), bf.greedy_search(data, rng=1)
    assert found.score == pytest.approx(exact.scores[0], abs=1e-9)
    for scored in found.pool[:5]:
        assert scored.score == pytest.approx(bf.score(scored.graph, data), abs=1e-9)
    best = list(exact.ranking(5.0))
    assert [s for _, s in best] == pytest.approx([bf.score(g, data) for g, _ in best], abs=1e-9)


def many_variables(seed, d):
    """Return a sparse BAP of many variables, and conditions of which the first sets most of them.

    Taking the first matrix for all of the data would show hardly any edge.
    """
    rng = np.random.default_rng([9, seed])
    truth = random_bap(rng, d, density=2 / d)
    return truth, conditions(rng, truth, [tuple(range(3, d)), (), (0, 5)])


def test_orders_are_for_one_matrix(monkeypatch):
    # Beyond twelve variables a run that begins with DAGs takes them over orders; with targets it
    # does what it does with few variables.
    truth, data = many_variables(1, 14)
    watched = [bf.Condition(c.data) for c in data]
    quick = {"rng": 1, "restarts": 2, "rounds": 0}
    by_default = [bf.greedy_search(given, **quick) for given in (data, watched)]
    monkeypatch.setattr(plan, "order_kicks_for", lambda d: -1)
    without = [bf.greedy_search(given, **quick) for given in (data, watched)]
    assert by_default[0].pool == without[0].pool
    looked_at, looked_at_without = (
        [[run.candidates for run in result.runs] for result in results]
        for results in (by_default, without)
    )
    assert looked_at[0] == looked_at_without[0]
    assert looked_at[1] != looked_at_without[1]
    assert by_default[0].score > bf.score(truth, data) - 1e-9
    for graph, score in by_default[0].pool[:5]:
        assert score == pytest.approx(bf.score(graph, data), abs=1e-9)


def test_the_screen_is_for_one_matrix():
    # Beyond thirty variables a climb asks a screen which new edges are worth a fit. At its end no
    # single change is left that gains.
    _, data = many_variables(2, 32)
    found = bf.greedy_search(data, rng=1, strategy="restart", restarts=0)
    assert all(change.score < 1e-9 for change in bf.edge_changes(found))


def test_edge_changes_are_differences_of_scores():
    rng = np.random.default_rng(4)
    graph = random_bap(rng, 4, density=0.6)
    data = conditions(rng, graph, [(), (0,), (1, 2)])
    changes = bf.edge_changes(graph, data)
    before = bf.fit(graph, data)
    assert changes.chi2 == before.chi2
    others = neighbors(graph)
    for change in changes:
        after = others[change.a, change.after, change.b]
        gain = bf.fit(after, data).loglik - before.loglik
        assert change.loglik == pytest.approx(gain, abs=1e-6)


def test_same_seed_same_result_whatever_the_threads(tmp_path):
    rng = np.random.default_rng(5)
    data = conditions(rng, random_bap(rng, 6), [(), (0,), (1, 2), (4,)], n=100)
    one, two = (bf.greedy_search(data, rng=3, n_jobs=jobs, **QUICK) for jobs in (1, 2))
    assert one.pool == two.pool
    path = tmp_path / "search.json"
    kept = bf.greedy_search(data, rng=3, checkpoint=path, **QUICK)
    again = bf.greedy_search(data, rng=3, checkpoint=path, **QUICK)
    assert kept.pool == again.pool == one.pool
    others = [bf.Condition(c.data, name=c.name) for c in data]
    with pytest.raises(bf.errors.CheckpointError, match="belongs to another search: its data"):
        bf.greedy_search(others, rng=3, checkpoint=path, **QUICK)


def test_the_paper_s_method_is_for_one_matrix():
    data = conditions(np.random.default_rng(10), bf.parse("x -> y"), [(), (1,)])
    for search in (bf.greedy_search, bf.exhaustive_search):
        with pytest.raises(bf.BowfreeError, match="method='ricf' needs a single covariance matrix"):
            search(data, method="ricf")
