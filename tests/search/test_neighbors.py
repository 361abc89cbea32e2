"""Exact refits of all graphs one edge away: against a fit of each, and in the words of a user."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import bowfree as bf
from graph_strategies import baps
from search_cases import neighbors

# x -> y -> z: six changes of its two edges, two ways to close the triangle
CHAIN = bf.parse("x -> y -> z")
S = [[1.0, 0.5, 0.4], [0.5, 1.0, 0.6], [0.4, 0.6, 1.0]]


def test_smallest_example():
    changes = bf.edge_changes(CHAIN, cov=S, n=200)
    assert len(changes) == 8
    before = bf.fit(CHAIN, cov=S, n=200)
    added = changes.to("x", "->", "z")
    assert added.change == "add x -> z"
    assert added.chi2 == pytest.approx(-before.chi2)  # the triangle is saturated
    assert (added.df, added.p_value) == (-1, pytest.approx(before.p_value))
    gone = changes.without("z", "y")
    assert gone.change == "remove y -> z"
    assert gone.chi2 == pytest.approx(-200 * math.log(1 - 0.6**2))
    assert changes.to("y <-> x").change == "x -> y becomes x <-> y"
    assert {c.change for c in changes.pair("z", "x")} == {"add x -> z", "add x <-> z"}
    assert (changes.chi2, changes.score) == (before.chi2, before.score)


def test_same_model_is_said_and_differs_by_nothing():
    changes = bf.edge_changes(CHAIN, cov=S, n=200)
    same = [c for c in changes if c.equivalent]
    assert {c.change for c in same} == {"x -> y becomes x <- y", "x -> y becomes x <-> y"}
    assert all(c.loglik == c.chi2 == c.score == c.bic == 0 for c in same)


@given(baps(max_nodes=5).filter(len), st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_each_change_is_the_fit_of_its_graph(graph, seed):
    data = bf.moments(bf.random_sem(graph, rng=seed).sample(60, rng=seed + 1), graph=graph)
    # From one start, as changes are: who looks for other maxima is warned of them.
    fit = bf.fit(graph, data, penalty=0.7, n_starts=1)
    changes = bf.edge_changes(graph, data, penalty=0.7)
    others = neighbors(graph)
    assert {(c.a, c.after, c.b) for c in changes} == set(others)
    for c in changes:
        refit = bf.fit(others[c.a, c.after, c.b], data, penalty=0.7, n_starts=1)
        assert c.equivalent == (
            refit.df == fit.df and bf.equivalent(graph, others[c.a, c.after, c.b])
        )
        # 1e-6 is what a certified fit may still gain
        assert c.loglik == pytest.approx(refit.loglik - fit.loglik, abs=1e-6)
        assert c.chi2 == pytest.approx(refit.chi2 - fit.chi2, abs=1e-5)
        assert c.score == pytest.approx(refit.score - fit.score, abs=1e-7)
        assert c.aic == pytest.approx(refit.aic - fit.aic, abs=1e-5)
        assert c.bic == pytest.approx(refit.bic - fit.bic, abs=1e-5)
        assert c.df == refit.df - fit.df
    scores = [c.score for c in changes]
    assert all(a >= b - 1e-9 for a, b in pairwise(scores))


def test_the_space_is_obeyed():
    dags = bf.edge_changes(CHAIN, cov=S, n=200, graph_class="dag")
    assert all(c.after != "<->" for c in dags)
    known = bf.Knowledge(required=[("x", "->", "y")])
    kept = bf.edge_changes(CHAIN, cov=S, n=200, space=bf.SearchSpace(knowledge=known))
    assert kept.pair("x", "y") == ()
    with pytest.raises(bf.errors.GraphError, match="the knowledge, class or limits"):
        bf.edge_changes(CHAIN, cov=S, n=200, max_edges=1)


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        (lambda c: c.to("x -> y"), "already in the graph"),
        (lambda c: c.to("z -> x"), "not possible in this search space"),
        (lambda c: c.to("x -> q"), "unknown node 'q'"),
        (lambda c: c.pair("x", "q"), "unknown node 'q'"),
        (lambda c: c.without("x", "z"), "no edge between x and z"),
    ],
)
def test_changes_that_are_none(ask, problem):
    with pytest.raises(bf.errors.GraphError, match=problem):
        ask(bf.edge_changes(CHAIN, cov=S, n=200))


def test_population():
    changes = bf.edge_changes(CHAIN, cov=S, n=math.inf)
    gone = changes.without("y", "z")
    assert gone.loglik == gone.score == pytest.approx(math.log(1 - 0.6**2) / 2)
    assert math.isnan(gone.chi2)
    assert math.isnan(gone.bic)
    assert "nan" not in str(changes)


def test_few_observations():
    """Three rows, four variables: what cannot be fitted comes last and is said."""
    data = bf.random_sem(bf.parse("a, b, c, d"), rng=3).sample(3, rng=4)
    graph = bf.MixedGraph(["x1", "x2", "x3", "x4"], [("x1", "x2")])
    changes = bf.edge_changes(graph, bf.moments(data, graph=graph))
    assert len(changes) == 3 * 6
    for c in changes:
        assert math.isnan(c.score) == math.isnan(c.loglik)
        assert c.loglik < 1e3


def test_p_values_of_categories_are_those_of_robust_variances():
    """The likelihood of polychoric correlations is not a likelihood: its differences are too large."""
    sem = bf.LinearSEM(bf.parse("x -> y -> z"), [[0, 0, 0], [0.6, 0, 0], [0, 0.5, 0]], np.eye(3))
    data = dict(zip("xyz", np.digitize(sem.sample(400, rng=3), [-0.4, 0.9]).T, strict=True))
    options = {"ordinal": list("xyz")}
    changes = bf.edge_changes(sem.graph, data, **options)
    added, removed = changes.to("x -> z"), changes.without("y", "z")
    for graph, row, edge in (
        (sem.graph.add("x -> z"), added, "x -> z"),
        (sem.graph, removed, "y -> z"),
    ):
        wald = bf.fit(graph, data, **options).edge(edge)
        assert row.p_value == pytest.approx(wald.p_value, rel=0.1)
    assert added.chi2 == pytest.approx(-changes.chi2)  # the larger graph is saturated
    assert added.p_value > chi2.sf(-added.chi2, 1)
