"""Search strategies: share of data sets at the best known score, by CPU time.

    python benchmarks/bench_strategies.py            # about seven minutes; --sets 3 for one

Two families of ten variables: *sparse-weak* (section 4.1, in-degree at most 2, 20 sets) and
*dense-strong* (the ten sets of bowfree10, if available). Each search gives a curve: the best score
of the finished runs, by their CPU time. A data set is solved when that score is within 1e-4 of the
best score of all strategies. A search ends early at the best known score; if another strategy then
finds a better one, the search is repeated.

Uniform restarts start at the empty graph and at uniform BAPs of in-degree at most 2, as in the
authors' study; drawing them is not counted. Without that limit most BAPs are dense, and a climb
takes up to seconds. Tables go to stdout, all curves to results/strategies.json, the plot to
docs/figures/strategies.png (with matplotlib).
"""

from __future__ import annotations

import argparse
import bisect
import math
import sys
import time
from contextlib import nullcontext
from functools import cache
from typing import Any
from unittest import mock

# Before numpy: it sets the number of threads.
from search_data import FIGURES, DataSet, dense_strong, save_json, sparse_weak  # isort: skip

import bowfree as bf
from bowfree.parallel.budget import Progress
from bowfree.search import plan as search_plan

TIMES = (0.05, 0.1, 0.2, 0.5, 1, 2, 5)  # CPU seconds
CLOSE = 1e-4
MANY = 2000  # more runs than fit into the longest time

Curve = list[tuple[float, float]]  # (CPU seconds, best score so far), one per improvement

# Options of greedy_search. The default comes first: where it ends is the others' first goal.
STRATEGIES: dict[str, dict[str, Any]] = {
    "default": {},
    "DAG-first and sparse": {"rounds": 0, "restarts": MANY},
    "DAG-first only": {"rounds": 0, "restarts": MANY},
    "sparse only": {"rounds": 0, "restarts": MANY},
    "uniform + plateau": {"strategy": "restart", "plateau": 40},
    "uniform (the paper)": {"strategy": "restart"},
}
# The mixture of first runs is not an option of the search: every k-th run is a sparse one.
SPARSE_SHARES = {"DAG-first only": MANY + 1, "sparse only": 1}

# Okabe and Ito's colors, which can be distinguished with any kind of color vision.
COLOURS = {
    "default": "#000000",
    "DAG-first and sparse": "#0072b2",
    "DAG-first only": "#56b4e9",
    "sparse only": "#009e73",
    "uniform + plateau": "#e69f00",
    "uniform (the paper)": "#d55e00",
}


def search_curve(data: DataSet, strategy: str, seed: int, goal: float) -> Curve:
    """Search until the goal is met, the time is up or the strategy ends by itself."""

    def stop_in_time(progress: Progress) -> None:
        # Not `time_limit`: that is elapsed time, and less of it is ours on a busy machine.
        best = -math.inf if progress.best_score is None else progress.best_score
        if best >= goal - 1e-9 or time.process_time() > began + TIMES[-1]:
            raise KeyboardInterrupt

    options = dict(STRATEGIES[strategy])
    if options.get("strategy") == "restart":
        options["starts"] = uniform_starts(data.truth.nodes, seed)
    share = SPARSE_SHARES.get(strategy)
    mixture = mock.patch.object(search_plan, "SPARSE_SHARE", share) if share else nullcontext()
    began, began_elapsed = time.process_time(), time.perf_counter()
    with mixture:
        try:
            result = bf.greedy_search(
                data.X,
                penalty=data.penalty,
                rng=seed,
                progress=stop_in_time,
                **options,
            )
        except bf.search.SearchInterrupted as stopped:
            result = stopped.result
    # Runs know their elapsed time only. Above 1 is the Python thread that collects beside them.
    elapsed = time.perf_counter() - began_elapsed
    cpu_per_second = min(1.0, (time.process_time() - began) / elapsed)
    curve: Curve = []
    seconds, best = 0.0, -math.inf
    for run in result.runs:
        seconds += run.seconds
        if run.score > best:
            best = run.score
            curve.append((cpu_per_second * seconds, best))
    return curve


@cache
def uniform_starts(nodes: tuple[str, ...], seed: int) -> list[bf.MixedGraph]:
    graphs = bf.random_bap(len(nodes), max_in_degree=2, size=MANY, rng=seed)
    return [bf.MixedGraph(nodes), *graphs]


def race(data: DataSet, seed: int) -> dict[str, Curve]:
    """Return the curves of all strategies on one data set."""
    curves: dict[str, Curve] = {}
    goals: dict[str, float] = {}
    for strategy in STRATEGIES:
        goals[strategy] = best_of(curves) if curves else math.inf
        curves[strategy] = search_curve(data, strategy, seed, goals[strategy])
    best = best_of(curves)
    for strategy, goal in goals.items():
        reached = curves[strategy][-1][1]
        if goal - 1e-9 <= reached < best - CLOSE:  # it was stopped too early
            curves[strategy] = search_curve(data, strategy, seed, best)
    return curves


def best_of(curves: dict[str, Curve]) -> float:
    return max(curve[-1][1] for curve in curves.values())


