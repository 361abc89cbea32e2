"""Structure search beside other programs on the same data: time, skeleton, arrowheads.

    pip install lingam causal-learn
    python benchmarks/bench_peers.py                 # about 15 minutes, most of them in lingam

| method | what it assumes, and what it returns |
|---|---|
| bowfree | BAPs, default search; the graph returned |
| bowfree, class | the same, and what all BAPs equivalent to that graph have in common |
| ABIC | BAPs (the constraint is built in), `lingam.ABICLiNGAM(beta=1.0)`; one graph |
| FCI | hidden causes, causal-learn, Fisher's z; a PAG |
| GES | no hidden causes, causal-learn, BIC; a CPDAG |

Data: five sets each with 4, 6 and 10 variables (uniform BAPs of in-degree at most 2, parameters of
section 4.1, n = 1000), and the first five of bowfree10, if they are available; for ABIC the first
three of each, which take at most 24 minutes. Each call runs in another process, which is killed
after 120 s; after two such calls in a family the other data sets are skipped for this method. The
tables have CPU seconds of one thread without imports, means over the calls that ended.

An arrowhead is an ordered pair (i, j): there is an edge between i and j with an arrowhead at j, so
a bidirected edge counts twice. Circles of a PAG and undirected edges of a CPDAG are not arrowheads.
F = 2 correct / (found + true), with counts pooled over the data sets on which the method ended.
Arrowheads are compared with those of the true graph, and with those that all BAPs equivalent to it
share: covariances determine no others. A method that returns one graph has false positives in the
second comparison, and one that returns a class has false negatives in the first.

The marks of a PAG are about ancestors. If the true graph has a bidirected edge between a variable
and its ancestor, a correct PAG has a directed one, and it can have edges where the true graph has
none. Both count as errors of FCI here.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

# Before numpy: it sets the number of threads.
from search_data import DataSet, dense_strong, save_json, sparse_weak  # isort: skip

import numpy as np

import bowfree as bf


class Marks(NamedTuple):
    """The marks to compare: pairs {i, j} with an edge, and (i, j) for each arrowhead at j."""

    pairs: set[frozenset[int]]
    heads: set[tuple[int, int]]


def marks_of(heads: set[tuple[int, int]], others: set[tuple[int, int]]) -> Marks:
    return Marks({frozenset(pair) for pair in heads | others}, heads)


def graph_marks(graph: bf.MixedGraph) -> Marks:
    at = {node: i for i, node in enumerate(graph.nodes)}
    heads = {(at[a], at[b]) for a, b in graph.directed}
    heads |= {(at[x], at[y]) for a, b in graph.bidirected for x, y in ((a, b), (b, a))}
    return marks_of(heads, set())


def class_marks(graph: bf.MixedGraph) -> Marks:
    """Return the skeleton of a class, and the heads that all its members have."""
    at = {node: i for i, node in enumerate(graph.nodes)}
    summary = bf.equivalence_class(graph).summary()
    assert summary.complete, "the class was not listed to its end"
    heads, others = set(), set()
    for edge in summary.edges:
        a, b = at[edge.a], at[edge.b]
        (heads if edge.end_at_a == "head" else others).add((b, a))
        (heads if edge.end_at_b == "head" else others).add((a, b))
    return marks_of(heads, others)


def endpoint_marks(ends: np.ndarray) -> Marks:
    """Read a matrix of causal-learn: entry (j, i) is the mark at j of its edge with i, 1 a head."""
    heads = {(int(i), int(j)) for j, i in np.argwhere(ends == 1)}
    return marks_of(heads, {(int(i), int(j)) for j, i in np.argwhere(ends != 0)})


# --- methods: load (not timed) and return the function that is timed ------------------------------

Run = Callable[[np.ndarray, float], Marks]


def load_bowfree(marks: Callable[[bf.MixedGraph], Marks]) -> Run:
    return lambda X, penalty: marks(bf.greedy_search(X, penalty=penalty, rng=0).graph)


def load_abic() -> Run:
    from lingam import ABICLiNGAM

    def run(X: np.ndarray, penalty: float) -> Marks:
        # Entry (i, j) is the effect of j on i; both entries of a bidirected edge are NaN.
        adjacency = ABICLiNGAM(beta=1.0).fit(X).adjacency_matrix_
        return marks_of({(int(j), int(i)) for i, j in np.argwhere(adjacency != 0)}, set())

    return run


def load_fci(alpha: float) -> Run:
    from causallearn.search.ConstraintBased.FCI import fci

    return lambda X, penalty: endpoint_marks(
        fci(X, "fisherz", alpha, verbose=False, show_progress=False)[0].graph
    )


def load_ges() -> Run:
    from causallearn.search.ScoreBased.GES import ges

    return lambda X, penalty: endpoint_marks(ges(X, "local_score_BIC")["G"].graph)


METHODS: dict[str, Callable[[], Run]] = {
    "bowfree": partial(load_bowfree, graph_marks),
    "bowfree, class": partial(load_bowfree, class_marks),
    "FCI, alpha = .01": partial(load_fci, 0.01),
    "FCI, alpha = .05": partial(load_fci, 0.05),
    "GES": load_ges,
    "ABIC": load_abic,
}
MOST_SETS = {"ABIC": 3}  # for the slow


def timed_call(method: str, X: np.ndarray, penalty: float) -> tuple[float, Marks]:
    """Return (CPU seconds, marks); runs in the worker."""
    run = METHODS[method]()
    began = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):  # FCI prints edges in any case
        marks = run(X, penalty)
    return time.process_time() - began, marks


class Worker:
    """A process for the calls, which is killed and replaced if a call takes too long."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.start()

    def start(self) -> None:
        """Begin a new process."""
        self.pool = multiprocessing.get_context("spawn").Pool(1)

    def call(self, method: str, X: np.ndarray, penalty: float) -> tuple[float, Marks] | None:
        """Return the result, or None if the time is up."""
        try:
            return self.pool.apply_async(timed_call, (method, X, penalty)).get(self.limit)
        except multiprocessing.TimeoutError:
            self.pool.terminate()
            self.start()
            return None


