"""All BAPs on a few nodes in exact classes."""

from __future__ import annotations

import time

import pytest

import bowfree as bf
from reference_cases import load

REFERENCE = load("equivalence.json")


@pytest.mark.parametrize("d", [2, 3, 4])
def test_counts(d):
    totals = REFERENCE["totals"][str(d)]
    atlas = bf.equivalence.atlas(d)
    assert (atlas.n_baps, atlas.n_classes, atlas.n_split) == (
        totals["n_baps"],
        totals["n_classes"],
        0,
    )
    for n_edges, expected in totals["by_n_edges"].items():
        entries = [e for e in atlas.rows if len(e.skeleton) == int(n_edges)]
        assert sum(e.orbit for e in entries) == expected["n_skeletons"]
        assert sum(e.orbit * e.n_baps for e in entries) == expected["n_baps"]
        assert sum(e.orbit * e.n_classes for e in entries) == expected["n_classes"]
    shapes = sorted(
        (len(e["skeleton"]), e["orbit"], e["n_baps"], e["n_classes"], e["largest_class"])
        for e in totals.get("by_unlabeled_skeleton", [])
    )
    if shapes:
        assert shapes == sorted(
            (len(e.skeleton), e.orbit, e.n_baps, e.n_classes, e.largest_class) for e in atlas.rows
        )


def test_five_nodes():
    start = time.perf_counter()
    atlas = bf.equivalence.atlas(5, n_jobs=2)
    seconds = time.perf_counter() - start
    assert atlas.n_baps == REFERENCE["n_baps_by_recurrence"]["5"]
    # Found by this package, and the same with other seeds.
    assert atlas.n_classes == 87_219
    assert atlas.n_split == 60
    assert seconds < 60
    example = next(e.split_example for e in atlas.rows if e.split_example is not None)
    walk = bf.equivalence_class(example, method="edge-changes")
    assert len(walk) < len(bf.equivalence_class(example))
    assert bf.equivalence.atlas(5, rng=1, n_jobs=1) == atlas  # for any seed and number of threads
