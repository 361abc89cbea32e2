"""Searches with a score of one's own."""

import math
import threading

import numpy as np
import pytest

import bowfree as bf

MODEL = bf.datasets.demo_model()
DATA = MODEL.sample(400, rng=1, as_frame="pandas")
MOMENTS = bf.moments(DATA)


def penalized_likelihood(district, parents, spouses):
    """Compute the default score, by fits of one district."""
    outside = sorted({p for own in parents.values() for p in own} - {*district})
    arrows = [(p, v) for v, own in parents.items() for p in own]
    graph = bf.MixedGraph((*district, *outside), arrows, spouses)
    rows = bf.model.district_scores(graph, MOMENTS)
    return next(row.score for row in rows if set(row.district) == {*district})


def test_the_default_score_gives_the_default_search():
    """The same best score, and every score is that of its graph."""
    names = ["sun", "leaves", "roots", "fruit"]
    seen = []

    def score(district, parents, spouses):
        seen.append((district, tuple(sorted(parents.items())), spouses))
        return penalized_likelihood(district, parents, spouses)

    found = bf.greedy_search(DATA[names], score=score, restarts=2, rounds=1, rng=1)
    usual = bf.greedy_search(DATA[names], rng=1)
    assert found.score == pytest.approx(usual.score, abs=1e-7)
    assert found.score == pytest.approx(bf.score(found.graph, DATA[names]), abs=1e-7)
    assert len(set(seen)) == len(seen)  # cached
    assert "score" in found.notes[0]


def sparse(district, parents, spouses):
    """Prefer the arrow b -> a and nothing else."""
    value = -0.1 * (sum(map(len, parents.values())) + len(spouses))
    return value + (1.0 if "b" in parents.get("a", ()) else 0.0)


def test_any_function_and_any_number_of_threads():
    data = dict(zip("abc", np.random.default_rng(1).normal(size=(3, 50)), strict=True))
    found = [bf.greedy_search(data, score=sparse, restarts=2, n_jobs=k, rng=1) for k in (1, 2)]
    assert found[0].graph == found[1].graph == bf.parse("b -> a, isolated: c, nodes: a, b, c")
    assert found[0].score == pytest.approx(0.9)
    assert found[0].pool == found[1].pool


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_of_the_function_is_raised(n_jobs):
    def broken(district, parents, spouses):
        if len(spouses) > 0:
            raise LookupError("no such district")
        return 0.0

    before = threading.active_count()
    with pytest.raises(LookupError, match="no such district"):
        bf.greedy_search(DATA, score=broken, n_jobs=n_jobs, restarts=2, rng=1)
    assert threading.active_count() == before


def test_bad_scores():
    with pytest.raises(bf.BowfreeError, match="returned NaN"):
        bf.greedy_search(DATA, score=lambda *_: math.nan, restarts=1, rng=1)
    with pytest.raises(bf.BowfreeError, match="must be a function"):
        bf.greedy_search(DATA, score=0.5)
