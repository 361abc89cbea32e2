"""Proofs of optimality on the public benchmark and on random data.

Prints the best score, the bound, CPU seconds, districts fitted and states for each data set. The
scores are those of the publication (see ``study_public_benchmark.py``).

Run: ``python benchmarks/bench_exact.py bench/bowfree10 --district 2 --parents 3``, or with
``--random 12`` (a number of variables) or ``--dag 20`` in place of the folder.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bowfree as bf
from study_public_benchmark import _read_set


def data_sets(arguments: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """Yield the names and the data of the data sets."""
    if arguments.folder:
        for k in arguments.sets or range(10):
            found = _read_set(Path(arguments.folder), k)
            yield found.name, found.moments
    d = arguments.random or arguments.dag
    if d:
        for seed in arguments.sets or range(3):
            graph = bf.random_bap(d, max_in_degree=3, rng=seed)
            yield f"random-{d}-{seed}", bf.random_sem(graph, rng=seed).sample(1000, rng=seed)


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--sets", type=int, nargs="*")
    parser.add_argument("--random", type=int)
    parser.add_argument("--dag", type=int)
    parser.add_argument("--district", type=int, default=2)
    parser.add_argument("--parents", type=int, default=3)
    parser.add_argument("--time-limit", type=float)
    arguments = parser.parse_args()
    print(
        "| data | greedy | best | bound | proved | CPU s | fits | states |\n|---|---|---|---|---|---|---|---|"
    )
    for name, data in data_sets(arguments):
        space = {"graph_class": "dag"} if arguments.dag else {"max_district": arguments.district}
        greedy = bf.greedy_search(data, penalty=0.5, rng=1, **space)
        began = time.process_time()
        result = bf.exact_search(
            data,
            penalty=0.5,
            max_parents=arguments.parents,
            start=greedy,
            time_limit=arguments.time_limit,
            **space,
        )
        seconds = time.process_time() - began
        n, d = result.moments.n, len(result.moments.names)
        scores = [n * s - 0.5 * d * math.log(n) for s in (greedy.score, result.score, result.bound)]
        cells = [name, *(f"{score:.2f}" for score in scores), "yes" if result.proved else "no"]
        cells += [f"{seconds:.1f}", f"{result.fits:,}", f"{result.states:,}"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
