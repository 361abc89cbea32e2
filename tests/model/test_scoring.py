"""The score splits over districts (section 3.1)."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import bowfree as bf
from random_models import random_bap, random_covariance
from twins import districts, graph_matrices, implied_covariance, log_likelihood, ricf

#   x -> y -> z,  x <-> z:  districts {x, z} and {y}
GRAPH = bf.MixedGraph(list("xyz"), directed=[("x", "y"), ("y", "z")], bidirected=[("x", "z")])
S3 = [[1.0, 0.5, 0.7], [0.5, 1.0, 0.8], [0.7, 0.8, 2.0]]


def test_smallest_example():
    shares = bf.model.district_scores(GRAPH, cov=S3, n=200, ddof=0)
    assert [row.district for row in shares] == [("x", "z"), ("y",)]
    # y on x leaves the variance 0.75; one node and one edge are paid for.
    likelihood = -(math.log(2 * math.pi * 0.75) + 1) / 2
    assert_allclose(shares[1].score, likelihood - 2 * math.log(200) / 200)
    assert shares.total == sum(row.score for row in shares)
    assert all(row.certified for row in shares)


def test_score_is_that_of_the_fit():
    fit = bf.fit(GRAPH, cov=S3, n=200, penalty=0.7)
    assert_allclose(bf.score(GRAPH, cov=S3, n=200, penalty=0.7), fit.score, rtol=1e-15)


SEM = bf.random_sem(GRAPH, rng=1)
ROWS = dict(zip("xyz", SEM.sample(300, rng=2).T, strict=True))
MISSING = {
    "x": np.where(np.arange(300) % 5 == 0, np.nan, ROWS["x"]),
    "y": ROWS["y"],
    "z": ROWS["z"],
}
CATEGORIES = {
    name: np.digitize(column, np.quantile(column, [0.2, 0.5, 0.8])) for name, column in ROWS.items()
}
KINDS = {
    "fiml": (MISSING, {"missing": "fiml"}),
    "two-stage": (MISSING, {"missing": "two-stage"}),
    "weights": (ROWS, {"weights": 0.2 + np.arange(300) % 7}),
    "spearman": (ROWS, {"correlation": "spearman"}),
    "ordinal": (CATEGORIES, {"ordinal": list("xyz")}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_fit_search_and_test_by_kind_of_data(kind):
    data, options = KINDS[kind]
    fit, found = bf.fit(GRAPH, data, **options), bf.greedy_search(data, **options, rng=1)
    assert fit.moments.n < fit.n  # the effective number of observations
    assert_allclose(fit.score, bf.score(GRAPH, data, **options), rtol=1e-12)
    assert_allclose(found.fit().score, found.score, rtol=1e-12)
    # The valid test is scaled after robust inference.
    fit = bf.fit(bf.parse("x -> y -> z"), data, **options)
    shown = fit.indices if kind == "fiml" else fit.scaled
    assert (fit.valid_test.chi2, fit.valid_test.p_value) == (shown.chi2, shown.p_value)
    assert fit.valid_test.rmsea == fit.scaled.rmsea
    assert str(fit.valid_test).startswith("chi-square" if kind == "fiml" else "scaled chi-square")


def test_an_edge_changes_the_share_of_its_head_only():
    rng = np.random.default_rng(0)
    S = random_covariance(rng, 4, 100)
    before = bf.MixedGraph(list("abcd"), directed=[("a", "b")], bidirected=[("c", "d")])
    after = bf.MixedGraph(list("abcd"), directed=[("a", "b"), ("b", "c")], bidirected=[("c", "d")])
    old, new = (bf.model.district_scores(graph, cov=S, n=100) for graph in (before, after))
    same = {row.district: row.score == new[k].score for k, row in enumerate(old)}
    assert same == {("a",): True, ("b",): True, ("c", "d"): False}


def submodel(graph, C, *, drop_edges_into_parents=True):
    """Return the nodes V_k of the paper's G_k and its matrices D and U, members of C first."""
    D, U = graph_matrices(graph)
    parents = [j for j in range(len(D)) if D[list(C), j].any() and j not in C]
    V = [*C, *parents]
    D, U = D[np.ix_(V, V)], U[np.ix_(V, V)]
    D[len(C) :, slice(None) if drop_edges_into_parents else slice(len(C), None)] = 0
    U[len(C) :], U[:, len(C) :] = 0, 0
    return V, D, U