# --- comparison -----------------------------------------------------------------------------------


@dataclass
class Counts:
    """Counts pooled over data sets, for an F-score."""

    right: int = 0
    found: int = 0
    true: int = 0

    def add(self, found: set[Any], true: set[Any]) -> None:
        """Count one data set."""
        self.right += len(found & true)
        self.found += len(found)
        self.true += len(true)

    @property
    def f(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.right / max(1, self.found + self.true)


@dataclass
class Row:
    """One method on one family."""

    family: str
    method: str
    sets: int
    limit: float
    timeouts: int = 0
    seconds: list[float] = field(default_factory=list)
    skeleton: Counts = field(default_factory=Counts)
    heads: Counts = field(default_factory=Counts)
    common_heads: Counts = field(default_factory=Counts)

    def __str__(self) -> str:
        tried = len(self.seconds) + self.timeouts
        ended = f"{len(self.seconds)} of {tried}"
        if not self.seconds:
            return f"| {self.family} | {self.method} | {ended} | > {self.limit:g} | – | – | – |"
        scores = (self.skeleton, self.heads, self.common_heads)
        return (
            f"| {self.family} | {self.method} | {ended} | {np.mean(self.seconds):.2f} | "
            f"{' | '.join(f'{counts.f:.2f}' for counts in scores)} |"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all counts, and the F-scores."""
        scores = {"f_skeleton": self.skeleton.f, "f_heads": self.heads.f}
        return asdict(self) | scores | {"f_common_heads": self.common_heads.f}


def compare(family: str, method: str, sets: list[DataSet], worker: Worker) -> Row:
    row = Row(family, method, len(sets), worker.limit)
    for k, data in enumerate(sets):
        if row.timeouts == 2:
            break
        answer = worker.call(method, data.X, data.penalty)
        if answer is None:
            row.timeouts += 1
            print(f"{family}, {method}, set {k}: no answer", file=sys.stderr, flush=True)
            continue
        seconds, found = answer
        print(f"{family}, {method}, set {k}: {seconds:.1f} s", file=sys.stderr, flush=True)
        row.seconds.append(seconds)
        row.skeleton.add(found.pairs, graph_marks(data.truth).pairs)
        row.heads.add(found.heads, graph_marks(data.truth).heads)
        row.common_heads.add(found.heads, class_marks(data.truth).heads)
    return row


def check_collider(method: str, worker: Worker) -> bool:
    """Check that a method is installed, and that its marks are read in the right direction.

    x1 -> x3 <- x2 is so strong here that both heads at x3 must be found.
    """
    X = np.random.default_rng(0).standard_normal((1000, 3))
    X[:, 2] += X[:, 0] + X[:, 1]
    try:
        answer = worker.call(method, X, 1.0)
    except ImportError as error:
        print(f"{method} left out: {error}", file=sys.stderr)
        return False
    assert answer is None or answer[1].heads >= {(0, 2), (1, 2)}, (method, answer)
    return True


def versions() -> dict[str, str]:
    found = {}
    for package in ("bowfree", "lingam", "causal-learn", "numpy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=5, help="data sets in each family")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one call")
    parser.add_argument("--without", nargs="*", default=[], choices=METHODS, metavar="METHOD")
    options = parser.parse_args()
    families = {f"d = {d}": list(sparse_weak(d, options.sets)) for d in (4, 6, 10)}
    families["bowfree10"] = list(dense_strong("bowfree10", options.sets))
    worker = Worker(options.limit)
    methods = [m for m in METHODS if m not in options.without and check_collider(m, worker)]
    print("| data | method | ended | CPU s | skeleton F | heads F, true graph | true class |")
    print("|---|---|---|---|---|---|---|", flush=True)
    rows = []
    for family, sets in families.items():
        for method in methods if sets else []:
            chosen = sets[: MOST_SETS.get(method, len(sets))]
            rows.append(compare(family, method, chosen, worker))
            print(rows[-1], flush=True)
    worker.pool.terminate()
    save_json("peers", {"versions": versions(), "rows": [row.to_dict() for row in rows]})


if __name__ == "__main__":
    main()
