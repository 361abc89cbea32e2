"""Time to read large CSV files, compared with polars; and of all single-edge changes.

Run ``python benchmarks/bench_tables.py``. A million rows of fifteen columns (290 MB) are written as
plain CSV, with quotes, with decimal commas and as by R's ``write.csv`` and ``write.table``, and
read by both; the numbers must be equal. Then all graphs that differ in one edge are refitted by
``bf.edge_changes`` and one by one, with equal log-likelihoods. Times are the best of several
alternating rounds.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import bowfree as bf


class Times(NamedTuple):
    """Seconds by the clock, and of all threads together."""

    clock: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.clock:.2f} ({self.cpu:.2f})"


def timed(call: Callable[[], Any]) -> tuple[Times, Any]:
    start, cpu = time.perf_counter(), time.process_time()
    answer = call()
    return Times(time.perf_counter() - start, time.process_time() - cpu), answer


def shortest(runs: Sequence[Times]) -> Times:
    return Times(*map(min, zip(*runs, strict=True)))


def in_turn(calls: Sequence[Callable[[], Any]], repeat: int) -> list[tuple[Times, Any]]:
    """Return the shortest times of several rounds and the answers; other programs disturb all."""
    rounds = [[timed(call) for call in calls] for _ in range(repeat)]
    return [
        (shortest([times for times, _ in runs]), runs[-1][1]) for runs in zip(*rounds, strict=True)
    ]


def by_polars(path: Path, options: dict[str, Any]) -> Any:
    return pl.read_csv(path, **options)[:, -15:].to_numpy()


def reading(rows: int, repeat: int) -> None:
    """Read the same numbers from files as different programs write them, side by side."""
    X = np.random.default_rng(0).standard_normal((rows, 15))
    frame = pl.DataFrame(X, schema=[f"x{k}" for k in range(15)])
    labels = pl.Series("", [str(k + 1) for k in range(rows)])
    german: dict[str, Any] = {"separator": ";", "decimal_comma": True}
    ways: dict[str, tuple[pl.DataFrame, dict[str, Any], dict[str, Any]]] = {
        "plain": (frame, {}, {}),
        "all cells in quotes": (frame, {"quote_style": "always"}, {}),
        "semicolons, decimal commas": (frame, german, german),
        "R's write.csv: quoted row names": (
            frame.select(labels, pl.all()),
            {"quote_style": "non_numeric"},
            {},
        ),
        # The first line has no name for the column of row names, which polars must know.
        "R's write.table": (
            frame.select(labels, pl.all()),
            {"quote_style": "non_numeric", "separator": " "},
            {"separator": " ", "has_header": False, "skip_lines": 1},
        ),
    }
    print(f"\n{rows:,} x 15 numbers; seconds (CPU seconds), best of {repeat}\n")
    print("| file | MB | bowfree | polars to NumPy |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, (table, writing, options) in ways.items():
            path = Path(folder, "large.csv")
            table.write_csv(path, **writing)
            if "skip_lines" in options:
                path.write_bytes(path.read_bytes().removeprefix(b'"" '))
            calls = (partial(bf.datasets.read_table, path), partial(by_polars, path, options))
            (ours, read), (theirs, other) = in_turn(calls, repeat)
            assert np.array_equal(read.X, X)
            assert np.array_equal(other, X)
            size = path.stat().st_size / 1e6
            print(f"| {name} | {size:.0f} | {ours} | {theirs} |", flush=True)


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
    ((taken, found),) = in_turn([lambda: bf.edge_changes(graph, data)], repeat)
    # A fit of each of a few dozen, spread over the list.
    some = found.rows[:: max(1, len(found) // 40)]
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
        f"{1000 * taken.clock:.1f} ms; one fit after the other about {1000 * each:.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("parts", nargs="*", help="changes, reading; both unless one is named")
    options = parser.parse_args()
    if "changes" in options.parts or not options.parts:
        for d in (10, 15, 30, 60):
            for degree in (2, 4):
                changes(d, degree, options.repeat)
    if "reading" in options.parts or not options.parts:
        reading(options.rows, options.repeat)


if __name__ == "__main__":
    main()
