"""Score tests of absent edges: against lavaan, against refits, and what is skipped."""

import math

import numpy as np
import pytest

import bowfree as bf
from bowfree.model import diagnostics
from reference_cases import load
from twins import derivatives, implied_covariance, parameter_matrices

# x -> y -> z: x -> z and x <-> z could be added
#  and nothing else: y -> x, z -> y, z -> x are cycles, x <-> y and y <-> z bows
CHAIN = bf.parse("x -> y -> z")
S = [[1.0, 0.5, 0.4], [0.5, 1.0, 0.6], [0.4, 0.6, 1.0]]


def test_smallest_example():
    found = bf.fit(CHAIN, cov=S, n=200).modification_indices()
    assert [(e.a, e.mark, e.b) for e in found] == [("x", "->", "z"), ("x", "<->", "z")]
    assert set(found.cycles) == {("y", "->", "x"), ("z", "->", "y"), ("z", "->", "x")}
    assert set(found.bows) == {("x", "<->", "y"), ("y", "<->", "z")}
    # y is held fixed in a regression on x and y, whose slope of x follows by hand
    assert found.edge("x -> z").expected_change == pytest.approx((0.4 - 0.6 * 0.5) / 0.75)


def test_words_for_edges_that_are_not_tested():
    found = bf.fit(CHAIN, cov=S, n=200).modification_indices()
    assert found.edge("z <-> x") == found.edge("x", "<->", "z")
    for edge, problem in [
        ("x -> y", "is in the graph"),
        ("y <-> x", "would make a bow"),
        ("z -> x", "would make a cycle"),
        ("x -> q", "unknown node 'q'"),
    ]:
        with pytest.raises(bf.errors.GraphError, match=problem):
            found.edge(edge)


@pytest.mark.parametrize("case", load("modification_indices.json")["cases"], ids=lambda c: c["id"])
def test_lavaan_says_the_same(case):
    graph = bf.MixedGraph(
        case["names"], map(tuple, case["directed"]), map(tuple, case["bidirected"])
    )
    found = bf.fit(graph, cov=case["S"], n=case["n"], ddof=0).modification_indices()
    theirs = {
        (rhs, "->", lhs) if op == "~" else frozenset((lhs, rhs)): numbers
        for lhs, op, rhs, *numbers in case["modindices"]
    }
    compared = 0
    for e in found:
        key = (e.a, e.mark, e.b) if e.mark == "->" else frozenset((e.a, e.b))
        if key in theirs:  # lavaan has no regressions of variables that are exogenous in its text
            index, change = theirs[key]
            # the absolute part is where lavaan's own optimizer stopped
            assert e.index == pytest.approx(index, rel=1e-3, abs=5e-5)
            assert e.expected_change == pytest.approx(change, rel=1e-3, abs=5e-5)
            compared += 1
    assert compared >= 4


def test_many_candidates_are_the_same_in_parts(monkeypatch):
    graph = bf.parse("a -> b -> c -> d, a <-> d, e, f")
    data = bf.random_sem(graph, rng=1).sample(100, rng=2)
    at_once = bf.fit(graph, data).modification_indices()
    monkeypatch.setattr(diagnostics, "_BATCH", 3)
    assert len(at_once) > 2 * 3
    for one, other in zip(at_once, bf.fit(graph, data).modification_indices(), strict=True):
        assert (one.a, one.mark, one.b) == (other.a, other.mark, other.b)
        assert one.index == pytest.approx(other.index, rel=1e-12)


def test_close_to_the_refit_when_little_changes():
    """For a small misfit the index is the fall of chi-square, and the change the new estimate."""
    graph = bf.parse("a -> b -> c <-> d, a -> d")
    data = bf.random_sem(graph, rng=4).sample(20_000, rng=5, as_frame="pandas")
    fit = bf.fit(graph, data)
    for e in fit.modification_indices():
        refit = bf.fit(graph.add(f"{e.a} {e.mark} {e.b}"), data)
        assert fit.chi2 - refit.chi2 == pytest.approx(e.index, rel=0.05, abs=0.02)
        assert refit.edge(e.a, e.mark, e.b).estimate == pytest.approx(
            e.expected_change, rel=0.05, abs=0.01
        )


def test_population_has_changes_but_no_test():
    found = bf.fit(CHAIN, cov=S, n=math.inf).modification_indices()
    assert all(math.isnan(e.index) and math.isnan(e.p_value) for e in found)
    assert found.edge("x -> z").expected_change == pytest.approx(0.4 / 3)


def test_full_information_has_the_information_of_its_patterns():
    # A twin: numerical derivatives of the likelihood of the observed values, and of its expectation.
    truth = bf.random_sem(bf.parse("x -> y -> z <-> w"), rng=3)
    X = truth.sample(300, rng=4)
    X[::3, 1], X[::4, 3], X[::7, 0] = np.nan, np.nan, np.nan
    graph = bf.parse("x -> y -> z, w")
    X = X[:, [truth.graph.nodes.index(name) for name in graph.nodes]]
    fit = bf.fit(graph, dict(zip(graph.nodes, X.T, strict=True)), missing="fiml")
    free = fit._parameters
    for row in fit.modification_indices():
        i, j = graph.nodes.index(row.a), graph.nodes.index(row.b)
        parameters = [*free, ("B", j, i) if row.mark == "->" else ("Omega", i, j)]

        at = np.append(fit._values(), 0.0)
        slopes = derivatives(
            lambda t, p=parameters: implied_covariance(*parameter_matrices(p, t)), at, 1e-5
        )
        gradient, information = np.zeros(len(at)), np.zeros((len(at), len(at)))
        for x in X:
            seen = ~np.isnan(x)
            block = np.ix_(seen, seen)
            W, z = np.linalg.inv(fit.Sigma[block]), (x - fit.mean)[seen]
            D = [W @ slope[block] for slope in slopes]
            gradient += [(z @ d @ W @ z - np.trace(d)) / 2 for d in D]
            information += [[np.trace(d @ e) / 2 for e in D] for d in D]
        net = 1 / np.linalg.inv(information)[-1, -1]
        assert row.index == pytest.approx(gradient[-1] ** 2 / net, rel=1e-4)
        assert row.expected_change == pytest.approx(gradient[-1] / net, rel=1e-4)
