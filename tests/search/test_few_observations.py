"""No more observations than variables: S is singular, and sparse graphs are fitted all the same.

The smallest example: three observations of three variables, where an edge is all that can be had.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import bowfree as bf
from bowfree.graph.encodings import union
from bowfree.graph.structure import district_masks


def chain(n, d, seed=0):
    """Return n observations of x1 -> x2 -> ..., strong enough to be seen in a few."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    return X


def largest_family(graph):
    """Return the size of the largest district, its parents included."""
    return max(
        (district | union(graph._parents, district)).bit_count()
        for district in district_masks(graph)
    )


# --- smallest -------------------------------------------------------------------------------------


def test_three_observations():
    X = np.array([[1.0, 1.1, 3.0], [2.0, 2.2, 1.0], [3.0, 2.9, 2.0]])
    found = bf.exhaustive_search(X)
    assert found.space == bf.SearchSpace(max_in_degree=1, max_district=2)
    assert max(largest_family(graph) for graph, _ in found.ranking(np.inf)) == 2
    assert found.score == pytest.approx(bf.greedy_search(X, rng=1).score, abs=1e-12)


# --- the limits -----------------------------------------------------------------------------------


def test_limits_that_are_not_given_are_chosen():
    space = bf.SearchSpace()
    assert space.with_default_limits(300) == bf.SearchSpace(max_in_degree=13, max_district=12)
    assert space.with_default_limits(20) == bf.SearchSpace(max_in_degree=3, max_district=4)
    given = bf.SearchSpace(max_in_degree=3, max_district=5)
    assert given.with_default_limits(300) == given
    assert bf.SearchSpace(max_in_degree=3).with_default_limits(300).max_district == 74
    assert bf.SearchSpace(max_district=4).with_default_limits(300).max_in_degree == 38
    assert bf.SearchSpace("dag").with_default_limits(20) == bf.SearchSpace("dag", max_in_degree=9)
    assert bf.SearchSpace("bidirected").with_default_limits(20) == bf.SearchSpace(
        "bidirected", max_district=10
    )


def test_limits_that_are_too_wide_are_refused():
    with pytest.raises(bf.errors.DataError, match="up to 20 variables, as there may be"):
        bf.SearchSpace(max_in_degree=10, max_district=2).with_default_limits(20)
    for n in (1, None, "3", np.nan):
        with pytest.raises(bf.BowfreeError, match=f"n = {n!r}: must be a number of observations"):
            bf.SearchSpace().with_default_limits(n)
    with pytest.raises(bf.errors.DataError, match="n = 2 observations do not determine"):
        bf.SearchSpace().with_default_limits(2)
    with pytest.raises(bf.errors.DataError, match="up to 25 variables"):
        bf.SearchSpace("bidirected", max_district=25).with_default_limits(20)
    with pytest.raises(bf.errors.DataError, match="up to 26 variables"):
        bf.SearchSpace("dag", max_in_degree=25).with_default_limits(20)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(3, 60),
    st.sampled_from(["bap", "dag", "bidirected", "ancestral", "arid"]),
    st.none() | st.integers(0, 6),
    st.none() | st.integers(1, 8),
    st.integers(0, 2**32),
)
def test_no_graph_of_the_space_has_a_family_that_n_does_not_determine(n, kind, heads, nodes, seed):
    try:
        space = bf.SearchSpace(kind, max_in_degree=heads, max_district=nodes).with_default_limits(n)
    except bf.errors.DataError:
        assert heads is not None or nodes is not None
        return
    for graph in bf.random_bap(10, space=space, size=3, burn_in=500, rng=seed):
        assert largest_family(graph) < n


# --- search ---------------------------------------------------------------------------------------


