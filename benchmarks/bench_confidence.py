"""How often a search misses a better graph, and whether its confidence is calibrated.

Data sets of section 4.1 are searched with six seeds. A search has missed a better graph if one of
the five others found one. With 10 variables the searches are counted by whether their runs agree.
Beyond twelve variables, the three coefficients of ``bowfree.search.result`` are estimated from
every second data set and evaluated on the others.

Run: ``python benchmarks/bench_confidence.py [sets of each kind]``
"""

from __future__ import annotations

import math
import sys
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize

import bowfree as bf

SEEDS = 6
FEW = ((10, 2, 1000), (10, 3, 1000))  # variables, in-degree, rows
MANY = tuple((d, deg, n) for d in (15, 20, 30) for deg, n in ((2, 1000), (3, 1000), (3, 300)))
BINS = (0.0, 0.1, 0.25, 0.5, 1.0)


def searches(d: int, max_in_degree: int, n: int, k: int) -> list[tuple[bf.SearchResult, bool]]:
    """Search one set with all seeds; return each result, and whether it has missed."""
    truth = bf.random_bap(d, max_in_degree=max_in_degree, rng=[d, max_in_degree, k])
    moments = bf.moments(bf.random_sem(truth, rng=k).sample(n, rng=k))
    found = [bf.greedy_search(moments, rng=10 * k + seed) for seed in range(SEEDS)]
    best = max(result.score for result in found)
    return [(result, result.score < best - 1e-9) for result in found]


def few_variables(sets: int) -> None:
    """Print, for agreeing and for disagreeing runs, the searches and how many of them missed."""
    counts = {True: [0, 0], False: [0, 0]}
    for kind in FEW:
        for k in range(sets):
            for result, missed in searches(*kind, k):
                counts[result.confidence.runs_agree][0] += 1
                counts[result.confidence.runs_agree][1] += missed
    for agree, (n, missed) in counts.items():
        print(f"10 variables, runs {'agree' if agree else 'disagree'}: {missed} of {n} missed")


def many_variables(sets: int) -> None:
    """Fit the formula to half of the sets; print what the package says of the others."""
    rows = []
    for k in range(1000, 1000 + sets):
        for kind in MANY:
            for result, missed in searches(*kind, k):
                density = result.graph.n_edges / len(result.graph)
                known = (1.0, density, math.log1p(result.confidence.arrivals))
                rows.append((k % 2, missed, result.confidence.missed, *known))
    table = np.array(rows, dtype=float)
    X, y, tuned = table[:, 3:], table[:, 1], table[:, 0] == 0

    def loss(b: np.ndarray) -> float:
        z = X[tuned] @ b
        return float(np.sum(np.logaddexp(0, z) - y[tuned] * z) + 0.05 * b[1:] @ b[1:])

    print("log odds, fitted to the even sets:", minimize(loss, np.zeros(3)).x.round(2))
    for low, high in pairwise(BINS):
        chosen = ~tuned & (table[:, 2] >= low) & (table[:, 2] < high)
        if chosen.any():
            said, true = table[chosen, 2].mean(), y[chosen].mean()
            print(f"odd sets: said {said:.2f}, missed {true:.2f} of {chosen.sum()} searches")


def main(sets: int = 20) -> None:
    """Measure both."""
    few_variables(sets)
    many_variables(sets)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
