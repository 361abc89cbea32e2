"""Rows are drawn anew within each condition."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import bowfree as bf
from bowfree.model.context import ScoringRule
from bowfree.parallel.budget import Budget
from bowfree.uncertainty.repeated_searches import RepeatedSearch, Rows

QUICK = bf.search.Strategy(restarts=1, rounds=0)
GRAPH = bf.parse("x -> y -> z")
RNG = np.random.default_rng(0)


def rows(n, shift=0.0, *, set_y=False):
    x, y, z = RNG.normal(size=(3, n))
    y = y if set_y else x + y
    return {"x": x + shift, "y": y - shift, "z": y + z}


DATA = [
    bf.Condition(rows(60), name="watched"),
    bf.Condition(rows(40, 9.0, set_y=True), targets=["y"], name="set"),
]
BATCHES = [bf.Condition(rows(60)), bf.Condition(rows(40, 9.0))]


def test_every_part_has_its_share_of_each_condition():
    table = Rows.of(DATA)
    fold = table.folds(5, np.random.default_rng(1))
    assert np.bincount(fold[:60]).tolist() == [12] * 5
    assert np.bincount(fold[60:]).tolist() == [8] * 5
    first, second = table.halves(np.random.default_rng(1))
    assert not set(first) & set(second)
    for half in (first, second):
        assert [c.n for c in table.moments(half).conditions] == [30, 20]
    drawn = table.draw(np.random.default_rng(1))
    assert len(drawn) == 100
    assert ((drawn[:60] < 60) & (drawn[:60] >= 0)).all()
    assert ((drawn[60:] < 100) & (drawn[60:] >= 60)).all()
    moments = table.moments(drawn)
    assert [c.n for c in moments.conditions] == [60, 40]
    assert [c.targets for c in moments.conditions] == [(), ("y",)]
    X = np.column_stack(list(DATA[1].data.values()))[drawn[60:] - 60]
    np.testing.assert_allclose(moments.conditions[1].S, np.cov(X.T, ddof=0), rtol=1e-10)
    np.testing.assert_allclose(moments.conditions[1].mean, X.mean(axis=0), rtol=1e-10)


def test_a_given_graph_is_refitted_with_its_targets():
    again = bf.bootstrap_fit(GRAPH, DATA, n_bootstrap=200, rng=1)
    fit = bf.fit(GRAPH, DATA)
    for edge in ("x -> y", "y -> z"):
        spread = again.edge(edge)
        assert spread.lower < fit.edge(edge).estimate < spread.upper
        width = (spread.upper - spread.lower) / 2 / 1.96
        assert width == pytest.approx(fit.edge(edge).se, rel=0.4)
    with pytest.raises(bf.errors.DataError, match="bollen_stine=True requires one table"):
        bf.bootstrap_fit(GRAPH, DATA, n_bootstrap=200, rng=1, bollen_stine=True)


def test_searches_on_resamples():
    again = bf.bootstrap(BATCHES, n_resamples=20, confidence=0.9, strategy=QUICK, rng=1)
    assert again.adjacent[1, 0] > 0.8
    # In one table the shift of the second batch would join x and y the other way round.
    stable = bf.stability_selection(DATA, n_halves=4, strategy=QUICK, rng=1)
    assert stable.frequency[2, 1] == 1


def test_effects_over_the_interventional_classes_of_resamples():
    again = bf.bootstrap(DATA, n_resamples=20, confidence=0.9, strategy=QUICK, rng=1)
    y, z = 1, 2
    # With y set by hand every resample knows which way y acts; the watched rows alone do not.
    assert again.effect_frequency[z, y] == 1
    assert again.effect_frequency[y, z] == 0
    alone = bf.bootstrap(DATA[0].data, n_resamples=20, confidence=0.9, strategy=QUICK, rng=1)
    assert alone.effect_frequency[z, y] < 0.5
    # One resample, done by hand.
    stream = np.random.default_rng(np.random.default_rng(1).integers(0, 2**63, size=20).tolist()[0])
    table, search = Rows.of(DATA), RepeatedSearch.of(bf.SearchSpace(), ScoringRule(), QUICK)
    moments = table.moments(table.draw(stream))
    result = search.search(moments, Budget(stream))
    assert result.graph == again.graphs[0]
    bounds = bf.effect_bounds(bf.equivalence_class(result.graph, targets=[(), ("y",)]), moments)
    assert again.total_effect_interval[0][z, y] <= bounds.lower[z, y]


def test_the_penalty_is_chosen_by_rows_left_out_of_each_condition():
    options = {"penalties": [0.5, 40.0], "cv": 3, "strategy": QUICK, "rng": 4}
    choice = bf.choose_penalty(DATA, **options)
    assert choice.best == 0.5
    # The folds once more, row by row.
    generator = np.random.default_rng(4)
    table = Rows.of(DATA)
    fold = table.folds(3, generator)
    for k in range(3):
        train = table.moments(np.flatnonzero(fold != k))
        graph = bf.greedy_search(train, penalty=40.0, strategy=QUICK, rng=0).graph
        assert graph.n_edges == 0 == choice.n_edges[k, 1]
        fit = bf.fit(graph, train)
        densities = []
        for c, (condition, start) in enumerate(zip(DATA, (0, 60), strict=True)):
            X = np.column_stack(list(condition.data.values()))
            out = fold[start : start + len(X)] == k
            mean = X[~out].mean(axis=0)
            distribution = multivariate_normal(mean, fit.conditions[c].Sigma)
            densities += distribution.logpdf(X[out]).tolist()
        assert choice.folds[k, 1] == pytest.approx(np.mean(densities), rel=1e-9)


def test_a_target_held_constant_has_no_density():
    held = bf.Condition({**DATA[1].data, "y": np.full(40, 2.0)}, targets=["y"], name="held")
    choice = bf.choose_penalty([DATA[0], held], penalties=[0.5, 1], cv=2, strategy=QUICK, rng=1)
    assert np.isfinite(choice.folds).all()


def test_what_cannot_be_resampled():
    matrix = [*DATA[:1], bf.Condition(bf.moments(DATA[1].data).without_rows(), name="set")]
    for call in (
        lambda: bf.bootstrap_fit(GRAPH, matrix, n_bootstrap=40, rng=1),
        lambda: bf.stability_selection(matrix, n_halves=4, strategy=QUICK, rng=1),
        lambda: bf.bootstrap(matrix, n_resamples=20, confidence=0.9, strategy=QUICK, rng=1),
        lambda: bf.choose_penalty(matrix, penalties=[0.5, 1.0], cv=2, strategy=QUICK, rng=1),
    ):
        with pytest.raises(bf.errors.DataError, match="in every condition"):
            call()
