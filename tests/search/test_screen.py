"""What a new edge gains at the least: the screen of large searches, against NumPy and refits."""

import numpy as np
import pytest

import bowfree as bf
from bowfree import _core
from search_cases import essence, simulate
from twins import graph_matrices, ricf


def least_gains(S, graph):
    return _core.least_gains(np.asarray(S), *graph._bits())


def exact_gains(S, graph):
    """Return the gains of all new edges, by exact refits, as two matrices like the screen's."""
    d = len(S)
    directed, bidirected = np.full((d, d), np.nan), np.full((d, d), np.nan)
    rules = bf.SearchSpace().rules(graph.nodes)
    moves, gains = _core.edge_changes(np.asarray(S), *graph._bits(), rules)
    for (i, j, state), gain in zip(moves.tolist(), gains, strict=True):
        if graph.adjacent(graph.nodes[i], graph.nodes[j]):
            continue
        if state == 1:
            directed[j, i] = gain
        elif state == 2:
            directed[i, j] = gain
        elif state == 3:
            bidirected[i, j] = bidirected[j, i] = gain
    return directed, bidirected


def one_row(S, graph, v, newcomer):
    """Return the gain of one regression: row v anew with a newcomer, all else held.

    `newcomer` is ("parent", u) or ("spouse", u). The textbook form of a RICF step, with one inverse
    of the other errors' covariance matrix.
    """
    D, U = graph_matrices(graph)
    B, Omega, sweeps = ricf(S, D, U, max_iter=20_000, tol=1e-13)
    assert sweeps > 0
    d = len(S)
    rest = np.delete(np.arange(d), v)
    pseudo = np.zeros((d, d))
    pseudo[rest] = np.linalg.inv(Omega[np.ix_(rest, rest)]) @ (np.eye(d) - B)[rest]
    forms = [*np.eye(d)[D[v] == 1], *pseudo[U[v] == 1]]

    def residual(forms):
        forms = np.array(forms).reshape(-1, d)
        moments = forms @ S
        return S[v, v] - moments[:, v] @ np.linalg.solve(moments @ forms.T, moments[:, v])

    kind, u = newcomer
    more = [*forms, np.eye(d)[u] if kind == "parent" else pseudo[u]]
    return 0.5 * np.log(residual(forms) / residual(more))


def test_two_nodes():
    # x1   x2: either edge makes the correlation 0.6 free, which gains -log(1 - 0.36) / 2.
    S = np.array([[1.0, 0.6], [0.6, 1.0]])
    for matrix in least_gains(S, bf.MixedGraph(["x1", "x2"])):
        np.testing.assert_allclose(matrix[0, 1], -0.5 * np.log1p(-0.36), rtol=1e-12)
        np.testing.assert_allclose(matrix[1, 0], -0.5 * np.log1p(-0.36), rtol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_regression_of_one_row(seed):
    S, graph = simulate([6, seed], 6, max_in_degree=2)
    directed, bidirected = least_gains(S, graph)
    for i, a in enumerate(graph.nodes):
        for j, b in enumerate(graph.nodes):
            if i == j or graph.adjacent(a, b):
                assert directed[i, j] == bidirected[i, j] == 0.0
                continue
            # Fits end within 1e-10 of the optimum, their parameters within about 1e-5.
            assert directed[i, j] == pytest.approx(one_row(S, graph, i, ("parent", j)), abs=1e-7)
            sides = [one_row(S, graph, i, ("spouse", j)), one_row(S, graph, j, ("spouse", i))]
            assert bidirected[i, j] == pytest.approx(max(sides), abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_never_more_than_the_exact_gain(seed):
    # And the same for a new parent of a node that is a district by itself. Infinity says that the
    # screen does not know, because the errors of others determine most of a node's own.
    S, graph = simulate([10, seed], 10, max_in_degree=2)
    for least, exact in zip(least_gains(S, graph), exact_gains(S, graph), strict=True):
        told = np.isfinite(least) & np.isfinite(exact)
        assert told.sum() > 20
        assert (exact - least)[told].min() >= -1e-8
    alone = [i for i, name in enumerate(graph.nodes) if not graph.spouses(name)]
    least, exact = least_gains(S, graph)[0][alone], exact_gains(S, graph)[0][alone]
    known = np.isfinite(exact)
    assert known.sum() > 5
    np.testing.assert_allclose(least[known], exact[known], rtol=1e-7, atol=1e-12)


def test_a_large_climb_ends_where_no_change_gains():
    # Beyond thirty variables a climb asks the screen first. Of all changes of the graph it ends at,
    # worked out exactly, none gains.
    S, _ = simulate([40, 1], 40, max_in_degree=2)
    result = bf.greedy_search(cov=S, n=1000, strategy="restart", restarts=0, rng=0)
    assert max(change.score for change in bf.edge_changes(result)) <= 1e-9


def test_a_large_search_is_the_same_for_any_number_of_threads():
    S, _ = simulate([36, 2], 36, max_in_degree=2)
    options = {"cov": S, "n": 1000, "restarts": 3, "rounds": 1, "rng": 5}
    one, two = (essence(bf.greedy_search(**options, n_jobs=n)) for n in (1, 2))
    assert one == two


def test_a_large_search_goes_on_from_a_checkpoint(tmp_path):
    S, _ = simulate([36, 3], 36, max_in_degree=2)
    options = {"cov": S, "n": 1000, "restarts": 3, "rounds": 1, "rng": 5}
    path = tmp_path / "half.json"
    bf.greedy_search(**options, checkpoint=path, time_limit=0.1)
    resumed = bf.greedy_search(**options, checkpoint=path)
    assert essence(resumed) == essence(bf.greedy_search(**options))
