"""How often the chains of an average mix, and the CPU time they need.

Data sets of section 4.1 (10 variables; in-degrees of at most 2, *sparse*, or 3, *dense*) are
searched and averaged with default options or another `max_steps`. The table has, for each kind of
data set, the number of averages that have mixed (largest R-hat of an edge below 1.05), of those
that did so within ten CPU seconds including the search, and the seconds.

Run: ``python benchmarks/bench_chains.py [sets of each kind] [first seed] [max_steps]``
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import bowfree as bf
from study_calibration import IN_DEGREES

D, ROWS, ENOUGH = 10, (200, 1000, 5000), 10.0


def main(sets: int = 24, first: int = 0, max_steps: int | None = None) -> None:
    """Print one row for each kind of set."""
    options: dict[str, Any] = {} if max_steps is None else {"max_steps": max_steps}
    print(
        "| graphs | n | mixed | within 10 CPU s | CPU s, mean | most | steps of the last segment |"
    )
    print("|---|---|---|---|---|---|---|")
    for density, most_parents in IN_DEGREES.items():
        for n in ROWS:
            mixed, seconds, steps = [], [], []
            for seed in range(first, first + sets):
                rng = np.random.default_rng([seed, n, most_parents])
                truth = bf.random_bap(D, max_in_degree=most_parents, rng=rng)
                data = bf.random_sem(truth, rng=rng).sample(n, rng=rng)
                began = time.process_time()
                average = bf.averaged_effects(bf.greedy_search(data, rng=seed), rng=seed, **options)
                seconds.append(time.process_time() - began)
                assert average.samples is not None
                mixed.append(average.mixed)
                steps.append(average.samples.steps)
            soon = np.array(mixed) & (np.array(seconds) <= ENOUGH)
            lengths = ", ".join(f"{k:,}: {steps.count(k)}" for k in sorted(set(steps)))
            print(
                f"| {density} | {n} | {np.mean(mixed):.2f} | {np.mean(soon):.2f} | "
                f"{np.mean(seconds):.1f} | {max(seconds):.1f} | {lengths} |",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
