"""A score of your own, in a benchmark
====================================

Compare two scores on simulated data, with a pool of processes.

A score is any function of a district, the parents of its members and their spouses. Here it is the
default one with an additional charge for hidden causes, for users who believe that these are rare.
``simulate`` is the template of a benchmark: it draws a graph and data, searches with each score,
and compares the results with the truth.
"""

from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

import bowfree as bf

CHARGE = 0.01  # for each bidirected edge, in units of the score


def charged_score(moments, district, parents, spouses):
    """Return the default score of a district, minus a charge for each hidden cause."""
    outside = sorted({parent for own in parents.values() for parent in own} - {*district})
    arrows = [(parent, child) for child, own in parents.items() for parent in own]
    graph = bf.MixedGraph((*district, *outside), arrows, spouses)
    (score,) = [
        row.score
        for row in bf.model.district_scores(graph, moments)
        if set(row.district) == {*district}
    ]
    return score - CHARGE * len(spouses)


def simulate(seed):
    """Return the F measures of adjacencies with the default score and with the charged one."""
    rng = np.random.default_rng(seed)
    truth = bf.random_bap(["a", "b", "c", "d"], max_edges=4, rng=rng)
    data = bf.random_sem(truth, rng=rng).sample(500, rng=rng, as_frame="polars")
    found = []
    for score in (None, partial(charged_score, bf.moments(data))):
        result = bf.greedy_search(data, score=score, restarts=2, rounds=1, rng=seed)
        found.append(bf.graph.accuracy(result.graph, truth).adjacency_f)
    return found


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        measured = np.array(list(pool.map(simulate, range(4))))
    for name, value in zip(("default", "charged"), np.nanmean(measured, axis=0), strict=True):
        print(f"{name}: adjacency F {value:.2f}")