def papers_share(graph, C, S, n, **options):
    """Evaluate one term of section 3.1: the submodel's likelihood less that of its parents.

    RICF fits to S (divisor n - 1); the likelihood has the factor (n - 1) / n. Two things are read
    as they must be meant: S_{G_k} is S at V_k, not at C_k, and the trace does not include |pa|.
    """
    V, D, U = submodel(graph, C, **options)
    S_k, outside = S[np.ix_(V, V)], len(V) - len(C)
    Sigma = implied_covariance(*ricf(S_k, D, U, max_iter=5000, tol=1e-11)[:2])
    logdet = np.linalg.slogdet(Sigma)[1] - np.log(np.diag(Sigma)[len(C) :]).sum()
    trace = (n - 1) / n * (np.trace(np.linalg.solve(Sigma, S_k)) - outside)
    return -(len(C) * math.log(2 * math.pi) + logdet + trace) / 2


def ours_in_the_papers_scale(graph, S, n):
    """Return the unpenalized shares of a fit to S itself, as the paper evaluates them."""
    shares = bf.model.district_scores(graph, cov=S, n=n, ddof=0, penalty=0.0)
    return [row.score + len(row.district) / (2 * n) for row in shares]


def test_the_detour_through_the_parents_variances_is_the_same():
    rng = np.random.default_rng(3)
    for _ in range(20):
        graph, S = random_bap(rng, 5, density=0.5), random_covariance(rng, 5, 200)
        theirs = [papers_share(graph, C, S, 200) for C in districts(graph)]
        assert_allclose(ours_in_the_papers_scale(graph, S, 200), theirs, rtol=0, atol=1e-9)


def test_the_submodel_must_lose_edges_from_the_district_to_its_parents():
    # In GRAPH the parent y of {x, z} is a child of x. Section 3.1 drops only edges *between*
    # parents, which would keep x -> y; appendix A.2 then uses that parents are sources.
    S = np.array(S3)
    ours = ours_in_the_papers_scale(GRAPH, S, 200)
    assert_allclose(papers_share(GRAPH, (0, 2), S, 200), ours[0], atol=1e-9)
    as_printed = papers_share(GRAPH, (0, 2), S, 200, drop_edges_into_parents=False)
    assert abs(as_printed - ours[0]) > 0.1


@settings(max_examples=10, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_districts_sum_to_the_whole_graph(seed):
    # 10 x 200 graphs; the whole-graph value is the likelihood of the fitted Sigma, evaluated as
    # eq. (likelihood) is written, with nothing known of districts.
    rng = np.random.default_rng(seed)
    for _ in range(200):
        d = int(rng.integers(2, 9))
        graph = random_bap(rng, d, density=rng.uniform(0.1, 0.6))
        n, penalty = 40 * d, float(rng.uniform(0.2, 2))
        S = random_covariance(rng, d, n)
        # One start, as in a score: by default a fit that is far from the data tries more.
        fit = bf.fit(graph, cov=S, n=n, penalty=penalty, n_starts=1)
        shares = bf.model.district_scores(graph, cov=S, n=n, penalty=penalty)
        D, U = graph_matrices(graph)
        size = d + D.sum() + U.sum() // 2
        whole = (log_likelihood(fit.Sigma, fit.S, n) - penalty * size * math.log(n)) / n
        assert_allclose(shares.total, whole, rtol=0, atol=1e-10)
        assert [tuple(graph.nodes[i] for i in c) for c in districts(graph)] == [
            row.district for row in shares
        ]


EMPTY, EDGE = bf.parse("x, y"), bf.parse("x -> y")


def pair(r):
    return [[1.0, r], [r, 1.0]]


def gain(r, **options):
    """Return what the score gains by the one edge, given the correlation."""
    given = {"cov": pair(r), "ddof": 0, **options}
    return bf.score(EDGE, **given) - bf.score(EMPTY, **given)


# --- the extended BIC -----------------------------------------------------------------------------


def test_an_edge_costs_half_of_log_n_and_twice_gamma_of_log_d():
    n, r = 200, 0.3
    likelihood = -math.log(1 - r**2) / 2
    for gamma in (0.0, 0.25, 1.0):
        price = math.log(n) / 2 + 2 * gamma * math.log(2)
        assert_allclose(gain(r, n=n, penalty="ebic", gamma=gamma), likelihood - price / n)
    assert gain(r, n=n, penalty="ebic") == gain(r, n=n, penalty="ebic", gamma=0.5)
    assert_allclose(gain(r, n=n, penalty="ebic", gamma=0), gain(r, n=n, penalty=0.5))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 6), st.floats(0, 1))
