"""The public bow-free benchmark of Dash, Gonçalves and Gao (AISTATS 2025).

A folder has files ``graph-0.txt, sample-0.txt, graph-1.txt, ...``: true graphs and 1,000
observations each. The default search is run on every data set; its graph is scored as in the
publication and compared with the true graph. Graphs of equal score differ in their edges, so the
mean and the best member of the equivalence class are compared as well.

Run: ``python benchmarks/run_study.py benchmark --bench bench/bowfree10 --out results [--jobs 2]``
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.equivalence.classes import equivalence_class
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fitting import score
from bowfree.parallel.budget import Budget
from bowfree.search.greedy import greedy_search
from bowfree.search.plan import Strategy, StrategyName
from bowfree.studies.runner import Study, markdown_table, processor_seconds, simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


CLASS_LIMIT = 2000
"""Largest number of members of a class that are compared with the true graph."""

KINDS = ("found", "mean", "best")

PUBLISHED = {
    "bowfree10": {
        "true graph": (
            -17741.6, -17508.5, -17872.5, -19055.6, -17888.1,
            -18584.9, -17791.2, -18964.8, -17562.1, -17627.9,
        ),
        "dcd": (
            -17765.1, -17511.9, -17872.5, -19123.7, -17908.4,
            -18625.4, -17795.6, -20438.8, -17565.6, -17681.6,
        ),
        "greedyBAPs": (
            -17742.1, -17508.5, -17872.5, -19149.9, -17909.6,
            -18587.9, -17917.1, -19545.4, -17562.9, -18209.7,
        ),
        "integer program": (
            -17741.6, -17508.5, -17871.2, -19055.6, -17881.6,
            -18584.9, -17789.5, -18964.8, -17562.1, -17627.9,
        ),
    }
}  # fmt: skip
"""Scores in table 4 of the publication, rounded to one digit."""


class FScores(NamedTuple):
    """F-scores of the skeleton and of both types of edges; 1 if there are no edges in either."""

    skeleton: float
    directed: float
    bidirected: float


@dataclass(frozen=True, eq=False)
class BenchmarkRow:
    """One data set.

    The scores are those of the publication, ``loglik - log(n)/2 (2d + #edges)``, converged. `mean`
    and `best` are the F-scores over the class: their mean, and those of the member with the largest
    sum of the directed and the bidirected score, among `n_compared` members.
    """

    name: str
    graph: MixedGraph
    truth: MixedGraph
    score: float
    true_score: float
    found: FScores
    mean: FScores
    best: FScores
    n_class: int
    n_compared: int
    cpu_seconds: float
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        f_scores = {
            f"{kind}_{key}": value
            for kind in ("found", "mean", "best")
            for key, value in getattr(self, kind)._asdict().items()
        }
        others = {key: value for key, value in vars(self).items() if key not in KINDS}
        return {**others, **f_scores, "graph": str(self.graph), "truth": str(self.truth)}


@dataclass(frozen=True, eq=False, repr=False)
class BenchmarkStudy(Study):
    """All data sets of one folder; complete unless a time limit ended the study early."""

    name: str
    rows: tuple[BenchmarkRow, ...]
    complete: bool

    @property
    def _stem(self) -> str:  # type: ignore[override]
        return f"benchmark-{self.name}"

    @property
    def n_at_least_truth(self) -> int:
        """Number of data sets with a score of at least the true graph's."""
        return sum(row.score >= row.true_score - 1e-6 for row in self.rows)

    def mean(self, kind: str) -> FScores:
        """Return the mean F-scores over the data sets: `kind` is "found", "mean" or "best"."""
        return _average([getattr(row, kind) for row in self.rows])

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers."""
        return {
            "name": self.name,
            "complete": self.complete,
            "mean_score": float(np.mean([row.score for row in self.rows])),
            "mean_true_score": float(np.mean([row.true_score for row in self.rows])),
            "at_least_truth": self.n_at_least_truth,
            **{kind: self.mean(kind)._asdict() for kind in KINDS},
            "rows": self.records(),
        }

    def table(self) -> str:
        """Return the scores of each data set and the F-scores, in Markdown."""
        published = {
            f"{name} (published)": values
            for name, values in PUBLISHED.get(self.name, {}).items()
            if len(values) == len(self.rows)
        }
        lines = {
            **published,
            "true graph, converged": [row.true_score for row in self.rows],
            "bowfree": [row.score for row in self.rows],
            "bowfree, CPU seconds": [row.cpu_seconds for row in self.rows],
        }
        scores = markdown_table(
            [self.name, *(row.name.rpartition("-")[2] for row in self.rows), "mean"],
            [
                (name, *(f"{value:.1f}" for value in (*values, np.mean(values))))
                for name, values in lines.items()
            ],
        )
        labels = "the graph returned", "mean over its class", "best member of its class"
        f_scores = markdown_table(
            [f"F-scores on {self.name}", *FScores._fields],
            [
                (label, *(f"{value:.3f}" for value in self.mean(kind)))
                for label, kind in zip(labels, KINDS, strict=True)
            ],
        )
        return f"{scores}\n\n{f_scores}"

    def figures(self) -> dict[str, Figure]:
        """Draw the difference of the scores of the learned and the true graphs."""
        import matplotlib.pyplot as plt

        figure, ax = plt.subplots(figsize=(5.6, 3.2), layout="constrained")
        gain = [row.score - row.true_score for row in self.rows]
        ax.axhline(0, color="0.6", lw=1)
        ax.bar(range(len(gain)), gain, color="#0072b2")
        ax.set_xticks(range(len(gain)), [row.name.rpartition("-")[2] for row in self.rows])
        ax.set_xlabel(f"data set of {self.name}")
        ax.set_ylabel("score minus the true graph's")
        ax.spines[["top", "right"]].set_visible(False)
        return {"": figure}

    def _headline(self) -> str:
        return f"{self.name}: {self.n_at_least_truth} of {len(self.rows)} at least the true score"


def bowfree_benchmark(
    folder: str | Path,
    *,
    max_sets: int | None = None,
    strategy: StrategyName | Strategy = "ils",
    **budget_options: Any,
) -> BenchmarkStudy:
    """Search on the (first `max_sets`) data sets of a folder, and compare with the true graphs.

    `budget_options` are rng, n_jobs, executor, time_limit and progress.

    References
    ----------
    Dash, Gonçalves and Gao (AISTATS 2025), tables 4 and 13. Their score has penalty 0.5.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise BowfreeError(f"the folder {folder} does not exist; it should have graph-0.txt, ...")
    numbers = sorted(
        int(match[1])
        for path in folder.iterdir()
        if (match := re.fullmatch(r"graph-(\d+)\.txt", path.name))
    )[:max_sets]
    if not numbers:
        raise BowfreeError(f"{folder} has no graph-0.txt, graph-1.txt, ...: is it the right one?")
    budget = Budget(**budget_options)
    streams = budget.generator().spawn(len(numbers))
    sets = [_read_set(folder, number) for number in numbers]

    def gather(rows: list[BenchmarkRow]) -> BenchmarkStudy:
        return BenchmarkStudy(folder.name, tuple(rows), len(rows) == len(numbers))

    study: BenchmarkStudy = simulate(
        partial(_search, strategy=strategy),
        list(zip(sets, streams, strict=True)),
        budget,
        what="sets",
        gather=gather,
    )
    return study


def f_scores(found: MixedGraph, truth: MixedGraph) -> FScores:
    """Compare the edges of a graph with those of the true one on the same nodes."""

    def pairs(edges: Iterable[tuple[str, str]]) -> set[frozenset[str]]:
        return {frozenset(edge) for edge in edges}

    return FScores(
        _f_score(
            pairs((*found.directed, *found.bidirected)), pairs((*truth.directed, *truth.bidirected))
        ),
        _f_score(set(found.directed), set(truth.directed)),
        _f_score(pairs(found.bidirected), pairs(truth.bidirected)),
    )


def _f_score(found: set[Any], true: set[Any]) -> float:
    if not found and not true:
        return 1.0
    return 2 * len(found & true) / (len(found) + len(true))


def _average(scores: list[FScores]) -> FScores:
    return FScores(*np.mean(scores, axis=0).tolist())


class _Set(NamedTuple):
    """One data set of the benchmark."""

    name: str
    moments: Moments
    truth: MixedGraph


def read_graph(text: str, nodes: Sequence[str]) -> MixedGraph:
    """Read a graph file: numbers of nodes and edges, then the edges as pairs of node numbers."""
    header, counts, *lines = [line.split() for line in text.splitlines() if line.strip()]
    d, n_directed, n_bidirected = map(int, counts)
    expected = ["n_nodes", "n_directed", "n_bidirected"]
    if header != expected or d != len(nodes) or len(lines) != n_directed + n_bidirected + 2:
        raise BowfreeError(f"not a graph file of the benchmark: {text[:60]!r}")
    pairs = [(nodes[int(line[0])], nodes[int(line[1])]) for line in lines if len(line) == 2]
    return MixedGraph(nodes, pairs[:n_directed], pairs[n_directed:])


def write_graph(graph: MixedGraph) -> str:
    """Write a graph file; the inverse of `read_graph`."""
    index = {name: i for i, name in enumerate(graph.nodes)}
    lines = ["n_nodes n_directed n_bidirected"]
    lines += [f"{len(graph)} {graph.n_directed} {graph.n_bidirected}", "directed"]
    lines += [f"{index[a]} {index[b]}" for a, b in graph.directed]
    lines += ["bidirected", *(f"{index[a]} {index[b]}" for a, b in graph.bidirected)]
    return "\n".join(lines) + "\n"


def _read_set(folder: Path, number: int) -> _Set:
    sample = folder / f"sample-{number}.txt"
    try:
        X = np.loadtxt(sample, ndmin=2)
    except (OSError, ValueError) as error:
        raise BowfreeError(f"{sample} cannot be read as a table of numbers: {error}") from error
    moments = DataOptions().read(X)
    text = (folder / f"graph-{number}.txt").read_text(encoding="utf-8")
    truth = read_graph(text, moments.names)
    return _Set(f"{folder.name}-{number}", moments.without_rows(), truth)


def _search(
    task: tuple[_Set, np.random.Generator], budget: Budget, *, strategy: StrategyName | Strategy
) -> BenchmarkRow:
    (name, moments, truth), rng = task
    began, cpu_began = time.perf_counter(), time.thread_time()
    result = greedy_search(
        moments, penalty=0.5, strategy=strategy, rng=rng, time_limit=budget.seconds_left
    )
    seconds, cpu_seconds = time.perf_counter() - began, processor_seconds(cpu_began, result)
    members = equivalence_class(result.graph)
    compared = [f_scores(graph, truth) for graph in islice(members, CLASS_LIMIT)]
    # The publication counts 2d parameters besides the edges; eq. (score) of the paper counts d.
    shift = -0.5 * len(moments.names) * math.log(moments.n)
    return BenchmarkRow(
        name=name,
        graph=result.graph,
        truth=truth,
        score=moments.n * result.score + shift,
        true_score=moments.n * score(truth, moments, penalty=0.5) + shift,
        found=f_scores(result.graph, truth),
        mean=_average(compared),
        best=max(compared, key=lambda f: f.directed + f.bidirected),
        n_class=members.size,
        n_compared=len(compared),
        cpu_seconds=cpu_seconds,
        seconds=seconds,
    )