def test_a_search_with_fewer_observations_than_variables():
    X = chain(40, 60)
    found = bf.greedy_search(X, penalty="ebic", rng=1, restarts=2, rounds=0)
    skeleton = {frozenset((int(a[1:]), int(b[1:]))) for a, _, b in found.graph.edges}
    true = {frozenset((j, j + 1)) for j in range(1, 60)}
    assert len(skeleton & true) >= 55
    assert found.space == bf.SearchSpace().with_default_limits(40)
    assert largest_family(found.graph) < 40
    (note,) = (note for note in found.notes if "observations" in note)
    assert "at most 5 arrowheads at a node, at most 4 nodes in a district" in note
    assert note in str(found)
    # Districts are fitted as they are in a table of their own columns.
    near = next(iter(found.graph.nodes[:4]))
    family = [near, *found.graph.parents(near)]
    alone = bf.moments(dict(zip(found.graph.nodes, X.T, strict=True))).take(family)
    assert alone.definite
    assert found.score == pytest.approx(bf.score(found), abs=1e-10)


@pytest.mark.parametrize(("penalty", "noted"), [(1.0, True), (1.58, True), (1.6, False)])
def test_a_penalty_below_the_extended_one_is_remarked_on(penalty, noted):
    # 0.5 + log(15) / log(12) = 1.5898
    found = bf.greedy_search(chain(12, 15), penalty=penalty, rng=3, restarts=1, rounds=0)
    assert any("penalty='ebic' (1.59 here)" in note for note in found.notes) == noted
    assert len(found.notes) == 1 + noted


def test_all_that_goes_on_from_there():
    X = chain(10, 12)
    found = bf.greedy_search(X, penalty="ebic", rng=1, restarts=4, rounds=1)
    fit = bf.fit(found.graph, X, n_starts=1)
    assert np.isnan(fit.chi2)
    assert fit.score != found.score  # the one is at penalty 1
    members = found.equivalence_class()
    bounds = bf.effect_bounds(members, X)
    assert bounds.n_members == members.size
    # Every member fits the estimate of any other: bounds are those over the fitted matrix.
    again = bf.effect_bounds(members, cov=fit.Sigma, n=np.inf)
    assert_allclose(bounds.lower, again.lower, atol=1e-6)
    assert_allclose(bounds.upper, again.upper, atol=1e-6)
    own = fit.total_effects().estimate
    assert (bounds.lower <= own + 1e-6).all()
    assert (own <= bounds.upper + 1e-6).all()
    assert all(change.score < 1e-9 for change in bf.edge_changes(found))
    average = found.averaged_effects(steps=2_000, rng=1)
    assert max(largest_family(graph) for graph in average.samples.counts()) < 10
    page = bf.report.render(found, average=average)
    assert "N = 10 observations of 12 variables: the search" in page
    quick = bf.search.Strategy(restarts=1, rounds=0)
    assert bf.bootstrap(X, n_resamples=3, confidence=0.1, strategy=quick, rng=1).complete


def test_a_rank_that_the_number_of_observations_does_not_explain():
    X = chain(10, 12)
    X[:, 3] = X[:, 7]
    with pytest.raises(bf.errors.DataError, match="duplicated columns: 'x8' is determined by 'x4'"):
        bf.greedy_search(X)
    S = np.eye(12)
    S[0, 1] = S[1, 0] = S[0, 2] = S[2, 0] = 0.9
    S[1, 2] = S[2, 1] = -0.9
    with pytest.raises(bf.errors.DataError, match=r"\(indefinite matrix\): .* 'x1', 'x2', 'x3'"):
        bf.greedy_search(cov=S, n=10)


def test_what_needs_all_of_the_matrix_says_so():
    X = chain(5, 6)
    graph = bf.parse("x1 -> x2, x3, x4, x5, x6")
    way_out = "covariance matrix is singular; use fewer variables, or `shrinkage=`"
    for call in (lambda: bf.empirical_class(graph, X), lambda: bf.effect_bounds([graph], X)):
        with pytest.raises(
            bf.errors.DataError, match=f"n = 5 observations of 6 variables: .*{way_out}"
        ):
            call()
    joint = [bf.Condition(X, targets=()), bf.Condition(X[::-1], targets=["x1"])]
    with pytest.raises(bf.errors.DataError, match="singular"):
        bf.greedy_search(joint)
