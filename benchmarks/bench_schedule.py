"""Simulated speed-up with 10, 100 and 1,000 workers, from measured times of tasks.

    python benchmarks/bench_schedule.py

Measures the runs of a search and the resamples of a bootstrap, then simulates their execution by
`bowfree.parallel.budget`: a free worker takes the next task, and a round of a search waits for its
last run. One worker in twenty is four times slower than the others, a task is lost with its worker
with probability 0.01 and done again, and sending a task takes 10 ms. Prints speed-ups against one
worker; the same seed gives the same table.
"""

from __future__ import annotations

import heapq
import time
import warnings
from itertools import combinations

import numpy as np

import bowfree as bf

WORKERS = (1, 10, 100, 1_000)
SLOW_SHARE, SLOWNESS, LOSS, TRAVEL = 0.05, 4.0, 0.01, 0.01


def schedule(seconds: np.ndarray, workers: int, rng: np.random.Generator, disturbed: bool) -> float:
    """Return when the last of independent tasks is done."""
    pace = (
        np.where(rng.random(workers) < SLOW_SHARE, SLOWNESS, 1.0) if disturbed else np.ones(workers)
    )
    free = [(0.0, k) for k in range(workers)]
    heapq.heapify(free)
    waiting, end = list(seconds[::-1]), 0.0
    while waiting:
        piece = waiting.pop()
        begin, k = heapq.heappop(free)
        done = begin + TRAVEL + piece * pace[k]
        if disturbed and rng.random() < LOSS:
            waiting.append(piece)  # found out when it does not come back
            begin = done
        else:
            end = max(end, done)
        heapq.heappush(free, (done, k))
    return end


def data(d: int, seed: int) -> np.ndarray:
    """Draw 500 rows of a sparse random model."""
    rng = np.random.default_rng(seed)
    names = [f"v{k}" for k in range(d)]
    pairs = [pair for pair in combinations(names, 2) if rng.random() < 3 / d]
    hidden = rng.random(len(pairs)) < 0.3
    graph = bf.MixedGraph(
        names,
        [pair for pair, h in zip(pairs, hidden, strict=True) if not h],
        [pair for pair, h in zip(pairs, hidden, strict=True) if h],
    )
    return np.asarray(bf.random_sem(graph, rng=rng).sample(500, rng=rng))


def measure(d: int) -> dict[str, list[np.ndarray]]:
    """Return the times of the tasks: rounds of a search, and a bootstrap of 1,000 resamples."""
    X = data(d, d)
    result = bf.greedy_search(X, rng=0)
    times = np.array([run.seconds for run in result.runs])
    first = sum(run.strategy != "kicks" for run in result.runs)
    rest = times[first:]
    per_round = 8
    rounds = [times[:first], *(rest[k : k + per_round] for k in range(0, len(rest), per_round))]
    resamples = []
    for seed in range(12):
        rows = np.random.default_rng(seed).integers(0, len(X), len(X))
        began = time.process_time()
        bf.greedy_search(X[rows], rng=seed, restarts=3)
        resamples.append(time.process_time() - began)
    drawn = np.random.default_rng(0).choice(resamples, 1_000)
    return {"one search": rounds, "bootstrap, 1,000 resamples": [drawn]}


def main() -> None:
    warnings.simplefilter("ignore")
    columns = ["d", "work", "tasks", "CPU s", "disturbed", *(f"{w:,}" for w in WORKERS[1:])]
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    for d in (15, 30):
        for what, rounds in measure(d).items():
            for disturbed in (False, True):
                ends = []
                for workers in WORKERS:
                    rng = np.random.default_rng(1)
                    ends.append(sum(schedule(r, workers, rng, disturbed) for r in rounds))
                tasks, total = sum(map(len, rounds)), sum(float(r.sum()) for r in rounds)
                ratios = " | ".join(f"{total / end:.1f}x" for end in ends[1:])
                print(
                    f"| {d} | {what} | {tasks:,} | {total:.1f} | {'yes' if disturbed else 'no'} "
                    f"| {ratios} |"
                )


if __name__ == "__main__":
    main()
