"""The public bow-free benchmark of Dash, Gonçalves and Gao (AISTATS 2025).

A folder holds ``graph-0.txt, sample-0.txt, graph-1.txt, ...``: a true graph (see
:mod:`bowfree.formats`) and 1,000 observations without names. For every set the default search is
run; its graph is scored as in the publication and compared with the truth. Graphs of equal score
differ in their edges, so a comparison of one graph is partly luck: the mean and the best member of
its class stand beside it.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.equivalence.classes import equivalence_class
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fitting import score
from bowfree.parallel.budget import Budget
from bowfree.search.greedy import greedy_search
from bowfree.search.plan import Strategy
from bowfree.studies.files import write_csv, write_figure, write_json, write_text
from bowfree.studies.simulations import simulate
from bowfree.validation import BudgetOptions, split_options

if TYPE_CHECKING:
    from matplotlib.axes import Axes


CLASS_LIMIT = 2000
"""Members of a class that are compared with the truth."""

_SIZE = (5.6, 3.2)  # inches

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
"""Scores per set in table 4 of the publication; they are rounded to one digit."""


@dataclass(frozen=True)
class FScores:
    """Harmonic means of precision and recall, of edges without marks and of each kind.

    Attributes
    ----------
    skeleton, directed, bidirected : float
        1 when there is nothing to find and nothing was found.
    """

    skeleton: float
    directed: float
    bidirected: float


@dataclass(frozen=True, eq=False)
class BenchmarkRow:
    """One set of the benchmark.

    Attributes
    ----------
    name : str
        Folder and number.
    graph, truth : MixedGraph
        Found and true.
    score, true_score : float
        As published: ``loglik - log(n)/2 (2d + #edges)``; ours, converged, for both.
    found, mean, best : FScores
        Of the graph, on average over its class, and of the member that is closest to the truth
        (largest sum of the directed and the bidirected score).
    n_class : int
        Size of the class.
    n_compared : int
        Members that `mean` and `best` are about, at most 2,000.
    cpu_seconds, seconds : float
        Of the search.
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
        """Return plain numbers and text."""
        flat = {
            f"{kind}_{key}": value
            for kind, scores in (("found", self.found), ("mean", self.mean), ("best", self.best))
            for key, value in asdict(scores).items()
        }
        return {
            "set": self.name,
            "score": self.score,
            "true_score": self.true_score,
            **flat,
            "n_class": self.n_class,
            "n_compared": self.n_compared,
            "cpu_seconds": self.cpu_seconds,
            "seconds": self.seconds,
            "graph": str(self.graph),
            "truth": str(self.truth),
        }


@dataclass(frozen=True, eq=False)
class BenchmarkStudy:
    """All sets of one folder.

    Attributes
    ----------
    name : str
        Of the folder.
    rows : tuple of BenchmarkRow
        In the order of their numbers.
    complete : bool
        Whether all sets that were asked for are there; False after a time limit.
    """

    name: str
    rows: tuple[BenchmarkRow, ...]
    complete: bool

    @property
    def n_at_least_truth(self) -> int:
        """Sets with a score of at least the true graph's."""
        return sum(row.score >= row.true_score - 1e-6 for row in self.rows)

    def mean(self, kind: str) -> FScores:
        """Average F-scores over the sets: `kind` is "found", "mean" or "best"."""
        return _average([getattr(row, kind) for row in self.rows])

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers."""
        return {
            "name": self.name,
            "complete": self.complete,
            "mean_score": float(np.mean([row.score for row in self.rows])),
            "mean_true_score": float(np.mean([row.true_score for row in self.rows])),
            "at_least_truth": self.n_at_least_truth,
            **{kind: asdict(self.mean(kind)) for kind in ("found", "mean", "best")},
            "rows": [row.to_dict() for row in self.rows],
        }

    def table(self) -> str:
        """Return the scores per set and the F-scores, as two Markdown tables."""
        numbers = " | ".join(row.name.rpartition("-")[2] for row in self.rows)
        lines = [f"| {self.name} | {numbers} | mean |", "|---" * (len(self.rows) + 2) + "|"]
        ours = {
            "true graph, converged": [row.true_score for row in self.rows],
            "bowfree": [row.score for row in self.rows],
        }
        published = {
            f"{name} (published)": list(values)
            for name, values in PUBLISHED.get(self.name, {}).items()
            if len(values) == len(self.rows)
        }
        for name, values in {**published, **ours}.items():
            cells = " | ".join(f"{value:.1f}" for value in values)
            lines.append(f"| {name} | {cells} | {np.mean(values):.1f} |")
        cells = " | ".join(f"{row.cpu_seconds:.1f}" for row in self.rows)
        spent = np.mean([row.cpu_seconds for row in self.rows])
        lines.append(f"| bowfree, CPU seconds | {cells} | {spent:.1f} |")
        lines += [
            "",
            f"| F-scores on {self.name} | skeleton | directed | bidirected |",
            "|---|---|---|---|",
        ]
        for kind, what in (
            ("found", "the graph returned"),
            ("mean", "mean over its class"),
            ("best", "best member of its class"),
        ):
            f = self.mean(kind)
            lines.append(f"| {what} | {f.skeleton:.3f} | {f.directed:.3f} | {f.bidirected:.3f} |")
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the score of every set above that of the true graph."""
        import matplotlib.pyplot as plt

        if ax is None:
            ax = plt.subplots(figsize=_SIZE, layout="constrained")[1]
        gain = [row.score - row.true_score for row in self.rows]
        ax.axhline(0, color="0.6", lw=1)
        ax.bar(range(len(gain)), gain, color="#0072b2")
        ax.set_xticks(range(len(gain)), [row.name.rpartition("-")[2] for row in self.rows])
        ax.set_xlabel(f"set of {self.name}")
        ax.set_ylabel("score minus the true graph's")
        ax.spines[["top", "right"]].set_visible(False)
        return ax

    def save(self, folder: Path) -> list[Path]:
        """Write benchmark-NAME.csv, .json, .md and .png; return the paths."""
        stem = f"benchmark-{self.name}"
        return [
            write_csv(folder / f"{stem}.csv", (row.to_dict() for row in self.rows)),
            write_json(folder / f"{stem}.json", self.to_dict()),
            write_text(folder / f"{stem}.md", self.table()),
            write_figure(folder / f"{stem}.png", self.plot().figure),
        ]


class BenchmarkOptions(BudgetOptions, total=False):
    """All options of :func:`bowfree_benchmark` that it does not name itself."""


def bowfree_benchmark(
    folder: str | Path,
    *,
    max_sets: int | None = None,
    **options: Unpack[BenchmarkOptions],
) -> BenchmarkStudy:
    """Search on every set of a benchmark folder and compare with the true graphs.

    Parameters
    ----------
    folder : path
        Has files ``graph-K.txt`` and ``sample-K.txt``, K = 0, 1, ...
    max_sets : int, optional
        Only this many, the first.
    **options
        ``restarts``, ``rounds``, ...
            How to search (:class:`bowfree.search.Strategy`).
        ``rng``, ``n_jobs``, ``executor``, ``time_limit``, ``progress``
            What may be spent (:class:`~bowfree.validation.BudgetOptions`); `n_jobs` sets at a time.

    Returns
    -------
    BenchmarkStudy

    References
    ----------
    Dash, Gonçalves and Gao (AISTATS 2025), tables 4 and 13. Their score has penalty 0.5.

    Examples
    --------
    >>> import bowfree as bf
    >>> study = bf.studies.bowfree_benchmark("bench/bowfree10", rng=1)  # doctest: +SKIP
    >>> study.n_at_least_truth  # doctest: +SKIP
    10
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise BowfreeError(f"the folder {folder} does not exist; it should hold graph-0.txt, ...")
    numbers = sorted(
        int(match[1])
        for path in folder.iterdir()
        if (match := re.fullmatch(r"graph-(\d+)\.txt", path.name))
    )[:max_sets]
    if not numbers:
        raise BowfreeError(f"{folder} holds no graph-0.txt, graph-1.txt, ...: is it the right one?")
    search, budget_options = split_options("bowfree_benchmark", options, Strategy, BudgetOptions)
    budget = Budget(**budget_options)
    streams = budget.generator().spawn(len(numbers))
    sets = [_read_set(folder, number) for number in numbers]

    def study(rows: list[BenchmarkRow]) -> BenchmarkStudy:
        return BenchmarkStudy(folder.name, tuple(rows), len(rows) == len(numbers))

    found: BenchmarkStudy = simulate(
        partial(_searched, search=search),
        list(zip(sets, streams, strict=True)),
        budget,
        what="sets",
        gather=study,
    )
    return found


def f_scores(found: MixedGraph, truth: MixedGraph) -> FScores:
    """Compare a graph with the true one, edge by edge.

    Parameters
    ----------
    found, truth : MixedGraph
        On the same nodes.

    Returns
    -------
    FScores

    References
    ----------
    As in the tables of Dash, Gonçalves and Gao (AISTATS 2025).

    Examples
    --------
    >>> import bowfree as bf
    >>> from bowfree.studies.benchmark_study import f_scores
    >>> f_scores(bf.parse("x -> y <-> z"), bf.parse("x -> y <- z"))
    FScores(skeleton=1.0, directed=0.6666666666666666, bidirected=0.0)
    """

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
    return FScores(*np.mean([list(asdict(f).values()) for f in scores], axis=0).tolist())


class _Set(NamedTuple):
    """One set of the benchmark: the rows are needed for their moments only."""

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


def _searched(
    piece: tuple[_Set, np.random.Generator], budget: Budget, *, search: dict[str, Any]
) -> BenchmarkRow:
    (name, moments, truth), rng = piece
    began, cpu_began = time.perf_counter(), time.thread_time()
    result = greedy_search(moments, penalty=0.5, rng=rng, time_limit=budget.seconds_left, **search)
    seconds, cpu_seconds = time.perf_counter() - began, time.thread_time() - cpu_began
    members = equivalence_class(result.graph)
    compared = [f_scores(graph, truth) for graph in islice(members, CLASS_LIMIT)]
    # The publication counts 2d parameters besides the edges, eq. (score) of the paper d.
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