def test_differences_are_those_of_foygel_and_drton(seed, d, gamma):
    # EBIC = -2 loglik + #edges log n + 4 gamma #edges log d
    rng = np.random.default_rng(seed)
    n, S = 150, random_covariance(rng, d, 150)
    ebic, scores = [], []
    for _ in range(2):
        fit = bf.fit(random_bap(rng, d), cov=S, n=n, penalty="ebic", gamma=gamma)
        k = fit.graph.n_edges
        ebic.append(-2 * fit.loglik + k * math.log(n) + 4 * gamma * k * math.log(d))
        scores.append(fit.score)
    assert_allclose(n * (scores[1] - scores[0]), -(ebic[1] - ebic[0]) / 2, atol=1e-8)


def test_the_search_scores_by_it_and_says_so():
    S = random_covariance(np.random.default_rng(3), 5, 100)
    options = {"cov": S, "n": 100, "penalty": "ebic", "gamma": 1.0}
    found = bf.greedy_search(**options, rng=1)
    weight = 0.5 + 2 * math.log(5) / math.log(100)
    assert_allclose(found.penalty, weight)
    assert found.score == pytest.approx(bf.score(found.graph, **options), abs=1e-12)
    said = "penalty 1.199 is that of penalty='ebic' with gamma = 1 and 5 variables"
    assert found.notes == (said,)
    assert said in str(found)
    number = bf.greedy_search(cov=S, n=100, penalty=weight, rng=1)
    assert (number.graph, number.score, number.notes) == (found.graph, found.score, ())
    everything = bf.exhaustive_search(**options)
    assert everything.score == pytest.approx(found.score, abs=1e-12)
    assert everything.notes == (said,)


def test_what_goes_on_from_a_search_has_its_penalty():
    S = random_covariance(np.random.default_rng(3), 5, 100)
    found = bf.greedy_search(cov=S, n=100, penalty="ebic", rng=1)
    with pytest.warns(bf.errors.LearnedGraphWarning):
        assert found.fit().penalty == found.penalty
    assert bf.edge_changes(found).penalty == found.penalty
    assert found.score == pytest.approx(bf.score(found), abs=1e-12)


# --- the smallest effect --------------------------------------------------------------------------


def test_a_floor_on_the_gain_of_an_edge():
    n = 1_000_000
    assert gain(0.049, n=n, smallest_effect=0.05) < 0 < gain(0.051, n=n, smallest_effect=0.05)
    assert gain(0.01, n=n) > 0
    # Where observations are few, log n is more than that.
    assert gain(0.1, n=100, smallest_effect=0.05) == gain(0.1, n=100)
    assert gain(0.2, n=math.inf, smallest_effect=0.5) == gain(0.2, n=math.inf)


def test_the_search_leaves_out_what_is_too_weak():
    S = np.eye(3)
    S[0, 1] = S[1, 0] = 0.5
    S[1, 2] = S[2, 1] = 0.02
    options = {"cov": S, "n": 10**6, "rng": 1}
    assert bf.greedy_search(**options).graph.n_edges == 2
    found = bf.greedy_search(**options, smallest_effect=0.05)
    assert [{a, b} for a, _, b in found.graph.edges] == [{"x1", "x2"}]
    assert found.notes == ("penalty 90.59 is implied by smallest_effect = 0.05",)


# --- refused --------------------------------------------------------------------------------------

REFUSED = {
    "gamma alone": ({"gamma": 0.5}, "gamma is an option of penalty='ebic'; leave it out"),
    "gamma with a number": ({"penalty": 1.0, "gamma": 0.5}, "gamma is an option of penalty='ebic'"),
    "gamma too large": ({"penalty": "ebic", "gamma": 2}, "gamma = 2: must be a number between 0"),
    "another word": ({"penalty": "bic"}, "penalty = 'bic': must be a finite number .* or 'ebic'"),
    "an effect of one": ({"smallest_effect": 1.0}, "smallest_effect = 1.0: must be a partial corr"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(options, message):
    for function in (bf.greedy_search, bf.exhaustive_search):
        with pytest.raises(bf.BowfreeError, match=message):
            function(cov=pair(0.5), n=100, **options)
    with pytest.raises(bf.BowfreeError, match=message):
        bf.score(EDGE, cov=pair(0.5), n=100, **options)
