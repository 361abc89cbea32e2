"""Which evidence decided each mark: ``SearchResult.mark_evidence``."""

import math

import numpy as np
import pytest

import bowfree as bf


@pytest.fixture(scope="module")
def data():
    """Return x -> y <- u, y -> z <-> w with exponential errors and an exponential hidden cause."""
    e = np.random.default_rng(3).exponential(size=(6, 600)) - 1
    y = 0.8 * e[0] - 0.8 * e[1] + e[2]
    return {"x": e[0], "u": e[1], "y": y, "z": 0.8 * y + e[3] + e[5], "w": e[4] + e[5]}


@pytest.mark.parametrize("knowledge", [None, bf.Knowledge(forbidden=["w -> z"])])
def test_differences_agree_with_all_equivalent_graphs(data, knowledge):
    result = bf.greedy_search(data, errors="nongaussian", knowledge=knowledge, rng=1)
    whole = list(bf.equivalence_class(result.graph))
    members = list(bf.equivalence_class(result))
    scores = {g: 600 * bf.score(g, data, errors="nongaussian") for g in members}
    found = result.mark_evidence()
    assert found.complete
    assert len(found) == result.graph.n_edges
    expected = {"covariances", "non-Gaussianity"} | ({"knowledge"} if knowledge else set())
    assert {*found.kinds} == expected
    for row in found:

        def mark(g, a=row.a, b=row.b):
            return "->" if (a, b) in g.directed else "<-" if (b, a) in g.directed else "<->"

        assert mark(result.graph) == row.mark
        others = [g for g in members if mark(g) != row.mark]
        if not others:
            same = all(mark(g) == row.mark for g in whole)
            assert row.evidence == ("covariances" if same else "knowledge")
            assert math.isnan(row.difference)
            continue
        best = max(others, key=scores.get)
        assert row.evidence == "non-Gaussianity"
        assert row.alternative == mark(best)
        assert row.difference == pytest.approx(scores[result.graph] - scores[best], abs=1e-6)


def test_knowledge_decides_what_covariances_leave_open(data):
    two = {name: data[name] for name in ("x", "y")}
    for errors in ("gaussian", "nongaussian"):
        knowledge = bf.Knowledge(forbidden=["y -> x", "x <-> y"])
        result = bf.greedy_search(two, errors=errors, knowledge=knowledge, rng=1)
        assert [row.evidence for row in result.mark_evidence()] == ["knowledge"]
    open_marks = bf.greedy_search(two, rng=1).mark_evidence()
    assert [row.evidence for row in open_marks] == [""]
    assert "nothing" in str(open_marks)
    assert bf.greedy_search({"x": data["x"], "u": data["u"]}, rng=1).mark_evidence().rows == ()