def score_at(curve: Curve, seconds: float) -> float:
    """Return the best score of the runs that had ended by then, -inf before the first."""
    k = bisect.bisect_right(curve, seconds, key=lambda point: point[0])
    return curve[k - 1][1] if k else -math.inf


def arrival_times(races: list[dict[str, Curve]], strategy: str) -> list[float]:
    """Return when each set reached its best score known, inf where it never did."""
    return [
        next((t for t, score in curves[strategy] if score > best_of(curves) - CLOSE), math.inf)
        for curves in races
    ]


def print_table(title: str, rows: dict[str, list[str]]) -> None:
    print(f"\n{title}\n")
    print(f"| strategy | {' | '.join(f'{t:g} s' for t in TIMES)} |")
    print("|---" * (len(TIMES) + 1) + "|")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def print_tables(family: str, races: list[dict[str, Curve]], sets: list[DataSet]) -> None:
    shares = {}
    for strategy in STRATEGIES:
        arrivals = arrival_times(races, strategy)
        shares[strategy] = [f"{sum(a <= t for a in arrivals) / len(arrivals):.2f}" for t in TIMES]
    print_table(f"{family}: share of {len(races)} sets at the best score known", shares)
    if family != "dense-strong":
        return
    true_scores = [bf.score(data.truth, data.X, penalty=data.penalty) for data in sets]
    gains: dict[str, list[str]] = {strategy: [] for strategy in STRATEGIES}
    for strategy, cells in gains.items():
        for t in TIMES:
            gain = [
                len(data.X) * (score_at(curves[strategy], t) - true_score)
                for data, curves, true_score in zip(sets, races, true_scores, strict=True)
            ]
            mean = sum(gain) / len(gain)
            above = sum(g > -1e-6 for g in gain)
            cells.append(f"{mean:+.1f} ({above})" if math.isfinite(mean) else "–")
    print_table("dense-strong: mean n * (score - true graph's), sets at or above it", gains)


def draw(families: dict[str, list[dict[str, Curve]]]) -> None:
    """Draw one panel per family: share of sets reached against CPU time."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    first, last = 0.003, TIMES[-1]
    figure, axes = plt.subplots(
        1, len(families), figsize=(5.4 * len(families), 3.9), layout="constrained", squeeze=False
    )
    for ax, (family, races) in zip(axes[0], families.items(), strict=True):
        ends = {}
        for strategy, color in COLOURS.items():
            arrived = sorted(max(t, first) for t in arrival_times(races, strategy) if t <= last)
            shares = [k / len(races) for k in range(len(arrived) + 1)]
            ends[strategy] = shares[-1]
            ax.step(
                [first, *arrived, last],
                [*shares, shares[-1]],
                where="post",
                color=color,
                lw=2.6 if strategy == "default" else 1.7,
            )
        for strategy, height in spread(ends, gap=0.062).items():
            ax.annotate(
                strategy,
                (last, ends[strategy]),
                (last * 1.35, height),
                color=COLOURS[strategy],
                va="center",
                fontsize=9,
                fontweight="bold" if strategy == "default" else "normal",
                annotation_clip=False,
                arrowprops={
                    "arrowstyle": "-",
                    "color": COLOURS[strategy],
                    "lw": 0.8,
                    "relpos": (0, 0.5),
                    "shrinkA": 0,
                    "shrinkB": 1,
                },
            )
        ax.set(xscale="log", xlim=(first, last), ylim=(-0.015, 1.015))
        ax.set_xticks([0.01, 0.1, 1, 5], ["0.01", "0.1", "1", "5"])
        ax.set_xlabel("CPU seconds")
        ax.set_title(f"{family}, {len(races)} sets", fontsize=10, loc="left")
        ax.grid(axis="y", color="0.9", lw=0.8)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("share of sets at the best score known")
    figure.savefig(FIGURES / "strategies.png", dpi=150)


def spread(heights: dict[str, float], gap: float) -> dict[str, float]:
    """Move labels down until they are `gap` apart, those that are equal in their given order."""
    placed: dict[str, float] = {}
    lowest = math.inf
    for name in sorted(heights, key=lambda name: -heights[name]):
        lowest = min(heights[name], lowest - gap)
        placed[name] = lowest
    return placed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sets", type=int, help="no more sets than this from each family")
    options = parser.parse_args()
    most = math.inf if options.sets is None else options.sets
    families = {
        "sparse-weak": list(sparse_weak(10, min(20, most))),
        "dense-strong": list(dense_strong("bowfree10", min(10, most))),
    }
    curves: dict[str, list[dict[str, Curve]]] = {}
    for family, sets in families.items():
        if not sets:
            continue
        curves[family] = []
        for k, data in enumerate(sets):
            began = time.perf_counter()
            curves[family].append(race(data, options.seed))
            print(f"{family} {k}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
        print_tables(family, curves[family], sets)
    save_json("strategies", {"seed": options.seed, "curves": curves})
    try:
        draw(curves)
    except ImportError as error:
        print(f"no plot: {error}", file=sys.stderr)
    for family, races in curves.items():
        reached = sum(a <= TIMES[-1] for a in arrival_times(races, "default")) / len(races)
        assert reached >= 0.9, f"default search on {family}: {reached:.2f} of the sets"


if __name__ == "__main__":
    main()
