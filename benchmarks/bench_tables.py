"""How long it takes to read a large CSV file, beside polars; and all changes of one edge.

Run ``python benchmarks/bench_tables.py``. A million rows of fifteen columns are written to a
temporary folder (290 MB) and read by both; the numbers must be the same. Then the exact refits of
all graphs one edge away, beside a fit of each, which must give the same log-likelihoods. Times are
the best of several runs.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import bowfree as bf


def best(call: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """Return the shortest time of several runs in seconds, and the answer."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        answer = call()
        times.append(time.perf_counter() - start)
    return min(times), answer


def reading(rows: int, repeat: int) -> None:
    X = np.random.default_rng(0).standard_normal((rows, 15))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.csv")
        pl.DataFrame(X, schema=[f"x{k}" for k in range(15)]).write_csv(path)
        ours, table = best(lambda: bf.datasets.read_table(path), repeat)
        theirs, frame = best(lambda: pl.read_csv(path).to_numpy(), repeat)
    assert np.array_equal(table.X, X)
    assert np.array_equal(frame, X)
    print(f"{rows:,} x 15 cells: bowfree {ours:.2f} s, polars to NumPy {theirs:.2f} s")


def random_bap(d: int, degree: float, seed: int) -> bf.MixedGraph:
    """Draw each pair's edge at random: three directed for two bidirected ones."""
    rng = np.random.default_rng(seed)
    names = [f"x{k}" for k in range(d)]
    pairs = [(names[i], names[j]) for j in range(d) for i in range(j)]
    kinds = rng.choice(
        3, size=len(pairs), p=np.array([d - 1 - degree, 0.6 * degree, 0.4 * degree]) / (d - 1)
    )
    directed = [pair for pair, kind in zip(pairs, kinds, strict=True) if kind == 1]
    bidirected = [pair for pair, kind in zip(pairs, kinds, strict=True) if kind == 2]
    return bf.MixedGraph(names, directed, bidirected)


def changes(d: int, degree: float, repeat: int) -> None:
    graph = random_bap(d, degree, seed=d)
    data = bf.moments(bf.random_sem(graph, rng=1).sample(1000, rng=2), graph=graph)
    seconds, found = best(lambda: bf.edge_changes(graph, data), repeat)
    # A fit of each of a few dozen, spread over the list.
    some = found.changes[:: max(1, len(found) // 40)]
    start = time.perf_counter()
    before = bf.fit(graph, data)
    for change in some:
        pair = graph.subgraph([change.a, change.b])
        bare = graph.remove(directed=pair.directed, bidirected=pair.bidirected)
        edge = f"{change.a} {change.after} {change.b}"
        other = bf.fit(bare.add(edge) if change.after else bare, data)
        assert abs(other.loglik - before.loglik - change.loglik) < 1e-5
    each = (time.perf_counter() - start) / (len(some) + 1) * len(found)
    largest = max(map(len, graph.districts()))
    print(
        f"d = {d}, {graph.n_edges} edges, largest district {largest}: {len(found)} changes in "
        f"{1000 * seconds:.1f} ms; one fit after the other about {1000 * each:.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    for d in (10, 15, 30, 60):
        for degree in (2, 4):
            changes(d, degree, options.repeat)
    reading(options.rows, options.repeat)


if __name__ == "__main__":
    main()
