"""How often a search misses a better graph, when its runs agree and when they do not.

Each data set of section 4.1 (10 variables, 1,000 rows, in-degree 2, then 3) is searched with five
seeds. A search has missed if another of the five found better. ``bowfree.search.sureness`` quotes
the counts.

Run: ``python benchmarks/bench_sureness.py [sets of in-degree 2] [sets of in-degree 3]``
"""

from __future__ import annotations

import sys

import bowfree as bf

SEEDS = 5


def main(sparse: int = 40, dense: int = 20) -> None:
    """Print, for agreeing and for disagreeing runs, the searches and how many of them missed."""
    counts = {True: [0, 0], False: [0, 0]}
    for max_in_degree, sets in ((2, sparse), (3, dense)):
        for k in range(sets):
            truth = bf.random_bap(10, max_in_degree=max_in_degree, rng=[10, max_in_degree, k])
            data = bf.random_sem(truth, rng=k).sample(1000, rng=k)
            moments = bf.moments(data)
            found = [bf.greedy_search(moments, rng=SEEDS * k + s) for s in range(SEEDS)]
            best = max(result.score for result in found)
            for result in found:
                counts[result.sureness.sure][0] += 1
                counts[result.sureness.sure][1] += result.score < best - 1e-9
    for sure, (searches, missed) in counts.items():
        print(f"runs {'agree' if sure else 'disagree'}: {missed} of {searches} searches missed")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
